"""Run the program with the newest SQLite that PyPI has, in the place of Python's own.

    python newer_sqlite.py HOME [HOME…] -- WORDS…

prints a JSON object: for each home, the output and the exit code.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path


def main() -> None:
    newer = importlib.import_module("pysqlite3.dbapi2")
    sys.modules["sqlite3"] = sys.modules["sqlite3.dbapi2"] = newer
    from support import Cli

    cut = sys.argv.index("--")
    homes, words = sys.argv[1:cut], sys.argv[cut + 1 :]
    outcomes = {}
    for home in homes:
        cli = Cli(Path(home), {**os.environ, "HERMES_HOME": home}, Path(home).parent)
        outcome = cli(*words)
        outcomes[home] = {"stdout": outcome.stdout, "stderr": outcome.stderr, "code": outcome.code}
    print(json.dumps({"sqlite": newer.sqlite_version, "outcomes": outcomes}))  # noqa: T201


if __name__ == "__main__":
    main()
