"""After each changing command a real Hermes release sees that change, and nothing else.

The oracle is the release itself. It makes the same change to a copy of the same store by its own
methods, and then has to see the same in both: every session row, every stored message, transcripts,
titles, lineage, listings, search. Then it goes on with a conversation in both, and that has to end
the same. Where its own methods leave something undone, its side of the comparison says what.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from support import RELEASES, VARIANTS, Cli, Outcome, place_store
from witness import (
    NEW,
    OLD,
    differences,
    job,
    look,
    peers_stay_where_they_are,  # noqa: F401 - a fixture for every test here
    require,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.interop

ROOT, SECOND, TIP = "20260302_090000_a1b2c3", "20260302_110005_b2c3d4", "20260302_130005_c3d4e5"
OLD_ROOT, OLD_TIP = "20251013_080000_00aa17", "20251013_093000_00aa18"
WITH_DELEGATES = "20260303_090000_d00001"
BRANCHED, BRANCH = "20260303_120000_e00001", "20260303_121500_e00002"
CHINESE = "20260304_090000_f00001"
ROUTED = "20260304_100000_f0000002"
FIRMWARE = "20260305_090000_0a0001"
AWAY = "20260305_100000_0b0001"
BOT_CHAT = "20260305_110000_0b0002"
IN_PLACE = "20260305_120000_0c0001"
TELEGRAM = "20260305_131000_0c0003"
BEFORE_RESET, AFTER_RESET = "20260306_080000_0e000001", "20260306_081000_0e000002"
IDLE = "20250923_100000_00aa16"
NEVER_ACTIVE = "20260101_090000_0f000003"
PINNED = "20250824_100000_00aa14"
FRESH = "20260307_080000_f4e54a"


class Change(NamedTuple):
    """A change made by us and by a release.

    Attributes:
        ours: commands, one after the other.
        theirs: what a release does to make the same change; "" if nothing changes in the end.
        goes_on: the conversation that the release goes on with.
        needs: a column of ``sessions`` without which nothing changes.
        passed_over: fields that do not matter.
    """

    ours: tuple[tuple[str, ...], ...]
    theirs: str
    goes_on: str
    needs: str = "id"
    passed_over: frozenset[str] = frozenset()


def fork(words: tuple[str, ...], source: str, title: str, goes_on: str) -> Change:
    """Return a branch of a session, by the steps that the API server of a release takes.

    It lies where the conversation was last, though a release may forget that when it compresses.
    """
    theirs = f"""
source = db.get_session("{source}")
segments = [db.get_session(i) for i in db.get_compression_lineage("{source}")]
where = next((row for row in reversed(segments) if row["cwd"]), source)
db.create_session("{FRESH}", "cli", model=source["model"], system_prompt=source["system_prompt"],
                  parent_session_id="{source}", model_config={{"_branched_from": "{source}"}})
