"""Real servers of a Hermes release on this machine, for tests: its gateway, and its dashboard.

Neither needs credentials of a model. Each gets a home, a port that was free, and an end: whatever
happens in the test, its process and all that it started are gone afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hermes_peer import PeerUnavailable, clean_env, peer_program
from tmux import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

RELEASE = "0.22.2"
KEY = "a-key-for-tests-0123456789"
GRACE = 10
"""Seconds that a server gets to end by itself."""


class ApiServer(NamedTuple):
    """A server that answers.

    Attributes:
        key: what it lets in: the API server's key, or the dashboard's token.
        home: the Hermes home it was started for.
        pid: its process, which leads a process group of its own.
    """

    host: str
    port: int
    key: str
    home: Path
    pid: int


def require_program() -> Path:
    """Return the ``hermes`` program; skip what needs it, unless the machine is one for tests."""
    try:
        return peer_program(RELEASE)
    except PeerUnavailable as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


@contextmanager
def api_server(home: Path, user_home: Path, key: str = KEY) -> Iterator[ApiServer]:
    """Run a gateway for a home, with the API server as its only platform.

    Its key and port are added to the home's ``.env``, as a person would set them.
    """
    program = require_program()
    port = free_port()
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".env").open("a", encoding="utf-8") as dotenv:
        dotenv.write(f"API_SERVER_KEY={key}\nAPI_SERVER_PORT={port}\n")
    command = [str(program), "gateway", "run"]
    with running(command, clean_env(home, user_home), user_home, f"{port}/health") as pid:
        yield ApiServer("127.0.0.1", port, key, home, pid)


@contextmanager
def dashboard(home: Path, user_home: Path, token: str = KEY) -> Iterator[ApiServer]:
    """Run the dashboard's application for a home.

    The start-up code of the published wheel fails (a name it does not import), so the application
    runs under its own web server without it; the routes for sessions need nothing of it.
    """
    uvicorn = require_program().with_name("uvicorn")
    port = free_port()
    command = [str(uvicorn), "--lifespan", "off", "--port", str(port), "hermes_cli.web_server:app"]
    env = clean_env(home, user_home) | {"HERMES_DASHBOARD_SESSION_TOKEN": token}
    with running(command, env, user_home, f"{port}/api/status") as pid:
        yield ApiServer("127.0.0.1", port, token, home, pid)


@contextmanager
def running(command: Sequence[str], env: dict[str, str], place: Path, url: str) -> Iterator[int]:
    """Run a server from when it answers; what it writes is kept for the complaint if it does not.

    Args:
        command: the program and its words.
        env: its whole environment.
        place: its working directory; its output goes into a file there.
        url: what it answers with JSON: the port and the path.
    """
    place.mkdir(parents=True, exist_ok=True)
    written = place / f"server-{url.partition('/')[0]}.log"
    with written.open("wb") as log:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(
            lambda: answers(url) or process.poll() is not None,
            lambda: f"no answer from {command}: {written.read_text(errors='replace')}",
        )
        assert process.poll() is None, written.read_text(errors="replace")
        yield process.pid
    finally:
        end(process)


def answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{url}", timeout=5) as response:
            json.load(response)
    except (OSError, ValueError):
        return False
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and its group to end, then make sure."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    """Return a port that nobody listens on, at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
