"""The tools of the sample: each turns what a script says of a call into Hermes' own form.

A function here gets what follows the tool's name in a script and the lines below it. It returns
the arguments of the call and the text of its result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = dict[str, Any]


def terminal(command: str, output: str) -> tuple[Arguments, str]:
    """Shape a shell command; a last line `[exit 1]` in a script is its exit code."""
    shown, mark, code = output.rpartition("[exit ")
    if not mark:
        shown, code = output, "0]"
    done = {"output": shown.rstrip("\n"), "exit_code": int(code.rstrip("]")), "error": None}
    return {"command": command}, json.dumps(done, ensure_ascii=False)


def read_file(path: str, text: str) -> tuple[Arguments, str]:
    """Shape the reading of a file, which Hermes shows with line numbers."""
    lines = text.splitlines()
    content = "\n".join(f"{number}|{line}" for number, line in enumerate(lines, start=1))
    read = {"content": content, "total_lines": len(lines), "file_size": len(text.encode())}
    return {"path": path}, json.dumps(read, ensure_ascii=False)


def write_file(path: str, text: str) -> tuple[Arguments, str]:
    """Shape the writing of a file."""
    written = {"bytes_written": len(text.encode()), "dirs_created": False}
    return {"path": path, "content": text}, json.dumps(written)


def patch(path: str, text: str) -> tuple[Arguments, str]:
    """Shape a change of a file, given as a diff."""
    body = f"*** Begin Patch\n*** Update File: {path}\n{text}\n*** End Patch"
    done = {"success": True, "files_modified": [path]}
    return {"mode": "patch", "patch": body}, json.dumps(done)


def web_search(query: str, text: str) -> tuple[Arguments, str]:
    """Shape a search; in a script each hit is a line `title | address | description`."""
    hits = [
        dict(zip(("title", "url", "description"), line.split(" | "), strict=True))
        for line in text.splitlines()
    ]
    return {"query": query}, json.dumps({"success": True, "data": {"web": hits}})


def delegate_task(goal: str, text: str) -> tuple[Arguments, str]:
    """Shape a piece of work given away; its session is a scene of its own."""
    done = {"results": [{"task_index": 0, "status": "completed", "summary": text}]}
    return {"goal": goal}, json.dumps(done)


TOOLS: dict[str, Callable[[str, str], tuple[Arguments, str]]] = {
    "terminal": terminal,
    "read_file": read_file,
    "write_file": write_file,
    "patch": patch,
    "web_search": web_search,
    "delegate_task": delegate_task,
}
