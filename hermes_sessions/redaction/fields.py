"""What says in JSON that a value is a secret: its key, and the entries or options beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.names import Name, judge

if TYPE_CHECKING:
    from collections.abc import Mapping

KUBERNETES: Final = Name("kubernetes secret", strong=True, shouts=False)
KUBERNETES_DATA: Final = frozenset({"data", "stringData"})
_COOKIE: Final = Name("cookie", strong=True, shouts=False)
_COOKIE_MARKS: Final = frozenset({"domain", "httpOnly", "sameSite"})
_PRIVATE_KEY: Final = Name("private key", strong=True, shouts=False)
_PRIVATE_PARTS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
_NAMED_BY: Final = ("name", "key", "header", "variable", "Name", "Key")
_OF_SCHEMAS: Final = frozenset(
    {"type", "description", "title", "pattern", "format", "$ref", "label", "placeholder", "help"}
)
"""What stands in the description of a field, not in the field."""

_LONGEST_NAME: Final = 64


def said_in_object(key: str, siblings: Mapping[str, object], around: Name | None) -> Name | None:
    """Return what is said about the value of a key.

    Args:
        key: the key.
        siblings: the entries of the same object, as far as they are scalars.
        around: what is said about the object. Inside of it values must look like secrets: under
            ``credentials`` there are also types and names.
    """
    beside = _said_beside(key, siblings)
    if beside:
        return beside
    own = judge(key)
    if own or around is None or key in _OF_SCHEMAS:
        return own
    return around if around.kind == KUBERNETES.kind else around._replace(strong=False)


def said_by_option(option: object) -> Name | None:
    """Return what an option in a list of arguments says about the next: ``["--token", "x"]``."""
    if not isinstance(option, str) or len(option) > _LONGEST_NAME:
        return None
    return judge(option) if option.startswith("--") else None


def _said_beside(key: str, siblings: Mapping[str, object]) -> Name | None:
    if key in {"value", "Value"}:
        names = [siblings[word] for word in _NAMED_BY if word in siblings]
        if names and not _COOKIE_MARKS.isdisjoint(siblings):
            return _COOKIE
        return next(filter(None, (judge(name) for name in names if isinstance(name, str))), None)
    if key in KUBERNETES_DATA and siblings.get("kind") == "Secret":
        return KUBERNETES
    if key in _PRIVATE_PARTS and "kty" in siblings:
        return _PRIVATE_KEY
    return None
