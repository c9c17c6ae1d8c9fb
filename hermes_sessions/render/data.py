"""JSON and the fields in it; the names are those of Hermes' API where it has them (contract §5)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.content import plain_text, tool_calls
from hermes_sessions.errors import UsageProblem
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hermes_sessions.models import Message, Summary
    from hermes_sessions.store.facts import Facts
    from hermes_sessions.store.recaps import Tail

    Getter = Callable[[Summary], object]


def _total(field: str) -> Getter:
    return lambda s: sum(int(getattr(row, field)) for row in s.sessions)


def _sum_or_none(field: str) -> Getter:
    def get(summary: Summary) -> object:
        values = [getattr(row, field) for row in summary.sessions]
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    return get


def _newest(field: str) -> Getter:
    return lambda s: next(
        (value for row in reversed(s.sessions) if (value := getattr(row, field))), None
    )


def _iso(get: Getter) -> Getter:
    def iso(summary: Summary) -> object:
        instant = get(summary)
        return local_iso(instant) if isinstance(instant, float) else None

    return iso


def _live(summary: Summary) -> object:
    if summary.live is None:
        return None
    since = summary.live.since
    return {"holder": summary.live.holder, "since": since}


def _started(summary: Summary) -> float | None:
    return summary.root.started_at


def _ended(summary: Summary) -> float | None:
    return summary.tip.ended_at


def _last_active(summary: Summary) -> float | None:
    return summary.last_active


FIELDS: Final[dict[str, Getter]] = {
    "id": lambda s: s.id,
    "source": lambda s: s.conversation.source,
    "title": lambda s: s.title,
    "preview": lambda s: s.preview,
    "model": _newest("model"),
    "started_at": _started,
    "started_at_iso": _iso(_started),
    "last_active": _last_active,
    "last_active_iso": _iso(_last_active),
    "ended_at": _ended,
    "ended_at_iso": _iso(_ended),
    "end_reason": lambda s: s.tip.end_reason,
    "open": lambda s: bool(s.tip.is_open),
    "live": _live,
    "message_count": lambda s: s.messages,
    "tool_call_count": _total("tool_call_count"),
    "input_tokens": _total("input_tokens"),
    "output_tokens": _total("output_tokens"),
    "cache_read_tokens": _total("cache_read_tokens"),
    "cache_write_tokens": _total("cache_write_tokens"),
    "reasoning_tokens": _total("reasoning_tokens"),
    "api_call_count": _total("api_call_count"),
    "estimated_cost_usd": _sum_or_none("estimated_cost_usd"),
    "actual_cost_usd": _sum_or_none("actual_cost_usd"),
    "cost_status": _newest("cost_status"),
    "cost_usd": lambda s: s.cost.usd,
    "cost_estimated": lambda s: s.cost.estimated,
    "billing_provider": _newest("billing_provider"),
    "user_id": _newest("user_id"),
    "chat_id": _newest("chat_id"),
    "chat_type": _newest("chat_type"),
    "workspace": lambda s: s.workspace,
    "cwd": _newest("cwd"),
    "git_branch": _newest("git_branch"),
    "git_repo_root": _newest("git_repo_root"),
    "parent_session_id": lambda s: s.root.parent_session_id,
    "kind": lambda s: s.conversation.kind.value,
    "pinned": lambda s: any(bool(node.pinned) for node in s.conversation.nodes),
    "archived": lambda s: s.conversation.away == "archived",
    "hidden": lambda s: s.conversation.away == "hidden",
    "away": lambda s: s.conversation.away,
    "rewind_count": _total("rewind_count"),
    "_lineage_root_id": lambda s: s.root.id if len(s.sessions) > 1 else None,
    "segment_ids": lambda s: list(s.conversation.session_ids),
    "partial": lambda s: s.damage is not None,
}


def pick_fields(text: str, fields: Sequence[str] = tuple(FIELDS)) -> tuple[str, ...]:
    """Read the value of ``--json``: names joined by commas, or nothing for all of them.

    Raises:
        UsageProblem: a name is no field; the message lists the fields.
    """
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    unknown = [name for name in names if name not in fields]
    if unknown:
        raise UsageProblem(
            f"--json has no field “{unknown[0]}”", hint=f"fields: {', '.join(fields)}"
        )
    return names or tuple(fields)


def summary_object(summary: Summary, fields: Iterable[str] = FIELDS) -> dict[str, object]:
    """Return the JSON object of a conversation."""
    return {name: FIELDS[name](summary) for name in fields}


def fact_sheet_fields() -> tuple[str, ...]:
    """Return the fields of ``show --json``."""
    return (*FIELDS, "segments", "branches", "delegates", "recap")


def fact_sheet_object(facts: Facts, tail: Tail | None) -> dict[str, object]:
    """Return the JSON object of a fact sheet; the recap is null if it cannot be read."""
    return {
        **summary_object(facts.summary),
        "segments": [row._asdict() for row in facts.summary.sessions],
        "branches": [branch.id for branch in facts.branches],
        "delegates": [delegate.id for delegate in facts.delegates],
        "recap": None if tail is None else [entry._asdict() for entry in tail.recap.entries],
    }


def message_object(message: Message) -> dict[str, object]:
    """Return the JSON object of a message; content is text, as a person reads it."""
    return {
        "id": message.id,
        "session_id": message.session_id,
        "role": message.role,
        "content": plain_text(message.content),
        "timestamp": message.timestamp,
        "timestamp_iso": None if message.timestamp is None else local_iso(message.timestamp),
        "tool_name": message.tool_name,
        "tool_call_id": message.tool_call_id,
        "tool_calls": [call._asdict() for call in tool_calls(message.tool_calls)],
        "archived": message.archived,
        "active": message.active,
        "display_kind": message.display_kind,
    }


def to_json(value: object) -> str:
    """Write one JSON value and a line feed; what is not valid Unicode is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=str)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"
