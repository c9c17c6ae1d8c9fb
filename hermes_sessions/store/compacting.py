"""Give free pages back: rewrite the file in its place, or into another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import StoreBusy, UserError
from hermes_sessions.side_files import WAL, side_file, size_of
from hermes_sessions.store.fts import TRIGRAMS, WORDS

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer


class Sizes(NamedTuple):
    """Bytes of a store and of its write-ahead log, as the file system has them."""

    store: int
    wal: int

    @property
    def total(self) -> int:
        """Both."""
        return self.store + self.wal


def index_pages(store: Store) -> int:
    """Return about how many pages belong to search indexes."""
    return sum(_pages_of(store, name) for name in (WORDS, TRIGRAMS))


def _pages_of(store: Store, index: str) -> int:
    try:
        return int(str(store.value(f"SELECT count(*) FROM {index}_data")))
    except UserError:  # there is none, or its pages are damaged
        return 0


def sizes_of(path: Path) -> Sizes:
    """Return the sizes of the files of a store; nothing is opened."""
    return Sizes(size_of(path), size_of(side_file(path, WAL)))


def last_vacuum(store: Store) -> float | None:
    """Return when Hermes itself rewrote the file last (``last_vacuum``, 0.22.2), or None."""
    if "state_meta" not in store.capabilities.tables:
        return None
    value = store.value("SELECT value FROM state_meta WHERE key = 'last_vacuum'")
    try:
        return float(str(value))
    except ValueError:
        return None


def vacuum(writer: Writer) -> None:
    """Rewrite the file in its place; inode, application id and journal mode stay as they are.

    The other copy that this takes is a temporary file, since it may be bigger than the memory.

    Raises:
        StoreBusy: another process kept the store.
        UserError: it failed, for want of space for example; the file is as it was.
    """
    writer.alone("PRAGMA temp_store = FILE")
    with writer.store.interruptible():
        writer.alone("VACUUM")


def empty_wal(writer: Writer) -> bool:
    """Bring everything from the write-ahead log into the store; tell whether the log is empty.

    It is not while another process reads. Without such a log there is nothing to do.
    """
    if not size_of(side_file(writer.store.path, WAL)):
        return True
    try:
        row = writer.store.row("PRAGMA wal_checkpoint(TRUNCATE)")
    except StoreBusy:
        return False
    return row is None or row[0] == 0


def copy_into(store: Store, target: Path) -> None:
    """Write a copy without free pages into a new file; the store itself is only read.

    Raises:
        UserError: it failed; there may be a part of a file.
    """
    with store.interruptible():
        try:
            store.rows("VACUUM INTO :target", {"target": str(target)})
        except UserError:
            if not target.exists():
                raise
            target.unlink()  # somebody wrote meanwhile, and it was tried again
            store.rows("VACUUM INTO :target", {"target": str(target)})
