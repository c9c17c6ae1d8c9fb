"""The schema of a store: whether this program knows it, and whether it has what is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.store.diagnosis_findings import Checked, Finding, Severity, some
from hermes_sessions.store.writing import KNOWN_SCHEMA, missing_columns

if TYPE_CHECKING:
    from hermes_sessions.store.diagnosis_findings import Subject

_UPGRADE = "pip install --upgrade hermes-sessions"


def check_schema(subject: Subject) -> Checked:
    """Look at the schema's number, and at what reading and writing need whatever that says."""
    findings = []
    schema = subject.schema
    is_newer = schema is not None and schema > KNOWN_SCHEMA
    missing = missing_columns(subject.store)
    if missing:
        message = f"the store cannot be changed: it has no column {missing[0]}"
        cure = _UPGRADE if is_newer else "start a newer hermes on it once: it adds what is missing"
        findings.append(Finding(Severity.WARNING, "columns-missing", message, cure, some(missing)))
    if is_newer:
        findings.append(
            Finding(
                Severity.INFO,
                "schema-newer",
                f"schema {schema} is newer than what this program was tested with ({KNOWN_SCHEMA})",
                _UPGRADE,
                ("what is there is read and written by its columns, whatever the number",),
            )
        )
    if schema is None:
        message = "the store does not say which schema it has"
        findings.append(Finding(Severity.INFO, "schema-unknown", message))
    return Checked(tuple(findings))
