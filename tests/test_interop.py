"""Beside real Hermes releases: they write, they answer, and they must not notice that we read.

Each release tells the same story in a fresh home, by its own code and in its own way of doing
things. Then its own answers about that store are compared with ours; a difference is asserted with
its reason. The last tests read while a release is writing.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hermes_peer import run_peer
from hermes_sessions.cli.commands import BY_NAME
from hermes_sessions.errors import StoreBusy
from hermes_sessions.store.connect import open_store
from support import Cli, fingerprint
from tmux import wait_until
from witness import (
    NEW,
    OLD,
    peers_stay_where_they_are,  # noqa: F401 - a fixture for every test here
    require,
    running,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.interop

PLAIN = "20260901_090000_plain1"
CHAIN = ["20260901_100000_chain1", "20260901_110000_chain2", "20260901_120000_chain3"]
SOURCE = "20260902_090000_source"
BRANCH = "20260902_100000_branch"
DELEGATE = "20260902_110000_deleg1"
BEFORE_RESET = "20260903_090000_0000tele"
AFTER_RESET = "20260903_100000_0001tele"
ARCHIVED = "20260903_110000_archiv"
IMAGES = "20260904_090000_images"
IN_PLACE = "20260905_090000_inplac"
REWOUND = "20260906_090000_rewind"
EMPTY = "20260907_090000_empty1"
TOOL_RUN = "20260907_100000_tooltl"
CRON = "cron_0a1b2c_20260907_110000"
HIDDEN = "20260908_090000_hidden"

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted."

STORY = f"""\
from hermes_state import SessionDB

db = SessionDB()
is_new = hasattr(db, "publish_compression_child")


def talk(session_id, *texts):
    for number, text in enumerate(texts):
        db.append_message(session_id, "assistant" if number % 2 else "user", text)


def compacted(session_id, text):
    summary = {{"role": "user", "content": "{SUMMARY} " + text, "_compressed_summary": True}}
    return [summary, *db.get_messages_as_conversation(session_id)[-2:]]


def rotate(old, fresh, text):
    kept, title = compacted(old, text), db.get_session_title(old)
    if is_new:
        db.try_acquire_compression_lock(old, "pid=1:a test")
        db.publish_compression_child(
            parent_session_id=old, child_session_id=fresh, source="cli", messages=kept,
            compression_lock_holder="pid=1:a test",
            watermark=db.get_active_message_watermark(old),
        )
        db.release_compression_lock(old, "pid=1:a test")
        db.set_session_title(fresh, title)
    else:
        db.end_session(old, "compression")
        db.create_session(fresh, "cli", parent_session_id=old)
        db.set_session_title(fresh, db.get_next_title_in_lineage(title))
        db.replace_messages(fresh, kept)


def compact(session_id, text):
    options = {{"tail_count": 2}} if is_new else {{}}
    db.archive_and_compact(session_id, compacted(session_id, text), **options)


db.create_session("{PLAIN}", "cli", model="hermes-4", cwd="/home/dev/acme")
db.set_session_title("{PLAIN}", "flaky login")
db.append_message("{PLAIN}", "user", "Why is the login flaky?")
call = {{"name": "terminal", "arguments": '{{"command": "pytest"}}'}}
calls = [{{"id": "call_1", "type": "function", "function": call}}]
db.append_message("{PLAIN}", "assistant", "", tool_calls=calls)
db.append_message("{PLAIN}", "tool", "2 failed", tool_name="terminal", tool_call_id="call_1")
db.append_message("{PLAIN}", "assistant", "The clock skews.", reasoning="hm")
db.end_session("{PLAIN}", "cli_close")

db.create_session("{CHAIN[0]}", "cli", cwd="/home/dev/acme")
db.set_session_title("{CHAIN[0]}", "deploy plan")
talk("{CHAIN[0]}", "one", "first", "two", "second")
rotate("{CHAIN[0]}", "{CHAIN[1]}", "They counted.")
talk("{CHAIN[1]}", "three", "third")
rotate("{CHAIN[1]}", "{CHAIN[2]}", "They counted on.")
talk("{CHAIN[2]}", "four", "fourth")

db.create_session("{SOURCE}", "cli")
db.set_session_title("{SOURCE}", "ideas")
talk("{SOURCE}", "an idea", "a good one")
db.end_session("{SOURCE}", "branched")
db.create_session("{BRANCH}", "cli", parent_session_id="{SOURCE}",
                  model_config={{"_branched_from": "{SOURCE}"}})
