"""The recap (contract §12): words, not noise."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.models import Message
from hermes_sessions.recap import Limits, build_recap, fold_tools

ROLES = st.sampled_from(["user", "assistant", "tool", "system", "odd"])


def said(
    number: int, role: str, text: object = "", *tools: str, kind: str | None = None
) -> Message:
    calls = json.dumps([{"function": {"name": name, "arguments": "{}"}} for name in tools])
    return Message(
        number, "s", role, text, calls if tools else None, None, None, 1.0, False, True, kind, None
    )


def test_R043_exchanges_are_not_pushed_out_by_tools() -> None:
    messages = []
    number = 0
    for exchange in range(3):
        messages.append(said(number := number + 1, "user", f"question {exchange}"))
        for _ in range(10):
            messages.append(said(number := number + 1, "assistant", "", "terminal"))
            messages.append(said(number := number + 1, "tool", "output"))
        messages.append(said(number := number + 1, "assistant", f"answer {exchange}", "web_search"))
    recap = build_recap(messages, Limits(), whole=True)
    assert [entry.text for entry in recap.entries] == [
        "question 0",
        "answer 0",
        "question 1",
        "answer 1",
        "question 2",
        "answer 2",
    ]
    assert recap.entries[1].tools == "[11 tool calls: terminal, web_search]"


def test_only_the_last_exchanges() -> None:
    messages = [
        message
        for i in range(30)
        for message in (said(2 * i, "user", f"q{i}"), said(2 * i + 1, "assistant", f"a{i}"))
    ]
    recap = build_recap(messages, Limits(exchanges=2), whole=False)
    assert [entry.text for entry in recap.entries] == ["q28", "a28", "q29", "a29"]
    assert recap.first_message_id == 56
    assert recap.is_complete


def test_texts_are_cut_but_the_last_answer_is_whole() -> None:
    long = "\n".join(f"line {i} " + "x" * 80 for i in range(10))
    messages = [
        said(1, "user", "u" * 400),
        said(2, "assistant", long),
        said(3, "user", "short"),
        said(4, "assistant", long),
    ]
    first, cut, _, last = build_recap(messages, Limits(), whole=True).entries
    assert len(first.text) == 301
    assert first.text.endswith("…")
    assert len(cut.text) <= 201
    assert cut.text.endswith("…")
    assert last.text == long


def test_what_is_left_out() -> None:
    messages = [
        said(1, "system", "prompt"),
        said(2, "user", "[CONTEXT SUMMARY]: before"),
        said(3, "user", "real"),
        said(4, "user", "scaffold", kind="hidden"),
        said(5, "tool", "result"),
        said(6, "assistant", "<think>secret</think>visible"),
        said(7, "user", "[model switched]", kind="model_switch"),
    ]
    entries = build_recap(messages, Limits(), whole=True).entries
    assert [(e.role, e.text) for e in entries] == [
        ("user", "real"),
        ("assistant", "visible"),
        ("event", "[model switched]"),
    ]


def test_tools_are_folded_by_name() -> None:
    assert fold_tools([]) == ""
    assert fold_tools(["a"]) == "[1 tool call: a]"
    assert fold_tools(["a", "b", "a"]) == "[3 tool calls: a, b]"
    assert fold_tools(list("abcdef")) == "[6 tool calls: a, b, c, d, …]"


@given(
    st.lists(st.tuples(ROLES, st.one_of(st.none(), st.text(max_size=30), st.binary(max_size=5)))),
    st.integers(0, 4),
)
def test_any_messages_make_a_recap(rows: list[tuple[str, object]], exchanges: int) -> None:
    messages = [said(i, role, text) for i, (role, text) in enumerate(rows)]
    recap = build_recap(messages, Limits(exchanges=exchanges), whole=True)
    assert sum(entry.role == "user" for entry in recap.entries) <= exchanges
    assert all("\x1b" not in entry.text for entry in recap.entries)
