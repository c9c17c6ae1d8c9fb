"""Which terminal this is, and the note of which conversation it was in (Hermes' breadcrumbs).

The notes are Hermes' own files in ``<home>/terminal-sessions/``: one named after the tty, one
after the multiplexer's pane (``hermes_cli/terminal_breadcrumbs`` of 0.22.2). Both numbers are
recycled, so a note counts only if it is newer than the terminal, or than the multiplexer's server,
and, where we wrote it, only in the very pane of the very server that it names.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from hermes_sessions.processes import parent_of, process_started_at, session_leader
from hermes_sessions.times import DAY, ago, sane_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

PANE_VARIABLES: Final = (
    "ZELLIJ_PANE_ID",
    "TMUX_PANE",
    "KITTY_WINDOW_ID",
    "WEZTERM_PANE",
    "TERM_SESSION_ID",
    "WT_SESSION",
)
STALE_AFTER: Final = 30 * DAY
_NAMES: Final = {
    "ZELLIJ_PANE_ID": "zellij pane",
    "TMUX_PANE": "tmux",
    "KITTY_WINDOW_ID": "kitty window",
    "WEZTERM_PANE": "WezTerm pane",
    "TERM_SESSION_ID": "terminal",
    "WT_SESSION": "terminal",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class Terminal(NamedTuple):
    """The terminal of this run.

    Attributes:
        tty: path of the terminal device of stdin, else of stdout; None if neither is one.
        tty_since: when the terminal was opened (epoch seconds), or None.
        panes: the multiplexer and emulator variables that are set, in Hermes' order.
        server: what identifies the multiplexer's server, as text; "" if it is not known.
        server_since: when that server started (epoch seconds), or None.
    """

    tty: str | None
    tty_since: float | None
    panes: tuple[tuple[str, str], ...]
    server: str
    server_since: float | None

    @property
    def name(self) -> str:
        """What to call it: ``tmux %3``, ``/dev/pts/4``."""
        if self.panes:
            variable, value = self.panes[0]
            return f"{_NAMES[variable]} {value}"
        return self.tty or "no terminal"

    @property
    def noun(self) -> str:
        """``pane``, ``window`` or ``terminal``."""
        names = {"TMUX_PANE": "pane", "ZELLIJ_PANE_ID": "pane", "WEZTERM_PANE": "pane"}
        return names.get(self.panes[0][0], "terminal") if self.panes else "terminal"

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of this terminal's notes, that of the tty first."""
        names = [f"tty-{_sanitised(self.tty)}"] if self.tty else []
        if self.panes:
            variable, value = self.panes[0]
            names.append(f"{variable.lower()}-{_sanitised(value)}")
        return tuple(names)


class Note(NamedTuple):
    """A usable note: this terminal was last in that session."""

    session_id: str
    cwd: str | None
    at: float


class Rejected(NamedTuple):
    """A note that is there and does not count, and why."""

    session_id: str
    reason: str


def identify(streams: Iterable[TextIO], environ: Mapping[str, str]) -> Terminal:
    """Find out which terminal this is."""
    tty = next(filter(None, map(_tty_name, streams)), None)
    panes = tuple((name, environ[name]) for name in PANE_VARIABLES if environ.get(name))
    leader = session_leader(tty) if tty else None
    server, since = _server(environ, panes[0][0], leader) if panes else ("", None)
    return Terminal(tty, _opened_at(tty, leader) if tty else None, panes, server, since)


def read_notes(home: Path, terminal: Terminal, now: float) -> tuple[list[Note], list[Rejected]]:
    """Read this terminal's notes: those that count, newest first, and those that do not."""
    good: list[Note] = []
    bad: list[Rejected] = []
    for name in terminal.file_names:
        payload = _read(home / "terminal-sessions" / name)
        session_id = str(payload.get("session_id") or "").strip()
        if not session_id:
            continue
        at = sane_time(payload.get("ts"))
        since = terminal.tty_since if name.startswith("tty-") else terminal.server_since
        reason = _objection(payload, terminal, at, since, now)
        if reason:
            bad.append(Rejected(session_id, reason))
        else:
            cwd = payload.get("cwd")
            good.append(Note(session_id, cwd if isinstance(cwd, str) else None, at or 0.0))
    return sorted(good, key=lambda note: note.at, reverse=True), bad


