"""Commands that mark whole conversations: pin, archive, hide, their opposites, and close."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent
from hermes_sessions.cli.editing import (
    Choice,
    Chosen,
    Edit,
    by_refs,
    check_refs_or_filter,
    run_edit,
)
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes, with_filters
from hermes_sessions.errors import Refused, UsageProblem
from hermes_sessions.models import Filter
from hermes_sessions.store.catalog import BRANCHED, COMPRESSION, RESET_REASONS
from hermes_sessions.store.edits import (
    archive_cells,
    close_cells,
    hide_cells,
    is_bot_chat,
    pin_cells,
)
from hermes_sessions.store.live import find_live
from hermes_sessions.store.selection import Order, select
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.references import Place
    from hermes_sessions.store.edits import Cell

FIELDS = (
    "command",
    "dry_run",
    "changed",
    "unchanged",
    "kept",
)

Refs = Annotated[list[str], typer.Argument(metavar="REF…", help="Ids, titles, latest or -.")]
MaybeRefs = Annotated[
    list[str] | None, typer.Argument(metavar="[REF…]", help="Ids, titles, latest or -.")
]

_BOUNDARIES = frozenset({COMPRESSION, BRANCHED, *RESET_REASONS})
"""Reasons by which Hermes tells what a session is to the next one."""


def _shows_again(cells: Sequence[Cell]) -> str:
    return "hidden ones are shown again" if any(c.column == "hidden" for c in cells) else ""


_PIN = Edit(
    "pin",
    "pinned",
    "pinned already",
    ("pinned",),
    partial(pin_cells, pinned=True),
    _shows_again,
)
_UNPIN = Edit("unpin", "unpinned", "not pinned", ("pinned",), partial(pin_cells, pinned=False))
_ARCHIVE = Edit(
    "archive",
    "archived",
    "archived already",
    ("archived",),
    partial(archive_cells, archived=True),
    lambda _: "Archived conversations are hidden, not smaller; unarchive brings them back.",
)
_UNARCHIVE = Edit(
    "unarchive",
    "unarchived",
    "not archived",
    ("archived",),
    partial(archive_cells, archived=False),
)
_HIDE = Edit("hide", "hid", "hidden already", ("hidden",), partial(hide_cells, hidden=True))
_UNHIDE = Edit("unhide", "unhid", "not hidden", ("hidden",), partial(hide_cells, hidden=False))


def pin(
    ctx: typer.Context,
    refs: Refs,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Keep conversations from every cleanup.

    Pinned conversations are never pruned or archived in bulk, and a hidden one is shown again.
    """
    return run_edit(ctx.obj, _PIN, _named(refs), Consent(dry_run, yes, json, timeout))


