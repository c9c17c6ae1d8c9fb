"""The last exchanges of a conversation, boiled down to what reminds a person of it (contract §12).

Pure: messages in, entries out. An exchange is what the user said and everything Hermes answered
until the user spoke again, so a long run of tool calls cannot push the words out (R043).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import as_typed, plain_text, tool_calls
from hermes_sessions.text import neutralise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.config import Config
    from hermes_sessions.models import Message

USER: Final = "user"
ASSISTANT: Final = "assistant"
EVENT: Final = "event"

EVENT_KINDS: Final = frozenset(
    {"model_switch", "personality_switch", "async_delegation_complete", "process_complete",
     "auto_continue"}
)  # fmt: skip
_MOST_TOOL_NAMES: Final = 4
_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)

CONFIG_KEYS: Final = (
    "display.resume_display",
    "display.resume_exchanges",
    "display.resume_max_user_chars",
    "display.resume_max_assistant_chars",
    "display.resume_max_assistant_lines",
)


class Limits(NamedTuple):
    """How much of a conversation a recap shows."""

    exchanges: int = 10
    user_characters: int = 300
    assistant_characters: int = 200
    assistant_lines: int = 3

    @classmethod
    def of(cls, config: Config) -> Limits:
        """Take the limits from Hermes' configuration."""
        return cls(*(config.number(key) for key in CONFIG_KEYS[1:]))


class Entry(NamedTuple):
    """One line of a recap.

    Attributes:
        role: user, assistant or event.
        text: what was said, cut; "" for an answer that only called tools.
        tools: ``[3 tool calls: terminal, web_search]``, or "".
    """

    role: str
    text: str
    tools: str


class Recap(NamedTuple):
    """The end of a conversation.

    Attributes:
        earlier: messages of the transcript before the first entry.
        is_complete: the messages reached back to the beginning, or far enough.
    """

    entries: tuple[Entry, ...]
    first_message_id: int | None
    is_complete: bool


def build_recap(messages: Sequence[Message], limits: Limits, *, whole: bool) -> Recap:
    """Boil down the end of a transcript, oldest message first.

    Args:
        messages: the end of the transcript.
        limits: how much to show.
        whole: the messages are the whole transcript.
    """
    exchanges = _exchanges(messages)
    enough = len(exchanges) > limits.exchanges
    shown = exchanges[-limits.exchanges :] if limits.exchanges else []
    entries = [entry for exchange in shown for entry in _entries(exchange)]
    last_answer = max(
        (i for i, e in enumerate(entries) if e.role == ASSISTANT and e.text), default=-1
    )
    cut = tuple(_cut(entry, limits, whole=i == last_answer) for i, entry in enumerate(entries))
    first = shown[0][0].id if shown else None
    return Recap(cut, first, whole or enough)


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """Split what is worth showing at the user's turns."""
    exchanges: list[list[Message]] = []
    for message in messages:
        if not _is_shown(message):
            continue
        if not exchanges or _starts_exchange(message):
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def _starts_exchange(message: Message) -> bool:
    return message.role == USER and message.display_kind not in EVENT_KINDS


def _is_shown(message: Message) -> bool:
    if message.display_kind == "hidden":
        return False
    if message.display_kind in EVENT_KINDS:
        return True
    if message.role == USER:
        return bool(user_text(message))
    return message.role == ASSISTANT and bool(answer_text(message) or message.tool_calls)


def user_text(message: Message) -> str:
    """Return what the user typed, without compaction summaries and skill texts."""
    return neutralise(as_typed(plain_text(message.content))).strip()


def answer_text(message: Message) -> str:
    """Return the visible text of an answer, without reasoning written into it."""
    return neutralise(_REASONING.sub("", plain_text(message.content))).strip()


def _entries(exchange: Sequence[Message]) -> list[Entry]:
    """Fold tool calls into the answer they led to; calls at the end stand alone."""
    entries: list[Entry] = []
    calls: list[str] = []
    for message in exchange:
        if message.display_kind in EVENT_KINDS:
            entries.append(Entry(EVENT, neutralise(plain_text(message.content)).strip(), ""))
        elif message.role == USER:
            entries.append(Entry(USER, user_text(message), ""))
        else:
            calls += [call.name for call in tool_calls(message.tool_calls)]
            text = answer_text(message)
            if text:
                entries.append(Entry(ASSISTANT, text, fold_tools(calls)))
                calls = []
    if calls:
        entries.append(Entry(ASSISTANT, "", fold_tools(calls)))
    return entries


def fold_tools(names: Sequence[str]) -> str:
    """Write ``[3 tool calls: terminal, web_search]``: how many, and the first distinct names."""
    if not names:
        return ""
    distinct = list(dict.fromkeys(neutralise(name) for name in names))
    shown = ", ".join(distinct[:_MOST_TOOL_NAMES])
    more = ", …" if len(distinct) > _MOST_TOOL_NAMES else ""
    return f"[{len(names)} tool call{'s' if len(names) > 1 else ''}: {shown}{more}]"


def _cut(entry: Entry, limits: Limits, *, whole: bool) -> Entry:
    if entry.role == USER:
        return entry._replace(text=_cut_characters(entry.text, limits.user_characters))
    if entry.role == ASSISTANT and not whole:
        lines = [line for line in entry.text.splitlines() if line.strip()]
        text = "\n".join(lines[: limits.assistant_lines])
        cut = _cut_characters(text, limits.assistant_characters)
        if len(lines) > limits.assistant_lines and not cut.endswith("…"):
            cut += " …"
        return entry._replace(text=cut)
    return entry


def _cut_characters(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length].rstrip() + "…"
