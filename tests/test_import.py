"""What was exported comes back: from us, from Hermes, and from other agents (contract §9)."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from hermes_peer import PeerUnavailable, cache_dir, peer_path, run_peer
from hermes_sessions.cli.metered import Meter
from support import CLOCK, DAMAGED, STORES, Cli, edit, fingerprint, place_store
from test_list import message
from test_search import chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
EMPTY = "DELETE FROM {table}"


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Cli]:
    """Make a runner for a copy of a store."""
    number = 0

    def make(name: str = "0.22.2", change: Callable[[Path], None] | None = None) -> Cli:
        nonlocal number
        number += 1
        home = place_store(name, tmp_path / f"home{number}")
        if change:
            change(home / "state.db")
        (tmp_path / "work").mkdir(exist_ok=True)
        return Cli(home, {**os.environ, "HERMES_HOME": str(home)}, tmp_path / "work")

    return make


@pytest.fixture
def empty(made: Callable[..., Cli]) -> Cli:
    """A runner on a real store of 0.22.2 with nothing in it."""
    tables = ("messages", "session_model_usage", "sessions", "system_prompts", "gateway_routing",
              "async_delegations", "session_turn_leases", "compression_locks")  # fmt: skip
    return made(change=edit(*(f"DELETE FROM {table}" for table in tables)))


def records_of(cli: Cli, target: Path) -> dict[str, dict[str, Any]]:
    (cli.home / "config.yaml").write_text("sessions:\n  max_export_messages: 0\n")
    cli("export", str(target), "--force").ok()
    lines = target.read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines)}


@pytest.mark.parametrize("name", READABLE)
def test_R082_there_and_back(
    made: Callable[..., Cli], empty: Cli, tmp_path: Path, name: str
) -> None:
    before = records_of(made(name), tmp_path / "before.jsonl")
    outcome = empty("import", str(tmp_path / "before.jsonl"), "--yes", "--json").ok()
    assert len(outcome.json["imported"]) == len(before)
    after = records_of(empty, tmp_path / "after.jsonl")
    there = set(before)
    for session_id, record in before.items():
        for key, value in record.items():
            if key == "parent_session_id" and value not in there:
                assert after[session_id][key] is None
            elif key == "title" and name == "duplicate-titles":
                assert after[session_id][key].startswith(value) if value else True
            elif key == "messages":
                assert_equal_messages(after[session_id][key], value)
            elif key in after[session_id] and key != "timings":
                assert after[session_id][key] == value, (session_id, key)
    connection = sqlite3.connect(empty.home / "state.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    again = empty("import", str(tmp_path / "before.jsonl"), "--yes", "--json").ok()
    assert (again.json["imported"], len(again.json["skipped"])) == (None, len(before))


def assert_equal_messages(after: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    assert len(after) == len(before)
    for new, old in zip(after, before, strict=True):
        for key, value in old.items():
            if key == "active" and value is None:
                assert new[key] in {None, True}
            elif not (key == "message_uid" and value is None):
                assert new.get(key) == value or key not in new, key


def test_a_bad_line_rejects_the_whole_file(empty: Cli, tmp_path: Path) -> None:
    good = json.dumps({"id": "good", "source": "cli", "started_at": 1.0, "messages": []})
    for bad in (
        "{",
        "[]",
        '{"source": "cli"}',
        '{"id": 7}',
        '{"id": "x", "messages": 3}',
        '{"id": "x", "messages": [1]}',
        '{"id": "x", "messages": [{"content": "no role"}]}',
        '{"id": "x", "started_at": 1e999}',
        '{"id": "x", "message_count": 99999999999999999999}',
        '{"id": "good"}',
        '{"id": "x", "title": 5}',
    ):
        path = tmp_path / "bad.jsonl"
        path.write_text(f"{good}\n{bad}\n", encoding="utf-8")
        before = fingerprint(empty.home)
        outcome = empty("import", str(path), "--yes")
        assert outcome.code == 1, bad
        assert "line 2" in outcome.stderr
        assert fingerprint(empty.home) == before
    assert empty("import", str(tmp_path / "none.jsonl"), "--yes").code == 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b'{"id": "x"}'), ("it is compressed", "gunzip -c FILE | hermes-sessions")),
        (b"SQLite format 3\0" + bytes(84), ("it is a store", "--db FILE export")),
        (b"PK\x03\x04" + bytes(26), ("it is a zip archive", "unpack it")),
        (b"<!DOCTYPE html>\n<html>\n", ("no line of it is JSON", "export --format jsonl")),
        (b"---\nsession_id: x\n---\n", ("no line of it is JSON", "export --format jsonl")),
        (b'{"id": "x"}\n{"id": "y", "mess', ("line 2", "the file ends in the middle of it")),
        (b"\xff\xfe{\x00", ("it is no JSON",)),
    ],
)
def test_what_is_no_backup_is_named(
    empty: Cli, tmp_path: Path, data: bytes, said: tuple[str, ...]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    before = fingerprint(empty.home)
    outcome = empty("import", str(path), "--yes")
    assert outcome.code == 1
    assert len(outcome.stderr.splitlines()) <= 3
    for each in said:
        assert each in outcome.stderr
    assert fingerprint(empty.home) == before


def test_what_is_interrupted_goes_on(
    made: Callable[..., Cli], empty: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = records_of(made(), tmp_path / "all.jsonl")
    finish = Meter.finish_one

    def finish_three(meter: Meter) -> None:
        finish(meter)
        if meter.said().startswith("3 of"):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Meter, "finish_one", finish_three)
        outcome = empty("import", str(tmp_path / "all.jsonl"), "--yes")
    assert outcome.code == 130
    assert f"stopped after 3 of {len(before)} sessions; import it again" in outcome.stderr
    empty("import", str(tmp_path / "all.jsonl"), "--yes").ok()
    assert records_of(empty, tmp_path / "after.jsonl").keys() == before.keys()


def test_an_empty_file_is_nothing_to_do(empty: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert empty("import", str(tmp_path / "file")).ok().stderr.endswith("the file is empty\n")


def test_limits(empty: Cli, tmp_path: Path) -> None:
    (empty.home / "config.yaml").write_text("sessions:\n  max_import_messages: 1\n")
    path = tmp_path / "two.jsonl"
    said = [{"role": "user", "content": "a", "timestamp": 1.0}] * 2
    path.write_text(json.dumps({"id": "x", "started_at": 1.0, "messages": said}))
    assert "max_import_messages" in empty("import", str(path), "--yes").stderr
    (empty.home / "config.yaml").write_text("sessions:\n  max_import_messages: 0\n")
    empty("import", str(path), "--yes").ok()


def test_conflicts(made: Callable[..., Cli], tmp_path: Path) -> None:
    source = made(
        change=edit(
            *chat("mine", "the quokka", title="taken"),
            *chat("child", "hello", parent_session_id="mine",
                  model_config='{"_branched_from": "mine"}'),
        )
    )  # fmt: skip
    path = tmp_path / "two.jsonl"
    source("export", str(path), "--title", "taken").ok()
    source("export", str(tmp_path / "child.jsonl"), "--session-id", "child").ok()
    other = made(change=edit(*chat("other", "hi", "ho", title="taken")))
    outcome = other("import", str(path), "--yes").ok()
    assert "taken #2" in outcome.stderr
    assert "new numbers" in outcome.stderr
    assert other("search", "quokka", "--newer-than", "1d", "--ids").ok().lines == ["mine"]
    assert other("import", str(path), "--yes").ok().stderr.startswith("nothing to do")
    many = made(change=edit(*(line for n in range(5) for line in chat(f"n{n}", "a", "b"))))
    many("export", str(tmp_path / "many.jsonl"), "--newer-than", "1d").ok()
    outcome = made(change=edit(*chat("full", *"abcdefghijkl")))(
        "import", str(tmp_path / "many.jsonl"), "--yes", "--json"
    ).ok()
    assert len(outcome.json["renumbered"]) == len(outcome.json["imported"]) == 5
    assert outcome.stderr == "the messages of 5 sessions have new numbers: theirs are taken\n"
    lonely = made()
    shown = lonely("import", str(tmp_path / "child.jsonl"), "--dry-run").ok()
    assert "child" in shown.stdout
    assert "hung off" in lonely("import", str(tmp_path / "child.jsonl"), "--yes").ok().stderr
    assert "child" in lonely("list", "--ids", "-n", "0").ok().lines


@pytest.fixture(scope="module")
def peers() -> Iterator[None]:
    """The place of the releases must not follow the home that each test makes up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_PEERS_DIR", str(cache_dir()))
        for release in ("0.22.2", "0.19.0"):
            try:
                peer_path(release)
            except PeerUnavailable as reason:
                if os.environ.get("CI"):
                    raise
                pytest.skip(str(reason))
        yield


