"""Merge the segments of a search index into one, in steps so short that nobody waits for them.

That makes searches faster, and it is what removes words of deleted messages: until then they are
in old segments, next to the note that they are gone (store facts §0, trap 12).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

    from hermes_sessions.store.writing import Writer

BESIDE_OTHERS: Final = 2_000
"""Pages of about 4 kB that one step writes so that nobody waits: some 150 ms."""

ALONE: Final = 8_000
"""Pages of a step if nobody can be waiting. Each step leaves a page half full, and is written to
the disk by itself, so fewer are better."""

_SPARE: Final = 4
"""Times as many steps as an index has pages for; a writer beside us makes new ones all the time."""


def merge(writer: Writer, name: str, at_once: int) -> Generator[float]:
    """Merge one index, so many pages at once; yields about how much is done, from 0 to 1.

    FTS5 is told by a negative number to merge everything, and by positive ones to go on; it has
    nothing more to do when it changed no row but that of the command (sqlite.org/fts5.html §6.7).

    Raises:
        UserError: it cannot be read; the index is as it was.
    """
    with writer.transaction():
        pages = writer.store.value(f"SELECT count(*) FROM {name}_data")
    steps = int(str(pages)) // at_once + 1
    for number in range(_SPARE * steps + 2):
        with writer.transaction():
            before = _changes(writer)
            writer.run(
                f"INSERT INTO {name}({name}, rank) VALUES ('merge', :pages)",
                {"pages": at_once if number else -at_once},
            )
            is_done = _changes(writer) - before <= 1
        if is_done:
            return
        yield min(number / steps, 1.0)


def _changes(writer: Writer) -> int:
    return int(str(writer.store.value("SELECT total_changes()")))
