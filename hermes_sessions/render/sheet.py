"""The fact sheet of a conversation as lines of text; a terminal adds colour, a pipe takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.context import short_path
from hermes_sessions.models import Kind
from hermes_sessions.recap import ASSISTANT, EVENT, USER
from hermes_sessions.text import clip, count, neutralise, one_line, plural
from hermes_sessions.times import ago, local_minute
from hermes_sessions.workspace import base_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_sessions.models import Cost, Summary
    from hermes_sessions.recap import Entry
    from hermes_sessions.store.facts import Facts

SEPARATOR: Final = " · "
SPEAKERS: Final = {USER: "● You: ", ASSISTANT: "◆ Hermes: ", EVENT: "◈ "}
_KINDS: Final = {
    Kind.BRANCH: "branch of",
    Kind.RESET: "started after a reset of",
    Kind.DELEGATE: "delegate of",
    Kind.CHILD: "child of",
}


def headline(summary: Summary) -> str:
    """Return what to call a conversation in one line."""
    return one_line(summary.name) or "(no request yet)"


def fact_lines(facts: Facts, now: float, environ: Mapping[str, str]) -> list[str]:
    """Return the facts, a line for each group of them."""
    summary = facts.summary
    lines = [
        SEPARATOR.join(filter(None, _where_and_when(summary, now, environ))),
        SEPARATOR.join(filter(None, _how_much(summary))),
    ]
    if summary.live:
        since = f" since {ago(summary.live.since, now)}" if summary.live.since else ""
        lines.append(f"live now: {one_line(summary.live.holder)}{since}")
    if len(summary.sessions) > 1:
        lines.append("segments " + " → ".join(one_line(row.id) for row in summary.sessions))
    lines += _relatives(facts)
    return lines


def _where_and_when(summary: Summary, now: float, environ: Mapping[str, str]) -> list[str]:
    started = summary.root.started_at
    state = "open" if summary.tip.is_open else f"ended ({one_line(summary.tip.end_reason or '?')})"
    away = summary.conversation.away
    flags = [away] if away in {"archived", "hidden"} else []
    if any(node.pinned for node in summary.conversation.nodes):
        flags.append("pinned")
    return [
        one_line(summary.conversation.source),
        _place(summary, environ),
        one_line(next((r.model for r in reversed(summary.sessions) if r.model), "")),
        f"started {local_minute(started) if started is not None else '?'}",
        f"active {ago(summary.last_active, now)}",
        state,
        *flags,
    ]


def _place(summary: Summary, environ: Mapping[str, str]) -> str:
    if not summary.workspace:
        return ""
    branch = next((r.git_branch for r in reversed(summary.sessions) if r.git_branch), None)
    path = short_path(summary.workspace, environ)
    inside = f"{path}, {branch}" if branch else path
    return one_line(f"{base_name(summary.workspace)} ({inside})")


def _how_much(summary: Summary) -> list[str]:
    if summary.messages is None:
        messages = "messages unreadable"
    else:
        messages = plural(summary.messages, "message")
    if len(summary.sessions) > 1:
        messages += f" in {len(summary.sessions)} segments"
    tokens = ""
    if summary.tokens_in or summary.tokens_out:
        tokens = f"{count(summary.tokens_in)} tokens in, {count(summary.tokens_out)} out"
    return [
        messages,
        plural(summary.tool_calls, "tool call") if summary.tool_calls else "",
        tokens,
        cost_in_words(summary.cost),
    ]


def cost_in_words(cost: Cost) -> str:
    """Write a cost: ``$0.12``, ``~$3.41 estimated``, ``included``, ``cost n/a``."""
    if cost.usd is None:
        return "cost n/a"
    if not cost.usd and cost.status == "included":
        return "included"
    return f"~${cost.usd:,.2f} estimated" if cost.estimated else f"${cost.usd:,.2f}"


def _relatives(facts: Facts) -> list[str]:
    lines = []
    kind = facts.summary.conversation.kind
    if facts.parent and kind in _KINDS:
        lines.append(f"{_KINDS[kind]} {_named(facts.parent)}")
    for branch in facts.branches:
        noun = "branch" if branch.conversation.kind is Kind.BRANCH else "went on after a reset as"
        lines.append(f"{noun} {_named(branch)}")
    if facts.delegates:
        lines.append(f"{plural(len(facts.delegates), 'delegate')}: " + _ids(facts.delegates))
    return lines


def _named(summary: Summary) -> str:
    return f"“{clip(headline(summary), 50)}” ({one_line(summary.id)})"


def _ids(summaries: Sequence[Summary]) -> str:
    shown = ", ".join(one_line(summary.id) for summary in summaries[:3])
    return f"{shown}, …" if len(summaries) > 3 else shown  # noqa: PLR2004 - a line's worth


def recap_lines(entries: Sequence[Entry], earlier: int) -> list[str]:
    """Return a recap as plain lines, continuation lines indented by their label."""
    lines = [f"… {plural(earlier, 'earlier message')} …"] if earlier > 0 else []
    for entry in entries:
        label = SPEAKERS[entry.role]
        text = "  ".join(filter(None, (entry.text, entry.tools)))
        first, *rest = text.splitlines() or [""]
        lines.append(label + first)
        lines += [" " * len(label) + line for line in rest]
    return [neutralise(line) for line in lines]
