"""The search indexes of a store, as a person is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import UserError
from hermes_sessions.store.diagnosis_findings import OPTIMIZE, Checked, Finding, Severity
from hermes_sessions.store.fts import TRIGRAMS, WORDS, Indexes, State, marks_of
from hermes_sessions.store.tokenizer import INDEX as CJK
from hermes_sessions.store.tokenizer import check_tokenizer, tokenizer_library
from hermes_sessions.text import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.diagnosis_findings import Subject
    from hermes_sessions.store.fts import Index

_NAMES: Final = {WORDS: "the search index", TRIGRAMS: "the search index of parts of words"}
_BOTH: Final = "both search indexes"
_WORDS: Final = {
    State.MISSING: ("is missing", "are missing"),
    State.STALE: ("is out of date", "are out of date"),
    State.INCOMPLETE: ("is incomplete", "are incomplete"),
    State.SILENT: ("finds nothing of what is there", "find nothing of what is there"),
    State.BROKEN: ("is broken", "are broken"),
}
_EFFECTS: Final = {
    State.BROKEN: "hermes may refuse to start, or to save, until it is built anew; nothing is lost",
    State.SILENT: "search here reads the messages instead; hermes finds nothing",
}
_TRIGRAMS_SINCE: Final = (3, 34)
_MAKE: Final = "start hermes once: it makes what is missing"
_ELSE: Final = "search here reads the messages that are in no index, which takes longer"


def check_indexes(subject: Subject) -> tuple[Checked, Mapping[str, str]]:
    """Look whether the search indexes are there and find what they must; return their states."""
    store = subject.store
    lacking = _lacking(store)
    if lacking:
        return Checked((lacking,)), {}
    indexes = Indexes(store)
    both = (indexes.words, indexes.trigrams)
    states = {index.name: str(index.state) for index in both}
    findings = _findings(store, [index for index in both if index.state is not State.OK])
    tokenizer = _check_cjk(subject)
    if CJK in store.capabilities.tables:
        states[CJK] = _cjk_state(store)
    fine = "" if findings else "search finds what is there"
    return Checked((*findings, *tokenizer), fine), states


def _lacking(store: Store) -> Finding | None:
    """Tell what the SQLite in use lacks to ask the indexes: no fault of the store (R070)."""
    modules = {str(row[0]) for row in store.rows("SELECT name FROM pragma_module_list")}
    major, minor = str(store.value("SELECT sqlite_version()")).split(".")[:2]
    if "fts5" not in modules:
        what = "FTS5"
    elif (int(major), int(minor)) < _TRIGRAMS_SINCE:
        what = "trigram tokenizer"
    else:
        return None
    return Finding(
        Severity.INFO,
        "sqlite-lacks",
        f"this SQLite has no {what}: search reads every message",
        "use a Python whose SQLite has it",
        ("until then messages cannot be deleted or copied from here either",),
    )


def _findings(store: Store, bad: list[Index]) -> list[Finding]:
    """Put what is wrong into words; once, if the same is wrong with both."""
    if not bad:
        return []
    if len(bad) > 1 and bad[0].state is bad[1].state:
        return [_finding(store, bad[0], _BOTH, 1)]
    return [_finding(store, index, _NAMES[index.name], 0) for index in bad]


def _finding(store: Store, index: Index, name: str, form: int) -> Finding:
    state = index.state
    message = f"{name} {_WORDS[state][form]}"
    if state is State.INCOMPLETE and index.missing:
        verb = "miss" if form else "misses"
        number = int(str(store.value("SELECT count(*) FROM messages")))
        message = f"{name} {verb} {index.missing:,} of {plural(number, 'message')}"
    details = [_EFFECTS.get(state, _ELSE)]
    if state is State.INCOMPLETE and _is_half_built(store):
        details.insert(0, "hermes was building it anew and was stopped half way")
    cure = _MAKE if state is State.MISSING else OPTIMIZE
    return Finding(Severity.WARNING, f"search-index-{state}", message, cure, tuple(details))


def _is_half_built(store: Store) -> bool:
    return any(key.startswith("fts_rebuild_") for key in marks_of(store))


def _check_cjk(subject: Subject) -> list[Finding]:
    """Look whether the tokenizer is there that a store needs to be written (trap 9)."""
    scope = subject.scope
    try:
        check_tokenizer(subject.store)
    except UserError:
        library = tokenizer_library(scope.home.path, scope.environ)
        if library is not None:  # every writer loads it; reading needs no code of a home
            return []
        message = "messages cannot be written without a tokenizer of Hermes that is not here"
        cure = "start hermes once: it does without"
        details = (f"{CJK} needs libfts5_cjk.so; HERMES_FTS5_CJK_SO names it if it is elsewhere",)
        return [Finding(Severity.WARNING, "tokenizer-missing", message, cure, details)]
    return []


def _cjk_state(store: Store) -> str:
    """Return the state of the CJK index as far as its triggers and marks tell."""
    triggers = store.value(
        "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE :name",
        {"name": f"{CJK}_%"},
    )
    if not triggers:
        return str(State.STALE)
    keys = [key for key in marks_of(store) if key.startswith("fts_cjk_")]
    if "fts_cjk_stale" in keys:
        return str(State.STALE)
    return str(State.INCOMPLETE if keys else State.OK)
