"""A running gateway deletes itself what prune and delete selected; a real 0.22.2 on loopback."""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING

import pytest

from api_server import KEY, RELEASE, api_server, require_program
from hermes_peer import cache_dir, run_peer
from support import Cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

STORY = """\
import time
from hermes_state import SessionDB

db = SessionDB()
old = time.time() - 200 * 86400


def tell(session_id, parent=None, ended="cli_close", **more):
    db.create_session(session_id, "cli", parent_session_id=parent, **more)
    for text in ("hello", "hello yourself"):
        db.append_message(session_id, "user", text)
    if ended:
        db.end_session(session_id, ended)


tell("plain")
tell("young")
tell("open", ended=None)
tell("delegate", "plain", model_config={"_delegate_from": "plain"})
tell("branch", "plain", model_config={"_branched_from": "plain"})
tell("chain1", ended="compression")
tell("chain2", "chain1")
db._conn.execute("UPDATE sessions SET started_at = ? WHERE id <> 'young'", (old,))
db._conn.execute("UPDATE sessions SET ended_at = ? WHERE id <> 'young'"
                 " AND ended_at IS NOT NULL", (old + 60,))
db._conn.execute("UPDATE sessions SET last_activity_at = NULL WHERE id <> 'young'")
db._conn.execute("UPDATE messages SET timestamp = ? WHERE session_id <> 'young'", (old + 30,))
db._conn.commit()
db.close()
"""

SELECTED = {"plain", "delegate", "branch", "chain1", "chain2"}


@pytest.fixture(scope="module", autouse=True)
def peers() -> Iterator[None]:
    """The place of the releases must not follow the home that each test makes up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMES_PEERS_DIR", str(cache_dir()))
        require_program()
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    run_peer(RELEASE, STORY, home)
    (home / "config.yaml").write_text("sessions:\n  auto_prune: false\n", encoding="utf-8")
    return home


def cli_for(home: Path) -> Cli:
    cli = Cli(home, {**os.environ, "HERMES_HOME": str(home)}, home.parent)
    cli.now = time.time()
    return cli


def ids(home: Path) -> set[str]:
    connection = sqlite3.connect(f"{(home / 'state.db').as_uri()}?mode=ro", uri=True)
    try:
        return {str(row[0]) for row in connection.execute("SELECT id FROM sessions")}
    finally:
        connection.close()


PRUNE = ("prune", "--older-than", "90", "--yes", "--max-delete", "99")


def test_a_gateway_prunes_what_was_selected_and_undo_brings_it_back(home: Path) -> None:
    cli = cli_for(home)
    before = ids(home)
    assert cli(*PRUNE, "--dry-run", "--json").ok().json["kept"]["open"] == 1
    with api_server(home, home.parent / "user"):
        outcome = cli(*PRUNE, "--json").ok()
        assert "the gateway at 127.0.0.1" in outcome.stderr
        assert set(outcome.json["deleted"]) == {"plain", "delegate", "branch", "chain2"}
        assert ids(home) == before - SELECTED
    cli("undo", "--yes").ok()
    assert ids(home) == before
    connection = sqlite3.connect(home / "state.db")
    parents = dict(connection.execute("SELECT id, parent_session_id FROM sessions").fetchall())
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert (parents["branch"], parents["chain2"]) == ("plain", "chain1")


def test_delete_asks_the_gateway_too(home: Path) -> None:
    cli = cli_for(home)
    with api_server(home, home.parent / "user"):
        assert "the gateway at" in cli("delete", "chain1", "--yes").ok().stderr
        assert not {"chain1", "chain2"} & ids(home)
        assert "plain" in ids(home)
        cli("undo", "--yes").ok()
    assert {"chain1", "chain2"} <= ids(home)


def test_with_a_wrong_key_nothing_is_pruned(home: Path) -> None:
    cli = cli_for(home)
    before = ids(home)
    with api_server(home, home.parent / "user"):
        dotenv = home / ".env"
        text = dotenv.read_text(encoding="utf-8")
        dotenv.write_text(text.replace(KEY, "another-key-0123456789"), encoding="utf-8")
        refused = cli(*PRUNE)
        assert refused.code == 3
        assert "refuses the key" in refused.stderr
        assert "gateway" in refused.stderr
        assert ids(home) == before
        dotenv.write_text("", encoding="utf-8")
        refused = cli(*PRUNE)
        assert refused.code == 3
        assert ids(home) == before
        cli("delete", "plain", "--yes").ok()  # beside a gateway is safe, asked or not
        assert "plain" not in ids(home)


def test_without_a_gateway_it_is_done_here(home: Path) -> None:
    cli = cli_for(home)
    with api_server(home, home.parent / "user"):
        pass
    outcome = cli(*PRUNE).ok()
    assert "asked" not in outcome.stderr
    assert not SELECTED & ids(home)
