"""``export``: conversations as files, for keeping, reading and sharing."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.exporting import Target, export_documents, export_rows, target_of
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import DryRun, Yes, with_filters
from hermes_sessions.config import read_config
from hermes_sessions.errors import ExitCode, UsageProblem, UserError
from hermes_sessions.models import Filter
from hermes_sessions.references import resolve
from hermes_sessions.store.selection import Order, select
from hermes_sessions.store.stored_rows import all_session_ids, count_stored
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.models import Conversation
    from hermes_sessions.references import Place

_GUARD = "sessions.max_export_messages"


class Format(StrEnum):
    """What a file of conversations looks like."""

    JSONL = "jsonl"
    MD = "md"
    QMD = "qmd"
    HTML = "html"
    TRACE = "trace"


class Only(StrEnum):
    """A part of a conversation."""

    USER_PROMPTS = "user-prompts"


class Lineage(StrEnum):
    """What a conversation of several sessions is."""

    SINGLE = "single"
    LOGICAL = "logical"


class Request(NamedTuple):
    """What was asked for.

    Attributes:
        redact: None: as the format has it.
    """

    format: Format
    output: str | None
    ref: str | None
    wanted: Filter
    only: Only | None
    lineage: Lineage
    redact: bool | None
    delete: bool
    force: bool
    dry_run: bool
    yes: bool

    @property
    def is_redacted(self) -> bool:
        """Secrets are taken out."""
        return self.format is Format.TRACE if self.redact is None else self.redact

    @property
    def is_for_people(self) -> bool:
        """It holds transcripts, not rows."""
        return self.format is not Format.JSONL


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    output: Annotated[
        str | None, typer.Argument(metavar="[OUTPUT]", help="A file, a directory, or - for stdout.")
    ] = None,
    output_option: Annotated[
        str | None, typer.Option("-o", "--output", metavar="OUTPUT", help="The same as OUTPUT.")
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", metavar="NAME", help="jsonl, md, qmd, html or trace.")
    ] = Format.JSONL,
    ref: Annotated[
        str | None, typer.Option("--session-id", metavar="REF", help="Only this conversation.")
    ] = None,
    only: Annotated[
        Only | None, typer.Option("--only", metavar="PART", help="user-prompts, as JSON Lines.")
    ] = None,
    lineage: Annotated[
        Lineage,
        typer.Option("--lineage", metavar="KIND", help="logical: all segments; single: one."),
    ] = Lineage.LOGICAL,
    redact: Annotated[
        bool | None,
        typer.Option("--redact/--no-redact", help="Take secrets out.", show_default=False),
    ] = None,
    delete_after_verified: Annotated[
        bool,
        typer.Option("--delete-after-verified", help="Then delete it, if the files are whole."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Export conversations to files.

    jsonl is a backup: a session a line with every stored row, as Hermes itself exports and imports
    it; without filters it is everything. md, qmd (Quarto) and html hold what was said, for reading;
    trace is what viewers of Claude Code transcripts read, without secrets unless told otherwise.
    Files are private, complete or not there, and replace nothing without --force.

    \b
    Examples:
      hermes-sessions export backup.jsonl
      hermes-sessions export --format html --session-id latest -o chat.html --redact
      hermes-sessions export notes/ --format md --workspace billing --newer-than 30d
    """
    if output is not None and output_option is not None:
        raise UsageProblem("OUTPUT was given twice", hint="give it once")
    request = Request(
        format_,
        output if output is not None else output_option,
        ref,
        wanted,
        only,
        lineage,
        redact,
        delete_after_verified,
        force,
        dry_run,
        yes,
    )
    return run(ctx.obj, request)


def run(env: Env, request: Request) -> int:
    """Choose, check, and write."""
    _check(request)
    with opened(env) as place:
        conversations = _choose(place, request)
        ids = _session_ids(place, request, conversations)
        if not request.is_for_people:
            _check_guard(place, ids)
        number = len(ids) if conversations is None else len(conversations)
        target = target_of(env, place.home, request, [c.id for c in conversations or ()], number)
        if request.dry_run:
            return _print_plan(env, place, ids, conversations, target)
        if request.is_for_people:
            return export_documents(place, request, conversations or [], target)
        return export_rows(place, request, ids, target)


def _check(request: Request) -> None:
    """Check that the options make sense together.

    Raises:
        UsageProblem: they do not.
    """
    if request.ref is not None and not request.wanted.is_default:
        raise UsageProblem("--session-id and filters choose different things", hint="give one")
    if request.only is not None and request.format is not Format.JSONL:
        raise UsageProblem("--only goes with --format jsonl", hint="leave --format out")
    bulk = request.ref is None and request.wanted.is_default
    if bulk and request.format in {Format.MD, Format.QMD, Format.HTML}:
        raise UsageProblem(
            f"--format {request.format} needs --session-id, a filter, or --all",
            hint="a backup of everything is: hermes-sessions export backup.jsonl",
        )
    if request.delete:
        if request.format not in {Format.MD, Format.QMD} or request.ref is None or not request.yes:
            raise UsageProblem(
                "--delete-after-verified needs --format md or qmd, --session-id and --yes",
                hint="prune deletes many, and undo brings them back",
            )
        if request.lineage is Lineage.SINGLE or request.is_redacted or request.output == "-":
            raise UsageProblem(
                "--delete-after-verified needs whole conversations in files, not redacted",
                hint="leave --lineage, --redact and - out",
            )


def _choose(place: Place, request: Request) -> list[Conversation] | None:
    """Return the conversations to export; None for every row of the store."""
    if request.ref is not None:
        found = resolve(place, request.ref)
        note_move(place.env, found)
        if request.lineage is Lineage.LOGICAL:
            return [found.conversation]
        nodes = tuple(n for n in found.conversation.nodes if n.id == found.session_id)
        return [found.conversation._replace(nodes=nodes)]
    if request.wanted.is_default and request.format is Format.JSONL:
        return None
    limit = 1 if request.wanted.is_default else 0
    selection = select(place.store, request.wanted, Order(limit=limit))
    if selection.damage is not None:
        raise selection.damage
    return [line.conversation for line in selection.lines]


def _session_ids(
    place: Place, request: Request, conversations: Sequence[Conversation] | None
) -> list[str]:
    if conversations is None:
        return all_session_ids(place.store)
    if request.lineage is Lineage.SINGLE:
        return [conversation.id for conversation in conversations]
    return [i for conversation in conversations for i in conversation.session_ids]


def _check_guard(place: Place, ids: Sequence[str]) -> None:
    most = read_config(place.home.path, (_GUARD,)).number(_GUARD)
    if not most:
        return
    for session_id, number in count_stored(place.store, ids).items():
        if number > most:
            raise UserError(
                f"{one_line(session_id)} has {number:,} messages, more than {_GUARD} ({most:,})",
                hint=f"raise it in config.yaml (0 for no limit); nothing was written: {_GUARD}",
            )


def _print_plan(
    env: Env,
    place: Place,
    ids: Sequence[str],
    conversations: Sequence[Conversation] | None,
    target: Target,
) -> int:
    counts = count_stored(place.store, ids)
    shown = ids if conversations is None else [c.id for c in conversations]
    for session_id in shown:
        env.write(f"{one_line(session_id)}\n")
    what = plural(len(shown), "session" if conversations is None else "conversation")
    env.note(f"would export {what}, {plural(sum(counts.values()), 'message')}, to {target.shown}")
    return ExitCode.OK
