"""A session before it is written: what the plan decides, and what the rows are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
"""A row of a table to be: value by name of column."""

SUMMARY_EVERY = 400
"""Messages between two in-place compactions of a long conversation."""


@dataclass(slots=True, eq=False)
class Session:
    """One row of `sessions` to be, and the tally of what is written for it."""

    kind: str
    source: str
    parent: Session | None = None
    id: str = ""
    title: str | None = None
    started: float = 0.0
    duration: float = 0.0
    end_reason: str | None = None
    messages: int = 0
    chat: int = 0
    archived: bool = False
    pinned: bool = False
    hidden: bool = False
    cjk: bool = False
    common: bool = False
    huge: bool = False
    live: int = 0
    tool_calls: int = 0
    rewinds: int = 0

    @property
    def last_message(self) -> float:
        """The moment of the last message (Unix seconds), whether or not the session has ended."""
        return self.started + self.duration

    @property
    def last_summary(self) -> int:
        """Position of the newest in-place summary; rows before it are archived. 0: no summary."""
        if self.kind == "continuation" or self.end_reason == "compression":
            return 0
        return (self.messages - 1) // SUMMARY_EVERY * SUMMARY_EVERY
