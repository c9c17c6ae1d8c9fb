"""While a real Hermes release writes, every changing command may run, and neither harms the other.

The release appends messages as a busy gateway does. Our commands run beside it, on its sessions and
on others: what it wrote is there, no append took a second, and what was deleted came back. What it
has claimed, nobody deletes. `LIVE_SECONDS` says how long it writes (6).
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import ExitStack, closing
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

from hermes_peer import run_peer
from hermes_sessions.cli.app import main
from hermes_sessions.context import Env
from support import Cli, Outcome, Terminal, place_store
from witness import (
    NEW,
    OLD,
    peers_stay_where_they_are,  # noqa: F401 - a fixture for every test here
    require,
    running,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.interop

LIVE_SECONDS = float(os.environ.get("LIVE_SECONDS", "6"))
LONGEST = 1.0
"""Seconds that an append may take (contract §10)."""

LIVE = ("live-0", "live-1", "live-2", "live-long")
"""Sessions that the release writes to."""

PREPARE = """\
from hermes_state import SessionDB

db = SessionDB()
for session_id in ("big", "live-long"):
    db.create_session(session_id, "tui", cwd="/home/dev/projects/acme-api")
    db.replace_messages(session_id, [
        {"role": "assistant" if n % 2 else "user", "content": f"turn {n} " + f"wombat{n} " * 20}
        for n in range(1000)
    ])
db.create_session("of big", "subagent", parent_session_id="big",
                  model_config={"_delegate_from": "big"})
db.append_message("of big", "user", "look it up")
db.close()
"""

WRITER = """\
import json, logging, os, sys, time
from pathlib import Path

complaints = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: complaints.append(record.getMessage())
logging.getLogger().addHandler(handler)
from hermes_state import SessionDB

home, sessions = Path(os.environ["HERMES_HOME"]), sys.argv[1:]
db = SessionDB()
for session_id in sessions:
    db.create_session(session_id, "cli", cwd="/home/dev/projects/acme-api")
