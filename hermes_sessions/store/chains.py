"""Conversations as what their sessions took: what figures are made of.

Most sessions have no lineage and nothing that puts them out of view. Each of these is a
conversation of its own, and need not be worked out to be counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.models import Filter
from hermes_sessions.store.catalog import build_conversations
from hermes_sessions.store.recent import load_special_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hermes_sessions.errors import UserError
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store
    from hermes_sessions.tallies import Usage


class Chain(NamedTuple):
    """One conversation.

    Attributes:
        source: where it is now.
        away: why it is not in the default view, or None.
        sessions: root first.
    """

    source: str
    away: str | None
    sessions: tuple[Usage, ...]


class Chains(NamedTuple):
    """The conversations of a store; every session is in exactly one.

    Attributes:
        plain: sessions that are conversations of their own, in view; all of them are selected.
        shown: the other conversations that a filter selects.
        others: those that it matches and that are out of the view it asks for.
        away: every session that is out of the default view, with the reason.
        damage: why the filter could not look at the messages, or None.
    """

    plain: list[Usage]
    shown: list[Chain]
    others: list[Chain]
    away: dict[str, str]
    damage: UserError | None


def load_chains(store: Store, usage: Mapping[str, Usage], wanted: Filter) -> Chains:
    """Load the conversations of all sessions whose rows are given, and what a filter selects."""
    nodes = load_special_nodes(store)
    conversations = build_conversations(nodes, store)
    away = {i: c.away for c in conversations if c.away for i in c.session_ids}
    plain: list[Usage] = []
    damage = None
    if wanted._replace(archived=False, everything=False) != Filter():
        conversations, damage = _matching(store, wanted)
    elif not wanted.archived:
        special = {node.id for node in nodes}
        plain = [row for row in usage.values() if row.id not in special]
    shown, others = _by_view(conversations, wanted)
    return Chains(plain, _chains(shown, usage), _chains(others, usage), away, damage)


def _matching(store: Store, wanted: Filter) -> tuple[list[Conversation], UserError | None]:
    """Return the conversations that match, in view or not."""
    from hermes_sessions.store.selection import Order, select

    in_any_view = wanted._replace(archived=False, everything=True)
    selection = select(store, in_any_view, Order(limit=0))
    return [line.conversation for line in selection.lines], selection.damage


def _by_view(
    conversations: Iterable[Conversation], wanted: Filter
) -> tuple[list[Conversation], list[Conversation]]:
    """Divide what matches into what is shown and what is out of view.

    With ``archived`` the others are not out of view, they are not meant.
    """
    shown: list[Conversation] = []
    others: list[Conversation] = []
    for conversation in conversations:
        (shown if wanted.shows(conversation) else others).append(conversation)
    return shown, [] if wanted.archived else others


def _chains(conversations: Iterable[Conversation], usage: Mapping[str, Usage]) -> list[Chain]:
    """Join conversations with their rows; one that began after they were read has none."""
    chains = (
        Chain(c.source, c.away, tuple([usage[i] for i in c.session_ids if i in usage]))
        for c in conversations
    )
    return [chain for chain in chains if chain.sessions]
