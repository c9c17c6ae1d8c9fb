"""Open a store for writing beside a Hermes that may be running.

The rules: one short ``BEGIN IMMEDIATE`` at a time, foreign keys on, the journal mode as it is, the
file never replaced (a live Hermes refuses every write after that), patience in seconds instead of
tries. Temporary data stays in memory, so an unwritable TMPDIR does not matter (R100).
"""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.complaints import explain
from hermes_sessions.store.connect import NOTHING, READ_TIMEOUT, Store, file_facts
from hermes_sessions.store.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds to wait for another writer (contract §13)."""

_POLL: Final = 0.05
"""Seconds that SQLite itself waits for a lock before we look at the clock."""

_PAUSE: Final = (0.02, 0.15)
"""Seconds between tries, at random, as Hermes waits: two writers do not keep in step."""

_TURN: Final = 0.12
"""Seconds between two transactions while others have the store open: one of them that waits asks
every 100 ms (SQLite's busy handler), so it gets its turn."""

_SESSION_COLUMNS: Final = frozenset(
    {"id", "source", "title", "parent_session_id", "started_at", "ended_at", "end_reason"}
)
_MESSAGE_COLUMNS: Final = frozenset({"id", "session_id", "role", "content", "timestamp"})

KNOWN_SCHEMA: Final = 31
"""The newest schema that was looked at (0.22.2)."""


class Writer:
    """One connection that may write.

    Attributes:
        store: for reading; inside a transaction it sees what the transaction has done.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, timeout: float) -> None:
        """Take over a connection; ``timeout`` is in seconds, for each transaction."""
        self._path = path
        self._connection = connection
        self._timeout = timeout
        self._ended_at: float | None = None
        self._is_shared: bool | None = None
        self.store = Store(path, connection)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside, or nothing of it.

        Raises:
            StoreBusy: another process kept the store for longer than the timeout.
            UserError: what SQLite complains about, in the user's words.
        """
        self._give_way()
        self._patiently("BEGIN IMMEDIATE")
        try:
            yield
            self._patiently("COMMIT")
            self._ended_at = time.monotonic()
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise explain(error, self._path) from error
            raise

    @property
    def in_transaction(self) -> bool:
        """A transaction is open; SQLite itself ends it when a disk is full or fails."""
        return self._connection.in_transaction

    def run(self, sql: str, parameters: Mapping[str, object] = NOTHING) -> int:
        """Run a statement and return how many rows it changed."""
        return self._connection.execute(sql, parameters).rowcount

    def run_many(self, sql: str, parameters: Iterable[Mapping[str, object]]) -> int:
        """Run a statement for each of some rows and return how many rows it changed."""
        return self._connection.executemany(sql, parameters).rowcount

    def alone(self, statement: str) -> None:
        """Run a statement that cannot be in a transaction, such as VACUUM; wait for others.

        Raises:
            StoreBusy, UserError: as for ``transaction``.
        """
        self._patiently(statement)

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        return int(str(self.store.value("PRAGMA data_version")))

    def _give_way(self) -> None:
        """Let others write between two transactions."""
        if self._ended_at is None:
            return
        if self._is_shared is None:
            from hermes_sessions.store.holders import find_holders

            self._is_shared = bool(find_holders(self._path).holders)
        if self._is_shared:
            time.sleep(max(0.0, self._ended_at + _TURN - time.monotonic()))

    def _patiently(self, statement: str) -> None:
        deadline = time.monotonic() + self._timeout
        self._connection.execute(f"PRAGMA busy_timeout = {int(_POLL * 1000)}")
        try:
            self._try_until(statement, deadline)
        finally:  # a read outside of a transaction waits for who is committing
            patience = min(READ_TIMEOUT, self._timeout)
            self._connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")

    def _try_until(self, statement: str, deadline: float) -> None:
        while True:
            try:
                self._connection.execute(statement)
            except sqlite3.OperationalError as error:
                if not _is_busy(error):
                    raise explain(error, self._path) from error
                if not time.monotonic() < deadline:  # NaN too
                    raise self._busy() from error
                time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - not for secrets
            else:
                return

    def _busy(self) -> StoreBusy:
        from hermes_sessions.store.holders import describe, find_holders

        holders = find_holders(self._path).holders
        return StoreBusy(
            f"{self._path} is busy: another process was writing for {self._timeout:g} seconds",
            details=tuple(f"open in {describe(holder)}" for holder in holders),
            hint="nothing was changed; try again, or wait longer with --timeout",
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open_writer(
    path: Path, timeout: float = DEFAULT_TIMEOUT, *, tokenizer: Path | None = None
) -> Writer:
    """Open a store for writing.

    Args:
        path: the store.
        timeout: seconds to wait for another writer.
        tokenizer: Hermes' own, which a store with a CJK index needs.

    Raises:
        StoreMissing: there is no such file; it is never created.
        StoreDamaged: empty, not a database, malformed in a way that shows at once, or of a newer
            Hermes without what is needed here.
    """
    file_facts(path)
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=min(READ_TIMEOUT, timeout),
            isolation_level=None,
        )
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        if tokenizer is not None:
            load_tokenizer(connection, tokenizer)
        writer = Writer(path, connection, timeout)
        _check_schema(writer.store)
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    except BaseException:
        connection.close()
        raise
    return writer


def schema_version(store: Store) -> int | None:
    """Return the schema's number; None if the store does not say."""
    if "schema_version" not in store.capabilities.tables:
        return None
    version = store.value("SELECT max(version) FROM schema_version")
    return version if isinstance(version, int) else None


def needs_columns(store: Store, *names: str) -> None:
    """Check that this store has columns of ``sessions`` that a change writes.

    Raises:
        UserError: it is of a Hermes that did not have them yet.
    """
    missing = [name for name in names if name not in store.capabilities.sessions]
    if missing:
        raise UserError(
            f"{store.path} cannot hold this: its sessions have no “{missing[0]}”",
            hint="start a newer hermes on it once: it adds what is missing",
        )


def missing_columns(store: Store) -> list[str]:
    """Return the columns that every change needs and this store does not have, sorted."""
    return sorted(
        (_SESSION_COLUMNS - store.capabilities.sessions)
        | (_MESSAGE_COLUMNS - store.capabilities.messages)
    )


def _check_schema(store: Store) -> None:
    missing = missing_columns(store)
    if not missing:
        return
    version = schema_version(store)
    if version is not None and version > KNOWN_SCHEMA:
        raise StoreDamaged(
            f"{store.path} is too new to write: schema {version} has no column {missing[0]}",
            hint="upgrade hermes-sessions; nothing was changed",
        )
    raise UserError(
        f"{store.path} is no store that can be changed: it has no column {missing[0]}",
        hint="check the path with: hermes-sessions where",
    )


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
