"""Asking a gateway to delete sessions: what is sent where, and what the real one does with it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from api_server import KEY, RELEASE, api_server, dashboard, free_port, require_program
from hermes_peer import cache_dir, clean_env, run_peer
from hermes_sessions.gateway import (
    API,
    BULK,
    DASHBOARD,
    Endpoint,
    Reply,
    Unreachable,
    check,
    delete_sessions,
    find_endpoints,
    gateway_pid,
)
from hermes_sessions.home import select_home
from support import fingerprint
from tmux import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from api_server import ApiServer

SESSION = "20260901_090000_plain1"


# A server that says what a test wants


class Asked(NamedTuple):
    """A request as it arrived."""

    line: str
    headers: dict[str, str]
    body: bytes


class Server(ThreadingHTTPServer):
    """Answers with what is in ``answers`` under method and path, else with 404.

    Attributes:
        answers: status and body (text as it is, anything else as JSON).
        asked: the requests so far.
        released: set it to let the requests to ``/slow`` end.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[Asked] = []
        self.released = threading.Event()

    @property
    def lines(self) -> list[str]:
        return [asked.line for asked in self.asked]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        line = f"{self.command} {self.path}"
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(Asked(line, dict(self.headers), body))
        if "slow" in line:
            self.server.released.wait()
        status, value = self.server.answers.get(line, (404, {}))
        text = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_DELETE = do_POST = answer  # noqa: N815 - their names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - their name
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def endpoint(server: Server, tmp_path: Path) -> Endpoint:
    server.answers["GET /p/default/health"] = 200, {"platform": "hermes-agent"}
    server.answers["GET /p/default/health/detailed"] = 200, {"pid": 42}
    server.answers[f"GET /p/default/api/sessions/{SESSION}"] = 200, {"session": {"id": SESSION}}
    return Endpoint(API, "127.0.0.1", server.server_port, KEY, tmp_path, "default", 42)


def delete(endpoint: Endpoint, *ids: str, timeout: float = 5) -> list[Reply]:
    return list(delete_sessions(endpoint, ids, timeout=timeout))


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (200, {"deleted": True}, None),
        (200, {"deleted": False}, "could not be deleted by it (200)"),
        (200, "<html>", "could not be deleted by it (200)"),
        (200, "[" * 100_000, "could not be deleted by it (200)"),
        (200, '{"deleted": true, "more": "' + "x" * (1 << 20) + '"}', "could not be deleted"),
        (302, {"deleted": True}, "could not be deleted by it (302)"),
        (404, {"error": {}}, "is not known to it (404)"),
        (409, {"error": {}}, "is in use (409)"),
        (500, {}, "could not be deleted by it (500)"),
        (503, "", "could not be deleted by it (503)"),
    ],
)
def test_what_becomes_of_a_session(
    server: Server, endpoint: Endpoint, status: int, body: object, reason: str | None
) -> None:
    server.answers["DELETE /p/default/api/sessions/a"] = status, body
    server.answers["DELETE /p/default/api/sessions/b"] = 200, {"deleted": True}
    first, second = delete(endpoint, "a", "b")
    assert first.session_id == "a"
    assert first.deleted is (reason is None)
    assert (first.reason or "").startswith(reason or "")
    assert second == Reply("b", True, None)
    assert len(server.asked) == 2  # nothing is followed or repeated
    assert {asked.headers["Authorization"] for asked in server.asked} == {f"Bearer {KEY}"}


def test_no_more_is_asked_than_is_taken(server: Server, endpoint: Endpoint) -> None:
    server.answers["DELETE /p/default/api/sessions/a"] = 409, {}
    assert not next(delete_sessions(endpoint, ["a", "b"])).deleted
    assert server.lines == ["DELETE /p/default/api/sessions/a"]


