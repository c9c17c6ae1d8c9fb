"""Undo is the inverse of deleting: every row, index and file (contract §10, cases R046, R099).

The oracle is the store itself: all rows of all tables, with the types of their cells, before the
deletion and after it was undone.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sqlite3
import stat
from collections import Counter
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hermes_sessions.cli.changes import writing
from hermes_sessions.store import removal
from hermes_sessions.store.removal import Remover
from hermes_sessions.store.restoring import restore
from hermes_sessions.store.writing import Writer, open_writer
from hermes_sessions.trash import TrashFile, list_entries, mint_trash_id
from support import CLOCK, DAMAGED, STORES, Cli, Outcome, edit, fingerprint, place_store
from test_list import BRANCH, CHAIN, insert_into, message, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hermes_sessions.store.restoring import Restored
    from hermes_sessions.store.snapshots import Tables
    from hermes_sessions.trash import Entry, Trashed

UNWRITABLE = ("cjk-index", "fts-corrupt", "page-damage")
"""No message of these can be deleted here."""

PARTLY = "fts-silent"
"""Some messages of this one cannot be deleted: the index has lost the pages of their words."""

WRITABLE = [
    name for name in STORES if name not in {*DAMAGED, *UNWRITABLE, PARTLY, "0.14.0"}
]  # the file of 0.14.0 is that of 0.13.0

LATER = CLOCK + 12 * 365 * 86_400
"""No lock of the corpus counts any more."""

BUILT_WITH = (3, 40)
"""The SQLite that built the indexes of the corpus."""

INDEXES = ("messages_fts", "messages_fts_trigram")
WORDS = (
    "the",
    "login",
    "hello",
    "what",
    "summary",
    "httpx",
    "retention",
    "索引部分",
    "迁移脚本",
    "log",
)
SEARCH = ("search", "login OR 迁移 OR retention", "--role", "all", "--json", "-n", "0")

PARENT = "20260303_120000_e00001"
"""What BRANCH is a branch of."""

DELEGATING = "20260303_090000_d00001"
"""It has three delegates, one of them a delegate of another."""

Row = tuple[tuple[str, object], ...]
Dump = dict[str, Counter[Row]]


class Text(NamedTuple):
    """Text of a store, UTF-8 or not; never equal to a BLOB."""

    data: bytes


def dump(path: Path) -> Dump:
    """Return all rows of all tables, but for what SQLite and FTS5 keep for themselves."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        ddl = {str(name): str(sql) for name, sql in tables}
        virtual = [name for name, sql in ddl.items() if sql.startswith("CREATE VIRTUAL")]
        hidden = ("sqlite_", *(f"{name}_" for name in virtual))
        connection.text_factory = Text
        return {
            name: Counter(
                tuple((type(cell).__name__, cell) for cell in row)
                for row in connection.execute(f'SELECT * FROM "{name}"')
            )
            for name in ddl
            if name not in virtual and not name.startswith(hidden)
        }


def differences(before: Dump, after: Dump) -> list[str]:
    """Say which rows are not the same; short, and only what is in them."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, Counter()), after.get(name, Counter())
        for sign, rows in (("-", old - new), ("+", new - old)):
            cells = [[cell for kind, cell in row if kind != "NoneType"] for row in rows]
            found += [f"{sign} {name} {str(row)[:300]}" for row in cells]
    return found


class Facts(NamedTuple):
    """What must be the same after an undo.

    Attributes:
        checks: what SQLite finds wrong.
        hits: the rows that each index finds for each word.
    """

    rows: Dump
    checks: Counter[tuple[object, ...]]
    hits: dict[tuple[str, str], frozenset[int]]


def facts(path: Path) -> Facts:
    with closing(sqlite3.connect(path)) as connection:
        checks = Counter(connection.execute("PRAGMA integrity_check"))
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    checks.update((table, parent, key) for table, _, parent, key in broken)
    return Facts(dump(path), checks, hits(path))


def assert_same(path: Path, before: Facts, what: str = "") -> None:
    after = facts(path)
    assert differences(before.rows, after.rows) == [], what
    assert after == before, what


def hits(path: Path) -> dict[tuple[str, str], frozenset[int]]:
    """Ask the indexes that follow what is deleted and inserted, and that give an answer."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            (name, word): rows
            for name in synchronised(connection)
            for word in WORDS
            if (rows := matches(connection, name, word)) is not None
        }


def synchronised(connection: sqlite3.Connection) -> list[str]:
    """Return the indexes that follow what is deleted and inserted."""
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    names = {row[0] for row in triggers}
    return [name for name in INDEXES if f"{name}_delete" in names]


def matches(connection: sqlite3.Connection, index: str, word: str) -> frozenset[int] | None:
    query = f"SELECT rowid FROM {index} WHERE {index} MATCH ?"
    try:
        return frozenset(row[0] for row in connection.execute(query, (f'"{word}"',)))
    except sqlite3.Error:
        return None


def query(cli: Cli, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(cli.home / "state.db")) as connection:
        return connection.execute(sql, values).fetchall()


def change(cli: Cli, *statements: str) -> None:
    """Change a store as another program would, with foreign keys off."""
    edit(*statements)(cli.home / "state.db")


def session_ids(cli: Cli) -> set[str]:
    return {row[0] for row in query(cli, "SELECT id FROM sessions")}


def message_ids(cli: Cli) -> set[int]:
    return {row[0] for row in query(cli, "SELECT id FROM messages")}


def trash_of(cli: Cli) -> Path:
    return Path(cli.environ["XDG_STATE_HOME"]) / "hermes-sessions" / "trash"


def trash_files(cli: Cli) -> list[str]:
    return sorted(path.name for path in trash_of(cli).glob("*"))


def run(cli: Cli, *words: str) -> Outcome:
    """Run a minute after the last run, so that the newest file of the trash is the last one."""
    cli.now += 60
    outcome = cli(*words)
    assert "Traceback" not in outcome.stderr
    assert "fault" not in outcome.stderr, outcome
    return outcome


def delete(cli: Cli, *refs: str) -> str:
    """Delete conversations and return the id of the run in the trash."""
    return str(run(cli, "delete", *refs, "--yes", "--json").ok().json["trash_id"])


def index_anew(path: Path) -> None:
    """Build the search indexes with the SQLite that runs the test.

    It may split text with NUL bytes into other words than the one that built them, and then
    cannot take all of them out again (store facts §0, trap 8).
    """
    with closing(sqlite3.connect(path)) as connection:
        marks = "SELECT 1 FROM sqlite_master WHERE name LIKE 'fts_v22_trash_%'"
        if connection.execute(marks).fetchone() is None:
            for name in synchronised(connection):
                connection.execute(f"INSERT INTO {name} ({name}) VALUES ('rebuild')")
        connection.commit()


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Cli]:
    """Make a runner for a copy of a store, with a trash of its own."""
    number = 0

    def make(name: str = "0.22.2", *statements: str) -> Cli:
        nonlocal number
        number += 1
        home = place_store(name, tmp_path / f"home{number}")
        if sqlite3.sqlite_version_info[:2] != BUILT_WITH and name in WRITABLE:
            index_anew(home / "state.db")
        if statements:
            edit(*statements)(home / "state.db")
        environ = {
            **os.environ,
            "HERMES_HOME": str(home),
            "XDG_STATE_HOME": str(tmp_path / f"state{number}"),
        }
        cli = Cli(home, environ, tmp_path)
        cli.now = LATER
        return cli

    return make


# Every conversation of every store


