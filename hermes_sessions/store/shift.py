"""Move all times of a store; only ever used on the private copy of the sample store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hermes_sessions.times import SANE_MAX

if TYPE_CHECKING:
    from pathlib import Path

_TIMES: Final = {
    "sessions": ("started_at", "ended_at", "last_activity_at", "last_read_at"),
    "messages": ("timestamp",),
    "session_model_usage": ("first_seen", "last_seen"),
    "gateway_routing": ("updated_at",),
}


def shift_times(path: Path, seconds: float) -> None:
    """Add seconds to every time in the store at ``path``, in one transaction.

    Message identities that Hermes derives from times are left to it: it renews them when it reads.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for table, columns in _TIMES.items():
            present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for column in present.intersection(columns):
                connection.execute(
                    f"UPDATE {table} SET {column} = {column} + :seconds"
                    f" WHERE {column} BETWEEN 1 AND {SANE_MAX}",
                    {"seconds": seconds},
                )
        connection.execute("COMMIT")
