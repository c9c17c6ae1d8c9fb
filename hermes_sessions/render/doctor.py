"""A diagnosis on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from hermes_sessions.context import short_path
from hermes_sessions.render.console import ACCENT, DANGER, DIM, make_console
from hermes_sessions.store.diagnosis_findings import Severity
from hermes_sessions.text import one_line, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from hermes_sessions.context import Env
    from hermes_sessions.store.diagnosis_findings import Diagnosis, Finding, StoreFacts

_MARKS: Final = {
    Severity.HELD: ("held", ACCENT),
    Severity.INFO: ("note", DIM),
    Severity.WARNING: ("!", "yellow"),
    Severity.DAMAGE: ("damage", f"bold {DANGER}"),
}
"""In the order they are shown: the worst is nearest to where the eye ends."""

_INDENT: Final = 10
_GAP: Final = 4
_NARROWEST: Final = 20
_SEPARATOR: Final = " · "


def print_diagnosis(env: Env, store: Path, diagnosis: Diagnosis) -> None:
    """Print what a store is, what is fine, every finding with its cure, and how many there are."""
    console = make_console(env)
    for part in _joined(_headline(env, store, diagnosis.facts), console.width):
        _print(console, Text(part))
    _print(console, Text())
    if diagnosis.fine:
        _print_block(console, ("ok", "green"), _joined(diagnosis.fine, console.width - _INDENT))
    findings = [f for severity in _MARKS for f in diagnosis.findings if f.severity is severity]
    column = _cure_column(findings, console.width)
    for finding in findings:
        _print_finding(console, finding, column)
    if diagnosis.skipped:
        skipped = f"not looked at: {'; '.join(map(one_line, diagnosis.skipped))}"
        for line in _wrapped(console, skipped, 0):
            _print(console, line)
    if diagnosis.problems:
        _print(console, Text(plural(diagnosis.problems, "finding")))
    else:
        _print(console, Text("healthy", "green"))


def _headline(env: Env, store: Path, facts: StoreFacts) -> list[str]:
    parts = [one_line(short_path(store, env.environ))]
    if facts.size is not None:
        free = f" ({size(facts.free)} free inside)" if facts.free else ""
        parts.append(size(facts.size) + free)
    if facts.wal_size:
        parts.append(f"{size(facts.wal_size)} in its log")
    if facts.schema is not None:
        parts.append(f"schema {facts.schema}")
    if facts.journal_mode:
        parts.append("WAL" if facts.journal_mode == "wal" else "rollback journal")
    return [*parts, f"SQLite {facts.sqlite}", *filter(None, [facts.file_system])]


def _joined(parts: Iterable[str], width: int) -> list[str]:
    """Join parts to lines that fit, none of them broken but one that is too long by itself."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{_SEPARATOR}{part}" if lines else ""
        if lines and Text(longer).cell_len <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _cure_column(findings: Sequence[Finding], width: int) -> int:
    """Return where the cures begin that fit beside what they cure."""
    lengths = [
        (Text(one_line(finding.message)).cell_len, Text(one_line(finding.cure)).cell_len)
        for finding in findings
        if finding.cure
    ]
    beside = [message for message, cure in lengths if _INDENT + message + _GAP + cure <= width]
    return _INDENT + max(beside, default=0) + _GAP


def _print_finding(console: Console, finding: Finding, column: int) -> None:
    """Print a finding; its cure beside it, or below, where it is never broken."""
    lines = _wrapped(console, one_line(finding.message), _INDENT, style="")
    cure = Text(one_line(finding.cure or ""), ACCENT)
    is_beside = (
        len(lines) == 1
        and _INDENT + lines[0].cell_len < column
        and column + cure.cell_len <= console.width
    )
    if cure and is_beside:
        lines[0].pad_right(column - _INDENT - lines[0].cell_len)
        lines[0].append_text(cure)
    elif cure:
        lines.append(cure)
    for detail in finding.details:
        lines += _wrapped(console, one_line(detail), _INDENT)
    _print_block(console, _MARKS[finding.severity], lines)


def _print_block(console: Console, mark: tuple[str, str], lines: Iterable[Text | str]) -> None:
    word, style = mark
    head = Text.assemble((f"  {word}".ljust(_INDENT), style))
    for line in lines:
        _print(console, Text.assemble(head, line))
        head = Text(" " * _INDENT)


def _wrapped(console: Console, text: str, indent: int, style: str = DIM) -> list[Text]:
    return list(Text(text, style).wrap(console, max(_NARROWEST, console.width - indent)))


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)
