"""Conversations as Markdown (md) and Quarto (qmd): one file each, for reading and for keeping."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hermes_sessions import __version__
from hermes_sessions.content import as_typed, plain_text, tool_calls
from hermes_sessions.export.markdown_safety import code_block, in_html, inline, quote
from hermes_sessions.text import clip, neutralise, one_line, plural, size
from hermes_sessions.times import local_iso, local_minute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_sessions.content import ToolCall
    from hermes_sessions.export.documents import Document
    from hermes_sessions.models import Message

VERIFICATION: Final = "## Export verification"
_SPEAKERS: Final = {"user": "You", "assistant": "Hermes", "system": "System"}
_SUMMARY: Final = 80


def markdown(document: Document, form: str, exported_at: float) -> bytes:
    """Return the file of a conversation.

    Args:
        document: what to write.
        form: ``md`` or ``qmd``.
        exported_at: epoch seconds.
    """
    data = bytearray(_encode(_front_matter(document, form, exported_at)))
    for piece in _body(document):
        data += _encode(f"\n\n{piece}")
    data += b"\n"
    data += _encode(f"\n{_verification(document, data, exported_at)}")
    return bytes(data)


def verify(data: bytes, document: Document) -> bool:
    """Tell whether a file is whole: its digest, its id and its number of messages."""
    body, mark, end = data.rpartition(_encode(f"\n{VERIFICATION}\n"))
    if not mark:
        return False
    lines = end.decode("utf-8", "replace").splitlines()
    return {
        f"- SHA-256 of all above: `{hashlib.sha256(body).hexdigest()}`",
        f"- session: `{_code(document.summary.id)}`",
        f"- messages: {len(document.messages)}",
    } <= set(lines)


def _front_matter(document: Document, form: str, exported_at: float) -> str:
    summary = document.summary
    ended = summary.tip.ended_at
    started = summary.root.started_at
    values: dict[str, object] = {
        "session_id": summary.id,
        "title": one_line(summary.name) or summary.id,
        "source": summary.conversation.source,
        "created_at": None if started is None else local_iso(started),
        "updated_at": None if summary.last_active is None else local_iso(summary.last_active),
        "ended_at": None if ended is None else local_iso(ended),
        "model": next((row.model for row in reversed(summary.sessions) if row.model), None),
        "provider": next(
            (row.billing_provider for row in reversed(summary.sessions) if row.billing_provider),
            None,
        ),
        "cwd": next((row.cwd for row in reversed(summary.sessions) if row.cwd), None),
        "archived": summary.conversation.away == "archived",
        "message_count": len(document.messages),
        "tool_call_count": sum(len(tool_calls(m.tool_calls)) for m in document.messages),
        "lineage_session_ids": list(summary.conversation.session_ids),
        "format": form,
        "exported_at": _utc(exported_at),
        "exporter": f"hermes-sessions {__version__}",
    }
    if form == "qmd":  # nothing in somebody's chat is to be run
        values |= {"engine": "markdown", "execute": {"enabled": False}}
    lines = [f"{name}: {_yaml(value)}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---"])


def _body(document: Document) -> Iterator[str]:
    summary = document.summary
    yield f"# {inline(neutralise(one_line(summary.name) or summary.id))}"
    facts = [f"`{_code(summary.id)}`", inline(one_line(summary.conversation.source))]
    if summary.workspace:
        facts.append(f"`{_code(one_line(summary.workspace))}`")
    facts.append(plural(len(document.messages), "message"))
    yield " · ".join(facts)
    yield "## Messages"
    segment = summary.sessions[0].id
    was_archived = False
    for message in document.messages:
        if message.session_id != segment:
            segment = message.session_id
            yield f"## Compression segment: `{_code(segment)}`"
        if was_archived and not message.archived:
            yield "*— up to here archived by compaction —*"
        was_archived = message.archived
        yield from _message(message)


def _message(message: Message) -> Iterator[str]:
    text = neutralise(plain_text(message.content)).strip("\n")
    if message.role == "tool":
        name = one_line(message.tool_name or "tool")
        about = f"{name} → {size(len(text.encode('utf-8', 'replace')))}"
        yield _folded(message.id, about, code_block(text))
        return
    yield f'### {_who(message)} <a id="m{message.id}"></a>'
    if text.strip():
        yield quote(text)
    for call in tool_calls(message.tool_calls):
        yield _call(call)


def _who(message: Message) -> str:
    who = _SPEAKERS.get(message.role, inline(one_line(message.role)))
    if _is_summary(message):
        who = "Summary of what was said before"
    elif message.display_kind:
        who = inline(one_line(message.display_kind.replace("_", " ")))
    when = "" if message.timestamp is None else f" — {local_minute(message.timestamp)}"
    return f"{who}{when}"


def _is_summary(message: Message) -> bool:
    text = plain_text(message.content)
    return message.role == "user" and bool(text.strip()) and not as_typed(text)


def _call(call: ToolCall) -> str:
    name = one_line(call.name) or "tool"
    about = f"{name} {clip(one_line(call.arguments), _SUMMARY)}".strip()
    try:
        arguments = json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2)
    except ValueError:
        arguments = call.arguments
    return _folded(None, about, code_block(neutralise(arguments), "json"))


def _folded(message_id: int | None, about: str, body: str) -> str:
    anchor = "" if message_id is None else f' id="m{message_id}"'
    return f"<details{anchor}><summary>{in_html(about)}</summary>\n\n{body}\n\n</details>"


def _verification(document: Document, body: bytes | bytearray, exported_at: float) -> str:
    return "\n".join(
        [
            VERIFICATION,
            "",
            f"- session: `{_code(document.summary.id)}`",
            f"- messages: {len(document.messages)}",
            f"- exported: {_utc(exported_at)}",
            f"- SHA-256 of all above: `{hashlib.sha256(body).hexdigest()}`",
            "",
        ]
    )


def _code(text: str) -> str:
    return neutralise(one_line(text)).replace("`", "'")


def _yaml(value: object) -> str:
    """JSON is YAML; what is no text of JSON cannot come in here."""
    text = json.dumps(value, ensure_ascii=False)
    return neutralise(text.replace("\u0085", "\\u0085"))


def _utc(instant: float) -> str:
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="seconds")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