@pytest.mark.parametrize(
    ("session_id", "sent"),
    [
        ("a/b?c#d", "a%2Fb%3Fc%23d"),
        ("..", ".."),
        ("a b%2F+&", "a%20b%252F%2B%26"),
        ("数\n\x00", "%E6%95%B0%0A%00"),
        ("x\udcff", "x%ED%B3%BF"),
    ],
)
def test_ids_with_odd_characters(
    server: Server, endpoint: Endpoint, session_id: str, sent: str
) -> None:
    line = f"DELETE /p/default/api/sessions/{sent}"
    server.answers[line] = 200, {"deleted": True}
    assert delete(endpoint, session_id) == [Reply(session_id, True, None)]
    assert server.lines == [line]


def test_a_refused_key_ends_it_and_is_not_told(server: Server, endpoint: Endpoint) -> None:
    server.answers["DELETE /p/default/api/sessions/a"] = 401, {"error": {"message": KEY}}
    with pytest.raises(Unreachable, match="refuses the key") as caught:
        delete(endpoint, "a", "b")
    assert len(server.asked) == 1
    for text in (caught.value.message, repr(caught.value), repr(endpoint), str(endpoint)):
        assert KEY not in text


def test_a_slow_answer_and_none(server: Server, endpoint: Endpoint) -> None:
    with pytest.raises(Unreachable, match=r"did not answer within 0\.05 s"):
        delete(endpoint, "slow", timeout=0.05)
    with pytest.raises(Unreachable, match="does not run"):
        delete(endpoint._replace(port=free_port()), "a")
    with pytest.raises(Unreachable, match="does not run"):
        delete(endpoint._replace(port=70000), "a")


def test_what_is_no_http(endpoint: Endpoint) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as pool:

        def greet() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        greeting = pool.submit(greet)
        with pytest.raises(Unreachable, match="does not answer as Hermes does"):
            delete(endpoint._replace(port=other.getsockname()[1]), "a")
        greeting.result()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "example.org", "127.0.0.1.example.org", "0.0.0.1", "2130706433", "::2"]
)
def test_nothing_is_sent_to_another_machine(endpoint: Endpoint, host: str) -> None:
    for use in (check, lambda endpoint: delete(endpoint, "a")):
        with pytest.raises(Unreachable, match="gets no key"):
            use(endpoint._replace(host=host))


def test_names_of_this_machine_and_no_proxy(server: Server, endpoint: Endpoint) -> None:
    server.answers["DELETE /p/default/api/sessions/a"] = 200, {"deleted": True}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            patch.setenv(name, "http://192.0.2.1:9")
        for host in ("localhost", "127.0.0.1"):
            assert delete(endpoint._replace(host=host), "a") == [Reply("a", True, None)]


def test_a_gateway_that_is_the_one(server: Server, endpoint: Endpoint) -> None:
    check(endpoint)
    check(endpoint, SESSION)
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("line", "answer", "complaint", "keys"),
    [
        ("/health", (200, {"platform": "other"}), "is not Hermes", 0),
        ("/health", (200, "<html>"), "is not Hermes", 0),
        ("/health", (500, ""), "does not answer as Hermes does", 0),
        ("/health", (404, {"error": "Unknown profile"}), "does not serve this store", 0),
        ("/health/detailed", (401, {}), "refuses the key", 1),
        ("/health/detailed", (200, {"pid": 43}), "works for another home", 1),
        (f"/api/sessions/{SESSION}", (404, {}), "does not serve this store", 2),
        (f"/api/sessions/{SESSION}", (200, {"session": {"id": "x"}}), "not serve this store", 2),
    ],
)
def test_a_gateway_that_is_not(
    server: Server,
    endpoint: Endpoint,
    *,
    line: str,
    answer: tuple[int, Any],
    complaint: str,
    keys: int,
) -> None:
    server.answers[f"GET /p/default{line}"] = answer
    with pytest.raises(Unreachable, match=complaint):
        check(endpoint, SESSION)
    assert sum("Authorization" in asked.headers for asked in server.asked) == keys


