"""Whether the name of a field, variable, option or header says that its value is a secret.

Names are judged by their last words, in any spelling: ``DB_CHOSEN``, ``dbPassword``,
``spring.datasource.password``, ``--db-password``, ``X-Api-Key``, ``clientsecret``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from hermes_sessions.redaction import vocabulary

KEYWORD: Final = (
    "p(?:ass|wd|sk|hrase)|se(?:cret|nha)|token|ke(?:y|nnwort)|auth|dsn|jwt|recovery|_pw"
    "|c(?:red|o(?:nn(?:ection)?str|okie|ntrase))|m(?:nemonic|ot(?:depasse|[ ]de[ ]passe))"
    "|b(?:earer|ackup_?code)|密码|密碼|口令|密钥|秘钥|パスワード|비밀번호|암호|пароль"
)
"""Whatever ``judge`` knows holds a match of this pattern, in lower case."""


class Name(NamedTuple):
    """What a name says about its value.

    Attributes:
        kind: the kind of secret, as counted and as written in the mark.
        strong: the value is a secret whatever it looks like. Else it must look like one: a
            ``token`` can be a word of a grammar.
        shouts: written in capitals, as variables of the environment are.
    """

    kind: str
    strong: bool
    shouts: bool

    @property
    def is_password(self) -> bool:
        """The value may be chosen by a person, so it may be an ordinary word."""
        return self.kind in {"password", "mnemonic"}


_CHOSEN: Final = (
    r"pass(?:word|wd|wort|phrase|code)s?|kennwort|motdepasse|contrase(?:ñ|n)a|senha"
    r"|.(?<!old)pwd|rootpw|userpw|dbpw|adminpw|密码|密碼|口令|パスワード|비밀번호|암호|пароль"
)
_PRIVATE_KEY: Final = (
    r"(?:private|signing|signature|encryption|decryption|master|hmac|aes|rsa|jwt|ssh|deploy"
    r"|preshared|wallet|pgp|gpg|vault|unseal|client|cipher|crypto)keys?(?:data)?|psk"
)
_API_KEY: Final = (
    r"(?:api|app|application|subscription|service|consumer|auth|access|account|storage"
    r"|sharedaccess|admin|license|integration|ingest|write|bot|server|webhook|webhookurl)keys?"
)
_OPENER: Final = r"(?:auth|access|refresh|api|bot|session|bearer|user|xsrf|csrf|oauth)tokens?"

_STRONG: Final = (
    ("authorization", r"authorization"),
    ("cookie", r"cookies?"),
    ("connection string", r"conn(?:ection)?(?:string|str)"),
    ("mnemonic", r"mnemonic|seedphrase|recovery(?:phrase|key|codes?)|backupcodes?"),
    ("password", _CHOSEN),
    ("private key", _PRIVATE_KEY),
    ("secret", r"secrets?(?:access)?(?:keys?)?|secret(?:string|data|text)|密钥|秘钥"),
    ("credential", r"credentials?|creds"),
    ("api key", _API_KEY),
    ("token", _OPENER),
)
"""Kinds by the end of the name, its words run together."""

_WEAK: Final = {
    **dict.fromkeys(("pass", "pw", "pwd"), "password"),
    **dict.fromkeys(("auth", "pat", "dsn", "sas"), "credential"),
    **dict.fromkeys(("jwt", "bearer"), "token"),
}


@lru_cache(maxsize=4096)
def judge(name: str) -> Name | None:
    """Return what a name says about its value; None if it does not say that it is a secret."""
    words = _words(name) if "[redacted: " not in name else []
    while words and (words[-1].isdigit() or words[-1] in vocabulary.NEUTRAL):
        words.pop()
    if not words or re.search(r"(?:auth0|oauth[12])$", name.lower()):  # a product, a protocol
        return None
    shouts = name.isascii() and name.upper() == name and any(map(str.isalpha, name))
    run = "".join(words)
    for kind, pattern in _STRONG:
        if re.search(f"(?:{pattern})$", run):
            return Name(kind, strong=True, shouts=shouts)
    return _judge_last(words, shouts=shouts)


def _judge_last(words: list[str], *, shouts: bool) -> Name | None:
    last = words[-1]
    before = words[-2] if len(words) > 1 else ""
    if last in {"token", "tokens"}:
        is_secret = before not in vocabulary.TOKEN_OF_A_GRAMMAR
        is_strong = last == "token" and (before in vocabulary.OWNERS or (shouts and bool(before)))
        return Name("token", is_strong, shouts) if is_secret else None
    if last in {"key", "keys"}:
        is_secret = bool(before) and before not in vocabulary.KEY_OF_A_TABLE
        return Name("api key", strong=False, shouts=shouts) if is_secret else None
    kind = _WEAK.get(last) or ("token" if last.endswith("token") else "")
    is_strong = kind == "password" and shouts and bool(before)
    return Name(kind, is_strong, shouts) if kind else None


def _words(name: str) -> list[str]:
    """Split a name where its spelling does: at case, digits and punctuation."""
    return [
        word.lower()
        for word in re.findall(
            r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+", name.rpartition(".")[2] or name
        )
    ]
