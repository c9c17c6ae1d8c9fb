"""Finds tokens that tell by their own form what they are (``token_rules``)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.spans import Span
from hermes_sessions.redaction.token_rules import RULES
from hermes_sessions.redaction.values import is_random

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.redaction.token_rules import Rule

_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4}))"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_SHORTEST: Final = 16
_MANY: Final = 400
"""Characters up to which one pattern for all literals is quicker than one search for each."""

_LONGEST: Final = 2048
_LONG_WORD: Final = 20

_WITHOUT_LITERAL: Final = (
    # Each begins with a character that the regular expression engine can search for.
    ("mailgun key", r"-(?<=[0-9a-f]{32}-)[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-])", 32),
    ("discord token", r"\.(?<=[\w-]{23}\.)[\w-]{6}\.[\w-]{27,}+", 23),
    ("zhipu key", r"\.(?<=[0-9a-f]{32}\.)[A-Za-z0-9]{16}(?![\w.-])", 32),
    ("telegram token", r":(?<=\d{8}:)[\w-]{34,36}(?![\w-])", 8),
)
_AWS_PAIR: Final = r"(?:AKIA|ASIA)[A-Z0-9]{16}[^\w/+]{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
_PRIVATE_JWK: Final = (
    r"\"(?:d|p|q|dp|dq|qi|k)\\{0,16}\"\s{0,4}:\s{0,4}\\{0,16}\"([\w-]{22,}+)\\{0,16}\""
)


def find(text: str) -> Iterator[Span]:
    """Find tokens of a known form."""
    if len(text) >= _SHORTEST:
        words = _long_words(text)
        if len(words) > _MANY or re.search(_any_literal(), words):
            for rule in RULES:
                for literal in rule.literals:
                    if literal in words:
                        yield from _at_literals(text, rule, literal)
        yield from _without_literal(text)


def _without_literal(text: str) -> Iterator[Span]:
    for kind, pattern, left in _WITHOUT_LITERAL:
        for match in re.finditer(pattern, text, re.ASCII):
            start = _to_the_left(text, match.start(), left)
            if is_random(text[start : match.end()]):
                yield Span(start, match.end(), kind)
    if "AKIA" in text or "ASIA" in text:
        for match in re.finditer(_AWS_PAIR, text):
            yield Span(*match.span(1), "aws secret")
    if '"kty' in text:
        for match in re.finditer(_PRIVATE_JWK, text, re.ASCII):
            yield Span(*match.span(1), "private key")


def _long_words(text: str) -> str:
    """Return the words that are long enough for a token: a few per cent of ordinary text.

    Of a picture in base64 only the beginning is taken: no token stands inside of one word.
    """
    long = " ".join([word for word in text.split() if len(word) >= _SHORTEST])
    runs = set(re.findall(rf"[\w+/.$:~-]{{{_SHORTEST},}}+", long, re.ASCII))
    return " ".join(
        [
            run if len(run) < _LONGEST or re.search(r"[_.-]", run) else run[:_LONGEST]
            for run in runs
            if not (run.islower() and run.replace("_", "").replace(".", "").isalpha())
        ]
    )


def _at_literals(text: str, rule: Rule, literal: str) -> Iterator[Span]:
    pattern = _compiled(rule.pattern)
    at = text.find(literal)
    while at >= 0:
        match = pattern.match(text, at)
        after = at + len(literal)
        if match:
            after = max(after, match.end())
            if _passes(match[0], rule.check):
                start = _to_the_left(text, at, rule.left) if rule.left else at
                yield Span(start, match.end(), rule.kind)
        at = text.find(literal, after)


@cache
def _any_literal() -> str:
    return "|".join(re.escape(literal) for rule in RULES for literal in rule.literals)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    start = _START if pattern.startswith("<") else ""
    return re.compile(start + pattern.removeprefix("<"), re.ASCII)


def _to_the_left(text: str, position: int, least: int) -> int:
    """Return where the word begins that ends at a position, at most 64 characters before it."""
    before = text[max(0, position - 64) : position]
    return position - max(least, len(before) - len(before.rstrip(_LETTERS)))


def _passes(token: str, check: str) -> bool:
    if check == "jwt":
        parts = token.split(".", 3)
        return len(parts) > 2 or (len(parts) == 2 and parts[1].startswith("eyJ"))  # noqa: PLR2004
    if check == "long":
        words = re.split(r"[-_.]", token[:512])
        return any(len(word) >= _LONG_WORD for word in words) or is_random(token[:512])
    if check == "random":
        return is_random(token[:512])
    return True
