"""Branches: a copy of what was said, whole or not at all (cases R052 to R055, R121)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hermes_sessions.cli import fork
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.messages import load_transcript
from support import CLOCK, RELEASES, edit, fingerprint
from test_edits import BUILD_LOG, LIVE, TIP, cells, query, value
from test_list import CHAIN, message, rows_of, session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli, Outcome

    MakeCli = Callable[..., Cli]
    Said = list[tuple[object, ...]]

MIGRATION = "20260305_120000_0c0001"
"""Compacted in place and rewound: 5 live rows, 9 that are shown, 13 in all."""
IMAGES = "20260304_100000_f0000002"
ENDED = "20260303_090000_d00001"
REWOUND = 119
FOREIGN = 98
OF_THE_COPY = {
    *("id", "session_id", "display_order", "display_identity", "active", "compacted"),
    "platform_message_id",  # only the original was received from a chat platform
}


def branch(cli: Cli, *words: str) -> str:
    """Make a branch and return its id."""
    (identifier,) = cli("fork", *words, "--yes").ok().lines
    return identifier


def rows(cli: Cli, session_id: str) -> list[dict[str, Any]]:
    """Return the stored messages of a session, by id."""
    with closing(sqlite3.connect(cli.home / "state.db")) as connection:
        connection.row_factory = sqlite3.Row
        found = connection.execute(
            "SELECT * FROM messages WHERE session_id = ? ORDER BY id", [session_id]
        )
        return [dict(row) for row in found]


def all_rows(cli: Cli) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row for row in query(cli, "SELECT * FROM messages")}


def live(cli: Cli, session_id: str) -> list[dict[str, Any]]:
    return [row for row in rows(cli, session_id) if row.get("active") != 0]


def words(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a copy must have in common with its original."""
    return {name: cell for name, cell in row.items() if name not in OF_THE_COPY}


def shown(cli: Cli, session_id: str) -> Said:
    """Return the transcript of the conversation of a session."""
    with open_store(cli.home / "state.db") as store:
        (conversation,) = conversations_of(store, [session_id])
        transcript = load_transcript(store, conversation.session_ids)
    return [(m.role, m.content, m.timestamp, m.tool_calls, m.tool_call_id) for m in transcript]


def calls_in(messages: list[dict[str, Any]]) -> int:
    """Count the tool calls of messages, by plain reading."""
    return sum(len(json.loads(row["tool_calls"])) for row in messages if row["tool_calls"])


def refused(cli: Cli, code: int, *options: str) -> Outcome:
    """Fork what must be refused and change nothing."""
    before = fingerprint(cli.home)
    outcome = cli("fork", *options, "--yes")
    assert outcome.code == code, outcome
    assert outcome.stdout == ""
    assert fingerprint(cli.home) == before
    return outcome


