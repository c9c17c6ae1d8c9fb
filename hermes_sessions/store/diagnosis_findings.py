"""What a diagnosis is made of: findings, and what each check looked at."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, Self

from hermes_sessions.home import Home
from hermes_sessions.store.connect import Store

OPTIMIZE: Final = "hermes-sessions optimize"
ORPHANS: Final = "hermes-sessions prune --orphans"

READ_WHOLE: Final = 256_000_000
"""Bytes of a store of which every page is read without being asked to: half a second's work."""


class Severity(StrEnum):
    """How bad it is, the worst first."""

    DAMAGE = "damage"  # something is lost, or will be
    WARNING = "warning"  # something to be done about
    HELD = "held"  # a process that has it open
    INFO = "info"  # good to know


class Finding(NamedTuple):
    """One thing that was found.

    Attributes:
        key: a word that stays the same from release to release.
        message: the same in words: one line, stored text in it not neutralised.
        cure: the command that cures it, else what to do in a few words, else None.
        details: more lines, such as the ids of what is meant.
    """

    severity: Severity
    key: str
    message: str
    cure: str | None = None
    details: tuple[str, ...] = ()


class Checked(NamedTuple):
    """What a check gave.

    Attributes:
        fine: what is as it should be, in words; "" if that is not worth a word.
        skipped: what was not looked at, in words, and why.
    """

    findings: tuple[Finding, ...] = ()
    fine: str = ""
    skipped: str = ""


class Scope(NamedTuple):
    """What is examined, and how thoroughly.

    Attributes:
        now: epoch seconds.
        full: everything, however long it takes.
        read_whole: the biggest store of which every page is read without ``full``, in bytes.
    """

    home: Home
    environ: Mapping[str, str]
    now: float
    full: bool = False
    read_whole: int = READ_WHOLE

    @property
    def path(self) -> Path:
        """The store."""
        return self.home.store


class Subject(NamedTuple):
    """An open store that is examined.

    Attributes:
        size: bytes of all its pages.
        schema: the schema's number, or None.
        must_be_brief: a writer has to wait for as long as a question takes.
    """

    scope: Scope
    store: Store
    size: int
    schema: int | None
    must_be_brief: bool

    @property
    def is_sampled(self) -> bool:
        """It is too big to be read whole without being asked to, or beside a writer."""
        is_big = self.size > self.scope.read_whole
        return is_big and (self.must_be_brief or not self.scope.full)


class StoreFacts(NamedTuple):
    """What a store is, beside what is wrong with it; None stands for what cannot be told.

    Attributes:
        size: bytes of the file.
        wal_size: bytes of its write-ahead log.
        free: bytes of pages that hold nothing.
        journal_mode: ``wal`` or ``rollback``, by its header.
        indexes: the state of each search index by its name.
    """

    size: int | None = None
    wal_size: int | None = None
    free: int | None = None
    sqlite: str = ""
    schema: int | None = None
    journal_mode: str | None = None
    file_system: str | None = None
    conversations: int | None = None
    sessions: int | None = None
    messages: int | None = None
    indexes: Mapping[str, str] = {}


class Diagnosis(NamedTuple):
    """Everything that was found.

    Attributes:
        findings: the worst first.
        fine: what is as it should be.
        checked: the keys of the checks that were made.
        skipped: what was not looked at.
    """

    facts: StoreFacts
    findings: tuple[Finding, ...]
    fine: tuple[str, ...]
    checked: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def worst(self) -> Severity:
        """The worst there is; INFO if there is nothing."""
        return self.findings[0].severity if self.findings else Severity.INFO

    @property
    def problems(self) -> int:
        """How many findings there is something to be done about."""
        return len(self.to_do().findings)

    def to_do(self) -> Self:
        """Return nothing but what there is something to be done about."""
        findings = [f for f in self.findings if f.severity in {Severity.DAMAGE, Severity.WARNING}]
        return self._replace(findings=tuple(findings), fine=(), skipped=())


def in_order(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Sort findings, the worst first, and as they were found among equals."""
    order = list(Severity)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))


def some(names: list[str], most: int = 5) -> tuple[str, ...]:
    """Return names to be shown as details: not more than a few, and how many more there are."""
    if len(names) <= most:
        return tuple(names)
    return (*names[:most], f"… {len(names) - most:,} more")
