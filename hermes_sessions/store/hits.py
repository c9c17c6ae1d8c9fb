"""Messages that may be hits: where they stand, and what of them is searched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.errors import StoreDamaged
from hermes_sessions.matching import Text
from hermes_sessions.store.catalog import sane
from hermes_sessions.store.needles import IS_STRUCTURED
from hermes_sessions.store.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_sessions.store.connect import Store

REASONING: Final = "reasoning"
"""A role of ours: the reasoning of answers is searched, and nothing else."""

_AT_ONCE: Final = 2_000


class Hit(NamedTuple):
    """A message that matches.

    Attributes:
        archived: it was archived by compaction.
    """

    message_id: int
    session_id: str
    role: str
    timestamp: float | None
    archived: bool


def hit_columns(store: Store) -> str:
    """Return the columns of a ``Hit`` of messages ``m``."""
    column = store.capabilities.column
    active, compacted = column("active", "1", of="m"), column("compacted", "0", of="m")
    return f"m.id, m.session_id, m.role, {sane('m.timestamp')}, {active} IS 0 AND {compacted} IS 1"


def text_columns(store: Store) -> str:
    """Return the columns that ``searched_text`` takes."""
    names = ("tool_calls", "tool_name", "reasoning")
    extra = (store.capabilities.column(name, of="m") for name in names)
    return ", ".join(["m.content", *extra])


def is_searched(store: Store, roles: tuple[str, ...] | None) -> str:
    """Return the condition for messages that are searched: shown ones, of these roles."""
    kind = store.capabilities.column("display_kind", of="m")
    conditions = [store.capabilities.visible(), f"{kind} IS NOT 'hidden'"]
    if roles is not None and REASONING not in roles:
        conditions.append("m.role IN (SELECT value FROM json_each(:roles))")
    return " AND ".join(conditions)


def role_values(roles: tuple[str, ...] | None) -> dict[str, str]:
    """Return what is bound in ``is_searched``."""
    return {} if roles is None else {"roles": json.dumps(roles)}


def searched_text(row: Sequence[object], roles: tuple[str, ...] | None) -> Text:
    """Return what is searched of a message: its text, and the names and arguments of calls."""
    content, calls, tool_name, reasoning = row
    if roles is not None and REASONING in roles:
        return Text(plain_text(reasoning))
    names = [f"{call.name}\n{call.arguments}" for call in tool_calls(calls)] if calls else []
    if tool_name:
        names.append(str(tool_name))
    return Text(plain_text(content), "\n".join(names))


def message_ids(store: Store, sessions: Iterable[str], window: Window) -> frozenset[int]:
    """Return the messages of sessions in a window."""
    return store.ids(
        """
        SELECT id FROM messages
        WHERE session_id IN (SELECT value FROM json_each(:sessions)) AND id BETWEEN :low AND :high
        """,
        {"sessions": json.dumps(list(sessions)), "low": window.low, "high": window.high},
    )


def all_ids(store: Store) -> Window | None:
    """Return the ids of all messages; None if there are none.

    On damage it is the widest they can be: what can be read between them is to be found.
    """
    try:
        low = store.value("SELECT min(id) FROM messages")
    except StoreDamaged:
        low = 1
    try:  # apart from the other one: asked for both at once, SQLite reads every row
        high = store.value("SELECT max(id) FROM messages")
    except StoreDamaged:
        high = store.value("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
    return Window(low, high) if isinstance(low, int) and isinstance(high, int) else None


def first_message_id(store: Store, sessions: Iterable[str]) -> int | None:
    """Return the lowest id of the messages of sessions; None without any."""
    found = store.value(
        "SELECT min(id) FROM messages WHERE session_id IN (SELECT value FROM json_each(:sessions))",
        {"sessions": json.dumps(list(sessions))},
    )
    return found if isinstance(found, int) else None


def read_hits(
    store: Store, ids: Iterable[int], roles: tuple[str, ...] | None
) -> list[tuple[Hit, bool]]:
    """Read messages that match by the index, if they are searched; tell which are structured."""
    rows = store.rows(
        f"""
        SELECT {hit_columns(store)}, {IS_STRUCTURED}
        FROM json_each(:ids) AS wanted JOIN messages AS m ON m.id = wanted.value
        WHERE {is_searched(store, roles)}""",
        {"ids": json.dumps(list(ids)), **role_values(roles)},
    )
    return [(Hit._make(row[:5]), bool(row[5])) for row in rows]


def read_matching(
    store: Store, ids: Sequence[int], roles: tuple[str, ...] | None
) -> Iterator[tuple[Hit, Text]]:
    """Read messages with their text, if they are searched."""
    for start in range(0, len(ids), _AT_ONCE):
        rows = store.rows(
            f"""
            SELECT {hit_columns(store)}, {text_columns(store)} FROM json_each(:ids) AS wanted
            JOIN messages AS m ON m.id = wanted.value WHERE {is_searched(store, roles)}""",
            {"ids": json.dumps(list(ids[start : start + _AT_ONCE])), **role_values(roles)},
        )
        for row in rows:
            yield Hit._make(row[:5]), searched_text(row[5:], roles)
