"""Measure whole runs of hermes-sessions against limits that hold on any machine.

A time in milliseconds says as much about the machine as about the program. Every case is therefore
measured in turn with something else (A B A B …) and judged by the median of the ratios A/B. The
usual B is the floor, `python -c "import typer, rich"`: what the program would cost if it did
nothing. README.md beside this file says how to run it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import platform
import pty
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import sysconfig
import tempfile
import termios
import time
import venv
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
HERMES = "0.22.2"
PEERS = {"converseek": "1.0.4", "search-clanker-history": "0.3.0"}
"""Other programs that search the store, by name on PyPI, and the versions compared with."""

STORES = {
    "s1k": ("--sessions", "1000", "--messages", "30000"),
    "s3k": ("--sessions", "3000", "--messages", "100000"),
    "s10k": ("--sessions", "10000", "--messages", "500000"),
    "s100k": ("--sessions", "100000", "--messages", "1000000"),
}
"""The homes measured on, by name, and the arguments of `make_large_store.py` that build them."""

STALE = "s10k-stale"
"""s10k with its search index marked as out of date, so that every message is read."""

MARK_STALE = "INSERT OR REPLACE INTO state_meta (key, value) VALUES ('fts_stale', '1')"

COUNT = """
import sqlite3, sys
store = sqlite3.connect(f"file:{sys.argv[1]}/state.db?mode=ro", uri=True)
count = "SELECT count(*) FROM messages WHERE instr(content, ?)"
print(store.execute(count, sys.argv[2:]).fetchone())
"""
"""The least that a search without an index can do."""

DELETE = """
import json, sqlite3, sys
store = sqlite3.connect(f"{sys.argv[1]}/state.db", isolation_level=None)
store.execute("PRAGMA foreign_keys = ON")
ids = (open(sys.argv[2]).read(),)
doomed = "IN (SELECT value FROM json_each(?))"
store.execute("BEGIN IMMEDIATE")
store.execute(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id {doomed}", ids)
store.execute(f"DELETE FROM messages WHERE session_id {doomed}", ids)
store.execute(f"DELETE FROM sessions WHERE id {doomed}", ids)
store.execute("COMMIT")
"""
"""The least that deleting sessions can do: plain SQL, one transaction, the store's own triggers."""

DUMP = """
import json, sqlite3, sys
store = sqlite3.connect(f"file:{sys.argv[1]}/state.db?mode=ro", uri=True)
store.row_factory = sqlite3.Row
with open("/dev/null", "w", encoding="utf-8") as file:
    for session in store.execute("SELECT * FROM sessions"):
        file.write(json.dumps(dict(session), ensure_ascii=False))
        ids = (session["id"],)
        for row in store.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", ids):
            values = dict(row)
            values.pop("display_identity", None)
            file.write(json.dumps(values, ensure_ascii=False))
"""
"""The least that an export of everything can do."""

EXPORT = ("export", "/dev/null", "--force")

OPTIMIZE = """
import sqlite3, sys
store = sqlite3.connect(f"{sys.argv[1]}/state.db", isolation_level=None)
for index in ("messages_fts", "messages_fts_trigram"):
    store.execute(f"INSERT INTO {index}({index}) VALUES ('optimize')")
store.execute("VACUUM")
"""
"""The least that merging the indexes and giving space back can do: FTS5's command, and SQLite's."""

COMPLETE_REF = ("__complete", "ref", "2026")
"""What the shell calls for the candidates of a REF that begins with 2026."""

TITLE = "refactoring"
"""A word of the title of s10k's biggest conversation, and of no message."""

COLUMNS, LINES = 100, 50
"""Size of the terminal in the pty cases; high enough that nothing is sent to a pager."""


@dataclass(frozen=True)
class Side:
    """One of the two commands of a case.

    `{big}` stands for the id of the biggest conversation, `{home}` for the home, `{gone}` for a
    file with the ids of the sessions that the other side deletes.

    Attributes:
        writes: it changes its store, so each run has a fresh copy.
    """

    program: str  # ours, python, hermes, or one of PEERS
    argv: tuple[str, ...]
    store: str | None = None
    mode: str = "pipe"  # or pty
    writes: bool = False


FLOOR = Side("python", ("-c", "import typer, rich"))


@dataclass(frozen=True)
class Case:
    """A command, what it is compared with, and how much of that it may take."""

    name: str
    ours: Side
    limit: float
    other: Side = FLOOR
    memory_limit: float | None = None  # MB, peak


LIST_10K = Side("ours", ("list",), "s10k")

CASES = (
    Case("list-1k", Side("ours", ("list",), "s1k"), 1.25),
    Case("list-10k", LIST_10K, 1.5, memory_limit=70),
    Case("list-terminal", Side("ours", ("list",), "s10k", "pty"), 2.1),
    Case("which", Side("ours", ("which", "latest"), "s10k"), 1.5),
    Case("continue", Side("ours", ("-c", "--print"), "s10k"), 1.5),
    Case("complete-ref", Side("ours", COMPLETE_REF, "s10k"), 0.7),
    Case("show-35k", Side("ours", ("show", "{big}"), "s10k"), 2.0),
    Case("search-rare", Side("ours", ("search", "zyzzyva"), "s10k"), 1.5, memory_limit=80),
    Case("search-common", Side("ours", ("search", "pipeline"), "s10k"), 2.0, memory_limit=80),
    Case("search-cjk", Side("ours", ("search", "数据库"), "s10k"), 1.6, memory_limit=80),
    Case("search-title", Side("ours", ("search", TITLE), "s10k"), 1.4, memory_limit=80),
    Case(
        "search-scan",
        Side("ours", ("search", "zyzzyva"), STALE),
        2.0,
        Side("python", ("-c", COUNT, "{home}", "zyzzyva"), STALE),
        memory_limit=80,
    ),
    *(
        Case(
            f"{name}-{word}", Side("ours", ("search", word), "s10k"), 1.0, Side(name, argv, "s10k")
        )
        for word in ("zyzzyva", "pipeline")
        for name, argv in (
            ("converseek", ("search", word)),
            ("search-clanker-history", ("--agent", "hermes", word)),
        )
    ),
    Case(
        "rename", Side("ours", ("rename", "{big}", "a new title", "-y"), "s10k", writes=True), 1.5
    ),
    Case("pin", Side("ours", ("pin", "{big}", "-y"), "s10k", writes=True), 1.5),
    Case(
        "prune",
        Side("ours", ("prune", "--older-than", "460d", "-y"), "s10k", writes=True),
        2.5,
        Side("python", ("-c", DELETE, "{home}", "{gone}"), "s10k", writes=True),
    ),
    Case(
        "export-jsonl",
        Side("ours", EXPORT, "s10k"),
        2.0,
        Side("python", ("-c", DUMP, "{home}"), "s10k"),
        memory_limit=80,
    ),
    Case(
        "hermes-export",
        Side("ours", EXPORT, "s3k"),
        0.35,  # a third; the least that Python can do, DUMP, takes as long
        Side("hermes", ("sessions", "export", "/dev/null"), "s3k"),
        memory_limit=80,
    ),
    Case("stats", Side("ours", ("stats",), "s10k"), 3.5),
    Case("doctor", Side("ours", ("doctor",), "s10k"), 3.0),
    Case("stats-terminal", Side("ours", ("stats",), "s10k", "pty"), 5.5),
    Case(
        "optimize",
        Side("ours", ("optimize",), "s10k", writes=True),
        1.15,
        Side("python", ("-c", OPTIMIZE, "{home}"), "s10k", writes=True),
        memory_limit=80,
    ),
    Case("list-100k", Side("ours", ("list",), "s100k"), 4.0, LIST_10K),
    Case(
        "hermes-list",
        Side("ours", ("list",), "s1k"),
        1 / 6,
        Side("hermes", ("sessions", "list"), "s1k"),
    ),
)


class Unavailable(Exception):  # noqa: N818 - reads as the fact it states
    """Something a case is measured with cannot be had here."""


class RunFailed(Exception):  # noqa: N818
    """A measured command ended with an error, so its time means nothing."""


@dataclass(frozen=True)
class Run:
    """One finished process: wall time in seconds, peak memory in MB."""

    seconds: float
    peak: float


@dataclass(frozen=True)
class Outcome:
    """What came of a case. Times are in milliseconds, memory in MB."""

    name: str
    runs: int
    median: float
    fastest: float
    slowest: float
    other_median: float
    ratio: float
    limit: float
    peak: float
    memory_limit: float | None

    @property
    def ok(self) -> bool:
        """Whether every limit of the case is kept."""
        return self.ratio <= self.limit and self.peak <= (self.memory_limit or float("inf"))


# --- One process ------------------------------------------------------------------------------


def measure(argv: Sequence[str], env: dict[str, str], mode: str) -> Run:
    """Run a command to its end, reading all it writes, and return what it took.

    The peak counts from before the command replaced this process' image, so nothing below the size
    of this script (some 20 MB) can be told apart.
    """
    reader, writer = open_terminal() if mode == "pty" else os.pipe()
    with tempfile.TemporaryFile() as errors, open(reader, "rb", buffering=0) as output:  # noqa: PTH123
        stdin = writer if mode == "pty" else subprocess.DEVNULL
        stderr = writer if mode == "pty" else errors
        start = time.perf_counter()
        try:
            process = subprocess.Popen(argv, stdin=stdin, stdout=writer, stderr=stderr, env=env)
        except OSError as error:
            message = f"cannot run {argv[0]}: {error}"
            raise RunFailed(message) from error
        finally:
            os.close(writer)
        tail = drain(output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            said = (errors.read() or tail).decode(errors="replace").strip()
            message = f"{shlex.join(argv)} ended with {process.returncode}: {said[-500:]}"
            raise RunFailed(message)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return Run(seconds, usage.ru_maxrss * unit / 1_000_000)


def open_terminal() -> tuple[int, int]:
    """Return both ends of a new terminal of `COLUMNS` columns: ours and the program's."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    return ours, theirs


def drain(output: IO[bytes]) -> bytes:
    """Read to the end; return the last piece."""
    tail = b""
    with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
        while piece := output.read(65_536):
            tail = piece
    return tail


def session_ids(home: Path) -> set[str]:
    """Return the ids of all sessions of a home."""
    store = sqlite3.connect(f"{(home / 'state.db').as_uri()}?mode=ro", uri=True)
    try:
        return {str(row[0]) for row in store.execute("SELECT id FROM sessions")}
    finally:
        store.close()


# --- One case ---------------------------------------------------------------------------------


class Bench:
    """Knows the programs, the stores and a scratch home, and measures cases with them."""

    def __init__(self, command: Sequence[str], stores: Path, scratch: Path) -> None:
        """Measure `command` on the homes in `stores`; whatever is written goes to `scratch`."""
        self.command = tuple(command)
        self.stores = stores
        self.scratch = scratch
        self.hermes: str | None = None
        self.peers: Path | None = None

    def outcome(self, case: Case, runs: int) -> Outcome:
        """Measure a case: one run of each side to warm up, then in turn."""
        sides = (case.ours, case.other)
        for side in sides:
            self.run(side)
        pairs = [tuple(self.run(side) for side in sides) for _ in range(runs)]
        ours = [mine.seconds * 1000 for mine, _ in pairs]
        return Outcome(
            case.name,
            runs,
            median(ours),
            min(ours),
            max(ours),
            median(other.seconds * 1000 for _, other in pairs),
            median(mine.seconds / other.seconds for mine, other in pairs),
            case.limit,
            max(mine.peak for mine, _ in pairs),
            case.memory_limit,
        )

    def run(self, side: Side) -> Run:
        """Run one side once; if it writes, on a fresh copy of its store."""
        if side.writes:
            self.copy_store(side)
        done = measure(self.argv(side), self.env(side), side.mode)
        if side.writes and side.program == "ours":
            self.note_gone(side)
        return done

    def copy_store(self, side: Side) -> None:
        """Put a copy of a store into the scratch home, and empty the trash of earlier runs."""
        copied = self.scratch / "copy"
        shutil.rmtree(copied, ignore_errors=True)
        shutil.rmtree(self.scratch / ".local", ignore_errors=True)
        copied.mkdir()
        shutil.copyfile(self.home(replace(side, writes=False)) / "state.db", copied / "state.db")
        os.sync()  # or the first commit would wait for the whole copy

    def note_gone(self, side: Side) -> None:
        """Write down which sessions a run has deleted."""
        before, after = (
            session_ids(home) for home in (self.home(replace(side, writes=False)), self.home(side))
        )
        (self.scratch / "gone.json").write_text(json.dumps(sorted(before - after)))

    def argv(self, side: Side) -> list[str]:
        """Return the full command of one side."""
        big = self.big_conversation(side.store) if side.store else ""
        home = str(self.home(side)) if side.store else ""
        values = {"{big}": big, "{home}": home, "{gone}": str(self.scratch / "gone.json")}
        words = list(side.argv)
        for mark, value in values.items():
            words = [word.replace(mark, value) for word in words]
        return [*self.program(side.program), *words]

    def program(self, name: str) -> tuple[str, ...]:
        """Return the command that starts one of the programs."""
        if name in PEERS:
            return (self.peer_program(name),)
        if name == "hermes":
            return (self.hermes_program(),)
        return self.command if name == "ours" else (sys.executable,)

    def env(self, side: Side) -> dict[str, str]:
        """Return a small environment, the same for everybody who measures."""
        env = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
        env |= {"HOME": str(self.scratch), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        if side.store:
            env["HERMES_HOME"] = str(self.home(side))
        if side.store and side.program in PEERS:  # some know no other place
            env["HOME"] = str(self.scratch / f"user-{side.store}")
            link = Path(env["HOME"], ".hermes")
            link.parent.mkdir(exist_ok=True)
            if not link.exists():
                link.symlink_to(self.home(side))
        return env

    def home(self, side: Side) -> Path:
        """Return the home of one side, built if it is missing; Hermes gets a copy to write in."""
        if side.writes:
            return self.scratch / "copy"
        home = self.stores / str(side.store)
        if side.store == STALE and not (home / "state.db").exists():
            self.make_stale(home)
        if not (home / "state.db").exists():
            print(f"building {home} …", file=sys.stderr)
            maker = [sys.executable, str(TOOLS / "make_large_store.py"), str(home)]
            subprocess.run([*maker, *STORES[home.name]], stdout=subprocess.DEVNULL, check=True)
        config = home / "config.yaml"
        if not config.exists():  # the biggest conversation is larger than what is exported else
            config.write_text("sessions:\n  max_export_messages: 0\n", encoding="utf-8")
        if side.program != "hermes":
            return home
        copy = self.scratch / f"hermes-{side.store}"
        if not copy.exists():
            shutil.copytree(home, copy)
        return copy

    def make_stale(self, home: Path) -> None:
        """Copy s10k and mark its index."""
        shutil.copytree(self.home(LIST_10K), home)
        with contextlib.closing(sqlite3.connect(home / "state.db")) as store:
            store.execute(MARK_STALE)
            store.commit()

    def big_conversation(self, store: str) -> str:
        """Return the id of the biggest conversation of a store."""
        facts = self.home(Side("ours", (), store)) / "large-store.json"
        big: str = json.loads(facts.read_text("utf-8"))["big"]["id"]
        return big

    def peer_program(self, name: str) -> str:
        """Return the command of a peer, installed if need be."""
        if self.peers is None:
            self.peers = install_peers(self.stores / "peers")
        return str(self.peers / name)

    def hermes_program(self) -> str:
        """Return the `hermes` command of a real release, fetched if need be."""
        if self.hermes is None:
            fetch = [sys.executable, str(TOOLS / "hermes_peer.py"), HERMES, "--program"]
            done = subprocess.run(fetch, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Unavailable(done.stderr.strip().removeprefix("error: "))
            self.hermes = done.stdout.strip()
        return self.hermes


def install_peers(place: Path) -> Path:
    """Install the peers in a virtual environment of their own; return where their programs are."""
    if not (place / "bin" / "pip").exists():
        venv.create(place, with_pip=True)
    wanted = [f"{name}=={version}" for name, version in PEERS.items()]
    command = [str(place / "bin" / "pip"), "install", "--quiet", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(done.stderr.strip())
    return place / "bin"


def compile_byte_code() -> None:
    """Compile what is about to be imported, so that no run pays for another one's first time."""
    places = [sysconfig.get_path("purelib"), str(ROOT / "hermes_sessions")]
    command = [sys.executable, "-m", "compileall", "-q", *places]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=False)


# --- The report -------------------------------------------------------------------------------

HEADINGS = ("case", "median", "min", "max", "other", "ratio", "limit", "peak", "")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as aligned plain text; times in ms, peak memory in MB."""
    rows = [HEADINGS, *(cells(outcome) for outcome in outcomes)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
            + [row[-1]]
        ).rstrip()
        for row in rows
    )


def cells(outcome: Outcome) -> tuple[str, ...]:
    """Return one line of the table."""
    limit = f" of {outcome.memory_limit:.0f}" if outcome.memory_limit else ""
    return (
        outcome.name,
        f"{outcome.median:.0f}",
        f"{outcome.fastest:.0f}",
        f"{outcome.slowest:.0f}",
        f"{outcome.other_median:.0f}",
        f"{outcome.ratio:.2f}",
        f"{outcome.limit:.2f}",
        f"{outcome.peak:.0f}{limit}",
        "ok" if outcome.ok else "OVER",
    )


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes and what they were measured on, as JSON."""
    made_on = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sqlite": sqlite3.sqlite_version,
        "processors": os.cpu_count(),
    }
    cases = [asdict(outcome) | {"ok": outcome.ok} for outcome in outcomes]
    return json.dumps({"measured_on": made_on, "cases": cases}, indent=2) + "\n"


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description="Measure hermes-sessions against its limits.")
    parser.add_argument("--stores", type=Path, default=cache / "hermes-sessions-benchmarks")
    parser.add_argument("-n", "--runs", type=int, default=15, help="pairs of runs of each case")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--command",
        type=shlex.split,
        default=[str(Path(sys.executable).with_name("hermes-sessions"))],
        help="the program to measure, if not the one installed beside this Python",
    )
    return parser.parse_args()


def main() -> int:
    """Measure the chosen cases, print them, and tell by the exit code whether all limits hold."""
    options = parse_arguments()
    compile_byte_code()
    outcomes: list[Outcome] = []
    failed = False
    with tempfile.TemporaryDirectory(prefix="hermes-sessions-bench-") as scratch:
        bench = Bench(options.command, options.stores.resolve(), Path(scratch))
        for case in CASES:
            if options.only and case.name not in options.only:
                continue
            try:
                outcomes.append(bench.outcome(case, options.runs))
            except Unavailable as error:
                print(f"{case.name}: skipped: {error}", file=sys.stderr)
            except RunFailed as error:
                failed = True
                print(f"{case.name}: failed: {error}", file=sys.stderr)
    print(table(outcomes))
    if options.json:
        options.json.write_text(report(outcomes), "utf-8")
    return 1 if failed or not all(outcome.ok for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