def test_a_dashboard_of_another_home_gets_no_token(server: Server, endpoint: Endpoint) -> None:
    elsewhere = endpoint._replace(kind=DASHBOARD, pid=None)
    for said in ({"hermes_home": "/nowhere"}, {"hermes_home": "\0"}, {}):
        server.answers["GET /api/status?profile=default"] = 200, said
        with pytest.raises(Unreachable, match="another home"):
            check(elsewhere)
    assert not [asked for asked in server.asked if "X-Hermes-Session-Token" in asked.headers]


def test_many_ids_go_to_a_dashboard_in_parts(server: Server, endpoint: Endpoint) -> None:
    ids = [f"s{number}" for number in range(BULK + 2)]
    line = "POST /api/sessions/bulk-delete?profile=default"
    server.answers[line] = 200, {"deleted": BULK - 1, "skipped_active": ["s0"]}
    server.answers[f"GET /api/sessions/s{BULK}?profile=default"] = 200, {"id": f"s{BULK}"}
    server.answers[f"GET /api/sessions/s{BULK + 1}?profile=default"] = 200, {"id": "s5012"}
    replies = delete(endpoint._replace(kind=DASHBOARD), *ids)
    assert [reply.session_id for reply in replies] == ids
    assert {reply.session_id: reply.reason for reply in replies if not reply.deleted} == {
        "s0": "is in use (409)",
        f"s{BULK}": "is still there",
    }
    sent = [json.loads(asked.body) for asked in server.asked if asked.body]
    assert [len(body["ids"]) for body in sent] == [BULK, 2]
    assert {body["profile"] for body in sent} == {"default"}
    server.answers[line] = 500, ""
    assert delete(endpoint._replace(kind=DASHBOARD), "a")[0].reason == (
        "could not be deleted by it (500)"
    )


# Is a gateway running


def started_at(pid: int) -> int | None:
    stat = Path(f"/proc/{pid}/stat")
    return int(stat.read_text().rpartition(")")[2].split()[19]) if stat.exists() else None


def note(home: Path, name: str = "gateway.pid", pid: int = 0, **values: object) -> Path:
    """Write a gateway's file, of this very process if nothing else is said."""
    pid = pid or os.getpid()
    record = {"pid": pid, "kind": "hermes-gateway", "start_time": started_at(pid), **values}
    home.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(json.dumps(record))
    return home