@pytest.mark.parametrize("name", WRITABLE)
def test_each_conversation_comes_back(make: Callable[..., Cli], name: str) -> None:
    cli = make(name)
    path = cli.home / "state.db"
    before, found = facts(path), run(cli, *SEARCH).ok()
    assert len(found.json) > 5
    assert before.hits or name in {"no-fts", "fts-stale"}
    conversations = run(cli, "list", "--all", "-n", "0", "--ids").ok().lines
    assert len(conversations) >= 39
    everything, messages = session_ids(cli), message_ids(cli)
    for number, conversation in enumerate(conversations):
        delete(cli, conversation)
        gone, lost = everything - session_ids(cli), messages - message_ids(cli)
        assert conversation in gone
        assert set(owners(cli)) & gone == set()
        assert hits(path) == {key: ids - lost for key, ids in before.hits.items()}, conversation
        if not number % 10:
            shown = run(cli, *SEARCH).ok().json
            assert not gone & {hit["session_id"] for one in shown for hit in one["hits"]}
            assert not gone & {one["id"] for one in shown}
        back = run(cli, "undo", "--yes").ok()
        assert back.stderr == "", conversation
        assert_same(path, before, conversation)
        assert trash_files(cli) == []
    assert run(cli, *SEARCH).json == found.json


def owners(cli: Cli) -> list[str]:
    """Return the sessions that have messages, whether they exist or not."""
    return [row[0] for row in query(cli, "SELECT DISTINCT session_id FROM messages")]


@pytest.mark.parametrize("name", WRITABLE)
def test_all_conversations_at_once_come_back(make: Callable[..., Cli], name: str) -> None:
    cli = make(name)
    path = cli.home / "state.db"
    before, orphans = facts(path), set(owners(cli)) - session_ids(cli)
    conversations = run(cli, "list", "--all", "-n", "0", "--ids").ok().lines
    delete(cli, *conversations)
    assert session_ids(cli) == set()
    assert set(owners(cli)) == orphans
    left = message_ids(cli)
    assert hits(path) == {key: ids & left for key, ids in before.hits.items()}
    assert run(cli, "undo", "--yes").ok().stderr == ""
    assert_same(path, before)


@pytest.mark.parametrize("name", WRITABLE)
def test_what_was_pruned_comes_back(make: Callable[..., Cli], name: str) -> None:
    """Everything that may go, routed, pinned and archived too."""
    cli = make(name)
    path = cli.home / "state.db"
    run(cli, "close", "--older-than", "1h", "--all", "--yes").ok()
    before, everything = facts(path), session_ids(cli)
    words = ("--older-than", "1h", "--include-pinned", "--include-archived", "--force")
    deleted = run(cli, "prune", *words, "--all", "--max-delete", "1000", "--yes", "--json").ok()
    assert len(deleted.json["deleted"]) > 30
    assert len(everything - session_ids(cli)) > 30
    assert not set(owners(cli)) & (everything - session_ids(cli))
    assert run(cli, "undo", "--yes").ok().stderr == ""
    assert_same(path, before)
    assert trash_files(cli) == []


@pytest.mark.parametrize("name", ["orphan-rows", "0.22.2", "0.13.0"])
def test_R050_what_sessions_that_are_gone_left_comes_back(
    make: Callable[..., Cli], name: str
) -> None:
    """To belonging to no session, as it was; also what hangs off one of these."""
    cli = make(
        name,
        message("nobody", CLOCK, "login left behind"),
        *[f"DELETE FROM sessions WHERE id = '{i}'" for i in (PARENT, CHAIN[0])],
    )
    path = cli.home / "state.db"
    before = facts(path)
    assert set(owners(cli)) - session_ids(cli) >= {"nobody", PARENT, CHAIN[0]}
    run(cli, "prune", "--orphans", "--yes").ok()
    assert set(owners(cli)) <= session_ids(cli)
    assert "messages" not in {row[0] for row in facts(path).checks}
    (file,) = trash_of(cli).glob("*.jsonl")
    whole = file.read_bytes()
    assert run(cli, "undo", "--yes").ok().stderr == ""
    assert_same(path, before)
    file.write_bytes(whole)
    assert "everything is there" in run(cli, "undo", "--yes").ok().stderr
    assert_same(path, before)


# Rows of every kind and type


ODD: tuple[object, ...] = (
    "'not UTF-8: ' || CAST(x'ff80c3' AS TEXT)",
    "CAST(x'eda080' AS TEXT)",  # a lone surrogate
    "x'00ff0a7b'",
    "char(0) || 'json:[1]'",
    "'a' || char(10) || 'b' || char(13) || char(8232) || char(0)",
    "''",
    "NULL",
    "'NULL'",
    "'1'",
    '\'{"end":"x"}\'',
    "9223372036854775807",
    "-9223372036854775808",
    "9e999",
    "-9e999",
    "0.1",
    "1e300",
    "5e-324",
    "'🌸 ' || char(55296)",
)
"""Cells as SQL."""


@pytest.mark.parametrize("name", ["0.13.0", "0.19.0", "0.22.2"])
def test_cells_of_any_type_come_back(make: Callable[..., Cli], name: str) -> None:
    """In every column of a message, of a session, of a table without types, and of a prompt."""
    cli = make(name, "CREATE TABLE notes (session_id, what)")
    kept = {"id", "session_id", "role", "timestamp", "source", "started_at", "parent_session_id"}
    columns = {table: columns_of(cli, table) for table in ("messages", "sessions")}
    for number, cell in enumerate(ODD):
        cells = {
            table: ", ".join(
                f"{column} = {cell}"
                for column, is_needed in found.items()
                if column not in kept and not (is_needed and cell == "NULL")
            )
            for table, found in columns.items()
        }
        change(
            cli,
            session(id=f"odd{number}"),
            message(f"odd{number}", CLOCK),
            message(f"odd{number}", CLOCK),
            f"INSERT INTO notes VALUES ('odd{number}', {cell})",
            f"UPDATE messages SET {cells['messages']} WHERE session_id = 'odd{number}'",
            f"UPDATE sessions SET {cells['sessions']} WHERE id = 'odd{number}'",
        )
    before = facts(cli.home / "state.db")
    refs = [f"odd{number}" for number in range(len(ODD))]
    delete(cli, *refs)
    assert not session_ids(cli) & set(refs)
    assert query(cli, "SELECT count(*) FROM notes") == [(0,)]
    run(cli, "undo", "--yes").ok()
    assert_same(cli.home / "state.db", before)


def columns_of(cli: Cli, table: str) -> dict[str, bool]:
    """Return the columns of a table, and whether they must have a value."""
    return {row[1]: bool(row[3]) for row in query(cli, f"PRAGMA table_info({table})")}


def test_a_prompt_that_is_not_utf8_comes_back(make: Callable[..., Cli]) -> None:
    cli = make(
        "0.22.2",
        "INSERT INTO system_prompts VALUES ('odd', CAST(x'ff0a00' AS TEXT)), ('blob', x'0001')",
        session(id="a", system_prompt_hash="odd", tool_names="blob"),
        session(id="b", system_prompt_hash="missing", tool_names="blob"),
    )
    before = facts(cli.home / "state.db")
    delete(cli, "a", "b")
    assert query(cli, "SELECT count(*) FROM system_prompts WHERE hash IN ('odd', 'blob')") == [(0,)]
    run(cli, "undo", "--yes").ok()
    assert_same(cli.home / "state.db", before)


UNKNOWN = (
    "CREATE TABLE ratings (id INTEGER PRIMARY KEY, about TEXT REFERENCES sessions(id))",
    "CREATE TABLE bookmarks (session_id TEXT, place TEXT)",
    "CREATE TABLE reactions (message INTEGER REFERENCES Messages ON DELETE CASCADE, face TEXT)",
    """
    CREATE TABLE attachments (
        name TEXT PRIMARY KEY, session_id TEXT REFERENCES sessions,
        message_id INTEGER REFERENCES messages(id)
    ) WITHOUT ROWID""",
    """
    CREATE TABLE copies (
        session_id TEXT REFERENCES sessions(id), message_id INTEGER REFERENCES messages(id)
    )""",
    "CREATE TABLE thumbnails (of TEXT REFERENCES attachments(name) ON DELETE CASCADE, data BLOB)",
    "CREATE TABLE links (one TEXT REFERENCES sessions(id), other TEXT REFERENCES sessions(id))",
    """
    CREATE TABLE seats (
        a TEXT, b INTEGER, PRIMARY KEY (b, a), FOREIGN KEY (a) REFERENCES sessions(id)
    )""",
    "CREATE TABLE guests (row INTEGER, hall TEXT, FOREIGN KEY (row, hall) REFERENCES seats)",
    """
    CREATE TABLE replies (
        id INTEGER PRIMARY KEY, rating INTEGER REFERENCES ratings(id),
        up INTEGER REFERENCES replies(id)
    )""",
    "CREATE TABLE unrelated (id INTEGER PRIMARY KEY, word TEXT)",
    "INSERT INTO unrelated VALUES (1, 'stays')",
)
"""Tables of no release that was looked at, tied to sessions and messages in every way."""


