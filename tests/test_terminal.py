"""Going on per terminal, in real ones: each pane its own conversation, and never another's.

The shells of a private tmux server know a copy of a real store and a stand-in for ``hermes`` that
notes how it was started. What needs a terminal device but no screen gets a plain pty.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import hermes_sessions
from hermes_peer import PeerUnavailable, peer_path
from hermes_sessions.cli.commands import BY_NAME
from hermes_sessions.processes import process_started_at
from hermes_sessions.terminal import PANE_VARIABLES
from support import edit, fingerprint, place_store
from tmux import PROGRAM, Tmux, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tmux import Pane

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(PROGRAM is None, reason="tmux is not installed"),
]

BUILD_LOG = "20260305_090000_0a0001"
MIGRATION = "20260305_120000_0c0001"
NEWEST = "20260305_150200_0d0003"
"""What a bare ``-c`` continues where no note counts: the newest one of a terminal."""
AUTH_ROOT = "20260302_090000_a1b2c3"
AUTH_TIP = "20260302_130005_c3d4e5"
SHORT = "20250814_090000_00aa11"

DAY = 86_400

HERMES = """\
#!/bin/sh
printf '%s\\037' "$(pwd -P)" "$HERMES_HOME" "$(tty)" "$PPID" "$@" >>"$HERMES_LOG"
printf '\\036' >>"$HERMES_LOG"
echo "hermes runs"
if [ "$HERMES_STAYS" ]; then exec sleep 60; fi
exit "${HERMES_CODE:-0}"
"""


class Start(NamedTuple):
    """How the stand-in was started."""

    cwd: str
    home: str
    tty: str
    parent: int
    args: list[str]


class Desk:
    """A Hermes home, a stand-in for ``hermes``, and terminals whose shells know both."""

    def __init__(self, directory: Path) -> None:
        self.home = place_store("0.22.2", directory / "home")
        self.firmware = _directory(directory / "firmware")
        self.billing = _directory(directory / "billing")
        self.desktop = _directory(directory / "desktop")
        self.programs = _directory(directory / "bin")
        self._log = directory / "starts"
        self.change(
            "UPDATE sessions SET cwd = :firmware, git_repo_root = NULL WHERE id = :build_log",
            "UPDATE sessions SET cwd = :billing, git_repo_root = NULL WHERE id = :migration",
            firmware=str(self.firmware),
            billing=str(self.billing),
            build_log=BUILD_LOG,
            migration=MIGRATION,
        )
        ours = f'exec {shlex.quote(sys.executable)} -P -m hermes_sessions "$@"\n'
        _script(self.programs / "hermes-sessions", f"#!/bin/sh\n{ours}")
        self.hermes = _script(self.programs / "hermes", HERMES)
        package = str(Path(hermes_sessions.__file__).parents[1])
        self.environ = {
            "HERMES_HOME": str(self.home),
            "HERMES_LOG": str(self._log),
            "HOME": os.environ["HOME"],
            "LC_ALL": "C.UTF-8",
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
            "TZ": "UTC",
        }
        self.tmux = Tmux(self.environ)

    @property
    def notes(self) -> Path:
        return self.home / "terminal-sessions"

    @property
    def starts(self) -> list[Start]:
        """Every start of the stand-in so far, oldest first."""
        if not self._log.exists():
            return []
        starts = []
        for record in self._log.read_text(encoding="utf-8").split("\036")[:-1]:
            cwd, home, tty, parent, *args = record.split("\037")[:-1]
            starts.append(Start(cwd, home, tty, int(parent), args))
        return starts

    @property
    def resumed(self) -> list[str]:
        """The ids that were handed over so far, oldest first."""
        return [start.args[1] for start in self.starts if start.args[0] == "--resume"]

    def open(self, *, width: int = 160, height: int = 40) -> Pane:
        return self.tmux.open(self.desktop, width=width, height=height)

    def run(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        """Run the program with pipes, and perhaps a terminal on stdin."""
        return subprocess.run(
            [str(self.programs / "hermes-sessions"), *words],
            stdin=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**self.environ, **environ},
            cwd=self.desktop,
            check=False,
            timeout=30,
        )

    def change(self, *statements: str, **parameters: object) -> None:
        edit(*statements, **parameters)(self.home / "state.db")

    def configure(self, text: str) -> None:
        (self.home / "config.yaml").write_text(text, encoding="utf-8")

    def write_note(self, name: str, session_id: str, at: float) -> None:
        """Leave a note as Hermes itself writes it."""
        self.notes.mkdir(exist_ok=True)
        note = {"session_id": session_id, "cwd": "/", "ts": at}
        (self.notes / name).write_text(json.dumps(note), encoding="utf-8")

    def state_of_notes(self) -> dict[str, tuple[int, int, bytes]]:
        return {
            path.name: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
            for path in self.notes.iterdir()
        }

    def read_notes(self) -> dict[str, dict[str, Any]]:
        return {path.name: json.loads(path.read_bytes()) for path in self.notes.iterdir()}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.tmux.close()


def _directory(path: Path) -> Path:
    path.mkdir()
    return path.resolve()


def _script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@contextlib.contextmanager
def terminal_device() -> Iterator[int]:
    """Open a pty of our own; its end for a program is what the program gets as stdin."""
    controller, device = pty.openpty()
    try:
        yield device
    finally:
        os.close(device)
        os.close(controller)


def tty_note(tty: str) -> str:
    return f"tty-{tty.strip('/').replace('/', '-')}"


def pane_note(pane: Pane) -> str:
    return f"tmux_pane--{pane.id.removeprefix('%')}"


def recycled(desk: Desk, leave_note: Callable[[Pane], object]) -> Pane:
    """Open a pane, leave a note in it, close it, and return another one with the same device.

    Other programs open terminals too: if one of them gets the device, it is all done again.
    """

    def attempt() -> Pane | None:
        pane = desk.open()
        leave_note(pane)
        pane.close()
        return next((new for _ in range(10) if (new := desk.open()).tty == pane.tty), None)

    return wait_until(attempt, lambda: "no terminal device comes again")


def is_sane(pane: Pane) -> bool:
    """Tell whether the terminal echoes and edits lines, and no full-screen program has it."""
    settings = pane.run("stty -a").text.split()
    return {"icanon", "echo", "isig", "icrnl", "opost"} <= {word.strip(";") for word in settings}


# Each terminal its own conversation


def test_each_pane_goes_on_with_its_own_whichever_was_used_last(desk: Desk) -> None:
    left, right = desk.open(), desk.open()
    left.run(f"hermes-sessions resume {BUILD_LOG}")
    right.run(f"hermes-sessions resume {MIGRATION}")
    for pane in (left, right, left):
        shown = pane.run("hermes-sessions -c")
        assert f"this pane's conversation (tmux {pane.id})" in shown.text
    assert desk.resumed == [BUILD_LOG, MIGRATION, BUILD_LOG, MIGRATION, BUILD_LOG]
    assert [start.tty for start in desk.starts[-3:]] == [left.tty, right.tty, left.tty]
    assert {start.home for start in desk.starts} == {str(desk.home)}


def test_a_new_pane_goes_on_with_the_newest_and_says_why(desk: Desk) -> None:
    desk.open().run(f"hermes-sessions resume {BUILD_LOG}")
    pane = desk.open()
    shown = pane.run("hermes-sessions -c").text
    assert "the newest of all workspaces" in shown
    assert f"this pane (tmux {pane.id}) has no conversation yet" in shown
    assert desk.resumed == [BUILD_LOG, NEWEST]


def test_R023_the_newest_of_this_workspace_goes_before_the_newest_of_all(desk: Desk) -> None:
    pane = desk.open()
    shown = pane.run(f"cd {shlex.quote(str(desk.billing))} && hermes-sessions -c")
    assert f"the newest of this workspace ({desk.billing})" in shown.text
    assert desk.resumed == [MIGRATION]


def test_the_recorded_directory_is_entered_and_said(desk: Desk) -> None:
    pane = desk.open()
    shown = pane.run(f"hermes-sessions resume {BUILD_LOG}")
    assert f"↪ restored workspace dir: {desk.firmware}\n" in shown.text
    again = pane.run("hermes-sessions -c")
    assert f"↪ restored workspace dir: {desk.firmware}\n" in again.text
    there = pane.run(f"cd {shlex.quote(str(desk.firmware))} && hermes-sessions -c")
    assert "restored workspace dir" not in there.text
    assert [start.cwd for start in desk.starts] == [str(desk.firmware)] * 3


def test_no_restore_cwd_stays_here(desk: Desk) -> None:
    shown = desk.open().run(f"hermes-sessions resume {BUILD_LOG} --no-restore-cwd")
    assert "restored workspace dir" not in shown.text
    assert [start.cwd for start in desk.starts] == [str(desk.desktop)]


def test_in_goes_to_a_directory_and_stays_there(desk: Desk) -> None:
    shown = desk.open().run(f"hermes-sessions resume {BUILD_LOG} --in {desk.billing}")
    assert "restored workspace dir" not in shown.text
    assert [start.cwd for start in desk.starts] == [str(desk.billing)]


def test_in_chooses_by_its_workspace_and_not_by_the_note(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    shown = pane.run(f"hermes-sessions -c --in {desk.billing}")
    assert f"the newest of the workspace of --in ({desk.billing})" in shown.text
    assert desk.resumed == [BUILD_LOG, MIGRATION]
    assert desk.starts[-1].cwd == str(desk.billing)


@pytest.mark.parametrize("kind", ["gone", "file", "blank", "closed"])
def test_R030_a_directory_that_cannot_be_entered_is_one_warning(desk: Desk, kind: str) -> None:
    path = desk.home.parent / "no longer"
    if kind == "file":
        path.touch()
    elif kind == "closed":
        path.mkdir()
        path.chmod(0)
        if os.access(path, os.X_OK):
            pytest.skip("this user may enter any directory")
    recorded = " " if kind == "blank" else str(path)
    desk.change("UPDATE sessions SET cwd = :cwd WHERE id = :id", cwd=recorded, id=BUILD_LOG)
    done = desk.run("resume", BUILD_LOG)
    assert done.returncode == 0
    assert done.stderr.count("⚠") == (0 if kind == "blank" else 1)
    assert [start.cwd for start in desk.starts] == [str(desk.desktop)]


# Numbers of terminals come again


def test_a_recycled_terminal_does_not_inherit_our_note(desk: Desk) -> None:
    pane = recycled(desk, lambda old: old.run(f"hermes-sessions resume {BUILD_LOG}"))
    assert desk.read_notes()[tty_note(pane.tty)]["session_id"] == BUILD_LOG
    shown = pane.run("hermes-sessions -c --dry-run")
    assert f"{BUILD_LOG}: its note was made in another pane" in shown.text
    assert "chosen by the newest of all workspaces" in shown.text
    assert f"\nhermes --resume {NEWEST}\n" in shown.text
    pane.run("hermes-sessions -c")
    assert desk.resumed[-1] == NEWEST


@pytest.mark.parametrize("seconds", [5, 0.1])  # when a process started is told in hundredths
def test_a_recycled_terminal_does_not_inherit_the_note_of_hermes(
    desk: Desk, seconds: float
) -> None:
    def leave_note(old: Pane) -> None:
        desk.write_note(tty_note(old.tty), BUILD_LOG, time.time() - seconds)

    pane = recycled(desk, leave_note)
    shown = pane.run("hermes-sessions -c --dry-run")
    assert f"{BUILD_LOG}: its note is older than this pane" in shown.text
    pane.run("hermes-sessions -c")
    assert desk.resumed == [NEWEST]


def test_a_plain_terminal_that_is_recycled_does_not_inherit_our_note(desk: Desk) -> None:
    def attempt() -> str | None:
        with terminal_device() as old:
            name = os.ttyname(old)
            desk.run("resume", BUILD_LOG, stdin=old)
            assert desk.run("which", "-", stdin=old).stdout == f"{BUILD_LOG}\n"
        with terminal_device() as new:
            done = desk.run("-c", "--dry-run", stdin=new)
            return done.stderr if os.ttyname(new) == name else None

    said = wait_until(attempt, lambda: "no terminal device comes again")
    assert f"{BUILD_LOG}: its note is older than this terminal" in said


def test_a_change_of_the_permissions_of_a_terminal_does_not_make_it_new(desk: Desk) -> None:
    pane = desk.open()
    noted = time.time()
    desk.write_note(tty_note(pane.tty), BUILD_LOG, noted)
    wait_until(lambda: time.time() > noted + 1.2, lambda: "the clock stands still")
    Path(pane.tty).chmod(0o600)  # as `mesg n` does, which login shells run
    assert pane.run("hermes-sessions which -").text == f"{BUILD_LOG}\n"


def test_the_note_of_an_earlier_server_is_not_used(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    assert desk.read_notes()[pane_note(pane)]["session_id"] == BUILD_LOG
    (desk.notes / tty_note(pane.tty)).unlink()  # that one is a matter of the terminal
    desk.tmux.kill()
    again = desk.open()
    assert again.id == pane.id
    shown = again.run("hermes-sessions -c --dry-run")
    assert f"{BUILD_LOG}: its note was made under another server" in shown.text
    again.run("hermes-sessions -c")
    assert desk.resumed == [BUILD_LOG, NEWEST]


def test_a_note_of_hermes_from_before_the_server_is_not_used(desk: Desk) -> None:
    pane = desk.open()
    desk.write_note(pane_note(pane), BUILD_LOG, time.time() - 5)
    shown = pane.run("hermes-sessions -c --dry-run")
    assert f"{BUILD_LOG}: its note is older than this pane" in shown.text
    pane.run("hermes-sessions -c")
    assert desk.resumed == [NEWEST]


def test_the_note_of_an_earlier_zellij_of_the_same_name_is_not_used(desk: Desk) -> None:
    # The server of zellij starts the shells in its panes, and so does what stands for it here.
    inside = "unset TMUX TMUX_PANE; export ZELLIJ_SESSION_NAME=main ZELLIJ_PANE_ID=0"
    pane = desk.open()
    pane.run(inside)
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    (desk.notes / tty_note(pane.tty)).unlink()
    assert pane.run("hermes-sessions which -").text == f"{BUILD_LOG}\n"
    desk.tmux.kill()
    again = desk.open()
    again.run(inside)
    assert again.run("hermes-sessions which -").code == 1


def in_pane(number: int) -> dict[str, str]:
    """The variables of a tmux pane; the server is this process, which is older than any note."""
    return {"TMUX": f"/nowhere/tmux,{os.getpid()},0", "TMUX_PANE": f"%{number}"}


def test_R024_a_pane_is_the_same_on_another_device_and_no_other_pane_is(desk: Desk) -> None:
    with terminal_device() as before, terminal_device() as after:
        assert os.ttyname(before) != os.ttyname(after)
        desk.run("resume", BUILD_LOG, stdin=before, environ=in_pane(3))
        assert [start.tty for start in desk.starts] == [os.ttyname(before)]
        assert desk.run("which", "-", stdin=after, environ=in_pane(3)).stdout == f"{BUILD_LOG}\n"
        for device in (before, after):
            other = desk.run("-c", "--dry-run", stdin=device, environ=in_pane(4))
            assert other.stdout == f"hermes --resume {NEWEST}\n"
            assert desk.run("which", "-", stdin=device, environ=in_pane(4)).returncode == 1


def test_R024_the_newest_of_both_notes_counts(desk: Desk) -> None:
    with terminal_device() as device:
        now = time.time()
        for tty, pane in ((now + 1, now), (now, now + 1)):
            desk.write_note(tty_note(os.ttyname(device)), BUILD_LOG, tty)
            desk.write_note("tmux_pane--3", MIGRATION, pane)
            done = desk.run("which", "-", stdin=device, environ=in_pane(3))
            assert done.stdout.strip() == (BUILD_LOG if tty > pane else MIGRATION), done
        desk.write_note("tmux_pane--3", "20260101_000000_gone00", now + 2)
        done = desk.run("which", "--explain", "-", stdin=device, environ=in_pane(3))
        assert done.stdout == f"{BUILD_LOG}\n"
        assert "20260101_000000_gone00: it is gone" in done.stderr


def test_R024_without_a_terminal_on_stdin_and_stdout_the_pane_still_counts(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    (desk.notes / tty_note(pane.tty)).unlink()
    assert pane.run("hermes-sessions which - </dev/null | cat").text == f"{BUILD_LOG}\n"


# Notes of Hermes


@pytest.fixture(scope="session")
def hermes_modules() -> Path:
    """The modules of a real release."""
    try:
        return peer_path("0.22.2")
    except PeerUnavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@pytest.fixture
def breadcrumb(desk: Desk, hermes_modules: Path) -> Path:
    """A command that reads and writes notes with the code of that release."""
    code = f"""\
