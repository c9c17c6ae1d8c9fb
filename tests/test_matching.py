from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_sessions.matching import Text, find_spans, fold, has_term, holds, matches
from hermes_sessions.query import Not, Term, parse


def found(query: str, text: str) -> bool:
    return matches(parse(query), Text(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("pipeline", "The Pipeline failed"),
        ("pipeline", "ci_pipeline_id"),
        ("PIPELINE", "pipeline."),
        ("zurich", "Zürich"),
        ("Zürich", "zurich"),
        ("resume", "my re\u0301sume\u0301"),
        ("chat-send", "use chat-send here"),
        ("#123", "see #123 and"),
        ("src/main.py", "edit src/main.py:12"),
        ("don't", "I don't know"),
        ("50%", "about 50% of"),
        ("alice@example.com", "to alice@example.com."),
        ("ok?", "is it ok?"),
        ("$5", "costs $5"),
        ("a,b", "f(a,b)"),
        ("C:\\tmp", "in C:\\tmp\\x"),
        ("x=y", "set x=y;"),
        ("[br]", "a[br]b"),
        ("~/.hermes", "cd ~/.hermes/sessions"),
        ("foo::bar", "std::foo::bar::baz"),
        ("AUTH_TOKEN", "the AUTH_TOKEN?"),
        ("记忆断裂", "这里的记忆断裂问题"),
        ("断", "记忆断裂"),
        ("数据", "数据库迁移"),
        ("데이터", "데이터베이스를"),
        ("ตัว", "ตัวอย่างนี้"),
        ("youer", "修改youer服务端"),
        ("ai", "用ai写代码"),
        ("api接口", "调用api接口返回"),
        ("🌸", "桜🌸前線"),
        ("init*", "initialise"),
        ("数*", "大数据"),
        ('"axolotl migration"', "the axolotl\n  migration plan"),
        ('"axolotl migration"', "axolotl, migration"),
        ('"foo-bar baz"', "a foo-bar  baz"),
        ("项目 AND deploy", "项目要deploy了"),
        ("广西 OR 桂林 OR 漓江", "去桂林玩"),
        ("one -two", "one three"),
        ("NOT two", "one"),
    ],
)
def test_finds(query: str, text: str) -> None:
    assert found(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("art", "start of an article"),
        ("init", "initialise"),
        ("chat-send", "chat send"),
        ("50%", "50 of"),
        ("a.b", "a,b"),
        ("foo-bar", "xfoo-bar"),
        ("foo-bar", "foo-bars"),
        ("100%完成", "100元完成"),
        ('"axolotl migration"', "migration axolotl"),
        ('"foo-bar baz"', "foo bar baz"),
        ("one two", "one"),
        ("one -two", "one two"),
        ("youer", "修改xyouer服务端"),
        ("init*", "reinit"),
    ],
)
def test_does_not_find(query: str, text: str) -> None:
    assert not found(query, text)


def test_accents_count_in_tool_calls() -> None:
    assert has_term(Term("étude"), Text("", '{"path": "Étude.txt"}'))
    assert not has_term(Term("etude"), Text("", '{"path": "étude.txt"}'))


def test_what_is_not_known_may_still_be_decided() -> None:
    known = {Term("a"): True, Term("b"): None, Term("c"): False}
    assert holds(parse("a OR b"), known.get) is True
    assert holds(parse("c b"), known.get) is False
    assert holds(parse("a b"), known.get) is None
    assert holds(Not(Term("b")), known.get) is None
    assert holds(parse("a -c"), known.get) is True


@given(st.text(min_size=1), st.text(), st.text())
def test_a_text_matches_itself(middle: str, before: str, after: str) -> None:
    text = " ".join(middle.replace("\0", " ").split())
    if text:
        assert has_term(Term(text), Text(f"{before} {text} {after}"))


@given(st.text(), st.text(min_size=1))
def test_spans_are_where_the_term_is(text: str, wanted: str) -> None:
    if not wanted.strip():
        return
    term = Term(wanted.strip())
    spans = list(find_spans((term,), text))
    assert bool(spans) == has_term(term, Text(text)) or not fold(wanted.strip())
    last = 0
    for span in spans:
        assert last <= span.start <= span.end <= len(text)
        last = span.end


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
