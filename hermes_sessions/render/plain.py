"""Output for pipes: lines, tabs, full ids. No terminal library on this path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.text import one_line
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hermes_sessions.models import Row
    from hermes_sessions.plans import Sheet


HIDDEN_WORDS: Final = {
    "archived": ("archived", "--archived"),
    "hidden": ("hidden", "--all"),
    "delegate": ("delegates", "--all"),
    "child": ("unmarked children", "--all"),
    "tool": ("tool runs", "--all"),
    "cron": ("cron runs", "--source cron"),
}
"""How a reason for being out of view reads, and the option that shows it."""


def in_words(hidden: Mapping[str, int]) -> str:
    """Write ``12 archived (--archived), 41 delegates, 3 tool runs (--all)``."""
    parts = []
    known = [reason for reason in HIDDEN_WORDS if hidden.get(reason)]
    for position, reason in enumerate(known):
        words, option = HIDDEN_WORDS[reason]
        following = known[position + 1 : position + 2]
        is_last = not following or HIDDEN_WORDS[following[0]][1] != option
        if hidden[reason] == 1 and words.endswith("s"):
            words = "unmarked child" if reason == "child" else words.removesuffix("s")
        parts.append(f"{hidden[reason]:,} {words}{f' ({option})' if is_last else ''}")
    return ", ".join(parts)


def list_rows(rows: Iterable[Row]) -> str:
    """Write one conversation a line: id, last activity, source, messages, workspace, title.

    An untitled conversation shows its first request. Columns without a value are empty.
    """
    return "".join(_line(row) for row in rows)


def _line(row: Row) -> str:
    summary = row.summary
    cells = (
        summary.id,
        "" if summary.last_active is None else local_iso(summary.last_active),
        summary.conversation.source,
        "" if row.messages is None else str(row.messages),
        summary.workspace or "",
        summary.name,
    )
    *most, name = map(one_line, cells)
    return "\t".join([*most, "  " * row.depth + name]) + "\n"


def ids(identifiers: Iterable[str], *, nul: bool) -> str:
    """Write ids, one a line, or ended by NUL."""
    end = "\0" if nul else "\n"
    return "".join(f"{identifier}{end}" for identifier in identifiers)


def sheet_lines(sheet: Sheet) -> str:
    """Write a plan: its facts, then a conversation a line with its id first."""
    rows: list[tuple[str, ...]] = [(sheet.title,), *sheet.facts]
    rows += [(item.id, *item.facts, item.name, item.extra) for item in sheet.items]
    rows += [(remark,) for remark in sheet.remarks]
    return "".join("\t".join(map(one_line, cells)).rstrip("\t") + "\n" for cells in rows)
