"""The table of commands: what exists, without importing any of it."""

from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command.

    Attributes:
        name: as typed.
        module: in this package; its function ``command`` is the command.
        summary: the first line of its help (checked by a test).
        group: the heading it stands under in the overview.
    """

    name: str
    module: str
    summary: str
    group: str


READING: Final = "Reading"

COMMANDS: Final = (
    Command("list", "list_", "List conversations by last activity.", READING),
    Command("show", "show", "Show one conversation: facts, recap or the whole text.", READING),
    Command("search", "search", "Search the text of all conversations.", READING),
    Command("resume", "resume", "Continue a conversation in Hermes.", READING),
    Command("which", "which", "Print the id of the conversation a REF means.", READING),
    Command("workspaces", "workspaces", "List workspaces and what is in them.", READING),
    Command("where", "where", "Print the paths in use.", READING),
)

BY_NAME: Final = {command.name: command for command in COMMANDS}
