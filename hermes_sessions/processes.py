"""Whether a process runs, and since when, without a library: ``/proc`` and signal 0."""

from __future__ import annotations

import os
import sys
import time
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
    """Return when a process started (epoch seconds, to about 20 ms), or None without ``/proc``."""
    fields = _stat_fields(pid)
    if fields is None:
        return None
    booted_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted_at + int(fields[_START]) / os.sysconf("SC_CLK_TCK")


def session_leader(tty: str) -> int | None:
    """Return the process that a terminal was opened for (its shell), or None.

    Only if this process belongs to that terminal's session, and where ``/proc`` tells.
    """
    try:
        leader = os.getsid(0)
        device = os.stat(tty).st_rdev  # noqa: PTH116
    except (OSError, AttributeError):
        return None
    fields = _stat_fields(leader)
    return leader if fields and int(fields[_TTY]) == device else None


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine did, or None without ``/proc``."""
    fields = _stat_fields(pid)
    return int(fields[_START]) if fields else None


def pid_namespace() -> str | None:
    """Return the number of the namespace that this process' number is from, or None."""
    try:
        link = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - text such as pid:[4026531836]
    except OSError:
        return None
    return link.partition("[")[2].rstrip("]") or None


def parent_of(pid: int) -> int | None:
    """Return the parent of a process, or None without ``/proc``."""
    fields = _stat_fields(pid)
    return int(fields[_PARENT]) if fields else None


_PARENT, _TTY, _START = 1, 4, 19
"""Positions in ``/proc/PID/stat`` behind the name (proc(5): fields 4, 7 and 22)."""


def _stat_fields(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields if len(fields) > _START else None
