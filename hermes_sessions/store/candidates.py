"""Which rows of ``messages`` can match a query, by the indexes that can be trusted.

For each term: rows that are sure to match, rows whose text must be looked at, or None if only
reading every row would tell. Terms are looked up one by one, in one window of ids after the other.
Rows that an index should have and has not are sifted out of the table.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged, UserError
from hermes_sessions.matching import words_of
from hermes_sessions.query import AnyOf, Not, Term, likely_rarest
from hermes_sessions.scripts import FIRST, has_unspaced, unspaced_runs
from hermes_sessions.store.fts import TRIGRAMS, WORDS, State
from hermes_sessions.store.fts_queries import all_said, anywhere, phrase
from hermes_sessions.store.needles import HAS_OTHER_CHARACTERS, sieve

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable

    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Indexes
    from hermes_sessions.store.windows import Window

_LEAST_TRIGRAM: Final = 3
_FEW: Final = 1_000
"""Rows that are read sooner than a common word is looked up."""

_IS_TOOL: Final = "m.role = 'tool'"
NONE: Final[frozenset[int]] = frozenset()


class Rows(NamedTuple):
    """Rows of a window that may match a term.

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
    """Asks the indexes of one store."""

    def __init__(self, store: Store, indexes: Indexes, reach: Reach) -> None:
        self._store = store
        self.indexes = indexes
        self.reach = reach
        marks = store.capabilities.column("model_config")
        self.is_automation = (
            f"s.source IN ('cron', 'subagent') OR instr({marks}, '_delegate_from') > 0"
        )
        self._prefixed: dict[tuple[str, str], array[int]] = {}
        self._has_unspaced: bool | None = None

    def match(self, index: str, query: str, window: Window) -> frozenset[int]:
        """Return the rows of a window that an index finds.

        FTS5 merges all words of a prefix anew for each question, so those are asked for once.

        Raises:
            StoreDamaged: and the index is not trusted any more.
        """
        try:
            if "*" in query:
                found = self._all_prefixed(index, query)
                low, high = bisect_left(found, window.low), bisect_right(found, window.high)
                return frozenset(found[low:high])
            return self._store.ids(
                f"SELECT rowid FROM {index} WHERE {index} MATCH :query"
                " AND rowid BETWEEN :low AND :high",
                {"query": query, "low": window.low, "high": window.high},
            )
        except StoreDamaged:
            self.indexes.distrust(index)
            raise

    def _all_prefixed(self, index: str, query: str) -> array[int]:
        if (index, query) not in self._prefixed:
            self._prefixed[index, query] = self._store.id_array(
                f"SELECT rowid FROM {index} WHERE {index} MATCH :query ORDER BY rowid",
                {"query": query},
            )
        return self._prefixed[index, query]

    def has_unspaced(self) -> bool:
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

    def sifted(self, term: Term, conditions: Iterable[str], window: Window) -> frozenset[int]:
        """Read the rows of a window that meet one of some conditions; return what may match."""
        wanted = " OR ".join(f"({condition})" for condition in dict.fromkeys(conditions))
        if not wanted:
            return NONE
        passed, values = sieve(term, self._store.capabilities)
        roles = "1"
        if self.reach.roles is not None:
            roles = "m.role IN (SELECT value FROM json_each(:roles))"
            values = {**values, "roles": json.dumps(self.reach.roles)}
        return self._store.ids(
            f"""
            SELECT m.id FROM messages AS m NOT INDEXED JOIN sessions AS s ON s.id = m.session_id
            WHERE m.id BETWEEN :low AND :high
              AND {roles} AND ({wanted}) AND {passed}""",
            {"low": window.low, "high": window.high, **values},
        )

    def with_other_characters(self, rows: frozenset[int]) -> frozenset[int]:
        """Return those of some rows that have characters beyond ASCII."""
        if not rows:
            return rows
        return self._store.ids(
            f"""
            SELECT m.id FROM json_each(:ids) AS wanted JOIN messages AS m ON m.id = wanted.value
            WHERE {HAS_OTHER_CHARACTERS}""",
            {"ids": json.dumps(sorted(rows))},
        )


