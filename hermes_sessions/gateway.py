"""Ask a running gateway to delete sessions itself, so that only the store's own writer writes.

Two servers of Hermes can do it over HTTP on this machine. What they do differs (0.22.2):

* The gateway's API server (``gateway/platforms/api_server``), ``DELETE /api/sessions/{id}``: this
  one row and every delegate below it. It does not follow compression chains: continuations and
  branches stay and lose their parent, so each segment has to be named. It refuses with 409 while a
  turn lease or compression lock on one of these rows is alive; a chat that is merely open is no
  obstacle. The session's files and its chat's routing entry go too.
* The dashboard (``hermes_cli/web_routers/sessions``), ``POST /api/sessions/bulk-delete``: the
  whole compression chain of each id and every delegate, in one transaction; what is in use is
  left out and named. Files and routing entries stay.

0.19.0 has both, but looks for no leases, and its dashboard deletes single rows.
"""

from __future__ import annotations

import ipaddress
import json
import re
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from hermes_sessions.config import read_config
from hermes_sessions.errors import UserError
from hermes_sessions.home import DEFAULT_PROFILE
from hermes_sessions.processes import process_exists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hermes_sessions.home import Home

API: Final = "api"
DASHBOARD: Final = "dashboard"
BULK: Final = 500  # ids that the dashboard takes at once
PATIENCE: Final = 30.0  # seconds for each part of an answer
_CONNECT: Final = 5.0
_Json = dict[str, Any]
_LONGEST: Final = 1 << 20
_OK, _UNAUTHORIZED, _NOT_FOUND, _IN_USE = 200, 401, 404, 409
_TOKEN: Final = "HERMES_DASHBOARD_SESSION_TOKEN"  # noqa: S105 - the name of a variable
_ASSIGNMENT: Final = re.compile(
    r"""^[^\S\n]*(?:export[^\S\n]+)?([^\s=#'"]+)[^\S\n]*=[^\S\n]*"""
    r"""(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^'"\s][^\n]*|(?=\s|\Z)))""",
    re.MULTILINE | re.DOTALL,
)


class Unreachable(UserError):  # noqa: N818 - reads as the fact it states
    """The server cannot be asked; the message says why, and never holds a key."""


class Endpoint(NamedTuple):
    """A server that may be able to delete sessions of a home.

    Attributes:
        kind: `API` or `DASHBOARD`.
        host: a name or address; nothing is sent to one that is not this machine.
        port: 1 to 65535.
        key: the API server's key, or the dashboard's token.
        home: the home whose store is meant.
        profile: what the server calls that home; None if it has no name for it.
        pid: the gateway that this home's own files name; None for a dashboard.
    """

    kind: str
    host: str
    port: int
    key: str
    home: Path
    profile: str | None
    pid: int | None

    def __repr__(self) -> str:
        """Leave out the key: records end up in logs and tracebacks."""
        return f"<{self.place}, profile {self.profile}, pid {self.pid}>"

    @property
    def place(self) -> str:
        """What it is and where, for people."""
        name = "gateway" if self.kind == API else "dashboard"
        return f"the {name} at {f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Reply(NamedTuple):
    """What became of one session; the reason continues a sentence, and is None if it is gone."""

    session_id: str
    deleted: bool
    reason: str | None


def gateway_pid(home: Path) -> int | None:
    """Return the gateway that serves a home, by the files it leaves; None if none runs.

    They are in the home that started it, which may serve other profiles, too (0.22.2,
    ``gateway/status``). They are only read: a process with the recorded number and start time
    proves as much as the lock does, and to try that could keep a starting gateway from it.
    """
    owner = _owner(home)
    return owner[1] if owner else None


def find_endpoints(home: Home, environ: Mapping[str, str]) -> list[Endpoint]:
    """Return the servers worth a `check`, best first.

    The API server, if a gateway serves this home and its key is known; then the dashboard, if its
    token is, which takes somebody who set HERMES_DASHBOARD_SESSION_TOKEN. The gateway's address is
    what it noted when it bound it, else as set, with the precedence of 0.22.2: the home's ``.env``
    before the environment (``hermes_cli/env_loader``), and these before ``config.yaml`` if they
    hold a usable API_SERVER_KEY, after it if not (``gateway/config_env``, ``listen_address``).
    What a secret manager or an administrator adds is not known.
    """
    if home.path is None:
        return []
    profile = home.path.name if home.path.parent.name == "profiles" else None
    profile = DEFAULT_PROFILE if home.path == home.root else profile
    _, key, token = _read_settings(home.path, environ)
    found = []
    owner = _owner(home.path)
    if owner and key:
        address = _noted_address(*owner) or _read_settings(owner[0], environ)[0]
        found.append(Endpoint(API, *address, key, home.path, profile, owner[1]))
    if token:
        found.append(Endpoint(DASHBOARD, "127.0.0.1", 9119, token, home.path, profile, None))
    return found


