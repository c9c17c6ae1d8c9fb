"""Our log of everything that was deleted or brought back: one line of JSON for each run (R095)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from hermes_sessions.own_files import log_file

if TYPE_CHECKING:
    from collections.abc import Mapping


def append(environ: Mapping[str, str], facts: Mapping[str, object]) -> str | None:
    """Append a line, in a file that only its owner can read; return what went wrong, if anything.

    What was done is done when this is called, so a failure is told and stops nothing.
    """
    path = log_file(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(json.dumps(facts, ensure_ascii=False, default=str) + "\n")
    except OSError as error:
        return f"could not write the log {path}: {error.strerror or error}"
    return None
