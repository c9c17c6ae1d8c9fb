"""Where this program keeps its own files: trash, log, the sample home. Never in a Hermes home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME: Final = "hermes-sessions"


def state_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory for what must survive: ``XDG_STATE_HOME`` or the platform's own."""
    if environ.get("XDG_STATE_HOME", "").startswith("/"):
        return Path(environ["XDG_STATE_HOME"]) / _NAME
    from platformdirs import user_state_path

    return user_state_path(_NAME, appauthor=False)


def trash_directory(environ: Mapping[str, str]) -> Path:
    """Return where deleted conversations wait."""
    return state_directory(environ) / "trash"


def log_file(environ: Mapping[str, str]) -> Path:
    """Return the log of everything that was deleted."""
    return state_directory(environ) / "deletions.log"


def demo_directory(environ: Mapping[str, str]) -> Path:
    """Return the sample home's private place."""
    return state_directory(environ) / "demo"
