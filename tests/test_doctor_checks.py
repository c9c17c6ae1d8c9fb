"""What ``doctor`` looks at, one kind of finding after the other."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from diagnoses import OPTIMIZE, RECOVER, finding, found, keys
from hermes_sessions.home import select_home
from hermes_sessions.store.connect import FileFacts, open_store
from hermes_sessions.store.diagnosis_file import (
    check_file_system,
    check_logs,
    check_permissions,
    has_wal_reset_bug,
)
from hermes_sessions.store.diagnosis_findings import Scope
from hermes_sessions.store.examination import examine
from support import CLOCK, Cli, edit, place_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MakeCli = Callable[..., Cli]

# The file


@pytest.mark.parametrize(
    ("version", "has_it"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.45.1", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.54.1", False),
    ],
)
def test_which_sqlite_has_the_wal_reset_bug(version: str, has_it: bool) -> None:
    assert has_wal_reset_bug(version) is has_it


def test_R108_an_unsafe_file_system_is_named() -> None:
    (told,) = check_file_system("nfs4").findings
    assert (told.severity, told.key) == ("warning", "file-system")
    assert "locks" in told.details[0]
    assert not check_file_system("ext4").findings
    assert not check_file_system(None).findings


MB = 1 << 20


@pytest.mark.parametrize(
    ("size", "wal", "is_told"),
    [(1 * MB, 7 * MB, False), (1 * MB, 9 * MB, True), (90 * MB, 63 * MB, False),
     (90 * MB, 65 * MB, True)],
)  # fmt: skip
def test_R105_a_log_that_has_grown_is_told(
    tmp_path: Path, size: int, wal: int, is_told: bool
) -> None:
    facts = FileFacts(size, 0, wal_header=True, wal_size=wal, has_shm=True)
    told = check_logs(tmp_path / "state.db", facts, is_held=True).findings
    assert [each.key for each in told] == ["wal-size"] * is_told


CRASH = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE sessions SET model = hex(randomblob(4000))")
os._exit(0)
"""


def test_a_journal_that_a_crash_left_is_told(make_cli: MakeCli) -> None:
    def crash(path: Path) -> None:
        subprocess.run([sys.executable, "-c", CRASH, str(path)], check=True)
        assert path.with_name("state.db-journal").stat().st_size

    outcome = make_cli("0.22.2", crash)("doctor", "--json").ok()
    assert finding(outcome, "crash-leftover")["cure"] == "start hermes once: it takes it back"


def test_a_last_page_that_is_not_whole_is_damage(make_cli: MakeCli) -> None:
    """SQLite itself does not look at what it does not need."""

    def cut(path: Path) -> None:
        edit("CREATE TABLE more (x)", "INSERT INTO more VALUES (zeroblob(20000))")(path)
        os.truncate(path, path.stat().st_size - 100)

    outcome = make_cli("0.22.2", cut)("doctor", "--json")
    assert outcome.code == 4
    assert "truncated" in keys(outcome)


