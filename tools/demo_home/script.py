"""The language of the scripts: from a text to the messages of a conversation.

A script is prose that people read and change, so it says as little as possible beside the words:
who speaks, now and then the clock. `parse_script` fills in the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from demo_home.picture import picture_url
from demo_home.tool_calls import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS = Path(__file__).resolve().parent / "scripts"

Message = dict[str, Any]

PACE = {"user": 75, "assistant": 16, "rewind": 20, "delegate_task": 45}
TOOL_PACE = 5
"""Seconds that pass before a message, by who says it; all other tools are quick."""

FIRST = timedelta(seconds=2)
"""Time before the first message: the first request is what makes Hermes start a session."""


class Part(NamedTuple):
    """One marked piece of a script."""

    speaker: str
    argument: str
    text: str


def read_script(name: str) -> str:
    """Return the text of a script of this package."""
    return (SCRIPTS / f"{name}.txt").read_text("utf-8")


def parse_script(script: str, start: datetime) -> Iterator[Message]:
    """Yield the messages of a script, each with its moment as `timestamp`.

    A line that begins with `»` says who speaks; the lines up to the next one are what is said:

        » you           a request           » thinks        reasoning before the next answer
        » picture       the same, with one  » TOOL: ARG     a tool call; below it, its result
        » hermes        an answer           » and TOOL: ARG one more call in the same message
        » summary       a compaction        » rewind        take back the last request
        » at: 14:05     the clock, or `11-28 09:10` for another day of that year
    """
    clock = start + FIRST - timedelta(seconds=PACE["user"])
    thought = None
    for turn in turns(script):
        first = turn[0]
        if first.speaker == "at":
            clock = parse_clock(first.argument, clock)
        elif first.speaker == "thinks":
            thought = first.text
        else:
            for message in turn_messages(turn, thought):
                said_by = message.get("tool_name") or message["role"]
                clock += timedelta(seconds=PACE.get(said_by, TOOL_PACE))
                yield message | {"timestamp": clock.timestamp()}
            thought = None


def turns(script: str) -> Iterator[list[Part]]:
    """Group the parts of a script: the tool calls of one message stay with the words before."""
    turn: list[Part] = []
    for piece in re.split(r"^» ?", script, flags=re.MULTILINE)[1:]:
        head, _, text = piece.partition("\n")
        speaker, _, argument = head.partition(": ")
        part = Part(speaker.strip(), argument.strip(), text.strip("\n"))
        if turn and not joins(turn[-1], part):
            yield turn
            turn = []
        turn.append(part)
    yield turn


def joins(previous: Part, part: Part) -> bool:
    """Tell whether a part belongs to the same message as the one before."""
    follows_words = previous.speaker == "hermes" and is_tool(part)
    return follows_words or part.speaker.startswith("and ")


def is_tool(part: Part) -> bool:
    """Tell a tool call from what people and stage directions say."""
    return part.speaker not in {"you", "picture", "hermes", "thinks", "summary", "rewind", "at"}


def parse_clock(text: str, today: datetime) -> datetime:
    """Return the moment a stage direction names."""
    date, _, clock = text.rpartition(" ")
    named = f"{today.year}-{date or today.strftime('%m-%d')} {clock} +0000"
    return datetime.strptime(named, "%Y-%m-%d %H:%M %z")


def turn_messages(turn: list[Part], thought: str | None) -> Iterator[Message]:
    """Yield the messages that one turn of a script stands for."""
    speaker, _, text = turn[0]
    if speaker == "rewind":
        yield {"role": "rewind"}
    elif speaker == "you":
        yield {"role": "user", "content": text}
    elif speaker == "picture":
        picture = {"type": "image_url", "image_url": {"url": picture_url()}}
        yield {"role": "user", "content": [{"type": "text", "text": text}, picture]}
    elif speaker == "summary":
        yield {
            "role": "user",
            "content": f"[CONTEXT SUMMARY]: {text}",
            "_compressed_summary": True,
        }
    else:
        yield from assistant_messages(turn, thought)


def assistant_messages(turn: list[Part], thought: str | None) -> Iterator[Message]:
    """Yield an answer, or an assistant's tool calls followed by their results."""
    words = turn[0].text if turn[0].speaker == "hermes" else None
    exchanges = [tool_exchange(part) for part in turn if is_tool(part)]
    message: Message = {"role": "assistant", "content": words, "reasoning": thought}
    if exchanges:
        calls = [call for call, _ in exchanges]
        yield message | {"tool_calls": calls, "finish_reason": "tool_calls"}
        yield from (result for _, result in exchanges)
    else:
        yield message | {"finish_reason": "stop"}


def tool_exchange(part: Part) -> tuple[Message, Message]:
    """Return a tool call as the model makes it, and the message with its result."""
    tool = part.speaker.removeprefix("and ")
    arguments, result = TOOLS[tool](part.argument, part.text)
    key = "call_" + hashlib.sha256(repr(part).encode()).hexdigest()[:12]
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return (
        {"id": key, "type": "function", "function": function},
        {"role": "tool", "content": result, "tool_call_id": key, "tool_name": tool},
    )
