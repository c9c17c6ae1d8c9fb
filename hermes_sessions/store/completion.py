"""What may stand at the cursor: conversations and values that begin with what was typed.

A shell waits for this at every TAB, so nothing here reads more than the rows it offers. "Newest"
is decided by the session rows where there are more conversations than are offered.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.store.catalog import away_case
from hermes_sessions.store.lookup import conversations_of
from hermes_sessions.store.messages import load_preview
from hermes_sessions.store.recent import newest_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store

MOST: Final = 100
"""Candidates of one kind: what a person may still look through."""

_MANY: Final = 1_000
"""Ids from which on reading the newest rows is cheaper than sorting all that match."""

_AFTER_ALL_TEXT: Final = "\U0010ffff"

COLUMNS: Final = {
    "source": "source",
    "model": "model",
    "provider": "billing_provider",
    "branch": "git_branch",
    "reason": "end_reason",
    "user": "user_id",
    "chat": "chat_id",
    "chat_type": "chat_type",
}
"""Kinds of values that are simply what a column of ``sessions`` holds."""

View = Literal["shown", "archived", "hidden", "pinned", "any"]


class Offer(NamedTuple):
    """A conversation under the name that completes what was typed: an id or a title."""

    value: str
    conversation: Conversation


def offer_ids(store: Store, prefix: str, view: View) -> list[Offer]:
    """Return conversations with an id that starts like this, the newest first.

    The name is the conversation's own id, or that of an earlier segment if only it starts so.
    """
    ids = _ids_with_prefix(store, prefix, view)
    offers = []
    for conversation in _in_view(store, ids, view):
        names = [i for i in reversed(conversation.session_ids) if i.startswith(prefix)]
        offers.append(Offer(names[0], conversation))
    return offers


def offer_titles(store: Store, prefix: str, view: View) -> list[Offer]:
    """Return conversations with a title that starts like this in any case, the newest first."""
    among = "s.title IN (SELECT value FROM json_each(:titles))" if prefix else "+s.title > ''"
    titles = _titles_with_prefix(store, prefix) if prefix else []
    rows = store.rows(
        f"""
        SELECT s.id, s.title FROM sessions AS s WHERE {among} AND {_condition(store, view)}
        ORDER BY {_newest(store)} LIMIT {MOST}""",
        {"titles": json.dumps(titles), "away": _away(view)},
    )
    title_of = {str(session_id): str(title) for session_id, title in rows}
    return [
        Offer(title_of[session_id], conversation)
        for conversation in _in_view(store, list(title_of), view)
        for session_id in reversed(conversation.session_ids)
        if session_id in title_of
    ]


def _titles_with_prefix(store: Store, prefix: str) -> list[str]:
    """Return the titles that start like this in any case.

    SQLite folds the case of ASCII only, so Python compares. The index of titles leads to those
    with the same first character.
    """
    start = prefix.casefold()
    titles: list[str] = []
    for first in {prefix[:1].lower(), prefix[:1].upper()}:
        rows = store.rows(
            "SELECT title FROM sessions WHERE title >= :first AND title < :end",
            {"first": first, "end": first + _AFTER_ALL_TEXT},
        )
        titles += [str(title) for (title,) in rows if str(title).casefold().startswith(start)]
    return titles


def values_of(store: Store, kind: str) -> list[tuple[str, int]]:
    """Return (value, number of sessions) of a column, the most frequent first."""
    column = store.capabilities.column(COLUMNS[kind])
    rows = store.rows(
        f"""
        SELECT CAST({column} AS TEXT), count(*) FROM sessions AS s
        WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"""
    )
    return [(str(value), int(str(number))) for value, number in rows]


def names_of(store: Store, conversations: Iterable[Conversation]) -> dict[str, str]:
    """Return the title of each conversation, or its first words, by the conversation's id."""
    conversations = list(conversations)
    rows = store.rows(
        """
        SELECT id, title FROM sessions
        WHERE title > '' AND id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps([i for c in conversations for i in c.session_ids])},
    )
    titles = {str(session_id): str(title) for session_id, title in rows}
    return {
        c.id: next((titles[i] for i in reversed(c.session_ids) if i in titles), "")
        or _first_words(store, c)
        for c in conversations
    }


def _first_words(store: Store, conversation: Conversation) -> str:
    try:
        return load_preview(store, conversation.session_ids)
    except StoreDamaged:  # of its messages only: the conversation can be named all the same
        return ""


def _ids_with_prefix(store: Store, prefix: str, view: View) -> list[str]:
    """Return the newest ids that start with these very characters.

    If not all are returned, the first and the last of all are: a shell inserts what its candidates
    have in common, and that must not exclude any that were left out.
    """
    bounds = {
        "prefix": prefix,
        "end": prefix + _AFTER_ALL_TEXT,
        "many": _MANY,
        "away": _away(view),
    }
    among = "s.id >= :prefix AND s.id < :end"
    many = f"SELECT 1 FROM sessions AS s WHERE {among} LIMIT 1 OFFSET :many"
    column = "s.id"
    if store.value(many, bounds):
        column = "+s.id"  # the sign keeps SQLite from the index of ids: that of times is better
    rows = store.rows(
        f"""
        SELECT s.id FROM sessions AS s
        WHERE {column} >= :prefix AND {column} < :end AND {_condition(store, view)}
        ORDER BY {_newest(store)} LIMIT {MOST}""",
        bounds,
    )
    if prefix and len(rows) == MOST:
        for direction in ("ASC", "DESC"):
            rows += store.rows(
                f"""
                SELECT s.id FROM sessions AS s WHERE {among} AND {_condition(store, view)}
                ORDER BY s.id {direction} LIMIT 1""",
                bounds,
            )
    return [str(row[0]) for row in rows]


def _newest(store: Store) -> str:
    """Return the order of an index of Hermes' own, so that only the rows offered are read."""
    if "last_activity_at" in store.capabilities.sessions:
        return "COALESCE(last_activity_at, started_at) DESC"
    return "s.started_at DESC"


def _condition(store: Store, view: View) -> str:
    """Return the condition for rows that a view may have; conversations are judged again."""
    if view == "any":
        return "1"
    if view == "pinned":
        return f"coalesce({store.capabilities.column('pinned', '0')}, 0) <> 0"
    return f"({away_case(store.capabilities)}) IS :away"


def _away(view: View) -> str | None:
    return None if view == "shown" else view


def _in_view(store: Store, session_ids: Sequence[str], view: View) -> list[Conversation]:
    found = newest_first(conversations_of(store, session_ids))
    if view in {"any", "pinned"}:
        return found
    return [conversation for conversation in found if conversation.away == _away(view)]
