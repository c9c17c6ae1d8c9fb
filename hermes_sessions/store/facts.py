"""Everything about one conversation for its fact sheet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.models import Kind
from hermes_sessions.store.catalog import build_conversations, load_families, with_exact_activity
from hermes_sessions.store.recent import newest_first
from hermes_sessions.store.summaries import summarise

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.models import Conversation, Summary
    from hermes_sessions.store.connect import Store


class Facts(NamedTuple):
    """A conversation and what hangs together with it.

    Attributes:
        parent: the conversation it was branched, reset or delegated from, if it is still there.
        branches: branches and resets of it, newest first.
        delegates: its delegates and children without a mark, newest first.
    """

    summary: Summary
    parent: Summary | None
    branches: tuple[Summary, ...]
    delegates: tuple[Summary, ...]


def load_facts(store: Store, home: Path | None, conversation: Conversation, now: float) -> Facts:
    """Load the fact sheet of a conversation whose activity is exact."""
    related = _related(store, conversation)
    mine = set(conversation.session_ids)
    parent_id = conversation.root.parent_id
    parent = next((c for c in related if parent_id in c.session_ids), None)
    offspring = newest_first(
        with_exact_activity(store, [c for c in related if c.root.parent_id in mine])
    )
    wanted = [conversation, *([parent] if parent else []), *offspring]
    summaries = {s.id: s for s in summarise(store, home, wanted, now)}
    children = [(c.kind, summaries[c.id]) for c in offspring if c.id in summaries]
    return Facts(
        summaries[conversation.id],
        summaries.get(parent.id) if parent else None,
        tuple(s for kind, s in children if kind in {Kind.BRANCH, Kind.RESET}),
        tuple(s for kind, s in children if kind not in {Kind.BRANCH, Kind.RESET}),
    )


def _related(store: Store, conversation: Conversation) -> list[Conversation]:
    """Return the conversations that this one hangs off, or that hang off it."""
    rows = store.rows(
        "SELECT id FROM sessions WHERE parent_session_id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(conversation.session_ids)},
    )
    parent_id = conversation.root.parent_id
    ids = [*conversation.session_ids, *(str(row[0]) for row in rows)]
    nodes = load_families(store, [*ids, parent_id] if parent_id else ids)
    return [c for c in build_conversations(nodes, store) if c.id != conversation.id]
