"""Hermes' own ``sessions refresh-prompts``, which releases up to 0.22.2 do not have.

It asks sessions to rebuild their prompt by a protocol of its own, which also reaches a gateway that
has the prompt in memory, so it is used where it is there.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError
from hermes_sessions.launch import find_program, hermes_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hermes_sessions.home import Home
    from hermes_sessions.launch import Launch

_WORDS: Final = ("sessions", "refresh-prompts")
_MODULE: Final = "hermes_state_prompt_refresh"
"""The module of Hermes behind the command, as its sources name it."""

_FIND: Final = (
    f"import importlib.util, sys; sys.exit(importlib.util.find_spec({_MODULE!r}) is None)"
)
_PATIENCE: Final = 30.0
"""Seconds for a question to Hermes, which takes three or four to start."""

_LONGEST_LINE: Final = 300


def refresher(environ: Mapping[str, str], home: Home) -> str | None:
    """Return the path of a ``hermes`` that has the command, or None.

    HERMES_BIN names another program. A script of a Python environment is known by what is
    installed there, without starting Hermes; whatever else it may be is asked for the command's
    help.
    """
    if home.path is None:
        return None  # Hermes knows stores by their homes only
    try:
        program = find_program(hermes_command(environ, home, _WORDS), environ)
    except UserError:
        return None
    python = _interpreter(Path(program))
    question = [python, "-c", _FIND] if python else [program, *_WORDS, "--help"]
    run = _run(question, environ, directory="/")
    return program if run is not None and run.returncode == 0 else None


def refresh(
    environ: Mapping[str, str], home: Home, program: str, session_id: str | None
) -> tuple[str, str | None]:
    """Run the command for one session, or for the whole store.

    Returns:
        What it printed, and what went wrong, or None.
    """
    words = [*_WORDS, *(("--session", session_id) if session_id is not None else ())]
    launch = hermes_command(environ, home, words)
    run = _run([program, *launch.argv[1:]], _environment(launch, environ))
    if run is None:
        return "", f"{launch.in_words()} did not come to an end"
    if run.returncode != 0:
        said = (run.stderr or run.stdout).strip().splitlines()
        what = said[-1] if said else f"exit code {run.returncode}"
        return run.stdout, f"{launch.in_words()} failed: {what}"
    return run.stdout, None


def _environment(launch: Launch, environ: Mapping[str, str]) -> Mapping[str, str]:
    return {**environ, **dict(launch.extra_env)}


def _interpreter(program: Path) -> str | None:
    """Return the Python that a script names in its first line, or None."""
    try:
        with program.open("rb") as file:
            first = file.readline(_LONGEST_LINE).decode("utf-8", "replace").strip()
    except OSError:
        return None
    path = Path(first.removeprefix("#!").strip())
    is_python = first.startswith("#!/") and path.name.startswith("python")
    return str(path) if is_python and path.is_file() else None


def _run(
    words: Sequence[str], environ: Mapping[str, str], directory: str | None = None
) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(  # noqa: S603 - a list, no shell
            words,
            env=environ,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
