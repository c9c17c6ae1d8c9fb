"""What upkeep leaves is what a real Hermes release would have left, and it goes on with it.

The release does the same by its own methods on a copy, or heals a copy as it does when it opens
one; then both must look the same to it, and both indexes must have the same words.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hermes_peer import run_peer
from hermes_sessions.store.fts import State
from hermes_sessions.store.index_tasks import find_tasks
from hermes_sessions.store.rebuild_lock import rebuild_lock
from hermes_sessions.store.rebuilding import rebuild
from hermes_sessions.store.writing import open_writer
from indexes import NAMES, make_silent, make_stale, postings, states
from support import CLOCK, edit, place_store
from test_optimize import MANY
from witness import (
    NEW,
    OLD,
    differences,
    job,
    look,
    peers_stay_where_they_are,  # noqa: F401 - a fixture for every test here
    require,
    running,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli

    MakeCli = Callable[..., Cli]

pytestmark = pytest.mark.interop

TIP, TELEGRAM = "20260302_130005_c3d4e5", "20260305_131000_0c0003"

OPTIMIZED = {
    (NEW, "0.22.2"): "db.vacuum()",
    (NEW, "wal-header"): "db.vacuum()",
    (OLD, "0.19.0"): "db.vacuum()",
    (NEW, "fts-stale"): "",  # it heals this when it opens it
    (NEW, "half-migrated-fts"): "assert db.optimize_fts_storage(vacuum=False)['ok']",
    (NEW, "fts-silent"): "db.rebuild_fts()",
    (NEW, "upgraded-0.21.0-by-0.22.2"): "db.rebuild_fts()",
}
"""By the release and the store: what it does itself."""


@pytest.mark.parametrize(("release", "name"), OPTIMIZED, ids=lambda value: value)
def test_optimized_by_us_or_by_the_release(
    make_writable_cli: MakeCli, tmp_path: Path, release: str, name: str
) -> None:
    require(release)
    cli = make_writable_cli(name)
    copy = tmp_path / "theirs"
    shutil.copytree(cli.home, copy)
    cli("optimize").ok()
    theirs = job(copy, TIP, do=OPTIMIZED[release, name])
    ours, wanted = look(release, [job(cli.home, TIP), theirs], tmp_path)
    assert differences(ours, wanted, set()) == {}
    assert ours["gone on"]["health"] == [["ok"], 0]
    assert postings(cli.home / "state.db") == postings(copy / "state.db")


@pytest.mark.parametrize("name", ["fts-corrupt", "fts-stale"])
def test_a_cured_store_is_as_good_as_one_that_was_never_damaged(
    make_writable_cli: MakeCli, tmp_path: Path, name: str
) -> None:
    require(NEW)
    cli = make_writable_cli(name)
    cli("optimize").ok()
    original = "0.22.2" if name == "fts-corrupt" else name
    jobs = [job(cli.home, TIP), job(place_store(original, tmp_path / "theirs"), TIP)]
    ours, wanted = look(NEW, jobs, tmp_path)
    assert differences(ours, wanted, set()) == {}
    assert states(cli.home / "state.db") == (State.OK, State.OK)


@pytest.mark.parametrize("damage", [make_silent, make_stale])
def test_the_older_release_reads_what_was_rebuilt(
    make_writable_cli: MakeCli, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    require(OLD)
    cli = make_writable_cli("0.19.0", damage)
    path = cli.home / "state.db"
    oracle = tmp_path / "theirs"
    oracle.mkdir()
    with (
        closing(sqlite3.connect(path)) as source,
        closing(sqlite3.connect(oracle / "state.db")) as target,
    ):
        source.backup(target)
    cli("optimize").ok()
    heal = "" if damage is make_stale else "db.rebuild_fts()"
    ours, wanted = look(OLD, [job(cli.home, TIP), job(oracle, TIP, do=heal)], tmp_path)
    if damage is make_silent:  # 0.19 rebuilds this from what the index itself has kept
        assert differences(ours, wanted, set()) == {}
    assert ours["gone on"]["health"] == [["ok"], 0]
    assert all(ours["view"]["hits"][word] for word in ("auth", "ocelot"))


HOLDER = """
import json, time
from pathlib import Path
from hermes_state import SessionDB
import os

home = Path(os.environ["HERMES_HOME"])
db = SessionDB(home / "state.db")
db.create_session("live", "cli")
db.append_message("live", "user", "before it was rewritten: a kakapo")
(home / "writing").touch()
while not (home / "enough").exists():
    time.sleep(0.05)
for number in range(60):  # beyond the checkpoint that it makes after 50 writes
    db.append_message("live", "assistant", f"after it was rewritten: a kakapo {number}")
messages = [message["content"] for message in db.get_messages("live")]
hits = len(db.search_messages("kakapo", limit=100))
print(json.dumps({"messages": messages, "hits": hits}))
db.close()
"""


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_R102_a_live_release_survives_a_forced_rewrite(
    make_writable_cli: MakeCli, journal: str
) -> None:
    require(NEW)
    cli = make_writable_cli("0.22.2", edit(f"PRAGMA journal_mode = {journal}"))
    with running(NEW, HOLDER, cli.home) as future:
        refused = cli("optimize")
        assert refused.code == 3
        cli("optimize", "--force").ok()
        if journal == "wal":
            assert (cli.home / "state.db-wal").stat().st_size == 0
        (cli.home / "enough").touch()
        said = json.loads(future.result(timeout=60))
    assert len(said["messages"]) == 61
    assert said["hits"] == 61
    assert states(cli.home / "state.db") == (State.OK, State.OK)


WRITER = """
import json, os, time
from pathlib import Path
from hermes_state import SessionDB

