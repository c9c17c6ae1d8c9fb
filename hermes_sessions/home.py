"""Hermes homes and profiles: which store is meant, by Hermes' own rules (0.22.2).

The home is ``HERMES_HOME`` or the platform's default; a profile is a directory below its root.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from hermes_sessions.errors import NotFound, UsageProblem

DEFAULT_PROFILE: Final = "default"
_PROFILE_NAME: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_TOMBSTONES: Final = ".deleted"


class Home(NamedTuple):
    """The home and the store a command works on.

    Attributes:
        path: the home directory; None for a store outside any home (``--db``).
        store: the store file.
        profile: the name to hand to ``hermes -p``; None if it would choose the same by itself.
        root: the directory that holds the profiles; None without a home.
        reason: why this one, in words.
        hermes_home: what HERMES_HOME must be for ``hermes`` to use it; None to leave it alone.
    """

    path: Path | None
    store: Path
    profile: str | None
    root: Path | None
    reason: str
    hermes_home: str | None = None


def select_home(
    environ: Mapping[str, str],
    *,
    profile: str | None = None,
    home: str | None = None,
    store: str | None = None,
) -> Home:
    """Choose by ``--db``, else ``--home`` or HERMES_HOME with ``-p`` or the sticky profile.

    Raises:
        UsageProblem: the options contradict each other, or the profile's name is no name.
        NotFound: there is no such profile.
    """
    if store is not None:
        if home is not None or profile is not None:
            raise UsageProblem(
                "--db names one file and goes with neither --home nor --profile",
                hint="for a store of a home use --home",
            )
        file = _expand(store, environ)
        return Home(None, file, None, None, "--db")
    base, reason = _base(environ, home)
    hermes_home = str(base) if home is not None else None
    if profile is None and base.parent.name == "profiles":
        return _home(base, base.name, base.parent.parent, f"{reason}, a profile", hermes_home)
    root = _root(base, environ)
    if profile is None:
        profile = _sticky_profile(root)
        if profile is None:
            return _home(base, None, root, reason, hermes_home)
        reason = f"profile {profile}, the active one"
    else:
        profile = _profile_name(profile)
        reason = f"profile {profile}, by -p"
    if profile == DEFAULT_PROFILE:
        return _home(root, profile, root, reason, hermes_home)
    directory = root / "profiles" / profile
    if not _is_live_profile(directory):
        names = ", ".join(profile_names(root)) or "none but default"
        raise NotFound(f"no profile “{profile}” in {root}", hint=f"profiles: {names}")
    return _home(directory, profile, root, reason, hermes_home)


def profile_names(root: Path) -> list[str]:
    """Return the names of the profiles of a root, sorted, without the default one."""
    try:
        entries = list((root / "profiles").iterdir())
    except OSError:
        return []
    return sorted(
        entry.name
        for entry in entries
        if re.fullmatch(_PROFILE_NAME, entry.name) and _is_live_profile(entry)
    )


def sibling_stores(home: Home) -> list[tuple[str, Path]]:
    """Return (profile, store) of the other profiles of the same root that have a store."""
    if home.root is None:
        return []
    stores = [(DEFAULT_PROFILE, home.root / "state.db")]
    stores += [
        (name, home.root / "profiles" / name / "state.db") for name in profile_names(home.root)
    ]
    return [(name, path) for name, path in stores if path != home.store and path.is_file()]


def default_home(environ: Mapping[str, str]) -> Path:
    """Return the home that Hermes uses when nothing is set."""
    suffix = environ.get("HERMES_DATA_DIR_SUFFIX", "")
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA") or str(_user_home(environ) / "AppData" / "Local")
        return Path(local) / f"hermes{suffix}"
    return _user_home(environ) / f".hermes{suffix}"


def _home(
    path: Path, profile: str | None, root: Path, reason: str, hermes_home: str | None
) -> Home:
    return Home(path, path / "state.db", profile, root, reason, hermes_home)


def _base(environ: Mapping[str, str], home: str | None) -> tuple[Path, str]:
    if home is not None:
        if not home.strip():
            raise UsageProblem("--home is blank", hint="name a Hermes home, such as ~/.hermes")
        return _expand(home, environ), "--home"
    value = environ.get("HERMES_HOME", "").strip()
    if value:
        return _expand(value, environ), "HERMES_HOME"
    return default_home(environ), "the default home"


def _root(base: Path, environ: Mapping[str, str]) -> Path:
    native = default_home(environ)
    if base == native or native in base.parents:
        return native
    return base.parent.parent if base.parent.name == "profiles" else base


def _sticky_profile(root: Path) -> str | None:
    try:
        name = (root / "active_profile").read_text(encoding="utf-8-sig").strip().casefold()
    except (OSError, UnicodeDecodeError):
        return None
    if not name or name == DEFAULT_PROFILE or not re.fullmatch(_PROFILE_NAME, name):
        return None
    return name


def _profile_name(name: str) -> str:
    folded = name.strip().casefold()
    if not re.fullmatch(_PROFILE_NAME, folded):
        raise UsageProblem(
            f"“{name}” is no name of a profile",
            hint="a name is a letter or digit, then letters, digits, _ and -, 64 at most",
        )
    return folded


def _is_live_profile(directory: Path) -> bool:
    tombstone = directory.parent / _TOMBSTONES / directory.name
    return directory.is_dir() and not tombstone.exists()


def _user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - no exception


def _expand(text: str, environ: Mapping[str, str]) -> Path:
    """Expand ``~`` and ``$VAR`` as Hermes does, and make the path absolute."""
    text = re.sub(
        r"\$(\w+)|\$\{(\w+)\}",
        lambda match: environ.get(match.group(1) or match.group(2), match.group()),
        text,
    )
    if text == "~" or text.startswith("~/"):
        text = str(_user_home(environ)) + text[1:]
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - symlinks stay