talk("{BRANCH}", "an idea", "a good one", "another", "even better")
db.set_session_title("{BRANCH}", db.get_next_title_in_lineage("ideas"))

db.create_session("{DELEGATE}", "subagent", parent_session_id="{PLAIN}",
                  model_config={{"_delegate_from": "{PLAIN}"}})
talk("{DELEGATE}", "look it up", "found")

peer = {{"session_key": "telegram:7", "chat_id": "7", "chat_type": "dm", "user_id": "7"}}
db.create_session("{BEFORE_RESET}", "telegram", **peer)
talk("{BEFORE_RESET}", "good morning", "and to you")
db.promote_to_session_reset("{BEFORE_RESET}")
lineage = {{"parent_session_id": "{BEFORE_RESET}",
           "model_config": {{"_reset_from": "{BEFORE_RESET}"}}}}
db.create_session("{AFTER_RESET}", "telegram", **peer, **(lineage if is_new else {{}}))
talk("{AFTER_RESET}", "new topic", "what is it?")

db.create_session("{ARCHIVED}", "cli")
db.set_session_title("{ARCHIVED}", "put away")
talk("{ARCHIVED}", "old stuff", "indeed")
db.end_session("{ARCHIVED}", "cli_close")
db.set_session_archived("{ARCHIVED}", True)

db.create_session("{IMAGES}", "tui")
picture = {{"type": "image_url", "image_url": {{"url": "data:image/png;base64,aGVybWVz"}}}}
db.append_message("{IMAGES}", "user", [{{"type": "text", "text": "What is this?"}}, picture])
db.append_message("{IMAGES}", "assistant", "A tapir. 数据库 🌸")

db.create_session("{IN_PLACE}", "cli")
db.set_session_title("{IN_PLACE}", "100%_done")
talk("{IN_PLACE}", "alpha", "A", "beta", "B", "gamma", "C")
compact("{IN_PLACE}", "Greek letters.")
talk("{IN_PLACE}", "delta", "D")
compact("{IN_PLACE}", "More Greek letters.")
talk("{IN_PLACE}", "epsilon", "E")

db.create_session("{REWOUND}", "cli")
talk("{REWOUND}", "keep this", "kept")
taken = db.append_message("{REWOUND}", "user", "take this back")
db.append_message("{REWOUND}", "assistant", "taken back")
db.rewind_to_message("{REWOUND}", taken)
talk("{REWOUND}", "say it otherwise", "otherwise")

db.create_session("{EMPTY}", "cli")
db.create_session("{TOOL_RUN}", "tool")
talk("{TOOL_RUN}", "run", "ran")
db.create_session("{CRON}", "cron")
talk("{CRON}", "nightly", "done")
db.end_session("{CRON}", "cron_complete")
if is_new:
    db.create_session("{HIDDEN}", "tui")
    talk("{HIDDEN}", "psst", "yes?")
    db.set_session_hidden("{HIDDEN}", True)
    db.set_session_pinned("{PLAIN}", True)
db.close()
"""

ANSWERS = """\
import json
from hermes_state import SessionDB

db = SessionDB()
is_new = hasattr(db, "publish_compression_child")
with_hidden = {"include_hidden": True} if is_new else {}


def rows(**options):
    return db.list_sessions_rich(limit=1000, order_by_last_active=True, **options)


def transcript(session_id):
    if is_new:
        return db.get_messages(session_id, include_compacted=True, include_ancestors=True)
    return db.get_messages(session_id)


everything = rows(include_children=True, include_archived=True, **with_hidden)
ids = [row["id"] for row in everything]
titles = sorted({row["title"] for row in everything if row["title"]})
print(json.dumps({
    "shown": [row["id"] for row in rows(exclude_sources=["tool"])],
    "archived": [row["id"] for row in rows(archived_only=True)],
    "everything": ids,
    "rows": {row["id"]: row for row in rows(include_archived=True, **with_hidden)},
    "tips": {i: db.get_compression_tip(i) for i in ids},
    "lineages": {i: db.get_compression_lineage(i) for i in ids},
    "titles": {title: db.resolve_session_by_title(title) for title in titles},
    "prefixes": {start: db.resolve_session_id(start) for i in ids for start in (i, i[:13], i[:6])},
    "transcripts": {i: transcript(i) for i in ids},
}))
db.close()
"""

HEALTH = """\
from hermes_state import SessionDB

