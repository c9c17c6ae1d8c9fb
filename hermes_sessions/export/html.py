"""Conversations as one web page that needs nothing else: no network, no server, no script.

The page is written piece by piece, conversation by conversation. What needs to know all of them,
the list of contents, comes last; the style sheet puts it at the side.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hermes_sessions import __version__
from hermes_sessions.export.code_html import CodeHtml
from hermes_sessions.export.conversation_html import (
    closing_html,
    contents_line,
    divider_html,
    opening_html,
)
from hermes_sessions.export.escaping import safe
from hermes_sessions.export.markdown_html import MarkdownHtml
from hermes_sessions.export.turn_html import TurnHtml
from hermes_sessions.export.turns import turns
from hermes_sessions.text import one_line, plural
from hermes_sessions.times import local_minute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_sessions.export.conversation_html import Contents
    from hermes_sessions.export.documents import Document
    from hermes_sessions.export.turns import Turn

_HERE: Final = Path(__file__).parent
_TURNS_OF_A_PART: Final = 40
"""So many turns make a box that a browser skips as one while it is out of view."""


def html_page(documents: Iterable[Document], *, title: str, exported_at: float) -> Iterator[str]:
    """Write conversations as a page, in the order given.

    Args:
        documents: each is taken, written and let go before the next.
        title: of the page.
        exported_at: epoch seconds, for the last line.

    Yields:
        Pieces of the page, about a turn each.
    """
    yield _head(title)
    code = CodeHtml()
    writer = TurnHtml(MarkdownHtml(code), code)
    contents: list[Contents] = []
    for document in documents:
        yield from _conversation(document, writer, contents)
    yield _foot(contents, exported_at)


def _conversation(document: Document, writer: TurnHtml, contents: list[Contents]) -> Iterator[str]:
    """Write one conversation, and note it for the list of contents."""
    messages = sum(message.display_kind != "hidden" for message in document.messages)
    contents.append(contents_line(document.summary, messages))
    yield opening_html(document.summary, messages, len(contents))
    before: Turn | None = None
    grouped = turns(document.messages)
    while part := tuple(islice(grouped, _TURNS_OF_A_PART)):
        yield '<div class="part">\n' if len(part) == _TURNS_OF_A_PART else "<div>\n"
        for turn in part:
            yield divider_html(before, turn) + writer.turn(turn)
            before = turn
        yield "</div>\n"
    if before is None:
        yield '<p class="none">(no messages)</p>\n'
    yield closing_html()


def _embedded(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the source expression by which a policy allows exactly this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def _head(title: str) -> str:
    style, script = _embedded("page.css"), _embedded("page.js")
    name = safe(one_line(title))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="generator" content="hermes-sessions {__version__}">
<title>{name}</title>
<style>{style}</style>
<script>{script}</script>
</head>
<body>
{_embedded("toolbar.html")}<main>
<h1 class="page" dir="auto">{name}</h1>
"""


def _foot(contents: Sequence[Contents], exported_at: float) -> str:
    messages = plural(sum(line.messages for line in contents), "message")
    said = messages
    if len(contents) != 1:
        said = f"{plural(len(contents), 'conversation')}, {messages}"
    footer = (
        f"<footer>{said}. Exported {local_minute(exported_at)} by hermes-sessions {__version__}."
        "</footer>\n</main>\n"
    )
    end = "</body>\n</html>\n"
    if len(contents) < 2:  # noqa: PLR2004 - one conversation needs no list
        return footer + end
    lines = "".join(
        f'<li><a href="#c{number}"><b dir="auto">{safe(line.title)}</b>'
        f"<span>{safe(line.started)}</span><span>{safe(line.source)}</span>"
        f"<span>{line.messages:,}</span></a></li>\n"
        for number, line in enumerate(contents, 1)
    )
    return f'{footer}<nav id="contents" aria-label="Conversations"><ol>\n{lines}</ol></nav>\n{end}'
