"""optimize cures and merges the indexes, gives space back, and harms nobody (contract §6; G)."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hermes_sessions.cli.optimize import FIELDS
from hermes_sessions.store.compacting import empty_wal, sizes_of, vacuum
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.fts import State
from hermes_sessions.store.shapes import read_shapes
from hermes_sessions.store.writing import open_writer
from indexes import (
    DAMAGE,
    NAMES,
    forget_index,
    lag,
    make_silent,
    make_stale,
    make_surplus,
    postings,
    schema,
    states,
)
from support import CLOCK, DAMAGED, RELEASES, STORES, Cli, edit, fingerprint, place_store
from test_search import QUERIES, expected, find, rows_of
from test_undo import differences, dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MakeCli = Callable[..., Cli]

READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
LAYOUTS = ("0.13.0", "0.19.0", "0.20.0", "0.21.0", "0.21.3", "0.22.2", "upgraded-0.13.0-by-0.22.2",
           "upgraded-0.21.0-by-0.22.2")  # fmt: skip
"""A store of each layout of the indexes, and of each mixture."""

OF_INDEXES = {"fts_stale", "fts_rebuild_high_water", "fts_rebuild_progress", "fts_rebuild_deferral"}
INLINE = {"0.13.0", "0.19.0", "upgraded-0.13.0-by-0.22.2"}
DAY = 86_400.0


def store_of(cli: Cli) -> Path:
    return cli.home / "state.db"


def value(path: Path, sql: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchone()[0]


def meta(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, value FROM state_meta"))


def canonical(path: Path) -> Any:
    """Everything but the indexes and what is noted of them."""
    rows = dump(path)
    rows.pop("state_meta")
    return {name: found for name, found in rows.items() if not name.startswith("fts_v22_trash_")}


def check_search(path: Path, queries: list[str]) -> None:
    """Compare what search finds with a pass over the rows."""
    rows = rows_of(path)
    with open_store(path) as store:
        for query in queries:
            wanted = expected(rows, query)
            result = find(store, query, None)
            found = {hit.message_id for one in result.found for hit in one.hits}
            assert found == wanted or not wanted, query
            assert not result.problems or State.MISSING in states(path), query


def check_indexes(path: Path) -> None:
    """Have FTS5 compare what is in the indexes with what should be (its rank 1)."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for name in NAMES:
            connection.execute(f"INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 0)")


@pytest.mark.parametrize("name", READABLE)
def test_any_store_is_well_afterwards_and_nothing_is_lost(
    make_writable_cli: MakeCli, name: str
) -> None:
    cli = make_writable_cli(name)
    path = store_of(cli)
    before, marks, inode = canonical(path), meta(path), path.stat().st_ino
    header = path.read_bytes()[18:20], path.read_bytes()[68:72]
    cli("optimize", "--yes").ok()
    assert differences(before, canonical(path)) == []
    assert {k: v for k, v in marks.items() if k not in OF_INDEXES} == meta(path)
    assert (path.read_bytes()[18:20], path.read_bytes()[68:72]) == header, "journal, application id"
    assert path.stat().st_ino == inode
    assert not path.with_name("state.db-wal").exists()
    assert value(path, "PRAGMA freelist_count") == 0
    if name == "no-fts":
        assert states(path) == (State.MISSING, State.MISSING)
    else:
        assert states(path) == (State.OK, State.OK)
        check_indexes(path)
    check_search(path, QUERIES[::7])


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_rebuilt_index_is_what_the_release_would_have_made(
    make_writable_cli: MakeCli, tmp_path: Path, name: str, damage: str
) -> None:
    cli = make_writable_cli(name, DAMAGE[damage])
    oracle = place_store(name, tmp_path / "oracle") / "state.db"
    made = schema(oracle)
    if damage in {"stale", "triggerless", "incomplete"}:
        lag(oracle)
    path = store_of(cli)
    if damage != "surplus" and (damage, name) not in {("incomplete", n) for n in LAYOUTS}:
        assert State.OK not in states(path) or damage == "silent"
    lines = cli("optimize").ok().lines
    assert lines[0].startswith("rebuilt ")
    assert states(path) == (State.OK, State.OK)
    if name == "upgraded-0.13.0-by-0.22.2" and damage in {"stale", "triggerless"}:
        assert schema(path).keys() == made.keys()  # with the triggers of the older release
    else:
        assert schema(path) == made
    if name in INLINE:  # 0.22.2 has cut rows of tools in the update trigger only
        forget_index(oracle)
    assert postings(path) == postings(oracle)
    assert not OF_INDEXES & meta(path).keys()
    check_search(path, [*QUERIES[::25], "quokka"])


