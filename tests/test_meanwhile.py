"""With --yes no plan was shown, so what changes meanwhile is planned anew, not refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hermes_sessions.store.writing import open_writer
from support import CLOCK, edit
from test_consent import COMMANDS, COMPRESSED, MEANWHILE
from test_edits import BUILD_LOG, query, value
from test_fork import MIGRATION, live
from test_list import message, session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hermes_sessions.store.writing import Writer
    from support import Cli, Outcome

    MakeCli = Callable[..., Cli]

STILL_REFUSED = {
    "pin: it is gone": 3,
    "close: it is live": 3,
    "rename: its title was taken": 2,
    "fork: its id was taken": 2,
    "new: its title was taken": 2,
    "new: its id was taken": 2,
}
"""What cannot be done, whatever was planned."""


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run a command while another process writes between its plan and its transaction."""

    def run(cli: Cli, words: Sequence[str], statements: Sequence[str]) -> Outcome:
        def write_first(path: Path, timeout: float, *, tokenizer: Path | None) -> Writer:
            edit(*statements)(path)
            return open_writer(path, timeout, tokenizer=tokenizer)

        with monkeypatch.context() as patch:
            patch.setattr("hermes_sessions.cli.changes.open_writer", write_first)
            return cli(*words, "--yes")

    return run


@pytest.mark.parametrize("case", MEANWHILE)
def test_what_nobody_was_shown_refuses_nothing(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome], case: str
) -> None:
    words, statements, _ = MEANWHILE[case]
    outcome = meanwhile(make_writable_cli(), words, statements)
    assert outcome.code == STILL_REFUSED.get(case, 0), outcome
    assert "shown" not in outcome.stderr


def test_a_busy_conversation_is_forked_as_it_is_by_then(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    before = len(live(cli, MIGRATION))
    more = message(MIGRATION, CLOCK, "one more")
    outcome = meanwhile(cli, ("fork", MIGRATION, "--json"), [more]).ok()
    assert outcome.json["copied"] == before + 1
    copied = live(cli, outcome.json["id"])
    assert (len(copied), copied[-1]["content"]) == (before + 1, "one more")


def test_a_fork_whose_number_was_taken_gets_the_next_one(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    other = session(id="other", title="migration plan #2")
    made = meanwhile(cli, ("fork", MIGRATION, "--json"), [other]).ok().json
    assert made["title"] == value(cli, "title", made["id"]) == "migration plan #3"


def test_a_compressed_conversation_is_changed_where_it_went_on(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    renamed = meanwhile(cli, (*COMMANDS["rename"], "--json"), COMPRESSED).ok().json
    assert (renamed["id"], value(cli, "title", "next")) == ("next", "another name")
    cli = make_writable_cli()
    hidden = meanwhile(cli, (*COMMANDS["hide"], "--json"), COMPRESSED).ok().json
    assert hidden["changed"] == ["next"]
    assert (value(cli, "hidden", "next"), value(cli, "hidden", BUILD_LOG)) == (1, 1)


def test_what_a_filter_found_and_went_on_stays(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    words = (*COMMANDS["close by filter"], "--json")
    outcome = meanwhile(cli, words, [message(BUILD_LOG, CLOCK)]).ok()
    assert outcome.json["changed"] == []
    assert outcome.json["kept"]["changed meanwhile"] == 1
    assert "1 changed meanwhile" in outcome.stderr
    assert value(cli, "ended_at", BUILD_LOG) is None


def test_what_is_named_and_went_on_is_closed(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    meanwhile(cli, COMMANDS["close"], [message(BUILD_LOG, CLOCK)]).ok()
    assert value(cli, "end_reason", BUILD_LOG) == "cli_close"


def test_a_directory_that_came_later_moves_along(
    make_writable_cli: MakeCli, meanwhile: Callable[..., Outcome]
) -> None:
    cli = make_writable_cli()
    more = session(id="more", cwd="/home/dev/projects/firmware")
    outcome = meanwhile(cli, (*COMMANDS["relocate"], "--json"), [more]).ok()
    assert value(cli, "cwd", "more") == "/srv/firmware"
    assert "more" in outcome.json["changed"]
    ((left,),) = query(cli, "SELECT count(*) FROM sessions WHERE cwd GLOB '*projects/firmware*'")
    assert left == 0
    assert outcome.json["directories"] >= len(outcome.json["changed"])
