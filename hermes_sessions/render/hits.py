"""Search results on a terminal: by conversation, what was found highlighted."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from rich.text import Text

from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.render.console import ACCENT, DIM, make_console
from hermes_sessions.render.plain import in_words
from hermes_sessions.text import one_line
from hermes_sessions.times import ago
from hermes_sessions.workspace import base_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hermes_sessions.context import Env
    from hermes_sessions.models import Message
    from hermes_sessions.store.search import Result
    from hermes_sessions.store.search_page import Block, Shown

_SPEAKERS = {"user": "you", "assistant": "hermes"}
_FOUND = "bold yellow"
_LONGEST = 2_000
"""Characters of a neighbour that are looked at."""

_LEAST_NAME = 16
_WHO = 8
_WHEN = 11


def print_results(env: Env, blocks: Iterable[Block], result: Result) -> None:
    """Print a page of results and what is not on it."""
    console = make_console(env)
    blocks = list(blocks)
    for line in block_lines(env, blocks):
        console.print(line, soft_wrap=True)
    if blocks:
        console.print(Text(_footer(blocks, result), DIM), soft_wrap=True)


def block_lines(env: Env, blocks: Iterable[Block]) -> Iterator[Text]:
    """Yield the lines of conversations with their hits, each as wide as the terminal at most."""
    for block in blocks:
        yield _head(env, block)
        yield from _messages(env, block)
        more = block.hits - len(block.shown)
        if more > 0:
            yield Text(f"  +{more} more", DIM)
        yield Text()


def _head(env: Env, block: Block) -> Text:
    summary = block.summary
    style = "bold" if summary.title else "bold italic"
    workspace = base_name(summary.workspace) if summary.workspace else ""
    facts = [summary.conversation.source, workspace, ago(summary.last_active, env.now)]
    matched = "title" if block.by_title else "id" if block.by_id else ""
    if matched:
        facts.append(f"{matched} matches")
    tail = Text(f" · {' · '.join(one_line(fact) for fact in facts if fact)}", DIM)
    end = Text(one_line(summary.id), ACCENT)
    name = Text(one_line(summary.name) or "—", style)
    room = env.width - end.cell_len - tail.cell_len - 2
    name.truncate(max(room, _LEAST_NAME), overflow="ellipsis")
    return _with_end(env, name + tail, end)


def _messages(env: Env, block: Block) -> Iterator[Text]:
    """Yield the hits and their neighbours in their order; each once, though hits share some."""
    lines = {
        message.id: _neighbour(env, message)
        for shown in block.shown
        for message in (*shown.before, *shown.after)
    }
    lines |= {shown.hit.message_id: _hit(env, shown) for shown in block.shown}
    return (line for _, line in sorted(lines.items(), key=itemgetter(0)))


def _hit(env: Env, shown: Shown) -> Text:
    hit = shown.hit
    end = Text(f"#{hit.message_id}", DIM)
    if hit.archived:
        end.append("  archived", DIM)
    snippet = Text(shown.snippet.text)
    for span in shown.snippet.spans:
        snippet.stylize(_FOUND, span.start, span.end)
    if not env.colored(env.stdout):
        snippet = Text(shown.snippet.marked("«", "»"))
    when = (f"  {_who(hit.role)} {ago(hit.timestamp, env.now):{_WHEN}}", DIM)
    return _with_end(env, Text.assemble(when, snippet), end)


def _neighbour(env: Env, message: Message) -> Text:
    calls = ", ".join(call.name for call in tool_calls(message.tool_calls))
    text = one_line(plain_text(message.content)[:_LONGEST]) or one_line(calls)
    line = Text(f"  {_who(message.role)} {ago(message.timestamp, env.now):{_WHEN}}{text}", DIM)
    return _with_end(env, line, Text(f"#{message.id}", DIM))


def _who(role: str) -> str:
    return f"{one_line(_SPEAKERS.get(role, role))[:_WHO]:{_WHO}}"


def _with_end(env: Env, line: Text, end: Text) -> Text:
    """Return a line cut to leave room for its end at the right margin."""
    room = env.width - end.cell_len - 2
    line.truncate(max(room, 10), overflow="ellipsis", pad=True)
    return line + Text("  ") + end


def _footer(blocks: list[Block], result: Result) -> str:
    hits = sum(block.hits for block in blocks)
    noun = "conversation" if len(blocks) == 1 else "conversations"
    shown = f"{len(blocks):,}"
    if result.total is not None and result.total > len(blocks):
        shown += f" of {result.total:,}"
    parts = [f"{shown} {noun}"]
    if hits:
        parts[0] += f", {hits:,} hit{'' if hits == 1 else 's'}"
    hidden = in_words(result.left_out)
    if hidden:
        parts.append(f"not shown: {hidden}")
    if result.total is None or result.total > len(blocks):
        parts.append("more: -n 0")
    return " · ".join(parts)
