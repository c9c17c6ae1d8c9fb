"""A real Hermes release as a witness: everything that it says of a store, to be compared."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hermes_peer import PeerUnavailable, cache_dir, peer_path, run_peer
from support import CLOCK
from tmux import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

NEW, OLD = "0.22.2", "0.19.0"
"""The releases that can be had here."""

WORDS = ("auth", "retention", "axolotl", "hello", "索引", "ocelot", "telegram", "numbat")
"""Words that the messages of the corpus hold, to search for."""

ROUTES = "/home/dev/.hermes/sessions"
"""The scope of the routing entries of the corpus."""

_LOOK = """\
import json, os, shutil, sys, time
from pathlib import Path

given = json.loads(sys.argv[1])
time.time = lambda: given["clock"]
from hermes_state import SessionDB


def shown(db, session_id):
    if hasattr(db, "publish_compression_child"):
        return db.get_messages(session_id, include_compacted=True, include_ancestors=True)
    return db.get_messages(session_id)


def found(db, word):
    return sorted([hit["session_id"], hit["id"]] for hit in db.search_messages(word, limit=1000))


def health(db):
    findings = [row[0] for row in db._conn.execute("PRAGMA integrity_check")]
    return [findings, len(db._conn.execute("PRAGMA foreign_key_check").fetchall())]


def listing(db, **options):
    return db.list_sessions_rich(limit=1000, order_by_last_active=True, **options)


def view(db):
    hidden = {"include_hidden": True} if hasattr(db, "publish_compression_child") else {}
    ids = [row[0] for row in db._conn.execute("SELECT id FROM sessions ORDER BY id")]
    titles = sorted(filter(None, map(db.get_session_title, ids)))
    rows = listing(db, include_archived=True, **hidden)
    return {
        "health": health(db),
        "rows": {i: db.get_session(i) for i in ids},
        "stored": {i: db.get_messages(i, include_inactive=True) for i in ids},
        "shown": {i: shown(db, i) for i in ids},
        "read by the model": {i: db.get_messages_as_conversation(i) for i in ids},
        "tips": {i: db.get_compression_tip(i) for i in ids},
        "lineages": {i: db.get_compression_lineage(i) for i in ids},
        "titles": {title: db.resolve_session_by_title(title) for title in titles},
        "listed": {row["id"]: row for row in rows},
        "order": [row["id"] for row in rows],
        "listed by default": [row["id"] for row in listing(db, exclude_sources=["tool"])],
        "archived": [row["id"] for row in listing(db, archived_only=True)],
        "topics": [db.get_telegram_topic_binding_by_session(session_id=i) for i in ids],
        "usage": db.usage_totals() if hasattr(db, "usage_totals") else None,
        "routes": db.load_gateway_routing_entries(scope=given["routes"]),
        "hits": {word: found(db, word) for word in given["words"]},
        "count": [db.session_count(), db.message_count()],
    }


def go_on(db, session_id):
    if not db.get_session(session_id):
        return None
    db.reopen_session(session_id)
    first = db.append_message(session_id, "user", "A zebrafinch sings.")
    last = db.append_message(session_id, "assistant", "It does, and a quetzal, too.")
    opened = db.get_session(session_id)["ended_at"] is None
    newest = [row["id"] for row in listing(db)][:2]
    db.end_session(session_id, "agent_close")
    return {
        "opened": opened,
        "newest": newest,
        "row": db.get_session(session_id),
        "health": health(db),
        "hits": [found(db, "zebrafinch"), found(db, "quetzal")],
        "written": [[[session_id, first]], [[session_id, last]]],
        "shown": [message["content"] for message in shown(db, session_id)[-2:]],
    }


answers = []
for job in given["jobs"]:
    home = Path(job["home"])
    if job["copy"]:
        shutil.copytree(job["copy"], home)
    os.environ["HERMES_HOME"] = str(home)
    db = SessionDB(home / "state.db")
    db._conn.execute("PRAGMA synchronous = OFF")
    exec(job["do"])
    seen = view(db)
    answers.append({"view": seen, "gone on": go_on(db, job["goes on"])})
    db.close()
print(json.dumps(answers, default=repr))
"""


@pytest.fixture(scope="module", autouse=True)
def peers_stay_where_they_are() -> Iterator[None]:
    """The place of the releases must not follow the home that each test makes up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_PEERS_DIR", str(cache_dir()))
        yield


def require(release: str) -> str:
    """Skip what needs a release that cannot be had; a machine for tests has to have it."""
    try:
        peer_path(release)
    except PeerUnavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    return release


@contextmanager
def running(release: str, script: str, home: Path, *args: str) -> Iterator[Future[str]]:
    """Run a script beside the test, from when it has made the file ``writing`` to ``enough``."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run_peer, release, script, home, *args)
        try:
            wait_until(
                lambda: (home / "writing").exists() or future.done(), lambda: "nobody writes"
            )
            assert not future.done(), future.result()
            yield future
        finally:
            (home / "enough").touch()


def job(home: Path, goes_on: str, *, do: str = "", copy: Path | None = None) -> dict[str, str]:
    """Return what a release is to do: open a home, change something, look, and go on.

    Args:
        home: its home.
        goes_on: the session that it reopens, writes to and ends.
        do: Python text that changes ``db``.
        copy: a home to copy first.
    """
    return {"home": str(home), "copy": str(copy or ""), "do": do, "goes on": goes_on}


def look(release: str, jobs: Sequence[dict[str, str]], cwd: Path) -> list[dict[str, Any]]:
    """Let a release do its jobs, one after the other; its clock shows the time of the corpus."""
    given = {"clock": CLOCK, "cwd": str(cwd), "words": WORDS, "routes": ROUTES, "jobs": jobs}
    answers: list[dict[str, Any]] = json.loads(run_peer(release, _LOOK, cwd, json.dumps(given)))
    return answers


def differences(
    ours: Any, theirs: Any, passed_over: set[str], path: str = ""
) -> dict[str, tuple[Any, Any]]:
    """Return where two answers are not the same, with both of them."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = (ours | theirs).keys() - passed_over
        pairs = [(key, ours.get(key), theirs.get(key)) for key in sorted(keys)]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [(str(i), *both) for i, both in enumerate(zip(ours, theirs, strict=True))]
    else:
        return {} if ours == theirs else {path: (ours, theirs)}
    found: dict[str, tuple[Any, Any]] = {}
    for key, a, b in pairs:
        found |= differences(a, b, passed_over, f"{path}/{key}")
    return found
