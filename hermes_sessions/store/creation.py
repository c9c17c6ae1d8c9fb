"""New rows of ``sessions``, as Hermes itself would write them (0.22.2, ``_insert_session_row``)."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import UsageProblem
from hermes_sessions.text import clip, one_line

if TYPE_CHECKING:
    from hermes_sessions.home import Home
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer

_LONGEST_ID: Final = 200
_ID: Final = rf"\w[\w.:@-]{{0,{_LONGEST_ID - 1}}}"
"""Ids that this program makes: fit for a file name and for a word of a command line."""

_KEYWORDS: Final = {"latest"}
"""What a reference means before any id."""


class NewSession(NamedTuple):
    """A session to be made; None is left to the store's own default.

    Attributes:
        started_at: epoch seconds.
        model_config: JSON text.
    """

    id: str
    source: str
    title: str
    started_at: float
    model: str | None = None
    model_config: str | None = None
    system_prompt: str | None = None
    parent_session_id: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    git_repo_root: str | None = None
    profile_name: str | None = None
    message_count: int = 0
    tool_call_count: int = 0


def mint_id(now: float) -> str:
    """Return a new id as the command line of Hermes forms one: local time and six hex digits."""
    return f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"  # noqa: DTZ006 - local, as Hermes


def check_id(store: Store, session_id: str) -> str:
    """Check an id that somebody chose.

    Raises:
        UsageProblem: it cannot be one, or it is taken.
    """
    chosen = session_id.strip()
    if not re.fullmatch(_ID, chosen) or chosen.lower() in _KEYWORDS:
        raise UsageProblem(
            f"“{clip(one_line(session_id), 60)}” cannot be an id",
            hint=f"use letters, digits, - and _, {_LONGEST_ID} at most",
        )
    if store.value("SELECT 1 FROM sessions WHERE id = :id", {"id": chosen}) is not None:
        raise UsageProblem(f"there is a session {chosen} already", hint="choose another id")
    return chosen


def is_text(value: str) -> bool:
    """Tell whether a name that the system gave is text; a directory's may be any bytes."""
    return not re.search("[\ud800-\udfff]", value)


def owning_profile(home: Home) -> str | None:
    """Return the profile that Hermes records on sessions of a home; it hides rows without one."""
    if home.path is None or home.root is None:
        return None
    return "default" if home.path == home.root else home.path.name


def insert_session(writer: Writer, new: NewSession) -> None:
    """Insert a session, in a transaction; columns that the store does not have are left out."""
    capabilities = writer.store.capabilities
    values: dict[str, object] = new._asdict()
    values["created_source"] = new.source
    values["title_source"] = "user"
    if new.system_prompt is not None and "system_prompts" in capabilities.tables:
        values["system_prompt"] = None
        values["system_prompt_hash"] = _store_prompt(writer, _storable(new.system_prompt))
    known = {
        name: _storable(value) if isinstance(value, str) else value
        for name, value in values.items()
        if name in capabilities.sessions and value is not None
    }
    names = ", ".join(known)
    marks = ", ".join(f":{name}" for name in known)
    writer.run(f"INSERT INTO sessions ({names}) VALUES ({marks})", known)


def _store_prompt(writer: Writer, prompt: str) -> str:
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    writer.run(
        "INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (:hash, :prompt)",
        {"hash": digest, "prompt": prompt},
    )
    return digest


def _storable(text: str) -> str:
    """Replace what SQLite cannot hold: words of a command line may be bytes that are no text."""
    return text.encode("utf-8", "replace").decode()
