"""Calendar days of the local zone, each instant by the offset that held at that instant (R128)."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

SLOT: Final = 900
"""Seconds of a slot: every zone's offset since 1972 is a multiple of it, so no slot has a midnight
inside, whatever the zone and the time of year."""


def local_day(instant: float) -> date:
    """Return the day that an instant lies in."""
    return date.fromtimestamp(instant)  # noqa: DTZ012 - the local zone is meant


def day_begins(day: date) -> float:
    """Return the first instant of a day."""
    return datetime(day.year, day.month, day.day).timestamp()  # noqa: DTZ001 - the local zone


def count_by_day(slots: Iterable[int]) -> Counter[date]:
    """Count instants by their day; each is given as its slot, ``instant // SLOT``."""
    days: Counter[date] = Counter()
    for slot, number in Counter(slots).items():
        days[local_day(slot * SLOT)] += number
    return days


def first_of_weeks(today: date, weeks: int) -> date:
    """Return the Monday that the last so many weeks begin with, this one included."""
    return today - timedelta(days=today.weekday(), weeks=weeks - 1)