def test_the_triggers_we_have_are_those_of_the_releases(tmp_path: Path) -> None:
    seen = set()
    for name in RELEASES:
        path = place_store(name, tmp_path / name) / "state.db"
        made = schema(path)
        make_stale(path)
        with open_store(path) as store:
            for shape in read_shapes(store).values():
                seen.add((shape.name, shape.layout))
                assert shape.obstacle() is None
                names = [text.split()[2] for text in shape.triggers_to_make()]
                assert shape.triggers_to_make() == [made[each] for each in names]
                assert set(names) == set(shape.trigger_names)
    assert len(seen) == 7
    assert len(list(Path("hermes_sessions/store/triggers").glob("*.sql"))) in {0, 7}


def test_a_migration_that_stopped_is_finished(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_writable_cli("half-migrated-fts")
    done = place_store("optimized-0.19.0-by-0.22.2", tmp_path / "done") / "state.db"
    path = store_of(cli)
    assert any("trash" in name for name in schema(path))
    outcome = cli("optimize", "--json").ok().json
    assert {task["action"] for task in outcome["indexes"]} == {"fill"}
    assert schema(path) == schema(done)
    filled = postings(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in NAMES:
            connection.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
    assert filled == postings(path)


def test_a_mark_without_progress_means_to_begin_anew(
    make_writable_cli: MakeCli, tmp_path: Path
) -> None:
    cli = make_writable_cli(
        "0.22.2",
        edit("INSERT INTO state_meta VALUES ('fts_rebuild_high_water', '100')"),
    )
    assert states(store_of(cli))[0] is State.INCOMPLETE
    outcome = cli("optimize", "--json").ok().json
    assert {task["action"] for task in outcome["indexes"]} == {"rebuild"}
    oracle = place_store("0.22.2", tmp_path / "oracle") / "state.db"
    assert postings(store_of(cli)) == postings(oracle)


def test_a_rebuild_that_cannot_be_gone_on_with_begins_anew(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("half-migrated-fts", make_surplus)
    outcome = cli("optimize", "--json").ok().json
    assert {task["action"] for task in outcome["indexes"]} == {"fill"}
    assert states(store_of(cli)) == (State.OK, State.OK)
    assert not any(row[1] == 987654 for row in postings(store_of(cli))["messages_fts_trigram"])


def test_an_index_of_an_unknown_release_is_left_alone(make_writable_cli: MakeCli) -> None:
    def change(path: Path) -> None:
        make_stale(path)
        view = schema(path)["messages_fts_trigram_src"].replace("'subagent'", "'subagent', 'x'")
        edit("DROP VIEW messages_fts_trigram_src", view)(path)

    cli = make_writable_cli("0.22.2", change)
    before = dict.fromkeys(NAMES, None)
    outcome = cli("optimize")
    assert outcome.code == 1
    assert "left messages_fts_trigram: it is out of date, but its source" in outcome.stderr
    assert "left messages_fts: " in outcome.stderr, "the marks of one are those of the other"
    assert set(states(store_of(cli))) == {State.STALE}
    assert before.keys() <= schema(store_of(cli)).keys()


def test_damage_that_only_merging_meets_is_cured_too(make_writable_cli: MakeCli) -> None:
    def spoil_a_leaf(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            rows = connection.execute("SELECT id FROM messages_fts_data WHERE id > 10 ORDER BY id")
            leaves = [row[0] for row in rows]
            connection.execute(
                "UPDATE messages_fts_data SET block = X'FFFF00' WHERE id = ?", (leaves[1],)
            )

    cli = make_writable_cli("0.22.2", spoil_a_leaf)
    cli("optimize").ok()
    assert states(store_of(cli)) == (State.OK, State.OK)
    check_indexes(store_of(cli))


def spoil_page(path: Path, page: int) -> None:
    with path.open("rb+") as file:
        file.seek((page - 1) * value(path, "PRAGMA page_size"))
        file.write(b"\xff" * 64)


@pytest.mark.parametrize("part", ["data", "idx", "docsize", "content"])
@pytest.mark.parametrize("name", ["0.19.0", "0.20.0", "0.22.2"])
def test_an_index_whose_pages_are_damaged_is_cut_out_and_made_anew(
    make_writable_cli: MakeCli, tmp_path: Path, name: str, part: str
) -> None:
    def spoil(path: Path) -> None:
        table = f"messages_fts_trigram_{part}"
        spoil_page(path, value(path, f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'"))

    if part == "content" and name not in INLINE:
        pytest.skip("only inline indexes keep a copy of the text")
    cli = make_writable_cli(name, spoil)
    before = canonical(store_of(cli)), fingerprint(cli.home)
    for words in (("--fts-only",), ("--into", "x.db")):
        assert cli("optimize", *words).code == 4
    assert fingerprint(cli.home) == before[1]
    cli("optimize", *(("--if-needed",) if part in {"idx", "docsize"} else ())).ok()
    assert differences(before[0], canonical(store_of(cli))) == []
    assert states(store_of(cli)) == (State.OK, State.OK)
    check_indexes(store_of(cli))
    oracle = place_store(name, tmp_path / "oracle") / "state.db"
    assert postings(store_of(cli)) == postings(oracle)
    assert schema(store_of(cli)) == schema(oracle)
    assert cli("optimize", "--force").ok().stdout.startswith("merged")


def test_what_a_migration_left_is_cut_out_if_its_pages_are_damaged(
    make_writable_cli: MakeCli,
) -> None:
    trash = "SELECT rootpage FROM sqlite_master WHERE name = 'fts_v22_trash_messages_fts_content'"
    cli = make_writable_cli("half-migrated-fts", lambda path: spoil_page(path, value(path, trash)))
    cli("optimize").ok()
    assert not [name for name in schema(store_of(cli)) if "trash" in name]
    check_indexes(store_of(cli))


def test_R070_a_cjk_index_without_its_tokenizer_is_left(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("cjk-index")
    outcome = cli("optimize").ok()
    assert "left messages_fts_cjk: it needs Hermes' own tokenizer" in outcome.stderr
    assert outcome.stdout.startswith("merged messages_fts, messages_fts_trigram\n")
    cli = make_writable_cli("cjk-index", edit("INSERT INTO state_meta VALUES ('fts_cjk_stale', 1)"))
    assert "optimize-storage rebuilds it" in cli("optimize").ok().stderr


# What is left in the file


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.glob("state.db*"))


@pytest.mark.parametrize("name", ["0.13.0", "0.20.0", "0.22.2", "wal-header"])
def test_words_of_deleted_messages_are_gone(make_writable_cli: MakeCli, name: str) -> None:
    words = [f"quagga{i}zzyx" for i in range(40)]
    cli = make_writable_cli(
        name,
        edit(
            "INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('x', 'cli', 1e9, 1e9)",
            *[
                "INSERT INTO messages (session_id, role, content, timestamp)"
                f" VALUES ('x', 'user', '{'some text ' * 50} {word}', 1e9)"
                for word in words
            ],
        ),
    )
    cli("delete", "x", "--yes", "--no-trash").ok()
    assert b"quagga" in bytes_of(cli.home)
    cli("optimize").ok()
    assert b"quagga" not in bytes_of(cli.home)
    assert b"zzyx" not in bytes_of(cli.home)


def test_words_of_messages_that_an_index_forgot_are_gone(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("orphan-rows")
    path = store_of(cli)
    rows = value(path, "SELECT count(*) FROM messages_fts_trigram_docsize")
    cli("prune", "--orphans", "--yes", "--no-trash").ok()
    assert value(path, "SELECT count(*) FROM messages_fts_trigram_docsize") == rows
    assert states(path) == (State.OK, State.OK), "nothing tells of it"
    assert "that it should not have" in cli("optimize", "--dry-run").ok().stdout
    cli("optimize").ok()
    assert value(path, "SELECT count(*) FROM messages_fts_trigram_docsize") < rows
    assert postings(path)["messages_fts_trigram"] == _rebuilt(path)


def _rebuilt(path: Path) -> Any:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES('rebuild')"
        )
    return postings(path)["messages_fts_trigram"]


# Beside others


HOLD = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None)
store.execute("SELECT count(*) FROM sessions").fetchone()
print("open", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held(path: Path) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process.pid
    finally:
        process.communicate("\n", timeout=10)


def test_R102_refused_while_another_process_has_it_open(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    with held(store_of(cli)) as pid:
        outcome = cli("optimize")
        assert (outcome.code, outcome.stdout) == (3, "")
        assert f"pid {pid}" in outcome.stderr
        planned = cli("optimize", "--dry-run", "--json").ok().json
        assert str(pid) in planned["holders"][0]
        assert "It would be refused" in cli("optimize", "--dry-run", terminal=80).ok().stdout
        assert fingerprint(cli.home) == before
        cli("optimize", "--fts-only").ok()
        cli("optimize", "--into", str(cli.cwd / "copy.db")).ok()
        cli("optimize", "--force").ok()
    assert states(store_of(cli)) == (State.OK, State.OK)


def test_a_rebuild_waits_until_others_are_gone(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("0.22.2", make_silent)
    with held(store_of(cli)):
        assert cli("optimize", "--fts-only").code == 3
    cli("optimize", "--fts-only").ok()
    assert states(store_of(cli)) == (State.OK, State.OK)
    cli = make_writable_cli("half-migrated-fts")
    with held(store_of(cli)):
        cli("optimize", "--fts-only").ok()  # only goes on, in short steps
    assert states(store_of(cli)) == (State.OK, State.OK)


def test_R107_patience_has_an_end(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    with closing(sqlite3.connect(store_of(cli), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = cli("optimize", "--timeout", "0.2")
        other.execute("ROLLBACK")
    assert outcome.code == 75
    assert "busy" in outcome.stderr


def test_the_lock_of_Hermes_is_taken_and_respected(make_writable_cli: MakeCli) -> None:
    fcntl = pytest.importorskip("fcntl")
    cli = make_writable_cli("fts-stale")
    lock = cli.home / "state.db.fts_rebuild.lock"
    with lock.open("w+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps({"pid": 4711}))
        file.flush()
        outcome = cli("optimize", "--timeout", "0.2")
    assert outcome.code == 75
    assert "4711" in outcome.stderr
    assert states(store_of(cli))[0] is State.STALE
    cli("optimize").ok()
    assert lock.read_bytes() == b"", "text in it would mean that its holder died"
    assert states(store_of(cli)) == (State.OK, State.OK)


def test_what_is_written_in_the_lock(tmp_path: Path) -> None:
    from hermes_sessions.store.rebuild_lock import rebuild_lock

    path = place_store("0.22.2", tmp_path / "home") / "state.db"
    path.chmod(0o600)
    lock = path.with_name("state.db.fts_rebuild.lock")
    with rebuild_lock(path, CLOCK, 1.0):
        record = json.loads(lock.read_text())
        assert record["pid"] == os.getpid()
        assert record["acquired_at"] == CLOCK
        if sys.platform == "linux":
            assert record["pidns"] == re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
            fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
            assert record["start_ticks"] == int(fields[19])
    assert lock.read_bytes() == b""
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600


# When it is worth it


def with_free_pages(path: Path) -> None:
    """Make more than half of a store free."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE ballast (x BLOB)")
        connection.execute("INSERT INTO ballast VALUES (zeroblob(2000000))")
        connection.execute("DROP TABLE ballast")


def test_R113_only_if_it_is_needed(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli("optimize", "--if-needed").ok()
    assert outcome.stdout == ""
    assert re.fullmatch(r"nothing to do: 0% of the file is free, less than 25%\n", outcome.stderr)
    assert cli("-q", "optimize", "--if-needed").ok() == ("", "", 0)
    assert cli("optimize", "--if-needed", "--json").ok().json["vacuum"] is False
    assert fingerprint(cli.home) == before

    with_free_pages(store_of(cli))
    assert "given back" in cli("optimize", "--if-needed").ok().stdout
    with_free_pages(store_of(cli))
    outcome = cli("optimize", "--if-needed").ok()
    assert "less than 30 days" in outcome.stderr
    cli.now = CLOCK + 31 * DAY
    assert "given back" in cli("optimize", "--if-needed").ok().stdout


def test_R113_what_Hermes_did_itself_counts(make_writable_cli: MakeCli) -> None:
    note = "INSERT INTO state_meta VALUES ('last_vacuum', '{}')"
    for at, is_done in ((CLOCK - DAY, False), (CLOCK - 31 * DAY, True), (CLOCK + DAY, True)):
        cli = make_writable_cli("0.22.2", edit(note.format(at)))
        with_free_pages(store_of(cli))
        assert ("given back" in cli("optimize", "--if-needed").ok().stdout) is is_done


def test_an_index_that_is_not_well_is_always_needed(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("fts-silent")
    size = store_of(cli).stat().st_size
    outcome = cli("optimize", "--if-needed", "--json").ok().json
    assert outcome["vacuum"] is False
    assert states(store_of(cli)) == (State.OK, State.OK)
    assert store_of(cli).stat().st_size >= size, "it was not rewritten"


def test_R106_what_nobody_wrote_to_is_not_rewritten_again(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    cli("optimize").ok()
    before = fingerprint(cli.home)
    outcome = cli("optimize").ok()
    assert "not a byte has changed" in outcome.stderr
    assert fingerprint(cli.home) == before
    assert cli("optimize", "--force").ok().stdout
    cli("rename", "build log", "another", "name", "--yes").ok()
    assert cli("optimize").ok().stdout


def test_notes_of_runs_are_private_and_not_in_the_home(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    cli("optimize").ok()
    notes = Path(cli.environ["XDG_STATE_HOME"]) / "hermes-sessions" / "optimized"
    (note,) = notes.iterdir()
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert stat.S_IMODE(notes.stat().st_mode) == 0o700
    assert [path.name for path in cli.home.iterdir()] == ["state.db"]
    note.write_text("{")
    assert cli("optimize").ok().stdout, "what cannot be read is no note"


# Space


def run_program(
    cli: Cli, *words: str, limit: int = 0, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run the program as a process; ``limit``: bytes of the biggest file that it may write."""

    def set_limit() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "hermes_sessions", *words],
        env={**cli.environ, **environ},
        preexec_fn=set_limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("variable", ["SQLITE_TMPDIR", "TMPDIR"])
def test_R100_no_place_for_the_temporary_file(make_writable_cli: MakeCli, variable: str) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    gone = str(cli.cwd / "gone")
    cli.environ[variable] = gone
    run = run_program(cli, "optimize")
    assert (run.returncode, run.stdout) == (1, "")
    assert f"cannot be written: {variable} is {gone}" in run.stderr
    assert fingerprint(cli.home) == before
    run = run_program(cli, "optimize", "--fts-only")
    assert run.returncode == 0, run.stderr


def test_R106_no_file_may_be_that_big(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    run = run_program(cli, "optimize", limit=store_of(cli).stat().st_size // 2)
    assert (run.returncode, run.stdout) == (1, "")
    assert "may write no file bigger than" in run.stderr
    assert fingerprint(cli.home) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if (
        sys.platform != "linux"
        or subprocess.run(words, check=False, capture_output=True).returncode
    ):
        pytest.skip("file systems cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_R106_the_disk_of_the_store_is_full(make_writable_cli: MakeCli, small_disk: Path) -> None:
    cli = make_writable_cli()
    home = small_disk / "home"
    shutil.copytree(cli.home, home)
    (small_disk / "filler").write_bytes(b"x" * (2_097_152 - store_of(cli).stat().st_size - 200_000))
    before, rows = fingerprint(home), canonical(store_of(cli))
    run = run_program(cli, "--home", str(home), "optimize")
    assert (run.returncode, run.stdout) == (1, "")
    assert f"not enough space in {home}" in run.stderr
    assert fingerprint(home) == before
    run = run_program(cli, "--home", str(home), "optimize", "--force")
    assert run.returncode == 1
    assert "full" in run.stderr
    assert sorted(path.name for path in home.iterdir()) == ["state.db"]
    assert differences(rows, canonical(home / "state.db")) == []
    check_indexes(home / "state.db")


def test_R106_the_disk_of_the_temporary_file_is_full(
    make_writable_cli: MakeCli, small_disk: Path
) -> None:
    cli = make_writable_cli()
    (small_disk / "filler").write_bytes(b"x" * 1_800_000)
    before = fingerprint(cli.home)
    run = run_program(cli, "optimize", SQLITE_TMPDIR=str(small_disk))
    assert (run.returncode, run.stdout) == (1, "")
    assert f"not enough space in {small_disk}" in run.stderr
    assert fingerprint(cli.home) == before


@pytest.mark.parametrize("options", [(), ("--fts-only",)])
def test_R105_the_log_is_empty_afterwards(
    make_writable_cli: MakeCli, options: tuple[str, ...]
) -> None:
    cli = make_writable_cli("hot-wal/state")
    wal = cli.home / "state.db-wal"
    assert wal.stat().st_size > 100_000
    with held(store_of(cli)):
        outcome = cli("optimize", "--force", "--json", *options).ok().json
        assert wal.stat().st_size == 0
    assert outcome["wal_before"] > 100_000
    assert outcome["wal_after"] == 0
    assert store_of(cli).read_bytes()[18:20] == b"\x02\x02"
    reclaimed = outcome["size_before"] + outcome["wal_before"] - outcome["size_after"]
    assert outcome["reclaimed"] == reclaimed


def test_R105_no_log_is_missed_where_there_is_none(make_writable_cli: MakeCli) -> None:
    """Another process that is writing keeps a rollback journal, and no log."""
    cli = make_writable_cli()
    other = sqlite3.connect(store_of(cli), isolation_level=None)
    with open_writer(store_of(cli), 1.0) as writer, closing(other):
        vacuum(writer)
        other.execute("BEGIN EXCLUSIVE")
        assert empty_wal(writer)


def test_R105_sizes_of_a_linked_store(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_writable_cli("hot-wal/state")
    (tmp_path / "link.db").symlink_to(store_of(cli))
    assert sizes_of(tmp_path / "link.db") == sizes_of(store_of(cli))
    assert sizes_of(tmp_path / "link.db").wal > 100_000


def test_R105_a_store_that_grew_says_so(make_writable_cli: MakeCli) -> None:
    def empty(path: Path) -> None:
        make_stale(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for name in NAMES:
                connection.execute(f"INSERT INTO {name}({name}) VALUES ('delete-all')")
            connection.execute("VACUUM")

    cli = make_writable_cli("0.22.2", empty)
    assert re.search(r"kB: grew by \d", cli("optimize").ok().stdout)


# A copy


def test_R114_a_compact_copy(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli("fts-stale", with_free_pages)
    target = cli.cwd / "compact.db"
    outcome = cli("optimize", "--into", "compact.db", "--json").ok().json
    assert outcome["into"] == str(target)
    assert outcome["size_after"] == target.stat().st_size < outcome["size_before"] / 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert differences(canonical(store_of(cli)), canonical(target)) == []
    assert states(target) == (State.OK, State.OK)
    assert [path.name for path in cli.cwd.iterdir()] == ["compact.db"]
    cli("--db", str(target), "list").ok()


@pytest.mark.parametrize("name", ["0.22.2", "wal-header", "hot-wal/state"])
def test_R114_a_copy_has_everything(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    cli("optimize", "--into", "copy.db").ok()
    listed = cli("list", "--all", "--ids", "-n", "0").ok().stdout
    assert cli("--db", str(cli.cwd / "copy.db"), "list", "--all", "--ids", "-n", "0").ok() == (
        listed,
        "",
        0,
    )


def test_R114_words_of_deleted_messages_are_not_in_a_copy(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    cli("delete", "20260302_130005_c3d4e5", "--yes", "--no-trash").ok()
    assert b"xylophone" in bytes_of(cli.home)
    cli("optimize", "--into", "copy.db").ok()
    assert b"xylophone" not in (cli.cwd / "copy.db").read_bytes()


def test_R114_nothing_is_overwritten_unasked(make_cli: MakeCli) -> None:
    cli = make_cli()
    target = cli.cwd / "there.db"
    target.write_text("mine")
    assert cli("optimize", "--into", "there.db").code == 2
    assert target.read_text() == "mine"
    cli("optimize", "--into", "there.db", "--force").ok()
    assert value(target, "SELECT count(*) FROM sessions") == 43
    for words in (
        ("--into", str(store_of(cli)), "--force"),
        ("--into", str(cli.cwd)),
        ("--into", "no/such/directory.db"),
        ("--into", " "),
        ("--into", "x.db", "--fts-only"),
        ("--into", "x.db", "--if-needed"),
    ):
        assert cli("optimize", *words).code == 2, words
    (cli.cwd / "used.db-wal").touch()
    assert cli("optimize", "--into", "used.db").code == 3


def test_R114_a_copy_that_fails_leaves_nothing(make_cli: MakeCli, small_disk: Path) -> None:
    cli = make_cli()
    (small_disk / "filler").write_bytes(b"x" * 1_700_000)
    run = run_program(cli, "optimize", "--into", str(small_disk / "copy.db"))
    assert (run.returncode, run.stdout) == (1, "")
    run = run_program(cli, "optimize", "--force", "--into", str(small_disk / "copy.db"))
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


# The frame


@pytest.mark.parametrize("name", ["0.22.2", "fts-corrupt", "wal-header", "0.13.0"])
def test_a_dry_run_only_looks(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    outcome = cli("optimize", "--dry-run", "--json").ok().json
    assert tuple(outcome) == FIELDS
    assert outcome["dry_run"] is True
    text = cli("optimize", "--dry-run").ok().stdout
    assert "messages_fts" in text
    for width in (60, 80, 120):
        shown = cli("optimize", "--dry-run", terminal=width).ok().stdout
        assert "rewrite" in shown
        assert "room" in shown


@pytest.mark.parametrize("name", [*DAMAGED, "page-damage"])
def test_R111_a_damaged_store_is_refused(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    for words in ((), ("--dry-run",), ("--fts-only",), ("--force",), ("--into", "x.db")):
        outcome = cli("optimize", *words)
        assert outcome.code == 4, words
        assert "damaged" in outcome.stderr
    assert list(cli.cwd.iterdir()) == []


def test_R111_damage_that_nothing_else_meets(make_cli: MakeCli) -> None:
    """A page of an index of sessions: lists work, and a rewrite would make it final."""

    def spoil(path: Path) -> None:
        index = "SELECT rootpage FROM sqlite_master WHERE name = 'idx_sessions_parent'"
        spoil_page(path, value(path, index))

    cli = make_cli("0.22.2", spoil)
    cli("list").ok()
    assert cli("optimize").code == 4
    assert cli("optimize", "--into", "x.db").code == 4
    assert list(cli.cwd.iterdir()) == []


def test_a_store_that_is_not_there(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli()
    assert cli("--home", str(tmp_path / "empty"), "optimize").code == 1


MANY = """
    INSERT INTO messages (session_id, role, content, timestamp)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number})
    SELECT session_id, role, content || ' ' || i || ' ' || hex(i * 7919), timestamp
    FROM n CROSS JOIN (SELECT * FROM messages WHERE role IN ('user', 'assistant') LIMIT 50)"""
"""Fifty times as many messages as ``number``."""


def grow(path: Path, number: int = 400) -> None:
    make_stale(path)
    edit(MANY.format(number=number))(path)


@pytest.mark.slow
def test_ctrl_c_stops_it_at_once_and_harms_nothing(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("0.22.2", grow)
    rows = canonical(store_of(cli))
    for delay in (0.4, 0.8, 1.2, 2.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_sessions", "optimize", "--force"],
            env=cli.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=30)
        assert time.monotonic() - begun < 3
        assert process.returncode in {0, 130, -signal.SIGINT}, errors
        if process.returncode == 130:  # perhaps before anything was begun
            assert errors in {"", "interrupted: nothing is lost; run it again to go on\n"}
        assert differences(rows, canonical(store_of(cli))) == []
    cli("optimize", "--force").ok()
    assert states(store_of(cli)) == (State.OK, State.OK)


@pytest.mark.slow
def test_a_live_writer_never_waits_a_second(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("0.22.2", lambda path: grow(path, 1500))
    cli("optimize").ok()
    with closing(sqlite3.connect(store_of(cli), isolation_level=None, timeout=30)) as other:
        for i in range(400):  # many segments, so that there is something to merge
            other.execute(
                "INSERT INTO messages (session_id, role, content, timestamp)"
                " SELECT id, 'user', 'more ' || ?, 1e9 FROM sessions LIMIT 1",
                (i,),
            )
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes_sessions", "optimize", "--fts-only"],
            env=cli.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        longest, writes = 0.0, 0
        while process.poll() is None:
            begun = time.monotonic()
            other.execute(
                "INSERT INTO messages (session_id, role, content, timestamp)"
                " SELECT id, 'user', 'a live quokka', 1e9 FROM sessions LIMIT 1"
            )
            longest = max(longest, time.monotonic() - begun)
            writes += 1
            time.sleep(0.01)
        out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert out.startswith("merged")
    assert writes > 10
    assert longest < 1
    assert states(store_of(cli)) == (State.OK, State.OK)
    check_indexes(store_of(cli))
