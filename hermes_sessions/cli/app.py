"""The door of the program: the root command, and the one place that turns errors into exit codes.

A command's module is imported when it is called, so a start pays for one command only.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from hermes_sessions import __version__
from hermes_sessions.cli.arguments import arrange
from hermes_sessions.cli.commands import BY_NAME, COMMANDS
from hermes_sessions.context import Env, current_env, write_to
from hermes_sessions.errors import ExitCode, UsageProblem, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "hermes-sessions"
_SETTINGS: Final[dict[str, Any]] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
UsageError: Final[type[Exception]] = typer.BadParameter.__bases__[0]
"""The base of all parse errors of typer's own Click, by its documented subclass."""


class LazyGroup(TyperGroup):
    """A group that knows its commands from the table and imports one when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - Click's signature
        """Return the names in the order of the table."""
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:  # noqa: ANN401, ARG002
        """Import and build one command."""
        return build_command(cmd_name) if cmd_name in BY_NAME else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """Say what was meant if there is no such command."""
        name = args[0]
        if name in BY_NAME or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        close = get_close_matches(name, BY_NAME, n=3)
        meant = f"did you mean {', '.join(close)}? " if close else ""
        raise UsageProblem(f"there is no command “{name}”", hint=f"{meant}{PROGRAM} --help")

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """List the commands by group, from the table, without importing them."""
        for group in dict.fromkeys(command.group for command in COMMANDS):
            with formatter.section(group):
                formatter.write_dl(
                    [
                        (command.name, command.summary)
                        for command in COMMANDS
                        if command.group == group
                    ]
                )


class PlainCommand(TyperCommand):
    """A command whose usage shows a required argument as ``REF``, as man pages do."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Drop typer's braces."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


class Color(StrEnum):
    """When to colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


app = typer.Typer(cls=LazyGroup, **_SETTINGS)


def build_command(name: str) -> TyperCommand:
    """Build a command of the table."""
    entry = BY_NAME[name]
    function = getattr(import_module(f"hermes_sessions.cli.{entry.module}"), entry.function)
    single = typer.Typer(**_SETTINGS)
    single.command(name, cls=PlainCommand, context_settings=_SETTINGS["context_settings"])(function)
    command = typer.main.get_command(single)
    command.name = name
    return command  # type: ignore[return-value]


def root_command() -> TyperGroup:
    """Build the root of the command tree."""
    return typer.main.get_command(app)  # type: ignore[return-value]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    profile: Annotated[
        str | None, typer.Option("-p", "--profile", metavar="NAME", help="Use this profile.")
    ] = None,
    home: Annotated[
        str | None,
        typer.Option("--home", metavar="DIR", help="Use this Hermes home; beats HERMES_HOME."),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="FILE", help="Use one store file outside any home."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use the sample home that comes with the program.")
    ] = False,
    continue_: Annotated[
        bool,
        typer.Option(
            "-c",
            "--continue",
            metavar="[REF]",
            help="Same as resume: this terminal's conversation, or REF.",
        ),
    ] = False,
    resume: Annotated[
        str | None, typer.Option("-r", "--resume", metavar="REF", help="Same as resume REF.")
    ] = None,
    color: Annotated[
        Color, typer.Option("--color", metavar="WHEN", help="Colours: auto, always or never.")
    ] = Color.AUTO,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes; errors stay.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Tracebacks, timings and the SQL that ran, on stderr.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """List, search, resume and look after the conversations of Hermes Agent.

    REF is an id or the start of one, a title, "latest", or - for this terminal's conversation.
    """
    if continue_ or resume is not None:
        raise UsageProblem(
            "-c and -r stand in the place of a command", hint=f"{PROGRAM} -c [REF] [OPTIONS]"
        )
    ctx.obj = ctx.obj._replace(
        profile=profile, home=home, db=db, demo=demo, color=color, quiet=quiet, debug=debug
    )
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def main(argv: Sequence[str], env: Env | None = None) -> int:
    """Run the program with these words and return its exit code.

    Every error is printed here and nowhere else: what is wrong, then what to do.
    """
    env = env or current_env()
    debug = "--debug" in argv
    begun = perf_counter()
    try:
        words = arrange(argv)
        env = env._replace(passed_on=words.passed_on)
        code = _invoke(words.argv, env)
        env.stdout.flush()
    except UserError as error:
        if debug:
            _print_traceback(env)
        _print_error(env, error)
        return error.exit_code
    except UsageError as error:
        return _print_usage_error(env, error)
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback for a user
        if debug:
            _print_traceback(env)
        what = " ".join(str(error).split()) or "no message"
        write_to(
            env.stderr, f"error: this is a fault of {PROGRAM}: {type(error).__name__}: {what}\n"
        )
        write_to(env.stderr, "hint: run it again with --debug and report what it prints\n")
        return ExitCode.FAILED
    if debug:
        write_to(env.stderr, f"debug: {(perf_counter() - begun) * 1000:.0f} ms\n")
    return code if isinstance(code, int) else ExitCode.OK


def _invoke(words: Sequence[str], env: Env) -> object:
    try:
        return root_command().main(words, prog_name=PROGRAM, standalone_mode=False, obj=env)
    except SystemExit as end:  # so typer ends a command that meets a closed pipe
        raise end.__context__ or end from None


def _print_error(env: Env, error: UserError) -> None:
    from hermes_sessions.text import neutralise

    lines = [f"error: {error.message}", *(f"  {line}" for line in error.details)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    write_to(env.stderr, "".join(f"{neutralise(line)}\n" for line in lines))


def _print_usage_error(env: Env, error: Any) -> int:  # noqa: ANN401 - a class of typer's own Click
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx else PROGRAM
    message = " ".join(str(error.format_message()).split())
    _print_error(env, UserError(message[:1].lower() + message[1:], hint=f"{path} --help"))
    return ExitCode.USAGE


def _print_traceback(env: Env) -> None:
    import traceback

    write_to(env.stderr, traceback.format_exc())


def _forget_stdout() -> None:
    """Keep the interpreter from flushing into a pipe that nobody reads."""
    import os
    import sys

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
