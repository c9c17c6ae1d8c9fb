"""Look up now and then while one long statement runs, so that it can be shown and stopped.

SQLite calls back every so many instructions. Python swallows what is raised in that call, a Ctrl-C
too, and the statement ends as interrupted; nobody else interrupts, so that means Ctrl-C.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_INSTRUCTIONS: Final = 50_000
"""Between two looks: some milliseconds."""


@contextmanager
def watched(connection: sqlite3.Connection, look: Callable[[], object]) -> Iterator[None]:
    """Call ``look`` now and then while statements of a connection run.

    Raises:
        KeyboardInterrupt: a statement was stopped by Ctrl-C; what it did is taken back.
    """
    failed: list[Exception] = []

    def look_up() -> int:
        try:
            look()
        except Exception as error:  # noqa: BLE001 - raised below, where it is seen
            failed.append(error)
        return len(failed)

    connection.set_progress_handler(look_up, _INSTRUCTIONS)
    try:
        yield
    except (UserError, sqlite3.Error) as error:
        if failed:
            raise failed[0] from None
        cause = error.__cause__ if isinstance(error, UserError) else error
        if getattr(cause, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.set_progress_handler(None, _INSTRUCTIONS)