TAKE = """\
import json, sys
from hermes_state import SessionDB
db = SessionDB()
records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
print(json.dumps(db.import_sessions(records)))
"""

GIVE = """\
import json, sys
from hermes_state import SessionDB
db = SessionDB()
try:
    records = db.export_all(include_inactive=True)
except TypeError:
    records = db.export_all()
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False) + "\\n")
"""


@pytest.mark.interop
@pytest.mark.parametrize("name", ["0.22.2", "0.19.0", "0.13.0"])
def test_hermes_takes_our_backup(
    peers: None, made: Callable[..., Cli], tmp_path: Path, name: str
) -> None:
    before = records_of(made(name), tmp_path / "ours.jsonl")
    home = tmp_path / "hermes"
    answer = json.loads(run_peer("0.22.2", TAKE, home, str(tmp_path / "ours.jsonl")))
    assert answer["ok"], answer["errors"][:3]
    assert answer["imported"] == len(before)
    after = records_of(Cli(home, {**os.environ, "HERMES_HOME": str(home)}, tmp_path),
                       tmp_path / "after.jsonl")  # fmt: skip
    for session_id, record in before.items():
        assert after[session_id].get("archived", False) == record.get("archived", False)
        said = [(m["role"], m["content"], m["timestamp"]) for m in record["messages"]]
        assert [
            (m["role"], m["content"], m["timestamp"]) for m in after[session_id]["messages"]
        ] == said


