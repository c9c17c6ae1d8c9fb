"""Rows of other tables that name a session or a message, so that none is left behind.

What is known of Hermes' tables is written down; tables of newer releases are recognised by their
foreign keys, from table to table, or by a column ``session_id``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hermes_sessions.store.connect import Store

_KNOWN: Final = {
    "compression_locks": ("session_id",),
    "session_turn_leases": ("conversation_id",),
    "async_delegations": ("origin_session", "parent_session_id", "origin_session_id"),
}
_NEVER: Final = frozenset(
    {"sessions", "messages", "conversation_generations", "system_prompts", "schema_version",
     "state_meta", "gateway_routing"}
)  # fmt: skip
"""Tables that are handled by themselves, or whose rows must stay (store facts §4)."""

_META_KEYS: Final = ("goal:", "loop:", "heartbeat:")
"""Keys of ``state_meta`` with the id of a session behind."""

ROUTING: Final = "gateway_routing"


_IDS: Final = "SELECT value FROM json_each(:ids)"


class Reference(NamedTuple):
    """A table whose rows belong to sessions.

    Attributes:
        parts: conditions, any of which makes a row belong to the sessions bound to ``:ids``.
    """

    table: str
    parts: tuple[str, ...]

    def condition(self) -> str:
        """Return the condition for rows that belong to one of the sessions bound to ``:ids``."""
        return f"({' OR '.join(self.parts)})"


class _Key(NamedTuple):
    """A foreign key: columns, and those of another table that they name."""

    columns: tuple[str, ...]
    target: str
    named: tuple[str, ...]


class _Table(NamedTuple):
    """What makes rows of a table belong to others."""

    columns: tuple[str, ...]
    keys: tuple[_Key, ...]


def quoted(name: str) -> str:
    """Quote the name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


def references(store: Store) -> list[Reference]:
    """Return the tables of a store whose rows belong to sessions or messages.

    Also those whose rows belong to such rows, each before the tables that it names: in this order
    they can be deleted, and no row goes that is not known here.
    """
    rows = store.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'messages_fts%'"
        " AND name NOT LIKE 'fts_%' ORDER BY name"
    )
    names = [str(row[0]) for row in rows]
    tables = {name: _look_at(store, name, names) for name in names if name not in _NEVER}
    found = [Reference(name, tuple(_parts(name, tables, frozenset()))) for name in tables]
    return sorted(
        (reference for reference in found if reference.parts),
        key=lambda reference: -_depth(reference.table, tables, frozenset()),
    )


def _look_at(store: Store, table: str, names: Sequence[str]) -> _Table:
    known = {name.casefold(): name for name in names}
    keys: dict[object, list[tuple[object, ...]]] = {}
    for row in store.rows(f"PRAGMA foreign_key_list({quoted(table)})"):
        keys.setdefault(row[0], []).append(row)
    found = []
    for rows in keys.values():
        target = known.get(str(rows[0][2]).casefold())
        if target is not None:
            named = [str(row[4]) for row in rows if row[4] is not None]
            columns = tuple(str(row[3]) for row in rows)
            found.append(_Key(columns, target, tuple(named or primary_key(store, target))))
    return _Table(table_columns(store, table), tuple(found))


def _parts(table: str, tables: Mapping[str, _Table], below: frozenset[str]) -> list[str]:
    """Return the conditions that make rows of a table belong to sessions; none: they never do."""
    names = (*_KNOWN.get(table, ()), "session_id")
    parts = [f"{quoted(n)} IN ({_IDS})" for n in names if n in tables[table].columns]
    for key in tables[table].keys:
        ids = ""
        if key.target == "sessions" and key.named == ("id",):
            ids = _IDS  # so that rows are found whose session is gone
        elif key.target == "sessions":
            ids = _rows_of(key, f"id IN ({_IDS})")
        elif key.target == "messages":
            ids = _rows_of(key, f"session_id IN ({_IDS})")
        elif key.target in tables and key.target not in {table, *below}:
            above = _parts(key.target, tables, below | {table})
            ids = _rows_of(key, " OR ".join(above)) if above else ""
        if ids:
            columns = ", ".join(map(quoted, key.columns))
            parts.append(f"{columns if len(key.columns) == 1 else f'({columns})'} IN ({ids})")
    return list(dict.fromkeys(parts))


def _rows_of(key: _Key, condition: str) -> str:
    return f"SELECT {', '.join(map(quoted, key.named))} FROM {quoted(key.target)} WHERE {condition}"


def _depth(table: str, tables: Mapping[str, _Table], below: frozenset[str]) -> int:
    targets = {key.target for key in tables[table].keys} & tables.keys() - {table, *below}
    return 1 + max((_depth(t, tables, below | {table}) for t in targets), default=-1)


def columns_that_name(store: Store, table: str, target: str) -> list[str]:
    """Return the columns of a table whose foreign key is the id of rows of another table."""
    rows = store.rows(f"PRAGMA foreign_key_list({quoted(table)})")
    found = [row for row in rows if str(row[2]).casefold() == target]
    return [str(row[3]) for row in found if row[4] in {None, "id"}]


def has_unique_key(store: Store, table: str) -> bool:
    """Tell whether no two rows of a table can be the same."""
    indexes = store.rows(f"PRAGMA index_list({quoted(table)})")
    return bool(primary_key(store, table)) or any(row[2] for row in indexes)


def primary_key(store: Store, table: str) -> list[str]:
    """Return the columns of the primary key of a table, in its order; none without one."""
    rows = store.rows(f"PRAGMA table_info({quoted(table)})")
    return [str(row[1]) for row in sorted(rows, key=lambda row: int(str(row[5]))) if row[5]]


def table_columns(store: Store, table: str) -> tuple[str, ...]:
    """Return the names of the columns of a table, in their order; none if it is not there."""
    return tuple(str(row[1]) for row in store.rows(f"PRAGMA table_info({quoted(table)})"))


def meta_keys(session_ids: Iterable[str]) -> list[str]:
    """Return the keys that ``state_meta`` may have for sessions."""
    return [f"{prefix}{session_id}" for session_id in session_ids for prefix in _META_KEYS]


def routed(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Return by session the keys of routing entries that lead a chat of a gateway to it (R093)."""
    if ROUTING not in store.capabilities.tables:
        return {}
    columns = routing_key(store)
    rows = store.rows(f"SELECT {', '.join(columns)}, entry_json FROM {ROUTING}")
    found: dict[str, list[tuple[object, ...]]] = {}
    for *key, entry in rows:
        session_id = _session_of(entry)
        if session_id is not None:
            found.setdefault(session_id, []).append(tuple(key))
    return found


def routing_key(store: Store) -> Sequence[str]:
    """Return the columns that name a routing entry; very early builds had no scope."""
    columns = table_columns(store, ROUTING)
    return [name for name in ("scope", "session_key") if name in columns]


def _session_of(entry: object) -> str | None:
    try:
        value = json.loads(str(entry))
    except ValueError:
        return None
    session_id = value.get("session_id") if isinstance(value, dict) else None
    return str(session_id) if session_id else None
