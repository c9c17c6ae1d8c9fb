"""``fork``: a branch with a copy of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.editing import item, named
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.cli.rename import keyword_remark, title_is_taken
from hermes_sessions.errors import Refused, UsageProblem
from hermes_sessions.plans import Done, Proposal, Sheet
from hermes_sessions.references import resolve
from hermes_sessions.store.creation import NewSession, check_id, mint_id, owning_profile
from hermes_sessions.store.fork import branch_config, plan_copies, write_branch
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.naming import free_title, owners
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.tokenizer import check_tokenizer, tokenizer_library
from hermes_sessions.store.writing import DEFAULT_TIMEOUT, needs_columns
from hermes_sessions.text import one_line, plural
from hermes_sessions.titles import clean_title, tidy

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.models import Conversation, Summary
    from hermes_sessions.references import Place
    from hermes_sessions.store.fork import Copies

FIELDS = (
    "command",
    "dry_run",
    "id",
    "title",
    "source_id",
    "copied",
    "total",
    "cut_at",
    "source_ended",
)

_SOURCE = "cli"

_MOST = 2**63 - 1
"""The highest number that SQLite gives to a row."""


class Request(NamedTuple):
    """What was asked for."""

    ref: str
    at: int | None
    title: str | None
    id: str | None
    full: bool
    keep_open: bool


class Plan(NamedTuple):
    """A branch to be made.

    Attributes:
        ends_source: the source is open and ends, as it does when Hermes makes a branch.
    """

    source: Summary
    new: NewSession
    copies: Copies
    ends_source: bool


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="An id, a title, latest or -.")],
    at: Annotated[
        int | None,
        typer.Option(
            "--at", metavar="MESSAGE", help="Copy up to this message.", show_default=False
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="T", help="Its title; else the next number.")
    ] = None,
    new_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; else a new one.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Copy what compaction archived, too.")
    ] = False,
    keep_open: Annotated[bool, typer.Option("--keep-open", help="Leave the source open.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Begin a branch with a copy of a conversation.

    Copied is what the model still sees; --full adds what compaction has archived, and --at ends
    the copy at an earlier message. The source keeps everything; if it is open and nobody has it
    live, it ends, as when Hermes branches. The id of the branch is printed.

    \b
    Examples:
      hermes-sessions fork payments --title "payments, the other way"
      hermes-sessions fork latest --at 1207
    """
    request = Request(ref, at, title, new_id, full, keep_open)
    return run(ctx.obj, request, Consent(dry_run, yes, json, timeout))


def run(env: Env, request: Request, consent: Consent) -> int:
    """Plan, ask, and fork."""
    with opened(env) as place:
        needs_columns(place.store, "model_config")
        if tokenizer_library(place.home.path, env.environ) is None:
            check_tokenizer(place.store)
        found = resolve(place, request.ref, changes=True)
        note_move(env, found)
        plan = _plan(place, request, found.conversation)
    proposal = Proposal(
        Sheet(
            f"Fork into “{plan.new.title}”",
            (("copy", _amount(plan.copies)), ("id", plan.new.id)),
            (item(env, plan.source),),
            _remarks(request, plan),
        ),
        {"command": "fork", "dry_run": consent.dry_run, **_data(plan)},
        FIELDS,
        f"Fork {named(env, plan.source)}?",
    )

    def do() -> Done:
        with writing(env, place.home, consent.timeout) as writer:
            check_tokenizer(writer.store)
            with writer.transaction():
                now = _plan_again(place._replace(store=writer.store), request, plan, consent)
                write_branch(
                    writer, now.new, now.source.id, now.copies, ends_source=now.ends_source
                )
        amount = _amount(now.copies)
        env.note(f"forked {named(env, now.source)} into “{now.new.title}”: {amount}")
        for remark in _remarks(request, now) if consent.yes else ():  # who was asked has read them
            env.note(remark)
        return Done((one_line(now.new.id),), _data(now))

    return carry_out(env, consent, proposal, do)


def _plan(place: Place, request: Request, conversation: Conversation) -> Plan:
    env = place.env
    (source,) = summarise(place.store, place.home.path, [conversation], env.now, sized=False)
    if request.at is not None and not 1 <= request.at <= _MOST:
        raise UsageProblem(
            f"--at: #{request.at} is no number of a message",
            hint="show --transcript and search print them",
        )
    copies = plan_copies(place.store, conversation, at=request.at, full=request.full)
    title = _title(place, request, source)
    new_id = mint_id(env.now) if request.id is None else check_id(place.store, request.id)
    where = next((row for row in reversed(source.sessions) if row.workspace), source.tip)
    new = NewSession(
        id=new_id,
        source=_SOURCE,
        title=title,
        started_at=env.now,
        model=next((row.model for row in reversed(source.sessions) if row.model), None),
        model_config=branch_config(place.store, source.id),
        parent_session_id=source.id,
        cwd=where.cwd,
        git_branch=where.git_branch,
        git_repo_root=where.git_repo_root,
        profile_name=source.tip.profile_name or owning_profile(place.home),
    )
    return Plan(source, new, copies, _ends(source, request))


def _ends(source: Summary, request: Request) -> bool:
    return bool(source.tip.is_open) and not request.keep_open and source.live is None


def _title(place: Place, request: Request, source: Summary) -> str:
    if request.title is None:
        return free_title(place.store, tidy(source.title or "") or "branch")
    title = clean_title(request.title)
    taken = owners(place.store, title)
    if taken:
        raise title_is_taken(place, title, taken[0])
    return title


def _plan_again(place: Place, request: Request, plan: Plan, consent: Consent) -> Plan:
    """Plan anew inside the transaction; what was shown must still hold.

    Raises:
        UsageProblem: the title or the id was taken in the meantime.
        Refused: the source is gone; or it changed, or somebody has it open who had not, since the
            plan was shown.
    """
    found = conversations_of(place.store, [plan.source.id])
    if found and consent.yes:
        return _plan(place, request, found[0])
    if [c.id for c in found] == [plan.source.id]:
        wanted = request._replace(title=plan.new.title, id=plan.new.id)
        now = _plan(place, wanted, found[0])
        if now.copies == plan.copies and (now.ends_source or not plan.ends_source):
            return plan
    raise Refused(
        f"{one_line(plan.source.id)} changed or was deleted since it was looked at",
        hint="nothing was changed; run the command again",
    )


def _data(plan: Plan) -> dict[str, object]:
    return {
        "id": plan.new.id,
        "title": plan.new.title,
        "source_id": plan.source.id,
        "copied": plan.copies.number,
        "total": plan.copies.total,
        "cut_at": plan.copies.cut,
        "source_ended": plan.ends_source,
    }


def _amount(copies: Copies) -> str:
    return f"{copies.number:,} of {plural(copies.total, 'message')}"


def _remarks(request: Request, plan: Plan) -> tuple[str, ...]:
    remarks = [keyword_remark(plan.new.title)]
    copies, source = plan.copies, plan.source
    if copies.snapped:
        remarks.append(f"cut behind #{copies.cut}: #{request.at} is inside a tool call")
    if request.at is None and not request.full and copies.number < copies.total:
        remarks.append("the others were archived by compaction; --full copies them, too")
    if plan.ends_source:
        remarks.append(f"{one_line(source.id)} ends as branched; --keep-open leaves it open")
    elif source.live is not None and source.tip.is_open:
        remarks.append(f"{one_line(source.id)} stays open: it is live")
    return tuple(filter(None, remarks))
