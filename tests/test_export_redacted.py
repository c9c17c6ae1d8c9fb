"""``--redact`` in every format: nothing that leaves holds a planted secret (contract §9)."""

from __future__ import annotations

import html
import json
import os
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from planted import EMBEDDINGS, MAKERS, plant, seeded
from support import CLOCK, Cli, place_store
from test_redact import FIELDS, PIECE, strings_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSIONS = 40
OF_JSON = {"model_config", "origin_json", "tool_calls", "display_metadata"}
PLACES = ("alone", "sentence", "fence", "backticks", "json in text", "quote of markdown")
FORMATS = {
    "jsonl": ("--format", "jsonl"),
    "md": ("--format", "md"),
    "qmd": ("--format", "qmd"),
    "html": ("--format", "html"),
    "trace": ("--format", "trace"),
    "user-prompts": ("--only", "user-prompts"),
}


class Store(NamedTuple):
    """A home full of secrets, and every piece of them that must not be found."""

    cli: Cli
    pieces: set[str]
    number: int


class Planter:
    """Plants a secret of the next kind in the next place."""

    def __init__(self) -> None:
        self.pieces: set[str] = set()
        self.number = 0
        self._kinds = sorted(MAKERS)

    def text(self, places: tuple[str, ...] = PLACES) -> str:
        """Return a text with a secret in it."""
        number = self.number
        planted = plant(self._kinds[number % len(self._kinds)], seeded(number))
        for secret in planted.secrets:
            self.pieces |= {secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)}
        self.number += 1
        return EMBEDDINGS[places[number % len(places)]](planted.text)

    def value(self, column: str) -> str:
        """Return what such a column holds."""
        if column == "tool_calls":
            arguments = json.dumps({"command": self.text(), "n": 1})
            return json.dumps([{"id": "c1", "function": {"name": "x", "arguments": arguments}}])
        if column in OF_JSON:
            return json.dumps({"a": self.text()})
        one_line = column in {"title", "cwd", "display_name", "git_branch", "git_repo_root"}
        return self.text(("alone",) if one_line else PLACES)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store of 0.22.2 with a thousand secrets of all kinds in all fields."""
    directory = tmp_path_factory.mktemp("planted")
    home = place_store("0.22.2", directory / "home")
    planter = Planter()
    with closing(sqlite3.connect(home / "state.db")) as store, store:
        for number in range(SESSIONS):
            values = {
                "id": f"20260101_0000{number:02}_abcdef",
                "source": "cli",
                "started_at": CLOCK,
            }
            insert(store, "sessions", values, planter)
            for turn in range(3):
                role = ("user", "assistant", "tool")[turn]
                row = {"session_id": values["id"], "role": role, "timestamp": CLOCK + turn}
                insert(store, "messages", row, planter)
    environ = {**os.environ, "HERMES_HOME": str(home)}
    return Store(Cli(home, environ, directory), planter.pieces, planter.number)


def insert(
    store: sqlite3.Connection, table: str, values: dict[str, object], planter: Planter
) -> None:
    """Insert a row with a secret in each of its fields that may hold one."""
    columns = [str(row[1]) for row in store.execute(f"PRAGMA table_info({table})")]
    values = values | {name: planter.value(name) for name in FIELDS if name in columns}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    store.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def shown(text: str) -> Iterator[str]:
    """Yield a file as it is, as a browser shows it, and every string of its JSON."""
    yield text
    yield html.unescape(re.sub(r"<[^>]*>", "", text))
    for line in text.splitlines():
        yield from strings_in(line)


def found(pieces: set[str], text: str) -> list[str]:
    """Return the pieces of secrets that are in a text, with what is around them."""
    return [
        text[max(0, at - 30) : at + 40]
        for at in range(len(text) - PIECE + 1)
        if text[at : at + PIECE] in pieces
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_R071_no_secret_leaves(planted: Store, tmp_path: Path, name: str) -> None:
    assert planted.number >= 1000
    out = tmp_path / "out"
    target = out / ("notes" if "md" in name else f"all.{name}")
    words = ("export", str(target), *FORMATS[name], "--all")
    outcome = planted.cli(*words, "--redact").ok()
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) == (1 if target.is_file() else len(list(target.glob("*md"))) + 1)
    for text in (outcome.stdout, outcome.stderr, *(str(path) for path in files)):
        assert found(planted.pieces, text) == []
    for path in files:
        for text in shown(path.read_text(encoding="utf-8")):
            assert found(planted.pieces, text) == []
    counted = re.search(r"redacted ([\d,]+) secrets: ", outcome.stderr)
    assert counted
    least = {"jsonl": planted.number, "user-prompts": SESSIONS}.get(name, SESSIONS * 6)
    assert int(counted[1].replace(",", "")) >= least


@pytest.mark.parametrize("name", FORMATS)
def test_the_secrets_would_be_found(planted: Store, tmp_path: Path, name: str) -> None:
    """What the other test relies on: without redaction they are there, and are seen."""
    out = tmp_path / "out"
    target = out / ("notes" if "md" in name else "all")
    planted.cli("export", str(target), *FORMATS[name], "--all", "--no-redact").ok()
    files = [path for path in out.rglob("*") if path.is_file()]
    seen = {
        hit
        for path in files
        for text in (path.name, *shown(path.read_text(encoding="utf-8")))
        for hit in found(planted.pieces, text)
    }
    assert len(seen) > SESSIONS


def test_a_redacted_conversation_alone(planted: Store, tmp_path: Path) -> None:
    """Its title is in the name of its file."""
    target = tmp_path / "out"
    target.mkdir()
    words = ("export", str(target), "--session-id", "20260101_000003_abcdef", "--redact")
    for form in ("jsonl", "md", "html"):
        planted.cli(*words, "--format", form).ok()
    assert len(list(target.iterdir())) == 4
    for path in target.iterdir():
        assert found(planted.pieces, path.name + path.read_text(encoding="utf-8")) == []
