"""The rules of the house: which layer may know what, and what a fast path may import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import place_store

PACKAGE = Path(__file__).parents[1] / "hermes_sessions"
MODULES = sorted(PACKAGE.rglob("*.py"))
PURE = {
    "errors", "models", "times", "text", "content", "recap", "workspace", "processes", "days",
    "tallies",
}  # fmt: skip
RANKS = {"store": 1, "render": 2, "export": 2, "cli": 3}
"""A package may import its own rank and lower ones; plain modules have rank 0."""

ABOVE_STORE = {"references", "complete"}
"""Modules that look things up in a store for the command line."""


def imports_of(path: Path) -> set[str]:
    """Return the dotted names a module imports at run time (not for type checkers)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def room(dotted: str) -> str:
    return dotted.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    here = path.relative_to(PACKAGE)
    rank = RANKS.get(here.parts[0], 0) if len(here.parts) > 1 else 0
    if here.stem in ABOVE_STORE or here.name == "__main__.py" or here.parts[0] == "demo":
        rank = 3
    for name in imports_of(path):
        if not name.startswith("hermes_sessions"):
            continue
        target = room(name)
        assert RANKS.get(target, 0) <= rank, f"{here} must not import {name}"
        if here.stem in PURE and len(here.parts) == 1:
            assert target in PURE, f"{here} is pure and must not import {name}"
        if here.parts[0] == "render":
            assert "connect" not in name, f"{here} must not open a store"


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        ("typer", "cli"),
        ("rich", "render"),
        ("sqlite3", "store"),
        ("markdown_it", "export"),
        ("pygments", "export"),
    ],
)
def test_each_library_has_its_room(library: str, allowed: str) -> None:
    for path in MODULES:
        names = {name.partition(".")[0] for name in imports_of(path)}
        if path.relative_to(PACKAGE).parts[0] != allowed:
            assert library not in names, f"{path.name} must not import {library}"


def test_sql_is_in_the_store_only() -> None:
    sql = re.compile(r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b", re.DOTALL)
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] != "store":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not sql.search(node.value), path.name


def test_sqlite_is_never_asked_for_the_time() -> None:
    for path in (PACKAGE / "store").glob("*.py"):
        assert "'now'" not in path.read_text(encoding="utf-8"), path.name


def test_modules_and_functions_stay_small() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 420, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name not in {"command", "root"}:
                assert (node.end_lineno or 0) - node.lineno < 60, f"{path.name}: {node.name}"


def test_nothing_happens_at_import() -> None:
    """Every module can be imported first: no cycle, no side effect on a stream."""
    for path in MODULES:
        dotted = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        if dotted.endswith("__main__"):
            continue
        run = subprocess.run(
            [sys.executable, "-c", f"import {dotted.removesuffix('.__init__')}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, run.stdout, run.stderr) == (0, "", ""), dotted


HEAVY = ("rich", "sqlite_utils", "yaml", "pydantic", "click", "importlib.metadata", "platformdirs")


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "--ids"),
        ("list", "--json"),
        ("which", "latest"),
        ("-c", "--print"),
        ("stats",),
        ("stats", "--json"),
    ],
    ids=" ".join,
)
def test_fast_paths_import_no_heavy_library(words: tuple[str, ...], tmp_path: Path) -> None:
    home = place_store("0.22.2", tmp_path / "home")
    script = (
        "import sys; from hermes_sessions.cli.app import main; code = main(sys.argv[1:]);"
        f"bad = [m for m in {HEAVY!r} if m in sys.modules];"
        "sys.exit(f'{code} {bad}' if code or bad else 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, "--home", str(home), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
