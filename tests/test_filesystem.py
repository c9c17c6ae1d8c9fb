"""File systems that SQLite cannot be trusted on are recognised (R108, R109)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_sessions.store.filesystem import (
    Mount,
    file_system,
    kind_at,
    parse_mount_output,
    parse_mountinfo,
    unsafe_because,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

DESKTOP = r"""
22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw
28 1 0:26 /root / rw,relatime shared:1 - btrfs /dev/nvme0n1p2 rw,ssd,subvolid=257,subvol=/root
61 28 0:26 /home /home rw,relatime shared:30 - btrfs /dev/nvme0n1p2 rw,subvolid=256,subvol=/home
70 28 0:47 / /net rw,relatime shared:40 - autofs /etc/auto.net rw,fd=6,pgrp=1,timeout=300,indirect
71 70 0:47 / /net/nas rw,relatime shared:41 - autofs auto.nas rw,fd=6,pgrp=1,timeout=300,direct
72 71 0:48 / /net/nas rw,relatime shared:42 - nfs4 nas:/export rw,vers=4.2,hard,proto=tcp
80 61 0:52 / /home/u/remote rw,nosuid,nodev,relatime shared:50 - fuse.sshfs u@host: rw,user_id=1000
81 61 0:53 / /home/u/My\040Disk\011\134x rw,relatime shared:51 master:3 - cifs //nas/x rw,vers=3.1.1
90 28 8:17 / /media/usb rw,nosuid,nodev,relatime shared:60 - fuseblk /dev/sdb1 rw,user_id=0
"""

CONTAINER = """
640 560 0:63 / / rw,relatime master:251 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/d
641 640 0:66 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
655 640 0:43 /u/.hermes /opt/data rw,relatime - fakeowner /run/host_mark/Users rw,fakeowner
656 640 0:44 / /opt/shared rw,relatime - virtiofs virtiofs0 rw
657 640 254:1 /volumes/x/_data /opt/volume rw,relatime master:29 - ext4 /dev/vda1 rw,discard
"""

WSL = r"""
75 63 8:48 / / rw,relatime - ext4 /dev/sdd rw,discard,errors=remount-ro,data=ordered
95 75 0:56 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs;path=C:\;uid=1000;gid=1000,trans=fd,rfd=5
"""

MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse, protect, root data)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//u@nas._smb._tcp.local/Public on /Volumes/Public (1) (smbfs, nodev, nosuid, mounted by u)
nas:/export on /Volumes/on a shelf (nfs, nodev, nosuid)
"""


@pytest.mark.parametrize(
    ("text", "path", "kind"),
    [
        (DESKTOP, "/", "btrfs"),
        (DESKTOP, "/home/u/.hermes/state.db", "btrfs"),
        (DESKTOP, "/home/u/remote", "fuse.sshfs"),
        (DESKTOP, "/home/u/remote/.hermes/state.db", "fuse.sshfs"),
        (DESKTOP, "/home/u/remote2/state.db", "btrfs"),
        (DESKTOP, "/home/u/My Disk\t\\x/state.db", "cifs"),
        (DESKTOP, "/net/nas/u/state.db", "nfs4"),
        (DESKTOP, "/net/other", "autofs"),
        (DESKTOP, "/media/usb/state.db", "fuseblk"),
        (CONTAINER, "/root/.hermes/state.db", "overlay"),
        (CONTAINER, "/opt/data/state.db", "fakeowner"),
        (CONTAINER, "/opt/shared/state.db", "virtiofs"),
        (CONTAINER, "/opt/volume/state.db", "ext4"),
        (WSL, "/home/u/.hermes/state.db", "ext4"),
        (WSL, "/mnt/c/Users/u/.hermes/state.db", "9p"),
    ],
)
def test_the_innermost_and_newest_mount_counts(text: str, path: str, kind: str) -> None:
    assert kind_at(path, parse_mountinfo(text)) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/Users/u/.hermes/state.db", "apfs"),
        ("/System/Volumes/Data/home/u", "autofs"),
        ("/Volumes/Public (1)/state.db", "smbfs"),
        ("/Volumes/on a shelf/state.db", "nfs"),
        ("/Volumes/Public", "apfs"),
    ],
)
def test_what_mount_prints_on_macos(path: str, kind: str) -> None:
    assert kind_at(path, parse_mount_output(MACOS)) == kind


def test_lines_that_are_no_mounts() -> None:
    text = (
        "\nnothing\n1 2 3 - ext4\n1 2 0:3 / /b rw ext4\n1 2 0:3 / /a\x85b rw - ext4 /dev/sda rw\n"
    )
    assert parse_mountinfo(text) == [Mount("/a\x85b", "ext4")]
    assert parse_mount_output("\nnothing\nx on y (apfs)\n") == []


def test_no_mount_is_known() -> None:
    assert kind_at("/home", []) is None
    assert kind_at("/home", [Mount("/mnt", "ext4")]) is None


@linux
def test_the_system_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``/proc`` is a mount of its own on every machine."""
    assert file_system(Path("/proc/self/status")) == "proc"
    assert file_system(Path("/proc/missing/state.db")) == "proc"
    assert file_system(tmp_path) not in {"proc", None}
    (tmp_path / "link").symlink_to("/proc")
    assert file_system(tmp_path / "link" / "state.db") == "proc"
    monkeypatch.chdir("/proc")
    assert file_system(Path("state.db")) == "proc"


def test_a_system_that_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        assert file_system(tmp_path) is None


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ("nfs nfs4 NFS cifs smb3 smbfs afs afpfs ceph fuse.sshfs fuse.rclone", "network"),
        ("9p virtiofs drvfs vboxsf prl_fs fakeowner fuse.grpcfuse fuse.vmhgfs-fuse", "two systems"),
        ("fuse fuse.mergerfs fuse.gocryptfs macfuse osxfuse_sshfs", "a program serves"),
    ],
)
def test_R109_where_sqlite_cannot_be_trusted(kinds: str, words: str) -> None:
    for kind in kinds.split():
        why = unsafe_because(kind)
        assert why, kind
        assert why.startswith(f"{kind} is a ")
        assert words in why
        assert why.endswith("cannot be trusted")


@pytest.mark.parametrize(
    "kind", ["ext4", "btrfs", "xfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "nfsd", None, ""]
)
def test_where_it_can(kind: str | None) -> None:
    assert unsafe_because(kind) is None
