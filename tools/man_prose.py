"""What the man page says that no command says of itself.

A small markup keeps it readable: a blank line ends a paragraph; `literal` is what one types;
*NAME* stands for a value; a line that begins with ``: `` explains the line above it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hermes_sessions.errors import ExitCode


class Example(NamedTuple):
    """Command lines that show something; left out while the program has no such command."""

    command: str
    about: str
    lines: tuple[str, ...]


DATE: Final = "2026-11-30"
"""When the page was last written; a fixed date, so that the same program gives the same page."""

DESCRIPTION: Final = """
Hermes Agent keeps its chats in one SQLite database, the store: `state.db` in a Hermes home.
`hermes-sessions` shows what is in a store, finds a chat again, hands it over to Hermes to go on
with, and keeps the store in order. It works on the file itself: Hermes need not run, and may.

home
: A directory of Hermes: `~/.hermes`, the one that `HERMES_HOME` names, or a profile below
either.

session
: One record of the store. Hermes begins a new one when it compresses a long chat, when a chat
is branched, and when an agent delegates a task.

conversation
: What a person sees as one chat: a session and every session that continues it after a
compression. Its id is the id of the newest of them. A session that was never compressed is a
conversation of its own. Commands act on conversations unless they say session.

branch, delegate
: A branch is a conversation that was forked off another. A delegate is a session that a
conversation started for a part of its work; delegates are counted but not listed, unless asked
for.

workspace
: The git repository that a session recorded, else the directory it was in.

Commands that only read open the store for reading, and create or change nothing in the home.
They can be used on a store that Hermes is writing to.
"""

REFERENCES: Final = """
Where a command takes *REF*, these rules are tried in this order. The first one that finds
something decides.

1. `latest`
: The newest conversation of a terminal: the newest one of the current workspace, else the
newest of all. Archived, hidden and empty conversations are passed over.

2. `-`
: The conversation that this terminal, or this pane of a multiplexer, was in last.

3. an id
: The id of any session. An earlier session of a conversation leads to the conversation.

4. a title
: Of conversations called *REF* and *REF* #2, #3 and so on, the most recently active one. Then a
title that differs in upper and lower case only.

5. the start of an id
: If only one conversation has an id that starts like this. Every character stands for itself.

6. the start of a title
: If only one conversation has a title that starts like this. Commands that change something do
not accept it.

A note on the standard error says so when *REF* named an earlier session of a conversation. If
two or more conversations answer to *REF*, nothing is done: they are listed with id, title and
last activity, and the exit status is 2. If none does, the exit status is 1.

`hermes-sessions which --explain` *REF* says which rule chose what.
"""

ANYWHERE: Final = """
These may stand before the command or behind it.
"""

BEFORE: Final = """
These stand before the command, or in its place.
"""

FILTERS: Final = """
Commands that work on many conversations share these options. A conversation is selected if it
matches all that are given; what limits the number of results comes after them. A conversation
of several sessions is judged as a whole: by what the newest of them recorded, with the
messages, tokens, tool calls and costs of all of them.

*AGE* is a number and a unit: `30m`, `5h`, `2d`, `1w`. A number alone is days; `1.5d` is
possible. *TIME* is an ISO date or date and time in the local zone (`2026-11-30`,
`2026-11-30T16:20`), `today`, `yesterday`, or an *AGE* ago. *TEXT* may stand anywhere, in upper
or lower case; it has no wildcards. Names and ids have to be equal.
"""

OUTPUT: Final = """
Results go to the standard output; notes, warnings, progress and questions to the standard
error.

On a terminal, tables fit its width, ids are never cut, and times are relative. Into a pipe or
file, lines are tab-separated without a heading, with full ids, and times in ISO 8601 with their
offset from UTC.

`--json` prints one JSON value and nothing else: an array for a list, `[]` for an empty one, an
object for everything else. `--json=id,title` picks fields; a name that is no field is an error
that lists the fields. Times are seconds since 1970; each has a second field with `_iso` at its
end.

`--ids` prints one id a line, and `-0` ends each with a NUL character for `xargs -0`.

Whatever stands in a store is made harmless for a terminal: escape sequences are removed and
control characters replaced. JSON has the text as it is, escaped. If a part of a store cannot be
read, the rest is shown, a note says so, and the exit status is not 0.
"""

CHANGES: Final = """
Commands that change something show what they are about to do, ask, and do it; what they find
changed since they showed it is not touched. Enter means yes where it can be taken back, and no
where something is deleted. `--yes` does not ask; `--dry-run` shows the whole plan and does
nothing. Without a terminal to ask on and without `--yes`, nothing is done and the exit status is
2.

They write beside a running Hermes in short transactions, keep the store's journal mode, and wait
for another writer as long as `--timeout` says. On a network file system, where SQLite's locks
cannot be trusted, they warn.

What `delete` and `prune` remove goes to the trash first: every row of every table, checked, in a
file that only you can read. `undo` brings it back as it was, for 30 days. Each run is recorded in
`deletions.log`.

`prune` can run from cron. With `--yes` it needs a filter, prints one line if something was
deleted and nothing if nothing was, and with `--quiet` it says nothing else.

