"""The built wheel: what is in it, and that it works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.packaging, pytest.mark.slow]

SHARED = (
    "share/man/man1/hermes-sessions.1",
    "share/bash-completion/completions/hermes-sessions",
    "share/zsh/site-functions/_hermes-sessions",
    "share/fish/vendor_completions.d/hermes-sessions.fish",
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", directory, ROOT],
        check=True,
        capture_output=True,
        cwd=directory,
    )
    return directory


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    wheel = next(dist.glob("*.whl"))
    subprocess.run(
        [venv / "bin" / "pip", "install", "-q", wheel], check=True, capture_output=True, cwd=dist
    )
    return venv


def test_what_the_wheel_has(dist: Path) -> None:
    wheel = zipfile.ZipFile(next(dist.glob("*.whl")))
    names = set(wheel.namelist())
    for path in (ROOT / "hermes_sessions").rglob("*"):
        relative = path.relative_to(ROOT)
        if path.is_file() and "__pycache__" not in relative.parts:
            assert str(relative) in names
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]
    metadata = wheel.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert "License-Expression: MIT" in metadata
    assert "typer<0.29,>=0.26.8" in metadata
    for shared in SHARED:
        assert any(name.endswith(shared) for name in names), shared


def test_what_the_source_archive_has(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("README.md", "CHANGELOG.md", "LICENSE", "tools/generate.py", "tests/support.py"):
        assert wanted in names


def test_the_installed_wheel_works(installed: Path, tmp_path: Path) -> None:
    program = installed / "bin" / "hermes-sessions"
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    for words in (["--version"], ["--demo", "list"], ["--demo", "show", "latest"], ["list", "-h"]):
        run = subprocess.run(
            [program, *words],
            capture_output=True,
            text=True,
            env=environ,
            cwd=tmp_path,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, ""), words
        assert run.stdout
    for shared in SHARED:
        installed_file = installed / shared
        assert installed_file.read_bytes() == _committed(shared).read_bytes()


def _committed(shared: str) -> Path:
    names = {
        "man1": ROOT / "man" / "hermes-sessions.1",
        "completions": ROOT / "completions" / "hermes-sessions.bash",
        "site-functions": ROOT / "completions" / "_hermes-sessions",
        "vendor_completions.d": ROOT / "completions" / "hermes-sessions.fish",
    }
    return names[Path(shared).parent.name]


def test_a_dependency_is_never_missing(installed: Path, tmp_path: Path) -> None:
    """The wheel's own requirements are enough to import every module."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "hermes_sessions").rglob("*.py")
        if path.name != "__main__.py"
    ]
    script = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    run = subprocess.run(
        [installed / "bin" / "python", "-c", script, *modules],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
