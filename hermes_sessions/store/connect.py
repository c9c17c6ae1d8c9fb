"""Open a store so that reading it harms nobody.

Rules that every path here keeps: the connection is read-only; the journal mode is never changed;
no side file is created in the home; the file is never opened by other means while a connection of
this process has it (closing such a descriptor would drop SQLite's locks). A WAL store that nobody
has open has no ``-wal``: it is read as immutable, since ``mode=ro`` would leave a ``-wal`` and a
``-shm`` behind. A store that a crash left with a ``-wal`` or a ``-journal`` but no ``-shm`` cannot
be read without writing beside it: it is read from a private copy.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Mapping  # noqa: TC003 - a constant has its type
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from hermes_sessions.content import RawText
from hermes_sessions.errors import StoreBusy, StoreDamaged, StoreMissing, UserError
from hermes_sessions.side_files import JOURNAL, SHM, WAL, side_file, size_of
from hermes_sessions.store.complaints import COPY_FIRST, explain
from hermes_sessions.store.schema import NEEDED, read_capabilities

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from sqlite_utils import Database

from hermes_sessions.store.schema import Capabilities

T = TypeVar("T")

_ATTEMPTS = 5
"""Times that a query is run anew because the file changed under it."""

READ_TIMEOUT = 5.0
"""Seconds a read waits for a writer that is committing (rollback journal only)."""

NOTHING: Mapping[str, object] = {}
_MAGIC = b"SQLite format 3\x00"
_NEEDS_ROLLBACK = {"SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY", "SQLITE_READONLY"}


class FileFacts(NamedTuple):
    """What the header and the neighbours of a store say, read before it is opened."""

    size: int
    mtime_ns: int
    wal_header: bool
    wal_size: int
    has_shm: bool

    @property
    def is_crash_leftover(self) -> bool:
        """There is a log to be recovered, and no process that has the store open would do it."""
        return self.wal_header and self.wal_size > 0 and not self.has_shm


class Store:
    """One open store: a read-only connection, what it can answer, and errors in the user's words.

    Attributes:
        path: the file the user meant (not the private copy it may be read from).
        capabilities: what the file has.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        unchanged: FileFacts | None = None,
        cleanup: Callable[[], None] | None = None,
    ) -> None:
        """Take over a connection.

        Args:
            path: the file the user meant.
            connection: closed by ``close``.
            unchanged: facts that hold as long as the file may be read as immutable.
            cleanup: called after the connection is closed.
        """
        self.path = path
        self._connection = connection
        self._unchanged = unchanged
        self._cleanup = cleanup
        self._report: Callable[[str], object] | None = None
        self._broken_text: Callable[[bytes], str | RawText] = _replaced_text
        self.capabilities: Capabilities = read_capabilities(self.rows)
        missing = [name for name in NEEDED if name not in self.capabilities.tables]
        if missing:
            raise UserError(
                f"{path} has no table {' and no table '.join(missing)}: it is no store of Hermes",
                hint="check the path with: hermes-sessions where",
            )

    def rows(
        self, sql: str, parameters: Mapping[str, object] = NOTHING
    ) -> list[tuple[object, ...]]:
        """Run a query to its end and return its rows, so that no read stays open.

        Raises:
            StoreDamaged: the pages the query needs are malformed.
            StoreBusy: a writer kept the file locked for READ_TIMEOUT seconds.
        """
        return self._read(sql, parameters, sqlite3.Cursor.fetchall)

    def exact_rows(
        self, sql: str, parameters: Mapping[str, object] = NOTHING
    ) -> list[tuple[object, ...]]:
        """Return rows with every cell as it is stored; text that is not UTF-8 as ``RawText``.

        Raises:
            StoreDamaged, StoreBusy: as for ``rows``.
        """
        self._broken_text = _raw_text
        try:
            return self._read(sql, parameters, sqlite3.Cursor.fetchall)
        finally:
            self._broken_text = _replaced_text

    def ids(self, sql: str, parameters: Mapping[str, object] = NOTHING) -> frozenset[int]:
        """Return the integers in the only column of a query, of which there may be very many.

        Raises:
            StoreDamaged, StoreBusy: as for ``rows``.
        """
        return self._read(sql, parameters, lambda cursor: frozenset(chain.from_iterable(cursor)))

    def id_array(self, sql: str, parameters: Mapping[str, object] = NOTHING) -> array[int]:
        """Return the integers in the only column of a query, in their order, in little memory.

        Raises:
            StoreDamaged, StoreBusy: as for ``rows``.
        """
        return self._read(sql, parameters, lambda c: array("q", chain.from_iterable(c)))

    def introspect(self, look: Callable[[Database], T]) -> T:
        """Look at the schema with sqlite-utils; what takes its time to import is for upkeep only.

        Raises:
            StoreDamaged, StoreBusy: as for ``rows``.
        """
        from sqlite_utils import Database

        # Neither plug-ins nor a setting of its own on a connection to somebody's conversations.
        return self._steadily(
            lambda: look(
                Database(self._connection, recursive_triggers=False, execute_plugins=False)
            )
        )

    def _read(
        self, sql: str, parameters: Mapping[str, object], collect: Callable[[sqlite3.Cursor], T]
    ) -> T:
        return self._steadily(lambda: self._fetch(sql, parameters, collect))

    def _steadily(self, read: Callable[[], T]) -> T:
        """Read again what somebody wrote to meanwhile, and explain what goes wrong."""
        for _ in range(_ATTEMPTS):
            try:
                found = read()
            except sqlite3.DatabaseError as error:
                if not self._has_changed():
                    raise explain(error, self.path) from error
            else:
                if not self._has_changed():
                    return found
            self._reopen()
        raise StoreBusy(
            f"{self.path} changes faster than it can be read", hint="try again in a moment"
        )

    def _fetch(
        self, sql: str, parameters: Mapping[str, object], collect: Callable[[sqlite3.Cursor], T]
    ) -> T:
        try:
            return collect(self._connection.execute(sql, parameters))
        except UnicodeEncodeError:  # words of a command line may be bytes that are no text
            parameters = {name: _as_text(value) for name, value in parameters.items()}
            return self._fetch(sql, parameters, collect)
        except sqlite3.OperationalError as error:
            if "Could not decode" not in str(error):
                raise
        # Some text is not UTF-8. Replacing what is broken costs a call for each cell, so it is
        # done only where the plain way has failed.
        self._connection.text_factory = self._broken_text
        try:
            return collect(self._connection.execute(sql, parameters))
        finally:
            self._connection.text_factory = str

    def _has_changed(self) -> bool:
        """Tell whether somebody writes to a file that was opened as immutable."""
        return self._unchanged is not None and file_facts_changed(self.path, self._unchanged)

    def _reopen(self) -> None:
        """Open again what somebody has written to: with locks while they have it open."""
        self._connection.close()
        self._connection, self._unchanged = _connect_in_place(self.path, file_facts(self.path))
        self._connection.set_trace_callback(self._report)

    def row(
        self, sql: str, parameters: Mapping[str, object] = NOTHING
    ) -> tuple[object, ...] | None:
        """Return the first row of a query, or None."""
        rows = self.rows(sql, parameters)
        return rows[0] if rows else None

    def value(self, sql: str, parameters: Mapping[str, object] = NOTHING) -> object:
        """Return the first cell of the first row of a query, or None."""
        row = self.row(sql, parameters)
        return row[0] if row else None

    def trace(self, report: Callable[[str], object]) -> None:
        """Report every statement from now on."""
        self._report = report
        self._connection.set_trace_callback(report)

    def interruptible(self) -> AbstractContextManager[None]:
        """Let Ctrl-C stop statements."""
        from hermes_sessions.store.interrupting import interruptible

        return interruptible(self._connection)

    def close(self) -> None:
        """Close the connection and forget a private copy."""
        self._connection.close()
        if self._cleanup:
            self._cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open_store(path: Path) -> Store:
    """Open a store for reading.

    Raises:
        StoreMissing: there is no such file.
        StoreDamaged: empty, not a database, or malformed in a way that shows at once.
    """
    facts = file_facts(path)
    if facts.is_crash_leftover:
        return _open_private_copy(path)
    connection, unchanged = _connect_in_place(path, facts)
    try:
        return _own(path, connection, unchanged=unchanged)
    except UserError as error:  # a crash left a journal that must be rolled back before reading
        cause = error.__cause__
        if isinstance(cause, sqlite3.Error) and cause.sqlite_errorname in _NEEDS_ROLLBACK:
            return _open_private_copy(path)
        raise


