"""The configuration of a home: what Hermes passes over without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hermes_sessions.config import known_keys
from hermes_sessions.store.diagnosis_findings import Checked, Finding, Severity

if TYPE_CHECKING:
    from pathlib import Path

_EDIT: Final = "hermes config edit"
_BACKEND: Final = "database.backend"
"""Where the newest Hermes keeps conversations, if not in a store (``hermes_state`` upstream)."""


def check_config(home: Path | None) -> Checked:
    """Look for a file that cannot be read, values that do not count, and another place to keep."""
    path = home / "config.yaml" if home else None
    if path is None or not path.exists():
        return Checked()
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        tree = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=loader)  # noqa: S506 - safe
    except OSError as error:
        return _unreadable(f"cannot be read ({error.strerror})")
    except UnicodeDecodeError:
        return _unreadable("is not UTF-8")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return _unreadable(f"is not YAML (line {mark.line + 1})" if mark else "is not YAML")
    if tree is not None and not isinstance(tree, dict):
        return _unreadable("has no keys")
    findings = [
        _warning(
            "config-value",
            f"config.yaml says {key} is {value!r}; {default} counts instead",
            _EDIT,
        )
        for key, default in known_keys().items()
        if (value := _value(tree, key)) is not None and not _fits(value, default)
    ]
    backend = _value(tree, _BACKEND)
    if backend not in {None, "sqlite"}:
        message = (
            f"config.yaml has {_BACKEND} {backend!r}: conversations are not kept in this store"
        )
        findings.append(_warning("other-backend", message, None))
    return Checked(tuple(findings))


def _unreadable(what: str) -> Checked:
    message = f"config.yaml {what}: hermes takes the defaults for everything in it"
    return Checked((_warning("config-unreadable", message, _EDIT),))


def _warning(key: str, message: str, cure: str | None) -> Finding:
    return Finding(Severity.WARNING, key, message, cure)


def _value(tree: object, key: str) -> Any:  # noqa: ANN401 - YAML holds anything
    section, _, name = key.partition(".")
    part = tree.get(section) if isinstance(tree, dict) else None
    return part.get(name) if isinstance(part, dict) else None


def _fits(value: object, default: object) -> bool:
    """Tell whether a value is taken: a switch any, a number none below zero."""
    if isinstance(default, bool):
        return isinstance(value, (bool, int))
    if isinstance(default, int):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, str)
