"""Progress on stderr for what takes longer than a person waits gladly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.live import Live

    from hermes_sessions.context import Env
    from hermes_sessions.store.search_page import Block

_PATIENCE: Final = 0.5
_EVERY: Final = 0.3
_BAR: Final = 24


class Progress:
    """A bar, and below it what was found so far; on a terminal only, and gone at the end."""

    def __init__(self, env: Env, what: str) -> None:
        self._env = env
        self._what = what
        self._due = time.monotonic() + _PATIENCE
        self._live: Live | None = None
        self._is_watched = (
            not env.quiet and env.stderr.isatty() and env.environ.get("TERM") != "dumb"
        )

    def update(self, done: float, found: Callable[[], Iterable[Block]]) -> None:
        """Show how much is done, from 0 to 1, and what was found, if it is time to."""
        if not self._is_watched or time.monotonic() < self._due:
            return
        from rich.console import Group
        from rich.text import Text

        from hermes_sessions.render.hits import block_lines

        filled = round(done * _BAR)
        bar = Text(f"{self._what} {'━' * filled}{'┈' * (_BAR - filled)} {done:4.0%}")
        self._started().update(Group(bar, *block_lines(self._env, found())), refresh=True)
        self._due = time.monotonic() + _EVERY

    def _started(self) -> Live:
        if self._live is None:
            from rich.live import Live

            from hermes_sessions.render.console import make_console

            console = make_console(self._env, self._env.stderr, is_terminal=True)
            self._live = Live(
                console=console, transient=True, auto_refresh=False, vertical_overflow="crop"
            )
            self._live.start()
        return self._live

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