def test_a_header_that_is_zeroed_leaves_something_to_recover(make_cli: MakeCli) -> None:
    def zero(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(bytes(4096) + data[4096:])

    cli = make_cli("0.22.2", zero)
    outcome = cli("doctor", "--json")
    assert outcome.code == 4
    assert found(outcome.json, cli.home) == [f"damage zeroed-header: {RECOVER}"]


def test_a_schema_that_cannot_be_read_is_damage(make_cli: MakeCli) -> None:
    def ruin(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[100:200] = b"\xff" * 100
        path.write_bytes(data)

    cli = make_cli("0.22.2", ruin)
    assert found(cli("doctor", "--json").json, cli.home) == [f"damage malformed: {RECOVER}"]


def test_leftovers_of_repairs_are_named_and_kept(make_cli: MakeCli) -> None:
    def leave(path: Path) -> None:
        path.with_name("state.db.malformed-backup-20260101").write_bytes(bytes(2_000_000))
        retired = path.with_name("state.db.retired-wal-20260101-7")
        retired.mkdir()
        (retired / "manifest.json").write_text("{}")

    told = finding(make_cli("0.22.2", leave)("doctor", "--json").ok(), "leftovers")
    assert told["message"] == "2 leftovers of earlier repairs beside the store (2.0 MB)"
    assert told["cure"] is None
    assert told["details"][0] == "state.db.malformed-backup-20260101 (2.0 MB)"


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = place_store("0.22.2", Path(place))
        home.chmod(0o555)
        store = home / "state.db"
        store.chmod(0o444)
        scope = Scope(select_home({"HERMES_HOME": place}), {}, CLOCK)
        backup = Scope(select_home({}, store=str(store)), {}, CLOCK)
        with acting_as_nobody():
            told = check_permissions(scope, 31).findings
            of_backup = check_permissions(backup, 31).findings
        home.chmod(0o755)
    assert [(f.severity, f.key) for f in told[:2]] == [
        ("warning", "not-writable"),
        ("warning", "directory-not-writable"),
    ]
    assert {f.severity for f in of_backup} == {"info"}


class acting_as_nobody:  # noqa: N801 - used like a function
    """Root may write anything, so root is somebody else for a moment."""

    def __enter__(self) -> None:
        self._was = os.geteuid()
        if self._was == 0:
            os.seteuid(65_534)

    def __exit__(self, *_: object) -> None:
        if self._was == 0:
            os.seteuid(self._was)


# What is in the store


def test_columns_that_every_change_needs(make_cli: MakeCli) -> None:
    def drop(path: Path) -> None:
        edit("ALTER TABLE sessions DROP COLUMN end_reason")(path)

    told = finding(make_cli("0.13.0", drop)("doctor", "--json"), "columns-missing")
    assert told["message"] == "the store cannot be changed: it has no column end_reason"


def test_R050_a_parent_that_left_nothing_else_does_no_harm(make_cli: MakeCli) -> None:
    lost = edit("UPDATE sessions SET parent_session_id = 'gone' WHERE parent_session_id IS NULL")
    outcome = make_cli("0.22.2", lost)("doctor", "--json").ok()
    told = finding(outcome, "parent-gone")
    assert (told["severity"], told["cure"]) == ("info", None)


def test_a_circle_of_parents_has_its_members_only(make_cli: MakeCli) -> None:
    ring = edit(
        "UPDATE sessions SET parent_session_id = '20260305_090000_0a0001'"
        " WHERE id IN ('20250814_090000_00aa11', '20260305_100000_0b0001')",
        "UPDATE sessions SET parent_session_id = '20260305_100000_0b0001'"
        " WHERE id = '20260305_090000_0a0001'",
    )
    told = finding(make_cli("0.22.2", ring)("doctor", "--json"), "parent-circle")
    assert told["details"] == [
        "session 20260305_090000_0a0001",
        "session 20260305_100000_0b0001",
    ]


def test_several_titles_that_are_there_twice(make_cli: MakeCli) -> None:
    twice = edit(
        "DROP INDEX IF EXISTS idx_sessions_title_unique",
        "UPDATE sessions SET title = '-x' WHERE rowid IN (1, 2)",
        "UPDATE sessions SET title = 'y\x1b[31m' WHERE rowid IN (3, 4)",
    )
    cli = make_cli("0.22.2", twice)
    told = finding(cli("doctor", "--json"), "duplicate-titles")
    assert told["message"] == "2 titles are on more than one session each"
    assert re.fullmatch(r"hermes-sessions rename -- \S+ '-x #2'", told["cure"])
    assert "\x1b[31m" not in cli("--color", "never", "doctor", terminal=100).stdout


def test_R003_settings_in_bytes_are_read_as_text(make_cli: MakeCli) -> None:
    change = edit("UPDATE sessions SET model_config = CAST('{\"a\": 1}' AS BLOB)")
    assert not keys(make_cli("0.22.2", change)("doctor", "--json")) & {"broken-settings"}


def test_R001_a_time_as_text(make_cli: MakeCli) -> None:
    change = edit("UPDATE sessions SET started_at = 'not-a-timestamp' WHERE rowid = 1")
    told = finding(make_cli("0.22.2", change)("doctor", "--json"), "odd-times")
    assert told["message"].startswith("1 session has a time outside 1970–2103")


def test_claims_that_have_run_out(make_cli: MakeCli) -> None:
    change = edit("UPDATE session_turn_leases SET expires_at = 1")
    assert "stale-leases" in keys(make_cli("0.22.2", change)("doctor", "--json").ok())


def test_rows_of_other_tables_that_refer_to_nothing(make_cli: MakeCli) -> None:
    change = edit("UPDATE sessions SET system_prompt_hash = 'gone' WHERE rowid = 1")
    told = finding(make_cli("0.22.2", change)("doctor", "--json").ok(), "dangling-rows")
    assert told["details"] == ["sessions → system_prompts: 1"]


def test_pages_that_hold_nothing(make_cli: MakeCli) -> None:
    change = edit(
        "CREATE TABLE big (x)",
        "INSERT INTO big VALUES (zeroblob(12000000))",
        "DROP TABLE big",
    )
    outcome = make_cli("0.22.2", change)("doctor", "--json").ok()
    assert finding(outcome, "free-pages")["cure"] == OPTIMIZE
    assert outcome.json["free_bytes"] > 12_000_000


def test_a_list_of_free_pages_that_is_wrong_is_damage(make_cli: MakeCli) -> None:
    def miscount(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[36:40] = (int.from_bytes(data[36:40], "big") + 5).to_bytes(4, "big")
        path.write_bytes(data)

    outcome = make_cli("0.13.0", miscount)("doctor", "--json")
    assert outcome.code == 4
    assert finding(outcome, "pages")["message"] == "pages of the schema or free ones are damaged"


def test_an_order_of_text_that_is_not_known_here_is_no_damage(make_cli: MakeCli) -> None:
    def add(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.create_collation("strange", lambda a, b: (a > b) - (a < b))
            connection.execute("CREATE TABLE other (x TEXT COLLATE strange UNIQUE)")
            connection.execute("INSERT INTO other VALUES ('a'), ('b')")
            connection.commit()

    outcome = make_cli("0.22.2", add)("doctor", "--full").ok()
    assert "skipped\t\tthe pages of “other” (" in outcome.stdout
    assert "sound" not in outcome.stdout


def test_the_tokenizer_that_hermes_keeps_in_the_home_is_enough(make_cli: MakeCli) -> None:
    def provide(path: Path) -> None:
        (path.parent / "lib").mkdir()
        (path.parent / "lib" / "libfts5_cjk.so").write_bytes(b"")

    assert make_cli("cjk-index", provide)("doctor", "--json").ok().json["healthy"]


# Big stores


def grow(path: Path) -> None:
    """Make a store bigger than what is read whole."""
    edit("CREATE TABLE big (x)", "INSERT INTO big VALUES (zeroblob(260000000))")(path)


def test_a_big_store_is_sampled_and_it_is_said(make_cli: MakeCli) -> None:
    cli = make_cli("0.22.2", grow)
    outcome = cli("doctor", terminal=100).ok()
    assert "not looked at: every page (bigger than 256 MB: --full reads them)" in outcome.stdout
    assert "every page reads" not in outcome.stdout
    full = cli("doctor", "--full", terminal=100).ok().stdout
    assert "not looked at" not in full
    assert "every page and index is sound" in full


def many_messages(path: Path) -> None:
    """Make a table that is sampled, with pages of its own for the messages."""
    connection = sqlite3.connect(path)
    with closing(connection), connection:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'messages'"
        for (name,) in connection.execute(triggers).fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
            INSERT INTO messages (session_id, role, content, timestamp)
            SELECT '20260302_090000_a1b2c3', 'user', printf('%0400d', i), 1772000000 FROM n"""
        )


def pages_by_sample(home: Path) -> list[str]:
    """Return what a sample finds wrong with pages."""
    chosen = select_home({"HERMES_HOME": str(home)})
    scope = Scope(chosen, {"XDG_STATE_HOME": str(home)}, CLOCK, read_whole=0)
    diagnosis = examine(scope, lambda: open_store(chosen.store), lambda _: None)
    return [each.message for each in diagnosis.findings if each.key == "pages"]


def test_a_sample_is_spread_over_the_whole_table(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    store = home / "state.db"
    many_messages(store)
    assert pages_by_sample(home) == []
    data = bytearray(store.read_bytes())
    first = data.index(b"0" * 390 + b"0000015000") // 4096
    data[first * 4096 : (first + 100) * 4096] = bytes(100 * 4096)
    store.write_bytes(data)
    assert pages_by_sample(home) == ["pages of “messages” are damaged"]


def test_an_index_of_a_big_table_is_looked_into(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    store = home / "state.db"
    many_messages(store)
    with closing(sqlite3.connect(store)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'idx_messages_session_uid'"
        ).fetchone()
    data = bytearray(store.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    store.write_bytes(data)
    assert pages_by_sample(home) == ["pages of “messages” are damaged"]


def test_full_finds_an_index_that_lacks_a_row(make_cli: MakeCli) -> None:
    def hide_while_inserting(path: Path) -> None:
        hidden = "SELECT * FROM sqlite_master WHERE name = 'idx_sessions_started'"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            entry = connection.execute(hidden).fetchone()
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("DELETE FROM sqlite_master WHERE name = 'idx_sessions_started'")
        edit("INSERT INTO sessions (id, source, started_at) VALUES ('new', 'cli', 1772000000)")(
            path
        )
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry)

    cli = make_cli("0.22.2", hide_while_inserting)
    assert "every page reads" in cli("doctor").ok().stdout
    outcome = cli("doctor", "--full", "--json")
    assert outcome.code == 4
    assert "missing from index idx_sessions_started" in finding(outcome, "pages")["details"][0]


# Around the store


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("SELECT count(*) FROM sessions").fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hold() -> Iterator[Callable[[Path], int]]:
    """Let another process have a store open."""
    processes = []

    def start(path: Path) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout
        process.stdout.readline()
        return process.pid

    yield start
    for process in processes:
        process.communicate(b"")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_R102_who_has_it_open_is_told_and_no_fault(
    make_cli: MakeCli, hold: Callable[[Path], int]
) -> None:
    cli = make_cli()
    assert "nobody has it open" in cli("doctor").ok().stdout
    pid = hold(cli.home / "state.db")
    outcome = cli("doctor").ok()
    assert re.search(
        rf"^held\theld\t\S*python\S* \(pid {pid}, .*\) has it open\t$", outcome.stdout, re.MULTILINE
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_R107_full_does_not_keep_a_writer_waiting(
    make_cli: MakeCli, hold: Callable[[Path], int]
) -> None:
    cli = make_cli("0.22.2", grow)
    hold(cli.home / "state.db")
    assert (
        "skipped\t\tevery page (a process that has the store open would have to wait"
        in cli("doctor", "--full").ok().stdout
    )


def test_a_gateway_is_told_and_whether_it_can_be_asked(make_cli: MakeCli) -> None:
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]

    def serve(path: Path) -> None:
        record = {"pid": os.getpid(), "kind": "hermes-gateway", "start_time": int(started)}
        (path.parent / "gateway.pid").write_text(json.dumps(record))

    def with_key(path: Path) -> None:
        serve(path)
        (path.parent / ".env").write_text("API_SERVER_KEY=0123456789abcdef0123456789abcdef\n")

    told = finding(make_cli("0.22.2", serve)("doctor", "--json").ok(), "gateway")
    assert told["severity"] == "held"
    assert f"(pid {os.getpid()})" in told["message"]
    assert "not known" in told["details"][0]
    told = finding(make_cli("0.22.2", with_key)("doctor", "--json").ok(), "gateway")
    assert "can ask it to delete" in told["details"][0]


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("a: [", "config-unreadable", "is not YAML (line 2)"),
        ("- a\n- b\n", "config-unreadable", "has no keys"),
        ("\xff", "config-unreadable", "is not UTF-8"),
        ("sessions:\n  retention_days: -5\n", "config-value", "is -5; 90 counts instead"),
        ("session:\n  terminal_continue: 'no'\n", "config-value", "is 'no'"),
        ("database:\n  backend: postgres\n", "other-backend", "not kept in this store"),
    ],
)
def test_a_configuration_that_does_not_count(
    make_cli: MakeCli, text: str, key: str, words: str
) -> None:
    def configure(path: Path) -> None:
        (path.parent / "config.yaml").write_bytes(text.encode("latin-1"))

    outcome = make_cli("0.22.2", configure)("doctor", "--json")
    assert outcome.code == 1
    assert words in finding(outcome, key)["message"]


def test_a_configuration_that_counts(make_cli: MakeCli) -> None:
    def configure(path: Path) -> None:
        (path.parent / "config.yaml").write_text(
            "sessions: {retention_days: 30}\ndisplay: {resume_display: minimal}\nmodel: x\n"
        )

    assert make_cli("0.22.2", configure)("doctor", "--json").ok().json["healthy"]


def test_R135_other_profiles_are_looked_at(make_cli: MakeCli) -> None:
    def add(path: Path) -> None:
        place_store("0.22.2", path.parent / "profiles" / "work")
        place_store("page-damage", path.parent / "profiles" / "play")

    cli = make_cli("0.22.2", add)
    outcome = cli("doctor", "--json")
    told = finding(outcome, "profile-unreadable")
    assert told["message"] == "the store of profile play is damaged"
    words = shlex.split(told["cure"])[1:]
    assert cli(*words).code == 4
    assert "profile readable" not in cli("doctor").stdout
    whole = make_cli("0.22.2", lambda path: place_store("0.19.0", path.parent / "profiles" / "w"))
    assert "1 other profile readable" in whole("doctor").ok().stdout


def test_notes_that_lead_nowhere(make_cli: MakeCli) -> None:
    def note(path: Path) -> None:
        notes = path.parent / "terminal-sessions"
        notes.mkdir()
        for name, session_id in (("tmux_pane--1", "gone"), ("tty-1", "20260302_090000_a1b2c3")):
            (notes / name).write_text(json.dumps({"session_id": session_id, "ts": CLOCK}))
        (notes / "tty-2").write_text("{")
        runtime = path.parent / "runtime"
        runtime.mkdir()
        dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                              capture_output=True, text=True, check=True)  # fmt: skip
        entries = [
            {"session_id": "a", "pid": int(dead.stdout)},
            {"session_id": "b", "pid": os.getpid()},
        ]
        (runtime / "active_sessions.json").write_text(json.dumps({"entries": entries}))

    outcome = make_cli("0.22.2", note)("doctor", "--json").ok()
    assert finding(outcome, "stale-notes")["details"] == ["tmux_pane--1"]
    assert finding(outcome, "stale-chats")["message"].startswith("1 chat is noted as open")


def test_our_own_trash_is_told(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    assert "trash" not in keys(cli("doctor", "--json"))
    cli("delete", "refactoring auth", "-y").ok()
    assert finding(cli("doctor", "--json"), "trash")["message"].startswith(
        "the trash holds 1 deletion ("
    )
