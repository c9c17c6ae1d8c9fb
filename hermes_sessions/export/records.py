"""Sessions as Hermes' own export objects (0.22.2, ``export_session`` with inactive rows).

One object a session: every column of its row, ``messages`` with every stored row and its flags,
and ``timings``. Beyond Hermes' it has ``schema_version``, and flags are booleans. Hermes imports
it, and so do we; a JSON Schema (``session.schema.json``) describes it.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from hermes_sessions.content import JSON_PREFIX
from hermes_sessions.times import sane_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION: Final = 1

SESSION_FLAGS: Final = ("archived", "auto_archived", "pinned", "hidden", "expiry_finalized")
MESSAGE_FLAGS: Final = ("active", "compacted", "observed", "_compressed_summary")
BYTES: Final = "base64"
"""The only key of an object that stands for bytes."""

_OWN: Final = frozenset({"display_identity", "display_order"})
"""Columns by which the store groups copies of a message; it makes them anew."""


def session_fields(row: Mapping[str, object]) -> dict[str, object]:
    """Return what an object says of its session, before its messages."""
    fields: dict[str, object] = {"schema_version": SCHEMA_VERSION}
    for name, value in row.items():
        fields[name] = _flag(value) if name in SESSION_FLAGS else _plain(value)
    return fields


def message_record(columns: Sequence[str], row: Sequence[object]) -> dict[str, object]:
    """Return a message with its text, calls and metadata decoded; what does not decode stays."""
    record: dict[str, object] = {}
    for name, value in zip(columns, row, strict=True):
        if name in _OWN:
            continue
        if name == "content":
            record[name] = _content(value)
        elif name in {"tool_calls", "display_metadata"} and isinstance(value, str) and value:
            record[name] = _decoded(value)
        elif name in MESSAGE_FLAGS:
            record[name] = _flag(value)
        else:
            record[name] = _plain(value)
    return record


class Timings:
    """Collects what the times of messages tell of a session, as Hermes writes it."""

    def __init__(self) -> None:
        self._seen: list[tuple[object, str, float]] = []
        self._roles: Counter[str] = Counter()
        self._missing = 0
        self._calls = 0

    def add(self, record: Mapping[str, object]) -> None:
        """Take note of a message."""
        role = str(record.get("role") or "unknown")
        self._roles[role] += 1
        calls = record.get("tool_calls")
        if calls:
            self._calls += len(calls) if isinstance(calls, list) else 1
        at = sane_time(record.get("timestamp"))
        if at is None:
            self._missing += 1
        else:
            self._seen.append((record.get("id"), role, at))

    def record(self) -> dict[str, object]:
        """Return the object."""
        seen = self._seen
        intervals = [
            {
                "from_message_id": before[0],
                "to_message_id": after[0],
                "from_role": before[1],
                "to_role": after[1],
                "gap_ms": max(0, round((after[2] - before[2]) * 1000)),
            }
            for before, after in pairwise(seen)
        ]
        first, last = (seen[0][2], seen[-1][2]) if seen else (None, None)
        length = None if first is None or last is None else max(0, round((last - first) * 1000))
        gaps = [int(str(interval["gap_ms"])) for interval in intervals]
        return {
            "source": "message_timestamps",
            "available": bool(seen),
            "complete": False,
            "unavailable_reason": None if seen else "no_timestamped_messages",
            "message_timestamps": {"available": len(seen), "missing": self._missing},
            "first_message_at": _iso(first),
            "last_message_at": _iso(last),
            "wall_clock_ms": length,
            "largest_gap_ms": max(gaps, default=None),
            "role_counts": dict(self._roles),
            "tool_result_count": self._roles["tool"],
            "tool_calls_emitted": self._calls,
            "intervals": intervals,
        }


def _content(value: object) -> object:
    if isinstance(value, str) and value.startswith(JSON_PREFIX):
        try:
            return json.loads(value[len(JSON_PREFIX) :])
        except ValueError:
            return value
    return _plain(value)


def _decoded(text: str) -> object:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (list, dict)) else text


def _flag(value: object) -> object:
    return bool(value) if value in (0, 1) else _plain(value)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    return value


def _iso(instant: float | None) -> str | None:
    return None if instant is None else datetime.fromtimestamp(instant, UTC).isoformat()


def prompt_record(record: Mapping[str, Any], index: int) -> dict[str, object]:
    """Return a request of the user by itself (``--only user-prompts``), as Hermes writes it."""
    from hermes_sessions.content import plain_text

    at = sane_time(record.get("timestamp"))
    moment = None if at is None else datetime.fromtimestamp(at, UTC)
    return {
        "session_id": record["session_id"],
        "index": index,
        "created_at": None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "role": "user",
        "text": plain_text(record["content"]),
        "message_id": record["id"],
    }
