"""Opening a store harms nobody (store facts §9, cases R102-R108, R115)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hermes_sessions.errors import StoreBusy, StoreDamaged, StoreMissing, UserError
from hermes_sessions.store.complaints import explain
from hermes_sessions.store.connect import open_store
from support import fingerprint, place_store, store_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli

    MakeCli = Callable[..., Cli]

COUNT = "SELECT count(*) FROM sessions"


def count(path: Path) -> object:
    with open_store(path) as store:
        return store.value(COUNT)


@pytest.mark.parametrize("name", ["0.13.0", "0.22.2", "wal-header", "hot-wal/state"])
def test_R103_reading_leaves_the_home_as_it_was(tmp_path: Path, name: str) -> None:
    home = place_store(name, tmp_path / "home")
    before = fingerprint(home)
    assert count(home / "state.db")
    assert fingerprint(home) == before


def test_a_read_only_directory(tmp_path: Path) -> None:
    """As another user would see it; root may write anywhere."""
    home = place_store("wal-header", tmp_path / "home")
    home.chmod(0o500)
    try:
        assert count(home / "state.db") == 43
    finally:
        home.chmod(0o700)


def linked(home: Path) -> Path:
    """Make a home whose store is a link to that of another; what is beside it stays there."""
    other = home.with_name("linked")
    other.mkdir()
    (other / "state.db").symlink_to(home / "state.db")
    return other / "state.db"


@pytest.mark.parametrize("name", ["wal-header", "hot-wal/state"])
def test_R103_a_linked_store_is_read_with_its_log(tmp_path: Path, name: str) -> None:
    home = place_store(name, tmp_path / "home")
    before = fingerprint(home)
    with open_store(home / "state.db") as store, open_store(linked(home)) as again:
        everything = "SELECT * FROM sessions ORDER BY id"
        assert store.rows(everything) == again.rows(everything)
    assert fingerprint(home) == before


@pytest.mark.parametrize("is_linked", [False, True], ids=["", "linked"])
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_R103_a_store_that_somebody_writes(tmp_path: Path, journal: str, is_linked: bool) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    path = linked(home) if is_linked else home / "state.db"
    writer = sqlite3.connect(path, isolation_level=None)
    try:
        writer.execute(f"PRAGMA journal_mode = {journal}")
        writer.execute("UPDATE sessions SET title = 'seen' WHERE id = '20260306_090000_0f0001'")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE sessions SET title = 'unseen' WHERE id = '20260306_090000_0f0001'")
        inodes = {p.name: p.stat().st_ino for p in home.iterdir()}
        with open_store(path) as store:
            titles = {row[0] for row in store.rows("SELECT title FROM sessions")}
        assert "seen" in titles
        assert "unseen" not in titles
        assert {p.name: p.stat().st_ino for p in home.iterdir()} == inodes
        writer.execute("COMMIT")
    finally:
        writer.close()
    assert sqlite_integrity(path) == "ok"


def sqlite_integrity(path: Path) -> object:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA quick_check").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.parametrize("is_linked", [False, True], ids=["", "linked"])
def test_a_crash_in_rollback_mode_is_read_from_a_private_copy(
    tmp_path: Path, is_linked: bool
) -> None:
    """A hot journal must be rolled back before reading; not in the home, though."""
    home = place_store("0.22.2", tmp_path / "home")
    path = home / "state.db"
    script = (
        "import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA cache_size = 2'); c.execute('PRAGMA cache_spill = 1');"
        "c.execute('BEGIN IMMEDIATE'); c.execute(\"UPDATE messages SET content = content || 'x'\");"
        'c.execute("UPDATE sessions SET title = NULL, cwd = hex(randomblob(400))"); os._exit(9)'
    )
    subprocess.run([sys.executable, "-c", script, path], check=False)
    assert (home / "state.db-journal").stat().st_size > 0, "the crash left a journal"
    before = fingerprint(home)
    with open_store(linked(home) if is_linked else path) as store:
        titles = [row[0] for row in store.rows("SELECT title FROM sessions WHERE title NOT NULL")]
    assert "build log" in titles, "the interrupted change must not show"
    assert fingerprint(home) == before


def test_private_copies_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    home = place_store("hot-wal/state", tmp_path / "home")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(private))
        assert count(home / "state.db")
    assert list(private.iterdir()) == []


def test_R115_nothing_stays_open(tmp_path: Path) -> None:
    """A checkpoint that truncates the log works while our connection exists."""
    home = place_store("0.22.2", tmp_path / "home")
    writer = sqlite3.connect(home / "state.db", isolation_level=None)
    try:
        writer.execute("PRAGMA journal_mode = wal")
        writer.execute("UPDATE sessions SET title = title")
        with open_store(home / "state.db") as store:
            assert store.value(COUNT) == 43
            busy, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == 0
    finally:
        writer.close()


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        open_store(tmp_path / "state.db")
    assert list(tmp_path.iterdir()) == [tmp_path / "user"]


def test_a_directory_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        open_store(tmp_path)


def test_a_database_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE fruit (name TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(UserError, match="no table sessions"):
        open_store(path)


def test_an_odd_path(tmp_path: Path) -> None:
    """The path goes through a URI: what means something there must not."""
    directory = tmp_path / "100% a?b#c 数据"
    directory.mkdir()
    shutil.copyfile(store_file("0.22.2"), directory / "state.db")
    assert count(directory / "state.db") == 43


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    (home / "state.db").chmod(0)
    with pytest.raises(UserError, match="cannot read"):
        open_store(home / "state.db")


@pytest.mark.parametrize(
    ("message", "kind", "words"),
    [
        ("locking protocol", UserError, "file system"),
        ("disk I/O error", UserError, "mount"),
        ("attempt to write a readonly database", UserError, "permissions"),
        ("unable to open database file", UserError, "permissions"),
        ("database is locked", StoreBusy, "busy"),
        ("database disk image is malformed", StoreDamaged, "damaged"),
        ("file is not a database", StoreDamaged, "damaged"),
    ],
)
def test_R108_each_cause_has_its_words(message: str, kind: type[UserError], words: str) -> None:
    error = explain(sqlite3.OperationalError(message), Path("/x/state.db"))
    assert type(error) is kind
    assert words in f"{error.message} {error.hint}"
    assert error.hint


def test_a_store_locked_for_long_is_busy(
    make_cli: MakeCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = make_cli()
    holder = sqlite3.connect(cli.home / "state.db", isolation_level=None)
    with monkeypatch.context() as patch:
        patch.setattr("hermes_sessions.store.connect.READ_TIMEOUT", 0.1)
        holder.execute("BEGIN EXCLUSIVE")
        outcome = cli("list")
        holder.execute("ROLLBACK")
    holder.close()
    assert outcome.code == 75
    assert "busy" in outcome.stderr


def test_R108_a_damaged_index_is_no_damaged_store(tmp_path: Path) -> None:
    home = place_store("fts-corrupt", tmp_path / "home")
    with open_store(home / "state.db") as store:
        with pytest.raises(
            StoreDamaged, match=r"search index of .* the conversations are not"
        ) as e:
            store.rows("SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'the'")
        assert store.value("SELECT count(*) FROM messages")
    assert "hermes-sessions optimize" in str(e.value.hint)
