"""Transcripts of Claude Code and Codex CLI as sessions of ours.

What was said, the tool calls and their results, and the times are taken over; side chains, notices
and what the program itself put into the mouth of the user are left out. The id is made of the
other program's own, so that the same transcript is imported once. ``origin_json`` says where it is
from, as Hermes records it (0.22.2, ``import_foreign_history``).
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.errors import UserError
from hermes_sessions.json_lines import to_line
from hermes_sessions.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TITLE: Final = 60


class Chat(NamedTuple):
    """What was read of a transcript.

    Attributes:
        foreign_id: the other program's id of it, or None.
        messages: as in a backup.
    """

    foreign_id: str | None
    cwd: str | None
    branch: str | None
    model: str | None
    messages: list[dict[str, Any]]


class Tool(NamedTuple):
    """A program whose transcripts are read."""

    source: str
    name: str
    read: Callable[[Iterator[dict[str, Any]]], Chat]


def as_backup(path: Path, tool_name: str, target: IO[bytes]) -> None:
    """Write a transcript as the line of a backup.

    Raises:
        UserError: it cannot be read, or nothing was said in it.
    """
    tool = _TOOLS[tool_name]
    try:
        with path.open("rb") as file:
            chat = tool.read(_objects(file))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if not chat.messages:
        raise UserError(
            f"{path} is no transcript of {tool.name}, or nothing was said in it",
            hint="Claude Code keeps them in ~/.claude/projects, Codex in ~/.codex/sessions",
        )
    times = [m["timestamp"] for m in chat.messages if m["timestamp"] is not None]
    started = min(times, default=0.0)
    foreign = chat.foreign_id or str(path.resolve())
    digest = hashlib.sha256(f"{tool.source}:{foreign}".encode()).hexdigest()[:12]
    first = next((m["content"] for m in chat.messages if m["role"] == "user"), "")
    origin = {
        "tool": tool.source,
        "path": str(path.resolve()),
        "foreign_session_id": chat.foreign_id,
    }
    record = {
        "schema_version": 1,
        "id": f"{datetime.fromtimestamp(started, UTC):%Y%m%d_%H%M%S}_{digest}",
        "source": tool.source,
        "title": clip(f"Imported from {tool.name}: {clip(one_line(str(first)), _TITLE)}", 100),
        "model": chat.model,
        "cwd": chat.cwd,
        "git_branch": chat.branch,
        "started_at": started,
        "ended_at": max(times, default=started),
        "end_reason": "cli_close",
        "origin_json": json.dumps({"imported_from": origin}),
        "message_count": len(chat.messages),
        "tool_call_count": sum(len(m.get("tool_calls") or ()) for m in chat.messages),
        "messages": chat.messages,
    }
    target.write(to_line(record) + b"\n")
    target.flush()


def _objects(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; a last line that was cut off is passed over."""
    for line in file:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


# --- Claude Code -------------------------------------------------------------------------------


def _read_claude(entries: Iterator[dict[str, Any]]) -> Chat:
    chat = Chat(None, None, None, None, [])
    names: dict[str, str] = {}
    seen: dict[str, dict[str, Any]] = {}
    for entry in entries:
        message = entry.get("message")
        if entry.get("isSidechain") or entry.get("isMeta") or not isinstance(message, dict):
            continue
        if entry.get("type") not in {"user", "assistant"}:
            continue
        chat = chat._replace(
            foreign_id=chat.foreign_id or _text_or_none(entry.get("sessionId")),
            cwd=chat.cwd or _text_or_none(entry.get("cwd")),
            branch=chat.branch or _text_or_none(entry.get("gitBranch")),
            model=_text_or_none(message.get("model")) or chat.model,
        )
        at = _time(entry.get("timestamp"))
        if entry["type"] == "user":
            chat.messages.extend(_claude_user(message.get("content"), at, names))
            continue
        said = _claude_assistant(message.get("content"), at, names)
        identifier = _text_or_none(message.get("id"))
        before = seen.get(identifier) if identifier else None
        if before is not None and before is chat.messages[-1]:
            _join(before, said)  # one answer, a line for each of its parts
        elif said["content"] or said.get("tool_calls") or said.get("reasoning"):
            chat.messages.append(said)
            if identifier:
                seen[identifier] = said
    return chat


