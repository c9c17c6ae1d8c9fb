"""Which conversations a running process has open: leases and locks in the store and beside it.

A claim counts while it has not expired and its process is not provably gone (R029). Facts: turn
leases are keyed by the root of the compression chain, compression locks by session, holder text is
``pid=<n>[:pidns=<inode>]:…`` (``hermes_state_compression`` and ``hermes_state_pidns`` of 0.22.2);
``runtime/active_sessions.json`` lists open chats (``hermes_cli/active_sessions``).
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, Final

from hermes_sessions.models import Live
from hermes_sessions.processes import process_exists, process_started_at
from hermes_sessions.times import sane_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store

_PID: Final = r"(?:^|:)pid=(\d+)(?::|$)"
_PID_NAMESPACE: Final = r"(?:^|:)pidns=(\d+)(?::|$)"
_START_TOLERANCE: Final = 2.0
"""Seconds by which two clocks' idea of a process's start may differ."""


def find_live(
    store: Store, home: Path | None, conversations: Iterable[Conversation], now: float
) -> dict[str, Live]:
    """Return who has which of these conversations open, by conversation id."""
    claims = {**_claims_in_store(store, now), **(_claims_beside(home) if home else {})}
    if not claims:
        return {}
    found = {}
    for conversation in conversations:
        claim = next((claims[i] for i in reversed(conversation.session_ids) if i in claims), None)
        if claim:
            found[conversation.id] = claim
    return found


def _claims_in_store(store: Store, now: float) -> dict[str, Live]:
    claims = {}
    for table, key, what in (
        ("compression_locks", "session_id", "compressing"),
        ("session_turn_leases", "conversation_id", "in a turn"),
    ):
        if table not in store.capabilities.tables:
            continue
        query = f"SELECT {key}, holder, acquired_at FROM {table} WHERE expires_at > :now"
        for session_id, holder, acquired_at in store.rows(query, {"now": now}):
            if not _holder_is_gone(str(holder)):
                claims[str(session_id)] = Live(_in_words(str(holder), what), sane_time(acquired_at))
    return claims


def _in_words(holder: str, what: str) -> str:
    match = re.search(_PID, holder)
    return f"{what} (pid {match.group(1)})" if match else what


def _holder_is_gone(holder: str) -> bool:
    """Gone is proved only in our own process namespace; otherwise the claim runs to its end."""
    match = re.search(_PID, holder)
    if match is None or not _is_our_namespace(re.search(_PID_NAMESPACE, holder)):
        return False
    return not process_exists(int(match.group(1)))


def _is_our_namespace(stamp: re.Match[str] | None) -> bool:
    if sys.platform != "linux":
        return True
    try:
        ours = re.search(r"\[(\d+)\]", os.readlink("/proc/self/ns/pid"))  # noqa: PTH115
    except OSError:
        return False
    return stamp is not None and ours is not None and stamp.group(1) == ours.group(1)


def _claims_beside(home: Path) -> dict[str, Live]:
    try:
        value = json.loads((home / "runtime" / "active_sessions.json").read_bytes())
    except (OSError, ValueError):
        return {}
    entries = value.get("entries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return {}
    return {
        str(entry["session_id"]): Live(
            f"{entry.get('surface') or 'a chat'} (pid {entry.get('pid')})",
            sane_time(entry.get("started_at")),
        )
        for entry in entries
        if isinstance(entry, dict) and entry.get("session_id") and _entry_is_live(entry)
    }


def _entry_is_live(entry: Mapping[str, object]) -> bool:
    try:
        pid = int(str(entry.get("pid")))
    except ValueError:
        return False
    if pid <= 0 or not process_exists(pid):
        return False
    recorded = sane_time(entry.get("process_start_time"))
    started = process_started_at(pid)
    return recorded is None or started is None or abs(started - recorded) < _START_TOLERANCE
