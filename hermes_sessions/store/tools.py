"""How often each tool was called: the calls of the answers, and the results that came back."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.content import tool_calls
from hermes_sessions.store.passes import Pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.errors import UserError
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.stats import Basis
    from hermes_sessions.tallies import Usage


class ToolUse(NamedTuple):
    """One tool.

    Attributes:
        name: None for results that do not say what they are of.
        calls: in answers of the model.
        results: rows of role ``tool``; fewer than calls where a turn was interrupted.
        conversations: in which it was called.
    """

    name: str | None
    calls: int
    results: int
    conversations: int


class ToolUses(NamedTuple):
    """All tools, the most called first; ``damage`` is why some rows could not be read."""

    tools: tuple[ToolUse, ...]
    damage: UserError | None


def load_tool_uses(store: Store, basis: Basis, report: Callable[[float], object]) -> ToolUses:
    """Count tool calls in the transcripts of a selection, so copies of rewound rows are left out.

    Args:
        store: the open store.
        basis: the selection.
        report: told how much is done, from 0 to 1.
    """
    chains: list[tuple[Usage, ...]] = [(row,) for row in basis.chains.plain]
    chains += [chain.sessions for chain in basis.chains.shown]
    owner = {row.id: number for number, rows in enumerate(chains) for row in rows}
    calls: Counter[str | None] = Counter()
    results: Counter[str | None] = Counter()
    places: set[tuple[str | None, int]] = set()
    reading = Pass(store, report)
    for session_id, role, name, cell in reading.rows(_query(store, basis), _bounds(basis)):
        conversation = owner.get(str(session_id))
        if conversation is None:
            continue
        called: list[str | None] = [call.name for call in tool_calls(cell)] if cell else []
        calls.update(called)
        if role == "tool":
            called.append(str(name) if name else None)
            results[called[-1]] += 1
        places.update((tool, conversation) for tool in called)
    used_in = Counter(tool for tool, _ in places)
    tools = [ToolUse(name, calls[name], results[name], number) for name, number in used_in.items()]
    tools.sort(key=lambda tool: (-tool.calls, -tool.results, tool.name or ""))
    return ToolUses(tuple(tools), reading.damage)


def _query(store: Store, basis: Basis) -> str:
    conditions = [
        "m.id BETWEEN :low AND :high",
        "(m.role = 'tool' OR m.tool_calls IS NOT NULL)",
        store.capabilities.visible(),
        *([basis.span.condition()] if basis.span else []),
    ]
    return f"""
        SELECT m.session_id, m.role, {store.capabilities.column("tool_name", of="m")},
               {store.capabilities.column("tool_calls", of="m")}
        FROM messages AS m NOT INDEXED WHERE {" AND ".join(conditions)}"""


def _bounds(basis: Basis) -> dict[str, object]:
    return basis.span._asdict() if basis.span else {}
