"""Statistics for scripts: JSON sections and tab-separated lines. No terminal library here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.text import one_line
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.store.counts import Span
    from hermes_sessions.store.space import Space
    from hermes_sessions.store.stats import Stats
    from hermes_sessions.store.tools import ToolUse
    from hermes_sessions.tallies import Group, Tally

LIFETIME = "lifetime of sessions active in the window"
"""What tokens and costs are when messages are counted in a window: no store has them by time."""

_MICRO = 6
"""Decimals of dollars: sums of binary fractions are not shown to their last bit."""


def sections(stats: Stats) -> dict[str, object]:
    """Return the sections of the JSON object that every run has at hand."""
    counted = stats.parts.messages is not None
    sessions = dict(stats.parts.sessions)
    return {
        "window": _window(stats.span),
        "totals": {
            **tally_object(stats.totals, counted=counted),
            **{f"{state}_messages": n for state, n in stats.messages.items() if counted},
        },
        "out_of_view": {
            **tally_object(stats.out_of_view, counted=counted),
            "conversations_by_reason": dict(stats.hidden),
        },
        "sessions": {
            "total": sum(sessions.values()),
            "parts": sessions,
            "parent_missing": stats.parts.parentless,
        },
        "messages": {
            "total": sum(stats.parts.messages.values()) if stats.parts.messages else None,
            "parts": stats.parts.messages,
        },
        "auxiliary": [part._asdict() for part in stats.auxiliary],
        "by_source": group_objects("source", stats.by_source, counted=counted),
        "by_model": group_objects("model", stats.by_model, counted=counted),
        "by_workspace": group_objects("workspace", stats.by_workspace, counted=counted),
        "partial": stats.damage is not None,
    }


def _window(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    since, before = bounds(span)
    return {
        "since": since,
        "since_iso": None if since is None else local_iso(since),
        "before": before,
        "before_iso": None if before is None else local_iso(before),
        "tokens_and_cost": LIFETIME,
    }


def bounds(span: Span) -> tuple[float | None, float | None]:
    """Return the bounds of a span that somebody has asked for."""
    from hermes_sessions.store.counts import EVER

    since = None if span.since == EVER.since else span.since
    return since, None if span.before == EVER.before else span.before


def tally_object(tally: Tally, *, counted: bool = True) -> dict[str, object]:
    """Return the figures of a tally; ``counted`` tells whether messages could be read."""
    cost = tally.cost
    return {
        "conversations": tally.conversations,
        "sessions": tally.sessions,
        "messages": tally.messages if counted else None,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "cache_read_tokens": tally.cache_read_tokens,
        "cache_write_tokens": tally.cache_write_tokens,
        "reasoning_tokens": tally.reasoning_tokens,
        "cost_usd": _dollars(cost.usd),
        "cost_estimated": cost.estimated,
        "actual_cost_usd": _dollars(tally.actual_cost_usd) if tally.is_billed else None,
        "estimated_cost_usd": _dollars(tally.estimated_cost_usd) if tally.is_estimated else None,
        "billed_sessions": tally.billed,
        "included_sessions": tally.included,
        "estimated_sessions": tally.estimated,
        "unpriced_sessions": tally.unpriced,
        "unused_sessions": tally.unused,
    }


def _dollars(usd: float | None) -> float | None:
    return None if usd is None else round(float(usd), _MICRO)


def group_objects(
    name: str, groups: Iterable[Group], *, counted: bool = True
) -> list[dict[str, object]]:
    """Return one object for each group, its key under ``name``."""
    return [{name: g.key, **tally_object(g.tally, counted=counted)} for g in groups]


def skipped_object(undated: Tally) -> dict[str, int]:
    """Return what is in no day because it has no time that can be trusted (R132)."""
    return {
        "conversations": undated.conversations,
        "sessions": undated.sessions,
        "messages": undated.messages,
    }


def space_object(space: Space) -> dict[str, object]:
    """Return where the bytes of a store are."""
    return {
        "size_bytes": space.size,
        "free_bytes": space.free,
        "wal_bytes": space.wal,
        "exact": space.is_exact,
        "parts": [{"name": p.name, "kind": p.kind, "size_bytes": p.size} for p in space.parts],
        "text_by_source": [
            {"source": each.source, "size_bytes": each.size} for each in space.by_source
        ],
    }


def stats_lines(stats: Stats) -> str:
    """Write the figures as lines: section, name, then as ``group_lines``; parts with a number."""
    counted = stats.parts.messages is not None
    lines = [("total", *_cells("", stats.totals, counted=counted))]
    for section, groups in (
        ("source", stats.by_source),
        ("model", stats.by_model),
        ("workspace", stats.by_workspace),
    ):
        lines += [(section, *_cells(g.key, g.tally, counted=counted)) for g in groups]
    lines += [("sessions", part, str(n)) for part, n in stats.parts.sessions.items()]
    lines += [("messages", part, str(n)) for part, n in (stats.parts.messages or {}).items()]
    lines.append(("parent_missing", "", str(stats.parts.parentless)))
    return "".join(map(_line, lines))


def group_lines(groups: Iterable[Group], *, counted: bool) -> str:
    """Write a group a line.

    Name, conversations, sessions, messages, tokens, dollars billed, dollars estimated, sessions
    without a price. What is not known is ``n/a``; what there is none of is empty.
    """
    return "".join(_line(_cells(g.key, g.tally, counted=counted)) for g in groups)


def tool_lines(tools: Iterable[ToolUse]) -> str:
    """Write a tool a line: name, calls, results, conversations."""
    return "".join(_line((t.name or "", *map(str, t[1:]))) for t in tools)


def space_lines(space: Space) -> str:
    """Write the bytes as lines: kind, name, bytes."""
    lines = [("file", "", space.size), ("free", "", space.free), ("wal", "", space.wal)]
    lines += [(part.kind, part.name, part.size) for part in space.parts]
    lines += [("source", each.source or "", each.size) for each in space.by_source]
    return "".join(_line((kind, name, str(size))) for kind, name, size in lines)


def _cells(name: str | None, tally: Tally, *, counted: bool) -> tuple[str, ...]:
    nothing_known = "n/a" if tally.cost.usd is None and tally.unpriced else ""
    return (
        name or "",
        str(tally.conversations),
        str(tally.sessions),
        str(tally.messages) if counted else "",
        str(tally.tokens),
        f"{tally.actual_cost_usd:.4f}" if tally.is_billed else nothing_known,
        f"{tally.estimated_cost_usd:.4f}" if tally.is_estimated else nothing_known,
        str(tally.unpriced),
    )


def _line(cells: Iterable[str]) -> str:
    return "\t".join(map(one_line, cells)) + "\n"
