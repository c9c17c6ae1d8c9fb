"""What goes with a conversation that is deleted, and what stays behind without it.

Its delegates go, and theirs. Branches and resets are conversations of their own: they stay, and
lose the session they hang off (R046).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.models import Conversation, Kind, Node
from hermes_sessions.store.catalog import build_conversations, lineage_marks, load_families

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_sessions.store.connect import Store

ORPHAN: Final = "orphan"
"""Stands for the source of a session that is gone but whose messages are there (R050)."""

_GO_TOO: Final = frozenset({Kind.DELEGATE, Kind.CHILD})


class Unit(NamedTuple):
    """A conversation and everything that goes with it; deleted as a whole, or not at all.

    Attributes:
        delegates: of the conversation, and of its delegates.
    """

    conversation: Conversation
    delegates: tuple[Conversation, ...]

    @property
    def id(self) -> str:
        """The id of the conversation."""
        return self.conversation.id

    @property
    def is_orphan(self) -> bool:
        """Tell whether it is what a session that is gone has left."""
        return self.conversation.source == ORPHAN

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """The conversation, then its delegates."""
        return (self.conversation, *self.delegates)

    @property
    def session_ids(self) -> tuple[str, ...]:
        """The ids of all sessions of it."""
        return tuple(i for c in self.conversations for i in c.session_ids)


def load_units(store: Store, conversations: Sequence[Conversation]) -> list[Unit]:
    """Load what goes with conversations; what hangs off another one of them comes before it.

    In this order no deletion changes a row of a unit that is still to be deleted. A delegate that
    was asked for by itself is a unit of its own.
    """
    owner = {i: c.id for c in conversations for i in c.session_ids}
    delegates: dict[str, list[Conversation]] = {c.id: [] for c in conversations}
    frontier = list(owner)
    while frontier:
        found = [(c, _owner(c, owner)) for c in _children(store, frontier) if c.id not in owner]
        frontier = []
        for child, owner_id in found:
            if owner_id is not None:
                delegates[owner_id].append(child)
                owner.update(dict.fromkeys(child.session_ids, owner_id))
                frontier += child.session_ids
    return _leaves_first([Unit(c, tuple(delegates[c.id])) for c in conversations])


def detached(store: Store, session_ids: Sequence[str]) -> int:
    """Count the sessions that stay and lose the one they hang off."""
    rows = store.rows(
        """
        SELECT count(*) FROM sessions
        WHERE parent_session_id IN (SELECT value FROM json_each(:ids))
          AND id NOT IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(list(session_ids))},
    )
    return int(str(rows[0][0]))


def orphan_units(store: Store) -> list[Unit]:
    """Load what sessions that are gone have left: messages, and rows of other tables."""
    tables = [("messages", "session_id")]
    if "session_model_usage" in store.capabilities.tables:
        tables.append(("session_model_usage", "session_id"))
    queries = (
        f"SELECT DISTINCT {column} FROM {table} AS t"
        f" WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = t.{column})"
        for table, column in tables
    )
    rows = store.rows(f"{' UNION '.join(queries)} ORDER BY 1")
    units = []
    for session_id in (str(row[0]) for row in rows if row[0] is not None):
        node = Node(session_id, None, None, ORPHAN, None, 0.0, None, 0, None)
        units.append(Unit(Conversation(Kind.CHILD, (node,), 0.0, None), ()))
    return units


def _children(store: Store, session_ids: Sequence[str]) -> list[Conversation]:
    """Return the conversations that hang off sessions, or are marked as their delegates."""
    marks = store.capabilities.column("model_config")
    rows = store.rows(
        f"""
        SELECT s.id FROM sessions AS s
        WHERE s.parent_session_id IN (SELECT value FROM json_each(:ids))
        UNION
        SELECT s.id FROM sessions AS s
        WHERE s.parent_session_id IS NULL AND instr({marks}, '_delegate_from') > 0""",
        {"ids": json.dumps(session_ids)},
    )
    children = {str(row[0]) for row in rows}
    conversations = build_conversations(load_families(store, children), store)
    return [c for c in conversations if not children.isdisjoint(c.session_ids)]


def _owner(child: Conversation, owner: Mapping[str, str]) -> str | None:
    """Return the conversation that a delegate goes with, None for what is no delegate of it."""
    if child.kind not in _GO_TOO:
        return None
    if child.root.parent_id is not None:
        return owner.get(child.root.parent_id)
    marks = lineage_marks(child.root.marks)
    named = (owner.get(target) for kind, target in marks if kind is Kind.DELEGATE)
    return next(filter(None, named), None)


def _leaves_first(units: Sequence[Unit]) -> list[Unit]:
    unit_of = {i: unit for unit in units for i in unit.session_ids}
    depths: dict[str, int] = {}

    def depth(unit: Unit, below: frozenset[str]) -> int:
        """Count the units it hangs off; a cycle of parents ends where it began."""
        if unit.id not in depths:
            parents = {unit_of.get(c.root.parent_id or "") for c in unit.conversations} - {
                None,
                unit,
            }
            above = [p for p in parents if p is not None and p.id not in below]
            depths[unit.id] = 1 + max((depth(p, below | {unit.id}) for p in above), default=-1)
        return depths[unit.id]

    return sorted(units, key=lambda unit: (-depth(unit, frozenset()), unit.id))
