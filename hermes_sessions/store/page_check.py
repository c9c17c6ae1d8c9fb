"""Read every page of a store before it is rewritten, which would make damage final."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.pages import complaints, is_of_value, tables_with_pages
from hermes_sessions.store.shapes import TRASH

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hermes_sessions.store.connect import Store


def damaged_tables(store: Store) -> dict[str, str]:
    """Return what is wrong with the pages of tables, by their names."""
    found = {}
    with store.interruptible():
        for name in tables_with_pages(store):
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
    try:
        lines = complaints(store, table)
    except StoreBusy:
        raise
    except StoreDamaged as error:
        return str(error.__cause__ or error.message)
    except UserError:  # an order of text that only its maker knows
        return ""
    return next((line for line in lines if not is_of_value(line)), "")
