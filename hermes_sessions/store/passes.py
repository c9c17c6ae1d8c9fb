"""One pass over all messages, in stretches of ids; what cannot be read is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.store.connect import NOTHING
from hermes_sessions.store.hits import all_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.windows import Window

_STEP: Final = 20_000
"""Ids of one query: enough to cost nothing extra, few enough to show progress."""

_LOST: Final = 10_000
"""Ids that cannot be read, after which damage is not narrowed down to single rows any more."""


class Pass:
    """Reads every message once.

    Attributes:
        damage: there were rows that could not be read.
    """

    def __init__(self, store: Store, report: Callable[[float], object]) -> None:
        """Read from a store; ``report`` is told how much is done, from 0 to 1."""
        self._store = store
        self._report = report
        self._unreadable = 0
        self.damage: StoreDamaged | None = None

    def rows(
        self, sql: str, parameters: Mapping[str, object] = NOTHING
    ) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a query that looks at the ids from ``:low`` to ``:high``."""
        window = all_ids(self._store)
        if window is None:
            return
        for step in window.steps(_STEP):
            yield from self._readable(sql, parameters, step)
            self._report((window.high - step.low + 1) / window.size)

    def _readable(
        self, sql: str, parameters: Mapping[str, object], window: Window
    ) -> list[tuple[object, ...]]:
        """Return the rows of a window that can be read."""
        try:
            return self._store.rows(sql, {**parameters, "low": window.low, "high": window.high})
        except StoreDamaged as damage:
            self.damage = damage
        if window.size == 1 or self._unreadable >= _LOST:
            self._unreadable += window.size
            return []
        halves = window.steps((window.size + 1) // 2)
        return [row for half in halves for row in self._readable(sql, parameters, half)]
