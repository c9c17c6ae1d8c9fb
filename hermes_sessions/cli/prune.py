"""``prune``: old conversations, by filters, from a terminal or from cron."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from hermes_sessions.cli.editing import kept_in_words
from hermes_sessions.cli.opened import opened
from hermes_sessions.cli.options import DryRun, Json, NoTrash, Timeout, Yes, with_filters
from hermes_sessions.config import read_config
from hermes_sessions.errors import Refused, UsageProblem
from hermes_sessions.models import Filter
from hermes_sessions.plans import Proposal, Sheet
from hermes_sessions.store.lineage import orphan_units
from hermes_sessions.store.pruning import Pruning, Rules, select_prunable
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import plural
from hermes_sessions.times import DAY, local_minute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_sessions.cli.deleting import Doomed
    from hermes_sessions.context import Env
    from hermes_sessions.gateway import Endpoint
    from hermes_sessions.home import Home
    from hermes_sessions.plans import Done
    from hermes_sessions.references import Place

FIELDS = (
    "command",
    "dry_run",
    "filter",
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

_RETENTION = "sessions.retention_days"
_NAMED = 15
"""Conversations whose first request is read for the plan; a dry run reads all."""


class Request(NamedTuple):
    """What was asked for.

    Attributes:
        most: conversations that may go without the person typing their number.
    """

    wanted: Filter
    include_archived: bool
    include_pinned: bool
    never_active: bool
    orphans: bool
    most: int | None
    force: bool


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    include_archived: Annotated[
        bool, typer.Option("--include-archived", help="Archived ones may go, too.")
    ] = False,
    include_pinned: Annotated[
        bool, typer.Option("--include-pinned", help="Pinned ones may go, too.")
    ] = False,
    never_active: Annotated[
        bool, typer.Option("--never-active", help="What a gateway opened and nobody used.")
    ] = False,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="Messages and usage whose session is gone.")
    ] = False,
    most: Annotated[
        int | None,
        typer.Option("--max-delete", metavar="N", min=1, help="Refuse to delete more than N."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Although other processes have the store open.")
    ] = False,
    no_trash: NoTrash = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Delete old conversations.

    Only ended conversations go, as a whole, with the delegates they started and their files.
    Pinned, archived, open and live ones stay, and those that a chat of a gateway leads to; the
    plan says how many. Without a filter it is about what has been idle for longer than
    sessions.retention_days of Hermes' configuration (90), and then it always asks.

    While another process has the store open it is refused, unless a running gateway does it
    itself. More than half of all conversations needs --max-delete.

    \b
    Examples:
      hermes-sessions prune --dry-run
      hermes-sessions prune --older-than 90d --source cron --yes
    """
    request = Request(wanted, include_archived, include_pinned, never_active, orphans, most, force)
    _check(request, is_bare=wanted.is_default and not (never_active or orphans), yes=yes)
    consent = Consent(dry_run, yes, json, timeout)
    return run(ctx.obj, request, Means("prune", not no_trash, timeout), consent)


def run(env: Env, request: Request, means: Means, consent: Consent) -> int:
    """Plan, ask, and prune."""
    with opened(env) as place:
        request = _with_default_age(place, request)
        pruning = _select(place, request)
        doomed = weigh(place.store, place.home, pruning.units)
        newest = sorted(
            (unit.conversation for unit in pruning.units if not unit.is_orphan),
            key=lambda conversation: conversation.active_at,
            reverse=True,
        )
        named = newest if consent.dry_run else [] if consent.yes else newest[:_NAMED]
        summaries = summarise(place.store, place.home.path, named, env.now, sized=False)
        names = {summary.id: summary.name for summary in summaries}
        others = stays(place.store, doomed)
    words = _in_words(request)
    number = len(doomed.units)
    is_most = number * 2 > pruning.total and not request.orphans
    _check_most(request, number, is_most=is_most, yes=consent.yes)
    proposal = Proposal(
        Sheet(
            f"Prune {words}",
            tuple(plan_facts(env, doomed, pruning.kept)),
            plan_items(env, doomed, names),
            (*others, *remarks(means)),
        ),
        {
            "command": "prune",
            "dry_run": consent.dry_run,
            "filter": words,
            **plan_data(doomed, pruning.kept),
        },
        FIELDS,
        _question(number, pruning, is_most=is_most and request.most is None) if number else "",
        _nothing(words, pruning.kept),
        is_harmful=True,
        answer=str(number) if is_most and request.most is None else "",
    )
    return carry_out(
        env, consent, proposal, lambda: _prune(env, place.home, doomed, means, force=request.force)
    )


