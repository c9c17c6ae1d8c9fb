"""Show something long through a pager, as git does."""

from __future__ import annotations

import shlex
import subprocess
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.context import Env


def page(env: Env, write: Callable[[IO[str]], None]) -> None:
    """Run ``write`` with a stream: the pager's input on a terminal, else stdout.

    ``HERMES_SESSIONS_PAGER``, then ``PAGER``, names it; ``cat`` or an empty value means none.
    ``less`` gets the options git gives it, so that a short text needs no key to leave.
    """
    command = env.environ.get("HERMES_SESSIONS_PAGER", env.environ.get("PAGER", "less"))
    if not env.is_terminal or command.strip() in {"", "cat"}:
        write(env.stdout)
        return
    environ = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **env.environ}
    try:
        pager = subprocess.Popen(  # noqa: S603 - the user's own choice, without a shell
            shlex.split(command), stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environ
        )
    except (OSError, ValueError):
        write(env.stdout)
        return
    stream = pager.stdin
    try:
        if stream is not None:
            write(stream)
            stream.close()
    except (BrokenPipeError, KeyboardInterrupt):  # the reader has seen enough
        pass
    finally:
        _wait(pager)


def _wait(pager: subprocess.Popen[str]) -> None:
    """Ctrl-C belongs to the pager while it runs."""
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return
