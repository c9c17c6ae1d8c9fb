"""Statistics on a terminal, one table for each way to tell the figures apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from hermes_sessions.context import short_path
from hermes_sessions.render.blocks import Column, print_lines, print_parts, table
from hermes_sessions.render.charts import bar
from hermes_sessions.render.console import ACCENT, DIM, make_console
from hermes_sessions.render.plain import in_words
from hermes_sessions.render.stats import NONE, cost_cell, messages_cell, print_headline
from hermes_sessions.tallies import By
from hermes_sessions.text import count, one_line, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from hermes_sessions.context import Env
    from hermes_sessions.store.space import Space
    from hermes_sessions.store.stats import Stats
    from hermes_sessions.store.tools import ToolUse
    from hermes_sessions.tallies import Group, Tally

_LEAST_BAR, _MOST_BAR = 8, 30


class Breakdown(NamedTuple):
    """Figures told apart.

    Attributes:
        groups: all of them, in the order of the table.
        undated: what is in none of them; None if it is not told apart by time.
    """

    by: By
    groups: Sequence[Group]
    undated: Tally | None


def print_groups(env: Env, stats: Stats, breakdown: Breakdown, limit: int) -> None:
    """Print a table of groups with bars, and what is not in it."""
    by, groups, undated = breakdown
    console = make_console(env)
    print_headline(console, stats)
    shown = groups[: limit or None]
    is_period = undated is not None
    names = [_group_name(env, by, g.key) for g in shown]
    measures = [g.tally.messages if is_period else g.tally.conversations for g in shown]
    columns = [
        Column(by.capitalize(), names, keeps_end=by is By.WORKSPACE),
        _bars(measures, console.width),
        Column("Chats", [f"{g.tally.conversations:,}" for g in shown]),
        Column("Msgs", [messages_cell(stats, g.tally) for g in shown], rank=2),
        Column("Tokens", [count(g.tally.tokens) for g in shown]),
        Column("Cost", [cost_cell(g.tally) for g in shown]),
    ]
    if any(g.tally.unpriced for g in shown):
        unpriced = [f"{g.tally.unpriced or NONE}" for g in shown]
        columns.append(Column("Unpriced", unpriced, rank=3))
    print_lines(console, table(columns, console.width))
    footer = [f"{len(shown):,} of {len(groups):,} {by}s"]
    if undated and (undated.sessions or undated.messages):
        footer.append(
            f"without a date: {plural(undated.sessions, 'session')}, "
            f"{plural(undated.messages, 'message')}"
        )
    if is_period:
        footer.append("chats, tokens and costs by their start")
    _print_last_line(console, footer, more=len(shown) < len(groups), stats=stats)


def _group_name(env: Env, by: By, key: str | None) -> str:
    if not key:
        return NONE
    return one_line(short_path(key, env.environ) if by is By.WORKSPACE else key)


def _bars(values: Sequence[int], width: int) -> Column:
    room = max(_LEAST_BAR, min(_MOST_BAR, width // 5))
    most = max(values, default=0)
    return Column("", [bar(value, most, room) for value in values], ACCENT, is_left=True, rank=1)


def print_tools(env: Env, stats: Stats, tools: Sequence[ToolUse], limit: int) -> None:
    """Print a table of tools."""
    console = make_console(env)
    print_headline(console, stats)
    shown = tools[: limit or None]
    columns = [
        Column("Tool", [one_line(tool.name or NONE) for tool in shown]),
        _bars([tool.calls for tool in shown], console.width),
        Column("Calls", [f"{tool.calls:,}" for tool in shown]),
        Column("Results", [f"{tool.results:,}" for tool in shown]),
        Column("Chats", [f"{tool.conversations:,}" for tool in shown]),
    ]
    print_lines(console, table(columns, console.width))
    footer = [f"{len(shown):,} of {len(tools):,} tools"]
    _print_last_line(console, footer, more=len(shown) < len(tools), stats=stats)


def _print_last_line(console: Console, parts: Sequence[str], *, more: bool, stats: Stats) -> None:
    hidden = in_words(stats.hidden)
    words = [
        *parts,
        *([f"not counted: {hidden}"] if hidden else []),
        *(["more: -n 0"] if more else []),
    ]
    console.print()
    print_parts(console, words, DIM)


def print_space(env: Env, name: str, space: Space, limit: int) -> None:
    """Print where the bytes of the store with this name are, and how to have fewer."""
    console = make_console(env)
    facts = [f"{size(space.size)} in {one_line(name)}"]
    if space.wal:
        facts.append(f"{size(space.wal)} in its log")
    print_parts(console, facts, "bold")
    console.print()
    parts = space.parts[: limit or None]
    _print_sizes(console, "Part", [(part.name, part.kind, part.size) for part in parts])
    console.print()
    _print_sizes(
        console,
        "Text by source",
        [(each.source or "of sessions that are gone", "", each.size) for each in space.by_source],
    )
    console.print()
    lines = ["no free pages: optimize can only merge the search indexes"]
    if space.free:
        lines = [f"{size(space.free)} in free pages: optimize gives back at least these"]
    if not space.is_exact:
        lines.append("this SQLite cannot tell pages apart: parts are lengths of what is stored")
    if len(parts) < len(space.parts):
        lines.append(f"{len(parts):,} of {len(space.parts):,} parts · more: -n 0")
    lines.append(
        "archiving only hides; to shrink: prune, or export --delete-after-verified; then optimize"
    )
    for line in lines:
        console.print(Text(line, DIM))


def _print_sizes(console: Console, head: str, rows: Sequence[tuple[str, str, int]]) -> None:
    columns = [
        Column(head, [one_line(name) for name, _, _ in rows]),
        _bars([length for *_, length in rows], console.width),
        Column("Size", [size(length) for *_, length in rows]),
    ]
    if any(kind for _, kind, _ in rows):
        columns.insert(1, Column("Kind", [kind for _, kind, _ in rows], DIM, is_left=True, rank=2))
    print_lines(console, table(columns, console.width))
