"""Headers of HTTP that carry credentials: as lines, in ``curl -H``, as entries of a dictionary."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.placeholders import is_placeholder
from hermes_sessions.redaction.spans import Span
from hermes_sessions.redaction.values import looks_secret
from hermes_sessions.redaction.vocabulary import ORDINARY

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMES: Final = (
    r"bearer|basic|token|digest|negotiate|ntlm|hawk|apikey|api-key|key|bot|oauth|splunk|mac"
    r"|aws4-hmac-sha256|sharedkey|sharedaccesssignature|genie?key|privatetoken|dpop|ssws|signature"
)
_HEADER: Final = re.compile(
    r"""(?x)
    (?P<header>authorization|cookie)
    (?P<close>\\{0,16}["'`])?
    (?P<sign>\]?[ \t]{0,8}(?:=(?!=)|:|=>)|(?<=["'])[ ]{0,4},(?=[ ]{0,4}["']))[ \t]{0,8}
    (?:[rbuf]{1,2}(?=["']))?(?P<opening>\\{0,16}["'`])?
    """
)
_SCHEME: Final = re.compile(rf"(?i)(?:{_SCHEMES})[ ]+(?=\S)")
_LISTS: Final = re.compile(r"(?i)(?:digest|aws4|hawk|oauth|mac|signature)[\w-]*[ ]")
"""Schemes whose credentials are a list of parameters."""

_WORD: Final = re.compile(r"[^\s\x00—]++")
_END: Final = re.compile(r"\\[nr]|[\"'`](?:\s{0,4}[,;)\]}\\]|$)")
_BEARER: Final = re.compile(r"bearer[ \t]+([\w.~+/=:-]{8,}+)", re.ASCII)
_BASIC: Final = re.compile(r"basic[ \t]+([a-z0-9+/]{8,}+={0,2})")
_LONGEST: Final = 16_384
_JUDGED: Final = 512
_LONG: Final = 24


def find(text: str, lower: str) -> Iterator[Span]:
    """Find credentials in headers; ``lower`` is the text in lower case."""
    if "authorization" in lower or "cookie" in lower:
        position = 0
        while match := _HEADER.search(lower, position):
            start, end, kind = _cookie(text, match) or _authorization(text, match)
            if kind:
                yield Span(start, end, kind)
            position = max(match.end(), end)
    if "bearer" in lower:
        for match in _BEARER.finditer(lower):
            token = text[match.start(1) : match.end(1)][:512]
            if re.search(r"\d", token) or (len(token) >= _LONG and not token.islower()):
                yield Span(*match.span(1), "bearer token")
    if "basic" in lower:
        for match in _BASIC.finditer(lower):
            if _is_user_and_password(text[match.start(1) : match.end(1)]):
                yield Span(*match.span(1), "basic auth")


def without_scheme(value: str) -> int:
    """Return where the credentials begin in the value of an Authorization header."""
    scheme = _SCHEME.match(value)
    return scheme.end() if scheme else 0


def _cookie(text: str, match: re.Match[str]) -> tuple[int, int, str] | None:
    """Return the span of a cookie, its kind "" if it is none; None for the other header."""
    if match["header"] != "cookie":
        return None
    start = match.end()
    value = _value(text, match)
    if match["opening"] is None and match["sign"].endswith("="):
        return start, start, ""  # an assignment in a program
    is_secret = "=" in value or (match["opening"] is not None and looks_secret(value[:512]))
    is_secret = is_secret and not is_placeholder(value[:512]) and value[0] not in "=("
    return start, start + len(value), "cookie" if is_secret else ""


def _authorization(text: str, match: re.Match[str]) -> tuple[int, int, str]:
    start = match.end()
    scheme = _SCHEME.match(text, start)
    start = scheme.end() if scheme else start
    is_list = _LISTS.match(text, match.end()) is not None
    if is_list:
        credentials = _value(text, match)[start - match.end() :]
    else:
        credentials = _first_word(text, match, start, _JUDGED)
    if is_placeholder(credentials) or credentials.lower() in ORDINARY or credentials[0] == "\\":
        return start, start, ""
    if not scheme and (match["sign"].endswith(",") or not looks_secret(credentials)):
        return start, start, ""
    if not is_list:
        credentials = _first_word(text, match, start, _LONGEST)
    return start, start + len(credentials), "authorization"


def _first_word(text: str, match: re.Match[str], start: int, longest: int) -> str:
    word = _WORD.match(text, start, start + longest)
    if word is None:
        return ""
    quote = _quote(text, match)
    return _until(word[0], quote) if quote else _END.split(word[0], maxsplit=1)[0]


def _value(text: str, match: re.Match[str]) -> str:
    """Return the rest of the line, or up to the quote that closes the value or the header."""
    quote = _quote(text, match)
    if quote is None:
        return ""
    end = text.find("\n", match.end(), match.end() + _LONGEST)
    value = text[match.end() : end if end >= 0 else match.end() + _LONGEST]
    if quote:
        return _until(value, quote)
    if _LISTS.match(value):  # quotes are part of it
        return value.partition("\\n")[0].rstrip()
    return _END.split(value, maxsplit=1)[0].rstrip()


def _quote(text: str, match: re.Match[str]) -> str | None:
    """Return the quote that ends a value, "" if the line does, None if there is no value.

    It is the one that the value or the whole header stands in: ``-H "Authorization: …"``.
    """
    before = re.search(
        r"(\\{0,16}[\"'`])[\w-]{0,12}$", text[max(0, match.start() - 30) : match.start()]
    )
    around = before[1] if before and not match["close"] else ""
    if match["opening"] and match["opening"] == around:
        return None  # the quote closes: a header without a value
    return match["opening"] or around


def _until(value: str, quote: str) -> str:
    """Cut a value at its closing quote; at the end of the line if there is none."""
    found = re.search(rf"(?<!\\){re.escape(quote)}", value)
    return value[: found.start()] if found else value


def _is_user_and_password(value: str) -> bool:
    try:
        decoded = base64.b64decode(value[: len(value) // 4 * 4]).decode("utf-8")
    except ValueError:
        return False
    return ":" in decoded and decoded.isprintable()
