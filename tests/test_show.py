"""``show``: facts, recap, transcript, one message, a code block."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from support import CLOCK, edit
from test_list import CHAIN, message, session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli

    MakeCli = Callable[..., Cli]


def test_the_fact_sheet(cli: Cli) -> None:
    text = cli("show", "refactoring auth").ok().stdout
    assert text.startswith(f"refactoring auth #3  {CHAIN[-1]}\n")
    assert "in 3 segments" in text
    assert "segments " + " → ".join(CHAIN) in text
    assert "acme-api" in text
    assert "● You: Write the changelog entry, please." in text
    assert "[CONTEXT SUMMARY]" not in text
    terminal = cli("--color", "never", "show", "refactoring auth", terminal=80).ok().stdout
    assert "Previous conversation" in terminal
    assert all(len(line) <= 80 for line in terminal.splitlines())


def test_relatives_are_named(cli: Cli) -> None:
    assert (
        "branch “log retention #2” (20260303_121500_e00002)" in cli("show", "20260303_120").stdout
    )
    assert "branch of “log retention”" in cli("show", "log retention #2").stdout
    assert "2 delegates: " in cli("show", "http client survey").stdout
    assert "after a reset of" in cli("show", "20260306_081000_0e000002").stdout


def test_without_a_reference_the_latest(cli: Cli) -> None:
    latest = cli("which", "latest").stdout.strip()
    assert latest in cli("show").ok().stdout


def test_the_whole_conversation_is_shown_each_message_once(cli: Cli) -> None:
    shown = cli("show", "refactoring auth", "-t", "--json").ok().json
    ids = [m["id"] for m in shown["messages"]]
    assert len(ids) == len(set(ids))
    assert {m["session_id"] for m in shown["messages"]} == set(CHAIN)
    assert shown["message_count"] == len(ids)


def test_archived_turns_are_tagged_and_rewound_ones_are_not_shown(cli: Cli) -> None:
    text = cli("show", "migration plan", "--transcript").ok().stdout
    assert "axolotl" in text
    assert "  archived\n" in text
    assert "capybara" not in text
    assert "rewound" in cli("show", "--message", "119").ok().stdout


def test_last(cli: Cli) -> None:
    whole = cli("show", "refactoring auth", "-t", "--json").json["messages"]
    for number in (1, 2, 7, 999):
        last = cli("show", "refactoring auth", "--last", str(number), "--json").ok().json
        assert last["messages"] == whole[-number:]


def test_one_message_and_its_neighbours(cli: Cli) -> None:
    whole = cli("show", "migration plan", "-t", "--json").json["messages"]
    at = next(i for i, m in enumerate(whole) if m["id"] == 112)
    found = cli("show", "--message", "112", "--context", "2", "--json").ok().json["messages"]
    assert found == whole[at - 2 : at + 3]
    assert "forty minutes" in cli("show", "migration plan", "--message", "113").ok().stdout


def test_a_tool_result_is_whole_only_when_asked_for(cli: Cli) -> None:
    rows = cli("show", "build log", "-t", "--json").ok().json["messages"]
    big = next(m for m in rows if m["role"] == "tool")
    folded = cli("show", "build log", "-t").stdout
    assert "unused variable v200" not in folded
    assert f"← {big['tool_name'] or 'tool'}" in folded
    whole = cli("show", "--message", str(big["id"])).ok().stdout
    assert "unused variable v200" in whole
    assert "out of disk" in whole


def test_hidden_rows_are_not_shown(cli: Cli) -> None:
    assert "gecko" not in cli("show", "20260305_130000", "-t").ok().stdout


def test_extract(make_cli: MakeCli) -> None:
    answers = ["```python\nfirst()\n```", "text\n```\nsecond\n```\nand\n```sh\nthird\n```\n"]
    cli = make_cli(
        change=edit(
            session(id="code"),
            message("code", CLOCK - 5, "```\nmine, not an answer\n```"),
            *(
                message("code", CLOCK - 4 + i, text, role="assistant")
                for i, text in enumerate(answers)
            ),
        )
    )
    assert cli("show", "code", "-x").ok().stdout == "third\n"
    assert cli("show", "code", "-x", "3").ok().stdout == "first()\n"
    assert cli("show", "code", "--extract=2").ok().stdout == "second\n"
    missing = cli("show", "code", "-x", "4")
    assert missing.code == 1
    assert missing.stdout == ""


def test_R083_text_that_is_not_unicode(make_cli: MakeCli) -> None:
    def insert(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(session(id="broken", title="broken text"))
        connection.execute(
            "INSERT INTO messages (session_id, role, content, timestamp)"
            " VALUES ('broken', 'user', CAST(x'61eda08062' AS TEXT), 1.0),"
            " ('broken', 'assistant', char(0) || 'json:[{\"text\": \"half \\ud83d pair\"}]', 2.0)"
        )
        connection.commit()
        connection.close()

    cli = make_cli(change=insert)
    for words in (("show", "broken"), ("show", "broken", "-t"), ("list",)):
        cli(*words).ok().stdout.encode()
    shown = cli("show", "broken", "-t", "--json").ok()
    assert json.loads(shown.stdout.encode())["messages"][1]["content"] == "half \ud83d pair"


def test_R126_an_unknown_cost_is_not_zero(make_cli: MakeCli) -> None:
    costs = {
        "unknown": ("unknown", 0.0, None, "cost n/a"),
        "none": (None, 0.0, None, "cost n/a"),
        "included": ("included", 0.0, None, "included"),
        "estimate": ("estimated", 3.41, None, "~$3.41 estimated"),
        "actual": ("actual", 3.0, 2.5, "$2.50"),
        "free": ("actual", 1.0, 0.0, "$0.00"),
    }
    cli = make_cli(
        change=edit(
            *(
                session(
                    id=name, cost_status=status, estimated_cost_usd=estimate, actual_cost_usd=actual
                )
                for name, (status, estimate, actual, _) in costs.items()
            )
        )
    )
    for name, (_, _, _, words) in costs.items():
        assert f" · {words}\n" in cli("show", name).ok().stdout, name


def test_infinite_numbers_do_not_break_json(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="inf"),
            "UPDATE sessions SET estimated_cost_usd = 9e999, input_tokens = -9e999"
            " WHERE id = 'inf'",
        )
    )
    assert cli("show", "inf", "--json").ok().json["estimated_cost_usd"] is None


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_sheets_fit_any_width(cli: Cli, width: int) -> None:
    for ref in ("refactoring auth", "中文会话 桜 🌸", "cron_ab"):
        shown = cli("--color", "never", "show", ref, terminal=width).ok().stdout
        assert shown.strip()


def test_json_fields_of_a_sheet(cli: Cli) -> None:
    picked = cli("show", "latest", "--json=id,recap").ok().json
    assert list(picked) == ["id", "recap"]
    assert cli("show", "latest", "--json=colour").code == 2
