"""``list``: conversations by last activity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.nothing import explain_nothing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import Ids, Json, Nul, with_filters
from hermes_sessions.errors import ExitCode, StoreMissing
from hermes_sessions.models import Filter
from hermes_sessions.render.plain import in_words
from hermes_sessions.store.listing import Query, load_listing
from hermes_sessions.store.selection import Order, Sort, select
from hermes_sessions.text import one_line

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.errors import UserError
    from hermes_sessions.home import Home
    from hermes_sessions.models import Listing


class Request(NamedTuple):
    """What was asked for.

    Attributes:
        json: the value of ``--json``, or None.
        nul: ids end with NUL.
    """

    wanted: Filter
    order: Order
    tree: bool
    json: str | None
    ids: bool
    nul: bool


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=0, help="Lines at most; 0 for all.")
    ] = 20,
    sort: Annotated[
        Sort,
        typer.Option("--sort", metavar="KEY", help="activity, started, messages, cost, title."),
    ] = Sort.ACTIVITY,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="Branches and delegates under their parent.")
    ] = False,
    no_fold: Annotated[
        bool, typer.Option("--no-fold", help="Every run of a cron job on a line of its own.")
    ] = False,
    json: Json = None,
    ids: Ids = False,
    nul: Nul = False,
) -> int:
    """List conversations by last activity.

    Archived and hidden conversations, delegates and tool runs are left out; the last line counts
    them and names the option that shows them. Piped, it prints tab-separated lines: id, last
    activity, source, messages, workspace, title.

    \b
    Examples:
      hermes-sessions list --workspace . --newer-than 7d
      hermes-sessions list --source telegram --sort messages
      hermes-sessions list --json=id,title,last_active
    """
    env: Env = ctx.obj
    fold = env.is_terminal and not (no_fold or ids or nul or tree or json is not None)
    order = Order(Sort(sort), reverse, limit, fold)
    return run(env, Request(wanted, order, tree, json, ids or nul, nul))


def run(env: Env, request: Request) -> int:
    """List; a damaged store is listed as far as it is readable, and fails all the same."""
    home = env.select_home()
    try:
        damage = _print_ids(env, home, request) if request.ids else _print(env, home, request)
    except StoreMissing as missing:
        if request.json is not None:
            env.write("[]\n")
        explain_nothing(env, home, missing.message)
        return ExitCode.OK
    if damage is None:
        return ExitCode.OK
    env.note("partial: the messages cannot be read; listed from what the sessions say")
    raise damage


def _print(env: Env, home: Home, request: Request) -> UserError | None:
    if request.json is not None:
        from hermes_sessions.render.data import pick_fields, summary_object, to_json

        fields = pick_fields(request.json)
        listing = _load(env, home, request)
        env.write(to_json([summary_object(row.summary, fields) for row in listing.rows]))
    elif env.is_terminal:
        from hermes_sessions.render.tables import print_listing

        listing = _load(env, home, request)
        print_listing(env, listing)
    else:
        from hermes_sessions.render.plain import list_rows

        listing = _load(env, home, request)
        env.write(list_rows(listing.rows))
    for row in listing.rows:
        if any(session.started_at is None for session in row.summary.sessions):
            env.note(f"{one_line(row.summary.id)}: its start is not a time (shown as ?)")
    if not listing.rows:
        explain_nothing(env, home, _nothing(request, listing))
    return listing.damage


def _nothing(request: Request, listing: Listing) -> str:
    if request.wanted.is_default:
        return "no conversations"
    hidden = in_words(listing.hidden)
    return "no conversation matches" + (f"; out of view: {hidden}" if hidden else "")


def _load(env: Env, home: Home, request: Request) -> Listing:
    count = env.is_terminal and request.json is None
    query = Query(request.wanted, request.order, env.now, request.tree, count)
    with opened_store(env, home) as store:
        return load_listing(store, home.path, query)


def _print_ids(env: Env, home: Home, request: Request) -> UserError | None:
    """Ids need nothing but the selection."""
    from hermes_sessions.render.plain import ids

    with opened_store(env, home) as store:
        selection = select(store, request.wanted, request.order)
    env.write(ids((line.conversation.id for line in selection.lines), nul=request.nul))
    return selection.damage
