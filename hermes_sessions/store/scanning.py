"""Read the messages themselves, newest first: for what no index can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.matching import matches
from hermes_sessions.store.hits import (
    REASONING,
    Hit,
    hit_columns,
    is_searched,
    role_values,
    searched_text,
    text_columns,
)
from hermes_sessions.store.needles import sieve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store

_STEP: Final = 20_000
"""Ids of one query: enough to cost nothing extra, few enough to show progress."""


def scan(
    store: Store,
    query: Query,
    roles: tuple[str, ...] | None,
) -> Iterator[tuple[float, list[Hit]]]:
    """Yield the hits of one stretch of messages after the other, newest first.

    With each comes how much is done, from 0 to 1.
    """
    newest = store.value("SELECT max(id) FROM messages")
    if not isinstance(newest, int):
        return
    passed, values = sieve(query, store.capabilities)
    if roles is not None and REASONING in roles:
        passed, values = "1", {}
    statement = f"""
        SELECT {hit_columns(store)}, {text_columns(store)} FROM messages AS m NOT INDEXED
        WHERE m.id > :low AND m.id <= :high AND {is_searched(store, roles)} AND {passed}"""
    for high in range(newest, 0, -_STEP):
        bounds = {"low": high - _STEP, "high": high}
        rows = store.rows(statement, {**bounds, **values, **role_values(roles)})
        hits = [Hit._make(r[:5]) for r in rows if matches(query, searched_text(r[5:], roles))]
        yield 1 - max(0, high - _STEP) / newest, hits
