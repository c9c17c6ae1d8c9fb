"""Values beside a name that says secret: ``NAME=value``, ``name: value``, ``"name": "value"``, ….

One regular expression finds what looks like such a name with a sign of assignment behind it; the
name in full and the value are then judged by ``names`` and ``values``. The same for XML elements
and for the pairs ``name: X, value: Y`` of container settings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.redaction.names import KEYWORD, judge
from hermes_sessions.redaction.quoted import QUOTE, Values
from hermes_sessions.redaction.spans import Span, marks_in
from hermes_sessions.redaction.values import (
    Form,
    end_of_phrase,
    is_random,
    is_secret,
    looks_secret,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.redaction.names import Name
    from hermes_sessions.redaction.quoted import Value

_ASSIGNED: Final = re.compile(
    rf"""(?x)
    (?:{KEYWORD})
    (?P<rest>[a-z0-9_.\-]{{0,48}}+)
    (?P<close>\*{{0,2}}(?:{QUOTE})?\]?\*{{0,2}})
    (?:
        [ \t]{{0,16}}
        (?::[ ]?[\w.\[\]| ]{{1,40}}?[ ])?       # the type, in Python and TypeScript
        (?P<sign>:=|=>|={{1,3}}|!={{1,2}}|:(?!:|//)|：|＝)\*{{0,2}}
        (?P<blank>[ \t]{{0,32}}+)
      | (?:[ ](?:is|was|are|to|lautet|ist|est|es|это)[ :]{{1,2}}|(?:是|为|為|は)[ ：]?)(?P<word>)
      | [ \t]{{0,4}},[ \t]{{0,4}}(?P<comma>(?={QUOTE}))
      | \((?P<call>(?={QUOTE}))
      | [ ]{{0,30}}\|[ ]{{1,30}}(?P<cell>)
      | [ \t]{{1,8}}(?P<space>(?=[^\s=:]))
    )
    """
)
_SETTER: Final = re.compile(
    r"(?:\bset|setenv|setx|\benv|\barg|export|-g?x|config|variable|login)[ \t]{1,4}"
    r"(?:-\w{1,3} )?[\w./:]{0,30}$"
)
_FIRST_WORD: Final = re.compile(
    r"(?:api|secret|access|private|client|auth|refresh|bot|seed|recovery|master|signing|session"
    r"|encryption|bearer|shared|storage|account|service|license|webhook|deploy|ssh|app)[ ]$"
)
_NAME_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_ELEMENT: Final = re.compile(
    rf"<([\w:.-]{{0,40}}(?:{KEYWORD})[\w.-]{{0,40}})(?:[ \t][^<>]{{0,200}})?>([^<>]{{1,4096}})</"
)
_PAIR: Final = re.compile(r"value\\{0,16}[\"']?[ ]{0,4}[:=][ ]{0,4}")
_PAIR_BEFORE: Final = re.compile(
    r"""(?x)
    (?:name|key|header|variable)\\{0,16}["']?[ ]{0,4}[:=][ ]{0,4}\\{0,16}["']?
    ([\w.-]{1,100})
    \\{0,16}["']?[ ]{0,4},?(?:\\r|\\n|\s){0,40}[\\{]{0,16}["']?$
    """,
    re.ASCII | re.IGNORECASE,
)
_JUDGED: Final = 1024
"""Characters of a value that are looked at."""


class _Place(NamedTuple):
    """A name with a sign of assignment behind it.

    Attributes:
        start: where the name begins.
        written: the name as it is written.
        sign: ``=``, ``:``, …; or "word", "comma", "call", "cell", "space".
        blank: white space follows the sign; tight: none is before it.
        quoted: the name is in quotes.
        line: what stands before the name on its line, at most 200 characters.
        text: the whole text.
    """

    start: int
    written: str
    sign: str
    blank: bool
    tight: bool
    quoted: bool
    line: str
    text: str

    @property
    def is_option(self) -> bool:
        return self.written.startswith("-")


def find(text: str, lower: str) -> Iterator[Span]:
    """Find values of names that say secret; ``lower`` is the text in lower case."""
    values = Values(text)
    marks = {first for first, _ in marks_in(text)}
    position = 0
    while match := _ASSIGNED.search(lower, position):
        position = match.end()
        span = _span(text, lower, match, values)
        if span and not (marks and text.rfind("[", span.start - 80, match.start()) in marks):
            yield span
            position = max(position, span.end)
    if "</" in lower:
        yield from _elements(text, lower)
    if "value" in lower:
        yield from _pairs(text, lower, values)


def _span(text: str, lower: str, match: re.Match[str], values: Values) -> Span | None:
    place = _place(text, lower, match)
    name = judge(place.written)
    if name is None or name.kind in {"authorization", "cookie"}:  # see headers
        return None
    if place.sign in {"=", ":"} and (name.kind == "mnemonic" or "phrase" in place.written.lower()):
        phrase = end_of_phrase(text, match.end(), name)
        if phrase:
            return Span(match.end(), phrase, name.kind)
    value = values.at(match.end())
    if value is None or _is_none(place, value):
        return None
    stored = text[value.start : min(value.end, value.start + _JUDGED)]
    if _fits(place, name, value, stored):
        return Span(value.start, value.end, name.kind)
    return None


def _place(text: str, lower: str, match: re.Match[str]) -> _Place:
    before = text[max(0, match.start() - 60) : match.start()]
    start = match.start() - (len(before) - len(before.rstrip(_NAME_CHARACTERS)))
    if text[start - 1 : start] == "\\" and text[start] in "nrt":
        start += 1  # the letter belongs to an escape
    first_word = _FIRST_WORD.search(lower[max(0, start - 16) : start])
    written = text[start : match.end("rest")]
    if first_word:
        written = first_word[0] + written
    sign = match["sign"] or next(
        word for word in ("word", "comma", "call", "cell", "space") if match[word] is not None
    )
    tight = match["sign"] is not None and text[match.start("sign") - 1] not in " \t"
    line = re.split(r"\n|\\n", text[max(0, start - 200) : start])[-1]
    blank, quoted = bool(match["blank"]), bool(match["close"])
    return _Place(start, written, sign, blank, tight, quoted, line, text)


def _fits(place: _Place, name: Name, value: Value, stored: str) -> bool:
    """Tell whether a value is a secret, by the sign that connects it with its name."""
    if place.is_option and place.sign in {"comma", "space"}:
        return _is_argument(stored, place.written, value, name)
    if place.sign not in {"word", "comma", "call", "cell", "space"}:
        return is_secret(stored, name, _form(place, value, name))
    form = Form.LINE if place.sign in {"word", "cell"} else Form.SHELL
    return looks_secret(stored) and _connects(place, name, stored) and is_secret(stored, name, form)


def _connects(place: _Place, name: Name, stored: str) -> bool:
    """Tell whether a sign that has other uses connects a name with a value."""
    if place.sign == "call":
        is_setter = re.match(r"(?i)\.?(?:.*set_?|.*with_?)?pass", place.written)
        return is_setter is not None and " " not in stored
    if place.sign == "cell":
        return place.line.endswith(("| ", "|", "|`", "| `", "**"))
    if place.sign == "comma":
        return place.quoted and name.strong and " " not in stored
    if place.sign == "word":
        return name.strong or not name.is_password
    if place.sign == "space":
        is_set = _SETTER.search(place.line.lower()) is not None
        return is_set or (name.strong and not name.is_password and is_random(stored))
    return True


def _is_argument(stored: str, option: str, value: Value, name: Name) -> bool:
    """Tell whether what follows ``--password`` is one, not a word of a help text."""
    if re.fullmatch(r"-{1,2}[A-Za-z][a-z_-]*(?:=.*)?|-", stored) or (
        stored.isupper() and not looks_secret(stored)
    ):
        return False
    if value.quoted and option.lower().endswith(stored.lower().replace("_", "-")):
        return False
    if option.startswith("--no-") or (not name.is_password and not looks_secret(stored)):
        return False
    return is_secret(stored, name, Form.QUOTED if value.quoted else Form.SHELL)


def _is_none(place: _Place, value: Value) -> bool:
    """Tell whether what stands there cannot be a value."""
    if value.quoted:
        return not place.quoted and _closes(place, value)
    is_call = place.text.startswith("(", value.end)
    is_message = place.line.endswith("${") and place.text[value.start] in "?+"  # ${NAME:?message}
    return is_call or is_message


def _closes(place: _Place, value: Value) -> bool:
    """Tell whether the quote before a value ends a string that the name is in."""
    quote = place.text[value.start - 1]
    is_open = place.line.count(quote) % 2 == 1
    after = place.text[value.start : value.start + 12]
    goes_on = re.match(
        r"\s*(?:[-+%.]\s|[,)\]};](?:$|[\s\"'),;\]}])|$|(?:if|else|in|and|or|for)\s)", after
    )
    return is_open and goes_on is not None


def _form(place: _Place, value: Value, name: Name) -> Form:
    if value.quoted:
        return Form.QUOTED
    if place.sign == "=" and place.tight and not place.blank and _is_setting(place, value, name):
        return Form.SHELL
    if place.sign == ":" and place.blank and "-" in place.written.strip("-") and name.strong:
        return Form.SHELL  # a header
    rest = re.split(r"\n|\\n", place.text[value.end : value.end + 80])[0].strip(" \t\r\"'")
    is_alone = not place.line.strip(" \t-\"'>#*|+:0123456789") and (not rest or rest[0] == "#")
    stored = place.text[value.start : min(value.end, value.start + _JUDGED)]
    if is_alone and (place.blank if place.sign == ":" else looks_secret(stored)):
        return Form.LINE
    return Form.BARE


def _is_setting(place: _Place, value: Value, name: Name) -> bool:
    """Tell whether ``name=value`` stands in a shell, an address, a file of settings."""
    line = place.line.rstrip(" ")
    after = place.text[value.end : value.end + 1]
    is_alone = not line and after in {"", "\n", "\r"}
    is_all_of_a_string = line.endswith(("'", '"')) and after == line[-1]
    is_parameter = line.endswith(("?", "&", ";")) or after in {";", "&"}
    return (
        name.shouts or place.is_option or is_alone or is_all_of_a_string or is_parameter
    ) or _is_in_settings(place.text, place.start, value.end)


def _is_in_settings(text: str, start: int, end: int) -> bool:
    """Tell whether ``user=…``, ``host=…`` and the like stand beside, as in a connection string."""
    around = text[max(0, start - 80) : start] + " " + text[end : end + 80]
    settings = r"(?i)\b(?:host|user|username|dbname|port|server|uid)=[^\s,]{1,80}[\s;&]"
    return re.search(settings, around) is not None


def _elements(text: str, lower: str) -> Iterator[Span]:
    for match in _ELEMENT.finditer(lower):
        name = judge(text[match.start(1) : match.end(1)])
        content = text[match.start(2) : match.end(2)]
        stored = content.strip()
        if name and stored and is_secret(stored, name, Form.QUOTED):
            start = match.start(2) + content.index(stored)
            yield Span(start, start + len(stored), name.kind)


def _pairs(text: str, lower: str, values: Values) -> Iterator[Span]:
    for match in _PAIR.finditer(lower):
        before = _PAIR_BEFORE.search(text[max(0, match.start() - 200) : match.start()])
        name = judge(before[1]) if before else None
        value = values.at(match.end()) if name else None
        if name and value:
            stored = text[value.start : min(value.end, value.start + _JUDGED)]
            if is_secret(stored, name, Form.QUOTED if value.quoted else Form.SHELL):
                yield Span(value.start, value.end, name.kind)
