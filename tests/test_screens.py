"""What people see, as snapshots at three widths (aims: list, show and its relatives)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from support import Cli

DEMO = Path(__file__).parents[1] / "hermes_sessions" / "demo"

SCREENS = {
    "list": ("list",),
    "list --all": ("list", "--all", "-n", "0"),
    "list --tree": ("list", "--tree", "-n", "4"),
    "list nothing": ("list", "--title", "no such title"),
    "show chain": ("show", "payments migration plan"),
    "show cjk": ("show", "数据库迁移计划"),
    "show transcript": ("show", "20261130_071122", "--transcript"),
    "show last": ("show", "数据库迁移计划", "--last", "3"),
    "workspaces": ("workspaces",),
    "stats": ("stats",),
    "stats window": ("stats", "--newer-than", "3d"),
    "stats by model": ("stats", "--by", "model"),
    "stats by workspace": ("stats", "--by", "workspace"),
    "stats by day": ("stats", "--by", "day", "-n", "5"),
    "stats by tool": ("stats", "--by", "tool"),
    "ambiguous": ("which", "payments"),
    "dry run": ("resume", "payments migration plan", "--dry-run"),
}


@pytest.fixture
def demo(cli: Cli) -> Cli:
    """The sample home at the moment it was made for, so that its times need no shift."""
    cli.now = json.loads((DEMO / "home.json").read_text())["now"]
    cli.environ["HOME"] = "/home/you"
    return cli


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", SCREENS)
def test_screen(demo: Cli, snapshot: SnapshotAssertion, name: str, width: int) -> None:
    outcome = demo("--demo", "--color", "never", *SCREENS[name], terminal=width, PAGER="cat")
    text = outcome.stdout + outcome.stderr
    text = text.replace(demo.environ["XDG_STATE_HOME"], "/state").replace(str(demo.cwd), "/here")
    assert all(cell_len(line.rstrip()) <= width for line in outcome.stdout.splitlines()[:-1])
    assert "\n".join(line.rstrip() for line in text.splitlines()) == snapshot


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_are_aligned_whatever_the_script(demo: Cli, width: int) -> None:
    lines = demo("--demo", "--color", "never", "list", "-n", "0", terminal=width).ok().stdout
    head, *rows = lines.splitlines()[:-2]
    at = cell_len(head[: head.index("ID")])
    for row in rows:
        identifier = row.split()[-1]
        assert cell_len(row[: row.index(identifier)]) == at, row
