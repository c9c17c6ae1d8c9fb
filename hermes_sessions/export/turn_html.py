"""Turns as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.export.code_html import CodeHtml  # noqa: TC001 - a named tuple's field
from hermes_sessions.export.escaping import safe
from hermes_sessions.export.markdown_html import MarkdownHtml  # noqa: TC001
from hermes_sessions.export.pieces import Piece, PieceKind, pieces
from hermes_sessions.export.tool_html import call_html, lone_result_html, unreadable_calls_html
from hermes_sessions.export.turns import EVENT, HERMES, SUMMARY, YOU
from hermes_sessions.text import one_line, plural
from hermes_sessions.times import local_iso

if TYPE_CHECKING:
    from hermes_sessions.export.turns import Step, Turn
    from hermes_sessions.models import Message

_SPEAKERS: Final = {YOU: "You", HERMES: "Hermes", SUMMARY: "Summary", "system": "System"}
_KINDS: Final = frozenset({YOU, HERMES, EVENT, SUMMARY})


class TurnHtml(NamedTuple):
    """Writes turns."""

    markdown: MarkdownHtml
    code: CodeHtml

    def turn(self, turn: Turn) -> str:
        """Return a turn as a section."""
        speaker = turn.speaker
        name = _SPEAKERS.get(speaker) or one_line(speaker) or "?"
        if speaker == EVENT:
            name = one_line((turn.first.display_kind or "").replace("_", " "))
        kind = speaker if speaker in _KINDS else "other"
        archived = '<span class="tag">archived</span>' if turn.first.archived else ""
        steps = "".join(map(self._step, turn.steps))
        return (
            f'<section class="turn {kind}"><header><b class="who">{safe(name)}</b>'
            f"{time_html(turn.first.timestamp)}{archived}</header>{steps}</section>\n"
        )

    def _step(self, step: Step) -> str:
        message = step.message
        if message.role == "tool" and message.display_kind is None:
            body = lone_result_html(message, self.code)
        else:
            body = "".join(self._piece(message.role, piece) for piece in pieces(message))
            body += self._calls(step)
        body = body or '<p class="none">(empty)</p>'
        return f'<div class="message" id="m{message.id}">{link_html(message)}{body}</div>\n'

    def _calls(self, step: Step) -> str:
        if not step.calls:
            return unreadable_calls_html(step.message.tool_calls, self.code)
        return "".join(
            call_html(call, self.code, link_html(call.result) if call.result else "")
            for call in step.calls
        )

    def _piece(self, role: str, piece: Piece) -> str:
        if piece.kind is PieceKind.ATTACHMENT:
            return f'<p><span class="attachment">{safe(piece.text)}</span></p>'
        text = self.markdown.render(piece.text, typed=role == YOU)
        if piece.kind is PieceKind.TEXT:
            return f'<div class="text">{text}</div>'
        label = {
            PieceKind.REASONING: "Reasoning",
            PieceKind.ADDED: "Added by Hermes",
            PieceKind.SUMMARY: "What was said before",
        }[piece.kind]
        extent = plural(len(piece.text.split()), "word")
        return (
            f'<details class="aside"><summary>{label} <span class="extent">{extent}</span>'
            f'</summary><div class="text">{text}</div></details>'
        )


def link_html(message: Message) -> str:
    """Return the link to a message that shows when a reader points at it."""
    return (
        f'<a class="anchor" href="#m{message.id}">{time_html(message.timestamp)} #{message.id}</a>'
    )


def time_html(instant: float | None) -> str:
    """Write an instant as the hour and minute, all of it on pointing; "" if it is unknown."""
    if instant is None:
        return ""
    iso = local_iso(instant)
    full = f"{iso[:10]} {iso[11:19]} {iso[19:]}"
    return f'<time datetime="{iso}" title="{full}">{iso[11:16]}</time>'
