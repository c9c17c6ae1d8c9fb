"""Deletion: whole conversations, each in one transaction, and none before it is in the trash.

A live writer never waits long: a transaction ends after a fraction of a second, with whole
conversations. Messages go before their session, since the triggers of the search index look at the
session (store facts §0, trap 6).
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.store.dependents import ROUTING, meta_keys, quoted, routed
from hermes_sessions.store.fingerprints import changed_units
from hermes_sessions.store.live import find_live
from hermes_sessions.store.saving import Saver
from hermes_sessions.store.snapshots import META, PROMPTS, prompts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.lineage import Unit
    from hermes_sessions.store.saving import Labels
    from hermes_sessions.store.snapshots import Tables
    from hermes_sessions.store.writing import Writer
    from hermes_sessions.trash import TrashFile

_TARGET: Final = 0.2
"""Seconds that a transaction should take; how many messages that is shows as it goes."""

_FEWEST, _MOST = 200, 8_000
"""Messages of one transaction, but for a conversation that has more by itself."""

_BATCH: Final = 8_000
"""Messages that go to the trash before any of them is deleted."""

_NEVER: Final = -1
"""No data version is this one."""

CHANGED: Final = "it changed since it was looked at"


class Removed(NamedTuple):
    """What became of a conversation.

    Attributes:
        reason: why it was kept after all; None: it is gone.
    """

    unit: Unit
    reason: str | None


class Remover:
    """Deletes conversations of one store."""

    def __init__(
        self, writer: Writer, home: Path | None, trash: TrashFile | None, now: float
    ) -> None:
        """Prepare.

        Args:
            writer: outside a transaction.
            home: where it is recorded who has a conversation open.
            trash: where rows go first; None to delete them for good.
            now: epoch seconds.
        """
        self._writer = writer
        self._home = home
        self._now = now
        self._saver = Saver(writer.store, trash)
        self._at_once = 1_000

    def remove(
        self,
        units: Sequence[Unit],
        labels: dict[str, Labels],
        expected: Mapping[str, str] | None = None,
    ) -> Iterator[Removed]:
        """Delete conversations, those that hang off others first; yield each when it is done.

        One whose rows have not the digest that is ``expected`` of it, or that has grown, stays.

        Raises:
            StoreBusy, StoreDamaged, UserError: what was yielded before is gone for good.
        """
        for batch in _batches(units, labels):
            # what was expected may have changed before this connection began to watch
            version = self._writer.data_version() if expected is None else _NEVER
            digests = {unit.id: self._saver.save(unit, labels[unit.id]) for unit in batch}
            self._saver.secure()
            pending = []
            for unit in batch:
                if expected is None or expected.get(unit.id) == digests[unit.id]:
                    pending.append(unit)
                else:
                    self._saver.note_kept(unit)
                    yield Removed(unit, CHANGED)
            while pending:
                group = self._next_group(pending, labels)
                yield from self._remove_group(group, labels, version, digests)

    def _next_group(self, pending: list[Unit], labels: dict[str, Labels]) -> list[Unit]:
        """Take as many conversations as can go in one short transaction."""
        group = [pending.pop(0)]
        messages = labels[group[0].id].messages
        while pending and messages + labels[pending[0].id].messages <= self._at_once:
            group.append(pending.pop(0))
            messages += labels[group[-1].id].messages
        return group

    def _remove_group(
        self,
        group: Sequence[Unit],
        labels: dict[str, Labels],
        version: int,
        digests: dict[str, str],
    ) -> list[Removed]:
        """Delete conversations in one transaction, but for those that must not go any more."""
        with self._writer.transaction():
            began = time.monotonic()
            is_watched = self._writer.data_version() == version
            reasons = self._reasons(group, labels)
            for unit in group:
                is_same = is_watched or self._saver.is_same(unit, digests[unit.id])
                if unit.id not in reasons and not is_same:
                    reasons[unit.id] = CHANGED
            results = [Removed(unit, reasons.get(unit.id)) for unit in group]
            gone = [one.unit for one in results if one.reason is None]
            if gone:
                ids = [i for unit in gone for i in unit.session_ids]
                _delete(self._writer, self._saver.tables, ids)
        took = max(time.monotonic() - began, 0.001)
        wanted = int(self._at_once * min(2.0, _TARGET / took))
        self._at_once = min(max(wanted, _FEWEST), _MOST)
        for one in results:
            if one.reason is not None:
                self._saver.note_kept(one.unit)
        return results

    def clean(self, session_ids: Sequence[str]) -> None:
        """Delete what another process has left of sessions that it deleted."""
        with self._writer.transaction():
            _delete_dependents(self._writer, self._saver.tables, session_ids)

    def _reasons(self, group: Sequence[Unit], labels: dict[str, Labels]) -> dict[str, str]:
        """Look again at what may have changed since the plan was made; say why some must stay."""
        store = self._writer.store
        conversations = [c for unit in group for c in unit.conversations]
        live = find_live(store, self._home, conversations, self._now)
        expected = {unit.id: labels[unit.id].fingerprint for unit in group}
        reasons = dict.fromkeys(changed_units(store, group, expected), CHANGED)
        for unit in group:
            holders = [live[c.id].holder for c in unit.conversations if c.id in live]
            if holders:
                reasons[unit.id] = f"it is live: {holders[0]}"
        return reasons


def _batches(units: Sequence[Unit], labels: dict[str, Labels]) -> Iterator[list[Unit]]:
    batch: list[Unit] = []
    messages = 0
    for unit in units:
        batch.append(unit)
        messages += labels[unit.id].messages
        if messages >= _BATCH:
            yield batch
            batch, messages = [], 0
    if batch:
        yield batch


def _delete(writer: Writer, tables: Tables, session_ids: Sequence[str]) -> None:
    """Delete the rows of sessions, in the order that keys and triggers need."""
    ids = {"ids": json.dumps(list(session_ids))}
    hashes = prompts_of(writer.store, session_ids)
    writer.run(
        """
        UPDATE sessions SET parent_session_id = NULL
        WHERE parent_session_id IN (SELECT value FROM json_each(:ids))
          AND id NOT IN (SELECT value FROM json_each(:ids))""",
        ids,
    )
    _delete_dependents(writer, tables, session_ids)
    writer.run("DELETE FROM messages WHERE session_id IN (SELECT value FROM json_each(:ids))", ids)
    writer.run("DELETE FROM sessions WHERE id IN (SELECT value FROM json_each(:ids))", ids)
    delete_unused_prompts(writer, hashes)


def _delete_dependents(writer: Writer, tables: Tables, session_ids: Sequence[str]) -> None:
    """Delete rows of other tables that name sessions; before their messages, which some name."""
    ids = {"ids": json.dumps(list(session_ids))}
    for reference in tables.references:
        writer.run(f"DELETE FROM {quoted(reference.table)} WHERE {reference.condition()}", ids)
    _delete_routing(writer, tables, session_ids)
    if META in tables.columns:
        writer.run(
            f"DELETE FROM {META} WHERE key IN (SELECT value FROM json_each(:keys))",
            {"keys": json.dumps(meta_keys(session_ids))},
        )


def _delete_routing(writer: Writer, tables: Tables, session_ids: Sequence[str]) -> None:
    if not tables.routing_key:
        return
    leading = routed(writer.store)
    condition = " AND ".join(f"{name} = :{name}" for name in tables.routing_key)
    for session_id in session_ids:
        for key in leading.get(session_id, ()):
            values = dict(zip(tables.routing_key, key, strict=True))
            writer.run(f"DELETE FROM {ROUTING} WHERE {condition}", values)


def delete_unused_prompts(writer: Writer, hashes: Sequence[str]) -> None:
    """Delete those of some stored prompts that no session refers to."""
    if not hashes:
        return
    columns = writer.store.capabilities.sessions
    used = " OR ".join(
        f"EXISTS (SELECT 1 FROM sessions WHERE {name} = hash)"
        for name in ("system_prompt_hash", "tool_names")
        if name in columns
    )
    writer.run(
        f"""
        DELETE FROM {PROMPTS}
        WHERE hash IN (SELECT value FROM json_each(:hashes)) AND NOT ({used or "0"})""",
        {"hashes": json.dumps(list(hashes))},
    )


def count_messages_of(store: Store, session_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the number of messages of each session that has any, and about their bytes."""
    calls = store.capabilities.column("tool_calls", "''", of="m")
    rows = store.rows(
        f"""
        SELECT m.session_id, count(*),
               sum(coalesce(length(CAST(m.content AS BLOB)), 0) + coalesce(length({calls}), 0))
        FROM messages AS m WHERE m.session_id IN (SELECT value FROM json_each(:ids))
        GROUP BY m.session_id""",
        {"ids": json.dumps(list(session_ids))},
    )
    return {str(row[0]): (int(str(row[1])), int(str(row[2]))) for row in rows}
