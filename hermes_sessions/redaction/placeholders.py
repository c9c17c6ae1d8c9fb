"""What stands where a secret could stand but is none: variables, code, paths, masks, words."""

from __future__ import annotations

import re
from typing import Final

from hermes_sessions.redaction.names import judge
from hermes_sessions.redaction.spans import is_mark, without_marks
from hermes_sessions.redaction.vocabulary import PROSE

_WORDS: Final = r"(?:[A-Z_]+|[a-z_]+|[A-Z]{0,4}[a-z]+(?:[A-Z]{1,4}[a-z]+)*)\d{0,2}"
"""A name as programs have them: words, not a jumble of letters."""

_IN_BRACES: Final = _WORDS + r"(?:[.:(\[][^{}]*|![rsa][^{}]*)?"
_VARIABLE: Final = re.compile(
    r"\$?\{{1,4} ?" + _IN_BRACES + r" ?\}{1,4}"
    r"|\$\([a-z][^()]*\)|%\(" + _WORDS + r"\)s|%[sdr]\b|\{\d?\}|\$[A-Za-z]+::?[A-Za-z_]+",
    re.ASCII,
)
_NOTHING: Final = re.compile(
    r"(?i:none|null|nil|true|false|undefined|n/?a|nan)|[*•.…xX#_?~=:-]{2,}|[*•…?]"
    r"|\$\{[^{}]*\}|\{{1,4} ?" + _IN_BRACES + r" ?\}{1,4}|\$[A-Z_][A-Z0-9_]*|%[A-Za-z_]+%"
    r"|<[\w .:/-]*>",
    re.ASCII,
)
_IN_PROGRAMS: Final = re.compile(
    r"\$[a-z_]+|\$[0-9@*#?]|\$?\{" + _IN_BRACES + r"|\[\]|\{\}|\(\)", re.ASCII
)
"""Placeholders where a program or a person writes; in data they would be passwords."""

_CODE: Final = re.compile(
    r"[A-Za-z_][\w.:]*[(\[].*|" + _WORDS + r"(?:\." + _WORDS + r")*[)\]}][)\]}.,;:(].*"
    r"|(?:" + _WORDS + r")?(?:(?:\.|::|->)" + _WORDS + r")+;?"
    r"|(?:self|cls|this|os|sys|process|config|settings|args)\..*"
    r"|[-=&|<>+/%!?:,.;@\\]+|(?:->|=>).*|[&*]" + _WORDS + r"(?:\." + _WORDS + r")*\*{0,2}:?"
    r"|(?:await|new|lambda|not|return|[Tt]rue|[Ff]alse|None|null)\b.*",
    re.ASCII | re.DOTALL,
)
_KNOWN: Final = re.compile(
    r"(?i)v?\d+(?:\.\d+)+(?:[a-z]+\d*)?|sha-?\d+|md5|utf-?\d+|base\d\d|oauth-?2|http/?\d.*|x509"
    r"|aes-?\d+.*|[rh]s\d{3}|es\d{3}|tls ?v?\d.*|ed25519|\d{4}-\d\d-\d\d.*|0x[0-9a-f]{1,8}"
    r"|(?:cram|digest)-md5|s?xoauth2|scram-sha-.*|latin-?1|iso-?\d.*|python\d.*|\d+(?:px|em|ms|s|m|h|d|kb|mb|gb|k)"
)
_PATH: Final = re.compile(
    r"(?:~|\.{1,2}|\$\w+|[A-Za-z]:)[\\/][\w./\\ @-]*"
    r"|/(?:etc|home|usr|var|opt|run|tmp|root|users|mnt|srv|dev|proc|app|secrets?|keys?|certs?|ssl"
    r"|private|workspace|work|data|config)\b[\w./\\ @-]*"
    r"|(?:/[a-z0-9._-]{1,24}){2,8}/?|https?://[^\s@]*"
    r"|[\w./\\~-]*\.(?:pem|key|pub|crt|cer|p12|pfx|jks|json|ya?ml|toml|ini|txt|env|conf|cfg|py"
    r"|js|ts|sh|md|html?|gpg|asc|ppk)",
    re.ASCII | re.IGNORECASE,
)
_PUBLIC_KEY: Final = re.compile(
    r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S+|sk-ssh-\S+)\s+AAAA|age1"
)
_TO_FILL_IN: Final = re.compile(r"(?i)(?:your|insert|enter|replace|put)[ _-]")


def is_nothing(value: str) -> bool:
    """Tell whether a value is empty, masked, a mark, or a variable, even where data stands."""
    return not value or is_mark(value) or _NOTHING.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Tell whether a value stands for one that is not there."""
    if is_nothing(value) or _PUBLIC_KEY.match(value) or _IN_PROGRAMS.fullmatch(value):
        return True
    rest = _VARIABLE.sub("", value)
    if rest != value:
        return re.search(r"[0-9!#$%&*+@^~]", rest) is None
    return _TO_FILL_IN.match(value) is not None and re.search(r"\d", value) is None


def is_code(value: str) -> bool:
    """Tell whether a value without quotes is an expression: a call, an attribute, an operator."""
    return _CODE.fullmatch(value) is not None


def is_known(value: str) -> bool:
    """Tell whether a value is a version, a date, a unit, or the name of an algorithm."""
    return _KNOWN.fullmatch(value) is not None


def is_public(value: str) -> bool:
    """Tell whether a value is a path, an address, or a public key."""
    return _PUBLIC_KEY.match(value) is not None or _PATH.fullmatch(without_marks(value)) is not None


def is_name(value: str) -> bool:
    """Tell whether a value is itself the name of a secret: ``"password"``, ``OPENAI_API_KEY``."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z_.-]*", value) is not None and (
        judge(value) is not None or (value.isupper() and "_" in value)
    )


def is_prose(value: str) -> bool:
    """Tell whether a value is a remark of several words, not a pass phrase."""
    words = re.findall(r"[A-Za-z']+", value.lower())
    return " " in value and len(words) > 1 and not PROSE.isdisjoint(words)
