"""Plan, show, ask, do: the frame of changing commands (R094, R107, R109, R115)."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

import hermes_sessions
from hermes_sessions.cli.app import main
from hermes_sessions.context import Env
from hermes_sessions.store import filesystem
from support import CLOCK, Outcome, Terminal, edit, fingerprint
from test_edits import BOT_CHAT, BUILD_LOG, PINNED, TIP, cells, changed, value
from test_fork import MIGRATION
from test_list import message, session
from tmux import PROGRAM, Tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support import Cli
    from tmux import Pane

    MakeCli = Callable[..., Cli]

COMMANDS = {
    "rename": ("rename", BUILD_LOG, "another", "name"),
    "new": ("new", "--title", "x", "--id", "fresh"),
    "fork": ("fork", MIGRATION, "--id", "fresh"),
    "close": ("close", BUILD_LOG),
    "close by filter": ("close", "--title", "build log"),
    "pin": ("pin", BUILD_LOG),
    "unpin": ("unpin", PINNED),
    "archive": ("archive", BUILD_LOG),
    "archive by filter": ("archive", "--source", "oneshot"),
    "unarchive": ("unarchive", "put away"),
    "unarchive by filter": ("unarchive", "--title", "put away"),
    "hide": ("hide", BUILD_LOG),
    "unhide": ("unhide", BOT_CHAT),
    "relocate": ("relocate", "/home/dev/projects/firmware", "/srv/firmware"),
}

every_command = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)


class Person(Terminal):
    """Somebody at a terminal who answers a question, and perhaps does something before."""

    def __init__(self, answer: str, meanwhile: Callable[[], object] = str) -> None:
        super().__init__()
        self.was_asked = False
        self._answer = answer
        self._meanwhile = meanwhile

    def readline(self, _size: int = -1, /) -> str:  # type: ignore[override]
        self.was_asked = True
        self._meanwhile()
        return self._answer


def ask(cli: Cli, person: Person, *words: str) -> Outcome:
    """Run with a person who can be asked."""
    out, err = Terminal(), Terminal()
    environ = {**cli.environ, "COLUMNS": "120", "LINES": "50", "NO_COLOR": "1"}
    code = main(list(words), Env(person, out, err, environ, cli.now, str(cli.cwd)))
    return Outcome(out.getvalue(), err.getvalue(), int(code))


def in_store(cli: Cli, *statements: str) -> Callable[[], None]:
    """Return what another process does to the store."""

    def write() -> None:
        edit(*statements)(cli.home / "state.db")

    return write


# Showing


@pytest.mark.parametrize("name", ["0.22.2", "wal-header", "hot-wal/state"])
@every_command
def test_a_dry_run_changes_not_one_byte(
    make_writable_cli: MakeCli, words: tuple[str, ...], name: str
) -> None:
    cli = make_writable_cli(name)
    if name == "hot-wal/state" and words[0] in {"pin", "unpin", "hide", "unhide"}:
        pytest.skip("a store of 0.19 has no such mark")
    before = fingerprint(cli.home)
    for options in (("--dry-run",), ("--dry-run", "--yes"), ("--dry-run", "--json")):
        outcome = cli(*words, *options).ok()
        assert outcome.stdout
        assert outcome.stderr.endswith("dry run: nothing was changed\n")
    assert fingerprint(cli.home) == before


@every_command
def test_R094_without_a_terminal_the_plan_is_all(
    make_writable_cli: MakeCli, words: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    planned = cli(*words, "--dry-run").ok().stdout
    for terminal in (0, 80):  # one to print on is not one to ask on
        outcome = cli(*words, terminal=terminal)
        assert outcome.code == 2
        assert terminal or outcome.stdout == planned
        assert "--yes" in outcome.stderr
        assert "[Y/n]" not in outcome.stderr
    assert fingerprint(cli.home) == before


@every_command
def test_R094_yes_asks_nothing(make_writable_cli: MakeCli, words: tuple[str, ...]) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    person = Person("n\n")
    outcome = ask(cli, person, *words, "--yes").ok()
    assert not person.was_asked
    assert "[Y/n]" not in outcome.stderr
    assert fingerprint(cli.home) != before


@every_command
def test_quiet_leaves_results_and_the_question(
    make_writable_cli: MakeCli, words: tuple[str, ...]
) -> None:
    assert make_writable_cli()("-q", *words, "--yes").ok().stderr == ""
    outcome = ask(make_writable_cli(), Person("y\n"), "-q", *words).ok()
    assert re.fullmatch(r"[^\n]*\? \[Y/n\] ", outcome.stderr)


# Asking


@pytest.mark.parametrize("answer", ["\n", "y\n", "Y\n", " yes \n", "YES\n"])
def test_enter_means_yes(make_writable_cli: MakeCli, answer: str) -> None:
    cli = make_writable_cli()
    outcome = ask(cli, Person(answer), "pin", BUILD_LOG).ok()
    assert f"Pin “build log” ({BUILD_LOG})? [Y/n] " in outcome.stderr
    assert outcome.stdout.endswith(f"pinned “build log” ({BUILD_LOG})\n")
    assert value(cli, "pinned", BUILD_LOG) == 1


@pytest.mark.parametrize("answer", ["n\n", "no\n", "N\n", "nonsense\n", "0\n", ""])
@every_command
def test_anything_else_means_no(
    make_writable_cli: MakeCli, words: tuple[str, ...], answer: str
) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = ask(cli, Person(answer), *words)
    assert outcome.code == 1
    assert outcome.stderr.endswith("nothing was changed\n")
    assert fingerprint(cli.home) == before


def test_several_are_counted_in_the_question(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    outcome = ask(cli, Person("\n"), "pin", BUILD_LOG, TIP, MIGRATION).ok()
    assert "Pin 3 conversations? [Y/n] " in outcome.stderr
    assert all(i in outcome.stdout for i in (BUILD_LOG, TIP, MIGRATION))


def test_json_stays_alone_on_its_stream(make_writable_cli: MakeCli) -> None:
    outcome = ask(make_writable_cli(), Person("\n"), "pin", BUILD_LOG, "--json").ok()
    assert outcome.json["changed"] == [BUILD_LOG]
    assert "Pin 1 conversation" in outcome.stderr


def test_a_long_plan_is_cut_before_the_question_only(make_writable_cli: MakeCli) -> None:
    rows = [session(id=f"idle{i:02}", source="api_server", title=f"t{i:02}") for i in range(20)]
    cli = make_writable_cli(change=edit(*rows))
    words = ("close", "--source", "api_server")
    shown = ask(cli, Person("n\n"), *words).stdout
    assert "… 6 more lines (--dry-run shows all)" in shown
    assert shown.count("idle") == 15
    assert ask(cli, Person(""), *words, "--dry-run").ok().stdout.count("idle") == 20
    assert cli(*words, "--yes").ok().lines == ["closed 21 conversations"]


# What is changed since the plan was shown is not touched

COMPRESSED = [
    f"UPDATE sessions SET ended_at = 1, end_reason = 'compression' WHERE id = '{BUILD_LOG}'",
    session(id="next", parent_session_id=BUILD_LOG),
]

MEANWHILE: dict[str, tuple[tuple[str, ...], list[str], int]] = {
    "rename: it got another title": (
        COMMANDS["rename"],
        [f"UPDATE sessions SET title = 'theirs' WHERE id = '{BUILD_LOG}'"],
        3,
    ),
    "rename: its title was taken": (
        COMMANDS["rename"],
        [f"UPDATE sessions SET title = 'another name' WHERE id = '{MIGRATION}'"],
        2,
    ),
    "rename: it was compressed": (COMMANDS["rename"], COMPRESSED, 3),
    "pin: it was pinned": (
        COMMANDS["pin"],
        [f"UPDATE sessions SET pinned = 1 WHERE id = '{BUILD_LOG}'"],
        3,
    ),
    "pin: it is gone": (
        COMMANDS["pin"],
        [
            f"DELETE FROM messages WHERE session_id = '{BUILD_LOG}'",
            f"DELETE FROM sessions WHERE id = '{BUILD_LOG}'",
        ],
        3,
    ),
    "hide: it was compressed": (COMMANDS["hide"], COMPRESSED, 3),
    "close: it went on": (COMMANDS["close"], [message(BUILD_LOG, CLOCK)], 3),
    "close: it is live": (
        COMMANDS["close"],
        [f"INSERT INTO session_turn_leases VALUES ('{BUILD_LOG}', 'pid=1:turn=x', 1, 4e9)"],
        3,
    ),
    "close by filter: it went on": (COMMANDS["close by filter"], [message(BUILD_LOG, CLOCK)], 3),
    "archive by filter: it was pinned": (
        COMMANDS["archive by filter"],
        ["UPDATE sessions SET pinned = 1 WHERE source = 'oneshot'"],
        3,
    ),
    "archive by filter: it was opened again": (
        COMMANDS["archive by filter"],
        ["UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE source = 'oneshot'"],
        3,
    ),
    "unarchive by filter: it went on": (
        COMMANDS["unarchive by filter"],
        [message("20260305_100000_0b0001", CLOCK)],
        3,
    ),
    "fork: it went on": (COMMANDS["fork"], [message(MIGRATION, CLOCK)], 3),
    "fork: it was rewound": (
        COMMANDS["fork"],
        [f"UPDATE messages SET active = 0 WHERE session_id = '{MIGRATION}' AND id > 120"],
        3,
    ),
    "fork: its source is live": (
        COMMANDS["fork"],
        [f"INSERT INTO session_turn_leases VALUES ('{MIGRATION}', 'pid=1:turn=x', 1, 4e9)"],
        3,
    ),
    "fork: its title was taken": (
        COMMANDS["fork"],
        [session(id="other", title="migration plan #2")],
        2,
    ),
    "fork: its id was taken": (COMMANDS["fork"], [session(id="fresh")], 2),
    "new: its title was taken": (COMMANDS["new"], [session(id="other", title="x")], 2),
    "new: its id was taken": (COMMANDS["new"], [session(id="fresh")], 2),
    "relocate: there is one more": (
        COMMANDS["relocate"],
        [session(id="more", cwd="/home/dev/projects/firmware")],
        3,
    ),
}


@pytest.mark.parametrize(("words", "statements", "code"), MEANWHILE.values(), ids=MEANWHILE)
def test_what_changed_since_the_plan_is_not_touched(
    make_writable_cli: MakeCli, words: tuple[str, ...], statements: list[str], code: int
) -> None:
    cli = make_writable_cli()
    after: list[dict[str, str]] = []

    def meanwhile() -> None:
        in_store(cli, *statements)()
        after.append(fingerprint(cli.home))

    outcome = ask(cli, Person("y\n", meanwhile), *words)
    assert outcome.code == code, outcome
    assert [fingerprint(cli.home)] == after
    if code == 3:
        assert "nothing was changed" in outcome.stderr


def test_what_does_not_matter_does_not_stop_it(make_writable_cli: MakeCli) -> None:
    for words in (COMMANDS["pin"], COMMANDS["archive"], COMMANDS["rename"]):
        cli = make_writable_cli()
        ask(cli, Person("y\n", in_store(cli, message(BUILD_LOG, CLOCK))), *words).ok()
    cli = make_writable_cli()
    elsewhere = in_store(cli, message(TIP, CLOCK), session(id="other", title="other"))
    ask(cli, Person("y\n", elsewhere), *COMMANDS["close"]).ok()


# Beside other processes

PROCESS = """\
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[3:]:
    connection.execute(statement).fetchall()
