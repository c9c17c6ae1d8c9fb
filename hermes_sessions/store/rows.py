"""Rows of the trash written into tables of a store, each cell with the type that it had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import RawText
from hermes_sessions.store.dependents import quoted, table_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_sessions.store.writing import Writer
    from hermes_sessions.trash import Rows


_CELLS: Final = 600
"""Cells that one statement writes; with more, SQLite takes too long to find them by their names."""


class _Shape(NamedTuple):
    """What of some rows goes where; columns that the store has no more are left out."""

    positions: tuple[int, ...]
    names: tuple[str, ...]


class RowWriter:
    """Writes rows in a transaction."""

    def __init__(self, writer: Writer) -> None:
        """Take a connection."""
        self._writer = writer
        self._columns: dict[str, tuple[str, ...]] = {}
        self._shapes: dict[tuple[str, tuple[str, ...]], _Shape] = {}

    def columns_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table; none if it is not there."""
        if table not in self._columns:
            self._columns[table] = table_columns(self._writer.store, table)
        return self._columns[table]

    def insert(self, rows: Rows, row: Sequence[object], *, or_ignore: bool = False) -> bool:
        """Insert one row of some; tell whether it was, since ``or_ignore`` may leave it."""
        shape = self._shape(rows)
        marks, values = _marks_and_values(shape, row)
        number = self._writer.run(
            f"INSERT {'OR IGNORE ' if or_ignore else ''}INTO {quoted(rows.table)}"
            f" ({', '.join(shape.names)}) VALUES ({', '.join(marks)})",
            values,
        )
        return number > 0

    def insert_all(self, rows: Rows) -> None:
        """Insert all rows of some, many with one statement.

        Each statement inside a transaction has SQLite keep what it would need to undo just that,
        and FTS5 write down what it still had in memory; for a row that is more than its own work.
        """
        shape = self._shape(rows)
        at_once = max(1, _CELLS // len(shape.names))
        for start in range(0, len(rows.rows), at_once):
            values: dict[str, object] = {}
            marks = []
            for number, row in enumerate(rows.rows[start : start + at_once]):
                of_row, bound = _marks_and_values(shape, row, f"r{number}")
                marks.append(f"({', '.join(of_row)})")
                values |= bound
            self._writer.run(
                f"INSERT INTO {quoted(rows.table)} ({', '.join(shape.names)})"
                f" VALUES {', '.join(marks)}",
                values,
            )

    def count_equal(self, rows: Rows, row: Sequence[object]) -> int:
        """Count the rows of the store that are like one of some."""
        shape = self._shape(rows)
        marks, values = _marks_and_values(shape, row)
        condition = " AND ".join(f"{n} IS {m}" for n, m in zip(shape.names, marks, strict=True))
        found = self._writer.store.value(
            f"SELECT count(*) FROM {quoted(rows.table)} WHERE {condition}", values
        )
        return int(str(found))

    def insert_prompt(self, table: str, key: object, prompt: object) -> None:
        """Insert a stored prompt, unless it is there."""
        self._writer.run(
            f"INSERT OR IGNORE INTO {table} (hash, prompt)"
            f" VALUES (:key, {_mark('prompt', prompt)})",
            {"key": key, "prompt": _bound(prompt)},
        )

    def _shape(self, rows: Rows) -> _Shape:
        key = rows.table, rows.columns
        if key not in self._shapes:
            known = self.columns_of(rows.table)
            positions = tuple(i for i, name in enumerate(rows.columns) if name in known)
            self._shapes[key] = _Shape(positions, tuple(quoted(rows.columns[i]) for i in positions))
        return self._shapes[key]


def _marks_and_values(
    shape: _Shape, row: Sequence[object], prefix: str = ""
) -> tuple[list[str], Mapping[str, object]]:
    """Return how the cells of a row are written in SQL, and what is bound to that."""
    cells = [(f"{prefix}c{i}", row[i]) for i in shape.positions]
    marks = [_mark(name, cell) for name, cell in cells]
    return marks, {name: _bound(cell) for name, cell in cells}


def _mark(name: str, value: object) -> str:
    return f"CAST(:{name} AS TEXT)" if isinstance(value, RawText) else f":{name}"


def _bound(value: object) -> object:
    return value.data if isinstance(value, RawText) else value