class Lookup:
    """Terms looked up in one window of ids; each term once."""

    def __init__(self, finder: Finder, window: Window) -> None:
        self._finder = finder
        self._window = window
        self._found: dict[Term, Rows | None] = {}

    def candidates(self, query: Query) -> frozenset[int] | None:
        """Return rows among which all matches are, or None if they can be anywhere.

        Raises:
            StoreDamaged: an index, or the messages that it lacks.
        """
        if isinstance(query, Term):
            rows = self._rows(query)
            return None if rows is None else rows.ids
        if isinstance(query, Not):
            return None
        if isinstance(query, AnyOf):
            sets = [self.candidates(part) for part in query.parts]
            known = [rows for rows in sets if rows is not None]
            return NONE.union(*known) if len(known) == len(sets) else None
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
                return Bounds(NONE, rows)
            return Bounds(self._sure(known, rows), rows & known.ids)
        if isinstance(query, Not):
            return Bounds(rows - self.bounds(query.part, rows).possible, rows)
        certain, possible = zip(*(self.bounds(part, rows) for part in query.parts), strict=True)
        join = frozenset.union if isinstance(query, AnyOf) else frozenset.intersection
        return Bounds(join(*certain), join(*possible))

    def _sure(self, known: Rows, rows: frozenset[int]) -> frozenset[int]:
        if not known.sure:
            return NONE
        window = self._window._replace(low=min(rows), high=max(rows))
        return rows & self._finder.match(known.by, known.sure, window)

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

    def _look_up(self, term: Term) -> Rows | None:
        words = self._finder.indexes.words
        if not words.is_usable or not words.has_calls:
            return None
        if has_unspaced(term.text):
            return self._unspaced(term)
        return self._parts(term) if term.part else self._spaced(term)

    def _spaced(self, term: Term) -> Rows | None:
        """Words of scripts with spaces: the word index, and what it has glued to other scripts."""
        words = words_of(term.text)
        if not words:
            return None
        index = self._finder.indexes.words
        said = f"{index.text_columns} : {phrase(term)}"
        found = self._match(WORDS, anywhere(term))
        if not term.text.isascii():
            found |= self._match(WORDS, said)
        outside = self._outside_words()
        if self._finder.has_unspaced():  # a word beside such a script is one token with it
            long = [word for word in words if len(word) >= _LEAST_TRIGRAM]
            if long and self._finder.indexes.trigrams.is_usable:
                others = self._match(TRIGRAMS, all_said(long)) - found
                found |= self._finder.with_other_characters(others)
                outside += self._outside_trigrams()
            else:
                outside.append(HAS_OTHER_CHARACTERS)
        is_exact = term.text.isascii() and (
            term.text.isalnum() or (term.quoted and re.fullmatch(r"[\w\s]+", term.text, re.ASCII))
        )
        exact = is_exact and "_" not in term.text and not index.combined
        return Rows(found | self._sifted(term, outside), said if exact else "")

    def _parts(self, term: Term) -> Rows | None:
        """Words with something glued to them: trigrams, where they are long enough."""
        words = [word for word in words_of(term.text) if len(word) >= _LEAST_TRIGRAM]
        if not words or not self._finder.indexes.trigrams.is_usable:
            return None
        found = self._match(TRIGRAMS, all_said(words))
        outside = self._outside_trigrams()
        if not term.text.isascii():
            found |= self._match(WORDS, "{content} : ^ json")  # in JSON, other letters are escaped
            outside += self._outside_words()
        return Rows(found | self._sifted(term, outside))

    def _unspaced(self, term: Term) -> Rows | None:
        """Scripts without spaces: trigrams, where a run is long enough."""
        trigrams = self._finder.indexes.trigrams
        runs = unspaced_runs(term.text)
        long = [run for run in runs if len(run) >= _LEAST_TRIGRAM]
        if not long or not trigrams.is_usable:
            return None
        said = all_said(long)
        found = self._match(TRIGRAMS, said) | self._match(WORDS, anywhere(term))
        found |= self._sifted(term, self._outside_trigrams() + self._outside_words())
        exact = runs == [term.text] and not trigrams.combined
        return Rows(found, said if exact else "", TRIGRAMS)

    def _outside_trigrams(self) -> list[str]:
        """Return conditions for rows that are searched and not in the trigram index."""
        trigrams = self._finder.indexes.trigrams
        conditions = []
        if trigrams.skips_sources and self._finder.reach.automation:
            conditions.append(self._finder.is_automation)
        if not trigrams.has_tools and self._finder.reach.includes("tool"):
            conditions.append(_IS_TOOL)
        if trigrams.state is State.INCOMPLETE:
            conditions.append(_is_not_in(TRIGRAMS))
        return conditions

    def _outside_words(self) -> list[str]:
        """Return conditions for rows of which the word index has nothing, or only the head."""
        words = self._finder.indexes.words
        conditions = []
        if words.tool_heads and self._finder.reach.includes("tool"):
            conditions.append(_IS_TOOL)
        if words.state is State.INCOMPLETE:
            conditions.append(_is_not_in(WORDS))
        return conditions

    def _match(self, index: str, query: str) -> frozenset[int]:
        return self._finder.match(index, query, self._window)

    def _sifted(self, term: Term, conditions: Iterable[str]) -> frozenset[int]:
        return self._finder.sifted(term, conditions, self._window)


def _is_not_in(index: str) -> str:
    return f"NOT EXISTS (SELECT 1 FROM {index}_docsize AS indexed WHERE indexed.id = m.id)"


def _rarity(query: Query) -> int:
    term = likely_rarest(query)
    return len(term.text) if term else 0
