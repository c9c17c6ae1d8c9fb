"""Which other processes have a store open.

SQLite does not refuse to rewrite a file under a process that only has it open (R102), so this has
to be asked of the system. A file is known by its device and inode: the path is another one behind
a symbolic link, a bind mount or in a container. Nothing here opens the store or a side file, since
closing such a descriptor would drop the locks that SQLite holds in this process.

Not seen are processes that the system does not show: those outside the PID namespace of a
container, and those of other users where ``/proc`` is mounted with ``hidepid``.
"""
# ruff: noqa: PTH115, PTH116, PTH208 - of thousands of descriptors the paths are plain strings

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_COMMAND_LENGTH = 200
_SHOWN = 3
"""Processes named in ``Scan.unknown``."""


class Holder(NamedTuple):
    """A process that has the store open.

    Attributes:
        pid: its number.
        command: its command line, in one line of at most 200 characters, not neutralised.
        files: base names of what it has open, such as ``state.db-wal``, sorted.
        is_hermes: its command line looks like a Hermes process.
    """

    pid: int
    command: str
    files: tuple[str, ...]
    is_hermes: bool


class Scan(NamedTuple):
    """What was found.

    Attributes:
        holders: the processes, sorted by number.
        unknown: why there may be more, in words for a person and fit for a terminal, or None if
            these are all.
    """

    holders: tuple[Holder, ...]
    unknown: str | None


def find_holders(store: Path) -> Scan:
    """Find the other processes that have a store, its log or its shared memory open.

    A file that was deleted or replaced while they have it open counts.

    Args:
        store: its path; relative or a symbolic link will do, and it need not exist any more.
    """
    if sys.platform == "win32":
        return Scan((), "on Windows it cannot be told which other processes have the store open")
    if sys.platform == "linux":
        return scan_proc(store)
    return scan_with_psutil(store)


def describe(holder: Holder) -> str:
    """Say which process this is, so that a person finds it: one line, fit for a terminal."""
    command = one_line(holder.command)
    if holder.is_hermes:
        part = re.search(_PARTS, command.lower())
        name = part[1] if part else "Hermes"
    else:
        name = Path(command.partition(" ")[0]).name or "a process"
    return f"{name} (pid {holder.pid}): {command}" if command else f"{name} (pid {holder.pid})"


_PARTS: Final = r"(?<![a-z_])(gateway|dashboard|desktop|cron|acp)(?![a-z])"
"""Parts of Hermes that run on their own and are stopped each in their own way."""


class _Process(NamedTuple):
    """A process that has something open, or does not let us see what (files is None)."""

    pid: int
    uid: int
    words: Sequence[str]
    files: frozenset[str] | None


class _Wanted(NamedTuple):
    """How a file of the store is recognised.

    Attributes:
        path: the store, without symbolic links; SQLite keeps the side files beside that one.
        identities: base names by device and inode.
        links: base names by what ``/proc`` says of a descriptor.
        devices: where the files are: a path in a container may be the same and another file.
    """

    path: str
    identities: dict[tuple[int, int], str]
    links: dict[str, str]
    devices: frozenset[int]


def scan_proc(store: Path, proc: Path = Path("/proc")) -> Scan:
    """Find holders by ``/proc/PID/fd`` (proc(5)).

    Args:
        store: as for ``find_holders``.
        proc: where the process file system is mounted.
    """
    try:
        wanted = _wanted(store)
        names = os.listdir(proc)
    except OSError as error:
        return _failed(error)
    pids = [int(name) for name in names if name.isdigit()]
    return _judge(_processes_in(proc, pids, wanted), wanted)


def scan_with_psutil(store: Path) -> Scan:
    """Find holders with psutil, which is installed with the extra ``holders``.

    It gives the paths of open files only. Of what was deleted it says nothing.

    Args:
        store: as for ``find_holders``.
    """
    try:
        psutil = importlib.import_module("psutil")
    except ImportError:
        return Scan(
            (),
            "without psutil it cannot be told here which other processes have the store open: "
            "pip install 'hermes-sessions[holders]'",
        )
    try:
        wanted = _wanted(store)
    except OSError as error:
        return _failed(error)

    def processes() -> Iterator[_Process]:
        for process in psutil.process_iter(["name", "cmdline", "uids"]):
            try:
                paths = [file.path for file in process.open_files()]
            except psutil.NoSuchProcess:  # or a zombie
                continue
            except (psutil.Error, OSError):
                files = None
            else:
                held = (_recognise(path, path, wanted) for path in paths)
                files = frozenset(name for name in held if name)
            about = process.info  # a value is None where the system keeps it to itself
            uid = about["uids"].effective if about["uids"] else 0
            words = about["cmdline"] or [about["name"] or ""]
            yield _Process(process.pid, uid, words, files)

    return _judge(processes(), wanted)


def _failed(error: OSError) -> Scan:
    where = one_line(str(error.filename))
    return Scan((), f"processes cannot be examined: {where}: {error.strerror}")


def could_open(uid: int, path: str) -> bool:
    """Tell whether the permissions let a user read a file, if he is in every group.

    Args:
        uid: number of the user.
        path: an absolute path without symbolic links.
    """
    try:
        file = os.stat(path)
        directories = [os.stat(parent) for parent in Path(path).parents]
    except OSError:
        return True
    if uid in {0, file.st_uid}:
        return True
    return bool(file.st_mode & 0o044) and all(
        uid == directory.st_uid or directory.st_mode & 0o011 for directory in directories
    )


