"""The command handed to Hermes: built as a list, never through a shell, and become by exec."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import HermesMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_sessions.home import Home


class Launch(NamedTuple):
    """What is started.

    Attributes:
        argv: the program and its arguments.
        extra_env: variables that must be set for it.
    """

    argv: tuple[str, ...]
    extra_env: tuple[tuple[str, str], ...]

    def in_words(self) -> str:
        """Write it as a line for a POSIX shell."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.extra_env]
        return " ".join([*variables, shlex.join(self.argv)])


def hermes_command(environ: Mapping[str, str], home: Home, words: Sequence[str]) -> Launch:
    """Build a command of Hermes, for the profile and the home that were chosen."""
    argv = [environ.get("HERMES_BIN") or "hermes"]
    if home.profile is not None:
        argv += ["-p", home.profile]
    extra = (("HERMES_HOME", home.hermes_home),) if home.hermes_home else ()
    return Launch((*argv, *words), extra)


def resume_command(
    environ: Mapping[str, str], home: Home, session_id: str, arguments: Sequence[str]
) -> Launch:
    """Build ``hermes --resume ID``."""
    return hermes_command(environ, home, ["--resume", session_id, *arguments])


def find_program(launch: Launch, environ: Mapping[str, str]) -> str:
    """Return the path of the program.

    Raises:
        HermesMissing: it is not there; the message has the command to run by hand.
    """
    path = shutil.which(launch.argv[0], path=environ.get("PATH"))
    if path is None:
        raise HermesMissing(
            f"cannot find {launch.argv[0]} on PATH",
            hint=f"run by hand: {launch.in_words()}   (HERMES_BIN names another program)",
        )
    return path


def become(launch: Launch, environ: Mapping[str, str], program: str) -> int:
    """Become the program; returns only where a process cannot become another (Windows)."""
    variables = {**environ, **dict(launch.extra_env)}
    if sys.platform != "win32":
        os.execve(program, launch.argv, variables)  # noqa: S606 - no shell is meant
    import subprocess

    return subprocess.run(  # noqa: S603 - a list, no shell
        [program, *launch.argv[1:]], env=variables, check=False
    ).returncode