db.update_session_cwd("{FRESH}", where["cwd"], where["git_branch"], where["git_repo_root"])
db.end_session("{source}", "branched")
db.replace_messages("{FRESH}", db.get_messages("{source}"))
db.set_session_title("{FRESH}", {title})
"""
    names = ("message_uid", "tool_call_uid", "tool_call_uids", "_tool_call_uid", "_tool_call_uids")
    minted = frozenset((*names, "git_metadata_generation"))
    return Change((("fork", *words, "--id", FRESH),), theirs, goes_on, passed_over=minted)


NEXT_TITLE = "db.get_next_title_in_lineage(source['title'])"

CHANGES = {
    "rename": Change(
        (
            ("rename", TIP, "a  wholly\u200b", "new name"),
            ("rename", BRANCH, "日志 🌸"),
            ("rename", TELEGRAM, "log retention #2"),
        ),
        f"db.set_session_title('{TIP}', 'a  wholly\u200b new name')\n"
        f"db.set_session_title('{BRANCH}', '日志 🌸')\n"
        f"db.set_session_title('{TELEGRAM}', 'log retention #2')",
        TELEGRAM,
    ),
    "rename to the title of an earlier segment": Change(
        (("rename", ROOT, "refactoring auth"),),
        f"db.set_session_title('{TIP}', 'refactoring auth')",
        TIP,
    ),
    "new": Change(
        (
            (
                *("new", "--title", "fresh start", "--id", FRESH, "--model", "demo/model-small"),
                *("--system-prompt", "Be brief.", "--source", "tui"),
            ),
        ),
        f"db.create_session('{FRESH}', 'tui', model='demo/model-small', system_prompt='Be brief.',"
        f" cwd=given['cwd'])\ndb.set_session_title('{FRESH}', 'fresh start')",
        FRESH,
    ),
    "fork": fork((IN_PLACE,), IN_PLACE, NEXT_TITLE, FRESH),
    "fork a chain": fork((ROOT, "--title", "another way"), TIP, "'another way'", FRESH),
    "fork and go on with the source": fork((FIRMWARE,), FIRMWARE, NEXT_TITLE, FIRMWARE),
    "close": Change(
        (("close", IDLE, TELEGRAM, "--reason", "idle_timeout"), ("close", ROOT)),
        f"db.end_session('{IDLE}', 'idle_timeout')\n"
        f"db.end_session('{TELEGRAM}', 'idle_timeout')\n"
        f"db.end_session('{TIP}', 'cli_close')",
        TIP,
    ),
    "pin": Change(
        (("pin", ROOT, BOT_CHAT),),
        f"db.set_session_pinned('{TIP}', True)\ndb.set_session_pinned('{BOT_CHAT}', True)",
        TIP,
        "pinned",
    ),
    "pin what is hidden": Change(
        (("hide", FIRMWARE), ("pin", FIRMWARE)),
        f"db.set_session_hidden('{FIRMWARE}', True)\ndb.set_session_pinned('{FIRMWARE}', True)",
        FIRMWARE,
        "hidden",
    ),
    "unpin": Change(
        (("unpin", PINNED),), f"db.set_session_pinned('{PINNED}', False)", PINNED, "pinned"
    ),
    "archive": Change(
        (("archive", ROOT, CHINESE),),
        f"db.set_session_archived('{TIP}', True)\ndb.set_session_archived('{CHINESE}', True)",
        TIP,
        "archived",
    ),
    "unarchive": Change(
        (("unarchive", AWAY),), f"db.set_session_archived('{AWAY}', False)", AWAY, "archived"
    ),
    "hide": Change(
        (("hide", ROOT, BRANCH),),
        f"db.set_session_hidden('{TIP}', True)\ndb.set_session_hidden('{BRANCH}', True)",
        TIP,
        "hidden",
    ),
    "unhide": Change(
        (("unhide", BOT_CHAT),), f"db.set_session_hidden('{BOT_CHAT}', False)", BOT_CHAT, "hidden"
    ),
    "relocate": Change(
        (("relocate", "/home/dev/projects/acme-api", "/srv/acme"),),
        """
for column in {"cwd", "git_repo_root"} & {row[1] for row in
        db._conn.execute("PRAGMA table_info(sessions)")}:
    db._conn.execute(f"UPDATE sessions SET {column} = '/srv/acme' || substr({column}, 28)"
                     f" WHERE {column} || '/' LIKE '/home/dev/projects/acme-api/%'")
