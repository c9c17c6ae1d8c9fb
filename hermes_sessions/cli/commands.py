"""The table of commands: what exists, without importing any of it."""

from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command.

    Attributes:
        name: as typed.
        module: in this package.
        summary: the first line of its help (checked by a test).
        group: the heading it stands under in the overview.
        function: of the module: the command.
    """

    name: str
    module: str
    summary: str
    group: str
    function: str = "command"


READING: Final = "Reading"
CHANGING: Final = "Changing"
DELETING: Final = "Deleting"
UPKEEP: Final = "Upkeep"
KEEPING: Final = "Exporting and importing"

COMMANDS: Final = (
    Command("list", "list_", "List conversations by last activity.", READING),
    Command("show", "show", "Show one conversation: facts, recap or the whole text.", READING),
    Command("search", "search", "Search the text of all conversations.", READING),
    Command("resume", "resume", "Continue a conversation in Hermes.", READING),
    Command("which", "which", "Print the id of the conversation a REF means.", READING),
    Command("workspaces", "workspaces", "List workspaces and what is in them.", READING),
    Command("stats", "stats", "Count conversations, messages, tokens and costs.", READING),
    Command("doctor", "doctor", "Tell whether the store is well, and what cures it.", READING),
    Command("where", "where", "Print the paths in use.", READING),
    Command("rename", "rename", "Give a conversation a title.", CHANGING),
    Command("new", "new", "Begin an empty conversation to resume later.", CHANGING),
    Command("fork", "fork", "Begin a branch with a copy of a conversation.", CHANGING),
    Command("close", "edits", "End open conversations.", CHANGING, "close"),
    Command("pin", "edits", "Keep conversations from every cleanup.", CHANGING, "pin"),
    Command("unpin", "edits", "Take pins back.", CHANGING, "unpin"),
    Command("archive", "edits", "Take conversations out of view.", CHANGING, "archive"),
    Command("unarchive", "edits", "Bring archived conversations back.", CHANGING, "unarchive"),
    Command("hide", "edits", "Hide conversations from listings.", CHANGING, "hide"),
    Command("unhide", "edits", "Show hidden conversations again.", CHANGING, "unhide"),
    Command("relocate", "relocate", "Rewrite directories after a project moved.", CHANGING),
    Command("export", "export", "Export conversations to files.", KEEPING),
    Command("import", "import_", "Import a backup or another agent's transcript.", KEEPING),
    Command("delete", "delete", "Delete conversations.", DELETING),
    Command("prune", "prune", "Delete old conversations.", DELETING),
    Command("undo", "undo", "Bring back what was deleted.", DELETING),
    Command("trash", "trash", "List, show or empty the trash.", DELETING),
    Command("optimize", "optimize", "Merge the search indexes and give free space back.", UPKEEP),
    Command(
        "refresh-prompts",
        "refresh_prompts",
        "Have system prompts rebuilt on the next turn.",
        UPKEEP,
    ),
    Command("repair-prompts", "repair_prompts", "Find and clear degraded system prompts.", UPKEEP),
)

BY_NAME: Final = {command.name: command for command in COMMANDS}
