"""Terms as FTS5 queries. Each finds what the term is in, and perhaps more, never less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hermes_sessions.content import json_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.query import Term

_ESCAPED_BEFORE = ("", "n", "t", "r", "b", "f")
"""A word in the JSON of a tool call may be glued to the letter of an escape: ``\\nword``."""


def phrase(term: Term) -> str:
    """Return the query for the words of a term in their order."""
    text = term.text.replace('"', " ").replace("\0", " ")
    return f'"{text}"{" *" if term.prefix else ""}'


def all_said(pieces: Iterable[str]) -> str:
    """Return the query for pieces that are all in what was said."""
    return " AND ".join(f'{{content}} : "{piece}"' for piece in pieces)


def anywhere(term: Term) -> str:
    """Return the query for rows with the words of a term, in any column, escaped or not."""
    ways = dict.fromkeys(_in_json(text, prefix=term.prefix) for text in _cases(term.text))
    return " OR ".join(f"({way})" for way in ways if way)


def _cases(text: str) -> tuple[str, ...]:
    """Return the cases that text may be in where letters beyond ASCII are escaped."""
    return (text,) if text.isascii() else (text, text.lower(), text.upper(), text.title())


def _in_json(text: str, *, prefix: bool) -> str:
    """Return the query for text in ASCII JSON, where other characters are ``\\uXXXX``.

    A backslash separates words, so an escape begins a word and what follows is glued to it.
    """
    units = [char if char.isascii() else f" {' '.join(json_escapes(char))}" for char in text]
    words = re.findall(r"[a-z0-9]+", "".join(units).lower())
    parts = []
    for position, word in enumerate(words):
        is_last = position == len(words) - 1
        star = "*" if (is_last and prefix) or re.fullmatch(r".*u[0-9a-f]{4}", word) else ""
        ways = " OR ".join(f'"{start}{word}"{star}' for start in _ESCAPED_BEFORE)
        parts.append(f"({ways})")
    return " AND ".join(parts)
