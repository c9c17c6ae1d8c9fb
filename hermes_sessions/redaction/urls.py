"""Credentials in addresses: ``user:password@host``, tokens in the query, connection strings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.placeholders import is_code, is_placeholder
from hermes_sessions.redaction.spans import Span
from hermes_sessions.redaction.values import is_random, looks_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND: Final = "url password"
_NO_PASSWORD: Final = "x-oauth-basic"  # noqa: S105 - GitHub: the user name is the token

_USER: Final = re.compile(
    r":\\?/\\?/(?P<user>[^\s/:@\"'<>\\?#`]{0,256}):(?P<password>[^\s/@\"'<>\\`]{1,1024})@"
    r"|:\\?/\\?/(?P<token>[\w~.%-]{20,1024})@"
)
_DATABASE: Final = re.compile(
    r"://[^\s/:@\"'<>\\?#`]{0,256}:([^\s\"'<>\\`]{1,512})@(?=[\w.\[-])", re.ASCII
)
_SCHEME: Final = re.compile(
    r"(?:postgres(?:ql)?|mysql2?|mariadb|mongodb|rediss?|amqps?|mssql|oracle|cockroachdb|clickhouse"
    r"|ldaps?|smtps?|imaps?|sftp|ftps?|ssh|smb|nats|mqtts?)(?:\+\w{1,12})?$"
)
_GO_MYSQL: Final = re.compile(r":([^\s:@/\"'`]{1,256})@(?:tcp|unix)\(")
_ORACLE: Final = re.compile(
    r"jdbc:oracle:[a-z]{2,6}:[\w.$-]{1,64}/([^\s/@\"']{1,256})@", re.IGNORECASE
)

_END = r"\s&#\"'<>`;\\,\x00\u2e80-\uffef)\]}|"
_IN_ADDRESS: Final = re.compile(rf"[?&;#]([a-z0-9_.\-]{{1,60}}+)=([^{_END}]{{1,8192}}+)")
_IN_ESCAPED: Final = re.compile(
    rf"(?:%26|%3f|\\u0026)([a-z0-9_.\-]{{1,60}}+)(?:=|%3d)((?:(?!%2[0-367])[^{_END}]){{1,8192}}+)"
)
_UNSURE: Final = re.compile(
    r"pass|key|code|auth|authorization|jwt|sas|hmac|ticket|session|sid|otp|pin|[a-z]{1,20}[_-]?key"
    r"|(?:.*[^a-z])?(?:assertion|samlresponse)"
)
_SURE: Final = re.compile(
    r"(?:token|secret|passw(?:or)?d|passphrase|signature|credential|api[_-]?key|access_?key|sig|pwd)$"
)
_SHORTEST: Final = 6
_MOST_ESCAPES: Final = 4


def find(text: str, lower: str) -> Iterator[Span]:
    """Find credentials in addresses; ``lower`` is the text in lower case."""
    if "@" in text:
        yield from _user_information(text, lower)
        yield from _connection_strings(text, lower)
    patterns = [_IN_ADDRESS]
    if "%3d" in lower or "u0026" in lower:
        patterns.append(_IN_ESCAPED)
    for pattern in patterns:
        for match in pattern.finditer(lower):
            name, span = match[1], match.span(2)
            if _is_credential(name, text[span[0] : min(span[1], span[0] + 1024)]):
                yield Span(*span, "password" if re.search("pass|pwd", name) else "url token")


def _user_information(text: str, lower: str) -> Iterator[Span]:
    for match in _USER.finditer(text):
        if match["token"] is not None:
            if is_random(match["token"]):
                yield Span(*match.span("token"), _KIND)
            continue
        if is_random(match["user"]) or match["password"] == _NO_PASSWORD:
            yield Span(*match.span("user"), _KIND)
        if not is_placeholder(match["password"]):
            yield Span(*match.span("password"), _KIND)
    for match in _DATABASE.finditer(text):  # a password there may hold "/" and "@"
        before = lower[max(0, match.start() - 32) : match.start()]
        if _SCHEME.search(before) and not is_placeholder(match[1]):
            yield Span(*match.span(1), _KIND)


def _connection_strings(text: str, lower: str) -> Iterator[Span]:
    if "@tcp(" in lower or "@unix(" in lower:
        for match in _GO_MYSQL.finditer(text):
            if not is_placeholder(match[1]):
                yield Span(*match.span(1), _KIND)
    if "jdbc:oracle" in lower:
        for match in _ORACLE.finditer(text):
            if not is_placeholder(match[1]):
                yield Span(*match.span(1), _KIND)


def _is_credential(name: str, value: str) -> bool:
    """Tell whether a parameter holds one: ``key`` and ``code`` have many other uses."""
    if _SURE.search(name):
        is_word = re.fullmatch(r"[A-Za-z_.]{1,20}|[=(\[].*", value) is not None
        is_none = is_word or is_code(value) or is_placeholder(value)
        return len(value) >= _SHORTEST and not is_none
    if not _UNSURE.fullmatch(name) or not re.fullmatch(r"(?:[\w.~/=:-]|%[0-9A-Fa-f]{2})+", value):
        return False
    if value.count("%") > _MOST_ESCAPES:
        return False  # text, or a program
    is_mixed = re.search(r"[A-Z]|\d.*[a-z]|[a-z]\d.*\d", value) and not re.fullmatch(
        r"[a-z]+-?\d{1,4}", value
    )
    return is_random(value) or (
        len(value) > _SHORTEST and looks_secret(value) and is_mixed is not None
    )
