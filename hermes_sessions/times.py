"""Ages and instants, in and out. Epoch seconds (float, UTC) inside, the local zone at the edges.

``now`` is always an argument: the clock is read once, at the start of a run.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

SANE_MAX: Final = 4_200_000_000.0
"""Instants outside 0 … SANE_MAX (1970 … 2103) are garbage and never count (as Hermes does)."""

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86_400.0
WEEK: Final = 7 * DAY

_UNITS: Final = {
    unit: seconds
    for seconds, units in (
        (1.0, "s sec secs second seconds"),
        (MINUTE, "m min mins minute minutes"),
        (HOUR, "h hr hrs hour hours"),
        (DAY, "d day days"),
        (WEEK, "w wk wks week weeks"),
    )
    for unit in units.split()
}
_AGE: Final = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*"


def sane_time(value: object) -> float | None:
    """Return an instant that can be trusted, or None (wrong type, not finite, outside the window).

    A numeric string is a number: stores hold them where a column has lost its affinity.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, (int, float)) and 0 <= value <= SANE_MAX:
        return float(value)
    return None


def parse_age(text: str) -> float | None:
    """Read ``30m``, ``5h``, ``2d``, ``1.5w`` as seconds; a bare number is days. None if it is none.

    The grammar is that of ``hermes sessions prune --older-than``: m is minutes, months do not
    exist, long unit names and a blank before the unit are allowed.
    """
    match = re.fullmatch(_AGE, text)
    if match is None:
        return None
    number, unit = match.groups()
    seconds = _UNITS.get(unit.lower()) if unit else DAY
    return None if seconds is None else float(number) * seconds


def parse_time(text: str, now: float) -> float | None:
    """Read an age ago, an ISO date or date-time, ``now``, ``today`` or ``yesterday``.

    A date-time without an offset is in the local zone. None if it is none of these, or lies
    outside the years a store can hold.
    """
    age = parse_age(text)
    if age is not None:
        return sane_time(now - age)
    word = text.strip().lower()
    midnight = _local(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "now":
        return now
    if word == "today":
        return midnight.timestamp()
    if word == "yesterday":
        return (midnight - timedelta(days=1)).timestamp()
    try:
        return sane_time(datetime.fromisoformat(text.strip()).timestamp())
    except (ValueError, OverflowError):
        return None


def local_iso(instant: float) -> str:
    """Write an instant in the local zone with its offset, to the second."""
    return _local(instant).astimezone().isoformat(timespec="seconds")


def local_minute(instant: float) -> str:
    """Write an instant in the local zone for people: ``2026-11-30 16:20``."""
    return _local(instant).strftime("%Y-%m-%d %H:%M")


def ago(instant: float | None, now: float) -> str:
    """Write how long ago an instant was, in at most ten characters; ``?`` when it is unknown.

    Days are calendar days of the local zone, so "yesterday" is what a person calls yesterday.
    """
    if instant is None:
        return "?"
    seconds = now - instant
    then, today = _local(instant), _local(now)
    days = (today.date() - then.date()).days
    if abs(seconds) < MINUTE:
        return "just now"
    if 0 < seconds < HOUR:
        return f"{int(seconds // MINUTE)}m ago"
    if seconds > 0 and (days == 0 or seconds < 6 * HOUR):
        return f"{int(seconds // HOUR)}h ago"
    return _day(then, today, days)


def _day(then: datetime, today: datetime, days: int) -> str:
    if days == 1:
        return "yesterday"
    if 1 < days < 7:  # noqa: PLR2004 - a week
        return f"{days}d ago"
    if then.year == today.year:
        return f"{then:%b} {then.day}"
    return f"{then:%Y-%m-%d}"


def _local(instant: float) -> datetime:
    return datetime.fromtimestamp(instant)  # noqa: DTZ006 - the local zone is meant
