"""Options that several commands share; above all the one group of filters (contract §4)."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hermes_sessions.errors import UsageProblem
from hermes_sessions.models import Filter
from hermes_sessions.times import parse_age, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable

FILTERS: Final = "Filters"

Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="[=FIELDS]",
        help="One JSON value; --json=id,title picks fields.",
        show_default=False,
    ),
]

Ids = Annotated[bool, typer.Option("--ids", help="Ids only, one a line.")]
Nul = Annotated[bool, typer.Option("-0", "--null", help="Ids only, each ended by NUL.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; do nothing.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
NoTrash = Annotated[bool, typer.Option("--no-trash", help="Delete for good: there is no undo.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        help="Wait so long for another writer (30).",
        show_default=False,
    ),
]


def _option(kind: Any, *names: str, metavar: str | None = None, text: str) -> Any:  # noqa: ANN401
    return Annotated[kind, typer.Option(*names, metavar=metavar, help=text, show_default=False)]


_TEXT: Final = str | None
_NUMBER: Final = int | None

FILTER_OPTIONS: Final[dict[str, tuple[Any, Any]]] = {
    "older_than": (
        _option(_TEXT, "--older-than", metavar="AGE", text="Last active longer ago: 30m 5h 2d 1w."),
        None,
    ),
    "newer_than": (
        _option(_TEXT, "--newer-than", metavar="AGE", text="Last active within this age."),
        None,
    ),
    "before": (
        _option(_TEXT, "--before", metavar="TIME", text="Started before: a date, an age, today."),
        None,
    ),
    "after": (
        _option(_TEXT, "--after", metavar="TIME", text="Started at this time or later."),
        None,
    ),
    "source": (
        _option(list[str], "--source", metavar="S", text="On this surface (repeatable)."),
        (),
    ),
    "exclude_source": (
        _option(list[str], "--exclude-source", metavar="S", text="Not on it (repeatable)."),
        (),
    ),
    "workspace": (
        _option(_TEXT, "--workspace", metavar="W", text="Of this workspace: a path, . or text."),
        None,
    ),
    "cwd": (
        _option(_TEXT, "--cwd", metavar="PATH", text="Working directory at or below PATH."),
        None,
    ),
    "title": (_option(_TEXT, "--title", metavar="TEXT", text="Title contains TEXT."), None),
    "model": (_option(_TEXT, "--model", metavar="TEXT", text="Model contains TEXT."), None),
    "branch": (_option(_TEXT, "--branch", metavar="TEXT", text="Git branch contains TEXT."), None),
    "provider": (
        _option(_TEXT, "--provider", metavar="NAME", text="Billed by this provider."),
        None,
    ),
    "user": (_option(_TEXT, "--user", metavar="ID", text="Of this user of a chat platform."), None),
    "chat_id": (_option(_TEXT, "--chat-id", metavar="ID", text="In this chat."), None),
    "chat_type": (
        _option(_TEXT, "--chat-type", metavar="TYPE", text="In this type of chat."),
        None,
    ),
    "end_reason": (
        _option(_TEXT, "--end-reason", metavar="REASON", text="Ended for this reason."),
        None,
    ),
    "min_messages": (
        _option(_NUMBER, "--min-messages", metavar="N", text="At least N messages."),
        None,
    ),
    "max_messages": (
        _option(_NUMBER, "--max-messages", metavar="N", text="At most N messages."),
        None,
    ),
    "min_tokens": (
        _option(_NUMBER, "--min-tokens", metavar="N", text="At least N tokens, in and out."),
        None,
    ),
    "max_tokens": (_option(_NUMBER, "--max-tokens", metavar="N", text="At most N tokens."), None),
    "min_cost": (
        _option(float | None, "--min-cost", metavar="USD", text="Cost at least this much."),
        None,
    ),
    "max_cost": (
        _option(float | None, "--max-cost", metavar="USD", text="Cost at most this."),
        None,
    ),
    "min_tool_calls": (
        _option(_NUMBER, "--min-tool-calls", metavar="N", text="At least N tool calls."),
        None,
    ),
    "max_tool_calls": (
        _option(_NUMBER, "--max-tool-calls", metavar="N", text="At most N tool calls."),
        None,
    ),
    "pinned": (_option(bool | None, "--pinned/--not-pinned", text="Pinned, or not."), None),
    "archived": (_option(bool, "--archived", text="Only archived ones."), False),
    "everything": (
        _option(bool, "--all", text="Archived, hidden, delegates and tool runs too."),
        False,
    ),
}


def with_filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the whole group of filters; it gets them as one ``Filter``.

    The function has parameters ``ctx`` and ``wanted``; typer sees the options instead.
    """
    signature = inspect.signature(function, eval_str=True)
    own = [p for name, p in signature.parameters.items() if name != "wanted"]
    extra = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for name, (annotation, default) in FILTER_OPTIONS.items()
    ]

    @functools.wraps(function)
    def command(**values: Any) -> Any:  # noqa: ANN401
        options = {name: values.pop(name) for name in FILTER_OPTIONS}
        now = values["ctx"].obj.now
        return function(**values, wanted=read_filter(options, now))

    parameters = [*own, *extra]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def read_filter(options: dict[str, Any], now: float) -> Filter:
    """Turn what was typed into what is meant.

    Raises:
        UsageProblem: a bad value, or a window that nothing can be in; it names the option.
    """
    same = {
        name: value for name, value in options.items() if name in Filter._fields and value != ()
    }
    wanted = Filter(
        **{name: _not_blank(name, value) for name, value in same.items()},
        active_before=_age(options, "older_than", now),
        active_since=_age(options, "newer_than", now),
        started_before=_time(options, "before", now),
        started_since=_time(options, "after", now),
        sources=_all_not_blank(options, "source"),
        exclude_sources=_all_not_blank(options, "exclude_source"),
    )
    _check_window("--newer-than", wanted.active_since, "--older-than", wanted.active_before)
    _check_window("--after", wanted.started_since, "--before", wanted.started_before)
    for low, high in (
        ("min_messages", "max_messages"),
        ("min_tokens", "max_tokens"),
        ("min_cost", "max_cost"),
        ("min_tool_calls", "max_tool_calls"),
    ):
        if None not in (options[low], options[high]) and options[low] > options[high]:
            raise UsageProblem(
                f"{_name(low)} is above {_name(high)}", hint="nothing can match both"
            )
    return wanted


