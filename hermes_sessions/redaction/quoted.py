"""Where a value ends: at its closing quote, or where a word without blanks does."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

QUOTE: Final = r"""\\{0,16}["'`]|\\{1,16}u0022|&quot;|&\#34;|%22"""
"""A quote, as itself or as an escape of JSON, HTML or an address (for ``re.VERBOSE``)."""

_OPENING: Final = re.compile(
    r"(?:[rRbBuUfF]{1,2}(?=\\{0,16}[\"'])|[@$])?"
    r"(?:(?P<escape>\\{0,16})(?P<mark>\"\"\"|'''|[\"'`])"
    r"|(?P<entity>\\{1,16}u0022|&quot;|&#34;|%22))"
)
_RUN: Final = re.compile(
    r"(?:(?!&quot;|&#34;|%22|\\u0022)[^\s\"'`<>\x00\u2e80-\uffef])++"
    r"(?:(?<=[\w!#$%^&*.?~@-])[\"'`](?=\w)[^\s\"'`<>\x00]*+)*"
)
_CUT: Final = re.compile(
    r"[;&](?=[\w .%-]{1,40}=)|,(?=[a-z_]{2,24}=)|\\[nrt\"'u]|[;,)\]}]{1,8}[.;,:]?$|[.,]$|\*\*$|\|"
)
_LONGEST: Final = 4096


class Value(NamedTuple):
    """A value at ``text[start:end]``, without its quotes."""

    start: int
    end: int
    quoted: bool


class Values:
    """Finds values in one text; remembers the end of the last run without blanks.

    So a text that is one long run is read once, not once for each name in it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._run = (0, 0)
        self._cut = (0, 0)

    def at(self, position: int) -> Value | None:
        """Return the value that starts here, or None."""
        opening = _OPENING.match(self._text, position)
        if opening:
            position = opening.end()
            end = self._closing(opening, position)
            if end is not None:
                return Value(position, end, quoted=True) if end > position else None
        end = self._end_of_run(position)
        return Value(position, end, quoted=False) if end > position else None

    def _closing(self, opening: re.Match[str], start: int) -> int | None:
        limit = min(start + _LONGEST, len(self._text))
        if len(opening["mark"] or "") == 1:
            line = self._text.find("\n", start, limit)
            limit = line if line >= 0 else limit
        match = _closing(opening["escape"] or "", opening["mark"] or opening["entity"]).search(
            self._text, start, limit
        )
        return match.start() if match else None

    def _end_of_run(self, position: int) -> int:
        if not self._run[0] <= position < self._run[1]:
            match = _RUN.match(self._text, position)
            if match is None:
                return position
            self._run = match.span()
            self._cut = (0, 0)
        if not self._cut[0] <= position <= self._cut[1] or self._cut[1] == 0:
            end = self._run[1]
            cut = _CUT.search(self._text, position, end)
            self._cut = (position, cut.start() if cut else end)
        return self._cut[1]


@cache
def _closing(escape: str, quote: str) -> re.Pattern[str]:
    """Return how the end of a quoted value is found: a quote behind as many backslashes.

    Without backslashes, those before a quote must come in pairs.
    """
    if escape:
        return re.compile(rf"(?<!\\){re.escape(escape)}{quote}")
    if len(quote) > 1:
        return re.compile(re.escape(quote))
    return re.compile(rf"(?<!\\){quote}|(?<=[^\\]\\\\){quote}")
