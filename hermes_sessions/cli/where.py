"""``where``: the paths in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hermes_sessions.cli.options import Json
from hermes_sessions.errors import ExitCode
from hermes_sessions.own_files import log_file, trash_directory

if TYPE_CHECKING:
    from hermes_sessions.context import Env

FIELDS = (
    "home",
    "profile",
    "store",
    "exists",
    "breadcrumbs",
    "transcripts",
    "trash",
    "log",
    "reason",
)


def command(ctx: typer.Context, json: Json = None) -> int:
    """Print the paths in use.

    The home and its store, the breadcrumbs of terminals, our own trash and log.

    \b
    Examples:
      hermes-sessions where
      hermes-sessions -p work where --json=store
    """
    env: Env = ctx.obj
    home = env.select_home()
    beside = home.path
    facts: dict[str, object] = {
        "home": str(beside) if beside else None,
        "profile": home.profile or "default" if beside else None,
        "store": str(home.store),
        "exists": home.store.is_file(),
        "breadcrumbs": str(beside / "terminal-sessions") if beside else None,
        "transcripts": str(beside / "sessions") if beside else None,
        "trash": str(trash_directory(env.environ)),
        "log": str(log_file(env.environ)),
        "reason": home.reason,
    }
    if json is not None:
        from hermes_sessions.render.data import pick_fields, to_json

        env.write(to_json({name: facts[name] for name in pick_fields(json, FIELDS)}))
        return ExitCode.OK
    remarks = {
        "home": home.reason,
        "store": "" if facts["exists"] else "not there",
    }
    pairs = [
        (name, str(facts[name]), remarks.get(name, ""))
        for name in FIELDS
        if name not in {"exists", "reason"} and facts[name] is not None
    ]
    if env.is_terminal:
        from hermes_sessions.render.tables import print_pairs

        print_pairs(env, pairs)
    else:
        env.write("".join(f"{name}\t{value}\n" for name, value, _ in pairs))
    return ExitCode.OK
