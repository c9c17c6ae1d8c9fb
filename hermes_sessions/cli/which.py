"""``which``: the id a REF means, nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.errors import ExitCode
from hermes_sessions.references import resolve


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="An id, a title, latest or -.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Say on stderr which rule chose it.")
    ] = False,
) -> int:
    """Print the id of the conversation a REF means.

    \b
    Examples:
      hermes-sessions which latest
      hermes-sessions which --explain 20261130
    """
    env = ctx.obj
    with opened(env) as place:
        found = resolve(place, ref)
    env.write(f"{found.conversation.id}\n")
    if explain:
        for reason in found.passed_over:
            env.note(f"passed over: {reason}")
        env.note(f"chosen by {found.rule}")
    note_move(env, found)
    return ExitCode.OK
