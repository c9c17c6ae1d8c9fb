"""Which rows of ``messages`` can match a term, by the indexes that can be trusted.

For each term: rows that are sure to match, rows whose text must be looked at, or None if only
reading every row would tell. Terms are looked up one by one; how they are joined is decided above.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import UserError
from hermes_sessions.matching import UNSPACED, is_unspaced, words_of
from hermes_sessions.query import AnyOf, Not, Term
from hermes_sessions.store.fts import TRIGRAMS, WORDS, State
from hermes_sessions.store.needles import sieve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Health

_LEAST_TRIGRAM = 3
_OTHER_CHARACTERS = "length(m.content) <> length(CAST(m.content AS BLOB))"
_ESCAPED_BEFORE = ("", "n", "t", "r", "b", "f")
"""A word in the JSON of a tool call may be glued to the letter of an escape: ``\\nword``."""


class Rows(NamedTuple):
    """Rows of ``messages`` by id.

    Attributes:
        certain: they match.
        maybe: their text decides.
    """

    certain: frozenset[int]
    maybe: frozenset[int]


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

    def __init__(self, store: Store, health: Health, reach: Reach) -> None:
        self._store = store
        self.health = health
        self._reach = reach
        self._found: dict[Term, Rows | None] = {}
        self._structured: frozenset[int] | None = None
        self._has_unspaced: bool | None = None

    def rows(self, term: Term) -> Rows | None:
        """Return the rows a term may be in, or None if no index tells."""
        if term not in self._found:
            self._found[term] = self._look_up(term)
        return self._found[term]

    def candidates(self, query: Query) -> frozenset[int] | None:
        """Return rows among which all matches are, or None if they can be anywhere."""
        if isinstance(query, Term):
            rows = self.rows(query)
            return None if rows is None else rows.certain | rows.maybe
        if isinstance(query, Not):
            return None
        sets = [self.candidates(part) for part in query.parts]
        known = [rows for rows in sets if rows is not None]
        if isinstance(query, AnyOf):
            return frozenset().union(*known) if len(known) == len(sets) else None
        return frozenset.intersection(*known) if known else None

    def _look_up(self, term: Term) -> Rows | None:
        if self.health.words.state is not State.OK:
            return None
        if is_unspaced(term.text):
            return self._unspaced(term)
        return self._parts(term) if term.part else self._spaced(term)

    def _spaced(self, term: Term) -> Rows | None:
        """Words of scripts with spaces: the word index, and what it has glued to other scripts."""
        if not words_of(term.text):
            return None
        index = self.health.words
        said = self._match(WORDS, f"{index.text_columns} : {_phrase(term)}")
        is_exact = term.text.isascii() and (
            term.text.isalnum() or (term.quoted and re.fullmatch(r"[\w\s]+", term.text, re.ASCII))
        )
        exact = is_exact and "_" not in term.text and not index.combined
        maybe = frozenset() if exact else said
        certain = said - self._structured_rows() if exact else frozenset()
        maybe |= said & self._structured_rows()
        maybe |= self._in_calls(term)
        maybe |= self._glued(term, said) | self._beyond_heads(term)
        return Rows(certain, maybe - certain)

    def _parts(self, term: Term) -> Rows | None:
        """Words with something glued to them: trigrams, where they are long enough."""
        words = [word for word in words_of(term.text) if len(word) >= _LEAST_TRIGRAM]
        if not words or self.health.trigrams.state is not State.OK:
            return None
        found = self._match(TRIGRAMS, " AND ".join(f'{{content}} : "{word}"' for word in words))
        return Rows(frozenset(), found | self._structured_rows() | self._outside_trigrams(term))

    def _glued(self, term: Term, said: frozenset[int]) -> frozenset[int]:
        """Rows where a word stands next to a script without spaces: one token to the index."""
        if not self._store_has_unspaced():
            return frozenset()
        words = [word for word in words_of(term.text) if len(word) >= _LEAST_TRIGRAM]
        if not words or self.health.trigrams.state is not State.OK:
            return self._sifted(term, [_OTHER_CHARACTERS]) - said
        query = " AND ".join(f'{{content}} : "{word}"' for word in words)
        others = self._match(TRIGRAMS, query) - said
        return self._with_other_characters(others) | self._outside_trigrams(term)

    def _unspaced(self, term: Term) -> Rows | None:
        """Scripts without spaces: trigrams, where a run is long enough."""
        trigrams = self.health.trigrams
        runs = re.findall(f"[{UNSPACED}]+", term.text)
        long = [run for run in runs if len(run) >= _LEAST_TRIGRAM]
        if not long or trigrams.state is not State.OK:
            return None
        found = self._match(TRIGRAMS, " AND ".join(f'{{content}} : "{run}"' for run in long))
        exact = runs == [term.text] and not trigrams.combined
        structured = self._structured_rows()
        maybe = structured | self._outside_trigrams(term) | self._in_calls(term)
        if not exact:
            return Rows(frozenset(), found | maybe)
        return Rows(found - structured, maybe - found)

    def _in_calls(self, term: Term) -> frozenset[int]:
        """Rows with the words of a term in the JSON of tool calls, where escapes hide them.

        No column is named where the index has one for calls: that would cost more than the rows
        that come twice.
        """
        if not (self._reach.includes("assistant") and self.health.words.has_calls):
            return frozenset()
        ways = dict.fromkeys(_in_json(text, prefix=term.prefix) for text in _cases(term.text))
        query = " OR ".join(f"({way})" for way in ways if way)
        return self._match(WORDS, query) if query else frozenset()

    def _outside_trigrams(self, term: Term) -> frozenset[int]:
        """Rows that are searched and not in the trigram index."""
        trigrams = self.health.trigrams
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
        if self.health.words.tool_heads and self._reach.includes("tool"):
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
        rows = self._store.rows(
            f"""
            SELECT m.id FROM messages AS m NOT INDEXED JOIN sessions AS s ON s.id = m.session_id
            WHERE {roles} AND {condition} AND ({" OR ".join(conditions)})""",
            values,
        )
        return _ids(rows)

    def _match(self, index: str, query: str) -> frozenset[int]:
        rows = self._store.rows(
            f"SELECT rowid FROM {index} WHERE {index} MATCH :query", {"query": query}
        )
        return _ids(rows)

    def _structured_rows(self) -> frozenset[int]:
        """Rows that may hold JSON behind a NUL byte: their first word is ``json``."""
        if self._structured is None:
            self._structured = self._match(WORDS, "{content} : ^ json")
        return self._structured

    def _with_other_characters(self, rows: frozenset[int]) -> frozenset[int]:
        if not rows:
            return rows
        return _ids(
            self._store.rows(
                f"""
                SELECT m.id FROM json_each(:ids) AS wanted JOIN messages AS m ON m.id = wanted.value
                WHERE {_OTHER_CHARACTERS}""",
                {"ids": json.dumps(sorted(rows))},
            )
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
                    {"first": UNSPACED[0]},
                )
                self._has_unspaced = seen is not None
            except UserError:
                self._has_unspaced = True
        return self._has_unspaced


def _phrase(term: Term) -> str:
    text = term.text.replace('"', " ").replace("\0", " ")
    return f'"{text}"{" *" if term.prefix else ""}'


def _cases(text: str) -> tuple[str, ...]:
    """Return the cases that text may be in where letters beyond ASCII are escaped."""
    return (text,) if text.isascii() else (text, text.lower(), text.upper(), text.title())


def _in_json(text: str, *, prefix: bool) -> str:
    """Return the FTS5 query for text in ASCII JSON, where other characters are ``\\uXXXX``.

    A backslash separates words, so an escape begins a word and what follows is glued to it.
    """
    units = [
        char if char.isascii() else "".join(f" u{unit}" for unit in _utf16(char)) for char in text
    ]
    words = re.findall(r"[a-z0-9]+", "".join(units).lower())
    parts = []
    for position, word in enumerate(words):
        is_last = position == len(words) - 1
        star = "*" if (is_last and prefix) or re.fullmatch(r".*u[0-9a-f]{4}", word) else ""
        ways = " OR ".join(f'"{start}{word}"{star}' for start in _ESCAPED_BEFORE)
        parts.append(f"({ways})")
    return " AND ".join(parts)


def _utf16(char: str) -> list[str]:
    data = char.encode("utf-16-be", "surrogatepass")
    return [data[i : i + 2].hex() for i in range(0, len(data), 2)]


def _ids(rows: Iterable[tuple[object, ...]]) -> frozenset[int]:
    return frozenset(row[0] for row in rows if isinstance(row[0], int))
