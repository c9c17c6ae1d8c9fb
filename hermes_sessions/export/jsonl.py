"""JSON Lines: a session a line, written piece by piece, so that its size does not matter."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from hermes_sessions.export.records import Timings, message_record, session_fields
from hermes_sessions.json_lines import to_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Redact = Callable[[Any], Any]


def write_session(
    file: IO[bytes],
    row: Mapping[str, object],
    columns: Sequence[str],
    batches: Iterable[Sequence[Sequence[object]]],
    redact: Redact | None = None,
) -> int:
    """Write the line of a session and return how many messages it has.

    Args:
        file: where to.
        row: its row, by column.
        columns: of its messages.
        batches: its messages, some at a time.
        redact: applied to the fields of the session and to each message.
    """
    fields: Any = session_fields(row)
    if redact is not None:
        fields = redact(fields)
    head = to_line(fields)[:-1]  # without its closing brace
    file.write(head + b', "messages": [')
    timings, number = Timings(), 0
    for batch in batches:
        pieces = []
        for cells in batch:
            record: Any = message_record(columns, cells)
            timings.add(record)
            if redact is not None:
                record = redact(record)
            pieces.append(to_line(record))
        if pieces:
            file.write((b", " if number else b"") + b", ".join(pieces))
            number += len(pieces)
    file.write(b'], "timings": ' + to_line(timings.record()) + b"}\n")
    return number
