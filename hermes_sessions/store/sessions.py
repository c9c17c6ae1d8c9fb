"""Rows of ``sessions`` with every column the program shows or filters by."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.models import Session
from hermes_sessions.store.catalog import sane

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.schema import Capabilities

_COUNTERS: Final = frozenset(
    name for name in Session._fields if name.endswith(("_tokens", "_count"))
)
_TIMES: Final = frozenset({"started_at", "ended_at"})
_PRICES: Final = frozenset({"estimated_cost_usd", "actual_cost_usd"})

MOST: Final = 10**15
"""A counter or a price above this is garbage, not a number to add up."""


def load_sessions(store: Store, ids: Iterable[str] | None = None) -> dict[str, Session]:
    """Load sessions by id, or all of them; ids that are gone are left out."""
    columns = ", ".join(field_sql(name, store.capabilities) for name in Session._fields)
    query = f"SELECT {columns} FROM sessions AS s"
    if ids is None:
        rows = store.rows(query)
    else:
        rows = store.rows(
            f"{query} WHERE s.id IN (SELECT value FROM json_each(:ids))",
            {"ids": json.dumps(list(ids))},
        )
    return {str(row[0]): Session._make(row) for row in rows}


def field_sql(name: str, capabilities: Capabilities) -> str:
    """Return SQL for a field that always has the field's type, whatever the cell holds."""
    column = capabilities.column(name)
    if name == "is_open":
        return "s.ended_at IS NULL"
    if name in _TIMES:
        return sane(column)
    if name in _COUNTERS:
        return f"CASE WHEN {column} BETWEEN 0 AND {MOST} THEN CAST({column} AS INTEGER) ELSE 0 END"
    if name in _PRICES:
        return f"CASE WHEN {column} BETWEEN 0 AND {MOST} THEN {column} END"
    return f"CAST({column} AS TEXT)" if name not in {"id", "source"} else column


def recorded_directories(store: Store) -> list[tuple[str, str]]:
    """Return the distinct pairs of (git_repo_root, cwd) in the store, trimmed, "" for none."""
    column = store.capabilities.column
    rows = store.rows(
        f"""
        SELECT DISTINCT trim(coalesce({column("git_repo_root")}, '')),
                        trim(coalesce({column("cwd")}, ''))
        FROM sessions AS s"""
    )
    return [(str(root), str(cwd)) for root, cwd in rows]


def directories_of(
    store: Store, conversations: Sequence[Conversation]
) -> dict[str, tuple[str, str]]:
    """Return (git_repo_root, cwd) of each conversation's newest segment that has them (R057)."""
    column = store.capabilities.column
    rows = store.rows(
        f"""
        SELECT s.id, trim(coalesce({column("git_repo_root")}, '')),
               trim(coalesce({column("cwd")}, ''))
        FROM sessions AS s WHERE s.id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps([i for c in conversations for i in c.session_ids])},
    )
    recorded = {str(row[0]): (str(row[1]), str(row[2])) for row in rows}
    nothing = ("", "")
    return {
        c.id: next(
            (recorded[i] for i in reversed(c.session_ids) if recorded.get(i, nothing) != nothing),
            nothing,
        )
        for c in conversations
    }
