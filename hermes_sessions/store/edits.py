"""Small changes of ``sessions``, cell by cell: seen in the plan, checked and written in one go."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import Refused
from hermes_sessions.titles import BOT_CHAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer


class Cell(NamedTuple):
    """One value that changes: a column of the row of one session."""

    session_id: str
    column: str
    old: object
    new: object


def check_readable(store: Store) -> None:
    """Check that there are messages to be read: nothing is written to a store that is damaged.

    Raises:
        StoreDamaged: the table is malformed at its root, or where Hermes writes next.
    """
    store.rows("SELECT id, role FROM messages ORDER BY id DESC LIMIT 1")


def differing(store: Store, session_ids: Iterable[str], values: Mapping[str, object]) -> list[Cell]:
    """Return the cells of these sessions that do not have these values yet."""
    columns = list(values)
    rows = store.rows(
        f"""
        SELECT id, {", ".join(columns)} FROM sessions
        WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id""",
        {"ids": json.dumps(list(session_ids))},
    )
    return [
        Cell(str(row[0]), column, old, values[column])
        for row in rows
        for column, old in zip(columns, row[1:], strict=True)
        if old != values[column] or (old is None) != (values[column] is None)
    ]


def pin_cells(store: Store, conversations: Sequence[Conversation], *, pinned: bool) -> list[Cell]:
    """Return what pins whole conversations.

    A pin means "keep this in view", so it takes back what hid them, except for the chat of a bot,
    which Hermes finds hidden (0.22.2, ``set_session_pinned``).
    """
    ids = [i for conversation in conversations for i in conversation.session_ids]
    cells = differing(store, ids, {"pinned": int(pinned)})
    if pinned and "hidden" in store.capabilities.sessions:
        bots = {i for c in conversations if is_bot_chat(store, c) for i in c.session_ids}
        cells += differing(store, [i for i in ids if i not in bots], {"hidden": 0})
    return cells


def archive_cells(
    store: Store, conversations: Sequence[Conversation], *, archived: bool
) -> list[Cell]:
    """Return what archives whole conversations by hand, or takes it back.

    By hand means that Hermes does not bring them back by itself when they are continued.
    """
    values: dict[str, object] = {"archived": int(archived)}
    if "auto_archived" in store.capabilities.sessions:
        values["auto_archived"] = 0
    return differing(store, [i for c in conversations for i in c.session_ids], values)


def hide_cells(store: Store, conversations: Sequence[Conversation], *, hidden: bool) -> list[Cell]:
    """Return what hides whole conversations, or shows them again."""
    ids = [i for conversation in conversations for i in conversation.session_ids]
    return differing(store, ids, {"hidden": int(hidden)})


def close_cells(
    store: Store, conversations: Sequence[Conversation], reason: str, now: float
) -> list[Cell]:
    """Return what ends the open segments of conversations; Hermes reopens one when it goes on.

    A reason that is there stays, as in Hermes: ``compression`` holds a chain together.
    """
    rows = store.rows(
        """
        SELECT id, end_reason FROM sessions WHERE ended_at IS NULL
          AND id IN (SELECT value FROM json_each(:ids)) ORDER BY id""",
        {"ids": json.dumps([i for c in conversations for i in c.session_ids])},
    )
    cells = []
    for session_id, recorded in rows:
        cells.append(Cell(str(session_id), "ended_at", None, now))
        if not recorded:
            cells.append(Cell(str(session_id), "end_reason", recorded, reason))
    return cells


def is_bot_chat(store: Store, conversation: Conversation) -> bool:
    """Tell whether a conversation is the hidden chat that Hermes finds by its title."""
    if "hidden" not in store.capabilities.sessions:
        return False
    found = store.value(
        """
        SELECT 1 FROM sessions WHERE hidden AND title = :title
          AND id IN (SELECT value FROM json_each(:ids))""",
        {"title": BOT_CHAT, "ids": json.dumps(conversation.session_ids)},
    )
    return found is not None


def apply_cells(writer: Writer, planned: Sequence[Cell], now: Sequence[Cell]) -> None:
    """Write cells inside a transaction.

    Args:
        writer: in a transaction.
        planned: what was shown.
        now: the same plan made anew inside the transaction.

    Raises:
        Refused: the two are not the same; nothing is written.
    """
    if list(planned) != list(now):
        raise Refused(
            "the conversation changed since the plan was shown",
            hint="nothing was changed; run the command again to see the new plan",
        )
    for cell in planned:
        writer.run(
            f"UPDATE sessions SET {cell.column} = :new WHERE id = :id",
            {"new": cell.new, "id": cell.session_id},
        )
