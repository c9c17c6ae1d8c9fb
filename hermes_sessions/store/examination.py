"""Everything that is looked at to tell whether a store is well, in one go.

Nothing here writes. What needs the file itself is looked at before it is opened or after it is
closed, since to close another descriptor of it would drop the locks of SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import StoreBusy, StoreDamaged, StoreMissing, UserError
from hermes_sessions.store import diagnosis_file as file_checks
from hermes_sessions.store import diagnosis_home as home_checks
from hermes_sessions.store import diagnosis_links as link_checks
from hermes_sessions.store import diagnosis_rows as row_checks
from hermes_sessions.store.connect import file_facts
from hermes_sessions.store.diagnosis_config import check_config
from hermes_sessions.store.diagnosis_findings import (
    Checked,
    Diagnosis,
    Finding,
    Severity,
    StoreFacts,
    Subject,
    in_order,
)
from hermes_sessions.store.diagnosis_indexes import check_indexes
from hermes_sessions.store.diagnosis_pages import check_free_pages, check_pages
from hermes_sessions.store.diagnosis_schema import check_schema
from hermes_sessions.store.filesystem import file_system
from hermes_sessions.store.holders import find_holders
from hermes_sessions.store.pages import read_pages
from hermes_sessions.store.writing import schema_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hermes_sessions.store.connect import FileFacts, Store
    from hermes_sessions.store.diagnosis_findings import Scope
    from hermes_sessions.store.holders import Scan


class _Check(NamedTuple):
    """A check of an open store.

    Attributes:
        key: what it is called among what was checked.
        what: what it looks at, in words.
    """

    key: str
    what: str
    run: Callable[[Subject], Checked]


_CHECKS = (
    _Check("free-pages", "free pages", check_free_pages),
    _Check("schema", "the schema", check_schema),
    _Check("titles", "titles", link_checks.check_titles),
    _Check("orphans", "orphans", link_checks.check_orphans),
    _Check("parents", "parents", link_checks.check_parents),
    _Check("keys", "references", link_checks.check_keys),
    _Check("json", "settings and tool calls", row_checks.check_json),
    _Check("times", "times", row_checks.check_times),
    _Check("flags", "live messages", row_checks.check_flags),
    _Check("counters", "counters", row_checks.check_counters),
    _Check("leases", "claims", row_checks.check_leases),
    _Check("notes", "notes of terminals", home_checks.check_notes),
)


def examine(
    scope: Scope,
    opened: Callable[[], AbstractContextManager[Store]],
    step: Callable[[str], object],
) -> Diagnosis:
    """Examine a store and what is around it.

    Args:
        scope: what, and how thoroughly.
        opened: opens the store.
        step: told in words what is looked at next.

    Raises:
        StoreMissing: there is no such file.
        StoreBusy: a writer kept it locked.
    """
    return _Examination(scope, opened, step).run()


class _Examination:
    """One examination, and what was found so far."""

    def __init__(
        self,
        scope: Scope,
        opened: Callable[[], AbstractContextManager[Store]],
        step: Callable[[str], object],
    ) -> None:
        self._scope = scope
        self._opened = opened
        self._step = step
        self._findings: list[Finding] = []
        self._fine: list[str] = []
        self._checked: list[str] = []
        self._skipped: list[str] = []
        self._facts = StoreFacts(
            sqlite=file_checks.sqlite_version(), file_system=file_system(scope.path)
        )

    def run(self) -> Diagnosis:
        """Look at the file, at what is in it, and at what is around it."""
        self._step("the file")
        scan = find_holders(self._scope.path)
        file = self._read_header()
        if file is not None:
            self._facts = self._facts._replace(
                size=file.size,
                wal_size=file.wal_size,
                journal_mode="wal" if file.wal_header else "rollback",
            )
            self._open(file, scan)
        self._step("what is around it")
        self._look_around(file, scan)
        return Diagnosis(
            self._facts,
            in_order(tuple(self._findings)),
            tuple(self._fine),
            tuple(self._checked),
            tuple(self._skipped),
        )

    def _read_header(self) -> FileFacts | None:
        """Look at the header; None if there is no use in opening the file."""
        try:
            facts = file_facts(self._scope.path)
        except StoreMissing:
            raise
        except StoreDamaged:
            self._add("file", Checked((file_checks.why_not_a_database(self._scope),)))
        except UserError as error:
            self._add("file", Checked((_unreadable(error),)))
        else:
            self._add("file", Checked())
            return facts
        self._skipped.append("what is in the store")
        return None

    def _open(self, file: FileFacts, scan: Scan) -> None:
        """Open the store and look at what is in it, as far as it can be read."""
        must_be_brief = bool(scan.holders or scan.unknown) and not file.wal_header
        try:
            with self._opened() as store:
                self._look_inside(store, file, must_be_brief=must_be_brief)
        except StoreBusy:
            raise
        except StoreDamaged as error:
            self._findings.append(file_checks.why_malformed(self._scope.path, error))
            self._skipped.append("what is in the store")
        except UserError as error:
            self._findings.append(_unreadable(error))
            self._skipped.append("what is in the store")

    def _look_inside(self, store: Store, file: FileFacts, *, must_be_brief: bool) -> None:
        pages = read_pages(store)
        size, schema = pages.total_bytes, schema_version(store)
        subject = Subject(self._scope, store, size, schema, must_be_brief)
        self._facts = self._facts._replace(free=pages.free_bytes, schema=schema)
        if not file.wal_header:  # what is in a log makes the file longer only later
            self._add("length", file_checks.check_length(self._scope.path, size))
        self._add("pages", check_pages(subject, lambda table: self._step(f"pages of {table}")))
        for check in _CHECKS:
            self._run(check, subject)
        if subject.is_sampled:
            self._skipped.append(row_checks.SKIPPED)
        if self._is_damaged:  # an index cannot be judged by rows that cannot be read
            self._skipped.append("the search indexes (a part of the store cannot be read)")
        else:
            self._run(_Check("indexes", "the search indexes", self._check_indexes), subject)
        self._run(_Check("counts", "how much there is", self._count), subject)

    def _check_indexes(self, subject: Subject) -> Checked:
        checked, states = check_indexes(subject)
        self._facts = self._facts._replace(indexes=states)
        return checked

    def _count(self, subject: Subject) -> Checked:
        checked, self._facts = link_checks.check_counts(subject, self._facts)
        return checked

    def _run(self, check: _Check, subject: Subject) -> None:
        """Run a check; what cannot be read is damage, and that is told once."""
        self._step(check.what)
        try:
            self._add(check.key, check.run(subject))
        except StoreDamaged as error:
            if not self._is_damaged:
                self._findings.append(file_checks.why_unreadable(self._scope.path, error))
            self._skipped.append(f"{check.what} (a part of the store cannot be read)")

    def _look_around(self, file: FileFacts | None, scan: Scan) -> None:
        scope, facts = self._scope, self._facts
        if file is not None:
            is_held = bool(scan.holders or scan.unknown)
            self._add("logs", file_checks.check_logs(scope.path, file, is_held=is_held))
            self._add("sqlite", file_checks.check_sqlite(facts.sqlite, wal_header=file.wal_header))
        self._add("permissions", file_checks.check_permissions(scope, facts.schema))
        self._add("file-system", file_checks.check_file_system(facts.file_system))
        self._add("leftovers", file_checks.check_leftovers(scope.path))
        self._add("holders", home_checks.check_holders(scan))
        self._add("gateway", home_checks.check_gateway(scope))
        self._add("config", check_config(scope.home.path))
        self._add("profiles", home_checks.check_profiles(scope))
        self._add("trash", home_checks.check_trash(scope))

    def _add(self, key: str, result: Checked) -> None:
        self._checked.append(key)
        self._findings += result.findings
        self._fine += filter(None, [result.fine])
        self._skipped += filter(None, [result.skipped])

    @property
    def _is_damaged(self) -> bool:
        return any(finding.severity is Severity.DAMAGE for finding in self._findings)


def _unreadable(error: UserError) -> Finding:
    return Finding(Severity.WARNING, "unreadable", error.message, error.hint, error.details)
