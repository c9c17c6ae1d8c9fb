"""Write the man page and the completion scripts from the program's own commands.

python tools/generate.py            writes the files
python tools/generate.py --check    says which of them are not what it would write
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from command_tree import read_tree
from complete_bash import bash_script
from complete_fish import fish_script
from complete_zsh import zsh_script
from man_page import man_page

if TYPE_CHECKING:
    from command_tree import Command

ROOT = Path(__file__).resolve().parent.parent


def generated_files(root: Command) -> dict[str, str]:
    """Return the text of every generated file by its path in the repository."""
    return {
        "completions/hermes-sessions.bash": bash_script(root),
        "completions/_hermes-sessions": zsh_script(root),
        "completions/hermes-sessions.fish": fish_script(root),
        "man/hermes-sessions.1": man_page(root),
    }


def drifted(root: Path, files: dict[str, str]) -> list[str]:
    """Return the paths of the files that are not what they should be."""
    return [
        name
        for name, text in files.items()
        if not (root / name).is_file() or (root / name).read_text("utf-8") != text
    ]


def main() -> int:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="Write the man page and the completion scripts.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 on a difference"
    )
    options = parser.parse_args()
    files = generated_files(read_tree())
    stale = drifted(ROOT, files)
    for name in stale:
        if options.check:
            print(f"{name} is not what tools/generate.py writes: run it", file=sys.stderr)
            continue
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(files[name], "utf-8")
        print(f"wrote {name}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
