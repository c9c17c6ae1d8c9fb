"""Files of a Hermes home that belong to a session: transcripts, dumps, notes of terminals.

Hermes has named them in four ways (0.22.2, ``_remove_session_files``). An id is any text, so a
file counts only if its whole name is the one that Hermes makes of that id: no pattern, no part of
another id, nothing outside its directory (R091).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_DIRECTORY: Final = "sessions"
_NOTES: Final = "terminal-sessions"
_NOBODYS: Final = "sessions.json"
"""The routing map of the gateway, whatever a session is called."""

_DUMP: Final = r"request_dump_(.+)_\d{8}_\d{6}(?:_\d{1,6})?\.json"
_LONGEST_NOTE: Final = 10_000


def files_of(home: Path | None, session_ids: Iterable[str]) -> list[Path]:
    """Return the files of sessions in a home, sorted."""
    if home is None:
        return []
    ids = set(session_ids)
    dumped = ids | {_in_file_name(session_id) for session_id in ids}
    found = [
        home / _DIRECTORY / name
        for name in _names(home / _DIRECTORY)
        if _belongs_to(name, ids, dumped)
    ]
    notes = (home / _NOTES / name for name in _names(home / _NOTES))
    found += [note for note in notes if _session_of_note(note) in ids]
    return sorted(found)


def remove_files(home: Path, files: Iterable[Path], keep_in: Path | None) -> list[str]:
    """Move files into a directory of ours, or delete them without one; return what went wrong."""
    failures = []
    for path in files:
        try:
            if keep_in is None:
                path.unlink(missing_ok=True)
            else:
                _move(path, keep_in / path.relative_to(home))
        except OSError as error:
            failures.append(f"could not remove {path}: {error.strerror or error}")
    return failures


def copy_files(home: Path, files: Iterable[Path], keep_in: Path) -> None:
    """Copy files into a directory of ours, before another program deletes them.

    Raises:
        UserError: that failed; then nothing may be deleted.
    """
    import shutil

    for path in files:
        target = keep_in / path.relative_to(home)
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(path, target)
            target.chmod(0o600)
        except OSError as error:
            raise UserError(
                f"cannot copy {path} to the trash: {error.strerror or error}",
                hint="nothing was deleted; free some space, or give --no-trash",
            ) from error


def kept_files(home: Path, kept_in: Path, session_ids: Iterable[str]) -> list[Path]:
    """Return the files of sessions in a directory of ours whose place in their home is free."""
    found = files_of(kept_in, session_ids)
    return [path for path in found if not os.path.lexists(home / path.relative_to(kept_in))]


def bring_back(home: Path, kept_in: Path, session_ids: Iterable[str]) -> list[str]:
    """Move the files of sessions back into their home; what is there already stays as it is."""
    failures = []
    for kept in kept_files(home, kept_in, session_ids):
        target = home / kept.relative_to(kept_in)
        try:
            _move(kept, target)
        except OSError as error:
            failures.append(f"could not bring back {target}: {error.strerror or error}")
    return failures


def _belongs_to(name: str, ids: set[str], dumped: set[str]) -> bool:
    if name == _NOBODYS:
        return False
    if name.endswith(".jsonl"):
        return name.removesuffix(".jsonl") in ids
    stem = name.removesuffix(".json")
    if stem == name:
        return False
    if stem in ids or (stem.startswith("session_") and stem.removeprefix("session_") in ids):
        return True
    dump = re.fullmatch(_DUMP, name)
    return dump is not None and dump.group(1) in dumped


def _in_file_name(session_id: str) -> str:
    """Return what the writer of dumps makes of an id that has odd characters."""
    raw = session_id.strip()
    safe = re.sub(r"[^\w-]", "_", raw).strip("._")[:96] or "session"
    if raw and safe == raw:
        return safe
    return f"{safe}_{hashlib.sha256(raw.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _session_of_note(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LONGEST_NOTE:
            return None
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    session_id = value.get("session_id") if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else None


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _move(source: Path, target: Path) -> None:
    import shutil

    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.move(source, target)