written = {session_id: len(db.get_messages(session_id)) for session_id in sessions}
longest = [0.0] * 5
turn = 0
while not (home / "enough").exists():
    session_id = sessions[turn % len(sessions)]
    number = written[session_id]
    text = f"turn {number} " + f"quokka{number} " * 20
    began = time.perf_counter()
    db.append_message(session_id, "assistant" if number % 2 else "user", text)
    longest = sorted([*longest, time.perf_counter() - began])[1:]
    written[session_id] += 1
    turn += 1
    if turn % 20 == 0:
        session_id = sessions[turn // 20 % len(sessions)]
        db.update_token_counts(session_id, input_tokens=10, output_tokens=1)
        db.reopen_session(session_id)
        assert len(db.get_messages(session_id)) == written[session_id]
        (home / "writing").touch()
    time.sleep(0.005)
db.close()
print(json.dumps({"written": written, "longest": longest, "complaints": complaints}))
"""

HEALTH = """\
from hermes_state import SessionDB

db = SessionDB()
assert [row[0] for row in db._conn.execute("PRAGMA integrity_check")] == ["ok"]
assert db._conn.execute("PRAGMA foreign_key_check").fetchall() == []
print(len(db.search_messages("quokka0", limit=100)))
db.close()
"""

CHAIN = "20260302_130005_c3d4e5"
BRANCHED = "20260303_120000_e00001"
WITH_DELEGATES = "20260303_090000_d00001"


def runner(home: Path, cwd: Path) -> Callable[..., Outcome]:
    """Return what runs a command, now, without questions, and expects an exit code."""
    cli = Cli(home, {**os.environ, "HERMES_HOME": str(home)}, cwd)

    def run(*words: str, codes: tuple[int, ...] = (0,)) -> Outcome:
        cli.now = time.time()
        outcome = cli(*words, "--yes")
        assert outcome.code in codes, (words, outcome)
        return outcome

    return run


def one_of_each(run: Callable[..., Outcome], number: int, *, can_hide: bool) -> None:
    """Run every changing command, so that nothing but the sessions of the release is changed."""
    run("new", "--title", f"begun in round {number}", "--id", f"new-{number}")
    run("rename", "live-0", f"busy in round {number}")
    flags = ("archive", "unarchive", *(("pin", "unpin", "hide", "unhide") if can_hide else ()))
    for command in flags:
        run(command, "live-1", "live-long")
    run("close", "live-2", "--reason", "idle_timeout", codes=(0, 3))  # 3: it reopened it just then
    run("relocate", "/home/dev/projects/acme-api", "/srv/acme")
    run("relocate", "/srv/acme", "/home/dev/projects/acme-api")
    run("fork", CHAIN, "--keep-open", "--id", f"of-chain-{number}")
    run("fork", "big", "--keep-open", "--id", f"of-big-{number}")
    if run("fork", "live-long", "--id", f"of-long-{number}", codes=(0, 3)).code == 0:
        run("delete", f"of-long-{number}", "--no-trash")  # else a message came in between
    run("delete", BRANCHED, CHAIN, WITH_DELEGATES)
    run("undo")
    run("delete", "big")
    run("undo")
    prune = ("prune", "--source", "cron", "--source", "oneshot")
    assert "another process has it open" in run(*prune, codes=(3,)).stderr
    run(*prune, "--force")
    run("undo")
    run("delete", f"new-{number}", f"of-chain-{number}", f"of-big-{number}")
    run("trash", "list")
    run("trash", "show")
    run("trash", "empty")


def rows(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows that do not belong to the sessions of the release."""
    names = ", ".join(f"'{name}'" for name in LIVE)
    tables = {
        "sessions": "id",
        "messages": "session_id",
        "session_model_usage": "session_id",
        "gateway_routing": "session_key",
        "telegram_dm_topic_bindings": "session_id",
    }
    with closing(sqlite3.connect(home / "state.db")) as connection:
        return {
            table: connection.execute(
                f"SELECT * FROM {table} WHERE {key} NOT IN ({names}) ORDER BY {key}, rowid"
            ).fetchall()
            for table, key in tables.items()
        }


def set_journal_mode(home: Path, mode: str) -> None:
    with closing(sqlite3.connect(home / "state.db")) as connection:
        assert connection.execute(f"PRAGMA journal_mode={mode}").fetchone() == (mode,)


def slowness() -> float:
    """Return how many times as long as alone a process takes now, since others want to run, too."""
    began, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < 0.05:
        pass
    return max(1.0, (time.perf_counter() - began) / 0.05)


def assert_nobody_was_hurt(
    request: pytest.FixtureRequest, home: Path, told: dict[str, Any], slow: float = 1.0
) -> None:
    """Check that the release was content, waited no second, and that all it wrote is there."""
    longest, appends = told["longest"], sum(told["written"].values())
    figures = {"appends": appends, "longest append": longest[-1], "slowness": slow}
    request.node.user_properties += figures.items()  # they are in the report of --junit-xml
    assert [text for text in told["complaints"] if "WAL-reset" not in text] == []
    assert longest[-1] < LONGEST * slow, (longest, slow)
    with closing(sqlite3.connect(home / "state.db")) as connection:
        for session_id, written in told["written"].items():
            texts = connection.execute(
                "SELECT content FROM messages WHERE session_id = ? ORDER BY id", (session_id,)
            )
            assert [int(text.split()[1]) for (text,) in texts] == list(range(written))
    assert run_peer(told["release"], HEALTH, home) == "3\n"  # "live-long" began before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "journal_mode"),
    [(NEW, "delete"), (NEW, "wal"), (OLD, "wal")],  # the older one makes every store WAL
)
def test_every_command_beside_a_release_that_writes(
    tmp_path: Path, release: str, journal_mode: str, request: pytest.FixtureRequest
) -> None:
    require(release)
    home = place_store(release, tmp_path / "home")
    run_peer(release, PREPARE, home)
    set_journal_mode(home, journal_mode)
    before, run = rows(home), runner(home, tmp_path)
    rounds, slow = 0, [slowness()]
    with running(release, WRITER, home, *LIVE) as writer:
        ends_at = time.monotonic() + LIVE_SECONDS
        while rounds == 0 or time.monotonic() < ends_at:
            one_of_each(run, rounds, can_hide=release == NEW)
            assert not writer.done(), writer.result()
            rounds += 1
            slow.append(slowness())
    told = {"release": release, **json.loads(writer.result())}
    assert_nobody_was_hurt(request, home, told, mean(slow))
    assert rows(home) == before
    assert (home / "state.db").read_bytes()[18] == (2 if journal_mode == "wal" else 1)