def _claude_user(content: object, at: float | None, names: dict[str, str]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        text = _typed(content)
        return [_message("user", text, at)] if text else []
    messages = []
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_result":
            call_id = str(part.get("tool_use_id") or "")
            messages.append(
                _message(
                    "tool",
                    _text_of(part.get("content")),
                    at,
                    tool_call_id=call_id,
                    tool_name=names.get(call_id, "tool"),
                )
            )
        elif text := _typed(_text_of([part])):
            messages.append(_message("user", text, at))
    return messages


def _claude_assistant(content: object, at: float | None, names: dict[str, str]) -> dict[str, Any]:
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    said = _message("assistant", _text_of(content), at)
    thoughts = [str(p.get("thinking")) for p in parts if p.get("type") == "thinking"]
    if thoughts:
        said["reasoning"] = "\n\n".join(thoughts)
    calls = []
    for part in parts:
        if part.get("type") == "tool_use":
            call_id, name = str(part.get("id") or ""), str(part.get("name") or "tool")
            names[call_id] = name
            calls.append(_call(call_id, name, json.dumps(part.get("input"), ensure_ascii=False)))
    if calls:
        said["tool_calls"] = calls
    return said


def _join(before: dict[str, Any], said: dict[str, Any]) -> None:
    for name in ("content", "reasoning"):
        if said.get(name):
            before[name] = "\n\n".join(filter(None, (before.get(name), said[name])))
    if said.get("tool_calls"):
        before["tool_calls"] = [*before.get("tool_calls", ()), *said["tool_calls"]]


# --- Codex CLI ---------------------------------------------------------------------------------


def _read_codex(entries: Iterator[dict[str, Any]]) -> Chat:
    chat = Chat(None, None, None, None, [])
    names: dict[str, str] = {}
    for entry in entries:
        payload = entry.get("payload")
        payload = payload if isinstance(payload, dict) else entry
        kind = entry.get("type")
        if kind == "session_meta":
            git = payload.get("git")
            chat = chat._replace(
                foreign_id=_text_or_none(payload.get("id")),
                cwd=_text_or_none(payload.get("cwd")),
                branch=_text_or_none(git.get("branch")) if isinstance(git, dict) else None,
            )
        elif kind == "turn_context":
            chat = chat._replace(model=_text_or_none(payload.get("model")) or chat.model)
        elif kind in {"response_item", "message", "function_call", "function_call_output"}:
            _codex_item(payload, _time(entry.get("timestamp")), chat.messages, names)
    return chat


def _codex_item(
    item: dict[str, Any], at: float | None, messages: list[dict[str, Any]], names: dict[str, str]
) -> None:
    kind = item.get("type")
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind == "message" and item.get("role") in {"user", "assistant"}:
        text = _text_of(item.get("content"))
        text = _typed(text) if item["role"] == "user" else text
        if text:
            messages.append(_message(item["role"], text, at))
    elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
        name = str(item.get("name") or "shell")
        names[call_id] = name
        arguments = item.get("arguments") or item.get("input") or item.get("action")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        said = _message("assistant", "", at)
        said["tool_calls"] = [_call(call_id, name, text)]
        messages.append(said)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        output = item.get("output")
        if isinstance(output, dict):
            output = output.get("content") or output.get("output")
        messages.append(
            _message(
                "tool",
                _text_of(output),
                at,
                tool_call_id=call_id,
                tool_name=names.get(call_id, "tool"),
            )
        )


# --- Both --------------------------------------------------------------------------------------


def _message(role: str, text: str, at: float | None, **more: str) -> dict[str, Any]:
    return {"role": role, "content": text, "timestamp": at, **more}


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _text_of(content: object) -> str:
    """Return the text of a content; pictures as ``[image]``."""
    if isinstance(content, str):
        return content
    texts = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = str(part.get("type", ""))
            if isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif "image" in kind:
                texts.append("[image]")
    return "\n\n".join(texts)


_WRAPPERS: Final = (
    "environment_context",
    "user_instructions",
    "system-reminder",
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
    "local-command-caveat",
    "INSTRUCTIONS",
)
"""Tags around what was put into the mouth of the user."""


def _typed(text: str) -> str:
    """Return what a person typed, without what the program wrapped in tags of its own."""
    for tag in _WRAPPERS:
        while f"<{tag}>" in text:
            before, _, rest = text.partition(f"<{tag}>")
            text = before + rest.partition(f"</{tag}>")[2]
    return text.strip()


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _time(value: object) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_TOOLS: Final = {
    "claude": Tool("claude-code", "Claude Code", _read_claude),
    "codex": Tool("codex-cli", "Codex CLI", _read_codex),
}
