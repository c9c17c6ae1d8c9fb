"""A strict reader of exported pages: what is in them, and what a message of them says."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

VOID = frozenset({"br", "hr", "input", "link", "meta", "path"})
CHROME = frozenset({"anchor", "line", "state", "extent", "label"})
"""Classes of what the page says about a message, beside the message."""


class Element:
    """An element of the page with its attributes and content."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.content: list[Element | str] = []

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(self.attributes.get("class", "").split())

    @property
    def id(self) -> str:
        return self.attributes.get("id", "")

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.content)

    def walk(self) -> Iterator[Element]:
        """Yield it and everything in it, in the order of the page."""
        yield self
        for part in self.content:
            if isinstance(part, Element):
                yield from part.walk()

    def all(self, tag: str = "", name: str = "") -> list[Element]:
        """Return the elements in it of a tag or with a class."""
        return [e for e in self.walk() if (not tag or e.tag == tag) and name in {"", *e.classes}]

    def one(self, tag: str = "", name: str = "") -> Element:
        """Return the only one."""
        (found,) = self.all(tag, name)
        return found


class _Parser(HTMLParser):
    """Builds the tree; every element must be closed, in its order, by the writer."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "path", tag  # in the icons
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def read_page(text: str) -> Element:
    """Parse a page; badly formed ones fail."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root]
    return parser.root


class Said(NamedTuple):
    """A message of a page: its id and what it says."""

    id: int
    text: str


def messages_of(page: Element) -> list[Said]:
    """Return the messages of a page in order, with what a reader sees and the targets of links."""
    return [
        Said(int(element.id[1:]), _said(element))
        for element in page.walk()
        if re.fullmatch(r"m\d+", element.id)
    ]


def _said(element: Element) -> str:
    parts: list[str] = []
    number = int(element.attributes.get("start", "1"))
    for part in element.content:
        if isinstance(part, str):
            parts.append(part)
        elif not _is_chrome(part, element):
            if element.tag == "ol":
                parts.append(f"{number}. ")
                number += 1
            parts.append(_said(part))
            target = part.attributes.get("href", "")
            if target and target.removeprefix("mailto:") != part.text:
                parts.append(f"({target})")
    return "".join(parts)


def _is_chrome(part: Element, inside: Element) -> bool:
    """Tell what is beside the message: links, labels, and a result, which is a message itself."""
    is_label = part.tag == "summary" and bool(inside.classes & {"aside", "more"})
    return is_label or bool(part.classes & CHROME) or part.id.startswith("m")
