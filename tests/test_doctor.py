"""``doctor``: every store of the corpus, every kind of finding, and that the cures cure."""

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
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from api_server import require_program
from diagnoses import OPTIMIZE, RECOVER, finding, found, keys
from hermes_peer import PeerUnavailable, cache_dir, clean_env, peer_path, run_peer
from hermes_sessions.cli.commands import BY_NAME
from hermes_sessions.home import select_home
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.diagnosis_file import (
    has_wal_reset_bug,
)
from hermes_sessions.store.diagnosis_findings import Scope
from hermes_sessions.store.examination import examine
from support import CLOCK, RELEASES, STORES, Cli, edit, fingerprint, place_store, store_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Outcome

    MakeCli = Callable[..., Cli]

COUNTERS = ("info counters",)
ORPHANS = "hermes-sessions prune --orphans"

EXPECTED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(RELEASES, ()),
    **dict.fromkeys(("0.16.0", "0.17.0", "0.18.2", "0.19.0", "0.20.0"), COUNTERS),
    "upgraded-0.13.0-by-0.22.2": (),
    "upgraded-0.16.0-by-0.22.2": COUNTERS,
    "upgraded-0.19.0-by-0.22.2": COUNTERS,
    "upgraded-0.21.0-by-0.22.2": (),
    "upgraded-0.21.3-by-0.22.2": (),
    "optimized-0.19.0-by-0.22.2": COUNTERS,
    "wal-header": (),
    "hot-wal/state": (*COUNTERS, "info crash-leftover: start hermes once: it takes them over"),
    "newer-schema": ("info schema-newer: pip install --upgrade hermes-sessions",),
    "null-active": ("info null-active",),
    "no-fts": ("warning search-index-missing: start hermes once: it makes what is missing",),
    "fts-stale": (f"warning search-index-stale: {OPTIMIZE}",),
    "fts-silent": (f"warning search-index-silent: {OPTIMIZE}",),
    "fts-corrupt": (f"warning search-index-broken: {OPTIMIZE}",),
    "half-migrated-fts": (f"warning search-index-incomplete: {OPTIMIZE}", *COUNTERS),
    "cjk-index": ("warning tokenizer-missing: start hermes once: it does without",),
    "orphan-rows": (
        f"warning orphan-messages: {ORPHANS}",
        f"warning orphan-usage: {ORPHANS}",
        f"warning parent-gone: {ORPHANS}",
    ),
    "duplicate-titles": (
        "warning duplicate-titles: hermes-sessions rename 20250903_090000_00aa13 'same name #2'",
        "info title-index-missing",
    ),
    "odd-values": (
        "warning parent-circle",
        "warning broken-settings",
        "warning broken-calls",
        "warning odd-times",
    ),
    "page-damage": (f"damage pages: {RECOVER}",),
    "truncated": (f"damage truncated: {RECOVER}",),
    "zero-byte": ("damage empty: restore a backup",),
    "nul-header": ("damage zeroed: restore a backup",),
    "not-a-database": ("damage not-a-database: restore a backup",),
}
"""What is found in each store, and what cures it."""

WITH_NEWER_SQLITE = {"fts-silent": (f"warning search-index-broken: {OPTIMIZE}",)}
"""Since 3.44 or so, SQLite says itself that this index is broken."""

WAL_BUG = "warning wal-reset-bug: upgrade SQLite to 3.51.3 or newer"


def expected(name: str, sqlite: str) -> list[str]:
    """Return what must be found in a store with some SQLite, sorted."""
    findings = list(EXPECTED[name])
    if not has_wal_reset_bug(sqlite):
        findings = list(WITH_NEWER_SQLITE.get(name, findings))
    elif store_file(name).read_bytes()[18:19] == b"\x02":
        findings.append(WAL_BUG)
    return sorted(findings)


def code_for(findings: list[str]) -> int:
    severities = {finding.partition(" ")[0] for finding in findings}
    return 4 if "damage" in severities else int("warning" in severities)


# Every store


def test_every_store_is_in_the_table() -> None:
    assert set(EXPECTED) == set(STORES)


@pytest.mark.parametrize("options", [(), ("--full",)], ids=["plain", "full"])
@pytest.mark.parametrize("name", STORES)
def test_R111_every_store_is_judged_as_it_is(
    make_cli: MakeCli, name: str, options: tuple[str, ...]
) -> None:
    cli = make_cli(name)
    outcome = cli("doctor", "--json", *options)
    wanted = expected(name, sqlite3.sqlite_version)
    assert found(outcome.json, cli.home) == wanted
    assert outcome.code == code_for(wanted)
    assert outcome.json["healthy"] is (outcome.code == 0)
    assert outcome.json["damaged"] is (outcome.code == 4)


