"""Who else has a store open (R102); real processes, and a process file system made by hand."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hermes_sessions.store.holders import (
    Holder,
    Scan,
    could_open,
    describe,
    find_holders,
    looks_like_hermes,
    scan_proc,
    scan_with_psutil,
)
from support import place_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Find = Callable[[Path], Scan]
    Hold = Callable[..., int]
    Fake = Callable[..., Path]

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

WAL = ("PRAGMA journal_mode = wal", "UPDATE sessions SET title = title")
ROLLBACK = ("PRAGMA journal_mode = delete", "SELECT count(*) FROM sessions")

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""

RESTLESS = HOLDER.replace(
    "sys.stdin.read()",
    """
import os, threading
threading.Thread(target=lambda: sys.stdin.read() or os._exit(0)).start()
while True:
    for number in [os.open(os.devnull, os.O_RDONLY) for _ in range(200)]:
        os.close(number)
""",
)

MOUNTED = ("unshare", "-rm", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh")
"""Runs a command where a directory is mounted on another one, as in a container."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return place_store("0.22.2", tmp_path / "home") / "state.db"


@pytest.fixture(params=["proc", "psutil"])
def find(request: pytest.FixtureRequest) -> Find:
    if request.param == "psutil":
        pytest.importorskip("psutil", reason="the extra 'holders' is not installed")
        return scan_with_psutil
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    return find_holders


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """Start a process that runs a script until the end of the test, and return its number."""
    with ExitStack() as stack:

        def start(
            *args: str | Path,
            name: str = "reader",
            script: str = HOLDER,
            inside: Sequence[str | Path] = (),
        ) -> int:
            program = tmp_path / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(script, encoding="utf-8")
            process = subprocess.Popen(
                [*inside, sys.executable, program, *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)  # closes its standard input, which ends it
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            return process.pid

        yield start


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Add a process to a tree that looks like ``/proc``, and return the tree."""
    proc = tmp_path / "proc"
    for name in ("self", "net", "sys"):
        (proc / name).mkdir(parents=True)

    def add(pid: int, words: Sequence[str], *links: str | Path, readable: bool = True) -> Path:
        (proc / str(pid)).mkdir()
        cmdline = "".join(f"{word}\0" for word in words)
        (proc / str(pid) / "cmdline").write_text(cmdline, encoding="utf-8")
        descriptors = proc / str(pid) / "fd"
        if readable:
            descriptors.mkdir()
            for number, link in enumerate(links):
                (descriptors / str(number)).symlink_to(link)
        else:
            descriptors.touch()  # cannot be listed, not even by root
        return proc

    return add


def found(scan: Scan) -> list[tuple[int, tuple[str, ...]]]:
    return [(holder.pid, holder.files) for holder in scan.holders]


def test_R102_an_idle_process_in_wal_mode(store: Path, hold: Hold, find: Find) -> None:
    pid = hold(store, *WAL)
    assert found(find(store)) == [(pid, ("state.db", "state.db-shm", "state.db-wal"))]


def test_R102_an_idle_process_in_rollback_mode(store: Path, hold: Hold, find: Find) -> None:
    pid = hold(store, *ROLLBACK)
    assert found(find(store)) == [(pid, ("state.db",))]


def test_what_is_told_of_a_holder(store: Path, hold: Hold, find: Find) -> None:
    pid = hold(store, *ROLLBACK, name="hermes")
    (holder,) = find(store).holders
    program = store.parents[1] / "bin" / "hermes"
    assert holder.command.startswith(f"{sys.executable} {program} {store} PRAGMA"[:199])
    assert holder.is_hermes
    assert describe(holder).startswith(f"Hermes (pid {pid}): {sys.executable}")


def test_two_holders_in_the_order_of_their_numbers(store: Path, hold: Hold, find: Find) -> None:
    pids = [hold(store, *WAL), hold(store, "SELECT count(*) FROM sessions")]
    assert [holder.pid for holder in find(store).holders] == sorted(pids)


def test_nobody_holds_it(tmp_path: Path, store: Path, hold: Hold, find: Find) -> None:
    """A store with the same name elsewhere is another store."""
    other = place_store("0.22.2", tmp_path / "other") / "state.db"
    pid = hold(other, *WAL)
    assert find(store).holders == ()
    assert [holder.pid for holder in find(other).holders] == [pid]


def test_a_holder_that_ended(store: Path, find: Find) -> None:
    subprocess.run([sys.executable, "-c", HOLDER, store], stdin=subprocess.DEVNULL, check=True)
    assert find(store).holders == ()


def test_this_process_does_not_count(store: Path, find: Find) -> None:
    connection = sqlite3.connect(store)
    try:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (43,)
        assert find(store).holders == ()
    finally:
        connection.close()


def test_a_path_through_a_symbolic_link(store: Path, hold: Hold, find: Find) -> None:
    """SQLite keeps the log beside the file that the link leads to."""
    link = store.parents[1] / "link.db"
    link.symlink_to(store)
    pid = hold(link, *WAL)
    expected = [(pid, ("state.db", "state.db-shm", "state.db-wal"))]
    assert found(find(link)) == expected
    assert found(find(store)) == expected


def test_a_relative_path(
    store: Path, hold: Hold, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = hold(store, *ROLLBACK)
    monkeypatch.chdir(store.parent)
    assert found(find(Path("state.db"))) == [(pid, ("state.db",))]


def test_a_file_opened_by_another_name(store: Path, hold: Hold, find: Find) -> None:
    """As in a container, where the directory has another path."""
    other = store.parents[1] / "data.db"
    other.hardlink_to(store)
    pid = hold(other, *ROLLBACK)
    assert found(find(store)) == [(pid, ("state.db",))]


@linux
def test_a_container_that_has_the_directory_elsewhere(tmp_path: Path, hold: Hold) -> None:
    """And the one of another home at that place."""
    ours, theirs = (
        place_store("0.22.2", tmp_path / name) / "state.db" for name in ("ours", "theirs")
    )
    inside = (*MOUNTED, ours.parent, theirs.parent)
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("no mount namespaces for this user")
    pid = hold(theirs, *WAL, inside=inside)
    assert found(find_holders(ours)) == [(pid, ("state.db", "state.db-shm", "state.db-wal"))]
    assert find_holders(theirs).holders == ()


@linux
def test_a_process_that_opens_and_closes_other_files(store: Path, hold: Hold) -> None:
    """Descriptors that are gone before they are looked at do not hide those that stay."""
    pid = hold(store, *ROLLBACK, script=RESTLESS)
    assert {tuple(found(find_holders(store))) for _ in range(50)} == {((pid, ("state.db",)),)}


@linux
def test_a_log_that_was_deleted_is_still_held(store: Path, hold: Hold) -> None:
    pid = hold(store, *WAL)
    store.with_name("state.db-wal").unlink()
    assert found(find_holders(store)) == [(pid, ("state.db", "state.db-shm", "state.db-wal"))]


@linux
def test_a_store_that_was_replaced_is_still_held(tmp_path: Path, store: Path, hold: Hold) -> None:
    pid = hold(store, *ROLLBACK)
    (place_store("0.22.2", tmp_path / "new") / "state.db").replace(store)
    assert found(find_holders(store)) == [(pid, ("state.db",))]


@linux
def test_a_store_that_is_gone_is_still_held(tmp_path: Path, store: Path, hold: Hold) -> None:
    other = place_store("0.22.2", tmp_path / "other") / "state.db"
    hold(other, *ROLLBACK)
    other.unlink()
    pid = hold(store, *ROLLBACK)
    store.unlink()
    assert found(find_holders(store)) == [(pid, ("state.db",))]


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_R103_locks_of_this_process_survive(store: Path, find: Find, journal: str) -> None:
    """Closing a descriptor of our own on one of the files would drop them."""
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0);"
        "c.execute('BEGIN IMMEDIATE')"
    )
    connection = sqlite3.connect(store, isolation_level=None)
    try:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("BEGIN IMMEDIATE")
        find(store)
        run = subprocess.run(
            [sys.executable, "-c", script, store], capture_output=True, text=True, check=False
        )
        assert "database is locked" in run.stderr
    finally:
        connection.close()


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as somebody else")
@pytest.mark.parametrize(("name", "is_named"), [("hermes", True), ("backup", False)])
def test_a_process_of_another_user(hold: Hold, name: str, is_named: bool) -> None:
    """Only one that looks like Hermes counts: else nothing could be changed on any machine."""
    with tempfile.TemporaryDirectory() as directory:  # every user may enter, unlike tmp_path
        store = place_store("0.22.2", Path(directory) / "home") / "state.db"
        Path(directory).chmod(0o755)
        pid = hold(store, *ROLLBACK, name=name)
        os.seteuid(65534)
        try:
            scan = find_holders(store)
        finally:
            os.seteuid(0)
        assert scan.holders == ()
        assert (f"(pid {pid})" in (scan.unknown or "")) == is_named
        assert [holder.pid for holder in find_holders(store).holders] == [pid]


def test_an_unreadable_process_counts_if_it_could_have_the_store_open(
    store: Path, fake: Fake
) -> None:
    proc = fake(7, ["/usr/bin/hermes", "gateway", "run"], readable=False)
    scan = scan_proc(store, proc)
    assert scan.holders == ()
    assert scan.unknown
    assert scan.unknown.endswith("gateway (pid 7): /usr/bin/hermes gateway run")


def test_a_process_whose_descriptors_show_but_do_not_tell(store: Path, fake: Fake) -> None:
    """As root sees another user's process in a container."""
    proc = fake(7, ["hermes"])
    (proc / "7" / "fd" / "0").touch()  # not a link
    unknown = scan_proc(store, proc).unknown
    assert unknown
    assert unknown.endswith(": Hermes (pid 7): hermes")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_an_unreadable_process_of_a_user_without_permission(store: Path, fake: Fake) -> None:
    """Each user of a machine may have a Hermes of his own."""
    proc = fake(7, ["hermes", "gateway"], readable=False)
    os.chown(proc / "7", 12345, 12345)
    assert scan_proc(store, proc) == Scan((), None)


def test_an_unreadable_process_that_is_not_hermes(store: Path, fake: Fake) -> None:
    fake(7, ["vim", "/home/u/.hermes/config.yaml"], readable=False)
    proc = fake(8, [], readable=False)
    assert scan_proc(store, proc) == Scan((), None)


def test_many_unreadable_processes_are_not_all_named(store: Path, fake: Fake) -> None:
    for pid in (14, 13, 12, 11):
        fake(pid, ["hermes", f"\x1b[31m{pid}"], readable=False)
    unknown = scan_proc(store, fake(10, ["hermes"], readable=False)).unknown
    assert unknown
    assert unknown.endswith(
        ": Hermes (pid 10): hermes; Hermes (pid 11): hermes 11; Hermes (pid 12): hermes 12; "
        "and 2 more"
    )


def test_an_unreadable_process_does_not_hide_a_holder(store: Path, fake: Fake) -> None:
    fake(7, ["hermes"], readable=False)
    scan = scan_proc(store, fake(9, ["hermes", "chat"], store))
    assert scan.holders == (Holder(9, "hermes chat", ("state.db",), is_hermes=True),)
    assert scan.unknown
    assert "(pid 7)" in scan.unknown


def test_descriptors_of_every_kind(store: Path, fake: Fake) -> None:
    """Sockets and pipes have no path; what was closed meanwhile is no longer there."""
    kinds = ("socket:[4711]", "pipe:[12]", "anon_inode:[eventpoll]", "/dev/null", "/gone/file")
    fake(1, ["init"], *kinds)
    deleted = f"{store}-wal (deleted)"
    proc = fake(2, ["hermes"], *kinds, deleted, f"{store}x", f"{store} copy", store.parent)
    assert found(scan_proc(store, proc)) == [(2, ("state.db-wal",))]


def test_a_deleted_file_of_the_same_path_on_another_device(store: Path, fake: Fake) -> None:
    """As in a container with a home of its own."""
    deleted = store.with_name("state.db (deleted)")
    deleted.symlink_to("/dev/null")
    proc = fake(2, ["hermes"], deleted)
    assert scan_proc(store, proc) == Scan((), None)
    deleted.unlink()
    assert found(scan_proc(store, proc)) == [(2, ("state.db",))]


def test_processes_that_ended_meanwhile(store: Path, fake: Fake) -> None:
    proc = fake(5, ["hermes"], store)
    shutil.rmtree(proc / "5" / "fd")
    (fake(6, ["hermes"], store) / "6" / "cmdline").unlink()
    held = Holder(6, "", ("state.db",), is_hermes=False)
    assert scan_proc(store, proc) == Scan((held,), None)


def test_the_same_number_as_ours(store: Path, fake: Fake) -> None:
    assert scan_proc(store, fake(os.getpid(), ["hermes"], store)) == Scan((), None)


def test_a_command_line_is_one_line_and_short(store: Path, fake: Fake) -> None:
    fake(5, ["python", "-c", "import a\n\timport b", "\x1b[31m"], store)
    proc = fake(6, ["hermes", "x" * 5000], store)
    first, second = scan_proc(store, proc).holders
    assert first.command == "python -c import a import b \x1b[31m"
    assert describe(first) == "python (pid 5): python -c import a import b"
    assert second.command == "hermes " + "x" * 192 + "…"


def test_no_process_file_system(store: Path, tmp_path: Path) -> None:
    scan = scan_proc(store, tmp_path / "no\x1b[2Jwhere")
    assert scan.holders == ()
    assert scan.unknown
    assert scan.unknown.endswith("nowhere: No such file or directory")


def test_a_directory_that_is_not_there(tmp_path: Path, fake: Fake) -> None:
    scan = scan_proc(tmp_path / "missing" / "state.db", fake(5, ["hermes"], tmp_path))
    assert scan.holders == ()
    assert scan.unknown
    assert "missing: No such file" in scan.unknown


@pytest.mark.parametrize(("platform", "words"), [("win32", "Windows"), ("darwin", "[holders]")])
def test_what_is_said_where_it_cannot_be_told(
    store: Path, monkeypatch: pytest.MonkeyPatch, platform: str, words: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", platform)
        patch.setitem(sys.modules, "psutil", None)  # as if it were not installed
        scan = find_holders(store)
    assert scan.holders == ()
    assert scan.unknown
    assert words in scan.unknown


@pytest.mark.parametrize(
    "command",
    [
        "hermes",
        "/usr/local/bin/hermes gateway run",
        "/usr/bin/python3.11 -u -X utf8 /usr/local/bin/hermes -p work chat",
        "python -m hermes_cli.main dashboard",
        "python3 -Wignore -W error -m gateway.run",
        "python gateway/run.py",
        "/home/u/.hermes/hermes-agent/venv/bin/python -m tui_gateway.server",
        "pypy3 /opt/agent/run_agent.py --resume",
        r"C:\Hermes\pythonw.exe C:\agent\mcp_serve.py",
        "/Applications/Hermes.app/Contents/MacOS/Hermes",
        "node /srv/hermes-webui/server.js",
        "python -c import_hermes_cli",
    ],
)
def test_hermes_is_recognised(command: str) -> None:
    assert looks_like_hermes(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "",
        "vim /home/u/.hermes/config.yaml",
        "python -m http.server --directory /srv/hermes",
        "python -X hermes job.py",
        "python",
        "/home/u/.local/bin/hermes-sessions list",
        "/home/u/venvs/hermes-sessions/bin/python -m hermes_sessions prune",
        "python -m gateway.runner",
        "nginx: gateway",
    ],
)
def test_what_is_not_hermes(command: str) -> None:
    assert not looks_like_hermes(command.split())


@pytest.mark.parametrize(
    ("command", "is_hermes", "expected"),
    [
        ("hermes gateway run", True, "gateway (pid 4411): hermes gateway run"),
        ("python -m gateway.run", True, "gateway (pid 4411): python -m gateway.run"),
        ("hermes -p x dashboard", True, "dashboard (pid 4411): hermes -p x dashboard"),
        ("python -m tui_gateway", True, "Hermes (pid 4411): python -m tui_gateway"),
        ("hermes --resume latest", True, "Hermes (pid 4411): hermes --resume latest"),
        ("/usr/bin/sqlite3 state.db", False, "sqlite3 (pid 4411): /usr/bin/sqlite3 state.db"),
        ("/bin/a\x1b[2J\u202eb c\td", False, "ab (pid 4411): /bin/ab c d"),
        ("", False, "a process (pid 4411)"),
    ],
)
def test_words_about_a_holder(command: str, is_hermes: bool, expected: str) -> None:
    assert describe(Holder(4411, command, ("state.db",), is_hermes)) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
@pytest.mark.parametrize(
    ("mode", "directory", "others"),
    [
        (0o600, 0o755, False),
        (0o640, 0o755, True),
        (0o604, 0o755, True),
        (0o644, 0o700, False),
        (0o644, 0o710, True),
    ],
)
def test_who_could_have_a_file_open(mode: int, directory: int, others: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place).resolve() / "home"
        home.mkdir()
        path = home / "state.db"
        path.touch()
        path.chmod(mode)
        Path(place).chmod(0o755)
        home.chmod(directory)
        assert could_open(0, str(path))
        assert could_open(os.geteuid(), str(path))
        stranger = os.geteuid() + 12345
        assert could_open(stranger, str(path)) == others
        assert could_open(stranger, f"{path}-missing"), "what cannot be judged might be"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owners_could_have_a_file_open() -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place).resolve() / "home"
        home.mkdir(mode=0o700)
        path = home / "state.db"
        path.touch(mode=0o640)
        Path(place).chmod(0o755)
        os.chown(home, 11111, -1)
        os.chown(path, 22222, -1)
        assert could_open(0, str(path))
        assert could_open(11111, str(path)), "he may enter, and might be in the group"
        assert could_open(22222, str(path)), "he may have it open, whatever was changed since"
        assert not could_open(33333, str(path))
