"""The few keys of ``config.yaml`` that decide something here, with Hermes' defaults.

YAML is read only when the text of the file mentions the key: importing a parser costs more than
most commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_DEFAULTS: Final[dict[str, object]] = {
    "session.terminal_continue": True,
    "display.resume_display": "full",
    "display.resume_exchanges": 10,
    "display.resume_max_user_chars": 300,
    "display.resume_max_assistant_chars": 200,
    "display.resume_max_assistant_lines": 3,
    "sessions.retention_days": 90,
    "sessions.max_export_messages": 20_000,
    "sessions.max_import_messages": 20_000,
}


class Config(NamedTuple):
    """The configuration of one home.

    Attributes:
        values: keys that the file sets, dotted; everything else has Hermes' default.
    """

    values: dict[str, object]

    def flag(self, key: str) -> bool:
        """Return a switch."""
        return bool(self.values.get(key, _DEFAULTS[key]))

    def number(self, key: str) -> int:
        """Return a limit; a negative or non-integer one falls back to the default."""
        value = self.values.get(key, _DEFAULTS[key])
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            value = _DEFAULTS[key]
        return value if isinstance(value, int) else 0

    def text(self, key: str) -> str:
        """Return a word."""
        return str(self.values.get(key, _DEFAULTS[key]))


def read_config(home: Path | None, keys: tuple[str, ...]) -> Config:
    """Read these dotted keys; an unreadable file means defaults, as in Hermes."""
    if home is None:
        return Config({})
    try:
        text = (home / "config.yaml").read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return Config({})
    wanted = [key for key in keys if key.rpartition(".")[2] in text]
    if not wanted:
        return Config({})
    import yaml

    try:
        tree = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders
    except yaml.YAMLError:
        return Config({})
    values = {}
    for key in wanted:
        section, _, name = key.partition(".")
        part = tree.get(section) if isinstance(tree, dict) else None
        if isinstance(part, dict) and part.get(name) is not None:
            values[key] = part[name]
    return Config(values)


def known_keys() -> dict[str, object]:
    """Return the keys that decide something here, dotted, with Hermes' defaults."""
    return dict(_DEFAULTS)
