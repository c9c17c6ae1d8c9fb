"""The file of a store: whether it is one, what lies beside it, who may read it, where it is."""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
import time
from typing import TYPE_CHECKING, Final

from hermes_sessions.side_files import JOURNAL, side_file
from hermes_sessions.store.diagnosis_findings import OPTIMIZE, Checked, Finding, Severity, some
from hermes_sessions.store.filesystem import unsafe_because
from hermes_sessions.store.holders import could_open
from hermes_sessions.text import plural, size

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.errors import UserError
    from hermes_sessions.store.connect import FileFacts
    from hermes_sessions.store.diagnosis_findings import Scope

_MAGIC: Final = b"SQLite format 3\0"
_CHUNK: Final = 1 << 20
_LOOKED_AT: Final = 64
"""Chunks of a file that are looked at for anything but zeros."""

_HOT: Final = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""How a rollback journal begins whose change is not finished (sqlite.org/fileformat2.html §3)."""

_BIG_WAL: Final = 64 << 20
"""Bytes that Hermes lets the log keep (``journal_size_limit``, store facts §9)."""

_YOUNG_WAL: Final = 8 << 20
"""Bytes that the log of a young store may have before its first checkpoint, and be bigger."""

_SCHEMA_WITH_0600: Final = 30
"""Since 0.21.3 only its owner can read a store."""

_LEFT_BEHIND: Final = (
    "malformed-backup-*",
    "zeroed-*.bak",
    "notadb-*.bak",
    "retired-wal-*",
    "pre-clean-markers-backup-*",
)
"""What Hermes puts beside a store when it repairs one (store facts §1)."""

_PAUSES: Final = (0.05, 0.05, 0.0)
"""Seconds to wait after each look at a file that is too short."""

_RESET_BUG: Final = ((3, 7, 0), (3, 51, 2))
_FIXED_BRANCHES: Final = ((3, 44, 6), (3, 50, 7))

RECOVER_NOTE: Final = (
    "recover (Hermes 0.22) copies what is readable and leaves the store as it is; "
    "make a copy first all the same, with its -wal if there is one"
)


def recover_command(path: Path) -> str:
    """Return Hermes' own command that copies what is readable into a new store (0.22.2)."""
    source, output = (shlex.quote(str(p)) for p in (path, path.with_name("state-recovered.db")))
    return f"hermes sessions recover --source {source} --output {output} --allow-partial"


def why_not_a_database(scope: Scope) -> Finding:
    """Say what is wrong with a file that does not begin as a database does."""
    path = scope.path
    length = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(len(_MAGIC))
        is_zero = not header.strip(b"\0")
        rest = (file.read(_CHUNK) for _ in range(_LOOKED_AT))
        is_nothing = is_zero and not any(chunk.strip(b"\0") for chunk in rest)
    if is_zero and not is_nothing:
        message = "the header of the store is all zeros; there is something behind it"
        return _damage(path, "zeroed-header", message)
    if length == 0:
        key, message = "empty", "the store is empty (0 bytes): nothing is in it"
    elif is_nothing:
        key, message = "zeroed", f"the store is all zeros ({size(length)}): nothing is in it"
    else:
        key = "not-a-database"
        message = "the store is not a database: something else was written over it"
    cure, details = _from_backup(scope, is_empty=length == 0)
    return Finding(Severity.DAMAGE, key, message, cure, details)


