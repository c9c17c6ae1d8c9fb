"""A bar for one long call that does not tell how far it is: it moves as the time passes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from hermes_sessions.render.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.context import Env

_EVERY: Final = 0.3
_SHORTEST: Final = 0.1
_MOST: Final = 0.99
"""It is not done before it is."""


@contextmanager
def timed(env: Env, what: str, seconds: float) -> Iterator[None]:
    """Show a bar that is full after as many seconds as it should take.

    A thread moves it, as the one that makes the call is busy with it.
    """
    with Progress(env, what) as bar:
        if not bar.is_watched:
            yield
            return
        over = Event()
        thread = Thread(target=_move, args=(bar, max(seconds, _SHORTEST), over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _move(bar: Progress, seconds: float, over: Event) -> None:
    began = time.monotonic()
    while not over.wait(_EVERY):
        bar.update(min((time.monotonic() - began) / seconds, _MOST))
