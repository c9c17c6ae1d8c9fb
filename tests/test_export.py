"""Exports hold what they should, nothing more, and leave nothing half written (contract §9)."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

import hermes_sessions
from hermes_sessions.cli.app import main
from hermes_sessions.content import plain_text
from hermes_sessions.context import Env
from hermes_sessions.export.markdown_safety import code_block, quote
from hermes_sessions.export.records import MessageShape
from hermes_sessions.json_lines import to_text
from hermes_sessions.render import progress
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.messages import load_transcript
from hermes_sessions.store.stored_rows import StoredRows, all_session_ids
from hermes_sessions.text import neutralise
from support import CLOCK, DAMAGED, RELEASES, STORES, Cli, Terminal, edit, place_store
from test_list import CHAIN, message, session, structured_message
from test_search import chat

if TYPE_CHECKING:
    from collections.abc import Callable

READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
SCHEMA = Path(hermes_sessions.__file__).parent / "export" / "session.schema.json"


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


def stored(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of messages by session."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in connection.execute("SELECT * FROM messages ORDER BY id"):
        found.setdefault(row["session_id"], []).append(dict(row))
    connection.close()
    return found


@pytest.mark.parametrize("name", READABLE)
def test_R084_a_backup_has_every_row(made: Callable[..., Cli], tmp_path: Path, name: str) -> None:
    cli = made(name)
    target = tmp_path / "all.jsonl"
    cli("export", str(target)).ok()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    records = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    rows = stored(cli.home / "state.db")
    connection = sqlite3.connect(cli.home / "state.db")
    sessions = {str(row[0]) for row in connection.execute("SELECT id FROM sessions")}
    connection.close()
    assert {record["id"] for record in records} == sessions
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    for record in records:
        assert not list(validator.iter_errors(record)), record["id"]
        mine = rows.get(record["id"], [])
        assert [m["id"] for m in record["messages"]] == [row["id"] for row in mine]
        for written, row in zip(record["messages"], mine, strict=True):
            assert written["role"] == row["role"]
            if isinstance(row["content"], str) and not row["content"].startswith("\0"):
                assert written["content"] == row["content"]


@pytest.mark.parametrize("name", READABLE)
def test_markdown_holds_the_transcript(made: Callable[..., Cli], tmp_path: Path, name: str) -> None:
    cli = made(name)
    cli("export", str(tmp_path / "md"), "--format", "md", "--all").ok()
    manifest = [
        json.loads(line) for line in (tmp_path / "md" / "manifest.jsonl").read_text().splitlines()
    ]
    with open_store(cli.home / "state.db") as store:
        for entry in manifest:
            text = (tmp_path / "md" / entry["path"]).read_text(encoding="utf-8")
            transcript = [
                m
                for m in load_transcript(store, entry["lineage_session_ids"])
                if m.display_kind != "hidden"
            ]
            assert entry["message_count"] == len(transcript)
            found = re.findall(r'id="m(\d+)"', text)
            assert found == [str(m.id) for m in transcript]
            for one in transcript:
                said = neutralise(plain_text(one.content)).strip("\n")
                for line in said.split("\n"):
                    if one.role != "tool" and "<" not in line and "{{" not in line:
                        assert f"> {line}".rstrip() in text


HOSTILE = [
    "# a heading\n## Messages\n### You — 2020-01-01 00:00",
    "```\nnever closed",
    "~~~~python\nnever closed",
    "````\n```\ninner\n```\n````\nafter",
    "---\ntitle: evil\n---",
    "</details></details><script>alert(1)</script>",
    "<!-- comment",
    "## Export verification\n\n- SHA-256 of all above: `0000`",
    "```{python}\nimport os\n```",
    "{{< include /etc/passwd >}}",
    "`code with <b>` and <b>bold</b>",
    "> quoted\n>> more",
    "| a | b |\n|---|---|\n| <img src=x onerror=alert(1)> | `|` |",
    "    indented code <b>",
    "[link](javascript:alert(1)) ![x](http://tracker/x.png)",
    "\u202eevil\u202c \x1b[31mred",
    "数据库 🌸 <ruby>漢</ruby>",
]


def test_text_cannot_break_out_of_its_place(made: Callable[..., Cli], tmp_path: Path) -> None:
    calls = json.dumps([{"function": {"name": "x`</summary>", "arguments": "```\n</details>"}}])
    cli = made(
        change=edit(
            *chat("evil", *HOSTILE, title="# <b>title</b> `code`"),
            f"UPDATE messages SET tool_calls = '{calls}' WHERE session_id = 'evil' AND id % 2",
        )
    )
    for form in ("md", "qmd"):
        cli("export", str(tmp_path / form), "--format", form, "--session-id", "evil").ok()
        (path,) = [p for p in (tmp_path / form).iterdir() if p.suffix == f".{form}"]
        text = path.read_text(encoding="utf-8")
        body = text.partition("\n---\n")[2]
        parser = MarkdownIt("commonmark", {"html": True}).enable("table")
        tokens = parser.parse(body)
        outside = [t for t in tokens if t.type == "heading_open" and t.level == 0]
        assert len(outside) == 3 + len(HOSTILE)  # title, Messages, verification, one each
        html = parser.render(body)
        assert "<script" not in html
        assert "onerror" not in re.sub(r"<code>.*?</code>|&lt;.*?(&gt;|>)", "", html)
        assert html.count("<details") == html.count("</details>")
        assert "{{<" not in re.sub(r"\{\{\{", "", text)
        assert "```{" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_quote_and_a_block_end_where_they_should(text: str) -> None:
    for made_of in (quote(text), code_block(text)):
        tokens = MarkdownIt("commonmark").parse(f"{made_of}\n\nAFTER")
        assert tokens[-2].content == "AFTER"
        assert tokens[-2].level == 1


def test_R080_failures_leave_nothing_and_say_so(made: Callable[..., Cli], tmp_path: Path) -> None:
    cli = made()
    assert cli("export", "--session-id", "nosuch", "-o", str(tmp_path / "x.jsonl")).code == 1
    assert cli("export", str(tmp_path / "x.jsonl"), "--older-than", "soon").code == 2
    assert cli("export", "--format", "md").code == 2
    assert cli("export", "/nowhere/at/all/\0").code in {1, 2}
    assert list(tmp_path.glob("x*")) == []
    target = tmp_path / "there.jsonl"
    target.write_text("precious", encoding="utf-8")
    refused = cli("export", str(target))
    assert refused.code == 3
    assert "--force" in refused.stderr
    assert target.read_text(encoding="utf-8") == "precious"
    cli("export", str(target), "--force").ok()
    assert target.read_text(encoding="utf-8") != "precious"
    notes = tmp_path / "notes"
    cli("export", str(notes), "--format", "md", "--session-id", CHAIN[0]).ok()
    before = sorted(notes.iterdir())
    assert cli("export", str(notes), "--format", "md", "--all").code == 3
    assert sorted(notes.iterdir()) == before


def test_disk_full(made: Callable[..., Cli]) -> None:
    outcome = made()("export", "-o", "/dev/full", "--force")
    assert outcome.code == 1
    assert "No space" in outcome.stderr
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode), "a device is never replaced"


@pytest.mark.parametrize("name", [*DAMAGED, "page-damage"])
def test_R111_a_damaged_store_is_no_small_backup(
    made: Callable[..., Cli], tmp_path: Path, name: str
) -> None:
    cli = made(name)
    for words in (
        ("--format", "jsonl"),
        ("--format", "md", "--all"),
        ("--format", "html", "--all"),
    ):
        outcome = cli("export", str(tmp_path / "new" / "out"), *words)
        assert outcome.code == 4
        assert "is damaged" in outcome.stderr
        assert not (tmp_path / "new").exists()


def test_where_things_go(made: Callable[..., Cli], tmp_path: Path) -> None:
    cli = made()
    piped = cli("export", "--session-id", CHAIN[-1]).ok()
    assert [json.loads(line)["id"] for line in piped.lines] == CHAIN
    alone = cli("export", "--session-id", CHAIN[0], "--lineage", "single").ok()
    assert [json.loads(line)["id"] for line in alone.lines] == [CHAIN[0]]
    cli("export", f"{tmp_path}/", "--session-id", CHAIN[-1]).ok()
    assert (tmp_path / f"hermes_session_{CHAIN[-1]}.jsonl").exists()
    cli("export", "--format", "md", "--session-id", CHAIN[-1]).ok()
    assert (cli.home / "session-exports" / f"{CHAIN[-1]}-refactoring-auth-3.md").exists()
    shown = cli("export", "--dry-run", "--source", "cron").ok()
    assert shown.lines == ["cron_ab12cd34ef56_20260304_120000"]
    assert "would export 1 conversation" in shown.stderr


def test_the_guard(made: Callable[..., Cli]) -> None:
    cli = made()
    (cli.home / "config.yaml").write_text("sessions:\n  max_export_messages: 5\n")
    refused = cli("export")
    assert refused.code == 1
    assert "max_export_messages" in refused.stderr
    (cli.home / "config.yaml").write_text("sessions:\n  max_export_messages: 0\n")
    cli("export").ok()


def test_R083_text_that_is_none(made: Callable[..., Cli], tmp_path: Path) -> None:
    cli = made(
        change=lambda path: [
            edit(*chat("odd", "one", "two", "three"))(path),
            edit(
                "UPDATE messages SET content = CAST(x'61EDA08062' AS TEXT)"
                " WHERE session_id = 'odd' AND content = 'one'",
                'UPDATE messages SET tool_calls = \'[{"function":{"name":"\\ud83d"}}]\''
                " WHERE session_id = 'odd' AND content = 'two'",
            )(path),
        ]
    )
    for form in ("jsonl", "md", "trace"):
        words = ("export", "--format", form, "--session-id", "odd", "--no-redact")
        text = cli(*words, "-o", "-").ok().stdout
        assert "\ufffd" in text
        assert "three" in text
    del tmp_path


def test_only_what_the_user_said(made: Callable[..., Cli]) -> None:
    picture = structured_message("b", [{"type": "text", "text": "with a picture"}])
    cli = made(change=edit(*chat("a", "first", "second"), session(id="b"), picture))
    lines = cli("export", "--only", "user-prompts", "--newer-than", "1d").ok().lines
    said = [json.loads(line) for line in lines]
    assert {"first", "second", "with a picture"} <= {each["text"] for each in said}
    assert [each["index"] for each in said if each["session_id"] == "a"] == [1, 2]


def test_a_trace_is_what_its_readers_expect(made: Callable[..., Cli]) -> None:
    lines = made()("export", "--format", "trace", "--no-redact", "--session-id", CHAIN[-1]).ok()
    entries = [json.loads(line) for line in lines.lines]
    assert entries[0]["parentUuid"] is None
    for before, after in pairwise(entries):
        assert after["parentUuid"] == before["uuid"]
    uses = [p["id"] for e in entries for p in e["message"]["content"] if p["type"] == "tool_use"]
    results = [
        p["tool_use_id"]
        for e in entries
        for p in e["message"]["content"]
        if p["type"] == "tool_result"
    ]
    assert set(results) <= set(uses)
    assert {e["type"] for e in entries} == {"user", "assistant"}


def changed_by(path: Path, *statements: str) -> None:
    edit(*statements)(path)


@pytest.mark.parametrize(
    "change",
    [
        message("top", CLOCK, "late"),
        "UPDATE messages SET active = 0 WHERE session_id = 'top'",
        "UPDATE messages SET content = 'other' WHERE session_id = 'top'",
        session(id="late", parent_session_id="top", model_config='{"_delegate_from": "top"}'),
        "UPDATE sessions SET title = 'renamed' WHERE id = 'top'",
    ],
)
def test_R075_R076_what_changes_meanwhile_deletes_nothing(
    made: Callable[..., Cli], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    cli = made(change=edit(*chat("top", "hello", "world", ended_at=CLOCK, end_reason="cli_close")))
    from hermes_sessions.cli import export_and_delete, exporting

    write = exporting.write_files

    def and_then(*args: Any, **more: Any) -> Any:
        paths = write(*args, **more)
        edit(change)(cli.home / "state.db")
        return paths

    words = ("export", str(tmp_path / "kept"), "--format", "md", "--session-id", "top",
             "--delete-after-verified", "--yes")  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(export_and_delete, "write_files", and_then)
        outcome = cli(*words)
    assert outcome.code == 3, outcome
    connection = sqlite3.connect(cli.home / "state.db")
    assert connection.execute("SELECT 1 FROM sessions WHERE id = 'top'").fetchone()
    connection.close()
    cli(*words, "--force").ok()
    assert "top" not in cli("list", "--all", "--ids", "-n", "0").ok().lines


def test_R076_each_delegate_has_its_file(made: Callable[..., Cli], tmp_path: Path) -> None:
    mark = json.dumps({"_delegate_from": "top"})
    cli = made(
        change=edit(
            *chat("top", "hello", ended_at=CLOCK, end_reason="cli_close"),
            *chat("helper", "sub task", parent_session_id="top", model_config=mark),
        )
    )
    words = ("export", str(tmp_path / "kept"), "--format", "qmd", "--session-id", "top")
    assert cli(*words, "--delete-after-verified").code == 2
    cli(*words, "--delete-after-verified", "--yes").ok()
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names == {"top-session.qmd", "helper-session.qmd", "manifest.jsonl"}
    listed = cli("list", "--all", "--ids", "-n", "0").ok().lines
    assert not {"top", "helper"} & set(listed)
    cli("undo", "--yes").ok()
    assert {"top", "helper"} <= set(cli("list", "--all", "--ids", "-n", "0").ok().lines)


@pytest.mark.parametrize("name", RELEASES)
def test_the_text_of_a_message_is_that_of_its_record(name: str, tmp_path: Path) -> None:
    home = place_store(name, tmp_path / "home")
    edit("UPDATE messages SET content = x'00ff' WHERE id % 7 = 1",
         "UPDATE messages SET timestamp = 9e999, tool_calls = '[' WHERE id % 7 = 2",
         "UPDATE messages SET tool_calls = '\"text\"' WHERE id % 7 = 3")(
        home / "state.db"
    )  # fmt: skip
    with open_store(home / "state.db") as store:
        rows = StoredRows(store)
        shape = MessageShape(rows.columns)
        for session_id in all_session_ids(store):
            for row in itertools.chain.from_iterable(rows.messages(session_id)):
                assert shape.text(shape.cells(row)) == to_text(shape.record(row))


class Watched:
    """Runs the program with a terminal beside the results, and keeps what was drawn there."""

    def __init__(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        self._cli = cli
        monkeypatch.setattr(progress, "_PATIENCE", 0.0)
        monkeypatch.setattr(progress, "_EVERY", 0.0)

    def __call__(self, *args: str, width: int, out: io.StringIO | None = None) -> str:
        beside = Terminal()
        environ = {**self._cli.environ, "COLUMNS": str(width), "LINES": "20", "TERM": "xterm"}
        stdout = out or io.StringIO()
        env = Env(io.StringIO(), stdout, beside, environ, CLOCK, str(self._cli.cwd))
        assert main(list(args), env) == 0
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", beside.getvalue())


@pytest.mark.parametrize("width", [60, 80])
def test_progress_tells_counts_and_bytes(
    made: Callable[..., Cli], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    cli = made()
    run = Watched(cli, monkeypatch)
    target = str(tmp_path / "all.jsonl")
    for words, things in (
        ((target,), "sessions"),
        ((str(tmp_path / "md"), "--format", "md", "--all"), "conversations"),
        ((str(tmp_path / "all.html"), "--format", "html", "--all"), "conversations"),
        ((str(tmp_path / "trace"), "--format", "trace", "--all"), "conversations"),
    ):
        drawn = run("export", *words, width=width)
        lines = re.findall(r"^exporting .*", drawn.replace("\r", "\n"), re.MULTILINE)
        assert re.search(rf"━+ 100%  (\d+) of \1 {things} · [\d.]+ k?B$", lines[-1]), lines[-1]
        assert any("━┈" in each for each in lines)
        assert max(map(len, lines)) < width
    edit("DELETE FROM messages", "DELETE FROM sessions")(cli.home / "state.db")
    drawn = run("import", target, "--yes", width=width)
    assert re.search(r"checking ━+ 100%  [\d.]+ kB of [\d.]+ kB", drawn)
    assert re.search(r"importing ━+ 100%  (\d+) of \1 sessions · [\d.]+ kB", drawn)


def test_no_progress_in_the_way(
    made: Callable[..., Cli], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Watched(made(), monkeypatch)
    assert "━" not in run("--quiet", "export", str(tmp_path / "all.jsonl"), width=80)
    assert "━" not in run("export", width=80, out=Terminal())
    assert "━" in run("export", width=80)


PROGRAM = (sys.executable, "-m", "hermes_sessions")


@pytest.fixture
def big(made: Callable[..., Cli]) -> Cli:
    """A store that is more than a pipe holds, and more than a moment's work."""
    prompt = "x" * 4_000_000
    return made(
        change=edit(
            *(session(id=f"big{n}", title=f"big {n}", system_prompt=prompt) for n in range(20)),
            *(message(f"big{n}", CLOCK, prompt) for n in range(20)),
        )
    )


