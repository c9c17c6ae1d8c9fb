"""Redaction that follows structure: values under keys, JSON, and JSON inside of JSON.

Every string is decoded before it is searched, so an escape hides nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from hermes_sessions.content import JSON_PREFIX
from hermes_sessions.redaction import headers, scan
from hermes_sessions.redaction.documents import is_json, redact_document
from hermes_sessions.redaction.fields import said_by_option, said_in_object
from hermes_sessions.redaction.names import KEYWORD
from hermes_sessions.redaction.spans import mark
from hermes_sessions.redaction.values import Form, is_secret

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from hermes_sessions.redaction.names import Name
    from hermes_sessions.redaction.scan import Kinds

_SPEAKING: Final = re.compile(KEYWORD + r"|\\u|\\/|\"kty\"|httponly|samesite|\"domain\"")
"""JSON without any of these holds no name that says secret, and nothing that escapes can hide."""

_NEVER_NUMBERS: Final = frozenset({"token", "cookie", "authorization"})
_DEEPEST: Final = 8


class Redactor:
    """Redacts values and counts by kind what it replaced."""

    def __init__(self, kinds: Kinds) -> None:
        self.counts: Counter[str] = Counter()
        self._kinds = kinds
        self._depth = 0

    def value(self, value: object, said: Name | None = None) -> object:
        """Redact anything JSON can hold, and bytes; ``said`` is what its key says about it.

        Raises:
            TypeError: it holds something else, which nobody knows how to redact.
        """
        if isinstance(value, str):
            return self.string(value, said)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            is_secret_number = said and said.strong and said.kind not in _NEVER_NUMBERS
            return self._marked(said) if said and is_secret_number else value
        if isinstance(value, dict):
            return self._object(value, said)
        if isinstance(value, (list, tuple)):
            return self._array(value, said)
        if isinstance(value, bytes):
            text = value.decode("utf-8", "surrogateescape")
            return self.string(text, said).encode("utf-8", "surrogateescape")
        raise TypeError(type(value).__name__)

    def string(self, text: str, said: Name | None = None) -> str:
        """Redact a string, whatever it holds, as the value of a key that says ``said``."""
        if said and text:
            kept = headers.without_scheme(text) if said.kind == "authorization" else 0
            if is_secret(text[kept:], said, Form.FIELD):
                return text[:kept] + self._marked(said)
        if text.startswith(JSON_PREFIX):
            return JSON_PREFIX + self.json_text(text[len(JSON_PREFIX) :])
        if text[:1] in '{["' or text.lstrip()[:1] in '{["':
            return self.json_text(text)
        return self.plain(text)

    def json_text(self, text: str) -> str:
        """Redact the text of JSON or of JSON lines in place; what is neither, as plain text."""
        if _SPEAKING.search(text.lower()) is None and not scan.finds(text, self._kinds):
            return text
        documents = _documents(text) if self._depth < _DEEPEST else []
        if not documents:
            return self.plain(text)
        self._depth += 1
        redacted = [redact_document(document, self.value, None) for document in documents]
        self._depth -= 1
        return "".join(redacted)

    def plain(self, text: str) -> str:
        """Redact a string as text."""
        text, found = scan.redact(text, self._kinds)
        self.counts += found
        return text

    def record(
        self, record: Mapping[str, object], untouched: Container[str], rows: Container[str]
    ) -> dict[str, object]:
        """Redact the fields of a record but ``untouched``; those in ``rows`` hold records."""
        redacted: dict[str, object] = {}
        for field, value in record.items():
            if field in untouched:
                redacted[field] = value
            elif field in rows and isinstance(value, list):
                redacted[field] = [
                    self.record(row, untouched, rows) if isinstance(row, dict) else self.value(row)
                    for row in value
                ]
            else:
                redacted[field] = self.value(value, said_in_object(field, {}, None))
        return redacted

    def _marked(self, said: Name) -> str:
        self.counts[said.kind] += 1
        return mark(said.kind)

    def _object(self, value: dict[object, object], said: Name | None) -> dict[object, object]:
        siblings = {key: item for key, item in value.items() if isinstance(key, str)}
        redacted: dict[object, object] = {}
        for key, item in value.items():
            if isinstance(key, str):
                item = self.value(item, said_in_object(key, siblings, said))  # noqa: PLW2901
                written = self.plain(key)
                key = key if written == key else _free(written, redacted)  # noqa: PLW2901
            else:
                item = self.value(item, said)  # noqa: PLW2901
            redacted[key] = item
        return redacted

    def _array(
        self, value: list[object] | tuple[object, ...], said: Name | None
    ) -> list[object] | tuple[object, ...]:
        redacted: list[object] = []
        before: object = None
        for item in value:
            redacted.append(self.value(item, said_by_option(before) or said))
            before = item
        if isinstance(value, list):
            return redacted
        make = getattr(type(value), "_make", tuple)  # a named tuple stays one
        return make(redacted)


def _documents(text: str) -> list[str]:
    """Return the JSON documents that a text consists of, with what separates them; or none."""
    if is_json(text):
        return [text]
    lines = text.splitlines(keepends=True)
    is_lines = len(lines) > 1 and all(map(is_json, filter(str.strip, lines)))
    return lines if is_lines else []


def _free(key: str, taken: Container[object]) -> str:
    """Return a key that is not taken: two secrets of one kind give the same mark."""
    number, free = 2, key
    while free in taken:
        free = f"{key} ({number})"
        number += 1
    return free
