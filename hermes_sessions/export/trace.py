"""A conversation as a Claude Code transcript: what viewers of such traces read."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from hermes_sessions.content import plain_text
from hermes_sessions.json_lines import to_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.export.documents import Document
    from hermes_sessions.models import Message

_NAMESPACE: Final = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")


def trace_lines(document: Document) -> Iterator[bytes]:
    """Yield a line for each message; identifiers are the same at each export."""
    summary = document.summary
    parent: str | None = None
    for message in document.messages:
        content = _content(message)
        if not content:
            continue
        identifier = str(uuid.uuid5(_NAMESPACE, f"hermes:{message.session_id}:{message.id}"))
        role = "assistant" if message.role == "assistant" else "user"
        said: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            model = next((row.model for row in reversed(summary.sessions) if row.model), None)
            said |= {"type": "message", "model": model, "id": f"msg_{message.id}"}
        yield (
            to_line(
                {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "userType": "external",
                    "cwd": next((row.cwd for row in reversed(summary.sessions) if row.cwd), None),
                    "sessionId": summary.id,
                    "version": "hermes",
                    "type": role,
                    "message": said,
                    "uuid": identifier,
                    "timestamp": _iso(message.timestamp),
                }
            )
            + b"\n"
        )
        parent = identifier


def _content(message: Message) -> list[dict[str, Any]]:
    text = plain_text(message.content)
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": text}]
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return content + [_tool_use(call) for call in _stored_calls(message.tool_calls)]


def _stored_calls(stored: object) -> list[dict[str, Any]]:
    try:
        calls = json.loads(stored) if isinstance(stored, str) and stored else []
    except ValueError:
        return []
    calls = calls if isinstance(calls, list) else [calls]
    return [call for call in calls if isinstance(call, dict)]


def _tool_use(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    arguments = function.get("arguments")
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        value = {"arguments": arguments}
    return {
        "type": "tool_use",
        "id": str(call.get("id") or ""),
        "name": str(function.get("name") or "tool"),
        "input": value if isinstance(value, dict) else {"arguments": value},
    }


def _iso(instant: float | None) -> str | None:
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds")
