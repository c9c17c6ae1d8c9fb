"""``optimize``: cure and merge the search indexes, and give free space back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.optimizing import (
    CHECKED,
    Work,
    copy,
    has_tokenizer,
    index_data,
    needs,
    optimize,
)
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.context import short_path
from hermes_sessions.disk_space import temporary_directory
from hermes_sessions.errors import StoreDamaged, UsageProblem, UserError
from hermes_sessions.last_run import is_unchanged, read_last_run
from hermes_sessions.plans import Proposal, Sheet
from hermes_sessions.render.timed import timed
from hermes_sessions.store.compacting import index_pages, last_vacuum, sizes_of
from hermes_sessions.store.holders import describe, find_holders
from hermes_sessions.store.index_tasks import Action, find_tasks, with_torn
from hermes_sessions.store.page_check import damaged_tables, index_of, refuse_damage
from hermes_sessions.store.pages import read_pages
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import size
from hermes_sessions.times import DAY, ago

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.pages import Pages

FIELDS = (
    "command",
    "dry_run",
    "store",
    "into",
    "indexes",
    "vacuum",
    "reason",
    "free_before",
    "size_before",
    "wal_before",
    "size_after",
    "wal_after",
    "reclaimed",
    "seconds",
    "holders",
    "failures",
)

_WORTH_IT: Final = 0.25
_OFTEN: Final = 30 * DAY
"""``--if-needed``: below this part of free pages, or within this time, a rewrite is not worth it
(the limits of Hermes' own maintenance, 0.22.2)."""

_ACTIONS: Final = {
    Action.REBUILD: "rebuild",
    Action.FILL: "go on",
    Action.MERGE: "merge",
    Action.LEAVE: "leave",
}


class Request(NamedTuple):
    """What was asked for."""

    if_needed: bool
    fts_only: bool
    into: Path | None
    force: bool


def command(
    ctx: typer.Context,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="For cron: only if it is worth it.")
    ] = False,
    fts_only: Annotated[
        bool, typer.Option("--fts-only", help="Only the search indexes; fine beside Hermes.")
    ] = False,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FILE", help="Write a compact copy; leave the store alone."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Beside other processes, whatever the gain; overwrite FILE."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Merge the search indexes and give free space back.

    Indexes that are out of date, incomplete or damaged are rebuilt from the messages, the others
    are merged; then the file is rewritten. Afterwards nothing of deleted messages is left in it.
    It is refused while another process has the store open, except for --fts-only, which works in
    steps that nobody has to wait for.

    With --if-needed the file is rewritten only if a quarter of it is free and the last time is 30
    days ago; indexes that are not well are cured at any time.

    \b
    Examples:
      hermes-sessions optimize --dry-run
      hermes-sessions optimize --if-needed --quiet
    """
    env: Env = ctx.obj
    request = Request(if_needed, fts_only, _target(env, into), force)
    if into is not None and (if_needed or fts_only):
        raise UsageProblem(
            "--into goes with neither --if-needed nor --fts-only",
            hint="hermes-sessions optimize --into FILE",
        )
    try:
        return run(env, request, Consent(dry_run, yes, json, timeout))
    except KeyboardInterrupt:
        env.note("interrupted: nothing is lost; run it again to go on")
        raise


def run(env: Env, request: Request, consent: Consent) -> int:
    """Look what there is to do, and do it; nobody is asked."""
    work = _look(env, env.select_home(), request)
    proposal = Proposal(
        _sheet(env, work),
        {
            "command": "optimize",
            "dry_run": consent.dry_run,
            "store": str(work.home.store),
            "into": None if work.into is None else str(work.into),
            "indexes": index_data(work.tasks, work.tasks),
            "vacuum": work.vacuum,
            "reason": work.reason or None,
            "free_before": work.pages.free_bytes,
            "size_before": work.sizes.store,
            "wal_before": work.sizes.wal,
            "size_after": work.sizes.store,
            "wal_after": work.sizes.wal,
            "reclaimed": 0,
            "seconds": 0.0,
            "holders": [describe(holder) for holder in work.scan.holders],
            "failures": [],
        },
        FIELDS,
        "Optimize?" if work.is_any else "",
        "; ".join([f"nothing to do: {work.reason}", *work.hopeless()]),
    )
    do = optimize if work.into is None else copy
    return carry_out(
        env, consent._replace(yes=True), proposal, lambda: do(env, work, consent.timeout)
    )


def _target(env: Env, into: str | None) -> Path | None:
    if into is None:
        return None
    if not into.strip():
        raise UsageProblem("--into is blank", hint="hermes-sessions optimize --into FILE")
    return Path(env.cwd or "/", Path(into).expanduser())


def _look(env: Env, home: Home, request: Request) -> Work:
    """Find out what there is to do; every page is checked before anything is done."""
    sizes = sizes_of(home.store)
    last_run = read_last_run(env.environ, home.store)
    with opened_store(env, home) as store:
        pages = read_pages(store)
        of_indexes = index_pages(store)
        tasks = tuple(find_tasks(store, has_tokenizer=has_tokenizer(env, home)))
        times = (last_run and last_run.at, last_vacuum(store))
        reason = _no_rewrite(env, request, pages, times)
        has_cure = any(task.is_cure for task in tasks)
        is_needed = has_cure or request.force or request.into is not None
        if not is_needed and last_run and is_unchanged(home.store, last_run):
            when = ago(last_run.at, env.now)
            reason = f"not a byte has changed since it was optimized {when} (--force does it)"
        else:
            is_needed = is_needed or not (reason and request.if_needed)
        damaged: dict[str, str] = {}
        if is_needed:
            with timed(env, "checking", sizes.store / CHECKED):
                damaged = damaged_tables(store)
            refuse_damage(store, damaged, [task.name for task in tasks if task.is_curable])
        if damaged:
            tasks = tuple(with_torn(tasks, {index_of(table) for table in damaged}))
            reason = _with_damage(store, request)
    return Work(
        home=home,
        tasks=tasks,
        torn=tuple(damaged),
        pages=pages,
        index_pages=of_indexes,
        sizes=sizes,
        vacuum=not reason,
        reason=reason,
        is_any=is_needed,
        scan=find_holders(home.store),
        last_run=last_run,
        into=request.into,
        force=request.force,
    )


def _with_damage(store: Store, request: Request) -> str:
    """Say that the file must be rewritten: the damaged pages of its indexes are still in it.

    Raises:
        StoreDamaged: that was not what was asked for.
    """
    if request.fts_only or request.into is not None:
        raise StoreDamaged(
            f"{store.path} is damaged: pages of its search index cannot be read",
            hint="nothing was changed; hermes-sessions optimize, without options, builds it anew",
        )
    return ""


def _no_rewrite(
    env: Env, request: Request, pages: Pages, times: tuple[float | None, float | None]
) -> str:
    """Say why the file is not to be rewritten, or ""; ``times``: of the last rewrites."""
    if request.fts_only:
        return "--fts-only"
    if request.if_needed and not request.force:
        if pages.free_part < _WORTH_IT:
            return f"{pages.free_part:.0%} of the file is free, less than {_WORTH_IT:.0%}"
        last = max((t for t in times if t is not None and t <= env.now), default=None)
        if last is not None and env.now - last < _OFTEN:
            return f"the file was rewritten {ago(last, env.now)}, less than 30 days"
    return ""


def _sheet(env: Env, work: Work) -> Sheet:
    """Return the plan: what, why, what it takes, and what is in the way."""
    pages, sizes = work.pages, work.sizes
    wal = f" + {size(sizes.wal)} of log" if sizes.wal else ""
    inside = f"{size(pages.free_bytes)} of it free ({pages.free_part:.0%})"
    facts = [("size", f"{size(sizes.store)}{wal}, {inside}")]
    for task in work.tasks:
        why = f": {task.why}" if task.why else ""
        facts.append((_ACTIONS[task.action], f"{task.name}{why}"))
    facts.append(("rewrite", f"no: {work.reason}" if work.reason else _rewrite(env, work)))
    try:
        room = [
            f"{size(need.number)} in {short_path(need.directory, env.environ)}"
            for need in needs(work, temporary_directory(env.environ))
        ]
        facts.append(("room", f"for up to {' and '.join(room)}"))
    except UserError as error:
        facts.append(("room", error.message))
    facts += [("held", f"by {describe(holder)}") for holder in work.scan.holders]
    if work.scan.unknown and work.into is None:
        facts.append(("held", f"perhaps: {work.scan.unknown}"))
    remarks = ("It would be refused now; --force does it.",) if work.is_refused else ()
    return Sheet(f"Optimize {short_path(work.home.store, env.environ)}", tuple(facts), (), remarks)


def _rewrite(env: Env, work: Work) -> str:
    if work.into is not None:
        return f"into {short_path(work.into, env.environ)}"
    return "the file in its place"