def rows_about(number: int, session_id: str, other: str) -> list[str]:
    """Return rows of every table that can name a session, and of UNKNOWN."""
    first = f"(SELECT min(id) FROM messages WHERE session_id = '{session_id}')"
    entry = json.dumps({"session_key": f"k{number}", "session_id": session_id, "odd": "é"})
    return [
        insert_into("session_model_usage", {"session_id": session_id, "model": f"m{number}"}),
        insert_into("session_model_usage", {"session_id": session_id, "model": "", "task": "t"}),
        insert_into("compression_locks", {"session_id": session_id, "holder": "pid=1:x",
                                          "acquired_at": 1.5, "expires_at": 2}),
        insert_into("session_turn_leases", {"conversation_id": session_id, "holder": "",
                                            "acquired_at": 1, "expires_at": 2}),
        insert_into("async_delegations", {"delegation_id": f"o{number}", "state": "done",
                                          "origin_session": session_id, "dispatched_at": 1,
                                          "updated_at": 2, "parent_session_id": other}),
        insert_into("async_delegations", {"delegation_id": f"p{number}", "state": "done",
                                          "origin_session": "elsewhere", "dispatched_at": 1,
                                          "updated_at": 2, "parent_session_id": session_id}),
        insert_into("async_delegations", {"delegation_id": f"i{number}", "state": "done",
                                          "origin_session": "", "dispatched_at": 1,
                                          "updated_at": 2, "origin_session_id": session_id}),
        *[insert_into("state_meta", {"key": f"{what}:{session_id}", "value": f"{what} {number}"})
          for what in ("goal", "loop", "heartbeat")],
        insert_into("gateway_routing", {"scope": f"s{number}", "session_key": f"k{number}",
                                        "entry_json": entry, "updated_at": 3}),
        insert_into("telegram_dm_topic_bindings", {
            "chat_id": f"c{number}", "thread_id": "1", "user_id": "u", "session_key": "k",
            "session_id": session_id, "linked_at": 1, "updated_at": 2}),
        insert_into("ratings", {"id": number, "about": session_id}),
        *[insert_into("bookmarks", {"session_id": session_id, "place": "twice"})] * 2,
        f"INSERT INTO reactions VALUES ({first}, 'smile'), ({first}, 'smile'), ({first}, NULL)",
        f"INSERT INTO attachments VALUES ('file {number}', '{session_id}', {first})",
        f"INSERT INTO attachments VALUES ('alone {number}', NULL, {first})",
        f"INSERT INTO copies VALUES ('{session_id}', {first}), (NULL, {first})",
        f"INSERT INTO thumbnails VALUES ('file {number}', x'00ff'), ('alone {number}', NULL)",
        *[insert_into("links", {"one": session_id, "other": other})] * 2,
        f"INSERT INTO seats VALUES ('{session_id}', {number})",
        f"INSERT INTO guests VALUES ({number}, '{session_id}')",
        f"INSERT INTO replies VALUES ({number}, {number}, NULL)",
    ]  # fmt: skip


def with_rows_of_all_tables(make: Callable[..., Cli]) -> Cli:
    """Return a store in which three conversations have rows in every table."""
    emptied = ("session_turn_leases", "compression_locks", "gateway_routing",
               "telegram_dm_topic_bindings", "session_model_usage")  # fmt: skip
    statements = [*UNKNOWN, *[f"DELETE FROM {table}" for table in emptied]]
    ids = ("x", "y", "z")
    for number, name in enumerate(ids):
        statements += [session(id=name), message(name, CLOCK), message(name, CLOCK, "more")]
        statements += rows_about(number, name, ids[number - 1])
    return make("0.22.2", *statements)


def naming(rows: Dump, *names: str) -> list[str]:
    """Return the rows that name one of some sessions, or have anything to do with them."""
    words = {Text(f"{before}{name}".encode()) for name in names
             for before in ("", "goal:", "loop:", "heartbeat:")}  # fmt: skip
    return [
        f"{table} {row}" for table, found in rows.items() for row in found
        if words & {cell for _, cell in row}
    ]  # fmt: skip


def test_rows_of_every_table_go_and_come_back(make: Callable[..., Cli]) -> None:
    cli = with_rows_of_all_tables(make)
    path = cli.home / "state.db"
    before = facts(path)
    assert len(naming(before.rows, "x")) > 20
    for refs in (("x",), ("y",), ("x", "y"), ("z", "y", "x")):
        delete(cli, *refs)
        between = facts(path)
        assert naming(between.rows, *refs) == []
        assert between.checks == before.checks, "no key is left that leads nowhere"
        assert between.rows["unrelated"] == before.rows["unrelated"]
        assert between.rows["conversation_generations"] == before.rows["conversation_generations"]
        stays = {"x", "y", "z"} - set(refs)
        for name in stays:  # what belongs to nobody else
            kept = {row for row in naming(before.rows, name) if not mentions(row, refs)}
            assert {row for row in naming(between.rows, name) if not mentions(row, refs)} == kept
            assert len(kept) > 10
        assert run(cli, "undo", "--yes").ok().stderr == ""
        assert_same(path, before, str(refs))


def mentions(row: str, names: Iterable[str]) -> bool:
    return any(f"data=b'{name}'" in row for name in names)


def test_rows_that_belong_to_two_conversations(make: Callable[..., Cli]) -> None:
    """They go with the first and come back with it, in whatever order the two are undone."""
    for order in permutations(range(2)):
        cli = with_rows_of_all_tables(make)
        before = facts(cli.home / "state.db")
        runs = [delete(cli, "x"), delete(cli, "y")]
        for number in order:
            run(cli, "undo", runs[number], "--yes").ok()
        assert_same(cli.home / "state.db", before, str(order))


def test_a_place_that_was_taken_stays_taken(make: Callable[..., Cli]) -> None:
    """The chat goes on in another conversation: it is not taken away from that one again."""
    cli = with_rows_of_all_tables(make)
    delete(cli, "x")
    change(
        cli,
        session(id="new"),
        insert_into(
            "gateway_routing",
            {"scope": "s0", "session_key": "k0", "entry_json": '{"session_id": "new"}',
             "updated_at": 9},
        ),
    )  # fmt: skip
    outcome = run(cli, "undo", "--yes").ok()
    assert "gateway_routing" in outcome.stderr
    assert query(cli, "SELECT entry_json FROM gateway_routing WHERE session_key = 'k0'") == [
        ('{"session_id": "new"}',)
    ]
    assert "x" in session_ids(cli)


# What hangs off what


FAMILY = (
    *[session(id=i, title=f"title of {i}") for i in ("p", "other")],
    session(id="branch", parent_session_id="p", model_config='{"_branched_from": "p"}'),
    session(id="reset", parent_session_id="p", model_config='{"_reset_from": "p"}'),
    session(id="leaf", parent_session_id="branch", model_config='{"_branched_from": "branch"}'),
    session(
        id="helper",
        parent_session_id="p",
        source="subagent",
        model_config='{"_delegate_from": "p"}',
    ),
    *[message(i, CLOCK, f"login {i}") for i in ("p", "other", "branch", "reset", "leaf", "helper")],
)
"""A conversation with a delegate, a branch that has one of its own, and a reset."""

