"""Conversations of a result in their order, and whether older hits can still change a page."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.times import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.hits import Hit

_HALF_LIFE: Final = 45 * DAY
_ENOUGH: Final = 20
"""Hits of a conversation that count for its rank; with more it is as much about it."""


class SortHits(StrEnum):
    """Orders of conversations in a result."""

    RANK = "rank"
    NEWEST = "newest"
    OLDEST = "oldest"


class Found(NamedTuple):
    """A conversation with what matches in it.

    Attributes:
        by_title, by_id: its title or id matches.
        hit_count: how many there are.
        newest_at: when the newest hit was written, else the last activity; epoch seconds.
        hits: the newest ones, oldest first.
    """

    conversation: Conversation
    by_title: bool
    by_id: bool
    hit_count: int
    newest_at: float
    hits: tuple[Hit, ...]


class Ranking(NamedTuple):
    """How a page is made.

    Attributes:
        limit: conversations at most; 0 for all.
        now: epoch seconds.
    """

    sort: SortHits
    limit: int
    now: float

    def sorted(self, found: Iterable[Found]) -> list[Found]:
        """Sort conversations; by rank, those whose title or id matches come first."""
        if self.sort is SortHits.RANK:
            return sorted(found, key=self._rank, reverse=True)
        newest = sorted(found, key=lambda one: (one.newest_at, one.conversation.id))
        return newest if self.sort is SortHits.OLDEST else newest[::-1]

    @property
    def can_decide(self) -> bool:
        """Tell whether the newest hits can decide a page."""
        return self.limit > 0 and self.sort is not SortHits.OLDEST

    def decided(self, found: Iterable[Found], before: float) -> list[Found]:
        """Return the page if hits before a time can hardly change what is on it, else nothing.

        They cannot bring a new conversation onto it. One that was seen and is not on it might gain
        by having many more hits, all of them older than those of the page.
        """
        page = self.sorted(found)[: self.limit]
        if not self.can_decide or len(page) < self.limit:
            return []
        last = page[-1]
        if self.sort is SortHits.NEWEST:
            is_decided = last.newest_at >= before
        else:
            is_named = last.by_title or last.by_id
            is_decided = is_named or self._score(last) >= self._best_score(before)
        return page if is_decided else []

    def _rank(self, one: Found) -> tuple[bool, float, str]:
        return one.by_title or one.by_id, self._score(one), one.conversation.id

    def _score(self, one: Found) -> float:
        """More hits count, but newer ones more: what is talked about lately is looked for."""
        age = max(0.0, self.now - one.newest_at)
        hits = 1 + math.log1p(min(one.hit_count, _ENOUGH))
        return float(hits * 0.5 ** (age / _HALF_LIFE))

    def _best_score(self, before: float) -> float:
        age = max(0.0, self.now - before)
        return float((1 + math.log1p(_ENOUGH)) * 0.5 ** (age / _HALF_LIFE))
