"""Titles of conversations, by Hermes' rules (0.22.2): what may be one, and which comes next."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST: Final = 100
"""Characters of a title."""

LONGEST_NUMBER: Final = 20
"""Characters of `` #N`` at most; more digits are no number but a part of the title."""

BOT_CHAT: Final = "Bot Chat"
"""The title by which Hermes finds the hidden chat of a bot; it belongs to that one."""

_CONTROLS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]"
_INVISIBLE: Final = r"[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffc]"
_NUMBERED: Final = r"(.*?) #(\d{1,18})"

_NOT_SEEN_ALONE: Final = {"Cf", "Me", "Mn", "Zs"}
"""Categories of characters that show nothing, or nothing without another one."""

_FILLERS: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and a symbol, by their category, that are blank."""


def clean_title(text: str) -> str:
    """Return a title as it is stored: what cannot be seen dropped, white space collapsed.

    Raises:
        UsageProblem: nothing is left, or it is too long; it is never cut (R118).
    """
    title = tidy(text)
    if not any(map(_is_visible, title)):
        raise UsageProblem("a blank title names nothing", hint="give at least one visible letter")
    if len(title) > LONGEST:
        raise UsageProblem(
            f"a title has {LONGEST} characters at most; this one has {len(title)}",
            hint="shorten it; nothing was changed",
        )
    return title


def tidy(text: str) -> str:
    """Return what the rules leave of a text, which may be nothing or too long for a title."""
    return " ".join(re.sub(_INVISIBLE, "", re.sub(_CONTROLS, "", text)).split())


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in _NOT_SEEN_ALONE and char not in _FILLERS


def base_title(title: str) -> str:
    """Return a title without the number that a branch or continuation got."""
    match = re.fullmatch(_NUMBERED, title)
    return match.group(1) if match else title


def next_title(title: str, taken: Iterable[str]) -> str:
    """Return the next free title of a family: ``deploy``, ``deploy #2``, ``deploy #3`` (R121).

    A family that was there before goes on behind its highest number, gaps or not.

    Args:
        title: of any member; a stored one may break the rules, the new one keeps them.
        taken: titles that are not free, at least those that begin like this one.
    """
    base = base_title(tidy(title))
    if not any(map(_is_visible, base)):
        base = "untitled"
    others = set(taken)
    number = max((_number_in(other, base) for other in others), default=0) + 1
    while (free := _numbered(base, number)) in others:
        number += 1
    return free


def _number_in(title: str, base: str) -> int:
    """Return the number of a member of a family; 1 without one, 0 for what is none."""
    if title == base:
        return 1
    match = re.fullmatch(_NUMBERED, title)
    return int(match.group(2)) if match and match.group(1) == base else 0


def _numbered(base: str, number: int) -> str:
    end = f" #{number}" if number > 1 else ""
    return base[: LONGEST - len(end)].rstrip() + end
