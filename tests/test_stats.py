"""Statistics, cost, dates (cases J), and where the bytes are (R101)."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hermes_sessions.models import price
from hermes_sessions.render.charts import NOTHING, SHADES, bar, calendar
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.space import has_dbstat, load_space
from recount import LAST_INSTANT, MONEY, Recount
from support import CLOCK, DAMAGED, STORES, Outcome, edit
from test_list import insert_into, message, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support import Cli

    MakeCli = Callable[..., Cli]

DAY = 86_400
READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
WEST_TO_EAST = ("Pacific/Kiritimati", "America/New_York", "America/Havana", "Asia/Kathmandu")


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move to a time zone for the length of a test."""
    with monkeypatch.context() as patch:

        def move(name: str) -> None:
            patch.setenv("TZ", name)
            time.tzset()

        yield move
    time.tzset()


def recount(cli: Cli) -> Recount:
    conversations = cli("list", "--all", "-n", "0", "--json").ok().json
    return Recount(cli.home, conversations)


def stats(cli: Cli, *words: str) -> Any:
    return cli("stats", "--json", *words).ok().json


def screen(cli: Cli, *words: str, width: int = 80) -> str:
    return cli("--color", "never", "stats", *words, terminal=width).ok().stdout


def figures(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return those of the figures that are expected, dollars as far as they are exact."""
    return {
        name: pytest.approx(found[name], abs=1e-6) if name in MONEY else found[name]
        for name in expected
    }


def add_up(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of all figures that are numbers of everything."""
    names = [n for n in groups[0] if n.endswith(("_tokens", "_sessions", "sations", "ssages"))]
    return {name: sum(group[name] for group in groups) for name in [*names, "sessions"]}


# Every figure, on every store


@pytest.mark.parametrize("name", READABLE)
def test_R131_equals_a_recount_in_plain_python(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    expected = recount(cli)
    for words, everything in (((), False), (("--all",), True)):
        found = stats(cli, *words)
        parts = found["sessions"]["parts"]
        assert {part: n for part, n in parts.items() if n} == expected.session_parts()
        assert found["sessions"]["total"] == len(expected.sessions)
        parts = found["messages"]["parts"]
        assert {part: n for part, n in parts.items() if n} == expected.message_parts()
        assert found["messages"]["total"] == len(expected.messages)
        totals = expected.tally(expected.shown(everything=everything))
        assert totals == figures(found["totals"], totals)
        for key in ("source", "workspace"):
            groups = expected.by(key, everything=everything)
            assert {group[key] for group in found[f"by_{key}"]} == set(groups)
            for group in found[f"by_{key}"]:
                assert groups[group[key]] == figures(group, groups[group[key]])
        tokens = {g["model"]: g["input_tokens"] + g["output_tokens"] for g in found["by_model"]}
        expected_tokens = expected.tokens_by_model(everything=everything)
        assert {model: number for model, number in tokens.items() if number} == expected_tokens


@pytest.mark.parametrize("name", READABLE)
def test_every_way_to_tell_them_apart_adds_up(make_cli: MakeCli, name: str) -> None:
    found = stats(make_cli(name), "--json=totals,skipped,by_source,by_model,by_workspace,by_day,"
                  "by_week,by_month")  # fmt: skip
    for section in ("by_source", "by_model", "by_workspace"):
        sums = add_up(found[section])
        assert sums == {name: found["totals"][name] for name in sums}
    for section in ("by_day", "by_week", "by_month"):
        sums = add_up(found[section])
        for figure in ("conversations", "sessions", "messages"):
            assert sums[figure] + found["skipped"][figure] == found["totals"][figure], section
    totals = found["totals"]
    kinds = ("billed", "included", "estimated", "unpriced", "unused")
    assert sum(totals[f"{kind}_sessions"] for kind in kinds) == totals["sessions"]
    states = ("live", "archived", "rewound")
    assert sum(totals[f"{s}_messages"] for s in states) == totals["messages"]


@pytest.mark.parametrize("name", ["0.13.0", "0.22.2", "odd-values", "hot-wal/state", "orphan-rows"])
@pytest.mark.parametrize("where", WEST_TO_EAST)
def test_R128_days_are_local(
    make_cli: MakeCli, zone: Callable[[str], None], name: str, where: str
) -> None:
    zone(where)
    cli = make_cli(name)
    found = stats(cli, "--json=by_day,skipped")
    days, undated = recount(cli).by_day(everything=False)
    assert [day["day"] for day in found["by_day"]] == sorted(map(str, days))
    for day in found["by_day"]:
        expected = days[date.fromisoformat(day["day"])]
        assert expected == figures(day, expected)
    assert found["skipped"] == undated


@pytest.mark.parametrize("name", ["0.13.0", "0.16.0", "0.19.0", "0.22.2", "null-active"])
def test_tool_calls_equal_a_recount(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    found = stats(cli, "--by", "tool")["by_tool"]
    assert {t["tool"]: (t["calls"], t["results"], t["conversations"]) for t in found} == recount(
        cli
    ).tools(everything=False)
    assert found == sorted(found, key=lambda t: (-t["calls"], -t["results"], t["tool"]))


# The same figures by other roads


@pytest.mark.parametrize("name", ["0.15.2", "0.22.2", "odd-values"])
def test_a_filter_that_matches_everything_changes_nothing(make_cli: MakeCli, name: str) -> None:
    """Without a filter most sessions are not worked out; with one all of them are."""
    cli = make_cli(name)
    for words in ((), ("--all",), ("--archived",)):
        assert stats(cli, *words) == stats(cli, "--min-messages", "0", *words)


def test_without_indexes_the_figures_are_the_same(make_cli: MakeCli) -> None:
    def drop_indexes(path: Any) -> None:
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'messages'"
            ).fetchall()
            for (name,) in names:
                connection.execute(f"DROP INDEX {name}")
            connection.commit()

    assert stats(make_cli(change=drop_indexes)) == stats(make_cli())


def test_rows_that_json_cannot_hold_are_counted_all_the_same(make_cli: MakeCli) -> None:
    blob = f"INSERT INTO messages (session_id, role, timestamp) VALUES (x'ff00', 'user', {CLOCK})"
    before = stats(make_cli())["messages"]
    after = stats(make_cli(change=edit(blob)))["messages"]
    assert after["total"] == before["total"] + 1
    assert after["parts"]["orphan"] == 1


def test_what_a_filter_selects(cli: Cli) -> None:
    found = stats(cli, "--source", "cli", "--all")
    assert [group["source"] for group in found["by_source"]] == ["cli"]
    assert found["totals"]["conversations"] == len(
        cli("list", "--source", "cli", "--all", "--ids", "-n", "0").lines
    )
    assert found["sessions"]["total"] == stats(cli)["sessions"]["total"], "parts are of the table"


# Costs


def costs(make_cli: MakeCli, **columns: object) -> dict[str, Any]:
    """Return the figures of a store's only session of a source."""
    row = session(id="x", source="priced", input_tokens=1000, **columns)
    (group,) = stats(make_cli(change=edit(row)), "--source", "priced")["by_source"]
    return dict(group)


@pytest.mark.parametrize("status", [None, "unknown"])
def test_R126_a_placeholder_is_no_price(make_cli: MakeCli, status: str | None) -> None:
    found = costs(make_cli, estimated_cost_usd=0.0, cost_status=status)
    assert found["cost_usd"] is None
    assert found["estimated_cost_usd"] is None
    assert found["unpriced_sessions"] == 1
    cli = make_cli(
        change=edit(session(id="x", source="priced", input_tokens=1000, cost_status=status))
    )
    assert cli("stats", "--source", "priced", "--by", "source").ok().lines == [
        "priced\t1\t1\t0\t1000\tn/a\tn/a\t1"
    ]
    table = screen(cli, "--source", "priced", "--by", "source")
    assert "n/a" in table
    assert "$0" not in table
    assert "1 unpriced" in table


def test_R126_what_is_included_costs_nothing_and_is_known(make_cli: MakeCli) -> None:
    found = costs(make_cli, estimated_cost_usd=0.0, cost_status="included")
    assert (found["cost_usd"], found["included_sessions"]) == (0.0, 1)
    assert found["unpriced_sessions"] == 0
    row = session(id="x", source="priced", input_tokens=1000, cost_status="included")
    cli = make_cli(change=edit(row))
    assert "included" in screen(cli, "--by", "source", "--source", "priced")


def test_R126_an_actual_zero_is_a_price(make_cli: MakeCli) -> None:
    found = costs(make_cli, actual_cost_usd=0.0, cost_status="actual")
    assert (found["actual_cost_usd"], found["billed_sessions"]) == (0.0, 1)


def test_R127_actual_before_estimate_and_both_in_the_json(make_cli: MakeCli) -> None:
    rows = (
        session(id="a", source="priced", actual_cost_usd=2.0, estimated_cost_usd=9.0,
                cost_status="actual"),
        session(id="e", source="priced", estimated_cost_usd=0.5, cost_status="estimated"),
    )  # fmt: skip
    cli = make_cli(change=edit(*rows))
    totals = stats(cli, "--source", "priced")["totals"]
    assert totals["actual_cost_usd"] == 2.0
    assert totals["estimated_cost_usd"] == 0.5
    assert (totals["cost_usd"], totals["cost_estimated"]) == (2.5, True)
    shown = screen(cli, "--source", "priced")
    assert "$2.00 billed, ~$0.50 estimated" in shown


@given(
    st.none() | st.floats(0, 9), st.none() | st.floats(0, 9),
    st.sampled_from([None, "unknown", "included", "estimated", "actual"]),
)  # fmt: skip
def test_a_price_is_actual_included_estimated_or_unknown(
    actual: float | None, estimate: float | None, status: str | None
) -> None:
    kind, usd = price(actual, estimate, status)
    assert usd in {actual, estimate, 0.0}
    is_placeholder = status in {None, "unknown"} and not actual
    assert (kind == "billed") == (actual is not None and not is_placeholder)
    assert kind is not None or (not estimate and status != "included")


# Models that took a part of a session


def usage(model: str, tokens: int, dollars: float = 0.0, **columns: object) -> str:
    return insert_into(
        "session_model_usage",
        {
            "session_id": "x",
            "model": model,
            "input_tokens": tokens,
            "estimated_cost_usd": dollars,
            **columns,
        },
    )


TWO_MODELS = session(
    id="x", source="two", model="second", input_tokens=100, estimated_cost_usd=1.0,
    cost_status="estimated",
)  # fmt: skip


def by_model(cli: Cli) -> dict[str, tuple[int, float, int]]:
    groups = stats(cli, "--source", "two")["by_model"]
    return {g["model"]: (g["input_tokens"], g["cost_usd"], g["sessions"]) for g in groups}


def test_what_another_model_took_of_a_session_counts_there(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            TWO_MODELS, usage("first", 70, 0.75), usage("second", 30, 0.25),
            usage("helper", 999, 9.0, task="title_generation", api_call_count=3),
        )
    )  # fmt: skip
    assert by_model(cli) == {"second": (30, 0.25, 1), "first": (70, 0.75, 0)}
    (auxiliary,) = stats(cli, "--source", "two")["auxiliary"]
    assert auxiliary == {
        "task": "title_generation",
        "api_call_count": 3,
        "tokens": 999,
        "estimated_cost_usd": 9.0,
    }
    assert "3 auxiliary calls" in screen(cli, "--source", "two")


def test_rows_that_claim_more_than_the_session_took_are_not_trusted(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(TWO_MODELS, usage("first", 101, 0.0)))
    assert by_model(cli) == {"second": (100, 1.0, 1)}


# Time


def test_R128_an_evening_counts_on_its_local_day(
    make_cli: MakeCli, zone: Callable[[str], None]
) -> None:
    evening = datetime(2026, 6, 15, 20, 30, tzinfo=UTC).timestamp()
    zone("Pacific/Kiritimati")
    cli = make_cli(
        change=edit(session(id="x", source="far", started_at=evening), message("x", evening))
    )
    (day,) = stats(cli, "--source", "far")["by_day"]
    assert (day["day"], day["conversations"], day["messages"]) == ("2026-06-16", 1, 1)


def test_R128_each_time_has_the_offset_of_its_own_day(
    make_cli: MakeCli, zone: Callable[[str], None]
) -> None:
    """04:30 UTC is before midnight in New York's winter, and after it in summer."""
    zone("America/New_York")
    winter, summer = (datetime(2026, month, 10, 4, 30, tzinfo=UTC).timestamp() for month in (1, 7))
    cli = make_cli(
        change=edit(
            session(id="x", source="far", started_at=winter),
            message("x", winter),
            message("x", summer),
        )
    )
    days = stats(cli, "--source", "far")["by_day"]
    assert [(d["day"], d["messages"]) for d in days] == [("2026-01-09", 1), ("2026-07-10", 1)]


def test_weeks_are_iso_weeks_and_months_are_months(make_cli: MakeCli) -> None:
    new_year = datetime(2027, 1, 1, 12, tzinfo=UTC).timestamp()
    cli = make_cli(
        change=edit(session(id="x", source="far", started_at=new_year), message("x", new_year))
    )
    found = stats(cli, "--source", "far", "--json=by_week,by_month")
    assert [week["week"] for week in found["by_week"]] == ["2026-W53"]
    assert [month["month"] for month in found["by_month"]] == ["2027-01"]


OLD_AND_NEW = (
    session(id="x", source="long", started_at=CLOCK - 90 * DAY, input_tokens=500),
    message("x", CLOCK - 90 * DAY),
    message("x", CLOCK - 89 * DAY),
    message("x", CLOCK - DAY),
)


def test_R130_messages_are_counted_in_the_window(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(*OLD_AND_NEW))
    words = ("--source", "long", "--newer-than", "7d")
    found = stats(cli, *words)
    assert found["totals"]["messages"] == 1
    assert found["totals"]["live_messages"] == 1
    assert found["totals"]["input_tokens"] == 500
    lifetime = "lifetime of sessions active in the window"
    assert found["window"]["tokens_and_cost"] == lifetime
    assert found["window"]["since"] == CLOCK - 7 * DAY
    assert found["window"]["before"] is None
    assert sum(day["messages"] for day in found["by_day"]) == 1
    assert found["messages"]["total"] == stats(cli)["messages"]["total"]
    shown = " ".join(screen(cli, *words, width=60).split())
    assert lifetime in shown
    assert stats(cli, "--source", "long")["totals"]["messages"] == 3
    assert stats(cli, "--source", "long")["window"] is None


def test_R130_before_and_after_bound_the_messages_too(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(*OLD_AND_NEW))
    totals = stats(cli, "--source", "long", "--after", "100d", "--before", "30d")["totals"]
    assert (totals["conversations"], totals["messages"]) == (1, 2)


def test_R130_rows_of_every_state_are_counted_in_the_window(cli: Cli) -> None:
    """In this conversation there are live, archived and rewound rows."""
    found = stats(cli, "--title", "migration plan", "--newer-than", "9999d")["totals"]
    whole = stats(cli, "--title", "migration plan")["totals"]
    assert whole["archived_messages"]
    assert whole["rewound_messages"]
    assert found == whole


@pytest.mark.parametrize("start", ["8e252", "-5.0", "'not-a-time'", str(LAST_INSTANT + 1)])
def test_R132_a_time_that_cannot_be_is_skipped_and_counted(make_cli: MakeCli, start: str) -> None:
    cli = make_cli(
        change=edit(
            session(id="x", source="far"),
            f"UPDATE sessions SET started_at = {start} WHERE id = 'x'",
            message("x", CLOCK),
            message("x", CLOCK),
            f"UPDATE messages SET timestamp = {start} WHERE session_id = 'x'"
            " AND id = (SELECT max(id) FROM messages)",
        )
    )
    found = stats(cli, "--source", "far")
    assert found["skipped"] == {"conversations": 1, "sessions": 1, "messages": 1}
    assert found["totals"]["messages"] == 2
    assert len(found["by_day"]) == 1
    table = screen(cli, "--source", "far", "--by", "day")
    assert "without a date: 1 session, 1 message" in table
    assert screen(cli)


# Parts


def test_R131_flags_move_sessions_between_parts(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            session(id="seen"), message("seen", CLOCK), session(id="bare"),
            session(id="put-away", archived=1), session(id="secret", hidden=1),
            session(id="run", source="tool"), session(id="child", parent_session_id="seen"),
        )
    )  # fmt: skip
    before, after = (stats(c)["sessions"]["parts"] for c in (make_cli(), cli))
    moved = {part: after[part] - before[part] for part in after}
    assert moved == {
        "visible": 1, "empty": 1, "archived": 1, "hidden": 1, "tool": 1, "child": 1, "delegate": 0,
    }  # fmt: skip
    shown = screen(cli, width=120)
    assert f"{sum(after.values())} sessions: {after['visible']} in view" in shown
    assert "1 unmarked child" in shown


