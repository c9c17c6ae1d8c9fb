"""The sample home: a real store, private, and always recent."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_sessions.own_files import demo_directory

if TYPE_CHECKING:
    from support import Cli


def test_the_demo_shows_everything_worth_trying(cli: Cli) -> None:
    cli.now = time.time()
    rows = cli("--demo", "list", "-n", "0", "--all", "--json").ok().json
    assert len([row for row in rows if row["away"] is None]) >= 12
    assert {"cli", "tui", "telegram", "cron", "subagent"} <= {row["source"] for row in rows}
    assert {"branch", "delegate", "reset", "root"} <= {row["kind"] for row in rows}
    assert max(len(row["segment_ids"]) for row in rows) >= 3
    assert any(row["pinned"] for row in rows)
    assert any(row["archived"] for row in rows)
    assert any(row["cost_usd"] and row["cost_estimated"] for row in rows)
    assert any("数" in (row["title"] or "") for row in rows)
    newest = max(row["last_active"] for row in rows)
    assert cli.now - 3600 < newest <= cli.now
    assert any(cli.now - row["last_active"] > 90 * 86_400 for row in rows)


def test_every_sample_conversation_can_be_shown(cli: Cli) -> None:
    cli.now = time.time()
    for identifier in cli("--demo", "list", "-n", "0", "--all", "--ids").ok().lines:
        assert cli("--demo", "show", identifier).ok().stdout
        assert cli("--demo", "show", identifier, "-t", terminal=80, PAGER="cat").ok().stdout


def test_it_is_private_and_stays(cli: Cli) -> None:
    cli("--demo", "list").ok()
    home = demo_directory(os.environ)
    store = home / "state.db"
    assert store.stat().st_mode & 0o777 == 0o600
    connection = sqlite3.connect(store)
    connection.execute("UPDATE sessions SET title = 'mine' WHERE title = 'portugal 2026'")
    connection.commit()
    connection.close()
    cli.now += 86_400
    assert cli("--demo", "which", "mine").ok().stdout
    assert sorted(p.name for p in home.iterdir()) == ["state.db"]
    assert [p.name for p in home.parent.iterdir()] == ["demo"], "nothing temporary is left"


def test_the_package_is_not_touched(cli: Cli) -> None:
    package = Path(__file__).parents[1] / "hermes_sessions" / "demo"
    before = {p: p.stat().st_mtime_ns for p in package.iterdir()}
    cli("--demo", "list").ok()
    assert {p: p.stat().st_mtime_ns for p in package.iterdir() if p in before} == before


def test_the_sample_home_has_no_profiles(cli: Cli) -> None:
    assert cli("--demo", "-p", "work", "list").code == 2
