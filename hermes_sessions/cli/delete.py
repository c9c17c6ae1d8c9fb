"""``delete``: conversations that were named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent, carry_out
from hermes_sessions.cli.deleting import (
    Means,
    delete,
    plan_data,
    plan_facts,
    plan_items,
    remarks,
    stays,
    weigh,
)
from hermes_sessions.cli.editing import by_refs
from hermes_sessions.cli.opened import opened
from hermes_sessions.cli.options import DryRun, Json, NoTrash, Timeout, Yes
from hermes_sessions.errors import Refused
from hermes_sessions.plans import Proposal, Sheet
from hermes_sessions.store.dependents import routed
from hermes_sessions.store.lineage import load_units
from hermes_sessions.store.live import find_live
from hermes_sessions.store.recent import store_size
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import clip, one_line, plural
from hermes_sessions.times import ago

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.cli.deleting import Doomed
    from hermes_sessions.context import Env
    from hermes_sessions.gateway import Endpoint
    from hermes_sessions.home import Home
    from hermes_sessions.plans import Done
    from hermes_sessions.references import Place
    from hermes_sessions.store.lineage import Unit

FIELDS = (
    "command",
    "dry_run",
    "conversations",
    "sessions",
    "messages",
    "bytes",
    "files",
    "ids",
    "kept",
    "deleted",
    "trash_id",
    "failures",
)


def command(
    ctx: typer.Context,
    refs: Annotated[
        list[str], typer.Argument(metavar="REF…", help="Ids, whole titles, latest or -.")
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    no_trash: NoTrash = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Delete conversations.

    A conversation goes as a whole, with the delegates it started and its files. Branches of it
    stay. It goes to the trash first, and undo brings it back. One that is live is not deleted.
    """
    consent = Consent(dry_run, yes, json, timeout)
    return run(ctx.obj, refs, Means("delete", not no_trash, timeout), consent)


def run(env: Env, refs: Sequence[str], means: Means, consent: Consent) -> int:
    """Plan, ask, and delete."""
    with opened(env) as place:
        units = load_units(place.store, by_refs(place, refs).conversations)
        refuse_live(place, units)
        doomed = weigh(place.store, place.home, units)
        found = [unit.conversation for unit in doomed.units]
        summaries = summarise(place.store, place.home.path, found, env.now, sized=False)
        names = {summary.id: summary.name for summary in summaries}
        others = (*stays(place.store, doomed), *_leads(place, doomed))
        total = store_size(place.store)
    what = plural(len(units), "conversation")
    if len(units) == 1:
        name = clip(one_line(names.get(units[0].id, "")), 60)
        what = f"“{name}” ({one_line(units[0].id)})" if name else one_line(units[0].id)
    proposal = Proposal(
        Sheet(
            f"Delete {what}",
            tuple(plan_facts(env, doomed, {})),
            plan_items(env, doomed, names),
            (*others, *remarks(means)),
        ),
        {"command": "delete", "dry_run": consent.dry_run, **plan_data(doomed, {})},
        FIELDS,
        f"Delete {what}?" if len(units) == 1 else f"Delete {what} of {total:,} sessions?",
        is_harmful=True,
    )

    def do() -> Done:
        by = _gateway(env, place.home, units[0].id)
        return delete(env, place.home, doomed, means, by=by)

    return carry_out(env, consent, proposal, do)


def _gateway(env: Env, home: Home, session_id: str) -> Endpoint | None:
    """Return the gateway that serves this home, so that it forgets what is deleted; if it answers.

    Deleting beside a gateway is safe, too, so one that cannot be asked is no obstacle.
    """
    if home.path is None:
        return None
    from hermes_sessions.gateway import gateway_pid

    if gateway_pid(home.path) is None:
        return None
    from hermes_sessions.cli.by_gateway import find_gateway

    search = find_gateway(env, home, session_id)
    for reason in search.reasons:
        env.note(f"not asked: {reason}")
    if search.endpoint is not None:
        env.note(f"{search.endpoint.place} is asked to delete it")
    return search.endpoint


def refuse_live(place: Place, units: Sequence[Unit]) -> None:
    """Refuse what a running process has open, or a delegate of which it has.

    Raises:
        Refused: one is live; nothing is deleted.
    """
    found = [c for unit in units for c in unit.conversations]
    live = find_live(place.store, place.home.path, found, place.env.now)
    for unit in units:
        for conversation in unit.conversations:
            claim = live.get(conversation.id)
            if claim is None:
                continue
            since = f", since {ago(claim.since, place.env.now)}" if claim.since else ""
            whose = "" if conversation is unit.conversation else "a delegate of "
            raise Refused(
                f"{whose}{one_line(unit.id)} is live: {one_line(claim.holder)}{since}",
                hint="end it there first; nothing was deleted",
            )


def _leads(place: Place, doomed: Doomed) -> list[str]:
    leading = routed(place.store)
    number = sum(len(leading.get(i, ())) for i in doomed.session_ids)
    noun = "chat of a gateway begins" if number == 1 else "chats of a gateway begin"
    return [f"{number:,} {noun} anew"] if number else []
