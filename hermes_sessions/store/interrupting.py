"""Let Ctrl-C stop one long statement.

Python does nothing about a Ctrl-C while SQLite runs. SQLite calls back every so many instructions;
Python swallows what is raised in that call, a Ctrl-C too, and the statement ends as interrupted.
Nobody else interrupts, so that means Ctrl-C. While VACUUM copies pages back at its end, it does not
call back, and cannot be stopped.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTRUCTIONS: Final = 50_000
"""Between two calls: some milliseconds."""


@contextmanager
def interruptible(connection: sqlite3.Connection) -> Iterator[None]:
    """Let Ctrl-C stop the statements of a connection.

    Raises:
        KeyboardInterrupt: a statement was stopped; what it did is taken back.
    """
    connection.set_progress_handler(lambda: 0, _INSTRUCTIONS)
    try:
        yield
    except (UserError, sqlite3.Error) as error:
        cause = error.__cause__ if isinstance(error, UserError) else error
        if getattr(cause, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.set_progress_handler(None, _INSTRUCTIONS)
