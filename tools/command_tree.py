"""The command line of hermes-sessions as plain data, read from the program's own command tree.

The man page and the completions are written from this, so neither can say anything that the
program does not. What the tree cannot tell, what a value is, is decided here by its placeholder:
``KINDS``. A placeholder that is not there is an error, so a new one cannot be forgotten.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from hermes_sessions.cli.app import PROGRAM, root_command
from hermes_sessions.cli.arguments import arrange
from hermes_sessions.cli.commands import BY_NAME
from hermes_sessions.cli.options import FILTER_OPTIONS
from hermes_sessions.errors import UserError

TEXT: Final = "text"
FILE: Final = "file"
DIRECTORY: Final = "directory"
WORDS: Final = "words"
"""Kinds that need no question to the store; every other kind is one of ``__complete``."""

KINDS: Final = {
    "AGE": TEXT,
    "ARGS": TEXT,
    "DIR": DIRECTORY,
    "FIELDS": "field",
    "FILE": FILE,
    "FLOAT": TEXT,
    "ID": TEXT,
    "INTEGER": TEXT,
    "M": "model",
    "MESSAGE": TEXT,
    "N": TEXT,
    "NAME": TEXT,
    "NEW": DIRECTORY,
    "OLD": "workspace",
    "OUTPUT": FILE,
    "PATH": DIRECTORY,
    "QUERY": TEXT,
    "R": "reason",
    "REASON": "reason",
    "REF": "ref",
    "S": "source",
    "SECONDS": TEXT,
    "SOURCE": "source",
    "T": TEXT,
    "TEXT": TEXT,
    "TEXT|@FILE": TEXT,
    "TIME": TEXT,
    "TITLE": TEXT,
    "TYPE": "chat_type",
    "USD": TEXT,
    "W": "workspace",
    "--branch TEXT": "branch",
    "--chat-id ID": "chat",
    "--model TEXT": "model",
    "--profile NAME": "profile",
    "--provider NAME": "provider",
    "--title TEXT": "title",
    "--user ID": "user",
}
"""What the placeholder of a value means; with an option before it, for that option only."""


class UnknownPlaceholder(Exception):  # noqa: N818 - reads as the fact it states
    """A parameter has a placeholder that nobody has decided about."""


class Value(NamedTuple):
    """What an option or argument takes.

    Attributes:
        placeholder: as in the help: REF, N, WHEN.
        kind: of ``KINDS``, or ``words``.
        words: all there are, for the kind ``words``.
        optional: it may be left out.
        attached: it must stand behind ``=`` in the same word.
    """

    placeholder: str
    kind: str
    words: tuple[str, ...] = ()
    optional: bool = False
    attached: bool = False


class Option(NamedTuple):
    """One option.

    Attributes:
        names: the short one first.
        negative: names that switch it off.
        value: None for a flag.
        anywhere: the names that may stand behind a command too, for a global option.
        alias: the command that this option stands for, or "".
        default: what it is if it is not given and that is worth a word, else "".
        filter: it belongs to the group of filters that several commands share.
    """

    names: tuple[str, ...]
    negative: tuple[str, ...]
    value: Value | None
    help: str
    repeatable: bool
    default: str = ""
    anywhere: tuple[str, ...] = ()
    alias: str = ""
    filter: bool = False

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names that switch it on and off."""
        return (*self.names, *self.negative)


class Argument(NamedTuple):
    """One positional argument; ``repeatable`` if it takes all the words that are left."""

    value: Value
    help: str
    repeatable: bool


class Command(NamedTuple):
    """A command, or the root.

    Attributes:
        path: its words; empty for the root.
        summary: the first line of its help.
        text: paragraphs of its help after the first line; line breaks in them are meant.
        examples: command lines.
        passes_on: what stands behind ``--`` goes to Hermes.
    """

    path: tuple[str, ...]
    group: str
    summary: str
    text: tuple[str, ...]
    examples: tuple[str, ...]
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    commands: tuple[Command, ...]
    passes_on: bool

    @property
    def name(self) -> str:
        """Its words in one."""
        return " ".join(self.path)

    @property
    def own_options(self) -> tuple[Option, ...]:
        """The options that are not of the shared group of filters."""
        return tuple(option for option in self.options if not option.filter)

    @property
    def filters(self) -> tuple[Option, ...]:
        """The options of the shared group of filters."""
        return tuple(option for option in self.options if option.filter)

    def everything(self) -> list[Command]:
        """Return this command and all below it, in order."""
        return [self, *(deeper for command in self.commands for deeper in command.everything())]


