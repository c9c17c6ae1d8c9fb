"""Workspaces: what was worked on in each, as the sessions recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.sessions import directories_of

if TYPE_CHECKING:
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store


class WorkspaceUse(NamedTuple):
    """One workspace.

    Attributes:
        path: git repository root if recorded, else the directory; None for neither.
        conversations: in the default view, or all of them.
        size_bytes: text of their messages, tool results included.
    """

    path: str | None
    conversations: int
    messages: int
    size_bytes: int
    last_active: float | None


def load_workspaces(store: Store, *, everything: bool) -> list[WorkspaceUse]:
    """Load the workspaces, the most recently used first."""
    found = [c for c in load_conversations(store) if everything or c.away is None]
    directories = directories_of(store, found)
    sizes = _sizes(store)
    groups: dict[str | None, list[Conversation]] = {}
    for conversation in with_exact_activity(store, found):
        root, cwd = directories[conversation.id]
        groups.setdefault(root or cwd or None, []).append(conversation)
    uses = [_use(path, members, sizes) for path, members in groups.items()]
    return sorted(uses, key=lambda use: use.last_active or 0.0, reverse=True)


def _use(
    path: str | None, members: list[Conversation], sizes: dict[str, tuple[int, int]]
) -> WorkspaceUse:
    parts = [sizes.get(node.id, (0, 0)) for c in members for node in c.nodes]
    return WorkspaceUse(
        path,
        len(members),
        sum(messages for messages, _ in parts),
        sum(size for _, size in parts),
        max((c.active_at for c in members), default=0.0) or None,
    )


def _sizes(store: Store) -> dict[str, tuple[int, int]]:
    """Return (messages, bytes of content) of each session: one pass over all messages."""
    rows = store.rows(
        f"""
        SELECT m.session_id, count(*), sum(length(CAST(m.content AS BLOB)))
        FROM messages AS m WHERE {store.capabilities.visible()} GROUP BY m.session_id"""
    )
    return {str(row[0]): (int(str(row[1])), int(str(row[2] or 0))) for row in rows}
