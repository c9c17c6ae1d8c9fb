"""Build a Hermes home with a large, believable `state.db`, for benchmarks and endurance tests.

    python tools/make_large_store.py OUT_DIR --sessions 10000 --messages 500000

A real Hermes makes the empty store, so every table, index and trigger is its own. Writing half
a million messages through it would take the better part of an hour, most of it in the search
triggers; so the rows go in through plain SQLite with the triggers set aside, the search indexes
are built once at the end, and the real Hermes has the last word: it must open and list the result.

The same arguments give the same rows. Three words are planted for search benchmarks (`RARE`,
`COMMON`, `CJK`); how often they occur, and which conversation is the big one, is written to
`large-store.json` beside the store.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_peer import PEERS
from large_store.checks import check, check_listing
from large_store.plan import plan_sessions
from large_store.progress import say
from large_store.prose import Prose
from large_store.wanted import NOW, Size
from large_store.writing import create, fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from large_store.checks import Facts

FACTS_FILE = "large-store.json"


def build(size: Size, out: Path) -> Facts:
    """Make `out/state.db` and return the facts about it. The file appears when it is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{out.name}-", dir=out.parent) as scratch:
        home = Path(scratch)
        create(home, size.release)
        rng = random.Random(size.seed)  # noqa: S311 - repeatable on purpose
        sessions = plan_sessions(size, rng)
        with closing(sqlite3.connect(home / "state.db", isolation_level=None)) as db:
            fill(db, sessions, Prose(rng))
            say("checking")
            facts = {"size": asdict(size), "now": NOW, **check(db, size)}
        say(f"listing with Hermes {size.release}")
        facts["newest"] = check_listing(home, size.release, sessions)
        out.mkdir(exist_ok=True)
        shutil.move(home / "state.db", out / "state.db")
    (out / FACTS_FILE).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return facts


def parse_arguments(arguments: Sequence[str] | None = None) -> tuple[Size, Path]:
    """Return the size wanted and the directory for it."""
    parser = argparse.ArgumentParser(description="Build a Hermes home with a large state.db.")
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--release", choices=sorted(PEERS), default="0.22.2")
    parser.add_argument(
        "--big",
        type=int,
        help="messages of the biggest conversation (35000, or a tenth of all in a smaller store)",
    )
    options = parser.parse_args(arguments)
    big = min(35_000, options.messages // 10) if options.big is None else options.big
    if options.messages - big < 2 * options.sessions:
        parser.error("too few messages: every session takes at least two")
    if (options.out / "state.db").exists():
        parser.error(f"{options.out / 'state.db'} is there already")
    size = Size(options.sessions, options.messages, big, options.seed, options.release)
    return size, options.out.resolve()


def main() -> int:
    """Build the store and print what a benchmark needs to know about it."""
    size, out = parse_arguments()
    facts = build(size, out)
    print(json.dumps(facts, indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