db = SessionDB()
integrity = db._conn.execute("PRAGMA integrity_check").fetchone()[0]
foreign = db._conn.execute("PRAGMA foreign_key_check").fetchall()
print(integrity, len(foreign), db.message_count(), len(db.list_sessions_rich(limit=1000)))
db.close()
"""

TRANSCRIPTS: dict[str, list[str]] = {
    PLAIN: ["Why is the login flaky?", "", "2 failed", "The clock skews."],
    CHAIN[-1]: [
        *("one", "first", "two", "second", f"{SUMMARY} They counted."),
        *("three", "third", f"{SUMMARY} They counted on.", "four", "fourth"),
    ],
    SOURCE: ["an idea", "a good one"],
    BRANCH: ["an idea", "a good one", "another", "even better"],
    DELEGATE: ["look it up", "found"],
    BEFORE_RESET: ["good morning", "and to you"],
    AFTER_RESET: ["new topic", "what is it?"],
    ARCHIVED: ["old stuff", "indeed"],
    IMAGES: ["What is this? [image]", "A tapir. 数据库 🌸"],
    IN_PLACE: [
        *("alpha", "A", "beta", "B", f"{SUMMARY} Greek letters.", "gamma", "C"),
        *(f"{SUMMARY} More Greek letters.", "delta", "D", "epsilon", "E"),
    ],
    REWOUND: ["keep this", "kept", "say it otherwise", "otherwise"],
    EMPTY: [],
    TOOL_RUN: ["run", "ran"],
    CRON: ["nightly", "done"],
    HIDDEN: ["psst", "yes?"],
}
"""What was said, each thing once, however a release keeps it in its rows."""

TRANSCRIPTS_OF_THE_OLD = TRANSCRIPTS | {
    # What a compaction carries over keeps its place before the summary: the newer release takes
    # the originals back and leaves the copies that follow the summary.
    IN_PLACE: [
        *("alpha", "A", "beta", "B", "gamma", "C", f"{SUMMARY} Greek letters."),
        *("delta", "D", f"{SUMMARY} More Greek letters.", "epsilon", "E"),
    ]
}


class Told(NamedTuple):
    """A release that has told the story, where, and what it answers about it.

    Attributes:
        health: what it finds when it opens its store: integrity, broken references, sizes.
    """

    release: str
    home: Path
    answers: dict[str, Any]
    health: str

    @property
    def transcripts(self) -> dict[str, list[str]]:
        return TRANSCRIPTS if self.release == NEW else TRANSCRIPTS_OF_THE_OLD


@pytest.fixture(scope="module", params=[NEW, OLD])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    release = require(str(request.param))
    home = tmp_path_factory.mktemp(f"told-by-{release}-")
    run_peer(release, STORY, home)
    answers = json.loads(run_peer(release, ANSWERS, home))
    return Told(release, home, answers, run_peer(release, HEALTH, home))


@pytest.fixture
def cli(told: Told, tmp_path: Path) -> Iterator[Cli]:
    """A runner on the home of the story; it must leave it as it is."""
    before = fingerprint(told.home)
    yield runner(told.home, tmp_path)
    assert fingerprint(told.home) == before


def runner(home: Path, cwd: Path) -> Cli:
    """Return a runner whose clock shows the time at which the releases write."""
    cli = Cli(home, {**os.environ, "HERMES_HOME": str(home)}, cwd)
    cli.now = time.time()
    return cli


def everything(cli: Cli) -> dict[str, dict[str, Any]]:
    rows = cli("list", "-n", "0", "--all", "--json").ok().json
    return {row["id"]: row for row in rows}


# The same answers


def test_visible_conversations_and_their_order(cli: Cli, told: Told) -> None:
    assert cli("list", "-n", "0", "--ids").ok().lines == told.answers["shown"]


def test_archived_conversations(cli: Cli, told: Told) -> None:
    ours = cli("list", "-n", "0", "--archived", "--ids").ok().lines
    assert ours == told.answers["archived"] == [ARCHIVED]


def test_every_session_is_in_one_conversation_and_they_are_in_order(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    segments = [segment for row in ours.values() for segment in row["segment_ids"]]
    assert sorted(segments) == sorted(told.answers["everything"])
    assert list(ours) == [i for i in told.answers["everything"] if i in ours]


def test_rows(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    for identifier, theirs in told.answers["rows"].items():
        mine = ours[identifier]
        for field in (
            *("title", "source", "model", "started_at", "ended_at", "end_reason"),
            *("last_active", "parent_session_id", "tool_call_count"),
        ):
            assert mine[field] == theirs[field], (identifier, field)
        assert mine["_lineage_root_id"] == theirs.get("_lineage_root_id")
        for flag in {"archived", "hidden", "pinned"} & theirs.keys():
            assert mine[flag] is bool(theirs[flag]), (identifier, flag)


def test_directories(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    for identifier, theirs in told.answers["rows"].items():
        if identifier == CHAIN[-1] and told.release == OLD:
            # It forgets the directory when it continues a conversation; the root has it (R057).
            assert theirs["cwd"] is None
            assert ours[identifier]["cwd"] == "/home/dev/acme"
        else:
            assert ours[identifier]["cwd"] == theirs["cwd"]


def test_previews(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    for identifier, theirs in told.answers["rows"].items():
        if identifier == IMAGES:
            # Their SQL stops at the NUL byte of a structured message (R044).
            assert theirs["preview"] == ""
            assert ours[identifier]["preview"] == "What is this? [image]"
        else:
            assert ours[identifier]["preview"] == theirs["preview"]


def test_message_counts(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    for identifier, theirs in told.answers["rows"].items():
        mine = ours[identifier]["message_count"]
        assert mine == len(told.transcripts[identifier])
        if identifier in {CHAIN[-1], IN_PLACE}:
            # Theirs is what the model still sees: a summary and the turns since.
            assert theirs["message_count"] == 5
        elif identifier == REWOUND and told.release == OLD:
            # It does not take back what it had counted.
            assert theirs["message_count"] == mine + 2
        else:
            assert mine == theirs["message_count"]


def test_kinds_and_parents(cli: Cli, told: Told) -> None:
    kinds = {i: (row["kind"], row["parent_session_id"]) for i, row in everything(cli).items()}
    expected = dict.fromkeys(kinds, ("root", None)) | {
        BRANCH: ("branch", SOURCE),
        DELEGATE: ("delegate", PLAIN),
    }
    if told.release == NEW:  # the older one starts anew after a reset, without a parent
        expected[AFTER_RESET] = ("reset", BEFORE_RESET)
    assert kinds == expected


def test_every_segment_leads_to_the_tip(cli: Cli, told: Told) -> None:
    ours = everything(cli)
    for member, tip in told.answers["tips"].items():
        assert cli("which", member).ok().stdout == f"{tip}\n"
        assert ours[tip]["segment_ids"] == told.answers["lineages"][member]
    assert ours[CHAIN[-1]]["segment_ids"] == CHAIN


def test_titles_resolve(cli: Cli, told: Told) -> None:
    assert len(told.answers["titles"]) >= 6
    for title, session_id in told.answers["titles"].items():
        # They give the session that has the title, we its conversation.
        tip = told.answers["tips"][session_id]
        assert cli("which", title).ok().stdout == f"{tip}\n"


def test_ids_and_their_beginnings_resolve(cli: Cli, told: Told) -> None:
    for start, session_id in told.answers["prefixes"].items():
        outcome = cli("which", start)
        if session_id is not None:
            assert outcome.ok().stdout == f"{told.answers['tips'][session_id]}\n"
        else:
            # They say that there is none where there are several.
            assert outcome.code == 2, start
            assert "matches" in outcome.stderr
    assert None in told.answers["prefixes"].values()


def test_transcripts(cli: Cli, told: Told) -> None:
    for identifier in everything(cli):
        messages = cli("show", identifier, "-t", "--json=id").ok().json["messages"]
        assert [message["content"] for message in messages] == told.transcripts[identifier]
        theirs = told.answers["transcripts"][identifier]
        if told.release == OLD and identifier in {CHAIN[-1], IN_PLACE}:
            # It has no transcript for people: this is what the model still sees.
            tail = told.transcripts[identifier][-2:]
            assert [message["content"] for message in theirs[-2:]] == tail
            continue
        assert [m["id"] for m in messages] == [m["id"] for m in theirs]
        assert [m["role"] for m in messages] == [m["role"] for m in theirs]
        assert [m["timestamp"] for m in messages] == [m["timestamp"] for m in theirs]
        assert [m["tool_name"] for m in messages] == [m["tool_name"] for m in theirs]
        if identifier != IMAGES:  # ours is text, as a person reads it
            assert [m["content"] for m in messages] == [m["content"] for m in theirs]


# Reading harms nobody

READING = [
    words
    for words in (
        ("list",),
        ("list", "--all", "-n", "0", "--json"),
        ("list", "--tree"),
        ("show", CHAIN[0]),
        ("show", IN_PLACE, "--transcript"),
        ("show", PLAIN, "--json"),
        ("search", "login"),
        ("which", "deploy plan"),
        ("resume", "latest", "--print"),
        ("resume", "latest", "--dry-run"),
        ("workspaces",),
        ("stats",),
        ("doctor",),
        ("where",),
    )
    if words[0] in BY_NAME
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_after_a_reading_command_the_release_finds_its_store_whole(
    cli: Cli, told: Told, words: Sequence[str]
) -> None:
    outcome = cli(*words)
    assert outcome.code == 0 or words[0] == "doctor", outcome  # it may find the WAL-reset bug
    assert run_peer(told.release, HEALTH, told.home) == told.health
    assert told.health.startswith("ok 0 ")


# Reading while a release writes

WRITER = """\
import json, logging, os, sys, time
from pathlib import Path
from hermes_state import SessionDB