def test_R131_what_is_out_of_view_is_counted_beside(cli: Cli) -> None:
    found, everything = stats(cli), stats(cli, "--all")
    for figure in ("conversations", "sessions", "messages"):
        assert (
            found["totals"][figure] + found["out_of_view"][figure] == everything["totals"][figure]
        )
    reasons = found["out_of_view"]["conversations_by_reason"]
    assert sum(reasons.values()) == found["out_of_view"]["conversations"]
    assert everything["out_of_view"]["conversations"] == 0
    assert "out of view (--all)" in screen(cli)


def test_R050_orphans_are_counted(make_cli: MakeCli) -> None:
    cli = make_cli("orphan-rows")
    rows = recount(cli)
    parents = [row["parent_session_id"] for row in rows.sessions.values()]
    orphans = sum(m["session_id"] not in rows.sessions for m in rows.messages)
    parentless = sum(parent is not None and parent not in rows.sessions for parent in parents)
    found = stats(cli)
    assert found["messages"]["parts"]["orphan"] == orphans > 0
    assert found["sessions"]["parent_missing"] == parentless > 0
    shown = screen(cli, width=120)
    assert f"{orphans} of sessions that are gone" in shown
    assert f"{parentless} without their parent" in shown


# Bytes


@pytest.mark.parametrize("name", ["0.13.0", "0.22.2", "half-migrated-fts", "fts-corrupt", "no-fts"])
def test_R101_parts_and_free_pages_are_the_whole_file(make_cli: MakeCli, name: str) -> None:
    cli = make_cli(name)
    space = stats(cli, "--space")["space"]
    assert space["size_bytes"] == (cli.home / "state.db").stat().st_size
    assert (
        sum(part["size_bytes"] for part in space["parts"]) + space["free_bytes"]
        == space["size_bytes"]
    )
    text = {each["source"]: each["size_bytes"] for each in space["text_by_source"]}
    assert text == text_by_source(recount(cli))


