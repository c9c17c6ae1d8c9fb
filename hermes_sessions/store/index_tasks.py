"""What each search index needs: to be merged, rebuilt, filled up, or left alone, and why.

``Indexes`` says what a search can trust. Here it is looked at harder: an index that has other rows
than it should is rebuilt, too. Rows that are only in the index keep the words of messages that were
deleted: triggers of 0.21.3 and newer forget those of sessions that are gone (store facts §0, 6).
"""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged, UserError
from hermes_sessions.store.fts import (
    HIGH_WATER,
    PROGRESS,
    STALE,
    TRIGRAMS,
    WORDS,
    Indexes,
    State,
    marks_of,
)
from hermes_sessions.store.shapes import just_made, read_shapes
from hermes_sessions.store.tokenizer import INDEX as CJK
from hermes_sessions.text import plural

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.fts import Index
    from hermes_sessions.store.shapes import Shape


class Action(StrEnum):
    """What is done with an index."""

    MERGE = "merge"
    FILL = "fill"  # go on where a rebuild stopped
    REBUILD = "rebuild"
    LEAVE = "leave"


class Task(NamedTuple):
    """What one index needs.

    Attributes:
        why: in words; "" for an index that is well.
        shape: None if there is none, or it is not one that can be rebuilt here.
        is_hopeless: it is unwell, and nothing can be done about it here.
        is_torn: its pages are damaged, so SQLite cannot even delete its tables.
    """

    name: str
    state: State
    action: Action
    why: str = ""
    shape: Shape | None = None
    is_hopeless: bool = False
    is_torn: bool = False

    @property
    def is_curable(self) -> bool:
        """Tell whether the index could be made anew, if it had to be."""
        return self.shape is not None and self.shape.obstacle() is None and not self.is_hopeless

    @property
    def is_cure(self) -> bool:
        """Tell whether the index is unwell and something can be done about it."""
        return self.action in {Action.FILL, Action.REBUILD}


_WRONG: Final = {
    State.MISSING: "there is none; Hermes makes it if its SQLite can",
    State.STALE: "it is out of date",
    State.INCOMPLETE: "it lacks messages",
    State.SILENT: "it finds nothing of what is there",
    State.BROKEN: "it is damaged",
}
_CJK_MARKS: Final = ("fts_cjk_stale", "fts_cjk_rebuild_high_water")


def find_tasks(store: Store, *, has_tokenizer: bool, is_frozen: bool = False) -> list[Task]:
    """Find out what every index needs.

    Args:
        store: to look at.
        has_tokenizer: Hermes' own for CJK can be loaded.
        is_frozen: nobody else can write meanwhile.
    """
    tasks = _look(store, has_tokenizer=has_tokenizer)
    if is_frozen or not any(task.is_cure for task in tasks):
        return tasks
    # Somebody who wrote between two counts makes it look as if rows were missing.
    store.rows("BEGIN")
    try:
        return _look(store, has_tokenizer=has_tokenizer)
    finally:
        with suppress(UserError):  # it may have been opened again meanwhile
            store.rows("COMMIT")


def _look(store: Store, *, has_tokenizer: bool) -> list[Task]:
    shapes, marks = read_shapes(store), marks_of(store)
    indexes = Indexes(store)
    tasks = []
    for name in (WORDS, TRIGRAMS):
        index = indexes.words if name == WORDS else indexes.trigrams
        tasks.append(_task(store, index, shapes.get(name), marks))
    tasks = _together(store, tasks, marks)
    if CJK in store.capabilities.tables:
        tasks.append(_cjk_task(marks, has_tokenizer=has_tokenizer))
    return tasks


def _task(store: Store, index: Index, shape: Shape | None, marks: Mapping[str, str]) -> Task:
    name, state = index.name, index.state
    if shape is None:
        return Task(name, State.MISSING, Action.LEAVE, _WRONG[State.MISSING])
    if state in {State.BROKEN, State.STALE} and just_made(shape) is None:
        return Task(name, state, Action.LEAVE, "this SQLite cannot read it", shape)
    why = _WRONG.get(state, "")
    if index.missing:
        why = f"it misses {plural(index.missing, 'message')}"
    if state is State.INCOMPLETE and not index.missing and HIGH_WATER not in marks:
        state = State.OK  # only that the other one lacks something is known
    if state is State.OK and shape.missing_triggers:
        state, why = State.STALE, _WRONG[State.STALE]
    if state is State.OK:
        why = _coverage(store, shape)
        state = State.INCOMPLETE if why else State.OK
    if state is State.OK:
        return Task(name, state, Action.MERGE, shape=shape)
    obstacle = shape.obstacle()
    if obstacle is not None:
        return Task(name, state, Action.LEAVE, f"{why}, but {obstacle}", shape, is_hopeless=True)
    can_fill = state is State.INCOMPLETE and _is_resumable(store, shape, marks)
    return Task(name, state, Action.FILL if can_fill else Action.REBUILD, why, shape)


