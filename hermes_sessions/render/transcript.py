"""A transcript as plain text: who, when, what; tool calls folded to a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.text import clip, neutralise, one_line, size
from hermes_sessions.times import local_minute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hermes_sessions.models import Message

_SPEAKERS: Final = {"user": "● You", "assistant": "◆ Hermes", "tool": "▸", "system": "System"}
_ARGUMENTS: Final = 90


class Block(NamedTuple):
    """One message ready to be shown.

    Attributes:
        head: the line above it.
        role: as stored.
        text: the body, neutralised; "" if there is none.
        folded: lines for tool calls and results.
    """

    head: str
    role: str
    text: str
    folded: tuple[str, ...]


def blocks(messages: Iterable[Message], *, unfold: bool = False) -> Iterator[Block]:
    """Prepare messages; hidden ones are left out.

    Args:
        messages: oldest first.
        unfold: show results of tools whole.
    """
    for message in messages:
        if message.display_kind == "hidden" and not unfold:
            continue
        text = neutralise(plain_text(message.content)).strip("\n")
        folded = tuple(_call(call.name, call.arguments) for call in tool_calls(message.tool_calls))
        if message.role == "tool" and not unfold:
            folded = (_result(message.tool_name or "tool", text),)
            text = ""
        yield Block(_head(message), message.role, text, folded)


def _head(message: Message) -> str:
    who = _SPEAKERS.get(message.role, message.role)
    if message.role == "tool":
        who = f"▸ {message.tool_name or 'tool'}"
    if message.display_kind and message.display_kind != "hidden":
        who = f"◈ {message.display_kind.replace('_', ' ')}"
    when = "" if message.timestamp is None else f"  {local_minute(message.timestamp)}"
    state = "  archived" if message.archived else "" if message.active else "  rewound"
    return one_line(who) + f"{when}  #{message.id}{state}"


def _call(name: str, arguments: str) -> str:
    return f"→ {one_line(name)} {clip(one_line(arguments), _ARGUMENTS)}".rstrip()


def _result(name: str, text: str) -> str:
    first = clip(one_line(text[:1000]), _ARGUMENTS)
    return f"← {one_line(name)} ({size(len(text.encode('utf-8', 'replace')))}) {first}".rstrip()


def plain_transcript(prepared: Iterable[Block]) -> Iterator[str]:
    """Write prepared messages as lines of text."""
    for block in prepared:
        if block.role == "tool" and not block.text:
            yield from (f"  {line}\n" for line in block.folded)
            continue
        yield f"\n{block.head}\n"
        if block.text:
            yield f"{block.text}\n"
        yield from (f"  {line}\n" for line in block.folded)
