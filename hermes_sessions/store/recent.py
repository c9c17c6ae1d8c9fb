"""The newest conversations without loading the whole store.

Exact times of all sessions would need an index seek for each. But only the first page is shown,
and the newest rows of ``messages`` tell which sessions can be on it: ids grow with time, so a
session without a row among them has no message newer than the oldest of them. If these rows do not
decide the page, or the store is small, everything is loaded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.models import Conversation, Node
from hermes_sessions.store.catalog import (
    COMPRESSION,
    away_case,
    build_conversations,
    is_marked,
    load_conversations,
    load_families,
    node_query,
    with_exact_activity,
)
from hermes_sessions.times import SANE_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.schema import Capabilities

SMALL_STORE: Final = 500
"""Sessions up to which exact times of all of them cost nothing worth saving."""

_LOOK_BACK: Final = (2_000, 20_000)
"""Rows of ``messages``, newest first, that are looked at before everything is."""

_SPARE: Final = 50
"""Session rows looked at beyond twice the page: some are delegates, archived or segments."""

Accept = Callable[[list[Conversation]], list[Conversation]]


class Scope(NamedTuple):
    """Which conversations may be on the page.

    Attributes:
        sources: only these; empty for all.
        workspaces: pairs of recorded (git_repo_root, cwd), one of which must be the session's;
            None for all.
    """

    sources: tuple[str, ...] = ()
    workspaces: tuple[tuple[str, str], ...] | None = None


def newest_conversations(
    store: Store,
    wanted: int,
    *,
    scope: Scope = Scope(),  # noqa: B008 - immutable
    accept: Accept,
    count: Callable[[Sequence[Conversation]], int] = len,
) -> list[Conversation]:
    """Return at least the ``wanted`` newest acceptable conversations, newest first, exact times.

    Args:
        store: the open store.
        wanted: how many the caller will show.
        scope: what can be on the page; it must agree with ``accept``.
        accept: keeps the conversations the caller would show.
        count: how many lines these conversations make (fewer, when runs are folded).
    """
    if store_size(store) > max(SMALL_STORE, wanted) and store.capabilities.has_message_index:
        for look_back in _LOOK_BACK:
            page = _by_newest_rows(store, wanted, look_back, scope, accept)
            if page is not None and count(page) >= wanted:
                return page
    return newest_first(with_exact_activity(store, accept(load_conversations(store))))


def store_size(store: Store) -> int:
    """Return an upper bound of the number of sessions, at no cost."""
    newest = store.value("SELECT max(rowid) FROM sessions")
    return newest if isinstance(newest, int) else 0


def newest_first(conversations: Iterable[Conversation]) -> list[Conversation]:
    """Sort by last activity, newest first; the id decides between equals (as Hermes does)."""
    return sorted(conversations, key=lambda c: (c.active_at, c.id), reverse=True)


def _by_newest_rows(
    store: Store, wanted: int, look_back: int, scope: Scope, accept: Accept
) -> list[Conversation] | None:
    """Return the newest conversations as far as the newest rows decide, None if not at all.

    A conversation without a candidate among its segments has no message newer than the oldest row
    looked at, and no session row newer than the last candidate taken by its row.
    """
    horizon, active = _newest_rows(store, look_back)
    if horizon is None:
        return None
    newest, next_newest = _newest_sessions(store, _SPARE + 2 * wanted, scope)
    nodes = load_families(store, [*active, *newest])
    bound = max(horizon, next_newest)
    looked_at = {*active, *newest}
    conversations = [
        conversation
        for conversation in accept(build_conversations(nodes, store))
        if conversation.active_at >= bound or not looked_at.isdisjoint(conversation.session_ids)
    ]
    exact = newest_first(with_exact_activity(store, conversations))
    return [conversation for conversation in exact if conversation.active_at >= bound]


def _newest_rows(store: Store, look_back: int) -> tuple[float | None, list[str]]:
    """Return the time of the oldest row looked at (None: no such row), and the sessions seen."""
    newest = store.value("SELECT max(id) FROM messages")
    if not isinstance(newest, int):
        return None, []
    bounds = {"oldest": newest - look_back}
    horizon = store.value(
        "SELECT timestamp FROM messages NOT INDEXED WHERE id > :oldest ORDER BY id LIMIT 1", bounds
    )
    seen = store.rows(
        "SELECT DISTINCT session_id FROM messages NOT INDEXED WHERE id > :oldest", bounds
    )
    if not isinstance(horizon, (int, float)):
        return None, []
    return float(horizon), [str(row[0]) for row in seen]


def _newest_sessions(store: Store, number: int, scope: Scope) -> tuple[list[str], float]:
    """Return the sessions with the newest rows, and how new the first one left out can be.

    The orders are those of Hermes' own indexes, so that only these rows are read: what is left out
    is older by its start and by its heartbeat.
    """
    orders = ["s.started_at"]
    if "last_activity_at" in store.capabilities.sessions:
        orders.append("COALESCE(last_activity_at, started_at)")
    found: list[str] = []
    bound = 0.0
    for order in orders:
        rows = store.rows(
            f"""
            SELECT s.id, {order} FROM sessions AS s
            WHERE {order} <= {SANE_MAX} AND {_in_scope(store.capabilities, scope)}
            ORDER BY {order} DESC LIMIT :number""",
            {
                "sources": json.dumps(scope.sources),
                "workspaces": json.dumps(["\x1f".join(pair) for pair in scope.workspaces or ()]),
                "number": number,
            },
        )
        found += [str(row[0]) for row in rows]
        if len(rows) == number:
            bound = max(bound, float(str(rows[-1][1])))
    return found, bound


def _in_scope(capabilities: Capabilities, scope: Scope) -> str:
    conditions = ["1"]
    if scope.sources:
        conditions.append("s.source IN (SELECT value FROM json_each(:sources))")
    if scope.workspaces is not None:  # a continuation may have its workspace from its root
        conditions.append(
            f"""(s.parent_session_id IS NOT NULL
                 OR trim(coalesce({capabilities.column("git_repo_root")}, '')) || char(31)
                    || trim(coalesce({capabilities.column("cwd")}, ''))
                    IN (SELECT value FROM json_each(:workspaces)))"""
        )
    return " AND ".join(conditions)


def count_by_view(store: Store) -> Counter[str | None]:
    """Count all conversations by why they are not in the default view; None: they are.

    A session without lineage that nothing puts out of view is a conversation in view, so it need
    not be loaded to be counted.
    """
    nodes = load_special_nodes(store)
    views = Counter(c.away for c in build_conversations(nodes, store))
    total = store.value("SELECT count(*) FROM sessions")
    views[None] += int(str(total)) - len(nodes)
    return views


def load_special_nodes(store: Store) -> list[Node]:
    """Load the sessions that are not by themselves a conversation in view; all others are."""
    lineage, away = _has_lineage(store.capabilities), away_case(store.capabilities)
    rows = store.rows(f"{node_query(store.capabilities)} WHERE {lineage} OR {away} IS NOT NULL")
    return list(map(Node._make, rows))


def _has_lineage(capabilities: Capabilities) -> str:
    """Return the condition for sessions that may not be a conversation of their own."""
    return f"""(
        s.parent_session_id IS NOT NULL
        OR s.end_reason IS '{COMPRESSION}'
        OR coalesce({is_marked(capabilities)}, 0))"""
