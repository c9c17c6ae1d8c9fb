"""What a run can see and touch: streams, environment, directory, clock. Read once, passed on."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final, NamedTuple, TextIO

from hermes_sessions.home import Home, select_home

_DEFAULT_WIDTH: Final = 80


class Env(NamedTuple):
    """The surroundings of one run.

    Attributes:
        now: epoch seconds; the only clock.
        cwd: the working directory, or None if it is gone.
        color: auto, always or never.
        profile, home, db: the options of these names.
        demo: use the sample home.
        passed_on: words for Hermes, behind the ``--`` of ``resume``.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    now: float
    cwd: str | None
    color: str = "auto"
    quiet: bool = False
    debug: bool = False
    profile: str | None = None
    home: str | None = None
    db: str | None = None
    demo: bool = False
    passed_on: tuple[str, ...] = ()

    @property
    def is_terminal(self) -> bool:
        """Results go to a person."""
        return self.stdout.isatty()

    @property
    def can_ask(self) -> bool:
        """A person can be asked."""
        return self.stdin.isatty() and self.stderr.isatty()

    @property
    def width(self) -> int:
        """Columns of the terminal: COLUMNS, else what it says itself, else 80."""
        columns = self.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        try:
            return os.get_terminal_size(self.stdout.fileno()).columns or _DEFAULT_WIDTH
        except (OSError, ValueError):
            return _DEFAULT_WIDTH

    def colored(self, stream: IO[str]) -> bool:
        """Tell whether to colour a stream (``--color``, NO_COLOR, CLICOLOR_FORCE)."""
        if self.color != "auto":
            return self.color == "always"
        if self.environ.get("NO_COLOR"):
            return False
        if self.environ.get("CLICOLOR_FORCE", "0") != "0":
            return True
        return stream.isatty() and self.environ.get("TERM") != "dumb"

    def write(self, text: str) -> None:
        """Write results; characters the console cannot show are replaced (R136)."""
        write_to(self.stdout, text)

    def note(self, text: str) -> None:
        """Tell the person something beside the results, unless ``--quiet``."""
        if not self.quiet:
            write_to(self.stderr, f"{text}\n")

    def select_home(self) -> Home:
        """Choose the home that the options and the environment mean."""
        if self.demo:
            from hermes_sessions.demo import demo_home

            return demo_home(self.environ, self.now, self.profile)
        return select_home(self.environ, profile=self.profile, home=self.home, store=self.db)


def current_env() -> Env:
    """Read the surroundings of this process."""
    try:
        cwd = os.getcwd()  # noqa: PTH109 - text, without importing more
    except OSError:
        cwd = None
    return Env(sys.stdin, sys.stdout, sys.stderr, os.environ, time.time(), cwd)


def write_to(stream: TextIO, text: str) -> None:
    """Write text in the encoding of the stream, replacing what it lacks."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))


def short_path(path: str | Path, environ: Mapping[str, str]) -> str:
    """Write a path for people, the home directory as ``~``."""
    text, home = str(path), environ.get("HOME", "").rstrip("/")
    if home and (text == home or text.startswith(f"{home}/")):
        return f"~{text[len(home) :]}"
    return text
