"""What to say when there is nothing to show: where it was looked, and where there is something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.context import short_path
from hermes_sessions.errors import UserError
from hermes_sessions.home import sibling_stores
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.recent import store_size
from hermes_sessions.text import plural

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.home import Home


def explain_nothing(env: Env, home: Home, what: str) -> None:
    """Note that there is nothing, in which store, and which profiles have something (R135)."""
    env.note(f"{what} (store {short_path(home.store, env.environ)}, {home.reason})")
    for name, path in sibling_stores(home):
        try:
            with open_store(path) as store:
                number = store_size(store)
        except UserError:
            continue
        if number:
            env.note(
                f"profile {name} has {plural(number, 'session')}: hermes-sessions -p {name} list"
            )
    if not home.store.exists():
        env.note("to look around: hermes-sessions --demo list")
