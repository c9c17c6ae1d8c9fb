"""Scripts that are written without spaces between words: Chinese, Japanese, Korean, Thai.

A regular expression with these ranges costs milliseconds to compile, more than most searches take;
hence plain comparisons.
"""

from itertools import groupby
from typing import Final

_RANGES: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0xA4CF),  # Han, Kana, Bopomofo, Yi
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),  # half-width Kana and Hangul
    (0x20000, 0x3FFFF),
)

FIRST: Final = chr(_RANGES[0][0])
"""The first character of such a script; most text of other scripts sorts before it."""


def is_unspaced(char: str) -> bool:
    """Tell whether a character belongs to a script without spaces."""
    return char >= FIRST and any(low <= ord(char) <= high for low, high in _RANGES)


def has_unspaced(text: str) -> bool:
    """Tell whether text has a character of a script without spaces."""
    return not text.isascii() and any(map(is_unspaced, text))


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of such characters in text."""
    return ["".join(run) for is_run, run in groupby(text, is_unspaced) if is_run]
