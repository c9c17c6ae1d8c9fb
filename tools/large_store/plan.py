"""The plan: which sessions there are, before any message is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from large_store.dice import chance
from large_store.naming import give_ids, give_titles
from large_store.session import Session
from large_store.wanted import CJK_CONVERSATIONS, COMMON_SHARE, NOW

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from large_store.wanted import Size

DAY = 86_400.0
SPAN = 730 * DAY

ROOT_SOURCES = {
    "cli": 36,
    "tui": 26,
    "telegram": 14,
    "cron": 13,
    "oneshot": 5,
    "discord": 3,
    "api_server": 2,
    "tool": 1,
}
"""Share of conversations by the surface they were held on."""

TALK = {"cron": 0.25, "oneshot": 0.12, "subagent": 0.4, "tool": 0.1, "api_server": 0.3}
"""Messages of a session relative to one of a person at a terminal, by source."""

CHILD_SHARES = {"continuation": 0.05, "reset": 0.015, "branch": 0.02, "delegate": 0.07}
"""Share of all session rows that hang on another row, by the kind of the tie."""

ENDS = {
    "cron": "cron_complete",
    "oneshot": "oneshot_complete",
    "subagent": "agent_close",
    "tui": "tui_close",
    "telegram": "idle",
    "discord": "idle",
}
OPEN_SHARE, ARCHIVED_SHARE, PINNED_SHARE, HIDDEN_SHARE = 0.15, 0.10, 0.01, 0.003

CHATS = 40


def plan_sessions(size: Size, rng: random.Random) -> list[Session]:
    """Return every session to be written, in the order of their starts."""
    children = {kind: int(size.sessions * share) for kind, share in CHILD_SHARES.items()}
    sources = rng.choices(
        list(ROOT_SOURCES),
        weights=list(ROOT_SOURCES.values()),
        k=size.sessions - sum(children.values()) - 1,
    )
    roots = [Session("root", source) for source in sources]
    sessions = [*roots, *_children(roots, children, rng)]
    weights = [rng.lognormvariate(0, 1.1) * TALK.get(session.source, 1.0) for session in sessions]
    for session, count in zip(sessions, share_out(size.messages - size.big, weights), strict=True):
        session.messages = count
    for session in sessions:  # parents come before their children
        _place(session, rng)
        _characterise(session, rng)
    sessions.append(_big_session(size.big))
    sessions.sort(key=lambda session: session.started)
    give_titles(sessions, rng)
    give_ids(sessions, rng)
    return sessions


def _children(
    roots: Sequence[Session], wanted: dict[str, int], rng: random.Random
) -> Iterator[Session]:
    people = [root for root in roots if root.source in {"cli", "tui"}]
    chats = [root for root in roots if root.source == "telegram"]
    fresh = rng.sample(people, k=len(people))
    tip = fresh.pop()
    for _ in range(wanted["continuation"]):
        tip.end_reason = "compression"
        tip = Session("continuation", tip.source, tip)
        yield tip
        if chance(rng, 0.5):  # else this chain grows by another segment
            tip = fresh.pop()
    for parent in rng.sample(chats, k=min(wanted["reset"], len(chats))):
        parent.end_reason = "session_reset"
        yield Session("reset", parent.source, parent)
    for parent in rng.choices(people, k=wanted["branch"]):
        yield Session("branch", parent.source, parent)
    for parent in rng.choices(people, k=wanted["delegate"]):
        yield Session("delegate", "subagent", parent)


def share_out(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` into whole numbers, at least 2 each, in proportion to `weights`."""
    spare = total - 2 * len(weights)
    whole = sum(weights)
    shares, seen, given = [], 0.0, 0
    for weight in weights:
        seen += weight
        due = round(spare * seen / whole)
        shares.append(2 + due - given)
        given = due
    return shares


def _place(session: Session, rng: random.Random) -> None:
    """Set when a session starts and how long it lasts.

    Each takes at most half of the time left until `NOW`, so whatever follows it still has room.
    """
    parent = session.parent
    if parent is None:  # a little more often in the last months than in the first
        session.started = NOW - 600 - SPAN * rng.random() ** 1.3
    elif session.kind == "delegate":
        session.started = parent.started + parent.duration * rng.random() * 0.9
    else:
        gap = 1.0 if session.kind == "continuation" else 3600 * rng.random()
        session.started = parent.last_message + min(gap, (NOW - parent.last_message) / 2)
    pace = rng.choice((15, 30, 60, 120, 900, 3600))  # seconds from one message to the next
    session.duration = min(session.messages * pace, (NOW - session.started) / 2)


def _characterise(session: Session, rng: random.Random) -> None:
    parent = session.parent
    if session.end_reason is None and (session.kind == "delegate" or not chance(rng, OPEN_SHARE)):
        session.end_reason = ENDS.get(session.source, "cli_close")
    if parent is None:
        session.cjk = chance(rng, CJK_CONVERSATIONS)
        session.common = chance(rng, COMMON_SHARE)
        session.chat = rng.randrange(CHATS)
    else:
        session.cjk, session.common, session.chat = parent.cjk, parent.common, parent.chat
    if parent is not None and session.kind == "continuation":  # flags are those of the whole chain
        session.archived, session.pinned = parent.archived, parent.pinned
    elif session.kind != "delegate":
        session.archived = chance(rng, ARCHIVED_SHARE)
        session.pinned = not session.archived and chance(rng, PINNED_SHARE)
        session.hidden = not session.pinned and chance(rng, HIDDEN_SHARE)


def _big_session(messages: int) -> Session:
    """Return the conversation that grew beyond all reason: forty days, still open."""
    started = NOW - 40 * DAY
    return Session(
        "root",
        "cli",
        started=started,
        duration=40 * DAY - 300,
        messages=messages,
        title="the long refactoring",
        common=True,
        huge=True,
    )
