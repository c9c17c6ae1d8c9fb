"""Stretches of message ids: what a search looks at in one go, the newest first.

A common word is in most messages of a store: windows bound what is held of them, and a page that
the newest ones decide needs no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST: Final = 16_000
_LARGEST: Final = 128_000
_GROWTH: Final = 4


class Window(NamedTuple):
    """Ids from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many ids there are, whether or not each is a message."""
        return self.high - self.low + 1

    def steps(self, size: int) -> Iterator[Window]:
        """Cut into windows of a size, the newest first."""
        for high in range(self.high, self.low - 1, -size):
            yield Window(max(self.low, high - size + 1), high)

    def growing(self) -> Iterator[Window]:
        """Cut into windows that become larger: the first ones often suffice."""
        high, size = self.high, _FIRST
        while high >= self.low:
            yield Window(max(self.low, high - size + 1), high)
            high -= size
            size = min(size * _GROWTH, _LARGEST)
