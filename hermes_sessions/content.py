"""What a stored ``messages`` row says: text, pictures and tool calls, whatever its shape.

Hermes stores plain text as it is and anything structured as a NUL byte, ``json:`` and JSON
(``hermes_state_messages``, every release). Any cell can hold something else in an old or damaged
store, so every function here is total.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

JSON_PREFIX: Final = "\x00json:"

_LEGACY_SUMMARY: Final = "[CONTEXT SUMMARY]:"
_SUMMARY: Final = "[CONTEXT COMPACTION"
_PRIOR_CONTEXT: Final = "[PRIOR CONTEXT"
_SUMMARY_BELOW: Final = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"
_SUMMARY_END: Final = "--- END OF CONTEXT SUMMARY"
_SKILL: Final = '[IMPORTANT: The user has invoked the "'
_SKILL_INSTRUCTION: Final = "instruction alongside the skill invocation: "
_SKILL_BUNDLE_INSTRUCTION: Final = "\nUser instruction: "


class RawText(NamedTuple):
    """Text of a store that is not UTF-8: its bytes, where they must stay as they are."""

    data: bytes


class ToolCall(NamedTuple):
    """One call of a tool: its name and its arguments as the model wrote them (JSON text)."""

    name: str
    arguments: str


def decode(stored: object) -> object:
    """Return the value a ``content`` cell stands for: text, a list of parts, a dict, or None.

    A cell that does not decode is returned as text.
    """
    if isinstance(stored, bytes):
        stored = stored.decode("utf-8", "replace")
    if isinstance(stored, str) and stored.startswith(JSON_PREFIX):
        try:
            return json.loads(stored[len(JSON_PREFIX) :])
        except (ValueError, RecursionError):
            return stored[len(JSON_PREFIX) :]
    return stored


def plain_text(stored: object) -> str:
    """Return what a person reads of a ``content`` cell; pictures and files as ``[image]``."""
    try:
        return _text_of(decode(stored))
    except RecursionError:  # nested deeper than anybody means
        text = stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored)
        return text.removeprefix(JSON_PREFIX)


def _text_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(_text_of, value)))
    if isinstance(value, dict):
        return _text_of_part(value)
    return str(value)


def _text_of_part(part: dict[str, object]) -> str:
    kind = str(part.get("type", ""))
    for key in ("text", "content", "input_text", "output_text"):
        if isinstance(part.get(key), (str, list)):
            return _text_of(part[key])
    if "image" in kind or "image_url" in part:
        return "[image]"
    if "audio" in kind:
        return "[audio]"
    if "file" in kind or "document" in kind:
        return "[file]"
    return json.dumps(part, ensure_ascii=False)


def tool_calls(stored: object) -> tuple[ToolCall, ...]:
    """Return the calls in a ``tool_calls`` cell; none for a cell that does not decode."""
    try:
        return tuple(map(_tool_call, _call_entries(stored)))
    except RecursionError:
        return ()


def tool_call_ids(stored: object) -> tuple[str | None, ...]:
    """Return the ids of the calls in a cell, for each of ``tool_calls`` one; None if it has none.

    The row with a call's result names it (``tool_call_id``).
    """
    ids = (entry.get("id") or entry.get("call_id") for entry in _call_entries(stored))
    return tuple(str(i) if i else None for i in ids)


def _call_entries(stored: object) -> list[dict[str, object]]:
    if isinstance(stored, bytes):
        stored = stored.decode("utf-8", "replace")
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except (ValueError, RecursionError):
            return []
    entries = stored if isinstance(stored, list) else [stored]
    return [entry for entry in entries if isinstance(entry, dict)]


def _tool_call(entry: dict[str, object]) -> ToolCall:
    function = entry.get("function")
    source = function if isinstance(function, dict) else entry
    arguments = source.get("arguments", "")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(source.get("name") or "tool"), arguments)


def code_blocks(text: str) -> list[str]:
    """Return the contents of the fenced code blocks in Markdown text, in order.

    A fence closes with at least as many of the same characters (CommonMark); one that is never
    closed runs to the end.
    """
    blocks: list[str] = []
    lines: list[str] = []
    fence, indent = "", 0
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                blocks.append("".join(lines))
                fence = ""
            else:
                lines.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
        elif stripped.startswith(("```", "~~~")):
            mark = stripped[0]
            fence = mark * (len(stripped) - len(stripped.lstrip(mark)))
            indent, lines = len(line) - len(line.lstrip(" ")), []
            if mark == "`" and "`" in stripped.lstrip("`"):  # inline code, not a fence
                fence = ""
    return [*blocks, "".join(lines)] if fence else blocks


def as_typed(text: str) -> str:
    """Return what the person typed in a user turn, without what Hermes wrapped around it.

    A compaction summary alone gives "": nobody typed it. A turn carried along with a summary gives
    the turn; an expanded skill gives ``/name — instruction``. (``agent/context_compressor.py`` and
    ``agent/skill_commands.py`` of 0.22.2 write these forms.)
    """
    start = text.lstrip()
    if start.startswith((_LEGACY_SUMMARY, _SUMMARY)):
        _, marker, rest = text.partition(_SUMMARY_END)
        return rest.partition("\n")[2].strip() if marker else ""
    before, marker, after = text.partition(_SUMMARY_BELOW)
    if marker and after.lstrip().startswith((_LEGACY_SUMMARY, _SUMMARY)):
        before = before.strip()
        return before.partition("]")[2].strip() if before.startswith(_PRIOR_CONTEXT) else before
    if start.startswith(_SKILL):
        return _skill_as_typed(start)
    return text


def _skill_as_typed(text: str) -> str:
    name = text[len(_SKILL) :].partition('"')[0]
    label = name if name.startswith("/") else f"/{name}"
    for marker, end in (
        (_SKILL_BUNDLE_INSTRUCTION, "\n\n[Loaded as part of the "),
        (_SKILL_INSTRUCTION, "\n\n[Runtime note:"),
    ):
        _, found, rest = text.rpartition(marker)
        instruction = rest.partition(end)[0].strip()
        if found and instruction:
            return f"{label} — {instruction}"
    return label


def json_escapes(text: str) -> list[str]:
    """Return how JSON in ASCII writes characters beyond it: ``u6570`` for each UTF-16 unit."""
    return json.dumps(text).strip('"').split("\\")[1:]