def unpin(
    ctx: typer.Context,
    refs: Refs,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Take pins back."""
    return run_edit(ctx.obj, _UNPIN, _named(refs), Consent(dry_run, yes, json, timeout))


@with_filters
def archive(
    ctx: typer.Context,
    wanted: Filter,
    refs: MaybeRefs = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Take conversations out of view.

    Nothing is deleted and nothing becomes smaller: they are listed with --archived and still found
    by search. With filters instead of references, only ended conversations are archived, and none
    that is pinned or live.

    \b
    Examples:
      hermes-sessions archive payments
      hermes-sessions archive --source cron --older-than 30d
    """
    choice = _choice("archive", refs, wanted, _ended_ones)
    return run_edit(ctx.obj, _ARCHIVE, choice, Consent(dry_run, yes, json, timeout))


@with_filters
def unarchive(
    ctx: typer.Context,
    wanted: Filter,
    refs: MaybeRefs = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Bring archived conversations back."""
    if not refs and not wanted.is_default:
        wanted = wanted._replace(archived=True)  # nothing else can be brought back
    choice = _choice("unarchive", refs, wanted, _archived_ones)
    return run_edit(ctx.obj, _UNARCHIVE, choice, Consent(dry_run, yes, json, timeout))


def hide(
    ctx: typer.Context,
    refs: Refs,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Hide conversations from listings.

    They can still be resumed, and are listed with --all.
    """
    return run_edit(ctx.obj, _HIDE, _named(refs), Consent(dry_run, yes, json, timeout))


def unhide(
    ctx: typer.Context,
    refs: Refs,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Show hidden conversations again."""
    return run_edit(ctx.obj, _UNHIDE, _named(refs), Consent(dry_run, yes, json, timeout))


@with_filters
def close(
    ctx: typer.Context,
    wanted: Filter,
    refs: MaybeRefs = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="R", help="Why, as Hermes records it.")
    ] = "cli_close",
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """End open conversations.

    Only ended conversations are ever pruned, so this lets abandoned ones be pruned later. Nothing
    is lost: Hermes opens a conversation again when it goes on. One that is live is not closed.

    \b
    Examples:
      hermes-sessions close payments
      hermes-sessions close --older-than 14d --source cli
    """
    why = _reason(reason)
    now = ctx.obj.now
    edit = Edit(
        "close",
        "closed",
        "closed already",
        ("ended_at", "end_reason"),
        lambda store, conversations: close_cells(store, conversations, why, now),
    )
    choice = _choice("close", refs, wanted, _open_ones, named=_none_live)
    return run_edit(ctx.obj, edit, choice, Consent(dry_run, yes, json, timeout))


def _reason(text: str) -> str:
    reason = one_line(text)
    if not reason:
        raise UsageProblem("--reason is blank", hint="leave it out, or say why")
    if reason in _BOUNDARIES:
        raise UsageProblem(
            f"--reason {reason} is Hermes' own mark: it says what the next session is to this one",
            hint="leave it out, or use another word",
        )
    return reason


def _named(
    refs: Sequence[str], check: Callable[[Place, Sequence[Conversation]], Chosen] | None = None
) -> Choice:
    """Choose by references; what is named is meant, unless a check refuses it."""

    def choose(place: Place) -> Chosen:
        chosen = by_refs(place, refs)
        return check(place, chosen.conversations) if check else chosen

    return Choice(choose, check, is_named=True)


def _choice(
    command: str,
    refs: Sequence[str] | None,
    wanted: Filter,
    keep: Callable[[Place, Sequence[Conversation]], Chosen],
    *,
    named: Callable[[Place, Sequence[Conversation]], Chosen] | None = None,
) -> Choice:
    """Choose by references, or by filters less what a bulk change keeps."""
    check_refs_or_filter(command, refs or (), wanted)
    if refs:
        return _named(refs, named)
    return Choice(lambda place: keep(place, _selected(place, wanted)), keep)


def _selected(place: Place, wanted: Filter) -> list[Conversation]:
    selection = select(place.store, wanted, Order(limit=0))
    if selection.damage is not None:
        raise selection.damage
    return [line.conversation for line in selection.lines]


def _ended_ones(place: Place, found: Sequence[Conversation]) -> Chosen:
    open_ids = {cell.session_id for cell in close_cells(place.store, found, "", 0.0)}
    live = find_live(place.store, place.home.path, found, place.env.now)
    return _sorted_out(
        found,
        (
            ("pinned", lambda c: any(node.pinned for node in c.nodes)),
            ("live now", lambda c: c.id in live),
            ("open", lambda c: not open_ids.isdisjoint(c.session_ids)),
            ("archived already", lambda c: c.away == "archived"),
            ("bot chat", lambda c: c.away == "hidden" and is_bot_chat(place.store, c)),
        ),
    )


def _archived_ones(place: Place, found: Sequence[Conversation]) -> Chosen:  # noqa: ARG001
    return _sorted_out(found, (("not archived", lambda c: c.away != "archived"),))


def _open_ones(place: Place, found: Sequence[Conversation]) -> Chosen:
    open_ids = {cell.session_id for cell in close_cells(place.store, found, "", 0.0)}
    live = find_live(place.store, place.home.path, found, place.env.now)
    return _sorted_out(
        found,
        (
            ("ended already", lambda c: open_ids.isdisjoint(c.session_ids)),
            ("live now", lambda c: c.id in live),
        ),
    )


def _sorted_out(
    found: Sequence[Conversation],
    reasons: Sequence[tuple[str, Callable[[Conversation], bool]]],
) -> Chosen:
    """Keep what one of the reasons holds for, counted under the first of them."""
    left: list[Conversation] = []
    kept = dict.fromkeys((reason for reason, _ in reasons), 0)
    for conversation in found:
        why = next((reason for reason, holds in reasons if holds(conversation)), None)
        if why is None:
            left.append(conversation)
        else:
            kept[why] += 1
    return Chosen(tuple(left), {reason: number for reason, number in kept.items() if number})


def _none_live(place: Place, conversations: Sequence[Conversation]) -> Chosen:
    """Choose all of them.

    Raises:
        Refused: one is live; whoever has it ends it there.
    """
    live = find_live(place.store, place.home.path, conversations, place.env.now)
    if live:
        conversation_id, claim = next(iter(live.items()))
        raise Refused(
            f"{one_line(conversation_id)} is live: {one_line(claim.holder)}",
            hint="end it there first; nothing was changed",
        )
    return Chosen(tuple(conversations), {})
