"""Hits under their conversations, as they are found."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.catalog import build_conversations, load_families, with_exact_activity
from hermes_sessions.store.filters import Candidate, matcher
from hermes_sessions.store.ranking import Found
from hermes_sessions.store.sessions import load_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.models import Conversation, Filter
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.hits import Hit

AUTOMATION: Final = frozenset({"cron"})
"""Sources that are searched only when asked for: what a job wrote each night is not looked for."""


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


class Groups:
    """Conversations that match.

    Attributes:
        left_out: how many match but are out of view, by why.
        orphans: how many messages match that belong to no session, by the id they name.
    """

    def __init__(self, store: Store, wanted: Filter, keep: int) -> None:
        """Group the hits of a store.

        Args:
            store: where they are.
            wanted: which conversations are in view.
            keep: hits of each conversation that are kept, the newest ones; 0 for all.
        """
        self._store = store
        self._filter = wanted
        self._keep = keep
        self._test = matcher(wanted)
        self._owner: dict[str, Conversation | None] = {}
        self._tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._titled: set[str] = set()
        self._named: set[str] = set()
        self._shown: dict[str, Conversation] = {}
        self.left_out: Counter[str] = Counter()
        self.orphans: Counter[str] = Counter()

    def add(self, hits: Iterable[Hit]) -> None:
        """Put hits where they belong; all of them are older than those before."""
        hits = sorted(hits, reverse=True)
        self._know({hit.session_id for hit in hits})
        for hit in hits:
            owner = self._owner.get(hit.session_id)
            if hit.session_id not in self._owner:
                self.orphans[hit.session_id] += 1
            elif owner is not None:
                self._tallies[owner.id].add(hit, self._keep)

    def add_names(self, titled: set[str], named: set[str]) -> None:
        """Add conversations whose title or id matches."""
        self._know(titled | named)
        for found, sessions in ((self._titled, titled), (self._named, named)):
            found.update(o.id for i in sessions if (o := self._owner.get(i)) is not None)

    def __len__(self) -> int:
        """Return how many are in view so far."""
        return len(self._shown)

    def found(self) -> list[Found]:
        """Return what is in view so far."""
        return [self._found(one) for one in self._shown.values()]

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
            self._shown[conversation.id] = conversation
        for conversation in groups:
            owner = self._shown.get(conversation.id)
            self._owner.update(dict.fromkeys(conversation.session_ids, owner))

    def _in_view(self, groups: list[Conversation]) -> list[Conversation]:
        if not self._filter.is_default:
            groups = self._filtered(groups)
        kept = []
        for conversation in groups:
            reason = self._out_of_view(conversation)
            if reason is None:
                kept.append(conversation)
            else:
                self.left_out[reason] += 1
        return kept

    def _filtered(self, groups: list[Conversation]) -> list[Conversation]:
        groups = with_exact_activity(self._store, groups)
        sessions = load_sessions(self._store, (i for c in groups for i in c.session_ids))
        rows = {c.id: tuple(sessions[i] for i in c.session_ids if i in sessions) for c in groups}
        return [c for c in groups if rows[c.id] and self._test(Candidate(c, rows[c.id], None))]

    def _out_of_view(self, conversation: Conversation) -> str | None:
        if not self._filter.shows(conversation):
            return conversation.away
        if conversation.source in AUTOMATION and not (
            self._filter.everything or conversation.source in self._filter.sources
        ):
            return conversation.source
        return None