def why_malformed(path: Path, error: UserError) -> Finding:
    """Say what is wrong with a database that cannot be opened; it must not be open here."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    expected = (65_536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]  # else a SQLite that counts no pages wrote it
    if is_counted and path.stat().st_size < expected:
        return _cut_off(path, expected)
    return _damage(path, "malformed", f"the store cannot be read at all: {cause_of(error)}")


def why_unreadable(path: Path, error: UserError) -> Finding:
    """Say that a part of a store cannot be read that was asked for."""
    return _damage(path, "pages", f"a part of the store cannot be read: {cause_of(error)}")


def cause_of(error: UserError) -> str:
    """Return what SQLite said, without the path."""
    return error.message.partition("is damaged: ")[2] or error.message


def _cut_off(path: Path, expected: int) -> Finding:
    there = size(path.stat().st_size)
    return _damage(
        path, "truncated", f"the store is cut off: {there} of {size(expected)} are there"
    )


def _damage(path: Path, key: str, message: str) -> Finding:
    return Finding(Severity.DAMAGE, key, message, recover_command(path), (RECOVER_NOTE,))


def _from_backup(scope: Scope, *, is_empty: bool) -> tuple[str, tuple[str, ...]]:
    """Return how to put the newest backup in the place of a file, and what to mind."""
    backups = _backups(scope.path)
    if not backups:
        return "restore a backup", (
            "none was found beside it; Hermes keeps its own in state-snapshots",
        )
    newest, store = (shlex.quote(str(p)) for p in (backups[0], scope.path))
    aside = "" if is_empty else f"mv {store} {shlex.quote(f'{scope.path}.damaged')} && "
    return f"{aside}cp -p {newest} {store}", (
        "stop hermes first: a running one refuses to write to a file that was replaced",
        *some([f"backup: {path}" for path in backups], most=3),
    )


def _backups(path: Path) -> list[Path]:
    """Return what may be a whole copy of a store, the newest first."""
    found = list(path.parent.glob(f"state-snapshots/*/{path.name}"))
    found += path.parent.glob(f"{path.name}*.bak")
    found += path.parent.glob(f"{path.name}.*backup-*")
    return sorted(filter(_is_database, found), key=lambda p: p.stat().st_mtime, reverse=True)


def _is_database(path: Path) -> bool:
    return _begins_with(path, _MAGIC)


def _begins_with(path: Path, start: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError:
        return False


def check_length(path: Path, expected: int) -> Checked:
    """Look whether the last page is whole; SQLite itself misses whole pages only.

    A writer makes the file longer in steps, so what is too short is looked at again.

    Args:
        path: the store, which may be open.
        expected: bytes of all its pages.
    """
    for pause in _PAUSES:
        if path.stat().st_size >= expected:
            return Checked()
        time.sleep(pause)
    return Checked((_cut_off(path, expected),))


def check_logs(path: Path, facts: FileFacts, *, is_held: bool) -> Checked:
    """Look at the logs beside a store: what a crash has left, and what has grown too big."""
    findings = []
    journal = side_file(path, JOURNAL)
    if facts.is_crash_leftover and not is_held:
        message = f"a crash left changes in {path.name}-wal ({size(facts.wal_size)})"
        details = ("a backup needs both files; here they were read together, from a copy",)
        cure = "start hermes once: it takes them over"
        findings.append(Finding(Severity.INFO, "crash-leftover", message, cure, details))
    if not is_held and _begins_with(journal, _HOT):
        message = f"a crash left a change half done ({journal.name})"
        details = ("a backup needs both files; here the store was read as it was before",)
        cure = "start hermes once: it takes it back"
        findings.append(Finding(Severity.INFO, "crash-leftover", message, cure, details))
    is_more = facts.wal_size > max(facts.size, _YOUNG_WAL)
    if is_more or facts.wal_size > _BIG_WAL:
        message = f"the write-ahead log has grown to {size(facts.wal_size)}"
        details = ("it cannot shrink while a process that has the store open keeps reading",)
        findings.append(Finding(Severity.WARNING, "wal-size", message, OPTIMIZE, details))
    return Checked(tuple(findings))


def check_permissions(scope: Scope, schema: int | None) -> Checked:
    """Look whether this user can write a store, and whether others can read it."""
    path = scope.path
    severity = Severity.WARNING if scope.home.path else Severity.INFO  # a backup may be protected
    findings = []
    for place, key, what in (
        (path, "not-writable", "the store"),
        (path.parent, "directory-not-writable", "the directory of the store"),
    ):
        if not _can_write(place):
            message = f"{what} cannot be written by this user"
            findings.append(Finding(severity, key, message, _how_to_write(place)))
    if schema is not None and schema >= _SCHEMA_WITH_0600 and _others_can_read(path):
        message = f"other users can read the store (mode {_mode(path):04o})"
        cure = f"chmod 600 {shlex.quote(str(path))}"
        findings.append(Finding(Severity.INFO, "readable", message, cure))
    return Checked(tuple(findings))


def _can_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _how_to_write(path: Path) -> str:
    is_own = hasattr(os, "geteuid") and path.stat().st_uid == os.geteuid()
    if is_own and not _mode(path) & stat.S_IWUSR:
        return f"chmod u+w {shlex.quote(str(path))}"
    return "see who owns it and how its file system is mounted"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _others_can_read(path: Path) -> bool:
    nobody = -1
    return os.name == "posix" and could_open(nobody, os.path.realpath(path))


def check_file_system(kind: str | None) -> Checked:
    """Look whether SQLite can be trusted where a store is (R108, R109)."""
    reason = unsafe_because(kind)
    if reason is None:
        return Checked()
    cure = "move the home to a local disk"
    finding = Finding(Severity.WARNING, "file-system", f"the store is on {kind}", cure, (reason,))
    return Checked((finding,))


def check_sqlite(version: str, *, wal_header: bool) -> Checked:
    """Look whether this SQLite can damage a store with a write-ahead log."""
    if not wal_header or not has_wal_reset_bug(version):
        return Checked()
    message = f"SQLite {version} has the WAL-reset bug, and the store has a write-ahead log"
    details = ("it is the SQLite of this Python; that of hermes may be another one",)
    cure = "upgrade SQLite to 3.51.3 or newer"
    return Checked((Finding(Severity.WARNING, "wal-reset-bug", message, cure, details),))


def has_wal_reset_bug(version: str) -> bool:
    """Tell whether a SQLite may damage a store when it begins its log anew beside other writers.

    3.7.0 to 3.51.2 have the bug, but for the ends of two branches (store facts §9).
    """
    number = tuple(int(part) for part in version.split(".")[:3])
    first, last = _RESET_BUG
    if not first <= number <= last:
        return False
    return not any(number[:2] == fixed[:2] and number >= fixed for fixed in _FIXED_BRANCHES)


def sqlite_version() -> str:
    """Return the version of the SQLite that is in use."""
    return sqlite3.sqlite_version


def check_leftovers(path: Path) -> Checked:
    """Name what earlier repairs have left beside a store; it is evidence, nobody deletes it."""
    found = sorted(p for end in _LEFT_BEHIND for p in path.parent.glob(f"{path.name}.{end}"))
    if not found:
        return Checked()
    total = size(sum(map(_size_of, found)))
    message = f"{plural(len(found), 'leftover')} of earlier repairs beside the store ({total})"
    details = some([f"{p.name} ({size(_size_of(p))})" for p in found])
    return Checked((Finding(Severity.INFO, "leftovers", message, None, details),))


def _size_of(path: Path) -> int:
    try:
        files = path.rglob("*") if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0
