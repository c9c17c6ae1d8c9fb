"""Killed at any moment, a changing command leaves whole conversations only (contract §10).

The program runs as a process of its own on a store of a few thousand messages and is killed with
SIGKILL after a random time. What it leaves is then opened as the next process would open it.
``CRASHES=300`` kills that often in all; ``CRASH_SEED`` repeats the delays of a run.
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
from collections import Counter
from contextlib import closing, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import pytest

from support import CLOCK, Cli, place_store
from test_undo import differences, dump, files_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from test_undo import Dump

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL"),
]

COMMANDS = ("delete", "prune", "undo", "fork", "archive")
KILLS = int(os.environ.get("CRASHES", "25")) // len(COMMANDS)
"""Kills of each command."""

SEED = int(os.environ.get("CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)

JOURNALS = ("delete", "wal")
MOST_MORE = 20
"""Kills beyond that number, until enough of them met the program where it matters."""

FAMILIES = 130
"""Each is a conversation of one or two segments, some with a delegate, some with a branch."""

WORDS = ("tape", "ribbon", "lantern", "harbour", "copper", "meadow", "violin", "saddle", "walnut")


class Base(NamedTuple):
    """A home to be copied before each kill, and what its store must come back to.

    Attributes:
        units: the conversations that are deleted, each with the sessions that go with it.
        counts: messages of each session.
    """

    journal: str
    home: Path
    units: dict[str, frozenset[str]]
    counts: dict[str, int]
    rows: Dump
    files: dict[str, tuple[bytes, int, float]]


# Stores


def fill(path: Path, journal: str) -> dict[str, frozenset[str]]:
    """Add conversations to a store, through its own triggers; return them."""
    chance = random.Random(7)  # noqa: S311 - repeatable on purpose
    units: dict[str, frozenset[str]] = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("BEGIN")
        for number in range(FAMILIES):
            name = f"c{number:03}"
            tip = name
            own = [name]
            add(connection, chance, name, title=f"grown {number}")
            if number % 5 == 0:
                connection.execute(
                    "UPDATE sessions SET end_reason = 'compression' WHERE id = ?", (name,)
                )
                tip = f"{name}.2"
                add(connection, chance, tip, parent_session_id=name, title=f"grown {number} #2")
                own.append(tip)
            if number % 4 == 0:
                mark = f'{{"_delegate_from": "{name}"}}'
                add(connection, chance, f"{name}.d", parent_session_id=name, source="subagent",
                    model_config=mark)  # fmt: skip
                own.append(f"{name}.d")
            if number % 3 == 0:
                mark = f'{{"_branched_from": "{tip}"}}'
                add(connection, chance, f"{name}.b", parent_session_id=tip, model_config=mark,
                    title=f"grown branch {number}")  # fmt: skip
                units[f"{name}.b"] = frozenset({f"{name}.b"})
            units[tip] = frozenset(own)
        add(connection, chance, "big", title="the big one", messages=900)
        connection.execute("COMMIT")
    return units


def add(
    connection: sqlite3.Connection,
    chance: random.Random,
    name: str,
    messages: int | None = None,
    **columns: str,
) -> None:
    """Add a session with messages and a row in most tables that can name it."""
    prompt = f"prompt {chance.randrange(9)}"
    values = {
        "id": name,
        "source": "cli",
        "started_at": CLOCK - 1e7,
        "ended_at": CLOCK - 9e6,
        "end_reason": "cli_close",
        "system_prompt_hash": prompt,
        **columns,
    }
    connection.execute("INSERT OR IGNORE INTO system_prompts VALUES (?, ?)", (prompt, prompt * 99))
    connection.execute(
        f"INSERT INTO sessions ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    )
    connection.executemany(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
        [
            (name, ("user", "assistant")[i % 2], " ".join(chance.choices(WORDS, k=40)), CLOCK - 1e7)
            for i in range(messages or chance.randrange(4, 40))
        ],
    )
    connection.execute(
        "INSERT INTO session_model_usage (session_id, model) VALUES (?, 'm')", (name,)
    )
    connection.execute("INSERT INTO state_meta VALUES (?, 'x')", (f"goal:{name}",))


def count_messages(path: Path) -> dict[str, int]:
    """Return the messages of each session, also of one that has none, or is gone."""
    with closing(sqlite3.connect(path)) as connection:
        counts = dict.fromkeys((row[0] for row in connection.execute("SELECT id FROM sessions")), 0)
        found = "SELECT session_id, count(*) FROM messages GROUP BY session_id"
        counts.update(connection.execute(found).fetchall())
        return counts


def runner(home: Path, state: Path) -> Cli:
    environ = {
        **os.environ,
        "HOME": str(home.parent),
        "HERMES_HOME": str(home),
        "XDG_STATE_HOME": str(state),
        "TZ": "UTC",
    }
    cli = Cli(home, environ, home.parent)
    cli.now = time.time()
    return cli


@pytest.fixture(scope="module", params=JOURNALS)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Base:
    directory = tmp_path_factory.mktemp("base")
    home = place_store("0.22.2", directory / "home")
    path = home / "state.db"
    units = fill(path, request.param)
    (home / "sessions").mkdir()
    for name in units:
        if "5" in name:
            (home / "sessions" / f"{name}.json").write_text(name, encoding="utf-8")
    return Base(request.param, home, units, count_messages(path), dump(path), files_in(home))


# Kills


class Since(StrEnum):
    """What the time of a kill is counted from."""

    START = "its start"
    WRITING = "its first write"  # of a trash or a journal
    CHANGE = "its first change of the store"


class Moment(NamedTuple):
    """When to kill."""

    seconds: float
    since: Since


class Killed(NamedTuple):
    """What a kill met.

    Attributes:
        was_running: the program had not come to its end by itself.
        times: seconds since its start of what was seen, and of its end.
    """

    was_running: bool
    times: dict[Since | None, float]


class Moments:
    """Random moments of a program's run, most of them in the part in which it writes."""

    def __init__(self, chance: random.Random, whole_run: Killed) -> None:
        self._chance = chance
        times = whole_run.times
        self._first = dict.fromkeys(Since, 0.0)
        self._first[Since.START] = times[Since.WRITING] / 2  # before that Python itself starts
        self._last = {since: times[None] - times[since] for since in Since}

    def next(self) -> Moment:
        """Choose a moment."""
        since = self._chance.choice((*Since, Since.WRITING, Since.CHANGE))
        return Moment(self._chance.uniform(self._first[since], self._last[since]), since)

    def learn(self, moment: Moment, killed: Killed) -> None:
        """Take in that the machine is faster than when it was measured."""
        if not killed.was_running:
            first = self._first[moment.since]
            self._last[moment.since] = first + 0.7 * (moment.seconds - first)


