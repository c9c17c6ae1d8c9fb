"""Search: a query, the rows the indexes offer, and the text of those that need a look.

What matches is defined by ``hermes_sessions.matching`` alone; an index only saves reading rows. The
offered rows are read newest first, until no older conversation can come onto the page.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.matching import matches
from hermes_sessions.query import loosened
from hermes_sessions.store.candidates import Finder, Reach
from hermes_sessions.store.catalog import build_conversations, load_families, with_exact_activity
from hermes_sessions.store.filters import Candidate, matcher
from hermes_sessions.store.fts import Indexes
from hermes_sessions.store.hits import REASONING, Hit, message_ids, read_hits, read_matching
from hermes_sessions.store.scanning import scan
from hermes_sessions.store.sessions import load_sessions
from hermes_sessions.store.titles import sessions_by_id, sessions_by_title
from hermes_sessions.times import DAY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hermes_sessions.models import Conversation, Filter
    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Index

DEFAULT_ROLES: Final = ("user", "assistant")
AUTOMATION: Final = frozenset({"cron"})
"""Sources that are searched only when asked for: what a job wrote each night is not looked for."""

_HALF_LIFE: Final = 45 * DAY
_ENOUGH: Final = 20
"""Hits of a conversation that count for its rank; with more it is as much about it."""

_BATCH: Final = 500


class SortHits(StrEnum):
    """Orders of conversations in a result."""

    RANK = "rank"
    NEWEST = "newest"
    OLDEST = "oldest"


class Wanted(NamedTuple):
    """What to search for, and where.

    Attributes:
        text: the query as typed, for ids.
        roles: None for all.
        limit: conversations at most; 0 for all.
        now: epoch seconds.
        keep: hits of each conversation that are kept, the newest ones; 0 for all.
    """

    query: Query
    text: str
    filter: Filter
    roles: tuple[str, ...] | None
    sort: SortHits
    limit: int
    now: float
    keep: int = 0


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


class Result(NamedTuple):
    """A page of what matches.

    Attributes:
        found: sorted and cut.
        total: conversations in view that match; None if not all of them were looked at.
        left_out: conversations that match but are out of view, by why, as far as was looked.
        orphans: how many messages match that belong to no session, by the id they name.
        problems: indexes that were asked and could not be trusted.
        scanned: no index could be used, so rows were read one by one.
        in_parts: nothing matched in whole words; these match in parts of words.
        interrupted: the user stopped a scan; this is what it had found.
    """

    found: tuple[Found, ...]
    total: int | None
    left_out: dict[str, int]
    orphans: dict[str, int]
    problems: tuple[Index, ...]
    scanned: bool
    in_parts: bool = False
    interrupted: bool = False


Progress = Callable[[float, Callable[[], Result]], object]
"""Gets how much of a scan is done, from 0 to 1, and what can tell what was found so far."""


class _Tally:
    """The hits of one conversation, newest first: a word may be in hundreds of thousands."""

    def __init__(self) -> None:
        self.count = 0
        self.newest_at: float | None = None
        self.kept: list[Hit] = []

    def add(self, hit: Hit, keep: int) -> None:
        self.count += 1
        if not keep or len(self.kept) < keep:
            self.kept.append(hit)
        if hit.timestamp is not None and (self.newest_at or 0.0) < hit.timestamp:
            self.newest_at = hit.timestamp


class _Groups:
    """Hits under their conversations, as they come in."""

    def __init__(self, store: Store, wanted: Wanted) -> None:
        self._store = store
        self._wanted = wanted
        self._test = matcher(wanted.filter)
        self._owner: dict[str, Conversation | None] = {}
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._titled: set[str] = set()
        self._named: set[str] = set()
        self.left_out: Counter[str] = Counter()
        self.orphans: Counter[str] = Counter()
        self.shown: dict[str, Conversation] = {}

    def add(self, hits: Iterable[Hit]) -> None:
        """Put hits where they belong; all of them are older than those before."""
        hits = sorted(hits, reverse=True)
        self._know({hit.session_id for hit in hits})
        for hit in hits:
            owner = self._owner.get(hit.session_id)
            if hit.session_id not in self._owner:
                self.orphans[hit.session_id] += 1
            elif owner is not None:
                self._tallies[owner.id].add(hit, self._wanted.keep)

    def add_names(self, titled: set[str], named: set[str]) -> None:
        """Add conversations whose title or id matches."""
        self._know(titled | named)
        for found, sessions in ((self._titled, titled), (self._named, named)):
            found.update(o.id for i in sessions if (o := self._owner.get(i)) is not None)

    def found(self) -> list[Found]:
        """Return what was found so far."""
        return [self._found(one) for one in self.shown.values()]

    def _found(self, one: Conversation) -> Found:
        tally = self._tallies[one.id]
        newest_at = one.active_at if tally.newest_at is None else tally.newest_at
        named = one.id in self._titled, one.id in self._named
        return Found(one, *named, tally.count, newest_at, tuple(reversed(tally.kept)))

    def _know(self, sessions: set[str]) -> None:
        """Find the conversations of sessions, and whether they are in view."""
        unknown = sessions - self._owner.keys()
        if not unknown:
            return
        nodes = load_families(self._store, unknown)
        groups = [
            c
            for c in build_conversations(nodes, self._store)
            if not unknown.isdisjoint(c.session_ids)
        ]
        for conversation in self._in_view(groups):
            self.shown[conversation.id] = conversation
        for conversation in groups:
            owner = self.shown.get(conversation.id)
            self._owner.update(dict.fromkeys(conversation.session_ids, owner))

    def _in_view(self, groups: list[Conversation]) -> list[Conversation]:
        wanted = self._wanted.filter
        if not wanted.is_default:
            groups = self._filtered(groups)
        kept = []
        for conversation in groups:
            view = _out_of_view(conversation, wanted)
            if view is None:
                kept.append(conversation)
            else:
                self.left_out[view] += 1
        return kept

    def _filtered(self, groups: list[Conversation]) -> list[Conversation]:
        groups = with_exact_activity(self._store, groups)
        sessions = load_sessions(self._store, (i for c in groups for i in c.session_ids))
        rows = {c.id: tuple(sessions[i] for i in c.session_ids if i in sessions) for c in groups}
        return [c for c in groups if rows[c.id] and self._test(Candidate(c, rows[c.id], None))]


def _out_of_view(conversation: Conversation, wanted: Filter) -> str | None:
    if not wanted.shows(conversation):
        return conversation.away
    if conversation.source in AUTOMATION and not (
        wanted.everything or conversation.source in wanted.sources
    ):
        return conversation.source
    return None


def search(store: Store, wanted: Wanted, progress: Progress) -> Result:
    """Find what matches; ``progress`` is told of a scan, which may take long."""
    finder = Finder(store, Indexes(store), Reach(wanted.roles, not wanted.filter.is_default))
    result = _search(store, wanted, finder, progress)
    if not (result.found or result.left_out or result.orphans or result.interrupted):
        loose = wanted._replace(query=loosened(wanted.query))
        found = _search(store, loose, finder, progress)
        if found.found or found.left_out or found.orphans:
            return found._replace(in_parts=True)
    return result


def _search(store: Store, wanted: Wanted, finder: Finder, progress: Progress) -> Result:
    groups = _Groups(store, wanted)
    groups.add_names(
        sessions_by_title(store, wanted.query), sessions_by_id(store, wanted.query, wanted.text)
    )
    is_reasoning = wanted.roles is not None and REASONING in wanted.roles
    ids = None if is_reasoning else finder.candidates(wanted.query)
    if ids is not None:
        is_all = _read_newest_first(store, wanted, finder, ids, groups)
        return _result(wanted, finder, groups, is_all=is_all, scanned=False)

    def so_far() -> Result:
        return _result(wanted, finder, groups, is_all=False, scanned=True)

    try:
        for done, hits in scan(store, wanted.query, wanted.roles):
            groups.add(hits)
            progress(done, so_far)
    except KeyboardInterrupt:
        return so_far()._replace(interrupted=True)
    return _result(wanted, finder, groups, is_all=True, scanned=True)


def _result(
    wanted: Wanted, finder: Finder, groups: _Groups, *, is_all: bool, scanned: bool
) -> Result:
    found = ranked(groups.found(), wanted)
    return Result(
        tuple(found[: wanted.limit or None]),
        len(found) if is_all else None,
        groups.left_out,
        groups.orphans,
        tuple(finder.indexes.problems),
        scanned=scanned,
    )


def _read_newest_first(
    store: Store, wanted: Wanted, finder: Finder, ids: frozenset[int], groups: _Groups
) -> bool:
    """Read candidates until the page is decided; tell whether all of them were read.

    Of the conversations on the page the older hits are read, too: their numbers must be right.
    """
    pending = sorted(ids, reverse=True)
    for start in range(0, len(pending), _BATCH):
        batch = pending[start : start + _BATCH]
        hits = list(_decide(store, wanted, finder, batch))
        groups.add(hits)
        rest = len(pending) - start - len(batch)
        before = max((hit.timestamp for hit in hits if hit.timestamp is not None), default=None)
        if not rest or before is None:
            continue
        page = _decided_page(wanted, groups, rest, before)
        if page:
            sessions = [i for one in page for i in one.conversation.session_ids]
            older = message_ids(store, sessions, among=pending[-rest:])
            groups.add(_decide(store, wanted, finder, older))
            return False
    return True


def _decided_page(wanted: Wanted, groups: _Groups, rest: int, before: float) -> list[Found]:
    """Return the page if hits that are older can hardly change what is on it, else nothing.

    They cannot bring a new conversation onto it. One that was seen and is not on it might gain by
    having many more hits, all of them older than those of the page.
    """
    if not wanted.limit or wanted.sort is SortHits.OLDEST:
        return []
    page = ranked(groups.found(), wanted)[: wanted.limit]
    if len(page) < wanted.limit:
        return []
    last = page[-1]
    if wanted.sort is SortHits.NEWEST:
        is_decided = last.newest_at >= before
    else:
        score = _score(last.hit_count, last.newest_at, wanted.now)
        is_decided = last.by_title or last.by_id or score >= _score(rest, before, wanted.now)
    return page if is_decided else []


def _decide(store: Store, wanted: Wanted, finder: Finder, ids: Collection[int]) -> Iterator[Hit]:
    """Decide candidates by what the index is sure of, and the others by their text."""
    certain, possible = finder.bounds(wanted.query, frozenset(ids))
    doubtful = set(possible - certain)
    for hit, is_structured in read_hits(store, certain, wanted.roles):
        if is_structured:
            doubtful.add(hit.message_id)
        else:
            yield hit
    for hit, text in read_matching(store, sorted(doubtful), wanted.roles):
        if matches(wanted.query, text):
            yield hit


def ranked(found: Iterable[Found], wanted: Wanted) -> list[Found]:
    """Sort conversations; by rank, those whose title or id matches come first."""

    def rank(one: Found) -> tuple[bool, float, str]:
        score = _score(one.hit_count, one.newest_at, wanted.now)
        return one.by_title or one.by_id, score, one.conversation.id

    if wanted.sort is SortHits.RANK:
        return sorted(found, key=rank, reverse=True)
    newest = sorted(found, key=lambda one: (one.newest_at, one.conversation.id))
    return newest if wanted.sort is SortHits.OLDEST else newest[::-1]


def _score(hits: int, newest_at: float, now: float) -> float:
    """More hits count, but newer ones more: what was talked about lately is what is looked for."""
    age = max(0.0, now - newest_at)
    return float((1 + math.log1p(min(hits, _ENOUGH))) * 0.5 ** (age / _HALF_LIFE))
