"""What ``doctor`` said, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from support import Outcome

OPTIMIZE = "hermes-sessions optimize"
RECOVER = (
    "hermes sessions recover --source {home}/state.db --output {home}/state-recovered.db"
    " --allow-partial"
)


def found(report: dict[str, Any], home: Path) -> list[str]:
    """Return severity, key and cure of what was found, sorted.

    The file system that the tests run on is left out.
    """
    findings = [
        f"{each['severity']} {each['key']}" + (f": {each['cure']}" if each["cure"] else "")
        for each in report["findings"]
        if each["key"] != "file-system"
    ]
    return sorted(finding.replace(str(home), "{home}") for finding in findings)


def keys(outcome: Outcome) -> set[str]:
    """Return the keys of everything that was found."""
    return {finding["key"] for finding in outcome.json["findings"]}


def finding(outcome: Outcome, key: str) -> dict[str, Any]:
    """Return the finding of a key."""
    return next(dict(each) for each in outcome.json["findings"] if each["key"] == key)
