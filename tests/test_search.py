"""Search finds everything and says so when it cannot (contract §7, cases D).

The oracle is a plain pass over the rows with the rules of ``hermes_sessions.matching``; what each
release's own search answered (corpus manifest) must be among what we find.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import hermes_sessions
import tmux
from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.matching import Text, matches
from hermes_sessions.models import Filter
from hermes_sessions.query import loosened, parse
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.ranking import Ranking, SortHits
from hermes_sessions.store.search import DEFAULT_ROLES, Wanted, search
from support import CLOCK, DAMAGED, RELEASES, STORES, VARIANTS, edit, place_store
from test_list import message, session, structured_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.search import Result
    from support import Cli

    MakeCli = Callable[..., Cli]

READABLE = [name for name in STORES if name not in {*DAMAGED, "page-damage"}]
WITH_FACTS = {**RELEASES, **{name: v for name, v in VARIANTS.items() if "facts" in v}}

QUERIES = (Path(__file__).parent / "queries.txt").read_text(encoding="utf-8").splitlines()
"""Words, phrases, prefixes, punctuation, scripts, operators and pairs of words."""


class Row:
    """A message as the oracle sees it."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.id: int = row["id"]
        self.role: str = row["role"]
        self.session_id: str = row["session_id"]
        self.text = _searched(row)


def _searched(row: dict[str, Any]) -> Text:
    calls = [f"{c.name}\n{c.arguments}" for c in tool_calls(row.get("tool_calls") or "")]
    if row.get("tool_name"):
        calls.append(str(row["tool_name"]))
    return Text(plain_text(row["content"]), "\n".join(calls))


def rows_of(path: Path) -> list[Row]:
    """Read what is searched: live and archived rows of sessions that exist, none hidden."""
    connection = sqlite3.connect(path)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM messages ORDER BY id")]
    sessions = {row[0] for row in connection.execute("SELECT id FROM sessions")}
    connection.close()
    return [
        Row(row)
        for row in rows
        if row["session_id"] in sessions
        and (row.get("active", 1) in {1, None} or row.get("compacted") == 1)
        and row.get("display_kind") != "hidden"
    ]


def expected(rows: list[Row], query: str) -> set[int]:
    return {row.id for row in rows if matches(parse(query), row.text)}


EVERYTHING = Filter(everything=True)


def find(store: Store, query: str, roles: tuple[str, ...] | None) -> Result:
    wanted = Wanted(parse(query), query, EVERYTHING, roles, Ranking(SortHits.RANK, 0, CLOCK))
    return search(store, wanted, lambda _, __: None)


@pytest.mark.parametrize("name", READABLE)
def test_hits_equal_a_pass_over_the_rows(tmp_path: Path, name: str) -> None:
    assert len(QUERIES) >= 200
    path = place_store(name, tmp_path / "home") / "state.db"
    rows = rows_of(path)
    with open_store(path) as store:
        for query in QUERIES:
            for roles in (DEFAULT_ROLES, None):
                result = find(store, query, roles)
                asked = parse(query)
                found = {hit.message_id for one in result.found for hit in one.hits}
                assert found == {
                    row.id
                    for row in rows
                    if (roles is None or row.role in roles) and matches(result.query, row.text)
                }, (query, roles)
                assert result.query in {asked, loosened(asked)}
                if result.query != asked:
                    assert not expected(rows, query) or roles is not None


@pytest.mark.parametrize("name", ["0.22.2", "0.13.0", "half-migrated-fts"])
def test_windows_change_nothing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place_store(name, tmp_path / "home") / "state.db"
    with open_store(path) as store:
        whole = [find(store, query, None) for query in QUERIES]
        for module, number in (("windows._FIRST", 3), ("windows._LARGEST", 17),
                               ("reading._BATCH", 2), ("reading._STEP", 5)):  # fmt: skip
            monkeypatch.setattr(f"hermes_sessions.store.{module}", number)
        for query, result in zip(QUERIES, whole, strict=True):
            assert find(store, query, None)._replace(problems=result.problems) == result, query


@pytest.mark.parametrize("name", WITH_FACTS)
def test_what_hermes_finds_is_found(tmp_path: Path, name: str) -> None:
    path = place_store(name, tmp_path / "home") / "state.db"
    with open_store(path) as store:
        for query, answers in WITH_FACTS[name]["facts"]["search"].items():
            if query == "gecko":
                continue  # a hidden row: releases before 0.21.3 show it
            if name == "fts-stale" and query == "token store":
                continue  # without its index Hermes joins the words by OR
            result = find(store, query, None)
            found = {(hit.session_id, hit.role) for one in result.found for hit in one.hits}
            assert found >= {(session_id, role) for session_id, role in answers}, query