def looks_like_hermes(words: Sequence[str]) -> bool:
    """Tell from the arguments of a process whether it is Hermes, or something near it.

    What counts is the path of the program and, if that is an interpreter, what it runs: an editor
    that shows a file of Hermes is not Hermes. Nor is this program.
    """
    if not words:
        return False
    program = words[0].lower()
    candidates = [program]
    if re.fullmatch(_INTERPRETER, re.split(r"[/\\]", program)[-1]):
        candidates.append(_what_runs(words[1:]).lower())
    return any(re.search(_HERMES, re.sub(_OURSELVES, "", name)) for name in candidates)


_INTERPRETER: Final = r"(?:python|pypy|node|bun|electron)w?[\d.]*(?:\.exe)?"
_OURSELVES: Final = r"hermes[-_]sessions"
_HERMES: Final = (
    r"hermes|(?:^|[/\\])(?:gateway[./\\]run|tui_gateway|run_agent|acp_adapter|mcp_serve)(?![a-z_])"
)
"""Any path with the name in it, and top-level modules of its distribution that lack the name."""


def _what_runs(arguments: Sequence[str]) -> str:
    """Return the script, module or code that an interpreter was told to run, or ''."""
    rest = iter(arguments)
    for word in rest:
        if word in {"-X", "-W"}:  # the options of Python that have a value
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def _judge(processes: Iterable[_Process], wanted: _Wanted) -> Scan:
    """Sort out who has the store open, and who might have it open."""
    holders: list[Holder] = []
    hidden: list[Holder] = []
    for process in processes:
        if process.pid == os.getpid():
            continue
        holder = Holder(
            process.pid,
            clip(" ".join(" ".join(process.words).split()), _COMMAND_LENGTH),
            tuple(sorted(process.files or ())),
            looks_like_hermes(process.words),
        )
        if holder.files:
            holders.append(holder)
        elif process.files is None and holder.is_hermes and could_open(process.uid, wanted.path):
            hidden.append(holder)
    return Scan(tuple(sorted(holders)), _cannot_tell(sorted(hidden)))


def _cannot_tell(hidden: Sequence[Holder]) -> str | None:
    if not hidden:
        return None
    named = "; ".join(describe(holder) for holder in hidden[:_SHOWN])
    more = f"; and {len(hidden) - _SHOWN} more" if len(hidden) > _SHOWN else ""
    return f"the system does not tell which files another user's process has open: {named}{more}"


def _wanted(store: Path) -> _Wanted:
    """Look at the files of a store.

    Raises:
        OSError: one of them, or their directory, cannot be looked at.
    """
    path = os.path.realpath(store)
    identities: dict[tuple[int, int], str] = {}
    links: dict[str, str] = {}
    for file in (path, f"{path}-wal", f"{path}-shm"):
        name = Path(file).name
        links[file] = links[f"{file}{_DELETED}"] = name
        try:
            stat = os.stat(file)
        except FileNotFoundError:
            continue
        identities[stat.st_dev, stat.st_ino] = name
    # On an overlay, files and directories are on devices of their own.
    devices = {device for device, _ in identities} | {os.stat(Path(path).parent).st_dev}
    return _Wanted(path, identities, links, frozenset(devices))


_DELETED: Final = " (deleted)"
"""What the kernel puts behind the path of a file that has none any more."""


def _processes_in(proc: Path, pids: Iterable[int], wanted: _Wanted) -> Iterator[_Process]:
    for pid in pids:
        try:
            files = _files_of(f"{proc}/{pid}/fd", wanted)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
        except OSError:
            files = None
        if files is None or files:
            yield _Process(pid, _owner(f"{proc}/{pid}"), _words(f"{proc}/{pid}/cmdline"), files)


def _files_of(directory: str, wanted: _Wanted) -> frozenset[str]:
    """Return the names of the files of the store that are among the descriptors of a process.

    Raises:
        OSError: it ended, or it is not ours to look into. That may show at the links only: root in
            a container may list any directory, but has not the right to trace processes.
    """
    found: set[str] = set()
    for number in os.listdir(directory):
        path = f"{directory}/{number}"
        try:
            link = os.readlink(path)
        except FileNotFoundError:
            continue  # closed since
        if link.startswith("/"):  # no socket, pipe or other thing without a path
            name = _recognise(path, link, wanted)
            if name:
                found.add(name)
    return frozenset(found)


def _recognise(path: str, link: str, wanted: _Wanted) -> str | None:
    """Return the base name of an open file if it is one of the store.

    Args:
        path: leads to the file itself, even if it has no path any more.
        link: the path it was opened by.
        wanted: the files of the store.
    """
    try:
        stat = os.stat(path)
    except OSError:  # the link may still tell
        return wanted.links.get(link)
    name = wanted.identities.get((stat.st_dev, stat.st_ino))
    if name is None and link.endswith(_DELETED) and stat.st_dev in wanted.devices:
        return wanted.links.get(link)
    return name


def _owner(directory: str) -> int:
    """Return the user a process belongs to; root if it hides from its own user."""
    try:
        return os.stat(directory).st_uid
    except OSError:
        return 0


def _words(path: str) -> list[str]:
    """Return the beginning of a command line; a process may have put a title in its place."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4096).decode("utf-8", "replace").split("\0")
    except OSError:
        return []
