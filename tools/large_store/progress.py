"""Word to the person who waits."""

from __future__ import annotations

import sys
import time


def say(text: str) -> None:
    """Tell the person waiting what is going on, after how many seconds of work."""
    print(f"{time.process_time():6.0f} s  {text}", file=sys.stderr)
