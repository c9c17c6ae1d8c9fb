"""Transcripts: the history a person sees, each message once, from every segment.

Live rows and rows archived by compaction are shown, rewound ones never. Compaction stores copies of
the tail it keeps; Hermes groups them by ``display_order`` (0.21.3 and newer, once its identities
are filled in), else by what the rows say. From each group the live row is taken, then the newest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.content import as_typed, plain_text
from hermes_sessions.models import Message
from hermes_sessions.store.catalog import sane
from hermes_sessions.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.schema import Capabilities

PREVIEW_LENGTH: Final = 60
"""Characters of a preview before its ellipsis (as in Hermes' listings)."""

_TAIL_ROWS: Final = 200
_PREVIEW_ROWS: Final = 4


def load_transcript(store: Store, session_ids: Sequence[str]) -> list[Message]:
    """Load the whole transcript of a conversation, oldest first."""
    rows = store.rows(
        f"""
        {_message_query(store.capabilities)}
        WHERE m.session_id IN (SELECT value FROM json_each(:ids))
          AND {store.capabilities.visible()}
        ORDER BY m.id""",
        {"ids": json.dumps(list(session_ids))},
    )
    return _each_once(rows, by_display_order=len(session_ids) == 1)


def load_live(store: Store, session_id: str) -> list[Message]:
    """Load every message that the model sees of a session, copies too, oldest first."""
    active = store.capabilities.column("active", "1", of="m")
    rows = store.rows(
        f"{_message_query(store.capabilities)}"
        f" WHERE m.session_id = :id AND {active} IS NOT 0 ORDER BY m.id",
        {"id": session_id},
    )
    return [_message(row) for row in rows]


def around(messages: Sequence[Message], message_id: int, context: int) -> Sequence[Message]:
    """Return a message of a transcript with its neighbours; nothing if it is not in it.

    It is not if it was rewound, or is a copy that stands for another row.
    """
    at = next((i for i, message in enumerate(messages) if message.id == message_id), None)
    return () if at is None else messages[max(0, at - context) : at + context + 1]


def load_tail(store: Store, session_ids: Sequence[str]) -> Iterator[list[Message]]:
    """Yield ever longer ends of a transcript, oldest message first, until it is whole.

    Only the rows needed are read: the caller stops when it has seen enough.
    """
    in_display_order = len(session_ids) == 1 and _is_grouped(store, session_ids[0])
    order = "m.display_order DESC, m.id DESC" if in_display_order else "m.id DESC"
    limit = _TAIL_ROWS
    collected: list[tuple[object, ...]] = []
    for session_id in reversed(session_ids):
        offset = 0
        while True:
            rows = store.rows(
                f"""
                {_message_query(store.capabilities)}
                WHERE m.session_id = :id AND {store.capabilities.visible()}
                ORDER BY {order} LIMIT :limit OFFSET :offset""",
                {"id": session_id, "limit": limit, "offset": offset},
            )
            collected += rows
            yield _each_once(sorted(collected, key=_row_id), by_display_order=in_display_order)
            if len(rows) < limit:
                break
            offset += limit
            limit *= 4


def load_message(store: Store, message_id: int) -> Message | None:
    """Load one message by its id, whatever its state, or None."""
    row = store.row(f"{_message_query(store.capabilities)} WHERE m.id = :id", {"id": message_id})
    return _message(row) if row else None


def count_messages(store: Store, session_ids: Sequence[str]) -> int:
    """Count the messages of a transcript in these sessions, each once (R018, R056).

    Copies of a message share its time, so only rows whose time is not theirs alone are compared.
    Rows that only the model sees are counted: telling them apart would need every row.
    """
    if len(session_ids) == 1 and _is_grouped(store, session_ids[0]):
        return _number(
            store.value(
                "SELECT count(DISTINCT m.display_order) FROM messages AS m"
                f" WHERE m.session_id = :id AND {store.capabilities.visible()}",
                {"id": session_ids[0]},
            )
        )
    mine = "m.session_id IN (SELECT value FROM json_each(:ids))"
    visible = store.capabilities.visible()
    parameters: dict[str, object] = {"ids": json.dumps(list(session_ids))}
    total = _number(
        store.value(f"SELECT count(*) FROM messages AS m WHERE {mine} AND {visible}", parameters)
    )
    shared = store.rows(
        f"SELECT m.timestamp FROM messages AS m WHERE {mine} GROUP BY 1 HAVING count(*) > 1",
        parameters,
    )
    if not shared:
        return total
    at_shared_time = (
        f"{mine} AND {visible} AND m.timestamp IN (SELECT value FROM json_each(:times))"
    )
    parameters["times"] = json.dumps([row[0] for row in shared], default=str)
    compared, distinct = store.row(  # type: ignore[misc]
        f"""
        SELECT (SELECT count(*) FROM messages AS m WHERE {at_shared_time}),
               (SELECT count(*) FROM (
                   SELECT DISTINCT {_identity(store.capabilities)}
                   FROM messages AS m WHERE {at_shared_time}))""",
        parameters,
    )
    return total - _number(compared) + _number(distinct)


def count_all_messages(store: Store, conversations: Sequence[Conversation]) -> dict[str, int]:
    """Count the transcripts of many conversations; one pass tells those without copies."""
    plain = {
        str(row[0]): _number(row[1])
        for row in store.rows(
            f"""
            SELECT m.session_id, count(*) FROM messages AS m WHERE {store.capabilities.visible()}
            GROUP BY m.session_id HAVING count(*) = count(DISTINCT m.timestamp)"""
        )
    }
    return {
        c.id: plain[c.id]
        if len(c.nodes) == 1 and c.id in plain
        else count_messages(store, c.session_ids)
        for c in conversations
    }


def load_preview(store: Store, session_ids: Sequence[str]) -> str:
    """Return the first request of the newest segment that has one, in one line, or ""."""
    for session_id in reversed(session_ids):
        text = _first_request(store, session_id)
        if text:
            return text if len(text) <= PREVIEW_LENGTH else f"{text[:PREVIEW_LENGTH]}..."
    return ""


def _first_request(store: Store, session_id: str) -> str:
    """Look at the first user rows until one was typed by a person.

    Only the head of a plain row is fetched; what Hermes wraps a request in starts with a bracket
    or is structured, and is fetched whole.
    """
    capabilities = store.capabilities
    kind = capabilities.column("display_kind", of="m")
    offset = 0
    while True:
        rows = store.rows(
            f"""
            SELECT CASE WHEN substr(CAST(m.content AS BLOB), 1, 1) IN (x'00', CAST('[' AS BLOB))
                        THEN m.content ELSE substr(m.content, 1, 4 * {PREVIEW_LENGTH}) END
            FROM messages AS m
            WHERE m.session_id = :id AND m.role = 'user' AND m.content IS NOT NULL
              AND {capabilities.visible()} AND {kind} IS NOT 'hidden'
            ORDER BY m.timestamp, m.id LIMIT {_PREVIEW_ROWS} OFFSET :offset""",
            {"id": session_id, "offset": offset},
        )
        for (content,) in rows:
            text = one_line(as_typed(plain_text(content)))
            if text:
                return text
        if len(rows) < _PREVIEW_ROWS:
            return ""
        offset += _PREVIEW_ROWS


def _message_query(capabilities: Capabilities) -> str:
    def column(name: str, default: str = "NULL") -> str:
        return capabilities.column(name, default, of="m")

    return f"""
        SELECT m.id, m.session_id, m.role, m.content, {column("tool_calls")},
               CAST({column("tool_call_id")} AS TEXT), CAST({column("tool_name")} AS TEXT),
               {sane("m.timestamp")},
               {column("active", "1")} IS 0 AND {column("compacted", "0")} IS 1,
               {column("active", "1")} IS NOT 0,
               CAST({column("display_kind")} AS TEXT), CAST({column("reasoning")} AS TEXT),
               m.timestamp, {column("display_order")}, {column("display_identity")} IS NOT NULL,
               {column("display_metadata")}
        FROM messages AS m"""


def _message(row: tuple[object, ...]) -> Message:
    return Message._make(row[: len(Message._fields)])


def _each_once(rows: list[tuple[object, ...]], *, by_display_order: bool) -> list[Message]:
    """Take one row of each group, in the order of the groups' first rows; rows come by id."""
    by_display_order = by_display_order and all(row[-3] is not None and row[-2] for row in rows)
    chosen: dict[object, tuple[object, ...]] = {}
    first: dict[object, int] = {}
    for row in rows:
        if _is_for_model_only(row[-1]):
            continue
        key = row[-3] if by_display_order else (*row[2:5], row[5], row[6], row[-4])
        if key not in chosen or row[9] >= chosen[key][9]:  # type: ignore[operator]
            chosen[key] = row
        first.setdefault(key, _row_id(row))
    order = sorted(chosen, key=lambda key: key if by_display_order else first[key])  # type: ignore[arg-type, return-value]
    return [_message(chosen[key]) for key in order]


def _is_for_model_only(metadata: object) -> bool:
    if not isinstance(metadata, str) or "model_only" not in metadata:
        return False
    try:
        value = json.loads(metadata)
        if isinstance(value, str):  # stored encoded twice by some builds
            value = json.loads(value)
    except ValueError:
        return False
    return isinstance(value, dict) and bool(value.get("model_only"))


def _identity(capabilities: Capabilities) -> str:
    """Return the columns in which all copies of a message are equal (store facts §7)."""
    names = ("tool_call_id", "tool_calls", "tool_name")
    columns = [capabilities.column(name, of="m") for name in names]
    return ", ".join(["m.role", "m.content", "m.timestamp", *columns])


def _is_grouped(store: Store, session_id: str) -> bool:
    """Tell whether Hermes has grouped all shown rows of a session by ``display_order``."""
    if not store.capabilities.has_display_index or store.capabilities.active_nullable:
        return False
    ungrouped = store.value(
        f"""
        SELECT 1 FROM messages AS m WHERE m.session_id = :id AND {store.capabilities.visible()}
        AND (m.display_order IS NULL OR m.display_identity IS NULL) LIMIT 1""",
        {"id": session_id},
    )
    return ungrouped is None


def _row_id(row: tuple[object, ...]) -> int:
    return _number(row[0])


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
