"""All rules over one text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.redaction import (
    assignments,
    blocks,
    contacts,
    headers,
    shell,
    spans,
    tokens,
    urls,
)
from hermes_sessions.redaction.names import KEYWORD

if TYPE_CHECKING:
    from hermes_sessions.redaction.spans import Span


class Kinds(NamedTuple):
    """What counts as a secret besides secrets."""

    emails: bool = False
    phones: bool = False


_ROUNDS: Final = 4
_UNSEEN: Final = re.compile(
    r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)


def redact(text: str, kinds: Kinds) -> tuple[str, Counter[str]]:
    """Replace what the rules find, until they find nothing more.

    What a mark leaves behind may be read anew; so redacting twice is the same as once.
    """
    counts: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        text, found = spans.replace(text, _find(text, kinds))
        if not found:
            break
        counts += found
    return text, counts


def finds(text: str, kinds: Kinds) -> bool:
    """Tell whether the rules find anything that no name has to announce."""
    seen = spans.view(text).text if _UNSEEN.search(text) else text
    return bool(_find_unnamed(seen, kinds))


def _find(text: str, kinds: Kinds) -> list[Span]:
    if _UNSEEN.search(text):
        seen = spans.view(text)
        return [seen.original(span) for span in _find(seen.text, kinds)]
    found = _find_unnamed(text, kinds)
    lower = _lower(text)
    if re.search(KEYWORD, lower):
        found += _find_named(text, lower)
        if spans.is_escaped(text):
            seen = spans.view(text, escapes=True)
            found += map(seen.original, _find_named(seen.text, _lower(seen.text)))
    return found


def _find_unnamed(text: str, kinds: Kinds) -> list[Span]:
    lower = _lower(text)
    found = [*tokens.find(text), *urls.find(text, lower), *shell.find(text, lower)]
    if kinds.emails:
        found += contacts.find_emails(text)
    if kinds.phones:
        found += contacts.find_phones(text)
    return found


def _find_named(text: str, lower: str) -> list[Span]:
    """Find what needs a word such as "key", "secret" or "authorization" in the text."""
    return [
        *blocks.find(text, lower),
        *headers.find(text, lower),
        *assignments.find(text, lower),
    ]


def _lower(text: str) -> str:
    """Return text in lower case and of the same length: one letter would get longer."""
    return text.replace("\u0130", "I").lower()
