"""Whether a text matches a query, by rules that need no index. Every index is held to them.

* A word matches a whole word. Case and accents do not count, and an underscore ends a word.
* Scripts that are written without spaces (Chinese, Japanese, Korean, Thai, …) match anywhere, and
  a change between such a script and another one ends a word: ``youer`` is found in 修改youer服务.
* Text with punctuation (``foo-bar``, ``#123``, ``~/.hermes``) matches itself, and where it begins
  or ends with a letter or digit, a word must begin or end there.
* If nothing matches a query so, parts of words are tried too, in what was said.
* A phrase in quotes is its words in order; punctuation between them does not count, unless the
  phrase has some itself.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.query import AnyOf, Not, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hermes_sessions.query import Query

UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1100-\u11ff"  # Hangul letters
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\ua4cf"  # Han, Kana, Bopomofo, Yi
    "\ua960-\ua97f"
    "\uac00-\ud7ff"  # Hangul
    "\uf900-\ufaff"
    "\uff66-\uffdc"  # half-width Kana and Hangul
    "\U00020000-\U0003ffff"
)
_BEGINS = f"(?<!(?![{UNSPACED}])[^\\W_])"
_ENDS = f"(?!(?![{UNSPACED}])[^\\W_])"


class Span(NamedTuple):
    """Where a term was found: positions in the text as it was given."""

    start: int
    end: int


@cache
def _accents() -> Mapping[int, str | None]:
    """Map letters of Latin, Greek and Cyrillic with an accent to those without."""
    table: dict[int, str | None] = dict.fromkeys(range(0x300, 0x370))
    for code in (*range(0xC0, 0x530), *range(0x1E00, 0x2000)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base != chr(code) and base.isalpha():
            table[code] = base
    return table


def fold(text: str, *, accents: bool = True) -> str:
    """Return text in lower case, and unless told otherwise without accents."""
    text = text.lower()
    return text if text.isascii() or not accents else text.translate(_accents())


def is_unspaced(text: str) -> bool:
    """Tell whether text has a character of a script that is written without spaces."""
    return not text.isascii() and re.search(f"[{UNSPACED}]", text) is not None


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits in text."""
    return re.findall(r"[^\W_]+", text)


@cache
def pattern(term: Term, *, accents: bool = True) -> re.Pattern[str]:
    """Return the pattern that finds a term in folded text.

    Without folded accents, as in tool calls, a word also ends only where letters and digits do.
    """
    folded = fold(term.text, accents=accents)
    has_punctuation = re.search(r"[^\w\s]|_", folded) is not None
    if term.quoted and not has_punctuation:
        body = r"[\W_]+".join(map(re.escape, folded.split()))
    else:
        body = r"\s+".join(map(re.escape, folded.split()))
    if is_unspaced(folded) or term.part:
        return re.compile(body)
    begins, ends = (_BEGINS, _ENDS) if accents else (r"(?<![^\W_])", r"(?![^\W_])")
    return re.compile(
        (begins if folded[:1].isalnum() else "")
        + body
        + (ends if folded[-1:].isalnum() and not term.prefix else "")
    )


class Text(NamedTuple):
    """The searchable parts of a message.

    Attributes:
        words: what was said.
        calls: names and arguments of tool calls, where accents count.
    """

    words: str
    calls: str = ""


def has_term(term: Term, text: Text) -> bool:
    """Tell whether a term is in a text."""
    if term.part:
        found = pattern(term, accents=False).search(fold(text.words, accents=False))
        return found is not None
    if text.words and pattern(term).search(fold(text.words)):
        return True
    return bool(text.calls) and (
        pattern(term, accents=False).search(fold(text.calls, accents=False)) is not None
    )


def holds(query: Query, known: Callable[[Term], bool | None]) -> bool | None:
    """Evaluate a query over what is known of its terms; None if that does not decide it."""
    if isinstance(query, Term):
        return known(query)
    if isinstance(query, Not):
        inside = holds(query.part, known)
        return None if inside is None else not inside
    decisive = isinstance(query, AnyOf)
    values = [holds(part, known) for part in query.parts]
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def matches(query: Query, text: Text) -> bool:
    """Tell whether a text matches a query."""
    return bool(holds(query, lambda term: has_term(term, text)))


def find_spans(terms: tuple[Term, ...], text: str) -> Iterator[Span]:
    """Yield where terms are in a text, in order, for highlighting.

    Folding may change the length of a text; then the positions are found anew, character by
    character.
    """
    folded = fold(text)
    back = None if len(folded) == len(text) else _positions(text)
    spans = sorted(
        (match.start(), match.end())
        for term in dict.fromkeys(terms)
        for match in pattern(term).finditer(folded)
        if match.end() > match.start()
    )
    end = -1
    for start, stop in spans:
        if start < end:
            continue
        end = stop
        yield Span(back[start], back[stop]) if back else Span(start, stop)


def _positions(text: str) -> list[int]:
    """Map each position in the folded text to one in the text."""
    positions = [index for index, char in enumerate(text) for _ in fold(char)]
    return [*positions, len(text)]
