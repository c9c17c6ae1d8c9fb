"""``show``: one conversation: facts and recap, the whole text, one message, a code block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import Json
from hermes_sessions.config import read_config
from hermes_sessions.errors import ExitCode, NotFound, StoreDamaged, UsageProblem
from hermes_sessions.recap import CONFIG_KEYS, Limits
from hermes_sessions.references import resolve, resolve_latest, terminal_conversation
from hermes_sessions.store.facts import load_facts
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.messages import around, load_message, load_tail, load_transcript
from hermes_sessions.store.recaps import Tail, load_recap

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.errors import UserError
    from hermes_sessions.models import Conversation, Message
    from hermes_sessions.references import Place, Resolved
    from hermes_sessions.store.facts import Facts


class Request(NamedTuple):
    """What was asked for; None and False mean that it was not."""

    ref: str | None
    transcript: bool
    last: int | None
    message: int | None
    context: int
    extract: int | None
    raw: bool
    json: str | None

    @property
    def wants_messages(self) -> bool:
        """Messages are to be shown, not the fact sheet."""
        return self.transcript or self.last is not None or self.message is not None


class Sheet(NamedTuple):
    """What the fact sheet shows.

    Attributes:
        damage: what could not be read, or None.
    """

    facts: Facts
    tail: Tail | None
    damage: UserError | None

    @property
    def earlier(self) -> int:
        """Messages before the recap."""
        if self.tail is None:
            return 0
        return max(0, (self.facts.summary.messages or 0) - self.tail.shown)


def command(
    ctx: typer.Context,
    ref: Annotated[
        str | None, typer.Argument(metavar="[REF]", help="This terminal's, else the latest.")
    ] = None,
    transcript: Annotated[
        bool, typer.Option("-t", "--transcript", help="The whole history, through a pager.")
    ] = False,
    last: Annotated[
        int | None, typer.Option("--last", metavar="N", min=1, help="The last N messages.")
    ] = None,
    message: Annotated[
        int | None, typer.Option("--message", metavar="ID", help="One message, whole.")
    ] = None,
    context: Annotated[
        int,
        typer.Option(
            "-C", "--context", metavar="N", min=0, help="With --message: N messages around it."
        ),
    ] = 0,
    extract: Annotated[
        int | None,
        typer.Option(
            "-x", "--extract", metavar="[N]", min=1, help="The last (Nth from the end) code block."
        ),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Answers without Markdown rendering.")] = False,
    json: Json = None,
) -> int:
    """Show one conversation: facts, recap or the whole text.

    Without REF: this terminal's conversation, else the latest.

    \b
    Examples:
      hermes-sessions show "payments migration plan"
      hermes-sessions show latest --transcript
      hermes-sessions show 20261130_0902 --message 1203 --context 2
      hermes-sessions show latest -x > backfill.py
    """
    if context and message is None:
        raise UsageProblem("--context goes with --message", hint="show REF --message ID -C 2")
    request = Request(ref, transcript, last, message, context, extract, raw, json)
    return run(ctx.obj, request)


def run(env: Env, request: Request) -> int:
    """Load what is wanted, close the store, then show it: a pager holds nothing open."""
    if request.extract is not None:
        return _extract(env, request)
    if request.wants_messages and request.json is None:
        return _show_messages(env, request)
    if request.json is not None:
        return _show_json(env, request, request.json)
    with opened(env) as place:
        found = _resolve(place, request)
        sheet = _load_sheet(place, found.conversation)
    note_move(env, found)
    _print_sheet(env, sheet)
    if sheet.damage is not None:
        raise sheet.damage
    return ExitCode.OK


def _resolve(place: Place, request: Request) -> Resolved:
    if request.ref is not None:
        return resolve(place, request.ref)
    if request.message is not None:
        return _resolve_message(place, request.message)
    found, _ = terminal_conversation(place)
    return found or resolve_latest(place)


def _resolve_message(place: Place, message_id: int) -> Resolved:
    from hermes_sessions.references import Resolved

    message = load_message(place.store, message_id)
    found = conversations_of(place.store, [message.session_id]) if message else []
    if message is None or not found:
        raise NotFound(f"no message #{message_id} in {place.home.store}")
    return Resolved(found[0], "its message", found[0].id)


def _load_sheet(place: Place, conversation: Conversation) -> Sheet:
    facts = load_facts(place.store, place.home.path, conversation, place.env.now)
    limits = Limits.of(read_config(place.home.path, CONFIG_KEYS))
    try:
        return Sheet(facts, load_recap(place.store, conversation.session_ids, limits), None)
    except StoreDamaged as damage:
        return Sheet(facts, None, damage)


def _print_sheet(env: Env, sheet: Sheet) -> None:
    from hermes_sessions.render.sheet import fact_lines, headline, recap_lines

    summary = sheet.facts.summary
    lines = fact_lines(sheet.facts, env.now, env.environ)
    entries = sheet.tail.recap.entries if sheet.tail else ()
    hint = f"resume: hermes-sessions resume {summary.id}"
    if env.is_terminal:
        from hermes_sessions.render.conversation import print_recap, print_sheet

        print_sheet(env, summary, lines)
        env.write("\n")
        print_recap(env, entries, sheet.earlier)
        env.write(f"{hint}\n")
        return
    body = recap_lines(entries, sheet.earlier)
    text = [f"{headline(summary)}  {summary.id}", *lines, "", *body]
    env.write("".join(f"{line}\n" for line in text))


def _show_messages(env: Env, request: Request) -> int:
    from hermes_sessions.render.transcript import blocks, plain_transcript

    with opened(env) as place:
        found = _resolve(place, request)
        messages = _load_messages(place, found.conversation, request)
    note_move(env, found)
    prepared = blocks(messages, unfold=request.message is not None)
    if env.is_terminal:
        from hermes_sessions.cli.pager import page
        from hermes_sessions.render.conversation import terminal_transcript

        page(env, terminal_transcript(env, prepared, markdown=not request.raw))
        return ExitCode.OK
    for line in plain_transcript(prepared):
        env.write(line)
    return ExitCode.OK


def _load_messages(place: Place, conversation: Conversation, request: Request) -> list[Message]:
    ids = conversation.session_ids
    if request.message is not None:
        return _around(place, conversation, request.message, request.context)
    if request.last is None:
        return load_transcript(place.store, ids)
    messages: list[Message] = []
    for messages in load_tail(place.store, ids):
        if len(messages) > request.last:
            break
    return messages[-request.last :]


def _around(
    place: Place, conversation: Conversation, message_id: int, context: int
) -> list[Message]:
    message = load_message(place.store, message_id)
    if message is None or message.session_id not in conversation.session_ids:
        raise NotFound(
            f"message #{message_id} is not in {conversation.id}",
            hint="leave REF out to find the conversation of a message",
        )
    if not context:
        return [message]
    messages = load_transcript(place.store, conversation.session_ids)
    return list(around(messages, message_id, context)) or [message]


def _extract(env: Env, request: Request) -> int:
    from hermes_sessions.content import code_blocks, plain_text

    number = request.extract or 1
    with opened(env) as place:
        found = _resolve(place, request)
        code: list[str] = []
        for messages in load_tail(place.store, found.conversation.session_ids):
            answers = [plain_text(m.content) for m in messages if m.role == "assistant"]
            code = [block for answer in answers for block in code_blocks(answer)]
            if len(code) >= number:
                break
    if len(code) < number:
        raise NotFound(
            f"{found.conversation.id} has {len(code)} code blocks in its answers, not {number}"
        )
    env.write(code[-number])
    return ExitCode.OK


def _show_json(env: Env, request: Request, fields: str) -> int:
    from hermes_sessions.render.data import (
        fact_sheet_fields,
        fact_sheet_object,
        message_object,
        pick_fields,
        to_json,
    )

    names = pick_fields(fields, fact_sheet_fields())
    with opened(env) as place:
        found = _resolve(place, request)
        sheet = _load_sheet(place, found.conversation)
        messages = (
            _load_messages(place, found.conversation, request) if request.wants_messages else None
        )
    value = fact_sheet_object(sheet.facts, sheet.tail)
    if messages is not None:
        value["messages"] = [message_object(message) for message in messages]
        names = (*names, "messages")
    env.write(to_json({name: value[name] for name in dict.fromkeys(names)}))
    if sheet.damage is not None:
        raise sheet.damage
    return ExitCode.OK