def text_by_source(rows: Recount) -> dict[str | None, int]:
    names = ("content", "tool_calls", "tool_name", "reasoning", "reasoning_content",
             "reasoning_details", "codex_reasoning_items", "codex_message_items", "api_content",
             "display_metadata")  # fmt: skip
    sizes: dict[str | None, int] = {}
    for row in rows.messages:
        owner = rows.sessions.get(row["session_id"])
        source = owner["source"] if owner else None
        cells = (row.get(name) for name in names)
        length = sum(len(str(cell).encode()) for cell in cells if cell is not None)
        sizes[source] = sizes.get(source, 0) + length
    return sizes


def test_R101_what_optimize_gives_back(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit("DELETE FROM messages", "DELETE FROM system_prompts"))
    space = stats(cli, "--space")["space"]
    assert space["free_bytes"] > 0
    shown = screen(cli, "--space")
    assert "in free pages: optimize gives back at least these" in shown
    assert "archiving only hides" in shown


def test_R101_without_dbstat_lengths_stand_for_pages(cli: Cli) -> None:
    with open_store(cli.home / "state.db") as store:
        measured = load_space(store, lambda _done: None, exact=False)
        if has_dbstat(store):
            exact = load_space(store, lambda _done: None, exact=True)
            assert exact.by_source == measured.by_source
            pages = {part.name: part.size for part in exact.parts}
            lengths = {part.name: part.size for part in measured.parts if part.name != "other"}
            assert all(0 < size <= pages[name] for name, size in lengths.items())
    assert {part.name for part in measured.parts} == {
        "messages", "messages_fts", "messages_fts_trigram", "other",
    }  # fmt: skip
    assert sum(part.size for part in measured.parts) + measured.free == measured.size


