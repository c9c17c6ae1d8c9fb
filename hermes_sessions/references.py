"""REF → one conversation: one resolver with one order of rules for every command (contract §3).

It needs a store to look in and a place to look from; it is part of the layer above the store.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.config import read_config
from hermes_sessions.errors import Ambiguous, NotFound, UsageProblem
from hermes_sessions.store.lookup import (
    all_titles,
    conversations_of,
    has_session,
    ids_with_prefix,
    newest_of_all,
    newest_of_workspace,
    titled_latest,
)
from hermes_sessions.store.recent import newest_first
from hermes_sessions.store.sessions import load_sessions
from hermes_sessions.terminal import identify, read_notes
from hermes_sessions.text import clip, one_line
from hermes_sessions.times import ago
from hermes_sessions.workspace import base_name, find_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store

LATEST: Final = "latest"
HERE: Final = "-"
_MOST_CANDIDATES: Final = 10


class Resolved(NamedTuple):
    """What a reference means.

    Attributes:
        rule: which rule chose it, in words that follow "chosen by".
        session_id: the session the rule found; its conversation's tip may be another.
        passed_over: what was looked at first and why it was not taken.
    """

    conversation: Conversation
    rule: str
    session_id: str
    passed_over: tuple[str, ...] = ()

    @property
    def moved(self) -> bool:
        """The reference named an earlier segment."""
        return self.session_id != self.conversation.id


class Place(NamedTuple):
    """Where a reference is looked up from."""

    env: Env
    home: Home
    store: Store


def resolve(place: Place, ref: str, *, changes: bool = False) -> Resolved:
    """Resolve a reference.

    Args:
        place: where to look from.
        ref: what the user typed.
        changes: the command changes something, so a title prefix is not enough (R097).

    Raises:
        UsageProblem: the reference is blank (R034).
        Ambiguous: two or more conversations answer to it.
        NotFound: none does.
    """
    if not ref.strip():
        raise UsageProblem(
            "a blank reference names no conversation",
            hint="give an id, a title, “latest”, or - for this terminal's conversation",
        )
    if ref.strip().lower() == LATEST:
        return resolve_latest(place)
    if ref.strip() == HERE:
        return resolve_here(place)
    return _by_name(place, ref, changes=changes) or _not_found(place, ref)


def resolve_latest(place: Place) -> Resolved:
    """Return the newest conversation of the current workspace, then of all."""
    passed: list[str] = []
    homonym = titled_latest(place.store)
    if homonym:
        passed.append(f"the conversation titled “latest”: its id {homonym} reaches it")
    if place.env.cwd:
        workspace = find_workspace(place.env.cwd)
        found = newest_of_workspace(place.store, workspace)
        if found:
            rule = f"the newest of this workspace ({workspace.root})"
            return Resolved(found, rule, found.id, tuple(passed))
        passed.append(f"no conversation of a terminal in {base_name(workspace.root)}")
    found = newest_of_all(place.store)
    if found is None:
        raise NotFound(
            f"no conversation to continue in {place.home.store}",
            hint="looked at sources cli and oneshot; hermes-sessions list shows what else there is",
        )
    return Resolved(found, "the newest of all workspaces", found.id, tuple(passed))


def resolve_here(place: Place) -> Resolved:
    """Return this terminal's conversation.

    Raises:
        NotFound: this terminal has no note that counts, with the reason.
    """
    found, passed = terminal_conversation(place)
    if found is None:
        raise NotFound(
            "this terminal has no conversation yet",
            details=tuple(passed),
            hint="hermes-sessions resume latest continues the newest one",
        )
    return found


def terminal_conversation(place: Place) -> tuple[Resolved | None, list[str]]:
    """Return the conversation this terminal's notes name, and what was passed over and why."""
    env, home = place.env, place.home.path
    if home is None:
        return None, ["a store outside any home has no notes of terminals"]
    if not read_config(home, ("session.terminal_continue",)).flag("session.terminal_continue"):
        return None, ["session.terminal_continue is off"]
    terminal = identify((env.stdin, env.stdout), env.environ)
    if not terminal.file_names:
        return None, ["not in a terminal"]
    notes, rejected = read_notes(home, terminal, env.now)
    passed = [f"{bad.session_id}: {bad.reason}" for bad in rejected]
    for note in notes:
        found = conversations_of(place.store, [note.session_id])
        if found:
            rule = f"this {terminal.noun}'s conversation ({terminal.name})"
            return Resolved(found[0], rule, note.session_id, tuple(passed)), passed
        passed.append(f"{note.session_id}: it is gone")
    if not passed:
        passed.append(f"this {terminal.noun} ({terminal.name}) has no conversation yet")
    return None, passed


