"""Read every page of a store before it is rewritten, which would make damage final.

Tables are checked one by one, and the virtual ones never: newer SQLites also judge the search
indexes if they are asked for the whole file, and call healthy ones malformed (store facts §0,
trap 8). With ``sqlite_master``, SQLite checks the list of free pages, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.shapes import TRASH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from hermes_sessions.store.connect import Store

_OF_VALUES: Final = (
    r"(?:\*\*\* in database|(?:NULL|NUMERIC|TEXT|[Nn]on-\w+) value in |CHECK constraint)"
)
"""What it says of values of another type than their column, and headings: no damage of pages."""


def damaged_tables(store: Store) -> dict[str, str]:
    """Return what is wrong with the pages of tables, by their names."""
    rows = store.rows(
        """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"""
    )
    found = {}
    with store.interruptible():
        for name in ("sqlite_master", *(str(row[0]) for row in rows)):
            complaint = _complaint(store, name)
            if complaint:
                found[name] = complaint
    return found


def refuse_damage(store: Store, damaged: Mapping[str, str], curable: Collection[str]) -> None:
    """Check that nothing is damaged but what can be made anew from the messages.

    Args:
        store: where.
        damaged: what ``damaged_tables`` found.
        curable: indexes that can be made anew.

    Raises:
        StoreDamaged: something else is.
    """
    for name, complaint in damaged.items():
        if index_of(name) not in curable and not name.startswith(TRASH):
            raise StoreDamaged(
                f"{store.path} is damaged: {complaint}",
                hint="nothing was changed; work on a copy: cp -p it before you try anything",
            )


def index_of(table: str) -> str:
    """Return the index that a table of FTS5 belongs to."""
    return re.sub("_(data|idx|docsize|config|content)$", "", table)


def _complaint(store: Store, table: str) -> str:
    quoted = table.replace("'", "''")
    try:
        rows = store.rows(f"PRAGMA quick_check('{quoted}')")
    except StoreBusy:
        raise
    except StoreDamaged as error:
        return str(error.__cause__ or error.message)
    except UserError:  # an order of text that only its maker knows
        return ""
    return next(_about_pages(str(row[0]) for row in rows), "")


def _about_pages(texts: Iterable[str]) -> Iterator[str]:
    lines = (line for text in texts for line in text.splitlines())
    return (line for line in lines if line != "ok" and not re.match(_OF_VALUES, line))