home = Path(os.environ["HERMES_HOME"])
db = SessionDB(home / "state.db")
db.create_session("live", "cli")
longest = number = 0
while number < 100 or not (home / "enough").exists():
    begun = time.monotonic()
    db.append_message("live", "user", f"a kakapo says {number}")
    longest = max(longest, time.monotonic() - begun)
    number += 1
    (home / "writing").touch()
    time.sleep(0.005)
print(json.dumps({"number": number, "longest": longest, "hits": len(
    db.search_messages("kakapo", limit=100000))}))
db.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_live_release_writes_on_while_indexes_are_merged(
    make_writable_cli: MakeCli, journal: str
) -> None:
    require(NEW)
    cli = make_writable_cli(
        "0.22.2", edit(MANY.format(number=80), f"PRAGMA journal_mode = {journal}")
    )
    with running(NEW, WRITER, cli.home) as future:
        for _ in range(3):
            cli("optimize", "--fts-only").ok()
        (cli.home / "enough").touch()
        said = json.loads(future.result(timeout=120))
    assert said["number"] == said["hits"]
    assert said["longest"] < 2
    assert states(cli.home / "state.db") == (State.OK, State.OK)


GO_ON = """
from hermes_state import SessionDB
import json, os
from pathlib import Path

db = SessionDB(Path(os.environ["HERMES_HOME"]) / "state.db")
status = db.fts_rebuild_status()
db.create_session("live", "cli")
db.append_message("live", "user", "half built: a kakapo")
hits = [len(db.search_messages(word, limit=100)) for word in ("kakapo", "xylophone", "ocelot")]
done = db.optimize_fts_storage(vacuum=False)
after = [len(db.search_messages(word, limit=100)) for word in ("kakapo", "xylophone", "ocelot")]
print(json.dumps({"status": status, "hits": hits, "done": done["ok"], "after": after}))
db.close()
"""


def test_the_release_knows_a_rebuild_that_stopped_and_finishes_it(
    make_writable_cli: MakeCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(NEW)
    monkeypatch.setattr("hermes_sessions.store.rebuilding._FIRST", 20)
    cli = make_writable_cli("0.22.2", make_stale)
    path = cli.home / "state.db"
    with open_writer(path) as writer:
        steps = rebuild(writer, find_tasks(writer.store, has_tokenizer=False))
        assert 0 < next(steps) < 1
        steps.close()
    assert states(path) == (State.INCOMPLETE, State.INCOMPLETE)
    said: dict[str, Any] = json.loads(run_peer(NEW, GO_ON, cli.home))
    assert said["status"]["pending"] is True
    assert said["status"]["indexed"] > 0
    assert said["done"] is True
    assert said["hits"] == said["after"]
    assert all(said["after"])
    assert states(path) == (State.OK, State.OK)
    filled = postings(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in NAMES:
            connection.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
    assert filled == postings(path)


ADMITTED = """
import json, os
from pathlib import Path
from hermes_state_common import fts_rebuild_admission, _lock_holder_provably_dead

path = Path(os.environ["HERMES_HOME"]) / "state.db"
with fts_rebuild_admission(path, timeout_seconds=0) as admitted:
    record = json.loads(Path(f"{path}.fts_rebuild.lock").read_text() or "{}")
    print(json.dumps([admitted, record.get("pid"), _lock_holder_provably_dead(record)]))
"""


def test_the_release_respects_our_lock(make_writable_cli: MakeCli) -> None:
    require(NEW)
    cli = make_writable_cli()
    with rebuild_lock(cli.home / "state.db", CLOCK, 1.0):
        admitted, _, is_dead = json.loads(run_peer(NEW, ADMITTED, cli.home))
        assert (admitted, is_dead) == (False, False)
    assert json.loads(run_peer(NEW, ADMITTED, cli.home))[0] is True


CLEAR = """
for row in db._conn.execute("SELECT id FROM sessions").fetchall():
    if {condition}:
        db.update_system_prompt(row[0], None)
"""


@pytest.mark.parametrize(
    ("release", "name"), [(NEW, "0.22.2"), (OLD, "0.19.0"), (NEW, "upgraded-0.19.0-by-0.22.2")]
)
def test_cleared_by_us_or_by_the_release(
    make_writable_cli: MakeCli, tmp_path: Path, release: str, name: str
) -> None:
    require(release)
    cli = make_writable_cli(name)
    cli.environ["PATH"] = str(cli.cwd)
    copy = tmp_path / "theirs"
    shutil.copytree(cli.home, copy)
    cleared = cli("refresh-prompts", "--json").ok().json["refreshed"]
    theirs = job(copy, TIP, do=CLEAR.format(condition=f"row[0] in {cleared!r}"))
    ours, wanted = look(release, [job(cli.home, TIP), theirs], tmp_path)
    assert differences(ours, wanted, set()) == {}
    rows = ours["view"]["rows"]
    assert cleared
    assert not [i for i in cleared if rows[i]["system_prompt"]]


def test_degraded_prompts_are_those_of_the_release(
    make_writable_cli: MakeCli, tmp_path: Path
) -> None:
    require(NEW)
    cli = make_writable_cli()
    copy = tmp_path / "theirs"
    shutil.copytree(cli.home, copy)
    cleared = cli("repair-prompts", "--apply", "--yes", "--json").ok().json["cleared"]
    theirs = job(copy, TELEGRAM, do=CLEAR.format(condition=f"row[0] in {cleared!r}"))
    ours, wanted = look(NEW, [job(cli.home, TELEGRAM), theirs], tmp_path)
    assert cleared == [TELEGRAM]
    assert differences(ours, wanted, set()) == {}