def _not_blank(name: str, value: Any) -> Any:  # noqa: ANN401
    """A blank value is a script's unset variable, never "everything" (R034)."""
    if isinstance(value, str) and not value.strip():
        raise UsageProblem(f"{_name(name)} is blank", hint="leave the option out to match all")
    return value


def _all_not_blank(options: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(_not_blank(name, value) for value in options[name] or ())


def _age(options: dict[str, Any], name: str, now: float) -> float | None:
    text = options[name]
    if text is None:
        return None
    age = parse_age(text)
    if age is None:
        raise UsageProblem(
            f"{_name(name)} does not understand “{text}”",
            hint="an age is a number and a unit: 30m, 5h, 2d, 1w; a bare number is days",
        )
    return now - age


def _time(options: dict[str, Any], name: str, now: float) -> float | None:
    text = options[name]
    if text is None:
        return None
    instant = parse_time(text, now)
    if instant is None:
        raise UsageProblem(
            f"{_name(name)} does not understand “{text}”",
            hint="a time is 2026-11-30, 2026-11-30T16:20, today, yesterday, or an age: 2d",
        )
    return instant


def _check_window(
    since_name: str, since: float | None, before_name: str, before: float | None
) -> None:
    if since is not None and before is not None and since >= before:
        raise UsageProblem(
            f"{since_name} and {before_name} leave no time between them",
            hint=f"{since_name} must lie before {before_name}",
        )


def _name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"
