"""``manifest.jsonl``: what is in a directory of exports, with the digest of each file."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.export.files import new_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hermes_sessions.export.documents import Document

NAME: Final = "manifest.jsonl"


def entry(path: Path, data: bytes, document: Document, form: str, exported_at: float) -> str:
    """Return the line of a file, with the keys of Hermes' own manifest (0.22.2)."""
    value = {
        "exported_at": exported_at,
        "format": form,
        "lineage_session_ids": list(document.summary.conversation.session_ids),
        "message_count": len(document.messages),
        "path": path.name,
        "session_id": document.summary.id,
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def add_entries(directory: Path, lines: Sequence[str]) -> None:
    """Add lines to the manifest of a directory; a file that was written again has one line.

    Raises:
        UserError: the manifest cannot be written; it stays as it was.
    """
    path = directory / NAME
    again = {_path_of(line) for line in lines}
    try:
        before = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        before = []
    kept = [line for line in before if line.strip() and _path_of(line) not in again]
    with new_file(path, force=True) as file:
        file.write("".join(f"{line}\n" for line in (*kept, *lines)).encode("utf-8", "replace"))


def _path_of(line: str) -> object:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return value.get("path") if isinstance(value, dict) else line
