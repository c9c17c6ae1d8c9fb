"""Import: sessions of a backup become rows again, with their times, flags, titles and numbers."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections import Counter
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.content import JSON_PREFIX
from hermes_sessions.importing.records import read_record
from hermes_sessions.store.dependents import quoted
from hermes_sessions.store.naming import free_title, owners
from hermes_sessions.store.stored_rows import DERIVED
from hermes_sessions.times import sane_time

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hermes_sessions.importing.records import Planned
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer

_TARGET: Final = 0.3
"""Seconds after which a transaction takes no further session."""

_DERIVED: Final = frozenset({"messages", "timings", "schema_version", "segments"})
_PROMPT: Final = "system_prompt"
_BYTES: Final = "base64"


class Imported(NamedTuple):
    """What became of a session of a file.

    Attributes:
        skipped: there is a session of this id already.
        detached: the session it hung off is not there.
        renumbered: its messages have other numbers: theirs are taken.
        remarks: what else is not as it was.
    """

    planned: Planned
    skipped: bool = False
    detached: bool = False
    renumbered: bool = False
    remarks: tuple[str, ...] = ()


def existing(store: Store, planned: Sequence[Planned]) -> set[str]:
    """Return those ids of a file that the store has already."""
    rows = store.rows(
        "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps([one.id for one in planned])},
    )
    return {str(row[0]) for row in rows}


def unseen_messages(store: Store, file: IO[bytes], planned: Planned) -> int:
    """Return how many messages of a session in a file its session in the store has not.

    Told by who spoke when, which an import keeps: the texts of both may have been redacted.
    """
    rows = store.rows(
        "SELECT role, timestamp FROM messages WHERE session_id = :id", {"id": planned.id}
    )
    messages = read_record(file, planned).get("messages") or []
    told = zip((message["role"] for message in messages), _times(messages), strict=True)
    in_file = Counter((role, sane_time(instant)) for role, instant in told)
    return (in_file - Counter((row[0], sane_time(row[1])) for row in rows)).total()


def import_sessions(
    writer: Writer, file: IO[bytes], planned: Sequence[Planned]
) -> Iterator[Imported]:
    """Write sessions, each in one transaction with all its messages; yield each when it is done.

    Args:
        writer: outside a transaction.
        file: what was checked.
        planned: its sessions, parents first.
    """
    pending = list(planned)
    coming = {one.id for one in planned}
    while pending:
        done: list[Imported] = []
        with writer.transaction():
            began = time.monotonic()
            while pending and (not done or time.monotonic() - began < _TARGET):
                done.append(_import(writer, file, pending.pop(0), coming))
        yield from done
    _close_cycles(writer, planned)


def _close_cycles(writer: Writer, planned: Sequence[Planned]) -> None:
    """Let sessions hang off what came after them: damaged stores have parents in a circle."""
    with writer.transaction():
        for one in planned:
            if one.parent_id is not None:
                writer.run(
                    """
                    UPDATE sessions SET parent_session_id = :parent
                    WHERE id = :id AND parent_session_id IS NULL
                      AND EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = :parent)""",
                    {"id": one.id, "parent": one.parent_id},
                )


def _import(writer: Writer, file: IO[bytes], planned: Planned, coming: Collection[str]) -> Imported:
    store = writer.store
    if store.value("SELECT 1 FROM sessions WHERE id = :id", {"id": planned.id}) is not None:
        return Imported(planned, skipped=True)
    record = read_record(file, planned)
    remarks: list[str] = []
    parent = planned.parent_id
    if (
        parent is not None
        and store.value("SELECT 1 FROM sessions WHERE id = :id", {"id": parent}) is None
    ):
        parent = None
    values = _session_values(writer, record)
    values["parent_session_id"] = parent
    title = values.get("title")
    if isinstance(title, str) and owners(store, title):
        values["title"] = free_title(store, title)
        remarks.append(f"“{title}” is taken; {planned.id} is “{values['title']}”")
    _insert(writer, "sessions", values)
    renumbered = _insert_messages(writer, planned.id, record.get("messages") or [])
    detached = planned.parent_id is not None and parent is None
    detached = detached and planned.parent_id not in coming
    return Imported(planned, detached=detached, renumbered=renumbered, remarks=tuple(remarks))


def _session_values(writer: Writer, record: dict[str, Any]) -> dict[str, object]:
    columns = writer.store.capabilities.sessions
    values = {
        name: _cell(value)
        for name, value in record.items()
        if name in columns and name not in _DERIVED
    }
    values["source"] = record.get("source") or "import"
    if sane_time(record.get("started_at")) is None and not record.get("started_at"):
        values["started_at"] = _first_time(record)
    if "system_prompts" in writer.store.capabilities.tables:
        _store_texts(writer, record, values)
    else:
        values.pop("system_prompt_hash", None)
    return {name: value for name, value in values.items() if value is not None}


def _first_time(record: dict[str, Any]) -> float:
    times = [sane_time(message.get("timestamp")) for message in record.get("messages") or []]
    return min((each for each in times if each is not None), default=0.0)


def _store_texts(writer: Writer, record: dict[str, Any], values: dict[str, object]) -> None:
    """Put the prompt and the set of tools where Hermes keeps them: once, under their digest."""
    prompt = record.get(_PROMPT)
    is_inline = "system_prompt_hash" in record and record["system_prompt_hash"] is None
    values.pop("system_prompt_hash", None)
    if isinstance(prompt, str) and not is_inline:
        values["system_prompt_hash"] = _store_text(writer, prompt)
        values[_PROMPT] = None
    tools = values.get("tool_names")
    if isinstance(tools, str) and tools.lstrip().startswith(("[", "{")):
        values["tool_names"] = _store_text(writer, tools)


def _store_text(writer: Writer, text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    writer.run(
        "INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (:hash, :prompt)",
        {"hash": digest, "prompt": text},
    )
    return digest


def _insert_messages(writer: Writer, session_id: str, messages: list[dict[str, Any]]) -> bool:
    """Insert the messages of a session; tell whether they got other numbers than they had."""
    columns = writer.store.capabilities.messages
    numbers = [message.get("id") for message in messages]
    keeps = all(isinstance(number, int) and number > 0 for number in numbers)
    keeps = keeps and len(set(numbers)) == len(numbers) and not _is_taken(writer.store, numbers)
    for message, instant in zip(messages, _times(messages), strict=True):
        values = {
            name: _content(value) if name == "content" else _cell(value)
            for name, value in message.items()
            if name in columns and name not in DERIVED
        }
        values["session_id"] = session_id
        if message.get("timestamp") is None:
            values["timestamp"] = instant
        if not keeps:
            values.pop("id", None)
        _insert(writer, "messages", {k: v for k, v in values.items() if v is not None})
    return not keeps and any(number is not None for number in numbers)


def _times(messages: Sequence[dict[str, Any]]) -> Iterator[object]:
    """Yield the time of each message; one that has none is as old as the one before it."""
    last = 0.0
    for message in messages:
        instant = message.get("timestamp")
        last = sane_time(instant) or last
        yield last if instant is None else instant


def _is_taken(store: Store, numbers: Sequence[object]) -> bool:
    found = store.value(
        "SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(:ids)) LIMIT 1",
        {"ids": json.dumps(list(numbers))},
    )
    return found is not None


def _insert(writer: Writer, table: str, values: dict[str, object]) -> None:
    names = ", ".join(map(quoted, values))
    marks = ", ".join(f":c{position}" for position in range(len(values)))
    writer.run(
        f"INSERT INTO {table} ({names}) VALUES ({marks})",
        {f"c{position}": value for position, value in enumerate(values.values())},
    )


def _content(value: object) -> object:
    """Return the cell of a content: text, or JSON behind the prefix that marks it."""
    if isinstance(value, dict) and set(value) == {_BYTES}:
        return base64.b64decode(str(value[_BYTES]))
    if isinstance(value, (dict, list)) or (
        isinstance(value, str) and value.startswith(JSON_PREFIX)
    ):
        return JSON_PREFIX + json.dumps(value)
    return _cell(value)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, dict) and set(value) == {_BYTES}:
        return base64.b64decode(str(value[_BYTES]))
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value
