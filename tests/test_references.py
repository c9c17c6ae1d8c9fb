"""One resolver for every command (contract §3, cases B)."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_sessions.workspace import find_workspace, is_within
from support import CLOCK, edit
from test_list import CHAIN, message, session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support import Cli

    MakeCli = Callable[..., Cli]


@pytest.mark.parametrize(
    "member", [*CHAIN, "20260302_09", "refactoring auth", "refactoring auth #2"]
)
def test_R021_any_member_leads_to_the_tip(cli: Cli, member: str) -> None:
    outcome = cli("which", member).ok()
    assert outcome.stdout == f"{CHAIN[-1]}\n"
    resumed = cli("resume", member, "--dry-run").ok()
    assert resumed.stdout.endswith(f"--resume {CHAIN[-1]}\n")


def test_R021_says_that_it_moved(cli: Cli) -> None:
    assert f"goes on as {CHAIN[-1]}" in cli("which", CHAIN[0]).stderr
    assert cli("which", CHAIN[-1]).stderr == ""


def test_R021_an_empty_root(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="root", ended_at=CLOCK - 1800, end_reason="compression", title="long"),
            session(id="tip", parent_session_id="root", started_at=CLOCK - 1800),
            *(message("tip", CLOCK - 1800 + i, f"m{i}") for i in range(40)),
        )
    )
    assert cli("which", "long").ok().stdout == "tip\n"


def test_R023_R054_the_workspace_comes_first(make_cli: MakeCli, tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for directory in (project, other):
        (directory / ".git").mkdir(parents=True)
    cli = make_cli(
        change=edit(
            session(id="here", cwd=str(project), started_at=CLOCK - 500),
            message("here", CLOCK - 490),
            session(id="elsewhere", started_at=CLOCK - 100),
            message("elsewhere", CLOCK - 90),
        )
    )
    cli.cwd = project
    for words in (("which", "latest"), ("which", "LATEST"), ("resume", "latest", "--print")):
        assert cli(*words).ok().stdout == "here\n"
    assert "workspace" in cli("which", "--explain", "latest").stderr
    cli.cwd = other
    assert cli("which", "latest").ok().stdout == "elsewhere\n"
    assert "passed over" in cli("which", "--explain", "latest").stderr


def test_latest_is_never_archived_hidden_or_empty(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="good", started_at=CLOCK - 400),
            message("good", CLOCK - 390),
            session(id="archived", archived=1, started_at=CLOCK - 300),
            message("archived", CLOCK - 290),
            session(id="hidden", hidden=1, started_at=CLOCK - 200),
            message("hidden", CLOCK - 190),
            session(id="chat", source="telegram", started_at=CLOCK - 150),
            message("chat", CLOCK - 140),
            *(session(id=f"empty{i}", started_at=CLOCK - 100 + i) for i in range(20)),
        )
    )
    assert cli("which", "latest").ok().stdout == "good\n"


def test_R027_recency_is_use_not_id_or_start(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="zzz", started_at=CLOCK - 100),
            message("zzz", CLOCK - 100),
            session(id="aaa", started_at=CLOCK - 9000),
            message("aaa", CLOCK - 10),
        )
    )
    assert cli("which", "latest").ok().stdout == "aaa\n"


def test_R031_a_title_that_is_the_keyword(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(session(id="odd", title="latest", source="tui")))
    outcome = cli("which", "--explain", "latest")
    assert outcome.stdout != "odd\n"
    assert "odd" in outcome.stderr
    assert cli("which", "odd").ok().stdout == "odd\n"


def test_R032_a_cut_title_is_enough_to_read(cli: Cli) -> None:
    whole = cli("which", "http client survey").ok().stdout
    assert cli("which", "http client su").ok().stdout == whole
    assert cli("which", "http client su…").ok().stdout == whole
    assert cli("which", "HTTP Client").ok().stdout == whole


def test_R032_two_titles_are_ambiguous(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="p1", title="payments plan"),
            session(id="p2", title="payments storm"),
            session(id="p3", title="payments"),
        )
    )
    outcome = cli("which", "payments ")
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert "p1" in outcome.stderr
    assert "p2" in outcome.stderr
    assert cli("which", "payments").ok().stdout == "p3\n"


def test_R033_an_underscore_is_an_underscore(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(session(id="20260315_000000_aa"), session(id="20260315X000000_bb")))
    assert cli("which", "20260315_0").ok().stdout == "20260315_000000_aa\n"
    assert cli("which", "20260315%").code == 1
    ambiguous = cli("which", "20260315")
    assert ambiguous.code == 2
    assert "20260315X000000_bb" in ambiguous.stderr


@pytest.mark.parametrize("blank", ["", " ", "\t"])
@pytest.mark.parametrize("command", [("which",), ("show",), ("resume",), ("-c",)])
def test_R034_a_blank_reference_is_refused(cli: Cli, command: tuple[str, ...], blank: str) -> None:
    outcome = cli(*command, blank)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert "blank" in outcome.stderr


def test_R035_only_the_id_on_stdout(cli: Cli) -> None:
    outcome = cli("resume", CHAIN[0], "--print").ok()
    assert outcome.stdout == f"{CHAIN[-1]}\n"
    failed = cli("resume", "no such thing", "--print")
    assert failed.code == 1
    assert failed.stdout == ""
    assert "no such thing" in failed.stderr


def test_R037_nothing_matches_and_nothing_starts(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit("UPDATE sessions SET source = 'telegram'"))
    outcome = cli("-c")
    assert outcome.code == 1
    assert "cli and oneshot" in outcome.stderr


def test_R038_worktrees_and_symlinks_are_one_workspace(make_cli: MakeCli, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    main, linked, alias = tmp_path / "r" / "main", tmp_path / "r" / "wt", tmp_path / "alias"
    main.mkdir(parents=True)
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *words], cwd=main, check=True, env=environ)
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], cwd=main, check=True, env=environ)
    alias.symlink_to(main)
    cli = make_cli(
        change=edit(
            session(id="in-main", git_repo_root=str(main), cwd=str(main / "gone")),
            message("in-main", CLOCK - 9),
        )
    )
    for directory in (main, linked, alias):
        cli.cwd = directory
        assert cli("which", "latest").ok().stdout == "in-main\n"
        listed = cli("list", "--workspace", str(directory), "--ids").ok().lines
        assert listed == ["in-main"]
    assert cli("list", "--workspace", "/no/such/place", "--ids").ok().lines == []


def test_R039_an_empty_home(make_cli: MakeCli, tmp_path: Path) -> None:
    cli = make_cli()
    empty = tmp_path / "empty"
    empty.mkdir()
    words = ("--home", str(empty))
    assert cli("list", *words).ok().stdout == ""
    assert "--demo" in cli("list", *words).stderr
    assert cli("list", "--json", *words).ok().stdout == "[]\n"
    assert cli("workspaces", *words).ok().stdout == ""
    for command in (("resume", "latest"), ("-c",), ("show",), ("which", "latest")):
        outcome = cli(*command, *words)
        assert outcome.code == 1
        assert str(empty) in outcome.stderr
    assert list(empty.iterdir()) == []


def test_R040_oneshot_is_continued(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            "UPDATE sessions SET source = 'telegram' WHERE source = 'cli'",
        )
    )
    assert cli("which", "latest").ok().stdout == "20260304_140000_f00006\n"


def test_R120_titles_are_taken_literally(make_cli: MakeCli) -> None:
    titles = ["50% done", "50x done", "a_b", "axb", "a_b #2", "a_b #ideas"]
    cli = make_cli(
        change=edit(
            *(
                session(id=f"t{i}", title=title, started_at=CLOCK + i)
                for i, title in enumerate(titles)
            )
        )
    )
    assert cli("which", "50% done").ok().stdout == "t0\n"
    assert cli("which", "a_b").ok().stdout == "t4\n"  # the newest of a_b and a_b #2; #ideas is none


def test_duplicate_titles_give_the_newest(make_cli: MakeCli) -> None:
    cli = make_cli("duplicate-titles")
    rows = [row for row in cli("list", "-n", "0", "--json").json if row["title"]]
    titles = [row["title"] for row in rows]
    double = next(title for title in titles if titles.count(title) > 1)
    newest = next(row["id"] for row in rows if row["title"] == double)
    assert cli("which", double).ok().stdout == f"{newest}\n"


def test_R135_another_profile_has_it(make_cli: MakeCli) -> None:
    def empty_profile(path: Path) -> None:
        import shutil

        work = path.parent / "profiles" / "work"
        work.mkdir(parents=True)
        shutil.copyfile(path, work / "state.db")
        edit("DELETE FROM messages", "DELETE FROM sessions")(path)

    cli = make_cli(change=empty_profile)
    missing = cli("which", CHAIN[0])
    assert missing.code == 1
    assert "profile work has one" in missing.stderr
    assert "profile work has" in cli("list").ok().stderr
    assert cli("-p", "work", "which", CHAIN[0]).ok().stdout == f"{CHAIN[-1]}\n"


@settings(max_examples=60, deadline=None)
@given(ref=st.text(min_size=1, max_size=12))
def test_any_text_is_a_reference_or_a_clear_no(cli_factory: Callable[[], Cli], ref: str) -> None:
    outcome = cli_factory()("which", "--", ref)
    assert outcome.code in {0, 1, 2}
    assert "Traceback" not in outcome.stderr
    assert "fault" not in outcome.stderr
    assert bool(outcome.stdout) is (outcome.code == 0)


@pytest.fixture(scope="module")
def cli_factory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Cli]:
    """One store for many generated references."""
    from support import Cli, place_store

    home = place_store("0.22.2", tmp_path_factory.mktemp("home"))

    def make() -> Cli:
        return Cli(home, {**os.environ, "HERMES_HOME": str(home)}, home)

    return make


def test_paths_are_compared_by_component() -> None:
    assert is_within("/a/b", "/a/b")
    assert is_within("/a/b/c", "/a/b/")
    assert not is_within("/a/bc", "/a/b")
    assert is_within("C:\\x\\y", "C:\\x")


def test_a_workspace_is_the_git_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_workspace(str(deep)).root == str(tmp_path.resolve())
    assert find_workspace("/no/such/dir").root == "/no/such/dir"
