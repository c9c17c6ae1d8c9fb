"""Recorded directories after a project was moved: which cells name the old place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.edits import Cell
from hermes_sessions.workspace import is_within

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store

_COLUMNS: Final = ("cwd", "git_repo_root")


def relocation_cells(store: Store, old: str, new: str) -> list[Cell]:
    """Return what rewrites every recorded directory at or below ``old``.

    Directories are in the columns for them and, for editors (ACP), in ``model_config``. One that
    is no text stays: it could not be written back as it is.

    Args:
        store: to read.
        old: a path without a slash at its end; not that of the root directory.
        new: the path that takes its place.
    """
    columns = [name for name in _COLUMNS if name in store.capabilities.sessions]
    cells = []
    for column in columns:
        rows = store.exact_rows(
            f"SELECT id, {column} FROM sessions WHERE {column} <> '' ORDER BY id"
        )
        for session_id, value in rows:
            moved = _moved(value, old, new)
            if moved is not None:
                cells.append(Cell(str(session_id), column, value, moved))
    if "model_config" in store.capabilities.sessions:
        cells += _config_cells(store, old, new)
    return cells


def _moved(value: object, old: str, new: str) -> str | None:
    if not isinstance(value, str) or not is_within(value.strip(), old):
        return None
    return (new.rstrip("/") + value.strip()[len(old) :]) or "/"


def _config_cells(store: Store, old: str, new: str) -> list[Cell]:
    rows = store.exact_rows(
        "SELECT id, model_config FROM sessions WHERE instr(model_config, '\"cwd\"') ORDER BY id"
    )
    cells = []
    for session_id, text in rows:
        try:
            config = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            continue
        if not isinstance(config, dict):
            continue
        moved = _moved(config.get("cwd"), old, new)
        if moved is not None:
            rewritten = json.dumps({**config, "cwd": moved})
            cells.append(Cell(str(session_id), "model_config", text, rewritten))
    return cells