def found_ids(cli: Cli, *words: str) -> list[str]:
    return cli("search", "--ids", "-n", "0", *words).ok().lines


def chat(session_id: str, *texts: str, **columns: object) -> list[str]:
    """Return a conversation in which the user says these texts, a second apart."""
    started = float(str(columns.pop("started_at", CLOCK - 500)))
    said = [message(session_id, started + i, text) for i, text in enumerate(texts)]
    return [session(id=session_id, started_at=started, **columns), *said]


@pytest.mark.parametrize(
    "text",
    ["#123", "src/main.py", "don't", "50%", "alice@example.com", "ok?", "$5", "a,b", "C:\\tmp",
     "x=y", "[br]", "~/.hermes", "foo::bar", "chat-send", "POL-358"],
)  # fmt: skip
def test_R058_R059_punctuation_is_text(make_cli: MakeCli, text: str) -> None:
    cli = make_cli(
        change=edit(*chat("with", f"here is {text} for you"), *chat("without", "here is none"))
    )
    assert found_ids(cli, "--", text) == ["with"]


def test_R061_R062_no_spaces_no_problem(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *chat("zh", "这里的记忆断裂问题很严重"),
            *chat("gx", "我们去桂林玩"),
            *chat("mixed", "这个项目要deploy了"),
            *chat("en", "deploy the project"),
            *chat("ai", "我用ai写代码"),
        )
    )
    assert found_ids(cli, "记忆断裂") == ["zh"]
    assert found_ids(cli, "断") == ["zh"]
    assert found_ids(cli, "广西 OR 桂林 OR 漓江") == ["gx"]
    assert found_ids(cli, "项目 AND deploy") == ["mixed"]
    assert set(found_ids(cli, "deploy", "--newer-than", "1h")) == {"mixed", "en"}
    assert found_ids(cli, "ai") == ["ai"]


def test_R064_text_is_literal(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(*chat("pct", "100%完成"), *chat("yuan", "100元完成"), *chat("a", "配置_a 好"),
                    *chat("x", "配置xa 好"))
    )  # fmt: skip
    assert found_ids(cli, "100%完成") == ["pct"]
    assert found_ids(cli, "配置_a") == ["a"]


def test_R065_a_hit_is_shown_with_its_own_segment_under_the_tip(cli: Cli) -> None:
    (block,) = cli("search", "xylophone", "--json").ok().json
    assert block["id"] == "20260302_130005_c3d4e5"
    assert block["hits"][0]["session_id"] == "20260302_090000_a1b2c3"


def test_R066_archived_turns_are_found_and_tagged(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *chat("memory", "the needle in the archive", "what came after"),
            "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'memory'",
        )
    )
    (block,) = cli("search", "needle", "--json", "-C", "1").ok().json
    assert block["hits"][0]["archived"] is True
    assert block["hits"][0]["after"][0]["content"] == "what came after"
    assert "archived" in cli("search", "needle", terminal=100).stdout


def test_rewound_and_hidden_rows_are_never_found(cli: Cli) -> None:
    assert found_ids(cli, "capybara", "--all", "--role", "all") == []
    assert found_ids(cli, "gecko", "--all", "--role", "all") == []


def test_R068_titles_and_ids(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *chat("built", "hello there", title="Building the Modpack Server"),
            *chat("said", "my modpack is broken"),
            *chat("gun", "hello there", title="the AN-94 question"),
        )
    )
    blocks = cli("search", "modpack", "--json").ok().json
    assert [(b["id"], b["title_match"]) for b in blocks] == [("built", True), ("said", False)]
    assert found_ids(cli, "AN94") == ["gun"]
    assert found_ids(cli, "an-94") == ["gun"]
    assert "title matches" in cli("search", "modpack", terminal=100).stdout
    (by_id,) = cli("search", "f0000003", "--json").ok().json
    assert (by_id["id"], by_id["id_match"]) == ("20260304_110000_f0000003", True)


@pytest.mark.parametrize("name", ["no-fts", "fts-stale", "fts-silent", "fts-corrupt",
                                  "half-migrated-fts"])  # fmt: skip
