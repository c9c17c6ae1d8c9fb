"""Stored text made fit for a terminal: nothing in it may move the cursor or reorder the line."""

from __future__ import annotations

import re
from typing import Final

_ESCAPES: Final = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_REPLACEMENT = "\ufffd"

_CONTROLS: Final = {
    **dict.fromkeys((*range(32), *range(127, 160)), _REPLACEMENT),
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),  # half of a surrogate pair
    **{ord(char): "" for char in _BIDI},
    ord("\n"): "\n",
    ord("\t"): "\t",
    0x2028: "\n",
    0x2029: "\n",
}


def neutralise(text: str) -> str:
    """Remove terminal escapes and bidi overrides; show other control characters as U+FFFD.

    Line feeds and tabs stay; a carriage return is a line feed.
    """
    if text.isprintable():
        return text
    text = re.sub(_ESCAPES, "", text).replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """Neutralise text and fold all its white space into single blanks."""
    return " ".join(neutralise(text).split())


def clip(text: str, length: int) -> str:
    """Cut text to a number of characters, the last one an ellipsis if anything was cut."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Write ``1 message``, ``1,204 messages``, ``2 branches`` if that is what they are called."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def size(number_of_bytes: float) -> str:
    """Write a number of bytes for people: ``384 MB``, ``18.4 MB``, ``12 kB`` (decimal units)."""
    units = ("B", "kB", "MB", "GB", "TB")
    for unit in units:
        if number_of_bytes < 1000 or unit == units[-1]:  # noqa: PLR2004 - decimal units
            digits = 0 if number_of_bytes >= 100 or unit == "B" else 1  # noqa: PLR2004
            return f"{number_of_bytes:.{digits}f} {unit}"
        number_of_bytes /= 1000
    raise AssertionError


def count(number: float) -> str:
    """Write a large count for people: ``950``, ``88 k``, ``1.2 M``."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if number >= limit:
            scaled = number / (1e3 if unit == " k" else limit)
            return f"{scaled:.0f}{unit}" if scaled >= 10 else f"{scaled:.1f}{unit}"  # noqa: PLR2004
    return f"{number:,.0f}"
