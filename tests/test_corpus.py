"""Every command in every form on every store of the corpus: no traceback, no change, no lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import DAMAGED, STORES

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli

COMMANDS = (
    ("list",),
    ("list", "-n", "0", "--all"),
    ("list", "--json"),
    ("list", "--json=id,title", "--all"),
    ("list", "--ids"),
    ("list", "-0"),
    ("list", "--tree"),
    ("list", "--tree", "--all", "-n", "0"),
    ("list", "--archived"),
    *(("list", "--sort", key) for key in ("activity", "started", "messages", "cost", "title")),
    ("list", "--min-messages", "3", "--source", "cli", "--newer-than", "900d"),
    ("which", "latest"),
    ("which", "--explain", "20260302_1"),
    ("show",),
    ("show", "refactoring auth"),
    ("show", "refactoring auth", "--json"),
    ("show", "refactoring auth", "--transcript"),
    ("show", "refactoring auth", "-t", "--json"),
    ("show", "migration plan", "--last", "3"),
    ("show", "--message", "43", "--context", "2"),
    ("show", "--message", "43", "-C", "1", "--json"),
    ("show", "中文会话 桜 🌸", "-t"),
    ("resume", "latest", "--print"),
    ("resume", "refactoring auth", "--dry-run"),
    ("-c", "--dry-run"),
    ("workspaces",),
    ("workspaces", "--json"),
    ("stats",),
    ("stats", "--all", "--json"),
    *(("stats", "--by", by) for by in ("source", "model", "workspace", "day", "week", "tool")),
    ("stats", "--newer-than", "900d", "--by", "month"),
    ("stats", "--space"),
    ("where",),
    ("where", "--json"),
)
"""Reading commands, and what a store may lack to answer some of them with exit 1."""

NO_STORE_NEEDED = ("where",)


@pytest.mark.parametrize("name", STORES)
def test_reading_commands(make_cli: Callable[..., Cli], name: str) -> None:
    cli = make_cli(name)
    for words in COMMANDS:
        for width in (0, 60, 120):
            outcome = cli(*words, terminal=width, PAGER="cat")
            assert "Traceback" not in outcome.stderr, words
            assert "fault" not in outcome.stderr, (words, outcome)
            if words[0] in NO_STORE_NEEDED:
                outcome.ok()
            elif name in DAMAGED:
                assert outcome.code == 4, (words, outcome)
                assert "damaged" in outcome.stderr
                assert outcome.stdout == ""
            elif name == "page-damage":
                assert outcome.code in {0, 4}, (words, outcome)
            else:
                assert outcome.code == 0, (words, outcome)
                assert outcome.stdout or "--archived" in words, words
            if "--json" in words and outcome.stdout:
                assert outcome.json


@pytest.mark.parametrize("name", DAMAGED)
def test_R111_damage_is_never_an_empty_list(make_cli: Callable[..., Cli], name: str) -> None:
    outcome = make_cli(name)("list")
    assert outcome.code == 4
    assert "damaged" in outcome.stderr
    assert "state.db" in outcome.stderr
    assert "no conversation" not in outcome.stderr


def test_R111_readable_sessions_are_listed_as_partial(make_cli: Callable[..., Cli]) -> None:
    cli = make_cli("page-damage")
    outcome = cli("list", "-n", "0")
    assert outcome.code == 4
    assert len(outcome.lines) == 33
    assert "partial" in outcome.stderr
    assert "damaged" in outcome.stderr
    objects = cli("list", "--json", "-n", "0").json
    assert len(objects) == 33
    assert any(row["partial"] for row in objects)
    assert "partial" in cli("list", terminal=100).stdout


def test_hot_wal_shows_what_is_only_in_the_wal(make_cli: Callable[..., Cli]) -> None:
    cli = make_cli("hot-wal/state")
    assert "only in the wal" in cli("list").ok().stdout
