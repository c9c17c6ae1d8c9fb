"""Rows on their way to the trash: saved, and known by a digest to be still the same later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.store.snapshots import (
    digest,
    prompts_of,
    read_prompts,
    read_tables,
    snapshot,
)

if TYPE_CHECKING:
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.lineage import Unit
    from hermes_sessions.trash import TrashFile


class Labels(NamedTuple):
    """What a plan knows of a conversation.

    Attributes:
        messages: stored ones.
        fingerprint: of what the plan was made from.
    """

    title: str | None
    messages: int
    fingerprint: str


class Saver:
    """Writes the rows of conversations to the trash.

    Attributes:
        tables: those of the store that a conversation has rows in.
    """

    def __init__(self, store: Store, trash: TrashFile | None) -> None:
        """Look at a store; without ``trash`` rows are only known again."""
        self._store = store
        self._trash = trash
        self._prompts: set[str] = set()
        self.tables = read_tables(store)

    def save(self, unit: Unit, labels: Labels) -> str:
        """Write the rows of a conversation to the trash and return a digest of them."""
        store, trash, ids = self._store, self._trash, unit.session_ids
        if trash is None:
            return digest(store, self.tables, ids)
        fresh = [key for key in prompts_of(store, ids) if key not in self._prompts]
        for key, prompt in read_prompts(store, fresh):
            trash.note(prompt=[key, prompt])
            self._prompts.add(str(key))
        trash.begin(
            {
                "id": unit.id,
                "title": labels.title,
                "source": unit.conversation.source,
                "session_ids": list(ids),
                "messages": labels.messages,
            }
        )
        for part in snapshot(store, self.tables, ids):
            trash.rows(part.table, part.columns, part.rows)
        return trash.end(unit.id)

    def secure(self) -> None:
        """Bring what was saved onto the disk, and read it back; before that nothing may go."""
        if self._trash is not None:
            self._trash.secure()

    def is_same(self, unit: Unit, expected: str) -> bool:
        """Tell whether the rows of a conversation are still what was saved."""
        return digest(self._store, self.tables, unit.session_ids) == expected

    def note_kept(self, unit: Unit) -> None:
        """Note in the trash that a conversation was not deleted after all."""
        if self._trash is not None:
            self._trash.note(kept=unit.id)
