"""Show something long through a pager, as git does."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hermes_sessions.context import Env


def page(env: Env, text: Iterable[str]) -> None:
    """Write text to a pager on a terminal, else to stdout.

    ``HERMES_SESSIONS_PAGER``, then ``PAGER``, names it; ``cat`` or an empty value means none.
    ``less`` gets the options git gives it, so that a short text needs no key to leave.
    """
    command = env.environ.get("HERMES_SESSIONS_PAGER", env.environ.get("PAGER", "less"))
    pager = None
    if env.is_terminal and command.strip() not in {"", "cat"}:
        pager = _start(command, env.environ)
    if pager is None or pager.stdin is None:
        for part in text:
            env.write(part)
        return
    try:
        with suppress(BrokenPipeError, KeyboardInterrupt):  # the reader has seen enough
            for part in text:
                pager.stdin.write(part)
    finally:
        with suppress(BrokenPipeError):
            pager.stdin.close()
        _wait(pager)


def _start(command: str, environ: Mapping[str, str]) -> subprocess.Popen[str] | None:
    variables = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **environ}
    try:
        return subprocess.Popen(  # noqa: S603 - the user's own choice, without a shell
            shlex.split(command), stdin=subprocess.PIPE, text=True, encoding="utf-8", env=variables
        )
    except (OSError, ValueError):
        return None


def _wait(pager: subprocess.Popen[str]) -> None:
    """Ctrl-C belongs to the pager while it runs."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return
