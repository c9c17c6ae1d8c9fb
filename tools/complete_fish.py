"""The completion script for fish: one ``complete`` line a command, option and argument."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from command_tree import DIRECTORY, FILE, TEXT, WORDS, global_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from command_tree import Command, Option, Value


def fish_script(root: Command) -> str:
    """Write the script."""
    commands = root.everything()
    below = [_quoted(command.name) for command in commands if command.path]
    passing = [_quoted(command.name) for command in commands if command.passes_on]
    aliases = [name for option in root.options if option.alias for name in option.names]
    parts = {
        "@COMMANDS@": " ".join(below),
        "@PASSING@": " ".join(passing) or "''",
        "@ALIASES@": " ".join(aliases),
        "@ALIAS@": next(option.alias for option in root.options if option.alias),
        "@TAKES@": "\n".join(line for command in commands for line in _taking(command)),
        "@SHARED@": " ".join(_names_with_value(global_options(root))),
    }
    filtered = [command for command in commands if command.filters]
    names = " ".join(_quoted(command.name) for command in filtered)
    script = _CODE
    for mark, text in parts.items():
        script = script.replace(mark, text)
    lines = [line for option in global_options(root) for line in _option_lines(option, "")]
    lines += ["", "# Filters."]
    for option in filtered[0].filters if filtered else ():
        lines += _option_lines(option, f"__hermes_sessions_in_one_of {names}")
    for command in commands:
        lines += ["", f"# {command.name or 'hermes-sessions'}", *_command_lines(command)]
    return script + "\n".join(lines) + "\n"


def _names_with_value(options: list[Option]) -> list[str]:
    """Return the names whose value may be the next word."""
    return [
        name
        for option in options
        if option.value and not option.value.optional and not option.alias
        for name in option.all_names
    ]


def _taking(command: Command) -> Iterator[str]:
    names = _names_with_value([o for o in command.options if o.names != o.anywhere])
    if names:
        yield f"        case {_quoted(command.name)}"
        yield f"            contains -- $argv[2] {' '.join(names)}; and return"


def _command_lines(command: Command) -> Iterator[str]:
    here = f"__hermes_sessions_in {_quoted(command.name)}"
    for child in command.commands:
        yield _complete(f"{here} 0", f"-a {child.path[-1]}", child.summary)
    for position, argument in enumerate(command.arguments):
        which = f"{position}-" if argument.repeatable else str(position)
        candidates = _candidates(argument.value)
        if candidates:
            yield _complete(f"{here} {which}", candidates, "")
    for option in command.own_options:
        own = option._replace(names=tuple(n for n in option.names if n not in option.anywhere))
        yield from _option_lines(own, here)


def _option_lines(option: Option, condition: str) -> Iterator[str]:
    """Write a line for the names that switch it on, and one for those that switch it off."""
    for names in (option.names, option.negative):
        if names:
            words = [f"-s {n[1:]}" if len(n) == len("-x") else f"-l {n[2:]}" for n in names]
            words.append(_value_words(option))
            yield _complete(condition, " ".join(filter(None, words)), option.help)


def _value_words(option: Option) -> str:
    value = option.value
    if value is None or option.alias:
        return ""
    if value.optional and not value.attached:
        return ""
    needs = "" if value.optional else "-r " if value.kind == FILE else "-x "
    return f"{needs}{_candidates(value)}".strip()


def _candidates(value: Value) -> str:
    fixed = {
        TEXT: "",
        FILE: "-F",
        DIRECTORY: "-a '(__hermes_sessions_directories)'",
        WORDS: f"-a {_quoted(' '.join(value.words))}",
    }
    return fixed.get(value.kind, f"-k -a '(__hermes_sessions_stored {value.kind})'")


def _complete(condition: str, words: str, about: str) -> str:
    parts = ["complete -c hermes-sessions"]
    if condition:
        parts.append(f"-n {_quoted(condition)}")
    parts.append(words)
    if about:
        parts.append(f"-d {_quoted(about)}")
    return " ".join(parts)


def _quoted(text: str) -> str:
    if re.fullmatch(r"[\w-]+", text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_CODE: Final = r"""# Completion of hermes-sessions for fish.
# Written by tools/generate.py from the program's own commands; do not edit.
#
# Put it into a directory of $fish_complete_path, or source it.

# Tell whether the value of option $argv[2] of the command $argv[1] is the next word.
function __hermes_sessions_takes
    contains -- $argv[2] @SHARED@; and return
    switch $argv[1]
@TAKES@
    end
    return 1
end

# Print the command on the line, and how many arguments stand before the cursor.
function __hermes_sessions_read
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l position 0
    set -l behind no
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test $behind = yes; or not string match -q -- '-?*' $word
            set -l deeper (string trim -- "$command $word")
            if test $behind = no -a $position = 0; and contains -- $deeper @COMMANDS@
                set command $deeper
            else
                set position (math $position + 1)
            end
        else if test $word = --
            set behind yes
            # what follows is for another program
            contains -- "$command" @PASSING@; and set position 1000
        else if test -z "$command"; and contains -- $word @ALIASES@
            set command @ALIAS@
        else if __hermes_sessions_takes "$command" $word
            set -e words[1]
        end
    end
    echo "$command"
    echo $position
end

# Tell whether the cursor is behind the command $argv[1], at its argument $argv[2] ("1-": or later).
function __hermes_sessions_in
    set -l line (__hermes_sessions_read)
    test "$line[1]" = "$argv[1]"; or return
    switch "$argv[2]"
        case ''
            return 0
        case '*-'
            test $line[2] -ge (string trim -r -c - -- $argv[2])
        case '*'
            test $line[2] -eq $argv[2]
    end
end

# Tell whether the cursor is behind one of these commands.
function __hermes_sessions_in_one_of
    contains -- (__hermes_sessions_read)[1] $argv
end

# Print what is typed of the value at the cursor, without quotes and without --option=.
function __hermes_sessions_current
    commandline -ct | string replace -r -- '^--[^=]*=' '' | string replace -r -- '^["\']' '' |
        string replace -ra -- '\\\\(.)' '$1'
end

function __hermes_sessions_directories
    __fish_complete_directories (__hermes_sessions_current) ''
end

# Print what hermes-sessions finds for a kind of value.
function __hermes_sessions_stored
    # an option is being typed: fish asks all the same
    string match -qr -- '^-[^=]*$' (commandline -ct); and return
    set -l words (commandline -opc)
    set -l program $words[1]
    type -q -- $program; or set program hermes-sessions
    type -q $program; or return
    set -e words[1]
    set -l current (__hermes_sessions_current)
    $program __complete $argv[1] "$current" -- $words 2>/dev/null
end

complete -c hermes-sessions -f

# Options that may stand anywhere.
"""