def test_R070_without_a_good_index_everything_is_found_and_it_is_said(
    make_cli: MakeCli, name: str
) -> None:
    cli = make_cli(name)
    outcome = cli("search", "axolotl", "--json").ok()
    assert [block["id"] for block in outcome.json] == ["20260305_120000_0c0001"]
    assert outcome.stderr.count("note: ") == 1
    assert "hermes-sessions optimize" in outcome.stderr


def test_R070_what_an_incomplete_index_lacks_is_read(make_cli: MakeCli) -> None:
    def without_index(path: Path) -> None:
        connection = sqlite3.connect(path)
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%_insert'"
            " AND tbl_name = 'messages'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in chat("late", "a numbat came", "and 数据库numbat here"):
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
        connection.commit()
        connection.close()

    cli = make_cli(change=without_index)
    for query in ("numbat", "数据库", "numba*", "umbat", '"a numbat"'):
        outcome = cli("search", query, "--json", "--all").ok()
        assert "late" in [block["id"] for block in outcome.json], query
        assert "misses 2 rows; what it misses was read" in outcome.stderr
    assert found_ids(cli, "axolotl") == ["20260305_120000_0c0001"]


def test_R111_hits_in_what_can_be_read_of_a_damaged_store(make_cli: MakeCli) -> None:
    texts = [f"the needle number {number} " + "lies in hay " * 90 for number in range(400)]

    def damaged(path: Path) -> None:
        edit(*chat("hay", *texts))(path)
        data = bytearray(path.read_bytes())
        page_size = int.from_bytes(data[16:18], "big")
        page = data.index(b"needle number 200 ") // page_size
        data[page * page_size : (page + 1) * page_size] = bytes(page_size)
        path.write_bytes(data)

    outcome = make_cli(change=damaged)("search", "needle", "--json", "--per-conversation", "0")
    assert outcome.code == 4
    assert "partial" in outcome.stderr
    assert "damaged" in outcome.stderr
    (block,) = outcome.json
    found = {int(hit["snippet"].split()[3]) for hit in block["hits"]}
    assert 380 < len(found) < 400
    assert 200 not in found


def test_R111_a_store_without_readable_messages_is_not_an_empty_result(make_cli: MakeCli) -> None:
    outcome = make_cli("page-damage")("search", "needle")
    assert outcome.code == 4
    assert "partial" in outcome.stderr


def test_R070_a_healthy_index_needs_no_words(cli: Cli) -> None:
    assert cli("search", "axolotl").ok().stderr == ""


def test_R072_no_conversation_fills_the_page(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *chat("loud", *(f"needle number {i}" for i in range(500))),
            *chat("quiet", "one needle"),
        )
    )
    blocks = {block["id"]: block for block in cli("search", "needle", "--json").ok().json}
    assert set(blocks) == {"loud", "quiet"}
    assert blocks["loud"]["hit_count"] == 500
    assert len(blocks["loud"]["hits"]) == 3
    assert "+497 more" in cli("search", "needle", terminal=100).stdout
    every = cli("search", "needle", "--json", "--per-conversation", "0").ok().json
    assert {block["id"]: len(block["hits"]) for block in every} == {"loud": 500, "quiet": 1}


def test_R073_filters_act_before_the_page_is_cut(make_cli: MakeCli) -> None:
    noise = [
        statement
        for i in range(60)
        for statement in chat(f"c{i}", "the needle", source="telegram", started_at=CLOCK - i)
    ]
    cli = make_cli(change=edit(*noise, *chat("mine", "the needle", started_at=CLOCK - 9000)))
    assert found_ids(cli, "needle", "--source", "cli", "-n", "5") == ["mine"]


def test_R074_orders(make_cli: MakeCli) -> None:
    cli = make_cli(
        change=edit(
            *chat("old", "needle", "needle", started_at=CLOCK - 300 * 86_400),
            *chat("new", "needle", started_at=CLOCK - 86_400),
        )
    )
    assert found_ids(cli, "needle", "--sort", "newest") == ["new", "old"]
    assert found_ids(cli, "needle", "--sort", "oldest") == ["old", "new"]
    hits = cli("search", "needle", "--json").json
    assert all(block["hits"][-1]["timestamp"] for block in hits)


def test_automation_is_searched_on_request_and_it_is_said(cli: Cli) -> None:
    outcome = cli("search", "lemur")
    assert outcome.ok().stdout == ""
    assert "1 cron run (--source cron)" in outcome.stderr
    assert found_ids(cli, "lemur", "--source", "cron") == ["cron_ab12cd34ef56_20260304_120000"]
    assert found_ids(cli, "ocelot", "--all") == ["20260303_090100_d00002"]


