"""Statistics: what a filter selects, by anything, and the parts that the tables consist of.

The figures of any grouping add up to those of the selection, the parts to the rows of a table.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.store.chains import Chains, load_chains
from hermes_sessions.store.counts import Counts, Span, count_messages, span_of
from hermes_sessions.store.usage import Auxiliary, load_extra, load_usage
from hermes_sessions.tallies import Group, Tally, Usage, fold, largest_first, less, tally, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hermes_sessions.errors import UserError
    from hermes_sessions.models import Filter
    from hermes_sessions.store.chains import Chain
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.usage import Extra

VISIBLE: Final = "visible"
EMPTY: Final = "empty"
AWAY: Final = ("archived", "hidden", "delegate", "child", "tool")
"""Parts that sessions are divided into; the last ones by why they are out of view."""

LIVE, ARCHIVED, REWOUND, ORPHAN = "live", "archived", "rewound", "orphan"


class Basis(NamedTuple):
    """What all figures are made of, read once.

    Attributes:
        usage: what every session took, by its id.
        stored: all messages of the store; None if they cannot be read.
        counted: those in the span.
        span: the time that messages are counted in; None for all of it.
        damage: what could not be read, or None.
    """

    chains: Chains
    usage: Mapping[str, Usage]
    stored: Counts | None
    counted: Counts
    span: Span | None
    damage: UserError | None

    @property
    def session_ids(self) -> set[str]:
        """The sessions of the selection."""
        ids = {row.id for row in self.chains.plain}
        return ids.union(row.id for chain in self.chains.shown for row in chain.sessions)


class Parts(NamedTuple):
    """What the tables consist of: every row is in exactly one part.

    Attributes:
        sessions: visible, empty (visible, without a message), or why they are out of view.
        parentless: sessions among them whose parent is gone (R050).
        messages: live, archived, rewound, or orphan (their session is gone); None if unreadable.
    """

    sessions: Mapping[str, int]
    parentless: int
    messages: Mapping[str, int] | None


class Stats(NamedTuple):
    """Figures of a selection.

    Attributes:
        messages: of the selection, by their state.
        out_of_view: what the filter matches besides.
        hidden: conversations of that, by the reason.
        auxiliary: what calls beside the conversations took, by their task.
    """

    totals: Tally
    messages: Mapping[str, int]
    out_of_view: Tally
    hidden: Mapping[str, int]
    parts: Parts
    by_source: tuple[Group, ...]
    by_model: tuple[Group, ...]
    by_workspace: tuple[Group, ...]
    auxiliary: tuple[Auxiliary, ...]
    span: Span | None
    damage: UserError | None


def load_basis(store: Store, wanted: Filter) -> Basis:
    """Read what figures are made of; messages that cannot be read are left out, with the reason.

    Messages come first: those of a session that begins meanwhile are then no orphans.
    """
    span = span_of(wanted)
    stored, counted, damage = None, Counts({}, {}, {}, {}), None
    try:
        stored = count_messages(store)
        counted = count_messages(store, span) if span else stored
    except StoreDamaged as error:
        damage = error
    usage = load_usage(store)
    chains = load_chains(store, usage, wanted)
    return Basis(chains, usage, stored, counted, span, damage or chains.damage)


def load_stats(store: Store, basis: Basis) -> Stats:
    """Work out the figures of a selection."""
    cells = _cells(basis)
    ids = basis.session_ids
    extra = load_extra(store, basis.usage)
    return Stats(
        totals=total(part for *_, part in cells),
        messages=_states(basis.counted, ids),
        out_of_view=_tally(basis, basis.chains.others),
        hidden=Counter(c.away for c in basis.chains.others if c.away),
        parts=_parts(store, basis),
        by_source=largest_first(fold((source, part) for source, *_, part in cells)),
        by_model=largest_first(_by_model(basis, cells, extra, ids)),
        by_workspace=largest_first(fold((place, part) for _, place, _, part in cells)),
        auxiliary=_auxiliary(extra, ids),
        span=basis.span,
        damage=basis.damage,
    )


Cell = tuple[str, str | None, str | None, Tally]
"""Source, workspace and model, and what belongs to all three."""


def _cells(basis: Basis) -> list[Cell]:
    """Add up the selection by source, workspace and model.

    Source and workspace are those of the conversation: its newest segment that has one (R057).
    The model is that of each session; the conversation counts at the newest.
    """
    rows: dict[tuple[str, str | None, str | None], list[Usage]] = {}
    for row in basis.chains.plain:
        rows.setdefault((row.source, row.workspace, row.model), []).append(row)
    numbers = Counter({key: len(found) for key, found in rows.items()})
    for source, _, sessions in basis.chains.shown:
        place, model = None, None
        for row in sessions:
            place, model = row.workspace or place, row.model or model
        for row in sessions:
            rows.setdefault((source, place, row.model), []).append(row)
        numbers[source, place, model] += 1
    return [
        (*key, tally(rows.get(key, ()), numbers[key], basis.counted.total))
        for key in {**rows, **numbers}
    ]


def _tally(basis: Basis, chains: Sequence[Chain]) -> Tally:
    rows = [row for chain in chains for row in chain.sessions]
    return tally(rows, len(chains), basis.counted.total)


def _by_model(basis: Basis, cells: Iterable[Cell], extra: Extra, chosen: set[str]) -> list[Group]:
    """Tell figures apart by model, as far as the store does.

    Each session counts at its own model, the one it used last. What other models took of it,
    ``session_model_usage`` knows, and that is moved to them, so the sums stay what they are.
    """
    parts: list[tuple[str | None, Tally]] = [(model, part) for _, _, model, part in cells]
    for session_id, other, part in extra.moves:
        if session_id in chosen:
            own = basis.usage[session_id].model
            parts += [(own, less(Tally(), part)), (other, part)]
    return fold(parts)


def _states(counts: Counts, session_ids: set[str]) -> dict[str, int]:
    """Count the messages of sessions by their state."""
    if not session_ids:
        return dict.fromkeys((LIVE, ARCHIVED, REWOUND), 0)
    states = {LIVE: counts.live, ARCHIVED: counts.archived, REWOUND: counts.rewound}
    return {
        state: sum([number for i, number in numbers.items() if i in session_ids])
        for state, numbers in states.items()
    }


def _auxiliary(extra: Extra, chosen: set[str]) -> tuple[Auxiliary, ...]:
    tasks: dict[str, list[Auxiliary]] = {}
    for session_id, part in extra.auxiliary:
        if session_id in chosen:
            tasks.setdefault(part.task, []).append(part)
    parts = [
        Auxiliary(task, *map(sum, zip(*(part[1:] for part in found), strict=True)))
        for task, found in tasks.items()
    ]
    return tuple(sorted(parts, key=lambda part: (-part.tokens, part.task)))


def _parts(store: Store, basis: Basis) -> Parts:
    usage, away = basis.usage, basis.chains.away
    sessions = dict.fromkeys((VISIBLE, EMPTY, *AWAY), 0)
    for session_id, reason in away.items():
        if session_id in usage:
            sessions[reason] = sessions.get(reason, 0) + 1
    messages = None
    if basis.stored is not None:
        filled = basis.stored.total
        sessions[EMPTY] = len([i for i in usage if i not in filled and i not in away])
        messages = _message_parts(basis.stored, usage)
    sessions[VISIBLE] = len(usage) - sum(sessions.values())
    parentless = store.value(
        """
        SELECT count(*) FROM sessions AS s WHERE s.parent_session_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id)"""
    )
    return Parts(sessions, int(str(parentless)), messages)


def _message_parts(stored: Counts, usage: Mapping[str, Usage]) -> dict[str, int]:
    lost = _states(stored, {i for i in stored.total if i not in usage})
    states = {LIVE: stored.live, ARCHIVED: stored.archived, REWOUND: stored.rewound}
    kept = {state: sum(numbers.values()) - lost[state] for state, numbers in states.items()}
    return {**kept, ORPHAN: sum(lost.values())}
