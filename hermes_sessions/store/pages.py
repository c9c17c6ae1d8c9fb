"""The pages of a store: how many there are, and how many of them hold nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store


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
