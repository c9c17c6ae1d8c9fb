"""What the tests of completion share: a sample home, and the three shells."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import select
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[1]
PROGRAM = str(Path(sys.executable).with_name("hermes-sessions"))
DEMO = ROOT / "hermes_sessions" / "demo" / "state.db"
SCRIPTS = ROOT / "completions"
AWKWARD = """zap it's "50%" of $HOME & `ls` back\\slash; (x) [y] #z ~ <*> a=b:c"""
"""A title with everything that a shell would take for something else."""


def make_home(home: Path) -> Path:
    """Make a home with the demo store, one awkward title in it, and a profile."""
    (home / "profiles" / "work").mkdir(parents=True)
    shutil.copyfile(DEMO, home / "state.db")
    change_store(
        home,
        "UPDATE sessions SET title = :title WHERE id = '20261123_131500_f1a07e'",
        title=AWKWARD,
    )
    shutil.copyfile(home / "state.db", home / "profiles" / "work" / "state.db")
    return home


def change_store(home: Path, *statements: str, **parameters: object) -> None:
    connection = sqlite3.connect(home / "state.db")
    try:
        for statement in statements:
            connection.execute(statement, parameters)
        connection.commit()
    finally:
        connection.close()


def digest(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file()
    }


def environment(directory: Path, *, with_program: bool = True) -> dict[str, str]:
    path = os.environ["PATH"]
    return {
        "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{path}" if with_program else "/usr/bin:/bin",
        "HOME": str(directory),
        "XDG_STATE_HOME": str(directory / "state"),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
    }


class Shell(Protocol):
    """A shell in which the completion is installed."""

    def candidates(self, line: str) -> list[str]:
        """Return what may stand in place of the last word of ``hermes-sessions LINE``.

        Of a word ``--option=value`` it is the value.
        """

    def close(self) -> None: ...


class Bash:
    """Calls the completion function with the variables that bash sets for it."""

    _CODE = """
        source "$1"
        COMP_LINE=$2 COMP_POINT=${#2} COMP_CWORD=$(($# - 3)) COMP_WORDS=("${@:3}") COMP_TYPE=9
        _hermes_sessions
        ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
    """

    def __init__(self, environ: dict[str, str], scripts: Path = SCRIPTS) -> None:
        self._environ = environ
        self._script = str(scripts / "hermes-sessions.bash")

    def candidates(self, line: str) -> list[str]:
        line = f"hermes-sessions {line}"
        words = re.findall(r"[=:]|(?:\\.|[^\s=:\\])+", line)  # as bash divides them
        if line[-1].isspace():
            words.append("")
        found = _run(["bash", "-c", self._CODE, "bash", self._script, line, *words], self._environ)
        return [" ".join(shlex.split(candidate)) for candidate in found]

    def close(self) -> None:
        pass


class Fish:
    """Asks fish."""

    def __init__(self, environ: dict[str, str], scripts: Path = SCRIPTS) -> None:
        self._environ = environ
        self._script = str(scripts / "hermes-sessions.fish")

    def candidates(self, line: str) -> list[str]:
        code = "source $argv[1]; complete -C $argv[2]"
        command = ["fish", "--no-config", "-c", code, self._script, f"hermes-sessions {line}"]
        found = [candidate.partition("\t")[0] for candidate in _run(command, self._environ)]
        lead = re.search(r"--[a-z-]+=(?=\S*$)", line)
        return [c.removeprefix(lead.group()) for c in found] if lead else found

    def close(self) -> None:
        pass


def _run(command: list[str], environ: dict[str, str]) -> list[str]:
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


class Terminal:
    """An interactive shell on a pseudo-terminal; Ctrl-X d writes the line to a file."""

    def __init__(self, command: list[str], environ: dict[str, str], directory: Path) -> None:
        self._line = directory / "line"
        self._hits = directory / "hits"
        self._ours, theirs = pty.openpty()
        environ = {**environ, "LINE_FILE": str(self._line), "HITS_FILE": str(self._hits)}
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
        )
        os.close(theirs)
        self.completed("echo ready")

    def completed(self, line: str) -> str:
        """Type a line and a TAB, and return the line that becomes of it."""
        self._line.unlink(missing_ok=True)
        self._hits.unlink(missing_ok=True)
        os.write(self._ours, f"{line}\t\x18d".encode())
        deadline = time.monotonic() + 30
        screen = b""
        while not self._line.exists():
            assert time.monotonic() < deadline, screen.decode(errors="replace")
            if select.select([self._ours], [], [], 0.02)[0]:
                screen += os.read(self._ours, 65_536)
        return self._line.read_text("utf-8").removesuffix("\n")

    def candidates(self, line: str) -> list[str]:
        """Return the matches that zsh was given."""
        self.completed(f"hermes-sessions {line}")
        if not self._hits.exists():
            return []
        return list(dict.fromkeys(self._hits.read_text("utf-8").splitlines()))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


def zsh(environ: dict[str, str], directory: Path, scripts: Path = SCRIPTS) -> Terminal:
    """Start zsh with the script in its function path; all matches are noted in a file."""
    (directory / ".zshrc").write_text(
        f"""
        PS1='$ '
        fpath=({shlex.quote(str(scripts))} $fpath)
        autoload -U compinit && compinit -u -d {shlex.quote(str(directory / "dump"))}
        compadd() {{
            if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\\ * ]]; then
                local -a hits=()
                builtin compadd -O hits "$@"
                (( $#hits )) && print -rl -- $hits >>$HITS_FILE
            fi
            builtin compadd "$@"
        }}
        note() {{ print -r -- "$BUFFER" >$LINE_FILE.new; mv $LINE_FILE.new $LINE_FILE; BUFFER= }}
        zle -N note && bindkey '^Xd' note
        """
    )
    return Terminal(["zsh", "-i"], {**environ, "ZDOTDIR": str(directory)}, directory)


def bash(environ: dict[str, str], directory: Path) -> Terminal:
    """Start an interactive bash that has sourced the script."""
    (directory / "bashrc").write_text(
        f"""
        PS1='$ '
        source {shlex.quote(str(SCRIPTS / "hermes-sessions.bash"))}
        note() {{
            printf '%s\\n' "$READLINE_LINE" >"$LINE_FILE.new"
            mv "$LINE_FILE.new" "$LINE_FILE"
            READLINE_LINE='' READLINE_POINT=0
        }}
        bind -x '"\\C-xd": note'
        """
    )
    return Terminal(
        ["bash", "--noprofile", "--rcfile", str(directory / "bashrc"), "-i"], environ, directory
    )


def start(name: str, directory: Path, scripts: Path = SCRIPTS) -> Shell:
    """Start a shell to ask for candidates."""
    environ = environment(directory)
    if name == "zsh":
        return zsh(environ, directory, scripts)
    return Bash(environ, scripts) if name == "bash" else Fish(environ, scripts)
