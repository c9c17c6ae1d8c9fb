"""Sessions and messages exactly as they are stored, for backups: all columns, all rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.dependents import quoted, table_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.store.connect import Store

_AT_ONCE: Final = 200
"""Messages of one query: so many are in memory at once."""

DERIVED: Final = frozenset({"display_identity", "display_order"})
"""Columns by which the store groups copies of a message; it makes them anew."""

PROMPT_COLUMNS: Final = ("system_prompt_hash", "tool_names")
"""Columns that may hold the key of a text in ``system_prompts`` instead of the text."""


def all_session_ids(store: Store) -> list[str]:
    """Return the ids of all sessions, the earliest first."""
    rows = store.rows("SELECT id FROM sessions ORDER BY started_at, id")
    return [str(row[0]) for row in rows]


def count_stored(store: Store, session_ids: Sequence[str]) -> dict[str, int]:
    """Return how many rows of messages each session has, whatever their state."""
    rows = store.rows(
        """
        SELECT session_id, count(*) FROM messages
        WHERE session_id IN (SELECT value FROM json_each(:ids)) GROUP BY session_id""",
        {"ids": json.dumps(list(session_ids))},
    )
    return {str(row[0]): int(str(row[1])) for row in rows}


class StoredRows:
    """Reads whole rows of one store; what its columns are is asked once.

    Attributes:
        columns: of messages, without what the store derives.
    """

    def __init__(self, store: Store) -> None:
        """Ask for the columns."""
        self._store = store
        self.columns = tuple(c for c in table_columns(store, "messages") if c not in DERIVED)
        self._key = self.columns.index("id")
        self._messages = f"""
            SELECT {", ".join(map(quoted, self.columns))} FROM messages
            WHERE session_id = :id AND id > :after ORDER BY id LIMIT {_AT_ONCE}"""
        self._session_columns = table_columns(store, "sessions")
        has_texts = "system_prompts" in store.capabilities.tables
        keys = [c for c in PROMPT_COLUMNS if has_texts and c in self._session_columns]
        self._texts = [c.removesuffix("_hash") for c in keys]
        cells = [f"s.{quoted(name)}" for name in self._session_columns]
        cells += [f"(SELECT prompt FROM system_prompts WHERE hash = s.{quoted(c)})" for c in keys]
        self._session = f"SELECT {', '.join(cells)} FROM sessions AS s WHERE s.id = :id"

    def session(self, session_id: str) -> dict[str, object] | None:
        """Return a session by column, its prompt and its tools as text; None if it is gone.

        As Hermes exports it: ``system_prompt`` and ``tool_names`` are what their keys lead to.
        """
        row = self._store.row(self._session, {"id": session_id})
        if row is None:
            return None
        number = len(self._session_columns)
        values = dict(zip(self._session_columns, row[:number], strict=True))
        texts = zip(self._texts, row[number:], strict=True)
        return values | {name: text for name, text in texts if text is not None}

    def messages(self, session_id: str) -> Iterator[list[tuple[object, ...]]]:
        """Yield the messages of a session by ascending id, live or not, some hundred at a time."""
        after = -(2**63)
        while True:
            rows = self._store.rows(self._messages, {"id": session_id, "after": after})
            if rows:
                yield rows
            if len(rows) < _AT_ONCE:
                return
            after = int(str(rows[-1][self._key]))