# Damage, nothing, and words that make no sense


def test_damage_is_told_and_the_rest_is_counted(make_cli: MakeCli) -> None:
    cli = make_cli("page-damage")
    expected = stats(make_cli())["totals"]
    outcome = cli("stats", "--by", "tool", "--json")
    assert outcome.code == 4
    assert outcome.json["partial"]
    assert outcome.json["totals"]["conversations"] == expected["conversations"]
    assert outcome.json["totals"]["input_tokens"] == expected["input_tokens"]
    assert "partial" in outcome.stderr
    space = cli("stats", "--space", "--json")
    assert space.code == 4
    assert space.json["space"]["parts"]


def test_counts_that_cannot_be_read_are_no_zeros(make_cli: MakeCli) -> None:
    def break_indexes(path: Any) -> None:
        """Overwrite the pages of all indexes of messages, and of the table."""
        with closing(sqlite3.connect(path)) as connection:
            roots = connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'messages' AND rootpage > 0"
            ).fetchall()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
        with path.open("r+b") as file:
            for (root,) in roots:
                file.seek((root - 1) * size)
                file.write(b"\xff" * size)

    cli = make_cli(change=break_indexes)
    outcome = cli("stats", "--json")
    assert outcome.code == 4
    assert outcome.json["messages"] == {"total": None, "parts": None}
    assert outcome.json["totals"]["messages"] is None
    assert outcome.json["totals"]["conversations"] == 33
    shown = cli("stats", terminal=80)
    assert shown.code == 4
    assert "messages unreadable" in shown.stdout


