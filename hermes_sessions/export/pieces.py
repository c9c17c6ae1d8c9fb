"""What one message is made of: text, pictures, reasoning, and what Hermes wrapped around a turn."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import as_typed, decode, plain_text
from hermes_sessions.export.escaping import without_media

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.models import Message

_ATTACHMENTS: Final = frozenset({"[image]", "[audio]", "[file]"})
_THOUGHT: Final = re.compile(
    r"\s*<(think|thinking|reasoning)>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)


class PieceKind(StrEnum):
    """How a piece of a message is shown."""

    TEXT = "text"
    ATTACHMENT = "attachment"
    REASONING = "reasoning"
    ADDED = "added"  # by Hermes, around what the person typed
    SUMMARY = "summary"  # of what was said before, by a compaction


class Piece(NamedTuple):
    """A part of a message, in the order of the stored text; together they are all of it."""

    kind: PieceKind
    text: str


def pieces(message: Message) -> Iterator[Piece]:
    """Take a message apart."""
    if message.reasoning and message.reasoning.strip():
        yield Piece(PieceKind.REASONING, without_media(message.reasoning))
    value = decode(message.content)
    for part in value if isinstance(value, list) else [value]:
        text = part if isinstance(part, str) else plain_text(part)
        if isinstance(part, dict) and "text" not in part and text in _ATTACHMENTS:
            yield Piece(PieceKind.ATTACHMENT, text)
        elif text.strip():
            yield from _pieces_of_text(message.role, without_media(text))


def is_summary(message: Message) -> bool:
    """Tell whether a user row is a compaction summary alone: nobody typed it."""
    text = plain_text(message.content)
    return message.role == "user" and bool(text.strip()) and not as_typed(text)


def _pieces_of_text(role: str, text: str) -> Iterator[Piece]:
    if role == "assistant":
        yield from _thoughts_and_answer(text)
    elif role == "user":
        yield from _typed_and_added(text)
    else:
        yield Piece(PieceKind.TEXT, text)


def _thoughts_and_answer(text: str) -> Iterator[Piece]:
    """Split reasoning off that some models write in front of the answer."""
    while match := _THOUGHT.match(text):
        if match[2].strip():
            yield Piece(PieceKind.REASONING, match[2])
        text = text[match.end() :]
    if text.strip():
        yield Piece(PieceKind.TEXT, text)


def _typed_and_added(text: str) -> Iterator[Piece]:
    """Split a user turn into what the person typed and what Hermes put before and after it."""
    typed = as_typed(text)
    if typed == text:
        yield Piece(PieceKind.TEXT, text)
        return
    if not typed:
        yield Piece(PieceKind.SUMMARY, text)
        return
    if typed not in text:  # an expanded skill: what was typed is its name and instruction
        yield Piece(PieceKind.TEXT, typed)
        yield Piece(PieceKind.ADDED, text)
        return
    before, _, after = (
        (text[: text.rindex(typed)], typed, "")
        if text.rstrip().endswith(typed)
        else text.partition(typed)
    )
    if before.strip():
        yield Piece(PieceKind.ADDED, before)
    yield Piece(PieceKind.TEXT, typed)
    if after.strip():
        yield Piece(PieceKind.ADDED, after)