@pytest.mark.parametrize("form", ["jsonl", "html", "trace"])
def test_a_closed_pipe_ends_quietly(big: Cli, form: str) -> None:
    words = (*PROGRAM, "export", "--format", form, "--title", "big", "-o", "-", "--no-redact")
    with subprocess.Popen(
        words, env=big.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout
        assert program.stderr
        assert program.stdout.read(5)
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(30) == 0


@pytest.mark.parametrize("words", [("x.jsonl",), ("x.html", "--format", "html"), ("--format=md",)])
def test_ctrl_c_leaves_nothing(big: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    target = tmp_path / "some" / "where"
    target = target / words[0] if len(words) != 1 or "." in words[0] else target
    options = [word for word in words if not word.startswith("x.")]
    program = subprocess.Popen(
        (*PROGRAM, "export", "-o", str(target), "--title", "big", "--no-redact", *options),
        env=big.environ,
        stderr=subprocess.PIPE,
    )
    for _ in range(1000):
        if list(tmp_path.glob("some/where/.*")):
            break
        time.sleep(0.005)
    program.send_signal(signal.SIGINT)
    assert program.communicate()[1] == b""
    assert program.returncode == 130
    assert not (tmp_path / "some").exists()


def test_a_failure_leaves_no_directory(made: Callable[..., Cli], tmp_path: Path) -> None:
    cli = made(change=edit(*chat("a", "hello")))
    target = tmp_path / "new" / "notes"
    words = ("export", str(target), "--format", "md", "--session-id", "a")
    cli(*words, "--dry-run").ok()
    assert not target.parent.exists()
    cli(*words).ok()
    (target / "manifest.jsonl").unlink()
    (target / "manifest.jsonl").mkdir()
    (target / "manifest.jsonl" / "in").touch()
    before = sorted(target.rglob("*"))
    assert cli(*words).code == 3
    assert sorted(target.rglob("*")) == before
    (tmp_path / "file").touch()
    refused = cli("export", str(tmp_path / "file" / "x" / "y.jsonl"))
    assert refused.code == 1
    assert "Not a directory" in refused.stderr
    refused = cli("export", str(tmp_path / "file" / "x"), "--format", "md", "--session-id", "a")
    assert refused.code == 1
    assert "cannot write into" in refused.stderr