def test_an_empty_calendar_of_damage_says_so(make_cli: MakeCli) -> None:
    """The index with the times of messages is broken; the one with their states is whole."""

    def break_index(path: Any) -> None:
        with closing(sqlite3.connect(path)) as connection:
            (root,) = connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'idx_messages_session'"
            ).fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
        with path.open("r+b") as file:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)

    cli = make_cli(change=break_index)
    outcome = cli("stats", "--by", "day", "--json")
    assert outcome.code == 4
    assert outcome.json["partial"]
    assert outcome.json["skipped"]["messages"] == 0
    assert outcome.json["by_day"], "sessions still have their days"
    for words in ((), ("--by", "month")):
        shown = cli("stats", *words, terminal=80)
        assert shown.code == 4
        assert "partial" in shown.stderr


@pytest.mark.parametrize("name", DAMAGED)
def test_R111_damage_is_never_an_empty_result(make_cli: MakeCli, name: str) -> None:
    outcome = make_cli(name)("stats")
    assert (outcome.code, outcome.stdout) == (4, "")
    assert "damaged" in outcome.stderr


def test_no_store(cli: Cli) -> None:
    (cli.home / "empty").mkdir()
    where = ("--home", str(cli.home / "empty"))
    for words in ((), ("--by", "day"), ("--space",)):
        outcome = cli("stats", *words, *where).ok()
        assert outcome.stdout == ""
        assert "no store at" in outcome.stderr
    assert cli("stats", "--json", *where).ok().json == {}
    (cli.home / "empty").rmdir()


