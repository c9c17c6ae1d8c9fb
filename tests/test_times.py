from __future__ import annotations

import math
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.times import (
    SANE_MAX,
    ago,
    local_iso,
    parse_age,
    parse_time,
    sane_time,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("5h", 18_000),
        ("2d", 172_800),
        ("1w", 604_800),
        ("90", 90 * 86_400),
        ("1.5h", 5400),
        (".5d", 43_200),
        ("2 weeks", 1_209_600),
        ("10 MIN", 600),
        ("45s", 45),
        ("3hrs", 10_800),
        ("0", 0),
    ],
)
def test_ages(text: str, seconds: float) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "abc", "5x", "-5d", "5 d d", "1M5", "h", "1,5h", "5months"])
def test_what_is_no_age(text: str) -> None:
    assert parse_age(text) is None


@given(st.text())
def test_any_text_is_an_age_or_none(text: str) -> None:
    age = parse_age(text)
    assert age is None or age >= 0


@given(st.text())
def test_any_text_is_a_time_or_none(text: str) -> None:
    instant = parse_time(text, NOON)
    assert instant is None or 0 <= instant <= SANE_MAX


def test_times_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Kiritimati")  # UTC+14
        time.tzset()
        assert parse_time("2026-11-30", NOON) == NOON - 12 * 3600 - 14 * 3600
        assert parse_time("today", NOON) == NOON - 2 * 3600
        assert parse_time("yesterday", NOON) == NOON - 26 * 3600
        assert parse_time("2026-11-30T12:00:00+00:00", NOON) == NOON
        assert local_iso(NOON) == "2026-12-01T02:00:00+14:00"
    time.tzset()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-30, "just now"),
        (59, "just now"),
        (60, "1m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (11 * 3600, "11h ago"),
        (13 * 3600, "yesterday"),
        (36 * 3600, "yesterday"),
        (3 * 86_400, "3d ago"),
        (6 * 86_400, "6d ago"),
        (9 * 86_400, "Nov 21"),
        (400 * 86_400, "2025-10-26"),
        (-5 * 86_400, "Dec 5"),
    ],
)
def test_ago(seconds: float, words: str) -> None:
    assert ago(NOON - seconds, NOON) == words


def test_ago_of_nothing() -> None:
    assert ago(None, NOON) == "?"


def test_R128_this_morning_is_not_yesterday() -> None:
    """Days are calendar days: 23 hours ago at half past eleven at night is still today."""
    late = NOON + 11.5 * 3600
    assert ago(late - 23 * 3600, late) == "23h ago"


@pytest.mark.parametrize(
    "value", [None, "x", b"1", -1, 8e252, math.inf, math.nan, SANE_MAX + 1, [], "nan"]
)
def test_R132_what_no_clock_says_is_not_a_time(value: object) -> None:
    assert sane_time(value) is None


@pytest.mark.parametrize("value", [0, 1_756_000_000, 1.5, "1756000000"])
def test_R001_numbers_and_numeric_strings_are_times(value: object) -> None:
    assert sane_time(value) == float(str(value))
