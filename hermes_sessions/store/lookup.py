"""Find sessions by id or title, and the conversation that a session belongs to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.catalog import (
    build_conversations,
    load_families,
    with_exact_activity,
)
from hermes_sessions.store.recent import Scope, newest_conversations, store_size
from hermes_sessions.store.sessions import directories_of, recorded_directories

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store
    from hermes_sessions.workspace import Workspace

CLI_SOURCES: Final = ("cli", "oneshot")
"""What ``latest`` and a bare ``-c`` continue (as in Hermes)."""

_AFTER_ALL_TEXT: Final = "\U0010ffff"
_LATEST_BATCH: Final = 5


def conversations_of(store: Store, session_ids: Sequence[str]) -> list[Conversation]:
    """Return the conversations these sessions belong to, each once, with exact activity."""
    nodes = load_families(store, session_ids)
    wanted = set(session_ids)
    found = [c for c in build_conversations(nodes, store) if wanted.intersection(c.session_ids)]
    return with_exact_activity(store, found)


def has_session(store: Store, session_id: str) -> bool:
    """Tell whether a session of exactly this id exists."""
    return store.value("SELECT 1 FROM sessions WHERE id = :id", {"id": session_id}) is not None


def ids_with_prefix(store: Store, prefix: str) -> list[str]:
    """Return the ids that start with these very characters (R033: ``_`` and ``%`` are ordinary)."""
    rows = store.rows(
        "SELECT id FROM sessions WHERE id >= :prefix AND id < :end ORDER BY id",
        {"prefix": prefix, "end": prefix + _AFTER_ALL_TEXT},
    )
    return [str(row[0]) for row in rows if str(row[0]).startswith(prefix)]


def all_titles(store: Store) -> list[tuple[str, str]]:
    """Return (session id, title) of every titled session."""
    rows = store.rows("SELECT id, title FROM sessions WHERE title IS NOT NULL")
    return [(str(session_id), str(title)) for session_id, title in rows]


def titled_latest(store: Store) -> str | None:
    """Return the id of a session whose title is the keyword ``latest``, or None (R031)."""
    found = store.value("SELECT id FROM sessions WHERE title IN ('latest', 'Latest', 'LATEST')")
    return None if found is None else str(found)


def newest_of_workspace(store: Store, workspace: Workspace) -> Conversation | None:
    """Return the newest conversation of a workspace that ``latest`` may mean, or None."""
    pairs = tuple(pair for pair in recorded_directories(store) if workspace.holds(*pair))
    if not pairs:
        return None
    return next(_newest_resumable(store, pairs), None)


def newest_of_all(store: Store) -> Conversation | None:
    """Return the newest conversation that ``latest`` may mean, or None."""
    return next(_newest_resumable(store, None), None)


def _newest_resumable(
    store: Store, workspaces: tuple[tuple[str, str], ...] | None
) -> Iterator[Conversation]:
    """Yield conversations of a terminal, newest first: visible and with at least one message."""

    def accept(conversations: list[Conversation]) -> list[Conversation]:
        found = [c for c in conversations if c.away is None and c.source in CLI_SOURCES]
        if workspaces is None:
            return found
        recorded = directories_of(store, found)
        return [c for c in found if recorded[c.id] in workspaces]

    scope = Scope(sources=CLI_SOURCES, workspaces=workspaces)
    seen: set[str] = set()
    for wanted in (_LATEST_BATCH, store_size(store)):
        for conversation in newest_conversations(store, wanted, scope=scope, accept=accept):
            if conversation.id not in seen and has_messages(store, conversation):
                yield conversation
            seen.add(conversation.id)


def has_messages(store: Store, conversation: Conversation) -> bool:
    """Tell whether a conversation has any message row."""
    return (
        store.value(
            """
            SELECT 1 FROM messages
            WHERE session_id IN (SELECT value FROM json_each(:ids)) LIMIT 1""",
            {"ids": json.dumps(conversation.session_ids)},
        )
        is not None
    )
