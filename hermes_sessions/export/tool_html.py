"""Tool calls as HTML: one line each, arguments and result folded behind it.

Both are JSON as a rule, and JSON puts what a person wants to read (a command's output, a patch, a
file) on one line with its line breaks escaped. So the fields of an object are shown one by one:
text as text, anything else as pretty-printed JSON.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.content import plain_text
from hermes_sessions.export.escaping import safe, without_media
from hermes_sessions.text import clip, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_sessions.export.code_html import CodeHtml
    from hermes_sessions.export.turns import Call
    from hermes_sessions.models import Message

_NOTHING: Final = '<p class="none">(no output)</p>'
_LINE: Final = 140
_INLINE: Final = 100
_MOST_PARSED: Final = 1_000_000
_TELLING: Final = ("command", "code", "path", "file_path", "query", "pattern", "url", "goal",
                   "prompt", "name", "text", "message", "action", "patch")  # fmt: skip
"""Arguments that say best what a call is about, best first."""

_PATHS: Final = ("path", "file_path", "filename", "file")
_CODE: Final = frozenset({"content", "new_string", "old_string", "new_text", "old_text"})
_LANGUAGES: Final = {"command": "Bash", "code": "Python", "patch": "Diff", "diff": "Diff"}
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def call_html(call: Call, code: CodeHtml, link: str) -> str:
    """Return a call with its result, folded.

    Args:
        call: the call.
        code: writes code.
        link: the link to the result's row, or "".
    """
    arguments = without_media(call.arguments)
    output = "" if call.result is None else result_text(call.result)
    body = _json_html(arguments, code)
    parts = [f'<div class="arguments">{body}</div>' if body else ""]
    if call.result is not None:
        name = call.result.tool_name or ""
        other = f'<span class="label">{safe(one_line(name))}</span>' if name != call.name else ""
        parts.append(
            f'<div class="result" id="m{call.result.id}">{link}{other}'
            f"{_json_html(output, code) or _NOTHING}</div>"
        )
    state = _state(_value_of(output)) if call.result is not None else "no result"
    return _details(call.name, _one_line_of(_value_of(arguments)), state, "".join(parts))


def lone_result_html(message: Message, code: CodeHtml) -> str:
    """Return the result of a call that is not there, folded."""
    output = result_text(message)
    body = _json_html(output, code) or _NOTHING
    line = clip(one_line(output[:1000]), _LINE)
    return _details(message.tool_name or "tool", line, _state(_value_of(output)), body)


def unreadable_calls_html(stored: object, code: CodeHtml) -> str:
    """Return a cell of tool calls that cannot be read as such, folded; "" for an empty one."""
    text = stored.decode("utf-8", "replace") if isinstance(stored, bytes) else str(stored or "")
    if text.strip() in {"", "[]", "null", "{}"}:
        return ""
    return _details(
        "tool calls", clip(one_line(text[:1000]), _LINE), "unreadable", code.folded(text)
    )


def result_text(message: Message) -> str:
    """Return what a tool said."""
    return without_media(plain_text(message.content))


def _details(name: str, line: str, state: str, body: str) -> str:
    shown = f'<code class="line">{safe(line)}</code>' if line else ""
    mark = f'<span class="state">{safe(state)}</span>' if state else ""
    return (
        f'<details class="call"><summary><b class="name">{safe(one_line(name))}</b>{shown}{mark}'
        f'</summary><div class="body">{body}</div></details>\n'
    )


def _value_of(text: str) -> object:
    """Return the object or array that text is in JSON, else the text."""
    if text.lstrip()[:1] in {"{", "["} and len(text) <= _MOST_PARSED:
        try:
            return json.loads(text, object_pairs_hook=_fields)
        except (ValueError, RecursionError):
            return text
    return text


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object of its fields, none of which may be lost."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name stands twice")
    return fields


def _one_line_of(arguments: object) -> str:
    """Say in one line what a call is about."""
    if not isinstance(arguments, dict):
        return clip(one_line(str(arguments)[:1000]), _LINE)
    texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
    patched = _PATCHED.findall(texts.get("patch", ""))
    if patched:
        return clip(one_line(", ".join(patched)), _LINE)
    known = [texts[key] for key in _TELLING if texts.get(key, "").strip()]
    line = known[0] if known else next(filter(str.strip, texts.values()), "")
    first, _, more = line.strip()[:1000].partition("\n")
    return clip(one_line(first), _LINE) + (" …" if more else "")


def _state(result: object) -> str:
    """Name the failure that a result reports, or ""."""
    if not isinstance(result, dict):
        return ""
    code = result.get("exit_code")
    if isinstance(code, int) and code:
        return f"exit {code}"
    return "failed" if result.get("error") or result.get("success") is False else ""


def _json_html(text: str, code: CodeHtml) -> str:
    """Return text that is JSON as a rule; "" for blank text."""
    try:
        return _value_html(_value_of(text), code)
    except RecursionError:  # nested deeper than anybody means
        return code.folded(text)


def _value_html(value: object, code: CodeHtml) -> str:
    if isinstance(value, dict):
        language = next(
            (code.language_of(path) for key in _PATHS if isinstance(path := value.get(key), str)),
            "",
        )
        rows = "".join(
            f"<dt>{safe(one_line(str(key)))}</dt><dd>{_field(value, str(key), language, code)}</dd>"
            for key in value
        )
        return f"<dl>{rows}</dl>" if rows else ""
    if isinstance(value, str):
        return code.folded(value) if value.strip() else ""
    return code.folded(_pretty(value), "JSON")


def _field(fields: Mapping[str, object], key: str, language_of_file: str, code: CodeHtml) -> str:
    value = fields[key]
    if isinstance(value, str):
        language = language_of_file if key in _CODE else _LANGUAGES.get(key, "")
        if len(value) > _INLINE or "\n" in value or (language and value):
            return code.folded(value, language)
        return f'<span dir="auto">{safe(value)}</span>' if value else '<span class="m">""</span>'
    compact = json.dumps(value, ensure_ascii=False)
    if len(compact) <= _INLINE:
        return f'<span class="m">{safe(compact)}</span>'
    return code.folded(_pretty(value), "JSON")


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