def _owner(home: Path) -> tuple[Path, int] | None:
    """Return the gateway that serves a home, behind the home that holds its files."""
    if pid := _live_pid(home):
        return home, pid
    named = home.parent.name == "profiles"
    name, root = (home.name, home.parent.parent) if named else (DEFAULT_PROFILE, home)
    for other in (root, *sorted(root.glob("profiles/*"))):
        served = _read_record(other / "gateway_state.json").get("served_profiles")
        if isinstance(served, list) and name in served and (pid := _live_pid(other)):
            return other, pid
    return None


def _live_pid(home: Path) -> int | None:
    for name in ("gateway.pid", "gateway.lock", "gateway_state.json"):
        record = _read_record(home / name)
        ended = record.get("gateway_state", "running") in {None, "stopped", "startup_failed"}
        pid = record.get("pid")
        if isinstance(pid, int) and 0 < pid < 1 << 31 and not ended and _is_of(record, pid, home):
            return pid
    return None


def _is_of(record: _Json, pid: int, home: Path) -> bool:
    """Tell whether a record is of a process that runs now, and was written in this home.

    A copy of a home brings along the files of the gateway of the original.
    """
    if record.get("hermes_home") and not _is_same(record["hermes_home"], home):
        return False
    if not process_exists(pid):
        return False
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # there is no /proc: the record is all there is
        return bool(record.get("kind") == "hermes-gateway")
    started = stat.rpartition(")")[2].split()[19]  # proc(5), field 22: ticks since the boot
    if record.get("start_time") is not None:
        return bool(command) and str(record["start_time"]) == started
    return b"gateway" in command  # nothing is left there of a process that has ended


def _is_same(directory: object, home: Path) -> bool:
    with suppress(OSError, ValueError):
        return isinstance(directory, str) and Path(directory).resolve() == home.resolve()
    return False


def _read_record(path: Path) -> _Json:
    """Read a JSON object, or the bare number of an old pid file; else it is empty."""
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {"pid": value}


def _noted_address(home: Path, pid: int) -> tuple[str, int] | None:
    """Return where a gateway says it listens (``listener_base``, 0.22.2)."""
    record = _read_record(home / "gateway_state.json")
    server = _mapping(_mapping(record.get("platforms")).get("api_server"))
    with suppress(ValueError):
        base = urlsplit(str(server.get("listener_base", "")))
        if record.get("pid") == pid and base.hostname and base.port:
            return base.hostname, base.port
    return None


def _read_settings(home: Path, environ: Mapping[str, str]) -> tuple[tuple[str, int], str, str]:
    """Return address and key of a gateway, and a dashboard's token; what is unusable is empty."""
    dotenv = _read_dotenv(home / ".env", environ)
    env = {**environ, **dotenv}
    chosen = _read_configured(home, env)
    key = env.get("API_SERVER_KEY", "").encode("ascii", "ignore").decode()  # as Hermes strips it
    if _is_usable(key):
        chosen["key"] = key
        if env.get("API_SERVER_HOST"):
            chosen["host"] = env["API_SERVER_HOST"]
        if env.get("API_SERVER_PORT", "").strip().isdecimal():
            chosen["port"] = env["API_SERVER_PORT"]
    host = chosen.get("host", env.get("API_SERVER_HOST", "127.0.0.1")).strip()
    port = chosen.get("port", env.get("API_SERVER_PORT", "")).strip()
    key = chosen.get("key", "")
    token = environ.get(_TOKEN) or dotenv.get(_TOKEN, "")  # what a parent has set is not replaced
    wildcard = host in {"", "0.0.0.0", "::", "*"}  # noqa: S104 - such a server listens here too
    address = ("127.0.0.1" if wildcard else host, int(port) if port.isdecimal() else 8642)
    return address, key if _is_usable(key) else "", token if token.isprintable() else ""


