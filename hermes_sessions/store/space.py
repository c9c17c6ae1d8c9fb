"""Where the bytes of a store are: exactly, where SQLite can tell, else as far as rows tell it.

Pages belong to one table or index each. The module ``dbstat`` knows which, but many builds of
SQLite are without it; then the lengths of what is stored are added up, and the rest is a rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.side_files import WAL, side_file, size_of
from hermes_sessions.store.dependents import quoted
from hermes_sessions.store.pages import read_pages
from hermes_sessions.store.passes import Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hermes_sessions.errors import UserError
    from hermes_sessions.store.connect import Store

TABLE, INDEX, SEARCH, TEXT, REST = "table", "index", "search index", "text", "rest"
"""Kinds of parts."""

_TEXT_COLUMNS: Final = (
    "content",
    "tool_calls",
    "tool_name",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "api_content",
    "display_metadata",
)
_SHADOWS: Final = ("data", "idx", "docsize", "content", "config")
"""Ends of the names of the tables that an FTS5 table keeps its index in."""


class Part(NamedTuple):
    """A table, an index, a whole search index, or what is left.

    Attributes:
        size: bytes.
    """

    name: str
    kind: str
    size: int


class SourceText(NamedTuple):
    """Bytes of the messages of a source; None for those whose session is gone."""

    source: str | None
    size: int


class Space(NamedTuple):
    """Where the bytes are.

    Attributes:
        size: bytes of the database, free pages too.
        free: bytes of free pages: the least that VACUUM gives back.
        wal: bytes of the write-ahead log beside it.
        parts: the largest first; with the free pages they add up to ``size``.
        is_exact: the parts are pages, not lengths of what is stored.
        by_source: text of messages, the most first.
        damage: what could not be read, or None.
    """

    size: int
    free: int
    wal: int
    parts: tuple[Part, ...]
    is_exact: bool
    by_source: tuple[SourceText, ...]
    damage: UserError | None


class _Object(NamedTuple):
    name: str
    part: str
    kind: str


def has_dbstat(store: Store) -> bool:
    """Tell whether this SQLite knows which pages belong to what."""
    name = "SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'"
    return store.value(name) is not None


def load_space(store: Store, report: Callable[[float], object], *, exact: bool) -> Space:
    """Measure a store: every page, and the text of every message.

    Args:
        store: the open store.
        report: told how much is done, from 0 to 1.
        exact: ask ``dbstat``.
    """
    reading = Pass(store, lambda done: report(0.5 + done / 2 if exact else done))
    pages = read_pages(store)
    size, free = pages.total_bytes, pages.free_bytes
    objects = _objects(store)
    damage = None
    if exact:
        measured, damage = _pages(store, objects, lambda done: report(done / 2))
    by_source = _text_by_source(store, reading)
    if not exact:
        text = sum(each.size for each in by_source)
        indexes, damage = _blobs(store, objects)
        measured = [Part("messages", TEXT, text), *indexes]
    rest = size - free - sum(part.size for part in measured)
    parts = sorted([*measured, Part("other", REST, max(rest, 0))], key=lambda p: (-p.size, p.name))
    return Space(
        size,
        free,
        size_of(side_file(store.path, WAL)),
        tuple(part for part in parts if part.size),
        exact,
        by_source,
        damage or reading.damage,
    )


def _objects(store: Store) -> list[_Object]:
    """Return what has pages; the tables of a search index are parts of it."""
    virtual = {
        str(row[0])
        for row in store.rows(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
        )
    }
    shadows = {f"{name}_{end}": name for name in virtual for end in _SHADOWS}
    rows = store.rows(
        "SELECT name, tbl_name, type FROM sqlite_master WHERE rootpage > 0 ORDER BY name"
    )
    return [
        _Object(str(name), shadows[str(table)], SEARCH)
        if table in shadows
        else _Object(str(name), str(name), TABLE if kind == "table" else INDEX)
        for name, table, kind in rows
    ]


def _pages(
    store: Store, objects: list[_Object], report: Callable[[float], object]
) -> tuple[list[Part], UserError | None]:
    damage = None
    sizes: dict[tuple[str, str], int] = {}
    for number, each in enumerate(objects):
        key = each.part, each.kind
        try:
            pages = store.value(
                "SELECT sum(pgsize) FROM dbstat WHERE name = :name", {"name": each.name}
            )
        except StoreDamaged as error:
            damage, pages = error, 0
        sizes[key] = sizes.get(key, 0) + int(str(pages or 0))
        report((number + 1) / len(objects))
    return [Part(*key, size) for key, size in sizes.items()], damage


def _blobs(store: Store, objects: Iterable[_Object]) -> tuple[list[Part], UserError | None]:
    """Return the search indexes by the length of what they hold."""
    damage = None
    sizes: dict[str, int] = {}
    for each in objects:
        if each.kind != SEARCH or not each.name.startswith(f"{each.part}_"):
            continue
        columns = [str(row[1]) for row in store.rows(f"PRAGMA table_info({quoted(each.name)})")]
        lengths = " + ".join(f"coalesce(length({quoted(name)}), 0)" for name in columns)
        try:
            length = store.value(f"SELECT sum({lengths or 0}) FROM {quoted(each.name)}")
        except StoreDamaged as error:
            damage, length = error, 0
        sizes[each.part] = sizes.get(each.part, 0) + int(str(length or 0))
    return [Part(name, SEARCH, size) for name, size in sizes.items()], damage


def _text_by_source(store: Store, reading: Pass) -> tuple[SourceText, ...]:
    """Add up the text of all messages by the source of their session."""
    names = [name for name in _TEXT_COLUMNS if name in store.capabilities.messages]
    lengths = " + ".join(f"coalesce(length(CAST(m.{name} AS BLOB)), 0)" for name in names)
    sizes: dict[str | None, int] = {}
    for source, size in reading.rows(
        f"""
        SELECT s.source, sum({lengths})
        FROM messages AS m NOT INDEXED LEFT JOIN sessions AS s ON s.id = m.session_id
        WHERE m.id BETWEEN :low AND :high GROUP BY s.source"""
    ):
        key = None if source is None else str(source)
        sizes[key] = sizes.get(key, 0) + int(str(size or 0))
    found = [SourceText(source, size) for source, size in sizes.items()]
    return tuple(sorted(found, key=lambda each: (-each.size, each.source or "")))
