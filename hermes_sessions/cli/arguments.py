"""What the shell hands us, rewritten so that typer understands it.

Typer has no options with an optional value and no options that may stand anywhere, so words that
mean the same are put in its order before it sees them. Nothing else is decided here.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hermes_sessions.errors import UsageProblem

_WITH_VALUE: Final = {"-p", "--profile", "--home", "--db", "--color"}
_FLAGS: Final = {"--demo", "--debug", "--quiet"}
_CONTINUE: Final = ("-c", "--continue")
_RESUME: Final = ("-r", "--resume")


class Words(NamedTuple):
    """The words of a command line.

    Attributes:
        argv: for typer.
        passed_on: what stood behind ``--`` of ``resume``: for Hermes, untouched.
    """

    argv: list[str]
    passed_on: tuple[str, ...]


def arrange(argv: Sequence[str]) -> Words:
    """Put global options first, give optional values their default, make ``-c`` a command."""
    words, behind = _split(argv)
    globals_, words = _hoist(words)
    words = _continue_as_resume(words)
    words = [value for word in _with_defaults(words) for value in word]
    if words[:1] == ["resume"]:
        return Words([*globals_, *words], tuple(behind or ()))
    return Words([*globals_, *words, *(["--", *behind] if behind is not None else [])], ())


def _split(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _hoist(words: list[str]) -> tuple[list[str], list[str]]:
    """Global options may stand anywhere before ``--`` (as ``-p`` may with Hermes)."""
    first: list[str] = []
    rest: list[str] = []
    position = 0
    # -q is short for something else behind a command, so it is global only before one
    while position < len(words):
        word = words[position]
        if word in _WITH_VALUE:
            first += words[position : position + 2]
            position += 2
            continue
        is_global = (
            word in _FLAGS
            or word.partition("=")[0] in _WITH_VALUE
            or (word.startswith("-p") and word != "-p")  # -pNAME
            or (word == "-q" and not rest)
        )
        (first if is_global else rest).append(word)
        position += 1
    return first, rest


def _continue_as_resume(words: list[str]) -> list[str]:
    """``-c [REF]`` and ``-r REF`` in the place of a command are the command ``resume``."""
    if not words:
        return words
    option, equals, value = words[0].partition("=")
    rest = words[1:]
    if option in _CONTINUE:
        return ["resume", *([value] if equals else []), *rest]
    if option in _RESUME:
        if equals:
            rest = [value, *rest]
        elif not rest or (rest[0].startswith("-") and rest[0] != "-"):
            raise UsageProblem(f"{option} needs a REF", hint="-c continues this terminal's chat")
        return ["resume", *rest]
    return words


def _with_defaults(words: list[str]) -> list[list[str]]:
    """``--json`` alone is all fields, ``-x`` alone the last code block."""
    arranged: list[list[str]] = []
    for position, word in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else ""
        if word == "--json":
            arranged.append(["--json="])
        elif word in {"-x", "--extract"} and words[:1] == ["show"] and not following.isdecimal():
            arranged.append(["--extract=1"])
        else:
            arranged.append([word])
    return arranged
