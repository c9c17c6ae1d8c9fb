"""What ``delete`` and ``prune`` share: the plan, the trash, the deletion, and what is said."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions import deletion_log
from hermes_sessions.cli.changes import writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.errors import UserError
from hermes_sessions.own_files import trash_directory
from hermes_sessions.plans import Done, Item
from hermes_sessions.render.progress import Progress
from hermes_sessions.session_files import copy_files, files_of, remove_files
from hermes_sessions.store.fingerprints import fingerprints
from hermes_sessions.store.lineage import detached
from hermes_sessions.store.pages import read_pages
from hermes_sessions.store.pruning import check_undamaged, titles_of
from hermes_sessions.store.removal import Remover, count_messages_of
from hermes_sessions.store.saving import Labels
from hermes_sessions.store.tokenizer import check_tokenizer
from hermes_sessions.text import one_line, plural, size
from hermes_sessions.times import ago, local_iso
from hermes_sessions.trash import Header, TrashFile, discard_old, mint_trash_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hermes_sessions.context import Env
    from hermes_sessions.gateway import Endpoint
    from hermes_sessions.home import Home
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.lineage import Unit
    from hermes_sessions.store.removal import Removed


_WORTH_IT: Final = 1_000_000
"""Free bytes that are worth a word."""


class Doomed(NamedTuple):
    """What is to be deleted, and how much it is.

    Attributes:
        labels: by the id of the conversation.
        bytes: of message text, about.
        files: of the home that go too.
    """

    units: tuple[Unit, ...]
    labels: dict[str, Labels]
    sizes: dict[str, int]
    files: tuple[Path, ...]

    @property
    def session_ids(self) -> list[str]:
        """The ids of all sessions that go."""
        return [i for unit in self.units for i in unit.session_ids]

    @property
    def messages(self) -> int:
        """How many stored messages go."""
        return sum(label.messages for label in self.labels.values())


class Means(NamedTuple):
    """How it is deleted.

    Attributes:
        command: as typed, for the trash and the log.
        trash: rows go to the trash first.
        timeout: seconds to wait for another writer.
    """

    command: str
    trash: bool
    timeout: float


def weigh(store: Store, home: Home, units: Sequence[Unit]) -> Doomed:
    """Count what goes with conversations."""
    counts = count_messages_of(store, [i for unit in units for i in unit.session_ids])
    titles = titles_of(store, units)
    marks = fingerprints(store, units)
    labels, sizes = {}, {}
    for unit in units:
        found = [counts[i] for i in unit.session_ids if i in counts]
        labels[unit.id] = Labels(
            titles[unit.id], sum(number for number, _ in found), marks[unit.id]
        )
        sizes[unit.id] = sum(number for _, number in found)
    ids = [i for unit in units for i in unit.session_ids]
    return Doomed(tuple(units), labels, sizes, tuple(files_of(home.path, ids)))


def plan_data(doomed: Doomed, kept: Mapping[str, int]) -> dict[str, object]:
    """Return a plan for a script."""
    return {
        "conversations": len(doomed.units),
        "sessions": len(doomed.session_ids),
        "messages": doomed.messages,
        "bytes": sum(doomed.sizes.values()),
        "files": [str(path) for path in doomed.files],
        "ids": [unit.id for unit in doomed.units],
        "kept": dict(kept),
    }


def plan_facts(env: Env, doomed: Doomed, kept: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return what goes and what stays, in words."""
    units = doomed.units
    if not units:
        return []
    amounts = [
        plural(len(units), "conversation"),
        plural(len(doomed.session_ids), "session"),
        plural(doomed.messages, "message"),
        plural(len(doomed.files), "file") if doomed.files else "",
        size(sum(doomed.sizes.values())),
    ]
    facts = [("go", " · ".join(filter(None, amounts)))]
    delegates = sum(len(unit.delegates) for unit in units)
    sources = Counter(unit.conversation.source for unit in units).most_common()
    about = [f"{source} {number:,}" for source, number in sources] if len(units) > 1 else []
    times = sorted(t for unit in units if (t := unit.conversation.active_at))
    if times and len(units) > 1:
        oldest, newest = ago(times[0], env.now), ago(times[-1], env.now)
        about.append(f"oldest {oldest}, newest {newest}")
    if delegates:
        about.append(f"{plural(delegates, 'delegate')} with them")
    if about:
        facts.append(("", " · ".join(map(one_line, about))))
    stay = " · ".join(f"{number:,} {reason}" for reason, number in kept.items() if number)
    return [*facts, ("stay", stay)] if stay else facts


def plan_items(env: Env, doomed: Doomed, names: Mapping[str, str]) -> tuple[Item, ...]:
    """Return a line for each conversation, the newest first."""
    newest = sorted(doomed.units, key=lambda unit: unit.conversation.active_at, reverse=True)
    return tuple(
        Item(
            unit.id,
            names.get(unit.id) or doomed.labels[unit.id].title or "",
            (ago(unit.conversation.active_at or None, env.now), unit.conversation.source),
            f"{doomed.labels[unit.id].messages:,} msgs",
        )
        for unit in newest
    )


