"""What the rows of a store refer to: sessions, parents and titles that are there once, or not."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.catalog import load_conversations
from hermes_sessions.store.dependents import quoted
from hermes_sessions.store.diagnosis_findings import ORPHANS, Checked, Finding, Severity, some
from hermes_sessions.text import clip, one_line, plural, size
from hermes_sessions.times import sane_time

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.diagnosis_findings import StoreFacts, Subject

_USAGE: Final = "session_model_usage"
_LOOKED_AT: Final = frozenset({"messages", "sessions", _USAGE})
"""Tables whose references have checks of their own."""

_WITH_A_MESSAGE: Final = """
    WITH RECURSIVE owner(id) AS (
        SELECT min(session_id) FROM messages
        UNION ALL
        SELECT (SELECT min(session_id) FROM messages WHERE session_id > owner.id)
        FROM owner WHERE owner.id IS NOT NULL
    )
    SELECT id FROM owner
    WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = owner.id)"""
"""From one session to the next in the index, instead of every message."""

_WITH_A_MESSAGE_SLOWLY: Final = """
    SELECT DISTINCT session_id FROM messages AS m
    WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = m.session_id)"""

_PARENT_GONE: Final = """
    SELECT s.id, s.parent_session_id FROM sessions AS s
    WHERE s.parent_session_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM sessions AS p WHERE p.id = s.parent_session_id)"""

_TITLES_TWICE: Final = """
    SELECT title FROM sessions WHERE title IS NOT NULL
    GROUP BY title HAVING count(*) > 1 ORDER BY title"""

_UNIQUE_TITLES: Final = """
    SELECT 1 FROM pragma_index_list('sessions') AS i, pragma_index_info(i.name) AS c
    WHERE i."unique" AND c.name = 'title' AND c.seqno = 0 LIMIT 1"""


def check_counts(subject: Subject, facts: StoreFacts) -> tuple[Checked, StoreFacts]:
    """Count what is in a store; in a big one, the conversations are not put together for that."""
    store = subject.store
    sessions = int(str(store.value("SELECT count(*) FROM sessions")))
    messages = int(str(store.value("SELECT count(*) FROM messages")))
    conversations = None if subject.is_sampled else len(load_conversations(store))
    fine = [plural(sessions, "session"), plural(messages, "message")]
    if conversations is not None:
        fine.insert(0, plural(conversations, "conversation"))
    facts = facts._replace(conversations=conversations, sessions=sessions, messages=messages)
    return Checked(fine=", ".join(fine)), facts


def check_orphans(subject: Subject) -> Checked:
    """Look for messages and usage rows whose session is gone (R050)."""
    store = subject.store
    findings = []
    gone = _gone_with_messages(store)
    if gone:
        messages, data = _measure_messages(store, gone)
        verb = "belongs" if messages == 1 else "belong"
        message = f"{plural(messages, 'message')} {verb} to no session ({size(data)})"
        findings.append(
            Finding(Severity.WARNING, "orphan-messages", message, ORPHANS, _sessions(gone))
        )
    if _USAGE in store.capabilities.tables:
        rows = store.rows(
            f"SELECT session_id FROM {_USAGE} AS u"
            " WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = u.session_id)"
        )
        if rows:
            ids = sorted({str(row[0]) for row in rows})
            verb = "belongs" if len(rows) == 1 else "belong"
            message = f"{plural(len(rows), 'record')} of token use {verb} to no session"
            findings.append(
                Finding(Severity.WARNING, "orphan-usage", message, ORPHANS, _sessions(ids))
            )
    return Checked(tuple(findings))


def _gone_with_messages(store: Store) -> list[str]:
    """Return the sessions that are gone and have messages left."""
    fast = store.capabilities.has_message_index
    rows = store.rows(_WITH_A_MESSAGE if fast else _WITH_A_MESSAGE_SLOWLY)
    return sorted(str(row[0]) for row in rows)


def _measure_messages(store: Store, session_ids: list[str]) -> tuple[int, int]:
    """Return how many messages sessions have, and the bytes of what was said and called."""
    calls = store.capabilities.column("tool_calls", of="m")
    row = store.row(
        f"""
        SELECT count(*), sum(coalesce(length(CAST(m.content AS BLOB)), 0)
                             + coalesce(length(CAST({calls} AS BLOB)), 0))
        FROM messages AS m WHERE m.session_id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(session_ids)},
    )
    return (int(str(row[0])), int(str(row[1] or 0))) if row else (0, 0)


