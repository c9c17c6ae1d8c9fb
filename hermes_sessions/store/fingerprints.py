"""Whether conversations are still what a plan showed, told without reading all that was said."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from hermes_sessions.store.dependents import quoted, table_columns
from hermes_sessions.store.lineage import load_units
from hermes_sessions.store.lookup import conversations_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.lineage import Unit


def fingerprints(store: Store, units: Sequence[Unit]) -> dict[str, str]:
    """Return a fingerprint of each conversation, its delegates included.

    It changes with any cell of its sessions, with the number, the state and the size of its
    messages, and with what belongs to it.
    """
    ids = json.dumps([i for unit in units for i in unit.session_ids])
    facts: dict[str, list[tuple[object, ...]]] = {}
    columns = ", ".join(map(quoted, table_columns(store, "sessions")))
    for row in store.exact_rows(
        f"SELECT id, {columns} FROM sessions WHERE id IN (SELECT value FROM json_each(:ids))",
        {"ids": ids},
    ):
        facts.setdefault(str(row[0]), []).append(row)
    active = store.capabilities.column("active", "1", of="m")
    compacted = store.capabilities.column("compacted", "0", of="m")
    for row in store.rows(
        f"""
        SELECT m.session_id, count(*), max(m.id), total({active}), total({compacted}),
               total(m.id * coalesce({active}, 1)), total(length(CAST(m.content AS BLOB)))
        FROM messages AS m WHERE m.session_id IN (SELECT value FROM json_each(:ids))
        GROUP BY m.session_id""",
        {"ids": ids},
    ):
        facts.setdefault(str(row[0]), []).append(row)
    return {unit.id: _digest([(i, facts.get(i)) for i in unit.session_ids]) for unit in units}


def changed_units(store: Store, units: Sequence[Unit], expected: dict[str, str]) -> set[str]:
    """Return those conversations that are not what they were when they got their fingerprint."""
    alive = [unit for unit in units if not unit.is_orphan]
    again = {u.id: u for u in load_units(store, conversations_of(store, [u.id for u in alive]))}
    found = fingerprints(store, units)
    changed = {unit.id for unit in units if found[unit.id] != expected[unit.id]}
    for unit in alive:
        fresh = again.get(unit.id)
        if fresh is None or set(fresh.session_ids) != set(unit.session_ids):
            changed.add(unit.id)
    return changed


def _digest(facts: object) -> str:
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()