def stays(store: Store, doomed: Doomed) -> tuple[str, ...]:
    """Say how many sessions hang off what goes, and stay (R046, R049, R050)."""
    number = detached(store, doomed.session_ids)
    if not number:
        return ()
    whose = "it" if len(doomed.units) == 1 else "them"
    who = f"{plural(number, 'branch', 'branches')} of {whose}"
    if any(unit.is_orphan for unit in doomed.units):  # of what is gone no kind is known
        who = f"{plural(number, 'session')} hanging off {whose}"
    return (f"{who} {'stays' if number == 1 else 'stay'}, detached",)


def remarks(means: Means) -> tuple[str, ...]:
    """Return what is to be known before it is done."""
    if not means.trash:
        return ("There is no way back: --no-trash was given.",)
    return ("They go to the trash first: hermes-sessions undo, for 30 days.",)


def delete(
    env: Env,
    home: Home,
    doomed: Doomed,
    means: Means,
    *,
    by: Endpoint | None,
    expected: Mapping[str, str] | None = None,
) -> Done:
    """Delete, log it, and tell what was done; what is done stays done if it fails half-way.

    ``by`` is the gateway that is asked to do it; None to do it here. What has not the digest that
    is ``expected`` of it stays.

    Raises:
        UserError: it failed before anything was deleted.
    """
    trash = _open_trash(env, home, means) if means.trash else None
    results: list[Removed] = []
    error: UserError | KeyboardInterrupt | None = None
    try:
        with Progress(env, "deleting") as progress:
            for one in _remove(env, home, doomed, means, trash, by, expected):
                results.append(one)
                progress.update(len(results) / len(doomed.units))
    except (UserError, KeyboardInterrupt) as failure:
        error = failure
    removed = [one.unit for one in results if one.reason is None]
    if trash is not None:
        trash.close(discard=not removed)
    if error is not None and not removed:
        raise error
    done = _finish(env, home, means, doomed, removed, trash)
    _note_space(env, home)
    kept = [one for one in results if one.reason is not None]
    failures = [f"kept {one_line(one.unit.id)}: {one.reason}" for one in kept]
    if error is not None:
        left = len(doomed.units) - len(results)
        why = error.message if isinstance(error, UserError) else "interrupted"
        failures.append(f"{why}; {plural(left, 'conversation')} of the plan left as they are")
    return done._replace(failures=(*done.failures, *failures))


def _note_space(env: Env, home: Home) -> None:
    """Say that the file has not become smaller, and what makes it so (R112)."""
    with opened_store(env, home) as store:
        free = read_pages(store).free_bytes
    if free >= _WORTH_IT:
        env.note(f"{size(free)} inside the store are free: hermes-sessions optimize returns them")


def _remove(
    env: Env,
    home: Home,
    doomed: Doomed,
    means: Means,
    trash: TrashFile | None,
    by: Endpoint | None,
    expected: Mapping[str, str] | None,
) -> Iterator[Removed]:
    if by is not None:
        from hermes_sessions.cli.by_gateway import remove_by_gateway

        if trash is not None and home.path is not None:  # the gateway removes files, too
            copy_files(home.path, doomed.files, trash.files)
        yield from remove_by_gateway(env, home, by, doomed, means, trash)
        return
    with writing(env, home, means.timeout) as writer:
        check_tokenizer(writer.store)
        check_undamaged(writer.store)
        remover = Remover(writer, home.path, trash, env.now)
        yield from remover.remove(doomed.units, doomed.labels, expected)


def _ids(units: Sequence[Unit]) -> list[str]:
    return [i for unit in units for i in unit.session_ids]


def _open_trash(env: Env, home: Home, means: Means) -> TrashFile:
    directory = trash_directory(env.environ)
    discard_old(directory, env.now)
    where = None if home.path is None else str(home.path)
    header = Header(
        mint_trash_id(env.now), env.now, means.command, str(home.store.absolute()), where
    )
    return TrashFile(directory, header)


def _finish(
    env: Env,
    home: Home,
    means: Means,
    doomed: Doomed,
    removed: Sequence[Unit],
    trash: TrashFile | None,
) -> Done:
    """Remove the files of what is gone, write the log, and say it all."""
    failures: list[str] = []
    files = files_of(home.path, _ids(removed))
    if home.path is not None and files:
        failures += remove_files(home.path, files, trash.files if trash else None)
    labels = [doomed.labels[unit.id] for unit in removed]
    messages = sum(label.messages for label in labels)
    trash_id = trash.header.id if trash and removed else None
    facts = {
        "at": local_iso(env.now),
        "command": means.command,
        "store": str(home.store),
        "trash": trash_id,
        "conversations": len(removed),
        "sessions": len(_ids(removed)),
        "messages": messages,
        "files": len(files) - len(failures),
        "deleted": [[unit.id, doomed.labels[unit.id].title] for unit in removed],
    }
    problem = deletion_log.append(env.environ, facts)
    if problem is not None:
        failures.append(problem)
    line = f"deleted {plural(len(removed), 'conversation')}, {plural(messages, 'message')}"
    if trash_id:
        line += f"; undo: hermes-sessions undo {trash_id}"
    return Done(
        (line,) if removed else (),
        {"deleted": [unit.id for unit in removed], "trash_id": trash_id, "failures": failures},
        tuple(failures),
    )
