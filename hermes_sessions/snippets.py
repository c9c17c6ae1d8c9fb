"""A line or two of text around what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.matching import Span, find_spans
from hermes_sessions.text import neutralise

if TYPE_CHECKING:
    from hermes_sessions.matching import Text
    from hermes_sessions.query import Term


class Snippet(NamedTuple):
    """One line of text with what was found in it.

    Attributes:
        text: neutralised, white space folded; an ellipsis where it was cut.
        spans: positions in it.
    """

    text: str
    spans: tuple[Span, ...]

    def marked(self, before: str, after: str) -> str:
        """Return the text with marks around what was found."""
        parts, last = [], 0
        for span in self.spans:
            parts += [self.text[last : span.start], before, self.text[span.start : span.end], after]
            last = span.end
        return "".join([*parts, self.text[last:]])


def make_snippet(terms: tuple[Term, ...], text: Text, length: int) -> Snippet:
    """Cut the part of a message that shows the first thing found, ``length`` characters long."""
    for source in (text.words, text.calls):
        line = " ".join(neutralise(source).split())
        first = next(find_spans(terms, line), None)
        if first is not None:
            return _cut(terms, line, first, length)
    line = " ".join(neutralise(text.words or text.calls).split())
    return Snippet(line if len(line) <= length else line[: length - 1] + "…", ())


def _cut(terms: tuple[Term, ...], line: str, first: Span, length: int) -> Snippet:
    if len(line) <= length:
        return Snippet(line, tuple(find_spans(terms, line)))
    start = max(0, min(first.start - length // 3, len(line) - length))
    start = _word_start(line, start) if start else 0
    end = min(len(line), start + length)
    cut = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    return Snippet(cut, tuple(find_spans(terms, cut)))


def _word_start(line: str, position: int) -> int:
    """Move to the next start of a word, if one is near."""
    blank = line.find(" ", position, position + 12)
    return blank + 1 if blank >= 0 else position
