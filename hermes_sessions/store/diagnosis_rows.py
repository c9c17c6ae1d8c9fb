"""The values in the rows of a store: JSON, times, flags, counters, leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.store.diagnosis_findings import Checked, Finding, Severity, some
from hermes_sessions.text import plural
from hermes_sessions.times import SANE_MAX

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.diagnosis_findings import Subject

_NEWEST: Final = 1_000
"""Messages and sessions that are looked at in a big store, where all of them cost too much."""

SKIPPED: Final = f"tool calls, times and counters but the newest {_NEWEST:,}"
"""What is not looked at in a big store."""

_LEASES: Final = ("compression_locks", "session_turn_leases")


def check_json(subject: Subject) -> Checked:
    """Look for settings and tool calls that are no JSON (R003)."""
    store = subject.store
    findings = []
    if "model_config" in store.capabilities.sessions:
        rows = store.rows(
            "SELECT id FROM sessions"
            f" WHERE {_is_no_json('model_config')} AND model_config <> '' ORDER BY id"
        )
        if rows:
            message = f"settings of {plural(len(rows), 'session')} are not JSON; they count as none"
            findings.append(
                Finding(Severity.WARNING, "broken-settings", message, None, _ids("session", rows))
            )
    if "tool_calls" in store.capabilities.messages:
        newest = "1"
        if subject.is_sampled:
            newest = f"id > (SELECT max(id) FROM messages) - {_NEWEST}"
        rows = store.rows(
            f"SELECT id FROM messages WHERE {newest}"
            f" AND {_is_no_json('tool_calls')} AND tool_calls <> '' ORDER BY id"
        )
        if rows:
            message = (
                f"tool calls of {plural(len(rows), 'message')} are not JSON; they are not shown"
            )
            findings.append(
                Finding(Severity.WARNING, "broken-calls", message, None, _ids("message", rows))
            )
    return Checked(tuple(findings))


def _is_no_json(column: str) -> str:
    """Return the condition; bytes are read as text, whatever the SQLite thinks of them."""
    return f"{column} IS NOT NULL AND NOT json_valid(CAST({column} AS TEXT))"


def check_times(subject: Subject) -> Checked:
    """Look for times that no clock has shown: text, before 1970, after 2103 (R001)."""
    store = subject.store
    names = ("started_at", "ended_at", "last_activity_at")
    odd = " OR ".join(_is_odd_time(n) for n in names if n in store.capabilities.sessions)
    sessions = store.rows(f"SELECT id FROM sessions WHERE {odd} ORDER BY id", {"most": SANE_MAX})
    messages = _messages_with_odd_times(store, is_sampled=subject.is_sampled)
    parts = [
        plural(len(rows), noun)
        for rows, noun in ((sessions, "session"), (messages, "message"))
        if rows
    ]
    if not parts:
        return Checked()
    verb = "have" if len(parts) > 1 or len(sessions) + len(messages) > 1 else "has"
    message = f"{' and '.join(parts)} {verb} a time outside 1970–2103; it does not count"
    details = _ids("session", sessions) + _ids("message", messages)
    return Checked((Finding(Severity.WARNING, "odd-times", message, None, details),))


def _is_odd_time(column: str) -> str:
    return (
        f"({column} IS NOT NULL AND (typeof({column}) NOT IN ('integer', 'real')"
        f" OR {column} NOT BETWEEN 0 AND :most))"
    )


def _messages_with_odd_times(store: Store, *, is_sampled: bool) -> list[tuple[object, ...]]:
    """Ask the index for the first and last time of each session, and only then for messages."""
    whose = "1"
    if store.capabilities.has_message_index:
        whose = f"""session_id IN (
            SELECT s.id FROM (SELECT id FROM sessions {_which(is_sampled)}) AS s
            WHERE (SELECT max(timestamp) FROM messages AS m WHERE m.session_id = s.id) > :most
               OR (SELECT min(timestamp) FROM messages AS m WHERE m.session_id = s.id) < 0)"""
    return store.rows(
        f"SELECT id FROM messages WHERE {whose} AND {_is_odd_time('timestamp')} ORDER BY id",
        {"most": SANE_MAX},
    )


def _which(is_sampled: bool) -> str:
    return f"ORDER BY rowid DESC LIMIT {_NEWEST}" if is_sampled else ""


def check_flags(subject: Subject) -> Checked:
    """Look for messages that do not say whether they are live (store facts §4)."""
    store = subject.store
    if not store.capabilities.active_nullable:
        return Checked()
    number = int(str(store.value("SELECT count(*) FROM messages WHERE active IS NULL")))
    if not number:
        return Checked()
    verb = "does" if number == 1 else "do"
    message = (
        f"{plural(number, 'message')} {verb} not say whether they are live; they count as live"
    )
    return Checked((Finding(Severity.INFO, "null-active", message),))


def check_counters(subject: Subject) -> Checked:
    """Compare what sessions say of their messages with the messages they have."""
    store = subject.store
    if not store.capabilities.has_message_index:  # each session would cost a pass over all
        return Checked(skipped="counters (no index tells the messages of a session)")
    live = "coalesce(m.active, 1) = 1" if "active" in store.capabilities.messages else "1"
    rows = store.rows(
        f"""
        SELECT s.id FROM (SELECT id, message_count FROM sessions {_which(subject.is_sampled)}) AS s
        WHERE s.message_count <> (
            SELECT count(*) FROM messages AS m WHERE m.session_id = s.id AND {live})
        ORDER BY s.id"""
    )
    if not rows:
        return Checked()
    noun = plural(len(rows), "session")
    verb = "has" if len(rows) == 1 else "have"
    message = f"{noun} {verb} a message counter that is off; messages are counted anew here"
    details = _ids("session", rows)
    return Checked((Finding(Severity.INFO, "counters", message, None, details),))


def check_leases(subject: Subject) -> Checked:
    """Look for claims on conversations that have run out and were not taken back."""
    store = subject.store
    now = {"now": subject.scope.now}
    number = 0
    for table in _LEASES:
        if table in store.capabilities.tables:
            statement = f"SELECT count(*) FROM {table} WHERE expires_at <= :now"
            number += int(str(store.value(statement, now)))
    if not number:
        return Checked()
    verb = "has" if number == 1 else "have"
    message = f"{plural(number, 'claim')} on a conversation {verb} run out and not been taken back"
    return Checked((Finding(Severity.INFO, "stale-leases", message),))


def _ids(noun: str, rows: list[tuple[object, ...]]) -> tuple[str, ...]:
    return some([f"{noun} {row[0]}" for row in rows])
