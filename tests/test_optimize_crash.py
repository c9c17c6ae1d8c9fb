"""Killed at any moment, ``optimize`` loses nothing and leaves no index that misleads (contract §6).

The program runs as a process of its own and is killed with SIGKILL after a random time. What it
leaves is then opened as the next process would open it: every row is there, and a search finds what
a pass over the rows finds, whether its indexes are whole or half built. ``OPTIMIZE_CRASHES=50``
kills that often in all; ``CRASH_SEED`` repeats the delays of a run.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hermes_sessions.store.connect import open_store
from hermes_sessions.store.fts import State
from hermes_sessions.store.index_tasks import find_tasks
from hermes_sessions.store.rebuilding import rebuild
from hermes_sessions.store.writing import open_writer
from indexes import NAMES, lag, make_corrupt, make_stale, postings, states
from support import Cli, edit, place_store
from test_optimize import MANY, canonical
from test_search import expected, find, rows_of
from test_undo import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL"),
]

KILLS = int(os.environ.get("OPTIMIZE_CRASHES", "7"))
SEED = int(os.environ.get("CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
KILLS_LOG = os.environ.get("OPTIMIZE_CRASHES_LOG", "")
"""A file to write down what each kill met."""

QUERIES = ("quokka", "xylophone", '"log in"', "索引", "retention", "tool*", "ocelot")
WORDS = ("optimize", "--force", "--yes")


def grown(path: Path) -> None:
    """Add 7,500 messages without telling the indexes, which are marked."""
    make_stale(path)
    edit(MANY.format(number=150))(path)
    lag(path)


def whole(path: Path) -> None:
    """Have the indexes built, in many pieces, and space to be given back."""
    edit(MANY.format(number=60))(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM messages WHERE id % 3 = 0")


def corrupt(path: Path) -> None:
    edit(MANY.format(number=60))(path)
    make_corrupt(path)


BASES: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "external": ("0.22.2", "delete", grown),
    "external, log": ("0.22.2", "wal", grown),
    "mixed": ("upgraded-0.21.0-by-0.22.2", "delete", grown),
    "inline": ("0.19.0", "wal", grown),
    "corrupt": ("0.22.2", "delete", corrupt),
    "whole": ("0.22.2", "delete", whole),
    "whole, log": ("0.22.2", "wal", whole),
}
"""By name: a store of the corpus, its journal, and what is done to it first."""


class Base(NamedTuple):
    """A home to be copied before each kill, and what must be true of the copy afterwards.

    Attributes:
        seconds: that a run takes if nobody kills it.
    """

    home: Path
    rows: Any
    answers: dict[str, set[int]]
    seconds: float


@pytest.fixture(scope="module", params=BASES)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Base:
    release, journal, change = BASES[request.param]
    home = place_store(release, tmp_path_factory.mktemp("base") / "home")
    path = home / "state.db"
    change(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    found = rows_of(path)
    answers = {query: expected(found, query) for query in QUERIES}
    copied = tmp_path_factory.mktemp("timed") / "home"
    shutil.copytree(home, copied)
    begun = time.monotonic()
    subprocess.run(command(), env=environ(copied), check=True, capture_output=True)
    return Base(home, canonical(path), answers, time.monotonic() - begun)


def command() -> list[str]:
    return [sys.executable, "-m", "hermes_sessions", *WORDS]


def environ(home: Path) -> dict[str, str]:
    state = home.parent / "state"
    return {**os.environ, "HERMES_HOME": str(home), "XDG_STATE_HOME": str(state)}


def delays(name: str, seconds: float) -> Iterator[float]:
    chance = random.Random(f"{SEED} {name}")  # noqa: S311 - repeatable on purpose
    for _ in range(max(1, KILLS // len(BASES))):
        yield chance.uniform(0.15, seconds * 0.9)


def kill_after(home: Path, delay: float) -> bool:
    """Run the program and kill it; tell whether it was still running."""
    process = subprocess.Popen(
        command(), env=environ(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def test_R102_nothing_is_lost_and_no_index_misleads(
    base: Base, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for number, delay in enumerate(delays(request.node.name, base.seconds)):
        home = tmp_path / str(number) / "home"
        shutil.copytree(base.home, home)
        for again in range(2):  # killed twice, it still goes on
            is_killed = kill_after(home, delay)
            found = check(home / "state.db", base)
            if KILLS_LOG:
                with Path(KILLS_LOG).open("a", encoding="utf-8") as log:
                    log.write(f"{request.node.name} {delay:.2f} {is_killed} {found[0]}\n")
            if again or not is_killed:
                break
        run = subprocess.run(
            command(), env=environ(home), check=False, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        assert check(home / "state.db", base) == (State.OK, State.OK)
        noted = {path.suffix for path in home.parent.glob("state/hermes-sessions/optimized/*")}
        assert noted <= {".json", ".new"}


def check(path: Path, base: Base) -> tuple[State, State]:
    """Open what is left as the next process would; return the states of the indexes."""
    with closing(sqlite3.connect(path)) as connection:  # which rolls back, or recovers the log
        connection.execute("BEGIN IMMEDIATE")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.rollback()
    assert differences(base.rows, canonical(path)) == [], SEED
    found = states(path)
    with open_store(path) as store:
        for query, wanted in base.answers.items():
            result = find(store, query, None)
            assert {hit.message_id for one in result.found for hit in one.hits} == wanted, (
                query,
                SEED,
            )
    return found


@pytest.mark.parametrize("release", ["0.22.2", "0.21.3", "0.20.0"])
def test_a_half_built_index_is_kept_in_step_and_gone_on_with(tmp_path: Path, release: str) -> None:
    """Stopped on the way, the store is written to; the next run only adds what is missing."""
    home = place_store(release, tmp_path / "home")
    path = home / "state.db"
    grown(path)
    with open_writer(path) as writer:
        steps = rebuild(writer, find_tasks(writer.store, has_tokenizer=False))
        assert 0 < next(steps) < 1
        steps.close()
    assert states(path) == (State.INCOMPLETE, State.INCOMPLETE)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        marks = dict(connection.execute("SELECT key, value FROM state_meta"))
        low, high = int(marks["fts_rebuild_progress"]), int(marks["fts_rebuild_high_water"])
        assert 0 < low < high
        connection.execute(
            "INSERT INTO messages (session_id, role, content, timestamp)"
            " SELECT id, 'user', 'one more numbat', 1e9 FROM sessions LIMIT 1"
        )
        for at in (low - 10, low + 10, high - 10, high + 1):
            near = f"(SELECT max(id) FROM messages WHERE id <= {at})"
            connection.execute(f"UPDATE messages SET content = 'a numbat now' WHERE id = {near}")
            connection.execute(f"DELETE FROM messages WHERE id = {near} - 1")
    outcome = Cli(home, environ(home), tmp_path)("optimize", "--json").ok().json
    assert {task["action"] for task in outcome["indexes"]} == {"fill"}
    assert states(path) == (State.OK, State.OK)
    filled = postings(path)
    for name in NAMES:
        again = shutil.copy(path, tmp_path / "again.db")
        with closing(sqlite3.connect(again, isolation_level=None)) as connection:
            connection.execute("DELETE FROM messages")
            assert not connection.execute(f"SELECT rowid FROM {name}_docsize LIMIT 1").fetchone()
            terms = f"CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', '{name}', 'row')"
            connection.execute(terms)
            assert connection.execute("SELECT * FROM terms LIMIT 1").fetchone() is None
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if release != "0.21.3":  # which has cut some rows of tools that it would not cut again
            for name in NAMES:
                connection.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
            assert filled == postings(path)
