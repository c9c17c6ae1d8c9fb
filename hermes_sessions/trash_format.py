"""The lines of a file of the trash: written, and read whatever has become of them.

First a header; then for each conversation a line that begins it, for each table a line with its
columns and below it an array for each row, and a line that ends it with a digest of all before.
Notes stand between conversations, each with its digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.content import RawText
from hermes_sessions.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

FORMAT: Final = "hermes-sessions trash"
VERSION: Final = 1

DETACHED: Final = "(detached)"
"""Stands in place of a table for sessions that stay and lose their parent: child, parent."""

DANGLING: Final = "(dangling)"
"""Stands in place of a table for sessions whose parent was gone already: child, parent."""

BEGIN, END = b'{"conversation":', b'{"end":'
_ROWS: Final = (b"[", b'{"table":')


class Header(NamedTuple):
    """What a run was.

    Attributes:
        created_at: epoch seconds.
        store: the file that rows were deleted from.
        home: its home, or None.
    """

    id: str
    created_at: float
    command: str
    store: str
    home: str | None


class Trashed(NamedTuple):
    """A conversation in the trash.

    Attributes:
        number: its position in the file.
        offset: where it begins in the file.
        kept: it was not deleted after all.
        damaged: it is not what was written, so none of it can be trusted.
    """

    number: int
    offset: int
    id: str
    title: str | None
    source: str
    session_ids: tuple[str, ...]
    messages: int
    kept: bool = False
    damaged: bool = False


class Rows(NamedTuple):
    """Rows of a table."""

    table: str
    columns: tuple[str, ...]
    rows: list[list[Any]]


def table_lines(
    table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> Iterator[bytes]:
    """Yield the lines of rows of a table."""
    yield encode({"table": table, "columns": list(columns)})
    for row in rows:
        yield encode(list(row))


def goes(table: str) -> bool:
    """Tell whether rows of a table are deleted; those of sessions that stay are only noted."""
    return table not in {DETACHED, DANGLING}


def note_line(facts: dict[str, object]) -> bytes:
    """Return the line of a note."""
    return encode({**facts, "sha256": hashlib.sha256(encode(facts)).hexdigest()})


def encode(value: object) -> bytes:
    """Return a value as one line of JSON; bytes, and text that is not UTF-8, as base64."""
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass") + b"\n"


def _encode_cell(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    raise TypeError(type(value).__name__)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_encode_cell)


class Scan:
    """Reads what is in a file of the trash, line after line, whatever has become of it."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.lacks_notes = False
        self._found: list[Trashed] = []
        self._kept: set[str] = set()
        self._begun: Trashed | None = None
        self._digest: Any = None

    def read(self, line: bytes) -> None:
        """Read the next line."""
        if line.startswith(BEGIN):
            self._close(has_end=False)
            self._begin(_trashed(line, len(self._found), self.offset), line)
        elif self._begun is None and line.startswith((*_ROWS, END)):  # how it began is lost
            self._begin(_nameless(len(self._found), self.offset), line)
        elif self._begun is None:
            self._note(line)
        elif line.startswith(END):
            if value_of(line, "sha256") != self._digest.hexdigest():
                self._begun = self._begun._replace(session_ids=(), damaged=True)
            self._close(has_end=True)
        else:
            self._digest.update(line)
        self.offset += len(line)

    def finish(self) -> tuple[Trashed, ...]:
        """Return the conversations, the last of which may have been cut off."""
        self._close(has_end=False)
        return tuple(one._replace(kept=one.id in self._kept) for one in self._found)

    def _begin(self, begun: Trashed | None, line: bytes) -> None:
        self._begun = begun
        self._digest = hashlib.sha256(line)

    def _close(self, *, has_end: bool) -> None:
        if self._begun is not None:
            self.lacks_notes |= not has_end  # they were taken for rows of it
            self._found.append(self._begun._replace(damaged=self._begun.damaged or not has_end))
            self._begun = None

    def _note(self, line: bytes) -> None:
        facts = facts_of(line)
        if facts is None:
            self.lacks_notes = True
        elif "kept" in facts:
            self._kept.add(facts["kept"])


def _trashed(line: bytes, number: int, offset: int) -> Trashed | None:
    """Return the conversation that a line begins; None for one that was cut off."""
    if not line.endswith(b"\n"):
        return None
    try:
        value = json.loads(line)["conversation"]
        return Trashed(
            number,
            offset,
            str(value["id"]),
            value["title"],
            str(value["source"]),
            tuple(value["session_ids"]),
            int(value["messages"]),
        )
    except (ValueError, LookupError, TypeError):
        return _nameless(number, offset)


def _nameless(number: int, offset: int) -> Trashed:
    return Trashed(number, offset, f"(number {number + 1})", None, "", (), 0, damaged=True)


def facts_of(line: bytes) -> dict[str, Any] | None:
    """Return what a note says; None if it is not what was written."""
    try:
        facts: dict[str, Any] = json.loads(line)
        del facts["sha256"]
    except (ValueError, LookupError, TypeError):
        return None
    return facts if line == note_line(facts) else None


def value_of(line: bytes, name: str) -> object:
    """Return one value of a line; None if the line is not whole."""
    try:
        return json.loads(line)[name] if line.endswith(b"\n") else None
    except (ValueError, LookupError, TypeError):
        return None


def read_header(path: Path, line: bytes) -> Header:
    """Read the first line of a file of the trash.

    Raises:
        UserError: it is no such file.
    """
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict) or (value.get("format"), value.get("version")) != (
        FORMAT,
        VERSION,
    ):
        raise UserError(f"{path} is no trash of this version of hermes-sessions")
    return Header._make(value.get(name) for name in Header._fields)


def decode_cell(cell: Any) -> object:  # noqa: ANN401 - JSON is anything
    """Return a cell as it is stored."""
    if isinstance(cell, dict):
        return base64.b64decode(cell["bytes"])
    return RawText(base64.b64decode(cell[0]["bytes"])) if isinstance(cell, list) else cell
