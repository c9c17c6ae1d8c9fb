"""How far an export or an import is: what is done of how many, and how many bytes went by."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from hermes_sessions.text import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.render.progress import Progress


class Meter:
    """Counts things of different weight, and bytes, and shows both.

    Attributes:
        bytes: that went by.
    """

    def __init__(self, progress: Progress, what: str, weights: Sequence[int]) -> None:
        """Begin at nothing.

        Args:
            progress: where it is shown.
            what: the things, in the plural.
            weights: how much work each of them is, in the order in which they are done.
        """
        self._progress = progress
        self._what = what
        self._weights = weights
        self._total = sum(weights)
        self._number = 0
        self._weight = 0
        self.bytes = 0

    def pass_by(self, number: int) -> None:
        """Take note of bytes."""
        self.bytes += number
        self._progress.update(self._weight / self._total if self._total else 0.0, said=self.said)

    def finish_one(self) -> None:
        """Take note that the next thing is done."""
        self._weight += self._weights[self._number]
        self._number += 1
        self.pass_by(0)

    def said(self) -> str:
        """Say how far it is: ``1,860 of 3,000 sessions · 131 MB``."""
        return f"{self._number:,} of {len(self._weights):,} {self._what} · {size(self.bytes)}"


class Metered:
    """A file that tells a meter what is written to it."""

    def __init__(self, file: IO[bytes], meter: Meter) -> None:
        """Write to a file that somebody else closes."""
        self._file = file
        self._meter = meter

    def write(self, data: bytes) -> int:
        """Write bytes."""
        self._file.write(data)
        self._meter.pass_by(len(data))
        return len(data)
