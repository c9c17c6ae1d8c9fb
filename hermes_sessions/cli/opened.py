"""An open store, and a place to look references up from: what commands begin with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hermes_sessions.store.connect import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.references import Place, Resolved
    from hermes_sessions.store.connect import Store


@contextmanager
def opened_store(env: Env, home: Home) -> Iterator[Store]:
    """Open the store of a home; ``--debug`` reports the SQL that runs."""
    with open_store(home.store) as store:
        if env.debug:
            store.trace(lambda sql: env.note(f"sql: {' '.join(sql.split())}"))
        yield store


@contextmanager
def opened(env: Env) -> Iterator[Place]:
    """Open the store that the options mean, to look references up in it."""
    from hermes_sessions.references import Place

    home = env.select_home()
    with opened_store(env, home) as store:
        yield Place(env, home, store)


def note_move(env: Env, found: Resolved) -> None:
    """Say that a reference named an earlier segment (R021)."""
    if found.moved:
        tip = found.conversation.id
        env.note(f"{found.session_id} was compressed; its conversation goes on as {tip}")
