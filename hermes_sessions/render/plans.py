"""Plans on a terminal: what goes, what stays, and the conversations, as wide as the terminal."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final, NamedTuple

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hermes_sessions.render.console import ACCENT, DANGER, DIM, make_console
from hermes_sessions.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.plans import Item, Sheet

_SHOWN: Final = 15
"""Lines of a plan before a question; a dry run shows all."""

_INDENT: Final = 2
_GAP: Final = 2
_LABEL: Final = 8
_LEAST_NAME: Final = 12
_MOST_FACT: Final = 14
"""Cells of a source: it can be any text."""


class _Column(NamedTuple):
    """One column beside the names.

    Attributes:
        rank: the higher, the sooner it is dropped when the terminal is narrow.
    """

    cells: tuple[str, ...]
    rank: int
    is_behind: bool = False

    @property
    def width(self) -> int:
        return min(_MOST_FACT, max(Text(cell).cell_len for cell in self.cells))


def print_sheet(env: Env, sheet: Sheet, stream: IO[str], *, whole: bool) -> None:
    """Print a plan; unless the ``whole`` of it is wanted, only as much as one can take in."""
    console = make_console(env, stream)
    console.print(Text(one_line(sheet.title), "bold"))
    if sheet.facts:
        console.print()
        console.print(_facts(sheet.facts))
    shown = sheet.items if whole else sheet.items[:_SHOWN]
    if shown:
        console.print()
        console.print(Padding(_table(shown, console.width - _INDENT), (0, 0, 0, _INDENT)))
        rest = len(sheet.items) - len(shown)
        if rest:
            noun = "line" if rest == 1 else "lines"
            console.print(Text(f"  … {rest:,} more {noun} (--dry-run shows all)", DIM))
    if sheet.remarks:
        console.print()
        for line in sheet.remarks:
            console.print(Text(one_line(line), DIM))


def fit(text: str, cells: int) -> str:
    """Cut one line of text to a number of cells, of which some characters take two."""
    cut = Text(text)
    cut.truncate(cells, overflow="ellipsis")
    return cut.plain


def _facts(facts: Sequence[tuple[str, str]]) -> Padding:
    table = Table.grid()
    table.add_column(width=_LABEL, no_wrap=True)
    table.add_column(overflow="fold")
    for label, words in facts:
        style = DANGER if label == "go" else DIM
        table.add_row(Text(label, style), Text(one_line(words)))
    return Padding(table, (0, 0, 0, _INDENT))


def _table(items: Sequence[Item], width: int) -> Table:
    """Lay out conversations: facts, name, what is behind it, id; the id is never cut."""
    widest = max(Text(one_line(item.id)).cell_len for item in items)
    columns = _fitting(_columns(items), width - widest - _GAP)
    room = width - widest - _GAP - sum(column.width + _GAP for column in columns)
    if room < _LEAST_NAME:
        return _two_lines_each(items)
    before = [column for column in columns if not column.is_behind]
    behind = [column for column in columns if column.is_behind]
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=False)
    for column in before:
        _add(table, column)
    table.add_column(no_wrap=True, overflow="ellipsis", width=room)
    for column in behind:
        _add(table, column)
    table.add_column(no_wrap=True, style=ACCENT, width=widest)
    for number, item in enumerate(items):
        cells = (
            *(column.cells[number] for column in before),
            one_line(item.name) or "—",
            *(column.cells[number] for column in behind),
            one_line(item.id),
        )
        table.add_row(*map(Text, cells))
    return table


def _two_lines_each(items: Sequence[Item]) -> Table:
    table = Table.grid()
    table.add_column(overflow="fold")
    for item in items:
        name = Text(one_line(item.name) or "—", no_wrap=True, overflow="ellipsis")
        table.add_row(name)
        table.add_row(Text(one_line(item.id), ACCENT))
    return table


def _columns(items: Sequence[Item]) -> list[_Column]:
    number = max(len(item.facts) for item in items)
    facts = [(*item.facts, *[""] * (number - len(item.facts))) for item in items]
    columns = [
        _Column(tuple(one_line(cell) for cell in cells), rank)
        for rank, cells in enumerate(zip(*facts, strict=True))
    ]
    columns.append(_Column(tuple(one_line(item.extra) for item in items), 0, is_behind=True))
    return [column for column in columns if any(column.cells)]


def _fitting(columns: list[_Column], width: int) -> list[_Column]:
    """Drop columns until there is room for a name."""
    left = list(columns)
    while left and width - sum(column.width + _GAP for column in left) < _LEAST_NAME:
        left.remove(max(left, key=lambda column: column.rank))
    return left


def _add(table: Table, column: _Column) -> None:
    table.add_column(
        no_wrap=True,
        overflow="ellipsis",
        style=DIM,
        width=column.width,
        justify="right" if column.is_behind else "left",
    )