db._conn.commit()
""",
        BRANCH,
        "cwd",
    ),
    "delete": Change(
        (("delete", WITH_DELEGATES), ("delete", SECOND), ("delete", BRANCHED), ("trash", "empty")),
        f"db.delete_session('{WITH_DELEGATES}')\n"
        f"db.delete_sessions(['{ROOT}', '{SECOND}', '{TIP}'])\n"
        f"db.delete_session('{BRANCHED}')",
        BRANCH,
    ),
    "delete several": Change(
        (("delete", BEFORE_RESET, BRANCH, ROUTED, "--no-trash"),),
        f"db.delete_sessions(['{BEFORE_RESET}', '{BRANCH}', '{ROUTED}'])\n"
        "db.replace_gateway_routing_entries({}, scope=given['routes'])",
        AFTER_RESET,
    ),
    "prune": Change(
        (("prune", "--before", "2026-01-01"), ("prune", "--source", "cron", "--source", "oneshot")),
        "db.prune_sessions(None, started_before=1767225600, archived=False)\n"
        "db.prune_sessions(None, source='cron')\n"
        "db.prune_sessions(None, source='oneshot')",
        TIP,
    ),
    "prune what was never active": Change(
        (("prune", "--never-active"),),
        "if hasattr(db, 'prune_never_active_keyed_sessions'):\n"
        "    db.prune_never_active_keyed_sessions(older_than_days=30)\n"
        "else:\n"
        f"    db.delete_sessions(['{NEVER_ACTIVE}'])",
        AFTER_RESET,
        "session_key",
    ),
    "undo": Change(
        (
            ("delete", ROOT, WITH_DELEGATES, ROUTED, BRANCHED, AFTER_RESET),
            ("trash", "show"),
            ("undo",),
            ("prune", "--before", "2026-01-01"),
            ("trash", "list"),
            ("undo",),
        ),
        "",
        OLD_TIP,
    ),
}

OF_OLD = [name for name in RELEASES if "0.16" <= name <= OLD]
OF_NEW = [
    *(name for name in RELEASES if name >= "0.16"),
    *(name for name in VARIANTS if name.startswith("upgraded-")),
    *("optimized-0.19.0-by-0.22.2", "half-migrated-fts", "fts-stale", "fts-silent", "no-fts"),
    *("wal-header", "hot-wal/state", "null-active", "odd-values", "newer-schema", "cjk-index"),
]
CASES = [*((name, NEW) for name in OF_NEW), *((name, OLD) for name in OF_OLD)]

LEFT_OUT = {
    # The release cannot delete: a table that it does not know refers to the sessions.
    ("newer-schema", NEW): ("delete", "prune"),
    # Without Hermes' tokenizer we cannot write or delete messages.
    ("cjk-index", NEW): ("fork", "delete", "prune", "undo"),
    # This index answers by chance, and rows cannot be put back into its gaps.
    ("fts-silent", NEW): ("fork and", "undo"),
    # The release takes what follows a reset for a delegate, and deletes it.
    ("0.16.0", OLD): ("delete several",),
}
"""Changes that we or a release cannot make, or not rightly, by how their names begin."""


def change(name: str, ours: Sequence[Sequence[str]], directory: Path) -> tuple[Path, Outcome]:
    """Change a store in a home, with a trash of its own, until something is refused."""
    home = place_store(name, directory / "home")
    environ = {**os.environ, "HERMES_HOME": str(home), "XDG_STATE_HOME": str(directory / "state")}
    cli = Cli(home, environ, directory.parent)
    for words in ours:
        outcome = cli(*words, "--yes")
        if outcome.code:
            break
    return home, outcome


def columns(home: Path, table: str) -> set[str]:
    with closing(sqlite3.connect(home / "state.db")) as connection:
        return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


@pytest.mark.parametrize(("name", "release"), CASES)
def test_a_release_sees_exactly_the_change(name: str, release: str, tmp_path: Path) -> None:
    require(release)
    base = place_store(name, tmp_path / "base")
    known = columns(place_store(name, tmp_path / "untouched"), "sessions")
    minted = {"message_uid"} - columns(tmp_path / "untouched", "messages")
    left_out = LEFT_OUT.get((name, release), ())
    changes = [title for title in CHANGES if not title.startswith(left_out)]
    jobs = [job(base, "")]
    for number, title in enumerate(changes):
        one = CHANGES[title]
        home, outcome = change(name, one.ours, tmp_path / f"ours-{number}")
        if one.needs in known:
            outcome.ok()
        else:
            assert outcome.code == 1 or "nothing to prune" in outcome.stderr
        its_home, do = tmp_path / f"theirs-{number}", one.theirs if one.needs in known else ""
        jobs += [job(home, one.goes_on), job(its_home, one.goes_on, do=do, copy=base)]
    before, *answers = look(release, jobs, tmp_path)
    later = before["view"]["rows"][TIP].keys() - known  # columns that our change could not fill
    for title, ours, theirs in zip(changes, answers[::2], answers[1::2], strict=True):
        passed_over = {*CHANGES[title].passed_over, *later, *minted}
        if release == OLD:
            passed_over |= {"profile_name"}  # it does not write whose a session is
        assert differences(ours, theirs, passed_over) == {}, title
        assert_wrote(ours["gone on"])
        if name == release == NEW:  # else both could be the same because neither did anything
            is_changed = differences(theirs["view"], before["view"], set()) != {}
            assert is_changed is bool(CHANGES[title].theirs), title


def assert_wrote(gone_on: dict[str, Any]) -> None:
    """Check that a session was reopened, and that what was written to it is found and shown."""
    assert gone_on["opened"]
    assert gone_on["hits"] == gone_on["written"]
    assert gone_on["shown"] == ["A zebrafinch sings.", "It does, and a quetzal, too."]


def said(messages: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(m["role"], m["content"], m["timestamp"], m["tool_calls"]) for m in messages]


WITH_ARCHIVED_MESSAGES = ["0.18.2", "0.19.0", "0.20.6", "0.21.0", "0.21.3", "0.22.2"]


@pytest.mark.parametrize("name", [*WITH_ARCHIVED_MESSAGES, "upgraded-0.19.0-by-0.22.2"])
def test_a_full_fork_is_shown_and_read_like_its_source(name: str, tmp_path: Path) -> None:
    require(NEW)
    ours = (("fork", IN_PLACE, "--full", "--keep-open", "--id", FRESH),)
    home, outcome = change(name, ours, tmp_path / "ours")
    outcome.ok()
    (answer,) = look(NEW, [job(home, FRESH)], tmp_path)
    view = answer["view"]
    shown, read = said(view["shown"][IN_PLACE]), view["read by the model"][IN_PLACE]
    assert len(shown) > len(read) > 2
    assert said(view["shown"][FRESH]) == shown
    assert differences(view["read by the model"][FRESH], read, {"message_uid"}) == {}
    assert view["rows"][FRESH]["message_count"] == len(read)
    assert view["rows"][IN_PLACE]["ended_at"] is None
    assert FRESH in view["listed by default"]
    assert {i for i, _ in view["hits"]["axolotl"]} == {IN_PLACE, FRESH}
    assert_wrote(answer["gone on"])


@pytest.mark.parametrize("name", [name for name in RELEASES if name >= "0.16"])
def test_R053_a_fork_at_a_tool_call_is_read_to_the_end_of_its_results(
    name: str, tmp_path: Path
) -> None:
    require(NEW)
    ours = (("fork", ROOT, "--at", "34", "--id", FRESH),)
    home, outcome = change(name, ours, tmp_path / "ours")
    outcome.ok()
    (answer,) = look(NEW, [job(home, FRESH)], tmp_path)
    view = answer["view"]
    chain = [*view["stored"][ROOT], *view["stored"][SECOND]]
    copied = [m for m in chain if m["id"] <= 35 and m["id"] != 32]  # 32 is a summary
    assert [m["role"] for m in copied[-2:]] == ["assistant", "tool"]
    assert said(view["shown"][FRESH]) == said(copied)
    assert len(view["read by the model"][FRESH]) == len(copied) == 15
    assert_wrote(answer["gone on"])


def test_R050_what_a_release_sees_of_pruned_orphans_and_of_their_return(tmp_path: Path) -> None:
    require(NEW)
    prune, undo = ("prune", "--orphans"), ("undo",)
    base = place_store("orphan-rows", tmp_path / "base")
    pruned, outcome = change("orphan-rows", (prune,), tmp_path / "pruned")
    outcome.ok()
    undone, outcome = change("orphan-rows", (prune, undo), tmp_path / "undone")
    outcome.ok()
    before, after, again = look(NEW, [job(home, TIP) for home in (base, pruned, undone)], tmp_path)
    assert before["view"]["health"] == [["ok"], 21]
    assert after["view"]["health"] == after["gone on"]["health"] == [["ok"], 0]
    # What names a session that is gone as its parent has none now, so a conversation is listed.
    delegates = ("20260303_090100_d00002", "20260303_090130_d00003")
    assert differences(after["view"], before["view"], set()).keys() == {
        *("/count/1", "/health/1", "/usage/cost_usd", "/usage/tokens"),
        *(f"/rows/{i}/parent_session_id" for i in (SECOND, *delegates)),
        *(f"/listed/{TIP}", "/listed by default", "/order"),
    }
    assert_wrote(after["gone on"])
    assert differences(again, before, set()) == {}