MANY = (
    """
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
    INSERT INTO sessions (id, source, started_at, ended_at, end_reason, message_count)
    SELECT 'many-' || i, 'webhook', 1700000000, 1700000000, 'webhook_complete', 120 FROM n""",
    """
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 11999)
    INSERT INTO messages (session_id, role, content, timestamp)
    SELECT 'many-' || (i / 120), 'user', 'turn ' || i || replace(hex(zeroblob(20)), '00', ' dingo'),
           1700000000 FROM n""",
)


@pytest.mark.slow
@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_release_has_its_turn_while_many_conversations_go_and_come_back(
    tmp_path: Path, journal_mode: str, request: pytest.FixtureRequest
) -> None:
    require(NEW)
    home = place_store(NEW, tmp_path / "home")
    with closing(sqlite3.connect(home / "state.db")) as connection:
        for statement in MANY:
            connection.execute(statement)
        connection.commit()
    set_journal_mode(home, journal_mode)
    before, run = rows(home), runner(home, tmp_path)
    with running(NEW, WRITER, home, *LIVE[:3]) as writer:
        run("prune", "--source", "webhook", "--force", "--max-delete", "1000")
        run("undo")
    told = {"release": NEW, **json.loads(writer.result())}
    assert_nobody_was_hurt(request, home, told)
    assert rows(home) == before


CLAIMS = """\
import os, sys, time
from pathlib import Path
from hermes_cli.active_sessions import try_acquire_active_session
from hermes_state import SessionDB
try:
    from hermes_state_pidns import holder_namespace_token
except ImportError:
    holder_namespace_token = str

home, holder = Path(os.environ["HERMES_HOME"]), f"pid={os.getpid()}{holder_namespace_token()}"
opened, turning, compressing = sys.argv[1:]
db, holders = SessionDB(), {}
has_leases = hasattr(db, "try_acquire_session_turn_lease")
if opened:
    holders[opened] = {}
    config = {"max_concurrent_sessions": 9}
    lease, refusal = try_acquire_active_session(session_id=opened, surface="tui", config=config)
    assert lease, refusal
if turning and has_leases:
    holders[turning] = {"turn_lease_holder": holder + ":turn=1"}
    assert db.try_acquire_session_turn_lease(turning, holder + ":turn=1")
if compressing:
    of_lock = holder + ":tid=1:agent=2:nonce=3"
    holders[compressing] = {"compression_lock_holder": of_lock} if has_leases else {}
    assert db.try_acquire_compression_lock(compressing, of_lock)
(home / "pid").write_text(str(os.getpid()))
(home / "writing").touch()
while not (home / "enough").exists():
    time.sleep(0.01)
for session_id, still_held in holders.items():
    db.append_message(session_id, "user", "still mine", **still_held)
os._exit(0)
"""

OPENED = "20250814_090000_00aa11"
TURNING, ITS_ROOT = "20251013_093000_00aa18", "20251013_080000_00aa17"
DELEGATE = "20260303_090100_d00002"
FREE, EMPTY = "20251003_090000_00aa12", "20260306_090000_0f0001"