complaints = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: complaints.append(record.getMessage())
logging.getLogger().addHandler(handler)
home, comes_and_goes = Path(os.environ["HERMES_HOME"]), sys.argv[1] == "comes and goes"

db = SessionDB()
db.create_session("live", "cli")
written = 0
while not (home / "enough").exists():
    if comes_and_goes:
        db.close()
        db = SessionDB()
    db.append_message("live", "assistant" if written % 2 else "user", f"turn {written}")
    written += 1
    (home / "writing").touch()
    time.sleep(0.005)
db.close()
print(json.dumps({"written": written, "complaints": complaints}))
"""


def fresh_home(release: str, home: Path, journal_mode: str) -> Path:
    """Make an empty store with this journal mode; the mode is a property of the file."""
    home.mkdir()
    run_peer(release, "from hermes_state import SessionDB\nSessionDB().close()", home)
    connection = sqlite3.connect(home / "state.db")
    try:
        (mode,) = connection.execute(f"PRAGMA journal_mode={journal_mode}").fetchone()
    finally:
        connection.close()
    assert mode == journal_mode
    return home


def inodes(home: Path) -> dict[str, int]:
    """The files that an open store keeps; a rollback journal comes and goes with each write."""
    found = {}
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        with suppress(FileNotFoundError):
            found[name] = (home / name).stat().st_ino
    return found


@pytest.mark.slow
@pytest.mark.parametrize("manner", ["stays", "comes and goes"])
@pytest.mark.parametrize(
    ("release", "journal_mode"),
    [(NEW, "delete"), (NEW, "wal"), (OLD, "wal")],  # the older one makes every store WAL
)
def test_R103_reading_while_a_release_writes(
    tmp_path: Path, release: str, journal_mode: str, manner: str
) -> None:
    require(release)
    home = fresh_home(release, tmp_path / "home", journal_mode)
    cli = runner(home, tmp_path)
    with running(release, WRITER, home, manner) as writer:
        first, seen = inodes(home), 0
        assert manner != "stays" or len(first) == (3 if journal_mode == "wal" else 1)
        ends_at = time.monotonic() + 5
        while time.monotonic() < ends_at:
            assert not writer.done(), writer.result()
            (row,) = cli("list", "--json").ok().json
            shown = cli("show", "live", "--transcript", "--json=id").ok().json["messages"]
            assert seen <= row["message_count"] <= len(shown)
            seen = len(shown)
            assert [m["content"] for m in shown] == [f"turn {number}" for number in range(seen)]
            assert cli("list").stderr == cli("show", "live").stderr == ""
            assert manner != "stays" or inodes(home) == first
    told = json.loads(writer.result())
    assert seen > 50
    assert seen <= told["written"]
    assert [text for text in told["complaints"] if "WAL-reset" not in text] == []
    assert run_peer(release, HEALTH, home).split() == ["ok", "0", str(told["written"]), "1"]
    assert (home / "state.db").read_bytes()[18] == (2 if journal_mode == "wal" else 1)


APPEND = """\
import os, sys, time
from pathlib import Path
from hermes_state import SessionDB