MEMBERS = ("p", "branch", "leaf")


def test_parents_and_branches_in_one_run(make: Callable[..., Cli]) -> None:
    cli = make("0.22.2", *FAMILY)
    path = cli.home / "state.db"
    before = facts(path)
    for number in range(1, len(MEMBERS) + 1):
        for refs in permutations(MEMBERS, number):
            delete(cli, *refs)
            assert not session_ids(cli) & set(refs)
            assert ("helper" in session_ids(cli)) == ("p" not in refs)
            assert run(cli, "undo", "--yes").ok().stderr == ""
            assert differences(before.rows, dump(path)) == [], refs
    assert_same(path, before)


@pytest.mark.parametrize("deleted", list(permutations(MEMBERS)))
def test_parents_and_branches_in_runs_of_their_own(
    make: Callable[..., Cli], deleted: tuple[str, ...]
) -> None:
    """Undone in any order they hang together again in the end; until then a note says what not."""
    cli = make("0.22.2", *FAMILY)
    path = cli.home / "state.db"
    before = facts(path)
    for undone in permutations(range(3)):
        runs = [delete(cli, ref) for ref in deleted]
        for number in undone:
            run(cli, "undo", runs[number], "--yes").ok()
            assert query(cli, "PRAGMA foreign_key_check") == []
        assert differences(before.rows, dump(path)) == [], undone
        assert trash_files(cli) == []
    assert_same(path, before)


@pytest.mark.parametrize("name", ["0.13.0", "0.18.2", "upgraded-0.16.0-by-0.22.2"])
def test_branches_of_older_releases(make: Callable[..., Cli], name: str) -> None:
    """Their marks, and their rules for what has none."""
    cli = make(name)
    path = cli.home / "state.db"
    before = facts(path)
    for deleted in ((BRANCH, PARENT), (PARENT, BRANCH)):
        for undone in permutations(range(2)):
            runs = [delete(cli, ref) for ref in deleted]
            for number in undone:
                run(cli, "undo", runs[number], "--yes").ok()
            assert_same(path, before, f"{deleted} {undone}")


CIRCLE = {"a": "b", "b": "c", "c": "a"}


def test_a_circle_of_parents(make: Callable[..., Cli]) -> None:
    cli = make(
        "0.22.2",
        *[session(id=i, model_config=f'{{"_branched_from": "{of}"}}') for i, of in CIRCLE.items()],
        *[
            f"UPDATE sessions SET parent_session_id = '{of}' WHERE id = '{i}'"
            for i, of in CIRCLE.items()
        ],
    )
    path = cli.home / "state.db"
    before = facts(path)
    for refs in (("a",), ("b", "c"), ("c", "b"), ("a", "b", "c")):
        delete(cli, *refs)
        assert run(cli, "undo", "--yes").ok().stderr == "", refs
        assert_same(path, before, str(refs))


def test_a_parent_that_is_gone_for_good(make: Callable[..., Cli]) -> None:
    cli = make("0.22.2", *FAMILY)
    before = dump(cli.home / "state.db")
    delete(cli, "branch", "leaf")
    run(cli, "delete", "p", "--no-trash", "--yes").ok()
    outcome = run(cli, "undo", "--yes").ok()
    assert "branch hung off a session that is gone" in outcome.stderr
    assert query(cli, "SELECT id, parent_session_id FROM sessions WHERE id IN ('branch', 'leaf')"
                      " ORDER BY id") == [("branch", None), ("leaf", "branch")]  # fmt: skip
    assert query(cli, "PRAGMA foreign_key_check") == []
    changed = differences(before, dump(cli.home / "state.db"))
    added = [line for line in changed if line.startswith("+")]
    assert len(added) == 2, "branch and reset, without the parent, and nothing else"


def test_what_got_another_parent_keeps_it(make: Callable[..., Cli]) -> None:
    cli = make("0.22.2", *FAMILY)
    delete(cli, "p")
    change(cli, "UPDATE sessions SET parent_session_id = 'other' WHERE id = 'branch'")
    run(cli, "undo", "--yes").ok()
    assert query(cli, "SELECT parent_session_id FROM sessions WHERE id IN ('branch', 'reset')"
                      " ORDER BY id") == [("other",), ("p",)]  # fmt: skip


# What has changed since


def test_a_title_that_was_taken(make: Callable[..., Cli]) -> None:
    cli = make()
    path = cli.home / "state.db"
    before = dump(path)
    delete(cli, CHAIN[-1])
    run(cli, "new", "--title", "refactoring auth", "--id", "thief", "--yes").ok()
    outcome = run(cli, "undo", "--yes", "--json").ok()
    assert "“refactoring auth” is taken" in outcome.stderr
    assert outcome.json["restored"] == [CHAIN[-1]]
    titles = dict(query(cli, "SELECT id, title FROM sessions WHERE title LIKE 'refactoring%'"))
    assert titles["thief"] == "refactoring auth"
    assert titles[CHAIN[0]] == "refactoring auth #4"
    change(
        cli,
        "DELETE FROM sessions WHERE id = 'thief'",
        f"UPDATE sessions SET title = 'refactoring auth' WHERE id = '{CHAIN[0]}'",
    )
    assert differences(before, dump(path)) == [], "nothing but the title is another"


def test_one_title_on_several_sessions_of_an_old_store(make: Callable[..., Cli]) -> None:
    """Without an index that forbids it they had it, so they have it again."""
    cli = make("duplicate-titles")
    before = dump(cli.home / "state.db")
    title, number = query(
        cli, "SELECT title, count(*) FROM sessions WHERE title NOT NULL GROUP BY 1 ORDER BY 2 DESC"
    )[0]
    assert number == 3
    ids = [row[0] for row in query(cli, "SELECT id FROM sessions WHERE title = ?", title)]
    for refs in (ids[:1], ids):
        delete(cli, *refs)
        assert run(cli, "undo", "--yes").ok().stderr == ""
        assert differences(before, dump(cli.home / "state.db")) == []


def long_conversation(number: int) -> list[str]:
    """Return a conversation of several pages of the trash, with rows that name its messages."""
    return [
        "CREATE TABLE reactions (message INTEGER REFERENCES messages(id), face TEXT)",
        session(id="long", title="long"),
        f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number})
        INSERT INTO messages (session_id, role, content, timestamp)
        SELECT 'long', 'user', 'word' || i, {CLOCK} FROM n""",
        "INSERT INTO reactions SELECT id, content FROM messages WHERE session_id = 'long'",
        # copies of one message are shown once, where the first of them stood
        """
        UPDATE messages SET display_order =
            (SELECT min(id) FROM messages WHERE session_id = 'long')
        WHERE content IN ('word1', 'word2')""",
    ]


def test_messages_come_back_many_with_one_statement(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement in a transaction costs SQLite more than a row, and others wait (R090)."""
    cli = make("0.22.2", session(id="long"), *[message("long", CLOCK + n) for n in range(200)])
    before = dump(cli.home / "state.db")
    delete(cli, "long")
    statements: list[str] = []
    run_one = Writer.run

    def note_and_run(writer: Writer, sql: str, *values: Any) -> int:
        statements.append(sql)
        return run_one(writer, sql, *values)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "run", note_and_run)
        run(cli, "undo", "--yes").ok()
    inserts = [sql for sql in statements if sql.startswith('INSERT INTO "messages"')]
    assert 1 <= len(inserts) <= 20
    assert differences(before, dump(cli.home / "state.db")) == []


