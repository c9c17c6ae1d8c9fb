"""Redaction of what is exported: every string that leaves, counted by kind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hermes_sessions.models import Message, Session
from hermes_sessions.redact import redact_record, redact_text
from hermes_sessions.text import plural

if TYPE_CHECKING:
    from hermes_sessions.export.documents import Document


class Redactor:
    """Redacts one export.

    Attributes:
        counts: how many secrets of each kind were replaced.
    """

    def __init__(self) -> None:
        """Begin with nothing found."""
        self.counts: Counter[str] = Counter()

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Redact the row of a session or message.

        Raises:
            RedactionFailed: then nothing may be written.
        """
        redacted, counts = redact_record(record)
        self.counts += counts
        return redacted

    def document(self, document: Document) -> Document:
        """Redact a transcript and everything that is said about it.

        Raises:
            RedactionFailed: then nothing may be written.
        """
        sessions = tuple(Session(**self.record(row._asdict())) for row in document.summary.sessions)
        preview = redact_text(document.summary.preview)
        self.counts += preview.counts
        messages = tuple(Message(**self.record(row._asdict())) for row in document.messages)
        summary = document.summary._replace(sessions=sessions, preview=preview.text)
        return document._replace(summary=summary, messages=messages)

    def in_words(self) -> str:
        """Say what was replaced: ``redacted 3 secrets: 2 github token, 1 jwt``."""
        if not self.counts:
            return "redacted nothing: no secret was found"
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.counts.most_common())
        return f"redacted {plural(sum(self.counts.values()), 'secret')}: {kinds}"
