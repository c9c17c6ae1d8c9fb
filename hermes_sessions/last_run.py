"""When a store was rewritten last, and how it looked then: a small file of ours for each store.

It is for ``optimize``: a store that nobody has written to since need not be rewritten again, and
cron need not do it every day.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.own_files import state_directory
from hermes_sessions.private_files import write_private
from hermes_sessions.side_files import WAL, side_file, size_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Run(NamedTuple):
    """What is known of the last time.

    Attributes:
        at: epoch seconds.
        size, mtime_ns: of the store when it was done.
        speed: bytes that were rewritten in a second.
    """

    at: float
    size: int
    mtime_ns: int
    speed: float


def read_last_run(environ: Mapping[str, str], store: Path) -> Run | None:
    """Return the last run on a store, or None if there was none, or none that can be read."""
    try:
        noted = json.loads(_file(environ, store).read_text(encoding="utf-8"))
        return Run(
            float(noted["at"]), int(noted["size"]), int(noted["mtime_ns"]), float(noted["speed"])
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_unchanged(store: Path, run: Run) -> bool:
    """Tell whether nobody has written to a store since."""
    try:
        stat = store.stat()
    except OSError:
        return False
    has_wal = size_of(side_file(store, WAL)) > 0
    return not has_wal and (stat.st_size, stat.st_mtime_ns) == (run.size, run.mtime_ns)


def note_run(environ: Mapping[str, str], store: Path, now: float, speed: float) -> str | None:
    """Note that a store was rewritten; it must be closed. Return what went wrong, if anything."""
    path = _file(environ, store)
    try:
        stat = store.stat()
        run = Run(now, stat.st_size, stat.st_mtime_ns, speed)
        text = json.dumps({"store": str(store), **run._asdict()}) + "\n"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(path, text)
    except OSError as error:
        return f"could not note this run in {path}: {error.strerror or error}"
    return None


def _file(environ: Mapping[str, str], store: Path) -> Path:
    """Return the file for a store; whatever path leads there, it is one store."""
    key = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:16]
    return state_directory(environ) / "optimized" / f"{key}.json"
