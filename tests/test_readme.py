"""Every example in the README and in the help texts is run; what the README shows is what comes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hermes_sessions.cli.app import build_command
from hermes_sessions.cli.commands import COMMANDS

if TYPE_CHECKING:
    from support import Cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"(?ms)```console\n\$ hermes-sessions (.*?)\n(.*?)^```$", README)
HELP = [
    line.strip()
    for command in COMMANDS
    for line in (build_command(command.name).help or "").splitlines()
    if line.strip().startswith("hermes-sessions ")
]


@pytest.fixture
def demo(cli: Cli) -> Cli:
    made_for = ROOT / "hermes_sessions" / "demo" / "home.json"
    cli.now = json.loads(made_for.read_text())["now"]
    cli.environ["HOME"] = "/home/you"
    cli.cwd = Path("/home/you")
    return cli


@pytest.mark.parametrize(("words", "shown"), CONSOLE, ids=[words for words, _ in CONSOLE])
def test_readme_shows_what_comes(demo: Cli, words: str, shown: str) -> None:
    outcome = demo("--color", "never", *shlex.split(words), terminal=100, PAGER="cat")
    text = outcome.stdout + outcome.stderr
    text = text.replace(demo.environ["XDG_STATE_HOME"], "~/.local/state")
    assert [line.rstrip() for line in text.splitlines()] == shown.splitlines()


def test_the_readme_has_a_tour() -> None:
    assert len(CONSOLE) >= 6


@pytest.mark.parametrize("line", HELP)
def test_help_examples_run(
    demo: Cli, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the sample home; where it has no such thing, at least the words make sense."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.partition(" > ")[0])[1:]
    outcome = demo("--demo", *words, PATH="/nowhere")
    assert "--help" not in outcome.stderr, "no usage error"
    assert "Traceback" not in outcome.stderr
    assert outcome.code in {0, 1, 2, 127}


def test_every_command_is_in_the_man_page_and_changelog() -> None:
    manual = (ROOT / "man" / "hermes-sessions.1").read_text(encoding="utf-8").replace("\\-", "-")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command.name in manual
        assert f"`{command.name}`" in changes
