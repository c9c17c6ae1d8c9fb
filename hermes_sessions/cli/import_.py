"""``import``: a backup, or the transcript of another agent, back into a store."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.metered import Meter
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.config import read_config
from hermes_sessions.errors import UsageProblem, UserError
from hermes_sessions.importing.records import check_file
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.stored_rows import count_stored
from hermes_sessions.store.tokenizer import check_tokenizer
from hermes_sessions.store.transfer import existing, import_sessions, unseen_messages
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.importing.records import Planned
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.transfer import Imported

FIELDS = (
    "command",
    "dry_run",
    "sessions",
    "messages",
    "ids",
    "skipped",
    "grown",
    "imported",
    "detached",
    "renumbered",
    "remarks",
)

_GUARD = "sessions.max_import_messages"


class Origin(StrEnum):
    """Whose file it is."""

    HERMES = "hermes"
    CLAUDE = "claude"
    CODEX = "codex"


class Plan(NamedTuple):
    """What a file brings.

    Attributes:
        new: sessions that the store has not, parents first.
        skipped: ids that it has.
        grown: those of them that have more messages in the file, with how many more.
    """

    new: tuple[Planned, ...]
    skipped: tuple[str, ...]
    grown: dict[str, int]


def command(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, or - for stdin.")],
    origin: Annotated[
        Origin, typer.Option("--from", metavar="NAME", help="hermes, claude or codex.")
    ] = Origin.HERMES,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Import a backup or another agent's transcript.

    The whole file is checked before anything is written. Sessions that the store has already are
    skipped, and nothing is added to them: if the file has more of one, that is said. Flags, times
    and titles come back as they were; a title that is taken gets a number, and a session whose
    parent is not there hangs off none. claude and codex read a transcript of Claude Code or Codex
    CLI; the same one twice is imported once.
    """
    return run(ctx.obj, file, origin, Consent(dry_run, yes, json, timeout))


def run(env: Env, name: str, origin: Origin, consent: Consent) -> int:
    """Check, plan, ask, and import."""
    home = env.select_home()
    most = read_config(home.path, (_GUARD,)).number(_GUARD)
    with _opened_file(name, origin) as file:
        planned = _check(env, file, most)
        with opened_store(env, home) as store:
            plan = _plan(store, file, planned, origin)
        _tell_grown(env, plan)
        messages = sum(one.messages for one in plan.new)
        what = f"{plural(len(plan.new), 'session')}, {plural(messages, 'message')}"
        facts = [("new", what)]
        if plan.skipped:
            facts.append(("skip", _there(plan, " that")))
        proposal = Proposal(
            Sheet(f"Import {name}", tuple(facts), tuple(_item(one) for one in plan.new)),
            {
                "command": "import",
                "dry_run": consent.dry_run,
                "sessions": len(plan.new),
                "messages": messages,
                "ids": [one.id for one in plan.new],
                "skipped": list(plan.skipped),
                "grown": [{"id": each, "messages": more} for each, more in plan.grown.items()],
            },
            FIELDS,
            f"Import {what}?" if plan.new else "",
            f"nothing to do: {_there(plan) if plan.skipped else 'the file is empty'}",
        )
        return carry_out(
            env, consent, proposal, lambda: _import(env, home, file, plan, consent.timeout)
        )


def _check(env: Env, file: IO[bytes], most: int) -> list[Planned]:
    """Check a file, and show how far that is."""
    total = os.fstat(file.fileno()).st_size
    with Progress(env, "checking") as progress:

        def seen(done: int) -> None:
            progress.update(
                min(1.0, done / max(total, 1)), said=lambda: f"{size(done)} of {size(total)}"
            )

        return check_file(file, most, seen)


