"""The lock that Hermes takes to rebuild search indexes: two processes doing it ruined stores.

``state.db.fts_rebuild.lock`` beside the store, locked with flock(2); while it is held, its text
says by whom (store facts §9; 0.22.2, ``hermes_state_common``). Who finds a recorded holder dead may
replace the file, so a lock counts only if it is on the file that has the name.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreBusy, UserError
from hermes_sessions.processes import pid_namespace, start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX: Final = ".fts_rebuild.lock"
_POLL: Final = 0.1
"""Seconds between tries."""


@contextmanager
def rebuild_lock(store: Path, now: float, timeout: float) -> Iterator[None]:
    """Hold the lock.

    Args:
        store: the path that Hermes would open.
        now: epoch seconds, written down for others.
        timeout: seconds to wait for another holder.

    Raises:
        StoreBusy: another process has it, and did not give it back.
        UserError: this system has no such locks, or the file cannot be made.
    """
    path = store.with_name(store.name + _SUFFIX)
    descriptor = _acquire(path, store, timeout)
    try:
        _write(descriptor, _record(now))
        yield
    finally:
        _write(descriptor, b"")  # text that is left would mean that the holder died
        os.close(descriptor)


def _acquire(path: Path, store: Path, timeout: float) -> int:
    try:
        import fcntl
    except ImportError:
        raise UserError(
            "a search index cannot be rebuilt here: this system has no lock that Hermes knows",
            hint="hermes sessions optimize-storage",
        ) from None
    deadline = time.monotonic() + timeout
    while True:
        descriptor = _open(path, store)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        holder = _holder(descriptor)
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise StoreBusy(
                f"{store} is busy: {holder} is rebuilding its search index",
                hint="nothing was rebuilt; try again, or wait longer with --timeout",
            )
        time.sleep(_POLL)


def _open(path: Path, store: Path) -> int:
    """Open the file of the lock, made for the users that the store is for."""
    try:
        owner = store.stat()
        mode = stat.S_IMODE(owner.st_mode) & 0o666
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            return os.open(path, os.O_RDWR)
        if os.geteuid() == 0:  # or Hermes could not open it
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise UserError(
            f"the search index cannot be rebuilt: {path}: {error.strerror}",
            hint="nothing was changed; check the permissions of the home",
        ) from None
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _record(now: float) -> bytes:
    pid = os.getpid()
    record = {
        "pid": pid,
        "pidns": pid_namespace(),
        "start_ticks": start_ticks(pid),
        "acquired_at": now,
    }
    return json.dumps(record, sort_keys=True).encode()


def _holder(descriptor: int) -> str:
    try:
        record = json.loads(os.pread(descriptor, 4096, 0))
        return f"the process {int(record['pid'])}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"


def _write(descriptor: int, text: bytes) -> None:
    with suppress(OSError):  # a disk that is full; the lock holds all the same
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)
