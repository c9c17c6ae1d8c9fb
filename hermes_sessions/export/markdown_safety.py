"""Text of others inside a Markdown document: it reads as it was meant, and cannot break out.

Each message stands in a block quote: headings, lists, fences and rules in it are inside the quote,
and a fence that is not closed ends with it. HTML outside of code is escaped, and so is what Quarto
would run or include.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE: Final = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)")
_CODE_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_EXECUTED: Final = re.compile(r"\{+\s*=?([\w.+-]*)[^}]*\}+")
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~$!])")


def quote(text: str) -> str:
    """Return text as a block quote that keeps its Markdown."""
    return "\n".join(f"> {line}".rstrip() for line in _safe_lines(text))


def code_block(text: str, language: str = "") -> str:
    """Return text as a fenced block that nothing in the text can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{_without_shortcodes(text.rstrip())}\n{fence}"


def inline(text: str) -> str:
    """Return text of one line as it is, with nothing in it that Markdown or HTML would read."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()).replace("&", "&amp;"))


def in_html(text: str) -> str:
    """Return text of one line for the inside of an HTML element."""
    escaped = html.escape(" ".join(text.split()))
    return re.sub(r"[`*_\[\]|~$\\{]", lambda match: f"&#{ord(match.group())};", escaped)


def _safe_lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            is_end = found and found[2].startswith(fence) and not found[3].strip()
            yield _without_shortcodes(line)
            if is_end:
                fence = ""
        elif found and not ("`" in found[3] and found[2].startswith("`")):
            fence = found[2]
            yield f"{found[1]}{found[2]}{_language(found[3])}"
        else:
            yield _without_shortcodes(_escape_outside_code(line))


def _language(info: str) -> str:
    """Return the language of a fence without what makes Quarto run it: ``{python}``."""
    info = info.strip()
    executed = _EXECUTED.match(info)
    if executed:
        return executed[1]
    return re.sub(r"[^\w.+# -]", "", info)


def _escape_outside_code(line: str) -> str:
    pieces, last = [], 0
    for span in _CODE_SPAN.finditer(line):
        pieces += [_escape(line[last : span.start()]), span.group()]
        last = span.end()
    return "".join([*pieces, _escape(line[last:])])


def _escape(text: str) -> str:
    return text.replace("<", "&lt;")


def _without_shortcodes(text: str) -> str:
    """Quarto includes files by ``{{< … >}}``, in code too; three braces are shown as two."""
    return re.sub(r"(?<!\{)\{\{(?=<|&lt;)", "{{{", text).replace(">}}", ">}}}")
