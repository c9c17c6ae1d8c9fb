"""Let a real Hermes write the sample, with its clock set to the moment of each call."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from demo_home.calls import Call, all_calls
from demo_home.scenes import INSTALLED
from hermes_peer import run_peer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from demo_home.scene import Scene

RELEASE = "0.22.2"

WRITER = """
import json, random, sys, time, uuid

calls = json.load(open(sys.argv[1], encoding="utf-8"))
now = calls[0]["at"]
dice = random.Random(1)
time.time = lambda: now
uuid.uuid4 = lambda: uuid.UUID(int=dice.getrandbits(128), version=4)

import hermes_state  # after the clock and the dice, which its modules take along

store = hermes_state.SessionDB()


def rewind(session_id):
    store.rewind_to_message(session_id, store.latest_message_row_id(session_id))


for call in calls:
    now = call["at"]
    method = rewind if call["method"] == "rewind" else getattr(store, call["method"])
    method(*call["args"], **call["options"])
store.close()
"""


def write_store(scenes: Sequence[Scene], home: Path) -> Path:
    """Let Hermes write all scenes into `home`; return its store, closed and compact."""
    calls = [Call(INSTALLED, "get_meta", ("store_instance_id",)), *all_calls(scenes)]
    sheet = home / "calls.json"
    sheet.write_text(json.dumps([as_json(call) for call in calls]), "utf-8")
    run_peer(RELEASE, WRITER, home, str(sheet))
    store = home / "state.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        # One file without companions, and the same header whichever SQLite wrote it.
        db.execute("PRAGMA journal_mode = DELETE")
        for index in ("messages_fts", "messages_fts_trigram"):
            db.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
        db.execute("VACUUM")
    return store


def as_json(call: Call) -> dict[str, Any]:
    """Return a call in the form that the writing process reads."""
    return {
        "at": call.at.timestamp(),
        "method": call.method,
        "args": call.args,
        "options": call.options,
    }