def test_roles(cli: Cli) -> None:
    assert found_ids(cli, "quokka") == []
    assert found_ids(cli, "quokka", "--role", "tool") == ["20260302_130005_c3d4e5"]
    assert found_ids(cli, "quokka", "--role", "all") == ["20260302_130005_c3d4e5"]
    assert found_ids(cli, "wombat", "--role", "tool") == ["20260305_090000_0a0001"]
    assert found_ids(cli, "pangolin", "--role", "all") == []
    assert found_ids(cli, "pangolin", "--role", "reasoning") != []


def test_base64_is_not_text(make_cli: MakeCli) -> None:
    parts = [
        {"type": "text", "text": "look at this picture"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDREVGsecretword"}},
    ]

    cli = make_cli(change=edit(session(id="pic"), structured_message("pic", parts)))
    assert found_ids(cli, "picture", "--newer-than", "1d") == ["pic"]
    for word in ("base64", "QUJDREVGsecretword", "image_url"):
        assert "pic" not in found_ids(cli, word)


def test_snippets_show_the_hit(make_cli: MakeCli) -> None:
    long = "filler words " * 200
    call = json.dumps(
        [{"function": {"name": "terminal", "arguments": '{"command": "grep needle"}'}}]
    )
    cli = make_cli(
        change=edit(
            *chat("text", f"{long} the needle is here {long}"),
            *chat("zh", "很长的一段文字" * 80 + "数据库迁移" + "还有很多" * 80),
            *chat("evil", "\x1b[31mneedle\x1b[0m \u202eneedle"),
            session(id="call"),
            message("call", CLOCK, "", role="assistant", tool_calls=call),
        )
    )
    for block in cli("search", "needle", "--json").ok().json:
        (hit,) = block["hits"]
        assert "needle" in hit["snippet"]
        assert len(hit["snippet"]) < 200
        for start, end in hit["spans"]:
            assert hit["snippet"][start:end] == "needle"
    shown = cli("--color", "never", "search", "needle", terminal=100).ok().stdout
    assert "«needle»" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "«数据库»" in cli("--color", "never", "search", "数据库", terminal=100).stdout
    assert "\x1b[1;33mneedle" in cli("search", "needle", terminal=100).stdout


@pytest.mark.parametrize("words", [("",), (" ",), ("\0",), ("--literal", " ")])
def test_only_a_blank_query_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli("search", *words)
    assert outcome.code == 2
    assert "blank" in outcome.stderr


def test_literal(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(*chat("a", "this OR that"), *chat("b", "only this")))
    assert found_ids(cli, "--literal", "this OR that") == ["a"]
    assert set(found_ids(cli, "this OR that", "--newer-than", "1h")) == {"a", "b"}


def test_parts_of_words_are_found_if_nothing_else_is(make_cli: MakeCli) -> None:
    cli = make_cli(change=edit(*chat("a", "see loadConfigFile there")))
    outcome = cli("search", "ConfigFi")
    assert outcome.ok().stdout.startswith("a\t")
    assert "parts of words" in outcome.stderr
    long = make_cli(change=edit(*chat("a", "filler words " * 99 + "loadConfigFile there")))
    shown = long("search", "ConfigFi", "--color", "never", terminal=80).ok().stdout
    assert "load«ConfigFi»le" in shown


def test_an_interrupted_scan_shows_what_it_has(make_cli: MakeCli) -> None:
    cli = make_cli("no-fts")
    steps: list[float] = []

    def stop(done: float, so_far: Callable[[], Result]) -> None:
        assert len(so_far().found) <= 1
        steps.append(done)
        raise KeyboardInterrupt

    with open_store(cli.home / "state.db") as store:
        wanted = Wanted(
            parse("axolotl"), "axolotl", EVERYTHING, None, Ranking(SortHits.RANK, 0, CLOCK)
        )
        result = search(store, wanted, stop)
    assert result.interrupted
    assert steps
    assert [one.conversation.id for one in result.found] == ["20260305_120000_0c0001"]


@pytest.mark.skipif(tmux.PROGRAM is None, reason="needs tmux")
def test_a_long_scan_shows_what_it_has_found_and_stops_at_once(tmp_path: Path) -> None:
    home = place_store("no-fts", tmp_path / "home")
    many = f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250000)
        INSERT INTO messages (session_id, role, content, timestamp)
        SELECT 'big', 'user', 'the quokka ' || i, {CLOCK} - 300000 + i FROM n"""
    edit(session(id="big", title="all about quokkas", started_at=CLOCK - 300000), many)(
        home / "state.db"
    )
    package = str(Path(hermes_sessions.__file__).parents[1])
    server = tmux.Tmux({**os.environ, "HERMES_HOME": str(home), "PYTHONPATH": package})
    try:
        pane = server.open(tmp_path, width=100, height=30)
        pane.type(f"{shlex.quote(sys.executable)} -m hermes_sessions search quokka; echo code $?")
        pane.wait_for(r"^searching ━[^\n]*%\n.*all about quokkas[^\n]*big\n +you .* the quokka \d+")
        pane.press("C-c")
        pane.wait_for(r"^interrupted: this is what was found so far$")
        pane.wait_for(r"^code 130$")
        text = pane.text()
    finally:
        server.close()
    assert "searching" not in text
    assert "all about quokkas" in text
    assert "Traceback" not in text


def test_nothing_found_says_where_it_looked(cli: Cli) -> None:
    outcome = cli("search", "nosuchword").ok()
    assert outcome.stdout == ""
    assert "nothing found" in outcome.stderr
    assert str(cli.home) in outcome.stderr
    assert cli("search", "nosuchword", "--json").ok().stdout == "[]\n"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_hit_is_in_what_a_terminal_shows(make_cli: MakeCli, width: int) -> None:
    before, after = "缓存没有命中因为键里" * 12, "先备份再更新索引" * 9
    cli = make_cli(
        change=edit(
            *chat("wide", f"{before}数据库{after}"), *chat("narrow", "so it is " * 40 + "needle")
        )
    )
    for query in ("数据库", "needle"):
        outcome = cli("search", query, "--color", "never", terminal=width).ok()
        hit = outcome.stdout.splitlines()[1]
        assert f"«{query}»" in hit
        assert cell_len(hit) <= width


def test_neighbours_that_hits_share_are_shown_once(make_cli: MakeCli) -> None:
    texts = ("one", "needle two", "three", "needle four", "five")
    cli = make_cli(change=edit(*chat("a", *texts)))
    outcome = cli("search", "needle", "-C", "2", "--color", "never", terminal=80).ok()
    said = [line for line in outcome.stdout.splitlines() if "#" in line]
    assert [next(t for t in texts if t.split()[-1] in line) for line in said] == list(texts)


def test_R050_messages_without_a_session_are_named(make_cli: MakeCli) -> None:
    cli = make_cli("orphan-rows")
    outcome = cli("search", "expects 403").ok()
    assert outcome.stdout == ""
    assert "orphan: found in 1 message whose session is gone: 20260302_090000_a1b2c3" in (
        outcome.stderr
    )


def test_R006_a_conversation_is_as_old_as_in_a_list(cli: Cli) -> None:
    listed = json.loads(cli("list", "--all", "-n", "0", "--json=id,last_active").ok().stdout)
    found = json.loads(
        cli("search", "the OR a", "--all", "--role", "all", "-n", "0", "--json=id,last_active")
        .ok()
        .stdout
    )
    assert found
    assert {one["id"]: one["last_active"] for one in found}.items() <= {
        one["id"]: one["last_active"] for one in listed
    }.items()


GENERATED = int(os.environ.get("SEARCH_QUERIES", "700"))
"""Generated queries for each store; ``.ci/run`` asks for 20,000 in all."""

PIECES = st.sampled_from(
    ['"', "(", ")", "-", "*", " ", "AND", "OR", "NOT", "NEAR(", "^", ":", "{content}", "a",
     "foo-bar", "数据", "数", "\0", "'", "%", "_", "é", "x" * 50,
     "\ud83d", "🌸", "content:", "--", ";", "\\"]
)  # fmt: skip


@pytest.mark.parametrize("name", ["0.22.2", "0.13.0", "fts-stale", "fts-corrupt"])
def test_any_query_is_answered(tmp_path: Path, name: str) -> None:
    path = place_store(name, tmp_path / "home") / "state.db"
    with open_store(path) as store:

        @settings(max_examples=GENERATED, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join)))
        def answered(query: str) -> None:
            if query.replace("\0", " ").strip():
                find(store, query, DEFAULT_ROLES)

        answered()
