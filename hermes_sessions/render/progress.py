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
_SHORTEST: Final = 4


class Progress:
    """A bar, and below it what was found so far; on a terminal only, and gone at the end.

    Attributes:
        is_watched: somebody sees it.
    """

    def __init__(self, env: Env, what: str) -> None:
        self._env = env
        self._what = what
        self._due = time.monotonic() + _PATIENCE
        self._live: Live | None = None
        self.is_watched = (
            not env.quiet and env.stderr.isatty() and env.environ.get("TERM") != "dumb"
        )

    def update(
        self,
        done: float,
        found: Callable[[], Iterable[Block]] = tuple,
        said: Callable[[], str] = str,
    ) -> None:
        """Show how much is done, if it is time to.

        Args:
            done: from 0 to 1.
            found: what was found so far, for below the bar.
            said: figures, for behind it; the bar makes room for them.
        """
        if not self.is_watched or time.monotonic() < self._due:
            return
        from rich.console import Group
        from rich.text import Text

        from hermes_sessions.render.hits import block_lines

        live = self._started()
        head, tail = f"{self._what} ", f" {done:4.0%}  {said()}".rstrip()
        length = max(_SHORTEST, min(_BAR, live.console.width - 1 - len(head) - len(tail)))
        filled = round(done * length)
        bar = Text(f"{head}{'━' * filled}{'┈' * (length - filled)}{tail}", no_wrap=True)
        live.update(Group(bar, *block_lines(self._env, found())), refresh=True)
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
