"""``hermes-sessions __complete KIND CURRENT [-- WORDS…]``: what the shells ask at a TAB.

It prints ``value<TAB>description`` lines. A person waits for it at every key, so it imports as
little as it can; and whatever goes wrong, it prints nothing and succeeds, since an error would
land in the middle of the line that is being typed.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.text import clip, neutralise, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hermes_sessions.home import Home
    from hermes_sessions.store.completion import Offer, View
    from hermes_sessions.store.connect import Store

_MOST: Final = 200
_DESCRIPTION: Final = 60
_LARGE: Final = 50_000_000

_OPTIONS: Final = {
    "-p": "profile",
    "--profile": "profile",
    "--home": "home",
    "--db": "db",
    "--color": "color",
}
"""The global options with a value; they may stand anywhere."""

_VIEWS: Final[dict[str, View]] = {
    "unarchive": "archived",
    "unhide": "hidden",
    "unpin": "pinned",
}
"""Commands that undo a state can only mean conversations in that state."""

_KEYWORDS: Final = (
    ("latest", "the newest conversation, of this workspace if it has one"),
    ("-", "the conversation of this terminal"),
)


class Line(NamedTuple):
    """What the words before the cursor say.

    Attributes:
        command: the first word that is no option, or "".
        options: values of the global options; ``demo`` is "1" if it is set.
    """

    command: str
    options: dict[str, str]


class Candidate(NamedTuple):
    """A word that may stand at the cursor, and what it is."""

    value: str
    description: str = ""


def main(argv: Sequence[str]) -> int:
    """Print the candidates for ``__complete KIND CURRENT [-- WORDS…]``; always succeed."""
    with suppress(Exception):
        kind, current, words = argv[1], "".join(argv[2:3]), argv[4:]
        found = candidates(kind, current, read_line(words), os.environ, time.time())
        lines = list(_lines(found))
        sys.stdout.write("".join(lines[:_MOST]))
    return 0


def read_line(words: Sequence[str]) -> Line:
    """Find the command and the global options among the words before the cursor."""
    command = ""
    options: dict[str, str] = {}
    remaining = iter(words)
    for word in remaining:
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if name in _OPTIONS:
            options[_OPTIONS[name]] = value if equals else next(remaining, "")
        elif word == "--demo":
            options["demo"] = "1"
        elif word.startswith("-p"):
            options["profile"] = word[2:]
        elif not word.startswith("-"):
            command = command or word
    return Line(command, options)


def candidates(
    kind: str, current: str, line: Line, environ: Mapping[str, str], now: float
) -> Iterator[Candidate]:
    """Yield what may stand at the cursor; the caller deals with every error."""
    if kind == "field":
        yield from _fields(current, line.command)
    elif kind == "profile":
        yield from _profiles(current, line, environ)
    else:
        if kind == "ref":
            start = current.lower()
            yield from (Candidate(*word) for word in _KEYWORDS if word[0].startswith(start))
        yield from _stored(kind, current, line, environ, now)


def _lines(found: Iterator[Candidate]) -> Iterator[str]:
    """Write candidates; those that a shell or this encoding would garble are left out."""
    encoding = sys.stdout.encoding or "utf-8"
    seen = {""}
    for value, description in found:
        if value in seen or not _is_fit(value) or value != _encodable(value, encoding):
            continue
        seen.add(value)
        yield f"{value}\t{_encodable(clip(one_line(description), _DESCRIPTION), encoding)}\n"


def _is_fit(value: str) -> bool:
    """Tell whether a value can stand on a command line: one line, and not taken for an option."""
    is_option = value.startswith("-") and value != "-"
    return value == neutralise(value) and not {"\n", "\t"}.intersection(value) and not is_option


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "replace").decode(encoding)


def _select_home(line: Line, environ: Mapping[str, str], now: float) -> Home:
    options = line.options
    if "demo" in options:
        from hermes_sessions.demo import demo_home

        return demo_home(environ, now, options.get("profile"))
    from hermes_sessions.home import select_home

    return select_home(
        environ,
        profile=options.get("profile"),
        home=options.get("home"),
        store=options.get("db"),
    )


def _stored(
    kind: str, current: str, line: Line, environ: Mapping[str, str], now: float
) -> Iterator[Candidate]:
    """Yield candidates that stand in the store."""
    from hermes_sessions.store.completion import COLUMNS
    from hermes_sessions.store.connect import file_facts, open_store

    path = _select_home(line, environ, now).store
    facts = file_facts(path)
    if facts.is_crash_leftover and facts.size > _LARGE:
        return  # it would be copied for every TAB
    with open_store(path) as store:
        if kind in COLUMNS:
            yield from _values(store, kind, current)
        elif kind == "workspace":
            yield from _workspaces(store, current, environ)
        else:
            yield from _conversations(store, kind, current, line, now)


def _conversations(
    store: Store, kind: str, current: str, line: Line, now: float
) -> Iterator[Candidate]:
    """Yield ids, then titles; those out of view only if there are no others."""
    from hermes_sessions.store.completion import names_of, offer_ids, offer_titles
    from hermes_sessions.times import ago

    view = _VIEWS.get(line.command, "shown")
    by_id: list[Offer] = []
    by_title: list[Offer] = []
    for wanted in (view, "any") if current else (view,):
        if kind in {"ref", "session"}:
            by_id = offer_ids(store, current, wanted)
        if kind == "title" or (kind == "ref" and current):
            by_title = offer_titles(store, current, wanted)
        if by_id or by_title:
            break
    names = names_of(store, (offer.conversation for offer in by_id))
    for value, conversation in by_id:
        age = ago(conversation.active_at or None, now)
        yield Candidate(value, f"{age} · {names[conversation.id] or 'untitled'}")
    for value, conversation in by_title:
        yield Candidate(value, f"{ago(conversation.active_at or None, now)} · {conversation.id}")


def _values(store: Store, kind: str, current: str) -> Iterator[Candidate]:
    from hermes_sessions.store.completion import values_of
    from hermes_sessions.text import plural

    start = current.casefold()
    for value, number in values_of(store, kind):
        if value.casefold().startswith(start):
            yield Candidate(value, plural(number, "session"))


def _workspaces(store: Store, current: str, environ: Mapping[str, str]) -> Iterator[Candidate]:
    """Yield paths if a path is being typed, else the base names: both are understood."""
    from hermes_sessions.context import short_path
    from hermes_sessions.store.sessions import recorded_directories
    from hermes_sessions.workspace import base_name

    start = current.casefold()
    for path in sorted({root or cwd for root, cwd in recorded_directories(store)} - {""}):
        short = short_path(path, environ)
        if current.startswith(("/", "~")):
            name = path if current.startswith("/") else short
            description = ""
        else:
            name, description = base_name(path), short
        if name.casefold().startswith(start):
            yield Candidate(name, description)


def _profiles(current: str, line: Line, environ: Mapping[str, str]) -> Iterator[Candidate]:
    from hermes_sessions.home import DEFAULT_PROFILE, profile_names, select_home

    home = select_home(environ, profile=DEFAULT_PROFILE, home=line.options.get("home"))
    names = [DEFAULT_PROFILE, *(profile_names(home.root) if home.root else ())]
    yield from (Candidate(name) for name in names if name.startswith(current.casefold()))


def _fields(current: str, command: str) -> Iterator[Candidate]:
    """Yield the list of fields so far with one more, for ``--json=id,title``."""
    chosen, comma, start = current.rpartition(",")
    taken = chosen.split(",")
    for name in field_names(command):
        if name.startswith(start) and name not in taken:
            yield Candidate(f"{chosen}{comma}{name}")


def field_names(command: str) -> Sequence[str]:
    """Return the fields of a command's JSON.

    A command with objects of its own has their names in the constant ``FIELDS`` of its module. It
    is read from the text: importing the module would import all that the command line is made of.
    """
    import re
    from ast import literal_eval
    from pathlib import Path

    from hermes_sessions.cli.commands import BY_NAME

    file = Path(__file__).parent / "cli" / f"{BY_NAME[command].module}.py"
    literal = re.search(
        r"^FIELDS\b[^=\n]*= (\(.*?^\))", file.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    if literal:
        return tuple(map(str, literal_eval(literal.group(1))))
    from hermes_sessions.render import data

    return data.fact_sheet_fields() if command == "show" else tuple(data.FIELDS)
