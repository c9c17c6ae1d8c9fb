"""What a person types to search, as a tree of terms. Any text is a query; nothing is an error.

Words are ANDed; ``"a phrase"``, ``OR``, ``NOT`` and ``-word``, ``prefix*`` and parentheses mean
what they look like. Anything else is text, and so is an operator that has nothing to work on or a
parenthesis that is not closed.
"""

from typing import Final, NamedTuple

from hermes_sessions.errors import UsageProblem

_DEEPEST: Final = 20
"""Parentheses nested deeper are text: nobody means them."""


class Term(NamedTuple):
    """Something to find.

    Attributes:
        quoted: a phrase in quotes: its words in this order, whatever stands between them.
        prefix: words that begin like this count too.
        part: parts of words count too; only in what was said, and accents count.
    """

    text: str
    quoted: bool = False
    prefix: bool = False
    part: bool = False


class All(NamedTuple):
    """Every part must match."""

    parts: tuple["Query", ...]


class AnyOf(NamedTuple):
    """At least one part must match."""

    parts: tuple["Query", ...]


class Not(NamedTuple):
    """The part must not match."""

    part: "Query"


Query = Term | All | AnyOf | Not


def parse(text: str, *, literal: bool = False) -> Query:
    """Parse any text.

    Args:
        text: what was typed.
        literal: take it as it is, as one term.

    Raises:
        UsageProblem: the text is blank.
    """
    text = text.replace("\0", " ")
    if not text.strip():
        raise UsageProblem("a blank query finds nothing", hint="hermes-sessions search WORD…")
    if literal:
        return Term(text.strip())
    for grouping in (True, False):
        tokens = _tokens(text, grouping=grouping)
        if tokens is not None:
            found = _Parser(tokens).any_of()
            return found if found is not None else _as_words(text)
    raise AssertionError


def terms(query: Query) -> tuple[Term, ...]:
    """Return the terms that a match has because of them: those not below a ``Not``, in order."""
    if isinstance(query, Term):
        return (query,)
    if isinstance(query, Not):
        return ()
    return tuple(term for part in query.parts for term in terms(part))


def likely_rarest(query: Query) -> Term | None:
    """Return the longest of the terms that every match has; None if there is no such term.

    Long words are rarer than short ones, so it is the one to look up first.
    """
    if isinstance(query, Term):
        return query
    if not isinstance(query, All):
        return None
    needed = [term for part in query.parts if (term := likely_rarest(part))]
    return max(needed, key=lambda term: len(term.text), default=None)


def loosened(query: Query) -> Query:
    """Return the query with parts of words counting too."""
    if isinstance(query, Term):
        return query._replace(part=True)
    if isinstance(query, Not):
        return Not(loosened(query.part))
    return type(query)(tuple(map(loosened, query.parts)))


class _Token(NamedTuple):
    """A piece of the text: ``term``, or an operator ``( ) AND OR NOT``."""

    kind: str
    term: Term | None = None


def _tokens(text: str, *, grouping: bool) -> list[_Token] | None:
    """Cut text into tokens; None if parentheses are meant to group and do not fit."""
    tokens: list[_Token] = []
    depth = position = 0
    while position < len(text):
        char = text[position]
        if char.isspace():
            position += 1
        elif char == '"':
            token, position = _phrase(text, position)
            tokens += [token] if token else []
        elif char == "(" and grouping:
            depth += 1
            tokens.append(_Token("("))
            position += 1
        elif char == "-" and _negates(text, position):
            tokens.append(_Token("NOT"))
            position += 1
        else:
            word, position = _word(text, position)
            closing = 0
            while grouping and closing < depth and word.endswith(")"):
                word, closing = word[:-1], closing + 1
            tokens += [_word_token(word)] if word else []
            tokens += [_Token(")")] * closing
            depth -= closing
        if depth > _DEEPEST:
            return None
    return None if depth else tokens


def _phrase(text: str, start: int) -> tuple[_Token | None, int]:
    """Read a phrase in quotes; one that is not closed runs to the end."""
    end = text.find('"', start + 1)
    inside = text[start + 1 : end if end >= 0 else len(text)]
    after = end + 1 if end >= 0 else len(text)
    if not inside.strip():
        return (None if end >= 0 else _Token("term", Term('"'))), after
    prefix = text[after : after + 1] == "*"
    term = Term(" ".join(inside.split()), quoted=True, prefix=prefix and inside[-1].isalnum())
    return _Token("term", term), after + prefix


def _negates(text: str, position: int) -> bool:
    """A minus negates what follows at once; elsewhere (``--force``, ``- x``) it is text."""
    following = text[position + 1 : position + 2]
    return following.isalnum() or following in {'"', "("}


def _word(text: str, start: int) -> tuple[str, int]:
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end], end


def _word_token(word: str) -> _Token:
    if word in {"AND", "OR", "NOT"}:
        return _Token(word)
    if len(word) > 1 and word.endswith("*") and word[-2].isalnum():
        return _Token("term", Term(word[:-1], prefix=True))
    return _Token("term", Term(word))


def _as_words(text: str) -> Query:
    """Only operators were typed: then they are what is looked for."""
    words = tuple(Term(word) for word in text.replace('"', ' " ').split())
    return words[0] if len(words) == 1 else All(words)


class _Parser:
    """Reads tokens by precedence: OR, AND, NOT. Operators without an operand are dropped."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def any_of(self) -> Query | None:
        """Read parts joined by OR."""
        parts = [self._all()]
        while self._next_is("OR"):
            parts.append(self._all())
        return _joined(AnyOf, [part for part in parts if part is not None])

    def _all(self) -> Query | None:
        parts: list[Query] = []
        while self._position < len(self._tokens):
            if self._peek() in {"OR", ")"}:
                break
            if self._next_is("AND"):
                continue
            part = self._maybe_negated()
            if part is not None:
                parts.append(part)
        return _joined(All, parts)

    def _maybe_negated(self) -> Query | None:
        negated = False
        while self._next_is("NOT"):
            negated = not negated
        part = self._part()
        return Not(part) if negated and part is not None else part

    def _part(self) -> Query | None:
        if self._position >= len(self._tokens) or self._peek() in {"AND", "OR", ")"}:
            return None
        token = self._tokens[self._position]
        self._position += 1
        if token.kind != "(":
            return token.term
        inside = self.any_of()
        self._next_is(")")
        return inside

    def _peek(self) -> str:
        return self._tokens[self._position].kind

    def _next_is(self, kind: str) -> bool:
        if self._position < len(self._tokens) and self._peek() == kind:
            self._position += 1
            return True
        return False


def _joined(kind: type[All] | type[AnyOf], parts: list[Query]) -> Query | None:
    if len(parts) > 1:
        return kind(tuple(parts))
    return parts[0] if parts else None