def file_facts(path: Path) -> FileFacts:
    """Read what must be known before opening; never call this while the store is open.

    Raises:
        StoreMissing: there is no such file.
        StoreDamaged: empty or not a database.
    """
    try:
        stat = path.stat()
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        raise StoreMissing(f"no store at {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    if not header:
        raise StoreDamaged(
            f"{path} is damaged: it is empty (0 bytes)",
            hint="look for a .bak beside it, or restore a backup",
        )
    if not header.startswith(_MAGIC):
        what = "its header is all zeros" if not header.strip(b"\0") else "it is not a database"
        raise StoreDamaged(f"{path} is damaged: {what}", hint=COPY_FIRST)
    return FileFacts(
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        wal_header=header[18] == 2 or header[19] == 2,  # noqa: PLR2004 - format of the header
        wal_size=size_of(side_file(path, WAL)),
        has_shm=side_file(path, SHM).exists(),
    )


def file_facts_changed(path: Path, facts: FileFacts) -> bool:
    """Tell whether somebody began to write since the facts were read (no descriptor is opened)."""
    try:
        stat = path.stat()
    except OSError:
        return True
    wal_size = size_of(side_file(path, WAL))
    return (stat.st_size, stat.st_mtime_ns, wal_size) != (facts.size, facts.mtime_ns, 0)


def _connect_in_place(path: Path, facts: FileFacts) -> tuple[sqlite3.Connection, FileFacts | None]:
    """Connect to the file itself; the facts come back if they must hold for what is read."""
    if facts.wal_header and not facts.wal_size:
        return _connect(path, path, "mode=ro&immutable=1"), facts
    return _connect(path, path, "mode=ro"), None


def _connect(path: Path, real: Path, query: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(
            f"{real.absolute().as_uri()}?{query}",
            uri=True,
            timeout=READ_TIMEOUT,
            isolation_level=None,
        )
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _own(
    path: Path,
    connection: sqlite3.Connection,
    *,
    unchanged: FileFacts | None = None,
    cleanup: Callable[[], None] | None = None,
) -> Store:
    try:
        return Store(path, connection, unchanged=unchanged, cleanup=cleanup)
    except BaseException:
        connection.close()
        raise


def _open_private_copy(path: Path) -> Store:
    """Recover a copy, out of the home's way; the original keeps what a crash left in it."""
    import shutil
    import tempfile

    directory = Path(tempfile.mkdtemp(prefix="hermes-sessions-"))

    def forget() -> None:
        shutil.rmtree(directory, ignore_errors=True)

    try:
        for end in ("", WAL, JOURNAL):
            original = side_file(path, end)
            if original.exists():
                shutil.copyfile(original, directory / f"state.db{end}")
        connection = _connect(path, directory / "state.db", "mode=rw")
        return _own(path, connection, cleanup=forget)
    except OSError as error:
        forget()
        raise UserError(
            f"{path} was left by a crash and cannot be copied to be read: {error.strerror}",
            hint="start hermes once: it recovers its store",
        ) from None
    except BaseException:
        forget()
        raise


def _replaced_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _raw_text(data: bytes) -> str | RawText:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return RawText(data)


def _as_text(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
