"""What file system a store is on, and whether SQLite can be trusted there.

SQLite needs locks that work, and for its write-ahead log memory that all processes share: "WAL
does not work over a network filesystem" (sqlite.org/wal.html; on locks sqlite.org/howtocorrupt.html
§2.1). Hermes on a directory that a virtual machine shares with its host lost stores without an
error (R109), and on network mounts SQLite answers with errors that do not name the cause (R108).
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Mount(NamedTuple):
    """A mounted file system.

    Attributes:
        point: absolute path it is mounted at.
        kind: its type, as the system writes it.
    """

    point: str
    kind: str


def file_system(path: Path) -> str | None:
    """Return the type of the file system a file is on, or would be on: ``ext4``, ``fuse.sshfs``.

    Args:
        path: need not exist; symbolic links are followed.

    Returns:
        The type as the system writes it, or None where it does not tell.
    """
    if sys.platform == "linux":
        mounts = parse_mountinfo(_mountinfo())
    elif sys.platform == "darwin":
        mounts = parse_mount_output(_mount_output())
    else:
        return None
    return kind_at(os.path.realpath(path), mounts)


def unsafe_because(kind: str | None) -> str | None:
    """Say why SQLite cannot be trusted on a file system: one sentence without a full stop.

    Args:
        kind: a type as ``file_system`` returns it.

    Returns:
        None if nothing is wrong with it, or it is not known.
    """
    for what, pattern in _UNSAFE.items():
        if kind and re.fullmatch(pattern, kind.lower()):
            return f"{kind} {what}, where SQLite's locks and its write-ahead log cannot be trusted"
    return None


_UNSAFE: Final = {
    "is a network file system": (
        r"nfs4?|cifs|smb(?:fs|[23])|ncpfs|afs|afpfs|webdav|coda|ceph|lustre|gpfs|beegfs"
        r"|fuse\.(?:sshfs|rclone|glusterfs|s3fs)"
    ),
    # Virtual machines (QEMU, Lima, Podman), WSL 2 and 1, VirtualBox, Parallels, VMware, and last
    # the names that Docker Desktop gives to what its host shares.
    "is a directory shared between two systems": (
        r"9p|virtiofs|drvfs|vboxsf|prl_fs|vmhgfs|fuse\.vmhgfs-fuse"
        r"|fakeowner|osxfs|fuse\.(?:grpcfuse|osxfs)"
    ),
    "is a file system that a program serves": r"fuse(?:\..*)?|(?:mac|osx)fuse.*",
}
"""Types by what is wrong with them; ``fuseblk`` (NTFS on a local disk) is none of them."""


def parse_mountinfo(text: str) -> list[Mount]:
    """Read the text of ``/proc/PID/mountinfo`` (proc_pid_mountinfo(5)), in its order.

    Lines that are no mounts are left out.
    """
    mounts: list[Mount] = []
    for line in text.split("\n"):  # other characters that end a line may be part of a name
        before, dash, behind = line.partition(" - ")
        fields, kinds = before.split(" "), behind.split(" ")
        if dash and len(fields) > _POINT:
            point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[_POINT])
            mounts.append(Mount(point, kinds[0]))
    return mounts


_POINT: Final = 4
"""Position of the mount point in a line."""


def parse_mount_output(text: str) -> list[Mount]:
    """Read what ``mount`` prints on macOS: ``/dev/disk1s5 on / (apfs, local, journaled)``."""
    lines = (re.fullmatch(r".*? on (/.*) \(([^(),]+).*", line) for line in text.splitlines())
    return [Mount(line[1], line[2]) for line in lines if line]


def kind_at(path: str, mounts: Iterable[Mount]) -> str | None:
    """Return the type of the file system a path is on, or None if no mount has it.

    Args:
        path: absolute, without symbolic links.
        mounts: in the order they were mounted: one hides an earlier one at the same point.
    """
    best: Mount | None = None
    for mount in mounts:
        below = mount.point.rstrip("/") + "/"
        if f"{path}/".startswith(below) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best.kind if best else None


def _mountinfo() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _mount_output() -> str:
    import subprocess

    try:
        run = subprocess.run(
            ["/sbin/mount"], capture_output=True, timeout=2, check=False, errors="surrogateescape"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout
