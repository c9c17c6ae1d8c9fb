"""From rows to the file: plain inserts with the triggers set aside, then the search indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_peer import run_peer
from large_store.message_rows import message_rows
from large_store.progress import say
from large_store.session_rows import PROMPTS, final_values, prompt_rows, session_row

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from large_store.prose import Prose
    from large_store.session import Row, Session

EMPTY_STORE = """
import hermes_state
hermes_state.SessionDB().close()
"""

BATCH = 5_000
"""Rows handed to SQLite at a time: bounds the memory, and costs nothing in speed from 1000 up."""

USAGE = """
INSERT INTO session_model_usage (
    session_id, model, billing_provider, api_call_count, input_tokens, output_tokens,
    cache_read_tokens, estimated_cost_usd, actual_cost_usd, cost_status, cost_source,
    first_seen, last_seen
)
SELECT id, model, billing_provider, api_call_count, input_tokens, output_tokens,
       cache_read_tokens, coalesce(estimated_cost_usd, 0), coalesce(actual_cost_usd, 0),
       cost_status, cost_source, started_at, coalesce(ended_at, started_at)
FROM sessions
WHERE api_call_count > 0
"""

INLINE_INDEX = """
INSERT INTO {table} (rowid, content)
SELECT id, coalesce(content, '') || ' ' || coalesce(tool_name, '') || ' ' ||
       coalesce(tool_calls, '')
FROM messages
"""
"""How releases up to 0.19 feed an index that keeps its own copy of the text."""

INDEXES = ("messages_fts", "messages_fts_trigram")


def create(home: Path, release: str) -> None:
    """Let a real Hermes make the empty store, so every table, index and trigger is its own."""
    run_peer(release, EMPTY_STORE, home)


def fill(db: sqlite3.Connection, sessions: Sequence[Session], prose: Prose) -> None:
    """Write all rows into an empty store, then build its search indexes."""
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -200000"):
        db.execute(f"PRAGMA {pragma}")  # a crash costs only the scratch copy
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    db.execute("BEGIN")
    write_rows(db, sessions, prose)
    db.execute("COMMIT")
    for table in INDEXES:
        say(f"indexing {table}")
        build_index(db, table)
    for _, sql in triggers:
        db.execute(sql)


def write_rows(db: sqlite3.Connection, sessions: Sequence[Session], prose: Prose) -> None:
    """Insert sessions as they start and messages as they come; add the counters last."""
    rng = prose.rng
    prompts = prompt_rows(prose)
    total = sum(session.messages for session in sessions)
    new_sessions: list[Row] = []
    new_messages: list[Row] = []
    if has_table(db, "system_prompts"):
        insert(db, "system_prompts", prompts)
    for session, position, row in message_rows(sessions, prose):
        if position == 0:
            new_sessions.append(session_row(session, rng.choice(prompts[:PROMPTS]), rng))
        new_messages.append(row)
        if len(new_messages) == BATCH or row["id"] == total:
            insert(db, "sessions", new_sessions)
            insert(db, "messages", new_messages)
            new_sessions, new_messages = [], []
            if row["id"] % (10 * BATCH) == 0:
                say(f"{row['id']:,} of {total:,} messages")
    finals = [final_values(session, rng) for session in sessions]
    assignments = ", ".join(f"{name} = :{name}" for name in known(db, "sessions", finals[0]))
    db.executemany(f"UPDATE sessions SET {assignments} WHERE id = :id", finals)
    db.execute(USAGE)


def insert(db: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows of the same shape, leaving out what this release has no column for."""
    if rows:
        columns = known(db, table, rows[0])
        values = ", ".join(f":{name}" for name in columns)
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
        db.executemany(sql, rows)


def known(db: sqlite3.Connection, table: str, row: Row) -> list[str]:
    """Return those keys of a row that are columns of the table."""
    columns = {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
    return [name for name in row if name in columns]


def has_table(db: sqlite3.Connection, table: str) -> bool:
    """Tell whether this release has the table."""
    return bool(db.execute(f"PRAGMA table_info({table})").fetchall())


def build_index(db: sqlite3.Connection, table: str) -> None:
    """Fill a search index from the message rows, whichever of its layouts this release uses."""
    (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if "content=" in sql:
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    else:
        db.execute(INLINE_INDEX.format(table=table))