def read_tree() -> Command:
    """Read the whole tree.

    Raises:
        UnknownPlaceholder: ``KINDS`` has to be extended.
    """
    root = root_command()
    context = root.make_context(PROGRAM, [], resilient_parsing=True)
    return _command(root, context, ())


def global_options(root: Command) -> list[Option]:
    """Return the options that may stand behind a command too, with those names only."""
    return [
        option._replace(names=option.anywhere, negative=())
        for option in root.options
        if option.anywhere
    ]


def _command(command: Any, context: Any, path: tuple[str, ...]) -> Command:  # noqa: ANN401
    summary, text, examples = _read_help(command.help or "")
    shown = [p for p in command.get_params(context) if not getattr(p, "hidden", False)]
    names = {parameter.name for parameter in shown}
    shares_filters = names.issuperset(FILTER_OPTIONS)
    below = []
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        child = command.get_command(context, name)
        if not child.hidden:
            inner = child.make_context(name, [], parent=context, resilient_parsing=True)
            below.append(_command(child, inner, (*path, name)))
    return Command(
        path=path,
        group=BY_NAME[path[0]].group if path else "",
        summary=summary,
        text=text,
        examples=examples,
        options=tuple(
            _option(p, path, filter_=shares_filters and p.name in FILTER_OPTIONS)
            for p in shown
            if p.param_type_name == "option"
        ),
        arguments=tuple(_argument(p, path) for p in shown if p.param_type_name == "argument"),
        commands=tuple(below),
        passes_on=bool(path) and bool(arrange([path[0], "--", "word"]).passed_on),
    )


def _read_help(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Divide a help text into its first line, its paragraphs and its examples.

    A paragraph keeps its line breaks only where the help does, behind a line of ``\\b``.
    """
    examples: list[str] = []
    paragraphs = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line.rstrip() for line in block.replace("\b", "").splitlines() if line.strip()]
        if lines and lines[0].strip() in {"Example:", "Examples:"}:
            examples += [line.strip() for line in lines[1:]]
        elif lines:
            paragraphs.append(
                "\n".join(lines) if "\b" in block else " ".join(" ".join(lines).split())
            )
    return paragraphs[0] if paragraphs else "", tuple(paragraphs[1:]), tuple(examples)


def _option(parameter: Any, path: tuple[str, ...], *, filter_: bool) -> Option:  # noqa: ANN401
    names = tuple(sorted(parameter.opts, key=len))
    takes_value = parameter.metavar or not parameter.is_flag
    return Option(
        names=names,
        negative=tuple(sorted(parameter.secondary_opts, key=len)),
        value=_value(parameter, f"{names[-1]} ", path) if takes_value else None,
        help=parameter.help or "",
        repeatable=bool(parameter.multiple),
        default=_default(parameter) if takes_value else "",
        anywhere=() if path else tuple(name for name in names if _may_stand_anywhere(name)),
        alias="" if path else _alias(names[-1]),
        filter=filter_,
    )


def _argument(parameter: Any, path: tuple[str, ...]) -> Argument:  # noqa: ANN401
    value = _value(parameter, "", path)._replace(optional=not parameter.required)
    return Argument(value, parameter.help or "", parameter.nargs != 1)


def _value(parameter: Any, option: str, path: tuple[str, ...]) -> Value:  # noqa: ANN401
    """Say what a parameter takes: ``N``, ``[N]`` (optional) or ``[=FIELDS]`` (attached, too)."""
    written = parameter.metavar or (parameter.name or "").upper()
    inner = written.strip("[]").rstrip(".…")
    placeholder = inner.removeprefix("=")
    choices = tuple(map(str, getattr(parameter.type, "choices", ())))
    kind = KINDS.get(f"{option}{placeholder}", KINDS.get(placeholder))
    if choices:
        kind = WORDS
    if kind is None:
        where = " ".join((PROGRAM, *path, option)).strip()
        message = f"{where}: no entry for {placeholder} in KINDS of tools/command_tree.py"
        raise UnknownPlaceholder(message)
    return Value(placeholder, kind, choices, written.startswith("["), inner.startswith("="))


def _default(parameter: Any) -> str:  # noqa: ANN401
    default = parameter.default
    if not parameter.show_default or default in (None, "", (), [], False):
        return ""
    return str(getattr(default, "value", default))


def _may_stand_anywhere(name: str) -> bool:
    """Ask the program itself: it moves a global option from behind a command to the front."""
    return arrange(["command", name, "value"]).argv[0] == name


def _alias(name: str) -> str:
    """Ask the program itself: it rewrites ``-c`` and ``-r REF`` as a command."""
    try:
        first = arrange([name, "word"]).argv[0]
    except UserError:
        return ""
    return first if first in BY_NAME else ""
