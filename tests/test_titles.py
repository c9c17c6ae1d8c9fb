"""Titles: rename, new, and resume --create-if-missing (cases R031, R116 to R121)."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.cli import new, rename
from hermes_sessions.errors import UsageProblem
from hermes_sessions.titles import base_title, clean_title, next_title
from support import CLOCK, RELEASES, edit, fingerprint
from test_edits import BOT_CHAT, BUILD_LOG, TIP, cells, changed, query, value
from test_list import CHAIN, message, session

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli, Outcome

    MakeCli = Callable[..., Cli]

MIGRATION = "20260305_120000_0c0001"
MORE_PEOPLE = "20260303_090000_d00001"

# The rules of Hermes 0.22.2, as its documentation and its answers have them.
NOT_IN_A_TITLE = re.compile(
    r"[\x00-\x1f\x7f]"  # controls, line feeds and tabs among them
    r"|[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"  # zero-width and bidi
    r"|[\ufff9-\ufffc]"  # annotations and objects
    r"|[\ud800-\udfff]"  # what SQLite cannot hold
)

TITLES = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("ab #12\t\n\x00\x1b\x85\u00a0\u200b\u202e\u2028\u3000\ufeff桜🌸"),
    ),
    max_size=130,
)


def takes_as_it_is(title: str) -> bool:
    """Tell whether Hermes would store a title unchanged."""
    single = re.sub(r"\s+", " ", title).strip()
    return 1 <= len(title) <= 100 and title == single and not NOT_IN_A_TITLE.search(title)


def is_invisible(text: str) -> bool:
    """Tell whether Hermes would take a title that shows nothing."""
    shown = {
        char for char in text if unicodedata.category(char) not in {"Cc", "Cf", "Me", "Mn", "Zs"}
    }
    return shown <= set("\u115f\u1160\u2800\u3164\uffa0")


@given(TITLES)
def test_R118_hermes_takes_a_clean_title_as_it_is(text: str) -> None:
    try:
        title = clean_title(text)
    except UsageProblem:
        assert not takes_as_it_is(text) or is_invisible(text)
        return
    assert takes_as_it_is(title)
    assert clean_title(title) == title
    if takes_as_it_is(text) and "\u061c" not in text and not re.search(r"[\x80-\x9f]", text):
        assert title == text


@given(st.lists(TITLES, max_size=6), TITLES, st.data())
def test_R121_the_next_title_is_free_and_of_the_family(
    others: list[str], title: str, data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(st.integers(1, 200), max_size=6))
    taken = [*others, title, *(f"{title} #{number}" for number in numbers)]
    free = next_title(title, taken)
    assert free not in taken
    assert takes_as_it_is(free)
    assert free == clean_title(free)
    again = next_title(free, [*taken, free])
    assert again not in [*taken, free]
    if len(free) < 90:
        assert base_title(again) == base_title(free)


@pytest.mark.parametrize(
    ("title", "taken", "free"),
    [
        ("deploy", [], "deploy"),
        ("deploy", ["deploy"], "deploy #2"),
        ("deploy #2", ["deploy", "deploy #2"], "deploy #3"),
        ("deploy", ["deploy", "deploy #7"], "deploy #8"),
        ("deploy #7", ["deploy #7"], "deploy #8"),
        ("deploy", ["deploy", "deploy #x", "deploy # 3", "redeploy #4"], "deploy #2"),
        ("deploy", ["deploy", "deploy #2 #5"], "deploy #2"),
        ("a_b", ["a_b", "axb #5"], "a_b #2"),
        ("x" * 100, ["x" * 100], "x" * 97 + " #2"),
        ("x" * 100, ["x" * 100, "x" * 97 + " #2"], "x" * 97 + " #3"),
        ("no\nlines  here", ["no\nlines  here"], "no lines here"),
        ("", [""], "untitled"),
        (f"n #{'9' * 30}", [f"n #{'9' * 30}"], f"n #{'9' * 30} #2"),
        ("n", ["n", f"n #{'9' * 5000}"], "n #2"),
    ],
)  # fmt: skip
def test_R121_next_titles(title: str, taken: list[str], free: str) -> None:
    assert next_title(title, taken) == free


# rename


def refused(cli: Cli, code: int, *words: str) -> Outcome:
    """Run what must be refused and change nothing."""
    before = fingerprint(cli.home)
    outcome = cli(*words, "--yes")
    assert outcome.code == code, outcome
    assert outcome.stdout == ""
    assert fingerprint(cli.home) == before
    return outcome


@pytest.mark.parametrize(
    "title",
    [
        *("", "  ", "\n", "\t\r\n", "\x00\x1b", "\u200b\u200d", "\u202e", "\ufeff"),
        *("\u00ad", "\u3164", "x" * 101, "数" * 101),
    ],
)
def test_R118_what_is_no_title(make_writable_cli: MakeCli, title: str) -> None:
    outcome = refused(make_writable_cli(), 2, "rename", BUILD_LOG, title)
    assert ("blank title" in outcome.stderr) == (len(title) < 101)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (("a", "new", "title"), "a new title"),
        (("  much \t white\n space ",), "much white space"),
        (("x\u200by\x1bz\x85w",), "xyz w"),
        (("桜" * 100,), "桜" * 100),
        (("🌸 ❤️ 🇩🇪",), "🌸 ❤️ 🇩🇪"),
        (("50% done",), "50% done"),
    ],
)
def test_R118_what_is_a_title(
    make_writable_cli: MakeCli, words: tuple[str, ...], title: str
) -> None:
    derived = f"UPDATE sessions SET title_source = 'derived' WHERE id = '{BUILD_LOG}'"
    cli = make_writable_cli(change=edit(derived))
    before = cells(cli)
    outcome = cli("rename", BUILD_LOG, *words, "--yes").ok()
    assert changed(before, cells(cli)) == {
        (BUILD_LOG, "title"): title,
        (BUILD_LOG, "title_source"): "user",
    }
    assert BUILD_LOG in outcome.stdout
    assert cli("which", title).ok().stdout == f"{BUILD_LOG}\n"


@pytest.mark.parametrize("ref", [CHAIN[0], CHAIN[1], "refactoring auth"])
def test_R116_an_earlier_segment_gives_the_title_up(make_writable_cli: MakeCli, ref: str) -> None:
    cli = make_writable_cli()
    before = cells(cli)
    planned = cli("rename", ref, "refactoring auth", "--dry-run").ok()
    assert f"{CHAIN[0]} gives the title up" in planned.stdout
    assert cells(cli) == before
    told = cli("rename", ref, "refactoring auth", "--yes", "--json").ok().json
    assert tuple(told) == rename.FIELDS
    assert (told["id"], told["old_title"]) == (TIP, "refactoring auth #3")
    assert told["freed"] == [CHAIN[0]]
    found = changed(before, cells(cli))
    assert found.pop((TIP, "title_source"), "user") == "user"
    assert found == {(CHAIN[0], "title"): None, (TIP, "title"): "refactoring auth"}
    assert cli("which", "refactoring auth").ok().stdout == f"{TIP}\n"


def test_R117_a_conflict_says_who_has_the_title_and_what_to_do(
    make_writable_cli: MakeCli,
) -> None:
    cli = make_writable_cli()
    outcome = refused(cli, 2, "rename", BUILD_LOG, "put", "away")
    owner = "20260305_100000_0b0001"
    for words in (
        f"{owner}  cli  archived  last active 2d ago",
        f"hermes-sessions show {owner}",
        f"hermes-sessions rename {owner}",
        "“put away #2”",
    ):
        assert words in outcome.stderr
    assert "hidden" in refused(cli, 2, "rename", BUILD_LOG, "Bot Chat").stderr
    cli("rename", BUILD_LOG, "put away #2", "--yes").ok()


def test_R116_a_segment_of_another_conversation_keeps_its_title(
    make_writable_cli: MakeCli,
) -> None:
    outcome = refused(make_writable_cli(), 2, "rename", BUILD_LOG, "refactoring auth")
    assert CHAIN[0] in outcome.stderr
    assert f"hermes-sessions show {TIP}" in outcome.stderr
    assert "“refactoring auth #4”" in outcome.stderr


@pytest.mark.parametrize(
    ("state", "yields"),
    [
        ("ended_at = 1", True),
        ("ended_at = NULL", False),
        ("ended_at = 1, archived = 1", False),
        ("ended_at = 1, hidden = 1", False),
    ],
)
def test_what_nobody_can_find_gives_its_title_up(
    make_writable_cli: MakeCli, state: str, *, yields: bool
) -> None:
    cli = make_writable_cli(
        change=edit(
            session(id="ghost", title="wanted", title_source="llm"),
            f"UPDATE sessions SET {state} WHERE id = 'ghost'",
        )
    )
    if not yields:
        refused(cli, 2, "rename", BUILD_LOG, "wanted")
        return
    cli("rename", BUILD_LOG, "wanted", "--yes").ok()
    assert query(cli, "SELECT id FROM sessions WHERE title = 'wanted'") == [(BUILD_LOG,)]
    assert value(cli, "title_source", "ghost") is None


def test_an_ended_one_with_messages_keeps_its_title(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(
        change=edit(session(id="used", title="wanted", ended_at=1), message("used", CLOCK))
    )
    refused(cli, 2, "rename", BUILD_LOG, "wanted")


def test_the_chat_of_a_bot_keeps_its_name(make_writable_cli: MakeCli) -> None:
    outcome = refused(make_writable_cli(), 3, "rename", BOT_CHAT, "another name")
    assert "bot" in outcome.stderr


def test_a_bot_chat_that_was_put_away_gives_its_name_up(make_writable_cli: MakeCli) -> None:
    put_away = f"UPDATE sessions SET archived = 1 WHERE id = '{BOT_CHAT}'"
    cli = make_writable_cli(change=edit(put_away))
    cli("rename", BUILD_LOG, "Bot Chat", "--yes").ok()
    assert value(cli, "title", BUILD_LOG) == "Bot Chat"
    assert value(cli, "title", BOT_CHAT) is None


def test_R120_patterns_are_ordinary_text(make_writable_cli: MakeCli) -> None:
    titles = {"50% done": "p", "50x done": "x", "a_b": "u", "axb": "v", "a_b #2": "w"}
    rows = [session(id=i, title=title) for title, i in titles.items()]
    cli = make_writable_cli(change=edit(*rows))
    before = cells(cli)
    cli("rename", "50% done", "100% done", "--yes").ok()
    assert {i for i, _ in changed(before, cells(cli))} == {"p"}
    assert cli("which", "a_b").ok().stdout in {"u\n", "w\n"}
    assert "“a_b #3”" in refused(cli, 2, "rename", "x", "a_b").stderr
    assert "“axb #2”" in refused(cli, 2, "rename", "x", "axb").stderr


def test_a_duplicate_is_refused_without_the_index_too(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli("duplicate-titles")
    titles = [row[0] for row in query(cli, "SELECT title FROM sessions WHERE title > ''")]
    (title,) = {title for title in titles if titles.count(title) == 3}
    owners = [row[0] for row in query(cli, "SELECT id FROM sessions WHERE title = ?", title)]
    refused(cli, 2, "rename", BUILD_LOG, title)
    refused(cli, 2, "rename", owners[0], title)
    cli("rename", owners[0], "alone", "--yes").ok()
    assert value(cli, "title", owners[0]) == "alone"


def test_its_own_title_is_nothing_to_do(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    cli("rename", BUILD_LOG, "a log", "--yes").ok()
    before = fingerprint(cli.home)
    outcome = cli("rename", BUILD_LOG, " a  log").ok()
    assert outcome.stdout == ""
    assert "nothing to do" in outcome.stderr
    assert fingerprint(cli.home) == before


def test_R097_a_cut_title_is_not_enough_to_rename(make_writable_cli: MakeCli) -> None:
    outcome = refused(make_writable_cli(), 1, "rename", "http client su", "x")
    assert MORE_PEOPLE in outcome.stderr


@pytest.mark.parametrize("title", ["latest", "LATEST", "-"])
def test_R031_a_keyword_is_a_title_that_finds_nothing(
    make_writable_cli: MakeCli, title: str
) -> None:
    cli = make_writable_cli()
    assert "use the id" in cli("rename", "--dry-run", BUILD_LOG, "--", title).ok().stdout
    assert "use the id" in cli("new", "--dry-run", f"--title={title}").ok().stdout


@pytest.mark.parametrize("name", RELEASES)
def test_rename_on_every_release(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    before = cells(cli)
    cli("rename", "migration plan", "another plan", "--yes").ok()
    found = changed(before, cells(cli))
    found.pop((MIGRATION, "title_source"), None)
    assert found == {(MIGRATION, "title"): "another plan"}


# new


@pytest.mark.parametrize("name", RELEASES)
def test_new_on_every_release(make_writable_cli: MakeCli, name: str) -> None:
    cli = make_writable_cli(name)
    number = query(cli, "SELECT count(*) FROM sessions")[0][0]
    outcome = cli("new", "--title", " fresh  start ", "--yes").ok()
    (identifier,) = outcome.lines
    assert re.fullmatch(r"20260307_090000_[0-9a-f]{6}", identifier)
    assert f"hermes-sessions resume {identifier}" in outcome.stderr
    assert query(cli, "SELECT count(*) FROM sessions") == [(number + 1,)]
    assert query(
        cli,
        "SELECT source, title, started_at, ended_at, message_count, parent_session_id"
        " FROM sessions WHERE id = ?",
        identifier,
    ) == [("cli", "fresh start", CLOCK, None, 0, None)]
    assert cli("list", "--ids", "-n", "1").ok().lines == [identifier]
    assert cli("resume", "fresh start", "--print").ok().stdout == f"{identifier}\n"
    assert query(cli, "PRAGMA foreign_key_check") == []


def test_new_records_where_it_began(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_writable_cli()
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    (repository / "src").mkdir()
    cli.cwd = repository / "src"
    told = cli("new", "--title", "here", "--yes", "--json").ok().json
    assert tuple(told) == new.FIELDS
    assert told["cwd"] == str(repository / "src")
    assert value(cli, "git_repo_root", told["id"]) == str(repository)
    assert value(cli, "profile_name", told["id"]) == "default"
    assert value(cli, "created_source", told["id"]) == "cli"
    assert value(cli, "title_source", told["id"]) == "user"
    cli.cwd = Path(f"{tmp_path}/\udcff")  # the name of a directory may be any bytes
    assert cli("new", "--title", "nowhere", "--yes", "--json").ok().json["cwd"] is None


def test_new_takes_what_is_given(make_writable_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_writable_cli()
    file = tmp_path / "prompt.md"
    file.write_text("Be brief.\n", encoding="utf-8")
    options = ("--id", "my-id.1", "--source", "tui", "--model", "demo/small")
    outcome = cli("new", "--title", "x", *options, "--system-prompt", f"@{file}", "--yes").ok()
    assert outcome.stdout == "my-id.1\n"
    (row,) = query(
        cli,
        "SELECT source, model, system_prompt, system_prompt_hash, prompt FROM sessions"
        " JOIN system_prompts ON hash = system_prompt_hash WHERE id = 'my-id.1'",
    )
    assert row == ("tui", "demo/small", None, sha256(b"Be brief.\n").hexdigest(), "Be brief.\n")
    old = make_writable_cli("0.19.0")
    old("new", "--title", "x", "--id", "y", "--system-prompt", "Be brief.", "--yes").ok()
    assert value(old, "system_prompt", "y") == "Be brief."


@pytest.mark.parametrize(
    "options",
    [
        ("--title", ""),
        ("--title", "build log"),
        ("--title", "x", "--id", BUILD_LOG),
        ("--title", "x", "--id", ""),
        ("--title", "x", "--id=-x"),
        ("--title", "x", "--id", "../x"),
        ("--title", "x", "--id", "a b"),
        ("--title", "x", "--id", "latest"),
        ("--title", "x", "--source", " "),
        ("--title", "x", "--model", ""),
        ("--title", "x", "--system-prompt", ""),
        ("--title", "x", "--system-prompt", "@/no/such/file"),
        ("--title", "x", "--system-prompt", "@"),
        (),
    ],
)
def test_new_refuses_what_makes_no_sense(
    make_writable_cli: MakeCli, options: tuple[str, ...]
) -> None:
    refused(make_writable_cli(), 2, "new", *options)


def test_words_that_are_no_text_are_stored_as_text(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    odd = "caf\udce9"
    words = ("--model", odd, "--system-prompt", odd, "--source", odd)
    (identifier,) = cli("new", "--title", odd, *words, "--yes").ok().lines
    assert value(cli, "title", identifier) == "caf"
    assert value(cli, "model", identifier).startswith("caf")
    cli("close", BUILD_LOG, "--reason", odd, "--yes").ok()
    assert value(cli, "end_reason", BUILD_LOG).startswith("caf")


def test_new_in_a_profile_and_outside_any_home(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    profile = cli.home / "profiles" / "work"
    profile.mkdir(parents=True)
    (cli.home / "state.db").rename(profile / "state.db")
    (identifier,) = cli("-p", "work", "new", "--title", "x", "--yes").ok().lines
    (profile / "state.db").rename(cli.home / "state.db")
    assert value(cli, "profile_name", identifier) == "work"
    store = str(cli.home / "state.db")
    (identifier,) = cli("--db", store, "new", "--title", "y", "--yes").ok().lines
    assert value(cli, "profile_name", identifier) is None


# resume --create-if-missing


def sessions(cli: Cli) -> set[str]:
    return {row[0] for row in query(cli, "SELECT id FROM sessions")}


@pytest.mark.parametrize("start", [("resume",), ("-c",), ("-r",)])
def test_what_is_missing_is_made_and_resumed(
    make_writable_cli: MakeCli, start: tuple[str, ...]
) -> None:
    cli = make_writable_cli()
    before = sessions(cli)
    outcome = cli(*start, "daily  report", "--create-if-missing", "--print").ok()
    (made,) = sessions(cli) - before
    assert outcome.stdout == f"{made}\n"
    assert f"began “daily report” ({made})" in outcome.stderr
    assert query(cli, "SELECT title, source, cwd FROM sessions WHERE id = ?", made) == [
        ("daily report", "cli", str(cli.cwd))
    ]
    for ref in ("daily report", "daily  report"):
        again = cli(*start, ref, "--create-if-missing", "--print").ok()
        assert again.stdout == f"{made}\n"
        assert "began" not in again.stderr
    assert sessions(cli) == before | {made}


def test_what_is_there_is_only_resumed(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    for ref in ("refactoring auth", CHAIN[0], "20260302_09", "latest", "REFACTORING AUTH"):
        plain = cli("resume", ref, "--print").ok()
        assert cli("resume", ref, "--create-if-missing", "--print").ok().stdout == plain.stdout
    assert fingerprint(cli.home) == before


def test_the_start_of_another_title_is_not_it(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    assert cli("resume", "build l", "--print").ok().stdout == f"{BUILD_LOG}\n"
    made = cli("resume", "build l", "--create-if-missing", "--print").ok().stdout.strip()
    assert value(cli, "title", made) == "build l"


def test_a_dry_run_makes_nothing(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli("-c", "daily report", "--create-if-missing", "--dry-run").ok()
    assert re.fullmatch(r"hermes --resume 20260307_090000_[0-9a-f]{6}\n", outcome.stdout)
    assert "“daily report” would begin first" in outcome.stderr
    cli("-c", "daily report", "--create-if-missing", "--dry-run", "--print").ok()
    assert fingerprint(cli.home) == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("resume", "--create-if-missing"), 2),
        (("-c", "--create-if-missing"), 2),
        (("resume", "", "--create-if-missing"), 2),
        (("resume", "x" * 101, "--create-if-missing"), 2),
        (("resume", "20260303_09", "--create-if-missing"), 2),
        (("resume", "-", "--create-if-missing"), 1),
        (("resume", "x", "--create-if-missing", "--in", "/no/such/place"), 2),
    ],
)
def test_what_cannot_be_made(make_writable_cli: MakeCli, words: tuple[str, ...], code: int) -> None:
    cli = make_writable_cli()
    before = fingerprint(cli.home)
    outcome = cli(*words)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert fingerprint(cli.home) == before


def test_an_empty_store_has_no_latest_to_make(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli(change=edit("DELETE FROM messages", "DELETE FROM sessions"))
    assert cli("resume", "latest", "--create-if-missing").code == 1
    assert sessions(cli) == set()
    assert cli("resume", "first", "--create-if-missing", "--print").ok().stdout.strip() in sessions(
        cli
    )


def test_without_a_store_none_is_made(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    (cli.home / "state.db").unlink()
    outcome = cli("-c", "x", "--create-if-missing")
    assert outcome.code == 1
    assert "no store at" in outcome.stderr
    assert fingerprint(cli.home) == {}


def test_outside_a_home_it_is_made_to_be_printed_only(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    store = str(cli.home / "state.db")
    before = sessions(cli)
    assert cli("--db", store, "-c", "x", "--create-if-missing").code == 2
    assert sessions(cli) == before
    cli("--db", store, "-c", "x", "--create-if-missing", "--print").ok()
    assert len(sessions(cli)) == len(before) + 1


def test_it_begins_in_the_directory_that_is_given(
    make_writable_cli: MakeCli, tmp_path: Path
) -> None:
    cli = make_writable_cli()
    there = tmp_path / "there"
    there.mkdir()
    words = ("-c", "x", "--create-if-missing", "--in", str(there), "--print")
    assert value(cli, "cwd", cli(*words).ok().stdout.strip()) == str(there)


def test_without_hermes_it_is_there_to_be_resumed_by_hand(make_writable_cli: MakeCli) -> None:
    cli = make_writable_cli()
    outcome = cli("-c", "x", "--create-if-missing", PATH="/nonexistent")
    assert outcome.code == 127
    made = re.findall(r"run by hand: hermes --resume (\S+)", outcome.stderr)
    assert value(cli, "title", made[0]) == "x"
