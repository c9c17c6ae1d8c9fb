"""What undo does when SQLite refuses a row: the error is told, and nothing comes back by half.

After some errors SQLite has ended the whole transaction, and with it what came back before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hermes_sessions.errors import UserError
from hermes_sessions.store.restoring import restore
from hermes_sessions.store.writing import open_writer
from hermes_sessions.trash import list_entries
from support import CLOCK, fingerprint
from test_list import message, session
from test_undo import (
    PARTLY,
    change,
    delete,
    differences,
    dump,
    make,
    run,
    session_ids,
    trash_files,
    trash_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from support import Cli

__all__ = ["make"]


def test_an_index_that_refuses_a_row_is_named_and_can_be_cured(make: Callable[..., Cli]) -> None:
    """SQLite ends the transaction; until the index is rebuilt nothing can come back."""
    cli = make(PARTLY)
    path = cli.home / "state.db"
    before = dump(path)
    delete(cli, *run(cli, "list", "--all", "-n", "0", "--ids").ok().lines[:14])
    between, trash = dump(path), fingerprint(trash_of(cli))
    outcome = run(cli, "undo", "--yes")
    assert outcome.code == 4
    assert f"the search index of {path} is damaged; the conversations are not" in outcome.stderr
    assert "hint: hermes-sessions optimize" in outcome.stderr
    assert differences(between, dump(path)) == []
    assert fingerprint(trash_of(cli)) == trash
    run(cli, "optimize", "--yes").ok()
    run(cli, "undo", "--yes").ok()
    after = dump(path)
    assert (
        differences(
            {name: before[name] for name in ("sessions", "messages")},
            {name: after[name] for name in ("sessions", "messages")},
        )
        == []
    )


REFUSAL = """
    CREATE TRIGGER refusal BEFORE INSERT ON messages WHEN new.session_id = 'b'
    BEGIN SELECT RAISE({}, 'the shelf is full'); END"""


def test_what_ends_the_transaction_is_told_and_brings_nothing_back(
    make: Callable[..., Cli],
) -> None:
    """A row that is refused costs its conversation; one that ends the transaction costs all."""
    three = [line for i in "abc" for line in (session(id=i), message(i, CLOCK))]
    cli = make("0.22.2", *three)
    path = cli.home / "state.db"
    before = dump(path)
    delete(cli, "a", "b", "c")
    change(cli, REFUSAL.format("ROLLBACK"))
    trash = fingerprint(trash_of(cli))
    outcome = run(cli, "undo", "--yes")
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "the shelf is full" in outcome.stderr
    assert not session_ids(cli) & {"a", "b", "c"}
    assert fingerprint(trash_of(cli)) == trash
    change(cli, "DROP TRIGGER refusal", REFUSAL.format("ABORT"))
    outcome = run(cli, "undo", "--yes")
    assert outcome.code == 1
    assert "not brought back: b, the shelf is full" in outcome.stderr
    assert session_ids(cli) & {"a", "b", "c"} == {"a", "c"}
    change(cli, "DROP TRIGGER refusal")
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(path)) == []
    assert trash_files(cli) == []


def test_a_full_disk_is_told_and_nothing_comes_back_by_half(make: Callable[..., Cli]) -> None:
    many = [message("a", CLOCK + n, f"{n} word " * 500) for n in range(50)]
    cli = make("0.22.2", session(id="a"), *many)
    path = cli.home / "state.db"
    before = dump(path)
    delete(cli, "a")
    change(cli, "VACUUM")
    between = dump(path)
    (entry,) = list_entries(trash_of(cli))
    with open_writer(path) as writer:
        writer.run("PRAGMA max_page_count = 1")  # as large as it is, and no larger
        with pytest.raises(UserError, match="is full") as caught:
            list(restore(writer, entry, entry.conversations))
    assert "free space" in str(caught.value.hint)
    assert differences(between, dump(path)) == []
    run(cli, "undo", "--yes").ok()
    assert differences(before, dump(path)) == []
