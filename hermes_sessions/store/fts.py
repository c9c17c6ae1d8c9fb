"""The search indexes of a store: what each holds by its definition, and whether it can be trusted.

``schema_version`` does not tell the layout (store facts §5); the DDL does. An index is trusted only
if nothing marks it as stale, its triggers are there, it counts as many rows as there are, and it
finds words that are known to be in some of them: an index whose pages were lost answers without an
error and finds nothing.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import plain_text
from hermes_sessions.errors import StoreDamaged, UserError
from hermes_sessions.matching import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.store.connect import Store

WORDS: Final = "messages_fts"
TRIGRAMS: Final = "messages_fts_trigram"

HIGH_WATER: Final = "fts_rebuild_high_water"
PROGRESS: Final = "fts_rebuild_progress"
STALE: Final = "fts_stale"
"""Keys of ``state_meta`` (store facts §8). A row of a half-built index is in it if its id is at
most PROGRESS, or above HIGH_WATER; triggers and search of 0.20.0 and newer go by that."""

_PLACES: Final = 8
"""Places, spread over the store, where an index must find the words of rows."""

_LEAST_WORD: Final = 3


class State(StrEnum):
    """What is wrong with an index, or OK."""

    OK = "ok"
    MISSING = "missing"
    STALE = "stale"  # marked so, or without its triggers
    INCOMPLETE = "incomplete"  # being rebuilt, or rows are missing
    SILENT = "silent"  # finds nothing of what is there
    BROKEN = "broken"  # every question is an error


class Index(NamedTuple):
    """One full-text index.

    Attributes:
        combined: one column holds text, tool name and calls together (up to 0.19).
        has_calls: tool calls are in it.
        has_tools: rows of tools are in it, at least their heads.
        tool_heads: of rows of tools only the first 8192 characters are in it.
        skips_sources: sessions of cron jobs and delegates are not in it.
        missing: how many rows that should be in it are not; 0 if that is not known.
    """

    name: str
    state: State
    combined: bool = False
    has_calls: bool = False
    has_tools: bool = False
    tool_heads: bool = False
    skips_sources: bool = False
    missing: int = 0

    @property
    def is_usable(self) -> bool:
        """Tell whether it finds what it has; what it lacks can be told from its ``_docsize``."""
        return self.state in {State.OK, State.INCOMPLETE}

    @property
    def text_columns(self) -> str:
        """The columns of what was said, as an FTS5 column filter."""
        return "content" if self.combined else "{content tool_name}"


class Sample(NamedTuple):
    """A row that an index must find by a word in it."""

    place: int
    row: int
    word: str
    is_automation: bool


def marks_of(store: Store) -> dict[str, str]:
    """Return what ``state_meta`` says of the indexes."""
    if "state_meta" not in store.capabilities.tables:
        return {}
    rows = store.rows("SELECT key, value FROM state_meta WHERE key LIKE 'fts%'")
    return {str(key): str(value) for key, value in rows}


class Indexes:
    """The indexes of a store; each is looked at when it is asked for, which is cheap if it is fine.

    Attributes:
        problems: those that were looked at and cannot be trusted.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.problems: list[Index] = []

    @cached_property
    def words(self) -> Index:
        """The index of whole words."""
        return self._checked(WORDS)

    @cached_property
    def trigrams(self) -> Index:
        """The index of runs of three characters, for text without spaces.

        What it should have cannot be counted; it lacks at least what the other one lacks.
        """
        index = self._checked(TRIGRAMS)
        if index.state is State.OK and self.words.state is State.INCOMPLETE:
            return index._replace(state=State.INCOMPLETE)
        return index

    def distrust(self, name: str) -> None:
        """Take note that an index was damaged where it was asked."""
        index = self.words if name == WORDS else self.trigrams
        broken = index._replace(state=State.BROKEN)
        if name == WORDS:
            self.words = broken
        else:
            self.trigrams = broken
        self.problems = [one for one in self.problems if one.name != name] + [broken]

    @cached_property
    def _ddl(self) -> dict[str, str]:
        rows = self._store.rows(
            "SELECT name, sql FROM sqlite_master"
            " WHERE type IN ('table', 'view', 'trigger') AND name LIKE 'messages_fts%'"
            " AND sql NOT NULL"
        )
        return {str(name): str(sql) for name, sql in rows}

    @cached_property
    def _marks(self) -> dict[str, str]:
        return marks_of(self._store)

    @cached_property
    def _samples(self) -> list[Sample]:
        return list(_samples(self._store))

    def _checked(self, name: str) -> Index:
        index = self._check(name)
        if index.state is not State.OK:
            self.problems.append(index)
        return index

    def _check(self, name: str) -> Index:
        if name not in self._ddl:
            return Index(name, State.MISSING)
        index = _layout(name, self._ddl)
        if self._marks.get(STALE, "0") not in {"0", ""} or f"{name}_insert" not in self._ddl:
            return index._replace(state=State.STALE)
        is_rebuilt = {HIGH_WATER, PROGRESS} & self._marks.keys()
        try:
            missing = _count_missing(self._store, index)
            if missing or is_rebuilt:
                index = index._replace(state=State.INCOMPLETE, missing=missing)
                if _row_count(self._store, index) != _docsize_count(self._store, index):
                    return index._replace(state=State.SILENT)  # it does not know what it lacks
            return index if self._finds_samples(index) else index._replace(state=State.SILENT)
        except UserError:  # malformed, or a SQLite without FTS5 or this tokenizer
            return index._replace(state=State.BROKEN)

    def _finds_samples(self, index: Index) -> bool:
        """Ask the index for words of some rows that it must have."""
        there = [s for s in self._samples if not (index.skips_sources and s.is_automation)]
        if index.state is State.INCOMPLETE:
            rows = json.dumps([sample.row for sample in there])
            has = self._store.ids(
                f"SELECT id FROM {index.name}_docsize"
                " WHERE id IN (SELECT value FROM json_each(:rows))",
                {"rows": rows},
            )
            there = [sample for sample in there if sample.row in has]
        for sample in {each.place: each for each in there}.values():
            found = self._store.value(
                f"SELECT 1 FROM {index.name} WHERE {index.name} MATCH :word AND rowid = :row",
                {"word": f'"{sample.word}"', "row": sample.row},
            )
            if found is None:
                return False
        return True


