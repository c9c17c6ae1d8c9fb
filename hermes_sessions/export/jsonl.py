"""JSON Lines: a session a line, written piece by piece, so that its size does not matter."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from hermes_sessions.export.records import MessageShape, Timings, session_fields
from hermes_sessions.json_lines import to_bytes, to_line, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Redact = Callable[[Any], Any]


class Output(Protocol):
    """What bytes can be written to."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        ...


class SessionWriter:
    """Writes sessions of one store into a file."""

    def __init__(self, file: Output, columns: Sequence[str], redact: Redact | None = None) -> None:
        """Write into a file that somebody else closes.

        Args:
            file: where to.
            columns: of messages.
            redact: applied to the fields of a session and to each message.
        """
        self._file = file
        self._shape = MessageShape(columns)
        self._timed = itemgetter(*map(tuple(columns).index, Timings.OF))
        self._redact = redact

    def write(
        self, row: Mapping[str, object], batches: Iterable[Sequence[Sequence[object]]]
    ) -> int:
        """Write the line of a session and return how many messages it has.

        Args:
            row: its row, by column.
            batches: its messages, some at a time; none is empty.
        """
        fields: Any = session_fields(row)
        if self._redact is not None:
            fields = self._redact(fields)
        head = to_line(fields)[:-1]  # without its closing brace
        self._file.write(head + b', "messages": [')
        timings, number = Timings(), 0
        for batch in batches:
            texts = [self._message(cells, timings) for cells in batch]
            self._file.write((b", " if number else b"") + to_bytes(", ".join(texts)))
            number += len(texts)
        self._file.write(b'], "timings": ' + to_line(timings.record()) + b"}\n")
        return number

    def _message(self, row: Sequence[object], timings: Timings) -> str:
        if self._redact is None:
            cells = self._shape.cells(row)
            timings.add(*self._timed(cells))
            return self._shape.text(cells)
        record = self._redact(self._shape.record(row))
        timings.add(*(record[name] for name in Timings.OF))
        return to_text(record)
