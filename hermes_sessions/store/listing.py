"""A page of a listing: the selection, what its lines say, and for a tree what hangs below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.models import Listing, Row
from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.messages import count_messages
from hermes_sessions.store.recent import newest_first
from hermes_sessions.store.selection import Line, select
from hermes_sessions.store.summaries import summarise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hermes_sessions.models import Conversation, Filter, Summary
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.selection import Order


class Query(NamedTuple):
    """What a page is to show.

    Attributes:
        wanted: what to select.
        order: how to sort, cut and fold.
        now: epoch seconds.
        tree: put branches, resets and delegates below what they hang off.
        count_all: count everything that matches, in view and out of it.
    """

    wanted: Filter
    order: Order
    now: float
    tree: bool = False
    count_all: bool = False


def load_listing(store: Store, home: Path | None, query: Query) -> Listing:
    """Load one page of a store; ``home`` tells who has what open."""
    selection = select(store, query.wanted, query.order, count=query.count_all)
    placed = [(line, 0) for line in selection.lines]
    if query.tree:
        placed = list(_as_tree(store, [line.conversation for line in selection.lines]))
    conversations = [line.conversation for line, _ in placed]
    summaries = {s.id: s for s in summarise(store, home, conversations, query.now)}
    rows = tuple(
        _row(store, line, summaries[line.conversation.id], depth)
        for line, depth in placed
        if line.conversation.id in summaries
    )
    damage = next((row.summary.damage for row in rows if row.summary.damage), selection.damage)
    return Listing(rows, selection.total, selection.hidden, damage)


def _row(store: Store, line: Line, summary: Summary, depth: int) -> Row:
    messages = summary.messages
    if line.older_runs and messages is not None:
        older = [session_id for run in line.older_runs for session_id in run.session_ids]
        try:
            messages += count_messages(store, older)
        except StoreDamaged:
            messages = None
    return Row(summary, len(line.older_runs), messages, depth)


def _as_tree(store: Store, page: Sequence[Conversation]) -> Iterator[tuple[Line, int]]:
    """Yield the page with everything that hangs below it, each conversation once."""
    everything = load_conversations(store)
    owner = {node.id: c.id for c in everything for node in c.nodes}
    offspring: dict[str, list[Conversation]] = {}
    for conversation in everything:
        parent = owner.get(conversation.root.parent_id or "")
        if parent and parent != conversation.id:
            offspring.setdefault(parent, []).append(conversation)
    on_page = {conversation.id: conversation for conversation in page}
    below = {c.id for some in page for c in offspring.get(some.id, ())}
    seen: set[str] = set()
    pending = [(c, 0) for c in reversed(page) if c.id not in below or c.id not in on_page]
    while pending:
        conversation, depth = pending.pop()
        if conversation.id in seen:
            continue
        seen.add(conversation.id)
        yield Line(conversation), depth
        children = with_exact_activity(store, offspring.get(conversation.id, ()))
        pending += [(child, depth + 1) for child in reversed(newest_first(children))]
    yield from ((Line(c), 0) for c in page if c.id not in seen)
