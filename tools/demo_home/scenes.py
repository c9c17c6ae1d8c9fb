"""The scenes of the sample: which conversations there are, when they were held, at what cost.

There is something of everything that the program treats in its own way: a chain of compressions,
delegates, a branch, a reset, nightly runs, chats, Chinese and Japanese, and every flag.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from demo_home.prompts import DEGRADED_PROMPT
from demo_home.scene import CLAUDE, LOCAL, OPENROUTER, Cost, Scene
from demo_home.script import read_script

DEMO_NOW = datetime(2026, 11, 30, 16, 20, tzinfo=UTC)
"""The moment at which the sample is looked at; every scene was held before it."""

INSTALLED = DEMO_NOW - timedelta(days=250)
"""When the store was created, a little before its first conversation."""

REPORTS = (
    ("2026-11-25", "3 open, 1 waits for you (#405).", "all green", "Nothing urgent."),
    ("2026-11-26", "4 open, 2 wait for you (#405, #407).", "all green", "#405 is two days old."),
    (
        "2026-11-27",
        "2 open, none waits for you.",
        "e2e flaky (1 of 6)",
        "Somebody should look at e2e.",
    ),
    ("2026-11-28", "2 open, none waits for you.", "e2e flaky (2 of 6)", "e2e again, same test."),
    ("2026-11-29", "2 open, none waits for you.", "all green", "A quiet Sunday."),
    (
        "2026-11-30",
        "3 open, 1 waits for you (#411).",
        "main red since 04:41",
        "Look at main first.",
    ),
)
"""Nightly runs of one job: the day, pull requests, builds, and what the report says of them."""

TELEGRAM = {
    "user_id": "70011",
    "session_key": "agent:main:telegram:dm:70011",
    "chat_id": "70011",
    "chat_type": "dm",
    "display_name": "You",
    "origin_json": json.dumps({"platform": "telegram", "chat_id": "70011", "chat_name": "You"}),
}
WORK_CHAT = {
    "user_id": "70011",
    "session_key": "agent:main:telegram:group:-100421",
    "chat_id": "-100421",
    "chat_type": "group",
    "display_name": "data-infra",
    "origin_json": json.dumps({"platform": "telegram", "chat_id": "-100421"}),
}
COMMUNITY = {
    "user_id": "88001",
    "session_key": "agent:main:discord:channel:777001",
    "chat_id": "777001",
    "chat_type": "channel",
    "display_name": "#help",
}

PAYMENTS_IDS = ("20261126_140500_c41d0e", "20261128_101200_5b7f92", "20261130_090210_77de01")

SCENES = (
    Scene(
        "20261130_101500_a1b2c3",
        "cli",
        read_script("auth_middleware"),
        title="refactor auth middleware",
        title_source="user",
        workspace="api-gateway",
        branch="feature/auth-middleware",
        cost=Cost("estimated", 2.1834, 1_284_000, 21_600, 41),
    ),
    Scene(
        PAYMENTS_IDS[0],
        "tui",
        read_script("payments_1"),
        model=CLAUDE,
        workspace="billing",
        end="compression",
        cost=Cost("actual", 1.4121, 402_000, 9_800, 14),
    ),
    Scene(
        PAYMENTS_IDS[1],
        "tui",
        read_script("payments_2"),
        model=CLAUDE,
        workspace="billing",
        parent=PAYMENTS_IDS[0],
        end="compression",
        cost=Cost("actual", 0.9377, 288_000, 6_100, 11),
    ),
    Scene(
        PAYMENTS_IDS[2],
        "tui",
        read_script("payments_3"),
        model=CLAUDE,
        title="payments migration plan",
        title_source="user",
        workspace="billing",
        parent=PAYMENTS_IDS[1],
        cost=Cost("estimated", 1.0602, 331_000, 7_400, 12),
        flags=("pinned",),
    ),
    Scene(
        "20261130_090332_3d90b4",
        "subagent",
        read_script("payments_delegate_1"),
        model=CLAUDE,
        parent=PAYMENTS_IDS[2],
        mark="_delegate_from",
        end="agent_close",
        cost=Cost("estimated", 0.0188, 6_100, 210, 2),
    ),
    Scene(
        "20261130_090333_e8a571",
        "subagent",
        read_script("payments_delegate_2"),
        model=CLAUDE,
        parent=PAYMENTS_IDS[2],
        mark="_delegate_from",
        end="agent_close",
        cost=Cost("estimated", 0.0201, 6_400, 260, 2),
    ),
    Scene(
        "20261130_110000_aa00ff",
        "tui",
        read_script("payments_branch"),
        model=CLAUDE,
        title="payments plan, no downtime",
        title_source="user",
        workspace="billing",
        parent=PAYMENTS_IDS[2],
        mark="_branched_from",
        cost=Cost("estimated", 0.1410, 52_000, 900, 2),
    ),
    Scene(
        "20261130_071122_e2f0aa",
        "oneshot",
        read_script("red_build"),
        workspace="api-gateway",
        end="oneshot_complete",
        cost=Cost("estimated", 0.0312, 14_200, 160, 1),
    ),
    *(
        Scene(
            f"cron_ab12cd34ef56_{day.replace('-', '')}_050000",
            "cron",
            read_script("nightly_report").format(pulls=pulls, builds=builds, remark=remark),
            title=f"nightly-report · {datetime.fromisoformat(day):%b %d} 05:00",
            model=OPENROUTER,
            workspace="api-gateway",
            end="cron_complete",
            cost=Cost("included", 0.0, 5_200, 140, 2),
        )
        for day, pulls, builds, remark in REPORTS
    ),
    Scene(
        "20261129_183000_0f3c9d2a",
        "telegram",
        read_script("cjk_migration"),
        title="数据库迁移计划",
        model=OPENROUTER,
        workspace="data-infra",
        cost=Cost("estimated", 0.0894, 61_000, 3_900, 8),
        peer=WORK_CHAT,
        flags=("unread",),
    ),
    Scene(
        "20261121_201500_9c1f00",
        "cli",
        read_script("portugal"),
        title="portugal 2026",
        title_source="user",
        end="cli_close",
        cost=Cost("estimated", 0.2277, 118_000, 4_300, 9),
    ),
    Scene(
        "20261117_073000_51b2e9c4",
        "telegram",
        read_script("sourdough_1"),
        title="nail varnish in the starter",
        model=LOCAL,
        end="session_reset",
        cost=Cost("included", 0.0, 9_100, 700, 3),
        peer=TELEGRAM,
    ),
    Scene(
        "20261122_152800_c07d3f18",
        "telegram",
        read_script("sourdough_2"),
        title="bread for Monday lunch",
        model=LOCAL,
        parent="20261117_073000_51b2e9c4",
        mark="_reset_from",
        cost=Cost("included", 0.0, 6_300, 520, 2),
        peer=TELEGRAM,
    ),
    Scene(
        "20261119_181010_d15c0a7e",
        "discord",
        read_script("discord_help"),
        title="2.4: old configuration files",
        model=OPENROUTER,
        end="idle",
        cost=Cost("unknown", 0.0, 22_000, 1_100, 5),
        prompt=DEGRADED_PROMPT,
        peer=COMMUNITY,
    ),
    Scene(
        "20261123_131500_f1a07e",
        "cli",
        read_script("flaky_tests"),
        title="flaky checkout tests",
        workspace="web-shop",
        branch="fix/e2e-users",
        end="cli_close",
        cost=Cost("estimated", 0.8120, 477_000, 8_200, 19),
    ),
    Scene(
        "20261125_101112_4be7d2",
        "cli",
        read_script("invoice_regex"),
        model=CLAUDE,
        title="regex for invoice numbers",
        workspace="billing",
        end="cli_close",
        cost=Cost("actual", 0.0711, 19_000, 900, 4),
    ),
    Scene(
        "20261127_140210_86fd1c",
        "tui",
        read_script("chart"),
        model=CLAUDE,
        title="queue depth after the deploy",
        workspace="api-gateway",
        end="tui_close",
        cost=Cost("estimated", 0.0264, 7_900, 310, 2),
    ),
    Scene(
        "20261129_211540_b80e6d",
        "cli",
        read_script("tmux"),
        model=LOCAL,
        end="agent_close",
        cost=Cost("included", 0.0, 3_200, 240, 1),
    ),
    Scene(
        "api_1796018400_4c1d7e02",
        "api_server",
        read_script("morning_brief"),
        model=LOCAL,
        cost=Cost("unknown", 0.0, 4_100, 120, 2),
    ),
    Scene(
        "20261124_093000_7f00aa",
        "tool",
        read_script("tool_run"),
        model=LOCAL,
        end="cli_close",
        cost=Cost("included", 0.0, 900, 60, 1),
    ),
    Scene(
        "20261110_120000_b07c4a",
        "tui",
        read_script("bot_chat"),
        model=LOCAL,
        title="Bot Chat",
        title_source="user",
        flags=("hidden",),
    ),
    Scene(
        "20260830_101112_aa0011",
        "cli",
        read_script("css_grid"),
        title="css grid",
        workspace="homepage",
        end="cli_close",
        cost=Cost("estimated", 0.0931, 21_000, 1_600, 4),
    ),
    Scene(
        "20260614_163000_5e8c77",
        "cli",
        read_script("pg_notes"),
        model=CLAUDE,
        title="postgres 17 upgrade notes",
        workspace="data-infra",
        end="cli_close",
        cost=Cost("actual", 0.1830, 44_000, 1_900, 5),
        flags=("archived",),
    ),
    Scene(
        "20260402_194500_2a6b9f",
        "tui",
        read_script("rust_lifetimes"),
        title="lifetimes for a C programmer",
        end="ws_orphan_reap",
        cost=Cost("estimated", 0.0607, 16_000, 1_500, 5),
    ),
)
