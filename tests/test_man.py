"""The man page: complete, well formed, and true."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import command_tree
import man_page
import man_prose
from completing import DEMO, ROOT, environment
from hermes_sessions import __version__
from hermes_sessions.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "man" / "hermes-sessions.1"
SECTIONS = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "REFERENCES TO CONVERSATIONS",
    "OPTIONS",
    "COMMANDS",
    "FILTERS",
    "OUTPUT",
    "CHANGING AND DELETING",
    "ENVIRONMENT",
    "FILES",
    "EXIT STATUS",
    "EXAMPLES",
    "SEE ALSO",
]


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def sections(page: str) -> dict[str, str]:
    """Divide the source of the page at its headings."""
    parts = re.split(r"^\.SH (.*)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def unescaped(roff: str) -> str:
    """Take the fonts and the escapes out of the source."""
    text = re.sub(r"\\f[BIR]|\\[&%]", "", roff)
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"'), ("\\(ti", "~")):
        text = text.replace(escape, character)
    return text


def test_the_sections_are_all_there_in_order() -> None:
    page = PAGE.read_text("ascii")
    assert list(sections(page)) == SECTIONS
    assert f"hermes\\-sessions {__version__}" in page.splitlines()[1]


def test_every_command_has_its_section_with_all_that_belongs_to_it() -> None:
    tree = command_tree.read_tree()
    parts = re.split(r'^\.SS "(.*)"\n', sections(PAGE.read_text())["COMMANDS"], flags=re.MULTILINE)
    described = dict(zip(map(unescaped, parts[1::2]), map(unescaped, parts[2::2]), strict=True))
    commands = [command for command in tree.everything() if command.path]
    assert list(described) == [command.name for command in commands]
    for command in commands:
        lines = " ".join(described[command.name].split())
        assert f"hermes-sessions {command.name}" in lines
        assert " ".join(command.summary.split()) in lines
        assert all(" ".join(example.split()) in lines for example in command.examples)
        for option in command.own_options:
            if man_page.HELP not in option.names:
                assert ", ".join(option.all_names) in lines
                assert " ".join(option.help.split()) in lines
        assert ("described under FILTERS" in lines) == bool(command.filters)


def test_filters_and_global_options_are_described_once() -> None:
    tree = command_tree.read_tree()
    text = {name: unescaped(part) for name, part in sections(PAGE.read_text()).items()}
    filters = next(command.filters for command in tree.everything() if command.filters)
    for option in filters:
        assert f".TP\n{', '.join(option.all_names)}" in text["FILTERS"]
    for option in tree.options:
        assert f".TP\n{', '.join(option.all_names)}" in text["OPTIONS"]


def test_every_exit_status_is_explained() -> None:
    text = unescaped(sections(PAGE.read_text())["EXIT STATUS"])
    assert re.findall(r"^\.TP\n(\d+)$", text, re.MULTILINE) == [
        str(code.value) for code in ExitCode
    ]


def test_nothing_is_left_for_roff_to_mistake() -> None:
    for line in PAGE.read_text("ascii").splitlines():
        if line.startswith("."):
            assert re.match(r"\.(\\\"|[A-Za-z]{2} ?)", line), line
            continue
        assert not line.startswith("'")
        assert not re.search(r"(?<!\\)-", line), line
        escapes = r"f[BIR]|[-&%e]|\((aq|ga|ha|ti|dq|lq|rq|oq|cq|en|em)|\[u[0-9A-F]{4,5}\]"
        assert not re.search(rf"\\(?!{escapes})", line), line


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("a-b\\n", r"a\-b\en"),
        ('say "it\'s"', r"say \(dqit\(aqs\(dq"),
        ("`x` ~ ^", r"\(gax\(ga \(ti \(ha"),
        ("…é", r"...\[u00E9]"),
    ],
)
def test_text_is_escaped(text: str, roff: str) -> None:
    assert man_page.literal(text) == roff


@pytest.mark.packaging
def test_mandoc_has_nothing_to_say() -> None:
    need("mandoc")
    command = ["mandoc", "-T", "lint", "-W", "warning", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.packaging
def test_man_has_nothing_to_say(tmp_path: Path) -> None:
    need("groff")
    need("man")
    command = ["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l", str(PAGE)]
    environ = {**environment(tmp_path), "MANWIDTH": "80"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if "unrecognized option" in done.stderr or "illegal option" in done.stderr:
        pytest.skip("this man has no --warnings")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.packaging
def test_examples_can_be_copied_from_the_page() -> None:
    need("mandoc")
    command = ["mandoc", "-T", "utf8", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = re.sub(r".\x08", "", done.stdout).splitlines()
    for example in man_page.examples(command_tree.read_tree()):
        for line in example.lines:
            assert line in {text.strip() for text in shown}


@pytest.mark.parametrize("line", [line for example in man_prose.EXAMPLES for line in example.lines])
def test_an_example_works(line: str, tmp_path: Path) -> None:
    known = man_page.examples(command_tree.read_tree())
    if not any(line in example.lines for example in known):
        pytest.skip("the program has no such command yet")
    home = tmp_path / "home"
    home.mkdir()
    shutil.copyfile(DEMO, home / "state.db")
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=tmp_path,
        env={**environment(tmp_path), "HERMES_HOME": str(home), "HERMES_BIN": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
