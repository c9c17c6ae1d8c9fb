"""Documents of the stores of the corpus, for tests of the formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.export.documents import Document
from hermes_sessions.store.catalog import load_conversations, with_exact_activity
from hermes_sessions.store.connect import open_store
from hermes_sessions.store.messages import load_transcript
from hermes_sessions.store.summaries import summarise
from support import CLOCK, place_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hermes_sessions.models import Message

HIDDEN = "hidden"


def documents(
    name: str, directory: Path, change: Callable[[Path], None] | None = None
) -> list[Document]:
    """Load every readable conversation of a store of the corpus."""
    home = place_store(name, directory)
    if change:
        change(home / "state.db")
    found = []
    with open_store(home / "state.db") as store:
        conversations = with_exact_activity(store, load_conversations(store))
        for summary in summarise(store, None, conversations, CLOCK):
            try:
                messages = load_transcript(store, summary.conversation.session_ids)
            except StoreDamaged:
                continue
            found.append(Document(summary, shown(messages)))
    return found


def shown(messages: list[Message]) -> tuple[Message, ...]:
    """Leave hidden messages out."""
    return tuple(message for message in messages if message.display_kind != HIDDEN)