def _plan(store: Store, file: IO[bytes], planned: Sequence[Planned], origin: Origin) -> Plan:
    """Compare a file with the store.

    A backup of ours that has no more messages than the store brings nothing. A transcript of
    another agent can, as the conversation may have gone on in both.
    """
    there = existing(store, planned)
    stored = count_stored(store, sorted(there))
    grown = {}
    for one in planned:
        if one.id not in there:
            continue
        if origin is not Origin.HERMES or one.messages > stored.get(one.id, 0):
            more = unseen_messages(store, file, one)
            if more:
                grown[one.id] = more
    return Plan(tuple(p for p in planned if p.id not in there), tuple(sorted(there)), grown)


def _tell_grown(env: Env, plan: Plan) -> None:
    for session_id, more in plan.grown.items():
        env.note(
            f"{one_line(session_id)}: {plural(more, 'more message')} in the file than in the"
            " store; not imported (the conversation was imported before)"
        )
    if plan.grown:
        env.note(
            "hint: to get them, delete the conversation and import the file again; what was said"
            " in it since then goes to the trash"
        )


def _import(env: Env, home: Home, file: IO[bytes], plan: Plan, timeout: float) -> Done:
    results: list[Imported] = []
    try:
        with writing(env, home, timeout) as writer, Progress(env, "importing") as progress:
            check_tokenizer(writer.store)
            meter = Meter(progress, "sessions", [one.length for one in plan.new])
            for one in import_sessions(writer, file, plan.new):
                results.append(one)
                meter.pass_by(one.planned.length)
                meter.finish_one()
    except (UserError, KeyboardInterrupt):
        if results:  # each is whole
            done = f"{len(results):,} of {plural(len(plan.new), 'session')}"
            env.note(f"stopped after {done}; import it again for the rest")
        raise
    imported = [one.planned for one in results if not one.skipped]
    skipped = [*plan.skipped, *(one.planned.id for one in results if one.skipped)]
    detached = [one.planned.id for one in results if one.detached]
    remarks = [one_line(remark) for one in results for remark in one.remarks]
    for remark in remarks:
        env.note(remark)
    renumbered = [one.planned.id for one in results if one.renumbered]
    if renumbered:
        whose = (
            one_line(renumbered[0]) if len(renumbered) == 1 else plural(len(renumbered), "session")
        )
        env.note(f"the messages of {whose} have new numbers: theirs are taken")
    if detached:
        env.note(f"{plural(len(detached), 'session')} hung off one that is not there")
    messages = sum(one.messages for one in imported)
    line = f"imported {plural(len(imported), 'session')}, {plural(messages, 'message')}"
    if skipped:
        line += f"; skipped {_there(plan._replace(skipped=tuple(skipped)), ' that')}"
    data: dict[str, object] = {
        "imported": [one.id for one in imported],
        "skipped": skipped,
        "detached": detached,
        "renumbered": renumbered,
        "remarks": remarks,
    }
    return Done((line,), data)


@contextmanager
def _opened_file(name: str, origin: Origin) -> Iterator[IO[bytes]]:
    """Open a file that can be read twice; a transcript of another agent is made one of ours."""
    if origin is not Origin.HERMES:
        from hermes_sessions.importing.foreign import as_backup

        with tempfile.TemporaryFile() as converted:
            as_backup(_path(name), origin.value, converted)
            yield converted
        return
    if name == "-":
        with tempfile.TemporaryFile() as copied:
            shutil.copyfileobj(sys.stdin.buffer, copied)
            yield copied
        return
    path = _path(name)
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _path(name: str) -> Path:
    if not name.strip() or name == "-":
        raise UsageProblem("name a file", hint="hermes-sessions import FILE")
    return Path(name).expanduser()


def _there(plan: Plan, that: str = "") -> str:
    number, grown = len(plan.skipped), len(plan.grown)
    if number == 1:
        return f"1 session{that} is there already{' and has more in the file' if grown else ''}"
    more = f", {grown:,} of them with more in the file" if grown else ""
    return f"{number:,} sessions{that} are there already{more}"


def _item(one: Planned) -> Item:
    return Item(one.id, one.title or "", (one.source,), f"{one.messages:,} msgs")
