"""A line or two of text around what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.matching import Span, find_spans
from hermes_sessions.scripts import is_unspaced
from hermes_sessions.text import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def make_snippet(terms: tuple[Term, ...], text: Text, width: int) -> Snippet:
    """Cut the part of a message that shows the first thing found, at most ``width`` cells wide."""
    for source in (text.words, text.calls):
        line = " ".join(neutralise(source).split())
        first = next(find_spans(terms, line), None)
        if first is not None:
            return _cut(terms, line, first, width)
    line = " ".join(neutralise(text.words or text.calls).split())
    end = _fitting(line, width)
    return Snippet(line if end == len(line) else line[: end - 1] + "…", ())


def _cut(terms: tuple[Term, ...], line: str, first: Span, width: int) -> Snippet:
    start = first.start - _fitting(reversed(line[: first.start]), width // 3)
    if _fitting(line[start:], width) == len(line) - start:
        start = len(line) - _fitting(reversed(line), width)
    start = _word_start(line, start) if start else 0
    end = start + _fitting(line[start:], width)
    cut = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    return Snippet(cut, tuple(find_spans(terms, cut)))


def _fitting(chars: Iterable[str], width: int) -> int:
    """Return how many characters fit into a number of cells; ideographs are two cells wide."""
    fitting = 0
    for char in chars:
        width -= 2 if is_unspaced(char) else 1
        if width < 0:
            break
        fitting += 1
    return fitting


def _word_start(line: str, position: int) -> int:
    """Move to the next start of a word, if one is near."""
    blank = line.find(" ", position, position + 12)
    return blank + 1 if blank >= 0 else position
