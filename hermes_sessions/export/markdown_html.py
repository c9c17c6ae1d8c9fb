"""Markdown of messages as HTML: a fixed set of elements, whatever the text holds.

markdown-it-py only parses. The tokens are written here, so what can get into a page is what this
module writes: no HTML of the message, no attribute of it but the target of a link that leads to
the web, to a mail address or into the page, and nothing that a reader's browser would load.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from hermes_sessions.export.escaping import safe
from hermes_sessions.text import neutralise, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

    from hermes_sessions.export.code_html import CodeHtml

_MOST_PARSED: Final = 50_000
"""Longer text is shown as it is: parsing takes quadratic time in some of it."""

_ELEMENTS: Final = {
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "em": "em",
    "list_item": "li",
    "ordered_list": "ol",
    "paragraph": "p",
    "s": "s",
    "strong": "strong",
    "tbody": "tbody",
    "td": "td",
    "th": "th",
    "thead": "thead",
    "tr": "tr",
}
_INLINE: Final = frozenset({"em", "s", "strong"})
_WITH_TEXT: Final = frozenset({"heading", "list_item", "paragraph", "td", "th"})
"""Elements that each find the direction of their own text (left or right)."""

_SAFE_TARGET: Final = re.compile(r"(?:https?://|mailto:|#)[^\s]", re.IGNORECASE)
_BARE_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`|，。、）」]{1,2000}", re.IGNORECASE)


class MarkdownHtml:
    """Writes Markdown as HTML.

    What a person typed is not always meant as Markdown (``__init__.py``, ``2*3*4``, ``C:\\.ssh``),
    so there the marks of emphasis and headings stay visible, and escapes and entities as they are.
    Link definitions are text everywhere: elsewhere they vanish from view.
    """

    def __init__(self, code: CodeHtml) -> None:
        self._code = code
        self._answers = _parser("reference")
        self._typed = _parser("reference", "escape", "entity", "lheading")

    def render(self, text: str, *, typed: bool = False) -> str:
        """Return a message's text as HTML blocks.

        Args:
            text: as stored.
            typed: a person wrote it, not a model.
        """
        if len(text) > _MOST_PARSED:
            return f'<pre class="wrap">{safe(text)}</pre>'
        parser = self._typed if typed else self._answers
        return self._tokens(parser.parse(neutralise(text)), typed=typed)

    def _tokens(self, tokens: Sequence[Token], *, typed: bool) -> str:
        parts: list[str] = []
        links: list[tuple[str, int]] = []
        for token in tokens:
            if token.type == "link_open":
                target = str(token.attrs.get("href", ""))
                parts.append("" if links else _link_open(target))
                links.append((target, len(parts)))
            elif token.type == "link_close":
                target, start = links.pop()
                shown = "".join(parts[start:])
                # An address in the text of a link is a link of its own to the parser.
                parts.append("" if links else _link_close(target, shown))
            elif token.type == "text":
                parts.append(safe(token.content) if links else _with_links(token.content))
            elif token.type == "image":
                parts.append(_image(token, linked=bool(links)))
            elif token.type == "inline":
                parts.append(self._tokens(token.children or (), typed=typed))
            else:
                parts.append(self._token(token, typed=typed))
        return "".join(parts)

    def _token(self, token: Token, *, typed: bool) -> str:
        name, _, end = token.type.rpartition("_")
        if end in {"open", "close"}:
            tag = _tag(token, name, closes=end == "close")
            return _with_mark(token, name, tag) if typed and not token.hidden else tag
        if token.type == "code_inline":
            return f"<code>{safe(token.content)}</code>"
        if token.type in {"fence", "code_block"}:
            return self._block(token)
        if token.type == "hr":
            return "<hr>\n"
        if token.type in {"softbreak", "hardbreak"}:
            return "<br>\n"
        return safe(token.content)

    def _block(self, token: Token) -> str:
        info = one_line(token.info)
        word = info.partition(" ")[0]
        label = f'<span class="language">{safe(info)}</span>' if info else ""
        code = self._code.block(token.content, self._code.language(word))
        return f'<div class="code">{label}{code}</div>\n'


def _parser(*without: str) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    parser.enable(["table", "strikethrough"]).disable(list(without))
    # Every target becomes a link token, so that the one check below decides about it.
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005
    return parser


def _with_mark(token: Token, name: str, tag: str) -> str:
    """Keep the mark of emphasis or of a heading visible."""
    if name in {"em", "strong", "s"}:
        return f"{safe(token.markup)}{tag}" if token.nesting < 0 else f"{tag}{safe(token.markup)}"
    if name == "heading" and token.nesting > 0:
        return f"{tag}{safe(token.markup)} "
    return tag


def _tag(token: Token, name: str, *, closes: bool) -> str:
    """Write the start or end of an element that has no data of the message but its text."""
    if token.hidden:
        return "\n" if closes else ""
    if name == "table":
        return "</table></div>\n" if closes else '<div class="table"><table>'
    # Headings rank below that of the conversation.
    element = f"h{min(6, int(token.tag[1]) + 2)}" if name == "heading" else _ELEMENTS.get(name, "")
    if not element:
        return ""
    if closes:
        return f"</{element}>" if name in _INLINE else f"</{element}>\n"
    return f"<{element}{_attributes(token, name)}>"


def _attributes(token: Token, name: str) -> str:
    direction = ' dir="auto"' if name in _WITH_TEXT else ""
    if name == "ordered_list" and "start" in token.attrs:
        return f' start="{int(token.attrs["start"])}"'
    side = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return f'{direction} class="{side}"' if side in {"right", "center"} else direction


def _link_open(target: str) -> str:
    if not _SAFE_TARGET.match(target):
        return ""
    if target.startswith("#"):
        return f'<a href="{safe(target)}">'
    return f'<a href="{safe(target)}" rel="noopener noreferrer nofollow">'


def _link_close(target: str, shown: str) -> str:
    """End a link; a target that is none here is named, so that nothing is lost."""
    name = "" if shown else safe(target)
    if _SAFE_TARGET.match(target):
        return f"{name}</a>"
    return f" ({safe(target)})" if shown and shown != safe(target) and target else name


def _image(token: Token, *, linked: bool) -> str:
    """Write a picture as a placeholder that links to it; a page never loads one."""
    name = one_line(token.content)
    label = safe(f"[image: {name}]" if name else "[image]")
    text = f'<span class="attachment">{label}</span>'
    target = str(token.attrs.get("src", ""))
    if linked or target == "[image]":
        return text
    return f"{_link_open(target)}{text}{_link_close(target, text)}"


def _with_links(text: str) -> str:
    """Write text, and web addresses in it as links."""
    parts = []
    done = 0
    for match in _BARE_ADDRESS.finditer(text):
        address = _without_punctuation(match[0])
        if _SAFE_TARGET.match(address):
            parts.append(safe(text[done : match.start()]))
            parts.append(f"{_link_open(address)}{safe(address)}</a>")
            done = match.start() + len(address)
    return "".join(parts) + safe(text[done:])


def _without_punctuation(address: str) -> str:
    """Leave out what ends the sentence or bracket that an address stands in."""
    while True:
        address = address.rstrip(".,;:!?*_~")
        opening = {")": "(", "]": "["}.get(address[-1:], "")
        if not opening or address.count(opening) >= address.count(address[-1]):
            return address
        address = address[:-1]
