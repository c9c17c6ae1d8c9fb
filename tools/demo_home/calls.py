"""From scenes to calls of Hermes' store.

Hermes does more on such a call than write a row: it counts, indexes, links sessions and moves
titles. So the sample is made of the calls that a conversation would have caused, not of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from demo_home.prompts import TOOL_NAMES
from demo_home.script import parse_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from demo_home.scene import Cost, Scene
    from demo_home.script import Message


@dataclass(frozen=True)
class Call:
    """One call of a method of Hermes' store, and the moment its clock shows meanwhile."""

    at: datetime
    method: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


def all_calls(scenes: Sequence[Scene]) -> list[Call]:
    """Return the calls that write all scenes, in the order of time."""
    said = {scene.id: list(parse_script(scene.script, scene.started)) for scene in scenes}
    calls = [call for scene in scenes for call in scene_calls(scene, said)]
    return sorted(calls, key=lambda call: call.at)  # stable: calls of one moment keep their order


def scene_calls(scene: Scene, said: dict[str, list[Message]]) -> Iterator[Call]:
    """Yield the calls that write one scene; `said` holds the messages of every scene by id."""
    messages = said[scene.id]
    last = moment(messages[-1])
    yield from opening(scene, said)
    for position, message in enumerate(messages):
        if message["role"] == "rewind":
            yield Call(moment(message), "rewind", (scene.id,))
        elif "_compressed_summary" in message:
            if position > 0:  # else it is the hand-off that the session was opened with
                yield compaction(scene, messages[:position], message)
        else:
            yield Call(moment(message), "append_message", (scene.id,), without_time(message))
    yield from closing_calls(scene, last + timedelta(seconds=1))


def moment(message: Message) -> datetime:
    """Return when something is said."""
    return datetime.fromtimestamp(message["timestamp"], UTC)


def without_time(message: Message) -> Message:
    """Return a message for the writer to stamp with its own clock."""
    return {key: value for key, value in message.items() if key != "timestamp"}


def opening(scene: Scene, said: dict[str, list[Message]]) -> Iterator[Call]:
    """Yield the calls that make the row of a session and what belongs to it from the start."""
    at = scene.started
    if scene.continues:
        handoff = [without_time(said[scene.id][0]), *tail(said[str(scene.parent)])]
        yield Call(at, "publish_compression_child", (), continuation(scene, handoff))
    else:
        config: dict[str, Any] = {"provider": scene.model.provider}
        if scene.mark:
            config[scene.mark] = scene.parent
        row = {"model": scene.model.name, "model_config": config, "parent_session_id": scene.parent}
        prompt = {"system_prompt": scene.prompt}
        yield Call(at, "create_session", (scene.id, scene.source), row | prompt | scene.peer)
    if scene.workspace and not scene.continues:
        root = f"/home/you/code/{scene.workspace}"
        git = {"git_branch": scene.branch, "git_repo_root": root}
        yield Call(at, "update_session_cwd", (scene.id, root), git)
    yield Call(at, "update_session_tool_names", (scene.id, TOOL_NAMES))
    if scene.mark == "_branched_from":
        copied = [dict(message) for message in said[str(scene.parent)] if moment(message) < at]
        yield Call(at, "append_messages_batch", (scene.id, copied))


def continuation(scene: Scene, handoff: list[Message]) -> dict[str, Any]:
    """Return what Hermes wants to know about the next segment of a compression chain."""
    return {
        "parent_session_id": scene.parent,
        "child_session_id": scene.id,
        "source": scene.source,
        "messages": handoff,
        "model": scene.model.name,
        "model_config": {"provider": scene.model.provider},
        "system_prompt": scene.prompt,
        "require_compression_lease": False,  # nobody else is writing
    }


def compaction(scene: Scene, before: list[Message], summary: Message) -> Call:
    """Return the in-place compaction that replaces what was said before by a summary."""
    carried = tail(before)
    compacted = [without_time(summary), *carried]
    return Call(
        moment(summary), "archive_and_compact", (scene.id, compacted), {"tail_count": len(carried)}
    )


def tail(messages: list[Message]) -> list[Message]:
    """Return the last exchange, which a compaction carries along word for word."""
    last_request = max(n for n, message in enumerate(messages) if message["role"] == "user")
    return [dict(message) for message in messages[last_request:]]


FLAGS = {
    "archived": ("set_session_archived", True),
    "hidden": ("set_session_hidden", True),
    "pinned": ("set_session_pinned", True),
    "unread": ("set_session_read", False),
}


def closing_calls(scene: Scene, at: datetime) -> Iterator[Call]:
    """Yield what Hermes writes when a conversation has been going for a while, or is over."""
    if scene.title and scene.title_source == "user":
        yield Call(at, "set_session_title", (scene.id, scene.title))
    elif scene.title:
        yield Call(at, "set_auto_title", (scene.id, scene.title), {"source": scene.title_source})
    if scene.cost:
        yield Call(at, "update_token_counts", (scene.id,), usage(scene, scene.cost))
    yield Call(at, "touch_session_activity", (scene.id,))
    for flag in scene.flags:
        method, value = FLAGS[flag]
        yield Call(at, method, (scene.id, value))
    if scene.end and not scene.is_continued:
        yield Call(at, "end_session", (scene.id, scene.end))


def usage(scene: Scene, cost: Cost) -> dict[str, Any]:
    """Return the accounting of one session as the agent reports it."""
    priced = {"actual": "actual_cost_usd", "estimated": "estimated_cost_usd"}
    source = {"actual": "provider_cost_api", "estimated": "official_docs_snapshot"}
    return {
        "model": scene.model.name,
        "billing_provider": scene.model.provider,
        "input_tokens": cost.sent,
        "output_tokens": cost.received,
        "cache_read_tokens": cost.sent * 2 // 3,
        "reasoning_tokens": cost.received // 5,
        "api_call_count": cost.calls,
        "cost_status": cost.status,
        "cost_source": source.get(cost.status, "none"),
    } | ({priced[cost.status]: cost.dollars} if cost.status in priced else {})
