"""``workspaces``: where conversations were had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.nothing import explain_nothing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import Json
from hermes_sessions.errors import ExitCode, StoreMissing
from hermes_sessions.store.workspaces import load_workspaces
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.store.workspaces import WorkspaceUse

FIELDS = (
    "path",
    "exists",
    "conversations",
    "messages",
    "size_bytes",
    "last_active",
    "last_active_iso",
)


def command(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Count archived ones, delegates and tool runs too.")
    ] = False,
    json: Json = None,
) -> int:
    """List workspaces and what is in them.

    A workspace is the git repository that was recorded, else the directory; the last used comes
    first. Piped, it prints tab-separated lines: path, conversations, messages, bytes, last
    activity, and "missing" if the directory is not there.
    """
    env: Env = ctx.obj
    home = env.select_home()
    fields = None
    if json is not None:
        from hermes_sessions.render.data import pick_fields

        fields = pick_fields(json, FIELDS)
    try:
        with opened_store(env, home) as store:
            uses = load_workspaces(store, everything=everything)
    except StoreMissing as missing:
        uses = []
        explain_nothing(env, home, missing.message)
    if fields is not None:
        from hermes_sessions.render.data import to_json

        objects = [_object(use) for use in uses]
        env.write(to_json([{name: each[name] for name in fields} for each in objects]))
    elif env.is_terminal:
        from hermes_sessions.render.tables import print_workspaces

        print_workspaces(env, [(use, _exists(use)) for use in uses])
    else:
        env.write("".join(_line(use) for use in uses))
    return ExitCode.OK


def _exists(use: WorkspaceUse) -> bool | None:
    return None if use.path is None else Path(use.path).is_dir()


def _object(use: WorkspaceUse) -> dict[str, object]:
    iso = None if use.last_active is None else local_iso(use.last_active)
    return {**use._asdict(), "exists": _exists(use), "last_active_iso": iso}


def _line(use: WorkspaceUse) -> str:
    from hermes_sessions.text import one_line

    cells = (
        use.path or "",
        str(use.conversations),
        str(use.messages),
        str(use.size_bytes),
        "" if use.last_active is None else local_iso(use.last_active),
        "missing" if _exists(use) is False else "",
    )
    return "\t".join(map(one_line, cells)) + "\n"
