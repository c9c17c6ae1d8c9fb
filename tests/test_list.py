"""Listing and visibility (cases A), lineage as far as it shows (cases C)."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from support import CLOCK, RELEASES, edit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli

    MakeCli = Callable[..., Cli]

OPEN_PORTS = "20250814_090000_00aa11"
BRANCH = "20260303_121500_e00002"
UNMARKED_BRANCH = "20260303_130500_e00004"
CHAIN = ["20260302_090000_a1b2c3", "20260302_110005_b2c3d4", "20260302_130005_c3d4e5"]


def literal(value: object) -> str:
    """Write a value as SQL."""
    if value is None:
        return "NULL"
    return (
        repr(value)
        if isinstance(value, (int, float))
        else "'" + str(value).replace("'", "''") + "'"
    )


def insert_into(table: str, values: dict[str, object]) -> str:
    cells = ", ".join(map(literal, values.values()))
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({cells})"


def session(**columns: object) -> str:
    """Return an INSERT of a session that began an hour ago."""
    return insert_into("sessions", {"source": "cli", "started_at": CLOCK - 3600, **columns})


def message(session_id: str, at: float, text: str = "hi", **columns: object) -> str:
    values = {"session_id": session_id, "role": "user", "content": text, "timestamp": at}
    return insert_into("messages", {**values, **columns})


def structured_message(session_id: str, parts: list[Any]) -> str:
    """Write the INSERT of a request that has pictures beside its text."""
    content = literal(f"json:{json.dumps(parts)}")
    return (
        "INSERT INTO messages (session_id, role, content, timestamp)"
        f" VALUES ({literal(session_id)}, 'user', char(0) || {content}, {CLOCK})"
    )


def rows_of(cli: Cli, *words: str) -> dict[str, Any]:
    return {row["id"]: row for row in cli("list", "-n", "0", "--json", *words).ok().json}


def test_R001_a_start_that_is_text(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="odd", started_at="not-a-timestamp", title="odd start"),
            session(id="numeric", started_at="1756000000", title="numeric start"),
        )
    )
    rows = rows_of(cli)
    assert rows["odd"]["started_at"] is None
    assert rows["odd"]["last_active"] is None
    assert rows["numeric"]["started_at"] == 1_756_000_000
    assert "?" in cli("list", "-n", "0", terminal=120).ok().stdout
    assert "odd" in cli("list", "-n", "0").stderr


def test_R003_broken_model_config(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(session(id="bad", model_config='{"_branched_from": bad')))
    assert rows_of(cli)["bad"]["kind"] == "root"


def test_R005_order_is_last_activity(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="old-but-used", started_at=CLOCK - 60 * 86_400),
            message("old-but-used", CLOCK - 60),
            session(id="new-but-idle", started_at=CLOCK - 3600),
        )
    )
    assert cli("list", "--ids", "-n", "2").lines == ["old-but-used", "new-but-idle"]
    by_start = cli("list", "--ids", "-n", "0", "--sort", "started").lines
    assert by_start.index("new-but-idle") < by_start.index("old-but-used")


def test_R006_an_open_chat_is_as_new_as_its_last_message(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="open", started_at=CLOCK - 86_400, ended_at=None),
            message("open", CLOCK - 120),
        )
    )
    assert rows_of(cli)["open"]["last_active"] == CLOCK - 120
    assert "2m ago" in cli("list", "-n", "1", terminal=100).stdout


@pytest.mark.parametrize("reason", ["branched", "tui_shutdown", None])
def test_R007_a_branch_stays_visible(make_cli: MakeCli, reason: str | None) -> None:
    value = "NULL" if reason is None else f"'{reason}'"
    parent = "20260303_120000_e00001"
    cli = make_cli(change=edit(f"UPDATE sessions SET end_reason = {value} WHERE id = '{parent}'"))
    assert rows_of(cli)[BRANCH]["kind"] == "branch"


def test_R007_a_branch_whose_parent_is_gone(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit("DELETE FROM sessions WHERE id = '20260303_120000_e00001'"))
    assert BRANCH in rows_of(cli)


def test_R008_every_row_is_in_exactly_one_conversation(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(session(id="child", parent_session_id=OPEN_PORTS, title="unmarked child"))
    )
    assert "child" not in rows_of(cli)
    assert rows_of(cli, "--all")["child"]["kind"] == "child"
    assert cli("which", "child").ok().stdout == "child\n"
    assert "1 unmarked child" in cli("list", terminal=120).stdout


def test_R009_delegates_are_out_of_view(cli: Cli) -> None:
    rows = rows_of(cli)
    assert not [row for row in rows.values() if row["kind"] == "delegate"]
    delegates = [row for row in rows_of(cli, "--all").values() if row["kind"] == "delegate"]
    assert len(delegates) == 3
    assert cli("list", "--source", "subagent", "--ids").lines != []


def test_R010_filters_act_before_the_limit(make_cli: MakeCli) -> None:
    runs = [
        session(id=f"cron_aa_{20260101 + i}_000000", source="cron", started_at=CLOCK - i)
        for i in range(300)
    ]
    cli = make_cli(change=edit(*runs))
    lines = cli("list", "--exclude-source", "cron", "-n", "1", "--ids").lines
    assert lines == ["20260306_100100_0f0005"]
    folded = cli("list", "-n", "3", terminal=120).stdout
    assert "×300 runs" in folded
    assert "20260306_100100_0f0005" in folded
    assert len(cli("list", "-n", "3", "--no-fold", terminal=120).stdout.splitlines()) == 6
    assert all("cron" in line for line in cli("list", "-n", "3").lines)


def test_R011_R012_archived_and_hidden_are_reachable(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *(
                session(id=f"s{a}{h}", archived=a, hidden=h, title=f"archived {a} hidden {h}")
                for a in (0, 1)
                for h in (0, 1)
            )
        )
    )
    shown = rows_of(cli)
    archived = rows_of(cli, "--archived")
    everything = rows_of(cli, "--all")
    assert "s00" in shown
    assert {"s01", "s10", "s11"}.isdisjoint(shown)
    assert {"s10", "s11"} <= set(archived)
    assert {"s00", "s01", "s10", "s11"} <= set(everything)


def test_R013_flags_are_judged_on_the_tip(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(f"UPDATE sessions SET archived = 1 WHERE id = '{CHAIN[0]}'"))
    assert CHAIN[2] in rows_of(cli)
    cli = make_cli(change=edit(f"UPDATE sessions SET archived = 1 WHERE id = '{CHAIN[2]}'"))
    assert set(CHAIN).isdisjoint(rows_of(cli))
    assert CHAIN[2] in rows_of(cli, "--archived")


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(
            ("sessions", name)
            for name in (
                "last_activity_at",
                "last_read_at",
                "pinned",
                "hidden",
                "archived",
                "title_source",
                "cwd",
                "model_config",
            )
        ),
        ("messages", "compacted"),
        ("messages", "active"),
        ("messages", "display_order"),
        ("messages", "tool_name"),
    ],
)
def test_R014_a_column_that_is_not_there(make_cli: MakeCli, table: str, column: str) -> None:
    def drop(path: Path) -> None:
        connection = sqlite3.connect(path)
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger', 'view')"
            " AND sql LIKE ?",
            (f"%{column}%",),
        ).fetchall():
            kind = connection.execute(
                "SELECT type FROM sqlite_master WHERE name = ?", (name,)
            ).fetchone()[0]
            connection.execute(f"DROP {kind} {name}")
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.commit()
        connection.close()

    cli = make_cli(change=drop)
    assert len(rows_of(cli, "--all")) == 40
    assert cli("show", "refactoring auth", "-t").ok().stdout


@pytest.mark.parametrize("table", ["sessions", "messages"])
def test_R014_a_table_that_is_not_there(make_cli: MakeCli, table: str) -> None:
    outcome = make_cli(change=edit(f"ALTER TABLE {table} RENAME TO elsewhere"))("list")
    assert outcome.code == 1
    assert f"no table {table}" in outcome.stderr


def test_R015_without_an_index_by_session(make_cli: MakeCli) -> None:
    names = [
        "idx_messages_session",
        "idx_messages_session_id",
        "idx_messages_session_active",
        "idx_messages_display_page",
    ]
    cli = make_cli(change=edit(*(f"DROP INDEX {name}" for name in names)))
    with_index = make_cli()
    assert cli("list", "-n", "0").ok().stdout == with_index("list", "-n", "0").stdout


@pytest.mark.parametrize("name", RELEASES)
def test_R017_nothing_is_dropped(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    rows = rows_of(cli, "--all")
    segments = [i for row in rows.values() for i in row["segment_ids"]]
    assert sorted(segments) == sorted(set(segments))
    assert len(segments) == RELEASES[name]["sessions"]
    footer = cli("--color", "never", "list", terminal=200).stdout.splitlines()[-1]
    numbers = [int(word) for word in footer.removesuffix("-n 0").split() if word.isdigit()]
    shown, total, *hidden = numbers
    assert shown == 20
    assert total == len(rows_of(cli))
    assert total + sum(hidden) == len(rows)


def test_R018_the_counter_is_not_trusted(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit("UPDATE sessions SET message_count = 0"))
    assert rows_of(cli)[OPEN_PORTS]["message_count"] == 2


def test_R019_one_filter_for_all(cli: Cli) -> None:
    everything = rows_of(cli, "--all")
    for words in (
        ("--source", "cli"),
        ("--title", "auth"),
        ("--older-than", "100d"),
        ("--min-messages", "4"),
        ("--workspace", "acme"),
        ("--end-reason", "cli_close"),
    ):
        shown, all_of_them = set(rows_of(cli, *words)), set(rows_of(cli, "--all", *words))
        assert shown
        assert shown <= all_of_them <= set(everything)
        visible = {i for i in all_of_them if everything[i]["away"] is None}
        assert shown == visible


def test_R020_json_is_one_value_and_nothing_else(cli: Cli) -> None:
    assert cli("list", "--title", "no such title", "--json").ok().stdout == "[]\n"
    picked = cli("list", "--json=id,title", "-n", "2").ok().json
    assert [list(row) for row in picked] == [["id", "title"]] * 2
    refused = cli("list", "--json=id,colour")
    assert refused.code == 2
    assert "colour" in refused.stderr
    assert "last_active" in refused.stderr
    assert refused.stdout == ""


def test_R044_a_picture_previews_as_text(make_cli: MakeCli) -> None:
    parts = [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "data:x"}}]

    change = edit(session(id="pic"), structured_message("pic", parts))
    assert rows_of(make_cli(change=change))["pic"]["preview"] == "hi [image]"


def test_R049_R050_orphans(make_cli: MakeCli) -> None:
    cli = make_cli("orphan-rows")
    rows = rows_of(cli)
    orphans = [row for row in rows.values() if row["parent_session_id"] and row["kind"] == "root"]
    assert orphans, "a child of a missing parent is listed as a root"


def test_R056_copies_of_a_message_count_once(make_cli: MakeCli) -> None:
    copies = [message("dup", CLOCK - 50, "the same") for _ in range(4)]
    cli = make_cli(change=edit(session(id="dup"), *copies, message("dup", CLOCK - 40, "another")))
    assert rows_of(cli)["dup"]["message_count"] == 2
    assert len(cli("show", "dup", "-t", "--json").json["messages"]) == 2


def test_R057_filters_fall_back_to_the_root(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            f"UPDATE sessions SET user_id = 'u7', chat_id = 'c7' WHERE id = '{CHAIN[0]}'",
            f"UPDATE sessions SET cwd = NULL, git_repo_root = NULL WHERE id = '{CHAIN[2]}'",
        )
    )
    assert list(rows_of(cli, "--user", "u7", "--chat-id", "c7")) == [CHAIN[2]]
    assert CHAIN[2] in rows_of(cli, "--workspace", "acme-api")


def test_duplicate_titles_are_all_listed(make_cli: MakeCli) -> None:
    rows = rows_of(make_cli("duplicate-titles"), "--all")
    titles = [row["title"] for row in rows.values() if row["title"]]
    assert len(titles) - len(set(titles)) == 2


def test_a_cycle_of_parents_is_listed(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="a", parent_session_id="b", end_reason="compression"),
            session(id="b", parent_session_id="a", end_reason="compression"),
            session(id="self", parent_session_id="self", end_reason="compression"),
        )
    )
    rows = rows_of(cli, "--all")
    segments = [i for row in rows.values() for i in row["segment_ids"]]
    assert {"a", "b", "self"} <= set(segments)


def test_R107_reading_does_not_wait_for_a_writer(make_cli: MakeCli) -> None:
    cli = make_cli()
    writer = sqlite3.connect(cli.home / "state.db", isolation_level=None)
    try:
        writer.execute("BEGIN IMMEDIATE")
        assert cli("list").ok().stdout
    finally:
        writer.execute("ROLLBACK")
        writer.close()


def test_tree_shows_what_hangs_below(cli: Cli) -> None:
    lines = cli("list", "--tree", "-n", "0").ok().lines
    survey = next(i for i, line in enumerate(lines) if "http client survey" in line)
    below = [line for line in lines[survey + 1 :] if line.rpartition("\t")[2].startswith("  ")]
    assert len(below) >= 2
    ids = [line.partition("\t")[0] for line in lines]
    assert len(ids) == len(set(ids))


def test_pinned_filter(cli: Cli) -> None:
    assert list(rows_of(cli, "--pinned")) == ["20250824_100000_00aa14"]
    assert "20250824_100000_00aa14" not in rows_of(cli, "--not-pinned")


@pytest.mark.parametrize(
    ("key", "field"), [("messages", "message_count"), ("started", "started_at")]
)
def test_sorting(cli: Cli, key: str, field: str) -> None:
    rows = cli("list", "-n", "0", "--json", "--sort", key).ok().json
    values = [row[field] for row in rows]
    assert values == sorted(values, reverse=True)
    reverse = cli("list", "-n", "0", "--json", "--sort", key, "--reverse").json
    assert [row["id"] for row in reverse] == [row["id"] for row in rows][::-1]


def test_sorting_by_title_puts_untitled_ones_last(cli: Cli) -> None:
    titles = [row["title"] for row in cli("list", "-n", "0", "--json", "--sort", "title").json]
    named = [title for title in titles if title]
    assert titles[: len(named)] == named == sorted(named, key=str.casefold)


def test_nul_separated_ids(cli: Cli) -> None:
    ids = cli("list", "-0", "-n", "3").ok().stdout.split("\0")
    assert ids[:3] == cli("list", "--ids", "-n", "3").lines
    assert ids[3] == ""
