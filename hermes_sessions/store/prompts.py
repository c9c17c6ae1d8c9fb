"""System prompts that sessions store: which have one, which of them lack a part, and clearing them.

A session without a stored prompt builds it anew on its next turn, in every release (store facts
§8). Prompts are stored once for all sessions that have the same, by hash, since 0.20; before, in
the row of the session.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.store.removal import delete_unused_prompts
from hermes_sessions.store.snapshots import PROMPTS, prompts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer

_HEADING: Final = "## Skill Safety"
"""How the part begins that every prompt has if the session may manage skills; 0.22.2 writes
``## Skill Safety Rule`` (``agent/prompt_builder``)."""

_TOOL: Final = "skill_manage"
_BLANKS: Final = " \t\n\v\f\r"
_AT_ONCE: Final = 500
"""Sessions that are changed in one transaction."""


class Prompt(NamedTuple):
    """A stored prompt, and what is wrong with it.

    Attributes:
        session_id: whose it is.
        title: of the session, or None.
        source: of the session.
        characters: how long it is.
        reason: why it is degraded, or why that cannot be told; "" if nothing is wrong.
        is_finding: it is degraded for sure.
    """

    session_id: str
    title: str | None
    source: str
    characters: int
    reason: str = ""
    is_finding: bool = False


MISSING: Final = "the Skill Safety part is missing although the pinned tools have skill_manage"
_NO_PIN: Final = "the Skill Safety part is missing, and the pin of the tools is not there or broken"
_MEMORY: Final = "the Skill Safety part is missing, and memory alone may be the tools one chose"


def stored_prompts(store: Store, session_ids: Sequence[str]) -> list[Prompt]:
    """Return the stored prompts of some sessions, in the order of the ids."""
    rows = store.rows(
        f"""
        SELECT s.id, s.title, s.source, length({_effective(store)})
        FROM sessions AS s
        WHERE s.id IN (SELECT value FROM json_each(:ids)) AND {_effective(store)} <> ''""",
        {"ids": json.dumps(list(session_ids))},
    )
    found = {str(row[0]): _prompt(row) for row in rows}
    return [found[i] for i in dict.fromkeys(session_ids) if i in found]


def degraded_prompts(store: Store) -> list[Prompt]:
    """Return the prompts without the part on skills, of all sessions (0.22.2, ``repair-prompts``).

    It was left out by mistake only if the pinned tools can manage skills. Where no pin says so it
    may have been left out for good; a prompt whose tools are known and others is not returned.
    """
    rows = store.rows(
        f"""
        SELECT s.id, s.title, s.source, length({_effective(store)}), {_pin(store)}
        FROM sessions AS s
        WHERE trim({_effective(store)}, :blanks) <> '' AND instr({_effective(store)}, :heading) = 0
        ORDER BY s.id""",
        {"blanks": _BLANKS, "heading": _HEADING},
    )
    found = []
    for row in rows:
        tools = pinned_tools(row[4])
        if tools is None:
            found.append(_prompt(row)._replace(reason=_NO_PIN))
        elif _TOOL in tools:
            found.append(_prompt(row)._replace(reason=MISSING, is_finding=True))
        elif tools == {"memory"}:
            found.append(_prompt(row)._replace(reason=_MEMORY))
    return found


def pinned_tools(pin: object) -> frozenset[str] | None:
    """Return the names of the tools in a pin: a list of names, or an object with ``tools``.

    Returns:
        None if there is no pin, or anything in it is not as expected.
    """
    try:
        value = json.loads(pin) if isinstance(pin, str) else None
    except (ValueError, RecursionError):
        return None
    tools = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(tools, list):
        return None
    names = [_tool_name(tool) for tool in tools]
    return None if None in names else frozenset(name for name in names if name)


def clear_prompts(writer: Writer, session_ids: Sequence[str]) -> Iterator[int]:
    """Clear the stored prompts of sessions in short transactions; yields how many are done."""
    for start in range(0, len(session_ids), _AT_ONCE):
        some = session_ids[start : start + _AT_ONCE]
        with writer.transaction():
            clear(writer, some)
        yield start + len(some)


def clear(writer: Writer, session_ids: Sequence[str]) -> None:
    """Clear the stored prompts of sessions, inside a transaction; nothing else of them changes.

    Prompts that no other session has are dropped.
    """
    columns = [
        f"{name} = NULL"
        for name in ("system_prompt_hash", "system_prompt")
        if name in writer.store.capabilities.sessions
    ]
    hashes = prompts_of(writer.store, session_ids)
    writer.run(
        f"""
        UPDATE sessions SET {", ".join(columns)}
        WHERE id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(list(session_ids))},
    )
    delete_unused_prompts(writer, hashes)


def _prompt(row: Sequence[object]) -> Prompt:
    session_id, title, source, characters = row[:4]
    return Prompt(
        str(session_id), None if title is None else str(title), str(source), int(str(characters))
    )


def _effective(store: Store) -> str:
    """Return the expression for the prompt of a session ``s``."""
    inline = store.capabilities.column("system_prompt")
    if PROMPTS not in store.capabilities.tables:
        return f"CAST({inline} AS TEXT)"
    key = store.capabilities.column("system_prompt_hash")
    shared = f"(SELECT prompt FROM {PROMPTS} WHERE hash = {key})"
    return f"CAST(coalesce({shared}, {inline}) AS TEXT)"


def _pin(store: Store) -> str:
    """Return the expression for the pin of a session ``s``: by hash, or in its row."""
    inline = store.capabilities.column("tool_names")
    if PROMPTS not in store.capabilities.tables:
        return inline
    return f"coalesce((SELECT prompt FROM {PROMPTS} WHERE hash = {inline}), {inline})"


def _tool_name(tool: object) -> str | None:
    if isinstance(tool, dict):
        function = tool.get("function")
        tool = function.get("name") if isinstance(function, dict) else None
    return tool if isinstance(tool, str) and tool else None
