"""Whether a process runs, and since when, without a library: ``/proc`` and signal 0."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path


def process_exists(pid: int) -> bool:
    """Tell whether a process of this number runs (one of another user counts)."""
    if sys.platform == "win32":
        return True  # signal 0 would end the process there; the claim runs to its end
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OverflowError, OSError):
        return True
    return True


def process_started_at(pid: int) -> float | None:
    """Return when a process started (epoch seconds), where ``/proc`` tells; else None."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
        ticks_per_second = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    if boot is None or len(fields) < 20:  # noqa: PLR2004 - proc(5): starttime is field 22
        return None
    return int(boot.group(1)) + int(fields[19]) / ticks_per_second
