"""Every row that goes with a conversation, exactly as it is stored, in a fixed order."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.store.dependents import (
    ROUTING,
    meta_keys,
    quoted,
    references,
    routed,
    routing_key,
    table_columns,
)
from hermes_sessions.trash_format import DANGLING, DETACHED, goes, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.dependents import Reference

_AT_ONCE: Final = 500
"""Messages of one query."""

PROMPTS: Final = "system_prompts"
META: Final = "state_meta"


class Tables(NamedTuple):
    """The tables of a store that a conversation has rows in.

    Attributes:
        columns: of each table, by name.
        routing_key: the columns that name an entry of the routing table; none without one.
    """

    references: tuple[Reference, ...]
    columns: dict[str, tuple[str, ...]]
    routing_key: tuple[str, ...]


class Part(NamedTuple):
    """Some rows of a table."""

    table: str
    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def read_tables(store: Store) -> Tables:
    """Look at a store once for many snapshots."""
    found = tuple(references(store))
    names = {"sessions", "messages", *(reference.table for reference in found)}
    names |= {PROMPTS, META, ROUTING} & store.capabilities.tables
    key = tuple(routing_key(store)) if ROUTING in names else ()
    return Tables(found, {name: table_columns(store, name) for name in sorted(names)}, key)


def snapshot(store: Store, tables: Tables, session_ids: Sequence[str]) -> Iterator[Part]:
    """Yield all rows of sessions; a table that has none of them is left out."""
    ids = {"ids": json.dumps(list(session_ids))}
    yield from _links(store, DANGLING, _DANGLING, ids)
    yield from _part(
        store, tables, "sessions", "id IN (SELECT value FROM json_each(:ids)) ORDER BY id", ids
    )
    yield from _links(store, DETACHED, _DETACHED, ids)
    for session_id in session_ids:
        yield from _messages(store, tables, session_id)
    for reference in tables.references:
        condition = f"{reference.condition()} ORDER BY {_all(tables, reference.table)}"
        yield from _part(store, tables, reference.table, condition, ids)
    if META in tables.columns:
        keys = {"keys": json.dumps(meta_keys(session_ids))}
        condition = "key IN (SELECT value FROM json_each(:keys)) ORDER BY key"
        yield from _part(store, tables, META, condition, keys)
    yield from _routing(store, tables, session_ids)


_DETACHED: Final = """
    s.parent_session_id IN (SELECT value FROM json_each(:ids))
    AND s.id NOT IN (SELECT value FROM json_each(:ids))"""

_DANGLING: Final = """
    s.id IN (SELECT value FROM json_each(:ids)) AND s.parent_session_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id)"""


def digest(store: Store, tables: Tables, session_ids: Sequence[str]) -> str:
    """Return the digest that the trash has of all rows that go, if they are still the same."""
    total = hashlib.sha256()
    for part in filter(lambda part: goes(part.table), snapshot(store, tables, session_ids)):
        for line in table_lines(part.table, part.columns, part.rows):
            total.update(line)
    return total.hexdigest()


def prompts_of(store: Store, session_ids: Sequence[str]) -> list[str]:
    """Return the keys of prompts, and of sets of tools, that sessions refer to."""
    if PROMPTS not in store.capabilities.tables:
        return []
    names = [n for n in ("system_prompt_hash", "tool_names") if n in store.capabilities.sessions]
    queries = " UNION ".join(
        f"SELECT {name} FROM sessions WHERE id IN (SELECT value FROM json_each(:ids))"
        for name in names
    )
    rows = store.rows(
        f"SELECT hash FROM {PROMPTS} WHERE hash IN ({queries}) ORDER BY hash",
        {"ids": json.dumps(list(session_ids))},
    )
    return [str(row[0]) for row in rows]


def read_prompts(store: Store, hashes: Sequence[str]) -> list[tuple[object, ...]]:
    """Return (hash, prompt) of stored prompts."""
    if not hashes:  # old stores have no such table
        return []
    return store.exact_rows(
        f"SELECT hash, prompt FROM {PROMPTS} WHERE hash IN (SELECT value FROM json_each(:hashes))",
        {"hashes": json.dumps(list(hashes))},
    )


def _messages(store: Store, tables: Tables, session_id: str) -> Iterator[Part]:
    columns = tables.columns["messages"]
    after = -(2**63)
    while True:
        rows = store.exact_rows(
            f"""
            SELECT {_all(tables, "messages")} FROM messages
            WHERE session_id = :id AND id > :after ORDER BY id LIMIT {_AT_ONCE}""",
            {"id": session_id, "after": after},
        )
        if rows:
            yield Part("messages", columns, rows)
        if len(rows) < _AT_ONCE:
            return
        after = int(str(rows[-1][columns.index("id")]))


def _links(store: Store, name: str, condition: str, ids: Mapping[str, object]) -> Iterator[Part]:
    rows = store.exact_rows(
        f"SELECT id, parent_session_id FROM sessions AS s WHERE {condition} ORDER BY id", ids
    )
    if rows:
        yield Part(name, ("id", "parent_session_id"), rows)


def _part(
    store: Store, tables: Tables, table: str, condition: str, values: Mapping[str, object]
) -> Iterator[Part]:
    rows = store.exact_rows(
        f"SELECT {_all(tables, table)} FROM {quoted(table)} WHERE {condition}", values
    )
    if rows:
        yield Part(table, tables.columns[table], rows)


def _routing(store: Store, tables: Tables, session_ids: Sequence[str]) -> Iterator[Part]:
    if not tables.routing_key:
        return
    leading = routed(store)
    keys = [key for session_id in session_ids for key in leading.get(session_id, ())]
    condition = " AND ".join(f"{name} = :{name}" for name in tables.routing_key)
    for key in sorted(keys, key=str):
        values = dict(zip(tables.routing_key, key, strict=True))
        yield from _part(store, tables, ROUTING, condition, values)


def _all(tables: Tables, table: str) -> str:
    return ", ".join(map(quoted, tables.columns[table]))
