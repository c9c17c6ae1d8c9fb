"""Which home is meant (contract §2; commands §1 of the real program)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hermes_sessions.config import read_config
from hermes_sessions.errors import NotFound, UsageProblem
from hermes_sessions.home import select_home, sibling_stores

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    home = tmp_path / ".hermes"
    for name in ("work", "play"):
        (home / "profiles" / name).mkdir(parents=True)
    return home


def environ(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), **more}


def test_the_default_home(tmp_path: Path, root: Path) -> None:
    home = select_home(environ(tmp_path))
    assert (home.path, home.store, home.profile) == (root, root / "state.db", None)


def test_the_suffix_is_literal(tmp_path: Path) -> None:
    home = select_home(environ(tmp_path, HERMES_DATA_DIR_SUFFIX="-dev"))
    assert home.path == tmp_path / ".hermes-dev"


@pytest.mark.parametrize("value", ["~/x/h", "$HOME/x/h", "${HOME}/x/h", " ~/x/h "])
def test_hermes_home_is_expanded(tmp_path: Path, value: str) -> None:
    assert select_home(environ(tmp_path, HERMES_HOME=value)).path == tmp_path / "x" / "h"


def test_home_beats_the_environment(tmp_path: Path) -> None:
    home = select_home(environ(tmp_path, HERMES_HOME="/a"), home=str(tmp_path / "b"))
    assert home.path == tmp_path / "b"
    assert home.hermes_home == str(tmp_path / "b")


@pytest.mark.parametrize("name", ["work", "WORK", " work "])
def test_a_profile(tmp_path: Path, root: Path, name: str) -> None:
    home = select_home(environ(tmp_path), profile=name)
    assert home.path == root / "profiles" / "work"
    assert home.profile == "work"


def test_the_sticky_profile(tmp_path: Path, root: Path) -> None:
    (root / "active_profile").write_text("\ufeffplay\n", encoding="utf-8")
    assert select_home(environ(tmp_path)).path == root / "profiles" / "play"
    assert select_home(environ(tmp_path, HERMES_HOME=str(root))).profile == "play"
    explicit = select_home(environ(tmp_path), profile="default")
    assert explicit.path == root
    assert explicit.profile == "default", "hermes must be told, or it takes the sticky one"


def test_a_home_that_is_a_profile_is_taken_as_it_is(tmp_path: Path, root: Path) -> None:
    (root / "active_profile").write_text("play")
    here = root / "profiles" / "work"
    home = select_home(environ(tmp_path, HERMES_HOME=str(here)))
    assert (home.path, home.profile) == (here, "work")


def test_a_missing_profile_names_the_others(tmp_path: Path, root: Path) -> None:
    with pytest.raises(NotFound) as caught:
        select_home(environ(tmp_path), profile="nope")
    assert "play, work" in (caught.value.hint or "")


def test_a_deleted_profile_is_missing(tmp_path: Path, root: Path) -> None:
    (root / "profiles" / ".deleted" / "work").mkdir(parents=True)
    with pytest.raises(NotFound):
        select_home(environ(tmp_path), profile="work")


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "x" * 65])
def test_what_is_no_profile_name(tmp_path: Path, root: Path, name: str) -> None:
    with pytest.raises(UsageProblem):
        select_home(environ(tmp_path), profile=name)


def test_siblings_are_the_other_stores(tmp_path: Path, root: Path) -> None:
    for directory in (root, root / "profiles" / "work", root / "profiles" / "play"):
        (directory / "state.db").write_bytes(b"x")
    home = select_home(environ(tmp_path), profile="work")
    assert [name for name, _ in sibling_stores(home)] == ["default", "play"]


KEYS = ("session.terminal_continue", "display.resume_exchanges", "display.resume_display")


@pytest.mark.parametrize(
    ("text", "continues", "exchanges"),
    [
        (None, True, 10),
        ("", True, 10),
        ("session:\n  terminal_continue: false\n", False, 10),
        ("display:\n  resume_exchanges: 3\n", True, 3),
        ("display:\n  resume_exchanges: -3\n", True, 10),
        ("display:\n  resume_exchanges: many\n", True, 10),
        ("display: [resume_exchanges]\n", True, 10),
        ("session: {terminal_continue: false\n", True, 10),
        ("\ufeffsession:\n  terminal_continue: no\n", False, 10),
    ],
)
def test_configuration(
    tmp_path: Path, text: str | None, exchanges: int, *, continues: bool
) -> None:
    if text is not None:
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    config = read_config(tmp_path, KEYS)
    assert config.flag("session.terminal_continue") is continues
    assert config.number("display.resume_exchanges") == exchanges
    assert config.text("display.resume_display") == "full"
