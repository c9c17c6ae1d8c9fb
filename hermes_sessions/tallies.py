"""Figures that add up: what sessions took and cost, and the sums of it by anything."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Final, NamedTuple

from hermes_sessions.models import BILLED, ESTIMATED, INCLUDED, Cost, price


class By(StrEnum):
    """What figures can be told apart by."""

    SOURCE = "source"
    MODEL = "model"
    WORKSPACE = "workspace"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    TOOL = "tool"


PERIODS: Final = (By.DAY, By.WEEK, By.MONTH)


TOKENS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


class Usage(NamedTuple):
    """What one session took, by Hermes' counters; values are safe to add up (US dollars)."""

    id: str
    source: str
    model: str | None
    workspace: str | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    api_call_count: int
    estimated_cost_usd: float | None
    actual_cost_usd: float | None
    cost_status: str | None


class Tally(NamedTuple):
    """Sums over some sessions.

    Attributes:
        conversations: each counts where its newest segment belongs.
        messages: rows in the store: live, archived by compaction and rewound ones.
        actual_cost_usd: what was billed.
        estimated_cost_usd: estimates of sessions that have no actual cost.
        billed, included, estimated: sessions by how their price is known.
        unpriced: sessions that used something and whose cost nobody knows (R126).
        unused: sessions with no usage recorded. These five add up to ``sessions``.
    """

    conversations: int = 0
    sessions: int = 0
    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    actual_cost_usd: float = 0.0
    estimated_cost_usd: float = 0.0
    billed: int = 0
    included: int = 0
    estimated: int = 0
    unpriced: int = 0
    unused: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> Cost:
        """The known costs together; nothing is known of no price."""
        billed, estimated = self.is_billed, self.is_estimated
        status = INCLUDED if self.included and not (billed or estimated) else None
        usd = self.actual_cost_usd + self.estimated_cost_usd
        return Cost(usd if billed or estimated or status else None, estimated, status)

    @property
    def is_billed(self) -> bool:
        """Some of it has an actual cost, be it 0."""
        return bool(self.billed or self.actual_cost_usd)

    @property
    def is_estimated(self) -> bool:
        """Some of it is estimated."""
        return bool(self.estimated or self.estimated_cost_usd)


class Group(NamedTuple):
    """One value of what figures are told apart by; None for those that have none."""

    key: str | None
    tally: Tally


def tally(sessions: Sequence[Usage], conversations: int, messages: Mapping[str, int]) -> Tally:
    """Add up sessions.

    Args:
        sessions: their rows.
        conversations: how many count here.
        messages: the number of messages of each session that has any, by its id.
    """
    if not sessions:
        return Tally(conversations=conversations)
    columns = list(zip(*sessions, strict=True))
    actual, estimates, statuses = columns[11], columns[10], columns[12]
    prices = list(map(price, actual, estimates, statuses))
    kinds = [kind for kind, _ in prices]
    unknown = [row for row, kind in zip(sessions, kinds, strict=True) if kind is None]
    unpriced = sum(map(_used_something, unknown))
    tokens = [sum(column) for column in columns[4:9]]
    return Tally(
        conversations=conversations,
        sessions=len(sessions),
        messages=sum([messages.get(session_id, 0) for session_id in columns[0]]),
        **dict(zip(TOKENS, tokens, strict=True)),
        actual_cost_usd=sum([usd for kind, usd in prices if kind == BILLED]),
        estimated_cost_usd=sum([usd for kind, usd in prices if kind == ESTIMATED]),
        billed=kinds.count(BILLED),
        included=kinds.count(INCLUDED),
        estimated=kinds.count(ESTIMATED),
        unpriced=unpriced,
        unused=len(unknown) - unpriced,
    )


def _used_something(row: Usage) -> bool:
    """A session that called no model has no price to be known."""
    return (
        any(row[4:10])
        or row.cost_status is not None
        or row.estimated_cost_usd is not None
        or row.actual_cost_usd is not None
    )


def total(tallies: Iterable[Tally]) -> Tally:
    """Add up tallies."""
    columns = list(zip(*tallies, strict=True))
    return Tally._make(map(sum, columns)) if columns else Tally()


def less(tally: Tally, part: Tally) -> Tally:
    """Take a part out of a tally."""
    return Tally._make(mine - its for mine, its in zip(tally, part, strict=True))


def fold(parts: Iterable[tuple[str | None, Tally]]) -> list[Group]:
    """Add up the parts that have the same key, in the order of their first ones."""
    found: dict[str | None, list[Tally]] = {}
    for key, part in parts:
        found.setdefault(key, []).append(part)
    return [Group(key, total(tallies)) for key, tallies in found.items()]


def largest_first(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Sort by conversations, then messages and tokens; the name decides between equals."""
    return tuple(
        sorted(
            groups,
            key=lambda g: (-g.tally.conversations, -g.tally.messages, -g.tally.tokens, g.key or ""),
        )
    )


def period_name(day: date, by: By) -> str:
    """Name the day, ISO week or month that a day is in: 2026-11-30, 2026-W49, 2026-11."""
    if by is By.WEEK:
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    return day.isoformat()[:7] if by is By.MONTH else day.isoformat()
