"""``new``: an empty conversation with a title, to be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.cli.rename import keyword_remark, title_is_taken
from hermes_sessions.errors import UsageProblem
from hermes_sessions.plans import Done, Proposal, Sheet
from hermes_sessions.store.creation import (
    NewSession,
    check_id,
    insert_session,
    is_text,
    mint_id,
    owning_profile,
)
from hermes_sessions.store.edits import check_readable
from hermes_sessions.store.naming import owners
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line
from hermes_sessions.titles import clean_title
from hermes_sessions.workspace import find_workspace

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.references import Place

FIELDS = (
    "command",
    "dry_run",
    "id",
    "title",
    "source",
    "model",
    "cwd",
)


class Request(NamedTuple):
    """What was asked for."""

    title: str
    source: str = "cli"
    model: str | None = None
    system_prompt: str | None = None
    id: str | None = None


def command(
    ctx: typer.Context,
    title: Annotated[str, typer.Option("--title", metavar="T", help="Its title.")],
    source: Annotated[
        str, typer.Option("--source", metavar="S", help="The surface it belongs to.")
    ] = "cli",
    model: Annotated[
        str | None, typer.Option("--model", metavar="M", help="The model to begin with.")
    ] = None,
    system_prompt: Annotated[
        str | None,
        typer.Option("--system-prompt", metavar="TEXT|@FILE", help="What it is told first."),
    ] = None,
    new_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Its id; else a new one.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Begin an empty conversation to resume later.

    It belongs to the current directory. Its id is printed.

    \b
    Examples:
      hermes-sessions new --title "release notes" --system-prompt @notes.md
      hermes-sessions resume "$(hermes-sessions new --title scratch --yes)"
    """
    prompt = None if system_prompt is None else read_prompt(system_prompt)
    request = Request(
        clean_title(title),
        _given("--source", source),
        None if model is None else _given("--model", model),
        prompt,
        new_id,
    )
    return run(ctx.obj, request, Consent(dry_run, yes, json, timeout))


def run(env: Env, request: Request, consent: Consent) -> int:
    """Plan, ask, and make it."""
    with opened(env) as place:
        new = plan_new(place, request)
    remark = keyword_remark(new.title)
    proposal = Proposal(
        Sheet(
            f"New conversation “{new.title}”",
            (("id", new.id), ("in", new.cwd or "no directory")),
            (),
            (remark,) if remark else (),
        ),
        {
            "command": "new",
            "dry_run": consent.dry_run,
            **{name: getattr(new, name) for name in ("id", "title", "source", "model", "cwd")},
        },
        FIELDS,
        f"Begin “{new.title}”?",
    )

    def do() -> Done:
        create(place, new, consent.timeout)
        env.note(f"“{new.title}” can be resumed: hermes-sessions resume {one_line(new.id)}")
        return Done((one_line(new.id),), {})

    return carry_out(env, consent, proposal, do)


def plan_new(place: Place, request: Request) -> NewSession:
    """Return the session to be made, in the current directory.

    Raises:
        UsageProblem: the title or the id is taken.
        StoreDamaged: the store is not fit to be written.
    """
    env = place.env
    check_readable(place.store)
    taken = owners(place.store, request.title)
    if taken:
        raise title_is_taken(place, request.title, taken[0])
    cwd = env.cwd if env.cwd is not None and is_text(env.cwd) else None
    workspace = find_workspace(cwd) if cwd else None
    root = workspace.root if workspace is not None and workspace.repository else None
    return NewSession(
        id=mint_id(env.now) if request.id is None else check_id(place.store, request.id),
        source=request.source,
        title=request.title,
        started_at=env.now,
        model=request.model,
        system_prompt=request.system_prompt,
        cwd=cwd,
        git_repo_root=root if root is not None and is_text(root) else None,
        profile_name=owning_profile(place.home),
    )


def create(place: Place, new: NewSession, timeout: float) -> None:
    """Make a session; what was checked for the plan is checked again.

    Raises:
        UsageProblem: the title or the id was taken in the meantime.
    """
    with writing(place.env, place.home, timeout) as writer, writer.transaction():
        again = place._replace(store=writer.store)
        taken = owners(again.store, new.title)
        if taken:
            raise title_is_taken(again, new.title, taken[0])
        check_id(again.store, new.id)
        insert_session(writer, new)


def create_if_missing(env: Env, home: Home, new: NewSession) -> str:
    """Make a session and return its id, or that of one that got its title in the meantime."""
    with writing(env, home, DEFAULT_TIMEOUT) as writer, writer.transaction():
        taken = owners(writer.store, new.title)
        if taken:
            return taken[0]
        check_id(writer.store, new.id)
        insert_session(writer, new)
    return new.id


def read_prompt(text: str) -> str:
    """Return a prompt as it was typed, or the content of the file behind ``@``.

    Raises:
        UsageProblem: the file cannot be read, or there is nothing in it.
    """
    prompt = text
    if text.startswith("@"):
        path = Path(text[1:]).expanduser()
        try:
            prompt = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageProblem(f"--system-prompt: cannot read {path}: {reason}") from None
    if not prompt.strip():
        raise UsageProblem("--system-prompt is blank", hint="leave it out for Hermes' own")
    return prompt


def _given(option: str, value: str) -> str:
    if not one_line(value):
        raise UsageProblem(f"{option} is blank", hint="leave the option out")
    return one_line(value)
