"""Stretches of text that hold a secret, and the marks that take their place.

A mark tells the kind and nothing else: no length, no first or last characters, no digest (a digest
of a short password can be guessed). So the same secret always gives the same mark.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARK_START: Final = "[redacted: "
_MARKS: Final = r"\[redacted: [a-z0-9 -]{1,40}\]"

_INVISIBLE: Final = (
    r"\x1b\[[0-?]{0,32}[ -/]{0,4}[@-~]"  # colours and cursor movements
    r"|[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ESCAPES: Final = r"\\{1,64}(?:[nrt\"/]|u[0-9a-fA-F]{4})"


class Span(NamedTuple):
    """A secret at ``text[start:end]``."""

    start: int
    end: int
    kind: str


class View(NamedTuple):
    """Text as a reader takes it, and where its characters were in the original.

    Attributes:
        starts: where each piece begins in ``text``.
        origins: where that piece begins in the original.
        ends: where the piece ends in the original if its length is another one there, else 0.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    ends: tuple[int, ...]

    def original(self, span: Span) -> Span:
        """Return where a span of the view is in the original text."""
        first = bisect_right(self.starts, span.start) - 1
        last = bisect_right(self.starts, span.end - 1) - 1
        end = self.ends[last] or self.origins[last] + span.end - self.starts[last]
        return Span(self.origins[first] + span.start - self.starts[first], end, span.kind)


def mark(kind: str) -> str:
    """Return what is written in place of a secret of this kind."""
    return f"{_MARK_START}{kind}]"


def is_mark(text: str) -> bool:
    """Tell whether text begins with a mark, or is cut off inside of one."""
    return text.startswith((_MARK_START, _MARK_START.strip()))


def without_marks(text: str) -> str:
    """Return text with a letter in place of each mark, to be judged as it was before."""
    return re.sub(_MARKS, "x", text) if _MARK_START in text else text


def is_escaped(text: str) -> bool:
    """Tell whether text is written with escapes, as a string of JSON or of a program."""
    if "\\" not in text:
        return False
    return (
        text.count("\\n") > text.count("\n")
        or text.count('\\"') * 8 > text.count('"')
        or "\\u" in text
    )


def view(text: str, *, escapes: bool = False) -> View:
    """Return text without colours and characters of no width, which can stand inside a secret.

    NUL stays: it separates.

    Args:
        text: any text.
        escapes: show what escapes of JSON stand for, at any depth: quotes, slashes, line ends.
    """
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    ends: list[int] = []
    position = length = 0
    for match in re.finditer(f"{_INVISIBLE}|{_ESCAPES}" if escapes else _INVISIBLE, text):
        shown = _shown(match[0]) if match[0][0] == "\\" else ""
        plain = text[position : match.start()]
        for piece, origin, end in ((plain, position, 0), (shown, match.start(), match.end())):
            if piece:
                pieces.append(piece)
                starts.append(length)
                origins.append(origin)
                ends.append(end)
                length += len(piece)
        position = match.end()
    return View(
        "".join((*pieces, text[position:])), (*starts, length), (*origins, position), (*ends, 0)
    )


def _shown(escape: str) -> str:
    """Return the character that an escape stands for."""
    code = escape.lstrip("\\")
    if code[0] == "u":
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\n", "t": "\t"}.get(code, code)


def replace(text: str, spans: Iterable[Span]) -> tuple[str, Counter[str]]:
    """Put marks in place of spans; return the text and how many of each kind.

    Spans may overlap; the first one given names the kind. Marks that are there stay whole.
    """
    counts: Counter[str] = Counter()
    pieces: list[str] = []
    position = 0
    for span in _outside(_merged(spans), text):
        pieces += (text[position : span.start], mark(span.kind))
        counts[span.kind] += 1
        position = span.end
    return "".join((*pieces, text[position:])) if pieces else text, counts


def marks_in(text: str) -> list[tuple[int, int]]:
    """Return where marks stand already."""
    if _MARK_START not in text:
        return []
    return [match.span() for match in re.finditer(_MARKS, text)]


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[tuple[int, int, int, str]] = []
    ranked = [(span.start, span.end, rank, span.kind) for rank, span in enumerate(spans)]
    for start, end, rank, kind in sorted(ranked):
        if merged and start < merged[-1][1]:
            first, last, best, best_kind = merged[-1]
            if rank < best:
                best, best_kind = rank, kind
            merged[-1] = (first, max(last, end), best, best_kind)
        elif start < end:
            merged.append((start, end, rank, kind))
    return [Span(start, end, kind) for start, end, _, kind in merged]


def _outside(spans: list[Span], text: str) -> list[Span]:
    """Cut existing marks out of the spans; a piece that is left must hold a letter or digit."""
    marks = marks_in(text)
    if not marks:
        return spans
    pieces: list[Span] = []
    at = 0
    for span in spans:
        position = span.start
        while at < len(marks) and marks[at][0] < span.end:
            first, last = marks[at]
            if last > position:
                pieces.append(Span(position, first, span.kind))
                position = last
            if last > span.end:
                break  # it may reach into the next span
            at += 1
        pieces.append(Span(position, span.end, span.kind))
    return [piece for piece in pieces if any(map(str.isalnum, text[piece.start : piece.end]))]
