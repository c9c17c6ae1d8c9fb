from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.text import clip, count, neutralise, one_line, plural, size


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("数据库迁移 🌸", "数据库迁移 🌸"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x07b\x00c", "a\ufffdb\ufffdc"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("dos\r\nmac\rend", "dos\nmac\nend"),
        ("abc\u202etxt.exe", "abctxt.exe"),
        ("\u2066isolate\u2069", "isolate"),
        ("\x9b31mC1", "C1"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
    ],
)
def test_neutralise(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@given(st.text(alphabet=st.characters()))
def test_nothing_that_moves_the_cursor_survives(text: str) -> None:
    shown = neutralise(text)
    for char in shown:
        assert char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"}
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_clip() -> None:
    assert clip("hello", 5) == "hello"
    assert clip("hello world", 7) == "hello…"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (999, "999 B"), (12_000, "12.0 kB"), (384_000_000, "384 MB"), (18.4e6, "18.4 MB")],
)
def test_size(number: float, words: str) -> None:
    assert size(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(950, "950"), (9_999, "9,999"), (88_400, "88 k"), (1_240_000, "1.2 M"), (41.3e6, "41 M")],
)
def test_count(number: float, words: str) -> None:
    assert count(number) == words


def test_plural() -> None:
    assert plural(1, "message") == "1 message"
    assert plural(1204, "message") == "1,204 messages"
