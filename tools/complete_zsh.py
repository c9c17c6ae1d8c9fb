"""The completion script for zsh: specifications for ``_arguments``, from the command tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from command_tree import DIRECTORY, FILE, TEXT, WORDS, global_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from command_tree import Command, Option, Value


def zsh_script(root: Command) -> str:
    """Write the script."""
    shared = global_options(root)
    filters = next((c.filters for c in root.everything() if c.filters), ())
    with_value = [name for option in shared if option.value for name in option.names]
    aliases = [name for option in root.options if option.alias for name in option.names]
    parts = {
        "@SHARED@": [spec for option in shared for spec in _option_specs(option)],
        "@FILTERS@": [spec for option in filters for spec in _option_specs(option)],
        "@COMMANDS@": [line for command in root.everything() for line in _command_case(command)],
        "@WITH_VALUE@": ["|".join(with_value)],
        "@ALIASES@": ["|".join(aliases)],
        "@ALIAS@": [next(option.alias for option in root.options if option.alias)],
    }
    script = _CODE
    for mark, lines in parts.items():
        indent = script[: script.index(mark)].rpartition("\n")[2]
        separator = f"\n{indent}" if not indent.strip() else "\n"
        script = script.replace(mark, separator.join(lines))
    return script


def _command_case(command: Command) -> Iterator[str]:
    yield f"({_quoted(command.name)})"
    if command.commands:
        yield "  below=("
        for child in command.commands:
            yield f"    {_quoted(f'{child.path[-1]}:{child.summary}')}"
        yield "  )"
    yield "  specs=("
    if command.filters:
        yield '    "$filters[@]"'
    for option in command.own_options:
        own = option._replace(names=tuple(n for n in option.names if n not in option.anywhere))
        for spec in _option_specs(own):
            yield f"    {spec}"
    for spec in _argument_specs(command):
        yield f"    {spec}"
    yield "  )"
    yield "  ;;"


def _option_specs(option: Option) -> Iterator[str]:
    """Write a specification for each name; all of them exclude each other."""
    about = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    before = f"({' '.join(option.all_names)})"
    if option.repeatable:
        before = "*"
    elif "--help" in option.names:
        before = "(- *)"
    for name in option.all_names:
        sign, value = "", ""
        if option.value and not option.alias:
            sign, value = _value_spec(option.value, name)
        yield _quoted(f"{before}{name}{sign}[{about}]{value}")


def _value_spec(value: Value, name: str) -> tuple[str, str]:
    """Return the sign behind an option's name and what describes its value.

    A value that may be left out, and is a word of its own if it is not, is no part of the option.
    """
    if value.attached:
        return "=-", f":{':' if value.optional else ''}{value.placeholder}:{_action(value)}"
    if value.optional:
        return "", ""
    return "=" if name.startswith("--") else "+", f":{value.placeholder}:{_action(value)}"


def _argument_specs(command: Command) -> Iterator[str]:
    if command.commands:
        yield _quoted("1:command: _hermes_sessions_commands")
    for position, argument in enumerate(command.arguments, 1):
        value = argument.value
        which = "*" if argument.repeatable else str(position)
        sign = "::" if value.optional and not argument.repeatable else ":"
        yield _quoted(f"{which}{sign}{value.placeholder}:{_action(value)}")


def _action(value: Value) -> str:
    actions = {
        TEXT: " ",
        FILE: "_files",
        DIRECTORY: "_files -/",
        WORDS: f"({' '.join(value.words)})",
    }
    return actions.get(value.kind, f" _hermes_sessions_stored {value.kind} {value.placeholder}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_CODE: Final = r"""#compdef hermes-sessions
# Completion of hermes-sessions for zsh.
# Written by tools/generate.py from the program's own commands; do not edit.
#
# Put it into a directory of $fpath under the name _hermes-sessions, or source it after compinit.

# Offer what hermes-sessions finds for a kind of value, in its order.
_hermes_sessions_stored() {
  local program=${(Q)typed[1]} line value about
  local -a found more
  [[ -x ${~program} ]] || (( $+commands[$program] )) || program=hermes-sessions
  for line in "${(@f)$(
    ${~program} __complete $1 "${(Q)PREFIX}" -- "${(@Q)typed[2,-1]}" 2>/dev/null
  )}"; do
    value=${line%%$'\t'*} about=${line#*$'\t'}
    [[ -z $value ]] || found+=("${${value//\\/\\\\}//:/\\:}${about:+:$about}")
  done
  [[ $1 != field ]] || more=(-S '')
  _describe -V -t $1 $2 found -M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}' "$more[@]"
}

_hermes_sessions_commands() {
  _describe -t commands command below
}

# Set what may follow a command, '' is the program itself: below (commands) and specs.
_hermes_sessions_enter() {
  local -a filters=(
    @FILTERS@
  )
  below=() specs=()
  case $1 in
    @COMMANDS@
  esac
}

_hermes-sessions() {
  local -a typed=("${(@)words[1,CURRENT-1]}") below specs
  local -a shared=(
    @SHARED@
  )
  local command= word
  integer at=2 start=2

  _hermes_sessions_enter ''
  while (( at < CURRENT && $#below )); do
    word=${(Q)words[at]}
    (( at += 1 ))
    case $word in
      (@WITH_VALUE@) (( at += 1 )); continue ;;
      (@ALIASES@) [[ -z $command ]] || continue; command=@ALIAS@ ;;
      (--) break ;;
      (-?*) continue ;;
      (*) (( $+below[(r)$word:*] )) || break; command+=${command:+ }$word ;;
    esac
    start=at
    _hermes_sessions_enter $command
  done

  words=("$words[1]" "${(@)words[start,-1]}")
  (( CURRENT -= start - 2 ))
  _arguments -s -S "$specs[@]" "$shared[@]"
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _hermes-sessions "$@"
elif (( $+functions[compdef] )); then
  compdef _hermes-sessions hermes-sessions
fi
"""