@pytest.mark.interop
@pytest.mark.parametrize("release", ["0.22.2", "0.19.0"])
def test_we_take_the_backup_of_hermes(
    peers: None, made: Callable[..., Cli], empty: Cli, tmp_path: Path, release: str
) -> None:
    home = place_store(release, tmp_path / "hermes")
    run_peer(release, GIVE, home, str(tmp_path / "theirs.jsonl"))
    written = (tmp_path / "theirs.jsonl").read_text(encoding="utf-8")
    theirs = list(map(json.loads, written.splitlines()))
    empty("import", str(tmp_path / "theirs.jsonl"), "--yes").ok()
    after = records_of(empty, tmp_path / "after.jsonl")
    for record in theirs:
        mine = after[record["id"]]
        assert mine["title"] == record["title"]
        assert mine["started_at"] == record["started_at"]
        assert said_in(mine) == said_in(record)


def said_in(record: dict[str, Any]) -> list[tuple[object, ...]]:
    return [(m["role"], m["content"], m["timestamp"]) for m in record["messages"]]


def said_to_codex(seconds: range) -> str:
    """Write a transcript of Codex: a message a second, of the user and of the program in turn."""
    head = line(timestamp="2026-01-02T03:04:00Z", type="session_meta", payload={"id": "abc"})
    return head + "".join(
        line(
            timestamp=f"2026-01-02T03:04:{second:02}Z",
            type="response_item",
            payload={
                "type": "message",
                "role": ("user", "assistant")[second % 2],
                "content": [{"type": "input_text", "text": f"said at {second}"}],
            },
        )
        for second in seconds
    )


