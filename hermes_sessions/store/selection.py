"""From a filter to the conversations it selects, sorted and cut: what every command starts with."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.models import Filter, total_cost
from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.filters import Candidate, matcher
from hermes_sessions.store.lookup import conversations_of, ids_with_prefix
from hermes_sessions.store.messages import count_all_messages
from hermes_sessions.store.recent import (
    count_by_view,
    newest_conversations,
    newest_first,
)
from hermes_sessions.store.sessions import load_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hermes_sessions.errors import UserError
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store

CRON: Final = "cron"
_CRON_ID: Final = r"(cron_.+)_\d{8}_\d{6}"


class Sort(StrEnum):
    """Orders of a listing, newest or largest first; titles alphabetically."""

    ACTIVITY = "activity"
    STARTED = "started"
    MESSAGES = "messages"
    COST = "cost"
    TITLE = "title"


class Order(NamedTuple):
    """How a selection is sorted, cut and folded.

    Attributes:
        limit: lines at most; 0 for all.
        fold: runs of one cron job make one line.
    """

    sort: Sort = Sort.ACTIVITY
    reverse: bool = False
    limit: int = 20
    fold: bool = False


class Line(NamedTuple):
    """One line of a listing: a conversation, and the older runs of the same job folded into it."""

    conversation: Conversation
    older_runs: tuple[Conversation, ...] = ()


class Selection(NamedTuple):
    """What a filter selects.

    Attributes:
        lines: sorted and cut.
        total: conversations in view; None if they were not counted.
        hidden: how many more the filter matches, by why they are out of view.
        damage: what could not be read, or None; the lines are then what could.
    """

    lines: tuple[Line, ...]
    total: int | None
    hidden: Mapping[str, int]
    damage: UserError | None = None


def select(store: Store, wanted: Filter, order: Order, *, count: bool = False) -> Selection:
    """Select conversations; ``count`` what else there is, even where that costs extra.

    A store whose messages are unreadable is still listed, by what the session rows say, and the
    damage is reported with it (R111).
    """
    try:
        if wanted.is_default and order.sort is Sort.ACTIVITY and order.limit and not order.reverse:
            return _select_newest(store, wanted, order, count=count)
        return _select_from_all(store, wanted, order, with_exact_activity)
    except StoreDamaged as damage:
        selection = _select_from_all(store, wanted, order, lambda _store, found: list(found))
        return selection._replace(damage=damage)


def _select_newest(store: Store, wanted: Filter, order: Order, *, count: bool) -> Selection:
    found = newest_conversations(
        store,
        order.limit,
        accept=lambda some: [c for c in some if wanted.shows(c)],
        count=(lambda some: len(fold_runs(some))) if order.fold else len,
    )
    lines = fold_runs(found) if order.fold else [Line(c) for c in found]
    lines = lines[: order.limit]
    if order.fold:
        lines = [_with_all_runs(store, line, wanted) for line in lines]
    if not count:
        return Selection(tuple(lines), None, {})
    views = count_by_view(store)
    total = views.pop(None, 0)
    return Selection(tuple(lines), total, _named(views))


def _with_all_runs(store: Store, line: Line, wanted: Filter) -> Line:
    """Load the runs of a job that are too old to be among the newest conversations."""
    job = cron_job(line.conversation)
    if job is None:
        return line
    runs = conversations_of(store, ids_with_prefix(store, f"{job}_"))
    same = [c for c in runs if cron_job(c) == job and wanted.shows(c)]
    return Line(
        line.conversation, tuple(c for c in newest_first(same) if c.id != line.conversation.id)
    )


def _select_from_all(
    store: Store,
    wanted: Filter,
    order: Order,
    exact: Callable[[Store, Sequence[Conversation]], list[Conversation]],
) -> Selection:
    candidates = _candidates(store, wanted, order, exact(store, load_conversations(store)))
    matches = matcher(wanted)
    matching = [candidate for candidate in candidates if matches(candidate)]
    shown = [candidate for candidate in matching if wanted.shows(candidate.conversation)]
    views = Counter(candidate.conversation.away for candidate in matching)
    views.subtract(candidate.conversation.away for candidate in shown)
    if wanted.archived:  # the others are not hidden, they are not meant
        views.clear()
    conversations = _sorted(shown, order)
    lines = fold_runs(conversations) if order.fold else [Line(c) for c in conversations]
    return Selection(tuple(lines[: order.limit or None]), len(shown), _named(views))


def _named(views: Counter[str | None]) -> dict[str, int]:
    return {view: number for view, number in views.items() if view and number}


def _candidates(
    store: Store, wanted: Filter, order: Order, conversations: Sequence[Conversation]
) -> list[Candidate]:
    sessions = load_sessions(store)
    counts: dict[str, int] = {}
    if wanted.needs_message_counts or order.sort is Sort.MESSAGES:
        counts = count_all_messages(store, conversations)
    return [
        Candidate(
            conversation,
            tuple(sessions[node.id] for node in conversation.nodes if node.id in sessions),
            counts.get(conversation.id),
        )
        for conversation in conversations
        if conversation.id in sessions
    ]


def _sorted(candidates: Sequence[Candidate], order: Order) -> list[Conversation]:
    keys: dict[Sort, Callable[[Candidate], tuple[object, ...]]] = {
        Sort.STARTED: lambda c: (c.sessions[0].started_at or 0.0,),
        Sort.MESSAGES: lambda c: (c.messages or 0,),
        Sort.COST: lambda c: (total_cost(c.sessions).usd or 0.0,),
        Sort.TITLE: lambda c: (_title(c) != "", _title(c)),
    }
    newest = newest_first(candidate.conversation for candidate in candidates)
    if order.sort is not Sort.ACTIVITY:
        rank = {candidate.conversation.id: keys[order.sort](candidate) for candidate in candidates}
        newest.sort(key=lambda c: rank[c.id], reverse=order.sort is not Sort.TITLE)
        if order.sort is Sort.TITLE:  # untitled ones last
            newest.sort(key=lambda c: not rank[c.id][0])
    return newest[::-1] if order.reverse else newest


def _title(candidate: Candidate) -> str:
    return next((row.title for row in reversed(candidate.sessions) if row.title), "").casefold()


def cron_job(conversation: Conversation) -> str | None:
    """Return what all runs of the same cron job share (``cron_<job>``), or None."""
    match = re.fullmatch(_CRON_ID, conversation.root.id) if conversation.source == CRON else None
    return match.group(1) if match else None


def fold_runs(conversations: Iterable[Conversation]) -> list[Line]:
    """Fold the runs of each cron job into the line of its first one in the given order."""
    lines: dict[str, list[Conversation]] = {}
    for conversation in conversations:
        lines.setdefault(cron_job(conversation) or conversation.id, []).append(conversation)
    return [Line(first, tuple(rest)) for first, *rest in lines.values()]
