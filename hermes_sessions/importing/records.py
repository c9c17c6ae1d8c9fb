"""Check the lines of a backup before anything is written: every one of them, with its number."""

from __future__ import annotations

import json
import math
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.errors import UserError
from hermes_sessions.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TEXT: Final = ("title", "source", "parent_session_id", "model", "cwd", "system_prompt")
_SHOWN: Final = 10
"""Problems that are listed."""

_WIDEST: Final = 2**63

_NO_JSON: Final = "it is no JSON"

_OTHERS: Final = (
    (b"\x1f\x8b", "it is compressed", "gunzip -c FILE | hermes-sessions import -"),
    (b"\x28\xb5\x2f\xfd", "it is compressed", "zstd -dc FILE | hermes-sessions import -"),
    (b"PK\x03\x04", "it is a zip archive", "unpack it first"),
    (
        b"SQLite format 3\0",
        "it is a store, not a backup",
        "hermes-sessions --db FILE export backup.jsonl",
    ),
)
"""Beginnings of files that somebody may mean to import, and what to do with them."""


class Planned(NamedTuple):
    """A session of a file that can be imported.

    Attributes:
        offset: where its line begins in the file.
        part: its position among the segments of its line; None if the line is the session.
        length: bytes of its line; of a segment, its share of them.
    """

    offset: int
    part: int | None
    length: int
    id: str
    parent_id: str | None
    title: str | None
    source: str
    messages: int


def check_file(
    file: IO[bytes], most_messages: int, seen_bytes: Callable[[int], object] = int
) -> list[Planned]:
    """Read a whole file and return its sessions, parents before children.

    Args:
        file: a backup; it is read from its beginning.
        most_messages: that a session may have; 0 for any number.
        seen_bytes: is told after each line how much of the file was checked.

    Raises:
        UserError: a line is no session that can be imported; nothing may be written then (R082).
    """
    _refuse_others(file)
    planned: list[Planned] = []
    problems: list[str] = []
    strange = 0
    seen: set[str] = set()
    for number, offset, line in _lines(file):
        try:
            parts = parts_of(parse_line(line))
            share = len(line) // len(parts)
            found = [
                _planned(record, (offset, part, share), most_messages) for part, record in parts
            ]
        except UserError as problem:
            cut = "" if line.endswith(b"\n") else "; the file ends in the middle of it"
            problems.append(f"line {number:,}: {problem.message}{cut}")
            strange += problem.message.startswith(_NO_JSON)
            continue
        twice = [one.id for one in found if one.id in seen]
        problems += [f"line {number:,}: {one_line(each)} is there twice" for each in twice]
        seen.update(one.id for one in found)
        planned += found
        seen_bytes(offset + len(line))
    if problems:
        if strange == len(problems) > 1 and not planned:
            problems = ["no line of it is JSON"]
        more = len(problems) - _SHOWN
        rest = (f"… and {more:,} more",) if more > 0 else ()
        raise UserError(
            "the file cannot be imported as it is",
            details=(*problems[:_SHOWN], *rest),
            hint="nothing was written; it must be JSON Lines of export --format jsonl",
        )
    return _parents_first(planned)


def _refuse_others(file: IO[bytes]) -> None:
    file.seek(0)
    head = file.read(16)
    for beginning, what, hint in _OTHERS:
        if head.startswith(beginning):
            raise UserError(f"the file cannot be imported: {what}", hint=hint)


def read_record(file: IO[bytes], planned: Planned) -> dict[str, Any]:
    """Return the object of a session that was checked."""
    file.seek(planned.offset)
    parts = dict(parts_of(parse_line(file.readline())))
    return parts[planned.part]


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the object in a line.

    Raises:
        UserError: it is none.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{_NO_JSON}: {clip(one_line(str(error)), 80)}") from None
    if not isinstance(value, dict):
        raise UserError("it is no JSON object")
    return value


def parts_of(value: dict[str, Any]) -> list[tuple[int | None, dict[str, Any]]]:
    """Return the sessions in an object: itself, or its segments if it is a whole conversation."""
    segments = value.get("segments")
    if not isinstance(segments, list) or not segments:
        return [(None, value)]
    if not all(isinstance(segment, dict) for segment in segments):
        raise UserError("segments holds something that is no object")
    return list(enumerate(segments))


def _lines(file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    file.seek(0)
    offset = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            yield number, offset, line
        offset += len(line)


def _planned(
    record: dict[str, Any], place: tuple[int, int | None, int], most_messages: int
) -> Planned:
    session_id = record.get("id")
    if not isinstance(session_id, str) or not session_id.strip():
        raise UserError("it has no session id")
    for name in _TEXT:
        if record.get(name) is not None and not isinstance(record[name], str):
            raise UserError(f"{name} is no text")
    messages = record.get("messages")
    if messages is not None and not isinstance(messages, list):
        raise UserError("messages is no list")
    messages = messages or []
    if most_messages and len(messages) > most_messages:
        raise UserError(
            f"{len(messages):,} messages are more than sessions.max_import_messages"
            f" ({most_messages:,})"
        )
    for index, message in enumerate(messages):
        _check_message(message, index)
    _check_numbers(record, "the session")
    source = record.get("source") or "import"
    return Planned(
        *place,
        session_id,
        record.get("parent_session_id") or None,
        record.get("title") or None,
        source,
        len(messages),
    )


def _check_message(message: object, index: int) -> None:
    if not isinstance(message, dict):
        raise UserError(f"messages[{index}] is no object")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise UserError(f"messages[{index}] has no role")
    _check_numbers(message, f"messages[{index}]")


def _check_numbers(record: dict[str, Any], where: str) -> None:
    for name, value in record.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{name} of {where} is no finite number")
        if isinstance(value, int) and not -_WIDEST <= value < _WIDEST:
            raise UserError(f"{name} of {where} is too large a number")


def _parents_first(planned: list[Planned]) -> list[Planned]:
    """Sort so that a parent comes before its children; in a cycle somebody has to be first."""
    by_id = {one.id: one for one in planned}
    placed: dict[str, Planned] = {}
    for one in planned:
        chain: list[Planned] = []
        current: Planned | None = one
        while current is not None and current.id not in placed and current not in chain:
            chain.append(current)
            current = by_id.get(current.parent_id or "")
        placed.update((each.id, each) for each in reversed(chain))
    return list(placed.values())
