"""Credentials on a command line and in the files that commands read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.placeholders import is_placeholder
from hermes_sessions.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_BARE = r"(?P<bare>[^\s\"'`<>|;\\]{1,256})"
_VALUE = rf"(?:\\?\"(?P<double>[^\"\\\n]{{1,256}})|\\?'(?P<single>[^'\\\n]{{1,256}})|{_BARE})"
_USER = r"[^\s:\"'|]{1,64}:"
_USER_VALUE = (
    rf"(?:\\?\"{_USER}(?P<double>[^\"\\\n]{{1,256}})|\\?'{_USER}(?P<single>[^'\\\n]{{1,256}})"
    rf"|{_USER}\\?[\"']?{_BARE})"
)
_ECHOED = (
    r"[^|\n]{0,200}\|[ ]*(?:sudo[ ]+-s|chpasswd|passwd|[^|\n]{0,80}(?:password-stdin|with-token))"
)

_COMMAND: Final = re.compile(
    r"(?:\b|(?<=\\n))(?:curl|wget|lftp|https?(?![:\w])|xh|htpasswd|redis-cli|mysql|mariadb|sshpass"
    r"|7z|mongo|login|zip|unzip|sqlcmd|bcp|ldap|smbclient|rpcclient|openssl)"
)
_OPTION: Final = re.compile(r" -(?=[upabwkUPc]|-(?:proxy-)?user|-auth|-cookie)")
_COOKIE: Final = r"(?:\\?[\"'])(?P<bare>[^\s\"'=]{1,64}=[^\"'\n]{1,4096})"

_OPTIONS: Final = {
    "curl": rf" -(?:u|U|-user|-proxy-user)[ =]?{_USER_VALUE}",
    "curl ": rf" -(?:b|-cookie)[ =]{_COOKIE}",
    "wget": rf" --(?:proxy-)?user[ =]{_USER_VALUE}",
    "lftp": rf" -u ?(?:\\?[\"'])?[^\s,:]{{1,64}},{_VALUE}",
    "http": rf" -(?:a|-auth)[ =]{_USER_VALUE}",
    "https": rf" -(?:a|-auth)[ =]{_USER_VALUE}",
    "xh": rf" -(?:a|-auth)[ =]{_USER_VALUE}",
    "htpasswd": rf" -[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}} \S{{1,200}} +\S{{1,64}} +{_VALUE}",
    "redis-cli": rf" -a +{_VALUE}",
    "mysql": rf" -p{_VALUE}",
    "mariadb": rf" -p{_VALUE}",
    "sshpass": rf" -p ?{_VALUE}",
    "7z": rf" -p{_VALUE}",
    "mongo": rf" -p ?{_VALUE}",
    "login": rf" -p ?{_VALUE}",
    "zip": rf" -P ?{_VALUE}",
    "unzip": rf" -P ?{_VALUE}",
    "sqlcmd": rf" -P ?{_VALUE}",
    "bcp": rf" -P ?{_VALUE}",
    "ldap": rf" -w ?{_VALUE}",
    "smbclient": rf" -U +(?:\\?[\"'])?[^\s%\"']{{1,64}}%{_VALUE}",
    "rpcclient": rf" -U +(?:\\?[\"'])?[^\s%\"']{{1,64}}%{_VALUE}",
    "openssl": rf" -(?:k|pass(?:in|out)?) +(?:pass:)?{_VALUE}",
}
"""Secrets that only the command tells: ``mysql -pSECRET``, ``curl -u user:SECRET``."""

_PHRASES: Final = (
    rf"echo +(?:-[ne]+ +)?(?:[^\s:\"'|]{{1,64}}:)?{_VALUE}(?={_ECHOED})",
    rf"from-literal[ =](?:\\?[\"'])?[\w.-]{{1,64}}={_VALUE}",
    r"identified +by +(?:password +)?'(?P<bare>[^'\n]{1,256})",
    r"password +'(?P<bare>[^'\n]{1,256})",
    r"cloudflared[^\n]{0,200}?(?P<bare>eyj[\w=-]{40,}+)",
    rf"vault +login +(?:-[\w=-]+ +){{0,3}}{_VALUE}",
)

_NETRC: Final = re.compile(r"password[ \t]{1,40}([^\s\\\"']{1,1024})")
_NETRC_BEFORE: Final = re.compile(
    r"\b(?:machine|default|login)(?:\s|\\n){1,40}[^\s\\]{1,256}(?:(?:\s|\\n){1,40}login"
    r"(?:\s|\\n){1,40}[^\s\\]{1,256})?(?:\s|\\n){1,40}$"
)
_PGPASS: Final = re.compile(r":(?:\d{4,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:([^\s\"'`\\<>]{1,1024})")
_PGPASS_BEFORE: Final = re.compile(r"(?:^|[\s\"'`,;>(=]|\\n)[\w.*-]{1,128}$")
_IN_LINE: Final = 400


def find(text: str, lower: str) -> Iterator[Span]:
    """Find credentials on command lines; ``lower`` is the text in lower case."""
    yield from _options(text, lower)
    for pattern in _PHRASES:
        for match in re.finditer(pattern, lower):
            yield from _judged(text, match)
    if "password" in lower and ("login" in lower or "machine" in lower):
        for match in _NETRC.finditer(lower):
            before = lower[max(0, match.start() - 600) : match.start()]
            if _NETRC_BEFORE.search(before) and not is_placeholder(text[slice(*match.span(1))]):
                yield Span(*match.span(1), "password")
    if ":5432:" in text or ":*:" in text or "pgpass" in lower:
        for match in _PGPASS.finditer(text):
            before = text[max(0, match.start() - 130) : match.start()]
            is_value = not is_placeholder(match[1]) and not match[1].isdigit()
            if is_value and _PGPASS_BEFORE.search(before) and not before.endswith("arn"):
                yield Span(*match.span(1), "password")


def _options(text: str, lower: str) -> Iterator[Span]:
    """Find short options whose meaning depends on the command before them on the line."""
    for option in _OPTION.finditer(text):
        at = option.start()
        first = max(at - _IN_LINE, text.rfind("\n", max(0, at - _IN_LINE), at) + 1, 0)
        for command in set(_COMMAND.findall(lower, first, at)):
            for known in (command, f"{command} "):
                match = re.compile(_OPTIONS.get(known, "(?!)")).match(text, at)
                if match:
                    yield from _judged(text, match)


def _judged(text: str, match: re.Match[str]) -> Iterator[Span]:
    start, end = match.span(match.lastgroup or 0)
    if match.lastgroup == "bare":
        end = start + len(text[start:end].rstrip(")"))
    value = text[start:end]
    is_option = re.fullmatch(r"-{1,2}[A-Za-z][a-z_-]*", value) is not None
    if not is_placeholder(value) and not value.isdigit() and not is_option:
        yield Span(start, end, "password")
