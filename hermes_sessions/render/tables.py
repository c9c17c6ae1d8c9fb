"""Tables for a terminal: they fit its width, and the id is never cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.table import Table
from rich.text import Text

from hermes_sessions.context import short_path
from hermes_sessions.render.console import ACCENT, DIM, make_console
from hermes_sessions.render.plain import in_words
from hermes_sessions.text import one_line, size
from hermes_sessions.times import ago
from hermes_sessions.workspace import base_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from hermes_sessions.context import Env
    from hermes_sessions.models import Listing, Row
    from hermes_sessions.store.workspaces import WorkspaceUse

LIVE: Final = "●"
PINNED: Final = "★"
_GAP: Final = 2
_LEAST_TITLE: Final = 26


class Column(NamedTuple):
    """A column of the listing.

    Attributes:
        rank: the higher, the sooner it is dropped when the terminal is narrow.
        width: cells it needs at most.
    """

    head: str
    rank: int
    width: int
    cell: Callable[[Row], Text]
    right: bool = False


def print_listing(env: Env, listing: Listing) -> None:
    """Print a page of conversations and what is not on it."""
    console = make_console(env)
    if listing.rows:
        columns = _columns(env, listing.rows, console.width)
        table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style=DIM)
        for column in columns:
            table.add_column(
                column.head,
                justify="right" if column.right else "left",
                no_wrap=True,
                overflow="ellipsis" if column.head == "Title" else "crop",
                width=column.width,
            )
        for row in listing.rows:
            table.add_row(*(column.cell(row) for column in columns))
        console.print(table)
    _print_footer(console, listing)


def _columns(env: Env, rows: Sequence[Row], width: int) -> list[Column]:
    """Choose the columns that fit; what is left over goes to the titles."""

    def longest(texts: list[str], at_most: int) -> int:
        return min(at_most, max((Text(text).cell_len for text in texts), default=0))

    ages = [ago(row.summary.last_active, env.now) for row in rows]
    pins = any(_is_pinned(row) for row in rows)
    workspaces = [_workspace(row) for row in rows]
    columns = [
        Column("  Active", 2, 2 + longest(ages, 10), lambda row: _active(row, env.now)),
        Column("Title", 1, 0, _id),  # see _fill
        Column("Workspace", 3, longest([*workspaces, "Workspace"], 20), _workspace_cell),
        Column("Source", 4, longest([_source(r) for r in rows] + ["Source"], 12), _source_cell),
        Column("Msgs", 5, 6, _messages, right=True),
        Column("ID", 0, max(len(one_line(row.summary.id)) for row in rows), _id),
    ]
    if not any(workspaces):
        columns = [column for column in columns if column.head != "Workspace"]
    while True:
        taken = sum(column.width + _GAP for column in columns) - _GAP
        rest = width - taken
        has_title = any(column.head == "Title" for column in columns)
        if rest >= (_LEAST_TITLE if has_title else 0) or len(columns) == 1:
            return [_fill(c, rest, pins=pins) if c.head == "Title" else c for c in columns]
        most = max(column.rank for column in columns)
        columns = [column for column in columns if column.rank < most] or columns[-1:]


def _fill(column: Column, width: int, *, pins: bool) -> Column:
    """Give the titles all the room that is left."""
    return column._replace(width=width, cell=lambda row: _title(row, width, pins=pins))


def _active(row: Row, now: float) -> Text:
    mark = (LIVE, "green") if row.summary.live else " "
    return Text.assemble(mark, " ", ago(row.summary.last_active, now))


def _is_pinned(row: Row) -> bool:
    return any(node.pinned for node in row.summary.conversation.nodes)


def _title(row: Row, width: int, *, pins: bool) -> Text:
    summary = row.summary
    text = Text()
    if pins:
        text.append(f"{PINNED} " if _is_pinned(row) else "  ", "yellow")
    if row.depth:
        text.append("  " * (row.depth - 1) + "└ ", DIM)
    if summary.title:
        title = one_line(summary.title)
        if row.older_runs:  # "<job> · Nov 30 05:00": the time is that of one run
            title = title.partition(" · ")[0]
        text.append(title, DIM if summary.conversation.away else "")
    else:
        text.append(one_line(summary.preview) or "—", "dim italic")
    runs = Text(f"  ×{row.older_runs + 1} runs" if row.older_runs else "", DIM)
    text.truncate(max(1, width - runs.cell_len), overflow="ellipsis")
    return text + runs


def _workspace(row: Row) -> str:
    workspace = row.summary.workspace
    return one_line(base_name(workspace)) if workspace else ""


def _workspace_cell(row: Row) -> Text:
    return Text(_workspace(row) or "—", DIM)


def _source(row: Row) -> str:
    return one_line(row.summary.conversation.source)


def _source_cell(row: Row) -> Text:
    return Text(_source(row), DIM)


def _messages(row: Row) -> Text:
    return Text("?" if row.messages is None else f"{row.messages}")


def _id(row: Row) -> Text:
    return Text(one_line(row.summary.id), ACCENT)


def _print_footer(console: Console, listing: Listing) -> None:
    if listing.total is None or not listing.rows:
        return
    parts = [f"{listing.shown:,} of {listing.total:,} conversations"]
    if listing.damage:
        parts.insert(0, "partial")
    hidden = in_words(listing.hidden)
    if hidden:
        parts.append(f"hidden: {hidden}")
    if listing.shown < listing.total:
        parts.append("more: -n 0")
    console.print()
    console.print(Text(" · ".join(parts), DIM), soft_wrap=True)


def print_pairs(env: Env, pairs: Sequence[tuple[str, str, str]]) -> None:
    """Print (name, value, remark) lines, aligned."""
    console = make_console(env)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style=DIM)
    table.add_column(overflow="fold")
    table.add_column(style=DIM)
    for name, value, remark in pairs:
        table.add_row(name, Text(short_path(value, env.environ)), remark)
    console.print(table)


def print_workspaces(env: Env, uses: Sequence[tuple[WorkspaceUse, bool | None]]) -> None:
    """Print workspaces with a mark at those whose directory is gone."""
    console = make_console(env)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style=DIM)
    table.add_column("Active", no_wrap=True)
    table.add_column("Workspace", no_wrap=True, overflow="ellipsis", ratio=1)
    for head in ("Chats", "Msgs", "Size"):
        table.add_column(head, justify="right", no_wrap=True)
    for use, exists in uses:
        path = one_line(short_path(use.path, env.environ)) if use.path else "—"
        name = Text(path, "" if use.path else DIM)
        if exists is False:
            name.append("  missing", "yellow")
        table.add_row(
            ago(use.last_active, env.now),
            name,
            f"{use.conversations:,}",
            f"{use.messages:,}",
            size(use.size_bytes),
        )
    console.print(table)
