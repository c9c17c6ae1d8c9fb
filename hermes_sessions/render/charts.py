"""Charts of characters: bars, and a calendar whose shades read without colour."""

from __future__ import annotations

from bisect import bisect_left
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

SHADES: Final = "░▒▓█"
NOTHING: Final = "·"
LABEL: Final = 4
"""Columns beside the weeks: the name of the day."""

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def bar(value: float, most: float, width: int) -> str:
    """Draw a bar as a part of the longest one; what is not nothing is seen."""
    if value <= 0 or most <= 0:
        return ""
    return "█" * max(1, round(width * value / most))


def calendar(counts: Mapping[date, int], first: date, today: date) -> list[str]:
    """Draw the weeks from a Monday on as columns, with the names of the months below.

    A shade is a quarter of the days on which there was anything, so one great day does not make
    all others look alike. Days to come are blank.
    """
    weeks = (today - first).days // 7 + 1
    ranks = sorted(number for day, number in counts.items() if first <= day <= today and number)
    lines = []
    for weekday, name in enumerate(_DAYS):
        days = [first + timedelta(days=weekday, weeks=week) for week in range(weeks)]
        cells = (" " if day > today else _shade(counts.get(day, 0), ranks) for day in days)
        lines.append(f"{name:<{LABEL}}{' '.join(cells)}".rstrip())
    return [*lines, _months(first, weeks)]


def _shade(number: int, ranks: Sequence[int]) -> str:
    if not number:
        return NOTHING
    return SHADES[len(SHADES) * bisect_left(ranks, number) // len(ranks)]


def _months(first: date, weeks: int) -> str:
    """Write each month below the first week that begins in it, if there is room."""
    line = ""
    previous = None
    for week in range(weeks - 1):  # below the last one there is no room
        monday = first + timedelta(weeks=week)
        at = LABEL + 2 * week
        is_crowded = previous is None and (monday + timedelta(weeks=2)).month != monday.month
        if monday.month != previous and not is_crowded and len(line) < at:
            line = f"{line:<{at}}{monday:%b}"
        previous = monday.month
    return line
