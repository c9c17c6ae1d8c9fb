"""The pages of a store: all of them, or in a big one those that cost little and a sample."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.dependents import quoted, table_columns
from hermes_sessions.store.diagnosis_file import RECOVER_NOTE, cause_of, recover_command
from hermes_sessions.store.diagnosis_findings import (
    OPTIMIZE,
    Checked,
    Finding,
    Severity,
    some,
)
from hermes_sessions.store.pages import (
    SCHEMA,
    complaints,
    is_of_value,
    read_pages,
    tables_with_pages,
)
from hermes_sessions.text import plural, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.diagnosis_findings import Subject

_BIG_TABLE: Final = 20_000
"""Rows of a table of which only a sample is read, in a big store."""

_SAMPLE: Final = 500
"""Rows of a sample, spread evenly over the table."""

_SEARCH: Final = ("messages_fts", "fts_")
"""How the names of tables begin that belong to a search index, or to one that is taken away."""

_SCHEMA_PLACE: Final = "the schema or free ones"
_FREE_SHARE, _FREE_BYTES = 0.25, 10_000_000
"""Free pages that are worth a word: more than either."""


def check_pages(subject: Subject, step: Callable[[str], object]) -> Checked:
    """Check the pages of every table that is no virtual one, and of its indexes.

    Args:
        subject: what is examined.
        step: told the name of the table that is about to be checked.
    """
    store = subject.store
    problems: dict[str, list[str]] = {}
    skipped: list[str] = []
    sampled = 0
    for table in tables_with_pages(store):
        if subject.is_sampled and table.startswith(_SEARCH):
            continue  # words of it are asked for, which tells more than a few of its pages
        step(table)
        try:
            if subject.is_sampled and _highest_row(store, table) > _BIG_TABLE:
                sampled += _read_sample(store, table)
            else:
                problems[table] = complaints(store, table, full=subject.scope.full)
        except StoreBusy:
            raise
        except StoreDamaged as error:
            problems[table] = [cause_of(error)]
        except UserError as error:  # such as an order of text that only its maker knows
            skipped.append(f"the pages of “{table}” ({cause_of(error)})")
    if subject.is_sampled:
        fine = f"{plural(sampled, 'row')} of big tables read as a sample" if sampled else ""
        why = f"bigger than {size(subject.scope.read_whole)}: --full reads them"
        if subject.scope.full:
            why = "a process that has the store open would have to wait: stop it first"
        skipped.append(f"every page ({why})")
    else:
        fine = "every page and index is sound" if subject.scope.full else "every page reads"
    findings = _findings(subject, {table: lines for table, lines in problems.items() if lines})
    is_fine = not findings and (subject.is_sampled or not skipped)
    return Checked(findings, fine if is_fine else "", "; ".join(skipped))


def check_free_pages(subject: Subject) -> Checked:
    """Tell how much of the file holds nothing, if that is a lot."""
    free = read_pages(subject.store).free_bytes
    if free <= _FREE_BYTES or free <= subject.size * _FREE_SHARE:
        return Checked()
    message = f"{size(free)} of {size(subject.size)} hold nothing any more"
    return Checked((Finding(Severity.INFO, "free-pages", message, OPTIMIZE),))


def _highest_row(store: Store, table: str) -> int:
    """Return the highest row id, which is no less than the number of rows; 0 if it has no ids."""
    if not _has_row_ids(store, table):
        return 0
    return int(str(store.value(f"SELECT coalesce(max(rowid), 0) FROM {quoted(table)}")))


def _has_row_ids(store: Store, table: str) -> bool:
    sql = store.value(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name", {"name": table}
    )
    return not re.search(r"\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$", str(sql), re.IGNORECASE)


def _read_sample(store: Store, table: str) -> int:
    """Read some rows of a table to their last byte, and into each of its indexes.

    Raises:
        StoreDamaged: something of that cannot be read.
    """
    name = quoted(table)
    low, high = (
        int(str(store.value(f"SELECT {end}(rowid) FROM {name}"))) for end in ("min", "max")
    )
    points = [low + (high - low) * n // (_SAMPLE - 1) for n in range(_SAMPLE)]
    touched = ", ".join(f"count({quoted(column)} || '')" for column in table_columns(store, table))
    row = store.row(
        f"""
        SELECT count(*), {touched} FROM {name} AS t NOT INDEXED
        WHERE t.rowid IN (
            SELECT (SELECT min(near.rowid) FROM {name} AS near WHERE near.rowid >= point.value)
            FROM json_each(:points) AS point
        )""",
        {"points": json.dumps(points)},
    )
    for index, condition in _indexes(store, table):
        _touch(store, name, index, condition)
    return int(str(row[0])) if row else 0


def _indexes(store: Store, table: str) -> list[tuple[str, str]]:
    """Return the indexes of a table, each with its condition, or "" if it holds every row."""
    rows = store.rows(
        "SELECT name, coalesce(sql, '') FROM sqlite_master"
        " WHERE type = 'index' AND tbl_name = :table",
        {"table": table},
    )
    indexes = []
    for name, sql in rows:
        parts = re.split(r"\bWHERE\b", str(sql), maxsplit=1, flags=re.IGNORECASE)
        indexes.append((str(name), f"WHERE {parts[1]}" if len(parts) > 1 else ""))
    return indexes


def _touch(store: Store, table: str, index: str, condition: str) -> None:
    """Read an index from its root to its first entry.

    Raises:
        StoreDamaged: it cannot be read.
    """
    try:
        store.rows(f"SELECT 1 FROM {table} INDEXED BY {quoted(index)} {condition} LIMIT 1")
    except (StoreBusy, StoreDamaged):
        raise
    except UserError:  # this SQLite has no use for it
        return


def _findings(subject: Subject, problems: dict[str, list[str]]) -> tuple[Finding, ...]:
    """Tell apart what is wrong with pages, what with those of an index, and odd values."""
    odd = [line for lines in problems.values() for line in lines if is_of_value(line)]
    broken = {
        table: [line for line in lines if not is_of_value(line)]
        for table, lines in problems.items()
    }
    own = [table for table, lines in broken.items() if lines and not table.startswith(_SEARCH)]
    search = [table for table, lines in broken.items() if lines and table.startswith(_SEARCH)]
    findings = []
    if own:
        findings.append(_damage(subject, own, [line for table in own for line in broken[table]]))
    if search:
        details = some([f"{table}: {line}" for table in search for line in broken[table]])
        message = "pages of the search index are damaged; it can be built anew"
        findings.append(Finding(Severity.WARNING, "search-index-pages", message, OPTIMIZE, details))
    if odd:
        message = f"{plural(len(odd), 'value')} of a type that does not belong there"
        findings.append(Finding(Severity.INFO, "odd-types", message, None, some(odd)))
    return tuple(findings)


def _damage(subject: Subject, tables: Sequence[str], lines: Iterable[str]) -> Finding:
    places = ", ".join(_SCHEMA_PLACE if t == SCHEMA else f"“{t}”" for t in tables)
    return Finding(
        Severity.DAMAGE,
        "pages",
        f"pages of {places} are damaged",
        recover_command(subject.scope.path),
        (*some(list(lines)), RECOVER_NOTE),
    )