print("ready", flush=True)
time.sleep(float(sys.argv[2]))
connection.rollback()
"""


@contextmanager
def holding(cli: Cli, seconds: float, *statements: str) -> Iterator[int]:
    """Let another process run statements and hold what they lock; return its number."""
    store = str(cli.home / "state.db")
    command = [sys.executable, "-c", PROCESS, store, str(seconds), *statements]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["0.22.2", "wal-header"])
@pytest.mark.parametrize(
    "statements",
    [("BEGIN IMMEDIATE",), ("BEGIN EXCLUSIVE",), ("BEGIN", "SELECT * FROM sessions")],
    ids=["writer", "alone", "reader"],
)
def test_R107_it_waits_for_another_process(
    make_writable_cli: MakeCli, name: str, statements: tuple[str, ...]
) -> None:
    cli = make_writable_cli(name)
    with holding(cli, 2, *statements):
        cli("rename", BUILD_LOG, "patience", "--yes", "--timeout", "20").ok()
    assert value(cli, "title", BUILD_LOG) == "patience"


@every_command
def test_R107_held_for_ever_is_busy_and_names_the_holder(
    make_writable_cli: MakeCli, words: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    with holding(cli, 60, "BEGIN IMMEDIATE") as pid:
        begun = time.monotonic()
        outcome = cli(*words, "--yes", "--timeout", "1")
        assert 1 <= time.monotonic() - begun < 30
    assert (outcome.code, outcome.stdout) == (75, "")
    assert "for 1 seconds" in outcome.stderr
    if sys.platform == "linux":
        assert str(pid) in outcome.stderr
    assert "nothing was changed" in outcome.stderr
    assert set(fingerprint(cli.home).items()) >= set(before.items())


def test_R107_a_reader_that_never_ends_keeps_a_rollback_store_as_it_is(
    make_writable_cli: MakeCli,
) -> None:
    cli = make_writable_cli()
    before = cells(cli)
    with holding(cli, 60, "BEGIN", "SELECT * FROM sessions"):
        outcome = cli("rename", BUILD_LOG, "x", "--yes", "--timeout", "0.5")
        assert outcome.code == 75
    assert cells(cli) == before
    cli("rename", BUILD_LOG, "x", "--yes", "--timeout", "0").ok()


def test_two_that_find_nothing_at_the_same_time_make_one(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    words = ("-c", "a thread", "--create-if-missing", "--print")
    command = [sys.executable, "-m", "hermes_sessions", *words]
    environ = {**cli.environ, "PYTHONPATH": str(Path(hermes_sessions.__file__).parents[1])}
    with holding(cli, 60, "BEGIN IMMEDIATE"):
        both = [
            subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        time.sleep(2)  # both have found nothing by now, and wait
    made = {process.communicate(timeout=30)[0] for process in both}
    assert len(made) == 1
    assert {process.returncode for process in both} == {0}
    assert value(cli, "title", made.pop().strip()) == "a thread"


@pytest.mark.parametrize("seconds", ["-1", "x", ""])
def test_a_timeout_that_is_none(make_writable_cli: MakeCli, seconds: str) -> None:
    outcome = make_writable_cli()("pin", BUILD_LOG, "--yes", f"--timeout={seconds}")
    assert outcome.code == 2
    assert "--timeout" in outcome.stderr


CHECKPOINT = """\
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("UPDATE sessions SET title = 'written meanwhile' WHERE id = 'other'")
print(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
"""


@pytest.mark.parametrize("words", [COMMANDS["pin"], COMMANDS["fork"], COMMANDS["relocate"]])
def test_R115_nothing_is_open_while_a_person_thinks(
    make_writable_cli: MakeCli, words: tuple[str, ...]
) -> None:
    cli = make_writable_cli("wal-header", change=edit(session(id="other", title="other")))
    store = cli.home / "state.db"
    seen: list[str] = []

    def meanwhile() -> None:
        command = [sys.executable, "-c", CHECKPOINT, str(store)]
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        descriptors = Path("/proc/self/fd")
        if descriptors.exists():
            paths = [str(link.resolve()) for link in descriptors.iterdir()]
            assert not [path for path in paths if path.startswith(str(store))]

    with holding(cli, 60, "SELECT 1 FROM sessions"):  # so that there is a log to be emptied
        ask(cli, Person("y\n", meanwhile), *words).ok()
    assert seen == ["(0, 0, 0)\n"]
    assert value(cli, "title", "other") == "written meanwhile"


@pytest.mark.parametrize("name", ["0.22.2", "wal-header", "0.19.0"])
def test_the_file_stays_the_file_it_is(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    store = cli.home / "state.db"
    store.chmod(0o600)
    before, header = store.stat(), store.read_bytes()[:100]
    cli("rename", BUILD_LOG, "x", "--yes").ok()
    cli("fork", MIGRATION, "--yes").ok()
    cli("close", TIP, "--yes").ok()
    after = store.stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    kept = slice(16, 24)  # page size, and how it is journalled
    assert store.read_bytes()[:100][kept] == header[kept]
    assert [path.name for path in cli.home.iterdir()] == ["state.db"]
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@every_command
def test_R108_an_error_of_the_disk_is_said_and_changes_nothing(
    make_writable_cli: MakeCli, words: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    journal = cli.home / "state.db-journal"
    journal.mkdir()  # SQLite cannot write what it would need to go back
    outcome = cli(*words, "--yes")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "the disk or network mount returned an error" in outcome.stderr
    journal.rmdir()
    assert fingerprint(cli.home) == before


def test_R109_a_mount_that_loses_stores_is_warned_of(
    make_writable_cli: MakeCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "file_system", lambda _: "virtiofs")
    cli = make_writable_cli()
    assert "warning: virtiofs" in cli("pin", BUILD_LOG, "--yes").ok().stderr
    assert "warning" not in cli("unpin", BUILD_LOG, "--dry-run").ok().stderr


# With a real terminal


@pytest.fixture
def desk(make_writable_cli: MakeCli, tmp_path: Path) -> Iterator[tuple[Cli, Pane]]:
    """A store, and a real terminal whose shell knows it."""
    cli = make_writable_cli()
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "hermes-sessions"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hermes_sessions "$@"\n')
    program.chmod(0o755)
    package = str(Path(hermes_sessions.__file__).parents[1])
    terminals = Tmux(
        {
            "HERMES_HOME": str(cli.home),
            "HOME": os.environ["HOME"],
            "LC_ALL": "C.UTF-8",
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
            "TZ": "UTC",
        }
    )
    try:
        yield cli, terminals.open(tmp_path, width=100)
    finally:
        terminals.close()


in_tmux = [
    pytest.mark.terminal,
    pytest.mark.skipif(PROGRAM is None, reason="tmux is not installed"),
]


def at_question(pane: Pane, command: str) -> None:
    pane.clear()
    pane.type(f"{command}; echo left-$?")
    pane.wait_for(r"\? \[Y/n\]$")


class TestInATerminal:
    pytestmark = in_tmux

    @pytest.mark.parametrize("keys", [("y", "Enter"), ("Enter",), ("y", "e", "s", "Enter")])
    def test_yes(self, desk: tuple[Cli, Pane], keys: tuple[str, ...]) -> None:
        cli, pane = desk
        at_question(pane, f"hermes-sessions pin {BUILD_LOG}")
        assert value(cli, "pinned", BUILD_LOG) == 0
        pane.press(*keys)
        pane.wait_for(r"^left-0$")
        assert f"pinned “build log” ({BUILD_LOG})" in pane.text()
        assert value(cli, "pinned", BUILD_LOG) == 1

    @pytest.mark.parametrize(
        ("keys", "code"),
        [(("n", "Enter"), 1), (("C-d",), 1), (("C-c",), 130), (("y", "C-c"), 130)],
    )
    def test_no(self, desk: tuple[Cli, Pane], keys: tuple[str, ...], code: int) -> None:
        cli, pane = desk
        before = fingerprint(cli.home)
        at_question(pane, f"hermes-sessions rename {BUILD_LOG} another name")
        pane.press(*keys)
        pane.wait_for(rf"left-{code}$")
        assert fingerprint(cli.home) == before
        assert "icanon" in pane.run("stty -a").text

    def test_the_plan_stands_above_the_question(self, desk: tuple[Cli, Pane]) -> None:
        cli, pane = desk
        title = "数据库迁移计划 🌸"
        in_store(cli, f"UPDATE sessions SET title = '{title}' WHERE id = '{BUILD_LOG}'")()
        before = cells(cli)
        at_question(pane, f"hermes-sessions hide {BUILD_LOG} {TIP}")
        lines = [line.rstrip() for line in pane.screen() if line.strip()]
        assert max(map(cell_len, lines)) <= 100
        assert any(title in line and line.endswith(BUILD_LOG) for line in lines)
        assert any("refactoring auth #3" in line and line.endswith(TIP) for line in lines)
        assert lines[-1] == "Hide 2 conversations? [Y/n]"
        pane.press("Enter")
        pane.wait_for(r"^left-0$")
        assert {column for _, column in changed(before, cells(cli))} == {"hidden"}
