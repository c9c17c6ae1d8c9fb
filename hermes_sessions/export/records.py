"""Sessions as Hermes' own export objects (0.22.2, ``export_session`` with inactive rows).

One object a session: every column of its row, ``messages`` with every stored row and its flags,
and ``timings``. Beyond Hermes' it has ``schema_version``, and flags are booleans. Hermes imports
it, and so do we; a JSON Schema (``session.schema.json``) describes it.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from hermes_sessions.content import JSON_PREFIX
from hermes_sessions.json_lines import plain, to_text, to_texts
from hermes_sessions.times import sane_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SCHEMA_VERSION: Final = 1

SESSION_FLAGS: Final = ("archived", "auto_archived", "pinned", "hidden", "expiry_finalized")
MESSAGE_FLAGS: Final = ("active", "compacted", "observed", "_compressed_summary")


def session_fields(row: Mapping[str, object]) -> dict[str, object]:
    """Return what an object says of its session, before its messages."""
    fields: dict[str, object] = {"schema_version": SCHEMA_VERSION}
    for name, value in row.items():
        fields[name] = plain(_flag(value) if name in SESSION_FLAGS else value)
    return fields


class MessageShape:
    """Turns rows of messages into what is said of them: as records, or as their JSON.

    Text, calls and metadata are decoded; what does not decode stays as it is.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        """Take the columns of the rows."""
        self._columns = tuple(columns)
        self._conversions = [
            (position, _CONVERSIONS[name])
            for position, name in enumerate(columns)
            if name in _CONVERSIONS
        ]
        keys = [to_text(name).replace("%", "%%") for name in columns]
        self._template = f"{{{', '.join(f'{key}: %s' for key in keys)}}}"

    def cells(self, row: Sequence[object]) -> list[object]:
        """Return the values of a row, decoded; bytes stay bytes."""
        cells = list(row)
        for position, convert in self._conversions:
            if cells[position] is not None:
                cells[position] = convert(cells[position])
        return cells

    def record(self, row: Sequence[object]) -> dict[str, Any]:
        """Return a message by column."""
        return dict(zip(self._columns, map(plain, self.cells(row)), strict=True))

    def text(self, cells: Sequence[object]) -> str:
        """Return the JSON of a message; the same as that of its record, and much faster."""
        return self._template % tuple(to_texts(cells))


class Timings:
    """Collects what the times of messages tell of a session, as Hermes writes it.

    Attributes:
        OF: the columns of a message that it takes.
    """

    OF: Final = ("id", "role", "timestamp", "tool_calls")

    def __init__(self) -> None:
        self._seen: list[tuple[object, str, float]] = []
        self._roles: Counter[str] = Counter()
        self._missing = 0
        self._calls = 0

    def add(self, message_id: object, role: object, timestamp: object, calls: object) -> None:
        """Take note of a message, in the order of ``Timings.OF``."""
        who = str(role or "unknown")
        self._roles[who] += 1
        if calls:
            self._calls += len(calls) if isinstance(calls, list) else 1
        at = sane_time(timestamp)
        if at is None:
            self._missing += 1
        else:
            self._seen.append((message_id, who, at))

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
    return value


def _decoded(value: object) -> object:
    if not isinstance(value, str) or not value:
        return value
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return decoded if isinstance(decoded, (list, dict)) else value


def _flag(value: object) -> object:
    return bool(value) if value in (0, 1) else value


_CONVERSIONS: Final[dict[str, Callable[[object], object]]] = {
    "content": _content,
    "tool_calls": _decoded,
    "display_metadata": _decoded,
    **dict.fromkeys(MESSAGE_FLAGS, _flag),
}
"""Columns of messages whose values are something else than what is stored."""


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
