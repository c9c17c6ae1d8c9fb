"""The man page: commands and options from the command tree, the rest from ``man_prose``."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING, Final

import man_prose as prose
from hermes_sessions import __version__
from hermes_sessions.cli.app import PROGRAM
from hermes_sessions.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from command_tree import Argument, Command, Option

HELP: Final = "--help"
_SPECIAL: Final = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    '"': r"\(dq",
    "“": r"\(lq",
    "”": r"\(rq",
    "‘": r"\(oq",
    "’": r"\(cq",
    "–": r"\(en",
    "—": r"\(em",
    "…": "...",
}


def man_page(root: Command) -> str:
    """Write the page."""
    about = root.summary[:1].lower() + root.summary[1:].rstrip(".")
    version = f"{PROGRAM} {__version__}"
    lines = [
        '.\\" Written by tools/generate.py from the commands of the program; do not edit.',
        f'.TH {literal(PROGRAM.upper())} 1 {prose.DATE} "{literal(version)}" "User Commands"',
        ".ad l",
        ".SH NAME",
        f"{literal(PROGRAM)} \\- {literal(about)}",
        ".SH SYNOPSIS",
        *_synopsis(root),
        *_section("DESCRIPTION", prose.DESCRIPTION),
        *_section("REFERENCES TO CONVERSATIONS", prose.REFERENCES),
        *_options(root),
        *_overview(root),
        *(line for command in root.everything() if command.path for line in _command(command)),
        *_filters(root),
        *_section("OUTPUT", prose.OUTPUT),
        *_section("CHANGING AND DELETING", prose.CHANGES),
        *_section("ENVIRONMENT", prose.ENVIRONMENT),
        *_section("FILES", prose.FILES),
        *_exit_status(),
        *_examples(root),
        *_section("SEE ALSO", prose.SEE_ALSO),
    ]
    return "\n".join(lines) + "\n"


# --- Text --------------------------------------------------------------------------------------


def literal(text: str) -> str:
    """Escape text so that it is printed as it is, and can be copied from the page."""
    escaped = "".join(_SPECIAL.get(character, character) for character in text)
    return re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match.group()):04X}]", escaped)


def bold(text: str) -> str:
    """Write what one types."""
    return f"\\fB{literal(text)}\\fR"


def _undivided(text: str) -> str:
    """Write what one types, never divided at the end of a line."""
    return f"\\%{bold(text)}" if text[0].isalpha() and " " not in text else bold(text)


def italic(text: str) -> str:
    """Write what stands for something else."""
    return f"\\fI{literal(text)}\\fR"


def plain(text: str) -> str:
    """Escape the text of a help: its options are bold, apostrophes are apostrophes."""
    parts = re.split(r"((?<![\w-])--?[A-Za-z0-9][\w-]*)", text)
    return "".join(bold(part) if n % 2 else _prose(part) for n, part in enumerate(parts))


def marked_up(text: str) -> str:
    """Write a paragraph of our own prose: `literal` and *value*."""
    parts = re.split(r"(`[^`]+`|\*[^*]+\*)", " ".join(text.split()))
    styles = {"`": _undivided, "*": italic}
    written = "".join(
        styles[part[0]](part[1:-1]) if n % 2 else plain(part) for n, part in enumerate(parts)
    )
    return written.replace("\\fR\\fB", "\\fB").replace("\\fR\\fI", "\\fI")


def _prose(text: str) -> str:
    return re.sub(r"(?<=\w)\\\(aq", "'", literal(text))


def _section(title: str, text: str) -> Iterator[str]:
    yield f".SH {title}"
    for number, block in enumerate(text.strip("\n").split("\n\n")):
        lines = block.splitlines()
        if len(lines) > 1 and lines[1].startswith(": "):
            yield from (".TP", _guarded(marked_up(lines[0])))
            yield from _filled(marked_up(" ".join([lines[1][2:], *lines[2:]])))
        else:
            yield from [".PP"] if number else []
            yield from _filled(marked_up(" ".join(lines)))


def _filled(text: str) -> list[str]:
    """Break text into lines; none may begin with what begins a request."""
    lines = wrap(text, 78, break_long_words=False, break_on_hyphens=False)
    return list(map(_guarded, lines))


def _guarded(line: str) -> str:
    """Keep a line from being a request."""
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _example(lines: Sequence[str]) -> Iterator[str]:
    yield from (".PP", ".RS 4", ".EX", *(_guarded(literal(line)) for line in lines), ".EE", ".RE")


# --- Commands ----------------------------------------------------------------------------------


def _synopsis(root: Command) -> Iterator[str]:
    yield f"{bold(PROGRAM)} [{italic('OPTIONS')}] {italic('COMMAND')} [{italic('ARGUMENTS')}]"
    for option in root.options:
        if option.alias:
            yield ".br"
            name = option._replace(names=option.names[:1], negative=())
            yield f"{bold(PROGRAM)} [{italic('OPTIONS')}] {_option_tag(name)}"


def _options(root: Command) -> Iterator[str]:
    """Write the global options: first those that may stand anywhere."""
    yield from _section("OPTIONS", prose.ANYWHERE)
    anywhere = [option for option in root.options if option.anywhere == option.names]
    for option in anywhere:
        yield from _option(option)
    yield from (".PP", *_filled(marked_up(prose.BEFORE)))
    for option in root.options:
        if option not in anywhere:
            yield from _option(option)


def _overview(root: Command) -> Iterator[str]:
    yield ".SH COMMANDS"
    for group in dict.fromkeys(command.group for command in root.commands):
        names = [command.name for command in root.commands if command.group == group]
        yield from (".TP", literal(group), *_filled(", ".join(map(bold, names))))


def _command(command: Command) -> Iterator[str]:
    yield f'.SS "{literal(command.name)}"'
    yield from (*_filled(_usage(command)), ".PP", *_filled(plain(command.summary)))
    for paragraph in command.text:
        if "\n" in paragraph:
            yield from _example(paragraph.splitlines())
        else:
            yield from (".PP", *_filled(plain(paragraph)))
    for argument in command.arguments:
        if argument.help:
            yield from (".TP", _argument(argument), *_filled(plain(argument.help)))
    for option in command.own_options:
        if HELP not in option.names:
            yield from _option(option)
    if command.filters:
        yield from (".PP", f"All options described under {bold('FILTERS')} may be given, too.")
    if command.examples:
        yield from _example(command.examples)


def _usage(command: Command) -> str:
    parts = [bold(f"{PROGRAM} {command.name}"), f"[{italic('OPTIONS')}]"]
    if command.commands:
        parts.append(italic("COMMAND"))
    for argument in command.arguments:
        written = _argument(argument)
        parts.append(f"[{written}]" if argument.value.optional else written)
    if command.passes_on:
        parts.append(f"[{bold('--')} {italic('ARGS')} ...]")
    return " ".join(parts)


def _argument(argument: Argument) -> str:
    return italic(argument.value.placeholder) + (" ..." if argument.repeatable else "")


def _option(option: Option) -> Iterator[str]:
    yield from (".TP", _option_tag(option), *_filled(" ".join(_about(option))))


def _option_tag(option: Option) -> str:
    names = ", ".join(bold(name) for name in option.all_names)
    if option.value is None:
        return names
    value = italic(option.value.placeholder)
    if option.value.attached:
        value = f"[={value}]" if option.value.optional else f"={value}"
    else:
        value = f" [{value}]" if option.value.optional else f" {value}"
    return names + value


def _about(option: Option) -> Iterator[str]:
    """Say what an option does, and what its help leaves out."""
    yield plain(option.help)
    value = option.value
    if value and value.words and not all(word in option.help for word in value.words):
        yield f"One of {', '.join(map(bold, value.words))}."
    if option.repeatable and "repeat" not in option.help:
        yield "May be given more than once."
    if option.default:
        yield f"Default: {bold(option.default)}."
    if option.anywhere and option.anywhere != option.names:
        yield f"Behind a command only {' and '.join(map(bold, option.anywhere))}."


def _filters(root: Command) -> Iterator[str]:
    sharing = [command for command in root.everything() if command.filters]
    if not sharing:
        return
    yield from _section("FILTERS", prose.FILTERS)
    names = ", ".join(bold(command.name) for command in sharing)
    yield from (".PP", *_filled(f"They are options of: {names}."))
    for option in sharing[0].filters:
        yield from _option(option)


# --- The end -----------------------------------------------------------------------------------


def _exit_status() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code in ExitCode:
        about = _filled(marked_up(prose.EXIT_STATUS[code]))
        yield from (".TP", bold(str(code.value)), *about)
    yield from (".PP", *_filled(marked_up(prose.AFTER_EXIT_STATUS)))


def examples(root: Command) -> list[prose.Example]:
    """Return the examples of commands that there are."""
    names = {command.name for command in root.everything()}
    return [example for example in prose.EXAMPLES if example.command in names]


def _examples(root: Command) -> Iterator[str]:
    yield ".SH EXAMPLES"
    for number, example in enumerate(examples(root)):
        yield from [".PP"] if number else []
        yield from _filled(plain(example.about))
        yield from _example(example.lines)
