"""The steps of ``optimize``: cure, merge, rewrite; on the store itself, or on a copy of it."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.cli.changes import writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.disk_space import Need, check_room, temporary_directory
from hermes_sessions.errors import (
    Refused,
    StoreBusy,
    StoreDamaged,
    UsageProblem,
    UserError,
)
from hermes_sessions.last_run import note_run
from hermes_sessions.plans import Done
from hermes_sessions.render.progress import Progress
from hermes_sessions.render.timed import timed
from hermes_sessions.side_files import JOURNAL, WAL, side_file
from hermes_sessions.store.compacting import (
    copy_into,
    empty_wal,
    sizes_of,
    vacuum,
)
from hermes_sessions.store.holders import describe, find_holders
from hermes_sessions.store.index_tasks import Action, find_tasks, rebuild_all
from hermes_sessions.store.merging import ALONE, BESIDE_OTHERS, merge
from hermes_sessions.store.rebuild_lock import rebuild_lock
from hermes_sessions.store.rebuilding import clear_trash, rebuild
from hermes_sessions.store.tokenizer import tokenizer_library
from hermes_sessions.text import size

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.last_run import Run
    from hermes_sessions.store.compacting import Sizes
    from hermes_sessions.store.holders import Scan
    from hermes_sessions.store.index_tasks import Task
    from hermes_sessions.store.pages import Pages
    from hermes_sessions.store.writing import Writer

CHECKED: Final = 1.2e9
"""Bytes that are checked in a second."""

_REWRITTEN: Final = 80e6
"""Bytes that are rewritten in a second, until a run has shown it."""

_TIMES: Final = 3
"""Times that indexes are cured: what is wrong may show only when they are merged, or filled."""


class Work(NamedTuple):
    """What there is to do on a store.

    Attributes:
        torn: tables of search indexes whose pages are damaged.
        index_pages: about how many pages belong to search indexes.
        vacuum: the file is rewritten.
        reason: why not, or "".
        is_any: there is anything to do.
        scan: other processes that have the store open.
        into: the copy to write; None: the store itself.
        force: whatever is in the way.
    """

    home: Home
    tasks: tuple[Task, ...]
    torn: tuple[str, ...]
    pages: Pages
    index_pages: int
    sizes: Sizes
    vacuum: bool
    reason: str
    is_any: bool
    scan: Scan
    last_run: Run | None
    into: Path | None
    force: bool

    @property
    def is_held(self) -> bool:
        """Another process has the store open, or that cannot be told."""
        return bool(self.scan.holders) or self.scan.unknown is not None

    @property
    def is_refused(self) -> bool:
        """It cannot be done beside those that have the store open."""
        long = self.vacuum or any(task.action is Action.REBUILD for task in self.tasks)
        return self.into is None and self.is_any and long and self.is_held and not self.force

    def hopeless(self) -> list[str]:
        """Say which indexes are unwell, and that nothing can be done about it here."""
        return [f"left {task.name}: {task.why}" for task in self.tasks if task.is_hopeless]


def has_tokenizer(env: Env, home: Home) -> bool:
    """Tell whether Hermes' own tokenizer for CJK is there."""
    return tokenizer_library(home.path, env.environ) is not None


def needs(work: Work, temporary: Path) -> list[Need]:
    """Return how much may be written where.

    To rewrite a file takes a copy of what is in use, as a temporary file, and then a journal or
    write-ahead log of all of it beside the store (sqlite.org/lang_vacuum.html). To merge an index
    takes as much again as it has, and that in the journal, too.
    """
    pages = work.pages
    indexes = 2 * work.index_pages * pages.size
    if any(task.is_cure for task in work.tasks):
        indexes = max(indexes, pages.used_bytes)
    if work.into is not None:
        return [Need(work.into.parent, 2 * pages.used_bytes), Need(temporary, pages.used_bytes)]
    beside = Path(os.path.realpath(work.home.store)).parent
    if not work.vacuum:
        return [Need(beside, indexes)]
    return [Need(beside, max(pages.total_bytes, indexes)), Need(temporary, pages.used_bytes)]


def index_data(planned: Sequence[Task], now: Sequence[Task]) -> list[dict[str, object]]:
    """Return what the indexes are like now, and what was to be done with each."""
    actions = {task.name: task.action for task in planned}
    return [
        {
            "name": task.name,
            "state": task.state,
            "action": actions.get(task.name, task.action),
            "why": task.why or None,
        }
        for task in now
    ]


