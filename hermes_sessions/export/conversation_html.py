"""The frame of one conversation in a page: its title, its facts, what divides its turns."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.export.escaping import safe
from hermes_sessions.render.sheet import cost_in_words, headline
from hermes_sessions.text import count, one_line, plural
from hermes_sessions.times import local_iso, local_minute
from hermes_sessions.workspace import base_name

if TYPE_CHECKING:
    from hermes_sessions.export.turns import Turn
    from hermes_sessions.models import Summary


class Contents(NamedTuple):
    """A line of the list of contents."""

    title: str
    started: str
    source: str
    messages: int


def contents_line(summary: Summary, messages: int) -> Contents:
    """Return what the list of contents says about a conversation."""
    started = summary.root.started_at
    return Contents(
        headline(summary),
        "" if started is None else local_minute(started),
        one_line(summary.conversation.source),
        messages,
    )


def opening_html(summary: Summary, messages: int, number: int) -> str:
    """Return the start of a conversation: the line that stays in view, and the facts.

    Args:
        summary: the conversation.
        messages: how many the page shows.
        number: its place in the page, from 1.
    """
    line = contents_line(summary, messages)
    parts = [
        line.source,
        base_name(summary.workspace) if summary.workspace else "",
        _model(summary),
        line.started,
        plural(messages, "message"),
    ]
    brief = "".join(f"<span>{safe(part)}</span>" for part in map(one_line, parts) if part)
    facts = "".join(
        f"<div><dt>{label}</dt><dd>{value}</dd></div>"
        for label, value in _facts(summary, messages)
        if value
    )
    return (
        f'<article class="conversation" id="c{number}">\n<header class="head">'
        f'<h2 dir="auto">{safe(line.title)}</h2><p class="brief">{brief}</p></header>\n'
        f'<dl class="facts">{facts}</dl>\n<div class="turns">\n'
    )


def closing_html() -> str:
    """Return the end of a conversation."""
    return "</div>\n</article>\n"


def divider_html(before: Turn | None, turn: Turn) -> str:
    """Return what is to be said between two turns: a new day, the border of a compaction."""
    lines = []
    last = before.steps[-1].message if before else None
    if last and last.archived and not turn.first.archived:
        lines.append("Compacted here: the model no longer sees what is above")
    if last and last.session_id != turn.first.session_id:
        lines.append(f"Compressed here: goes on in session {safe(one_line(turn.first.session_id))}")
    day = _day(turn.first.timestamp)
    if day and (last is None or day != _day(last.timestamp)):
        lines.append(day)
    return "".join(f'<p class="divider"><span>{line}</span></p>\n' for line in lines)


def _facts(summary: Summary, messages: int) -> list[tuple[str, str]]:
    """Return the facts with their labels, escaped."""
    tip = summary.tip
    branch = next((r.git_branch for r in reversed(summary.sessions) if r.git_branch), None)
    segments = len(summary.sessions)
    said = f"{plural(messages, 'message')} in {plural(segments, 'segment')}"
    calls = plural(summary.tool_calls, "tool call") if summary.tool_calls else ""
    tokens = f"{count(summary.tokens_in)} in, {count(summary.tokens_out)} out"
    state = "open" if tip.is_open else f"ended ({tip.end_reason or '?'})"
    texts = [
        ("Workspace", summary.workspace or ""),
        ("Branch", branch or ""),
        ("Source", summary.conversation.source),
        ("Model", _model(summary)),
        ("State", state),
        ("Messages", said if segments > 1 else f"{messages:,}"),
        ("Tool calls", calls.partition(" ")[0]),
        ("Tokens", tokens if summary.tokens_in or summary.tokens_out else ""),
        ("Cost", cost_in_words(summary.cost).removeprefix("cost ")),
        ("Session", summary.id),
    ]
    times = [("Started", summary.root.started_at), ("Last active", summary.last_active)]
    return [
        *((label, _minute_html(instant)) for label, instant in times if instant is not None),
        *((label, safe(one_line(text))) for label, text in texts),
    ]


def _minute_html(instant: float) -> str:
    iso = local_iso(instant)
    return f'<time datetime="{iso}" title="{iso}">{local_minute(instant)}</time>'


def _model(summary: Summary) -> str:
    return next((row.model for row in reversed(summary.sessions) if row.model), "")


def _day(instant: float | None) -> str:
    if instant is None:
        return ""
    day = date.fromisoformat(local_iso(instant)[:10])
    return f"{day:%A}, {day.day} {day:%B} {day.year}"
