"""Marking, closing and relocating whole conversations (cases R036, R085, R088, R096, R101)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from hermes_sessions.cli import edits, relocate
from support import CLOCK, DAMAGED, edit, fingerprint
from test_list import CHAIN, message, session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli

    MakeCli = Callable[..., Cli]
    Cells = dict[tuple[str, str], object]

TIP = CHAIN[-1]
BUILD_LOG = "20260305_090000_0a0001"
PINNED = "20250824_100000_00aa14"
ARCHIVED = {"20250913_100000_00aa15", "20260305_100000_0b0001"}
BOT_CHAT = "20260305_110000_0b0002"
LIVE = {"20260304_090000_f00001", "20260304_110000_f0000003"}
"""A compression and a turn are going on in these, as far as the store says."""

FLAGS = {
    "pin": ("pinned", 1),
    "unpin": ("pinned", 0),
    "archive": ("archived", 1),
    "unarchive": ("archived", 0),
    "hide": ("hidden", 1),
    "unhide": ("hidden", 0),
}
OPPOSITES = {"pin": "unpin", "archive": "unarchive", "hide": "unhide"}
BULK = ("archive", "unarchive", "close")


def query(cli: Cli, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(cli.home / "state.db")) as connection:
        return connection.execute(sql, values).fetchall()


def value(cli: Cli, column: str, session_id: str) -> Any:
    return query(cli, f"SELECT {column} FROM sessions WHERE id = ?", session_id)[0][0]


def cells(cli: Cli) -> Cells:
    """Return every cell of every session."""
    with closing(sqlite3.connect(cli.home / "state.db")) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM sessions").fetchall()
    return {(row["id"], name): row[name] for row in rows for name in row.keys()}  # noqa: SIM118


def changed(before: Cells, after: Cells) -> Cells:
    assert before.keys() == after.keys()
    return {key: after[key] for key in after if before[key] != after[key]}


def opposite(command: str) -> Callable[[Path], None]:
    """Return a change after which a command has something to do with the chain."""
    column, flag = FLAGS[command]
    return edit(f"UPDATE sessions SET {column} = {1 - flag} WHERE id IN {tuple(CHAIN)}")


@pytest.mark.parametrize("ref", [*CHAIN, "refactoring auth", "20260302_09"])
@pytest.mark.parametrize("command", FLAGS)
def test_a_flag_is_set_on_the_whole_conversation(
    make_writable_cli: MakeCli, command: str, ref: str
) -> None:
    cli = make_writable_cli(change=opposite(command))
    before = cells(cli)
    outcome = cli(command, ref, "--yes").ok()
    column, flag = FLAGS[command]
    assert changed(before, cells(cli)) == {(member, column): flag for member in CHAIN}
    assert TIP in outcome.stdout
    assert ("goes on as" in outcome.stderr) == (ref in CHAIN[:2] or ref == "20260302_09")


@pytest.mark.parametrize("command", OPPOSITES)
def test_the_opposite_takes_everything_back(make_writable_cli: MakeCli, command: str) -> None:
    cli = make_writable_cli()
    before = cells(cli)
    cli(command, TIP, BUILD_LOG, "--yes").ok()
    assert before != cells(cli)
    cli(OPPOSITES[command], TIP, BUILD_LOG, "--yes").ok()
    assert cells(cli) == before


@pytest.mark.parametrize("command", FLAGS)
def test_what_is_so_already_is_nothing_to_do(make_writable_cli: MakeCli, command: str) -> None:
    cli = make_writable_cli(change=opposite(command))
    cli(command, TIP, "--yes").ok()
    before = fingerprint(cli.home)
    for words in ((), ("--yes",), ("--dry-run",)):
        outcome = cli(command, TIP, *words).ok()
        assert outcome.stdout == ""
        assert "nothing to do" in outcome.stderr
    told = cli(command, TIP, "--json").ok().json
    assert (told["changed"], told["unchanged"]) == ([], [TIP])
    assert fingerprint(cli.home) == before


def test_what_is_so_in_part_is_made_whole(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(change=edit(f"UPDATE sessions SET pinned = 1 WHERE id = '{CHAIN[0]}'"))
    before = cells(cli)
    cli("pin", TIP, "--yes").ok()
    assert changed(before, cells(cli)) == {(member, "pinned"): 1 for member in CHAIN[1:]}


def test_several_at_once_each_once(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    told = cli("pin", "build log", CHAIN[0], "refactoring auth", PINNED, "-y", "--json").ok().json
    assert told["changed"] == [BUILD_LOG, TIP]
    assert told["unchanged"] == [PINNED]
    assert value(cli, "pinned", BUILD_LOG) == value(cli, "pinned", TIP) == 1


@pytest.mark.parametrize("command", [*FLAGS, "close"])
@pytest.mark.parametrize(
    ("ref", "code"), [("no such thing", 1), ("", 2), ("20260303_09", 2), ("refactoring a", 1)]
)
def test_R097_all_of_them_or_none(
    make_writable_cli: MakeCli, command: str, ref: str, code: int
) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli(command, "build log", PINNED, ref, TIP, "--yes")
    assert outcome.code == code
    assert outcome.stdout == ""
    if ref == "refactoring a":
        assert TIP in outcome.stderr
    assert fingerprint(cli.home) == before


@pytest.mark.parametrize("command", [*FLAGS, "close"])
def test_json_has_the_fields_of_the_module(make_writable_cli: MakeCli, command: str) -> None:
    cli = make_writable_cli(change=opposite(command) if command in FLAGS else None)
    planned = cli(command, TIP, "--json", "--dry-run").ok().json
    done = cli(command, TIP, "--json", "--yes").ok().json
    assert tuple(planned) == tuple(done) == edits.FIELDS
    assert (planned.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert planned == done
    assert done == {"command": command, "changed": [TIP], "unchanged": [], "kept": {}}


def test_json_picks_fields_or_changes_nothing(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    refused = cli("pin", TIP, "--yes", "--json=changed,nonsense")
    assert (refused.code, refused.stdout) == (2, "")
    assert ", ".join(edits.FIELDS) in refused.stderr
    assert fingerprint(cli.home) == before
    assert cli("pin", TIP, "--yes", "--json=changed").ok().json == {"changed": [TIP]}


def test_a_pin_takes_back_what_hides(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    cli("hide", TIP, "--yes").ok()
    assert TIP not in cli("list", "--ids", "-n", "0").ok().lines
    assert "shown again" in cli("pin", TIP, "--dry-run").ok().stdout
    cli("pin", TIP, "--yes").ok()
    assert TIP in cli("list", "--ids", "-n", "0").ok().lines
    assert {value(cli, "hidden", member) for member in CHAIN} == {0}


def test_a_pin_leaves_the_chat_of_a_bot_hidden(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = cells(cli)
    cli("pin", BOT_CHAT, "--yes").ok()
    assert changed(before, cells(cli)) == {(BOT_CHAT, "pinned"): 1}


def test_what_hermes_archived_by_itself_is_archived_by_hand(make_writable_cli: MakeCli) -> None:
    swept = f"UPDATE sessions SET archived = 1, auto_archived = 1 WHERE id = '{BUILD_LOG}'"
    cli = make_writable_cli(change=edit(swept))
    told = cli("archive", BUILD_LOG, "--yes", "--json").ok().json
    assert told["changed"] == [BUILD_LOG]
    assert (value(cli, "archived", BUILD_LOG), value(cli, "auto_archived", BUILD_LOG)) == (1, 0)
    cli("unarchive", BUILD_LOG, "--yes").ok()
    assert (value(cli, "archived", BUILD_LOG), value(cli, "auto_archived", BUILD_LOG)) == (0, 0)


# Stores of other releases, and damaged ones


@pytest.mark.parametrize(
    ("name", "command", "column"),
    [
        ("0.13.0", "archive", "archived"),
        ("0.15.2", "unarchive", "archived"),
        ("0.16.0", "pin", "pinned"),
        ("0.19.0", "unpin", "pinned"),
        ("0.20.0", "hide", "hidden"),
        ("duplicate-titles", "unhide", "hidden"),
    ],
)
def test_a_store_without_the_column_is_left_alone(
    make_writable_cli: MakeCli, name: str, command: str, column: str
) -> None:
    cli = make_writable_cli(name)
    before = fingerprint(cli.home)
    outcome = cli(command, "build log", "--yes")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert f"“{column}”" in outcome.stderr
    assert "newer hermes" in outcome.stderr
    assert fingerprint(cli.home) == before


OTHER_STORES = [
    *("newer-schema", "fts-corrupt", "fts-silent", "fts-stale", "no-fts", "cjk-index"),
    *("wal-header", "orphan-rows", "odd-values", "half-migrated-fts"),
    *("upgraded-0.13.0-by-0.22.2", "optimized-0.19.0-by-0.22.2"),
]


@pytest.mark.parametrize("name", OTHER_STORES)
def test_pin_and_rename_work_on_other_stores(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    before = cells(cli)
    cli("pin", "build log", "--yes").ok()
    cli("rename", "build log", "a log", "--yes").ok()
    cli("close", "a log", "--yes").ok()
    expected = {"pinned": 1, "title": "a log", "ended_at": CLOCK, "end_reason": "cli_close"}
    found = changed(before, cells(cli))
    assert found.pop((BUILD_LOG, "title_source"), "user") == "user"
    assert found == {(BUILD_LOG, column): new for column, new in expected.items()}


@pytest.mark.parametrize("name", ["0.13.0", "0.16.0", "0.19.0", "hot-wal/state", "null-active"])
def test_rename_and_close_work_on_every_store(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    cli("rename", "build log", "a log", "--yes").ok()
    cli("close", "a log", "--yes", "--reason", "tidied up").ok()
    row = query(cli, "SELECT title, end_reason FROM sessions WHERE id = ?", BUILD_LOG)
    assert row == [("a log", "tidied up")]
    if name == "hot-wal/state":
        assert cli("which", "only in the wal").ok().stdout


@pytest.mark.parametrize("name", [*DAMAGED, "page-damage"])
@pytest.mark.parametrize(
    "words",
    [
        ("pin", "build log"),
        ("close", "--source", "cli"),
        ("archive", "--older-than", "1d"),
        ("rename", "build log", "x"),
        ("fork", "build log"),
    ],
    ids=" ".join,
)
def test_a_damaged_store_is_refused(
    make_writable_cli: MakeCli, name: str, words: tuple[str, ...]
) -> None:
    cli = make_writable_cli(name)
    before = fingerprint(cli.home)
    outcome = cli(*words, "--yes")
    assert (outcome.code, outcome.stdout) == (4, "")
    assert "damaged" in outcome.stderr
    assert fingerprint(cli.home) == before


# In bulk


@pytest.mark.parametrize("command", BULK)
def test_R096_nothing_named_is_not_everything(make_writable_cli: MakeCli, command: str) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    for words in ((), ("--dry-run",), (TIP, "--source", "cli")):
        outcome = cli(command, *words, "--yes")
        assert (outcome.code, outcome.stdout) == (2, "")
    assert fingerprint(cli.home) == before


def test_R088_archive_in_bulk_keeps_what_is_pinned_open_or_live(
    make_writable_cli: MakeCli,
) -> None:
    cli = make_writable_cli()
    rows = cli("list", "-n", "0", "--json").ok().json
    before = cells(cli)
    told = cli("archive", "--older-than", "1h", "--yes", "--json").ok().json
    pinned = {row["id"] for row in rows if row["pinned"]}
    still_open = {row["id"] for row in rows if row["open"]} - LIVE - pinned
    expected = {row["id"] for row in rows} - pinned - still_open - LIVE
    assert set(told["changed"]) == expected
    assert told["kept"] == {"pinned": 1, "live now": 2, "open": len(still_open)}
    flagged = {session_id for session_id, column in changed(before, cells(cli))}
    assert flagged >= expected
    assert not flagged & (pinned | still_open | LIVE | set(CHAIN))


def test_R088_a_pinned_segment_protects_the_whole(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(
            f"UPDATE sessions SET ended_at = {CLOCK}, end_reason = 'x' WHERE id = '{TIP}'",
            f"UPDATE sessions SET pinned = 1 WHERE id = '{CHAIN[0]}'",
        )
    )
    before = fingerprint(cli.home)
    outcome = cli("archive", "--title", "refactoring auth", "--yes").ok()
    assert "1 pinned" in outcome.stderr
    assert fingerprint(cli.home) == before
    cli("archive", TIP, "--yes").ok()  # whoever names it means it
    assert {value(cli, "archived", member) for member in CHAIN} == {1}


def test_R101_archive_says_that_nothing_becomes_smaller(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    assert "hidden, not smaller" in cli("archive", TIP, "--dry-run").ok().stdout
    assert "nothing becomes smaller" in cli("archive", "--help").ok().stdout


def test_archive_in_bulk_keeps_the_chat_of_a_bot(make_writable_cli: MakeCli) -> None:
    ended = f"UPDATE sessions SET ended_at = 1, end_reason = 'x' WHERE id = '{BOT_CHAT}'"
    cli = make_writable_cli(change=edit(ended))
    told = cli("archive", "--title", "bot chat", "--all", "--yes", "--json").ok().json
    assert (told["changed"], told["kept"]) == ([], {"bot chat": 1})


def test_unarchive_in_bulk_brings_back_what_matches(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    told = cli("unarchive", "--source", "cli", "--dry-run", "--json").ok().json
    assert set(told["changed"]) == ARCHIVED
    assert told["kept"] == {}
    cli("unarchive", "--archived", "--yes").ok()
    assert query(cli, "SELECT count(*) FROM sessions WHERE archived") == [(0,)]
    assert set(cli("list", "--ids", "-n", "0").ok().lines) >= ARCHIVED


def test_R085_close_ends_what_is_open_and_counts_what_it_keeps(
    make_writable_cli: MakeCli,
) -> None:
    cli = make_writable_cli()
    rows = {row["id"]: row for row in cli("list", "-n", "0", "--all", "--json").ok().json}
    before = cells(cli)
    told = cli("close", "--all", "--yes", "--json").ok().json
    still_open = {i for i, row in rows.items() if row["open"]}
    assert set(told["changed"]) == still_open - LIVE
    assert told["kept"] == {"ended already": len(rows) - len(still_open), "live now": 2}
    expected = {(i, "ended_at"): CLOCK for i in still_open - LIVE}
    reasons = {(i, "end_reason"): "cli_close" for i in still_open - LIVE}
    assert changed(before, cells(cli)) == {**expected, **reasons}


def test_R085_seven_idle_ones_can_be_pruned_once_they_are_closed(
    make_writable_cli: MakeCli,
) -> None:
    old = CLOCK - 14 * 86_400
    rows = [session(id=f"idle{i}", source="api_server", started_at=old) for i in range(7)]
    words = [message(f"idle{i}", old) for i in range(7)]
    cli = make_writable_cli(change=edit(*rows, *words))
    wanted = ("--source", "api_server", "--older-than", "10d")
    assert "7 open" in cli("archive", *wanted, "--dry-run").ok().stderr
    assert len(cli("close", *wanted, "--yes", "--json").ok().json["changed"]) == 7
    assert len(cli("archive", *wanted, "--dry-run", "--json").ok().json["changed"]) == 7


def test_close_ends_the_open_segment_only(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = cells(cli)
    cli("close", CHAIN[0], "--reason", " too\told ", "--yes").ok()
    assert changed(before, cells(cli)) == {
        (TIP, "ended_at"): CLOCK,
        (TIP, "end_reason"): "too old",
    }
    assert "closed already" in cli("close", TIP).ok().stderr


def test_close_keeps_what_holds_a_chain_together(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(f"UPDATE sessions SET ended_at = NULL WHERE id = '{CHAIN[0]}'")
    )
    cli("close", TIP, "--yes").ok()
    assert value(cli, "end_reason", CHAIN[0]) == "compression"
    assert cli("which", CHAIN[0]).ok().stdout == f"{TIP}\n"


RESETS = "session_reset session_switch idle daily suspended resume_pending_expired"
"""Reasons by which Hermes counts a reset of a chat (0.22.2, ``conversation_generations``)."""


@pytest.mark.parametrize("reason", ["", " \t", "compression", "branched", *RESETS.split()])
def test_a_reason_that_would_mean_something_else(make_writable_cli: MakeCli, reason: str) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli("close", TIP, "--reason", reason, "--yes")
    assert outcome.code == 2
    assert "--reason" in outcome.stderr
    assert ("what the next session is" if reason.strip() else "blank") in outcome.stderr
    assert fingerprint(cli.home) == before


def test_R057_filters_reach_what_only_the_first_segment_says(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(f"UPDATE sessions SET user_id = 'u1', chat_id = 'c1' WHERE id = '{CHAIN[0]}'")
    )
    for option in (("--user", "u1"), ("--chat-id", "c1")):
        assert cli("close", *option, "--dry-run", "--json").ok().json["changed"] == [TIP]


@pytest.mark.parametrize("session_id", sorted(LIVE))
def test_what_is_live_is_not_closed(make_writable_cli: MakeCli, session_id: str) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli("close", BUILD_LOG, session_id, "--yes")
    assert outcome.code == 3
    assert f"{session_id} is live" in outcome.stderr
    assert fingerprint(cli.home) == before


# What a person sees


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", ["archive", "rename", "fork", "new", "relocate"])
def test_plans_fit_the_terminal_and_ids_are_whole(
    make_writable_cli: MakeCli, command: str, width: int
) -> None:
    wide = "数据库迁移计划与回滚方案" * 8
    ids = ["0a1b2c3d-4e5f-4a6b-8c7d-0123456789ab", "api_1772629200_0badcafe"]
    cli = make_writable_cli(
        change=edit(
            *(session(id=i, title=f"{wide}{i[:1]}", cwd=f"/{wide}", ended_at=1) for i in ids),
            f"UPDATE sessions SET title = '中文会话 桜 🌸 中文会话 桜 🌸' WHERE id = '{BUILD_LOG}'",
        )
    )
    words = {
        "archive": ("archive", *ids, BUILD_LOG),
        "rename": ("rename", ids[0], wide),
        "fork": ("fork", ids[0]),
        "new": ("new", "--title", wide, "--id", ids[0][::-1]),
        "relocate": ("relocate", f"/{wide}", f"/{wide}/{wide}"),
    }[command]
    shown = cli("--color", "never", *words, "--dry-run", terminal=width).ok().stdout
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    named = {"archive": [*ids, BUILD_LOG], "relocate": ids, "new": [ids[0][::-1]]}
    for identifier in named.get(command, [ids[0]]):
        assert identifier in shown.split()
    done = cli("--color", "never", *words, "--yes", terminal=width).ok().stdout
    assert max(cell_len(line) for line in done.splitlines()) <= width or command == "relocate"


def test_where_there_is_little_room_the_name_goes_before_the_source(
    make_writable_cli: MakeCli,
) -> None:
    uuid = "0a1b2c3d-4e5f-4a6b-8c7d-0123456789ab"
    cli = make_writable_cli(change=edit(session(id=uuid, title="short name", source="a-source")))
    shown = {}
    for width in (60, 80):
        plan = cli("--color", "never", "pin", uuid, "--dry-run", terminal=width).ok().stdout
        (shown[width],) = (line.split() for line in plan.splitlines() if uuid in line)
    assert shown[60] == ["1h", "ago", "short", "name", uuid]
    assert shown[80] == ["1h", "ago", "a-source", "short", "name", uuid]


def test_an_id_wider_than_the_terminal_is_folded_not_cut(make_writable_cli: MakeCli) -> None:
    long = "api_" + "0123456789" * 9
    cli = make_writable_cli(change=edit(session(id=long, title="long id")))
    shown = cli("--color", "never", "pin", long, "--dry-run", terminal=60).ok().stdout
    assert long in "".join(line.strip() for line in shown.splitlines())
    assert "long id" in shown


def test_stored_text_cannot_move_the_cursor(make_writable_cli: MakeCli) -> None:
    bad = "evil \x1b[2J\u202e title"
    cli = make_writable_cli(change=edit(session(id="evil", title=bad, source="c\x1b[1mli")))
    for words in (("pin", "evil", "--dry-run"), ("pin", "evil", "--yes"), ("fork", "evil", "-y")):
        for terminal in (0, 80):
            outcome = cli("--color", "never", *words, terminal=terminal)
            assert not {"\x1b", "\u202e"} & set(outcome.stdout + outcome.stderr)


# relocate

PROJECT = "/home/dev/projects/acme-api"


def directories(cli: Cli) -> dict[str, tuple[str | None, str | None]]:
    rows = query(cli, "SELECT id, cwd, git_repo_root FROM sessions")
    return {row[0]: (row[1], row[2]) for row in rows}


def moved(path: str | None, old: str, new: str) -> str | None:
    if path is None or not f"{path}/".startswith(f"{old}/"):
        return path
    return new + path[len(old) :]


@pytest.mark.parametrize("old", [PROJECT, f"{PROJECT}/", f"{PROJECT}/./infra/.."])
def test_R036_every_recorded_directory_moves_along(make_writable_cli: MakeCli, old: str) -> None:
    cli = make_writable_cli()
    before, whole = directories(cli), cells(cli)
    told = cli("relocate", old, "/srv/acme/", "--yes", "--json").ok().json
    expected = {
        i: tuple(moved(path, PROJECT, "/srv/acme") for path in both) for i, both in before.items()
    }
    assert directories(cli) == expected != before
    assert {column for _, column in changed(whole, cells(cli))} == {"cwd", "git_repo_root"}
    assert tuple(told) == relocate.FIELDS
    assert (told["old"], told["new"]) == (PROJECT, "/srv/acme")
    assert told["directories"] == len(changed(whole, cells(cli)))
    assert TIP in told["changed"]
    assert "nothing to do" in cli("relocate", old, "/srv/acme", "--yes").ok().stderr


def test_R036_afterwards_it_is_found_where_it_is(
    make_writable_cli: MakeCli, tmp_path: Path
) -> None:
    cli = make_writable_cli()
    new = tmp_path / "moved"
    new.mkdir()
    cli("relocate", PROJECT, str(new), "--yes").ok()
    assert TIP in cli("list", "--ids", "--workspace", str(new)).ok().lines
    assert cli("list", "--ids", "--workspace", PROJECT).ok().lines == []
    outcome = cli("resume", TIP, "--dry-run").ok()
    assert outcome.stdout == f"hermes --resume {TIP}\n"
    assert f"in {new}" in outcome.stderr


def test_a_path_that_only_begins_alike_stays(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(
            session(id="proj", cwd="/a/proj"),
            session(id="below", cwd="/a/proj/x"),
            session(id="slash", cwd="/a/proj/"),
            session(id="project", cwd="/a/project"),
            session(id="beside", cwd="/a/proj.old/x"),
        )
    )
    told = cli("relocate", "/a/proj", "/b", "--yes", "--json").ok().json
    assert set(told["changed"]) == {"proj", "below", "slash"}
    found = {i: value(cli, "cwd", i) for i in ("proj", "below", "slash", "project", "beside")}
    assert found == {
        "proj": "/b",
        "below": "/b/x",
        "slash": "/b/",
        "project": "/a/project",
        "beside": "/a/proj.old/x",
    }


def test_a_move_to_the_root_directory(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(session(id="top", cwd="/a/proj"), session(id="below", cwd="/a/proj/x"))
    )
    cli("relocate", "/a/proj", "/", "--yes").ok()
    assert (value(cli, "cwd", "top"), value(cli, "cwd", "below")) == ("/", "/x")


def test_the_directory_of_an_editor_moves_along(make_writable_cli: MakeCli) -> None:
    config = {"cwd": "/a/proj/x", "provider": "openrouter", "n": [1, 2.5, None, "é"]}
    broken = '{"cwd": "/a/proj'
    cli = make_writable_cli(
        change=edit(
            session(id="acp", source="acp", model_config=json.dumps(config)),
            session(id="broken", model_config=broken),
            session(id="list", model_config='["cwd", "/a/proj"]'),
        )
    )
    told = cli("relocate", "/a/proj", "/b", "--yes", "--json").ok().json
    assert told["changed"] == ["acp"]
    assert json.loads(value(cli, "model_config", "acp")) == {**config, "cwd": "/b/x"}
    assert value(cli, "model_config", "broken") == broken


def test_relocate_understands_what_a_shell_leaves(
    make_writable_cli: MakeCli, tmp_path: Path
) -> None:
    user = tmp_path / "user"
    here = tmp_path / "elsewhere"
    cli = make_writable_cli(
        change=edit(session(id="own", cwd=f"{user}/code/x"), session(id="near", cwd=f"{here}/x"))
    )
    cli("relocate", "~/code", "~/work", "--yes").ok()
    assert value(cli, "cwd", "own") == f"{user}/work/x"
    cli("relocate", "x", "../y", "--yes").ok()
    assert value(cli, "cwd", "near") == f"{tmp_path}/y"


def test_relocate_follows_a_link_that_was_typed(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "code").symlink_to(tmp_path / "disk")
    cli = make_writable_cli(change=edit(session(id="own", cwd=f"{tmp_path}/disk/proj")))
    cli("relocate", f"{tmp_path}/code/proj", "/srv/proj", "--yes").ok()
    assert value(cli, "cwd", "own") == "/srv/proj"


def test_a_path_of_another_system(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(change=edit(session(id="win", cwd="C:\\Users\\me\\proj\\src")))
    cli("relocate", "C:\\Users\\me\\proj\\", "D:\\proj", "--yes").ok()
    assert value(cli, "cwd", "win") == "D:\\proj\\src"


def test_a_directory_that_is_no_text_stays(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(
            session(id="bytes", cwd="x"),
            "UPDATE sessions SET cwd = CAST(x'2f612f70726f6a2fff' AS TEXT) WHERE id = 'bytes'",
        )
    )
    assert "nothing to do" in cli("relocate", "/a/proj", "/b", "--yes").ok().stderr
    assert value(cli, "CAST(cwd AS BLOB)", "bytes") == b"/a/proj/\xff"


def test_relocate_shows_what_it_would_do_and_does_nothing(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli("relocate", PROJECT, "/srv/acme", "--dry-run").ok()
    assert f"{PROJECT}/infra → /srv/acme/infra  (2 sessions)" in " ".join(
        outcome.stdout.replace(" (", "  (").split(" ")
    )
    assert "there is no directory /srv/acme" in outcome.stdout
    assert TIP in outcome.stdout
    for words in ((PROJECT, PROJECT), ("", "/b"), (PROJECT, " "), ("/", "/b")):
        assert cli("relocate", *words, "--yes").code == 2
    nothing = cli("relocate", "/nowhere", "/b", "--yes").ok()
    assert nothing.stdout == ""
    assert "nothing to do" in nothing.stderr
    assert fingerprint(cli.home) == before