def optimize(env: Env, work: Work, timeout: float) -> Done:
    """Do it in place.

    Raises:
        Refused: another process has the store open.
        StoreDamaged: it is damaged beyond its indexes; nothing was changed.
        UserError: it failed; what had been done by then is kept and sound.
    """
    _refuse_if_held(work)
    temporary = temporary_directory(env.environ) if work.vacuum else Path()
    if not work.force:
        check_room(needs(work, temporary))
    began = time.monotonic()
    with writing(env, work.home, timeout) as writer:
        steps = _Steps(env, writer, work, timeout)
        lines, failures = steps.indexes()
        speed = _rewrite(steps) if work.vacuum else 0.0
        if not empty_wal(writer):
            failures.append("the write-ahead log stays: another process is reading")
    after = sizes_of(work.home.store)
    if speed:
        problem = note_run(env.environ, work.home.store, env.now, speed)
        failures += [problem] if problem else []
    lines.append(_gain(work.sizes.total, after.total))
    return Done(tuple(lines), _data(work, steps.tasks, after, began, failures), tuple(failures))


def _rewrite(steps: _Steps) -> float:
    try:
        return steps.rewrite()
    except UserError as error:
        error.details += ("the indexes are done; the file is as it was, and nothing is lost",)
        raise


def copy(env: Env, work: Work, timeout: float) -> Done:
    """Write a compact copy and put it in place when it is whole.

    Raises:
        UsageProblem: there is such a file already, or it cannot be one.
        UserError: it failed; nothing is left behind.
    """
    target = work.into or Path()
    _check_target(work, target)
    if not work.force:
        check_room(needs(work, temporary_directory(env.environ)))
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as private:
            made = Path(private, target.name)
            seconds = work.pages.used_bytes / _REWRITTEN
            with opened_store(env, work.home) as store, timed(env, "copying", seconds):
                copy_into(store, made)
            made.chmod(0o600)
            home = work.home._replace(store=made)
            with writing(env, home, timeout) as writer:
                steps = _Steps(env, writer, work._replace(home=home), timeout)
                lines, failures = steps.indexes()
                steps.rewrite()
            with made.open("rb") as file:
                os.fsync(file.fileno())
            made.replace(target)
    except OSError as error:
        raise UserError(
            f"cannot write {target}: {error.strerror}", hint="the store was only read"
        ) from None
    after = sizes_of(target)
    lines.append(f"copied {size(work.sizes.total)} to {target}: {size(after.store)}")
    return Done(tuple(lines), _data(work, steps.tasks, after, began, failures), tuple(failures))