def test_nothing_matches(cli: Cli) -> None:
    outcome = cli("stats", "--title", "no such title", terminal=80).ok()
    assert "0 conversations" in outcome.stdout
    assert "no conversation matches" in outcome.stderr
    assert stats(cli, "--title", "no such title")["totals"]["conversations"] == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--by", "colour"), "workspace"),
        (("--by", "day", "--space"), "two tables"),
        (("--json=totals,colour",), "by_workspace"),
        (("-n", "-1"), "--limit"),
    ],
)
def test_usage_errors(cli: Cli, words: tuple[str, ...], told: str) -> None:
    outcome = cli("stats", *words)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert told in outcome.stderr


# What is printed


def test_json_has_what_was_asked_for(cli: Cli) -> None:
    assert list(stats(cli, "--json=by_tool,totals")) == ["by_tool", "totals"]
    assert "by_week" not in stats(cli)
    assert "by_week" in stats(cli, "--by", "week")
    assert "space" in stats(cli, "--space")


def columns(outcome: Outcome) -> list[list[str]]:
    return [line.split("\t") for line in outcome.ok().lines]


@pytest.mark.parametrize("by", ["source", "model", "workspace", "day", "week", "month"])
def test_lines_say_what_the_json_says(cli: Cli, by: str) -> None:
    groups = stats(cli, "--by", by)[f"by_{by}"]
    lines = columns(cli("stats", "--by", by, "-n", "0"))
    assert [[line[0], *map(int, line[1:5])] for line in lines] == [
        [g[by] or "", g["conversations"], g["sessions"], g["messages"],
         g["input_tokens"] + g["output_tokens"]]
        for g in (groups if by in {"source", "model", "workspace"} else groups[::-1])
    ]  # fmt: skip
    assert len(cli("stats", "--by", by, "-n", "1").lines) == 1


