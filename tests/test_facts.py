"""The same answers as Hermes where Hermes is right; each difference on purpose says why.

The oracle is what each release's own SessionDB answered about its store (corpus manifest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support import RELEASES, VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli

WITH_FACTS = {**RELEASES, **{name: v for name, v in VARIANTS.items() if "facts" in v}}

RESET_CHILD = "20260306_081000_0e000002"
ORPHANED_DELEGATE = "20260305_150100_0d0002"
SUMMARY = "[CONTEXT SUMMARY]"


def release_of(name: str) -> tuple[int, ...]:
    """The release that answered: the one a variant was last opened by."""
    text = name.rpartition("-by-")[2] if "-by-" in name else name
    return tuple(map(int, text.split("."))) if text[0].isdigit() else (0, 22, 2)


@pytest.fixture(params=WITH_FACTS)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def facts(release: str) -> dict[str, Any]:
    return dict(WITH_FACTS[release]["facts"])


@pytest.fixture
def cli(make_cli: Callable[..., Cli], release: str) -> Cli:
    return make_cli(release)


def test_visible_conversations_and_their_order(
    cli: Cli, release: str, facts: dict[str, Any]
) -> None:
    ours = cli("list", "-n", "0", "--ids").ok().lines
    theirs = list(facts["list_by_activity"])
    if ORPHANED_DELEGATE in theirs:
        # Before 0.17 a delegate whose parent was deleted turns into a conversation; its mark says
        # what it was, and newer releases hide it too.
        assert release_of(release) < (0, 17)
        theirs.remove(ORPHANED_DELEGATE)
    if RESET_CHILD not in theirs:
        # Before 0.20.6 the conversation after a reset vanishes; newer releases show it too.
        assert release_of(release) < (0, 20, 6)
        ours.remove(RESET_CHILD)
    assert ours == theirs


def test_archived_conversations(cli: Cli, facts: dict[str, Any]) -> None:
    if "list_archived" not in facts:
        pytest.skip("this release cannot archive")
    assert sorted(cli("list", "--archived", "--ids").ok().lines) == sorted(facts["list_archived"])


def test_rows(cli: Cli, release: str, facts: dict[str, Any]) -> None:
    ours = {row["id"]: row for row in cli("list", "-n", "0", "--all", "--json").ok().json}
    for identifier, theirs in facts["rows"].items():
        mine = ours[identifier]
        if theirs["title"] is None and mine["title"] == "legacy port":
            # Up to 0.16 they forget the title of the root when the tip has none.
            assert release_of(release) < (0, 17)
        else:
            assert mine["title"] == theirs["title"]
        assert mine["source"] == theirs["source"]
        assert mine["ended_at"] == theirs["ended_at"]
        assert mine["end_reason"] == theirs["end_reason"]
        assert mine["last_active"] == theirs["last_active"]
        assert mine["started_at"] == theirs["started_at"]
        assert mine["_lineage_root_id"] == theirs.get("_lineage_root_id")
        check_preview(mine, theirs)
        if len(mine["segment_ids"]) == 1 and mine["title"] != "migration plan":
            assert mine["message_count"] == theirs["message_count"]


def check_preview(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    if theirs["preview"].startswith(SUMMARY):
        # Up to 0.20.0 they preview the summary of a compaction, which nobody typed.
        assert not mine["preview"].startswith(SUMMARY)
    elif mine["source"] == "api_server":
        # Their SQL stops at the NUL byte of a structured message (R044).
        assert mine["preview"] == "What is in this picture? It should be a tapir. [image]"
    else:
        assert mine["preview"] == theirs["preview"]


def test_tips_and_lineages(cli: Cli, facts: dict[str, Any]) -> None:
    for member, tip in facts["tips"].items():
        assert cli("which", member).ok().stdout == f"{tip}\n"
    ours = {row["id"]: row for row in cli("list", "-n", "0", "--all", "--json").ok().json}
    for member, lineage in facts.get("lineages", {}).items():
        tip = cli("which", member).stdout.strip()
        assert ours[tip]["segment_ids"] == lineage


def test_titles_resolve(cli: Cli, facts: dict[str, Any]) -> None:
    for title, session_id in facts["resolve_title"].items():
        outcome = cli("which", title)
        if session_id is not None:
            # They give the session that has the title, we its conversation.
            tip = facts["tips"].get(session_id, session_id)
            assert outcome.ok().stdout == f"{tip}\n"
        elif title == "100%_done":
            # A title prefix is enough for commands that change nothing (contract §3).
            assert outcome.ok().stdout == "20251003_090000_00aa12\n"
        else:
            assert outcome.code == 1


def test_ids_resolve(cli: Cli, facts: dict[str, Any]) -> None:
    for ref, session_id in facts["resolve_id"].items():
        outcome = cli("which", ref)
        if session_id is not None:
            tip = facts["tips"].get(session_id, session_id)
            assert outcome.ok().stdout == f"{tip}\n"
        elif ref == "20260302":
            # Three sessions start so, but they are one conversation.
            assert outcome.ok().stdout == "20260302_130005_c3d4e5\n"
        else:
            assert outcome.code == 1


def test_transcripts(cli: Cli, facts: dict[str, Any]) -> None:
    if "display_count" not in facts:
        pytest.skip("this release has no display transcript")
    ours = {row["id"]: row for row in cli("list", "-n", "0", "--all", "--json").ok().json}
    for identifier, number in facts["display_count"].items():
        if identifier not in ours or len(ours[identifier]["segment_ids"]) > 1:
            continue  # theirs is of one segment, ours of the whole conversation
        shown = cli("show", identifier, "-t", "--json=id").ok().json
        assert len(shown["messages"]) == number
        assert ours[identifier]["message_count"] == number
    compacted = cli("show", "migration plan", "-t", "--json=id").ok().json
    texts = [[m["role"], m["content"]] for m in compacted["messages"]]
    assert texts == facts["display_compacted"]