def _layout(name: str, ddl: dict[str, str]) -> Index:
    definition, insert = ddl[name], ddl.get(f"{name}_insert", "")
    combined = "tool_calls" not in definition and "tool_name" not in definition
    return Index(
        name,
        State.OK,
        combined=combined,
        has_calls=combined or "tool_calls" in definition,
        has_tools=combined or "role <> 'tool'" not in insert,
        tool_heads="substr" in insert,
        skips_sources="'cron'" in insert,
    )


def _count_missing(store: Store, index: Index) -> int:
    """Count rows that an index of all rows should have and has not."""
    if not index.has_tools:
        return 0  # which rows belong in it would need every row; samples are looked for instead
    indexed = _row_count(store, index)
    bounds = _ends(store, "messages")
    is_gapless = bounds is not None and indexed == bounds[1] - bounds[0] + 1
    if is_gapless and bounds == _ends(store, f"{index.name}_docsize"):
        return 0  # every id is there, so messages need not be counted
    there = store.value("SELECT count(*) FROM messages")
    return max(0, int(str(there)) - indexed)


def _row_count(store: Store, index: Index) -> int:
    """Return how many rows an index has: the first number of the averages that FTS5 keeps."""
    averages = store.value(f"SELECT block FROM {index.name}_data WHERE id = 1")
    number = 0
    for byte in averages if isinstance(averages, bytes) else b"":
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the last byte of a varint
            break
    return number


def _docsize_count(store: Store, index: Index) -> int:
    return int(str(store.value(f"SELECT count(*) FROM {index.name}_docsize")))


def _ends(store: Store, table: str) -> tuple[int, int] | None:
    """Return the lowest and the highest id; asked in one query, SQLite would read every row."""
    low, high = (store.value(f"SELECT {end}(id) FROM {table}") for end in ("min", "max"))
    return (low, high) if isinstance(low, int) and isinstance(high, int) else None


def _samples(store: Store) -> Iterator[Sample]:
    """Yield rows all over the store with a word in each; the newest one is among them."""
    bounds = _ends(store, "messages")
    if bounds is None:
        return
    low, high = bounds
    marks = store.capabilities.column("model_config", of="s")
    for place in range(_PLACES):
        start = high - (high - low) * place // _PLACES
        statement = f"""
            SELECT m.id, substr(m.content, 1, 400), s.source IN ('cron', 'subagent')
                OR coalesce(instr({marks}, '_delegate_from'), 0) > 0
            FROM messages AS m NOT INDEXED CROSS JOIN sessions AS s ON s.id = m.session_id
            WHERE m.id <= :start AND m.role IN ('user', 'assistant')
            ORDER BY m.id DESC LIMIT 3"""
        try:
            rows = store.rows(statement, {"start": start})
        except StoreDamaged:  # the messages, not the index
            continue
        for row_id, content, is_automation in rows:
            word = _a_word(content)
            if word and isinstance(row_id, int):
                yield Sample(place, row_id, word, bool(is_automation))


def _a_word(content: object) -> str | None:
    """Choose a word that the tokenizer is sure to see as one, and that is not only in JSON."""
    if not isinstance(content, str) or content.startswith("\0"):
        return None
    words = words_of(plain_text(content))[:-1]
    return next((word for word in words if word.isascii() and len(word) >= _LEAST_WORD), None)
