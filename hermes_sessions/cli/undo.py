"""``undo``: bring back what was deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions import deletion_log
from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.errors import Refused, UserError
from hermes_sessions.own_files import trash_directory
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.render.progress import Progress
from hermes_sessions.session_files import bring_back, files_of
from hermes_sessions.store.restoring import present, restore
from hermes_sessions.store.tokenizer import check_tokenizer
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural
from hermes_sessions.times import ago, local_iso
from hermes_sessions.trash import discard, find_entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.store.restoring import Restored
    from hermes_sessions.trash import Entry, Trashed

FIELDS = (
    "command",
    "dry_run",
    "trash_id",
    "ids",
    "messages",
    "present",
    "restored",
    "remarks",
    "failures",
)


def command(
    ctx: typer.Context,
    trash_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="From the trash list; the last one without."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Bring back what was deleted.

    Every row comes back as it was, with its number, and the files too. What is there again
    already is left alone.
    """
    return run(ctx.obj, trash_id, Consent(dry_run, yes, json, timeout))


class Plan(NamedTuple):
    """What can be brought back of a run.

    Attributes:
        there: conversations that are in the store again, as a whole.
        blocked: those of which a part is there again, which stays as it is.
        files_of: the home that the files go back to; None for a store outside any.
    """

    entry: Entry
    wanted: tuple[Trashed, ...]
    there: tuple[Trashed, ...]
    blocked: tuple[Trashed, ...]
    files_of: Path | None

    def left_files(self) -> list[Path]:
        """Return files of what is in the store again that were not brought back."""
        ids = [i for trashed in self.there for i in trashed.session_ids]
        return files_of(self.entry.path.with_suffix(".files"), ids)


def run(env: Env, trash_id: str | None, consent: Consent) -> int:
    """Plan, ask, and bring back."""
    home = env.select_home()
    entry = _entry(env, home, trash_id)
    plan = _plan(env, home, entry)
    messages = sum(trashed.messages for trashed in plan.wanted)
    what = plural(len(plan.wanted), "conversation")
    files = len(plan.left_files())
    when = ago(entry.header.created_at, env.now)
    facts = [("back", f"{what} · {plural(messages, 'message')}")]
    if not plan.wanted:
        what = plural(files, "file")
        facts = [("back", what)]
    if plan.there or plan.blocked:
        facts.append(("stay", f"{len(plan.there) + len(plan.blocked):,} that are there"))
    proposal = Proposal(
        Sheet(
            f"Bring back what {entry.header.command} deleted {when}",
            tuple(facts),
            tuple(_item(trashed) for trashed in plan.wanted),
        ),
        {
            "command": "undo",
            "dry_run": consent.dry_run,
            "trash_id": entry.header.id,
            "ids": [trashed.id for trashed in plan.wanted],
            "messages": messages,
            "present": [trashed.id for trashed in (*plan.there, *plan.blocked)],
        },
        FIELDS,
        f"Bring back {what}?" if plan.wanted or files else "",
        "nothing to do: everything is there again",
    )
    return carry_out(env, consent, proposal, lambda: _bring_back(env, home, plan, consent.timeout))


def _entry(env: Env, home: Home, trash_id: str | None) -> Entry:
    """Return the run that is meant: without an id the last one on this store."""
    entry = find_entry(trash_directory(env.environ), trash_id, store=home.store)
    _check_store(home, entry)
    return entry


def _plan(env: Env, home: Home, entry: Entry) -> Plan:
    wanted, there, blocked = [], [], []
    with opened_store(env, home) as store:
        for trashed in entry.conversations:
            found = present(store, trashed)
            if trashed.kept:
                continue
            if not found:
                wanted.append(trashed)
            elif set(found) == set(trashed.session_ids):
                there.append(trashed)
            else:
                blocked.append(trashed)
    place = home.path or (Path(entry.header.home) if entry.header.home else None)
    return Plan(entry, tuple(wanted), tuple(there), tuple(blocked), place)


def _bring_back(env: Env, home: Home, plan: Plan, timeout: float) -> Done:
    results: list[Restored] = []
    failures: list[str] = []
    error: UserError | KeyboardInterrupt | None = None
    try:
        with writing(env, home, timeout) as writer, Progress(env, "bringing back") as progress:
            check_tokenizer(writer.store)
            for one in restore(writer, plan.entry, list(plan.wanted)):
                results.append(one)
                progress.update(len(results) / len(plan.wanted))
    except (UserError, KeyboardInterrupt) as failure:
        error = failure
    back = [one.trashed for one in results if one.reason is None]
    if error is not None and not back:
        raise error
    failures += [
        f"not brought back: {one_line(one.trashed.id)}, {one.reason}"
        for one in results
        if one.reason is not None
    ]
    if error is not None:
        why = error.message if isinstance(error, UserError) else "interrupted"
        left = plural(len(plan.wanted) - len(results), "conversation")
        failures.append(f"{why}; {left} left in the trash")
    if plan.files_of is not None:
        ids = [i for trashed in (*back, *plan.there) for i in trashed.session_ids]
        kept_in = plan.entry.path.with_suffix(".files")
        failures += bring_back(plan.files_of, kept_in, ids)
    return _finish(env, home, plan, results, failures)


def _finish(
    env: Env, home: Home, plan: Plan, results: Sequence[Restored], failures: list[str]
) -> Done:
    """Write the log, empty the trash of what is back as a whole, and say it all."""
    back = [one.trashed for one in results if one.reason is None]
    said = [remark for one in results for remark in one.remarks]
    for remark in said:
        env.note(one_line(remark))
    messages = sum(trashed.messages for trashed in back)
    facts = {
        "at": local_iso(env.now),
        "command": "undo",
        "store": str(home.store),
        "trash": plan.entry.header.id,
        "conversations": len(back),
        "messages": messages,
        "restored": [[trashed.id, trashed.title] for trashed in back],
    }
    problem = deletion_log.append(env.environ, facts)
    if problem is not None:
        failures.append(problem)
    if not failures and not plan.blocked:  # all of it is in the store again
        discard(plan.entry)
    line = f"brought back {plural(len(back), 'conversation')}, {plural(messages, 'message')}"
    data: dict[str, object] = {
        "restored": [t.id for t in back],
        "remarks": said,
        "failures": failures,
    }
    return Done((line,), data, tuple(failures))


def _check_store(home: Home, entry: Entry) -> None:
    """Check that rows go back to where they came from.

    Raises:
        Refused: they were deleted from another store.
    """
    if Path(entry.header.store).resolve() != home.store.resolve():
        raise Refused(
            f"{entry.header.id} was deleted from another store: {entry.header.store}",
            hint=f"hermes-sessions --db {entry.header.store} undo {entry.header.id}",
        )


def _item(trashed: Trashed) -> Item:
    return Item(trashed.id, trashed.title or "", (trashed.source,), f"{trashed.messages:,} msgs")
