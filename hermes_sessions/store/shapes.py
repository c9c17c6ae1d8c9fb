"""What a search index is made of: the part of the schema that a rebuild must get exactly right.

Everything is read from ``sqlite_master`` of the file itself. Only triggers that are gone, as those
of a stale index are, come from data of ours: ``triggers/`` has them as each release wrote them.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.store.fts import HIGH_WATER, TRIGRAMS, WORDS, marks_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlite_utils import Database

    from hermes_sessions.store.connect import Store

DEFERRAL: Final = "fts_rebuild_deferral"
WHOLE_TOOL_ROWS: Final = "fts_tool_full_content_high_water"
"""Keys of ``state_meta`` (store facts §8), which only a rebuild and its triggers go by."""

TRASH: Final = "fts_v22_trash_"
"""How the tables of an index begin that Hermes has replaced and not yet deleted."""

PARTS: Final = ("data", "idx", "docsize", "config", "content")
"""Ends of the names of the tables that FTS5 keeps an index in; the last one only if inline."""

_EVENTS: Final = ("insert", "delete", "update")
_DIRECTORY: Final = Path(__file__).parent / "triggers"
_HEAD: Final = (
    "CASE WHEN role = 'tool'{mark} THEN substr(coalesce(content, ''), 1, 8192) ELSE content END"
)
_ABOVE_MARK: Final = (
    " AND id > coalesce((SELECT CAST(value AS INTEGER) FROM state_meta"
    f" WHERE key = '{WHOLE_TOOL_ROWS}'), -1)"
)
_ALL_OF_A_ROW: Final = (
    "coalesce({text}, '') || ' ' || coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '')"
)


class Shape(NamedTuple):
    """How one index is defined.

    Attributes:
        sql: what made its table.
        arguments: what FTS5 was told, as text.
        columns: of the index.
        source: the table or view whose rows it must have.
        is_inline: it keeps a copy of the text of its own (up to 0.19).
        triggers: what keeps it in step, by name; some or all may be missing.
        whole_tool_rows: up to a mark, rows of tools are in it whole, above it their heads.
        source_sql: what made ``source``; "" if it is gone.
    """

    name: str
    sql: str
    arguments: str
    columns: tuple[str, ...]
    source: str
    is_inline: bool
    triggers: Mapping[str, str]
    whole_tool_rows: bool
    source_sql: str

    @property
    def trigger_names(self) -> tuple[str, ...]:
        """The triggers that it must have."""
        return tuple(f"{self.name}_{event}" for event in _EVENTS)

    @property
    def missing_triggers(self) -> tuple[str, ...]:
        """Those that it must have and has not."""
        return tuple(name for name in self.trigger_names if name not in self.triggers)

    @property
    def is_gated(self) -> bool:
        """Tell whether its triggers know which rows a half-built index has (store facts §5).

        Those that would be made for it do if it is not inline.
        """
        texts = [self.triggers.get(name) for name in self.trigger_names]
        return not self.is_inline and all(text is None or HIGH_WATER in text for text in texts)

    @property
    def layout(self) -> str:
        """Return the layout by its number in the store facts; those of the two indexes differ."""
        if self.is_inline:
            return "inline"
        if self.name == TRIGRAMS:
            return "1" if "tool_calls" in self.columns else "2"
        if self.source != "messages":
            return "3"
        return "2" if self.whole_tool_rows else "1"

    def values(self) -> str:
        """Return what goes into each column, as a list of expressions over a row of ``source``.

        It is what the insert trigger takes of the row, or deletions would not find it again.
        """
        if self.is_inline:
            heads = "substr" in self.triggers.get(f"{self.name}_insert", "")
            return _ALL_OF_A_ROW.format(text=_HEAD.format(mark="") if heads else "content")
        content = _HEAD.format(mark=_ABOVE_MARK) if self.whole_tool_rows else "content"
        return ", ".join(content if name == "content" else name for name in self.columns)

    def triggers_to_make(self) -> list[str]:
        """Return the statements for the triggers that are missing."""
        made = {name: text for name, text in _known(self).items() if name != self.source}
        return [made[name] for name in self.missing_triggers]

    def obstacle(self) -> str | None:
        """Say why it cannot be rebuilt by what is known here, or return None."""
        if not self.source_sql:
            return f"its source {self.source} is gone"
        known = _known(self).get(self.source, self.source_sql)
        if self.missing_triggers and known.split() != self.source_sql.split():
            return f"its source {self.source} is of a release not known here"
        return None


def _known(shape: Shape) -> dict[str, str]:
    """Return the statements for the view and the triggers of a layout, by what they make."""
    text = (_DIRECTORY / f"{shape.name}-{shape.layout}.sql").read_text(encoding="utf-8")
    statements = re.finditer(r"(?ms)^CREATE (?:VIEW|TRIGGER) (\w+)\s.*?(?=;\n\n|;\n\Z)", text)
    return {statement[1]: statement[0] for statement in statements}


def read_shapes(store: Store) -> dict[str, Shape]:
    """Return the indexes for words and for trigrams, as far as they are there."""
    marks = marks_of(store)
    return store.introspect(lambda database: _shapes(database, marks))


def _shapes(database: Database, marks: Mapping[str, str]) -> dict[str, Shape]:
    indexes = database.table_names(fts5=True)
    return {name: _shape(database, name, marks) for name in (WORDS, TRIGRAMS) if name in indexes}


def _shape(database: Database, name: str, marks: Mapping[str, str]) -> Shape:
    sql = database.table(name).schema
    inside = re.search(r"USING\s+fts5\s*\((.*)\)", sql, re.DOTALL | re.IGNORECASE)
    arguments = inside[1].strip() if inside else ""
    words = [word.strip() for word in arguments.split(",")]
    options = {
        key.strip(): value.strip().strip("'\"")
        for key, _, value in (word.partition("=") for word in words if "=" in word)
    }
    source = options.get("content", "messages")
    is_there = source in {*database.table_names(), *database.view_names()}
    triggers = {
        trigger: text
        for trigger, text in database.triggers_dict.items()
        if trigger in {f"{name}_{event}" for event in _EVENTS}
    }
    insert = triggers.get(f"{name}_insert")
    is_marked = WHOLE_TOOL_ROWS in (insert if insert is not None else marks)
    return Shape(
        name=name,
        sql=sql,
        arguments=arguments,
        columns=tuple(word for word in words if "=" not in word),
        source=source,
        is_inline="content" not in options,
        triggers=triggers,
        whole_tool_rows=name == WORDS and source == "messages" and is_marked,
        source_sql=database[source].schema if is_there else "",
    )


def just_made(shape: Shape) -> dict[str, list[tuple[object, ...]]] | None:
    """Return what is in the tables of such an index when it is new, by the ends of their names.

    Returns:
        None if this SQLite has no FTS5, or not the tokenizer.
    """
    parts = PARTS if shape.is_inline else PARTS[:-1]
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"CREATE VIRTUAL TABLE new USING fts5({shape.arguments})")
        except sqlite3.Error:
            return None
        return {part: connection.execute(f"SELECT * FROM new_{part}").fetchall() for part in parts}