def write_note(home: Path, terminal: Terminal, session_id: str, cwd: str, now: float) -> None:
    """Note that this terminal is in a session; best effort, as in Hermes."""
    payload = {
        "session_id": session_id,
        "cwd": cwd,
        "ts": now,
        "tty": terminal.tty,
        "panes": dict(terminal.panes),
        "server": terminal.server,
    }
    text = json.dumps(payload, separators=(",", ":"))
    if not terminal.file_names:
        return
    from hermes_sessions.private_files import write_private

    directory = home / "terminal-sessions"
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        for name in terminal.file_names:
            write_private(directory / name, text)


def _objection(
    payload: Mapping[str, object],
    terminal: Terminal,
    at: float | None,
    since: float | None,
    now: float,
) -> str | None:
    """Say why a note does not count here, or None. A note without a time is not stale (Hermes)."""
    panes = payload.get("panes")
    if isinstance(panes, dict) and panes != dict(terminal.panes):
        return f"its note was made in another {terminal.noun}"
    if isinstance(panes, dict) and str(payload.get("server") or "") != terminal.server:
        return "its note was made under another server of the multiplexer"
    if at is None:
        return None
    if now - at > STALE_AFTER:
        return f"its note is older than 30 days ({ago(at, now)})"
    if since is not None and at < since:
        return f"its note is older than this {terminal.noun}"
    return None


def _read(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _tty_name(stream: TextIO) -> str | None:
    try:
        return os.ttyname(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _opened_at(tty: str, leader: int | None) -> float | None:
    """When a terminal was opened: when its shell started, else when the device was last made.

    The device's own time also changes with its permissions (``mesg n``), so it comes second.
    """
    started = process_started_at(leader) if leader else None
    return started if started is not None else _made_at(tty)


def _made_at(path: str) -> float | None:
    """When a device or socket was made; input and output do not change that time."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return float(getattr(stat, "st_birthtime", stat.st_ctime))


def _server(
    environ: Mapping[str, str], pane_variable: str, leader: int | None
) -> tuple[str, float | None]:
    """Identify the server that hands out pane numbers, and when it started."""
    if pane_variable == "TMUX_PANE":  # TMUX = socket,server pid,session
        socket, pid, *_ = [*environ.get("TMUX", "").split(","), "", ""]
        return _process_server(socket, pid)
    if pane_variable == "ZELLIJ_PANE_ID":
        # It tells its name only; but it is what has started the shell in the pane.
        server = parent_of(leader) if leader else None
        return _process_server(environ.get("ZELLIJ_SESSION_NAME", ""), str(server or ""))
    if pane_variable == "KITTY_WINDOW_ID":
        return _process_server("kitty", environ.get("KITTY_PID", ""))
    if pane_variable == "WEZTERM_PANE":
        socket = environ.get("WEZTERM_UNIX_SOCKET", "")
        return socket, _made_at(socket) if socket else None
    return "", None  # the variable itself is unique


def _process_server(name: str, pid: str) -> tuple[str, float | None]:
    if not pid.isdecimal():
        return name, _made_at(name) if name.startswith("/") else None
    since = process_started_at(int(pid))
    if since is None and name.startswith("/"):
        since = _made_at(name)  # macOS: the socket is as old as its server
    return f"{name},{pid}", since


def _sanitised(name: str) -> str:
    """Make a terminal's name a file name, by Hermes' rule."""
    return _UNSAFE.sub("-", name.strip().strip("/"))[:120]
