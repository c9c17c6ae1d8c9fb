"""What every test can rely on: real stores, an unreachable home, guards against side effects."""

from __future__ import annotations

import gc
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from support import Cli, fingerprint, place_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}"


@pytest.fixture(autouse=True)
def unreachable_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the real home out of reach, and the environment as it was."""
    nowhere = tmp_path / "user"
    nowhere.mkdir()
    monkeypatch.setenv("HOME", str(nowhere))
    monkeypatch.setenv("XDG_STATE_HOME", str(nowhere / "state"))
    monkeypatch.setenv("TZ", "UTC")
    for name in ("HERMES_HOME", "HERMES_BIN", "TMUX", "TMUX_PANE", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    yield
    after = dict(os.environ)
    for volatile in ("PYTEST_CURRENT_TEST", "COLUMNS", "LINES"):
        before.pop(volatile, None)
        after.pop(volatile, None)
    assert after == before, "the test changed the environment"


@pytest.fixture(autouse=True)
def no_open_connections() -> Iterator[None]:
    """Fail a test that leaves a connection open."""
    yield
    gc.collect()
    left = [thing for thing in gc.get_objects() if isinstance(thing, sqlite3.Connection)]
    open_ones = []
    for connection in left:
        try:
            connection.total_changes  # noqa: B018 - raises if closed
        except sqlite3.ProgrammingError:
            continue
        open_ones.append(connection)
    for connection in open_ones:
        connection.close()
    assert not open_ones, "a connection was left open"


@pytest.fixture
def make_cli(tmp_path: Path) -> Iterator[Callable[..., Cli]]:
    """Make a runner for a store of the corpus; reading it must leave its home as it is."""
    made: list[tuple[Path, dict[str, str]]] = []

    def make(name: str = "0.22.2", change: Callable[[Path], None] | None = None) -> Cli:
        home = place_store(name, tmp_path / f"home-{name.replace('/', '-')}-{len(made)}")
        if change:
            change(home / "state.db")
        made.append((home, fingerprint(home)))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        environ = {**os.environ, "HERMES_HOME": str(home)}
        return Cli(home, environ, elsewhere)

    yield make
    for home, before in made:
        assert fingerprint(home) == before, "a reading command changed the home"


@pytest.fixture
def make_writable_cli(tmp_path: Path) -> Callable[..., Cli]:
    """Make a runner for a store of the corpus that the test may change."""
    number = 0

    def make(name: str = "0.22.2", change: Callable[[Path], None] | None = None) -> Cli:
        nonlocal number
        home = place_store(name, tmp_path / f"writable-{name.replace('/', '-')}-{number}")
        number += 1
        if change:
            change(home / "state.db")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return Cli(home, {**os.environ, "HERMES_HOME": str(home)}, elsewhere)

    return make


@pytest.fixture
def cli(make_cli: Callable[..., Cli]) -> Cli:
    """A runner on the store of the newest release."""
    return make_cli()
