"""Statistics on a terminal: one screen for what there is, where, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from hermes_sessions.days import first_of_weeks, local_day
from hermes_sessions.models import INCLUDED
from hermes_sessions.render.blocks import (
    GAP,
    Column,
    cell,
    cells,
    print_beside,
    print_lines,
    print_parts,
    table,
)
from hermes_sessions.render.charts import LABEL, NOTHING, SHADES, bar, calendar
from hermes_sessions.render.console import ACCENT, DIM, make_console
from hermes_sessions.render.figures import LIFETIME, bounds
from hermes_sessions.tallies import By
from hermes_sessions.text import count, one_line, plural
from hermes_sessions.times import local_minute
from hermes_sessions.workspace import base_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from rich.console import Console

    from hermes_sessions.context import Env
    from hermes_sessions.store.counts import Span
    from hermes_sessions.store.stats import Stats
    from hermes_sessions.tallies import Group, Tally

NONE: Final = "—"

_BESIDE: Final = 76
"""Columns of a terminal from which blocks stand side by side."""

_LEFT: Final = 44
_MOST_WEEKS: Final = 26
_SOURCES: Final = 7
"""One less than the calendar has lines: the last one has its legend."""

_TOP: Final = 5
_NAME: Final = 14
_BAR: Final = 30

_SESSION_WORDS: Final = {
    "visible": ("in view", "in view"),
    "empty": ("empty", "empty"),
    "archived": ("archived", "archived"),
    "hidden": ("hidden", "hidden"),
    "delegate": ("delegates", "delegate"),
    "child": ("unmarked children", "unmarked child"),
    "tool": ("tool runs", "tool run"),
}
_MESSAGE_WORDS: Final = {
    "live": ("live", "live"),
    "archived": ("archived by compaction", "archived by compaction"),
    "rewound": ("rewound", "rewound"),
    "orphan": ("of sessions that are gone", "of a session that is gone"),
}
"""How many and how one of the parts are called."""


def calendar_since(env: Env) -> date:
    """Return the Monday that the calendar of the screen begins with: as many weeks as fit."""
    room = env.width - _left_width(env.width) - GAP if env.width >= _BESIDE else env.width
    weeks = min(_MOST_WEEKS, (room - LABEL + 1) // 2)
    return first_of_weeks(local_day(env.now), max(1, weeks))


def _left_width(width: int) -> int:
    return max(_LEFT, width // 2 - GAP)


def print_stats(env: Env, stats: Stats, recent: Mapping[date, int]) -> None:
    """Print the screen; ``recent`` are the messages of the days in the calendar."""
    console = make_console(env)
    print_headline(console, stats)
    is_wide = console.width >= _BESIDE
    left = _left_width(console.width) if is_wide else console.width
    right = console.width - left - GAP if is_wide else console.width
    weeks = calendar(recent, calendar_since(env), local_day(env.now))
    sources, days = _bars(stats.by_source, left), [_shaded(line) for line in weeks]
    models, places = _models(stats, left), _workspaces(stats, right)
    legend = Text(f"{SHADES} messages a day", DIM)
    if is_wide:  # the names of the months divide the two rows of blocks: a screen has 24 lines
        legend.align("right", left)
        sources += [Text()] * (len(days) - len(sources) - 1) + [legend]
        print_beside(console, sources, days, left)
        print_beside(console, models, places, left)
        console.print()
    else:
        for block in (sources, [*days, legend], models, places):
            print_lines(console, block)
            console.print()
    _print_footer(console, stats)


def print_headline(console: Console, stats: Stats) -> None:
    """Print the totals of the selection."""
    messages = plural(stats.totals.messages, "message")
    parts = [
        plural(stats.totals.conversations, "conversation"),
        messages if stats.parts.messages is not None else "messages unreadable",
        f"{count(stats.totals.tokens)} tokens",
        _costs(stats.totals),
    ]
    print_parts(console, parts, "bold")
    if stats.span is not None:
        console.print(Text(_window(stats.span), DIM))
    console.print()


def _window(span: Span) -> str:
    since, before = bounds(span)
    words = [f"since {local_minute(since)}"] if since is not None else []
    words += [f"before {local_minute(before)}"] if before is not None else []
    return f"messages {' and '.join(words)}; tokens and costs: {LIFETIME}"


def _costs(tally: Tally, *, is_short: bool = False) -> str:
    """Write what is known of the costs, and how many nobody knows (R126)."""
    parts = []
    if tally.is_billed:
        parts.append(f"${tally.actual_cost_usd:,.2f} billed")
    if tally.is_estimated:
        parts.append(f"~${tally.estimated_cost_usd:,.2f} estimated")
    if tally.included and not is_short:
        parts.append(f"{tally.included:,} included")
    if tally.unpriced and not is_short:
        parts.append(f"{tally.unpriced:,} unpriced")
    return ", ".join(parts) or ("no known costs" if is_short else "no costs")


def cost_cell(tally: Tally) -> str:
    """Write a cost in a cell: ``$0.12``, ``~$3.41``, ``included``, ``n/a``; — without any use."""
    cost = tally.cost
    if cost.usd is None:
        return "n/a" if tally.unpriced else NONE
    if cost.status == INCLUDED:
        return INCLUDED
    return f"{'~' if cost.estimated else ''}${cost.usd:,.2f}"


def messages_cell(stats: Stats, tally: Tally) -> str:
    """Write a number of messages, or that they cannot be read."""
    return "?" if stats.parts.messages is None else f"{tally.messages:,}"


def _shaded(line: str) -> Text:
    """Colour a line of the calendar, which reads without colours too."""
    text = Text(line)
    text.highlight_regex(f"[{SHADES}]", ACCENT)
    text.highlight_regex(NOTHING, DIM)
    return text


def _bars(groups: Sequence[Group], width: int) -> list[Text]:
    """Draw conversations by source; the least of many are added up in the last line."""
    shown = groups if len(groups) <= _SOURCES else groups[: _SOURCES - 1]
    rows = [(one_line(g.key or NONE), g.tally.conversations) for g in shown]
    rest = groups[len(shown) :]
    if rest:
        rows.append((f"{len(rest)} others", sum(g.tally.conversations for g in rest)))
    most = max((number for _, number in rows), default=0)
    names = min(_NAME, max((cells(name) for name, _ in rows), default=0))
    room = min(_BAR, width - names - len(f"{most:,}") - 2 * GAP)
    return [
        Text.assemble(cell(name, names), "  ", (bar(n, most, room), ACCENT), f"  {n:,}")
        for name, n in rows
    ]


def _models(stats: Stats, width: int) -> list[Text]:
    top = stats.by_model[:_TOP]
    columns = [
        Column("Model", [one_line(g.key or NONE) for g in top]),
        Column("Chats", [f"{g.tally.conversations:,}" for g in top]),
        Column("Tokens", [count(g.tally.tokens) for g in top]),
        Column("Cost", [cost_cell(g.tally) for g in top]),
    ]
    return table(columns, width)


def _workspaces(stats: Stats, width: int) -> list[Text]:
    top = stats.by_workspace[:_TOP]
    columns = [
        Column("Workspace", [one_line(base_name(g.key)) if g.key else NONE for g in top]),
        Column("Chats", [f"{g.tally.conversations:,}" for g in top]),
        Column("Msgs", [messages_cell(stats, g.tally) for g in top]),
    ]
    return table(columns, width)


def _print_footer(console: Console, stats: Stats) -> None:
    """Print the parts of the tables, what is not counted above, and where to look next."""
    parts = stats.parts
    lines = [_sum("session", parts.sessions, _SESSION_WORDS)]
    if parts.parentless:
        lines[0] += f"; {parts.parentless:,} without their parent"
    if parts.messages is not None:
        lines.append(_sum("message", parts.messages, _MESSAGE_WORDS))
    if stats.auxiliary:
        calls = plural(sum(part.api_call_count for part in stats.auxiliary), "auxiliary call")
        tokens = count(sum(part.tokens for part in stats.auxiliary))
        tasks = ", ".join(one_line(part.task) for part in stats.auxiliary[:3])
        lines.append(f"besides: {calls}, {tokens} tokens ({tasks})")
    rest = stats.out_of_view
    if rest.conversations:
        costs = _costs(rest, is_short=True)
        lines.append(f"out of view (--all): {count(rest.tokens)} tokens, {costs}")
    lines.append(f"more: --by {'|'.join(By)}, --space")
    for line in lines:
        console.print(Text(line, DIM))


def _sum(noun: str, parts: Mapping[str, int], words: Mapping[str, tuple[str, str]]) -> str:
    """Write ``201 sessions: 160 in view, 41 delegates``."""
    terms = [
        f"{parts[part]:,} {word if parts[part] > 1 else singular}"
        for part, (word, singular) in words.items()
        if parts.get(part)
    ]
    total = plural(sum(parts.values()), noun)
    return f"{total}: {', '.join(terms)}" if terms else total
