"""What must be true of the finished sample before it may replace the one in the package."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from demo_home.scenes import DEMO_NOW
from demo_home.writing import RELEASE
from hermes_peer import run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from demo_home.scene import Scene

SIZE_LIMIT = 700_000
"""Bytes: the sample is part of every installation."""

NEWEST_AGE = 360
"""Seconds: the newest message must look like somebody is at work right now."""

LISTING = """
import json
import hermes_state

store = hermes_state.SessionDB()
rows = store.list_sessions_rich(limit=100, order_by_last_active=True)
print(json.dumps([[row["id"], row["title"] or row["preview"]] for row in rows]))
store.close()
"""


class DemoError(Exception):
    """The store that came out is not the one the scenes describe."""


def check(store: Path, home: Path, scenes: Sequence[Scene]) -> list[tuple[str, str]]:
    """Check the finished store; return Hermes' own list of it, newest first."""
    with closing(sqlite3.connect(store)) as db:
        if (verdict := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            raise DemoError(verdict)
        (newest,) = db.execute("SELECT max(timestamp) FROM messages").fetchone()
        written = {row[0] for row in db.execute("SELECT id FROM sessions")}
    if written != {scene.id for scene in scenes}:
        message = f"sessions differ: {written ^ {scene.id for scene in scenes}}"
        raise DemoError(message)
    if not 0 <= DEMO_NOW.timestamp() - newest <= NEWEST_AGE:
        message = f"the newest message is {DEMO_NOW.timestamp() - newest:.0f} s old"
        raise DemoError(message)
    if store.stat().st_size > SIZE_LIMIT:
        message = f"{store.stat().st_size:,} bytes are more than {SIZE_LIMIT:,}"
        raise DemoError(message)
    listed = [tuple(row) for row in json.loads(run_peer(RELEASE, LISTING, home))]
    if {row[0] for row in listed} != {scene.id for scene in scenes if scene.listed}:
        message = f"Hermes lists {listed}"
        raise DemoError(message)
    return listed
