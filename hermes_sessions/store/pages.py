"""The pages of a store: how many there are and hold nothing, and what SQLite says of them.

Tables are checked one by one and the virtual ones never: what a check of a whole store says of the
search indexes depends on the SQLite that asks. Since 3.44 or so it calls an index malformed that
another SQLite has built and that answers as it should (store facts §0, trap 8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.store.dependents import quoted

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store


SCHEMA: Final = "sqlite_master"
"""The table of the schema. Together with it, SQLite checks the list of free pages."""

_OF_VALUE: Final = re.compile(r"(?:NULL|NUMERIC|TEXT|non-[A-Z]+) value in |CHECK constraint failed")


class Pages(NamedTuple):
    """How big a store is inside.

    Attributes:
        size: bytes of a page.
        number: of all pages.
        free: those that nothing is on; they come back only when the file is rewritten.
    """

    size: int
    number: int
    free: int

    @property
    def total_bytes(self) -> int:
        """Bytes of all pages."""
        return self.number * self.size

    @property
    def free_bytes(self) -> int:
        """Bytes that nothing is in."""
        return self.free * self.size

    @property
    def used_bytes(self) -> int:
        """Bytes that something is in: about the size after it was rewritten."""
        return self.total_bytes - self.free_bytes

    @property
    def free_part(self) -> float:
        """From 0 to 1."""
        return self.free / self.number if self.number else 0.0


def read_pages(store: Store) -> Pages:
    """Ask SQLite for the pages of a store."""
    return Pages(
        *(
            int(str(store.value(f"PRAGMA {name}")))
            for name in ("page_size", "page_count", "freelist_count")
        )
    )


def tables_with_pages(store: Store) -> list[str]:
    """Return the tables with pages of their own, that of the schema first."""
    rows = store.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"
    )
    return [SCHEMA, *(str(row[0]) for row in rows)]


def complaints(store: Store, table: str, *, full: bool = False) -> list[str]:
    """Have SQLite check a table; return what it says, a line each.

    Args:
        store: where.
        table: with pages of its own.
        full: compare its indexes with it, too.

    Raises:
        StoreDamaged: the check itself met pages that are malformed.
    """
    pragma = "integrity_check" if full else "quick_check"
    rows = store.rows(f"PRAGMA {pragma}({quoted(table)})")
    lines = [line for row in rows for line in str(row[0]).splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("*** in database")]


def is_of_value(complaint: str) -> bool:
    """Tell whether it is about a value of another type than its column: no damage of pages."""
    return _OF_VALUE.match(complaint) is not None
