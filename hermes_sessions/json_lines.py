"""Values as JSON in one line of valid UTF-8, whatever is in them."""

from __future__ import annotations

import base64
import json
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SURROGATES: Final = re.compile("[\ud800-\udfff]")

BYTES: Final = "base64"
"""The only key of an object that stands for bytes."""


def to_line(value: object) -> bytes:
    """Return a value as JSON without a line feed; half of a surrogate pair becomes U+FFFD (R083).

    Numbers that JSON does not know are written as null.
    """
    return to_bytes(to_text(value))


def to_text(value: object) -> str:
    """Return the JSON of a value, of bytes as ``plain`` has them."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_finite(value))


def to_texts(values: Iterable[object]) -> list[str]:
    """Return the JSON of each value; as ``to_text``, without its cost for what is simple."""
    simple = _SIMPLE.get
    return ["null" if value is None else simple(type(value), to_text)(value) for value in values]


def to_bytes(text: str) -> bytes:
    """Return text as UTF-8, U+FFFD for half of a surrogate pair."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode("utf-8")


def plain(value: object) -> object:
    """Return an object that stands for bytes, and everything else as it is."""
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    return value


def _unknown(value: object) -> object:
    return plain(value) if isinstance(value, bytes) else str(value)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_unknown)


def _number(value: float) -> str:
    return repr(value) if value - value == 0 else "null"


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value


_SIMPLE: Final[dict[type, Callable[[Any], str]]] = {
    bool: {False: "false", True: "true"}.__getitem__,
    int: int.__repr__,
    float: _number,
    str: encode_basestring,
}
