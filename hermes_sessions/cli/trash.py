"""``trash``: what was deleted and can be brought back."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent, carry_out
from hermes_sessions.cli.options import DryRun, Json, Yes
from hermes_sessions.errors import ExitCode, UsageProblem
from hermes_sessions.own_files import trash_directory
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.text import one_line, plural, size
from hermes_sessions.times import ago, local_iso
from hermes_sessions.trash import KEPT_DAYS, discard, find_entry, list_entries

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.trash import Entry

FIELDS = (
    "id",
    "created_at",
    "created_at_iso",
    "command",
    "store",
    "conversations",
    "messages",
    "bytes",
    "ids",
)


class Action(StrEnum):
    """What to do with the trash."""

    LIST = "list"
    SHOW = "show"
    EMPTY = "empty"


def command(
    ctx: typer.Context,
    action: Annotated[
        Action, typer.Argument(metavar="[ACTION]", help="list, show or empty.")
    ] = Action.LIST,
    trash_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="For show: which; else the last one.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
) -> int:
    """List, show or empty the trash.

    What is deleted stays here for 30 days; undo brings it back. The files are in the directory
    that where prints, and only you can read them.
    """
    env: Env = ctx.obj
    if trash_id is not None and action is not Action.SHOW:
        raise UsageProblem(f"trash {action} takes no ID", hint="hermes-sessions trash show ID")
    if action is Action.EMPTY:
        return _empty(env, Consent(dry_run, yes, json, 0))
    if action is Action.SHOW:
        return _show(env, find_entry(trash_directory(env.environ), trash_id), json)
    return _list(env, json)


def _list(env: Env, json: str | None) -> int:
    fields = None
    if json is not None:
        from hermes_sessions.render.data import pick_fields

        fields = pick_fields(json, FIELDS)
    entries = list_entries(trash_directory(env.environ))
    if fields is not None:
        from hermes_sessions.render.data import to_json

        objects = [_object(entry) for entry in entries]
        env.write(to_json([{name: one[name] for name in fields} for one in objects]))
        return ExitCode.OK
    if not entries:
        env.note(f"the trash is empty ({trash_directory(env.environ)})")
    for entry in entries:
        env.write("\t".join(map(one_line, _cells(env, entry))) + "\n")
    return ExitCode.OK


def _show(env: Env, entry: Entry, json: str | None) -> int:
    if json is not None:
        from hermes_sessions.render.data import pick_fields, to_json

        fields = pick_fields(json, FIELDS)
        value = _object(entry)
        env.write(to_json({name: value[name] for name in fields}))
        return ExitCode.OK
    for one in entry.conversations:
        cells = (one.id, one.source, f"{one.messages} msgs", one.title or "")
        env.write("\t".join(map(one_line, cells)) + "\n")
    return ExitCode.OK


def _empty(env: Env, consent: Consent) -> int:
    entries = list_entries(trash_directory(env.environ))
    amount = size(sum(entry.size for entry in entries))
    conversations = sum(len(entry.conversations) for entry in entries)
    what = f"{plural(conversations, 'conversation')} in {amount}"
    proposal = Proposal(
        Sheet(
            "Empty the trash",
            (("go", what),) if entries else (),
            tuple(_item(env, entry) for entry in entries),
            (f"There is no way back. By itself it is kept for {KEPT_DAYS} days.",),
        ),
        {
            "command": "trash empty",
            "dry_run": consent.dry_run,
            "ids": [entry.header.id for entry in entries],
        },
        ("command", "dry_run", "ids"),
        f"Delete {what} for good?" if entries else "",
        "nothing to do: the trash is empty",
        is_harmful=True,
    )

    def do() -> Done:
        for entry in entries:
            discard(entry)
        return Done((f"deleted {what} for good",), {})

    return carry_out(env, consent, proposal, do)


def _item(env: Env, entry: Entry) -> Item:
    number = plural(len(entry.conversations), "conversation")
    when = ago(entry.header.created_at, env.now)
    return Item(entry.header.id, f"{entry.header.command}: {number}", (when,), size(entry.size))


def _object(entry: Entry) -> dict[str, object]:
    header = entry.header
    return {
        "id": header.id,
        "created_at": header.created_at,
        "created_at_iso": local_iso(header.created_at),
        "command": header.command,
        "store": header.store,
        "conversations": len(entry.conversations),
        "messages": sum(one.messages for one in entry.conversations),
        "bytes": entry.size,
        "ids": [one.id for one in entry.conversations],
    }


def _cells(env: Env, entry: Entry) -> tuple[str, ...]:
    header = entry.header
    when = ago(header.created_at, env.now) if env.is_terminal else local_iso(header.created_at)
    names = [one.title or one.id for one in entry.conversations[:2]]
    more = len(entry.conversations) - len(names)
    return (
        header.id,
        when,
        header.command,
        plural(len(entry.conversations), "conversation"),
        size(entry.size),
        ", ".join(names) + (f" and {more} more" if more > 0 else ""),
    )
