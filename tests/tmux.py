"""Real terminals for tests: a private tmux server, and the panes that it opens."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PROGRAM = shutil.which("tmux")
PATIENCE = 15.0
"""Seconds until a thing that does not happen counts as not happening: machines may be slow."""

T = TypeVar("T")


class Finished(NamedTuple):
    """A command that ended in a pane: what it printed, wrapped lines joined, and its exit code."""

    text: str
    code: int


class Pane:
    """One pane with a shell in it, in a tmux session of its own so that it has a size of its own.

    Attributes:
        id: tmux's number for it, as in ``TMUX_PANE``: ``%0``.
        tty: path of its terminal device.
        shell: pid of the shell in it.
    """

    def __init__(self, server: Tmux, pane_id: str, tty: str, shell: int) -> None:
        self._server = server
        self.id = pane_id
        self.tty = tty
        self.shell = shell

    def run(self, command: str) -> Finished:
        """Type a command, wait for its end, and return what it gave."""
        mark = f"ended-{uuid.uuid4().hex[:8]}-"
        self.clear()
        self.type(f"{command}; echo {mark}$?")
        match = self.wait_for(rf"^{mark}(\d+)$")
        typed, _, printed = match.string[: match.start()].partition("\n")
        assert mark in typed
        return Finished(printed, int(match[1]))

    def type(self, text: str) -> None:
        """Type a line."""
        self._server.command("send-keys", "-t", self.id, "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them: ``q``, ``Enter``, ``C-c``."""
        self._server.command("send-keys", "-t", self.id, *keys)

    def clear(self) -> None:
        """Wipe the screen and what has scrolled off it."""
        self._server.command("send-keys", "-t", self.id, "-R", ";", "clear-history", "-t", self.id)

    def text(self) -> str:
        """Return everything the pane has shown since it was wiped, wrapped lines joined."""
        shown = self._server.command("capture-pane", "-p", "-J", "-S", "-", "-t", self.id)
        return "".join(f"{line.rstrip()}\n" for line in shown.splitlines())

    def screen(self) -> list[str]:
        """Return the lines that are on the screen now."""
        return self._server.command("capture-pane", "-p", "-t", self.id).splitlines()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until a pattern is in the text of the pane."""
        return wait_until(
            lambda: re.search(pattern, self.text(), re.MULTILINE),
            lambda: f"{pattern!r} does not come up in:\n{self.text().rstrip()}",
        )

    def column_of(self, text: str) -> int:
        """Return the cell at which the last place of a text begins, by tmux's own measure."""
        at = ("-t", self.id)
        self._server.command("copy-mode", *at)
        self._server.command("send-keys", *at, "-X", "search-backward-text", text)
        found, column = self._server.command(
            "display-message", *at, "-p", "#{search_present} #{copy_cursor_x}"
        ).split()
        self._server.command("send-keys", *at, "-X", "cancel")
        assert found == "1", f"{text!r} is not in:\n{self.text()}"
        return int(column)

    def close(self) -> None:
        """Close the pane and with it its terminal device; the shell in it is hung up."""
        self._server.command("kill-pane", "-t", self.id)


class Tmux:
    """A tmux server of its own: private socket, no configuration, nothing of the caller's."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._name = f"test-{uuid.uuid4().hex[:12]}"
        # The path of a socket may have no more than some hundred characters: not below tmp_path.
        self._directory = tempfile.TemporaryDirectory(prefix="tmux-")
        self._environ = {
            **environ,
            "LC_ALL": "C.UTF-8",
            "PS1": "$ ",
            "SHELL": "/bin/sh",
            "TMUX_TMPDIR": self._directory.name,
        }

    def open(self, cwd: Path, *, width: int = 160, height: int = 40) -> Pane:
        """Open a pane with a shell; the first one starts the server."""
        made = self.command(
            *("start-server", ";", "set-option", "-g", "exit-empty", "off", ";"),
            *("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(cwd)),
            *("-P", "-F", "#{pane_id} #{pane_tty} #{pane_pid}", "exec /bin/sh"),
        )
        pane_id, tty, shell = made.split()
        pane = Pane(self, pane_id, tty, int(shell))
        pane.wait_for(r"^\$")
        return pane

    def kill(self) -> None:
        """End the server and everything in it; the next pane gets a new one of the same name."""
        if self._is_up():
            self._run("kill-server")
            wait_until(lambda: not self._is_up(), lambda: "tmux does not end")

    def close(self) -> None:
        """End the server for good."""
        self.kill()
        self._directory.cleanup()

    def command(self, *words: str) -> str:
        """Run a tmux command; ``;`` separates several."""
        done = self._run(*words)
        assert done.returncode == 0, f"tmux {' '.join(words)}: {done.stderr}"
        return done.stdout

    def _is_up(self) -> bool:
        return self._run("list-sessions").returncode == 0

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        assert PROGRAM
        return subprocess.run(
            [PROGRAM, "-u", "-L", self._name, "-f", "/dev/null", *words],
            env=self._environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE,
        )


def wait_until(check: Callable[[], T | None], complaint: Callable[[], str]) -> T:
    """Look again and again until a check gives something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.05)
