"""Rebuild search indexes from the messages, so that no moment of it can mislead anybody.

Where the triggers of an index know of half-built ones (0.20 and newer), it is marked as Hermes
marks it, emptied, and filled in short transactions, each of which also moves the mark. Whatever
ends this, what is in the index stays in step, searches read the rest one by one, and the next run,
or ``hermes sessions optimize-storage``, goes on from there.

The inline indexes of older releases cannot be marked: 0.19 does not look for it, and newer ones
would take it for something else. They are rebuilt in one transaction, so they change at once or
not at all.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.fts import HIGH_WATER, PROGRESS, STALE, WORDS, marks_of
from hermes_sessions.store.index_tasks import Action
from hermes_sessions.store.shapes import (
    DEFERRAL,
    PARTS,
    TRASH,
    WHOLE_TOOL_ROWS,
    just_made,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hermes_sessions.store.index_tasks import Task
    from hermes_sessions.store.shapes import Shape
    from hermes_sessions.store.writing import Writer

_TARGET: Final = 0.3
"""Seconds that a transaction should take beside others; how many rows that is shows as it goes."""

_FIRST, _FEWEST, _MOST = 500, 100, 50_000
"""Ids of a transaction."""

_EMPTIED: Final = 500
"""Rows of an index that was replaced that are deleted in one transaction."""


def rebuild(writer: Writer, tasks: Sequence[Task]) -> Generator[float]:
    """Cure what can be cured; yields how much is done, from 0 to 1.

    The caller holds the lock that Hermes takes for this (``rebuild_lock``).
    """
    shapes = {t.name: t.shape for t in tasks if t.is_cure and t.shape is not None}
    torn = {task.name for task in tasks if task.is_torn}
    gated = [shape for shape in shapes.values() if shape.is_gated]
    whole = [shape for shape in shapes.values() if not shape.is_gated]
    number = len(whole) + bool(gated)
    done = 0
    if gated:
        names = {shape.name for shape in gated}
        begin = any(t.action is Action.REBUILD for t in tasks if t.name in names)
        for part in _rebuild_in_steps(writer, gated, torn, begin=begin):
            yield part / number
        done += 1
    for shape in whole:
        with writer.transaction():
            _prepare(writer, [shape], torn)
            for part in _fill(writer, [shape], 0, _last_id(writer), nullcontext()):
                yield (done + part) / number
            _finish(writer, [shape])
        done += 1


def _rebuild_in_steps(
    writer: Writer, shapes: Sequence[Shape], torn: Collection[str], *, begin: bool
) -> Iterator[float]:
    with writer.transaction():
        if begin:
            _prepare(writer, shapes, torn)
            _set_mark(writer, HIGH_WATER, _last_id(writer))
            _set_mark(writer, PROGRESS, 0)
        marks = marks_of(writer.store)
    if HIGH_WATER in marks and PROGRESS in marks:  # or another process has finished it
        yield from _fill(writer, shapes, int(marks[PROGRESS]), int(marks[HIGH_WATER]))
    with writer.transaction():
        _finish(writer, shapes)


def _prepare(writer: Writer, shapes: Sequence[Shape], torn: Collection[str]) -> None:
    """Empty indexes, and make the triggers that keep them in step from now on."""
    for shape in shapes:
        if shape.name in torn:
            cut_out(writer, [shape.name, *(f"{shape.name}_{part}" for part in PARTS)])
            writer.run(shape.sql)
        else:
            _empty(writer, shape)
        for statement in shape.triggers_to_make():
            writer.run(statement)
    _forget_marks(writer, STALE, DEFERRAL)


def _empty(writer: Writer, shape: Shape) -> None:
    """Empty an index in whatever state it is."""
    name = shape.name
    try:
        if shape.is_inline:  # FTS5 has no command for these; deleting row by row may take hours
            writer.run(f"DROP TABLE {name}")
            writer.run(shape.sql)
        else:
            writer.run(f"INSERT INTO {name}({name}) VALUES ('delete-all')")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname != "SQLITE_CORRUPT_VTAB":
            raise
        _empty_by_hand(writer, shape)


def _empty_by_hand(writer: Writer, shape: Shape) -> None:
    """Empty an index that FTS5 cannot even open: give its tables the rows of one just made.

    So it need not be cut out of ``sqlite_master``, which is what Hermes does (0.22.2,
    ``hermes_state_repair``). What a new one has is asked of this very SQLite.
    """
    for part, rows in (just_made(shape) or {}).items():
        writer.run(f"DELETE FROM {shape.name}_{part}")
        for row in rows:
            values = {f"value{number}": value for number, value in enumerate(row)}
            names = ", ".join(f":{name}" for name in values)
            writer.run(f"INSERT INTO {shape.name}_{part} VALUES ({names})", values)


def cut_out(writer: Writer, tables: Sequence[str]) -> None:
    """Forget tables whose pages are damaged; the pages stay unused until the file is rewritten.

    Hermes does the same (0.22.2, ``hermes_state_repair``), where not even deleting works.
    """
    writer.run("PRAGMA writable_schema = ON")
    writer.run(
        """
        DELETE FROM sqlite_master
        WHERE type IN ('table', 'index') AND tbl_name IN (SELECT value FROM json_each(:names))""",
        {"names": json.dumps(list(tables))},
    )
    writer.run("PRAGMA writable_schema = RESET")


def _fill(
    writer: Writer,
    shapes: Sequence[Shape],
    low: int,
    high: int,
    step: AbstractContextManager[None] | None = None,
) -> Iterator[float]:
    """Put the rows with ids above ``low`` up to ``high`` into indexes.

    Args:
        writer: in a transaction if ``step`` is given.
        shapes: the indexes.
        low: an id.
        high: another one.
        step: around each step; None: a transaction, in which the mark is moved, too.
    """
    at_once, first = _FIRST, low
    while low < high:
        begun = time.monotonic()
        with step or writer.transaction():
            if step is None:
                found = marks_of(writer.store).get(PROGRESS, "")
                if not found.isdecimal() or int(found) >= high:
                    return  # another process has done it
                low = int(found)
            top = min(low + at_once, high)
            for shape in shapes:
                _insert(writer, shape, "id > :low AND id <= :top", low=low, top=top)
            if step is None:
                _set_mark(writer, PROGRESS, top)
        low = top
        took = max(time.monotonic() - begun, 0.001)
        at_once = min(max(int(at_once * min(2.0, _TARGET / took)), _FEWEST), _MOST)
        yield (low - first) / max(high - first, 1)


def _insert(writer: Writer, shape: Shape, condition: str, **values: object) -> int:
    columns = ", ".join(shape.columns)
    return writer.run(
        f"""
        INSERT INTO {shape.name}(rowid, {columns})
        SELECT id, {shape.values()} FROM {shape.source} WHERE {condition} ORDER BY id""",
        values,
    )


def _finish(writer: Writer, shapes: Sequence[Shape]) -> None:
    """Put in what slipped in between, and take the marks away."""
    for shape in shapes:
        _insert(writer, shape, f"id NOT IN (SELECT id FROM {shape.name}_docsize)")
    if any(shape.is_gated for shape in shapes):
        _forget_marks(writer, HIGH_WATER, PROGRESS)
    if any(shape.name == WORDS and shape.layout == "3" for shape in shapes):
        _forget_marks(writer, WHOLE_TOOL_ROWS)  # of a layout that it was before


def clear_trash(writer: Writer, torn: Collection[str]) -> Generator[float]:
    """Delete what Hermes left of indexes that it has replaced; yields how much is done.

    It does so itself at the end of ``optimize-storage``, and not before the new ones are whole.

    Args:
        writer: outside a transaction.
        torn: tables whose pages are damaged.
    """
    rows = writer.store.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND instr(name, :start) = 1",
        {"start": TRASH},
    )
    names = sorted(str(row[0]) for row in rows)
    if not names:
        return
    with writer.transaction():
        if HIGH_WATER in marks_of(writer.store):
            return
    for number, name in enumerate(names):
        while name not in torn and _delete_some(writer, name):
            yield (number + 0.5) / len(names)
        with writer.transaction():
            if name in torn:
                cut_out(writer, [name])
            else:
                writer.run(f"DROP TABLE {name}")
            _forget_marks(writer, f"fts_teardown_{name}_progress")
        yield (number + 1) / len(names)


def _delete_some(writer: Writer, table: str) -> bool:
    """Delete some rows of a table; tell whether there may be more that take long."""
    if table.endswith(("_idx", "_config")):  # without rowids, and small
        return False
    with writer.transaction():
        return bool(
            writer.run(
                f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} LIMIT :most)",
                {"most": _EMPTIED},
            )
        )


def _last_id(writer: Writer) -> int:
    last = writer.store.value("SELECT max(id) FROM messages")
    return last if isinstance(last, int) else 0


def _set_mark(writer: Writer, key: str, value: int) -> None:
    writer.run(
        """
        INSERT INTO state_meta (key, value) VALUES (:key, :value)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value""",
        {"key": key, "value": str(value)},
    )


def _forget_marks(writer: Writer, *keys: str) -> None:
    if "state_meta" in writer.store.capabilities.tables:
        for key in keys:
            writer.run("DELETE FROM state_meta WHERE key = :key", {"key": key})