@pytest.mark.parametrize("name", STORES)
def test_a_sample_finds_the_same_in_stores_this_small(name: str, tmp_path: Path) -> None:
    home = place_store(name, tmp_path / "home")
    chosen = select_home({"HERMES_HOME": str(home)})
    scope = Scope(chosen, {"XDG_STATE_HOME": str(tmp_path)}, CLOCK, read_whole=0)
    diagnosis = examine(scope, lambda: open_store(chosen.store), lambda _: None)
    report = {"findings": [each._asdict() for each in diagnosis.findings]}
    assert found(report, home) == expected(name, sqlite3.sqlite_version)


def have(module: str) -> None:
    """Skip what needs a module that cannot be had; a machine for tests has to have it."""
    if find_spec(module) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{module} is not installed: pip install 'hermes-sessions[dev]'")
        pytest.skip(f"{module} has no wheel for this machine")


def run_elsewhere(script: str, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the tests in a process of its own."""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here.parent), str(here), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(here / script), *words],
        env={**os.environ, "PYTHONPATH": paths, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("--full",)], ids=["plain", "full"])
def test_the_newest_sqlite_judges_alike(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Newer ones call healthy indexes malformed if asked about the whole file (trap 8)."""
    have("pysqlite3")
    homes = {
        name: place_store(name, tmp_path / f"home-{name.replace('/', '-')}") for name in STORES
    }
    before = fingerprint(tmp_path)
    run = run_elsewhere(
        "newer_sqlite.py", *map(str, homes.values()), "--", "doctor", "--json", *options
    )
    assert run.returncode == 0, run.stderr
    answers = json.loads(run.stdout)
    assert not has_wal_reset_bug(answers["sqlite"])
    for name, home in homes.items():
        outcome = answers["outcomes"][str(home)]
        report = json.loads(outcome["stdout"])
        wanted = expected(name, answers["sqlite"])
        assert report["sqlite_version"] == answers["sqlite"]
        assert (name, found(report, home)) == (name, wanted)
        assert outcome["code"] == code_for(wanted), name
    assert fingerprint(tmp_path) == before


WITHOUT_FTS5 = """
import json, sqlite3, sys
from hermes_sessions.cli.app import main
names = {row[0] for row in sqlite3.connect(":memory:").execute("PRAGMA module_list")}
sys.exit(77 if "fts5" in names else main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
def test_R070_a_sqlite_without_fts5_is_no_fault_of_the_store(tmp_path: Path) -> None:
    """The newest SQLite of all, without extensions, comes with apsw for its command-line tools."""
    have("apsw")
    home = place_store("0.22.2", tmp_path / "home")
    spec = find_spec("apsw")
    assert spec
    assert spec.origin
    library = Path(spec.origin).parent / "sqlite_extra_binaries" / "libsqlite3_tool.so"
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_FTS5, "--home", str(home), "doctor", "--json"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == 77:
        pytest.skip("this Python brings its own SQLite along")
    report = json.loads(run.stdout)
    assert report["sqlite_version"] >= "3.54"
    assert found(report, home) == ["info sqlite-lacks: use a Python whose SQLite has it"]
    assert run.returncode == 0


# The cures


def cure(cli: Cli, key: str) -> Outcome:
    """Do what doctor says of a finding, by the words it says."""
    words = shlex.split(finding(cli("doctor", "--json"), key)["cure"])
    assert words[0] == "hermes-sessions"
    return cli(*words[1:], "-y")


def test_R050_the_cure_of_orphans_cures(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("orphan-rows")
    assert "17 messages belong to no session (2.4 kB)" in cli("doctor").stdout
    cure(cli, "orphan-messages").ok()
    assert cli("doctor", "--json").ok().json["healthy"]


def test_the_cure_of_duplicate_titles_cures(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("duplicate-titles")
    cure(cli, "duplicate-titles").ok()
    assert (
        "is the title of 2 sessions"
        in finding(cli("doctor", "--json"), "duplicate-titles")["message"]
    )
    cure(cli, "duplicate-titles").ok()
    assert keys(cli("doctor", "--json")) - {"wal-reset-bug"} == {"title-index-missing"}


@pytest.mark.skipif("optimize" not in BY_NAME, reason="there is no optimize yet")
@pytest.mark.parametrize("name", ["fts-stale", "fts-silent", "fts-corrupt", "half-migrated-fts"])
def test_the_cure_of_search_indexes_cures(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    state = next(key for key in keys(cli("doctor", "--json")) if key.startswith("search-index"))
    cure(cli, state).ok()
    assert not {key for key in keys(cli("doctor", "--json")) if key.startswith("search-index")}


@pytest.mark.interop
@pytest.mark.parametrize("name", ["no-fts", "cjk-index", "hot-wal/state"])
def test_what_hermes_cures_when_it_is_started(
    make_writable_cli: MakeCli, name: str, monkeypatch: pytest.MonkeyPatch, peers: Path
) -> None:
    cli = make_writable_cli(name)
    cures = {each["cure"] for each in cli("doctor", "--json").json["findings"]}
    assert any(str(cure).startswith("start hermes once") for cure in cures)
    with monkeypatch.context() as patch:
        patch.setenv("HERMES_PEERS_DIR", str(peers))
        run_peer("0.22.2", "from hermes_state import SessionDB; SessionDB().close()", cli.home)
    assert keys(cli("doctor", "--json")) <= {"counters", "wal-reset-bug", "readable"}


@pytest.mark.parametrize("name", ["zero-byte", "nul-header", "not-a-database"])
def test_R111_what_is_nothing_any_more_is_replaced_by_the_newest_backup(
    make_writable_cli: MakeCli, name: str
) -> None:
    cli = make_writable_cli(name)
    for stamp, release in (("20260101-000000", "0.21.0"), ("20260301-000000", "0.22.2")):
        snapshot = place_store(release, cli.home / "state-snapshots" / stamp)
        os.utime(snapshot / "state.db", (0, int(stamp[:8])))
    (cli.home / "state.db.zeroed-1-2.bak").write_bytes(bytes(100))
    outcome = cli("doctor", "--json")
    command = str(outcome.json["findings"][0]["cure"])
    assert "20260301" in command
    old = (cli.home / "state.db").read_bytes()
    subprocess.run(["sh", "-c", command], check=True)
    assert cli("doctor", "--json").ok().json["schema_version"] == 31
    if old:
        assert (cli.home / "state.db.damaged").read_bytes() == old


@pytest.fixture(scope="module")
def peers() -> Path:
    """The place of real releases, which no test has moved yet."""
    try:
        peer_path("0.22.2")
    except PeerUnavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    return cache_dir()


@pytest.fixture(scope="module")
def program() -> Path:
    """The ``hermes`` of a real release, from its place, which no test has moved yet."""
    return require_program()


@pytest.mark.interop
def test_R111_hermes_itself_recovers_what_is_readable_by_the_words_of_the_cure(
    make_writable_cli: MakeCli, program: Path
) -> None:
    cli = make_writable_cli("page-damage")
    damaged = fingerprint(cli.home)["state.db"]
    command = finding(cli("doctor", "--json"), "pages")["cure"]
    environ = clean_env(cli.home, cli.cwd) | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", command], env=environ, check=False, capture_output=True)
    assert fingerprint(cli.home)["state.db"] == damaged
    recovered = cli("--db", str(cli.home / "state-recovered.db"), "doctor", "--json")
    assert not recovered.json["damaged"]
    assert recovered.json["sessions"] == 43


def test_what_others_can_read_is_told_and_the_cure_cures() -> None:
    with tempfile.TemporaryDirectory() as place:
        home = place_store("0.22.2", Path(place))
        home.chmod(0o755)
        (home / "state.db").chmod(0o644)
        cli = Cli(home, {**os.environ, "HERMES_HOME": place}, home)
        outcome = cli("doctor", "--json").ok()
        told = finding(outcome, "readable")
        assert told["message"] == "other users can read the store (mode 0644)"
        subprocess.run(["sh", "-c", told["cure"]], check=True)
        assert keys(cli("doctor", "--json")) <= {"file-system"}


def test_a_store_of_before_0600_may_be_readable() -> None:
    with tempfile.TemporaryDirectory() as place:
        home = place_store("0.21.0", Path(place))
        home.chmod(0o755)
        cli = Cli(home, {**os.environ, "HERMES_HOME": place}, home)
        assert "readable" not in keys(cli("doctor", "--json"))


def test_cures_mean_the_same_store(make_cli: MakeCli) -> None:
    home = make_cli("orphan-rows").home
    cli = make_cli()
    by_home = cli("--home", str(home), "doctor", "--json")
    command = finding(by_home, "orphan-usage")["cure"]
    assert command == f"hermes-sessions --home {home} prune --orphans"
    by_file = cli("--db", str(home / "state.db"), "doctor", "--json")
    command = finding(by_file, "orphan-usage")["cure"]
    assert command == f"hermes-sessions --db {home}/state.db prune --orphans"


# What it looks like


def test_a_store_that_is_not_there(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli()
    outcome = cli("--home", str(tmp_path / "nowhere"), "doctor")
    assert outcome.code == 1
    assert outcome.stdout == ""
    assert "no store at" in outcome.stderr
    assert "--demo" in outcome.stderr
    outcome = cli("--home", str(tmp_path / "nowhere"), "doctor", "--json")
    assert outcome.code == 1
    assert outcome.json["healthy"] is False
    assert keys(outcome) == {"missing"}


def test_a_database_that_is_no_store(make_cli: MakeCli, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    outcome = make_cli()("--db", str(other), "doctor", "--json")
    assert outcome.code == 1
    assert "no store of Hermes" in finding(outcome, "unreadable")["message"]


def test_fields_can_be_picked(make_cli: MakeCli) -> None:
    assert make_cli()("doctor", "--json=healthy,schema_version").ok().json == {
        "healthy": True,
        "schema_version": 31,
    }
    outcome = make_cli()("doctor", "--json=nonsense")
    assert outcome.code == 2
    assert "file_system" in outcome.stderr


SCREEN = """
  ok      every page reads · titles unique · search finds what is there
          39 conversations, 41 sessions, 142 messages · nobody has it open
  !       17 messages belong to no session (2.4 kB)                 hermes-sessions prune --orphans
          session 20260302_090000_a1b2c3
          session 20260303_090000_d00001
  !       1 record of token use belongs to no session               hermes-sessions prune --orphans
          session 20260302_090000_a1b2c3
  !       3 sessions hang off one that is gone; shown without it    hermes-sessions prune --orphans
          session 20260302_110005_b2c3d4
          session 20260303_090100_d00002
          session 20260303_090130_d00003
3 findings
"""


def test_the_screen(make_cli: MakeCli) -> None:
    cli = make_cli("orphan-rows")
    outcome = cli("--color", "never", "doctor", terminal=100, HOME=str(cli.home))
    head, rest = outcome.stdout.split("\n", 1)
    sqlite = re.escape(sqlite3.sqlite_version)
    assert re.match(rf"~/state\.db · 492 kB · schema 31 · rollback journal · SQLite {sqlite}", head)
    assert rest == SCREEN


@pytest.mark.parametrize("name", STORES)
def test_every_screen_fits_and_no_cure_is_broken(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    cures = {f["cure"] for f in cli("doctor", "--json").json["findings"] if f["cure"]}
    for width in (60, 80, 120):
        text = cli("--color", "never", "doctor", terminal=width).stdout
        _, *lines = text.splitlines()
        assert all(cell_len(line) <= width or line.strip() in cures for line in lines), text
        assert all(cure in text for cure in cures), text
        assert lines[-1] == "healthy" or re.fullmatch(r"\d+ findings?", lines[-1])


def test_the_worst_is_last_on_the_screen_and_first_in_data(make_cli: MakeCli) -> None:
    cli = make_cli("duplicate-titles", edit("UPDATE sessions SET title = NULL WHERE rowid = 1"))
    severities = [f["severity"] for f in cli("doctor", "--json").json["findings"]]
    assert severities == sorted(severities, key=["damage", "warning", "held", "info"].index)
    text = cli("--color", "never", "doctor", terminal=100).stdout
    assert text.index("  note ") < text.index("  !  ")


def test_lines_for_scripts(make_cli: MakeCli) -> None:
    outcome = make_cli("fts-stale")("doctor")
    rows = [line.split("\t") for line in outcome.lines]
    assert {len(row) for row in rows} == {4}
    assert rows[0] == [
        "warning",
        "search-index-stale",
        "both search indexes are out of date",
        OPTIMIZE,
    ]
    assert ["ok", "", "every page reads", ""] in rows


def test_json_imports_no_terminal_library(tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    script = (
        "import sys; from hermes_sessions.cli.app import main; main(sys.argv[1:]);"
        "sys.exit('rich' in sys.modules)"
    )
    words = ["--home", str(home), "doctor", "--json"]
    run = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
