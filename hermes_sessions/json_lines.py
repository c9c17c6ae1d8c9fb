"""Values as JSON in one line of valid UTF-8, whatever is in them."""

from __future__ import annotations

import json
import re
from typing import Final

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def to_line(value: object) -> bytes:
    """Return a value as JSON without a line feed; half of a surrogate pair becomes U+FFFD (R083).

    Numbers that JSON does not know are written as null.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        text = _ENCODER.encode(_finite(value))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode("utf-8")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value