class _Steps:
    """The steps on one open store; each shows a bar of its own."""

    def __init__(self, env: Env, writer: Writer, work: Work, timeout: float) -> None:
        self._env = env
        self._writer = writer
        self._work = work
        self._timeout = timeout
        self.tasks: Sequence[Task] = work.tasks

    def indexes(self) -> tuple[list[str], list[str]]:
        """Cure and merge; return what was done and what could not be, in words."""
        rebuilt: list[str] = []
        damaged: list[Task] = []
        for _ in range(_TIMES):
            cures = [task for task in self.tasks if task.is_cure]
            self._cure(cures)
            rebuilt += [task.name for task in cures]
            damaged = self._merge()
            if damaged and self._may_rebuild:  # which nothing had told before
                again = {task.name: task for task in rebuild_all(self.tasks, damaged)}
                self.tasks = [again.get(task.name, task) for task in self.tasks]
            elif cures:
                self.tasks = self._look_again()
            is_well = not any(task.is_cure for task in self.tasks)
            if is_well or not self._may_rebuild:
                break
        return self._lines(list(dict.fromkeys(rebuilt))), self._failures(damaged)

    @property
    def _may_rebuild(self) -> bool:
        return self._work.force or not self._work.is_held

    def _look_again(self) -> list[Task]:
        tokenizer = has_tokenizer(self._env, self._work.home)
        with self._writer.transaction():
            return find_tasks(self._writer.store, has_tokenizer=tokenizer, is_frozen=True)

    def _lines(self, rebuilt: Sequence[str]) -> list[str]:
        merged = [t.name for t in self.tasks if t.action is Action.MERGE and t.name not in rebuilt]
        lines = [f"rebuilt {', '.join(rebuilt)}"] if rebuilt else []
        return [*lines, f"merged {', '.join(merged)}"] if merged else lines

    def _failures(self, damaged: Sequence[Task]) -> list[str]:
        failures = [f"{task.name} is damaged and was left" for task in damaged]
        failures += [f"{t.name} could not be cured: {t.why}" for t in self.tasks if t.is_cure]
        for task in self.tasks:
            if task.action is Action.LEAVE and not task.is_hopeless:
                self._env.note(f"left {task.name}: {task.why}")
        return failures + self._work._replace(tasks=tuple(self.tasks)).hopeless()

    def _cure(self, tasks: Sequence[Task]) -> None:
        store, env = self._work.home.store, self._env
        if tasks:
            with rebuild_lock(store, env.now, self._timeout):
                self._show("rebuilding the search index", rebuild(self._writer, tasks))
        trash = clear_trash(self._writer, set(self._work.torn))
        self._show("deleting an old index", trash)

    def _merge(self) -> list[Task]:
        """Merge every index; return those that turn out to be damaged."""
        damaged = []
        at_once = ALONE if self._work.vacuum and not self._work.is_held else BESIDE_OTHERS
        for task in self.tasks:
            if task.action is Action.LEAVE:
                continue
            try:
                self._show(f"merging {task.name}", merge(self._writer, task.name, at_once))
            except StoreBusy:
                raise
            except StoreDamaged:
                damaged.append(task)
            except UserError as error:
                if task.shape is not None:
                    raise
                self._env.note(f"left {task.name}: {error.message}")  # no tokenizer after all
        return damaged

    def rewrite(self) -> float:
        """Rewrite the file; return bytes in a second."""
        work = self._work
        _refuse_if_held(work._replace(scan=find_holders(work.home.store)))
        amount = work.pages.used_bytes
        speed = work.last_run.speed if work.last_run and work.last_run.speed > 0 else _REWRITTEN
        began = time.monotonic()
        with timed(self._env, "rewriting the file", amount / speed):
            vacuum(self._writer)
        return amount / max(time.monotonic() - began, 0.001)

    def _show(self, what: str, steps: Generator[float]) -> None:
        with Progress(self._env, what) as bar, closing(steps):
            for done in steps:
                bar.update(done)


def _refuse_if_held(work: Work) -> None:
    if not work.is_refused:
        return
    held = [f"open in {describe(holder)}" for holder in work.scan.holders]
    what = "another process has it open" if held else str(work.scan.unknown)
    raise Refused(
        f"{work.home.store} cannot be optimized safely: {what}",
        details=tuple(held),
        hint="end it first, or --force; --fts-only merges the search indexes beside it",
    )


def _check_target(work: Work, target: Path) -> None:
    if target.exists() and os.path.samefile(target, work.home.store):  # noqa: PTH121
        raise UsageProblem("--into names the store itself", hint="nothing was changed")
    if target.is_dir() or not target.parent.is_dir():
        what = "is a directory" if target.is_dir() else "is in a directory that is not there"
        raise UsageProblem(f"{target} {what}", hint="--into names the file to be made")
    if target.exists() and not work.force:
        raise UsageProblem(f"{target} exists", hint="--force overwrites it")
    for end in (WAL, JOURNAL):
        beside = side_file(target, end)
        if beside.exists():  # SQLite would take it for a part of the new file
            raise Refused(f"{beside} is there: {target} is in use", hint="choose another name")


def _gain(before: int, after: int) -> str:
    sizes = f"{size(before)} → {size(after)}"
    if after > before:
        return f"{sizes}: grew by {size(after - before)}"
    return (
        f"{sizes}: {size(before - after)} given back" if after < before else f"{sizes}: as before"
    )


def _data(
    work: Work, tasks: Sequence[Task], after: Sizes, began: float, failures: Sequence[str]
) -> dict[str, object]:
    return {
        "indexes": index_data(work.tasks, tasks),
        "size_after": after.store,
        "wal_after": after.wal,
        "reclaimed": work.sizes.total - after.total,
        "seconds": round(time.monotonic() - began, 3),
        "failures": list(failures),
    }
