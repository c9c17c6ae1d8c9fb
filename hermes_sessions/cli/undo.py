"""``undo``: bring back what was deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions import deletion_log
from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.errors import Refused
from hermes_sessions.own_files import trash_directory
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.render.progress import Progress
from hermes_sessions.session_files import bring_back
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


def run(env: Env, trash_id: str | None, consent: Consent) -> int:
    """Plan, ask, and bring back."""
    entry = find_entry(trash_directory(env.environ), trash_id)
    home = env.select_home()
    _check_store(home, entry)
    there: list[str] = []
    wanted: list[Trashed] = []
    with opened_store(env, home) as store:
        for trashed in entry.conversations:
            if present(store, trashed):
                there.append(trashed.id)
            elif not trashed.kept:
                wanted.append(trashed)
    messages = sum(trashed.messages for trashed in wanted)
    when = ago(entry.header.created_at, env.now)
    what = plural(len(wanted), "conversation")
    facts = [("back", f"{what} · {plural(messages, 'message')}")]
    if there:
        facts.append(("stay", f"{len(there):,} that are there"))
    proposal = Proposal(
        Sheet(
            f"Bring back what {entry.header.command} deleted {when}",
            tuple(facts),
            tuple(_item(trashed) for trashed in wanted),
        ),
        {
            "command": "undo",
            "dry_run": consent.dry_run,
            "trash_id": entry.header.id,
            "ids": [trashed.id for trashed in wanted],
            "messages": messages,
            "present": there,
        },
        FIELDS,
        f"Bring back {what}?" if wanted else "",
        "nothing to do: everything is there again",
    )
    return carry_out(
        env, consent, proposal, lambda: _bring_back(env, home, entry, wanted, consent.timeout)
    )


def _bring_back(
    env: Env, home: Home, entry: Entry, wanted: Sequence[Trashed], timeout: float
) -> Done:
    results: list[Restored] = []
    with writing(env, home, timeout) as writer, Progress(env, "bringing back") as progress:
        check_tokenizer(writer.store)
        for one in restore(writer, entry, wanted):
            results.append(one)
            progress.update(len(results) / len(wanted), tuple)
    back = [one.trashed for one in results if one.reason is None]
    failures = [
        f"not brought back: {one_line(one.trashed.id)}, {one.reason}"
        for one in results
        if one.reason is not None
    ]
    if home.path is not None:
        ids = [i for trashed in back for i in trashed.session_ids]
        failures += bring_back(home.path, entry.path.with_suffix(".files"), ids)
    said = [remark for one in results for remark in one.remarks]
    for remark in said:
        env.note(one_line(remark))
    messages = sum(trashed.messages for trashed in back)
    facts = {
        "at": local_iso(env.now),
        "command": "undo",
        "store": str(home.store),
        "trash": entry.header.id,
        "conversations": len(back),
        "messages": messages,
        "restored": [[trashed.id, trashed.title] for trashed in back],
    }
    problem = deletion_log.append(env.environ, facts)
    if problem is not None:
        failures.append(problem)
    if not failures:  # all of it is in the store again
        discard(entry)
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