home = Path(os.environ["HERMES_HOME"])
db = SessionDB()
(home / "writing").touch()
while sys.argv[2:] and not (home / sys.argv[2]).exists():
    time.sleep(0.01)
db.create_session(sys.argv[1], "cli")
for number in range(300):
    db.append_message(sys.argv[1], "user", f"turn {number} " + "x" * 400)
(home / f"{sys.argv[1]} is written").touch()
while sys.argv[2:] and not (home / "enough").exists():
    time.sleep(0.01)
db.close()
"""


def read_around(home: Path, meanwhile: Callable[[], object]) -> None:
    """Read a store of 300 messages, let 300 more come, and read on: right, or not at all."""
    try:
        with open_store(home / "state.db") as store:
            assert store.value("SELECT count(*) FROM messages") == 300
            meanwhile()
            rows = store.rows("SELECT content FROM messages ORDER BY id")
            counted = store.value("SELECT count(*) FROM messages")
    except StoreBusy:
        return  # that is honest too: it changed while it was read
    assert len(rows) == counted
    assert counted in {300, 600}
    numbers = [str(content).split()[1] for (content,) in rows]
    assert numbers == [str(number % 300) for number in range(len(rows))]


@pytest.mark.parametrize("release", [NEW, OLD])
def test_a_store_that_a_release_opens_while_it_is_read_is_not_misread(
    tmp_path: Path, release: str
) -> None:
    require(release)
    home = fresh_home(release, tmp_path / "home", "wal")
    run_peer(release, APPEND, home, "before")
    read_around(home, lambda: run_peer(release, APPEND, home, "meanwhile"))
    assert inodes(home).keys() == {"state.db"}  # and we have left nothing beside it


@pytest.mark.parametrize("release", [NEW, OLD])
def test_a_store_that_a_release_has_open_and_idle_is_not_misread(
    tmp_path: Path, release: str
) -> None:
    require(release)
    home = fresh_home(release, tmp_path / "home", "wal")
    run_peer(release, APPEND, home, "before")
    (home / "writing").unlink()
    with running(release, APPEND, home, "meanwhile", "go") as writer:

        def write() -> None:
            (home / "go").touch()
            wait_until((home / "meanwhile is written").exists, lambda: "nothing is written")

        assert not writer.done(), writer.result()
        read_around(home, write)
    writer.result()


CLAIMS = f"""\
import os, time
from pathlib import Path
from hermes_cli.active_sessions import try_acquire_active_session
from hermes_state import SessionDB
from hermes_state_pidns import holder_namespace_token

