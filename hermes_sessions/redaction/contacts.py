"""E-mail addresses and telephone numbers: not secrets, so only on request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOST: Final = re.compile(r"@[a-z0-9](?:[\w-]{0,62}\.){1,8}[a-z]{2,24}", re.IGNORECASE | re.ASCII)
_LOCAL: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-"
_PHONE: Final = re.compile(
    r"(?<![\w.+])(?:\+\d{1,3}[ .-]?(?:\(\d{1,5}\)[ .-]?)?(?:\d{1,5}[ .-]?){2,5}\d{2}"
    r"|\(\d{3}\)[ ]?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4})(?![\w-])"
)


def find_emails(text: str) -> Iterator[Span]:
    """Find e-mail addresses."""
    if "@" in text:
        for match in _HOST.finditer(text):
            before = text[max(0, match.start() - 64) : match.start()]
            length = len(before) - len(before.rstrip(_LOCAL))
            if length:
                yield Span(match.start() - length, match.end(), "email address")


def find_phones(text: str) -> Iterator[Span]:
    """Find telephone numbers: international ones, and those of North America."""
    for match in _PHONE.finditer(text):
        yield Span(*match.span(), "phone number")
