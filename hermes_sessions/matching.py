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
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.query import AnyOf, Not, Term
from hermes_sessions.scripts import has_unspaced, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hermes_sessions.query import Query


ACCENTED: Final = ((0xC0, 0x52F), (0x300, 0x36F), (0x1E00, 0x1FFF))
"""Latin, Greek and Cyrillic, and the accents that combine with their letters."""


class Span(NamedTuple):
    """Where a term was found: positions in the text as it was given."""

    start: int
    end: int


class _Accents(dict[int, str]):
    """A table for ``str.translate`` that strips accents, made of the letters that come by."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if any(low <= code <= high for low, high in ACCENTED):
            import unicodedata

            base = unicodedata.normalize("NFD", char)[0]
            is_accent = unicodedata.category(char) == "Mn"
            char = "" if is_accent else base if base.isalpha() else char
        self[code] = char
        return char


_accents: Final = _Accents()


def fold(text: str, *, accents: bool = True) -> str:
    """Return text in lower case, and unless told otherwise without accents."""
    text = text.lower()
    return text if text.isascii() or not accents else text.translate(_accents)


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits in text."""
    return re.findall(r"[^\W_]+", text)


class _Needle(NamedTuple):
    """How to find a term in folded text.

    Attributes:
        body: its pattern, wherever it stands.
        starts, ends: a word must start, or end, where it does.
    """

    body: re.Pattern[str]
    starts: bool
    ends: bool


@cache
def _needle(term: Term, *, accents: bool) -> _Needle:
    folded = fold(term.text, accents=accents)
    punctuated = re.search(r"[^\w\s]|_", folded)
    blank = r"[\W_]+" if term.quoted and not punctuated else r"\s+"
    is_word = not term.part and not has_unspaced(folded)
    return _Needle(
        re.compile(blank.join(map(re.escape, folded.split()))),
        starts=is_word and folded[:1].isalnum(),
        ends=is_word and folded[-1:].isalnum() and not term.prefix,
    )


def occurrences(term: Term, text: str, *, accents: bool = True) -> Iterator[Span]:
    """Yield where a term stands in folded text, from left to right.

    Args:
        term: what to look for.
        text: ``fold(…, accents=accents)`` of a text.
        accents: whether they were folded. Where not, as in tool calls, a word ends only where
            letters and digits do.
    """
    needle = _needle(term, accents=accents)
    position = 0
    while match := needle.body.search(text, position):
        start, end = match.span()
        if end == start:
            return
        before = start > 0 and needle.starts and _goes_on(text[start - 1], unspaced_too=not accents)
        if before or (needle.ends and _goes_on(text[end : end + 1], unspaced_too=not accents)):
            position = start + 1
        else:
            yield Span(start, end)
            position = end


def _goes_on(char: str, *, unspaced_too: bool) -> bool:
    """Tell whether a word goes on with a character beside it."""
    return char.isalnum() and (unspaced_too or not is_unspaced(char))


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
        return _is_in(term, text.words, accents=False)
    return _is_in(term, text.words) or _is_in(term, text.calls, accents=False)


def _is_in(term: Term, text: str, *, accents: bool = True) -> bool:
    return any(occurrences(term, fold(text, accents=accents), accents=accents))


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
    spans = sorted(span for term in dict.fromkeys(terms) for span in occurrences(term, folded))
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
