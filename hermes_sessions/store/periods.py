"""Figures by the calendar: what began and what was said on each local day."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.days import count_by_day, day_begins, local_day
from hermes_sessions.errors import StoreDamaged
from hermes_sessions.store.counts import EVER, Span, message_slots
from hermes_sessions.store.usage import load_starts
from hermes_sessions.tallies import By, Group, Tally, Usage, fold, period_name, tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from hermes_sessions.errors import UserError
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.stats import Basis


class Days(NamedTuple):
    """Figures by the local day; all of them add up to those of the selection.

    A conversation counts on the day it began, a session with all its tokens and costs on the day
    that it began, a message on its own day.

    Attributes:
        days: the oldest first; days without anything are left out.
        undated: what has no time that can be trusted (R132).
        damage: why no message is on any day, or None.
    """

    days: Sequence[tuple[date, Tally]]
    undated: Tally
    damage: UserError | None

    def by(self, period: By) -> tuple[Group, ...]:
        """Add up days, weeks or months, the oldest first."""
        return tuple(fold((period_name(day, period), part) for day, part in self.days))


class Calendar(NamedTuple):
    """Messages by the local day; ``damage`` is why there are none, or None."""

    counts: Mapping[date, int]
    damage: UserError | None


def load_days(store: Store, basis: Basis) -> Days:
    """Tell the figures of a selection apart by the day."""
    sessions, began = _beginnings(basis, load_starts(store))
    said, damage = _messages_by_day(store, basis, basis.span or EVER)
    known = {*sessions, *began, *said} - {None}
    days = [
        (day, _day(sessions.get(day, ()), began.get(day, 0), said.get(day, 0)))
        for day in sorted(filter(None, known))
    ]
    counted = sum([basis.counted.total.get(i, 0) for i in basis.session_ids])
    undated = 0 if damage else counted - sum(said.values())
    return Days(days, _day(sessions.get(None, ()), began.get(None, 0), undated), damage)


def load_calendar(store: Store, basis: Basis, first: date) -> Calendar:
    """Count the messages of a selection by the day, from a day on."""
    span = basis.span or EVER
    since = max(day_begins(first), span.since)
    return _messages_by_day(store, basis, span._replace(since=since))


def _messages_by_day(store: Store, basis: Basis, span: Span) -> Calendar:
    try:
        return Calendar(count_by_day(message_slots(store, list(basis.session_ids), span)), None)
    except StoreDamaged as damage:
        return Calendar({}, damage)


def _day(sessions: Sequence[Usage], conversations: int, messages: int) -> Tally:
    return tally(sessions, conversations, {})._replace(messages=messages)


def _beginnings(
    basis: Basis, starts: Mapping[str, float | None]
) -> tuple[dict[date | None, list[Usage]], dict[date | None, int]]:
    """Return the sessions, and the number of conversations, that began on each day."""
    sessions: dict[date | None, list[Usage]] = {}
    conversations: dict[date | None, int] = {}
    chains = [(row,) for row in basis.chains.plain]
    for rows in (*chains, *(chain.sessions for chain in basis.chains.shown)):
        for position, row in enumerate(rows):
            start = starts.get(row.id)
            day = None if start is None else local_day(start)
            sessions.setdefault(day, []).append(row)
            if position == 0:
                conversations[day] = conversations.get(day, 0) + 1
    return sessions, conversations
