"""``doctor``: whether a store is well, and the command that cures what is not."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import Json
from hermes_sessions.errors import ExitCode, StoreMissing
from hermes_sessions.store.diagnosis_findings import Finding, Scope, Severity
from hermes_sessions.store.examination import examine

if TYPE_CHECKING:
    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.store.diagnosis_findings import Diagnosis

_PROGRAM = "hermes-sessions"

FIELDS = (
    "store",
    "home",
    "profile",
    "healthy",
    "damaged",
    "findings",
    "checked",
    "not_checked",
    "size_bytes",
    "wal_bytes",
    "free_bytes",
    "schema_version",
    "journal_mode",
    "sqlite_version",
    "file_system",
    "conversations",
    "sessions",
    "messages",
    "indexes",
)


def command(
    ctx: typer.Context,
    full: Annotated[
        bool,
        typer.Option("--full", help="Look at everything, however long it takes."),
    ] = False,
    json: Json = None,
) -> int:
    """Tell whether the store is well, and what cures it.

    It reads and changes nothing. Each finding comes with the command that cures it. Of a store
    bigger than 256 MB not every page is read, and it says so; --full reads all and compares every
    index with its table. Piped, it prints tab-separated lines: severity, key, words, cure. With
    --quiet it prints nothing but what there is something to be done about.

    The exit code is 0 if there is nothing to be done, 1 with findings, 4 if the store is damaged.

    \b
    Examples:
      hermes-sessions doctor
      hermes-sessions doctor --full
      hermes-sessions doctor --json=healthy,findings
      hermes-sessions -q doctor
    """
    env: Env = ctx.obj
    home = env.select_home()
    fields = None
    if json is not None:
        from hermes_sessions.render.data import pick_fields

        fields = pick_fields(json, FIELDS)
    try:
        diagnosis = _with_options(env, _examine(env, home, full=full))
    except StoreMissing as missing:
        if fields is None:
            _explain_missing(env, home, missing)
        else:
            _write_object(env, fields, _missing_object(home, missing))
        return ExitCode.FAILED
    if fields is not None:
        _write_object(env, fields, _object(home, diagnosis))
    else:
        _write(env, home, diagnosis)
    if diagnosis.worst is Severity.DAMAGE:
        return ExitCode.DAMAGED
    return ExitCode.FAILED if diagnosis.problems else ExitCode.OK


def _explain_missing(env: Env, home: Home, missing: StoreMissing) -> None:
    if env.quiet:
        raise missing
    from hermes_sessions.cli.nothing import explain_nothing

    explain_nothing(env, home, missing.message)


def _write(env: Env, home: Home, diagnosis: Diagnosis) -> None:
    """Write it for a person or a pipe; with ``--quiet`` silence means that all is well."""
    if env.quiet:
        diagnosis = diagnosis.to_do()
        if not diagnosis.findings:
            return
    if env.is_terminal:
        from hermes_sessions.render.doctor import print_diagnosis

        print_diagnosis(env, home.store, diagnosis)
    else:
        env.write(_lines(diagnosis))


def _examine(env: Env, home: Home, *, full: bool) -> Diagnosis:
    from hermes_sessions.render.watched import watched

    scope = Scope(home, env.environ, env.now, full=full)
    return watched(env, lambda step: examine(scope, lambda: opened_store(env, home), step))


def _with_options(env: Env, diagnosis: Diagnosis) -> Diagnosis:
    """Let the cures mean the same store, by the options that chose it."""
    chosen = (("--home", env.home), ("--db", env.db), ("-p", env.profile))
    options = [(name, value) for name, value in chosen if value is not None]
    findings = tuple(_with_program(env, options, finding) for finding in diagnosis.findings)
    return diagnosis._replace(findings=findings)


def _with_program(env: Env, options: list[tuple[str, str]], finding: Finding) -> Finding:
    if finding.cure is None or not finding.cure.startswith(f"{_PROGRAM} "):
        return finding
    if finding.cure.startswith(f"{_PROGRAM} -p "):  # another profile, of the same root
        options = [(name, value) for name, value in options if name != "-p"]
    words = [_PROGRAM, *(["--demo"] if env.demo else []), *(w for pair in options for w in pair)]
    return finding._replace(cure=finding.cure.replace(_PROGRAM, shlex.join(words), 1))


def _object(home: Home, diagnosis: Diagnosis) -> dict[str, object]:
    facts = diagnosis.facts
    return {
        **_place(home),
        "healthy": diagnosis.problems == 0,
        "damaged": diagnosis.worst is Severity.DAMAGE,
        "findings": [finding._asdict() for finding in diagnosis.findings],
        "checked": diagnosis.checked,
        "not_checked": diagnosis.skipped,
        "size_bytes": facts.size,
        "wal_bytes": facts.wal_size,
        "free_bytes": facts.free,
        "schema_version": facts.schema,
        "journal_mode": facts.journal_mode,
        "sqlite_version": facts.sqlite,
        "file_system": facts.file_system,
        "conversations": facts.conversations,
        "sessions": facts.sessions,
        "messages": facts.messages,
        "indexes": facts.indexes,
    }


def _place(home: Home) -> dict[str, object]:
    return {
        "store": str(home.store),
        "home": str(home.path) if home.path else None,
        "profile": home.profile or "default" if home.path else None,
    }


def _missing_object(home: Home, missing: StoreMissing) -> dict[str, object]:
    finding = Finding(Severity.WARNING, "missing", missing.message, missing.hint)
    facts: dict[str, object] = dict.fromkeys(FIELDS)
    lists: dict[str, object] = {"findings": [finding._asdict()], "checked": [], "not_checked": []}
    return {**facts, **_place(home), "healthy": False, "damaged": False, **lists}


def _write_object(env: Env, fields: tuple[str, ...], facts: dict[str, object]) -> None:
    from hermes_sessions.render.data import to_json

    env.write(to_json({name: facts[name] for name in fields}))


def _lines(diagnosis: Diagnosis) -> str:
    """Write a finding a line, the worst first; then what is fine and what was not looked at."""
    from hermes_sessions.text import one_line

    rows = [(str(f.severity), f.key, f.message, f.cure or "") for f in diagnosis.findings]
    rows += [("ok", "", words, "") for words in diagnosis.fine]
    rows += [("skipped", "", words, "") for words in diagnosis.skipped]
    return "".join("\t".join(map(one_line, row)) + "\n" for row in rows)