def _by_name(place: Place, ref: str, *, changes: bool) -> Resolved | None:
    store = place.store
    if has_session(store, ref):
        return _only(place, ref, [ref], "its id")
    titles = all_titles(store)
    family = [session_id for session_id, title in titles if _is_numbered(title, ref)]
    if family:
        return _newest(place, family, "its title")
    folded = ref.casefold()
    same = [session_id for session_id, title in titles if title.casefold() == folded]
    if same:
        return _only(place, ref, same, "its title, ignoring case")
    prefixed = ids_with_prefix(store, ref)
    if prefixed:
        return _only(place, ref, prefixed, "the start of its id")
    start = ref.rstrip("….").rstrip().casefold()
    cut = [session_id for session_id, title in titles if title.casefold().startswith(start)]
    if cut and start and not changes:
        return _only(place, ref, cut, "the start of its title")
    if cut and start:
        details = _candidates(place, conversations_of(store, cut))
        raise NotFound(
            f"no conversation is called “{ref}” exactly",
            details=details,
            hint="a command that changes something takes ids, id prefixes and whole titles only",
        )
    return None


def _is_numbered(title: str, ref: str) -> bool:
    return title == ref or (
        title.startswith(f"{ref} #") and re.fullmatch(r"\d+", title[len(ref) + 2 :]) is not None
    )


def _newest(place: Place, session_ids: Sequence[str], rule: str) -> Resolved:
    conversation = newest_first(conversations_of(place.store, session_ids))[0]
    return Resolved(conversation, rule, _member(conversation, session_ids), ())


def _only(place: Place, ref: str, session_ids: Sequence[str], rule: str) -> Resolved:
    conversations = conversations_of(place.store, session_ids)
    if len(conversations) > 1:
        raise Ambiguous(
            f"“{clip(one_line(ref), 60)}” matches {len(conversations)} conversations",
            details=_candidates(place, conversations),
            hint="use the id, or more of it",
        )
    return Resolved(conversations[0], rule, _member(conversations[0], session_ids))


def _member(conversation: Conversation, session_ids: Sequence[str]) -> str:
    wanted = set(session_ids)
    return next(i for i in reversed(conversation.session_ids) if i in wanted)


def _candidates(place: Place, conversations: Sequence[Conversation]) -> tuple[str, ...]:
    shown = newest_first(conversations)[:_MOST_CANDIDATES]
    sessions = load_sessions(place.store, [i for c in shown for i in c.session_ids])
    width = max((len(c.id) for c in shown), default=0)
    lines = []
    for conversation in shown:
        titles = (sessions[i].title for i in reversed(conversation.session_ids) if i in sessions)
        title = clip(one_line(next(filter(None, titles), "—")), 48)
        lines.append(
            f"{conversation.id:{width}}  {title}  {ago(conversation.active_at, place.env.now)}"
        )
    if len(conversations) > len(shown):
        lines.append(f"… and {len(conversations) - len(shown)} more")
    return tuple(lines)


def _not_found(place: Place, ref: str) -> Resolved:
    details = tuple(_elsewhere(place, lambda store: _has_name(store, ref)))
    raise NotFound(
        f"no conversation matches “{clip(one_line(ref), 60)}” in {place.home.store}",
        details=details,
        hint="looked for an id, a title and the start of either; list --all shows everything",
    )


def _has_name(store: Store, ref: str) -> bool:
    return (
        has_session(store, ref)
        or bool(ids_with_prefix(store, ref))
        or any(title.casefold() == ref.casefold() for _, title in all_titles(store))
    )


def _elsewhere(place: Place, test: Callable[[Store], bool]) -> list[str]:
    """Say which other profiles have what is missing here (R135)."""
    from hermes_sessions.errors import UserError
    from hermes_sessions.home import sibling_stores
    from hermes_sessions.store.connect import open_store

    found = []
    for name, path in sibling_stores(place.home):
        try:
            with open_store(path) as store:
                if test(store):
                    found.append(f"profile {name} has one: hermes-sessions -p {name} …")
        except UserError:
            continue
    return found
