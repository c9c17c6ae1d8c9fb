"""A line of progress on stderr for what takes longer than a person waits gladly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from hermes_sessions.context import write_to

if TYPE_CHECKING:
    from hermes_sessions.context import Env

_PATIENCE: Final = 0.5
_BAR: Final = 24


class Progress:
    """A bar that appears after half a second, on a terminal only, and goes away."""

    def __init__(self, env: Env, what: str) -> None:
        self._env = env
        self._what = what
        self._began = time.monotonic()
        self._is_shown = False

    def update(self, done: float) -> None:
        """Show how much is done, from 0 to 1."""
        if self._env.quiet or not self._env.stderr.isatty():
            return
        if time.monotonic() - self._began < _PATIENCE:
            return
        filled = round(done * _BAR)
        bar = "━" * filled + "┈" * (_BAR - filled)
        write_to(self._env.stderr, f"\r{self._what} {bar} {done:4.0%}")
        self._env.stderr.flush()
        self._is_shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            write_to(self._env.stderr, "\r\x1b[2K")
