"""Titles and ids, given to all sessions at once since none may occur twice."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from large_store.dice import chance
from large_store.vocabulary import ADJECTIVES, NOUNS, VERBS
from large_store.wanted import CJK

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from large_store.session import Session

TITLED_SHARE = 0.92
"""Of the sessions that can have a title, which makes about 70 % of all."""

CRON_JOBS = tuple(hashlib.sha256(f"job {n}".encode()).hexdigest()[:12] for n in range(12))


def give_titles(sessions: Sequence[Session], rng: random.Random) -> None:
    """Title most sessions; of a compression chain only the tip, where Hermes moves the title."""
    numbers = iter(rng.sample(range(len(VERBS) * len(ADJECTIVES) * len(NOUNS)), k=len(sessions)))
    for session in sessions:
        able = session.source not in {"cron", "subagent"} and session.end_reason != "compression"
        if session.title is None and able and chance(rng, TITLED_SHARE):
            session.title = _title(next(numbers), cjk=session.cjk)


def _title(number: int, *, cjk: bool) -> str:
    """Spell a number as a title; different numbers make different titles."""
    if cjk:
        return f"{CJK}迁移计划 {number}"
    rest, verb = divmod(number, len(VERBS))
    noun, adjective = divmod(rest, len(ADJECTIVES))
    return f"{VERBS[verb]} the {ADJECTIVES[adjective]} {NOUNS[noun]}"


def give_ids(sessions: Sequence[Session], rng: random.Random) -> None:
    """Name each session as its surface does: the stamp is the second it started, in UTC."""
    taken: set[str] = set()
    for session in sessions:
        while session.id in taken or not session.id:
            session.id = _session_id(session, rng)
        taken.add(session.id)


def _session_id(session: Session, rng: random.Random) -> str:
    stamp = datetime.fromtimestamp(session.started, UTC).strftime("%Y%m%d_%H%M%S")
    if session.source == "cron":
        return f"cron_{rng.choice(CRON_JOBS)}_{stamp}"
    if session.source == "api_server":
        return f"api_{int(session.started)}_{rng.getrandbits(32):08x}"
    if session.source in {"telegram", "discord"}:
        return f"{stamp}_{rng.getrandbits(32):08x}"
    return f"{stamp}_{rng.getrandbits(24):06x}"
