"""A branch: a new session with a copy of what was said, as Hermes reads branches (0.22.2).

The mark ``_branched_from`` in ``model_config`` makes it one, whatever happens to the source later.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import as_typed, plain_text, tool_calls
from hermes_sessions.errors import UsageProblem, UserError
from hermes_sessions.store.creation import NewSession, insert_session
from hermes_sessions.store.messages import load_live, load_transcript
from hermes_sessions.text import one_line

if TYPE_CHECKING:
    from collections.abc import Container

    from hermes_sessions.models import Conversation, Message
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer

ENDED_BY_BRANCH: Final = "branched"

_CONFIG_KEPT: Final = (
    "provider",
    "base_url",
    "api_mode",
    "model",
    "reasoning_config",
    "service_tier",
    "max_iterations",
    "cwd",
)
"""What a branch takes over from the configuration of its source: no marks and no permissions."""

_LAST: Final = 2**63
"""Behind the id of any row."""

_NOT_COPIED: Final = frozenset(
    {"id", "session_id", "active", "compacted", "display_order", "display_identity",
     "platform_message_id"}
)  # fmt: skip
"""Columns of a copy that are its own; the writer fills in what it groups copies by."""


class Copies(NamedTuple):
    """Which messages a branch gets.

    Attributes:
        live: ids of rows that the model will see, in their order.
        archived: ids of rows that are only shown, in their order. Compaction keeps what it takes
            along twice: there, and live. Both are copied, so that it stays in its place.
        number: messages that are copied, each once.
        total: messages of the source, each once.
        cut: the last one that is copied, if it was asked for.
        snapped: that is behind what was named, which would cut a tool call off from its results.
    """

    live: tuple[int, ...]
    archived: tuple[int, ...]
    number: int
    total: int
    cut: int | None
    snapped: bool


def plan_copies(store: Store, conversation: Conversation, *, at: int | None, full: bool) -> Copies:
    """Choose the messages for a branch.

    Args:
        store: to read.
        conversation: the source.
        at: the last message to copy. One that compaction has archived becomes live again with all
            before it, and the summaries that stand for them are left out.
        full: what was archived too; it stays archived.

    Raises:
        UsageProblem: ``at`` is no message of the conversation that is shown.
        UserError: the store cannot hold archived messages (before 0.18).
    """
    transcript = load_transcript(store, conversation.session_ids)
    live = load_live(store, conversation.id)
    live_ids = {message.id for message in live}
    only_shown = [message for message in transcript if message.id not in live_ids]
    total = len(only_shown) + len(live)
    named = at
    if at is not None and at not in live_ids:
        named = _shown(store, conversation, transcript, live_ids, at)
    if named is None:
        kept, cut = live, None
    else:
        seen = live if named in live_ids else [m for m in transcript if not _is_summary(m)]
        kept = _until(seen, named)
        cut = kept[-1].id
    archived: tuple[int, ...] = ()
    number = len(kept)
    if full and only_shown and (named is None or named in live_ids):
        _check_archiving(store)
        end = _LAST if cut is None else min([cut, *_copies_of(store, conversation, cut)])
        archived = tuple(i for i in _visible(store, conversation) if i not in live_ids and i < end)
        number += sum(message.id < end for message in only_shown)
    return Copies(_ids(kept), archived, number, total, cut, cut != named)


def _check_archiving(store: Store) -> None:
    if "compacted" not in store.capabilities.messages:
        raise UserError(
            f"{store.path} cannot hold archived messages: it is of a Hermes before 0.18",
            hint="leave out --full, or start a newer hermes on it once",
        )


def _shown(
    store: Store,
    conversation: Conversation,
    transcript: list[Message],
    live_ids: Container[int],
    message_id: int,
) -> int:
    """Return the row of the transcript that stands for a message.

    Raises:
        UsageProblem: none does, or it is a summary that the model does not see any more.
    """
    copies = {message_id, *_copies_of(store, conversation, message_id)}
    message = next((message for message in transcript if message.id in copies), None)
    if message is None:
        raise UsageProblem(
            f"--at: there is no message #{message_id} in {one_line(conversation.id)}",
            hint="show --transcript and search print the numbers of messages",
        )
    if message.id not in live_ids and _is_summary(message):
        raise UsageProblem(
            f"--at: #{message_id} is the summary of a compaction, not a message",
            hint="name the message before it, or the one behind it",
        )
    return message.id


def _visible(store: Store, conversation: Conversation) -> list[int]:
    """Return all rows that are shown, or stand behind one that is, in their order."""
    rows = store.rows(
        f"""
        SELECT m.id FROM messages AS m
        WHERE m.session_id IN (SELECT value FROM json_each(:ids))
          AND {store.capabilities.visible()}
        ORDER BY m.id""",
        {"ids": json.dumps(conversation.session_ids)},
    )
    return [int(str(row[0])) for row in rows]


def _copies_of(store: Store, conversation: Conversation, message_id: int) -> list[int]:
    """Return the rows of a message that are shown, or stand behind it: itself and its copies.

    They are equal in these columns (store facts §7). The oldest tells where it is shown.
    """
    names = ("role", "content", "timestamp", "tool_call_id", "tool_calls", "tool_name")
    known = [name for name in names if name in store.capabilities.messages]
    rows = store.rows(
        f"""
        SELECT m.id FROM messages AS own JOIN messages AS m
          ON {" AND ".join(f"m.{name} IS own.{name}" for name in known)}
        WHERE own.id = :id AND {store.capabilities.visible("own")}
          AND own.session_id IN (SELECT value FROM json_each(:ids))
          AND m.session_id IN (SELECT value FROM json_each(:ids))
          AND {store.capabilities.visible()}
        ORDER BY m.id""",
        {"id": message_id, "ids": json.dumps(conversation.session_ids)},
    )
    return [int(str(row[0])) for row in rows]


def _is_summary(message: Message) -> bool:
    text = plain_text(message.content)
    return message.role == "user" and bool(text.strip()) and not as_typed(text)


def _ids(messages: list[Message]) -> tuple[int, ...]:
    return tuple(message.id for message in messages)


def _until(messages: list[Message], at: int) -> list[Message]:
    """Return messages up to one and to the end of its tool calls (R053)."""
    end = next(position for position, message in enumerate(messages) if message.id == at) + 1
    is_in_calls = messages[end - 1].role == "tool" or bool(tool_calls(messages[end - 1].tool_calls))
    while is_in_calls and end < len(messages) and messages[end].role == "tool":
        end += 1
    return messages[:end]


def branch_config(store: Store, source_id: str) -> str:
    """Return the ``model_config`` of a branch of a session."""
    stored = store.value(
        f"SELECT {store.capabilities.column('model_config')} FROM sessions AS s WHERE s.id = :id",
        {"id": source_id},
    )
    try:
        config = json.loads(stored) if isinstance(stored, (str, bytes)) else {}
    except ValueError:
        config = {}
    kept = {k: config[k] for k in _CONFIG_KEPT if k in config} if isinstance(config, dict) else {}
    return json.dumps({**kept, "_branched_from": source_id})


def write_branch(
    writer: Writer, new: NewSession, source_id: str, copies: Copies, *, ends_source: bool
) -> None:
    """Write a branch, in a transaction."""
    insert_session(writer, new)
    columns = writer.store.capabilities.sessions
    for name in ("system_prompt", "system_prompt_hash"):
        if name in columns:
            writer.run(
                f"UPDATE sessions SET {name} = (SELECT {name} FROM sessions WHERE id = :source)"
                " WHERE id = :id",
                {"source": source_id, "id": new.id},
            )
    _copy(writer, new.id, copies)
    if ends_source:
        writer.run(
            "UPDATE sessions SET ended_at = :now, end_reason = :reason"
            " WHERE id = :id AND ended_at IS NULL",
            {"now": new.started_at, "reason": ENDED_BY_BRANCH, "id": source_id},
        )


def _copy(writer: Writer, branch_id: str, copies: Copies) -> None:
    columns = writer.store.capabilities.messages
    kept = sorted(columns - _NOT_COPIED)
    flags = [name for name in ("active", "compacted") if name in columns]
    names = ", ".join(["session_id", *flags, *kept])
    is_archived = "j.key < :archived"
    cells = ", ".join(
        [":branch", *(is_archived if f == "compacted" else f"NOT {is_archived}" for f in flags)]
        + [f"m.{name}" for name in kept]
    )
    writer.run(
        f"""
        INSERT INTO messages ({names})
        SELECT {cells} FROM json_each(:ids) AS j CROSS JOIN messages AS m ON m.id = j.value
        ORDER BY j.key""",
        {
            "branch": branch_id,
            "ids": json.dumps([*copies.archived, *copies.live]),
            "archived": len(copies.archived),
        },
    )
    _count(writer, branch_id)


def _count(writer: Writer, branch_id: str) -> None:
    """Set the counters as Hermes counts: live rows, and the calls in them."""
    active = "AND active" if "active" in writer.store.capabilities.messages else ""
    rows = writer.store.rows(
        f"SELECT tool_calls FROM messages WHERE session_id = :id {active}", {"id": branch_id}
    )
    writer.run(
        "UPDATE sessions SET message_count = :messages, tool_call_count = :calls WHERE id = :id",
        {
            "messages": len(rows),
            "calls": sum(len(tool_calls(row[0])) for row in rows if row[0]),
            "id": branch_id,
        },
    )
