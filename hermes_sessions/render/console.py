"""One way to make a console: no guessing, no markup in stored text, the encoding of the stream."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from hermes_sessions.context import Env

ACCENT = "cyan"
DIM = "dim"
DANGER = "red"


def make_console(env: Env, stream: IO[str] | None = None, *, is_terminal: bool = False) -> Console:
    """Make a console for a stream (stdout) that shows text as it is.

    If it ``is_terminal``, its lines can be replaced, even without colours.
    """
    stream = stream or env.stdout
    colored = env.colored(stream)
    return Console(
        file=stream,
        force_terminal=colored or is_terminal,
        color_system="standard" if colored else None,
        no_color=not colored,
        width=env.width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        legacy_windows=False,
        safe_box=True,
        _environ=dict(env.environ),
    )
