"""SQL that lets through every row a term may be in, and few others: for rows no index covers.

A pattern is only a sieve; whether a row matches is decided by ``hermes_sessions.matching``. LIKE
ignores the case of ASCII only and knows no accents, so rows with other characters pass where those
matter. A structured row (a NUL byte first) always passes: LIKE ends at the NUL.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import json_escapes
from hermes_sessions.query import AnyOf, Not, Term
from hermes_sessions.scripts import has_unspaced, is_unspaced, unspaced_runs

if TYPE_CHECKING:
    from hermes_sessions.query import Query
    from hermes_sessions.store.schema import Capabilities

_LONGEST: Final = 1_000
"""Characters of a pattern; SQLite refuses very long ones."""

_ESCAPE: Final = "!"

HAS_OTHER_CHARACTERS: Final = "length(m.content) <> length(CAST(m.content AS BLOB))"
"""Rows whose text has characters beyond ASCII, or that are structured: length ends at the NUL."""

IS_STRUCTURED: Final = "substr(m.content, 1, 1) = ''"
"""Rows with a NUL byte first; empty ones, too."""


class Sieve(NamedTuple):
    """A condition and the values bound to it."""

    condition: str
    values: dict[str, str]


def sieve(query: Query, capabilities: Capabilities) -> Sieve:
    """Return the condition for rows ``m`` of messages that may match a query."""
    values: dict[str, str] = {}
    return Sieve(_condition(query, capabilities, values), values)


def _condition(query: Query, capabilities: Capabilities, values: dict[str, str]) -> str:
    if isinstance(query, Not):
        return "1"
    if isinstance(query, Term):
        return _term_condition(query, capabilities, values)
    parts = [_condition(part, capabilities, values) for part in query.parts]
    return f"({(' OR ' if isinstance(query, AnyOf) else ' AND ').join(parts)})"


def _term_condition(term: Term, capabilities: Capabilities, values: dict[str, str]) -> str:
    def bound(pattern: str) -> str:
        name = f"like{len(values)}"
        values[name] = pattern
        return f"LIKE :{name} ESCAPE '{_ESCAPE}'"

    ways = []
    pattern = text_pattern(term)
    if pattern:
        ways.append(f"m.content {bound(pattern)}")
        ways.append(IS_STRUCTURED)
    if not pattern or not has_unspaced(term.text):  # accents, or a cased letter beyond ASCII
        ways.append(HAS_OTHER_CHARACTERS)
    for column in ("tool_calls", "tool_name"):
        if column in capabilities.messages:
            ways += [f"m.{column} {bound(call)}" for call in call_patterns(term)]
    return f"({' OR '.join(ways)})"


def text_pattern(term: Term) -> str:
    """Return the LIKE pattern of what must stand in plain text, "" if nothing is sure to."""
    if has_unspaced(term.text):
        pieces = unspaced_runs(term.text)
    elif term.quoted:
        pieces = re.findall(r"[a-zA-Z0-9]+", term.text)
    else:
        pieces = re.findall(r"[\x21-\x7e]+|[^\w\s\x00-\x7f\u0300-\u036f]+", term.text)
    return _pattern([p for p in pieces if p.isascii() or p.lower() == p.upper()])


def call_patterns(term: Term) -> list[str]:
    """Return the LIKE patterns of what stands in the JSON of tool calls, escaped or not."""
    plain = [
        "".join(run)
        for is_kept, run in groupby(
            term.text, lambda c: (c.isascii() and c.isalnum(), is_unspaced(c))
        )
        if any(is_kept)
    ]
    escaped = [piece if piece.isascii() else "%".join(json_escapes(piece)) for piece in plain]
    patterns = [_pattern(plain), "%" + "%".join(escaped) + "%" if escaped else "%"]
    return list(dict.fromkeys(pattern or "%" for pattern in patterns))


def _pattern(pieces: list[str]) -> str:
    escaped = [re.sub(f"([%_{_ESCAPE}])", rf"{_ESCAPE}\1", piece) for piece in pieces]
    text = "%".join(escaped)
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rstrip(_ESCAPE)
    return f"%{text}%" if text else ""
