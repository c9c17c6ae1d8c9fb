"""What a prune may delete, and why it keeps the rest (contract §10)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.dependents import routed
from hermes_sessions.store.filters import Candidate, matcher
from hermes_sessions.store.lineage import Unit, load_units
from hermes_sessions.store.live import find_live
from hermes_sessions.store.messages import count_all_messages
from hermes_sessions.store.sessions import load_sessions
from hermes_sessions.titles import BOT_CHAT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hermes_sessions.models import Conversation, Filter, Session
    from hermes_sessions.store.connect import Store

_MONTH = 30 * 86_400.0


class Rules(NamedTuple):
    """What is selected, and which keep rules are off.

    Attributes:
        now: epoch seconds.
        pinned, archived: these may go, too.
        routed: so may those that a chat of a gateway leads to.
        never_active: only sessions that a gateway opened and nobody used.
    """

    wanted: Filter
    now: float
    pinned: bool = False
    archived: bool = False
    routed: bool = False
    never_active: bool = False


class Pruning(NamedTuple):
    """What goes, and what matches but stays.

    Attributes:
        kept: how many stay, by why.
        total: conversations in the store.
    """

    units: tuple[Unit, ...]
    kept: Mapping[str, int]
    total: int


def select_prunable(store: Store, home: Path | None, rules: Rules) -> Pruning:
    """Select conversations to prune.

    Raises:
        StoreDamaged: the messages cannot be read, so nothing may be deleted.
    """
    conversations = with_exact_activity(store, load_conversations(store))
    sessions = load_sessions(store)
    matching = _matching(store, rules, conversations, sessions)
    keeps = _keep_rules(store, home, rules, conversations, sessions)
    kept: dict[str, int] = {}
    chosen = []
    for conversation in matching:
        why = next((reason for reason, holds in keeps if holds(conversation)), None)
        if why is None:
            chosen.append(conversation)
        else:
            kept[why] = kept.get(why, 0) + 1
    units = []
    for unit in load_units(store, chosen):
        why = _kept_for_delegates(unit, keeps)
        if why is None:
            units.append(unit)
        else:
            kept[why] = kept.get(why, 0) + 1
    return Pruning(tuple(units), kept, len(conversations))


def _matching(
    store: Store,
    rules: Rules,
    conversations: Sequence[Conversation],
    sessions: Mapping[str, Session],
) -> list[Conversation]:
    if rules.never_active:
        unused = _never_active(store, rules)
        return [c for c in conversations if c.id in unused and len(c.nodes) == 1]
    test = matcher(rules.wanted)
    counts = {}
    if rules.wanted.needs_message_counts:
        counts = count_all_messages(store, conversations)
    found = []
    for conversation in conversations:
        rows = tuple(sessions[i] for i in conversation.session_ids if i in sessions)
        is_meant = not rules.wanted.archived or conversation.away == "archived"
        if rows and is_meant and test(Candidate(conversation, rows, counts.get(conversation.id))):
            found.append(conversation)
    return found


def _keep_rules(
    store: Store,
    home: Path | None,
    rules: Rules,
    conversations: Sequence[Conversation],
    sessions: Mapping[str, Session],
) -> list[tuple[str, Callable[[Conversation], bool]]]:
    live = find_live(store, home, conversations, rules.now)
    leading = {} if rules.routed or rules.never_active else routed(store)

    def is_open(conversation: Conversation) -> bool:
        rows = (sessions.get(i) for i in conversation.session_ids)
        return any(row is not None and row.is_open for row in rows)

    def is_bot_chat(conversation: Conversation) -> bool:
        row = sessions.get(conversation.id)
        return conversation.away == "hidden" and row is not None and row.title == BOT_CHAT

    keeps: list[tuple[str, Callable[[Conversation], bool]]] = [
        ("live now", lambda c: c.id in live),
    ]
    if not rules.pinned:
        keeps.append(("pinned", lambda c: any(node.pinned for node in c.nodes)))
    if not rules.archived and not rules.wanted.archived:
        keeps.append(("archived", lambda c: c.away == "archived"))
    keeps.append(("bot chat", is_bot_chat))
    keeps.append(("routed", lambda c: any(i in leading for i in c.session_ids)))
    if not rules.never_active:
        keeps.append(("open", is_open))
    return keeps


def _kept_for_delegates(
    unit: Unit, keeps: Sequence[tuple[str, Callable[[Conversation], bool]]]
) -> str | None:
    """A delegate may be open, having never been ended; but not live, pinned or routed."""
    for delegate in unit.delegates:
        for reason, holds in keeps:
            if reason in {"live now", "pinned", "routed"} and holds(delegate):
                return f"with a {reason} delegate"
    return None


def _never_active(store: Store, rules: Rules) -> set[str]:
    """Return gateway sessions that were opened and never used (0.22.2, never-active prune)."""
    column = store.capabilities.column
    before = rules.wanted.active_before
    counters = ("message_count", "tool_call_count", "input_tokens", "output_tokens")
    unused = " AND ".join(f"coalesce({column(name, '0')}, 0) = 0" for name in counters)
    rows = store.rows(
        f"""
        SELECT s.id FROM sessions AS s
        WHERE coalesce({column("session_key")}, '') <> '' AND s.ended_at IS NULL
          AND s.title IS NULL AND {column("last_activity_at")} IS NULL AND {unused}
          AND coalesce({column("api_call_count", "0")}, 0) = 0
          AND s.started_at < :before
          AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id)""",
        {"before": rules.now - _MONTH if before is None else before},
    )
    return {str(row[0]) for row in rows}


def check_undamaged(store: Store) -> None:
    """Check every page of sessions and messages before anything is deleted.

    The search indexes are not looked at: what SQLite says of them is no damage of the store
    (store facts §0, trap 8).

    Raises:
        StoreDamaged: something is malformed.
    """
    from hermes_sessions.errors import StoreDamaged

    for table in ("sessions", "messages"):
        found = store.rows(f"PRAGMA quick_check('{table}')")
        if found and found[0][0] != "ok":
            raise StoreDamaged(
                f"{store.path} is damaged: {found[0][0]}",
                hint="nothing was deleted; work on a copy: cp -p it before you try anything",
            )


def titles_of(store: Store, units: Sequence[Unit]) -> dict[str, str | None]:
    """Return the title of each conversation: that of the newest segment that has one."""
    ids = [i for unit in units for i in unit.conversation.session_ids]
    rows = store.rows(
        "SELECT id, title FROM sessions WHERE id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(ids)},
    )
    titles = {str(row[0]): None if row[1] is None else str(row[1]) for row in rows}
    return {
        unit.id: next(
            (titles[i] for i in reversed(unit.conversation.session_ids) if titles.get(i)), None
        )
        for unit in units
    }
