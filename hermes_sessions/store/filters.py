"""One filter with one meaning, used by every command that selects conversations.

It is judged on the whole conversation: on the tip, falling back to earlier segments where the tip
has nothing recorded (R013, R057), with counts and costs of all segments together.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hermes_sessions.models import Filter, total_cost
from hermes_sessions.workspace import find_workspace, is_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.models import Conversation, Session


class Candidate(NamedTuple):
    """A conversation with what a filter looks at.

    Attributes:
        sessions: the rows of its segments, root first.
        messages: messages in its transcript, or None if they were not counted.
    """

    conversation: Conversation
    sessions: tuple[Session, ...]
    messages: int | None


def matcher(wanted: Filter) -> Callable[[Candidate], bool]:
    """Return the test for everything but the view (see ``Filter.shows``)."""
    default = Filter()
    tests = [
        (_TESTS[name], value)
        for name, value in wanted._asdict().items()
        if name in _TESTS and value != getattr(default, name)
    ]
    if wanted.workspace is not None:
        tests.append((_workspace_test(wanted.workspace), None))
    return lambda candidate: all(test(candidate, value) for test, value in tests)


def _latest(candidate: Candidate, field: str) -> str:
    """Return a field of the newest segment that has it, else ""."""
    values = (getattr(row, field) for row in reversed(candidate.sessions))
    return next((str(value) for value in values if value), "")


def _contains(field: str) -> Callable[[Candidate, Any], bool]:
    return lambda c, text: text.casefold() in _latest(c, field).casefold()


def _equals(field: str) -> Callable[[Candidate, Any], bool]:
    return lambda c, text: _latest(c, field) == text


def _total(candidate: Candidate, *fields: str) -> int:
    return sum(int(getattr(row, field)) for row in candidate.sessions for field in fields)


def _tokens(candidate: Candidate) -> int:
    return _total(candidate, "input_tokens", "output_tokens")


def _cost(candidate: Candidate) -> float:
    return total_cost(candidate.sessions).usd or 0.0


def _started_at(candidate: Candidate) -> float:
    return candidate.sessions[0].started_at or 0.0


_TESTS: Final[dict[str, Callable[[Candidate, Any], bool]]] = {
    "active_before": lambda c, bound: c.conversation.active_at < bound,
    "active_since": lambda c, bound: c.conversation.active_at >= bound,
    "started_before": lambda c, bound: _started_at(c) < bound,
    "started_since": lambda c, bound: _started_at(c) >= bound,
    "sources": lambda c, sources: c.conversation.source in sources,
    "exclude_sources": lambda c, sources: c.conversation.source not in sources,
    "cwd": lambda c, path: is_within(os.path.realpath(_latest(c, "cwd") or os.devnull), path),
    "title": lambda c, text: any(
        text.casefold() in (row.title or "").casefold() for row in c.sessions
    ),
    "model": _contains("model"),
    "branch": _contains("git_branch"),
    "provider": lambda c, name: _latest(c, "billing_provider").lower() == name.lower(),
    "user": _equals("user_id"),
    "chat_id": _equals("chat_id"),
    "chat_type": _equals("chat_type"),
    "end_reason": lambda c, reason: c.sessions[-1].end_reason == reason,
    "min_messages": lambda c, number: (c.messages or 0) >= number,
    "max_messages": lambda c, number: (c.messages or 0) <= number,
    "min_tokens": lambda c, number: _tokens(c) >= number,
    "max_tokens": lambda c, number: _tokens(c) <= number,
    "min_cost": lambda c, usd: _cost(c) >= usd,
    "max_cost": lambda c, usd: _cost(c) <= usd,
    "min_tool_calls": lambda c, number: _total(c, "tool_call_count") >= number,
    "max_tool_calls": lambda c, number: _total(c, "tool_call_count") <= number,
    "pinned": lambda c, pinned: any(node.pinned for node in c.conversation.nodes) is pinned,
}


def _workspace_test(wanted: str) -> Callable[[Candidate, Any], bool]:
    """A path means the workspace it lies in; text means a part of the recorded key."""
    is_path = wanted.startswith((".", "~", "/")) or "/" in wanted or "\\" in wanted
    workspace = find_workspace(wanted) if is_path else None
    text = wanted.casefold()

    @cache
    def belongs(root: str, cwd: str) -> bool:
        if workspace is not None and workspace.holds(root, cwd):
            return True
        key = (root or cwd).casefold()
        return (not is_path or text.startswith("/")) and text in key

    def test(candidate: Candidate, _: object) -> bool:
        row = next((row for row in reversed(candidate.sessions) if row.workspace), None)
        return row is not None and belongs(
            (row.git_repo_root or "").strip(), (row.cwd or "").strip()
        )

    return test