import sys
sys.path.insert(0, {str(hermes_modules)!r})
from hermes_cli.terminal_breadcrumbs import read_breadcrumb, write_breadcrumb
if len(sys.argv) > 1:
    write_breadcrumb(sys.argv[1])
else:
    print((read_breadcrumb() or {{}}).get("session_id"))
"""
    script = desk.programs / "breadcrumb.py"
    script.write_text(code, encoding="utf-8")
    run = f'exec {shlex.quote(sys.executable)} -IS {shlex.quote(str(script))} "$@"\n'
    return _script(desk.programs / "breadcrumb", f"#!/bin/sh\n{run}")


@pytest.mark.interop
def test_hermes_and_we_read_each_others_notes(desk: Desk, breadcrumb: Path) -> None:
    pane, other = desk.open(), desk.open()
    assert pane.run("breadcrumb").text == "None\n"
    pane.run(f"breadcrumb {BUILD_LOG}")
    assert desk.read_notes()[tty_note(pane.tty)].keys() == {"session_id", "cwd", "ts"}
    pane.run("hermes-sessions -c")
    assert desk.resumed == [BUILD_LOG]
    pane.run(f"hermes-sessions resume {MIGRATION}")
    assert pane.run("breadcrumb").text == f"{MIGRATION}\n"
    assert other.run("breadcrumb").text == "None\n"


@pytest.mark.interop
def test_where_hermes_has_no_terminal_the_note_of_the_pane_goes_both_ways(
    desk: Desk, breadcrumb: Path
) -> None:
    pane = desk.open()
    pane.run(f"breadcrumb {BUILD_LOG} </dev/null | cat")
    assert desk.read_notes().keys() == {pane_note(pane)}
    pane.run("hermes-sessions -c")
    assert desk.resumed == [BUILD_LOG]
    pane.run(f"hermes-sessions resume {MIGRATION}")
    assert pane.run("breadcrumb </dev/null | cat").text == f"{MIGRATION}\n"


@pytest.mark.interop
@pytest.mark.parametrize("variables", [*((name,) for name in PANE_VARIABLES), PANE_VARIABLES])
def test_every_terminal_that_hermes_knows_has_one_note_for_both(
    desk: Desk, breadcrumb: Path, variables: tuple[str, ...]
) -> None:
    environ = dict.fromkeys(variables, " %7/a b:ü ")

    def hermes(*words: str) -> str:
        return subprocess.run(
            [str(breadcrumb), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=desk.environ | environ,
            check=True,
        ).stdout

    hermes(BUILD_LOG)
    assert desk.run("which", "-", environ=environ).stdout == f"{BUILD_LOG}\n"
    assert desk.run("resume", MIGRATION, environ=environ).returncode == 0
    assert hermes() == f"{MIGRATION}\n"
    assert len(desk.read_notes()) == 1


def test_R021_the_note_of_a_compressed_session_leads_to_its_tip(desk: Desk) -> None:
    pane = desk.open()
    desk.write_note(tty_note(pane.tty), AUTH_ROOT, time.time())
    shown = pane.run("hermes-sessions -c")
    assert f"{AUTH_ROOT} was compressed; its conversation goes on as {AUTH_TIP}" in shown.text
    assert desk.resumed == [AUTH_TIP]
    assert desk.read_notes()[tty_note(pane.tty)]["session_id"] == AUTH_TIP


# Our notes


def test_a_note_is_private_whole_and_says_what_hermes_says(desk: Desk) -> None:
    pane = desk.open()
    before = time.time()
    pane.run(f"umask 0; hermes-sessions resume {BUILD_LOG}")
    notes = desk.read_notes()
    assert notes.keys() == {tty_note(pane.tty), pane_note(pane)}  # and nothing temporary
    for name, note in notes.items():
        assert (desk.notes / name).stat().st_mode & 0o7777 == 0o600
        assert note["session_id"] == BUILD_LOG
        assert note["cwd"] == str(desk.firmware)
        assert before <= note["ts"] <= time.time()


def test_a_note_is_replaced_as_a_whole(desk: Desk) -> None:
    with terminal_device() as device:
        desk.run("resume", BUILD_LOG, stdin=device)
        note = desk.notes / tty_note(os.ttyname(device))
        with note.open() as old:
            desk.run("resume", MIGRATION, stdin=device)
            assert json.load(old)["session_id"] == BUILD_LOG
        assert json.loads(note.read_bytes())["session_id"] == MIGRATION


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", '"x"', '{"session_id": " "}', "\xff"])
def test_a_broken_note_is_no_note(desk: Desk, content: str) -> None:
    with terminal_device() as device:
        desk.notes.mkdir()
        name = tty_note(os.ttyname(device))
        (desk.notes / name).write_text(content, encoding="latin-1")
        done = desk.run("-c", "--print", stdin=device)
        assert (done.returncode, done.stdout) == (0, f"{NEWEST}\n")


def test_a_note_older_than_30_days_is_not_used(desk: Desk) -> None:
    environ = {"TERM_SESSION_ID": "w0t1p0"}  # such a terminal does not tell how old it is
    for days, counts in ((29, True), (31, False)):
        desk.write_note("term_session_id-w0t1p0", BUILD_LOG, time.time() - days * DAY)
        done = desk.run("-c", "--dry-run", environ=environ)
        assert done.stdout == f"hermes --resume {BUILD_LOG if counts else NEWEST}\n"
        assert ("its note is older than 30 days" in done.stderr) is not counts


def test_a_note_whose_session_is_gone_is_passed_over_and_said(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    desk.change(
        "DELETE FROM messages WHERE session_id = :id", "DELETE FROM sessions WHERE id = :id",
        id=BUILD_LOG,
    )  # fmt: skip
    shown = pane.run("hermes-sessions -c")
    assert f"passed over: {BUILD_LOG}: it is gone" in shown.text
    assert desk.resumed == [BUILD_LOG, NEWEST]


def test_terminal_continue_false_switches_reading_and_writing_off(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    noted = fingerprint(desk.notes)
    desk.configure("session:\n  terminal_continue: false\n")
    shown = pane.run("hermes-sessions -c")
    assert "session.terminal_continue is off" in shown.text
    pane.run(f"hermes-sessions resume {MIGRATION}")
    assert desk.resumed == [BUILD_LOG, NEWEST, MIGRATION]
    assert fingerprint(desk.notes) == noted
    desk.configure("session:\n  terminal_continue: true\n")
    pane.run("hermes-sessions -c")
    assert desk.resumed[-1] == BUILD_LOG


def test_a_dash_means_the_conversation_of_this_terminal(desk: Desk) -> None:
    pane = desk.open()
    nothing = pane.run("hermes-sessions which -")
    assert nothing.code == 1
    assert "this terminal has no conversation yet" in nothing.text
    assert pane.run("hermes-sessions resume -").code == 1
    assert desk.starts == []
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    assert pane.run("hermes-sessions which -").text == f"{BUILD_LOG}\n"
    assert "build log" in pane.run("hermes-sessions show -").text
    assert "build log" in pane.run("hermes-sessions show").text
    pane.run("hermes-sessions resume -")
    pane.run("hermes-sessions -r -")
    assert desk.resumed == [BUILD_LOG] * 3


def test_where_there_is_no_terminal_a_dash_says_so(desk: Desk) -> None:
    done = desk.run("which", "-")
    assert (done.returncode, done.stdout) == (1, "")
    assert "not in a terminal" in done.stderr
    assert desk.run("resume", BUILD_LOG).returncode == 0
    assert not desk.notes.exists()


def test_R026_resume_rewrites_the_note_and_nothing_else_does(desk: Desk) -> None:
    pane = desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    pane.run(f"hermes-sessions resume {MIGRATION}")
    noted = desk.state_of_notes()
    for words in (
        "list",
        f"show {BUILD_LOG}",
        f"show {BUILD_LOG} --transcript | cat",
        f"which {BUILD_LOG}",
        f"resume {BUILD_LOG} --print",
        f"resume {BUILD_LOG} --dry-run",
        "-c --print",
        "-c --dry-run",
    ):
        assert pane.run(f"hermes-sessions {words}").code == 0, words
    assert desk.state_of_notes() == noted
    pane.run("hermes-sessions -c")
    assert desk.resumed == [BUILD_LOG, MIGRATION, MIGRATION]


# Handing over


def test_the_recap_is_shown_before_hermes_runs(desk: Desk) -> None:
    shown = desk.open().run(f"hermes-sessions resume {AUTH_TIP}").text
    assert "refactoring auth" in shown
    assert shown.index("Previous conversation") < shown.index("hermes runs")
    assert "● " in shown
    assert "◆ " in shown


@pytest.mark.parametrize("way", ["option", "configuration"])
def test_the_recap_can_be_switched_off(desk: Desk, way: str) -> None:
    if way == "configuration":
        desk.configure("display:\n  resume_display: minimal\n")
    pane = desk.open()
    option = " --no-recap" if way == "option" else ""
    shown = pane.run(f"hermes-sessions resume {AUTH_TIP}{option}").text
    assert "Previous conversation" not in shown
    assert re.search(r"^continuing refactoring auth #3 · \d+ messages · ", shown, re.MULTILINE)
    with_recap = pane.run(f"hermes-sessions resume {AUTH_TIP} --recap").text
    assert "Previous conversation" in with_recap


def test_R041_hermes_takes_our_place_and_its_exit_code_is_ours(desk: Desk) -> None:
    pane = desk.open()
    assert pane.run(f"hermes-sessions resume {BUILD_LOG}").code == 0
    assert pane.run(f"HERMES_CODE=7 hermes-sessions resume {BUILD_LOG}").code == 7
    assert {start.parent for start in desk.starts} == {pane.shell}


def test_R041_arguments_are_passed_on_unchanged(desk: Desk) -> None:
    pane = desk.open()
    words = ["--model", "x", "two words", "it's", '"quoted"', "$HOME", "*", "", "--", "-p", "ü"]
    behind = shlex.join(words)
    for command in (f"resume {BUILD_LOG}", "-c", f"-r {BUILD_LOG}"):
        pane.run(f"hermes-sessions {command} -- {behind}")
        assert desk.starts[-1].args == ["--resume", BUILD_LOG, *words]
    dry = pane.run(f"hermes-sessions resume {BUILD_LOG} --dry-run -- {behind}").text
    assert shlex.split(dry.splitlines()[-1]) == ["hermes", "--resume", BUILD_LOG, *words]


def test_R041_without_hermes_the_command_to_run_by_hand_is_said(desk: Desk) -> None:
    desk.hermes.unlink()
    done = desk.run("resume", BUILD_LOG, "--", "two words", environ={"PATH": str(desk.programs)})
    assert (done.returncode, done.stdout) == (127, "")
    assert f"hermes --resume {BUILD_LOG} 'two words'" in done.stderr
    assert not desk.notes.exists()


def test_HERMES_BIN_names_another_program(desk: Desk) -> None:
    other = desk.hermes.rename(desk.programs / "hermes of today")
    done = desk.run("resume", BUILD_LOG, environ={"HERMES_BIN": str(other)})
    assert done.returncode == 0
    assert desk.resumed == [BUILD_LOG]
    assert (
        desk.run("resume", BUILD_LOG, environ={"HERMES_BIN": "/no/such/hermes"}).returncode == 127
    )


# Live elsewhere


@pytest.fixture
def living() -> Iterator[int]:
    """The pid of a process that runs, and is not of this test."""
    process = subprocess.Popen(["sleep", "60"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.fixture
def dead() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def open_chat(desk: Desk, session_id: str, pid: int, **facts: object) -> None:
    """List a chat as open, as a running Hermes does."""
    entry = {
        "lease_id": "5d3f",
        "session_id": session_id,
        "surface": "tui",
        "pid": pid,
        "process_start_time": process_started_at(pid),
        "started_at": time.time() - 3600,
        "updated_at": time.time(),
        **facts,
    }
    file = desk.home / "runtime" / "active_sessions.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"entries": [entry]}), encoding="utf-8")


def claim(desk: Desk, table: str, session_id: str, pid: int, expires_in: float = 300) -> None:
    """Put a claim of a process into the store, as a running Hermes does."""
    holder = f"pid={pid}:{_our_namespace()}tid=1:agent=2:nonce=3"
    now = time.time()
    desk.change(
        f"INSERT INTO {table} VALUES (:id, :holder, :acquired, :expires)",
        id=session_id,
        holder=holder,
        acquired=now - 60,
        expires=now + expires_in,
    )


def _our_namespace() -> str:
    namespace = Path("/proc/self/ns/pid")
    inode = re.search(r"\d+", str(namespace.readlink())) if namespace.exists() else None
    return f"pidns={inode[0]}:" if inode else ""


def assert_refused(desk: Desk, session_id: str, *, who: str, pid: int) -> None:
    """A conversation that is live is not resumed, and what to do about it is said."""
    number = len(desk.starts)
    done = desk.run("resume", session_id)
    assert (done.returncode, done.stdout) == (3, "")
    assert who in done.stderr
    assert f"pid {pid}" in done.stderr
    assert session_id in done.stderr
    assert "--force" in done.stderr
    assert "fork" in done.stderr
    assert len(desk.starts) == number
    assert desk.run("resume", session_id, "--force").returncode == 0
    assert desk.resumed[number:] == [session_id]


def test_R029_a_chat_that_is_open_elsewhere_is_not_resumed(desk: Desk, living: int) -> None:
    open_chat(desk, BUILD_LOG, living)
    assert_refused(desk, BUILD_LOG, who="tui", pid=living)


def test_R029_in_its_pane_c_does_not_start_a_chat_that_is_open_elsewhere(desk: Desk) -> None:
    pane, other = desk.open(), desk.open()
    pane.run(f"hermes-sessions resume {BUILD_LOG}")
    noted = fingerprint(desk.notes)
    open_chat(desk, BUILD_LOG, other.shell)
    shown = pane.run("hermes-sessions -c")
    assert shown.code == 3
    assert "“build log” is live elsewhere" in shown.text
    assert "1h ago" in shown.text
    assert desk.resumed == [BUILD_LOG]
    assert fingerprint(desk.notes) == noted
    other.close()
    wait_until(lambda: pane.run("hermes-sessions -c").code == 0, pane.text)
    assert desk.resumed == [BUILD_LOG] * 2


def test_R029_an_open_chat_of_a_process_that_is_gone_does_not_block(desk: Desk, dead: int) -> None:
    open_chat(desk, BUILD_LOG, dead, process_start_time=time.time() - 7200)
    assert desk.run("resume", BUILD_LOG).returncode == 0


def test_R029_a_pid_that_was_given_to_another_process_does_not_block(
    desk: Desk, living: int
) -> None:
    if process_started_at(living) is None:
        pytest.skip("when a process started is not to be had here")
    open_chat(desk, BUILD_LOG, living, process_start_time=time.time() - 7200)
    assert desk.run("resume", BUILD_LOG).returncode == 0


@pytest.mark.parametrize("table", ["session_turn_leases", "compression_locks"])
def test_R029_a_claim_in_the_store_blocks(desk: Desk, living: int, table: str) -> None:
    claim(desk, table, BUILD_LOG, living)
    who = "in a turn" if table == "session_turn_leases" else "compressing"
    assert_refused(desk, BUILD_LOG, who=who, pid=living)


@pytest.mark.parametrize("table", ["session_turn_leases", "compression_locks"])
def test_R029_an_expired_claim_does_not_block(desk: Desk, living: int, table: str) -> None:
    claim(desk, table, BUILD_LOG, living, expires_in=-1)
    assert desk.run("resume", BUILD_LOG).returncode == 0


@pytest.mark.parametrize("table", ["session_turn_leases", "compression_locks"])
def test_R029_a_claim_of_a_process_that_is_gone_does_not_block(
    desk: Desk, dead: int, table: str
) -> None:
    claim(desk, table, BUILD_LOG, dead)
    assert desk.run("resume", BUILD_LOG).returncode == 0


def test_R029_a_claim_from_another_namespace_runs_to_its_end(desk: Desk, dead: int) -> None:
    if not _our_namespace():
        pytest.skip("this system has no namespaces of processes")
    claim(desk, "session_turn_leases", BUILD_LOG, dead)
    desk.change("UPDATE session_turn_leases SET holder = replace(holder, 'pidns=', 'pidns=9')")
    assert_refused(desk, BUILD_LOG, who="in a turn", pid=dead)


def test_R029_a_turn_is_claimed_for_the_whole_conversation(desk: Desk, living: int) -> None:
    claim(desk, "session_turn_leases", AUTH_ROOT, living)
    done = desk.run("resume", AUTH_TIP)
    assert done.returncode == 3
    assert desk.starts == []


def test_R029_another_conversation_that_is_live_does_not_block(desk: Desk, living: int) -> None:
    open_chat(desk, MIGRATION, living)
    claim(desk, "session_turn_leases", MIGRATION, living)
    assert desk.run("resume", BUILD_LOG).returncode == 0


# What people see


@pytest.fixture
def long_chat(desk: Desk) -> str:
    """The id of a conversation that is longer than a screen, and than what a pipe holds."""
    desk.change(
        """
        INSERT INTO messages (session_id, role, content, timestamp)
        WITH RECURSIVE turn(number) AS
            (SELECT 1 UNION ALL SELECT number + 1 FROM turn WHERE number < 400)
        SELECT :id, 'user', 'turn ' || number || ' ' || hex(zeroblob(200)), 1772702000 + number
        FROM turn""",
        id=BUILD_LOG,
    )
    return BUILD_LOG


@pytest.mark.parametrize("chat", ["long", "very long"])
def test_a_transcript_opens_the_pager_and_q_leaves_it(
    desk: Desk, long_chat: str, chat: str
) -> None:
    session_id = long_chat if chat == "very long" else AUTH_TIP
    pane = desk.open(width=80, height=24)
    pane.type(f"hermes-sessions show {session_id} --transcript; echo left-$?")
    pane.wait_for(r"^:$")
    assert pane.screen()[-1] == ":"
    pane.press("q")
    pane.wait_for(r"^left-0$")
    assert is_sane(pane)


def test_a_text_that_fits_the_screen_needs_no_key(desk: Desk) -> None:
    pane = desk.open(width=80, height=24)
    shown = pane.run(f"hermes-sessions show {SHORT} --transcript")
    assert shown.code == 0
    assert "◆ Hermes" in shown.text


def test_a_pager_that_leaves_early_is_no_error(desk: Desk, long_chat: str) -> None:
    pane = desk.open(width=80, height=24)
    shown = pane.run(f"PAGER='head -n 2' hermes-sessions show {long_chat} -t")
    assert shown.code == 0
    assert len(shown.text.splitlines()) == 2


TITLES = {
    BUILD_LOG: "固件构建日志:交叉编译失败的原因与修复方案,以及下一步的测试计划和发布安排",
    MIGRATION: "데이터베이스 마이그레이션 계획",
    NEWEST: "mixed 混合 タイトル with ｆｕｌｌ ﾊﾝｶｸ and latin",
    SHORT: "plain latin",
}


@pytest.mark.parametrize("width", [80, 120])
def test_wide_titles_leave_the_ids_aligned(desk: Desk, width: int) -> None:
    for session_id, title in TITLES.items():
        desk.change("UPDATE sessions SET title = :t WHERE id = :id", t=title, id=session_id)
    pane = desk.open(width=width, height=60)
    shown = pane.run("hermes-sessions list -n 0").text
    ids = [line.split()[-1] for line in shown.splitlines() if re.search(r" \d{8}_\w+$", line)]
    assert ids
    assert set(TITLES) <= set(ids)
    # By the terminal's own measure: whether the widths agree is what is asked.
    columns = {pane.column_of(session_id) for session_id in [*TITLES, AUTH_TIP]}
    assert columns == {pane.column_of(" ID") + 1}


def test_an_interrupt_in_the_pager_leaves_the_terminal_sane(desk: Desk, long_chat: str) -> None:
    pane = desk.open(width=80, height=24)
    pane.type(f"hermes-sessions show {long_chat} --transcript; echo left-$?")
    pane.wait_for(r"^:$")
    pane.press("C-c")

    def at_the_end() -> bool:
        pane.press("G")  # a key that comes with an interrupt may get lost
        return "(END)" in pane.text()

    wait_until(at_the_end, lambda: f"the pager waits for more:\n{pane.text()}")
    pane.press("q")
    pane.wait_for(r"^left-0$")
    assert is_sane(pane)


def test_an_interrupt_belongs_to_hermes_once_it_runs(desk: Desk) -> None:
    pane = desk.open()
    pane.type(f"HERMES_STAYS=1 hermes-sessions resume {BUILD_LOG}")
    pane.wait_for(r"^hermes runs$")
    pane.press("C-c")
    pane.type("echo left-$?")
    pane.wait_for(r"^left-130$")
    assert is_sane(pane)


@pytest.mark.skipif("delete" not in BY_NAME, reason="no command asks yet")
def test_an_interrupt_at_a_question_changes_nothing(desk: Desk) -> None:
    pane = desk.open()
    before = fingerprint(desk.home)
    pane.type(f"hermes-sessions delete {BUILD_LOG}; echo left-$?")
    pane.wait_for(r"\[y/N\]")
    pane.press("C-c")
    pane.wait_for(r"left-130$")
    assert is_sane(pane)
    assert fingerprint(desk.home) == before
