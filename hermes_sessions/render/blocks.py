"""Blocks of lines for a terminal: tables without frames, side by side where there is room."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from hermes_sessions.render.console import DIM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

SEPARATOR: Final = " · "
GAP: Final = 2
"""Columns between columns, and between blocks."""

_LEAST_NAME: Final = 12
"""Cells that a name keeps before other columns are dropped."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        is_left: cells begin at the left, as bars do; all others end at the right.
        rank: the higher, the sooner it is dropped where there is no room; 0 for never.
        keeps_end: names that are clipped lose their beginning: paths.
    """

    head: str
    cells: list[str]
    style: str = ""
    is_left: bool = False
    rank: int = 0
    keeps_end: bool = False


def table(columns: Sequence[Column], width: int) -> list[Text]:
    """Lay columns out: names at the left take the room that is left, the others are whole."""
    first, *others = columns
    widths = [max(map(cells, (c.head, *c.cells))) for c in others]
    room = width - sum(each + GAP for each in widths)
    longest = max(map(cells, (first.head, *first.cells)))
    if room < min(longest, _LEAST_NAME) and any(c.rank for c in others):
        least = max(others, key=lambda c: c.rank)
        return table([c for c in columns if c is not least], width)
    names = max(1, min(longest, room))
    lines = [_row(names, widths, [c._replace(cells=[c.head], style=DIM) for c in columns], 0)]
    lines += [_row(names, widths, columns, number) for number in range(len(first.cells))]
    return lines


def _row(names: int, widths: Sequence[int], columns: Sequence[Column], number: int) -> Text:
    first, *others = columns
    name = first.cells[number]
    line = cell(clip_start(name, names) if first.keeps_end else name, names)
    line.stylize(first.style)
    for width, column in zip(widths, others, strict=True):
        text = column.cells[number]
        gap = " " * (width - cells(text))
        line.append(" " * GAP)
        line.append(text + gap if column.is_left else gap + text, column.style)
    return line


def cell(text: str, width: int) -> Text:
    """Return text in exactly so many cells, clipped if need be."""
    fitted = Text(text)
    fitted.truncate(width, overflow="ellipsis", pad=True)
    return fitted


def clip_start(text: str, width: int) -> str:
    """Cut text to a width at its beginning."""
    if cells(text) <= width:
        return text
    while cells(text) >= width and text:
        text = text[1:]
    return f"…{text}"


def cells(text: str) -> int:
    """Return the width of a text."""
    return Text(text).cell_len


def print_beside(console: Console, left: Sequence[Text], right: Sequence[Text], width: int) -> None:
    """Print two blocks side by side, the left one in so many columns."""
    lines = []
    for one, other in zip_longest(left, right, fillvalue=Text()):
        line = one.copy()
        line.pad_right(width - one.cell_len + GAP)
        lines.append(line + other)
    print_lines(console, lines)


def print_parts(console: Console, parts: Sequence[str], style: str) -> None:
    """Print parts with dots between them; a line ends between two parts if it can."""
    line = ""
    for part in parts:
        joined = f"{line}{SEPARATOR}{part}" if line else part
        if line and cells(joined) > console.width:
            console.print(Text(line, style))
            joined = part
        line = joined
    console.print(Text(line, style))


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Print lines that fit."""
    for line in lines:
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ellipsis")
