"""How many messages each session has, in what state, and when: counted in narrow indexes.

A store may hold half a million messages in a gigabyte, so none of this reads a row of one.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple, cast

from hermes_sessions.days import SLOT
from hermes_sessions.times import SANE_MAX

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Mapping

    from hermes_sessions.models import Filter
    from hermes_sessions.store.connect import Store


class Span(NamedTuple):
    """The time that messages are counted in: since inclusive, before exclusive."""

    since: float
    before: float

    def condition(self) -> str:
        """Return the condition for rows of ``messages AS m``; text is never in a span."""
        return "m.timestamp >= :since AND m.timestamp < :before"


EVER = Span(0.0, math.nextafter(SANE_MAX, math.inf))
"""The time that a store can hold; what lies outside never counts (R132)."""


class Counts(NamedTuple):
    """Messages of each session that has any, by their state; each row is in one of the three.

    Attributes:
        live: what the model sees.
        archived: by compaction; shown all the same.
        rewound: taken back, edited, or replaced by a copy; stored all the same.
        total: all of them.
    """

    live: Mapping[str, int]
    archived: Mapping[str, int]
    rewound: Mapping[str, int]
    total: Mapping[str, int]


def span_of(wanted: Filter) -> Span | None:
    """Return the time that a filter's bounds leave for messages, None if it has none (R130)."""
    since = [b for b in (wanted.active_since, wanted.started_since) if b is not None]
    before = [b for b in (wanted.active_before, wanted.started_before) if b is not None]
    if not since and not before:
        return None
    return Span(max(since, default=EVER.since), min(before, default=EVER.before))


def count_messages(store: Store, span: Span | None = None) -> Counts:
    """Count the messages of each session that has any, in a span or all of them."""
    has_states = "active" in store.capabilities.messages  # 0.16 and newer
    state, by_state = ("m.active", ", m.active") if has_states else ("1", "")
    rows = store.rows(
        f"""
        SELECT m.session_id, {state}, count(*) FROM messages AS m {_where(span)}
        GROUP BY m.session_id{by_state}""",
        _bounds(span),
    )
    live: dict[str, int] = {}
    others: dict[str, int] = {}
    for session_id, active, number in cast("list[tuple[str, object, int]]", rows):
        counts = live if active == 1 or active is None else others
        counts[session_id] = counts.get(session_id, 0) + number
    shown = _count_shown(store, span, others)
    archived = {i: number - live.get(i, 0) for i, number in shown.items()}
    rewound = {i: number - archived.get(i, 0) for i, number in others.items()}
    total = {**live, **{i: number + live.get(i, 0) for i, number in others.items()}}
    return Counts(live, archived, rewound, total)


def _count_shown(store: Store, span: Span | None, session_ids: Collection[str]) -> dict[str, int]:
    """Count live and archived messages of these sessions."""
    if not session_ids:
        return {}
    mine = "m.session_id IN (SELECT value FROM json_each(:ids))"
    rows = store.rows(
        f"""
        SELECT m.session_id, count(*) FROM messages AS m
        {_where(span, store.capabilities.visible(), mine)} GROUP BY m.session_id""",
        {**_bounds(span), "ids": json.dumps(list(session_ids), default=str)},
    )
    return dict(cast("list[tuple[str, int]]", rows))


def message_slots(store: Store, session_ids: Collection[str], span: Span) -> array[int]:
    """Return the slot of the day (``days.SLOT``) of each message of sessions in a span."""
    chosen = "json_each(:ids) AS chosen CROSS JOIN messages AS m ON m.session_id = chosen.value"
    if not store.capabilities.has_message_index:  # one pass, not one for each session
        chosen = "messages AS m JOIN json_each(:ids) AS chosen ON m.session_id = chosen.value"
    return store.id_array(
        f"SELECT CAST(m.timestamp / {SLOT} AS INTEGER) FROM {chosen} WHERE {span.condition()}",
        {**_bounds(span), "ids": json.dumps(list(session_ids))},
    )


def _where(span: Span | None, *conditions: str) -> str:
    wanted = [*([span.condition()] if span else []), *conditions]
    return f"WHERE {' AND '.join(wanted)}" if wanted else ""


def _bounds(span: Span | None) -> dict[str, object]:
    return span._asdict() if span else {}
