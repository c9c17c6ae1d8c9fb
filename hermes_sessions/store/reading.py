"""The messages that match a query, newest first, by the indexes or by reading every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.matching import matches
from hermes_sessions.store.candidates import Lookup
from hermes_sessions.store.hits import (
    REASONING,
    Hit,
    hit_columns,
    is_searched,
    message_ids,
    read_hits,
    read_matching,
    role_values,
    searched_text,
    text_columns,
)
from hermes_sessions.store.needles import Sieve, sieve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.query import Query
    from hermes_sessions.store.candidates import Finder
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.windows import Window

_BATCH: Final = 500
_STEP: Final = 20_000
"""Ids of one query that reads rows: enough to cost nothing extra, few enough to show progress."""

_LOST: Final = 10_000
"""Ids that cannot be read, after which damage is not narrowed down to single rows any more."""


class Batch(NamedTuple):
    """What matches in a stretch of ids.

    Attributes:
        low: the lowest id that was looked at.
        hits: of ids from ``low`` up to the batch before.
    """

    low: int
    hits: list[Hit]


class Reader:
    """Reads what matches a query.

    Attributes:
        scanned: there were windows of which every row was read.
        damage: there were rows that could not be read.
    """

    def __init__(
        self, store: Store, query: Query, roles: tuple[str, ...] | None, finder: Finder
    ) -> None:
        self._store = store
        self._query = query
        self._roles = roles
        self._finder = finder
        self._sieve = _sieve(store, query, roles)
        self._unreadable = 0
        self.scanned = False
        self.damage: StoreDamaged | None = None

    def read(self, window: Window, sessions: frozenset[str] | None = None) -> Iterator[Batch]:
        """Yield what matches in a window, in these sessions if any are given.

        What cannot be read is left out, and ``damage`` tells so.
        """
        high = window.high
        lookup = Lookup(self._finder, window)
        try:
            ids = self._candidates(lookup)
            if ids is not None:
                if sessions is not None:
                    ids &= message_ids(self._store, sessions, window)
                for batch in _batches(ids):
                    yield Batch(batch[-1], list(self._decide(lookup, batch)))
                    high = batch[-1] - 1
                yield Batch(window.low, [])
                return
        except StoreDamaged:
            pass  # an index or some rows: reading one row after the other tells which
        yield from self._read_rows(window._replace(high=high), sessions)

    def _candidates(self, lookup: Lookup) -> frozenset[int] | None:
        if self._roles is not None and REASONING in self._roles:
            return None
        return lookup.candidates(self._query)

    def _decide(self, lookup: Lookup, ids: list[int]) -> Iterator[Hit]:
        """Decide candidates by what the index is sure of, and the others by their text."""
        certain, possible = lookup.bounds(self._query, frozenset(ids))
        doubtful = set(possible - certain)
        for hit, is_structured in read_hits(self._store, certain, self._roles):
            if is_structured:
                doubtful.add(hit.message_id)
            else:
                yield hit
        for hit, text in read_matching(self._store, sorted(doubtful), self._roles):
            if matches(self._query, text):
                yield hit

    def _read_rows(self, window: Window, sessions: frozenset[str] | None) -> Iterator[Batch]:
        self.scanned = True
        for step in window.steps(_STEP):
            hits = self._readable(step)
            yield Batch(step.low, [h for h in hits if sessions is None or h.session_id in sessions])

    def _readable(self, window: Window) -> list[Hit]:
        """Return what matches in the rows of a window that can be read."""
        try:
            return self._scan(window)
        except StoreDamaged as damage:
            self.damage = damage
        if window.size == 1 or self._unreadable >= _LOST:
            self._unreadable += window.size
            return []
        halves = window.steps((window.size + 1) // 2)
        return [hit for half in halves for hit in self._readable(half)]

    def _scan(self, window: Window) -> list[Hit]:
        rows = self._store.rows(
            f"""
            SELECT {hit_columns(self._store)}, {text_columns(self._store)}
            FROM messages AS m NOT INDEXED
            WHERE m.id BETWEEN :low AND :high
              AND {is_searched(self._store, self._roles)} AND {self._sieve.condition}""",
            {
                "low": window.low,
                "high": window.high,
                **self._sieve.values,
                **role_values(self._roles),
            },
        )
        found = ((Hit._make(row[:5]), searched_text(row[5:], self._roles)) for row in rows)
        return [hit for hit, text in found if matches(self._query, text)]


def _sieve(store: Store, query: Query, roles: tuple[str, ...] | None) -> Sieve:
    if roles is not None and REASONING in roles:
        return Sieve("1", {})
    return sieve(query, store.capabilities)


def _batches(ids: frozenset[int]) -> Iterator[list[int]]:
    newest_first = sorted(ids, reverse=True)
    for start in range(0, len(newest_first), _BATCH):
        yield newest_first[start : start + _BATCH]
