"""Which recorded directories are the same workspace as a directory of this machine.

A workspace is a git repository, whatever linked worktree or symlink leads to it, else a directory.
Recorded paths may be gone, or belong to another machine: those are compared as text, without error.
"""

import os
from pathlib import Path
from typing import NamedTuple


class Workspace(NamedTuple):
    """A directory of this machine, resolved.

    Attributes:
        path: the directory itself, symlinks resolved.
        root: the top of the git work tree it is in, else the directory.
        repository: the common git directory that all worktrees of the repository share, or None.
    """

    path: str
    root: str
    repository: str | None

    def holds(self, recorded_root: str, recorded_cwd: str) -> bool:
        """Tell whether a session with these recorded paths belongs here (R038).

        As in Hermes, the git root decides if it is recorded, else the directory, at or below.
        """
        recorded = recorded_root or recorded_cwd
        if not recorded:
            return False
        if recorded_root and self._is_same(recorded_root):
            return True
        return not recorded_root and is_within(os.path.realpath(recorded_cwd), self.root)

    def _is_same(self, recorded_root: str) -> bool:
        resolved = os.path.realpath(recorded_root)
        if resolved in {self.root, self.path}:
            return True
        return self.repository is not None and git_repository(Path(resolved)) == self.repository


def find_workspace(directory: str) -> Workspace:
    """Find the workspace of a directory, without running git."""
    path = os.path.realpath(os.path.expanduser(directory))  # noqa: PTH111 - pathlib resolves less
    for candidate in (Path(path), *Path(path).parents):
        if (candidate / ".git").exists():
            return Workspace(path, str(candidate), git_repository(candidate))
    return Workspace(path, path, None)


def git_repository(root: Path) -> str | None:
    """Return the common git directory of the work tree at ``root``, or None if it is none."""
    dot_git = root / ".git"
    try:
        if dot_git.is_dir():
            return os.path.realpath(dot_git)
        text = dot_git.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if not text.startswith("gitdir:"):
        return None
    git_dir = root / text.removeprefix("gitdir:").strip()
    try:
        common = (git_dir / "commondir").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return os.path.realpath(git_dir)
    return os.path.realpath(git_dir / common)


def is_within(path: str, directory: str) -> bool:
    """Tell whether a path equals a directory or lies below it, comparing whole components."""
    directory = directory.rstrip("/\\") or directory
    return path == directory or path.startswith((f"{directory}/", f"{directory}\\"))


def base_name(path: str) -> str:
    """Return the last component of a recorded path, whatever system it is from."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path
