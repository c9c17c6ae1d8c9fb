"""Deleting takes what was meant, says what it keeps, and never more (contract §10; C and F)."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support import CLOCK, Cli, edit, fingerprint, place_store
from test_list import CHAIN, message, session
from test_search import chat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY = 86_400.0
OLD = CLOCK - 300 * DAY


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Cli]:
    """Make a runner for a copy of a store that may be written."""
    number = 0

    def make(name: str = "0.22.2", change: Callable[[Path], None] | None = None) -> Cli:
        nonlocal number
        number += 1
        home = place_store(name, tmp_path / f"home{number}")
        if change:
            change(home / "state.db")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return Cli(home, {**os.environ, "HERMES_HOME": str(home)}, elsewhere)

    return make


def query(cli: Cli, sql: str, *values: object) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(cli.home / "state.db")
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def ids(cli: Cli) -> set[str]:
    return {str(row[0]) for row in query(cli, "SELECT id FROM sessions")}


def ended(session_id: str, *texts: str, **columns: object) -> list[str]:
    """Return an old conversation that was ended."""
    values = {"started_at": OLD, "ended_at": OLD + 60, "end_reason": "cli_close", **columns}
    return chat(session_id, *(texts or ("hello",)), **values)


def sound(cli: Cli) -> None:
    assert query(cli, "PRAGMA integrity_check") == [("ok",)]
    assert query(cli, "PRAGMA foreign_key_check") == []


def test_R046_any_member_of_a_chain_means_the_whole(made: Callable[..., Cli]) -> None:
    for member in CHAIN:
        cli = made()
        assert set(CHAIN) <= ids(cli)
        outcome = cli("delete", member, "--yes", "--json").ok()
        assert outcome.json["deleted"] == [CHAIN[-1]]
        assert ids(cli).isdisjoint(CHAIN)
        listed = cli("list", "--all", "-n", "0", "--ids").ok().lines
        assert not set(CHAIN) & set(listed)
        sound(cli)


def test_R046_delegates_go_and_branches_stay(made: Callable[..., Cli]) -> None:
    mark = {"_delegate_from": "top"}
    branch = {"_branched_from": "top"}
    cli = made(
        change=edit(
            *ended("top", title="the top"),
            *ended("helper", parent_session_id="top", model_config=json.dumps(mark)),
            *ended(
                "nested",
                parent_session_id="helper",
                model_config=json.dumps({"_delegate_from": "helper"}),
            ),
            *ended("branch", parent_session_id="top", model_config=json.dumps(branch)),
        )
    )
    shown = cli("delete", "the top", "--dry-run", terminal=100).ok().stdout
    assert "2 delegates with them" in shown
    assert "1 branch of it stays, detached" in shown
    cli("delete", "the top", "--yes").ok()
    assert ids(cli).isdisjoint({"top", "helper", "nested"})
    assert query(cli, "SELECT parent_session_id FROM sessions WHERE id = 'branch'") == [(None,)]
    assert "branch" in cli("list", "--ids", "-n", "0").ok().lines
    sound(cli)


def test_R047_a_chain_with_a_young_end_stays_whole(made: Callable[..., Cli]) -> None:
    young = CLOCK - DAY
    cli = made(
        change=edit(
            *ended("a", end_reason="compression"),
            *ended("b", end_reason="compression", parent_session_id="a"),
            *ended("c", end_reason="compression", parent_session_id="b", started_at=young),
            *ended("d", parent_session_id="c", started_at=young, ended_at=young + 60),
        )
    )
    cli("prune", "--older-than", "90", "--yes", "--max-delete", "1000").ok()
    assert {"a", "b", "c", "d"} <= ids(cli)
    cli("prune", "--before", "1h", "--title", "nothing like this", "--yes").ok()
    sound(cli)


def test_R049_an_empty_parent_of_a_kept_child_goes(made: Callable[..., Cli]) -> None:
    cli = made(
        change=edit(
            session(id="empty", started_at=OLD, ended_at=OLD, end_reason="cli_close"),
            *chat("child", "still here", started_at=CLOCK - DAY, parent_session_id="empty",
                  model_config='{"_branched_from": "empty"}'),
            *ended("other"),
        )
    )  # fmt: skip
    words = ("prune", "--older-than", "90", "--source", "cli")
    assert "1 branch of them stays, detached" in cli(*words, "--dry-run").ok().stdout
    cli(*words, "--yes").ok()
    assert ids(cli).isdisjoint({"empty", "other"})
    assert query(cli, "SELECT parent_session_id FROM sessions WHERE id = 'child'") == [(None,)]
    sound(cli)


def test_R098_parent_child_and_another_in_any_order(made: Callable[..., Cli]) -> None:
    for order in (("p", "c", "o"), ("c", "o", "p"), ("o", "p", "c")):
        cli = made(
            change=edit(
                *ended("p"),
                *ended("c", parent_session_id="p", model_config='{"_branched_from": "p"}'),
                *ended("o"),
            )
        )
        cli("delete", *order, "--yes").ok()
        assert ids(cli).isdisjoint(order)
        sound(cli)


def test_R085_R088_what_is_kept_is_counted_by_its_reason(made: Callable[..., Cli]) -> None:
    marks = [ended(f"pin{i}", pinned=1) for i in range(2)]
    open_ones = [chat(f"open{i}", "hi", started_at=OLD) for i in range(7)]
    cli = made(
        change=edit(
            *[s for part in (*marks, *open_ones) for s in part],
            *ended("arch", archived=1),
            *ended("gone1"),
            *ended("gone2"),
        )
    )
    filters = ("--source", "cli", "--older-than", "200", "--title", "")
    assert cli("prune", *filters, "--dry-run").code == 2
    found = cli("prune", "--older-than", "200d", "--source", "cli", "--json", "--dry-run").ok().json
    assert {"gone1", "gone2"} <= set(found["ids"])
    assert not {"pin0", "pin1", "arch", *(f"open{i}" for i in range(7))} & set(found["ids"])
    assert found["kept"]["pinned"] >= 2
    assert found["kept"]["open"] >= 7
    assert found["kept"]["archived"] >= 1
    more = cli("prune", "--older-than", "200d", "--source", "cli", "--json", "--dry-run",
               "--include-pinned", "--include-archived").ok().json  # fmt: skip
    assert {"pin0", "pin1", "arch"} <= set(more["ids"])
    cli("close", "--older-than", "200d", "--source", "cli", "--yes").ok()
    later = cli("prune", "--older-than", "200d", "--source", "cli", "--json", "--dry-run").ok().json
    assert {f"open{i}" for i in range(7)} <= set(later["ids"])


def test_R088_a_pinned_member_protects_the_conversation(made: Callable[..., Cli]) -> None:
    cli = made(
        change=edit(
            *ended("a", end_reason="compression", pinned=1),
            *ended("b", parent_session_id="a"),
        )
    )
    found = cli("prune", "--older-than", "90", "--json", "--dry-run").ok().json
    assert "b" not in found["ids"]


def test_R086_age_is_the_last_activity(made: Callable[..., Cli]) -> None:
    cli = made(
        change=edit(
            *ended("busy", "begun long ago", started_at=CLOCK - 100 * DAY),
            message("busy", CLOCK - 3600, "used an hour ago"),
            *ended("idle"),
        )
    )
    found = cli("prune", "--older-than", "90", "--json", "--dry-run").ok().json
    assert "busy" not in found["ids"]
    assert "idle" in found["ids"]


def test_R089_the_whole_filter_is_in_words(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one", source="discord")))
    outcome = cli("prune", "--source", "discord", "--dry-run", terminal=100).ok()
    assert "ended conversations sources discord" in outcome.stdout
    assert "idle" not in outcome.stdout
    bare = cli("prune", "--dry-run", terminal=100).ok().stdout
    assert "idle since before" in bare


def test_R093_routed_ones_stay(made: Callable[..., Cli]) -> None:
    entry = json.dumps({"session_id": "chat"})
    cli = made(
        change=edit(
            *ended("chat", source="telegram"),
            "INSERT INTO gateway_routing (scope, session_key, entry_json, updated_at)"
            f" VALUES ('', 'k', '{entry}', 1.0)",
        )
    )
    found = cli("prune", "--older-than", "90", "--source", "telegram", "--json", "--dry-run").ok()
    assert "chat" not in found.json["ids"]
    assert found.json["kept"]["routed"] >= 1
    cli("prune", "--older-than", "90", "--source", "telegram", "--yes", "--force").ok()
    assert "chat" not in ids(cli)
    assert query(cli, "SELECT count(*) FROM gateway_routing WHERE session_key = 'k'") == [(0,)]


def test_R095_R096_nothing_goes_without_being_meant(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("old")))
    before = fingerprint(cli.home)
    bare = cli("prune", "--yes")
    assert bare.code == 2
    assert "needs a filter" in bare.stderr
    most = cli("prune", "--before", "1h", "--include-pinned", "--include-archived", "--yes")
    assert most.code in {0, 3}
    many = made(change=edit(*[s for i in range(300) for s in ended(f"many{i}")]))
    refused = many("prune", "--older-than", "90", "--yes")
    assert refused.code == 3
    assert "--max-delete" in refused.stderr
    assert len(ids(many)) > 300
    too_few = many("prune", "--older-than", "90", "--yes", "--max-delete", "5")
    assert too_few.code == 3
    many("prune", "--older-than", "90", "--yes", "--max-delete", "1000").ok()
    assert not [i for i in ids(many) if i.startswith("many")]
    assert cli("delete").code == 2
    assert bare.stdout == ""
    assert before.keys() <= fingerprint(cli.home).keys()


def test_R097_delete_takes_no_part_of_a_title(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one", title="a very long title")))
    outcome = cli("delete", "a very", "--yes")
    assert outcome.code == 1
    assert "one" in outcome.stderr
    assert "one" in ids(cli)


def test_R094_without_a_terminal_the_plan_is_printed_and_nothing_done(
    made: Callable[..., Cli],
) -> None:
    cli = made(change=edit(*ended("one")))
    before = fingerprint(cli.home)
    for words in (("delete", "one"), ("prune", "--older-than", "90")):
        outcome = cli(*words)
        assert outcome.code == 2
        assert "one" in outcome.stdout
        assert fingerprint(cli.home) == before


def test_R091_files_of_exactly_these_ids_go(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("a"), *ended("a_b"), *ended("x[1]")))
    directory = cli.home / "sessions"
    directory.mkdir()
    mine = ["a.json", "a.jsonl", "session_a.json", "request_dump_a_20260101_101010_000001.json"]
    others = ["a_b.json", "request_dump_a_b_20260101_101010_000001.json", "sessions.json", "b.json",
              "xa.json", "a.json.bak", "x1.json"]  # fmt: skip
    for name in (*mine, *others):
        (directory / name).write_text("secret", encoding="utf-8")
    shown = cli("delete", "a", "--dry-run").ok().stdout
    assert "4 files" in shown
    cli("delete", "a", "--yes").ok()
    assert {path.name for path in directory.iterdir()} == set(others)
    cli("undo", "--yes").ok()
    assert {path.name for path in directory.iterdir()} == {*mine, *others}
    cli("delete", "a", "--yes", "--no-trash").ok()
    assert {path.name for path in directory.iterdir()} == set(others)
    assert cli("undo", "--yes").code == 1


def test_R091_a_file_that_cannot_go_is_named(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("a")))
    directory = cli.home / "sessions"
    directory.mkdir()
    (directory / "a.json").write_text("x", encoding="utf-8")
    state = cli.home.parent / "user" / "state" / "hermes-sessions"
    blocker = state / "trash"
    cli.environ["XDG_STATE_HOME"] = str(cli.home.parent / "st")
    assert not blocker.exists()
    if os.geteuid() == 0:
        subprocess.run(["chattr", "+i", str(directory / "a.json")], check=False)
        done = cli("delete", "a", "--yes")
        subprocess.run(["chattr", "-i", str(directory / "a.json")], check=False)
        if done.code == 0:
            pytest.skip("this file system cannot make a file immutable")
    else:
        directory.chmod(0o500)
        done = cli("delete", "a", "--yes")
        directory.chmod(0o700)
    assert done.code == 1
    assert "a.json" in done.stderr
    assert "a" not in ids(cli)


def test_R099_the_trash_is_private_and_says_what_is_in_it(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one", "the needle", title="One"), *ended("two")))
    line = cli("delete", "one", "two", "--yes").ok().stdout
    trash_id = line.split()[-1]
    directory = next((cli.home.parent / "user" / "state").rglob("trash"))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    (entry,) = cli("trash", "list", "--json").ok().json
    assert (entry["id"], sorted(entry["ids"])) == (trash_id, ["one", "two"])
    assert "One" in cli("trash", "show", trash_id).ok().stdout
    assert cli("undo", "no-such-id", "--yes").code == 1
    cli("undo", trash_id[:12], "--yes").ok()
    assert {"one", "two"} <= ids(cli)
    assert cli("search", "needle", "--ids").ok().lines == ["one"]
    assert cli("trash", "--json").ok().json == []
    lines = (directory.parent / "deletions.log").read_text(encoding="utf-8").splitlines()
    log = [json.loads(line) for line in lines]
    assert [each["command"] for each in log] == ["delete", "undo"]
    assert sorted(log[0]["deleted"]) == [["one", "One"], ["two", None]]


def test_what_is_old_leaves_the_trash(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one"), *ended("two")))
    cli("delete", "one", "--yes").ok()
    (path,) = next((cli.home.parent / "user" / "state").rglob("trash")).glob("*.jsonl")
    os.utime(path, (CLOCK, CLOCK))
    cli.now = CLOCK + 31 * DAY
    cli("delete", "two", "--yes").ok()
    assert [e["ids"] for e in cli("trash", "--json").ok().json] == [["two"]]


def test_emptying_the_trash_is_for_good(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one")))
    cli("delete", "one", "--yes").ok()
    assert cli("trash", "empty").code == 2
    cli("trash", "empty", "--yes").ok()
    assert cli("undo", "--yes").code == 1


def test_a_live_conversation_is_never_deleted(made: Callable[..., Cli]) -> None:
    lease = (
        "INSERT INTO session_turn_leases (conversation_id, holder, acquired_at, expires_at)"
        f" VALUES (:id, 'turn', {CLOCK}, {CLOCK + 300})"
    )
    marked = json.dumps({"_delegate_from": "parent"})
    cli = made(
        change=lambda path: [
            edit(*ended("live"), *ended("parent"), *ended("quiet"),
                 *ended("child", parent_session_id="parent", model_config=marked))(path),
            edit(lease, id="live")(path),
            edit(lease, id="child")(path),
        ]
    )  # fmt: skip
    for ref in ("live", "parent"):
        outcome = cli("delete", ref, "--yes")
        assert outcome.code == 3, outcome
        assert "live" in outcome.stderr
    found = cli("prune", "--older-than", "90", "--json", "--dry-run").ok().json
    assert "quiet" in found["ids"]
    assert not {"live", "parent", "child"} & set(found["ids"])
    assert {"live", "parent", "child", "quiet"} <= ids(cli)


def test_never_active(made: Callable[..., Cli]) -> None:
    unused = {"source": "telegram", "session_key": "agent:main:telegram:dm:1"}
    cli = made(
        change=edit(
            session(id="unused", started_at=CLOCK - 40 * DAY, **unused),
            session(id="recent", started_at=CLOCK - 5 * DAY, **unused),
            session(id="named", started_at=CLOCK - 40 * DAY, title="kept", **unused),
            *chat("used", "hello", started_at=CLOCK - 40 * DAY, **unused),
        )
    )
    found = cli("prune", "--never-active", "--json", "--dry-run").ok().json
    assert "unused" in found["ids"]
    assert not {"recent", "named", "used"} & set(found["ids"])
    assert cli("prune", "--never-active", "--source", "cli", "--dry-run").code == 2
    cli("prune", "--never-active", "--yes", "--max-delete", "99").ok()
    assert "unused" not in ids(cli)


def test_R050_orphans_go_and_come_back(made: Callable[..., Cli]) -> None:
    cli = made("orphan-rows")
    orphans = "SELECT count(*) FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)"
    ((before,),) = query(cli, orphans)
    assert before
    plan = cli("prune", "--orphans", "--dry-run").ok().stdout
    assert "whose session is gone" in plan
    assert "3 sessions hanging off them stay, detached" in plan
    cli("prune", "--orphans", "--yes").ok()
    assert query(cli, orphans) == [(0,)]
    sound(cli)
    cli("undo", "--yes").ok()
    assert query(cli, orphans) == [(before,)]


def test_prune_is_refused_while_somebody_has_the_store_open(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*ended("one")))
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('SELECT count(*) FROM sessions').fetchall();"
        "print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(cli.home / "state.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert other.stdout is not None
        other.stdout.readline()
        words = ("prune", "--older-than", "200", "--source", "cli", "--yes")
        refused = cli(*words)
        assert refused.code == 3, refused
        assert str(other.pid) in refused.stderr
        assert "one" in ids(cli)
        cli("delete", "one", "--yes").ok()
        cli("undo", "--yes").ok()
        cli(*words, "--force").ok()
        assert "one" not in ids(cli)
    finally:
        other.communicate(timeout=10)


def test_a_store_that_is_damaged_is_not_touched(made: Callable[..., Cli]) -> None:
    cli = made("page-damage")
    before = fingerprint(cli.home)
    outcome = cli("prune", "--older-than", "1", "--yes", "--max-delete", "1000")
    assert outcome.code == 4
    assert fingerprint(cli.home) == before


def test_R100_no_temporary_directory_is_needed(made: Callable[..., Cli]) -> None:
    cli = made(change=edit(*[s for i in range(50) for s in ended(f"old{i}")]))
    environ = {**cli.environ, "TMPDIR": "/nowhere", "SQLITE_TMPDIR": "/nowhere"}
    run = subprocess.run(
        [sys.executable, "-m", "hermes_sessions", "prune", "--source", "cli", "--yes",
         "--older-than", "90", "--max-delete", "99"],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert not [i for i in ids(cli) if i.startswith("old")]


def test_R090_thousands_go_in_one_run(made: Callable[..., Cli]) -> None:
    many = f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
        INSERT INTO sessions (id, source, started_at, ended_at, end_reason)
        SELECT 'bulk' || i, 'webhook', {OLD}, {OLD} + 1, 'webhook_complete' FROM n"""
    cli = made(change=edit(many))
    outcome = cli("prune", "--source", "webhook", "--yes", "--max-delete", "50000").ok()
    assert outcome.stdout.startswith("deleted 40,000 conversations")
    assert not [i for i in ids(cli) if i.startswith("bulk")]
    sound(cli)