def test_R052_copied_and_total_are_said(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before, source = cells(cli), all_rows(cli)
    planned = cli("fork", MIGRATION, "--dry-run").ok()
    assert "5 of 9 messages" in planned.stdout
    assert "--full" in planned.stdout
    assert cells(cli) == before
    outcome = cli("fork", MIGRATION, "--yes").ok()
    assert "5 of 9 messages" in outcome.stderr
    (made,) = outcome.lines
    originals = live(cli, MIGRATION)
    copies = rows(cli, made)
    assert [words(copy) for copy in copies] == [words(row) for row in originals]
    assert {(copy["active"], copy["compacted"]) for copy in copies} == {(1, 0)}
    assert {i: row for i, row in all_rows(cli).items() if i in source} == source


def test_R052_full_keeps_what_is_archived_archived(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    told = cli("fork", MIGRATION, "--full", "--yes", "--json").ok().json
    assert (told["copied"], told["total"]) == (9, 9)
    originals = [row for row in rows(cli, MIGRATION) if row["active"] or row["compacted"]]
    copies = rows(cli, told["id"])
    flags = ("active", "compacted")
    assert [words(copy) for copy in copies] == [words(row) for row in originals]
    assert [[c[f] for f in flags] for c in copies] == [[r[f] for f in flags] for r in originals]
    assert shown(cli, told["id"]) == shown(cli, MIGRATION)
    assert value(cli, "message_count", told["id"]) == 5


@pytest.mark.parametrize("options", [(), ("--full",)], ids=["", "full"])
@pytest.mark.parametrize("source", [TIP, MIGRATION, BUILD_LOG, IMAGES, ENDED])
def test_a_branch_is_what_it_says(
    make_writable_cli: MakeCli, source: str, options: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    told = cli("fork", source, *options, "--yes", "--json").ok().json
    made = told["id"]
    seen_by_model = live(cli, made)
    assert [words(row) for row in seen_by_model] == [words(row) for row in live(cli, source)]
    assert value(cli, "message_count", made) == len(seen_by_model)
    assert value(cli, "tool_call_count", made) == calls_in(seen_by_model)
    assert told["copied"] == len(shown(cli, made))
    assert told["total"] == len(shown(cli, source))
    if options:
        assert shown(cli, made) == shown(cli, source)
    orders = [row["display_order"] for row in rows(cli, made)]
    assert len(set(orders)) == len(orders)
    assert None not in orders
    assert query(cli, "PRAGMA foreign_key_check") == []
    assert query(cli, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("ref", [*CHAIN, "refactoring auth"])
def test_a_branch_of_a_chain_hangs_off_its_tip(make_writable_cli: MakeCli, ref: str) -> None:
    cli = make_writable_cli()
    made = branch(cli, ref, "--full")
    assert value(cli, "parent_session_id", made) == TIP
    assert json.loads(value(cli, "model_config", made))["_branched_from"] == TIP
    assert shown(cli, made) == shown(cli, TIP)
    listed = rows_of(cli)
    assert listed[made]["kind"] == "branch"
    assert listed[TIP]["segment_ids"] == CHAIN
    assert cli("which", ref).ok().stdout.strip() in {TIP, made}


def test_a_branch_is_listed_shown_found_and_resumed(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    made = branch(cli, MIGRATION, "--title", "another way")
    assert cli("list", "--ids", "-n", "1").ok().lines == [made]
    assert f"branch of “migration plan” ({MIGRATION})" in cli("show", made).ok().stdout
    assert f"({made})" in cli("show", MIGRATION).ok().stdout
    hits = cli("search", "plain option", "--json").ok().json
    assert {block["id"] for block in hits} == {made, MIGRATION}
    assert cli("resume", "another way", "--print").ok().stdout == f"{made}\n"


def test_a_branch_takes_over_what_it_goes_on_with(make_writable_cli: MakeCli) -> None:
    config = {"provider": "openrouter", "yolo_mode": True, "_delegate_from": "x", "cwd": "/a"}
    cli = make_writable_cli(
        change=edit(
            f"UPDATE sessions SET model_config = '{json.dumps(config)}' WHERE id = '{TIP}'",
            f"UPDATE sessions SET cwd = NULL, git_repo_root = NULL WHERE id = '{TIP}'",
            f"UPDATE sessions SET pinned = 1, model = NULL WHERE id = '{TIP}'",
        )
    )
    made = branch(cli, TIP)
    taken = json.loads(value(cli, "model_config", made))
    assert taken == {"provider": "openrouter", "cwd": "/a", "_branched_from": TIP}
    for column in ("cwd", "git_repo_root", "git_branch", "model"):
        assert value(cli, column, made) == value(cli, column, CHAIN[1])  # the tip says nothing
    assert value(cli, "system_prompt_hash", made) == value(cli, "system_prompt_hash", TIP)
    assert (value(cli, "source", made), value(cli, "pinned", made)) == ("cli", 0)
    assert value(cli, "started_at", made) == CLOCK


@pytest.mark.parametrize("broken", ['{"provider": ', "[1]", "null", "7"])
def test_a_broken_configuration_is_left_behind(make_writable_cli: MakeCli, broken: str) -> None:
    cli = make_writable_cli(
        change=edit(f"UPDATE sessions SET model_config = '{broken}' WHERE id = '{BUILD_LOG}'")
    )
    made = branch(cli, BUILD_LOG)
    assert json.loads(value(cli, "model_config", made)) == {"_branched_from": BUILD_LOG}


def test_a_copy_was_received_by_nobody(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    received = {row["platform_message_id"] for row in rows(cli, IMAGES)}
    assert received > {None}
    copies = rows(cli, branch(cli, IMAGES))
    assert {row["platform_message_id"] for row in copies} == {None}


# The source


def test_an_open_source_ends_and_nothing_else_of_it_changes(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before, said = cells(cli), all_rows(cli)
    made = branch(cli, TIP, "--full")
    after = {key: cell for key, cell in cells(cli).items() if key[0] != made}
    assert after == {**before, (TIP, "ended_at"): CLOCK, (TIP, "end_reason"): "branched"}
    assert {i: row for i, row in all_rows(cli).items() if i in said} == said


@pytest.mark.parametrize(
    ("source", "options", "words_"),
    [
        (TIP, ("--keep-open",), ""),
        (ENDED, (), ""),
        (min(LIVE), (), "stays open: it is live"),
    ],
)
def test_a_source_that_is_left_as_it_is(
    make_writable_cli: MakeCli, source: str, options: tuple[str, ...], words_: str
) -> None:
    cli = make_writable_cli()
    before, said = cells(cli), all_rows(cli)
    outcome = cli("fork", source, *options, "--yes", "--json").ok()
    made = outcome.json["id"]
    assert outcome.json["source_ended"] is False
    assert words_ in outcome.stderr
    assert {key: cell for key, cell in cells(cli).items() if key[0] != made} == before
    assert {i: row for i, row in all_rows(cli).items() if i in said} == said


# Up to a message


@pytest.mark.parametrize(
    ("at", "last"),
    [
        (98, 98),  # a request
        (99, 100),  # a tool call
        (100, 100),  # its result
        (101, 101),
        (103, 104),
        (105, 105),
    ],
)
def test_R053_a_cut_never_splits_a_tool_call_from_its_results(
    make_writable_cli: MakeCli, at: int, last: int
) -> None:
    cli = make_writable_cli()
    outcome = cli("fork", BUILD_LOG, "--at", str(at), "--yes", "--json").ok()
    originals = [row for row in rows(cli, BUILD_LOG) if row["id"] <= last]
    copies = rows(cli, outcome.json["id"])
    assert [words(copy) for copy in copies] == [words(row) for row in originals]
    assert outcome.json["cut_at"] == last
    assert outcome.json["copied"] == len(originals)
    said = f"cut behind #{last}: #{at} is inside a tool call"
    assert (said in outcome.stderr) == (at != last)


def test_R053_all_results_of_several_calls_stay_together(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    for at in (22, 23, 24):  # two calls in the first segment, and their two results
        told = cli("fork", TIP, "--at", str(at), "--yes", "--keep-open", "--json").ok().json
        assert told["cut_at"] == 24
        originals = [row for row in rows(cli, CHAIN[0]) if row["id"] <= 24]
        copies = rows(cli, told["id"])
        assert [words(copy) for copy in copies] == [words(row) for row in originals]
        assert {copy["active"] for copy in copies} == {1}
        assert value(cli, "tool_call_count", told["id"]) == calls_in(originals) == 2


@pytest.mark.parametrize("options", [(), ("--full",)], ids=["", "full"])
def test_an_archived_message_becomes_live_with_all_before_it(
    make_writable_cli: MakeCli, options: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    told = cli("fork", MIGRATION, "--at", "112", *options, "--yes", "--json").ok().json
    copies = rows(cli, told["id"])
    originals = [row for row in rows(cli, MIGRATION) if row["id"] <= 112]
    assert [words(copy) for copy in copies] == [words(row) for row in originals]
    assert {(copy["active"], copy["compacted"]) for copy in copies} == {(1, 0)}
    assert (told["copied"], told["total"], told["cut_at"]) == (3, 9, 112)
    assert value(cli, "message_count", told["id"]) == 3


@pytest.mark.parametrize(
    ("source", "at", "options", "reason"),
    [
        (MIGRATION, str(REWOUND), (), "no message #119"),
        (MIGRATION, "114", (), "no message #114"),  # its copy is another row
        (MIGRATION, str(FOREIGN), (), "no message #98"),
        (MIGRATION, "99999", (), "no message #99999"),
        (MIGRATION, "99999999999999999999", (), "no number"),
        (MIGRATION, "0", (), "no number"),
        (MIGRATION, "-5", (), "no number"),
        (MIGRATION, "x", (), "--at"),
        (TIP, "32", (), "summary"),
        (TIP, "98", ("--full",), "no message #98"),
    ],
)
def test_R053_what_is_no_message_of_it(
    make_writable_cli: MakeCli, source: str, at: str, options: tuple[str, ...], reason: str
) -> None:
    cli = make_writable_cli(
        change=edit("UPDATE messages SET content = content || ' Otherwise.' WHERE id = 41")
    )
    outcome = refused(cli, 2, source, f"--at={at}", *options)
    assert reason in outcome.stderr


# What compaction takes along: the first messages and the last ones are there twice


def carried(session_id: str = "carried") -> Callable[[Any], None]:
    """Add a conversation as a compaction leaves it that keeps its head (0.22.2).

    Rows 1 to 8 were said; 1, 2 and 8 were taken along as 9, 10 and 12, behind them a summary; the
    original of 8 is superseded, those of 1 and 2 are archived.
    """

    def said(number: int, text: str, **columns: object) -> str:
        role = "user" if number % 2 else "assistant"
        return message(session_id, CLOCK - 1000 + number, text, role=role, **columns)

    archived = {"active": 0, "compacted": 1}
    return edit(
        session(id=session_id, title=session_id),
        *(said(i, f"m{i}", **archived) for i in range(1, 8)),
        said(8, "m8", active=0, compacted=0),
        said(1, "m1"),
        said(2, "m2"),
        said(9, "[CONTEXT COMPACTION — REFERENCE ONLY] They counted.", _compressed_summary=1),
        said(8, "m8"),
        said(11, "m9"),
    )


def texts(cli: Cli, session_id: str) -> list[str]:
    return [str(said[1])[:3] for said in shown(cli, session_id)]


MODEL = ["m1", "m2", "[CO", "m8", "m9"]
EVERYTHING = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "[CO", "m8", "m9"]


def test_what_is_there_twice_keeps_its_place(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(change=carried())
    assert texts(cli, "carried") == EVERYTHING
    for options, everything in (((), MODEL), (("--full",), EVERYTHING)):
        told = cli("fork", "carried", *options, "--yes", "--json").ok().json
        assert (told["copied"], told["total"]) == (len(everything), len(EVERYTHING))
        assert texts(cli, told["id"]) == everything
        assert [row["content"][:3] for row in live(cli, told["id"])] == MODEL
        assert value(cli, "message_count", told["id"]) == len(MODEL)
        assert rows_of(cli)[told["id"]]["message_count"] == len(everything)


@pytest.mark.parametrize(
    ("text", "place", "option", "everything", "model"),
    [
        ("m2", -1, "", EVERYTHING[:2], EVERYTHING[:2]),  # the row that is live
        ("m2", 0, "", EVERYTHING[:2], EVERYTHING[:2]),  # its archived original
        ("m2", -1, "--full", EVERYTHING[:2], EVERYTHING[:2]),
        ("m5", 0, "", EVERYTHING[:5], EVERYTHING[:5]),
        ("m8", -1, "", MODEL[:4], MODEL[:4]),
        ("m8", -1, "--full", EVERYTHING[:9], MODEL[:4]),
    ],
)
def test_a_cut_among_what_is_there_twice(
    make_writable_cli: MakeCli,
    *,
    text: str,
    place: int,
    option: str,
    everything: list[str],
    model: list[str],
) -> None:
    cli = make_writable_cli(change=carried())
    at = [row["id"] for row in rows(cli, "carried") if row["content"] == text][place]
    options = ("--at", str(at), *filter(None, [option]))
    told = cli("fork", "carried", *options, "--yes", "--json").ok().json
    assert texts(cli, told["id"]) == everything
    assert [row["content"][:3] for row in live(cli, told["id"])] == model
    assert told["copied"] == len(everything)


# Titles, ids, references


def test_R121_titles_of_branches_are_numbered(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    first, second = branch(cli, MIGRATION), branch(cli, MIGRATION)
    assert value(cli, "title", first) == "migration plan #2"
    assert value(cli, "title", second) == "migration plan #3"
    cli("archive", second, "--yes").ok()
    assert value(cli, "title", branch(cli, second)) == "migration plan #4"
    edit(f"DELETE FROM messages WHERE session_id = '{first}'")(cli.home / "state.db")
    edit(f"DELETE FROM sessions WHERE id = '{first}'")(cli.home / "state.db")
    assert value(cli, "title", branch(cli, MIGRATION)) == "migration plan #5"
    assert value(cli, "title", branch(cli, "20250923_100000_00aa16")) == "branch"
    assert value(cli, "title", branch(cli, "20250923_100000_00aa16")) == "branch #2"


def test_R121_a_long_title_makes_room_for_its_number(make_writable_cli: MakeCli) -> None:
    long, second = "x" * 100, "x" * 97 + " #2"
    cli = make_writable_cli(change=edit(session(id="a", title=long), session(id="b", title=second)))
    assert value(cli, "title", branch(cli, "a")) == "x" * 97 + " #3"


def test_an_odd_title_gives_a_sound_one(make_writable_cli: MakeCli) -> None:
    odd = "two\nlines\x1b[1m " + "x" * 120
    cli = make_writable_cli(change=edit(session(id="odd", title=odd)))
    title = value(cli, "title", branch(cli, "odd"))
    assert title.startswith("two lines[1m xxx")
    assert len(title) == 100


@pytest.mark.parametrize("title", ["build log", "refactoring auth", "Bot Chat", "", "x" * 101])
def test_R055_a_title_that_cannot_be_leaves_nothing_behind(
    make_writable_cli: MakeCli, title: str
) -> None:
    outcome = refused(make_writable_cli(), 2, MIGRATION, "--title", title)
    assert "title" in outcome.stderr


@pytest.mark.parametrize("identifier", [BUILD_LOG, MIGRATION, "", "a/b", "-x", "latest"])
def test_R055_an_id_that_cannot_be_leaves_nothing_behind(
    make_writable_cli: MakeCli, identifier: str
) -> None:
    refused(make_writable_cli(), 2, MIGRATION, f"--id={identifier}")


def test_json_has_the_fields_of_the_module(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    options = ("--id", "my-branch", "--title", " another  way ", "--json")
    planned = cli("fork", MIGRATION, *options, "--dry-run").ok().json
    done = cli("fork", MIGRATION, *options, "--yes").ok().json
    assert tuple(planned) == tuple(done) == fork.FIELDS
    assert planned.pop("dry_run") != done.pop("dry_run")
    assert planned == done
    assert (done["id"], done["title"]) == ("my-branch", "another way")
    assert (done["source_id"], done["source_ended"]) == (MIGRATION, True)
    assert cli("which", "another way").ok().stdout == "my-branch\n"


def test_R054_latest_is_the_same_for_every_command(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(
            session(id="here", cwd="/work/here", started_at=CLOCK - 500),
            message("here", CLOCK - 490),
            session(id="elsewhere", cwd="/work/elsewhere", started_at=CLOCK - 100),
            message("elsewhere", CLOCK - 90),
        )
    )
    for directory in ("/work/here", "/work/elsewhere", "/work"):
        cli.cwd = type(cli.cwd)(directory)
        newest = cli("resume", "latest", "--print").ok().stdout.strip()
        assert cli("fork", "latest", "--dry-run", "--json").ok().json["source_id"] == newest
        assert cli("rename", "latest", "x", "--dry-run", "--json").ok().json["id"] == newest
        assert cli("pin", "latest", "--dry-run", "--json").ok().json["changed"] == [newest]
    cli.cwd = type(cli.cwd)("/work/here")
    assert cli("resume", "latest", "--print").ok().stdout == "here\n"


# Other stores


@pytest.mark.parametrize("name", RELEASES)
def test_fork_on_every_release(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    told = cli("fork", MIGRATION, "--yes", "--json").ok().json
    seen_by_model = live(cli, told["id"])
    assert [words(row) for row in seen_by_model] == [words(row) for row in live(cli, MIGRATION)]
    assert value(cli, "message_count", told["id"]) == len(seen_by_model) == told["copied"]
    assert rows_of(cli)[told["id"]]["kind"] == "branch"
    assert value(cli, "end_reason", MIGRATION) == "branched"
    assert query(cli, "PRAGMA foreign_key_check") == []


BEFORE_ARCHIVING = [name for name in RELEASES if name < "0.18"]


@pytest.mark.parametrize("name", BEFORE_ARCHIVING)
def test_a_store_that_cannot_hold_archived_messages(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    for words_ in (("--yes",), ("--dry-run",)):
        before = fingerprint(cli.home)
        outcome = cli("fork", TIP, "--full", *words_)
        assert outcome.code == 1
        assert "before 0.18" in outcome.stderr
        assert fingerprint(cli.home) == before
    told = cli("fork", BUILD_LOG, "--full", "--yes", "--json").ok().json
    assert told["copied"] == told["total"] == len(rows(cli, BUILD_LOG))
    told = cli("fork", TIP, "--at", "24", "--full", "--yes", "--json").ok().json
    assert told["copied"] == 5


@pytest.mark.parametrize(
    "name",
    [
        *("newer-schema", "fts-silent", "fts-stale", "no-fts", "odd-values", "null-active"),
        *("half-migrated-fts", "upgraded-0.13.0-by-0.22.2", "wal-header", "hot-wal/state"),
    ],
)
def test_fork_on_odd_stores(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    made = branch(cli, TIP)
    assert [words(row) for row in rows(cli, made)] == [words(row) for row in live(cli, TIP)]
    assert len(shown(cli, made)) == 5
    assert query(cli, "PRAGMA foreign_key_check(messages)") == []


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("cjk-index", 1, "HERMES_FTS5_CJK_SO"),
        ("fts-corrupt", 4, "hermes-sessions optimize"),
    ],
)
def test_where_no_message_can_be_written_no_branch_is_begun(
    make_writable_cli: MakeCli, name: str, code: int, reason: str
) -> None:
    cli = make_writable_cli(name)
    outcome = refused(cli, code, BUILD_LOG)
    assert reason in outcome.stderr
    if name == "cjk-index":
        assert "nothing was changed" in outcome.stderr
        assert cli("fork", BUILD_LOG, "--dry-run").code == 1
    cli("rename", BUILD_LOG, "sessions can be changed all the same", "--yes").ok()


def test_a_tokenizer_that_does_not_load_is_none(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    library = tmp_path / "libfts5_cjk.so"
    library.write_text("not for this machine")
    cli = make_writable_cli("cjk-index")
    before = fingerprint(cli.home)
    outcome = cli("fork", BUILD_LOG, "--yes", HERMES_FTS5_CJK_SO=str(library))
    assert outcome.code == 1
    assert "cannot be loaded" in outcome.stderr
    assert fingerprint(cli.home) == before


def test_text_that_is_no_utf8_is_copied_byte_for_byte(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit("UPDATE messages SET content = CAST(x'636166e9' AS TEXT) WHERE id = 98")
    )
    made = branch(cli, BUILD_LOG)
    copied = query(
        cli,
        "SELECT CAST(content AS BLOB) FROM messages WHERE session_id = ? ORDER BY id LIMIT 1",
        made,
    )
    assert copied == [(b"caf\xe9",)]


def test_an_empty_conversation_can_be_branched(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    outcome = cli("fork", "20260306_090100_0f0002", "--yes").ok()
    assert "0 of 0 messages" in outcome.stderr