home, holder = Path(os.environ["HERMES_HOME"]), f"pid={{os.getpid()}}{{holder_namespace_token()}}"
db = SessionDB()
lease, refusal = try_acquire_active_session(session_id="{PLAIN}", surface="tui", config={{}})
assert lease, refusal
assert db.try_acquire_session_turn_lease("{CHAIN[-1]}", holder + ":turn=1")
assert db.try_acquire_compression_lock("{IN_PLACE}", holder + ":tid=1:agent=2:nonce=3")
(home / "writing").touch()
while not (home / "enough").exists():
    time.sleep(0.01)
print(os.getpid(), flush=True)
os._exit(0)
"""


def test_R029_what_a_running_release_has_open_is_live_until_it_ends(tmp_path: Path) -> None:
    require(NEW)
    home = tmp_path / "home"
    run_peer(NEW, STORY, home)
    cli = runner(home, tmp_path)
    with running(NEW, CLAIMS, home) as claims:
        assert not claims.done(), claims.result()
        live = {i: row["live"]["holder"] for i, row in everything(cli).items() if row["live"]}
        refused = cli("resume", PLAIN)
    pid = claims.result().strip()
    assert live == {
        PLAIN: f"tui (pid {pid})",
        CHAIN[-1]: f"in a turn (pid {pid})",
        IN_PLACE: f"compressing (pid {pid})",
    }
    assert refused.code == 3
    assert pid in refused.stderr
    # It was killed, so its claims are still written down, and nobody holds them.
    assert [row["live"] for row in everything(cli).values()] == [None] * len(everything(cli))
