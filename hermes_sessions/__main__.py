"""Start the program: ``hermes-sessions`` and ``python -m hermes_sessions``."""

from __future__ import annotations

import gc
import os
import sys


def run() -> None:
    """Run the program and end the process.

    A run makes no garbage worth collecting, and taking the interpreter apart again costs a sixth
    of a short run: so the collector is off, and the process ends as soon as its output is out.
    """
    gc.disable()
    if sys.argv[1:2] == ["__complete"]:
        from hermes_sessions.complete import main
    else:
        from hermes_sessions.cli.app import main
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # the reader of a pipe has gone: nobody to tell
        pass
    os._exit(code)


if __name__ == "__main__":
    run()
