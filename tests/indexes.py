"""Search indexes of test stores: damage of each kind, and everything that is in them.

The oracle for a rebuilt index is the index that the release itself made: in a file of the corpus,
before it was damaged here.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hermes_sessions.store.connect import open_store
from hermes_sessions.store.fts import Indexes, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Postings = set[tuple[object, ...]]

NAMES: Final = ("messages_fts", "messages_fts_trigram")


def postings(path: Path) -> dict[str, Postings]:
    """Return every word of every row in each index, with its place (fts5vocab, 'instance')."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        for name in NAMES:
            connection.execute(
                f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', '{name}', 'instance')"
            )
            connection.text_factory = bytes
            found[name] = set(connection.execute("SELECT term, doc, col, offset FROM seen"))
            connection.text_factory = str
            connection.execute("DROP TABLE temp.seen")
    return found


def schema(path: Path) -> dict[str, str]:
    """Return what made everything in a store, by its name."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL"))


def states(path: Path) -> tuple[State, State]:
    """Return what a search thinks of the two indexes."""
    with open_store(path) as store:
        indexes = Indexes(store)
        return indexes.words.state, indexes.trigrams.state


def _run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def _triggers(path: Path) -> dict[str, str]:
    made = schema(path)
    names = [f"{name}_{event}" for name in NAMES for event in ("insert", "delete", "update")]
    return {name: made[name] for name in names}


def make_stale(path: Path) -> None:
    """Do what Hermes does when an index fails it: mark it, and stop writing to it."""
    drop = [f"DROP TRIGGER {name}" for name in _triggers(path)]
    _run(path, "INSERT INTO state_meta (key, value) VALUES ('fts_stale', '1')", *drop)
    lag(path)


def make_triggerless(path: Path) -> None:
    """Take the triggers away without a word."""
    _run(path, *[f"DROP TRIGGER {name}" for name in _triggers(path)])
    lag(path)


def lag(path: Path) -> None:
    """Change messages so that an index without triggers falls behind: more, fewer, others."""
    _run(
        path,
        "DELETE FROM messages WHERE id IN (SELECT id FROM messages ORDER BY id LIMIT 2)",
        """
        UPDATE messages SET content = 'a quokka instead'
        WHERE id = (SELECT max(id) FROM messages)""",
        """
        INSERT INTO messages (session_id, role, content, timestamp)
        SELECT session_id, 'user', 'one more quokka', timestamp + 1 FROM messages
        ORDER BY id DESC LIMIT 1""",
    )


def make_incomplete(path: Path) -> None:
    """Lose rows without a mark: messages were written while the triggers were away."""
    triggers = _triggers(path)
    _run(path, *[f"DROP TRIGGER {name}" for name in triggers])
    lag(path)
    _run(path, *triggers.values())


def make_silent(path: Path) -> None:
    """Lose the pages of the words: every question is answered by nothing."""
    _run(path, "UPDATE messages_fts_data SET block = zeroblob(length(block)) WHERE id > 10")


def make_corrupt(path: Path) -> None:
    """Destroy the structure record: FTS5 cannot open the table any more."""
    for name in NAMES:
        _run(path, f"UPDATE {name}_data SET block = X'00000001FFFFFFFFFF7F' WHERE id = 10")


def make_surplus(path: Path) -> None:
    """Leave rows of messages in an index that are gone, as triggers of 0.21.3 can do."""
    name = NAMES[1]
    with closing(sqlite3.connect(path)) as connection:
        rows = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
    columns = ", ".join(rows)
    values = ", ".join(["'a ghostly quokka'", *["NULL"] * (len(rows) - 1)])
    _run(path, f"INSERT INTO {name} (rowid, {columns}) VALUES (987654, {values})")


DAMAGE: Final[dict[str, Callable[[Path], None]]] = {
    "stale": make_stale,
    "triggerless": make_triggerless,
    "incomplete": make_incomplete,
    "silent": make_silent,
    "corrupt": make_corrupt,
    "surplus": make_surplus,
}


def forget_index(path: Path) -> None:
    """Rebuild the indexes of a store as its own release would: the oracle after ``lag``.

    The messages are deleted and put back, row by row, with the triggers that the release made.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM messages")
        connection.execute("DELETE FROM messages")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(messages)")]
        names = ", ".join(columns)
        connection.execute(f"INSERT INTO messages ({names}) SELECT {names} FROM kept ORDER BY id")
        connection.execute("COMMIT")
