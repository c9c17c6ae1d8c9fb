"""What the store must be like, for those who fill it and those who check it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NOW = datetime(2026, 11, 30, 16, 20, tzinfo=UTC).timestamp()
"""The moment the store was last used, in Unix seconds. Fixed, so that a rebuild is the same."""

# Words planted for search benchmarks, and how often each is to be found.
RARE, RARE_MESSAGES = "zyzzyva", 3
COMMON, COMMON_SHARE = "pipeline", 0.5  # of the conversations
CJK, CJK_CONVERSATIONS, CJK_RATE = (
    "数据库",
    0.05,
    0.3,
)  # of the conversations; of what is said there


@dataclass(frozen=True)
class Size:
    """What was asked for."""

    sessions: int
    messages: int
    big: int
    seed: int = 1
    release: str = "0.22.2"
