"""``resume`` and ``-c``: hand a conversation over to Hermes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.config import read_config
from hermes_sessions.context import short_path
from hermes_sessions.errors import ExitCode, NotFound, Refused, UsageProblem
from hermes_sessions.launch import become, find_program, resume_command
from hermes_sessions.recap import CONFIG_KEYS, Limits
from hermes_sessions.references import (
    HERE,
    LATEST,
    resolve,
    resolve_latest,
    terminal_conversation,
)
from hermes_sessions.store.lookup import newest_of_workspace
from hermes_sessions.store.summaries import summarise
from hermes_sessions.terminal import identify, write_note
from hermes_sessions.text import one_line, plural
from hermes_sessions.times import ago
from hermes_sessions.workspace import find_workspace

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.models import Summary
    from hermes_sessions.references import Place, Resolved
    from hermes_sessions.store.creation import NewSession
    from hermes_sessions.store.recaps import Tail


class Request(NamedTuple):
    """What was asked for.

    Attributes:
        directory: ``--in``; the directory to change to and stay in.
        restore: change to the recorded directory.
        recap: show the recap; None: as Hermes' configuration says.
        force: go on although the conversation is live elsewhere.
        create: begin a conversation that is called like the REF if it names none.
    """

    ref: str | None
    directory: str | None
    restore: bool
    print_id: bool
    dry_run: bool
    recap: bool | None
    force: bool
    create: bool = False


class Handover(NamedTuple):
    """What is handed over, and everything a person wants to know before.

    Attributes:
        directory: where Hermes is started; None to stay.
        remark: a line about the directory, or None.
        display: Hermes' word for how much recap to show.
    """

    home: Home
    found: Resolved
    summary: Summary
    directory: str | None
    remark: str | None
    tail: Tail | None
    display: str


def command(
    ctx: typer.Context,
    ref: Annotated[
        str | None, typer.Argument(metavar="[REF]", help="An id, a title, latest or -.")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="DIR", help="Start in DIR; without REF its newest conversation."
        ),
    ] = None,
    no_restore_cwd: Annotated[
        bool, typer.Option("--no-restore-cwd", help="Stay in the current directory.")
    ] = False,
    print_id: Annotated[
        bool, typer.Option("--print", help="Print the id and start nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the command and why; start nothing.")
    ] = False,
    recap: Annotated[
        bool | None,
        typer.Option("--recap/--no-recap", help="Show what was said last.", show_default=False),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Even if it is live in another process.")
    ] = False,
    create: Annotated[
        bool,
        typer.Option(
            "--create-if-missing", help="If REF names none, begin one with this title, unasked."
        ),
    ] = False,
) -> int:
    """Continue a conversation in Hermes.

    Without REF: the conversation this terminal was in, else the newest of this workspace, else the
    newest of all; a note says which. Words behind -- go to hermes unchanged.

    \b
    Examples:
      hermes-sessions -c
      hermes-sessions resume payments --in ~/code/billing
      hermes-sessions -c "daily report" --create-if-missing
      hermes-sessions resume latest -- --model hermes-4-405b
    """
    request = Request(ref, directory, not no_restore_cwd, print_id, dry_run, recap, force, create)
    return run(ctx.obj, request)


def run(env: Env, request: Request) -> int:
    """Choose, explain, check that nobody else has it, and become Hermes."""
    if request.create:
        meant = _find_or_plan(env, request)
        if request.dry_run and not isinstance(meant, str):
            return _say_what_would_begin(env, request, meant)
        ref = meant if isinstance(meant, str) else _begin(env, request, meant)
        request = request._replace(ref=ref)
    if request.print_id:
        with opened(env) as place:
            found = _choose(place, request)
        env.write(f"{found.conversation.id}\n")
        _explain(env, found)
        return ExitCode.OK
    with opened(env) as place:
        handover = _prepare(place, request)
    home, summary = handover.home, handover.summary
    launch = resume_command(env.environ, home, summary.id, env.passed_on)
    if request.dry_run:
        _explain(env, handover.found)
        where = handover.directory or env.cwd
        env.note(f"in {short_path(where, env.environ)}" if where else "the directory is gone")
        env.write(f"{launch.in_words()}\n")
        return ExitCode.OK
    path = _path_of(home)
    _refuse_if_live(env, handover, force=request.force)
    program = find_program(launch, env.environ)
    _introduce(env, request, handover)
    _change_directory(env, handover)
    terminal = identify((env.stdin, env.stdout), env.environ)
    if read_config(path, ("session.terminal_continue",)).flag("session.terminal_continue"):
        write_note(path, terminal, summary.id, os.getcwd(), env.now)  # noqa: PTH109
    env.stdout.flush()
    env.stderr.flush()
    return become(launch, env.environ, program)


def _find_or_plan(env: Env, request: Request) -> str | NewSession:
    """Return a REF that names a conversation, or the one that is to be made for it.

    Raises:
        UsageProblem: there is no REF, it names several, or it cannot be a title.
        NotFound: it is a word that means one by a rule, and there is none to mean.
    """
    from hermes_sessions.cli.new import Request as Wish
    from hermes_sessions.cli.new import plan_new
    from hermes_sessions.titles import clean_title

    if request.ref is None:
        raise UsageProblem(
            "--create-if-missing needs a REF: the title of what is to begin",
            hint="hermes-sessions -c TITLE --create-if-missing",
        )
    if request.directory is not None:
        env = env._replace(cwd=_existing_directory(request.directory))
    with opened(env) as place:
        if _names_one(place, request.ref):
            return request.ref
        title = clean_title(request.ref)
        return title if _names_one(place, title) else plan_new(place, Wish(title))


def _names_one(place: Place, ref: str) -> bool:
    try:
        resolve(place, ref, changes=True)  # the start of another title is not this one
    except NotFound:
        if ref.strip().lower() in {LATEST, HERE}:
            raise
        return False
    return True


def _begin(env: Env, request: Request, new: NewSession) -> str:
    """Make a conversation and return its id."""
    from hermes_sessions.cli.new import create_if_missing

    home = env.select_home()
    if not request.print_id:
        _path_of(home)
    made = create_if_missing(env, home, new)
    if made == new.id:
        env.note(f"began “{new.title}” ({new.id}): nothing was called that")
    return made


def _say_what_would_begin(env: Env, request: Request, new: NewSession) -> int:
    env.note(f"“{new.title}” would begin first: nothing is called that")
    env.note(f"in {short_path(new.cwd, env.environ)}" if new.cwd else "the directory is gone")
    if request.print_id:
        env.write(f"{new.id}\n")
    else:
        launch = resume_command(env.environ, env.select_home(), new.id, env.passed_on)
        env.write(f"{launch.in_words()}\n")
    return ExitCode.OK


def _path_of(home: Home) -> Path:
    if home.path is None:
        raise UsageProblem(
            "a store given by --db is outside any home; hermes cannot resume from it",
            hint="put it into a home directory as state.db and use --home",
        )
    return home.path


def _choose(place: Place, request: Request) -> Resolved:
    """Apply the rules: a REF, then --in, then this terminal, this workspace, everything."""
    if request.ref is not None:
        return resolve(place, request.ref)
    if request.directory is not None:
        return _newest_in(place, request.directory)
    found, passed = terminal_conversation(place)
    if found:
        return found
    latest = resolve_latest(place)
    return latest._replace(passed_over=(*passed, *latest.passed_over))


def _newest_in(place: Place, directory: str) -> Resolved:
    from hermes_sessions.references import Resolved

    path = _existing_directory(directory)
    workspace = find_workspace(path)
    found = newest_of_workspace(place.store, workspace)
    if found is None:
        raise NotFound(
            f"no conversation of a terminal in {workspace.root}",
            hint=f"hermes-sessions list --workspace {workspace.root}",
        )
    return Resolved(found, f"the newest of the workspace of --in ({workspace.root})", found.id)


def _existing_directory(directory: str) -> str:
    path = Path(directory).expanduser().absolute()
    if not os.path.isdir(path):  # noqa: PTH112 - whatever the name is, no error
        raise UsageProblem(f"--in: there is no directory {path}", hint="nothing was started")
    return str(path)


def _prepare(place: Place, request: Request) -> Handover:
    env, home = place.env, place.home
    found = _choose(place, request)
    summary = summarise(place.store, home.path, [found.conversation], env.now)[0]
    config = read_config(home.path, CONFIG_KEYS)
    display = config.text(CONFIG_KEYS[0])
    if request.recap is not None:
        display = "full" if request.recap else "none"
    tail = None
    if display not in {"minimal", "none"} and not request.dry_run:
        from hermes_sessions.store.recaps import load_recap

        tail = load_recap(place.store, found.conversation.session_ids, Limits.of(config))
    directory, remark = _directory(env, request, summary)
    return Handover(home, found, summary, directory, remark, tail, display)


def _directory(env: Env, request: Request, summary: Summary) -> tuple[str | None, str | None]:
    """Return where to go, and what to say about it (R030)."""
    if request.directory is not None:
        return _existing_directory(request.directory), None
    recorded = next((row.cwd for row in reversed(summary.sessions) if row.cwd), None)
    if not request.restore or not recorded or not recorded.strip():
        return None, None
    shown = one_line(short_path(recorded, env.environ))
    if not os.path.isdir(recorded) or not os.access(recorded, os.X_OK):  # noqa: PTH112
        here = short_path(env.cwd, env.environ) if env.cwd else "here"
        return None, f"⚠ the recorded directory is gone ({shown}); staying in {here}"
    if env.cwd and os.path.realpath(env.cwd) == os.path.realpath(recorded):
        return None, None
    return recorded, f"↪ restored workspace dir: {shown}"


def _explain(env: Env, found: Resolved) -> None:
    """One note: which rule chose, and what was passed over and why."""
    env.note(f"chosen by {found.rule}{_passed_over(found)}")
    note_move(env, found)


def _passed_over(found: Resolved) -> str:
    return f"; passed over: {'; '.join(found.passed_over)}" if found.passed_over else ""


def _refuse_if_live(env: Env, handover: Handover, *, force: bool) -> None:
    live, summary = handover.summary.live, handover.summary
    if live is None or force:
        return
    since = f", since {ago(live.since, env.now)}" if live.since else ""
    raise Refused(
        f"“{one_line(summary.name)}” is live elsewhere: {one_line(live.holder)}{since}",
        details=(f"{summary.id}  last active {ago(summary.last_active, env.now)}",),
        hint="--force goes on all the same; hermes-sessions fork makes a copy to work in",
    )


def _introduce(env: Env, request: Request, handover: Handover) -> None:
    """Say what is continued, and where, and what was said last, while Hermes loads."""
    summary, found = handover.summary, handover.found
    rule = "" if request.ref is not None else f" {found.rule}:"
    parts = [
        f"continuing{rule} {one_line(summary.name) or summary.id}",
        plural(summary.messages or 0, "message"),
        ago(summary.last_active, env.now),
    ]
    env.note(" · ".join(parts) + _passed_over(found))
    note_move(env, found)
    if handover.remark:
        env.note(handover.remark)
    if handover.tail is None or env.quiet:
        return
    earlier = max(0, (summary.messages or 0) - handover.tail.shown)
    if env.stderr.isatty():
        from hermes_sessions.render.conversation import print_recap

        print_recap(env, handover.tail.recap.entries, earlier, env.stderr)


def _change_directory(env: Env, handover: Handover) -> None:
    if handover.directory is None:
        return
    try:
        os.chdir(handover.directory)
    except OSError as error:
        env.note(f"⚠ cannot enter {handover.directory}: {error.strerror}; staying here")