class Trial:
    """A command to be killed, and what must hold after it.

    Attributes:
        is_gradual: it takes more than one transaction.
    """

    def __init__(self, base: Base, directory: Path, command: str) -> None:
        self.command = command
        self.is_gradual = command in {"delete", "prune", "undo"}
        self.words = {
            "delete": ("delete", *base.units),
            "prune": ("prune", "--title", "grown", "--max-delete", "1000"),
            "undo": ("undo",),
            "fork": ("fork", "big", "--id", "forked", "--title", "forked"),
            "archive": ("archive", "--title", "grown"),
        }[command]
        self._base = base
        self._place = directory / "place"
        self._prepared = directory / "prepared"
        self.cli = runner(self._place / "home", self._place / "state")
        shutil.copytree(base.home, self._place / "home")
        if command == "undo":
            self.cli("delete", *base.units, "--yes").ok()
        shutil.copytree(self._place, self._prepared)

    @property
    def _path(self) -> Path:
        return self.cli.home / "state.db"

    def reset(self) -> None:
        """Put everything back as it was before the command."""
        shutil.rmtree(self._place)
        shutil.copytree(self._prepared, self._place)

    def run(self, moment: Moment | None) -> Killed:
        """Start the program and kill it; without a moment let it come to its end."""
        before = {since: self._sign(since) for since in Since}
        times: dict[Since | None, float] = {}
        began = time.monotonic()
        with subprocess.Popen(
            [sys.executable, "-m", "hermes_sessions", "--home", str(self.cli.home),
             *self.words, "--yes"],
            env=self.cli.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:  # fmt: skip
            for since in Since:
                while since is not Since.START and process.poll() is None:
                    if self._sign(since) != before[since]:
                        break
                    time.sleep(0.001)
                times[since] = time.monotonic() - began
                if moment and since is moment.since:
                    break
            try:
                output, _ = process.communicate(timeout=moment and moment.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            times[None] = time.monotonic() - began
        was_running = process.returncode == -signal.SIGKILL
        assert was_running or process.returncode == 0, output
        return Killed(was_running, times)

    def _sign(self, since: Since) -> object:
        """Return what is another when the program has come that far."""
        if since is Since.CHANGE:
            wal = self._path.with_name("state.db-wal")
            return self._path.stat().st_mtime_ns, wal.exists() and wal.stat().st_size
        trash = self._place / "state" / "hermes-sessions" / "trash"
        return {path.name for place in (self.cli.home, trash) for path in place.glob("*")}

    def stage(self) -> str:
        """Open what the kill has left, and tell how far the command came.

        The program reads it first: nobody has recovered it yet.
        """
        shown = set(self.cli("list", "--all", "-n", "0", "--ids").ok().lines)
        counts = self._whole()
        if self.command == "fork":
            changed = {"forked"} & counts.keys()
            assert ("forked" in shown) == bool(changed)
            return "after" if changed else "before"
        if self.command == "archive":
            archived = self._archived()
            assert archived in (set(), self._base.units.keys())
            return "after" if archived else "before"
        there = self._base.units.keys() & counts.keys()
        assert shown & self._base.units.keys() == there
        if there == self._base.units.keys():
            return "after" if self.command == "undo" else "before"
        return "middle" if there else "before" if self.command == "undo" else "after"

    def _whole(self) -> dict[str, int]:
        """Check that the store is sound and every conversation whole or gone."""
        with closing(sqlite3.connect(self._path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        assert mode == self._base.journal
        counts = count_messages(self._path)
        for name, number in counts.items():
            whole = self._base.counts["big"] if name == "forked" else self._base.counts[name]
            assert number == whole, name
        for own in self._base.units.values():
            there = own & counts.keys()
            assert there in (set(), own)
        assert counts.keys() >= self._base.counts.keys() - set().union(*self._base.units.values())
        return counts

    def _archived(self) -> set[str]:
        with closing(sqlite3.connect(self._path)) as connection:
            found = connection.execute(
                "SELECT id FROM sessions WHERE archived AND title LIKE 'grown%'"
            )
            return self._base.units.keys() & {row[0] for row in found}

    def check(self, chance: random.Random) -> None:
        """Go on after the kill: the same command works, and there is a way back."""
        if self.command == "fork":
            self._check_fork()
        elif self.command == "archive":
            self.cli(*self.words, "--yes").ok()
            assert self._archived() == self._base.units.keys()
            self.cli("unarchive", "--title", "grown", "--yes").ok()
        elif self.command == "undo":
            self._undo_everything(chance)
        else:
            self._check_trash()
            if chance.random() < 0.5:
                self._run_again()
            self._undo_everything(chance)
        self._whole()
        assert differences(self._base.rows, dump(self._path)) == []
        assert files_in(self.cli.home) == self._base.files

    def _check_fork(self) -> None:
        if "forked" in count_messages(self._path):
            assert self.cli(*self.words, "--yes").code == 2, "title and id are taken"
        else:
            self.cli(*self.words, "--yes").ok()
        assert count_messages(self._path)["forked"] == self._base.counts["big"]
        self.cli("delete", "forked", "--no-trash", "--yes").ok()

    def _check_trash(self) -> None:
        """Check that everything that is gone is in the trash."""
        gone = self._base.units.keys() - count_messages(self._path).keys()
        entries = self.cli("trash", "list", "--json").ok().json
        assert gone <= {name for entry in entries for name in entry["ids"]}
        for entry in entries:
            shown = self.cli("trash", "show", entry["id"]).ok().lines
            assert len(shown) == len(entry["ids"])

    def _run_again(self) -> None:
        left = self._base.units.keys() & count_messages(self._path).keys()
        if self.command == "prune" or left:
            words = ("delete", *left) if self.command == "delete" else self.words
            self.cli(*words, "--yes").ok()
        assert not self._base.units.keys() & count_messages(self._path).keys()
        self._check_trash()

    def _undo_everything(self, chance: random.Random) -> None:
        """Undo all runs in any order.

        What a killed run had not yet written to its end can only come back from a later run.
        """
        entries = self.cli("trash", "list", "--json").ok().json
        chance.shuffle(entries)
        for entry in entries:
            outcome = self.cli("undo", entry["id"], "--yes")
            cut_off = f"not brought back: {entry['ids'][-1]}, what is in"
            assert outcome.code == 0 or (len(entries) > 1 and cut_off in outcome.stderr), outcome
            assert outcome.stderr.count("not brought back") <= 1


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say with whatever fails inside how to come back to it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"{where}; CRASH_SEED={SEED}")
        raise


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_moment(base: Base, tmp_path: Path, command: str) -> None:
    chance = random.Random(f"{SEED} {command} {base.journal}")  # noqa: S311 - repeatable
    trial = Trial(base, tmp_path, command)
    moments = Moments(chance, trial.run(None))
    number = (KILLS + (base.journal == "wal")) // 2
    stages: Counter[str] = Counter()
    hits = tries = 0

    def is_enough() -> bool:
        return hits * 2 >= tries and (stages["middle"] > 0 or not trial.is_gradual)

    while tries < number or not (is_enough() or tries >= number + MOST_MORE):
        tries += 1
        trial.reset()
        moment = moments.next()
        with told(
            f"{command} ({base.journal}), kill {tries} {moment.seconds:.3f} s after {moment.since}"
        ):
            killed = trial.run(moment)
            stage = trial.stage()
            trial.check(chance)
        moments.learn(moment, killed)
        stages[stage] += 1
        hits += killed.was_running
    figures = f"{command} ({base.journal}): {hits} of {tries} kills in time, {dict(stages)}"
    print(figures)  # noqa: T201 - shown by pytest -rP
    with told(figures):
        assert is_enough()
