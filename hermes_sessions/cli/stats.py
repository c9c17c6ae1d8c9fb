"""``stats``: what there is, by anything, and where the bytes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.nothing import explain_nothing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import Json, with_filters
from hermes_sessions.errors import ExitCode, StoreMissing, UsageProblem
from hermes_sessions.models import Filter
from hermes_sessions.render.plain import in_words
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.stats import load_basis, load_stats
from hermes_sessions.tallies import PERIODS, By

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.errors import UserError
    from hermes_sessions.home import Home
    from hermes_sessions.store.periods import Calendar, Days
    from hermes_sessions.store.space import Space
    from hermes_sessions.store.stats import Stats
    from hermes_sessions.store.tools import ToolUses
    from hermes_sessions.tallies import Group

FIELDS = (
    "window",
    "totals",
    "out_of_view",
    "sessions",
    "messages",
    "auxiliary",
    "skipped",
    "by_source",
    "by_model",
    "by_workspace",
    "by_day",
    "by_week",
    "by_month",
    "by_tool",
    "space",
    "partial",
)
_ON_DEMAND = frozenset({"by_week", "by_month", "by_tool", "space"})
"""Sections that are in the JSON only if they are asked for."""

_DATED = frozenset({"by_day", "by_week", "by_month", "skipped"})
"""Sections that need the time of every message."""


class Request(NamedTuple):
    """What was asked for.

    Attributes:
        limit: rows of a table; 0 for all.
        fields: sections of the JSON object, or None for no JSON.
    """

    wanted: Filter
    by: By | None
    space: bool
    limit: int
    fields: tuple[str, ...] | None


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    by: Annotated[
        By | None,
        typer.Option(
            "--by",
            metavar="WHAT",
            help="A table by source, model, workspace, day, week, month or tool.",
        ),
    ] = None,
    space: Annotated[
        bool, typer.Option("--space", help="Where the bytes of the store are, whatever the filter.")
    ] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=0, help="Rows of a table; 0 for all.")
    ] = 20,
    json: Json = None,
) -> int:
    """Count conversations, messages, tokens and costs.

    Messages are rows of the store: live, archived by compaction, and rewound ones. An estimated
    cost has a ~, and n/a is one that nobody knows. With --newer-than or --after, messages are
    counted within that time; tokens and costs exist for whole sessions only. Days are those of
    your time zone; a session counts, with all it took, on the day it began.

    Piped, it prints tab-separated lines: what is told apart (without --by), its name,
    conversations, sessions, messages, tokens, dollars billed, dollars estimated, and sessions
    without a known cost. The JSON object has every row.

    \b
    Examples:
      hermes-sessions stats --by model
      hermes-sessions stats --by day --newer-than 30d
      hermes-sessions stats --json=totals,by_day
    """
    env: Env = ctx.obj
    if by is not None and space and json is None:
        raise UsageProblem("--by and --space are two tables", hint="ask for one of them")
    return run(env, Request(wanted, by, space, limit, _fields(json, by, space=space)))


def _fields(json: str | None, by: By | None, *, space: bool) -> tuple[str, ...] | None:
    if json is None:
        return None
    from hermes_sessions.render.data import pick_fields

    if json:
        return pick_fields(json, FIELDS)
    asked = {f"by_{by}", "space" if space else ""}
    return tuple(name for name in FIELDS if name not in _ON_DEMAND or name in asked)


def run(env: Env, request: Request) -> int:
    """Count and show; a damaged store is counted as far as it is readable, and fails."""
    home = env.select_home()
    try:
        found = _load(env, home, request)
    except StoreMissing as missing:
        if request.fields is not None:
            env.write("{}\n")
        explain_nothing(env, home, missing.message)
        return ExitCode.OK
    _show(env, home, request, found)
    if not found.stats.totals.conversations and not request.space:
        hidden = in_words(found.stats.hidden)
        what = "no conversations" if request.wanted.is_default else "no conversation matches"
        explain_nothing(env, home, what + (f"; out of view: {hidden}" if hidden else ""))
    if found.damage is None:
        return ExitCode.OK
    env.note("partial: this is what could be read")
    raise found.damage


class Found(NamedTuple):
    """What was asked for, as far as it could be read."""

    stats: Stats
    days: Days | None = None
    calendar: Calendar | None = None
    tools: ToolUses | None = None
    space: Space | None = None

    @property
    def damage(self) -> UserError | None:
        """Why something could not be read, or None."""
        parts = (self.stats, self.days, self.calendar, self.tools, self.space)
        return next((part.damage for part in parts if part and part.damage), None)


def _load(env: Env, home: Home, request: Request) -> Found:
    """Read what the answer needs, and nothing that it does not."""
    by, fields = request.by, set(request.fields or ())
    is_screen = env.is_terminal and request.fields is None and by is None and not request.space
    with opened_store(env, home) as store, Progress(env, "reading") as progress:

        def report(done: float) -> None:
            progress.update(done)

        basis = load_basis(store, request.wanted)
        found = Found(load_stats(store, basis))
        if is_screen:
            from hermes_sessions.render.stats import calendar_since
            from hermes_sessions.store.periods import load_calendar

            found = found._replace(calendar=load_calendar(store, basis, calendar_since(env)))
        if by in PERIODS or not fields.isdisjoint(_DATED):
            from hermes_sessions.store.periods import load_days

            found = found._replace(days=load_days(store, basis))
        if by is By.TOOL or "by_tool" in fields:
            from hermes_sessions.store.tools import load_tool_uses

            found = found._replace(tools=load_tool_uses(store, basis, report))
        if request.space or "space" in fields:
            from hermes_sessions.store.space import has_dbstat, load_space

            found = found._replace(space=load_space(store, report, exact=has_dbstat(store)))
    return found


def _show(env: Env, home: Home, request: Request, found: Found) -> None:
    if request.fields is not None:
        from hermes_sessions.render.data import to_json

        env.write(to_json(_object(found, request.fields)))
    elif env.is_terminal:
        _print(env, home, request, found)
    else:
        env.write(_lines(request, found))


def _object(found: Found, fields: Sequence[str]) -> dict[str, object]:
    from hermes_sessions.render import figures

    values = {**figures.sections(found.stats), "partial": found.damage is not None}
    if found.days is not None:
        values["skipped"] = figures.skipped_object(found.days.undated)
        counted = found.stats.parts.messages is not None
        for period in PERIODS:
            groups = found.days.by(period)
            values[f"by_{period}"] = figures.group_objects(period, groups, counted=counted)
    if found.tools is not None:
        values["by_tool"] = [
            {"tool": tool.name, **dict(list(tool._asdict().items())[1:])}
            for tool in found.tools.tools
        ]
    if found.space is not None:
        values["space"] = figures.space_object(found.space)
    return {name: values[name] for name in fields}


def _groups(found: Found, by: By) -> tuple[Group, ...]:
    """Return the rows of a table, the largest or the newest first."""
    stats = found.stats
    plain = {By.SOURCE: stats.by_source, By.MODEL: stats.by_model, By.WORKSPACE: stats.by_workspace}
    return plain[by] if found.days is None else found.days.by(by)[::-1]


def _lines(request: Request, found: Found) -> str:
    from hermes_sessions.render import figures

    limit = request.limit or None
    if found.space is not None:
        return figures.space_lines(found.space)
    if found.tools is not None:
        return figures.tool_lines(found.tools.tools[:limit])
    if request.by is None:
        return figures.stats_lines(found.stats)
    counted = found.stats.parts.messages is not None
    return figures.group_lines(_groups(found, request.by)[:limit], counted=counted)


def _print(env: Env, home: Home, request: Request, found: Found) -> None:
    from hermes_sessions.render import breakdowns, stats

    if found.space is not None:
        breakdowns.print_space(env, home.store.name, found.space, request.limit)
    elif found.tools is not None:
        breakdowns.print_tools(env, found.stats, found.tools.tools, request.limit)
    elif request.by is not None:
        undated = found.days.undated if found.days else None
        table = breakdowns.Breakdown(request.by, _groups(found, request.by), undated)
        breakdowns.print_groups(env, found.stats, table, request.limit)
    else:
        stats.print_stats(env, found.stats, found.calendar.counts if found.calendar else {})
