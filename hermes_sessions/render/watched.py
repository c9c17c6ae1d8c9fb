"""Work that cannot be measured: what is done at the moment and for how long, on stderr."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.context import Env

T = TypeVar("T")

_PATIENCE: Final = 0.5
"""Seconds after which a person wants to know."""

_EVERY: Final = 0.1
"""Seconds between looks at the work."""


def watched(env: Env, work: Callable[[Callable[[str], object]], T]) -> T:
    """Do work that calls back with the words for what it does, and show them if it takes long.

    One call of SQLite may take all the time, and Python could not be interrupted in it. So it is
    done by a thread, which ends with the program; on a terminal only, else nobody is there to
    interrupt.
    """
    if not env.stderr.isatty():
        return work(lambda _: None)
    job = _Job(work)
    thread = Thread(target=job.run, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if thread.is_alive():
        _watch(env, thread, job)
    return job.result()


class _Job(Generic[T]):
    """Work of another thread, and what came of it."""

    def __init__(self, work: Callable[[Callable[[str], object]], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None
        self.words = ""

    def run(self) -> None:
        try:
            self._results.append(self._work(self._say))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error

    def _say(self, words: str) -> None:
        self.words = words

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]


def _watch(env: Env, thread: Thread, job: _Job[T]) -> None:
    """Wait for the end; show what is done, unless nothing is to be shown."""
    if env.quiet or env.environ.get("TERM") == "dumb":
        while thread.is_alive():
            thread.join(_EVERY)
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hermes_sessions.render.console import make_console
    from hermes_sessions.text import one_line

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    console = make_console(env, env.stderr, is_terminal=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=None)
        while thread.is_alive():
            progress.update(task, description=one_line(job.words), refresh=True)
            thread.join(_EVERY)
