"""What can go wrong in a way the user can act on, and the exit code of each kind.

Only the command line prints these; every layer below raises them. An error that is none of them
is a fault of this program.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes scripts may rely on."""

    OK = 0
    FAILED = 1  # not found, or failed; nothing half done
    USAGE = 2  # usage error, ambiguous reference, a confirmation that could not be asked
    REFUSED = 3  # refused for safety
    DAMAGED = 4  # store damaged, not a database, or too new to write
    BUSY = 75  # store busy; try again
    NO_HERMES = 127
    INTERRUPTED = 130


class UserError(Exception):
    """Something the user can act on: what is wrong, and what to do about it.

    Attributes:
        message: one line that says what is wrong.
        details: lines shown indented below it, such as the candidates of an ambiguous reference.
        hint: one line that says what to do, or None.
    """

    exit_code = ExitCode.FAILED

    def __init__(
        self, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class UsageProblem(UserError):  # noqa: N818 - "error" adds nothing to these names
    """The words on the command line do not make sense."""

    exit_code = ExitCode.USAGE


class NotFound(UserError):  # noqa: N818
    """Nothing answers to that name."""


class Ambiguous(UsageProblem):
    """More than one conversation answers to that name."""


class Refused(UserError):  # noqa: N818
    """Possible, but it would hurt: refused for safety."""

    exit_code = ExitCode.REFUSED


class StoreMissing(NotFound):
    """There is no store at that place (yet)."""


class StoreDamaged(UserError):  # noqa: N818
    """The file is damaged, or is not a database at all."""

    exit_code = ExitCode.DAMAGED


class StoreBusy(UserError):  # noqa: N818
    """Another process holds the store for longer than we were told to wait."""

    exit_code = ExitCode.BUSY


class HermesMissing(UserError):  # noqa: N818
    """The ``hermes`` program is not on this machine's PATH."""

    exit_code = ExitCode.NO_HERMES