@pytest.mark.parametrize("taken", ["min(id)", "max(id)"])
def test_numbers_that_were_taken(make: Callable[..., Cli], taken: str) -> None:
    """All of its messages get new ones, in their order, and what names them follows."""
    cli = make("0.22.2", *long_conversation(4_500))
    path = cli.home / "state.db"
    before, shown = facts(path), without_numbers(run(cli, "show", "long", "--transcript").ok())
    number = query(cli, f"SELECT {taken} FROM messages WHERE session_id = 'long'")[0][0]
    delete(cli, "long")
    change(
        cli,
        "DELETE FROM sqlite_sequence",
        message(CHAIN[0], CLOCK, "took the number", id=number),
    )
    outcome = run(cli, "undo", "--yes").ok()
    assert "its messages have new numbers" in outcome.stderr
    texts = query(cli, "SELECT content FROM messages WHERE session_id = 'long' ORDER BY id")
    assert texts == [(f"word{i}",) for i in range(1, 4_501)]
    assert query(cli, "SELECT content FROM messages WHERE id = ?", number) == [("took the number",)]
    named = query(
        cli, "SELECT count(*) FROM reactions AS r JOIN messages AS m ON m.id = r.message"
             " WHERE m.session_id = 'long' AND m.content = r.face"
    )  # fmt: skip
    assert named == [(4_500,)]
    assert without_numbers(run(cli, "show", "long", "--transcript").ok()) == shown
    orders = "SELECT DISTINCT display_order FROM messages WHERE session_id = 'long'"
    assert query(cli, f"SELECT count(*) FROM ({orders})") == [(4_499,)]
    assert query(cli, f"{orders} AND display_order NOT IN (SELECT id FROM messages AS m"
                      " WHERE m.session_id = 'long')") == []  # fmt: skip
    after = facts(path)
    assert after.checks == before.checks
    found = run(cli, "search", "word4321", "--json").ok().json
    assert [hit["session_id"] for one in found for hit in one["hits"]] == ["long"]


def without_numbers(outcome: Outcome) -> str:
    return re.sub(r"#\d+", "#", outcome.stdout)


def test_a_session_that_was_created_again(make: Callable[..., Cli]) -> None:
    """A chat that was live writes it again: that is the newer truth, and nothing is doubled."""
    cli = make()
    entry = delete(cli, CHAIN[-1], BRANCH)
    change(cli, session(id=CHAIN[1], title="again"), message(CHAIN[1], CLOCK, "again"))
    shown = run(cli, "undo", "--dry-run", "--json").ok().json
    assert shown["present"] == [CHAIN[-1]]
    assert shown["ids"] == [BRANCH]
    run(cli, "undo", entry, "--yes").ok()
    assert BRANCH in session_ids(cli)
    assert session_ids(cli) & set(CHAIN) == {CHAIN[1]}
    assert query(cli, "SELECT content FROM messages WHERE session_id = ?", CHAIN[1]) == [("again",)]


