"""The trash: what was deleted, row by row, in files of ours from which it can be brought back.

One file for each run, ``<id>.jsonl``. Nothing is deleted before it is here and was read back, so
what has no end is still in the store, or the file was cut off. A file that is damaged gives what is
whole in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.errors import NotFound, UserError
from hermes_sessions.text import one_line
from hermes_sessions.trash_format import (
    END,
    FORMAT,
    VERSION,
    Header,
    Rows,
    Scan,
    Trashed,
    decode_cell,
    encode,
    facts_of,
    goes,
    note_line,
    read_header,
    table_lines,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = [
    "KEPT_DAYS",
    "Entry",
    "Header",
    "Rows",
    "TrashFile",
    "Trashed",
    "add_note",
    "discard",
    "discard_old",
    "find_entry",
    "list_entries",
    "mint_trash_id",
    "notes",
    "read_entry",
    "read_rows",
]

KEPT_DAYS: Final = 30

_SUFFIX: Final = ".jsonl"
_OURS: Final = r"\d{8}-\d{6}-[0-9a-f]{4}"
_AT_ONCE: Final = 2_000


class Entry(NamedTuple):
    """One file of the trash and what it holds.

    Attributes:
        lacks_notes: some lines between conversations cannot be read.
    """

    path: Path
    header: Header
    size: int
    conversations: tuple[Trashed, ...]
    lacks_notes: bool = False


def mint_trash_id(now: float) -> str:
    """Return a new id: local time and four hex digits."""
    return f"{datetime.fromtimestamp(now):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"  # noqa: DTZ006


class TrashFile:
    """A file of the trash that is being written.

    Attributes:
        path: the file; only its owner can read it.
    """

    def __init__(self, directory: Path, header: Header) -> None:
        """Create the file.

        Raises:
            UserError: it cannot be created; then nothing may be deleted.
        """
        self.header = header
        self.path = directory / f"{header.id}{_SUFFIX}"
        self.files = directory / f"{header.id}.files"
        self._is_named = False
        self._digest: Any = None
        self._going: Any = None
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._file: IO[bytes] = os.fdopen(descriptor, "wb", buffering=1 << 20)
        line = encode({"format": FORMAT, "version": VERSION, **header._asdict()})
        self._verified = len(line)
        self._write(line)

    def begin(self, conversation: dict[str, object]) -> None:
        """Begin a conversation: id, title, source, session_ids, messages."""
        self._digest, self._going = hashlib.sha256(), hashlib.sha256()
        self._line({"conversation": conversation})

    def rows(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write rows of a table of the conversation."""
        for line in table_lines(table, columns, rows):
            self._write(line)
            if goes(table):
                self._going.update(line)

    def end(self, conversation_id: str) -> str:
        """End the conversation; return the digest of its rows that go."""
        digest = str(self._digest.hexdigest())
        self._digest = None
        self._line({"end": conversation_id, "sha256": digest})
        return str(self._going.hexdigest())

    def note(self, **facts: object) -> None:
        """Write a line between conversations, such as ``kept`` or ``prompt``."""
        self._write(note_line(facts))

    def secure(self) -> None:
        """Bring what was written onto the disk, and read it back.

        Raises:
            UserError: it is not there as it was written; then nothing may be deleted.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            if not self._is_named:
                _sync_directory(self.path.parent)
                self._is_named = True
            self._verified = _verify(self.path, self._verified)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self, *, discard: bool = False) -> None:
        """Close the file; ``discard`` it if nothing was deleted."""
        try:
            self._file.close()
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        if discard:
            _remove(self.path)

    def _line(self, value: object) -> None:
        self._write(encode(value))

    def _write(self, line: bytes) -> None:
        if self._digest is not None:
            self._digest.update(line)
        try:
            self._file.write(line)
        except OSError as error:
            raise _cannot_write(self.path, error) from error


def _verify(path: Path, offset: int) -> int:
    """Check every conversation behind an offset; return where the file ends."""
    with path.open("rb") as file:
        file.seek(offset)
        scan = Scan(offset)
        for line in file:
            scan.read(line)
    if any(one.damaged for one in scan.finish()) or scan.lacks_notes:
        raise UserError(
            f"{path} does not hold what was written to it",
            hint="check the disk; nothing of this was deleted",
        )
    return scan.offset


def list_entries(directory: Path) -> list[Entry]:
    """Return the files of the trash, the newest first; what is no such file is passed over."""
    return _read_all(directory)[0]


def find_entry(directory: Path, entry_id: str | None, *, store: Path | None = None) -> Entry:
    """Return the file of an id or the start of one; the newest without one.

    Args:
        directory: the trash.
        entry_id: what was typed.
        store: without an id only what was deleted from this one is meant.

    Raises:
        NotFound: there is none.
        UserError: it cannot be read.
    """
    entries, problems = _read_all(directory)
    if entry_id is None:
        entries = [e for e in entries if e.conversations and (not store or _is_from(e, store))]
        newest = entries[0].header.id if entries else ""
        later = [problem for name, problem in problems.items() if name > newest]
        if later:  # what was deleted last is meant, and that is not what can be read
            raise later[-1]
    else:
        entries = [e for e in entries if e.header.id.startswith(entry_id)] if entry_id else []
        meant = [p for name, p in problems.items() if entry_id and name.startswith(entry_id)]
        if meant and not entries:
            raise meant[0]
    if not entries:
        what = f"nothing called {one_line(entry_id)}" if entry_id is not None else "nothing"
        whose = f" that was deleted from {store}" if store and entry_id is None else ""
        raise NotFound(f"there is {what} in the trash{whose}", hint="hermes-sessions trash list")
    if entry_id and len(entries) > 1 and all(e.header.id != entry_id for e in entries):
        raise NotFound(
            f"“{one_line(entry_id)}” is the start of more than one",
            details=tuple(e.header.id for e in entries),
            hint="give more of the id",
        )
    return next((e for e in entries if e.header.id == entry_id), entries[0])


def _is_from(entry: Entry, store: Path) -> bool:
    return os.path.realpath(entry.header.store) == os.path.realpath(store)


def _read_all(directory: Path) -> tuple[list[Entry], dict[str, UserError]]:
    """Return what can be read, the newest first, and by id what is ours and cannot, sorted."""
    entries: list[Entry] = []
    problems: dict[str, UserError] = {}
    for path in sorted(directory.glob(f"*{_SUFFIX}")):
        try:
            entries.append(read_entry(path))
        except OSError as error:
            problems[path.stem] = UserError(f"cannot read {path}: {error.strerror or error}")
        except UserError as error:
            if re.fullmatch(_OURS, path.stem) and not _is_stillborn(path):
                problems[path.stem] = error
    return sorted(entries, key=lambda e: e.header.created_at, reverse=True), problems


def _is_stillborn(path: Path) -> bool:
    """Tell whether a run was killed before its first line was written: it deleted nothing."""
    with path.open("rb") as file:
        return not file.readline().endswith(b"\n")


def read_entry(path: Path) -> Entry:
    """Read what a file of the trash holds, without its rows.

    Raises:
        UserError: it is no such file.
    """
    with path.open("rb") as file:
        first = file.readline()
        header = read_header(path, first)
        scan = Scan(len(first))
        for line in file:
            scan.read(line)
    conversations = scan.finish()
    return Entry(path, header, scan.offset, conversations, scan.lacks_notes)


def read_rows(entry: Entry, trashed: Trashed) -> Iterator[Rows]:
    """Yield the tables of a conversation with their rows, some thousand at most at a time.

    Raises:
        UserError: the rows are not what was written; those that came before must be forgotten.
    """
    damage = UserError(
        f"what is in {entry.path} of it is damaged", hint="nothing of it was changed"
    )
    if trashed.damaged:
        raise damage
    current: Rows | None = None
    with entry.path.open("rb") as file:
        file.seek(trashed.offset)
        digest = hashlib.sha256(file.readline())
        for line in file:
            if line.startswith(END):
                if value_of(line, "sha256") != digest.hexdigest():
                    raise damage
                if current is not None:
                    yield current
                return
            digest.update(line)
            value = json.loads(line)
            if isinstance(value, dict):
                if current is not None:
                    yield current
                current = Rows(value["table"], tuple(value["columns"]), [])
            elif current is not None:
                current.rows.append([decode_cell(cell) for cell in value])
                if len(current.rows) >= _AT_ONCE:
                    yield current
                    current = current._replace(rows=[])
    raise damage


def notes(entry: Entry, name: str) -> list[list[Any]]:
    """Return the cells of the notes of one name; what is damaged is left out."""
    start = f'{{"{name}":'.encode()
    with entry.path.open("rb") as file:
        found = [facts_of(line) for line in file if line.startswith(start)]
    return [[decode_cell(cell) for cell in facts[name]] for facts in found if facts]


def add_note(entry: Entry, **facts: object) -> None:
    """Add a note to a file of the trash that was written before."""
    with entry.path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        is_cut_off = file.read(1) != b"\n"
        file.write((b"\n" if is_cut_off else b"") + note_line(facts))
        file.flush()
        os.fsync(file.fileno())


def discard(entry: Entry) -> None:
    """Delete a file of the trash for good."""
    _remove(entry.path)


def _remove(path: Path) -> None:
    import shutil

    shutil.rmtree(path.with_suffix(".files"), ignore_errors=True)
    path.unlink(missing_ok=True)


def discard_old(directory: Path, now: float) -> None:
    """Delete what has been in the trash for longer than it is kept."""
    limit = now - KEPT_DAYS * 86_400
    for path in directory.glob(f"*{_SUFFIX}"):
        try:
            if path.stat().st_mtime < limit and (
                _is_stillborn(path) or read_entry(path).header.created_at < limit
            ):
                _remove(path)
        except (OSError, UserError):
            continue


def _sync_directory(directory: Path) -> None:
    """Bring the name of a new file onto the disk; Windows has no way to do that, nor the need."""
    if sys.platform != "win32":
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> UserError:
    return UserError(
        f"cannot write the trash {path}: {error.strerror or error}",
        hint="nothing was deleted; free some space, or give --no-trash to delete for good",
    )
