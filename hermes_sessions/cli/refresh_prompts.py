"""``refresh-prompts``: have sessions rebuild their stored system prompt on their next turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes, with_filters
from hermes_sessions.errors import UsageProblem
from hermes_sessions.gateway import gateway_pid
from hermes_sessions.models import Filter
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.prompt_refresh import refresh, refresher
from hermes_sessions.references import resolve
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.edits import check_readable
from hermes_sessions.store.prompts import clear_prompts, stored_prompts
from hermes_sessions.store.selection import Order, select
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import neutralise, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.references import Place
    from hermes_sessions.store.prompts import Prompt

FIELDS = (
    "command",
    "dry_run",
    "by",
    "holding",
    "refreshed",
    "gateway_pid",
    "failures",
)


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    session: Annotated[
        str | None, typer.Option("--session", metavar="REF", help="Only this conversation.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Have system prompts rebuilt on the next turn.

    A session keeps the system prompt it began with, so what was changed since in the files that
    prompts are made of is not seen. Where the installed hermes can ask for a new one, it is run;
    else the stored prompt is cleared, and Hermes builds it anew on the next turn. Messages, ids,
    tools and counts stay. Each session pays one miss of the provider's cache.

    Without --session or a filter it is about every conversation.

    \b
    Examples:
      hermes-sessions refresh-prompts --newer-than 7d --dry-run
      hermes-sessions refresh-prompts --session latest
    """
    if session is not None and not wanted.is_default:
        raise UsageProblem(
            "--session and filters choose different things", hint="give one or the other"
        )
    return run(ctx.obj, session, wanted, Consent(dry_run, yes, json, timeout))


def run(env: Env, ref: str | None, wanted: Filter, consent: Consent) -> int:
    """Choose, and have it done; nobody is asked."""
    with opened(env) as place:
        check_readable(place.store)
        prompts = stored_prompts(place.store, _chosen(place, ref, wanted))
    home = place.home
    program = refresher(env.environ, home) if prompts else None
    gateway = gateway_pid(home.path) if home.path else None
    is_all = ref is None and wanted.is_default
    proposal = Proposal(
        _sheet(prompts, program),
        {
            "command": "refresh-prompts",
            "dry_run": consent.dry_run,
            "by": "hermes" if program else "hermes-sessions",
            "holding": len(prompts),
            "refreshed": [],
            "gateway_pid": gateway,
            "failures": [],
        },
        FIELDS,
        "Rebuild?" if prompts else "",
        "nothing to do: no session that is meant has a stored prompt",
    )

    def do() -> Done:
        if gateway is not None and program is None:
            env.note(in_memory(gateway))
        if program is None:
            return _clear(env, home, prompts, consent.timeout)
        return _ask(env, home, program, prompts, is_all=is_all)

    return carry_out(env, consent._replace(yes=True), proposal, do)


def in_memory(pid: int) -> str:
    """Say what a gateway does with prompts."""
    return f"a gateway runs (pid {pid}): it keeps prompts in memory until it is restarted"


def _chosen(place: Place, ref: str | None, wanted: Filter) -> list[str]:
    """Return the sessions that can have a next turn: the newest of each conversation."""
    if ref is not None:
        found = resolve(place, ref, changes=True)
        note_move(place.env, found)
        return [found.conversation.id]
    if wanted.is_default:
        wanted = Filter(everything=True)
    selection = select(place.store, wanted, Order(limit=0))
    if selection.damage is not None:
        raise selection.damage
    return [line.conversation.id for line in selection.lines]


def _sheet(prompts: Sequence[Prompt], program: str | None) -> Sheet:
    how = f"by {program} sessions refresh-prompts" if program else "by clearing the stored ones"
    return Sheet(
        f"Have {plural(len(prompts), 'system prompt')} rebuilt on the next turn",
        (("how", how), ("cost", "one miss of the provider's cache for each session")),
        tuple(prompt_item(prompt) for prompt in prompts),
    )


def prompt_item(prompt: Prompt, *facts: str) -> Item:
    """Return the line of a prompt in a plan."""
    size = f"{prompt.characters:,} characters"
    return Item(prompt.session_id, prompt.title or "", (*facts, prompt.source), size)


def _clear(env: Env, home: Home, prompts: Sequence[Prompt], timeout: float) -> Done:
    ids = [prompt.session_id for prompt in prompts]
    with writing(env, home, timeout) as writer, Progress(env, "clearing prompts") as bar:
        for done in clear_prompts(writer, ids):
            bar.update(done / len(ids))
    return Done((_result(len(ids)),), {"refreshed": ids})


def _ask(env: Env, home: Home, program: str, prompts: Sequence[Prompt], *, is_all: bool) -> Done:
    """Have Hermes do it: for the whole store at once, or for one session after the other."""
    ids = [prompt.session_id for prompt in prompts]
    refreshed, failures = [], []
    with Progress(env, "asking hermes") as bar:
        for number, session_id in enumerate([None] if is_all else ids):
            said, failure = refresh(env.environ, home, program, session_id)
            for line in neutralise(said).splitlines():
                env.note(f"hermes: {line}")
            if failure is None:
                refreshed += ids if session_id is None else [session_id]
            else:
                failures.append(failure)
            bar.update((number + 1) / len(ids))
    lines = (_result(len(refreshed)),) if refreshed else ()
    return Done(lines, {"refreshed": refreshed, "failures": failures}, tuple(failures))


def _result(number: int) -> str:
    its, verb = ("its", "rebuilds") if number == 1 else ("their", "rebuild")
    cost = "which costs" if number == 1 else "which costs each"
    return f"{plural(number, 'session')} {verb} {its} prompt on the next turn, {cost} a cache miss"
