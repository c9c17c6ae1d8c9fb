"""Work of unknown length on a terminal: it is shown, and Ctrl-C ends it at once."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hermes_sessions.context import Env
from hermes_sessions.render.watched import watched
from tmux import PROGRAM, Tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tmux import Pane

SCRIPT = """
import sqlite3, sys
from hermes_sessions.context import current_env
from hermes_sessions.render.watched import watched

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

def work(step):
    step("pages of\x1b[2J messages")
    connection = sqlite3.connect(":memory:")
    return connection.execute(ENDLESS if sys.argv[1:] else "SELECT 1").fetchone()

try:
    print("result", watched(current_env(), work))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def pane(tmp_path: Path) -> Iterator[Pane]:
    here = Path(__file__).parents[1]
    tmux = Tmux({**os.environ, "PYTHONPATH": str(here), "TERM": "xterm-256color"})
    (tmp_path / "script.py").write_text(SCRIPT)
    yield tmux.open(tmp_path, width=80)
    tmux.close()


@pytest.mark.terminal
@pytest.mark.skipif(PROGRAM is None, reason="tmux is not installed")
def test_long_work_is_shown_and_can_be_interrupted_inside_sqlite(pane: Pane) -> None:
    python = Path(sys.executable).as_posix()
    pane.type(f"{python} script.py endless; echo ended-$?")
    pane.wait_for(r"pages of messages 0:00:0[1-9]")
    began = time.monotonic()
    pane.press("C-c")
    pane.wait_for(r"^ended-130$")
    assert time.monotonic() - began < 5
    assert "pages of messages 0:" not in pane.text()


@pytest.mark.terminal
@pytest.mark.skipif(PROGRAM is None, reason="tmux is not installed")
def test_short_work_shows_nothing(pane: Pane) -> None:
    done = pane.run(f"{Path(sys.executable).as_posix()} script.py")
    assert done.code == 0
    assert done.text.strip() == "result (1,)"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Screen])
def test_an_error_comes_out_where_it_is_waited_for(stream: type[io.StringIO]) -> None:
    env = Env(io.StringIO(), io.StringIO(), stream(), {}, 0.0, None)

    def work(step: Callable[[str], object]) -> None:
        raise LookupError("what went wrong")

    with pytest.raises(LookupError, match="what went wrong"):
        watched(env, work)


TIMED = """
import sqlite3
from hermes_sessions.context import current_env
from hermes_sessions.render.timed import timed

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
connection = sqlite3.connect(":memory:")
with timed(current_env(), "rewriting", 8.0):
    connection.execute(ENDLESS)
"""


@pytest.mark.terminal
@pytest.mark.skipif(PROGRAM is None, reason="tmux is not installed")
def test_a_bar_moves_while_one_statement_runs(pane: Pane, tmp_path: Path) -> None:
    (tmp_path / "timed.py").write_text(TIMED)
    pane.type(f"{Path(sys.executable).as_posix()} timed.py")
    pane.wait_for(r"rewriting ━+┈+  +[12]\d%")
    pane.wait_for(r"rewriting ━+┈+  +[34]\d%")
    pane.press("C-\\")
