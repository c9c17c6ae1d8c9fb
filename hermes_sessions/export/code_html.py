"""Code and program output as HTML: coloured by Pygments' lexers, long ones folded.

Colours are classes, never style attributes: the page's policy allows no inline styles. Only
languages of the list below are coloured, and only up to a size: lexers are regular expressions,
and what they read here is whatever somebody sent to an agent (those of C#, Make and Terraform take
minutes for a few kilobytes of it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pygments.lexers import find_lexer_class, get_all_lexers  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Generic,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    String,
)

from hermes_sessions.export.escaping import safe
from hermes_sessions.text import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterable

_LANGUAGES: Final = frozenset(
    {"Bash", "Bash Session", "C", "C++", "CSS", "Clojure", "Dart", "Diff", "Docker",
     "Elixir", "Erlang", "Go", "GraphQL", "HTML", "Haskell", "INI", "JSON", "Java", "JavaScript",
     "Julia", "Kotlin", "Lua", "MySQL", "Nix", "OCaml", "PHP", "Perl",
     "PostgreSQL SQL dialect", "PowerShell", "Python", "Python console session", "Ruby",
     "Rust", "S", "SCSS", "SQL", "Scala", "Swift", "TOML", "TypeScript", "XML",
     "YAML", "Zig"}
)  # fmt: skip
_MOST_COLOURED: Final = 8_000
"""Some lexers take quadratic time in bad cases; so many characters cost a second at worst."""

_LINES_SHOWN: Final = 20
_CHARACTERS_SHOWN: Final = 4_000
_LONGEST_LINE: Final = 160
_LINES_SPARED: Final = 5
_CHARACTERS_SPARED: Final = 1_000
"""So little more is not worth folding away."""

_CLASSES: Final = (
    (Comment, "c"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (String, "s"),
    (Number, "m"),
    (Literal, "m"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin, "b"),
    (Name.Tag, "b"),
    (Name.Attribute, "b"),
    (Generic.Deleted, "d"),
    (Generic.Inserted, "i"),
    (Generic.Heading, "h"),
    (Generic.Subheading, "h"),
    (Generic.Prompt, "c"),
)


class CodeHtml:
    """Writes code as HTML; looks languages up by name or by the path of a file."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ends: dict[str, str] = {}
        for name, aliases, patterns, _ in get_all_lexers(plugins=False):
            if name in _LANGUAGES:
                self._names.update(dict.fromkeys((name.lower(), *aliases), name))
                self._ends.update(dict.fromkeys(patterns, name))
        self._lexers: dict[str, object] = {}
        self._classes: dict[object, str] = {}

    def language(self, word: str) -> str:
        """Return the language a person calls by this name, or ""."""
        return self._names.get(word.lower(), "")

    def language_of(self, path: str) -> str:
        """Return the language of a file by its name, or ""."""
        name = path.replace("\\", "/").rpartition("/")[2]
        _, dot, end = name.rpartition(".")
        return self._ends.get(name) or self._ends.get(f"*{dot}{end}", "")

    def block(self, code: str, language: str = "") -> str:
        """Return code as a block, whole; lines stay lines."""
        return _pre(self._tokens(neutralise(code), language))

    def folded(self, code: str, language: str = "") -> str:
        """Return code as a block of which the first lines show; the rest unfolds.

        Very long lines are wrapped: nobody scrolls that far.
        """
        code = neutralise(code)
        wrap = max(map(len, code.split("\n"))) > _LONGEST_LINE
        cut = _place_to_cut(code)
        tokens = self._tokens(code, language)
        if not cut:
            return _pre(tokens, wrap=wrap)
        head, rest = _cut(tokens, cut)
        lines = code.rstrip("\n").count("\n", cut) + 1
        label = f"{lines:,} more lines" if lines > 1 else f"{len(code) - cut:,} more characters"
        return (
            f'{_pre(head, wrap=wrap)}<details class="more"><summary>{label}</summary>'
            f"{_pre(rest, wrap=wrap)}</details>"
        )

    def _tokens(self, code: str, language: str) -> list[tuple[str, str]]:
        """Return pieces of the code with their classes, those of one class in a row joined."""
        if not language or len(code) > _MOST_COLOURED:
            return [("", code)]
        if language not in self._lexers:
            lexer = find_lexer_class(language)
            self._lexers[language] = lexer(stripnl=False, ensurenl=False)
        tokens: list[tuple[str, str]] = []
        for kind, text in self._lexers[language].get_tokens(code):  # type: ignore[attr-defined]
            name = self._class_of(kind)
            if tokens and (tokens[-1][0] == name or text.isspace()):
                tokens[-1] = (tokens[-1][0], tokens[-1][1] + text)
            else:
                tokens.append((name, text))
        return tokens

    def _class_of(self, kind: object) -> str:
        if kind not in self._classes:
            found = (name for parent, name in _CLASSES if kind in parent)
            self._classes[kind] = next(found, "")
        return self._classes[kind]


def _pre(tokens: Iterable[tuple[str, str]], *, wrap: bool = False) -> str:
    spans = "".join(
        f'<span class="{name}">{safe(text)}</span>' if name else safe(text) for name, text in tokens
    )
    start = '<pre class="wrap">' if wrap else "<pre>"
    return f"{start}<code>{spans}</code></pre>"


def _place_to_cut(code: str) -> int:
    """Return where the part that always shows ends, after a line if possible; 0: show it all."""
    lines = code.rstrip("\n").split("\n", _LINES_SHOWN + _LINES_SPARED)
    is_long = len(lines) > _LINES_SHOWN + _LINES_SPARED
    place = len("\n".join(lines[:_LINES_SHOWN])) + 1 if is_long else 0
    if (place or len(code)) > _CHARACTERS_SHOWN + _CHARACTERS_SPARED:
        place = code.rfind("\n", 0, _CHARACTERS_SHOWN) + 1 or _CHARACTERS_SHOWN
    return place


def _cut(
    tokens: Iterable[tuple[str, str]], place: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    parts: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for name, text in tokens:
        if place > 0:
            parts[0].append((name, text[:place]))
        if len(text) > max(place, 0):
            parts[1].append((name, text[max(place, 0) :]))
        place -= len(text)
    return parts
