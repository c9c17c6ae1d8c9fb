"""Conversations found by their title or id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.matching import Text, fold, has_term, holds, words_of
from hermes_sessions.query import All, Term

if TYPE_CHECKING:
    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store

_LEAST_ID: Final = 4
"""Characters of a query that may be a part of an id: fewer are in too many."""

_PATTERN: Final = 24


def sessions_by_title(store: Store, query: Query) -> set[str]:
    """Return sessions whose title matches; hyphens and blanks in words do not count (R068)."""
    needle = _a_needed_term(query)
    where, values = "1", {}
    if needle is not None and needle.text.isascii() and any(map(str.isalnum, needle.text)):
        where = "(title LIKE :like OR length(title) <> length(CAST(title AS BLOB)))"
        letters = [char for char in needle.text if char.isalnum()][:_PATTERN]
        values = {"like": f"%{'%'.join(letters)}%"}
    rows = store.rows(f"SELECT id, title FROM sessions WHERE title IS NOT NULL AND {where}", values)
    return {str(session_id) for session_id, title in rows if _matches(query, str(title))}


def _a_needed_term(query: Query) -> Term | None:
    """Return a term that every match has, to sift by; None if there is none."""
    if isinstance(query, Term):
        return query
    if not isinstance(query, All):
        return None
    return next(filter(None, map(_a_needed_term, query.parts)), None)


def _matches(query: Query, title: str) -> bool:
    text, words = Text(title), words_of(fold(title))

    def has(term: Term) -> bool:
        return has_term(term, text) or _is_run(words_of(fold(term.text)), words)

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
    if len(text) < _LEAST_ID or not isinstance(query, Term):
        return set()
    rows = store.rows("SELECT id FROM sessions WHERE instr(id, :text)", {"text": text})
    return {str(row[0]) for row in rows}
