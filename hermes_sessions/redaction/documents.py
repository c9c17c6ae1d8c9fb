"""Edits the text of a JSON document in place: strings are replaced, everything else stays."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from hermes_sessions.redaction.fields import (
    KUBERNETES,
    KUBERNETES_DATA,
    said_by_option,
    said_in_object,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hermes_sessions.redaction.names import Name

_TOKEN: Final = re.compile(  # of a text that is known to be JSON
    r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL
)
_KUBERNETES: Final = re.compile(r'"kind"\s*:\s*"Secret"')
_LONGEST_NAME: Final = 256


class Redact(Protocol):
    """How scalars are redacted: strings, and numbers where ``said`` makes a secret of them."""

    def __call__(self, value: object, said: Name | None) -> object:
        """Return the value, or what takes its place."""


class Edit(NamedTuple):
    """What to write at ``text[start:end]``."""

    start: int
    end: int
    written: str


class _Entry(NamedTuple):
    """A scalar in an object: its key, and where it stands."""

    key: str
    start: int
    end: int


class _Frame:
    """An object or array whose end has not been reached yet."""

    def __init__(self, *, is_object: bool, said: Name | None) -> None:
        self.is_object = is_object
        self.said = said
        self.key: str | None = None  # in an array, the string before
        self.entries: list[_Entry] = []


def is_json(text: str) -> bool:
    """Tell whether text is a JSON document; one that is nested too deeply is none."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def redact_document(text: str, redact: Redact, said: Name | None) -> str:
    """Redact a JSON document; ``said`` is what is known about it as a whole."""
    return _edited(text, sorted(_edits(text, redact, said)))


def _edits(text: str, redact: Redact, said: Name | None) -> Iterator[Edit]:
    is_kubernetes = _KUBERNETES.search(text) is not None
    frames = [_Frame(is_object=False, said=said)]
    for token in _TOKEN.finditer(text):
        frame, written = frames[-1], token[0]
        if written in {"{", "["}:
            said = frame.said
            if frame.is_object and frame.key is not None:
                said = said_in_object(frame.key, {}, frame.said)
                if is_kubernetes and frame.key in KUBERNETES_DATA:
                    said = KUBERNETES
            frames.append(_Frame(is_object=written == "{", said=said))
        elif written in {"}", "]"}:
            yield from _entries(text, frames.pop(), redact)
            frames[-1].key = None
        elif written == "," and frame.is_object:
            frame.key = None
        elif written not in {",", ":"}:
            yield from _scalar(text, frame, _Entry(frame.key or "", *token.span()), redact)


def _scalar(text: str, frame: _Frame, entry: _Entry, redact: Redact) -> Iterator[Edit]:
    """Take in a scalar: a key, the value of a key, or an element of an array."""
    written = text[entry.start : entry.end]
    if not frame.is_object:
        yield from _edit(text, entry, redact, said_by_option(frame.key) or frame.said)
        frame.key = written[1:-1]
    elif frame.key is None:
        frame.key = json.loads(written)
        yield from _edit(text, entry, redact, None)
    else:
        frame.entries.append(entry)


def _entries(text: str, frame: _Frame, redact: Redact) -> Iterator[Edit]:
    """Redact the scalars of an object, now that all its keys are known."""
    siblings = {
        entry.key: text[entry.start : entry.end].strip('"')
        for entry in frame.entries
        if entry.end - entry.start <= _LONGEST_NAME
    }
    for entry in frame.entries:
        said = said_in_object(entry.key, siblings, frame.said)
        yield from _edit(text, entry, redact, said)


def _edit(text: str, entry: _Entry, redact: Redact, said: Name | None) -> Iterator[Edit]:
    written = text[entry.start : entry.end]
    if written[0] == '"':
        value: object = json.loads(written) if "\\" in written else written[1:-1]
    else:
        value = 0 if written[0] in "-0123456789IN" else None  # which number does not matter
    redacted = redact(value, said)
    if redacted != value:
        ascii_only = written.isascii() or _has_halves(str(redacted))
        yield Edit(entry.start, entry.end, json.dumps(redacted, ensure_ascii=ascii_only))


def _has_halves(text: str) -> bool:
    """Tell whether halves of surrogate pairs are in a text: they can only be written escaped."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _edited(text: str, edits: Iterable[Edit]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, written in edits:
        pieces += (text[position:start], written)
        position = end
    return "".join((*pieces, text[position:])) if pieces else text
