"""The files that SQLite keeps beside a store: its log, the index of that, and its journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

WAL: Final = "-wal"
SHM: Final = "-shm"
JOURNAL: Final = "-journal"


def side_file(store: Path, end: str) -> Path:
    """Return where a file beside a store is, or would be.

    It is beside the file that a link leads to: SQLite follows links before it adds an end to the
    name (since 3.10).
    """
    return Path(f"{os.path.realpath(store)}{end}")


def size_of(path: Path) -> int:
    """Return the bytes of a file, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
