"""``rename``: give a conversation a title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.editing import fitting, item, named
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.errors import Refused, UsageProblem
from hermes_sessions.plans import Done, Proposal, Sheet
from hermes_sessions.references import HERE, LATEST, resolve
from hermes_sessions.store.edits import apply_cells, check_readable, is_bot_chat
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.naming import free_title, name_conversation
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line
from hermes_sessions.times import ago
from hermes_sessions.titles import BOT_CHAT, clean_title

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.models import Conversation
    from hermes_sessions.references import Place
    from hermes_sessions.store.naming import Naming

FIELDS = (
    "command",
    "dry_run",
    "id",
    "title",
    "old_title",
    "freed",
)


def command(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="An id, a title, latest or -.")],
    title: Annotated[list[str], typer.Argument(metavar="TITLE…", help="The new title.")],
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Give a conversation a title.

    A title is unique and has 1 to 100 characters; white space is collapsed and what cannot be seen
    is dropped.
    """
    return run(ctx.obj, ref, clean_title(" ".join(title)), Consent(dry_run, yes, json, timeout))


def run(env: Env, ref: str, title: str, consent: Consent) -> int:
    """Plan, ask, and rename."""
    with opened(env) as place:
        check_readable(place.store)
        found = resolve(place, ref, changes=True)
        note_move(env, found)
        naming = _name(place, found.conversation, title)
        (summary,) = summarise(
            place.store, place.home.path, [found.conversation], env.now, sized=False
        )
    proposal = Proposal(
        Sheet(
            f"Rename to “{title}”",
            (),
            (item(env, summary),),
            _remarks(title, naming) if naming.cells else (),
        ),
        {
            "command": "rename",
            "dry_run": consent.dry_run,
            "id": summary.id,
            "title": title,
            "old_title": summary.title,
            "freed": list(naming.freed),
        },
        FIELDS,
        f"Rename {named(env, summary)} to “{title}”?" if naming.cells else "",
        f"nothing to do: it is called “{title}” already",
    )

    def do() -> Done:
        with writing(env, place.home, consent.timeout) as writer, writer.transaction():
            again = conversations_of(writer.store, [summary.id])
            if not again or consent.binding(summary.id, again[0].id) != again[0].id:
                raise Refused(
                    f"{one_line(summary.id)} went on or was deleted since it was looked at",
                    hint="nothing was changed; run the command again",
                )
            now = _name(place._replace(store=writer.store), again[0], title)
            apply_cells(writer, consent.binding(naming.cells, now.cells), now.cells)
        start = f"renamed {one_line(again[0].id)}: "
        shown = fitting(env, title, len(start) + 2) or title
        return Done((f"{start}“{shown}”",), {"id": again[0].id, "freed": list(now.freed)})

    return carry_out(env, consent, proposal, do)


def title_is_taken(place: Place, title: str, owner_id: str) -> UsageProblem:
    """Return the error that says who has a title, and what to do about it (R117)."""
    conversation = conversations_of(place.store, [owner_id])[0]
    active = ago(conversation.active_at or None, place.env.now)
    facts = [one_line(owner_id), one_line(conversation.source), f"last active {active}"]
    if conversation.away:
        facts.insert(2, conversation.away)
    return UsageProblem(
        f"the title “{title}” is taken",
        details=(
            "  ".join(facts),
            f"open it: hermes-sessions show {one_line(conversation.id)}",
            f"rename it: hermes-sessions rename {one_line(conversation.id)} TITLE",
        ),
        hint=f"a free one is “{free_title(place.store, title)}”",
    )


def _name(place: Place, conversation: Conversation, title: str) -> Naming:
    """Plan a title.

    Raises:
        UsageProblem: another conversation has it.
        Refused: Hermes finds the conversation by the title it has.
    """
    if title != BOT_CHAT and is_bot_chat(place.store, conversation):
        raise Refused(
            f"{one_line(conversation.id)} is a bot's “{BOT_CHAT}”: Hermes finds it by this title",
            hint="nothing was changed",
        )
    naming = name_conversation(place.store, conversation, title)
    if naming.owner is not None:
        raise title_is_taken(place, title, naming.owner)
    return naming


def keyword_remark(title: str) -> str:
    """Say that a title finds nothing, if it is one of the words that every command knows (R031)."""
    if title.lower() not in {LATEST, HERE}:
        return ""
    return f"“{title}” means something else to every command: use the id"


def _remarks(title: str, naming: Naming) -> tuple[str, ...]:
    freed = [f"{one_line(i)} gives the title up" for i in naming.freed]
    return tuple(filter(None, (*freed, keyword_remark(title))))
