"""What a store can answer: the tables, columns and indexes that are really in the file.

``schema_version`` does not tell them (two files of schema 26 or 30 can differ), so the file itself
is asked once per connection and everything else asks the answer.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

NEEDED = ("sessions", "messages")


class Capabilities(NamedTuple):
    """The parts of a store that reading depends on.

    Attributes:
        tables: names of tables and views.
        sessions: columns of ``sessions``.
        messages: columns of ``messages``.
        active_nullable: ``messages.active`` may be NULL, which means 1 (files upgraded from
            before 0.16).
        has_message_index: an index of ``messages`` starts with ``session_id``.
        has_display_index: ``idx_messages_display_page`` is there (0.21.3 and newer).
    """

    tables: frozenset[str]
    sessions: frozenset[str]
    messages: frozenset[str]
    active_nullable: bool
    has_message_index: bool
    has_display_index: bool

    def column(self, name: str, default: str = "NULL", *, of: str = "s") -> str:
        """Return ``s.name``, or a default that stands for a column this file does not have."""
        columns = self.sessions if of == "s" else self.messages
        return f"{of}.{name}" if name in columns else default

    def visible(self, of: str = "m") -> str:
        """Return the condition for rows of the transcript: live, or archived by compaction.

        Rewound rows are neither. The words equal those of Hermes' partial indexes where they can,
        so that SQLite may use them.
        """
        if "active" not in self.messages:
            return "1"
        parts = [f"{of}.active = 1"]
        if "compacted" in self.messages:
            parts.append(f"{of}.compacted = 1")
        if self.active_nullable:
            parts.append(f"{of}.active IS NULL")
        return f"({' OR '.join(parts)})"


def read_capabilities(query: Callable[[str], Iterable[tuple[object, ...]]]) -> Capabilities:
    """Ask the file behind ``query`` what it has; a table that is missing has no columns."""
    names: dict[str, set[str]] = {"table": set(), "view": set(), "index": set()}
    for kind, name in query(
        "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view', 'index')"
    ):
        names[str(kind)].add(str(name))
    sessions = {str(row[1]) for row in query("PRAGMA table_info(sessions)")}
    messages = {str(row[1]): bool(row[3]) for row in query("PRAGMA table_info(messages)")}
    by_session = query(
        "SELECT 1 FROM sqlite_master WHERE type = 'index' AND tbl_name = 'messages'"
        " AND sql LIKE '%messages(session_id%' AND sql NOT LIKE '%WHERE%' LIMIT 1"
    )
    return Capabilities(
        tables=frozenset(names["table"] | names["view"]),
        sessions=frozenset(sessions),
        messages=frozenset(messages),
        active_nullable="active" in messages and not messages["active"],
        has_message_index=any(True for _ in by_session),
        has_display_index="idx_messages_display_page" in names["index"],
    )
