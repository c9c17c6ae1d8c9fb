"""Which rows of ``messages`` can match a term, by the indexes that can be trusted.

For each term: rows that are sure to match, rows whose text must be looked at, or None if only
reading every row would tell. Terms are looked up one by one; how they are joined is decided above.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.content import json_escapes
from hermes_sessions.errors import UserError
from hermes_sessions.matching import words_of
from hermes_sessions.query import AnyOf, Not, Term, likely_rarest
from hermes_sessions.scripts import FIRST, has_unspaced, unspaced_runs
from hermes_sessions.store.fts import TRIGRAMS, WORDS, State
from hermes_sessions.store.needles import HAS_OTHER_CHARACTERS, sieve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Indexes

_LEAST_TRIGRAM = 3
_FEW = 1_000
"""Rows that are read sooner than a common word is looked up."""

_ESCAPED_BEFORE = ("", "n", "t", "r", "b", "f")
"""A word in the JSON of a tool call may be glued to the letter of an escape: ``\\nword``."""


class Rows(NamedTuple):
    """Rows of ``messages`` that may match a term.

    Attributes:
        ids: all of them.
        sure: an FTS5 query; what the index ``by`` finds by it does match, unless its content
            is structured (JSON behind a NUL byte): then the text decides, as for the others. "" if
            none is sure.
    """

    ids: frozenset[int]
    sure: str = ""
    by: str = WORDS


class Bounds(NamedTuple):
    """Candidates that match, and those that may; the first are among the second."""

    certain: frozenset[int]
    possible: frozenset[int]


class Reach(NamedTuple):
    """Which rows a search is about, as far as that decides what an index covers.

    Attributes:
        roles: roles that are searched; None for all.
        automation: sessions of cron jobs and delegates too.
    """

    roles: tuple[str, ...] | None
    automation: bool

    def includes(self, role: str) -> bool:
        """Tell whether a role is searched."""
        return self.roles is None or role in self.roles


class Finder:
    """Looks terms up in the indexes of one store; each term once."""

    def __init__(self, store: Store, indexes: Indexes, reach: Reach) -> None:
        self._store = store
        self.indexes = indexes
        self._reach = reach
        self._found: dict[Term, Rows | None] = {}
        self._has_unspaced: bool | None = None

    def candidates(self, query: Query) -> frozenset[int] | None:
        """Return rows among which all matches are, or None if they can be anywhere."""
        if isinstance(query, Term):
            rows = self._rows(query)
            return None if rows is None else rows.ids
        if isinstance(query, Not):
            return None
        if isinstance(query, AnyOf):
            sets = [self.candidates(part) for part in query.parts]
            known = [rows for rows in sets if rows is not None]
            return frozenset().union(*known) if len(known) == len(sets) else None
        return self._in_all(query.parts)

    def bounds(self, query: Query, rows: frozenset[int]) -> Bounds:
        """Return which of some candidates match by the indexes alone, and which may.

        What excludes a row is looked for in its text: a word in the JSON of a structured row is in
        the index, and not in what was said.
        """
        if not rows:
            return Bounds(rows, rows)
        if isinstance(query, Term):
            known = self._found.get(query)
            if known is None:
                return Bounds(frozenset(), rows)
            return Bounds(rows & self._sure(known, min(rows), max(rows)), rows & known.ids)
        if isinstance(query, Not):
            return Bounds(rows - self.bounds(query.part, rows).possible, rows)
        certain, possible = zip(*(self.bounds(part, rows) for part in query.parts), strict=True)
        join = frozenset.union if isinstance(query, AnyOf) else frozenset.intersection
        return Bounds(join(*certain), join(*possible))

    def _rows(self, term: Term) -> Rows | None:
        if term not in self._found:
            self._found[term] = self._look_up(term)
        return self._found[term]

    def _in_all(self, parts: Iterable[Query]) -> frozenset[int] | None:
        """Look up the parts of which rows must have all, what is likely rare first.

        When only few rows are left, reading them costs less than to look up ``the``.
        """
        found: frozenset[int] | None = None
        for part in sorted(parts, key=_rarity, reverse=True):
            if found is not None and len(found) <= _FEW:
                break
            rows = self.candidates(part)
            if rows is not None:
                found = rows if found is None else found & rows
        return found

    def _sure(self, rows: Rows, low: int, high: int) -> frozenset[int]:
        if not rows.sure:
            return frozenset()
        return self._store.ids(
            f"SELECT rowid FROM {rows.by} WHERE {rows.by} MATCH :query"
            " AND rowid BETWEEN :low AND :high",
            {"query": rows.sure, "low": low, "high": high},
        )

    def _look_up(self, term: Term) -> Rows | None:
        if self.indexes.words.state is not State.OK or not self.indexes.words.has_calls:
            return None
        if has_unspaced(term.text):
            return self._unspaced(term)
        return self._parts(term) if term.part else self._spaced(term)

    def _spaced(self, term: Term) -> Rows | None:
        """Words of scripts with spaces: the word index, and what it has glued to other scripts."""
        if not words_of(term.text):
            return None
        index = self.indexes.words
        said = f"{index.text_columns} : {_phrase(term)}"
        found = self._match(WORDS, _anywhere(term))
        if not term.text.isascii():
            found |= self._match(WORDS, said)
        is_exact = term.text.isascii() and (
            term.text.isalnum() or (term.quoted and re.fullmatch(r"[\w\s]+", term.text, re.ASCII))
        )
        exact = is_exact and "_" not in term.text and not index.combined
        found |= self._glued(term, found) | self._beyond_heads(term)
        return Rows(found, said if exact else "")

    def _parts(self, term: Term) -> Rows | None:
        """Words with something glued to them: trigrams, where they are long enough."""
        words = [word for word in words_of(term.text) if len(word) >= _LEAST_TRIGRAM]
        if not words or self.indexes.trigrams.state is not State.OK:
            return None
        found = self._match(TRIGRAMS, " AND ".join(f'{{content}} : "{word}"' for word in words))
        if not term.text.isascii():
            found |= self._match(WORDS, "{content} : ^ json")  # in JSON, other letters are escaped
        return Rows(found | self._outside_trigrams(term))

    def _glued(self, term: Term, said: frozenset[int]) -> frozenset[int]:
        """Rows where a word stands next to a script without spaces: one token to the index."""
        if not self._store_has_unspaced():
            return frozenset()
        words = [word for word in words_of(term.text) if len(word) >= _LEAST_TRIGRAM]
        if not words or self.indexes.trigrams.state is not State.OK:
            return self._sifted(term, [HAS_OTHER_CHARACTERS]) - said
        query = " AND ".join(f'{{content}} : "{word}"' for word in words)
        others = self._match(TRIGRAMS, query) - said
        return self._with_other_characters(others) | self._outside_trigrams(term)

    def _unspaced(self, term: Term) -> Rows | None:
        """Scripts without spaces: trigrams, where a run is long enough."""
        trigrams = self.indexes.trigrams
        runs = unspaced_runs(term.text)
        long = [run for run in runs if len(run) >= _LEAST_TRIGRAM]
        if not long or trigrams.state is not State.OK:
            return None
        said = " AND ".join(f'{{content}} : "{run}"' for run in long)
        found = self._match(TRIGRAMS, said)
        found |= self._match(WORDS, _anywhere(term)) | self._outside_trigrams(term)
        exact = runs == [term.text] and not trigrams.combined
        return Rows(found, said if exact else "", TRIGRAMS)

    def _outside_trigrams(self, term: Term) -> frozenset[int]:
        """Rows that are searched and not in the trigram index."""
        trigrams = self.indexes.trigrams
        conditions = []
        if trigrams.skips_sources and self._reach.automation:
            marks = self._store.capabilities.column("model_config")
            conditions.append(
                f"(s.source IN ('cron', 'subagent') OR instr({marks}, '_delegate_from') > 0)"
            )
        if not trigrams.has_tools and self._reach.includes("tool"):
            conditions.append("m.role = 'tool'")
        return self._sifted(term, conditions)

    def _beyond_heads(self, term: Term) -> frozenset[int]:
        """Rows of tools with the term behind what the index has of them."""
        if self.indexes.words.tool_heads and self._reach.includes("tool"):
            return self._sifted(term, ["m.role = 'tool'"])
        return frozenset()

    def _sifted(self, term: Term, conditions: list[str]) -> frozenset[int]:
        if not conditions:
            return frozenset()
        condition, values = sieve(term, self._store.capabilities)
        roles = "1"
        if self._reach.roles is not None:
            roles = "m.role IN (SELECT value FROM json_each(:roles))"
            values = {**values, "roles": json.dumps(self._reach.roles)}
        return self._store.ids(
            f"""
            SELECT m.id FROM messages AS m NOT INDEXED JOIN sessions AS s ON s.id = m.session_id
            WHERE {roles} AND {condition} AND ({" OR ".join(conditions)})""",
            values,
        )

    def _match(self, index: str, query: str) -> frozenset[int]:
        return self._store.ids(
            f"SELECT rowid FROM {index} WHERE {index} MATCH :query", {"query": query}
        )

    def _with_other_characters(self, rows: frozenset[int]) -> frozenset[int]:
        if not rows:
            return rows
        return self._store.ids(
            f"""
                SELECT m.id FROM json_each(:ids) AS wanted JOIN messages AS m ON m.id = wanted.value
                WHERE {HAS_OTHER_CHARACTERS}""",
            {"ids": json.dumps(sorted(rows))},
        )

    def _store_has_unspaced(self) -> bool:
        """Tell whether the store has text in a script without spaces; if that is not known, yes."""
        if self._has_unspaced is None:
            try:
                self._store.rows(
                    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.words_seen"
                    f" USING fts5vocab('main', '{WORDS}', 'row')"
                )
                seen = self._store.value(
                    "SELECT 1 FROM temp.words_seen WHERE term >= :first LIMIT 1",
                    {"first": FIRST},
                )
                self._has_unspaced = seen is not None
            except UserError:
                self._has_unspaced = True
        return self._has_unspaced


def _phrase(term: Term) -> str:
    text = term.text.replace('"', " ").replace("\0", " ")
    return f'"{text}"{" *" if term.prefix else ""}'


def _rarity(query: Query) -> int:
    term = likely_rarest(query)
    return len(term.text) if term else 0


def _anywhere(term: Term) -> str:
    """Return the FTS5 query for rows with the words of a term, in any column, escaped or not."""
    ways = dict.fromkeys(_in_json(text, prefix=term.prefix) for text in _cases(term.text))
    return " OR ".join(f"({way})" for way in ways if way)


def _cases(text: str) -> tuple[str, ...]:
    """Return the cases that text may be in where letters beyond ASCII are escaped."""
    return (text,) if text.isascii() else (text, text.lower(), text.upper(), text.title())


def _in_json(text: str, *, prefix: bool) -> str:
    """Return the FTS5 query for text in ASCII JSON, where other characters are ``\\uXXXX``.

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
