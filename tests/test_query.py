"""The query language: total, and what it looks like (contract §7; cases R058-R062)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_sessions.errors import UsageProblem
from hermes_sessions.query import All, AnyOf, Not, Query, Term, parse, terms


def word(text: str) -> Term:
    return Term(text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("one", word("one")),
        ("one two", All((word("one"), word("two")))),
        ("one AND two", All((word("one"), word("two")))),
        ("one OR two three", AnyOf((word("one"), All((word("two"), word("three")))))),
        ("one -two", All((word("one"), Not(word("two"))))),
        ("one NOT two", All((word("one"), Not(word("two"))))),
        ("NOT one", Not(word("one"))),
        ("NOT NOT one", word("one")),
        ('"one  two"', Term("one two", quoted=True)),
        ('-"one two" x', All((Not(Term("one two", quoted=True)), word("x")))),
        ("pre*", Term("pre", prefix=True)),
        ('"one tw"*', Term("one tw", quoted=True, prefix=True)),
        ("(one OR two) three", All((AnyOf((word("one"), word("two"))), word("three")))),
        ("((one))", word("one")),
        ("-(one two)", Not(All((word("one"), word("two"))))),
    ],
)
def test_operators(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize(
    "text",
    [
        "foo-bar",
        "#123",
        "src/main.py",
        "don't",
        "50%",
        "alice@example.com",
        "ok?",
        "$5",
        "a,b",
        "C:\\tmp",
        "x=y",
        "[br]",
        "~/.hermes",
        "foo::bar",
        "NEAR(",
        "^",
        "f(x)",
        "--force",
        "-",
        "*",
        "**",
        "(",
        ")",
        "and",
        "Or",
        "(open",
        "closed)",
        '"',
        "*x",
        "🌸",
    ],
)
def test_R059_R060_anything_else_is_text(text: str) -> None:
    assert parse(text) == word(text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("foo-bar AND", word("foo-bar")),
        ("OR one", word("one")),
        ("a OR wrong-book OR b", AnyOf((word("a"), word("wrong-book"), word("b")))),
        ("AND", word("AND")),
        ("OR OR", All((word("OR"), word("OR")))),
        ("NOT", word("NOT")),
        ('"" x', word("x")),
        ('"never closed', Term("never closed", quoted=True)),
        ("f(x) y", All((word("f(x)"), word("y")))),
        ("(a OR b", AnyOf((word("(a"), word("b")))),
    ],
)
def test_R060_dangling_operators_are_dropped_or_text(text: str, query: Query) -> None:
    assert parse(text) == query


@pytest.mark.parametrize("text", ["", " ", "\t\n", "\0"])
def test_only_a_blank_query_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse(text)
    with pytest.raises(UsageProblem):
        parse(text, literal=True)


def test_literal_takes_the_text_as_it_is() -> None:
    assert parse(' "a" OR -b* ', literal=True) == word('"a" OR -b*')


def test_R060_long_and_deep_queries() -> None:
    assert parse("(" * 5000 + "x") == word("(" * 5000 + "x")
    assert parse("(" * 5000 + "x" + ")" * 5000)
    assert parse("NOT " * 5001 + "x") == Not(word("x"))
    assert len(terms(parse("word " * 2000))) == 2000
    assert parse("x" * 10_000) == word("x" * 10_000)


PIECES = st.sampled_from(
    ['"', "(", ")", "-", "*", " ", "AND", "OR", "NOT", "a", "foo-bar", "数据", "\0", "'", "%", "é"]
)


@settings(max_examples=500)
@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join)))
def test_any_text_is_a_query(text: str) -> None:
    if not text.replace("\0", " ").strip():
        return
    query = parse(text)
    assert all(term.text.strip() for term in all_terms(query))
    assert parse(text, literal=True) == word(text.replace("\0", " ").strip())


def all_terms(query: Query) -> list[Term]:
    if isinstance(query, Term):
        return [query]
    if isinstance(query, Not):
        return all_terms(query.part)
    return [term for part in query.parts for term in all_terms(part)]


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6))
def test_plain_words_are_anded(words: list[str]) -> None:
    assert [term.text for term in terms(parse(" ".join(words)))] == words