def test_undo_once_is_enough(make: Callable[..., Cli]) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    first, second = delete(cli, BRANCH), delete(cli, CHAIN[-1])
    run(cli, "undo", "--yes").ok()
    assert CHAIN[-1] in session_ids(cli)
    assert BRANCH not in session_ids(cli)
    assert run(cli, "undo", second, "--yes").code == 1
    run(cli, "undo", first[:-1], "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []
    assert run(cli, "undo", "--yes").code == 1


def test_a_dry_run_changes_nothing(make: Callable[..., Cli]) -> None:
    cli = make()
    delete(cli, DELEGATING)
    before, trash = fingerprint(cli.home), fingerprint(trash_of(cli))
    assert run(cli, "undo", "--dry-run", "--json").ok().json["ids"] == [DELEGATING]
    assert run(cli, "undo").code == 2, "nobody can be asked"
    assert fingerprint(cli.home) == before
    assert fingerprint(trash_of(cli)) == trash


# Files


IDS = (
    "pre",
    "prefix",
    "session_pre2",
    "a/b",
    "a_b",
    "..",
    "[x]*",
    "x",
    "sp ace",
    "ü🌸",
    "sessions",
)
"""Ids of sessions; some are part of another, or mean something to a file system or a pattern."""


def dump_name(session_id: str) -> str:
    """Name a dump as Hermes does (0.22.2, ``agent/session_persistence.py``)."""
    safe = re.sub(r"[^\w-]", "_", session_id).strip("._")[:96] or "session"
    if safe != session_id:
        safe += "_" + hashlib.sha256(session_id.encode()).hexdigest()[:12]
    return f"request_dump_{safe}_20260307_090000_123456.json"


def names_of(session_id: str) -> list[str]:
    """Return the four names of files of a session, but for those that are in no directory."""
    names = [f"{session_id}.json", f"{session_id}.jsonl", f"session_{session_id}.json"]
    return [dump_name(session_id), *[n for n in names if "/" not in n and n != "sessions.json"]]


def with_files(make: Callable[..., Cli]) -> Cli:
    cli = make("0.22.2", *[s for i in IDS for s in (session(id=i), message(i, CLOCK))])
    directory = cli.home / "sessions"
    (directory / "a").mkdir(parents=True)
    others = ["sessions.json", "pre.json.bak", "request_dump_pre_notes.json", "unknown.json",
              "a/b.json", "../outside.json", ".json", "session_.json"]  # fmt: skip
    for number, name in enumerate([*others, *[n for i in IDS for n in names_of(i)]]):
        path = directory / name
        path.write_text(f"{name}\n", encoding="utf-8")
        path.chmod(0o600 if number % 2 else 0o644)
        os.utime(path, (CLOCK + number, CLOCK + number))
    notes = cli.home / "terminal-sessions"
    notes.mkdir()
    for number, name in enumerate(IDS):
        note = {"session_id": name, "cwd": "/", "ts": CLOCK}
        (notes / f"tty-dev-pts-{number}").write_text(json.dumps(note), encoding="utf-8")
    (notes / "broken").write_text('{"session_id": "pre"', encoding="utf-8")
    (notes / "list").write_text('["pre"]', encoding="utf-8")
    return cli


def files_in(home: Path) -> dict[str, tuple[bytes, int, float]]:
    """Return what is in a home beside the store: contents, modes, times."""
    return {
        str(path.relative_to(home)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime)
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("state.db")
    }


def test_R091_files_go_with_their_session_and_come_back(make: Callable[..., Cli]) -> None:
    cli = with_files(make)
    before = files_in(cli.home)
    for number, name in enumerate(IDS):
        own = {f"sessions/{n}" for n in names_of(name)} | {
            f"terminal-sessions/tty-dev-pts-{number}"
        }
        assert own <= before.keys()
        shown = run(cli, "delete", name, "--dry-run", "--json").ok().json
        assert {str(Path(f).relative_to(cli.home)) for f in shown["files"]} == own
        assert files_in(cli.home) == before
        delete(cli, name)
        assert files_in(cli.home) == {k: v for k, v in before.items() if k not in own}, name
        assert run(cli, "undo", "--yes").ok().stderr == ""
        assert files_in(cli.home) == before, name
        assert trash_files(cli) == []
    delete(cli, *IDS)
    assert len(files_in(cli.home)) == 10
    run(cli, "undo", "--yes").ok()
    assert files_in(cli.home) == before


def test_files_of_every_segment_and_delegate_go(make: Callable[..., Cli]) -> None:
    delegates = [
        row[0] for row in query(make(), "SELECT id FROM sessions WHERE id LIKE '20260303_09%'")
    ]
    assert len(delegates) == 4
    cli = make()
    (cli.home / "sessions").mkdir()
    for name in (*CHAIN, *delegates):
        (cli.home / "sessions" / f"{name}.jsonl").write_text(name, encoding="utf-8")
    before = files_in(cli.home)
    delete(cli, CHAIN[-1], DELEGATING)
    assert files_in(cli.home) == {}
    run(cli, "undo", "--yes").ok()
    assert files_in(cli.home) == before


def test_what_took_the_place_of_a_file_stays(make: Callable[..., Cli]) -> None:
    """The note of a terminal names its newest conversation; undo does not turn it back."""
    cli = with_files(make)
    delete(cli, "pre")
    note = cli.home / "terminal-sessions" / "tty-dev-pts-0"
    note.write_text('{"session_id": "prefix"}', encoding="utf-8")
    run(cli, "undo", "--yes").ok()
    assert note.read_text(encoding="utf-8") == '{"session_id": "prefix"}'
    assert (cli.home / "sessions" / "pre.json").exists()


def test_R091_a_file_that_cannot_be_moved_is_listed(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = with_files(make)
    before, files = facts(cli.home / "state.db"), files_in(cli.home)
    with monkeypatch.context() as patch:
        patch.setattr("secrets.token_hex", lambda _: "abcd")
        (trash_of(cli)).mkdir(parents=True)
        now = cli.now + 60
        blocker = trash_of(cli) / f"{mint_trash_id(now)}.files"
        blocker.write_text("in the way", encoding="utf-8")
        outcome = run(cli, "delete", "pre", "--yes", "--json")
    assert outcome.code == 1
    for name in names_of("pre"):
        assert f"could not remove {cli.home}/sessions/{name}" in outcome.stderr
    assert len(outcome.json["failures"]) == 5
    assert outcome.json["deleted"] == ["pre"]
    assert "pre" not in session_ids(cli)
    assert files_in(cli.home) == files
    run(cli, "undo", "--yes").ok()
    assert_same(cli.home / "state.db", before)
    assert files_in(cli.home) == files


def test_a_file_that_cannot_be_brought_back_is_listed(make: Callable[..., Cli]) -> None:
    cli = with_files(make)
    delete(cli, "pre")
    directory, aside = cli.home / "sessions", cli.home / "aside"
    directory.rename(aside)
    directory.write_text("in the way", encoding="utf-8")
    outcome = run(cli, "undo", "--yes")
    assert outcome.code == 1
    assert f"could not bring back {directory}/pre.json" in outcome.stderr
    assert "pre" in session_ids(cli)
    kept = {path.name for path in trash_of(cli).rglob("*.json*")}
    assert kept >= set(names_of("pre")), "what cannot be brought back stays in the trash"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_trash_is_for_its_owner_only(make: Callable[..., Cli]) -> None:
    cli = with_files(make)
    old = os.umask(0)
    try:
        delete(cli, "pre")
    finally:
        os.umask(old)
    directory = trash_of(cli)
    (file,) = directory.glob("*.jsonl")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    log = directory.parent / "deletions.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_nothing_goes_before_it_is_in_the_trash(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole, and on the disk, where a crash leaves it."""
    cli = make()
    delete_rows, seen = removal._delete, []

    def look_first(writer: Writer, tables: Tables, ids: list[str]) -> None:
        (entry,) = list_entries(trash_of(cli))
        whole = [i for one in entry.conversations if not one.damaged for i in one.session_ids]
        assert set(ids) <= set(whole)
        seen.extend(ids)
        delete_rows(writer, tables, ids)

    with monkeypatch.context() as patch:
        patch.setattr(removal, "_delete", look_first)
        patch.setattr(Remover, "_next_group", lambda _, pending, __: [pending.pop(0)])
        delete(cli, CHAIN[-1], BRANCH, DELEGATING)
    assert {*CHAIN, BRANCH, DELEGATING} < set(seen)


def test_a_disk_that_does_not_keep_what_is_written(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the trash is read back before anything goes."""
    cli = make()
    before = fingerprint(cli.home)
    kinds = set()

    def lose(descriptor: int) -> None:
        kinds.add(stat.S_IFMT(os.fstat(descriptor).st_mode))
        for path in trash_of(cli).glob("*.jsonl"):
            content = path.read_bytes()
            path.write_bytes(content[:-600] + bytes(500) + content[-100:])

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lose)
        outcome = run(cli, "delete", BRANCH, CHAIN[-1], "--yes")
    assert outcome.code == 1
    assert "does not hold what was written" in outcome.stderr
    assert kinds == {stat.S_IFREG, stat.S_IFDIR}, "the file, and its name"
    assert fingerprint(cli.home) == before
    assert trash_files(cli) == []


# A trash that is damaged


def with_three_in_the_trash(make: Callable[..., Cli]) -> tuple[Cli, Path, Dump]:
    """Return a runner, the file of the trash that has three conversations, and what was before."""
    cli = make()
    before = dump(cli.home / "state.db")
    delete(cli, CHAIN[-1], BRANCH, DELEGATING)
    (file,) = trash_of(cli).glob("*.jsonl")
    return cli, file, before


def missing(before: Dump, after: Dump) -> set[str]:
    """Return the sessions that have lost a row, after checking that none has a wrong one."""
    lost: set[str] = set()
    for name, rows in before.items():
        assert not after[name] - rows, "a row that was not there"
        for row in rows - after[name]:
            lost |= {cell.data.decode() for _, cell in row if isinstance(cell, Text)}
    return lost & {row[0][1].data.decode() for row in before["sessions"]}  # type: ignore[attr-defined]


def assert_whole_or_absent(cli: Cli, before: Dump) -> int:
    """Check that each of the three is whole or absent; return how many are absent."""
    absent = 0
    there = session_ids(cli)
    lost = missing(before, dump(cli.home / "state.db"))
    for refs in (set(CHAIN), {BRANCH}, set(delegates(before))):
        assert refs <= there or not refs & there
        absent += not refs & there
        if refs <= there:
            assert not lost & refs
    assert query(cli, "PRAGMA integrity_check") == [("ok",)]
    assert query(cli, "PRAGMA foreign_key_check") == []
    return absent


def delegates(before: Dump) -> list[str]:
    ids = [row[0][1].data.decode() for row in before["sessions"]]  # type: ignore[attr-defined]
    return [i for i in ids if i.startswith("20260303_09")]


def test_a_flipped_byte_costs_one_conversation_at_most(make: Callable[..., Cli]) -> None:
    """Wherever it is: nothing of it is taken over, and what is whole comes back."""
    cli, file, before = with_three_in_the_trash(make)
    whole, store = file.read_bytes(), (cli.home / "state.db").read_bytes()
    header = whole.index(b"\n")
    chance = random.Random(1)  # noqa: S311 - repeatable on purpose
    places = [*range(0, header + 1, 23), *chance.sample(range(len(whole)), 50)]
    places += [i for i, byte in enumerate(whole) if whole[i : i + 2] == b'{"'][:40]
    noticed = 0
    for place in places:
        (cli.home / "state.db").write_bytes(store)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        outcome = run(cli, "undo", "--yes")
        absent = assert_whole_or_absent(cli, before)
        if place <= header:
            assert absent in {0, 3}, place
        else:
            # two meet at the line between them, and some share a prompt
            assert absent <= (1 if b"\n" not in damaged[place - 1 : place + 2] else 2), place
        assert file.exists() == (outcome.code != 0)
        if absent:
            assert "damaged" in outcome.stderr or place <= header, outcome
            assert outcome.code in {1, 3}
            noticed += 1
    assert noticed > len(places) / 2


def test_a_prompt_that_is_damaged_costs_those_that_need_it(make: Callable[..., Cli]) -> None:
    cli = make(
        "0.22.2",
        "INSERT INTO system_prompts VALUES ('mine', 'the prompt of a'), ('shared', 'of b and c')",
        session(id="a", system_prompt_hash="mine"),
        *[session(id=i, system_prompt_hash="shared", tool_names="[]") for i in ("b", "c")],
    )
    before = dump(cli.home / "state.db")
    delete(cli, "a", "b")
    (file,) = trash_of(cli).glob("*.jsonl")
    whole, store = file.read_bytes(), (cli.home / "state.db").read_bytes()
    note = whole.index(b'{"prompt":["mine"')
    for place in (note, note + 3, note + 14, note + 30, whole.index(b"\n", note) - 1):
        (cli.home / "state.db").write_bytes(store)
        damaged = bytearray(whole)
        damaged[place] ^= 4
        file.write_bytes(damaged)
        outcome = run(cli, "undo", "--yes")
        assert outcome.code == 1, place
        assert "not brought back: a" in outcome.stderr, place
        assert session_ids(cli) & {"a", "b", "c"} == {"b", "c"}, place
        assert query(cli, "SELECT prompt FROM system_prompts WHERE hash = 'mine'") == []
    (cli.home / "state.db").write_bytes(store)
    file.write_bytes(whole)
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []


def test_a_file_that_is_cut_off_gives_what_is_whole(make: Callable[..., Cli]) -> None:
    cli, file, before = with_three_in_the_trash(make)
    whole, store = file.read_bytes(), (cli.home / "state.db").read_bytes()
    ends = [m.end() for m in re.finditer(rb'\{"end":.*\n', whole)]
    for cut in random.Random(2).sample(range(len(whole)), 40):  # noqa: S311
        (cli.home / "state.db").write_bytes(store)
        file.write_bytes(whole[:cut])
        outcome = run(cli, "undo", "--yes")
        absent = assert_whole_or_absent(cli, before)
        assert absent == sum(end > cut for end in ends), cut
        if absent < 3 and b'{"conversation"' in whole[max(ends[: 3 - absent]) : cut]:
            assert outcome.code == 1
            assert "damaged" in outcome.stderr
            assert file.exists()


def test_a_cut_off_conversation_that_is_there_is_no_damage(make: Callable[..., Cli]) -> None:
    """So a run that was killed leaves it: nothing goes before it is written to its end."""
    cli, file, before = with_three_in_the_trash(make)
    whole = file.read_bytes()
    run(cli, "undo", "--yes").ok()
    cut = whole.rindex(b'{"end":')
    file.write_bytes(whole[: cut - 200])
    outcome = run(cli, "undo", "--yes").ok()
    assert "everything is there" in outcome.stderr
    assert differences(before, dump(cli.home / "state.db")) == []


@pytest.mark.parametrize(
    "content",
    [
        b'{"format":"hermes-sessions trash","version":2,"id":"x"}\n{"conversation":{"id":"y"}}\n',
        b'{"format":"something else"}\n',
        b"no JSON\n",
        b"[1]\n",
        b"\xff\xfe\n\x00",
        b"SQLite format 3\x00\n",
    ],
)
def test_a_foreign_format_is_refused(make: Callable[..., Cli], content: bytes) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    first, second = delete(cli, BRANCH), delete(cli, DELEGATING)
    between = fingerprint(cli.home)
    (trash_of(cli) / f"{second}.jsonl").write_bytes(content)
    (trash_of(cli) / "notes.jsonl").write_bytes(content)
    for words in (("undo", second, "--yes"), ("trash", "show", second)):
        outcome = run(cli, *words)
        assert outcome.code == 1, words
        assert f"{second}.jsonl is no trash of this version" in outcome.stderr, words
    assert fingerprint(cli.home) == between
    run(cli, "undo", first, "--yes").ok()
    assert BRANCH in session_ids(cli)
    after = dump(cli.home / "state.db")
    assert missing(before, after) >= {DELEGATING}


def test_the_last_run_is_not_passed_over_because_it_cannot_be_read(
    make: Callable[..., Cli],
) -> None:
    """Whoever says undo means what was deleted last, and nothing that was deleted before."""
    cli = make()
    delete(cli, BRANCH)
    second = delete(cli, DELEGATING)
    before = fingerprint(cli.home)
    (trash_of(cli) / f"{second}.jsonl").write_bytes(b"no JSON\n")
    outcome = run(cli, "undo", "--yes")
    assert outcome.code == 1
    assert f"{second}.jsonl is no trash of this version" in outcome.stderr
    assert fingerprint(cli.home) == before


def test_a_run_that_was_killed_at_once_leaves_no_obstacle(make: Callable[..., Cli]) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    delete(cli, BRANCH)
    for rest in (b"", b'{"format":"hermes-ses'):
        path = trash_of(cli) / f"{mint_trash_id(cli.now + 600)}.jsonl"
        path.write_bytes(rest)
        os.utime(path, (CLOCK, CLOCK))
    assert len(run(cli, "trash", "--json").ok().json) == 1
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []
    delete(cli, BRANCH)
    assert len(trash_files(cli)) == 1, "they go when they are old"


# Stores that cannot be written


REFUSED = {"cjk-index": 1, **dict.fromkeys(("fts-corrupt", "page-damage", *DAMAGED), 4)}
"""The exit code of each store in which nothing can be deleted."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_left_alone(make: Callable[..., Cli], name: str) -> None:
    cli = make(name)
    before = fingerprint(cli.home)
    for words in (
        ("delete", CHAIN[0]),
        ("delete", BRANCH, CHAIN[0], DELEGATING, "--no-trash"),
        ("prune", "--older-than", "1h", "--max-delete", "1000"),
        ("prune", "--older-than", "1h", "--include-archived", "--max-delete", "1000", "--no-trash"),
    ):
        outcome = run(cli, *words, "--yes", "--timeout", "1")
        assert outcome.code == REFUSED[name], (words, outcome)
        assert "error: " in outcome.stderr, words
        assert str(cli.home / "state.db") in outcome.stderr
        assert "hint: " in outcome.stderr
        assert outcome.stdout == ""
        assert fingerprint(cli.home) == before, words
        assert trash_files(cli) == [], words
    assert not list(Path(cli.environ["XDG_STATE_HOME"]).rglob("*.log")), "nothing to tell"


def test_an_index_that_lost_pages(make: Callable[..., Cli]) -> None:
    """Each conversation goes and comes back, or is refused and stays as it was."""
    cli = make(PARTLY)
    path = cli.home / "state.db"
    before = dump(path)
    codes = Counter[int]()
    for conversation in run(cli, "list", "--all", "-n", "0", "--ids").ok().lines:
        bytes_before = fingerprint(cli.home)
        outcome = run(cli, "delete", conversation, "--yes")
        codes[outcome.code] += 1
        if outcome.code:
            assert outcome.code == 4
            assert fingerprint(cli.home) == bytes_before
        else:
            run(cli, "undo", "--yes").ok()
        assert differences(before, dump(path)) == [], conversation
        assert trash_files(cli) == []
    assert codes.keys() == {0, 4}


def test_undo_into_a_store_that_cannot_be_written(make: Callable[..., Cli]) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    delete(cli, CHAIN[-1], BRANCH)
    intact, trash = (cli.home / "state.db").read_bytes(), fingerprint(trash_of(cli))
    change(cli, "UPDATE messages_fts_data SET block = x'00000001FFFFFFFFFF7F' WHERE id = 10")
    between = dump(cli.home / "state.db")
    assert run(cli, "undo", "--yes").code == 4
    assert differences(between, dump(cli.home / "state.db")) == [], "prompts neither"
    assert fingerprint(trash_of(cli)) == trash
    (cli.home / "state.db").write_bytes(intact)
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []


def test_undo_waits_for_another_writer_only_so_long(make: Callable[..., Cli]) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    delete(cli, CHAIN[-1], BRANCH)
    trash = fingerprint(trash_of(cli))
    with closing(sqlite3.connect(cli.home / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = run(cli, "undo", "--yes", "--timeout", "0.2")
        other.execute("ROLLBACK")
    assert outcome.code == 75
    assert fingerprint(trash_of(cli)) == trash
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []


def test_undo_into_another_store_is_refused(make: Callable[..., Cli]) -> None:
    cli, other = make(), make("0.19.0")
    entry = delete(cli, BRANCH)
    other.environ["XDG_STATE_HOME"] = cli.environ["XDG_STATE_HOME"]
    before = fingerprint(other.home)
    outcome = run(other, "undo", entry, "--yes")
    assert outcome.code == 3
    assert str(cli.home / "state.db") in outcome.stderr
    assert fingerprint(other.home) == before
    run(cli, "undo", "--yes").ok()
    assert BRANCH in session_ids(cli)


def test_a_store_that_was_upgraded_since(make: Callable[..., Cli]) -> None:
    """Rows come back into more columns than they had, and with those that are there no more."""
    cli = make("0.16.0")
    delete(cli, CHAIN[-1])
    change(
        cli,
        "ALTER TABLE messages ADD COLUMN display_order INTEGER",
        "ALTER TABLE messages ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",
        "ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions DROP COLUMN rewind_count",
    )
    run(cli, "undo", "--yes").ok()
    rows = query(cli, "SELECT mood, display_order FROM messages WHERE session_id LIKE '20260302%'")
    assert rows == [("calm", None)] * 26
    assert session_ids(cli) >= set(CHAIN)


# Another writer in the middle of it


def while_saving(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let somebody write when rows are in the trash and not yet deleted, once."""
    secure = TrashFile.secure
    left = [act]

    def secure_and_wait(trash: TrashFile) -> None:
        secure(trash)
        while left:
            left.pop()()

    monkeypatch.setattr(TrashFile, "secure", secure_and_wait)


def test_somebody_else_writes_something_else(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not matter, also if what is deleted hangs off each other."""
    cli = make("0.22.2", *FAMILY)
    before = dump(cli.home / "state.db")
    with monkeypatch.context() as patch:
        patch.setattr(Remover, "_next_group", lambda _, pending, __: [pending.pop(0)])
        while_saving(patch, lambda: change(cli, "INSERT INTO state_meta VALUES ('k', 'v')"))
        delete(cli, "p", "branch", "leaf", "reset")
    assert not session_ids(cli) & {"p", "branch", "leaf", "reset", "helper"}
    run(cli, "undo", "--yes").ok()
    change(cli, "DELETE FROM state_meta WHERE key = 'k'")
    assert differences(before, dump(cli.home / "state.db")) == []


def test_somebody_else_writes_while_a_delegate_goes_by_itself(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = make("0.22.2", *FAMILY)
    with monkeypatch.context() as patch:
        while_saving(patch, lambda: change(cli, "INSERT INTO state_meta VALUES ('k', 'v')"))
        delete(cli, "p", "helper")
    assert not session_ids(cli) & {"p", "helper"}


NEWS = {
    "a message": [message("p", CLOCK, "goes on")],
    "a segment": [
        "UPDATE sessions SET ended_at = 1, end_reason = 'compression' WHERE id = 'p'",
        session(id="p2", parent_session_id="p"),
    ],
    "a delegate": [
        session(
            id="h2",
            source="subagent",
            parent_session_id="p",
            model_config='{"_delegate_from": "p"}',
        )
    ],
}
"""What can happen to a conversation while somebody is asked whether it may go."""


@pytest.mark.parametrize("news", NEWS)
def test_what_went_on_since_the_plan_is_kept(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch, news: str
) -> None:
    """What was shown is not what would go; the others go (contract §6, checks the plan again)."""
    cli = make("0.22.2", *FAMILY)

    def write_first(*args: Any, **options: Any) -> Writer:
        change(cli, *NEWS[news])
        return writing(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr("hermes_sessions.cli.deleting.writing", write_first)
        outcome = run(cli, "delete", "p", "other", "--yes", "--json")
    assert outcome.json["deleted"] == ["other"]
    assert "kept p: it changed" in outcome.stderr
    assert outcome.code != 0
    assert session_ids(cli) >= {"p", "helper", "branch"}
    assert trash_files(cli) != []


def test_what_somebody_changes_is_kept(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays with what was added, and undo does not bring it back a second time."""
    cli = make("0.22.2", *FAMILY)
    with monkeypatch.context() as patch:
        while_saving(patch, lambda: change(cli, message("branch", CLOCK, "goes on")))
        outcome = run(cli, "delete", "p", "branch", "other", "--yes", "--json")
    assert outcome.code != 0
    assert "kept branch: it changed" in outcome.stderr
    assert sorted(outcome.json["deleted"]) == ["other", "p"]
    assert query(cli, "SELECT parent_session_id FROM sessions WHERE id = 'branch'") == [(None,)]
    change(cli, "DELETE FROM messages WHERE session_id = 'branch'",
           "DELETE FROM sessions WHERE id = 'branch'")  # fmt: skip
    run(cli, "undo", "--yes").ok()
    assert session_ids(cli) >= {"p", "other", "helper", "reset"}
    assert "branch" not in session_ids(cli), "it was never deleted by this run"


# More than rows


def test_undo_by_db_brings_files_back_to_their_home(make: Callable[..., Cli]) -> None:
    """As the hint of a refusal says: ``hermes-sessions --db FILE undo ID``."""
    cli = with_files(make)
    before = files_in(cli.home)
    entry = delete(cli, "pre")
    run(cli, "--db", str(cli.home / "state.db"), "undo", entry, "--yes").ok()
    assert "pre" in session_ids(cli)
    assert files_in(cli.home) == before


def test_an_undo_that_was_killed_is_finished_by_the_next(make: Callable[..., Cli]) -> None:
    cli = with_files(make)
    before, files = facts(cli.home / "state.db"), files_in(cli.home)
    delete(cli, *IDS)
    (entry,) = list_entries(trash_of(cli))
    for done in (entry.conversations[:4], entry.conversations):
        with open_writer(cli.home / "state.db") as writer:
            back = [one.reason for one in restore(writer, entry, done)]
        assert None in back
    assert len(files_in(cli.home)) == 10
    run(cli, "undo", "--yes").ok()
    assert_same(cli.home / "state.db", before)
    assert files_in(cli.home) == files


def test_what_was_not_brought_back_stays_in_the_trash(make: Callable[..., Cli]) -> None:
    cli = make()
    before = dump(cli.home / "state.db")
    entry = delete(cli, CHAIN[-1], BRANCH)
    change(cli, session(id=CHAIN[1]))
    run(cli, "undo", entry, "--yes").ok()
    assert BRANCH in session_ids(cli)
    change(cli, f"DELETE FROM sessions WHERE id = '{CHAIN[1]}'")
    run(cli, "undo", entry, "--yes").ok()
    assert differences(before, dump(cli.home / "state.db")) == []


def test_what_is_back_is_told_when_the_rest_is_not(
    make: Callable[..., Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = with_files(make)
    before, files = facts(cli.home / "state.db"), files_in(cli.home)
    delete(cli, *IDS)
    path = cli.home / "state.db"

    def lock_after_two(writer: Writer, entry: Entry, wanted: list[Trashed]) -> Iterator[Restored]:
        for number, one in enumerate(restore(writer, entry, wanted)):
            yield one
            if number == 1:
                other.execute("BEGIN IMMEDIATE")

    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        monkeypatch.context() as patch,
    ):
        patch.setattr("hermes_sessions.store.restoring._TARGET", 0)
        patch.setattr("hermes_sessions.cli.undo.restore", lock_after_two)
        outcome = run(cli, "undo", "--yes", "--json", "--timeout", "0.1")
        other.execute("ROLLBACK")
    assert outcome.code == 1
    assert "busy" in outcome.stderr
    assert f"{len(IDS) - 2} conversations left in the trash" in outcome.stderr
    back = outcome.json["restored"]
    assert len(back) == 2
    assert session_ids(cli) & set(IDS) == set(back)
    log = (trash_of(cli).parent / "deletions.log").read_text(encoding="utf-8").splitlines()
    assert [one[0] for one in json.loads(log[-1])["restored"]] == back
    run(cli, "undo", "--yes").ok()
    assert_same(path, before)
    assert files_in(cli.home) == files


def test_the_last_one_of_this_store_is_meant(make: Callable[..., Cli]) -> None:
    cli, other = make(), make("0.19.0")
    other.environ["XDG_STATE_HOME"] = cli.environ["XDG_STATE_HOME"]
    delete(cli, BRANCH)
    other.now = cli.now + 60
    delete(other, BRANCH)
    run(cli, "undo", "--yes").ok()
    assert BRANCH in session_ids(cli)
    assert BRANCH not in session_ids(other)
    outcome = run(cli, "undo", "--yes")
    assert outcome.code == 1
    assert str(cli.home / "state.db") in outcome.stderr
    run(other, "undo", "--yes").ok()
    assert BRANCH in session_ids(other)
