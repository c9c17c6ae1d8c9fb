"""Statistics worked out again in plain Python, one row after the other: the oracle for ``stats``.

Which conversations there are, and which are in view, is taken from ``list``; every figure comes
from the rows themselves.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = dict[str, Any]

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
MONEY = ("actual_cost_usd", "estimated_cost_usd", "cost_usd")
LAST_INSTANT = 4_200_000_000


class Recount:
    """All rows of a store, and the conversations that ``list --all --json`` gives for it."""

    def __init__(self, home: Path, conversations: list[Row]) -> None:
        with TemporaryDirectory() as scratch:  # to read a WAL store is to write beside it
            copy = Path(shutil.copytree(home, Path(scratch, "home")), "state.db")
            with closing(sqlite3.connect(copy)) as connection:
                connection.row_factory = sqlite3.Row
                self.sessions = {row["id"]: row for row in _rows(connection, "sessions")}
                self.messages = _rows(connection, "messages")
                self.usage = _rows(connection, "session_model_usage")
        self.conversations = conversations

    def shown(self, *, everything: bool) -> list[Row]:
        return [c for c in self.conversations if everything or c["away"] is None]

    def session_parts(self) -> Counter[str]:
        filled = {message["session_id"] for message in self.messages}
        return Counter(
            c["away"] or ("visible" if i in filled else "empty")
            for c in self.conversations
            for i in c["segment_ids"]
        )

    def message_parts(self) -> Counter[str]:
        return Counter(
            state(message) if message["session_id"] in self.sessions else "orphan"
            for message in self.messages
        )

    def tally(self, conversations: Iterable[Row]) -> Row:
        chosen = list(conversations)
        ids = [i for c in chosen for i in c["segment_ids"]]
        return {
            "conversations": len(chosen),
            "messages": sum(m["session_id"] in ids for m in self.messages),
            **self.took(ids),
        }

    def took(self, session_ids: Iterable[str]) -> Row:
        rows = [self.sessions[i] for i in session_ids]
        prices = [_price(row) for row in rows]
        kinds = Counter(kind for kind, _ in prices)
        dollars = {kind: sum(usd for k, usd in prices if k == kind) for kind in kinds}
        known = [usd for kind, usd in prices if kind in {"billed", "included", "estimated"}]
        return {
            "sessions": len(rows),
            **{name: sum(_number(row.get(name)) for row in rows) for name in TOKENS},
            **{
                f"{kind}_sessions": kinds[kind]
                for kind in ("billed", "included", "estimated", "unpriced", "unused")
            },
            "actual_cost_usd": dollars.get("billed"),
            "estimated_cost_usd": dollars.get("estimated"),
            "cost_usd": sum(known) if known else None,
        }

    def by(self, field: str, *, everything: bool) -> dict[Any, Row]:
        groups: dict[Any, list[Row]] = {}
        for conversation in self.shown(everything=everything):
            groups.setdefault(conversation[field], []).append(conversation)
        return {value: self.tally(found) for value, found in groups.items()}

    def tokens_by_model(self, *, everything: bool) -> Counter[str | None]:
        """Tokens of the model that took them, as far as ``session_model_usage`` knows."""
        tokens: Counter[str | None] = Counter()
        for i in (i for c in self.shown(everything=everything) for i in c["segment_ids"]):
            row = self.sessions[i]
            tokens[row["model"]] += sum(_number(row[name]) for name in TOKENS[:2])
            for used in self.usage:
                if used["session_id"] == i and not used["task"] and used["model"] != row["model"]:
                    moved = used["input_tokens"] + used["output_tokens"]
                    tokens.update({used["model"]: moved, row["model"]: -moved})
        return Counter({model: number for model, number in tokens.items() if number})

    def by_day(self, *, everything: bool) -> tuple[dict[date, Row], Row]:
        """Figures of each local day, and of what has no time that can be trusted."""
        chosen = self.shown(everything=everything)
        sessions: dict[date | None, list[str]] = {}
        began: Counter[date | None] = Counter()
        for conversation in chosen:
            first, *rest = (day_of(self.sessions[i]) for i in conversation["segment_ids"])
            began[first] += 1
            for i, day in zip(conversation["segment_ids"], (first, *rest), strict=True):
                sessions.setdefault(day, []).append(i)
        ids = {i for found in sessions.values() for i in found}
        said = Counter(day_of(m, "timestamp") for m in self.messages if m["session_id"] in ids)
        days = {
            day: {
                "conversations": began[day],
                "messages": said[day],
                **self.took(sessions.get(day, ())),
            }
            for day in {*sessions, *said}
        }
        nothing = {"conversations": 0, "sessions": 0, "messages": 0}
        undated = days.pop(None, nothing)
        return {d: row for d, row in days.items() if d}, {n: undated[n] for n in nothing}

    def tools(self, *, everything: bool) -> dict[str, tuple[int, int, int]]:
        """Calls, results and conversations of each tool, in transcripts."""
        owner = {i: c["id"] for c in self.shown(everything=everything) for i in c["segment_ids"]}
        calls: Counter[str] = Counter()
        results: Counter[str] = Counter()
        used: set[tuple[str, str]] = set()
        for message in self.messages:
            if message["session_id"] not in owner or state(message) == "rewound":
                continue
            names = [call["function"]["name"] for call in json.loads(message["tool_calls"] or "[]")]
            calls.update(names)
            if message["role"] == "tool":
                results[message["tool_name"]] += 1
                names.append(message["tool_name"])
            used.update((name, owner[message["session_id"]]) for name in names)
        places = Counter(name for name, _ in used)
        return {name: (calls[name], results[name], places[name]) for name in places}


def _rows(connection: sqlite3.Connection, table: str) -> list[Row]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        return []
    return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]


def state(message: Row) -> str:
    if message.get("active", 1) in {1, None}:
        return "live"
    return "archived" if message.get("compacted") else "rewound"


def day_of(row: Row, column: str = "started_at") -> date | None:
    instant = row[column]
    if not isinstance(instant, (int, float)) or not 0 <= instant <= LAST_INSTANT:
        return None
    return datetime.fromtimestamp(instant).date()  # noqa: DTZ006 - the local zone is meant


def _number(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= 10**15 else 0


def _price(row: Row) -> tuple[str, float]:
    actual, estimate = row["actual_cost_usd"], row["estimated_cost_usd"]
    status = row["cost_status"]
    if actual or (actual is not None and status not in {None, "unknown"}):
        return "billed", actual
    if status == "included":
        return "included", 0.0
    if estimate:
        return "estimated", estimate
    counters = (*TOKENS, "api_call_count")
    used = any(_number(row.get(name)) for name in counters)
    touched = any(value is not None for value in (actual, estimate, status))
    return "unpriced" if used or touched else "unused", 0.0
