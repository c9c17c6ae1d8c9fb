"""Whether there is room for what SQLite has to write, on the file systems it will write to."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import UserError
from hermes_sessions.text import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLACES: Final = ("/var/tmp", "/usr/tmp", "/tmp")  # noqa: S108 - where SQLite looks
_VARIABLES: Final = ("SQLITE_TMPDIR", "TMPDIR")
_MARGIN: Final = 1.05


class Need(NamedTuple):
    """Bytes that are written in a directory."""

    directory: Path
    number: int


def temporary_directory(environ: Mapping[str, str]) -> Path:
    """Return where SQLite puts temporary files (sqlite.org/tempfiles.html §5).

    A directory that the user names must do: SQLite would go elsewhere with a copy of everything
    that was ever said, without a word.

    Raises:
        UserError: no file can be made there, or anywhere.
    """
    if sys.platform == "win32":
        return Path(tempfile.gettempdir())
    for variable in _VARIABLES:
        named = environ.get(variable)
        if named and not _can_write(Path(named)):
            raise UserError(
                f"the temporary file that this needs cannot be written: {variable} is {named}",
                hint="name another directory with SQLITE_TMPDIR; nothing was changed",
            )
        if named:
            return Path(named)
    for place in (*_PLACES, "."):
        if _can_write(Path(place)):
            return Path(place)
    raise UserError(
        "the temporary file that this needs cannot be written anywhere",
        hint="name a directory with SQLITE_TMPDIR; nothing was changed",
    )


def check_room(needs: Iterable[Need]) -> None:
    """Check that there is room for all of it at once.

    Raises:
        UserError: there is not, and on which file system.
    """
    needed: dict[int, list[Need]] = {}
    for need in needs:
        needed.setdefault(need.directory.stat().st_dev, []).append(need)
    for some in needed.values():
        total = int(sum(need.number for need in some) * _MARGIN)
        free = shutil.disk_usage(some[0].directory).free
        if total > free:
            where = " and ".join(dict.fromkeys(str(need.directory) for need in some))
            raise UserError(
                f"not enough space in {where}: up to {size(total)} may be written, "
                f"and {size(free)} are free",
                hint="nothing was changed; free some space, name another directory for the "
                "temporary file with SQLITE_TMPDIR, or try with --force",
            )
        most = max(need.number for need in some)
        limit = _largest_file()
        if limit is not None and most > limit:
            raise UserError(
                f"this process may write no file bigger than {size(limit)}, and {size(most)} "
                "may be needed",
                hint="nothing was changed; raise the limit: ulimit -f",
            )


def _can_write(directory: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _largest_file() -> int | None:
    """Return the limit for the size of files (setrlimit(2)), or None."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit
