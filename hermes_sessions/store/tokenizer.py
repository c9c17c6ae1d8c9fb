"""Hermes' optional index for CJK needs Hermes' own tokenizer, or no message can be written.

A store with triggers for ``messages_fts_cjk`` refuses every change of its messages in a connection
that does not know the tokenizer ``cjk_unicode61`` (store facts §0, trap 9).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_sessions.store.connect import Store

INDEX: Final = "messages_fts_cjk"
_LIBRARY: Final = "HERMES_FTS5_CJK_SO"
_PLACE: Final = ("lib", "libfts5_cjk.so")
_TRIGGER: Final = (
    "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'messages'"
    f" AND sql LIKE '%{INDEX}%' LIMIT 1"
)


def tokenizer_library(home: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return where Hermes keeps its tokenizer, or None (0.22.2: ``lib`` in the home)."""
    named = environ.get(_LIBRARY)
    library = Path(named) if named else home.joinpath(*_PLACE) if home else None
    return library if library is not None and library.is_file() else None


def load_tokenizer(connection: sqlite3.Connection, library: Path) -> None:
    """Load the tokenizer if the store has triggers that need it; whether it works is seen later."""
    if connection.execute(_TRIGGER).fetchone() is None:
        return
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(library))
        connection.enable_load_extension(False)
    except (AttributeError, sqlite3.Error):  # this Python cannot, or it is for another machine
        return


def check_tokenizer(store: Store) -> None:
    """Check that messages of a store can be written.

    Raises:
        UserError: its CJK index needs a tokenizer that this connection does not have.
    """
    if not store.value(_TRIGGER):
        return
    try:
        # To read rows is not enough: newer versions of SQLite then do without the tokenizer.
        store.rows(f"SELECT rowid FROM {INDEX} WHERE {INDEX} MATCH 'a' LIMIT 1")
    except UserError as error:
        raise UserError(
            f"{store.path} has a CJK search index that needs Hermes' own tokenizer, "
            "and it cannot be loaded here",
            hint=f"set {_LIBRARY} to Hermes' libfts5_cjk.so; nothing was changed",
        ) from error
