"""What is around a store: who has it open, the gateway, notes, configuration, profiles, trash."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hermes_sessions.errors import StoreDamaged, UserError
from hermes_sessions.home import sibling_stores
from hermes_sessions.own_files import log_file, trash_directory
from hermes_sessions.processes import process_exists
from hermes_sessions.store.connect import file_facts, open_store
from hermes_sessions.store.diagnosis_findings import Checked, Finding, Severity, some
from hermes_sessions.store.diagnosis_links import missing_sessions
from hermes_sessions.store.holders import describe
from hermes_sessions.text import plural, size
from hermes_sessions.times import ago

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.store.diagnosis_findings import Scope, Subject
    from hermes_sessions.store.holders import Holder, Scan

_GATEWAY_FILES: Final = ("gateway.pid", "gateway.lock", "gateway_state.json")


def check_holders(scan: Scan) -> Checked:
    """Name the processes that have the store open."""
    findings = [
        Finding(Severity.HELD, "held", f"{_who(holder)} has it open") for holder in scan.holders
    ]
    if scan.unknown:
        message = "there may be processes that have it open and cannot be seen from here"
        findings.append(Finding(Severity.INFO, "holders-unknown", message, None, (scan.unknown,)))
    return Checked(tuple(findings), "" if scan.holders or scan.unknown else "nobody has it open")


def _who(holder: Holder) -> str:
    """Write ``gateway (pid 4411, hermes gateway run)``."""
    name, _, command = describe(holder).partition("): ")
    return f"{name}, {command})" if command else name


def check_gateway(scope: Scope) -> Checked:
    """Tell whether a gateway serves this home, and whether it could be asked to delete."""
    home = scope.home
    if home.path is None or not _may_have_gateway(home.path):
        return Checked()
    from hermes_sessions.gateway import API, find_endpoints, gateway_pid

    pid = gateway_pid(home.path)
    if pid is None:
        return Checked()
    known = any(endpoint.kind == API for endpoint in find_endpoints(home, scope.environ))
    details = (
        "its API key is known here: prune can ask it to delete"
        if known
        else "its API key is not known here (API_SERVER_KEY): to prune, stop it first",
    )
    message = f"a gateway serves this home (pid {pid})"
    return Checked((Finding(Severity.HELD, "gateway", message, None, details),))


def _may_have_gateway(home: Path) -> bool:
    """Tell whether there is any file of a gateway, which may be another profile's."""
    root = home.parent.parent if home.parent.name == "profiles" else home
    homes = {home, root, *root.glob("profiles/*")}
    return any((each / name).exists() for each in homes for name in _GATEWAY_FILES)


def check_notes(subject: Subject) -> Checked:
    """Look for notes of terminals, and claims of chats, that lead nowhere any more."""
    home = subject.scope.home.path
    if home is None:
        return Checked()
    findings = []
    notes = _notes(home)
    gone = set(missing_sessions(subject.store, sorted(set(notes.values()))))
    lost = sorted(name for name, session_id in notes.items() if session_id in gone)
    if lost:
        noun = plural(len(lost), "terminal")
        verb = "notes" if len(lost) == 1 else "note"
        message = f"{noun} {verb} a session that is gone; -c passes over that"
        findings.append(Finding(Severity.INFO, "stale-notes", message, None, some(lost)))
    ended = _ended_chats(home)
    if ended:
        verb = "is" if ended == 1 else "are"
        message = f"{plural(ended, 'chat')} {verb} noted as open whose process has ended"
        findings.append(Finding(Severity.INFO, "stale-chats", message))
    return Checked(tuple(findings))


def _notes(home: Path) -> dict[str, str]:
    """Return the session that each terminal was last in, by the name of the note."""
    found = {}
    for path in sorted((home / "terminal-sessions").glob("*")):
        value = _read_json(path)
        if isinstance(value, dict) and isinstance(value.get("session_id"), str):
            found[path.name] = value["session_id"]
    return found


def _ended_chats(home: Path) -> int:
    value = _read_json(home / "runtime" / "active_sessions.json")
    entries = value.get("entries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return 0
    pids = [entry.get("pid") for entry in entries if isinstance(entry, dict)]
    return sum(isinstance(pid, int) and pid > 0 and not process_exists(pid) for pid in pids)


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None


def check_profiles(scope: Scope) -> Checked:
    """Look whether the stores of the other profiles can be read."""
    findings = []
    siblings = sibling_stores(scope.home)
    if not siblings:
        return Checked()
    for name, path in siblings:
        try:
            if file_facts(path).is_crash_leftover:
                continue  # to read it would take a copy of it
            with open_store(path) as store:
                store.value("SELECT max(id) FROM messages")
        except UserError as error:
            is_damaged = isinstance(error, StoreDamaged)
            what = "is damaged" if is_damaged else "cannot be read"
            findings.append(
                Finding(
                    Severity.WARNING,
                    "profile-unreadable",
                    f"the store of profile {name} {what}",
                    f"hermes-sessions -p {name} doctor",
                    (error.message,),
                )
            )
    fine = "" if findings else f"{plural(len(siblings), 'other profile')} readable"
    return Checked(tuple(findings), fine)


def check_trash(scope: Scope) -> Checked:
    """Tell what our own trash holds."""
    files = list(trash_directory(scope.environ).glob("*.jsonl"))
    if not files:
        return Checked()
    stats = [path.stat() for path in files]
    total = size(sum(stat.st_size for stat in stats))
    oldest = ago(min(stat.st_mtime for stat in stats), scope.now)
    message = f"the trash holds {plural(len(files), 'deletion')} ({total}, the oldest {oldest})"
    log = log_file(scope.environ)
    details = (f"log: {log} ({size(log.stat().st_size)})",) if log.exists() else ()
    cure = "hermes-sessions trash list"
    return Checked((Finding(Severity.INFO, "trash", message, cure, details),))
