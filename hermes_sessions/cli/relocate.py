"""``relocate``: rewrite recorded directories after a project moved."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.editing import item
from hermes_sessions.cli.opened import opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.errors import UsageProblem
from hermes_sessions.plans import Done, Proposal, Sheet
from hermes_sessions.store.creation import is_text
from hermes_sessions.store.edits import apply_cells, check_readable
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.recent import newest_first
from hermes_sessions.store.relocation import relocation_cells
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.edits import Cell

FIELDS = (
    "command",
    "dry_run",
    "old",
    "new",
    "changed",
    "directories",
)

_NAMED = 5
"""Directories that a plan names."""


def command(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Where the project was.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Where it is now.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Rewrite directories after a project moved.

    Every directory that sessions recorded at or below OLD is rewritten to lie in NEW, so that
    resume finds it and listings by workspace show the conversations. No file is moved.

    \b
    Examples:
      hermes-sessions relocate ~/code/acme ~/work/acme --dry-run
    """
    env: Env = ctx.obj
    return run(
        env, _path(env, "OLD", old), _path(env, "NEW", new), Consent(dry_run, yes, json, timeout)
    )


def run(env: Env, old: str, new: str, consent: Consent) -> int:
    """Plan, ask, and rewrite."""
    if old == new:
        raise UsageProblem("OLD and NEW are the same directory", hint="nothing was changed")
    with opened(env) as place:
        check_readable(place.store)
        old, cells = _cells(place.store, old, new)
        found = conversations_of(place.store, sorted({cell.session_id for cell in cells}))
        summaries = summarise(
            place.store, place.home.path, newest_first(found), env.now, sized=False
        )
    number = plural(len(summaries), "conversation")
    proposal = Proposal(
        Sheet(
            f"Relocate {number}",
            tuple(_moves(cells)),
            tuple(item(env, summary) for summary in summaries),
            _remarks(new) if cells else (),
        ),
        {
            "command": "relocate",
            "dry_run": consent.dry_run,
            "old": old,
            "new": new,
            "changed": [summary.id for summary in summaries],
            "directories": len(cells),
        },
        FIELDS,
        f"Rewrite the directories of {number}?" if cells else "",
        f"nothing to do: no session recorded a directory in {one_line(old)}",
    )

    def do() -> Done:
        with writing(env, place.home, consent.timeout) as writer, writer.transaction():
            now = relocation_cells(writer.store, old, new)
            apply_cells(writer, consent.binding(cells, now), now)
            moved = conversations_of(writer.store, sorted({cell.session_id for cell in now}))
        data = {"changed": [c.id for c in newest_first(moved)], "directories": len(now)}
        line = f"relocated {plural(len(moved), 'conversation')} to {one_line(new)}"
        return Done((line,), dict[str, object](data))

    return carry_out(env, consent, proposal, do)


def _cells(store: Store, old: str, new: str) -> tuple[str, list[Cell]]:
    """Plan, by the path as it was given or, if nobody recorded that, where its links lead."""
    cells = relocation_cells(store, old, new)
    real = os.path.realpath(old)
    if not cells and real != old:
        found = relocation_cells(store, real, new)
        if found:
            return real, found
    return old, cells


def _path(env: Env, name: str, text: str) -> str:
    if not text.strip():
        raise UsageProblem(f"{name} is blank", hint="hermes-sessions relocate OLD NEW")
    if not is_text(text):
        raise UsageProblem(f"{name} is not UTF-8", hint="no store can hold it; nothing was changed")
    if re.match(r"[A-Za-z]:[\\/]|\\\\", text):  # of another system, recorded as it was there
        return text.rstrip("\\/")
    expanded = os.path.expanduser(text)  # noqa: PTH111 - symlinks and what is gone stay as typed
    path = os.path.normpath(os.path.join(env.cwd or "/", expanded))  # noqa: PTH118
    if name == "OLD" and not path.strip("/"):
        raise UsageProblem("OLD is the root directory", hint="name the directory that was moved")
    return path


def _moves(cells: list[Cell]) -> list[tuple[str, str]]:
    """Return each directory that is named, and how many sessions name it."""
    named = Counter(
        (old, new)
        for _, old, new in dict.fromkeys(
            (cell.session_id, str(cell.old), str(cell.new))
            for cell in cells
            if cell.column != "model_config"
        )
    )
    moves = [
        ("move", f"{old} → {new}  ({plural(number, 'session')})")
        for (old, new), number in named.most_common(_NAMED)
    ]
    if len(named) > _NAMED:
        rest = plural(len(named) - _NAMED, "more directory", "more directories")
        moves.append(("", f"… and {rest}"))
    return moves


def _remarks(new: str) -> tuple[str, ...]:
    is_there = os.path.isdir(new)  # noqa: PTH112 - whatever the name is, no error
    return () if is_there else (f"there is no directory {one_line(new)} here (yet)",)
