"""The sample home: a small real store to look around in, copied to a private place to play with."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_sessions.errors import UsageProblem
from hermes_sessions.home import Home
from hermes_sessions.own_files import demo_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE = Path(__file__).parent


def demo_home(environ: Mapping[str, str], now: float, profile: str | None) -> Home:
    """Return the sample home, made on first use with its times moved to end now.

    Raises:
        UsageProblem: a profile was asked for; the sample home has none.
    """
    if profile is not None:
        raise UsageProblem("the sample home has no profiles", hint="leave -p out with --demo")
    home = demo_directory(environ)
    if not (home / "state.db").is_file():
        _make(home, now)
    return Home(home, home / "state.db", None, home, "--demo", str(home))


def _make(home: Path, now: float) -> None:
    """Make it complete beside its place, then move it there."""
    from hermes_sessions.store.shift import shift_times

    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = Path(tempfile.mkdtemp(prefix=".demo-", dir=home.parent))
    try:
        store = temporary / "state.db"
        shutil.copyfile(_PACKAGE / "state.db", store)
        store.chmod(0o600)
        made_at = json.loads((_PACKAGE / "home.json").read_text())["now"]
        shift_times(store, now - made_at)
        if home.exists():
            shutil.rmtree(home)
        os.replace(temporary, home)  # noqa: PTH105 - replaces an empty directory, too
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
