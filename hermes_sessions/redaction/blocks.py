"""Secrets that go over several lines: private keys, PuTTY keys, Kubernetes secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.redaction.placeholders import is_placeholder
from hermes_sessions.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOUNDARY: Final = re.compile(r"-{4,5} ?(BEGIN|END) ([A-Z0-9 ]{0,60}?) ?-{4,5}")
_UNTERMINATED: Final = re.compile(
    r"(?:[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]{0,15}={1,2}|(?:Proc-Type|DEK-Info|Version|Comment)[^\n]{0,100}"
    r"|\s|\\[nr]|\d{1,5}[|:]|[\"'+>|#*]|-(?!-))*+[A-Za-z0-9+/=]*+"
)
_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
_PUTTY: Final = re.compile(
    r"Private-Lines: \d{1,4}(?:\s|\\r|\\n)*+((?:[A-Za-z0-9+/=]+(?:\s|\\r|\\n|$)+){1,400})"
    r"(?:Private-MAC: ([0-9a-fA-F]+))?"
)
_KUBERNETES_HINT: Final = re.compile(r"kind:[ \t]*[\"']?secret")
_KUBERNETES: Final = re.compile(r"(?im)^[ \t]*-?[ \t]*kind:[ \t]*[\"']?secret[\"']?[ \t]*\r?$")
_DATA: Final = re.compile(r"^([ \t]*)(?:stringData|data):[ \t]*\r?$", re.MULTILINE)
_LINE: Final = re.compile(r"([ \t]*)([^\r\n]*)\r?(?:\n|\Z)")
_ENTRY: Final = re.compile(r"[\w./\"'-]+:[ \t]*(\S.*)")
_LONGEST: Final = 65_536


def find(text: str, lower: str) -> Iterator[Span]:
    """Find secrets of several lines; ``lower`` is the text in lower case."""
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield Span(*match.span(1), "private key")
            if match[2]:
                yield Span(*match.span(2), "private key")
    if _KUBERNETES_HINT.search(lower):
        yield from _kubernetes(text)


def _private_keys(text: str) -> Iterator[Span]:
    boundaries = list(_BOUNDARY.finditer(text))
    for at, begin in enumerate(boundaries):
        if "PRIVATE KEY" not in begin[2]:
            continue
        if begin[1] == "END":
            before = boundaries[at - 1] if at else None
            if before is None or before[1] == "END":
                yield from _tail_of_key(text, before.end() if before else 0, begin)
            continue
        end = boundaries[at + 1] if at + 1 < len(boundaries) else None
        is_closed = end is not None and end[1] == "END" and end.end() - begin.start() < _LONGEST
        if end is not None and is_closed and _is_key(text[begin.end() : end.start()]):
            yield Span(begin.start(), end.end(), "private key")
            continue
        limit = min(len(text), begin.end() + _LONGEST, end.start() if end else len(text))
        rest = _UNTERMINATED.match(text, begin.end(), limit)
        if rest and _RUN.search(rest[0]):
            yield Span(begin.start(), rest.end(), "private key")


def _tail_of_key(text: str, earliest: int, end: re.Match[str]) -> Iterator[Span]:
    """Find the lines of base64 before the end of a key whose beginning was cut off."""
    start = end.start()
    before = text[max(earliest, start - _LONGEST) : start]
    for line in reversed(re.split(r"(?<=\n)|(?<=\\n)", before)):
        content = re.sub(r"\\[nr]", "", line).strip(" \t\r\n\"'>|#*+,")
        if not re.fullmatch(r"[A-Za-z0-9+/=]*", content):
            break
        start -= len(line)
    if _RUN.search(text, start, end.start()):
        yield Span(start, end.end(), "private key")


def _is_key(body: str) -> bool:
    """Tell whether most of what stands between the lines is base64."""
    letters = re.sub(r"\\[nr]|[^A-Za-z0-9+/=]", "", body)
    runs = sum(map(len, _RUN.findall(re.sub(r"\\[nr]", "\n", body))))
    return runs > 0 and runs * 2 >= len(letters)


def _kubernetes(text: str) -> Iterator[Span]:
    """Find every value under ``data:`` in the YAML documents that are secrets."""
    position = 0
    for document in re.split(r"(?m)(?<=\n)(?=---)", text):
        if _KUBERNETES.search(document):
            for match in _DATA.finditer(document):
                yield from _entries(document, match.end() + 1, len(match[1]), position)
        position += len(document)


def _entries(document: str, start: int, indent: int, offset: int) -> Iterator[Span]:
    """Find the values of the lines from ``start`` that are indented further than ``indent``."""
    block: int | None = None
    for line in _LINE.finditer(document, start):
        depth = len(line[1])
        if not line[2]:
            continue
        if depth <= indent:
            return
        first = offset + line.start(2)
        entry = _ENTRY.match(line[2])
        if block is not None and depth > block:
            yield Span(first, first + len(line[2]), "kubernetes secret")
        elif entry and re.match(r"[|>]", entry[1]):
            block = depth
        else:
            block = None
            value = entry[1].strip().strip("\"'") if entry else ""
            if entry and not is_placeholder(value):
                first += entry.start(1) + entry[1].index(value)
                yield Span(first, first + len(value), "kubernetes secret")