def _is_usable(key: str) -> bool:
    """Tell whether a server would start with this key, and a header can carry it."""
    return len(key.strip()) >= 16 and key.isprintable()  # noqa: PLR2004 - as they count


def _read_configured(home: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return host, port and key of ``config.yaml`` (0.22.2, ``gateway/config_loader``).

    Later places win, and what stands under ``extra`` wins over what stands beside it.
    """
    places = ("gateway.platforms", "platforms.api_server", "gateway.api_server")
    values = read_config(home, places).values
    blocks = [_mapping(values.get(place)) for place in places]
    blocks[0] = _mapping(blocks[0].get("api_server"))
    merged: _Json = {}
    for block in (*blocks, *(_mapping(block.get("extra")) for block in blocks)):
        merged |= block
    keys = [key for key in ("host", "port", "key") if merged.get(key) is not None]
    return {key: _expand(str(merged[key]), env) for key in keys}


def _mapping(value: object) -> _Json:
    return value if isinstance(value, dict) else {}


def _expand(text: str, env: Mapping[str, str]) -> str:
    """Replace ``${NAME}`` and ``${env:NAME}``; where nothing is set it stays."""
    return re.sub(r"\$\{(?:env:)?(\w+)\}", lambda match: env.get(match[1], match[0]), text)


def _read_dotenv(path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Read ``KEY=VALUE`` as python-dotenv does, with ``export``, comments, quotes, ``${NAME}``."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for name, single, double, plain in _ASSIGNMENT.findall(text):
        value = re.sub(r"\\([\\'])", r"\1", single)
        value += re.sub(r"""\\([\\'"])""", r"\1", double)
        value += re.sub(r"(^|\s+)#.*", "", plain).rstrip()
        found[name] = _expand(value, {**environ, **found})
    return found


def check(endpoint: Endpoint, session_id: str | None = None, *, timeout: float = PATIENCE) -> None:
    """Make sure that a server answers, takes the key, and works on the store that is meant.

    A copy of a home has the key and the sessions of the original, so that a server knows both
    proves nothing. An API server has to be the process that the files of this home name (it tells
    its number in ``/health/detailed``), a dashboard has to work on this directory (it names it in
    ``/api/status``). Each address names the profile: 0.22.2 refuses one that it does not serve,
    0.19.0 ignores it unless it serves several. The files of 0.19.0 do not say which home they are
    of: to be certain with it too, see that `Endpoint.pid` has the store open.

    The key goes only to what says it is Hermes. It has to know ``session_id``, one of the sessions
    to delete, if that is given; ``timeout`` is in seconds, for each part of an answer.

    Raises:
        Unreachable: it is down, is not Hermes, refuses the key, or has another store.
    """
    if endpoint.kind == API:
        said = _read(endpoint, "/health", timeout, keyed=False)
        if said.get("platform") != "hermes-agent":
            raise Unreachable(f"{endpoint.place} is not Hermes")
        ours = _read(endpoint, "/health/detailed", timeout).get("pid") == endpoint.pid
    else:
        said = _read(endpoint, "/api/status", timeout, keyed=False)
        ours = _is_same(said.get("hermes_home"), endpoint.home)
        if ours:
            _read(endpoint, "/api/sessions/stats", timeout)
    if not ours:
        raise Unreachable(f"{endpoint.place} works for another home")
    if session_id is not None:
        said = _read(endpoint, _path(session_id), timeout)
        if _mapping(said.get("session", said)).get("id") != session_id:
            raise Unreachable(f"{endpoint.place} does not serve this store")


def delete_sessions(
    endpoint: Endpoint, ids: Sequence[str], *, timeout: float = PATIENCE
) -> Iterator[Reply]:
    """Have sessions deleted; one reply for each id, in the order given, as it comes.

    Other rows go with them, and which depends on the kind: see the top of this module. What went
    with another one is not known any more, so name delegates before what started them. An API
    server is asked for one id at a time, and for no more than are taken from here: give it the
    newest segment of a conversation first, which alone bears a compression lock, and stop when one
    is refused. From a dashboard one learns only what is gone, by this or before: it is deleted.

    Raises:
        Unreachable: it stopped answering, or refuses the key. What got no reply may be gone or not.
    """
    if endpoint.kind == DASHBOARD:
        for start in range(0, len(ids), BULK):
            yield from _delete_in_bulk(endpoint, ids[start : start + BULK], timeout)
        return
    for session_id in ids:
        status, said = _ask(endpoint, f"DELETE {_path(session_id)}", timeout)
        deleted = status == _OK and said.get("deleted") is True
        yield Reply(session_id, deleted, None if deleted else _reason(status))


def _delete_in_bulk(endpoint: Endpoint, ids: Sequence[str], timeout: float) -> Iterator[Reply]:
    body = {"ids": list(ids), "profile": endpoint.profile}
    status, said = _ask(endpoint, "POST /api/sessions/bulk-delete", timeout, body)
    skipped = said.get("skipped_active", [])
    done = status == _OK and "deleted" in said and isinstance(skipped, list)
    kept = {session_id for session_id in ids if done and session_id in skipped}
    whole = done and said["deleted"] == len(set(ids) - kept)
    for session_id in ids:
        if not done or session_id in kept:
            yield Reply(session_id, False, _reason(_IN_USE if done else status))
        else:  # their number does not tell which ids it did not know
            gone = whole or not _is_there(endpoint, session_id, timeout)
            yield Reply(session_id, gone, None if gone else "is still there")


def _is_there(endpoint: Endpoint, session_id: str, timeout: float) -> bool:
    """Ask a dashboard for a session; it takes an id for the beginning of another one, too."""
    status, said = _ask(endpoint, f"GET {_path(session_id)}", timeout)
    return status != _NOT_FOUND and said.get("id", session_id) == session_id


def _reason(status: int) -> str:
    known = {_NOT_FOUND: "is not known to it (404)", _IN_USE: "is in use (409)"}
    return known.get(status, f"could not be deleted by it ({status})")


def _path(session_id: str) -> str:
    return f"/api/sessions/{quote(session_id, safe='', errors='surrogatepass')}"


def _read(endpoint: Endpoint, path: str, timeout: float, *, keyed: bool = True) -> _Json:
    """Ask for what has to be there."""
    status, said = _ask(endpoint, f"GET {path}", timeout, keyed=keyed)
    if status == _NOT_FOUND:
        raise Unreachable(f"{endpoint.place} does not serve this store")
    if status != _OK:
        raise Unreachable(f"{endpoint.place} does not answer as Hermes does ({status})")
    return said


def _ask(
    endpoint: Endpoint, what: str, timeout: float, body: _Json | None = None, *, keyed: bool = True
) -> tuple[int, _Json]:
    """Send one request, which nobody redirects or repeats; return status and JSON object."""
    method, _, path = what.partition(" ")
    profile = quote(endpoint.profile or "", safe="")
    headers = {"Content-Type": "application/json"} if body else {}
    if endpoint.kind == API:
        path = f"/p/{profile}{path}" if profile else path
        secret = {"Authorization": f"Bearer {endpoint.key}".encode()}
    else:
        path = f"{path}?profile={profile}" if profile else path
        secret = {"X-Hermes-Session-Token": endpoint.key.encode()}
    text = json.dumps(body) if body else None
    try:
        with closing(_connect(endpoint, timeout)) as connection:
            connection.request(method, path, text, {**headers, **(secret if keyed else {})})
            with connection.getresponse() as response:
                status, raw = response.status, response.read(_LONGEST)
    except TimeoutError:
        raise Unreachable(f"{endpoint.place} did not answer within {timeout:g} s") from None
    except (OSError, ValueError, HTTPException):
        raise Unreachable(f"{endpoint.place} does not answer as Hermes does") from None
    if status == _UNAUTHORIZED:
        raise Unreachable(f"{endpoint.place} refuses the key that is known here")
    try:
        return status, _mapping(json.loads(raw))
    except (ValueError, RecursionError):
        return status, {}


def _connect(endpoint: Endpoint, timeout: float) -> HTTPConnection:
    """Connect to this machine, and to no other one even if a name leads there."""
    if endpoint.host == "localhost" or _is_loopback(endpoint.host):
        connection = HTTPConnection(endpoint.host, endpoint.port, timeout=min(_CONNECT, timeout))
        try:
            connection.connect()
            peer = connection.sock.getpeername()[0]
        except (OSError, OverflowError):  # the latter for a port that is none
            connection.close()
            raise Unreachable(f"{endpoint.place} does not run") from None
        connection.sock.settimeout(timeout)
        if _is_loopback(peer):
            return connection
        connection.close()
    raise Unreachable(f"{endpoint.place} is on another machine's address: it gets no key")


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False
