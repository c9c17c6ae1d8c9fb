"""Stored system prompts: refreshed, found degraded, cleared; nothing else moves (§11, cases I)."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hermes_sessions.cli import refresh_prompts, repair_prompts
from hermes_sessions.cli.changes import writing
from hermes_sessions.store.prompts import pinned_tools
from support import CLOCK, DAMAGED, STORES, Cli, edit, fingerprint
from test_gateway import note
from test_list import CHAIN, session
from test_undo import dump

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    MakeCli = Callable[..., Cli]

READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
DEGRADED, UNREADABLE, MEMORY = (
    "20260305_131000_0c0003",
    "20260305_132000_0c0004",
    "20260305_133000_0c0005",
)
"""Sessions of the corpus from 0.21.3 on: pinned skill_manage, no pin, memory only."""

HEALTHY = "20260305_090000_0a0001"
PROMPT_COLUMNS = {"system_prompt", "system_prompt_hash"}


def rows(cli: Cli, sql: str, **parameters: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(cli.home / "state.db")) as connection:
        return connection.execute(sql, parameters).fetchall()


def columns(cli: Cli) -> set[str]:
    return {row[1] for row in rows(cli, "PRAGMA table_info(sessions)")}


def prompts(cli: Cli) -> dict[str, str]:
    """Return the prompt of each session that has one, as Hermes reads it."""
    if "system_prompt_hash" not in columns(cli):
        sql = "SELECT id, system_prompt FROM sessions"
    else:
        sql = """
            SELECT id, coalesce(p.prompt, s.system_prompt)
            FROM sessions AS s LEFT JOIN system_prompts AS p ON p.hash = s.system_prompt_hash"""
    return {session_id: prompt for session_id, prompt in rows(cli, sql) if prompt}


def apart_from_prompts(path: Path) -> Any:
    """Every row of every table, without the prompts."""
    found: dict[str, Any] = dict(dump(path))
    found.pop("system_prompts", None)
    names = [
        row[1]
        for row in sqlite_rows(path, "PRAGMA table_info(sessions)")
        if row[1] not in PROMPT_COLUMNS
    ]
    found["sessions"] = sqlite_rows(path, f"SELECT {', '.join(names)} FROM sessions ORDER BY id")
    return found


def sqlite_rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def unused_prompts(cli: Cli) -> int:
    if "system_prompt_hash" not in columns(cli):
        return 0
    used = "SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash NOT NULL"
    if "tool_names" in columns(cli):
        used += " UNION SELECT tool_names FROM sessions WHERE tool_names NOT NULL"
    return int(rows(cli, f"SELECT count(*) FROM system_prompts WHERE hash NOT IN ({used})")[0][0])


def without_hermes(cli: Cli) -> Cli:
    """Let no test find a Hermes that happens to be installed."""
    cli.environ["PATH"] = str(cli.cwd)
    return cli


@pytest.fixture
def make_cli(make_cli: MakeCli) -> MakeCli:
    return lambda *arguments: without_hermes(make_cli(*arguments))


@pytest.fixture
def make_writable_cli(make_writable_cli: MakeCli) -> MakeCli:
    return lambda *arguments: without_hermes(make_writable_cli(*arguments))


# refresh-prompts


@pytest.mark.parametrize("name", READABLE)
def test_R122_prompts_go_and_everything_else_stays(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    path = cli.home / "state.db"
    before, stored = apart_from_prompts(path), prompts(cli)
    tips = set(cli("list", "--all", "-n", "0", "--ids").ok().lines)
    outcome = cli("refresh-prompts", "--json", "--yes").ok().json
    assert set(outcome["refreshed"]) == stored.keys() & tips
    assert outcome["holding"] == len(outcome["refreshed"])
    assert outcome["by"] == "hermes-sessions"
    assert apart_from_prompts(path) == before
    assert prompts(cli).keys() == stored.keys() - tips, "what is continued has no next turn"
    assert unused_prompts(cli) == 0
    after = fingerprint(cli.home)
    again = cli("refresh-prompts").ok()
    assert again.stdout == ""
    assert again.stderr.startswith("nothing to do")
    assert fingerprint(cli.home) == after, "once is enough"


def test_prompts_of_both_kinds_are_seen(make_writable_cli: MakeCli) -> None:
    """Inline and by hash, side by side, as a migration that stopped half-way leaves them."""
    cli = make_writable_cli(
        "0.22.2",
        edit(
            session(id="inline", system_prompt="inline one"),
            session(id="both", system_prompt="fallback", system_prompt_hash="h1"),
            session(id="dangling", system_prompt="fallback", system_prompt_hash="gone"),
            session(id="nothing", system_prompt_hash="gone"),
            session(id="blank", system_prompt=""),
            "INSERT INTO system_prompts VALUES ('h1', 'shared one')",
            session(id="other", system_prompt_hash="h1"),
        ),
    )
    outcome = cli("refresh-prompts", "--session", "both", "--json").ok().json
    assert outcome["refreshed"] == ["both"]
    assert prompts(cli)["other"] == "shared one", "another session has it, too"
    assert rows(
        cli, "SELECT system_prompt, system_prompt_hash FROM sessions WHERE id = 'both'"
    ) == [(None, None)]
    outcome = cli("refresh-prompts", "--json").ok().json
    assert {"inline", "dangling", "other"} <= set(outcome["refreshed"])
    assert not {"nothing", "blank", "both"} & set(outcome["refreshed"])
    assert rows(cli, "SELECT count(*) FROM system_prompts WHERE hash = 'h1'") == [(0,)]


def test_pins_of_tools_stay_though_they_are_kept_with_prompts(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    pins = "SELECT id, tool_names, prompt FROM sessions JOIN system_prompts ON hash = tool_names"
    before = rows(cli, pins)
    assert before
    cli("refresh-prompts").ok()
    assert rows(cli, pins) == before


def test_R125_the_cost_is_told_and_filters_limit_it(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    stored = prompts(cli)
    outcome = cli("refresh-prompts", "--source", "cli").ok()
    assert "2 sessions rebuild their prompt on the next turn" in outcome.stdout
    assert "costs each a cache miss" in outcome.stdout
    gone = stored.keys() - prompts(cli).keys()
    assert len(gone) == 2
    assert all(rows(cli, "SELECT source FROM sessions WHERE id = :id", id=i) == [("cli",)]
               for i in gone)  # fmt: skip
    assert DEGRADED in prompts(cli)


def test_a_reference_means_the_newest_of_its_conversation(make_writable_cli: MakeCli) -> None:
    root, *_, tip = CHAIN
    cli = make_writable_cli(
        "0.22.2",
        edit("UPDATE sessions SET system_prompt = 'old' WHERE id IN "
             f"('{root}', '{tip}')"),
    )  # fmt: skip
    outcome = cli("refresh-prompts", "--session", root, "--json").ok()
    assert outcome.json["refreshed"] == [tip]
    assert "its conversation goes on" in outcome.stderr
    assert root in prompts(cli)


def test_what_makes_no_sense_together(make_cli: MakeCli) -> None:
    cli = make_cli()
    assert cli("refresh-prompts", "--session", HEALTHY, "--source", "cli").code == 2
    assert cli("refresh-prompts", "--session", " ").code == 2
    assert cli("refresh-prompts", "--session", "nobody").code == 1


@pytest.mark.parametrize("words", [("refresh-prompts",), ("repair-prompts",)])
@pytest.mark.parametrize("name", [*DAMAGED, "page-damage"])
def test_R111_a_damaged_store_is_not_touched(
    make_cli: MakeCli, name: str, words: tuple[str, ...]
) -> None:
    assert make_cli(name)(*words).code == 4


def test_dry_runs_change_nothing(make_cli: MakeCli) -> None:
    cli = make_cli()
    planned = cli("refresh-prompts", "--dry-run", "--json").ok().json
    assert tuple(planned) == refresh_prompts.FIELDS
    assert planned["holding"] > 3
    assert planned["refreshed"] == []
    assert HEALTHY in cli("refresh-prompts", "--dry-run").ok().stdout
    for width in (60, 80, 120):
        assert HEALTHY in cli("refresh-prompts", "--dry-run", terminal=width).ok().stdout
        assert DEGRADED in cli("repair-prompts", terminal=width).ok().stdout


def test_R122_a_running_gateway_is_named(make_writable_cli: MakeCli) -> None:
    for words in (("repair-prompts", "--apply", "--yes"), ("refresh-prompts",)):
        cli = make_writable_cli()
        note(cli.home)
        outcome = cli(*words, "--json").ok()
        assert outcome.json["gateway_pid"] == os.getpid()
        assert f"a gateway runs (pid {os.getpid()}): it keeps prompts in memory" in outcome.stderr


# A Hermes that has the command


FAKE = """\
#!/bin/sh
printf '%s|' "${HERMES_HOME##*/}" "$@" >> {log}
echo >> {log}
[ "$1" = -p ] && shift 2
[ "$1 $2" = "sessions refresh-prompts" ] || exit 2
[ "$3" = --help ] && exit {knows}
echo "asked."
echo "no such thing" >&2
exit {fails}
"""


def fake_hermes(cli: Cli, *, knows: bool = True, fails: bool = False) -> Path:
    """Install a small program in the place of hermes; it writes down how it was called."""
    log = cli.cwd / "log"
    program = cli.cwd / "hermes"
    text = FAKE.replace("{log}", str(log)).replace("{knows}", str(int(not knows)))
    program.write_text(text.replace("{fails}", str(int(fails))))
    program.chmod(0o755)
    cli.environ["PATH"] = f"{cli.cwd}:/usr/bin:/bin"
    return log


def test_a_hermes_that_has_the_command_is_run(make_cli: MakeCli) -> None:
    cli = make_cli()
    log = fake_hermes(cli)
    outcome = cli("refresh-prompts", "--json").ok()
    name = cli.home.name
    assert log.read_text().splitlines() == [
        f"{name}|sessions|refresh-prompts|--help|",
        f"{name}|sessions|refresh-prompts|",
    ]
    assert outcome.json["by"] == "hermes"
    assert len(outcome.json["refreshed"]) == outcome.json["holding"]
    assert "hermes: asked." in outcome.stderr


def test_it_is_run_for_each_session_that_is_meant(make_cli: MakeCli) -> None:
    cli = make_cli()
    log = fake_hermes(cli)
    outcome = cli("--home", str(cli.home), "-p", "default", "refresh-prompts", "--source", "cli",
                  "--json").ok()  # fmt: skip
    refreshed = outcome.json["refreshed"]
    assert len(refreshed) == 2
    called = log.read_text().splitlines()[1:]
    name = cli.home.name
    assert called == [
        f"{name}|-p|default|sessions|refresh-prompts|--session|{i}|" for i in refreshed
    ]


def test_one_that_has_it_not_is_not_run(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    log = fake_hermes(cli, knows=False)
    assert cli("refresh-prompts", "--json").ok().json["by"] == "hermes-sessions"
    assert len(log.read_text().splitlines()) == 1
    assert HEALTHY not in prompts(cli)


def test_one_that_fails_is_a_failure(make_cli: MakeCli) -> None:
    cli = make_cli()
    fake_hermes(cli, fails=True)
    outcome = cli("refresh-prompts", "--session", HEALTHY)
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "failed: no such thing" in outcome.stderr


@pytest.mark.parametrize("has_module", [True, False])
def test_a_python_script_is_known_by_what_is_installed(
    make_writable_cli: MakeCli, tmp_path: Path, *, has_module: bool
) -> None:
    cli = make_writable_cli()
    directory = tmp_path / "site"
    directory.mkdir()
    if has_module:
        (directory / "hermes_state_prompt_refresh.py").touch()
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={directory} exec /usr/bin/env python3 "$@"\n')
    program = cli.cwd / "my-hermes"
    program.write_text(f"#!{python}\nprint('asked by python')\n")
    for path in (python, program):
        path.chmod(0o755)
    cli.environ.update(PATH="/usr/bin:/bin:/usr/local/bin", HERMES_BIN=str(program))
    assert cli("refresh-prompts", "--json", "--dry-run").ok().json["by"] == (
        "hermes" if has_module else "hermes-sessions"
    )


def test_a_store_outside_any_home_is_never_handed_to_hermes(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    log = fake_hermes(cli)
    outcome = cli("--db", str(cli.home / "state.db"), "refresh-prompts", "--json").ok().json
    assert outcome["by"] == "hermes-sessions"
    assert not log.exists()


# repair-prompts


@pytest.mark.parametrize("name", ["0.21.3", "0.21.5", "0.22.2"])
def test_R124_findings_equal_those_of_hermes(make_cli: MakeCli, name: str) -> None:
    outcome = make_cli(name)("repair-prompts", "--json").ok().json
    assert tuple(outcome) == repair_prompts.FIELDS
    assert [found["id"] for found in outcome["findings"]] == [DEGRADED]
    assert {found["id"] for found in outcome["unverifiable"]} == {UNREADABLE, MEMORY}
    assert outcome["findings"][0]["prompt_chars"] == 57
    assert (outcome["apply"], outcome["dry_run"], outcome["cleared"]) == (False, True, [])


@pytest.mark.parametrize("name", READABLE)
def test_R124_only_findings_are_cleared(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    path = cli.home / "state.db"
    before, stored = apart_from_prompts(path), prompts(cli)
    found = {one["id"] for one in cli("repair-prompts", "--json").ok().json["findings"]}
    outcome = cli("repair-prompts", "--apply", "--yes", "--json").ok().json
    assert set(outcome["cleared"]) == found
    assert prompts(cli) == {i: text for i, text in stored.items() if i not in found}
    assert apart_from_prompts(path) == before
    assert unused_prompts(cli) == 0
    assert cli("repair-prompts", "--json").ok().json["findings"] == []
    assert cli("repair-prompts", "--apply").ok().stderr.startswith("nothing to do")


def test_a_scan_sees_every_row(make_cli: MakeCli) -> None:
    pin = json.dumps(["skill_manage"])
    root = CHAIN[0]
    cli = make_cli(
        "0.22.2",
        edit(
            session(id="away", system_prompt="x", tool_names=pin, archived=1),
            session(id="unseen", system_prompt="x", tool_names=pin, hidden=1),
            session(id="child", system_prompt="x", tool_names=pin, parent_session_id="away",
                    model_config='{"_delegate_from": "away"}'),
            f"UPDATE sessions SET system_prompt = 'x', system_prompt_hash = NULL,"
            f" tool_names = '{pin}' WHERE id = '{root}'",
            session(id="other pin", system_prompt="x", tool_names='["terminal"]'),
            session(id="none", system_prompt="x", tool_names="[]"),
            session(id="blank", system_prompt=" \n\t", tool_names=pin),
            session(id="well", system_prompt="a\n\n## Skill Safety\nb", tool_names=pin),
        ),
    )  # fmt: skip
    outcome = cli("repair-prompts", "--json").ok().json
    found = {one["id"] for one in outcome["findings"]}
    assert found == {DEGRADED, "away", "unseen", "child", root}
    assert {one["id"] for one in outcome["unverifiable"]} == {UNREADABLE, MEMORY}


@pytest.mark.parametrize(
    ("pin", "names"),
    [
        ('["a", "b"]', {"a", "b"}),
        ('{"version": 1, "tools": ["a"]}', {"a"}),
        ('{"tools": [{"type": "function", "function": {"name": "a"}}, "b"]}', {"a", "b"}),
        ("[]", set()),
        (None, None),
        (b"[]", None),
        ("", None),
        ("{", None),
        ("7", None),
        ("null", None),
        ('"a"', None),
        ('["a", 1]', None),
        ('["a", ""]', None),
        ('[{"name": "a"}]', None),
        ('{"tools": {"a": 1}}', None),
        ("[" * 100_000, None),
    ],
)
def test_R124_a_pin_is_read_whole_or_not_at_all(pin: object, names: set[str] | None) -> None:
    assert pinned_tools(pin) == names


def test_it_asks_first(make_cli: MakeCli) -> None:
    cli = make_cli()
    outcome = cli("repair-prompts", "--apply")
    assert outcome.code == 2
    assert DEGRADED in outcome.stdout
    assert UNREADABLE not in outcome.stdout
    assert cli("repair-prompts", "--apply", "--dry-run").ok().stderr.endswith("was changed\n")
    assert cli("repair-prompts", "--yes").ok().stdout.startswith("Degraded"), "only --apply clears"


def test_one_that_is_named_is_cleared_whatever_it_is_like(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    for session_id in (HEALTHY, MEMORY, UNREADABLE):
        shown = cli("repair-prompts", session_id, "--json").ok().json
        assert [one["id"] for one in shown["findings"]] == [session_id]
        outcome = cli("repair-prompts", session_id, "--apply", "--yes", "--json").ok().json
        assert outcome["cleared"] == [session_id]
        assert session_id not in prompts(cli)
        again = cli("repair-prompts", session_id, "--apply", "--yes").ok()
        assert f"{session_id} has no stored prompt" in again.stderr
    assert DEGRADED in prompts(cli)


def test_an_id_means_that_very_session(make_writable_cli: MakeCli) -> None:
    root, *_, tip = CHAIN
    cli = make_writable_cli(
        "0.22.2", edit(f"UPDATE sessions SET system_prompt = 'x' WHERE id IN ('{root}', '{tip}')")
    )
    outcome = cli("repair-prompts", root, "--apply", "--yes", "--json").ok().json
    assert outcome["cleared"] == [root]
    assert tip in prompts(cli)
    assert cli("repair-prompts", "nobody").code == 1


def test_what_changed_since_the_plan_is_not_cleared(
    make_writable_cli: MakeCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = make_writable_cli()

    def meanwhile(*arguments: Any) -> Any:
        edit("UPDATE system_prompts SET prompt = prompt || ' ## Skill Safety Rule'")(
            cli.home / "state.db"
        )
        return writing(*arguments)

    monkeypatch.setattr("hermes_sessions.cli.repair_prompts.writing", meanwhile)
    before = prompts(cli).keys()
    outcome = cli("repair-prompts", "--apply", "--yes")
    assert outcome.code == 3
    assert prompts(cli).keys() == before


def test_stored_strings_are_made_harmless(make_cli: MakeCli) -> None:
    cli = make_cli(
        "0.22.2",
        edit(
            "INSERT INTO sessions (id, source, started_at, title, system_prompt, tool_names)"
            " VALUES ('evil', 'c' || char(27) || '[2Jli', 1e9, char(27) || '[31mred' || char(10),"
            " 'x', '[\"skill_manage\"]')"
        ),
    )
    for words in (("repair-prompts",), ("refresh-prompts",)):
        for width in (0, 80):
            outcome = cli(*words, "--dry-run", terminal=width).ok()
            assert "\x1b[31m" not in outcome.stdout
            assert "\x1b[2J" not in outcome.stdout


def test_thousands_in_one_run(make_writable_cli: MakeCli) -> None:
    many = f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO sessions (id, source, started_at, system_prompt_hash)
        SELECT 'bulk' || i, 'cli', {CLOCK} - i, 'h' || (i % 700) FROM n"""
    shared = """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 699)
        INSERT INTO system_prompts SELECT 'h' || i, 'prompt ' || i FROM n"""
    cli = make_writable_cli("0.22.2", edit(many, shared))
    outcome = cli("refresh-prompts", "--json").ok().json
    assert outcome["holding"] > 3000
    assert rows(cli, "SELECT count(*) FROM system_prompts WHERE hash LIKE 'h%'") == [(0,)]