def test_a_transcript_that_has_grown_is_not_passed_over_in_silence(
    empty: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "rollout.jsonl"
    words = ("import", str(path), "--from", "codex", "--yes")
    path.write_text(said_to_codex(range(4)))
    (session_id,) = empty(*words, "--json").ok().json["imported"]
    same = empty(*words).ok()
    assert same.stderr == "nothing to do: 1 session is there already\n"
    edit(*(message(session_id, CLOCK + n, f"on in Hermes {n}") for n in range(9)))(
        empty.home / "state.db"
    )  # now the store has more of it than the file
    path.write_text(said_to_codex(range(7)))
    grown = empty(*words).ok()
    assert f"{session_id}: 3 more messages in the file than in the store" in grown.stderr
    assert "not imported (the conversation was imported before)" in grown.stderr
    assert "hint: to get them, delete" in grown.stderr
    assert "there already and has more in the file" in grown.stderr
    told = empty(*words, "--json").ok().json
    assert told["grown"] == [{"id": session_id, "messages": 3}]
    assert (told["sessions"], told["skipped"]) == (0, [session_id])
    empty("delete", session_id, "--yes").ok()
    assert empty(*words, "--json").ok().json["grown"] == []
    assert empty("show", session_id, "--json").ok().json["message_count"] == 7


def test_a_newer_backup_says_what_it_has_more(
    made: Callable[..., Cli], empty: Cli, tmp_path: Path
) -> None:
    laptop, path = made(change=edit(*chat("one", "a"), *chat("two", "b"))), tmp_path / "both.jsonl"
    words = ("import", str(path), "--yes")
    laptop("export", str(path), "--newer-than", "1d").ok()
    empty(*words).ok()
    edit(message("two", CLOCK, "c"), *chat("three", "d"))(laptop.home / "state.db")
    laptop("export", str(path), "--newer-than", "1d", "--force").ok()
    outcome = empty(*words, "--json").ok()
    assert outcome.json["imported"] == ["three"]
    assert outcome.json["grown"] == [{"id": "two", "messages": 1}]
    assert outcome.stderr.count("not imported") == 1


def line(**values: object) -> str:
    return json.dumps(values) + "\n"


def test_a_transcript_of_claude_code(empty: Cli, tmp_path: Path) -> None:
    common = {"sessionId": "11-22", "cwd": "/work/app", "gitBranch": "main"}
    path = tmp_path / "claude.jsonl"
    path.write_text(
        line(type="summary", summary="whatever")
        + line(type="user", timestamp="2026-01-02T03:04:05.000Z", **common,
               message={"role": "user", "content": "fix the ocelot bug"})
        + line(type="user", isMeta=True, timestamp="2026-01-02T03:04:05.100Z", **common,
               message={"role": "user", "content": "<command-name>no</command-name>"})
        + line(type="assistant", timestamp="2026-01-02T03:04:06.000Z", **common,
               message={"id": "m1", "role": "assistant", "model": "claude-x",
                        "content": [{"type": "thinking", "thinking": "hmm"}]})
        + line(type="assistant", timestamp="2026-01-02T03:04:07.000Z", **common,
               message={"id": "m1", "role": "assistant", "model": "claude-x", "content": [
                   {"type": "text", "text": "Looking."},
                   {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]})
        + line(type="user", timestamp="2026-01-02T03:04:08.000Z", **common,
               message={"role": "user", "content": [
                   {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]})
        + line(type="assistant", isSidechain=True, timestamp="2026-01-02T03:04:09.000Z", **common,
               message={"role": "assistant", "content": "side"})
        + line(type="assistant", timestamp="2026-01-02T03:04:10.000Z", **common,
               message={"id": "m2", "role": "assistant", "content": [
                   {"type": "text", "text": "Done."}]}),
        encoding="utf-8",
    )  # fmt: skip
    outcome = empty("import", str(path), "--from", "claude", "--yes", "--json").ok()
    (session_id,) = outcome.json["imported"]
    again = empty("import", str(path), "--from", "claude", "--yes", "--json").ok()
    assert again.json["skipped"] == [session_id]
    (record,) = records_of(empty, tmp_path / "out.jsonl").values()
    assert (record["source"], record["cwd"]) == ("claude-code", "/work/app")
    assert record["title"] == "Imported from Claude Code: fix the ocelot bug"
    said = [(m["role"], m["content"]) for m in record["messages"]]
    assert said == [("user", "fix the ocelot bug"), ("assistant", "Looking."), ("tool", "a.py"),
                    ("assistant", "Done.")]  # fmt: skip
    assert record["messages"][1]["tool_calls"][0]["function"]["name"] == "Bash"
    assert record["messages"][1]["reasoning"] == "hmm"
    assert record["messages"][2]["tool_name"] == "Bash"
    assert record["messages"][0]["timestamp"] == 1767323045.0
    origin = json.loads(record["origin_json"])["imported_from"]
    assert origin["foreign_session_id"] == "11-22"
    assert empty("search", "ocelot", "--ids").ok().lines == [session_id]


def test_a_transcript_of_codex(empty: Cli, tmp_path: Path) -> None:
    def item(second: int, **payload: object) -> str:
        return line(
            timestamp=f"2026-01-02T03:04:{second:02}Z", type="response_item", payload=payload
        )

    path = tmp_path / "rollout.jsonl"
    path.write_text(
        line(timestamp="2026-01-02T03:04:00Z", type="session_meta",
             payload={"id": "abc", "cwd": "/work/x", "git": {"branch": "dev"}})
        + item(1, type="message", role="user", content=[
            {"type": "input_text", "text": "<environment_context>x</environment_context>"}])
        + item(2, type="message", role="user", content=[
            {"type": "input_text", "text": "rename the module"}])
        + item(3, type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1")
        + item(4, type="function_call_output", call_id="c1", output="a.py")
        + item(5, type="message", role="assistant", content=[
            {"type": "output_text", "text": "Renamed."}])
        + line(timestamp="2026-01-02T03:04:05Z", type="event_msg", payload={"type": "x"})
        + '{"cut',
        encoding="utf-8",
    )  # fmt: skip
    empty("import", str(path), "--from", "codex", "--yes").ok()
    (record,) = records_of(empty, tmp_path / "out.jsonl").values()
    assert (record["source"], record["git_branch"]) == ("codex-cli", "dev")
    assert [m["role"] for m in record["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert record["messages"][2]["tool_name"] == "shell"
    assert empty("import", str(tmp_path / "out.jsonl"), "--from", "codex", "--yes").code == 1
