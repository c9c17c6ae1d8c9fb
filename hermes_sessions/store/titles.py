"""Conversations found by their title or id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.matching import ACCENTED, Text, fold, has_term, holds, words_of
from hermes_sessions.query import Term, likely_rarest
from hermes_sessions.scripts import is_unspaced

if TYPE_CHECKING:
    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store

_LEAST_ID: Final = 4
"""Characters of a query that may be a part of an id: fewer are in too many."""

_LONGEST: Final = 24
"""Letters of a pattern."""

_WITH_ACCENTS: Final = f"*[{''.join(f'{chr(low)}-{chr(high)}' for low, high in ACCENTED)}]*"
"""Titles in which letters are not what they are without case and accents."""


def sessions_by_title(store: Store, query: Query) -> set[str]:
    """Return sessions whose title matches; hyphens and blanks in words do not count (R068)."""
    needle = likely_rarest(query)
    pattern = _pattern(needle.text) if needle else ""
    where, values = "1", {}
    if pattern:
        where, values = "title LIKE :like", {"like": pattern}
        if re.search("[a-zA-Z]", pattern):  # it may stand there with an accent
            where = f"({where} OR (length(title) <> length(CAST(title AS BLOB))"
            where += f" AND title GLOB '{_WITH_ACCENTS}'))"
    rows = store.rows(f"SELECT id, title FROM sessions WHERE title IS NOT NULL AND {where}", values)
    return {str(session_id) for session_id, title in rows if _matches(query, str(title))}


def _pattern(text: str) -> str:
    """Return the LIKE pattern of the letters and digits that are the same in every case."""
    kept = [c if c.isascii() or is_unspaced(c) else "%" for c in text if c.isalnum()]
    return "" if set(kept) <= {"%"} else f"%{'%'.join(kept[:_LONGEST])}%"


def _matches(query: Query, title: str) -> bool:
    text = Text(title)

    def has(term: Term) -> bool:
        return has_term(term, text) or _is_run(words_of(fold(term.text)), words_of(fold(title)))

    return bool(holds(query, has))


def _is_run(wanted: list[str], words: list[str]) -> bool:
    """Tell whether words make the wanted ones if joined: ``AN94`` is AN-94."""
    joined = "".join(wanted)
    return bool(joined) and any(
        "".join(words[start : start + length]) == joined
        for length in range(1, 4)
        for start in range(len(words) - length + 1)
    )


def sessions_by_id(store: Store, query: Query, text: str) -> set[str]:
    """Return sessions with the query in their id, if it can be a part of one."""
    text = text.strip()
    if len(text) < _LEAST_ID or not isinstance(query, Term) or not text.isascii():
        return set()
    rows = store.rows("SELECT id FROM sessions WHERE instr(id, :text)", {"text": text})
    return {str(row[0]) for row in rows}
