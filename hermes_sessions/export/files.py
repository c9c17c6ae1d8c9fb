"""Files that are either complete or not there: a temporary name, then the real one."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from hermes_sessions.errors import Refused, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_SLUG: Final = 60


@contextmanager
def new_file(path: Path, *, force: bool, shown: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when all of it is written; only its owner can read it.

    Args:
        path: of the file; directories that are missing are made.
        force: replace what is there.
        shown: the path for messages, if it is going to be moved.

    Raises:
        Refused: there is such a file, and it is not to be replaced.
        UserError: it cannot be written; nothing is left behind.
    """
    if path.exists() and not force:
        raise Refused(f"{path} is there already", hint="--force replaces it; nothing was written")
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        with _as_it_is(path) as file:
            yield file
        return
    try:
        with made_directory(path.parent):
            descriptor, name = tempfile.mkstemp(
                prefix=f".{path.name}.", suffix=".part", dir=path.parent
            )
            temporary = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                if path.exists() and not force:  # somebody was faster
                    raise Refused(f"{path} is there already", hint="--force replaces it")
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write {shown or path}: {error.strerror or error}",
            hint="nothing was left behind; check the directory and its free space",
        ) from error


@contextmanager
def made_directory(path: Path) -> Iterator[None]:
    """Make a directory with its parents; what was made goes again if what is done in it fails."""
    made = []
    current = path
    while not current.exists() and current != current.parent:
        made.append(current)
        current = current.parent
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in made:
            with suppress(OSError):  # somebody else put something there
                each.rmdir()
        raise


@contextmanager
def _as_it_is(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def slug(title: str | None) -> str:
    """Return a title as a part of a file name, by Hermes' rule (0.22.2, Markdown export)."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", title or "").strip(".-_").lower()[:_LONGEST_SLUG]
    return safe.strip(".-_") or "session"


def safe_name(text: str) -> str:
    """Return an id as a part of a file name: an id is any text, and may hold a slash."""
    safe = re.sub(r"[^\w.@=+-]", "_", text)
    return safe.lstrip(".") or "_"
