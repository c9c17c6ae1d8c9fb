"""The completion scripts: generated, and used in their real shells."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import command_tree
import generate
from completing import (
    AWKWARD,
    ROOT,
    SCRIPTS,
    Bash,
    Fish,
    Shell,
    bash,
    digest,
    environment,
    make_home,
    start,
    zsh,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHELLS = [
    "bash",
    pytest.param("zsh", marks=pytest.mark.packaging),
    pytest.param("fish", marks=pytest.mark.packaging),
]


FILES = {
    "bash": "hermes-sessions.bash",
    "zsh": "_hermes-sessions",
    "fish": "hermes-sessions.fish",
}


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a home whose name has a blank, and another one."""
    place = tmp_path_factory.mktemp("place")
    (place / "elsewhere").mkdir()
    make_home(place / "my home")
    return place


@pytest.fixture(scope="module", params=SHELLS)
def shell(
    request: pytest.FixtureRequest, place: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    need(request.param)
    shell = start(request.param, tmp_path_factory.mktemp(request.param))
    yield shell
    shell.close()


@pytest.fixture
def home(place: Path) -> Iterator[str]:
    """The option that names the sample home, as a word; completing leaves the home as it was."""
    before = digest(place)
    yield f"--home={str(place / 'my home').replace(' ', chr(92) + ' ')}"
    assert digest(place) == before


def arguments(shell: Shell, line: str) -> list[str]:
    """Return the candidates that are no options: zsh offers options where nothing else is left."""
    return [word for word in shell.candidates(line) if not word.startswith("-")]


def words(shell: str, line: str) -> list[str]:
    """Divide a line into words as the shell does."""
    command = [shell, "-c", f"printf '%s\\n' {line}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


# --- The generated files --------------------------------------------------------------------------


def test_the_files_are_what_the_generator_writes(tmp_path: Path) -> None:
    files = generate.generated_files(command_tree.read_tree())
    assert generate.drifted(ROOT, files) == [], "run: python tools/generate.py"
    assert generate.drifted(tmp_path, files) == list(files)


def test_the_generator_does_not_look_at_its_surroundings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "generate.py", "--check"],
        cwd=tmp_path,
        env={**environment(tmp_path), "COLUMNS": "20", "LANG": "C", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_placeholder_nobody_has_decided_about_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(command_tree.KINDS, "AGE")
    with pytest.raises(command_tree.UnknownPlaceholder, match=r"list --older-than: no .* AGE"):
        command_tree.read_tree()


@pytest.mark.parametrize("name", SHELLS)
def test_a_script_is_well_formed(name: str, tmp_path: Path) -> None:
    need(name)
    option = "--no-execute" if name == "fish" else "-n"
    done = subprocess.run(
        [name, option, SCRIPTS / FILES[name]],
        capture_output=True,
        check=True,
        env=environment(tmp_path),
    )
    assert done.stderr == b""


# --- In the shells --------------------------------------------------------------------------------


def test_every_command_is_offered(shell: Shell) -> None:
    commands = [command.name for command in command_tree.read_tree().commands]
    assert sorted(shell.candidates("")) == sorted(commands)
    assert shell.candidates("sh") == ["show"]
    assert shell.candidates("--color never --demo sho") == ["show"]
    assert arguments(shell, "nonsense ") == []


def test_every_option_of_every_command_is_offered(shell: Shell) -> None:
    tree = command_tree.read_tree()
    shared = {name for option in command_tree.global_options(tree) for name in option.names}
    for command in tree.everything():
        own = {name for option in command.options for name in option.all_names}
        offered = {word.removesuffix("=") for word in shell.candidates(f"{command.name} --")}
        assert offered == {name for name in own | shared if name.startswith("--")}, command.name


def test_choices_are_offered(shell: Shell) -> None:
    words = ["activity", "started", "messages", "cost", "title"]
    assert sorted(shell.candidates("list --sort ")) == sorted(words)
    assert shell.candidates("list --sort=mess") == ["messages"]
    assert sorted(shell.candidates("list --color ")) == ["always", "auto", "never"]


def test_references_are_offered(shell: Shell, home: str) -> None:
    assert shell.candidates(f"show {home} 20261127_1") == ["20261127_140210_86fd1c"]
    assert shell.candidates(f"{home} show 20261127_1") == ["20261127_140210_86fd1c"]
    assert shell.candidates(f"show {home} refa") == ["refactor auth middleware"]
    assert shell.candidates(f"which {home} Portugal\\ 2") == ["portugal 2026"]
    assert shell.candidates(f"which {home} 数据") == ["数据库迁移计划"]
    assert shell.candidates(f"show {home} zap") == [AWKWARD]
    assert shell.candidates(f"show {home} ")[:3] == ["latest", "-", "20261130_101500_a1b2c3"]
    assert arguments(shell, f"which {home} latest ") == []


def test_continue_and_resume_at_the_root_take_a_reference(shell: Shell, home: str) -> None:
    for option in ("-c", "--continue", "-r", "--resume"):
        assert shell.candidates(f"{home} {option} 20261127_1") == ["20261127_140210_86fd1c"]
        assert shell.candidates(f"{option} latest --dry") == ["--dry-run"]
    assert shell.candidates(f"resume {home} latest -- 2026") == []


def test_values_are_offered(shell: Shell, home: str) -> None:
    assert shell.candidates(f"list {home} --source te") == ["telegram"]
    assert shell.candidates(f"list {home} --source=te") == ["telegram"]
    assert shell.candidates(f"list {home} --workspace bil") == ["billing"]
    assert shell.candidates(f"list {home} --model cl") == ["claude-sonnet-4"]
    assert shell.candidates(f"list {home} --title=reg") == ["regex for invoice numbers"]
    assert shell.candidates(f"list {home} --profile wo") == ["work"]
    assert shell.candidates("list --json=id,ti") == ["id,title"]
    assert shell.candidates("list --older-than ") == []


def test_paths_are_offered(shell: Shell, place: Path) -> None:
    (found,) = shell.candidates(f"list --home {place}/else")
    assert found.rstrip("/").endswith("elsewhere")
    (found,) = shell.candidates(f"--db {place}/my\\ home/sta")
    assert found.endswith("state.db")


@pytest.mark.parametrize("name", SHELLS)
def test_commands_below_a_command(name: str, tmp_path: Path) -> None:
    need(name)
    tree = command_tree.read_tree()
    show = next(command for command in tree.commands if command.name == "show")
    inner = show._replace(path=("bin", "show"))
    outer = show._replace(path=("bin",), options=(), arguments=(), commands=(inner,))
    scripts = generate.generated_files(tree._replace(commands=(*tree.commands, outer)))
    for file in FILES.values():
        (tmp_path / file).write_text(scripts[f"completions/{file}"], "utf-8")
    shell = start(name, tmp_path, tmp_path)
    try:
        assert arguments(shell, "--debug bin ") == ["show"]
        assert shell.candidates("bin --demo show --tr") == ["--transcript"]
        assert shell.candidates("--demo bin show lat") == ["latest"]
    finally:
        shell.close()


@pytest.mark.parametrize("name", ["bash", pytest.param("fish", marks=pytest.mark.packaging)])
def test_commands_and_options_need_no_program(name: str, tmp_path: Path) -> None:
    need(name)
    environ = environment(tmp_path, with_program=False)
    shell: Shell = Bash(environ) if name == "bash" else Fish(environ)
    assert shell.candidates("sh") == ["show"]
    assert shell.candidates("show --tr") == ["--transcript"]
    assert shell.candidates("list --sort co") == ["cost"]
    assert shell.candidates("show 2026") == []


@pytest.mark.terminal
@pytest.mark.parametrize("name", ["bash", pytest.param("zsh", marks=pytest.mark.packaging)])
def test_a_tab_in_a_terminal_completes_the_line(name: str, home: str, tmp_path: Path) -> None:
    need(name)
    terminal = (bash if name == "bash" else zsh)(environment(tmp_path), tmp_path)
    show = f"hermes-sessions {home} show "
    colon = "2.4: old configuration files"
    try:
        for typed, title in (
            ("refa", "refactor auth middleware"),
            ("REFACTOR\\ A", "refactor auth middleware"),
            ('"refactor a', "refactor auth middleware"),
            ("'数", "数据库迁移计划"),
            ("zap", AWKWARD),
            ('"zap', AWKWARD),
            ("'zap", AWKWARD),
            ("zap\\ it\\'s", AWKWARD),
            ("2.4:", colon),
            ("2.4:\\ o", colon),
            ('"2.4: o', colon),
        ):
            line = terminal.completed(show + typed)
            assert words(name, line)[2:] == ["show", title]
        line = terminal.completed(f"hermes-sessions list {home} --title=2.4:")
        assert words(name, line)[-1] == f"--title={colon}"
        line = terminal.completed(f"hermes-sessions list {home[:-4]}")
        assert words(name, line)[-1].rstrip("/") == words(name, home)[0]
    finally:
        terminal.close()


@pytest.mark.packaging
def test_the_zsh_script_works_sourced(tmp_path: Path) -> None:
    need("zsh")
    code = """
        autoload -U compinit && compinit -u -D
        source $1 && print -r -- $_comps[hermes-sessions]
    """
    done = subprocess.run(
        ["zsh", "-f", "-c", code, "zsh", SCRIPTS / FILES["zsh"]],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("_hermes-sessions\n", "")


def test_bash_leaves_paths_to_the_bash_completion_package(tmp_path: Path) -> None:
    code = """
        source "$1"
        _filedir() { COMPREPLY=("from the package: ${1-} $cur"); }
        COMP_WORDS=(hermes-sessions --home 'x y') COMP_CWORD=2
        COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=24
        _hermes_sessions && printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", code, "bash", SCRIPTS / FILES["bash"]],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("from the package: -d")
