"""From session rows to conversations: one query, then the lineage worked out once, in Python.

A person sees conversations; Hermes stores one row for each segment of a compressed chat, and rows
for branches, resets and delegates, told apart by marks in ``model_config`` and by how the parent
ended. Broken JSON, cycles, parents that are gone and rules of older releases are ordinary input.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.models import Conversation, Kind, Node
from hermes_sessions.times import SANE_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.schema import Capabilities

COMPRESSION: Final = "compression"
BRANCHED: Final = "branched"
RESET_REASONS: Final = (
    "session_reset",
    "session_switch",
    "idle",
    "daily",
    "suspended",
    "resume_pending_expired",
)
_MARKS: Final = (
    ("_branched_from", Kind.BRANCH),
    ("_delegate_from", Kind.DELEGATE),
    ("_reset_from", Kind.RESET),
)


def sane(expression: str) -> str:
    """Return SQL for a time that can be trusted, else NULL (text and NULL compare as outside)."""
    return f"CASE WHEN {expression} BETWEEN 0 AND {SANE_MAX} THEN {expression} END"


def is_marked(capabilities: Capabilities) -> str:
    """Return the condition for rows whose ``model_config`` may hold a lineage mark."""
    return f"instr({capabilities.column('model_config')}, '_from\"') > 0"


def node_query(capabilities: Capabilities) -> str:
    """Return the query for Nodes, without a condition."""
    column = capabilities.column
    reasons = ", ".join(f"'{reason}'" for reason in (COMPRESSION, BRANCHED, *RESET_REASONS))
    return f"""
        SELECT s.id, p.id, CASE WHEN p.end_reason IN ({reasons}) THEN p.end_reason END,
               s.source, CASE WHEN s.end_reason IN ({reasons}) THEN s.end_reason END,
               {row_activity(capabilities)},
               {away_case(capabilities)},
               {column("pinned", "0")},
               CASE WHEN {is_marked(capabilities)} THEN {column("model_config")} END
        FROM sessions AS s LEFT JOIN sessions AS p ON p.id = s.parent_session_id"""


def row_activity(capabilities: Capabilities) -> str:
    """Return SQL for the newest time in a session row itself, 0.0 if none can be trusted."""
    return f"""max(coalesce({sane("s.started_at")}, 0.0),
                   coalesce({sane(capabilities.column("last_activity_at"))}, 0.0))"""


def away_case(capabilities: Capabilities) -> str:
    """Return SQL for the reason why a row by itself is not in the default view."""
    column = capabilities.column
    return f"""CASE WHEN {column("archived", "0")} THEN 'archived'
                    WHEN {column("hidden", "0")} THEN 'hidden'
                    WHEN s.source = 'tool' THEN 'tool'
                    WHEN s.source = 'subagent' THEN 'delegate' END"""


def load_conversations(store: Store) -> list[Conversation]:
    """Load every conversation of the store, in no particular order."""
    rows = store.rows(node_query(store.capabilities))
    return build_conversations(list(map(Node._make, rows)), store)


def load_families(store: Store, session_ids: Iterable[str]) -> list[Node]:
    """Load these sessions with all that may be of the same conversations.

    That is what they continue, and every child of a compressed session among these: one of them
    continues it.
    """
    rows = store.rows(
        f"""
        WITH RECURSIVE
        above(id, parent_id) AS (
            SELECT id, parent_session_id FROM sessions
            WHERE id IN (SELECT value FROM json_each(:ids))
            UNION
            SELECT p.id, p.parent_session_id FROM above
            JOIN sessions AS p ON p.id = above.parent_id AND p.end_reason = '{COMPRESSION}'
        ),
        family(id) AS (
            SELECT id FROM above
            UNION
            SELECT c.id FROM family
            JOIN sessions AS p ON p.id = family.id AND p.end_reason = '{COMPRESSION}'
            JOIN sessions AS c ON c.parent_session_id = p.id
        )
        {node_query(store.capabilities)} WHERE s.id IN (SELECT id FROM family)""",
        {"ids": json.dumps(list(session_ids))},
    )
    return list(map(Node._make, rows))


def build_conversations(nodes: Sequence[Node], store: Store) -> list[Conversation]:
    """Join sessions to conversations; every node is in exactly one of them.

    The store is asked only about the few rows whose own query did not tell enough: parents of
    unmarked children, and chains that fork.
    """
    linked = [node for node in nodes if node.parent_id or node.marks or node.end_reason]
    plain = [
        Conversation(Kind.ROOT, (node,), node.active_at, node.away)
        for node in nodes
        if not (node.parent_id or node.marks or node.end_reason)
    ]
    if not linked:
        return plain
    by_id = {node.id: node for node in linked}
    return plain + _linked_conversations(linked, by_id, store)


def _linked_conversations(
    linked: Sequence[Node], by_id: Mapping[str, Node], store: Store
) -> list[Conversation]:
    kinds = _kinds(linked, store)
    next_of = _next_segments(linked, kinds, store)
    continued = set(next_of.values())
    conversations = []
    seen: set[str] = set()
    heads = [node for node in linked if node.id not in continued]
    for head in (*heads, *linked):  # the second pass picks up what a cycle has kept from any head
        if head.id in seen:
            continue
        chain: tuple[Node, ...] = (head,)
        tip = head
        seen.add(head.id)
        while (following := next_of.get(tip.id)) and following not in seen:
            tip = by_id[following]
            chain = (*chain, tip)
            seen.add(following)
        conversations.append(_conversation(kinds[head.id] or Kind.CHILD, chain))
    return conversations


def _conversation(kind: Kind, chain: tuple[Node, ...]) -> Conversation:
    away = chain[-1].away
    if away is None and (kind is Kind.DELEGATE or kind is Kind.CHILD):
        away = str(kind)
    active_at = max([node.active_at for node in chain])
    return Conversation(kind, chain, active_at, away)


def _kinds(linked: Sequence[Node], store: Store) -> dict[str, Kind | None]:
    """Say what each linked node is; None is a continuation of its parent.

    A mark counts as a fork of the parent only if it names the parent: a continuation inherits
    the text of its parent's ``model_config`` (store facts §6).
    """
    kinds: dict[str, Kind | None] = {}
    unmarked = []
    for node in linked:
        marks = lineage_marks(node.marks) if node.marks else ()
        own = [kind for kind, target in marks if target == node.parent_id]
        if node.parent_id is None:
            kinds[node.id] = _kind_without_parent(marks)
        elif own:
            kinds[node.id] = own[0]
        elif node.parent_end_reason == COMPRESSION and node.source != "tool":
            kinds[node.id] = None
        elif marks:
            kinds[node.id] = marks[0][0]
        else:
            unmarked.append(node)
    kinds.update(_legacy_kinds(unmarked, store))
    return kinds


def _kind_without_parent(marks: Sequence[tuple[Kind, str]]) -> Kind:
    """A row whose parent is gone is a root (R050), unless a mark says that it was a delegate."""
    kinds = [kind for kind, _ in marks]
    return Kind.DELEGATE if Kind.DELEGATE in kinds else next(iter(kinds), Kind.ROOT)


def lineage_marks(model_config: object) -> list[tuple[Kind, str]]:
    """Return the lineage marks in a ``model_config`` cell; none if it is broken (R003)."""
    if not isinstance(model_config, (str, bytes)):
        return []
    try:
        config = json.loads(model_config)
    except ValueError:
        return []
    if not isinstance(config, dict):
        return []
    return [(kind, str(config[mark])) for mark, kind in _MARKS if config.get(mark)]


def _legacy_kinds(unmarked: Sequence[Node], store: Store) -> dict[str, Kind | None]:
    """Classify children of before the marks by how and when the parent ended (0.13 to 0.18)."""
    if not unmarked:
        return {}
    ids = {node.id for node in unmarked} | {node.parent_id for node in unmarked if node.parent_id}
    column = store.capabilities.column
    facts = {
        row[0]: row[1:]
        for row in store.rows(
            f"""
            SELECT s.id, {sane("s.started_at")}, {sane("s.ended_at")}, {column("session_key")}
            FROM sessions AS s WHERE s.id IN (SELECT value FROM json_each(:ids))""",
            {"ids": json.dumps(sorted(ids))},
        )
    }
    kinds: dict[str, Kind | None] = {}
    for node in unmarked:
        started, _, key = facts.get(node.id, (None, None, None))
        _, ended, parent_key = facts.get(node.parent_id, (None, None, None))
        if node.parent_end_reason == BRANCHED and _not_before(started, ended):
            kinds[node.id] = Kind.BRANCH
        elif node.parent_end_reason in RESET_REASONS and key and key == parent_key:
            kinds[node.id] = Kind.RESET
        else:
            kinds[node.id] = Kind.CHILD
    return kinds


def _not_before(started: object, ended: object) -> bool:
    return isinstance(started, float) and isinstance(ended, float) and started >= ended


def _next_segments(
    linked: Iterable[Node],
    kinds: dict[str, Kind | None],
    store: Store,
) -> dict[str, str]:
    """Map each compressed session to the one that continues it.

    Of several candidates, one that was itself compressed goes first, then an open one, then the
    most recently active (as Hermes steps forward); the others are children of no known kind.
    """
    candidates: dict[str, list[Node]] = {}
    for node in linked:
        if node.parent_id and kinds[node.id] is None:
            candidates.setdefault(node.parent_id, []).append(node)
    contested = [node.id for nodes in candidates.values() if len(nodes) > 1 for node in nodes]
    rank = _step_ranks(contested, store) if contested else {}
    chosen = {}
    for parent_id, nodes in candidates.items():
        nodes.sort(key=lambda node: rank.get(node.id, ()), reverse=True)
        chosen[parent_id] = nodes[0].id
        for node in nodes[1:]:
            kinds[node.id] = Kind.CHILD
    return chosen


def _step_ranks(ids: Sequence[str], store: Store) -> dict[str, tuple[object, ...]]:
    exact = newest_messages(store, ids)
    return {
        str(row[0]): (*row[1:3], max(float(str(row[3])), exact.get(str(row[0]), 0.0)), *row[4:])
        for row in store.rows(
            f"""
            SELECT s.id, s.end_reason IS '{COMPRESSION}', s.ended_at IS NULL,
                   {row_activity(store.capabilities)},
                   coalesce({sane("s.started_at")}, 0.0), s.id
            FROM sessions AS s WHERE s.id IN (SELECT value FROM json_each(:ids))""",
            {"ids": json.dumps(ids)},
        )
    }


def newest_messages(store: Store, session_ids: Iterable[str]) -> dict[str, float]:
    """Return the time of the newest message of each session that has a trustworthy one.

    One index seek a session; without an index of ``messages`` by session, one pass over them all.
    """
    if not store.capabilities.has_message_index:
        wanted = set(session_ids)
        rows = store.rows(
            f"""
            SELECT session_id, max(timestamp) FROM messages
            WHERE timestamp BETWEEN 0 AND {SANE_MAX} GROUP BY session_id"""
        )
        return {str(row[0]): float(str(row[1])) for row in rows if row[0] in wanted}
    rows = store.rows(
        f"""
        SELECT value, (SELECT max(m.timestamp) FROM messages AS m
                       WHERE m.session_id = value AND m.timestamp BETWEEN 0 AND {SANE_MAX})
        FROM json_each(:ids)""",
        {"ids": json.dumps(list(session_ids))},
    )
    return {str(row[0]): float(row[1]) for row in rows if isinstance(row[1], (int, float))}


def with_exact_activity(store: Store, conversations: Sequence[Conversation]) -> list[Conversation]:
    """Replace what the rows claim of their last activity by what the messages say too."""
    newest = newest_messages(
        store, (node.id for conversation in conversations for node in conversation.nodes)
    )
    exact = []
    for conversation in conversations:
        times = [newest[node.id] for node in conversation.nodes if node.id in newest]
        active_at = max(times, default=0.0)
        exact.append(
            conversation._replace(active_at=active_at)
            if active_at > conversation.active_at
            else conversation
        )
    return exact
