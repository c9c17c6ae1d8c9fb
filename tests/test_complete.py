"""``hermes-sessions __complete``: what it offers, what it leaves alone, and what it costs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

import command_tree
from completing import DEMO, PROGRAM, ROOT, change_store, digest, environment, make_home
from hermes_sessions.complete import read_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STORES = [
    *sorted((ROOT / "tests" / "corpus").glob("state-*.db")),
    ROOT / "tests" / "corpus" / "variants" / "page-damage.db",
    ROOT / "tests" / "corpus" / "variants" / "odd-values.db",
]
ARCHIVED = "20260614_163000_5e8c77"
HIDDEN = "20261110_120000_b07c4a"


class Offered(NamedTuple):
    """What was printed, in order, and the descriptions."""

    values: list[str]
    about: dict[str, str]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("homes") / "my home")


@pytest.fixture
def home(sample: Path) -> Iterator[Path]:
    """The sample home; completing must leave every byte of it as it was."""
    before = digest(sample)
    yield sample
    assert digest(sample) == before


@pytest.fixture
def offer(tmp_path: Path) -> Callable[..., Offered]:
    def run(kind: str, current: str, *words: str) -> Offered:
        done = subprocess.run(
            [PROGRAM, "__complete", kind, current, "--", *words],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=environment(tmp_path),
        )
        assert (done.returncode, done.stderr) == (0, "")
        pairs = [line.split("\t") for line in done.stdout.splitlines()]
        assert all(len(pair) == 2 for pair in pairs)
        return Offered([value for value, _ in pairs], dict(pairs))

    return run


def test_ids_come_newest_first_with_their_title_and_age(
    home: Path, offer: Callable[..., Offered]
) -> None:
    found = offer("ref", "20261130", "--home", str(home), "show")
    assert found.values == [
        "20261130_101500_a1b2c3",
        "20261130_090210_77de01",
        "20261130_110000_aa00ff",
        "20261130_071122_e2f0aa",
    ]
    assert re.fullmatch(r".+ · refactor auth middleware", found.about["20261130_101500_a1b2c3"])
    assert "why is the build red" in found.about["20261130_071122_e2f0aa"]


def test_an_empty_word_offers_the_keywords_and_the_newest(
    home: Path, offer: Callable[..., Offered]
) -> None:
    values = offer("ref", "", "--home", str(home)).values
    assert values[:3] == ["latest", "-", "20261130_101500_a1b2c3"]
    assert offer("ref", "LAT", "--home", str(home)).values == ["latest"]


@pytest.mark.parametrize(
    ("kind", "current", "expected"),
    [
        ("ref", "REFACTOR A", ["refactor auth middleware"]),
        ("ref", "数据", ["数据库迁移计划"]),
        ("ref", "20261126_1405", ["20261126_140500_c41d0e"]),  # an earlier segment
        ("ref", "20260614", [ARCHIVED]),  # out of view, but nothing else matches
        ("ref", "20261130_090333", ["20261130_090333_e8a571"]),  # a delegate
        ("title", "p", ["payments migration plan", "payments plan, no downtime", "portugal 2026"]),
        ("session", "20261127_14", ["20261127_140210_86fd1c"]),
        ("session", "portugal", []),
        ("source", "te", ["telegram"]),
        ("model", "claude", ["claude-sonnet-4"]),
        ("reason", "session_r", ["session_reset"]),
        ("workspace", "bil", ["billing"]),
        ("workspace", "/home/you/code/bil", ["/home/you/code/billing"]),
        ("profile", "", ["default", "work"]),
    ],
)
def test_what_begins_like_this_is_offered(
    home: Path, offer: Callable[..., Offered], kind: str, current: str, expected: list[str]
) -> None:
    assert offer(kind, current, "--home", str(home), "show").values == expected


@pytest.mark.parametrize("store", STORES, ids=lambda path: path.stem)
def test_in_every_store_it_offers_what_list_shows(
    tmp_path: Path, offer: Callable[..., Offered], store: Path
) -> None:
    shutil.copyfile(store, tmp_path / "state.db")
    option = f"--home={tmp_path}"
    listed = subprocess.run(
        [PROGRAM, option, "list", "--ids", "-n0"],
        capture_output=True,
        text=True,
        check=False,  # a damaged store is listed as far as it can be read, and fails
        env=environment(tmp_path),
    )
    assert offer("session", "", option).values == listed.stdout.splitlines()


def test_commands_that_undo_a_state_are_offered_what_is_in_it(
    home: Path, offer: Callable[..., Offered]
) -> None:
    assert offer("session", "", "--home", str(home), "unarchive").values == [ARCHIVED]
    assert offer("session", "", "--home", str(home), "unhide").values == [HIDDEN]
    shown = offer("session", "", "--home", str(home), "archive").values
    assert not {ARCHIVED, HIDDEN}.intersection(shown)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--home={home}"],
        ["--db", "{home}/state.db", "show"],
        ["-p", "work", "--home", "{home}"],
        ["show", "-pwork", "--home", "{home}"],
        ["--color", "never", "show", "--profile=work", "--home={home}"],
        ["--demo", "show"],
    ],
)
def test_global_options_are_honoured_wherever_they_stand(
    home: Path, offer: Callable[..., Offered], words: list[str]
) -> None:
    words = [word.replace("{home}", str(home)) for word in words]
    assert "20261121_201500_9c1f00" in offer("ref", "20261121", *words).values


def test_the_global_options_are_those_of_the_program() -> None:
    for option in command_tree.global_options(command_tree.read_tree()):
        for name in option.names:
            value = ["value"] if option.value else []
            assert read_line([name, *value, "show"]).command == "show", name


@pytest.mark.parametrize("kind", ["ref", "source", "workspace", "profile", "nonsense"])
def test_trouble_is_silent(
    home: Path, tmp_path: Path, offer: Callable[..., Offered], kind: str
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "state.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    for words in (
        ["--home", str(tmp_path / "nowhere")],
        ["--home", str(broken)],
        ["--home", str(home), "-p", "nobody"],
        ["--db", "", "--home", ""],
    ):
        assert offer(kind, "x", *words).values == []


@pytest.mark.parametrize("argv", [[], ["ref"], ["ref", "x", "--", "--"], ["field", "", "--", "?"]])
def test_too_few_words_are_silent(tmp_path: Path, argv: list[str]) -> None:
    command = [PROGRAM, "__complete", *argv]
    done = subprocess.run(command, capture_output=True, check=True, env=environment(tmp_path))
    assert done.stderr == b""


def test_what_would_garble_the_line_is_left_out(
    tmp_path: Path, offer: Callable[..., Offered]
) -> None:
    shutil.copyfile(DEMO, tmp_path / "state.db")
    change_store(
        tmp_path,
        "UPDATE sessions SET title = 'port' || char(9) || 'x' WHERE title = 'portugal 2026'",
        "UPDATE sessions SET title = 'port' || char(27) || '[31m' WHERE title = 'css grid'",
        "UPDATE sessions SET title = 'porto' || char(10) || 'x' WHERE title LIKE 'flaky%'",
        "UPDATE sessions SET title = 'port　wine' WHERE title LIKE 'regex%'",
        "UPDATE sessions SET title = '--port' WHERE title LIKE 'bread%'",
    )
    assert offer("ref", "--p", "--home", str(tmp_path)).values == []
    assert offer("ref", "port", "--home", str(tmp_path)).values == ["port　wine"]
    abouts = offer("ref", "2026", "--home", str(tmp_path)).about
    assert abouts["20261121_201500_9c1f00"].endswith("port x")


def test_an_encoding_that_lacks_a_character_costs_only_that_title(
    home: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [PROGRAM, "__complete", "title", "", "--", "--home", str(home)],
        capture_output=True,
        check=True,
        env={**environment(tmp_path), "PYTHONIOENCODING": "latin-1"},
    )
    assert b"portugal 2026\t" in done.stdout
    assert b"?" not in done.stdout.replace(b" \xb7 ", b"")


def test_a_long_list_is_cut_without_misleading_the_shell(
    tmp_path: Path, offer: Callable[..., Offered]
) -> None:
    shutil.copyfile(DEMO, tmp_path / "state.db")
    rows = ", ".join(f"('20270101_{n:06}_ab', 'cli', {1798761600 + n})" for n in range(1500))
    change_store(tmp_path, f"INSERT INTO sessions (id, source, started_at) VALUES {rows}")
    values = offer("ref", "20", "--home", str(tmp_path)).values
    assert 50 < len(values) <= 200
    assert values[0] == "20270101_001499_ab"
    assert {value[:4] for value in values} == {"2026", "2027"}  # though 2026 is not new enough


def test_the_fields_are_those_the_program_names(
    home: Path, tmp_path: Path, offer: Callable[..., Offered]
) -> None:
    checked = []
    for command in command_tree.read_tree().everything():
        needs_words = any(not argument.value.optional for argument in command.arguments)
        has_json = any("--json" in option.names for option in command.options)
        if command.group != "Reading" or needs_words or not has_json:
            continue
        done = subprocess.run(
            [PROGRAM, "--home", str(home), *command.path, "--json=?"],
            capture_output=True,
            text=True,
            check=False,
            env=environment(tmp_path),
        )
        named = done.stderr.partition("fields: ")[2].strip().split(", ")
        assert offer("field", "", *command.path).values == named, command.name
        checked.append(command.name)
    assert {"list", "show", "where", "workspaces"} <= set(checked)
    assert offer("field", "id,ti", "list").values == ["id,title"]


@pytest.mark.parametrize("kind", ["ref", "source", "workspace", "profile", "field"])
def test_next_to_nothing_is_imported(home: Path, tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "hermes_sessions", "__complete", kind]
    done = subprocess.run(
        [*command, "", "--", "--home", str(home), "list"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path),
    )
    assert done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "hermes_sessions.complete" in imported
    tops = {name.partition(".")[0] for name in imported}
    assert tops.isdisjoint({"typer", "click", "rich", "yaml", "sqlite_utils", "platformdirs"})
