"""Whether the finished store is what was wanted, by SQLite's account and by Hermes' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_peer import run_peer
from large_store.wanted import CJK, COMMON, RARE, RARE_MESSAGES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from large_store.session import Session
    from large_store.wanted import Size

Facts = dict[str, Any]
"""What a benchmark wants to know of the store."""

PLANTED = """
SELECT count(*), count(DISTINCT m.session_id)
FROM messages_fts JOIN messages AS m ON m.id = messages_fts.rowid
WHERE messages_fts MATCH ?
"""

CJK_PLANTED = """
SELECT (SELECT count(*) FROM messages WHERE instr(content, :word)),
       (SELECT count(*) FROM messages_fts_trigram WHERE messages_fts_trigram MATCH :word)
"""

LISTING = """
import hermes_state
store = hermes_state.SessionDB()
rows = store.list_sessions_rich(limit=20, order_by_last_active=True)
for row in rows:
    print(row["id"], row["message_count"], row["title"], sep="\t")
store.close()
"""


class CheckFailed(Exception):  # noqa: N818 - reads as the fact it states
    """The finished store is not what was asked for."""


def check(db: sqlite3.Connection, size: Size) -> Facts:
    """Compare the store with what was asked for; return what a benchmark wants to know of it."""
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    expect("quick_check", verdict, "ok")
    expect("broken references", db.execute("PRAGMA foreign_key_check").fetchall(), [])
    for table in ("sessions", "messages"):
        (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
        expect(table, count, getattr(size, table))
    big = db.execute(
        "SELECT session_id, count(*) FROM messages GROUP BY 1 ORDER BY 2 DESC LIMIT 1"
    ).fetchone()
    expect("messages of the big conversation", big[1], size.big)
    rare, _ = db.execute(PLANTED, (RARE,)).fetchone()
    expect(f"messages with {RARE}", rare, RARE_MESSAGES)
    _, common = db.execute(PLANTED, (COMMON,)).fetchone()
    cjk, cjk_indexed = db.execute(CJK_PLANTED, {"word": CJK}).fetchone()
    return {
        "big": {"id": big[0], "messages": big[1]},
        RARE: {"messages": rare},
        COMMON: {"sessions": common},
        CJK: {"messages": cjk, "in the trigram index": cjk_indexed},
    }


def check_listing(home: Path, release: str, sessions: Sequence[Session]) -> str:
    """Require that Hermes lists the store by activity; return the id it puts first."""
    listing = run_peer(release, LISTING, home)
    listed = [line.split("\t")[0] for line in listing.splitlines()]
    expect("conversations listed", len(listed), 20)
    expect("unknown among them", set(listed) - {session.id for session in sessions}, set())
    return listed[0]


def expect(what: str, found: object, wanted: object) -> None:
    """Stop if a fact about the finished store is not as it must be."""
    if found != wanted:
        message = f"{what}: {found!r}, expected {wanted!r}"
        raise CheckFailed(message)
