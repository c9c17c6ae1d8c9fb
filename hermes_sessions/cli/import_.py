"""``import``: a backup, or the transcript of another agent, back into a store."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.config import read_config
from hermes_sessions.errors import UsageProblem, UserError
from hermes_sessions.importing.records import check_file
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.tokenizer import check_tokenizer
from hermes_sessions.store.transfer import existing, import_sessions
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.importing.records import Planned
    from hermes_sessions.store.transfer import Imported

FIELDS = (
    "command",
    "dry_run",
    "sessions",
    "messages",
    "ids",
    "skipped",
    "imported",
    "detached",
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
    """

    new: tuple[Planned, ...]
    skipped: tuple[str, ...]


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
    skipped. Flags, times and titles come back as they were; a title that is taken gets a number,
    and a session whose parent is not there hangs off none. claude and codex read a transcript of
    Claude Code or Codex CLI; the same one twice is imported once.
    """
    return run(ctx.obj, file, origin, Consent(dry_run, yes, json, timeout))


def run(env: Env, name: str, origin: Origin, consent: Consent) -> int:
    """Check, plan, ask, and import."""
    home = env.select_home()
    most = read_config(home.path, (_GUARD,)).number(_GUARD)
    with _opened_file(name, origin) as file:
        planned = check_file(file, most)
        with opened_store(env, home) as store:
            there = existing(store, planned)
        plan = Plan(tuple(p for p in planned if p.id not in there), tuple(sorted(there)))
        messages = sum(one.messages for one in plan.new)
        what = f"{plural(len(plan.new), 'session')}, {plural(messages, 'message')}"
        facts = [("new", what)]
        if there:
            facts.append(("skip", f"{plural(len(there), 'session')} that are there"))
        proposal = Proposal(
            Sheet(f"Import {name}", tuple(facts), tuple(_item(one) for one in plan.new)),
            {
                "command": "import",
                "dry_run": consent.dry_run,
                "sessions": len(plan.new),
                "messages": messages,
                "ids": [one.id for one in plan.new],
                "skipped": list(plan.skipped),
            },
            FIELDS,
            f"Import {what}?" if plan.new else "",
            f"nothing to do: {_nothing(plan)}",
        )
        return carry_out(
            env, consent, proposal, lambda: _import(env, home, file, plan, consent.timeout)
        )


def _import(env: Env, home: Home, file: IO[bytes], plan: Plan, timeout: float) -> Done:
    results: list[Imported] = []
    with writing(env, home, timeout) as writer, Progress(env, "importing") as progress:
        check_tokenizer(writer.store)
        for one in import_sessions(writer, file, plan.new):
            results.append(one)
            progress.update(len(results) / len(plan.new), tuple)
    imported = [one.planned for one in results if not one.skipped]
    skipped = [*plan.skipped, *(one.planned.id for one in results if one.skipped)]
    detached = [one.planned.id for one in results if one.detached]
    remarks = [one_line(remark) for one in results for remark in one.remarks]
    for remark in remarks:
        env.note(remark)
    if detached:
        env.note(f"{plural(len(detached), 'session')} hung off one that is not there")
    messages = sum(one.messages for one in imported)
    line = f"imported {plural(len(imported), 'session')}, {plural(messages, 'message')}"
    if skipped:
        line += f"; skipped {len(skipped):,} that are there"
    data: dict[str, object] = {
        "imported": [one.id for one in imported],
        "skipped": skipped,
        "detached": detached,
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


def _nothing(plan: Plan) -> str:
    number = len(plan.skipped)
    return f"all {plural(number, 'session')} are there" if number else "the file is empty"


def _item(one: Planned) -> Item:
    return Item(one.id, one.title or "", (one.source,), f"{one.messages:,} msgs")
