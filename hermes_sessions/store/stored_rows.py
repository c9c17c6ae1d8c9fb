"""Sessions and messages exactly as they are stored, for backups: all columns, all rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.dependents import quoted, table_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.store.connect import Store

_AT_ONCE: Final = 500
"""Messages of one query."""

PROMPT_COLUMNS: Final = ("system_prompt_hash", "tool_names")
"""Columns that may hold the key of a text in ``system_prompts`` instead of the text."""


def all_session_ids(store: Store) -> list[str]:
    """Return the ids of all sessions, the earliest first."""
    rows = store.rows("SELECT id FROM sessions ORDER BY started_at, id")
    return [str(row[0]) for row in rows]


def stored_session(store: Store, session_id: str) -> dict[str, object] | None:
    """Return the row of a session by column, its prompt and its tools as text; None if it is gone.

    As Hermes exports it: ``system_prompt`` and ``tool_names`` are what their keys lead to.
    """
    columns = table_columns(store, "sessions")
    names = ", ".join(map(quoted, columns))
    row = store.row(f"SELECT {names} FROM sessions WHERE id = :id", {"id": session_id})
    if row is None:
        return None
    values: dict[str, object] = dict(zip(columns, row, strict=True))
    if "system_prompts" in store.capabilities.tables:
        keys = [values.get(name) for name in PROMPT_COLUMNS]
        rows = store.rows(
            "SELECT hash, prompt FROM system_prompts"
            " WHERE hash IN (SELECT value FROM json_each(:keys))",
            {"keys": json.dumps([key for key in keys if isinstance(key, str)])},
        )
        texts: dict[object, object] = {row[0]: row[1] for row in rows}
        values["system_prompt"] = texts.get(
            values.get("system_prompt_hash"), values.get("system_prompt")
        )
        if "tool_names" in values:
            values["tool_names"] = texts.get(values["tool_names"], values["tool_names"])
    return values


def count_stored(store: Store, session_ids: Sequence[str]) -> dict[str, int]:
    """Return how many rows of messages each session has, whatever their state."""
    rows = store.rows(
        """
        SELECT session_id, count(*) FROM messages
        WHERE session_id IN (SELECT value FROM json_each(:ids)) GROUP BY session_id""",
        {"ids": json.dumps(list(session_ids))},
    )
    return {str(row[0]): int(str(row[1])) for row in rows}


def message_columns(store: Store) -> tuple[str, ...]:
    """Return the columns of messages in the order of ``stored_messages``."""
    return table_columns(store, "messages")


def stored_messages(store: Store, session_id: str) -> Iterator[list[tuple[object, ...]]]:
    """Yield the messages of a session by ascending id, live or not, some hundred at a time."""
    columns = message_columns(store)
    names, key = ", ".join(map(quoted, columns)), columns.index("id")
    after = -(2**63)
    while True:
        rows = store.rows(
            f"""
            SELECT {names} FROM messages
            WHERE session_id = :id AND id > :after ORDER BY id LIMIT {_AT_ONCE}""",
            {"id": session_id, "after": after},
        )
        if rows:
            yield rows
        if len(rows) < _AT_ONCE:
            return
        after = int(str(rows[-1][key]))
