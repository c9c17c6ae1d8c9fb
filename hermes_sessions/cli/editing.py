"""What the commands that change a few cells of whole conversations share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.cli.changes import carry_out, writing
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.errors import Refused, UsageProblem
from hermes_sessions.models import Filter
from hermes_sessions.plans import Done, Item, Proposal, Sheet
from hermes_sessions.references import resolve
from hermes_sessions.store.edits import apply_cells, check_readable
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.summaries import summarise
from hermes_sessions.store.writing import needs_columns
from hermes_sessions.text import clip, one_line, plural
from hermes_sessions.times import ago

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hermes_sessions.cli.changes import Consent
    from hermes_sessions.context import Env
    from hermes_sessions.models import Conversation, Summary
    from hermes_sessions.references import Place
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.edits import Cell

FIELDS = ("command", "dry_run", "changed", "unchanged", "kept")

_LINES = 15
"""Results that are named one by one."""

_NAME = 60
"""Characters of a name in a line of text."""

_LEAST = 8
"""Cells below which a name says nothing."""


class Edit(NamedTuple):
    """A change of whole conversations.

    Attributes:
        command: as typed; its first letter large begins the question.
        past: what was done.
        already: what a conversation is that needs no change.
        columns: of ``sessions``, without which the store cannot hold the change.
        cells: what it changes.
        remark: a line below a plan that changes these cells.
    """

    command: str
    past: str
    already: str
    columns: tuple[str, ...]
    cells: Callable[[Store, Sequence[Conversation]], list[Cell]]
    remark: Callable[[Sequence[Cell]], str] = lambda _: ""


class Chosen(NamedTuple):
    """Conversations to change, and how many more were meant but are kept as they are, by why."""

    conversations: tuple[Conversation, ...]
    kept: Mapping[str, int]


class Choice(NamedTuple):
    """How conversations are chosen.

    Attributes:
        choose: for the plan.
        still: chooses again among those of the plan, inside the transaction; None if whatever
            happened to them in the meantime does not matter, as long as they are there.
        is_named: by references, so all of them are meant or none.
    """

    choose: Callable[[Place], Chosen]
    still: Callable[[Place, Sequence[Conversation]], Chosen] | None = None
    is_named: bool = False


def by_refs(place: Place, refs: Sequence[str]) -> Chosen:
    """Choose by references; each conversation once, and all of them or none."""
    found: dict[str, Conversation] = {}
    for ref in refs:
        resolved = resolve(place, ref, changes=True)
        note_move(place.env, resolved)
        found[resolved.conversation.id] = resolved.conversation
    return Chosen(tuple(found.values()), {})


def check_refs_or_filter(command: str, refs: Sequence[str], wanted: Filter) -> None:
    """Check that there is one way of choosing.

    Raises:
        UsageProblem: there are both, or neither: that would be everything (R096).
    """
    if refs and not wanted.is_default:
        raise UsageProblem(
            "references and filters choose different things", hint="give one or the other"
        )
    if not refs and wanted.is_default:
        raise UsageProblem(
            f"{command} needs a REF, or at least one filter",
            hint=f"hermes-sessions {command} REF… or hermes-sessions {command} --older-than 30d",
        )


def run_edit(env: Env, edit: Edit, choice: Choice, consent: Consent) -> int:
    """Plan an edit, show it, ask, and do it."""
    with opened(env) as place:
        check_readable(place.store)
        needs_columns(place.store, *edit.columns)
        chosen = choice.choose(place)
        cells = edit.cells(place.store, chosen.conversations)
        changing = {cell.session_id for cell in cells}
        targets = [c for c in chosen.conversations if not changing.isdisjoint(c.session_ids)]
        summaries = summarise(place.store, place.home.path, targets, env.now, sized=False)
    changed = [target.id for target in targets]
    proposal = Proposal(
        _sheet(env, edit, summaries, chosen.kept, edit.remark(cells)),
        {
            "command": edit.command,
            "dry_run": consent.dry_run,
            "changed": changed,
            "unchanged": [c.id for c in chosen.conversations if c.id not in changed],
            "kept": dict(chosen.kept),
        },
        FIELDS,
        _question(env, edit, summaries) if summaries else "",
        _nothing(edit, chosen),
    )

    def do() -> Done:
        with writing(env, place.home, consent.timeout) as writer, writer.transaction():
            again = _again(place._replace(store=writer.store), targets, choice, consent)
            now = edit.cells(writer.store, again)
            apply_cells(writer, consent.binding(cells, now), now)
        return _done(env, edit, summaries, again, chosen.kept)

    return carry_out(env, consent, proposal, do)


def _again(
    place: Place, planned: Sequence[Conversation], choice: Choice, consent: Consent
) -> Sequence[Conversation]:
    """Find the conversations of a plan again, inside the transaction.

    Without a question, what was named is changed as it is now, and what a filter found and would
    not find any more is left out.

    Raises:
        Refused: one of them is gone, or a plan was shown that does not hold any more.
    """
    found = conversations_of(place.store, [c.id for c in planned])
    if consent.yes and choice.is_named:
        there = {i for c in found for i in c.session_ids}
        if all(c.id in there for c in planned):
            return choice.still(place, found).conversations if choice.still else found
        raise _moved_on("was deleted meanwhile")
    by_id = {c.id: c for c in found}
    now = [by_id[c.id] for c in planned if c.id in by_id]
    if choice.still is not None:
        active_at = {c.id: c.active_at for c in planned}
        unmoved = [c for c in now if c.active_at == active_at[c.id]]
        now = list(choice.still(place, unmoved).conversations)
    if len(now) < len(planned) and not consent.yes:
        raise _moved_on("changed, went on or was deleted since the plan was shown")
    return now


def _moved_on(what: str) -> Refused:
    return Refused(
        f"a conversation {what}",
        hint="nothing was changed; run the command again to see the new plan",
    )


def named(env: Env, summary: Summary, beside: int = 0) -> str:
    """Write what a conversation is called, and its id, in one line of a terminal.

    Args:
        env: knows how wide it is.
        summary: the conversation.
        beside: cells that are taken on the same line.
    """
    identifier = one_line(summary.id)
    name = fitting(env, one_line(summary.name), beside + len(f"“” ({identifier})"))
    return f"“{name}” ({identifier})" if name else identifier


def fitting(env: Env, text: str, beside: int) -> str:
    """Cut one line of text to what a terminal has room for; to nothing if that is next to none."""
    text = clip(text, _NAME)
    if not (env.is_terminal or env.can_ask):
        return text
    from hermes_sessions.render.plans import fit

    room = env.width - beside
    return fit(text, room) if room >= _LEAST else ""


def kept_in_words(kept: Mapping[str, int]) -> str:
    """Write ``6 pinned · 3 open``."""
    return " · ".join(f"{number:,} {reason}" for reason, number in kept.items() if number)


def item(env: Env, summary: Summary, extra: str = "") -> Item:
    """Return the line of a conversation in a plan."""
    facts = (ago(summary.last_active, env.now), summary.conversation.source)
    return Item(summary.id, summary.name, facts, extra)


def _sheet(
    env: Env, edit: Edit, summaries: Sequence[Summary], kept: Mapping[str, int], remark: str
) -> Sheet:
    if not summaries:
        return Sheet("")
    stay = kept_in_words(kept)
    return Sheet(
        f"{edit.command.capitalize()} {plural(len(summaries), 'conversation')}",
        (("stay", stay),) if stay else (),
        tuple(item(env, summary) for summary in summaries),
        (remark,) if remark else (),
    )


def _question(env: Env, edit: Edit, summaries: Sequence[Summary]) -> str:
    verb = edit.command.capitalize()
    if len(summaries) > 1:
        return f"{verb} {plural(len(summaries), 'conversation')}?"
    return f"{verb} {named(env, summaries[0], len(f'{verb} ? [Y/n] '))}?"


def _nothing(edit: Edit, chosen: Chosen) -> str:
    stay = kept_in_words(chosen.kept)
    if chosen.conversations:
        number = len(chosen.conversations)
        who = "it is" if number == 1 else f"all {number:,} are"
        return f"nothing to do: {who} {edit.already}{f'; kept: {stay}' if stay else ''}"
    return f"nothing to do: {f'all that match stay: {stay}' if stay else 'nothing matches'}"


def _done(
    env: Env,
    edit: Edit,
    planned: Sequence[Summary],
    changed: Sequence[Conversation],
    kept: Mapping[str, int],
) -> Done:
    """Say what was done, and what of the plan was left out because it went on."""
    there = {i for c in changed for i in c.session_ids}
    summaries = [summary for summary in planned if summary.id in there]
    left = len(planned) - len(summaries)
    if left:
        kept = {**kept, "changed meanwhile": left}
        env.note(f"kept: {left:,} changed meanwhile")
    data: dict[str, object] = {"changed": [c.id for c in changed], "kept": dict(kept)}
    if len(summaries) > _LINES:
        return Done((f"{edit.past} {plural(len(summaries), 'conversation')}",), data)
    beside = len(edit.past) + 1
    lines = (f"{edit.past} {named(env, summary, beside)}" for summary in summaries)
    return Done(tuple(lines), data)
