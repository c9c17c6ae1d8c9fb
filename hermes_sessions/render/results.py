"""Search results: lines for pipes, objects for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.render.data import message_object
from hermes_sessions.text import one_line
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hermes_sessions.store.search_page import Block, Shown


def block_object(block: Block) -> dict[str, object]:
    """Return the JSON object of a conversation in a result; ``id`` is what to resume."""
    summary = block.summary
    active = summary.last_active
    return {
        "id": summary.id,
        "source": summary.conversation.source,
        "title": summary.title,
        "preview": summary.preview,
        "workspace": summary.workspace,
        "last_active": active,
        "last_active_iso": None if active is None else local_iso(active),
        "title_match": block.by_title,
        "id_match": block.by_id,
        "hit_count": block.hits,
        "hits": [_hit_object(shown) for shown in block.shown],
    }


def _hit_object(shown: Shown) -> dict[str, object]:
    hit = shown.hit
    return {
        "message_id": hit.message_id,
        "session_id": hit.session_id,
        "role": hit.role,
        "timestamp": hit.timestamp,
        "timestamp_iso": None if hit.timestamp is None else local_iso(hit.timestamp),
        "archived": bool(hit.archived),
        "snippet": shown.snippet.text,
        "spans": [list(span) for span in shown.snippet.spans],
        "before": [message_object(message) for message in shown.before],
        "after": [message_object(message) for message in shown.after],
    }


def result_lines(blocks: Iterable[Block]) -> str:
    """Write a hit a line: id, message, role, time, snippet; a title or id that matches first."""
    return "".join(line for block in blocks for line in _lines(block))


def _lines(block: Block) -> Iterable[str]:
    summary = block.summary
    if block.by_title or block.by_id:
        kind = "title" if block.by_title else "id"
        yield "\t".join((summary.id, "", kind, "", one_line(summary.name))) + "\n"
    for shown in block.shown:
        hit = shown.hit
        at = "" if hit.timestamp is None else local_iso(hit.timestamp)
        cells = (summary.id, str(hit.message_id), one_line(hit.role), at, shown.snippet.text)
        yield "\t".join(cells) + "\n"