@pytest.mark.parametrize("release", [NEW, OLD])
def test_R029_what_a_release_has_claimed_stays_and_the_rest_goes(
    tmp_path: Path, release: str
) -> None:
    require(release)
    home = place_store(release, tmp_path / "home")
    run, before = runner(home, tmp_path), rows(home)
    claimed = {OPENED, WITH_DELEGATES, *([TURNING] if release == NEW else [])}  # no leases then
    with running(release, CLAIMS, home, OPENED, TURNING, DELEGATE) as claims:
        pid = (home / "pid").read_text()
        for ref in (OPENED, WITH_DELEGATES, *([ITS_ROOT] if release == NEW else [])):
            assert f"(pid {pid})" in run("delete", FREE, ref, codes=(3,)).stderr
            assert rows(home) == before
        prune = ("prune", "--source", "cli", "--force", "--max-delete", "50", "--json")
        pruned = run(*prune).json
        assert pruned["kept"]["live now"] == len(claimed) - 1
        assert pruned["kept"]["with a live now delegate"] == 1
        assert claimed.isdisjoint(pruned["deleted"])
        assert {FREE, BRANCHED, EMPTY} <= set(pruned["deleted"])
    claims.result()  # it could write to what it had claimed
    left = [row[0] for row in rows(home)["sessions"]]
    assert claimed | {DELEGATE} <= set(left)
    assert set(pruned["deleted"]).isdisjoint(left)
    if release == NEW:  # it was killed, so its claims are written down still, but nobody has them
        run("delete", OPENED, TURNING, WITH_DELEGATES)


class Question(Terminal):
    """A person at a terminal, who says yes in the end."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def readline(self, _: int | None = -1, /) -> str:  # type: ignore[override]
        self._meanwhile()
        return "y\n"


MEANWHILE = {
    "written to": "db.append_message(it, 'user', 'one more thing')",
    "continued": """
db.reopen_session(it)
db.end_session(it, "compression")
db.create_session("next", "cli", parent_session_id=it)
db.append_message("next", "user", "still here")
""",
    "delegating": """
db.create_session("helper", "subagent", parent_session_id=it,
                  model_config={"_delegate_from": it})
""",
    "opened again": "db.reopen_session(it)",
    "pinned": "db.set_session_pinned(it, True)",
}
CLAIMED = ("open elsewhere", "in a turn", "compressing")
DELETE, PRUNE = ("delete", OPENED, FREE), ("prune", "--before", "2026-01-01", "--force")


@pytest.mark.parametrize(
    ("words", "event"),
    [
        *((words, event) for words in (DELETE, PRUNE) for event in CLAIMED),
        *((words, event) for words in (DELETE, PRUNE) for event in list(MEANWHILE)[:3]),
        *((PRUNE, event) for event in list(MEANWHILE)[3:]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_a_release_takes_up_while_the_question_is_open_stays(
    tmp_path: Path, words: tuple[str, ...], event: str
) -> None:
    require(NEW)
    home = place_store(NEW, tmp_path / "home")
    environ = {**os.environ, "HERMES_HOME": str(home)}
    out, err = Terminal(), Terminal()
    with ExitStack() as stack:

        def meanwhile() -> None:
            if event in MEANWHILE:
                script = f"from hermes_state import SessionDB\ndb, it = SessionDB(), '{OPENED}'\n"
                run_peer(NEW, f"{script}{MEANWHILE[event]}\ndb.close()", home)
            else:
                claim = [OPENED if event == way else "" for way in CLAIMED]
                stack.enter_context(running(NEW, CLAIMS, home, *claim))

        env = Env(Question(meanwhile), out, err, environ, time.time(), str(tmp_path))
        code = main([*words], env)
    why = "it changed since it was looked at" if event in MEANWHILE else "it is live: "
    assert f"kept {OPENED}: {why}" in err.getvalue()
    assert code == 1
    left = {row[0] for row in rows(home)["sessions"]}
    assert OPENED in left
    assert FREE not in left
