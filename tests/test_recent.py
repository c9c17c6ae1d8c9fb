"""The short way to the newest conversations equals the long one."""

from __future__ import annotations

import json
import random
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_sessions.models import Filter
from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.recent import (
    SMALL_STORE,
    Scope,
    count_by_view,
    newest_conversations,
    newest_first,
)
from support import CLOCK, store_file

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.models import Conversation


def grow(path: Path, seed: int, *, heartbeats: bool) -> None:
    """Fill a store with conversations of every kind, messages in the order of their times."""
    source = sqlite3.connect(store_file("0.22.2"))
    target = sqlite3.connect(path)
    source.backup(target)
    source.close()
    for (name,) in target.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall():
        target.execute(f"DROP TRIGGER {name}")
    target.execute("DELETE FROM messages")
    target.execute("DELETE FROM sessions")
    rng = random.Random(seed)  # noqa: S311 - the same store each time
    number = SMALL_STORE + 400
    sessions = [_session(rng, i, number, heartbeats=heartbeats) for i in range(number)]
    target.executemany(
        "INSERT INTO sessions (id, source, parent_session_id, started_at, ended_at, end_reason,"
        " model_config, archived, hidden, last_activity_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        sessions,
    )
    times = sorted(CLOCK - rng.random() * 40 * 86_400 for _ in range(6000))
    target.executemany(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'x', ?)",
        [(rng.choice(sessions)[0], at) for at in times],
    )
    target.commit()
    target.close()


def _session(
    rng: random.Random, index: int, number: int, *, heartbeats: bool
) -> tuple[object, ...]:
    started = CLOCK - rng.random() * 60 * 86_400
    kind = rng.choice(["root"] * 6 + ["chain", "branch", "delegate", "child"])
    parent = f"s{rng.randrange(number)}" if kind != "root" else None
    marks = {"branch": "_branched_from", "delegate": "_delegate_from"}
    config = json.dumps({marks[kind]: parent}) if kind in marks else None
    reason = "compression" if rng.random() < 0.15 else rng.choice([None, "cli_close", "branched"])
    return (
        f"s{index}",
        rng.choice(["cli", "cli", "tui", "cron", "tool", "subagent"]),
        parent,
        started,
        started + 50 if reason else None,
        reason,
        config,
        int(rng.random() < 0.1),
        int(rng.random() < 0.05),
        started + rng.random() * 1e5 if heartbeats and rng.random() < 0.5 else None,
    )


@pytest.fixture(scope="module", params=[True, False], ids=["heartbeats", "none"])
def grown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grown") / "state.db"
    grow(path, 7, heartbeats=request.param)
    return path


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    wanted=st.integers(1, 60), sources=st.sampled_from([(), ("cli",), ("cron",), ("cli", "tui")])
)
def test_newest_equals_everything_sorted(
    grown: Path, wanted: int, sources: tuple[str, ...]
) -> None:
    def accept(some: list[Conversation]) -> list[Conversation]:
        return [c for c in some if c.away is None and (not sources or c.source in sources)]

    with open_store(grown) as store:
        quick = newest_conversations(store, wanted, scope=Scope(sources), accept=accept)
        everything = newest_first(with_exact_activity(store, accept(load_conversations(store))))
    assert quick[:wanted] == everything[:wanted]


def test_the_short_way_reads_less(grown: Path) -> None:
    with open_store(grown) as store:
        statements: list[str] = []
        store.trace(statements.append)
        newest_conversations(store, 20, accept=lambda some: [c for c in some if c.away is None])
    assert all("LIMIT" in sql or "WHERE" in sql or "max(" in sql for sql in statements)


def test_views_add_up(grown: Path) -> None:
    with open_store(grown) as store:
        views = count_by_view(store)
        conversations = load_conversations(store)
    assert sum(views.values()) == len(conversations)
    shown = [c for c in conversations if Filter().shows(c)]
    assert views[None] == len(shown)