def test_lines_of_everything_add_up(cli: Cli) -> None:
    lines = columns(cli("stats"))
    total = next(line for line in lines if line[0] == "total")
    for section in ("source", "model", "workspace"):
        found = [line for line in lines if line[0] == section]
        for column in range(2, 6):
            assert sum(int(line[column]) for line in found) == int(total[column])
    found = stats(cli)
    for section in ("sessions", "messages"):
        parts = {line[1]: int(line[2]) for line in lines if line[0] == section}
        assert parts == found[section]["parts"]


def test_names_that_are_stored_cannot_move_the_cursor(make_cli: MakeCli) -> None:
    evil = "evil\x1b[31m\nname"
    cli = make_cli(change=edit(session(id="x", source=evil, model=evil, cwd=f"/{evil}")))
    for by in ((), ("--by", "source"), ("--by", "model"), ("--by", "workspace")):
        for width in (0, 80):
            assert "\x1b[31m" not in cli("stats", "-n", "0", *by, terminal=width).ok().stdout
    assert any(group["source"] == evil for group in stats(cli)["by_source"])


def test_wide_names_are_aligned(make_cli: MakeCli) -> None:
    rows = [session(id="w", source="数据库迁移", cwd="/源/数据库迁移计划"), session(id="n")]
    lines = screen(make_cli(change=edit(*rows)), "--by", "source").splitlines()
    head = next(line for line in lines if line.startswith("Source"))
    end = cell_len(head[: head.index("Chats") + len("Chats")])
    for line in lines:
        if line.startswith(("cli", "数据库迁移")):
            chats = line.replace("█", " ").split()[1]
            at = line.index(f" {chats}", line.rindex("█"))
            assert cell_len(line[: at + 1 + len(chats)]) == end


def test_one_screen(cli: Cli) -> None:
    lines = screen(cli).splitlines()
    assert len(lines) <= 23
    assert all(len(line) <= 80 for line in lines)


def test_the_calendar_reads_without_colour() -> None:
    first, today = date(2026, 11, 2), date(2026, 11, 18)
    counts = {date(2026, 11, day): n for day, n in ((2, 1), (3, 2), (9, 3), (10, 900))}
    assert calendar(counts, first, today) == [
        "Mon ░ ▒ ·".replace("▒", "▓"),
        "Tue ▒ █ ·",
        "Wed · · ·",
        "Thu · ·",
        "Fri · ·",
        "Sat · ·",
        "Sun · ·",
        "    Nov",
    ]


@given(
    st.dictionaries(st.dates(date(2026, 1, 1), date(2026, 6, 30)), st.integers(0, 10**9)),
    st.integers(1, 26),
)
def test_any_calendar_has_every_day_once(counts: dict[date, int], weeks: int) -> None:
    today = date(2026, 6, 25)  # a Thursday
    first = date.fromordinal(today.toordinal() - 3 - 7 * (weeks - 1))
    *days, months = calendar(counts, first, today)
    shown = "".join(line[4:] for line in days).replace(" ", "")
    assert len(shown) == 7 * weeks - 3
    assert set(shown) <= {*SHADES, NOTHING}
    seen = [day for day, n in counts.items() if n and first <= day <= today]
    assert sum(shown.count(shade) for shade in SHADES) == len(seen)
    assert len(months) <= 4 + 2 * weeks


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 99))
def test_a_bar_is_as_long_as_its_value(value: int, most: int, width: int) -> None:
    drawn = bar(min(value, most), most, width)
    assert (drawn == "") == (min(value, most) == 0)
    assert len(drawn) <= width


def test_json_is_valid_everywhere(cli: Cli) -> None:
    text = cli("stats", "--json", "--space", "--by", "tool").ok().stdout
    assert json.loads(text, parse_constant=pytest.fail)
