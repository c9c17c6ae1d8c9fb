"""What there is to say about one session of the sample."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from demo_home.prompts import PROMPT


class Model(NamedTuple):
    """A model and who serves it."""

    name: str
    provider: str


HERMES = Model("hermes-4-405b", "nous")
CLAUDE = Model("claude-sonnet-4", "anthropic")
OPENROUTER = Model("deepseek-v3.2", "openrouter")
LOCAL = Model("qwen3-32b", "custom")


@dataclass(frozen=True)
class Cost:
    """What one session used, and how sure Hermes is of the price in US dollars."""

    status: str  # actual, estimated, included or unknown
    dollars: float
    sent: int
    received: int
    calls: int


@dataclass(frozen=True)
class Scene:
    """One session of the sample: a script, and everything about it that is not said."""

    id: str
    source: str
    script: str  # its text, see `parse_script`
    model: Model = HERMES
    title: str | None = None
    title_source: str = "llm"  # "user": named by hand
    workspace: str | None = None
    branch: str | None = "main"
    parent: str | None = None
    mark: str | None = None  # how it hangs on the parent; without one, it continues it
    end: str | None = None
    cost: Cost | None = None
    prompt: str = PROMPT
    peer: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def started(self) -> datetime:
        """The start, which every form of id carries."""
        if match := re.search(r"\d{8}_\d{6}", self.id):
            return datetime.strptime(f"{match[0]} +0000", "%Y%m%d_%H%M%S %z")
        return datetime.fromtimestamp(int(self.id.split("_")[1]), UTC)

    @property
    def continues(self) -> bool:
        """Whether this is the next segment of a compression chain."""
        return self.parent is not None and self.mark is None

    @property
    def is_continued(self) -> bool:
        """Whether a continuation follows; publishing it is what ends the session."""
        return self.end == "compression"

    @property
    def listed(self) -> bool:
        """Whether Hermes shows the session in a list that nothing was asked of."""
        kept_back = {"archived", "hidden"} & {*self.flags}
        # A chain is shown as its last segment.
        return not kept_back and not self.is_continued and self.mark != "_delegate_from"
