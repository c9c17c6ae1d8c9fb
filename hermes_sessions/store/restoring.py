"""Undo: bring rows back from the trash exactly as they were."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.errors import StoreBusy, StoreDamaged, UserError
from hermes_sessions.store.dependents import (
    columns_that_name,
    has_unique_key,
)
from hermes_sessions.store.lineage import ORPHAN
from hermes_sessions.store.naming import free_title, owners
from hermes_sessions.store.rows import RowWriter
from hermes_sessions.store.snapshots import PROMPTS
from hermes_sessions.trash import add_note, list_entries, notes, read_rows
from hermes_sessions.trash_format import DANGLING, DETACHED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.writing import Writer
    from hermes_sessions.trash import Entry, Rows, Trashed


_TARGET: Final = 0.2
"""Seconds after which a transaction takes up no other conversation."""


class Restored(NamedTuple):
    """What became of a conversation of the trash.

    Attributes:
        reason: why it was not brought back; None: it was.
        remarks: what is not as it was.
    """

    trashed: Trashed
    reason: str | None
    remarks: tuple[str, ...] = ()


class _Link(NamedTuple):
    """A session and the one it hangs off; one of them, ``absent``, is not in the store."""

    child: str
    parent: str
    absent: str


class _NumbersTaken(Exception):  # noqa: N818 - reads as the fact it states
    """Other messages have the numbers of those that come back."""


def present(store: Store, trashed: Trashed) -> list[str]:
    """Return those sessions of a conversation of the trash that are in the store.

    Of rows that belonged to no session, also those whose messages are there.
    """
    ids = {"ids": json.dumps(trashed.session_ids)}
    rows = store.rows(
        "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id", ids
    )
    if not rows and trashed.source == ORPHAN:
        rows = store.rows(
            "SELECT DISTINCT session_id FROM messages"
            " WHERE session_id IN (SELECT value FROM json_each(:ids)) ORDER BY session_id",
            ids,
        )
    return [str(row[0]) for row in rows]


def restore(writer: Writer, entry: Entry, wanted: Sequence[Trashed]) -> Iterator[Restored]:
    """Bring conversations back, each whole or not at all; yield each when it is done.

    They come back in the reverse order, so that what others hang off is there before them, and as
    many in one transaction as a live writer does not notice: each commit costs several writes.

    Raises:
        StoreBusy, StoreDamaged: what was yielded before is back.
    """
    # What named something that was gone comes back as it was; the rest is looked after here.
    writer.run("PRAGMA foreign_keys = OFF")
    restorer = _Restorer(writer, entry)
    left = sorted(wanted, key=lambda one: one.number)
    coming = {i for trashed in wanted for i in trashed.session_ids}
    while left:
        done: list[Restored] = []
        links: list[_Link] = []
        with writer.transaction():
            began = time.monotonic()
            while left and (not done or time.monotonic() - began < _TARGET):
                trashed = left.pop()
                coming.difference_update(trashed.session_ids)
                done.append(_restore_one(restorer, trashed, coming))
                links += restorer.links
        _leave_word(entry, links)
        yield from done
    writer.run("PRAGMA foreign_keys = ON")


def _restore_one(restorer: _Restorer, trashed: Trashed, coming: set[str]) -> Restored:
    writer = restorer.writer
    if present(writer.store, trashed):
        return Restored(trashed, "it is there")
    for renumber in (False, True):
        writer.run("SAVEPOINT conversation")
        try:
            restorer.restore(trashed, coming, renumber=renumber)
        except (_NumbersTaken, sqlite3.IntegrityError, UserError) as error:
            # After some errors SQLite has ended the transaction, and others in it are gone, too.
            if isinstance(error, (StoreBusy, StoreDamaged)) or not writer.in_transaction:
                raise
            writer.run("ROLLBACK TO conversation")
            writer.run("RELEASE conversation")
            restorer.links.clear()
            if not isinstance(error, _NumbersTaken):
                return Restored(trashed, str(error))
        else:
            writer.run("RELEASE conversation")
            break
    return Restored(trashed, None, tuple(restorer.remarks))


def _leave_word(entry: Entry, links: Sequence[_Link]) -> None:
    """Note with what else is in the trash what it hung off, or what hung off it."""
    if not links:
        return
    for other in list_entries(entry.path.parent):
        ids = {i for trashed in other.conversations for i in trashed.session_ids}
        for link in links:
            if link.absent in ids and other.header.store == entry.header.store:
                add_note(other, hangs=[link.child, link.parent])


class _Restorer:
    """Brings conversations of one file of the trash back, each in a transaction.

    Attributes:
        remarks: what is not as it was, of the last one.
        links: those of the last one that could not be made.
    """

    def __init__(self, writer: Writer, entry: Entry) -> None:
        self.writer = writer
        self.entry = entry
        self.remarks: list[str] = []
        self.links: list[_Link] = []
        self._hangs = notes(entry, "hangs")
        has_prompts = PROMPTS in writer.store.capabilities.tables
        self._prompts = dict(notes(entry, "prompt")) if has_prompts else None
        self._titles_are_unique = _titles_are_unique(writer.store)
        self._rows = RowWriter(writer)
        self._trashed: Trashed
        self._coming: set[str]
        self._dangling: dict[object, object]
        self._numbers: dict[object, int] | None
        self._equal: Counter[str]

    def restore(self, trashed: Trashed, coming: set[str], *, renumber: bool) -> None:
        """Write all rows of a conversation.

        Args:
            trashed: the conversation.
            coming: sessions that are brought back after it.
            renumber: give its messages new numbers.

        Raises:
            _NumbersTaken: its messages must have new numbers.
            UserError: what is in the trash is damaged.
        """
        self.remarks, self.links = [], []
        self._trashed, self._coming, self._dangling = trashed, coming, {}
        self._numbers = {} if renumber else None
        self._equal = Counter()
        for rows in read_rows(self.entry, trashed):
            if rows.table == DANGLING:
                self._dangling.update((row[0], row[1]) for row in rows.rows)
            elif rows.table == DETACHED:
                self._attach([(str(row[0]), str(row[1])) for row in rows.rows])
            elif rows.table == "sessions":
                self._insert_sessions(rows)
            elif rows.table == "messages":
                self._insert_messages(rows)
            else:
                self._insert_dependents(rows)
        if renumber:
            self.remarks.append("its messages have new numbers: the old ones are taken")
        self._attach_as_noted()

    def _insert_sessions(self, rows: Rows) -> None:
        """Insert sessions; those whose title was taken last, when all others have theirs."""
        parent, title = rows.columns.index("parent_session_id"), rows.columns.index("title")
        losers = []
        for row in rows.rows:
            self._bring_prompts(dict(zip(rows.columns, row, strict=True)))
            row[parent] = self._parent_of(row[0], row[parent])
            if self._is_title_taken(row[title]):
                losers.append(row)
            else:
                self._rows.insert(rows, row)
        for row in losers:
            old, row[title] = row[title], free_title(self.writer.store, row[title])
            self.remarks.append(f"“{old}” is taken; it is “{row[title]}” now")
            self._rows.insert(rows, row)

    def _is_title_taken(self, title: object) -> bool:
        return (
            self._titles_are_unique
            and isinstance(title, str)
            and bool(owners(self.writer.store, title))
        )

    def _parent_of(self, session_id: object, parent: object) -> object:
        """Return the parent that a session can have now."""
        if (
            parent is None
            or parent in self._trashed.session_ids
            or self._dangling.get(session_id) == parent
            or self._has("sessions", "id", parent)
        ):
            return parent
        if parent not in self._coming:
            self.links.append(_Link(str(session_id), str(parent), str(parent)))
            self.remarks.append(f"{session_id} hung off a session that is gone")
        return None

    def _bring_prompts(self, session: dict[str, object]) -> None:
        """Bring back the prompt of a session and its set of tools, unless they are there.

        Raises:
            UserError: one of them was in the trash and cannot be read any more.
        """
        if self._prompts is None:
            return
        for key in filter(None, (session.get("system_prompt_hash"), session.get("tool_names"))):
            if key in self._prompts:
                self._rows.insert_prompt(PROMPTS, key, self._prompts[key])
            elif (
                self.entry.lacks_notes
                and not str(key).startswith(("[", "{"))  # that is a set of tools itself
                and not self._has(PROMPTS, "hash", key)
            ):
                raise UserError(f"what is in {self.entry.path} of its prompt is damaged")

    def _insert_messages(self, rows: Rows) -> None:
        """Insert messages with their numbers; what triggers then filled in is set back."""
        key = rows.columns.index("id")
        if self._numbers is None:
            if self._is_taken([row[key] for row in rows.rows]):
                raise _NumbersTaken
        else:
            self._give_numbers(rows, key, self._numbers)
        self._rows.insert_all(rows)
        self._set_back(rows, key)

    def _give_numbers(self, rows: Rows, key: int, numbers: dict[object, int]) -> None:
        """Give messages the next numbers, in their order, also where a number orders them."""
        following = self._last_number() + 1
        order = rows.columns.index("display_order") if "display_order" in rows.columns else key
        for number, row in enumerate(rows.rows, following):
            numbers[row[key]] = number
            row[key] = number
        for row in rows.rows:
            row[order] = numbers.get(row[order], row[order]) if order != key else row[key]

    def _set_back(self, rows: Rows, key: int) -> None:
        """Undo what a trigger has put where there was nothing."""
        for name in ("message_uid", "display_order"):
            if name not in rows.columns or name not in self._rows.columns_of("messages"):
                continue
            at = rows.columns.index(name)
            ids = [row[key] for row in rows.rows if row[at] is None]
            if ids:
                self.writer.run(
                    f"UPDATE messages SET {name} = NULL"
                    " WHERE id IN (SELECT value FROM json_each(:ids))",
                    {"ids": json.dumps(ids)},
                )

    def _attach(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Let sessions that lost their parent have it again, unless they have another one."""
        for child, parent in pairs:
            self.writer.run(
                "UPDATE sessions SET parent_session_id = :parent"
                " WHERE id = :child AND parent_session_id IS NULL",
                {"child": child, "parent": parent},
            )
            if child not in self._coming and not self._has("sessions", "id", child):
                self.links.append(_Link(child, parent, child))

    def _attach_as_noted(self) -> None:
        """Do what was noted when one of the two was brought back without the other one."""
        own = self._trashed.session_ids
        for child, parent in self._hangs:
            if (child in own or parent in own) and self._has("sessions", "id", parent):
                self._attach([(child, parent)])

    def _insert_dependents(self, rows: Rows) -> None:
        """Insert rows of another table; where one of them has its place taken, that one stays."""
        known = self._rows.columns_of(rows.table)
        if not known:
            self.remarks.append(f"this store has no table {rows.table} any more")
            return
        naming = columns_that_name(self.writer.store, rows.table, "messages")
        is_keyed = has_unique_key(self.writer.store, rows.table)
        taken = 0
        for row in rows.rows:
            for at, name in enumerate(rows.columns):
                if self._numbers and name in naming:
                    row[at] = self._numbers.get(row[at], row[at])
            if not is_keyed and not self._lacks(rows, row):
                continue
            if not self._rows.insert(rows, row, or_ignore=True) and not self._rows.count_equal(
                rows, row
            ):
                taken += 1
        if taken:
            self.remarks.append(f"of {rows.table} another row has the place of {taken:,}")

    def _lacks(self, rows: Rows, row: list[object]) -> bool:
        """Tell whether fewer rows like this are there than were; two conversations may share it."""
        name = f"{rows.table} {row}"
        self._equal[name] += 1
        return self._rows.count_equal(rows, row) < self._equal[name]

    def _has(self, table: str, column: str, value: object) -> bool:
        found = self.writer.store.value(
            f"SELECT 1 FROM {table} WHERE {column} = :value", {"value": value}
        )
        return found is not None

    def _is_taken(self, ids: list[object]) -> bool:
        found = self.writer.store.value(
            "SELECT 1 FROM messages WHERE id IN (SELECT value FROM json_each(:ids)) LIMIT 1",
            {"ids": json.dumps(ids)},
        )
        return found is not None

    def _last_number(self) -> int:
        """Return the highest number that a message has, or had."""
        store = self.writer.store
        last = store.value("SELECT max(id) FROM messages")
        if "sqlite_sequence" in store.capabilities.tables:
            last = store.value(
                "SELECT max(seq, :last) FROM sqlite_sequence WHERE name = 'messages'",
                {"last": last or 0},
            )
        return int(str(last or 0))


def _titles_are_unique(store: Store) -> bool:
    """Tell whether two sessions cannot have one title; old or damaged stores lack the index."""
    found = store.value(
        """
        SELECT 1 FROM pragma_index_list('sessions') AS l, pragma_index_info(l.name) AS i
        WHERE l."unique" AND i.name = 'title'"""
    )
    return found is not None
