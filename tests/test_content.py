from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.content import (
    as_typed,
    code_blocks,
    plain_text,
    tool_call_ids,
    tool_calls,
)

ANYTHING = st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.binary())


def test_R044_structured_content_is_text_and_image_marks() -> None:
    parts = [
        {"type": "text", "text": "hi"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    assert plain_text("\0json:" + json.dumps(parts)) == "hi [image]"


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        (b"bytes \xff", "bytes \ufffd"),
        (42, "42"),
        ("\0json:{broken", "{broken"),
        ('\0json:"\\u0000json:literal"', "\0json:literal"),
        ('\0json:{"type": "text", "text": "alone"}', "alone"),
        ('\0json:[{"type": "input_audio"}, {"type": "file"}]', "[audio] [file]"),
    ],
)
def test_odd_content(stored: object, text: str) -> None:
    assert plain_text(stored) == text


@given(ANYTHING)
def test_any_cell_is_text(stored: object) -> None:
    assert isinstance(plain_text(stored), str)
    if isinstance(stored, str):
        assert isinstance(plain_text("\0json:" + stored), str)


@given(ANYTHING)
def test_any_cell_is_calls_or_none(stored: object) -> None:
    assert isinstance(tool_calls(stored), tuple)


def test_tool_calls() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "terminal", "arguments": '{"a":1}'}}
    assert tool_calls(json.dumps([call])) == (("terminal", '{"a":1}'),)
    assert tool_calls(json.dumps(call)) == (("terminal", '{"a":1}'),)
    assert tool_calls('[{"broken') == ()
    assert tool_calls('["x", {"name": "y", "arguments": {"b": 2}}]') == (("y", '{"b": 2}'),)


def test_ids_stand_beside_their_calls() -> None:
    entries = [{"id": "a", "name": "x"}, "no call", {"name": "y"}, {"call_id": "c", "name": "z"}]
    assert tool_call_ids(json.dumps(entries)) == ("a", None, "c")
    assert len(tool_calls(json.dumps(entries))) == 3
    assert tool_call_ids("broken") == ()


@pytest.mark.parametrize("nested", ["[" * 100_000, "[" * 900 + "]" * 900, '{"arguments":' * 900])
def test_what_is_nested_too_deep_is_text(nested: str) -> None:
    assert isinstance(plain_text("\0json:" + nested), str)
    assert isinstance(tool_calls(nested), tuple)


END = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"
SKILL = (
    '[IMPORTANT: The user has invoked the "work" skill] body\nThe user has provided the '
    "following instruction alongside the skill invocation: fix it\n\n[Runtime note: x]"
)
MERGED = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("hello", "hello"),
        ("[CONTEXT SUMMARY]: they fixed it", ""),
        ("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns", ""),
        (f"[CONTEXT SUMMARY]: x\n{END}\n\nand now this", "and now this"),
        (f"old request\n{MERGED}\n[CONTEXT SUMMARY]: x", "old request"),
        (f"[PRIOR CONTEXT — for reference only]\nold\n{MERGED}\n[CONTEXT SUMMARY]: x", "old"),
        (f"a text that quotes {MERGED} only", f"a text that quotes {MERGED} only"),
        ('[IMPORTANT: The user has invoked the "work" skill] body', "/work"),
        (SKILL, "/work — fix it"),
    ],
)
def test_as_typed(text: str, typed: str) -> None:
    assert as_typed(text) == typed


@given(st.text())
def test_any_text_was_typed_somehow(text: str) -> None:
    assert isinstance(as_typed(text), str)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("no code", []),
        ("a\n```python\nprint(1)\n```\nb", ["print(1)\n"]),
        ("```\none\n```\n~~~\ntwo\n~~~\n", ["one\n", "two\n"]),
        ("````\n```\ninner\n```\n````", ["```\ninner\n```\n"]),
        ("1. x\n   ```sh\n   ls\n   ```", ["ls\n"]),
        ("```\nnever closed", ["never closed"]),
        ("inline ```code``` here\n```x``` too", []),
    ],
)
def test_code_blocks(text: str, blocks: list[str]) -> None:
    assert code_blocks(text) == blocks
