"""Titles in a store: who has one, and what must change so that a conversation gets it.

A title is unique. An earlier segment of the same conversation gives it up (R116), and so does what
nobody can find to rename: an ended, empty, visible session, and a bot's chat that was archived
(0.22.2, ``_resolve_title_conflict``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.store.edits import Cell, differing
from hermes_sessions.titles import (
    BOT_CHAT,
    LONGEST,
    LONGEST_NUMBER,
    base_title,
    next_title,
    tidy,
)

if TYPE_CHECKING:
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store


class Naming(NamedTuple):
    """What gives a conversation a title.

    Attributes:
        cells: what changes, in an order that keeps titles unique.
        owner: the session that has the title and keeps it; then nothing can change.
    """

    cells: tuple[Cell, ...]
    owner: str | None

    @property
    def freed(self) -> tuple[str, ...]:
        """The sessions that give the title up."""
        return tuple(c.session_id for c in self.cells if c.column == "title" and c.new is None)


def name_conversation(store: Store, conversation: Conversation, title: str) -> Naming:
    """Return what gives the tip of a conversation a title on the user's behalf."""
    has_source = "title_source" in store.capabilities.sessions
    cells: list[Cell] = []
    for owner in owners(store, title):
        if owner == conversation.id:
            continue
        freed: dict[str, object] = {"title": None}
        if owner not in conversation.session_ids:
            if not gives_up(store, owner, title):
                return Naming((), owner)
            if has_source:
                freed["title_source"] = None
        cells += differing(store, [owner], freed)
    values = {"title": title, "title_source": "user"} if has_source else {"title": title}
    cells += differing(store, [conversation.id], values)
    return Naming(tuple(cells), None)


def owners(store: Store, title: str) -> list[str]:
    """Return the sessions of exactly this title: one, or more in a store without its index."""
    rows = store.rows("SELECT id FROM sessions WHERE title = :title ORDER BY id", {"title": title})
    return [str(row[0]) for row in rows]


def gives_up(store: Store, session_id: str, title: str) -> bool:
    """Tell whether a session is one that nobody can find to rename it."""
    column = store.capabilities.column
    row = store.row(
        f"""
        SELECT s.ended_at IS NOT NULL, {column("archived", "0")}, {column("hidden", "0")},
               EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id)
        FROM sessions AS s WHERE s.id = :id""",
        {"id": session_id},
    )
    if row is None:
        return False
    ended, archived, hidden, has_messages = map(bool, row)
    if title == BOT_CHAT and archived and hidden:
        return True
    return ended and not has_messages and not archived and not hidden


def free_title(store: Store, title: str) -> str:
    """Return the next free title of a family: ``X #2`` (R121)."""
    start = base_title(tidy(title))[: LONGEST - LONGEST_NUMBER]  # what is left of a long one
    rows = store.rows(
        "SELECT title FROM sessions WHERE substr(title, 1, length(:start)) = :start",
        {"start": start},
    )
    return next_title(title, (str(row[0]) for row in rows))
