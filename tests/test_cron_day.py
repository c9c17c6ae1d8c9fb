"""What the README has cron and systemd do each night: silent unless there is something to say."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from support import edit, place_store

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
CRONTAB = re.findall(r"(?m)^23 4 \* \* \*\s+(.*)$", README)
UNIT = re.findall(r"(?m)^ExecStart=%h/\.local/bin/(.*)$", README)
BOTH = pytest.mark.parametrize("line", [*CRONTAB, " && ".join(UNIT)], ids=["cron", "systemd"])


class Night:
    """A machine on which the program is installed, and a home with two old conversations."""

    def __init__(self, directory: Path) -> None:
        self.home = place_store("0.22.2", directory / "home")
        self.home.chmod(0o700)
        (self.home / "state.db").chmod(0o600)
        programs = directory / "bin"
        programs.mkdir()
        program = programs / "hermes-sessions"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hermes_sessions "$@"\n')
        program.chmod(0o755)
        self.environ = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(directory),
            "HERMES_HOME": str(self.home),
            "XDG_STATE_HOME": str(directory / "state"),
            **{key: os.environ[key] for key in ("PYTHONPATH", "LANG") if key in os.environ},
        }
        old = "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND parent_session_id IS NULL"
        edit(
            "UPDATE messages SET timestamp = :now",
            f"UPDATE messages SET timestamp = 1.7e9 WHERE session_id IN ({old} LIMIT 2)",
            "UPDATE sessions SET started_at = :now, last_activity_at = :now",
            f"""UPDATE sessions SET started_at = 1.7e9, last_activity_at = 1.7e9, pinned = 0,
            archived = 0, end_reason = 'user_exit' WHERE id IN ({old} LIMIT 2)""",
            now=time.time(),
        )(self.home / "state.db")

    def __call__(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def edit(self, *statements: str) -> None:
        edit(*statements)(self.home / "state.db")


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def test_the_readme_has_both() -> None:
    assert len(CRONTAB) == 1
    assert len(UNIT) == 3
    assert [word for word in ("prune", "optimize", "doctor") if word not in CRONTAB[0]] == []


@BOTH
def test_a_night_with_something_to_do_tells_it_and_the_next_is_silent(
    night: Night, line: str
) -> None:
    first = night(line)
    assert (first.returncode, first.stderr) == (0, "")
    assert re.fullmatch(
        r"deleted 2 conversations, .*; undo: hermes-sessions undo \S+\n", first.stdout
    )
    second = night(line)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


@BOTH
def test_a_broken_index_is_cured_in_the_night(night: Night, line: str) -> None:
    night(line)
    night.edit("DROP TRIGGER messages_fts_insert", "DROP TRIGGER messages_fts_trigram_insert")
    cured = night(line)
    assert (cured.returncode, cured.stderr) == (0, "")
    assert cured.stdout.startswith("rebuilt messages_fts, messages_fts_trigram\n")
    again = night(line)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


@BOTH
def test_what_is_not_cured_is_reported_each_night(night: Night, line: str) -> None:
    night(line)
    night.edit("INSERT INTO messages (session_id, role, timestamp) VALUES ('gone', 'user', 1.7e9)")
    for _ in range(2):
        reported = night(line)
        assert (reported.returncode, reported.stderr) == (1, "")
        [finding] = reported.stdout.splitlines()
        assert finding.startswith("warning\t")
        assert finding.endswith("\thermes-sessions prune --orphans")


@BOTH
def test_a_night_beside_hermes_deletes_nothing_and_says_why(night: Night, line: str) -> None:
    with closing(sqlite3.connect(night.home / "state.db")) as hermes:
        hermes.execute("SELECT count(*) FROM sessions").fetchall()
        held = night(line)
        [there] = hermes.execute(
            "SELECT count(*) FROM sessions WHERE started_at = 1.7e9"
        ).fetchall()
    assert there == (2,)
    assert f"pid {os.getpid()}" in held.stderr
