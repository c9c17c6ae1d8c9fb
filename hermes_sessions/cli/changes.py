"""The frame of every changing command: plan, show, ask, do (contract §6).

The plan is read and the store closed before anybody is asked; whoever does it must look again.
What changed in the meantime is refused if the plan was shown; with ``--yes`` it was not, and what
is done is planned anew in the transaction (``Consent.binding``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hermes_sessions.context import write_to
from hermes_sessions.errors import ExitCode, UsageProblem
from hermes_sessions.store.tokenizer import tokenizer_library
from hermes_sessions.store.writing import open_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.plans import Done, Proposal
    from hermes_sessions.store.writing import Writer


T = TypeVar("T")


class Consent(NamedTuple):
    """How the person wants to be asked and told.

    Attributes:
        json: the fields that were asked for, "" for all; None for no JSON.
        timeout: seconds to wait for another writer.
    """

    dry_run: bool
    yes: bool
    json: str | None
    timeout: float

    def binding(self, shown: T, now: T) -> T:
        """Return which of two plans counts: the one that was shown, if it was, else that of now."""
        return now if self.yes else shown


def carry_out(env: Env, consent: Consent, proposal: Proposal, do: Callable[[], Done]) -> ExitCode:
    """Show a plan, ask, do it, and print the results.

    Raises:
        UsageProblem: nobody can be asked and ``--yes`` was not given (R094).
    """
    fields = _fields(consent, proposal)
    if not proposal.question:
        _print(env, fields, proposal.data, ())
        env.note(proposal.nothing)
        return ExitCode.OK
    if consent.dry_run:
        _show(env, proposal, fields, whole=True)
        env.note("dry run: nothing was changed")
        return ExitCode.OK
    if not consent.yes:
        _show(env, proposal, fields, whole=False)
        if not env.can_ask:
            raise UsageProblem(
                "this needs a yes, and there is no terminal to ask on",
                hint="--yes does it without asking; --dry-run only shows it",
            )
        if not _agrees(env, proposal):
            env.note("nothing was changed")
            return ExitCode.FAILED
    done = do()
    data = {**proposal.data, **done.data, "dry_run": False}
    _print(env, fields, data, done.lines)
    for failure in done.failures:
        env.note(failure)
    return ExitCode.FAILED if done.failures else ExitCode.OK


def writing(env: Env, home: Home, timeout: float) -> Writer:
    """Open the store of a home for writing; ``--debug`` reports the SQL that runs."""
    from hermes_sessions.store.filesystem import file_system, unsafe_because

    danger = unsafe_because(file_system(home.store))
    if danger:
        env.note(f"warning: {danger}")
    opened = open_writer(home.store, timeout, tokenizer=tokenizer_library(home.path, env.environ))
    if env.debug:
        opened.store.trace(lambda sql: env.note(f"sql: {' '.join(sql.split())}"))
    return opened


def _fields(consent: Consent, proposal: Proposal) -> tuple[str, ...] | None:
    if consent.json is None:
        return None
    from hermes_sessions.render.data import pick_fields

    return pick_fields(consent.json, proposal.fields)


def _show(env: Env, proposal: Proposal, fields: tuple[str, ...] | None, *, whole: bool) -> None:
    """Print the plan: as a result if that is all that is wanted, else beside the results."""
    if fields is not None and whole:
        _print(env, fields, {**proposal.data, "dry_run": True}, ())
        return
    beside = not whole and env.can_ask and not env.is_terminal  # it belongs to the question
    stream = env.stderr if fields is not None or beside else env.stdout
    if stream.isatty():
        from hermes_sessions.render.plans import print_sheet

        print_sheet(env, proposal.sheet, stream, whole=whole)
    else:
        from hermes_sessions.render.plain import sheet_lines

        write_to(stream, sheet_lines(proposal.sheet))


def _print(
    env: Env, fields: tuple[str, ...] | None, data: dict[str, object], lines: Iterable[str]
) -> None:
    if fields is None:
        env.write("".join(f"{line}\n" for line in lines))
        return
    from hermes_sessions.render.data import to_json

    env.write(to_json({name: data.get(name) for name in fields}))


def _agrees(env: Env, proposal: Proposal) -> bool:
    choices = proposal.answer or ("y/N" if proposal.is_harmful else "Y/n")
    write_to(env.stderr, f"{proposal.question} [{choices}] ")
    env.stderr.flush()
    try:
        line = env.stdin.readline()
    except UnicodeDecodeError:  # a key of another encoding is no yes
        line = "?\n"
    if not line:  # end of file: no answer is no
        write_to(env.stderr, "\n")
        return False
    answer = line.strip().casefold()
    if proposal.answer:
        return answer == proposal.answer.casefold()
    return answer in {"y", "yes"} or (answer == "" and not proposal.is_harmful)
