"""One conversation on a terminal: its sheet, its recap in a panel, its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from hermes_sessions.recap import ASSISTANT, EVENT
from hermes_sessions.render.console import ACCENT, DIM, make_console
from hermes_sessions.render.sheet import SPEAKERS, headline
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from hermes_sessions.context import Env
    from hermes_sessions.models import Summary
    from hermes_sessions.recap import Entry
    from hermes_sessions.render.transcript import Block

_STYLES = {"user": "bold yellow", "assistant": "bold green"}


def print_sheet(env: Env, summary: Summary, lines: Sequence[str]) -> None:
    """Print the head of a fact sheet: the name with the id at the right, then the facts."""
    console = make_console(env)
    identifier = Text(one_line(summary.id), ACCENT)
    name = Text(headline(summary), "bold" if summary.title else "bold italic")
    room = console.width - identifier.cell_len - 2
    if room >= name.cell_len or room > console.width // 2:
        name.truncate(room, overflow="ellipsis", pad=True)
        console.print(name + Text("  ") + identifier, soft_wrap=True)
    else:
        console.print(name)
        console.print(identifier)
    for line in lines:
        console.print(Text(line, DIM))


def print_recap(
    env: Env, entries: Sequence[Entry], earlier: int, stream: IO[str] | None = None
) -> None:
    """Print a recap in a panel; nothing if there is nothing to show."""
    if not entries:
        return
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    last = max((i for i, entry in enumerate(entries) if entry.role == ASSISTANT), default=-1)
    for index, entry in enumerate(entries):
        grid.add_row(*_entry(entry, is_last=index == last))
    more = [Text(f"… {plural(earlier, 'earlier message')} …", "dim italic"), Text("")]
    panel = Panel(
        Group(*(more if earlier > 0 else []), grid),
        title="Previous conversation",
        title_align="left",
        border_style=DIM,
    )
    make_console(env, stream).print(panel)


def _entry(entry: Entry, *, is_last: bool) -> tuple[Text, Text]:
    """Return the label and what was said, so that every line of it is indented alike."""
    if entry.role == EVENT:
        return Text(SPEAKERS[EVENT], "dim italic"), Text(entry.text, "dim italic")
    body = Text(entry.text, "" if is_last or entry.role != ASSISTANT else DIM)
    if entry.tools:
        body.append(("  " if entry.text else "") + entry.tools, DIM)
    return Text(SPEAKERS[entry.role], _STYLES[entry.role]), body


def terminal_transcript(env: Env, prepared: Iterable[Block], *, markdown: bool) -> Iterator[str]:
    """Write a transcript for a terminal or its pager, a message at a time."""
    console = make_console(env)
    for block in prepared:
        with console.capture() as written:
            _print_block(console, block, markdown=markdown)
        yield written.get()


def _print_block(console: Console, block: Block, *, markdown: bool) -> None:
    if block.text or block.role != "tool":
        style = _STYLES.get(block.role, "bold")
        console.print(Rule(Text(block.head, style), align="left", style=DIM))
    if block.text:
        is_markdown = markdown and block.role == "assistant"
        console.print(Markdown(block.text) if is_markdown else Text(block.text))
    for line in block.folded:
        console.print(Text(f"  {line}", DIM))