def _check(request: Request, *, is_bare: bool, yes: bool) -> None:
    """Check that the options make sense together.

    Raises:
        UsageProblem: they do not, or ``--yes`` would delete by an age that nobody typed (R095).
    """
    if is_bare and yes:
        raise UsageProblem(
            "prune --yes needs a filter: nothing is deleted by an age that nobody chose",
            hint="hermes-sessions prune --older-than 90d --yes",
        )
    if request.orphans and (request.never_active or not request.wanted.is_default):
        raise UsageProblem("--orphans goes with no filter", hint="leave the filters out")
    only_age = request.wanted._replace(active_before=None).is_default
    if request.never_active and not only_age:
        raise UsageProblem(
            "--never-active goes with --older-than only", hint="leave the other filters out"
        )


def _with_default_age(place: Place, request: Request) -> Request:
    if request.orphans or request.never_active or not request.wanted.is_default:
        return request
    days = read_config(place.home.path, (_RETENTION,)).number(_RETENTION)
    before = place.env.now - days * DAY
    return request._replace(wanted=request.wanted._replace(active_before=before))


def _select(place: Place, request: Request) -> Pruning:
    if request.orphans:
        return Pruning(tuple(orphan_units(place.store)), {}, 0)
    rules = Rules(
        request.wanted,
        place.env.now,
        pinned=request.include_pinned,
        archived=request.include_archived,
        routed=request.force,
        never_active=request.never_active,
    )
    return select_prunable(place.store, place.home.path, rules)


def _check_most(request: Request, number: int, *, is_most: bool, yes: bool) -> None:
    if request.most is not None and number > request.most:
        raise Refused(
            f"this would delete {plural(number, 'conversation')}, more than --max-delete",
            hint="look at the plan with --dry-run; nothing was deleted",
        )
    if is_most and yes and request.most is None:
        raise Refused(
            f"this would delete {plural(number, 'conversation')}, more than half of all",
            hint=f"if that is meant: --max-delete {number}; nothing was deleted",
        )


def _prune(env: Env, home: Home, doomed: Doomed, means: Means, *, force: bool) -> Done:
    by = None if force else _gateway_if_held(env, home, doomed)
    return delete(env, home, doomed, means, by=by)


def _gateway_if_held(env: Env, home: Home, doomed: Doomed) -> Endpoint | None:
    """Return None if nobody else has the store open, else the gateway that is to do it.

    Raises:
        Refused: somebody has it open, and no gateway can be asked.
    """
    from hermes_sessions.store.holders import describe, find_holders

    scan = find_holders(home.store)
    if not scan.holders and scan.unknown is None:
        return None
    from hermes_sessions.cli.by_gateway import find_gateway, in_words

    search = find_gateway(env, home, doomed.units[0].id)
    if search.endpoint is not None:
        env.note(in_words(search.endpoint, doomed.units))
        return search.endpoint
    held = [describe(holder) for holder in scan.holders]
    raise Refused(
        f"{home.store} cannot be pruned safely: "
        + ("another process has it open" if held else str(scan.unknown)),
        details=(*held, *(f"not asked: {reason}" for reason in search.reasons)),
        hint="end it first, or --force; nothing was deleted",
    )


def _question(number: int, pruning: Pruning, *, is_most: bool) -> str:
    if not pruning.total:
        return f"Delete what {plural(number, 'session')} left behind?"
    of = f"{number:,} of {pruning.total:,} conversations"
    return f"Delete {of}? That is more than half; type the number" if is_most else f"Delete {of}?"


def _nothing(words: str, kept: Mapping[str, int]) -> str:
    stay = kept_in_words(kept)
    return f"nothing to prune: {words}" + (f"; kept: {stay}" if stay else "")


def _in_words(request: Request) -> str:
    """Write the whole filter, so that nobody is surprised by it (R089)."""
    wanted = request.wanted
    if request.orphans:
        return "messages and usage whose session is gone"
    parts = []
    for words, instant in (
        ("idle since before", wanted.active_before),
        ("active since", wanted.active_since),
        ("started before", wanted.started_before),
        ("started since", wanted.started_since),
    ):
        if instant is not None:
            parts.append(f"{words} {local_minute(instant)}")
    default = Filter()
    times = {"active_before", "active_since", "started_before", "started_since"}
    for name, value in wanted._asdict().items():
        if name not in times and value != getattr(default, name):
            shown = ", ".join(value) if isinstance(value, tuple) else value
            label = name.replace("_", " ")
            parts.append(label if value is True else f"{label} {shown}")
    what = "unused gateway sessions" if request.never_active else "ended conversations"
    return " ".join([what, ", ".join(parts)]).strip()
