"""Search: a query, the rows the indexes offer, and the text of those that need a look.

What matches is defined by ``hermes_sessions.matching`` alone; an index only saves reading rows.
Messages are looked at newest first, until no older one can change the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.query import loosened
from hermes_sessions.store.candidates import Finder, Reach
from hermes_sessions.store.fts import Indexes
from hermes_sessions.store.groups import Groups
from hermes_sessions.store.hits import all_ids, first_message_id
from hermes_sessions.store.reading import Reader
from hermes_sessions.store.titles import sessions_by_id, sessions_by_title

if TYPE_CHECKING:
    from hermes_sessions.errors import StoreDamaged
    from hermes_sessions.models import Filter
    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Index
    from hermes_sessions.store.ranking import Found, Ranking
    from hermes_sessions.store.windows import Window

DEFAULT_ROLES: Final = ("user", "assistant")


class Wanted(NamedTuple):
    """What to search for, and where.

    Attributes:
        text: the query as typed, for ids.
        roles: None for all.
        keep: hits of each conversation that are kept, the newest ones; 0 for all.
    """

    query: Query
    text: str
    filter: Filter
    roles: tuple[str, ...] | None
    ranking: Ranking
    keep: int = 0


class Result(NamedTuple):
    """A page of what matches.

    Attributes:
        query: what was looked for; with parts of words if nothing matches in whole ones.
        found: sorted and cut.
        total: conversations in view that match; None if not all of them were looked at.
        left_out: conversations that match but are out of view, by why, as far as was looked.
        orphans: how many messages match that belong to no session, by the id they name.
        problems: indexes that were asked and could not be trusted.
        scanned: of some rows no index could tell anything, so they were read one by one.
        damage: some rows could not be read.
        interrupted: the user stopped a scan; this is what it had found.
    """

    query: Query
    found: tuple[Found, ...]
    total: int | None
    left_out: dict[str, int]
    orphans: dict[str, int]
    problems: tuple[Index, ...]
    scanned: bool
    damage: StoreDamaged | None
    interrupted: bool


Progress = Callable[[float, Callable[[], Result]], object]
"""Gets how much is done, from 0 to 1, and what can tell what was found so far."""


def search(store: Store, wanted: Wanted, progress: Progress) -> Result:
    """Find what matches; ``progress`` is told how far it is, for it may take long."""
    finder = Finder(store, Indexes(store), Reach(wanted.roles, not wanted.filter.is_default))
    result = _Search(store, wanted, finder).run(progress)
    if result.found or result.left_out or result.orphans or result.interrupted:
        return result
    loose = _Search(store, wanted._replace(query=loosened(wanted.query)), finder).run(progress)
    return loose if loose.found or loose.left_out or loose.orphans else result


class _Search:
    """One pass over the store."""

    def __init__(self, store: Store, wanted: Wanted, finder: Finder) -> None:
        self._store = store
        self._wanted = wanted
        self._finder = finder
        self._reader = Reader(store, wanted.query, wanted.roles, finder)
        self._groups = Groups(store, wanted.filter, wanted.keep)

    def run(self, progress: Progress) -> Result:
        """Look at titles and ids, then at messages until the page is decided."""
        query = self._wanted.query
        self._groups.add_names(
            sessions_by_title(self._store, query),
            sessions_by_id(self._store, query, self._wanted.text),
        )
        ids = all_ids(self._store)
        if ids is None:
            return self._result(is_all=True)
        try:
            is_all = self._read(ids, progress)
        except KeyboardInterrupt:
            return self._result(is_all=False)._replace(interrupted=True)
        return self._result(is_all=is_all)

    def _read(self, ids: Window, progress: Progress) -> bool:
        """Read what matches, newest first; tell whether all of it was read."""
        before: float | None = None
        for window in ids.growing():
            for batch in self._reader.read(window):
                self._groups.add(batch.hits)
                times = [hit.timestamp for hit in batch.hits if hit.timestamp is not None]
                before = max(times, default=before)
                page = self._decided_page(before)
                if page and batch.low > ids.low:
                    self._read_older(ids._replace(high=batch.low - 1), page)
                    return False
                done = (ids.high - batch.low + 1) / ids.size
                progress(done, lambda: self._result(is_all=False))
        return True

    def _decided_page(self, before: float | None) -> list[Found]:
        ranking = self._wanted.ranking
        if before is None or not ranking.can_decide or len(self._groups) < ranking.limit:
            return []
        return ranking.decided(self._groups.found(), before)

    def _read_older(self, rest: Window, page: list[Found]) -> None:
        """Read the older hits of conversations on the page: their numbers must be right."""
        sessions = frozenset(i for one in page for i in one.conversation.session_ids)
        first = first_message_id(self._store, sessions)
        if first is None:
            return
        for window in rest._replace(low=max(first, rest.low)).growing():
            for batch in self._reader.read(window, sessions):
                self._groups.add(batch.hits)

    def _result(self, *, is_all: bool) -> Result:
        ranking = self._wanted.ranking
        found = ranking.sorted(self._groups.found())
        return Result(
            query=self._wanted.query,
            found=tuple(found[: ranking.limit or None]),
            total=len(found) if is_all else None,
            left_out=self._groups.left_out,
            orphans=self._groups.orphans,
            problems=tuple(self._finder.indexes.problems),
            scanned=self._reader.scanned,
            damage=self._reader.damage,
            interrupted=False,
        )