@pytest.mark.parametrize("name", ["gateway.pid", "gateway.lock", "gateway_state.json"])
def test_a_gateway_is_known_by_its_files(tmp_path: Path, name: str) -> None:
    assert gateway_pid(tmp_path) is None
    note(tmp_path, name, gateway_state="running", hermes_home=str(tmp_path / ".." / tmp_path.name))
    before = fingerprint(tmp_path)
    assert gateway_pid(tmp_path) == os.getpid()
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize(
    "values",
    [
        {"start_time": 1},  # the number now belongs to somebody else
        {"hermes_home": "/elsewhere"},  # this home is a copy
        {"pid": 0},
        {"pid": "x"},
        {"pid": 2**70},
        {"gateway_state": "stopped"},
        {"gateway_state": None},
    ],
    ids=str,
)
def test_files_that_prove_nothing(tmp_path: Path, values: dict[str, Any]) -> None:
    if "start_time" in values and started_at(os.getpid()) is None:
        pytest.skip("without /proc nobody knows when a process started")
    record = {"pid": os.getpid(), "kind": "hermes-gateway", "start_time": started_at(os.getpid())}
    (tmp_path / "gateway.pid").write_text(json.dumps({**record, **values}))
    assert gateway_pid(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", "\ufeff", "[" * 100_000, '"gateway"', "\x00"])
def test_files_with_anything_in_them(tmp_path: Path, text: str) -> None:
    for name in ("gateway.pid", "gateway.lock", "gateway_state.json"):
        (tmp_path / name).write_text(text)
    assert gateway_pid(tmp_path) is None


@pytest.mark.skipif(not Path("/proc").exists(), reason="tells by the command line in /proc")
@pytest.mark.parametrize(("word", "runs"), [("gateway", True), ("other", False)])
def test_a_bare_number_counts_while_a_gateway_has_it(tmp_path: Path, word: str, runs: bool) -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", word]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        (tmp_path / "gateway.pid").write_text(str(process.pid))
        assert gateway_pid(tmp_path) == (process.pid if runs else None)
        process.communicate()
    assert gateway_pid(tmp_path) is None


def test_one_gateway_for_several_profiles(tmp_path: Path) -> None:
    work, play = tmp_path / "profiles/work", tmp_path / "profiles/play"
    play.mkdir(parents=True)
    note(tmp_path, "gateway_state.json", gateway_state="running", served_profiles=["work"])
    assert gateway_pid(work) == os.getpid()
    assert gateway_pid(play) is None
    (tmp_path / "gateway_state.json").unlink()
    note(work, "gateway_state.json", gateway_state="running", served_profiles=["default", "play"])
    assert gateway_pid(tmp_path) == gateway_pid(play) == os.getpid()


# Where it listens, and its key


class Settings(NamedTuple):
    """What a home and the environment say, and what the gateway then does."""

    dotenv: str
    config: str
    environ: dict[str, str]
    expected: tuple[str, int, str]


FILE_KEY, ENV_KEY, YAML_KEY = (f"{place}-key-0123456789" for place in ("file", "env", "yaml"))
YAML = f"platforms: {{api_server: {{extra: {{host: '::1', port: 1111, key: {YAML_KEY}}}}}}}\n"
SETTINGS = {
    "a key alone": Settings(f"API_SERVER_KEY={FILE_KEY}", "", {}, ("127.0.0.1", 8642, FILE_KEY)),
    "the file before the environment": Settings(
        f"# API_SERVER_KEY=x\nexport API_SERVER_KEY = '{FILE_KEY}' # mine\r\nAPI_SERVER_PORT=7001",
        "",
        {"API_SERVER_KEY": ENV_KEY, "API_SERVER_PORT": "7002", "API_SERVER_HOST": "127.0.0.2"},
        ("127.0.0.2", 7001, FILE_KEY),
    ),
    "both before config.yaml": Settings(
        "API_SERVER_PORT=7001", YAML, {"API_SERVER_KEY": ENV_KEY}, ("::1", 7001, ENV_KEY)
    ),
    "a port that is none": Settings(
        "API_SERVER_PORT=many", YAML, {"API_SERVER_KEY": ENV_KEY}, ("::1", 1111, ENV_KEY)
    ),
    "config.yaml before a key that is too short": Settings(
        "API_SERVER_KEY=short\nAPI_SERVER_PORT=7001\nAPI_SERVER_HOST=127.0.0.2",
        YAML,
        {},
        ("::1", 1111, YAML_KEY),
    ),
    "config.yaml, the rest from the environment": Settings(
        "API_SERVER_HOST=localhost",
        f"gateway: {{platforms: {{api_server: {{enabled: true, key: {YAML_KEY}}}}}}}\n",
        {"API_SERVER_PORT": "7002"},
        ("localhost", 7002, YAML_KEY),
    ),
    "several places in config.yaml": Settings(
        "KEY_FOR_YAML=file-key-0123456789",
        "gateway:\n"
        "  platforms: {api_server: {port: 1, extra: {host: 127.0.0.3}}}\n"
        "  api_server: {port: 3}\n"
        "platforms: {api_server: {enabled: true, port: 2, host: 127.0.0.2,"
        " key: '${KEY_FOR_YAML}'}}\n",
        {},
        ("127.0.0.3", 3, FILE_KEY),
    ),
    "quotes, escapes and references": Settings(
        "OTHER=\"a\nAPI_SERVER_PORT=1\n\"\nPART='key-0123456789'\n"
        'API_SERVER_KEY="fi\\"le#-${PART}"#x\nAPI_SERVER_HOST= 0.0.0.0 # all\n',
        "",
        {},
        ("127.0.0.1", 8642, 'fi"le#-key-0123456789'),
    ),
}


def write(home: Path, settings: Settings) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / ".env").write_text(settings.dotenv, newline="")
    (home / "config.yaml").write_text(settings.config)
    return home


def endpoints(home: Path, environ: Mapping[str, str] | None = None) -> list[Endpoint]:
    values = {"HERMES_HOME": str(home), **(environ or {})}
    return find_endpoints(select_home(values), values)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(tmp_path: Path, name: str) -> None:
    home = note(write(tmp_path / "home", SETTINGS[name]))
    expected = (API, *SETTINGS[name].expected, home, "default", os.getpid())
    assert endpoints(home, SETTINGS[name].environ) == [expected]


def test_without_a_gateway_or_a_key_there_is_nobody_to_ask(tmp_path: Path) -> None:
    home = write(tmp_path / "home", SETTINGS["a key alone"])
    assert endpoints(home) == []
    (note(home) / ".env").write_text("API_SERVER_KEY=short\n")
    assert endpoints(home) == []
    with (home / ".env").open("wb") as dotenv:  # a header cannot carry it
        dotenv.write(b'API_SERVER_KEY="a key of two\nlines 0123456789"\n')
    assert endpoints(home) == []
    assert find_endpoints(select_home({}, store=str(home / "state.db")), {}) == []


def test_the_address_that_a_gateway_noted_counts_more(tmp_path: Path) -> None:
    home = write(tmp_path / "home", SETTINGS["a key alone"])
    platforms = {"api_server": {"listener_base": "http://[::1]:7007"}}
    note(home, "gateway_state.json", gateway_state="running", platforms=platforms)
    (found,) = endpoints(home)
    assert (found.host, found.port, found.key) == ("::1", 7007, FILE_KEY)
    assert found.place == "the gateway at [::1]:7007"
    platforms["api_server"]["listener_base"] = "http://[nonsense"
    note(home, "gateway_state.json", gateway_state="running", platforms=platforms)
    assert endpoints(home)[0].port == 8642


def test_a_dashboard_counts_if_its_token_is_known(tmp_path: Path) -> None:
    home = tmp_path / "home/profiles/work"
    home.mkdir(parents=True)
    (home / ".env").write_text("HERMES_DASHBOARD_SESSION_TOKEN=filed\n")
    values = {"HERMES_DASHBOARD_SESSION_TOKEN": "injected"}
    for environ, token in (({}, "filed"), (values, "injected")):
        expected = (DASHBOARD, "127.0.0.1", 9119, token, home, "work", None)
        assert endpoints(home, environ) == [expected]


# The real ones


@pytest.fixture(scope="module")
def peers() -> Iterator[None]:
    """The place of the releases must not follow the home that each test makes up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_PEERS_DIR", str(cache_dir()))
        require_program()
        yield


LOAD = """\
import json, os, sys
from hermes_cli.env_loader import load_hermes_dotenv
from gateway.config import Platform, load_gateway_config
from gateway.platforms.api_server import APIServerAdapter
from gateway.platforms.shared_ingress import is_wildcard_host

for home, environ in json.load(sys.stdin).items():
    if os.fork() == 0:  # what one home publishes must not reach the next
        os.environ.update({**environ, "HERMES_HOME": home})
        load_hermes_dotenv()
        adapter = APIServerAdapter(load_gateway_config().platforms[Platform.API_SERVER])
        host = "127.0.0.1" if is_wildcard_host(adapter._host) else adapter._host
        print(json.dumps([home, host, adapter._port, adapter._api_key]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.interop
def test_the_release_reads_settings_alike(peers: None, tmp_path: Path) -> None:
    cases = {str(write(tmp_path / name, case)): case for name, case in SETTINGS.items()}
    done = subprocess.run(
        [require_program().with_name("python"), "-c", LOAD],
        env=clean_env(tmp_path, tmp_path),
        cwd=tmp_path,
        input=json.dumps({home: case.environ for home, case in cases.items()}).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    read = {home: tuple(rest) for home, *rest in map(json.loads, done.stdout.splitlines())}
    assert read == {home: case.expected for home, case in cases.items()}


STORY = """\
from hermes_state import SessionDB

db = SessionDB()


def tell(session_id, parent=None, **more):
    db.create_session(session_id, "cli", parent_session_id=parent, **more)
    db.append_message(session_id, "user", "hello")
    db.append_message(session_id, "assistant", "hello yourself")


for session_id in ("plain", "kept", "busy", "a/b ?#%数", "plainer"):
    tell(session_id)
tell("delegate", "plain", model_config={"_delegate_from": "plain"})
tell("branch", "plain", model_config={"_branched_from": "plain"})
for chain in ("one", "two", "three", "held"):
    for number, parent in enumerate([None, f"{chain} 0", f"{chain} 1"]):
        tell(f"{chain} {number}", parent)
        if number < 2:
            db.end_session(f"{chain} {number}", "compression")
db.close()
"""
EVERYTHING = {
    *("plain", "kept", "busy", "a/b ?#%数", "plainer", "delegate", "branch"),
    *(f"{chain} {number}" for chain in ("one", "two", "three", "held") for number in range(3)),
}
LEASE = """\
import sys
from hermes_state import SessionDB
from hermes_state_pidns import holder_namespace_token

db = SessionDB()
holder = f"pid={sys.argv[1]}{holder_namespace_token()}:turn=1"
assert db.try_acquire_session_turn_lease("busy", holder)
assert db.try_acquire_compression_lock("held 2", holder)
db.close()
"""


def stored(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "state.db")) as store:
        orphans = "SELECT count(*) FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)"
        assert store.execute(orphans).fetchone() == (0,)
        return {session_id for (session_id,) in store.execute("SELECT id FROM sessions")}


@contextmanager
def serving(place: Path, start: Callable[..., Any]) -> Iterator[ApiServer]:
    home = place / "home"
    run_peer(RELEASE, STORY, home)
    with start(home, place / "user") as server:
        run_peer(RELEASE, LEASE, home, str(os.getpid()))
        yield server


@pytest.fixture(scope="module")
def gateway(peers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with serving(tmp_path_factory.mktemp("gateway"), api_server) as server:
        yield server


@pytest.mark.interop
def test_a_real_gateway_is_found_and_is_the_one(gateway: ApiServer) -> None:
    assert gateway_pid(gateway.home) == gateway.pid
    (found,) = endpoints(gateway.home)
    assert found == Endpoint(API, *gateway[:4], "default", gateway.pid)
    check(found, "kept")
    check(found._replace(profile=None), "kept")


@pytest.mark.interop
def test_a_real_gateway_refuses_what_is_not_its_own(gateway: ApiServer, tmp_path: Path) -> None:
    (found,) = endpoints(gateway.home)
    with pytest.raises(Unreachable, match="refuses the key"):
        check(found._replace(key="another-key-0123456789"))
    with pytest.raises(Unreachable, match="does not serve this store"):
        check(found._replace(profile="other"))
    with pytest.raises(Unreachable, match="does not serve this store"):
        check(found, "unknown")
    copy = shutil.copytree(
        gateway.home, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock", "*.sock.*")
    )
    assert gateway_pid(copy) is None
    assert endpoints(copy) == []


@pytest.mark.interop
def test_a_real_gateway_deletes_rows_and_their_delegates(gateway: ApiServer) -> None:
    (found,) = endpoints(gateway.home)
    before = stored(gateway.home)
    transcript = gateway.home / "sessions" / "plain.jsonl"
    transcript.write_text("{}\n")
    ids = ("plain", "delegate", "busy", "held 2", "held 1", "a/b ?#%数", "three 2")
    assert delete(found, *ids, timeout=30) == [
        Reply("plain", True, None),
        Reply("delegate", False, "is not known to it (404)"),  # it went with what started it
        Reply("busy", False, "is in use (409)"),
        Reply("held 2", False, "is in use (409)"),
        Reply("held 1", True, None),  # although its end is being compressed
        Reply("a/b ?#%数", True, None),
        Reply("three 2", True, None),  # and its chain stays
    ]
    assert before - stored(gateway.home) == {"plain", "delegate", "held 1", "a/b ?#%数", "three 2"}
    assert not transcript.exists()


@pytest.mark.interop
@pytest.mark.parametrize(("chain", "order"), [("one", 1), ("two", -1)])
def test_a_real_gateway_takes_a_chain_segment_by_segment(
    gateway: ApiServer, chain: str, order: int
) -> None:
    (found,) = endpoints(gateway.home)
    before = stored(gateway.home)
    segments = [f"{chain} {number}" for number in range(3)][::order]
    assert delete(found, *segments, timeout=30) == [Reply(s, True, None) for s in segments]
    assert before - stored(gateway.home) == set(segments)


@pytest.mark.interop
def test_a_real_gateway_of_several_profiles(peers: None, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "home/profiles/work"
    work.mkdir(parents=True)
    for each in (home, work):
        run_peer(RELEASE, STORY, each)
    (home / "config.yaml").write_text("multiplex_profiles: true\n")
    (work / "config.yaml").write_text("model: {}\n")
    (work / ".env").write_text("API_SERVER_KEY=the-key-of-work-0123456789\n")
    with api_server(home, tmp_path / "user") as server:
        wait_until(lambda: gateway_pid(work), lambda: "the profile is not served")
        assert gateway_pid(work) == gateway_pid(home) == server.pid
        (found,) = endpoints(work)
        key = "the-key-of-work-0123456789"
        assert found == Endpoint(API, server.host, server.port, key, work, "work", server.pid)
        check(found, "plain")
        with pytest.raises(Unreachable, match="refuses the key"):
            check(found._replace(profile="default"))
        assert delete(found, "plain", timeout=30) == [Reply("plain", True, None)]
        assert stored(home) == EVERYTHING
        assert EVERYTHING - stored(work) == {"plain", "delegate"}
    with pytest.raises(Unreachable, match="does not run"):
        check(found)
    assert endpoints(work) == []


@pytest.mark.interop
def test_a_real_dashboard_deletes_whole_chains(peers: None, tmp_path: Path) -> None:
    with serving(tmp_path, dashboard) as server:
        environ = {"HERMES_DASHBOARD_SESSION_TOKEN": server.key}
        (found,) = endpoints(server.home, environ)
        found = found._replace(port=server.port)
        check(found, "kept")
        with pytest.raises(Unreachable, match="refuses the key"):
            check(found._replace(key="wrong"))
        with pytest.raises(Unreachable, match="works for another home"):
            check(found._replace(home=tmp_path))
        with pytest.raises(Unreachable, match="does not serve this store"):
            check(found._replace(profile="other"))
        with pytest.raises(Unreachable, match="does not serve this store"):
            check(found, "plaine")  # which it takes for the beginning of another one
        replies = delete(found, "plain", "busy", "held 0", "a/b ?#%数", "one 2", timeout=30)
        in_use = "is in use (409)"
        assert [reply.reason for reply in replies] == [None, in_use, in_use, None, None]
        gone = {"plain", "delegate", "a/b ?#%数", "one 0", "one 1", "one 2"}
        assert EVERYTHING - stored(server.home) == gone
        replies = delete(found, "plain", "two 0", "kep", timeout=30)
        assert [reply.deleted for reply in replies] == [True, True, True]
        gone |= {"two 0", "two 1", "two 2"}
        assert EVERYTHING - stored(server.home) == gone
