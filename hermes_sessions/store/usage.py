"""What sessions took and cost, by Hermes' counters: the light columns of all session rows.

``sessions`` has one model for each session, the last one. ``session_model_usage`` (0.19 and newer)
has what each model took, in two kinds of rows (``hermes_state_usage.py`` of 0.22.2): those of the
main loop are a part of the session's own counters, those of auxiliary tasks (titles, vision,
compression) are in no counter of the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from hermes_sessions.models import BILLED, ESTIMATED, price
from hermes_sessions.store.dependents import table_columns
from hermes_sessions.store.sessions import MOST, field_sql
from hermes_sessions.tallies import TOKENS, Tally, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.schema import Capabilities

TABLE: Final = "session_model_usage"
_IN_SESSION: Final = ("", "voice_chat")
"""Tasks whose calls are in the counters of the session, too."""

_ROUNDING: Final = 1e-6
"""Dollars by which sums of the same costs may differ."""


class Auxiliary(NamedTuple):
    """What calls of one kind took beside the sessions."""

    task: str
    api_call_count: int
    tokens: int
    estimated_cost_usd: float


class Extra(NamedTuple):
    """What the rows of sessions do not tell.

    Attributes:
        moves: (session id, model, part): what another model than the session's own took of it.
        auxiliary: (session id, part): what calls in no counter of the session took.
    """

    moves: list[tuple[str, str, Tally]]
    auxiliary: list[tuple[str, Auxiliary]]


def load_usage(store: Store) -> dict[str, Usage]:
    """Load what every session took, by its id."""
    columns = ", ".join(_column(name, store.capabilities) for name in Usage._fields)
    rows = store.rows(f"SELECT {columns} FROM sessions AS s")
    return {row.id: row for row in map(Usage._make, rows)}


def load_starts(store: Store) -> dict[str, float | None]:
    """Load when each session began; None if that is no time that can be trusted (R132)."""
    rows = store.rows(
        f"SELECT s.id, {field_sql('started_at', store.capabilities)} FROM sessions AS s"
    )
    return dict(cast("list[tuple[str, float | None]]", rows))


def _column(name: str, capabilities: Capabilities) -> str:
    if name != "workspace":
        return field_sql(name, capabilities)
    root, cwd = (f"nullif(trim({capabilities.column(n)}), '')" for n in ("git_repo_root", "cwd"))
    return f"coalesce({root}, {cwd})"


def load_extra(store: Store, usage: Mapping[str, Usage]) -> Extra:
    """Load what other models and auxiliary calls took; nothing from before 0.19.

    A session whose other models claim more than its counters is left out: the rows do not belong
    together.
    """
    if TABLE not in store.capabilities.tables:
        return Extra([], [])
    task = "u.task" if "task" in table_columns(store, TABLE) else "''"
    sums = [_sum(name) for name in (*TOKENS, "actual_cost_usd", "estimated_cost_usd")]
    rows = store.rows(
        f"""
        SELECT u.session_id, {task}, u.model, {_sum("api_call_count")}, {", ".join(sums)}
        FROM {TABLE} AS u JOIN sessions AS s ON s.id = u.session_id
        WHERE {task} NOT IN {_IN_SESSION} OR u.model IS NOT s.model
        GROUP BY u.session_id, {task}, u.model"""
    )
    parts: dict[str, list[tuple[str, Tally]]] = {}
    auxiliary = []
    for session_id, name, model, calls, *figures in rows:
        row = usage.get(session_id)  # type: ignore[call-overload]
        if row is None:
            continue
        if name in _IN_SESSION:
            parts.setdefault(row.id, []).append((str(model), _part(row, figures)))
        else:
            numbers = [float(str(figure)) for figure in (calls, *figures)]
            tokens = int(numbers[1] + numbers[2])
            auxiliary.append((row.id, Auxiliary(str(name), int(numbers[0]), tokens, numbers[-1])))
    moves = [
        (session_id, model, part)
        for session_id, found in parts.items()
        if _fits(usage[session_id], [part for _, part in found])
        for model, part in found
    ]
    return Extra(moves, auxiliary)


def _sum(name: str) -> str:
    return f"sum(CASE WHEN u.{name} BETWEEN 0 AND {MOST} THEN u.{name} ELSE 0 END)"


def _part(row: Usage, figures: list[object]) -> Tally:
    """Return a part of a session; its costs are of the kind that the session's cost is of."""
    *tokens, actual, estimate = [float(str(figure)) for figure in figures]
    kind, _ = price(row.actual_cost_usd, row.estimated_cost_usd, row.cost_status)
    return Tally(
        **dict(zip(TOKENS, map(int, tokens), strict=True)),
        actual_cost_usd=actual if kind == BILLED else 0.0,
        estimated_cost_usd=estimate if kind == ESTIMATED else 0.0,
    )


def _fits(row: Usage, parts: list[Tally]) -> bool:
    _, usd = price(row.actual_cost_usd, row.estimated_cost_usd, row.cost_status)
    claimed = sum(part.actual_cost_usd + part.estimated_cost_usd for part in parts)
    return claimed <= usd + _ROUNDING and all(
        sum(getattr(part, name) for part in parts) <= getattr(row, name) for name in TOKENS
    )