def _coverage(store: Store, shape: Shape) -> str:
    """Compare the rows an index has with those it should have; say what is wrong, or ""."""
    table = f"{shape.name}_docsize"
    try:
        return _compare(store, shape, table)
    except StoreDamaged:
        return _WRONG[State.BROKEN]


def _compare(store: Store, shape: Shape, table: str) -> str:
    row = store.row(f"SELECT count(*), total(id IN (SELECT id FROM {table})) FROM {shape.source}")
    wanted, found = (int(float(str(number))) for number in row or (0, 0))
    surplus = int(str(store.value(f"SELECT count(*) FROM {table}"))) - found
    if surplus:
        return f"it has {plural(surplus, 'message')} that it should not have"
    return f"it misses {plural(wanted - found, 'message')}" if wanted > found else ""


def _is_resumable(store: Store, shape: Shape, marks: Mapping[str, str]) -> bool:
    """Tell whether a rebuild by Hermes or by us stopped half-way and can go on from there."""
    if not shape.is_gated or shape.missing_triggers or STALE in marks:
        return False
    high, low = marks.get(HIGH_WATER, ""), marks.get(PROGRESS, "")
    if not (high.isdecimal() and low.isdecimal()):
        return False
    within = store.value(
        f"SELECT 1 FROM {shape.name}_docsize WHERE id > :low AND id <= :high LIMIT 1",
        {"low": int(low), "high": int(high)},
    )
    return within is None


def _together(store: Store, tasks: list[Task], marks: Mapping[str, str]) -> list[Task]:
    """Have gated indexes cured together: one pair of marks says what both of them have."""
    gated = [task for task in tasks if task.shape is not None and task.shape.is_gated]
    if not any(task.is_cure for task in gated):
        return tasks
    if any(task.action is Action.LEAVE for task in gated):
        lost = "it cannot be rebuilt without the other one"
        return [
            task._replace(action=Action.LEAVE, why=f"{task.why}, but {lost}", is_hopeless=True)
            if task in gated and task.is_cure
            else task
            for task in tasks
        ]
    shapes = [task.shape for task in gated if task.shape is not None]
    can_fill = all(_is_resumable(store, shape, marks) for shape in shapes) and not any(
        task.action is Action.REBUILD for task in gated
    )
    action = Action.FILL if can_fill else Action.REBUILD
    return [
        task._replace(action=action, why=task.why or "it is rebuilt along with the other one")
        if task in gated
        else task
        for task in tasks
    ]


def rebuild_all(tasks: Sequence[Task], damaged: Sequence[Task]) -> list[Task]:
    """Return the tasks to rebuild some indexes, with the one that shares the marks with them."""
    is_gated = any(task.shape is not None and task.shape.is_gated for task in damaged)
    return [
        task._replace(action=Action.REBUILD, state=State.BROKEN)
        for task in tasks
        if task.shape is not None and (task in damaged or (is_gated and task.shape.is_gated))
    ]


def with_torn(tasks: Sequence[Task], names: Collection[str]) -> list[Task]:
    """Return the tasks where the pages of some indexes are damaged."""
    torn = [task for task in tasks if task.name in names]
    again = {task.name: task for task in rebuild_all(tasks, torn)}
    found = [again.get(task.name, task) for task in tasks]
    return [
        task._replace(is_torn=True, why="its pages are damaged") if task.name in names else task
        for task in found
    ]


def _cjk_task(marks: Mapping[str, str], *, has_tokenizer: bool) -> Task:
    """Hermes' own tokenizer is needed for this one, so all that is done is to merge it."""
    if any(mark in marks for mark in _CJK_MARKS):
        why = "it is out of date; hermes sessions optimize-storage rebuilds it"
        return Task(CJK, State.STALE, Action.LEAVE, why)
    if not has_tokenizer:
        return Task(CJK, State.BROKEN, Action.LEAVE, "it needs Hermes' own tokenizer")
    return Task(CJK, State.OK, Action.MERGE)
