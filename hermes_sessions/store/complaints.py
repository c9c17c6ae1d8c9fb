"""What SQLite complains about, in the user's words: the cause, and the next step (R108)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

COPY_FIRST: Final = "work on a copy: cp -p it (with its -wal, if any) before you try anything on it"


class _Cause(NamedTuple):
    """What is behind an error of SQLite.

    Attributes:
        signs: any of these in its name or its text, in small letters.
        kind: the error to raise instead.
        message: with places for the path and for what SQLite says.
        hint: what to do about it.
    """

    signs: tuple[str, ...]
    kind: type[UserError]
    message: str
    hint: str


_CAUSES: Final = (
    _Cause(  # the only virtual tables of a store are its search indexes
        ("sqlite_corrupt_vtab", "vtable constructor"),
        StoreDamaged,
        "the search index of {path} is damaged; the conversations are not ({text})",
        "hermes-sessions optimize rebuilds it",
    ),
    _Cause(
        ("malformed", "not a database"),
        StoreDamaged,
        "{path} is damaged: {text}",
        COPY_FIRST,
    ),
    _Cause(
        ("locked", "busy"),
        StoreBusy,
        "{path} is busy: another process is writing and did not finish",
        "try again; hermes-sessions where shows which store this is",
    ),
    _Cause(
        ("locking protocol",),
        UserError,
        "{path}: SQLite cannot lock this file; its file system does not support it",
        "stores do not work on NFS, SMB or WSL1 mounts: move the home to a local disk",
    ),
    _Cause(
        ("disk i/o", "is full"),
        UserError,
        "{path}: the disk or network mount returned an error ({text})",
        "check the mount and its free space, then try again",
    ),
    _Cause(
        ("unable to open", "readonly"),
        UserError,
        "{path}: SQLite cannot open it here ({text})",
        "check the permissions of the file and of its directory",
    ),
)
"""Which of them it is; the first whose sign is there."""


def explain(error: sqlite3.Error, path: Path) -> UserError:
    """Say what an error of SQLite means for a store, and what to do about it."""
    said = f"{getattr(error, 'sqlite_errorname', '')} {error}".lower()
    for cause in _CAUSES:
        if any(sign in said for sign in cause.signs):
            message = cause.message.format(path=path, text=error)
            return cause.kind(message, hint=cause.hint)
    return UserError(f"{path}: {error}")
