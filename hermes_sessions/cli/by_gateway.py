"""Deletion by a running gateway: it is asked for each session, and what it says is reported.

The rows go to the trash first, as when this program deletes; what the gateway leaves of them in
other tables is cleaned up behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.cli.changes import writing
from hermes_sessions.cli.opened import opened_store
from hermes_sessions.gateway import DASHBOARD, Unreachable, check, delete_sessions, find_endpoints
from hermes_sessions.store.fingerprints import changed_units
from hermes_sessions.store.lookup import has_session
from hermes_sessions.store.pruning import check_undamaged
from hermes_sessions.store.removal import CHANGED, Removed, Remover
from hermes_sessions.store.saving import Saver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.cli.deleting import Doomed, Means
    from hermes_sessions.context import Env
    from hermes_sessions.gateway import Endpoint
    from hermes_sessions.home import Home
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.lineage import Unit
    from hermes_sessions.trash import TrashFile


class Search(NamedTuple):
    """What came of looking for a gateway.

    Attributes:
        endpoint: one that answers for this store, or None.
        reasons: why others cannot be asked.
    """

    endpoint: Endpoint | None
    reasons: tuple[str, ...]


def find_gateway(env: Env, home: Home, session_id: str) -> Search:
    """Find a server that answers for the store that a session is in."""
    reasons = []
    for endpoint in find_endpoints(home, env.environ):
        try:
            check(endpoint, session_id)
        except Unreachable as unreachable:
            reasons.append(unreachable.message)
        else:
            return Search(endpoint, tuple(reasons))
    return Search(None, tuple(reasons))


def remove_by_gateway(
    env: Env, home: Home, endpoint: Endpoint, doomed: Doomed, means: Means, trash: TrashFile | None
) -> Iterator[Removed]:
    """Have conversations deleted one after the other; yield what became of each.

    Raises:
        UserError: it went away; what was yielded before is gone.
    """
    with opened_store(env, home) as store:
        check_undamaged(store)
        saver = Saver(store, trash)
        for unit in doomed.units:
            digest = saver.save(unit, doomed.labels[unit.id])
            saver.secure()
            expected = {unit.id: doomed.labels[unit.id].fingerprint}
            is_same = saver.is_same(unit, digest) and not changed_units(store, [unit], expected)
            reason = None if is_same else CHANGED
            if reason is None:
                reason = _ask(endpoint, store, unit)
            if reason is not None:
                saver.note_kept(unit)
            else:
                with writing(env, home, means.timeout) as writer:
                    Remover(writer, home.path, None, env.now).clean(unit.session_ids)
            yield Removed(unit, reason)


def _ask(endpoint: Endpoint, store: Store, unit: Unit) -> str | None:
    """Ask for all sessions of a conversation; return why one of them is still there.

    The newest segment goes first: it alone bears a lock, and a refusal then leaves all of it. An
    id that is not known any more went with another one.
    """
    ids = [i for conversation in unit.conversations for i in reversed(conversation.session_ids)]
    if endpoint.kind == DASHBOARD:
        ids = [conversation.id for conversation in reversed(unit.conversations)]
    for reply in delete_sessions(endpoint, ids):
        if not reply.deleted and has_session(store, reply.session_id):
            return f"{reply.session_id} {reply.reason}"
    left = [session_id for session_id in unit.session_ids if has_session(store, session_id)]
    return f"{left[0]} is still there" if left else None


def in_words(endpoint: Endpoint, units: Sequence[Unit]) -> str:
    """Say that somebody else does it."""
    number = len(units)
    return f"{endpoint.place} is asked to delete {'it' if number == 1 else f'all {number:,}'}"
