"""The corpus, and how tests run the program on it."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_sessions.cli.app import main
from hermes_sessions.context import Env

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).parent / "corpus"
MANIFEST: dict[str, Any] = json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))
CLOCK: float = MANIFEST["clock_now"]
RELEASES: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in MANIFEST["files"]}
VARIANTS: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in MANIFEST["variants"]}
STORES = {**RELEASES, **VARIANTS}
DAMAGED = ("truncated", "zero-byte", "nul-header", "not-a-database")
"""Nothing of these can be read."""


class Outcome(NamedTuple):
    """What a run of the program gave."""

    stdout: str
    stderr: str
    code: int

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    def ok(self) -> Outcome:
        assert self.code == 0, self
        assert "Traceback" not in self.stderr
        return self


class Terminal(io.StringIO):
    """A stream that says it is a terminal; what needs a real one is tested in tmux."""

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"


class Cli:
    """Runs the program in process."""

    def __init__(self, home: Path, environ: dict[str, str], cwd: Path) -> None:
        self.home = home
        self.environ = environ
        self.cwd = cwd
        self.now = CLOCK

    def __call__(self, *args: str, terminal: int = 0, **environ: str) -> Outcome:
        """Run with these words; ``terminal`` is the width of one, 0 for pipes."""
        out: io.StringIO = Terminal() if terminal else io.StringIO()
        err = io.StringIO()
        values = {**self.environ, **environ}
        if terminal:
            values.update(COLUMNS=str(terminal), LINES="50")
        env = Env(io.StringIO(), out, err, values, self.now, str(self.cwd))
        old = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = out, err
        try:
            code = main(list(args), env)
        finally:
            sys.stdout, sys.stderr = old
        return Outcome(out.getvalue(), err.getvalue(), int(code))


def store_file(name: str) -> Path:
    """Return the file of a release or variant in the corpus."""
    return CORPUS / str(STORES[name]["file"])


def place_store(name: str, directory: Path) -> Path:
    """Copy a store of the corpus, with its side files, into a home and return the home."""
    source = store_file(name)
    directory.mkdir(parents=True, exist_ok=True)
    for end in ("", "-wal", "-shm", "-journal"):
        beside = source.with_name(source.name + end)
        if beside.exists():
            shutil.copyfile(beside, directory / f"state.db{end}")
    return directory


def fingerprint(directory: Path) -> dict[str, str]:
    """Return every file below a directory with a digest of its bytes."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def edit(*statements: str, **parameters: object) -> Callable[[Path], None]:
    """Return a change to a copied store, made with foreign keys off, as other tools do."""

    def change(path: Path) -> None:
        connection = sqlite3.connect(path)
        try:
            for statement in statements:
                connection.execute(statement, parameters if ":" in statement else {})
            connection.commit()
        finally:
            connection.close()
        for end in ("-wal", "-shm"):  # a WAL store leaves them if another one reads
            path.with_name(path.name + end).unlink(missing_ok=True)

    return change