def check_parents(subject: Subject) -> Checked:
    """Look for sessions whose parent is gone, and for those that are parents in a circle."""
    store = subject.store
    findings = []
    lost = sorted((str(child), str(parent)) for child, parent in store.rows(_PARENT_GONE))
    if lost:
        left = set(_gone_with_messages(store))
        is_curable = all(parent in left for _, parent in lost)
        verb = "hangs" if len(lost) == 1 else "hang"
        findings.append(
            Finding(
                Severity.WARNING if is_curable else Severity.INFO,
                "parent-gone",
                f"{plural(len(lost), 'session')} {verb} off one that is gone; shown without it",
                ORPHANS if is_curable else None,
                _sessions([child for child, _ in lost]),
            )
        )
    circle = _in_circles(store)
    if circle:
        message = f"{plural(len(circle), 'session')} hang off each other in a circle; each is shown"
        findings.append(
            Finding(Severity.WARNING, "parent-circle", message, None, _sessions(circle))
        )
    return Checked(tuple(findings))


def _in_circles(store: Store) -> list[str]:
    """Return the sessions that are above themselves, sorted."""
    rows = store.rows(
        "SELECT id, parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL"
    )
    parent_of = {str(child): str(parent) for child, parent in rows}
    done: set[str] = set()
    found: list[str] = []
    for start in parent_of:
        path: list[str] = []
        here: str | None = start
        while here is not None and here not in done:
            done.add(here)
            path.append(here)
            here = parent_of.get(here)
        if here in path:
            found += path[path.index(here) :]
    return sorted(found)


def check_titles(subject: Subject) -> Checked:
    """Look whether each title is there once, and whether the store keeps it so."""
    store = subject.store
    if store.value(_UNIQUE_TITLES):
        return Checked(fine="titles unique")
    titles = [str(row[0]) for row in store.rows(_TITLES_TWICE)]
    findings = []
    if titles:
        shown = clip(one_line(titles[0]), 40)
        message = f"“{shown}” is the title of {len(_by_age(store, titles[0]))} sessions"
        if len(titles) > 1:
            message = f"{len(titles):,} titles are on more than one session each"
        findings.append(
            Finding(
                Severity.WARNING,
                "duplicate-titles",
                message,
                _rename_command(store, titles[0]),
                some([_whose(store, title) for title in titles]),
            )
        )
    findings.append(
        Finding(
            Severity.INFO,
            "title-index-missing",
            "nothing in the store keeps titles unique",
            "start hermes once: it sees to that" if not titles else None,
        )
    )
    return Checked(tuple(findings))


def _rename_command(store: Store, title: str) -> str:
    """Return the command that gives the oldest of several sessions of a title another one."""
    from hermes_sessions.store.naming import free_title

    free = free_title(store, title)
    words = shlex.join([_by_age(store, title)[0], free])
    return f"hermes-sessions rename {'-- ' if free.startswith('-') else ''}{words}"


def _by_age(store: Store, title: str) -> list[str]:
    rows = store.rows("SELECT id, started_at FROM sessions WHERE title = :title", {"title": title})
    return [str(row[0]) for row in sorted(rows, key=lambda r: (sane_time(r[1]) or 0.0, str(r[0])))]


def _whose(store: Store, title: str) -> str:
    return f"“{clip(one_line(title), 40)}”: {', '.join(_by_age(store, title))}"


def check_keys(subject: Subject) -> Checked:
    """Look for rows of other tables that refer to rows that are gone."""
    store = subject.store
    rows = store.rows(
        """
        SELECT DISTINCT t.name FROM sqlite_master AS t, pragma_foreign_key_list(t.name)
        WHERE t.type = 'table' ORDER BY t.name"""
    )
    lost: dict[str, int] = {}
    for table in (str(row[0]) for row in rows):
        for parent, number in _lost_rows(store, table).items():
            if table not in _LOOKED_AT or (table == "sessions" and parent != "sessions"):
                lost[f"{table} → {parent}"] = number
    if not lost:
        return Checked()
    total = sum(lost.values())
    message = f"{plural(total, 'row')} of other tables refer to what is gone; they do no harm"
    details = some([f"{names}: {number:,}" for names, number in lost.items()])
    return Checked((Finding(Severity.INFO, "dangling-rows", message, None, details),))


def _lost_rows(store: Store, table: str) -> dict[str, int]:
    """Count rows of a table by the other table in which they have lost something."""
    if table in _LOOKED_AT - {"sessions"}:
        return {}
    try:
        rows = store.rows(f"PRAGMA foreign_key_check({quoted(table)})")
    except (StoreBusy, StoreDamaged):
        raise
    except UserError:  # its keys do not fit; Hermes' own do
        return {}
    lost: dict[str, int] = {}
    for _, _, parent, _ in rows:
        lost[str(parent)] = lost.get(str(parent), 0) + 1
    return lost


def missing_sessions(store: Store, session_ids: list[str]) -> list[str]:
    """Return those of some ids that no session has, in their order."""
    rows = store.rows(
        """
        SELECT value FROM json_each(:ids)
        WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = value)""",
        {"ids": json.dumps(session_ids)},
    )
    return [str(row[0]) for row in rows]


def _sessions(ids: list[str]) -> tuple[str, ...]:
    return some([f"session {session_id}" for session_id in ids])
