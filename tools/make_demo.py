"""Write the sample store that ships with hermes-sessions (`hermes-sessions --demo`).

    python tools/make_demo.py

Everything in it is fiction, but the store is not: a real Hermes 0.22.2 writes it, call by call, so
whatever reads the sample reads what Hermes writes. The conversations are kept as small scripts
(see `demo_home/script.py`); they are turned into calls of Hermes' own store at given moments, in
the order of time; Hermes carries them out with its clock set to each moment, and the result is
checked against Hermes' own listing.

All times are relative to `DEMO_NOW`, which is also written to `home.json`: the program shifts the
sample by the difference, so that for its reader the last message is always five minutes old.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from demo_home.checks import check
from demo_home.scenes import DEMO_NOW, SCENES
from demo_home.writing import write_store

DEMO_DIR = Path(__file__).resolve().parent.parent / "hermes_sessions" / "demo"


def main() -> int:
    """Write the sample store and its clock into the package."""
    DEMO_DIR.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as scratch:
        home = Path(scratch)
        store = write_store(SCENES, home)
        finished = store.read_bytes()  # before the check, in which Hermes opens it once more
        listed = check(store, home, SCENES)
    (DEMO_DIR / "state.db").write_bytes(finished)
    clock = json.dumps({"now": DEMO_NOW.timestamp()})
    (DEMO_DIR / "home.json").write_text(clock + "\n", "utf-8")
    for key, title in listed:
        print(f"{key:36}  {title}")
    print(f"{len(SCENES)} sessions, {len(finished):,} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
