"""The search indexes of a store: what each holds by its definition, and whether it can be trusted.

``schema_version`` does not tell the layout (store facts §5); the DDL does. An index is trusted only
if nothing marks it as stale, its triggers are there, it counts as many rows as there are, and it
finds words that are known to be in some of them: an index whose pages were lost answers without an
error and finds nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import plain_text
from hermes_sessions.errors import UserError
from hermes_sessions.matching import is_unspaced, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.store.connect import Store

WORDS: Final = "messages_fts"
TRIGRAMS: Final = "messages_fts_trigram"
_SAMPLES: Final = 8
"""Rows, spread over the store, whose own words an index must find."""


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
    def text_columns(self) -> str:
        """The columns of what was said, as an FTS5 column filter."""
        return "content" if self.combined else "{content tool_name}"


class Health(NamedTuple):
    """The indexes of a store."""

    words: Index
    trigrams: Index

    @property
    def problems(self) -> tuple[Index, ...]:
        """The indexes that cannot be trusted."""
        return tuple(i for i in (self.words, self.trigrams) if i.state is not State.OK)


def check_indexes(store: Store) -> Health:
    """Look at both indexes; cheap on a healthy store."""
    ddl = {
        str(name): str(sql)
        for name, sql in store.rows(
            "SELECT name, sql FROM sqlite_master"
            " WHERE type IN ('table', 'view', 'trigger') AND name LIKE 'messages_fts%'"
            " AND sql NOT NULL"
        )
    }
    marks = _marks(store)
    return Health(_check(store, WORDS, ddl, marks), _check(store, TRIGRAMS, ddl, marks))


def _marks(store: Store) -> dict[str, str]:
    if "state_meta" not in store.capabilities.tables:
        return {}
    rows = store.rows("SELECT key, value FROM state_meta WHERE key LIKE 'fts%'")
    return {str(key): str(value) for key, value in rows}


def _check(store: Store, name: str, ddl: dict[str, str], marks: dict[str, str]) -> Index:
    if name not in ddl:
        return Index(name, State.MISSING)
    index = _layout(name, ddl)
    if marks.get("fts_stale", "0") not in {"0", ""} or f"{name}_insert" not in ddl:
        return index._replace(state=State.STALE)
    if "fts_rebuild_high_water" in marks or "fts_rebuild_progress" in marks:
        return index._replace(state=State.INCOMPLETE)
    try:
        missing = _count_missing(store, index)
        if missing:
            return index._replace(state=State.INCOMPLETE, missing=missing)
        return index._replace(state=_probe(store, index))
    except UserError:  # malformed, or a SQLite without FTS5 or this tokenizer
        return index._replace(state=State.BROKEN)


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
    there = store.value("SELECT count(*) FROM messages")
    indexed = store.value(f"SELECT count(*) FROM {index.name}_docsize")
    return max(0, int(str(there)) - int(str(indexed)))


def _probe(store: Store, index: Index) -> State:
    """Ask the index for words of some rows that it must have."""
    for row_id, word in _samples(store, index):
        found = store.value(
            f"SELECT 1 FROM {index.name} WHERE {index.name} MATCH :word AND rowid = :row",
            {"word": f'"{word}"', "row": row_id},
        )
        if found is None:
            return State.SILENT
    return State.OK


def _samples(store: Store, index: Index) -> Iterable[tuple[int, str]]:
    """Yield (row, a word in it) for rows all over the store; the newest one is among them."""
    low, high = (store.value(f"SELECT {end}(id) FROM messages") for end in ("min", "max"))
    if not isinstance(low, int) or not isinstance(high, int):
        return
    sources = "AND s.source NOT IN ('cron', 'subagent')" if index.skips_sources else ""
    marked = store.capabilities.column("model_config")
    if index.skips_sources:
        sources += f" AND coalesce(instr({marked}, '_delegate_from'), 0) = 0"
    for step in range(_SAMPLES):
        start = high - (high - low) * step // _SAMPLES
        rows = store.rows(
            f"""
            SELECT m.id, substr(m.content, 1, 400)
            FROM messages AS m NOT INDEXED CROSS JOIN sessions AS s ON s.id = m.session_id
            WHERE m.id <= :start AND m.role IN ('user', 'assistant') {sources}
            ORDER BY m.id DESC LIMIT 3""",
            {"start": start},
        )
        for row_id, content in rows:
            word = _a_word(content, index)
            if word and isinstance(row_id, int):
                yield row_id, word
                break


def _a_word(content: object, index: Index) -> str | None:
    """Choose a word that the tokenizer is sure to see as one, and that is not only in JSON."""
    if not isinstance(content, str) or content.startswith("\0"):
        return None
    least = 3 if index.name == TRIGRAMS else 1
    return next(
        (
            word
            for word in words_of(plain_text(content))[:-1]
            if word.isascii() and len(word) >= least and not is_unspaced(word)
        ),
        None,
    )
