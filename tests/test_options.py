"""Filters, global options, usage errors and exit codes (contract §2, §4, §13; cases K)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.cli.app import build_command
from hermes_sessions.cli.arguments import arrange
from hermes_sessions.cli.commands import COMMANDS
from hermes_sessions.errors import UsageProblem
from support import CLOCK, edit, place_store
from test_list import session

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli

    MakeCli = Callable[..., Cli]

PROGRAM = Path(sys.executable).with_name("hermes-sessions")


@pytest.mark.parametrize(
    ("typed", "arranged"),
    [
        (["list", "-p", "work"], ["-p", "work", "list"]),
        (["list", "-pwork"], ["-pwork", "list"]),
        (["list", "--home=/x", "--json"], ["--home=/x", "list", "--json="]),
        (["-c"], ["resume"]),
        (["-c", "foo", "--print"], ["resume", "foo", "--print"]),
        (["-c", "--print"], ["resume", "--print"]),
        (["-c", "-"], ["resume", "-"]),
        (["--continue=a b"], ["resume", "a b"]),
        (["-p", "w", "-c", "x"], ["-p", "w", "resume", "x"]),
        (["-q", "-c"], ["-q", "resume"]),
        (["-r", "x"], ["resume", "x"]),
        (["--resume=x"], ["resume", "x"]),
        (["show", "-x"], ["show", "--extract=1"]),
        (["show", "-x", "2"], ["show", "-x", "2"]),
        (["show", "a", "--extract"], ["show", "a", "--extract=1"]),
        (["list", "--", "-p", "x"], ["list", "--", "-p", "x"]),
    ],
)
def test_words_are_put_in_order(typed: list[str], arranged: list[str]) -> None:
    assert arrange(typed).argv == arranged


def test_words_behind_the_dashes_are_for_hermes() -> None:
    words = arrange(["-c", "foo", "--", "--model", "x y", "-p", "z", "--"])
    assert words.argv == ["resume", "foo"]
    assert words.passed_on == ("--model", "x y", "-p", "z", "--")


@given(st.lists(st.text(max_size=6), max_size=6))
def test_any_words_can_be_arranged(words: list[str]) -> None:
    try:
        arranged = arrange(words)
    except UsageProblem:
        return
    assert len(arranged.argv) + len(arranged.passed_on) <= len(words) + 1


def test_resume_needs_a_ref_behind_r(cli: Cli) -> None:
    assert cli("-r").code == 2
    assert cli("-r", "--print").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--older-than", "abc"),
        ("list", "--newer-than", ""),
        ("list", "--before", "not a date"),
        ("list", "--after", "2026-13-01"),
        ("list", "--after", "today", "--before", "yesterday"),
        ("list", "--newer-than", "2d", "--older-than", "5d"),
        ("list", "--min-messages", "9", "--max-messages", "3"),
        ("list", "--min-messages", "x"),
        ("list", "--workspace", " "),
        ("list", "--source", ""),
        ("list", "--sort", "colour"),
        ("list", "-n", "-1"),
        ("list", "--no-such-option"),
        ("--color", "sometimes", "list"),
        ("-p", "Not A Name", "list"),
        ("--db", "x", "--home", "y", "list"),
        ("which",),
        ("nope",),
        ("show", "--context", "2"),
        ("show", "latest", "-x", "0"),
        ("resume", "latest", "--in", "/no/such/dir"),
    ],
    ids=" ".join,
)
def test_R133_usage_errors_are_2_and_name_the_option(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words)
    assert outcome.code == 2, outcome
    assert outcome.stdout == ""
    first, *rest = outcome.stderr.splitlines()
    assert first.startswith("error: ")
    assert rest
    assert rest[-1].startswith("hint: ")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("which", "nope"), 1),
        (("show", "nope"), 1),
        (("resume", "nope"), 1),
        (("show", "--message", "999999"), 1),
        (("show", "migration plan", "--message", "1"), 1),
        (("show", "migration plan", "-x"), 1),
        (("-p", "nope", "list"), 1),
        (("resume", "latest", "--in", "/"), 127),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_R133_failures_have_their_code(cli: Cli, words: tuple[str, ...], code: int) -> None:
    outcome = cli(*words, PATH="/nowhere")
    assert outcome.code == code, outcome
    assert outcome.stderr.splitlines()[-1].startswith(("hint", "error")), outcome


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--source", "discord"), {"20260304_110000_f0000003"}),
        (("--source", "discord", "--source", "kanban"), None),
        (("--title", "AUTH"), {"20260302_130005_c3d4e5"}),
        (("--title", "100%_"), {"20251003_090000_00aa12"}),
        (("--title", "100_"), set()),
        (("--workspace", "firmware"), {"20260305_090000_0a0001"}),
        (("--workspace", "FIRM"), {"20260305_090000_0a0001"}),
        (("--workspace", "/home/dev/projects/firmware"), {"20260305_090000_0a0001"}),
        (("--cwd", "/home/dev/projects/firmware"), {"20260305_090000_0a0001"}),
        (("--cwd", "/home/dev/projects/firm"), set()),
        (("--end-reason", "branched"), {"20260303_120000_e00001", "20260303_130000_e00003"}),
        (("--before", "2025-09-01"), {"20250814_090000_00aa11", "20250824_100000_00aa14"}),
        (("--after", "2026-03-06T10:00+00:00"), None),
        (("--provider", "OPENROUTER", "--model", "no such"), set()),
        (("--pinned",), {"20250824_100000_00aa14"}),
        (("--min-messages", "20"), {"20260302_130005_c3d4e5"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_filters(cli: Cli, words: tuple[str, ...], expected: set[str] | None) -> None:
    found = set(cli("list", "-n", "0", "--ids", *words).ok().lines)
    if expected is None:
        assert found
    else:
        assert found == expected


def test_R065_R064_text_is_literal(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(session(id="a", title="100%完成"), session(id="b", title="100元完成"))
    )
    assert cli("list", "--ids", "--title", "100%完成").ok().lines == ["a"]


def test_ages_and_starts_are_different_things(make_cli: MakeCli) -> None:
    from test_list import message

    cli = make_cli(
        change=edit(
            session(id="long", started_at=CLOCK - 100 * 86_400), message("long", CLOCK - 3600)
        )
    )
    assert "long" not in cli("list", "--older-than", "90", "--ids", "-n", "0").lines
    assert "long" in cli("list", "--newer-than", "2h", "--ids", "-n", "0").lines
    assert "long" in cli("list", "--before", "90d", "--ids", "-n", "0").lines


def test_R136_poor_consoles_print_something() -> None:
    script = "from hermes_sessions.__main__ import run; run()"
    home = str(Path(__file__).parents[1] / "hermes_sessions" / "demo" / "state.db")
    for encoding in ("ascii", "cp1252", "gbk"):
        run = subprocess.run(
            [sys.executable, "-c", script, "--db", home, "list"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
            check=False,
        )
        assert run.returncode == 0
        assert b"20261129_183000_0f3c9d2a" in run.stdout
        assert run.stderr == b""


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    run = subprocess.run(
        [
            "bash",
            "-c",
            f"{PROGRAM} --home {home} list -n 0 --json | head -c 10; echo ${{PIPESTATUS[0]}}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    assert run.stdout.endswith("0\n")


def test_the_installed_program(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    run = subprocess.run(
        [PROGRAM, "--home", home, "list", "-n", "1"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("20260306_100100_0f0005\t")
    missing = subprocess.run(
        [PROGRAM, "--home", home, "which", "nope"], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 1
    assert missing.stdout == ""


def test_every_command_is_in_the_help(cli: Cli) -> None:
    overview = cli("--help").ok().stdout
    for command in COMMANDS:
        assert f"{command.name} " in overview
        assert command.summary in overview
        text = cli(command.name, "--help").ok().stdout
        assert command.summary in text
        assert (build_command(command.name).help or "").startswith(command.summary)


def test_help_does_not_depend_on_a_terminal(cli: Cli) -> None:
    assert cli("list", "-h").ok().stdout == cli("list", "--help").stdout
    assert "\x1b" not in cli("list", "-h", terminal=100).stdout


def test_version(cli: Cli) -> None:
    from hermes_sessions import __version__

    assert cli("--version").ok().stdout == f"hermes-sessions {__version__}\n"


def test_bare_is_the_overview(cli: Cli) -> None:
    assert "Usage:" in cli().ok().stdout


@pytest.mark.parametrize(
    "words", [("which",), ("list", "--title"), ("search",), ("list", "--source"), ("show",)]
)
def test_words_that_are_no_text(cli: Cli, words: tuple[str, ...]) -> None:
    """The shell may hand over bytes that are not UTF-8; Python marks them as surrogates."""
    outcome = cli(*words, "caf\udce9")
    assert outcome.code in {0, 1}
    assert "fault" not in outcome.stderr
    outcome.stderr.encode()


def test_a_near_miss_is_helped(cli: Cli) -> None:
    assert "did you mean list" in cli("lst").stderr


def test_debug_shows_sql_and_time(cli: Cli) -> None:
    stderr = cli("list", "--debug").ok().stderr
    assert "sql: SELECT" in stderr
    assert " ms" in stderr


def test_quiet_silences_notes_not_errors(cli: Cli) -> None:
    assert cli("-q", "which", "20260302_09").ok().stderr == ""
    assert cli("--quiet", "which", "nope").stderr.startswith("error:")


@pytest.mark.parametrize(
    ("option", "environ", "colored"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"CLICOLOR_FORCE": "1"}, False),
    ],
)
def test_colour(cli: Cli, option: str, environ: dict[str, str], *, colored: bool) -> None:
    shown = cli("--color", option, "list", terminal=100, **environ).ok().stdout
    assert ("\x1b[" in shown) is colored


def test_stored_text_cannot_move_the_cursor(make_cli: MakeCli) -> None:
    evil = "\x1b[2Jevil\x1b]0;x\x07\u202etitle"

    def insert(path: Path) -> None:
        edit(session(id="evil", title="placeholder"))(path)
        import sqlite3

        connection = sqlite3.connect(path)
        connection.execute("UPDATE sessions SET title = ?, cwd = ? WHERE id = 'evil'", (evil, evil))
        connection.commit()
        connection.close()

    cli = make_cli(change=insert)
    for words in (("list",), ("show", "evil"), ("workspaces",), ("resume", "evil", "--dry-run")):
        for width in (0, 100):
            outcome = cli("--color", "never", *words, terminal=width)
            for text in (outcome.stdout, outcome.stderr):
                assert "\x1b" not in text
                assert "\u202e" not in text
    assert cli("list", "--json=title", "-n", "1").json == [{"title": evil}]