`optimize` rewrites the store in its place, which takes up to the size of the store once more
beside it and as a temporary file; it begins only if there is room for both. It may be
interrupted, or killed, at any moment: nothing is lost, and the next run goes on. It can run from
cron, too, with `--if-needed`.
"""

ENVIRONMENT: Final = """
`HERMES_HOME`
: The Hermes home to use; `--home` and `--db` go before it. Default: `~/.hermes`.

`HERMES_BIN`
: The program that conversations are handed to. Default: `hermes`, looked for on `PATH`.

`HERMES_SESSIONS_PAGER`, `PAGER`
: The pager for long text on a terminal; the first one that is set. An empty value or `cat`
means none. Default: `less`, with the options `FRX` unless `LESS` is set.

`NO_COLOR`
: If set and not empty, no colours, unless `--color always` is given.

`CLICOLOR_FORCE`
: If set and not 0, colours even if the output is no terminal.

`SQLITE_TMPDIR`, `TMPDIR`
: Where the temporary file of `optimize` is written; the first one that is set. It has a copy of
everything that is in the store.

`HERMES_FTS5_CJK_SO`
: Hermes' own tokenizer, which a store with its search index for CJK needs. Default:
`lib/libfts5_cjk.so` in the home.

`XDG_STATE_HOME`
: Where this program keeps files of its own. Default: the place that is usual on the platform,
`~/.local/state` on Linux.
"""

FILES: Final = """
`~/.hermes/state.db`
: The store of the default profile.

`~/.hermes/profiles/`*NAME*`/state.db`
: The store of the profile *NAME*.

`~/.hermes/config.yaml`
: Hermes' configuration. Read are `session.terminal_continue`, `sessions.retention_days`,
`sessions.max_export_messages`, `sessions.max_import_messages` and
the keys `display.resume_`*NAME*, and, to ask a running gateway, where its API server is.

`~/.hermes/terminal-sessions/`
: Which terminal was in which conversation. Hermes and this program both write it when a
conversation is resumed.

`~/.local/state/hermes-sessions/`
: Files of this program: `trash`, `deletions.log`, when a store was `optimized`, and the sample
home of `--demo`.
`hermes-sessions where` prints the paths in use.
"""

EXIT_STATUS: Final = {
    ExitCode.OK: "Done; also if there was nothing to show or to do.",
    ExitCode.FAILED: "Not found, or failed. Nothing was done by half.",
    ExitCode.USAGE: "A usage error, a reference that means several conversations, or a question"
    " that could not be asked because there is no terminal.",
    ExitCode.REFUSED: "Refused for safety: the conversation is live elsewhere, the store is in"
    " use, or something has changed in the meantime.",
    ExitCode.DAMAGED: "The store is damaged, is no database, or is too new to be written.",
    ExitCode.BUSY: "Another process kept the store locked for too long. Try again.",
    ExitCode.NO_HERMES: "There is no program `hermes`; the command to run by hand is printed.",
    ExitCode.INTERRUPTED: "Interrupted.",
}

AFTER_EXIT_STATUS: Final = """
A command that hands over to Hermes ends with the exit status of Hermes.
"""

EXAMPLES: Final = (
    Example(
        "list",
        "What was done in this workspace in the last week:",
        ("hermes-sessions list --workspace . --newer-than 7d",),
    ),
    Example(
        "resume",
        "Go on where this terminal was, or with a conversation by the start of its title:",
        ("hermes-sessions -c", "hermes-sessions -c 'flaky checkout'"),
    ),
    Example(
        "search",
        "Find a conversation by what was said in it:",
        ("hermes-sessions search 'lock timeout'",),
    ),
    Example(
        "show",
        "Read the newest conversation, and save the last code block of another:",
        (
            "hermes-sessions show latest --transcript",
            "hermes-sessions show 'regex for invoice numbers' -x > invoice.py",
        ),
    ),
    Example(
        "list",
        "The longest conversations, for another program:",
        ("hermes-sessions list --sort messages -n 5 --json=id,title,message_count",),
    ),
    Example(
        "prune",
        "See what would be deleted, before anything is:",
        ("hermes-sessions prune --older-than 90d --dry-run",),
    ),
    Example(
        "prune",
        "Every night from cron: delete what has been idle for three months, quietly:",
        ("hermes-sessions -q prune --older-than 90d --yes",),
    ),
    Example(
        "optimize",
        "And then: cure the search index, make the file smaller if it is worth it, and tell what "
        "is not well:",
        ("hermes-sessions -q optimize --if-needed", "hermes-sessions -q doctor"),
    ),
    Example(
        "export",
        "A backup of everything, and one conversation as a page to share:",
        (
            "hermes-sessions export backup.jsonl",
            "hermes-sessions export --format html --session-id latest -o chat.html --redact",
        ),
    ),
    Example(
        "trash",
        "See what was deleted and can be brought back:",
        ("hermes-sessions trash",),
    ),
    Example("list", "Look around in the sample home:", ("hermes-sessions --demo list",)),
)

SEE_ALSO: Final = """
`less`(1), `sqlite3`(1), `xargs`(1)
"""
