"""Whether a value can be the secret that its name announces."""

from __future__ import annotations

import base64
import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction import placeholders
from hermes_sessions.redaction.vocabulary import ORDINARY, TYPES

if TYPE_CHECKING:
    from hermes_sessions.redaction.names import Name


class Form(Enum):
    """How a value stands beside its name."""

    FIELD = auto()  # a scalar of JSON: nothing but a value can stand there
    QUOTED = auto()  # name = "value"
    SHELL = auto()  # NAME=value, --name value, X-Name: value
    LINE = auto()  # name: value, alone on its line
    BARE = auto()  # name = value: may be code


_PHRASE: Final = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){3,23}(?![\w ])")
_MNEMONIC_LENGTHS: Final = frozenset({12, 15, 18, 21, 24})
_FEWEST_WORDS: Final = 4
_SHORTEST_QUOTED: Final = 2
_SHORTEST_WORD: Final = 4
_SHORTEST_LOOK: Final = 6
_SHORTEST_TOKEN: Final = 8
_SHORTEST_JUMBLE: Final = 10
_SHORTEST_RANDOM: Final = 16
_LOOKED_AT: Final = 512
_LONGEST_JUDGED: Final = 4096


def is_secret(value: str, name: Name, form: Form) -> bool:
    """Tell whether a value beside this name is a secret."""
    value = value.strip()[:_LONGEST_JUDGED]
    if form is Form.FIELD and name.strong:
        is_none = placeholders.is_nothing(value)
        return not is_none and (name.is_password or not placeholders.is_public(value))
    if placeholders.is_placeholder(value):
        return False
    may_be_anything = name.is_password and name.strong
    if not may_be_anything and (placeholders.is_public(value) or placeholders.is_known(value)):
        return False
    return (_is_strong if name.strong else _is_weak)(value, name, form)


def _is_strong(value: str, name: Name, form: Form) -> bool:
    """Judge a value whose name leaves no doubt; what stands there may still be code or prose."""
    if form is Form.QUOTED:
        return _fits_in_quotes(value, name)
    if placeholders.is_code(value) or (form is Form.BARE and value[0] in "([{"):
        return False
    shortest = _SHORTEST_LOOK if form is Form.BARE else _SHORTEST_WORD
    if looks_secret(value) or (name.is_password and value.isdigit() and len(value) >= shortest):
        return True
    if form is Form.SHELL:
        return _is_chosen_word(value)
    return form is Form.LINE and name.is_password and _is_chosen_word(value) and value.islower()


def _is_weak(value: str, name: Name, form: Form) -> bool:
    """Judge a value whose name has other uses."""
    if _holds_user_and_password(value):
        return True
    if name.kind == "api key" and not name.shouts and re.fullmatch(r"[0-9a-fA-F-]+", value):
        return False  # more often a digest
    if form is not Form.BARE and name.kind == "password":
        return looks_secret(value) or (form is Form.SHELL and _is_chosen_word(value))
    if form is not Form.BARE and name.kind in {"token", "credential"} and " " not in value:
        shortest = _SHORTEST_LOOK if name.shouts else _SHORTEST_TOKEN
        is_word = re.fullmatch(r"[\w.~+/=:-]+", value, re.ASCII) is not None
        return is_word and len(value) >= shortest and looks_secret(value)
    return is_random(value)


def _fits_in_quotes(value: str, name: Name) -> bool:
    """Tell whether a quoted value can be what the name says, and not a remark or a name."""
    if len(value) < _SHORTEST_QUOTED or placeholders.is_name(value) or value.lower() in TYPES:
        return False
    if not name.is_password and value.isalpha() and value.islower():
        return len(value) >= _SHORTEST_LOOK and value not in ORDINARY
    if name.kind in {"token", "api key"}:
        return re.search(r"[^\w.~+/=:|$!@%#&*^?,;-]", value) is None
    return not placeholders.is_prose(value)


def _is_chosen_word(value: str) -> bool:
    is_word = len(value) >= _SHORTEST_WORD and value.lower() not in ORDINARY
    return is_word and not placeholders.is_name(value)


def end_of_phrase(text: str, position: int, name: Name) -> int:
    """Return where a pass phrase of small words ends that begins here, without quotes; or 0."""
    match = _PHRASE.match(text, position)
    if match is None:
        return 0
    number = len(match[0].split())
    if name.kind == "mnemonic":
        return match.end() if number in _MNEMONIC_LENGTHS else 0
    return 0 if number < _FEWEST_WORDS or placeholders.is_prose(match[0]) else match.end()


def looks_secret(value: str) -> bool:
    """Tell whether a value looks like a password: letters with digits or signs, or a jumble."""
    if len(value) < _SHORTEST_LOOK or placeholders.is_known(value) or placeholders.is_code(value):
        return False
    if re.search(r"[^\W\d_]", value) is None:
        return False
    if re.search(r"[\d!#$%^&*+~?@§€]", value):
        return True
    return _is_jumble(value)


def _is_jumble(word: str) -> bool:
    """Tell whether small letters turn to capitals more often than in any name."""
    turns = len(re.findall(r"[a-z][^A-Za-z\s]?(?=[A-Z])", word))
    return turns > 2 and turns * 5 >= len(word) >= _SHORTEST_JUMBLE  # noqa: PLR2004


def is_random(value: str) -> bool:
    """Tell whether a value was made by a machine: long, one word, no words inside."""
    value = value[:_LOOKED_AT]
    if len(value) < _SHORTEST_RANDOM or re.search(r"[^\w+/=.~:-]", value, re.ASCII):
        return False
    if placeholders.is_known(value) or placeholders.is_public(value):
        return False
    parts = re.split(r"[-_.:/]+", value)
    mixed = [part for part in parts if not part.isalpha() and not part.isdigit()]
    return any(map(_is_random_word, parts)) or sum(map(len, mixed)) >= _SHORTEST_RANDOM


def _is_random_word(word: str) -> bool:
    """Tell whether letters and digits, or capitals and small letters, alternate."""
    if len(word) < _SHORTEST_TOKEN:  # shorter ones are versions, years, names of models
        return False
    turns = len(re.findall(r"\d(?=[A-Za-z])|[A-Za-z](?=\d)", word))
    if turns > 2 or (turns and len(word) >= _SHORTEST_RANDOM):  # noqa: PLR2004 - as in x86_64
        return True
    odd = len(re.findall(r"[A-Z](?=[A-Z][a-z])|[A-Z](?=[0-9])|[a-z](?=[A-Z])", word))
    return len(word) >= _SHORTEST_RANDOM and odd * 3 >= len(word)


def _holds_user_and_password(value: str) -> bool:
    """Tell whether a value is ``user:password`` in base64."""
    if len(value) % 4 or not re.fullmatch(r"[A-Za-z0-9+/]{8,4096}={0,2}", value):
        return False
    try:
        decoded = base64.b64decode(value).decode("utf-8")
    except ValueError:
        return False
    return decoded.isprintable() and re.fullmatch(r"[^\s:]+:\S+", decoded) is not None
