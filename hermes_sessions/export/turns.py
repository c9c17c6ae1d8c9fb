"""A transcript as turns: who spoke, and each tool call together with its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hermes_sessions.content import tool_call_ids, tool_calls
from hermes_sessions.export.pieces import is_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hermes_sessions.models import Message

YOU: Final = "user"
HERMES: Final = "assistant"
EVENT: Final = "event"
SUMMARY: Final = "summary"


class Call(NamedTuple):
    """A tool call and the row that answers it, if there is one.

    Attributes:
        arguments: as the model wrote them (JSON text).
    """

    name: str
    arguments: str
    result: Message | None


class Step(NamedTuple):
    """One message of a turn, with the calls it makes."""

    message: Message
    calls: tuple[Call, ...]


class Turn(NamedTuple):
    """What one side did until the other spoke.

    Attributes:
        speaker: user, assistant, event (Hermes noted something), summary (of a compaction), or
            another role as stored.
        steps: at least one.
    """

    speaker: str
    steps: tuple[Step, ...]

    @property
    def first(self) -> Message:
        """The message it starts with."""
        return self.steps[0].message


def turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """Group a transcript, oldest first; hidden messages are left out.

    A turn never crosses the border of what was archived by a compaction, or of a session.
    """
    run: list[Message] = []
    for message in messages:
        if message.display_kind == "hidden":
            continue
        speaker = _speaker(message)
        if speaker == HERMES:
            run.append(message)
            continue
        yield from _answers(run)
        run = []
        yield Turn(speaker, (Step(message, _calls(message, {}, 0)),))
    yield from _answers(run)


def _speaker(message: Message) -> str:
    if message.display_kind and message.display_kind != "skill_invocation":
        return EVENT
    if message.role in {HERMES, "tool"}:
        return HERMES
    return SUMMARY if is_summary(message) else message.role


def _answers(run: Sequence[Message]) -> Iterator[Turn]:
    """Turn a run of answers and tool rows into turns."""
    steps: list[Step] = []
    for step in _steps(run):
        if steps and _border(steps[-1].message, step.message):
            yield Turn(HERMES, tuple(steps))
            steps = []
        steps.append(step)
    if steps:
        yield Turn(HERMES, tuple(steps))


def _border(before: Message, after: Message) -> bool:
    return before.archived != after.archived or before.session_id != after.session_id


def _steps(run: Sequence[Message]) -> Iterator[Step]:
    """Fold results into their calls: by the id of the call, else by order.

    A result that belongs to no call stands alone, in its place.
    """
    results: dict[tuple[int, int], Message] = {}
    asked: dict[str, tuple[int, int]] = {}
    open_calls: dict[tuple[int, int], str] = {}
    folded: set[int] = set()
    for at, message in enumerate(run):
        if message.role != "tool":
            calls = tool_calls(message.tool_calls)
            if calls:
                open_calls = {(at, n): call.name for n, call in enumerate(calls)}
                ids = tool_call_ids(message.tool_calls)
                asked.update({i: (at, n) for n, i in enumerate(ids) if i})
            continue
        place = asked.pop(message.tool_call_id or "", None) or _next_open(open_calls, message)
        if place and place not in results:
            results[place] = message
            open_calls.pop(place, None)
            folded.add(at)
    for at, message in enumerate(run):
        if at not in folded:
            yield Step(message, () if message.role == "tool" else _calls(message, results, at))


def _calls(
    message: Message, results: Mapping[tuple[int, int], Message], at: int
) -> tuple[Call, ...]:
    return tuple(
        Call(call.name, call.arguments, results.get((at, n)))
        for n, call in enumerate(tool_calls(message.tool_calls))
    )


def _next_open(open_calls: dict[tuple[int, int], str], message: Message) -> tuple[int, int] | None:
    """Return the first unanswered call of the latest calls that the row can be the result of."""
    return next(
        (
            place
            for place, name in open_calls.items()
            if not message.tool_name or message.tool_name == name
        ),
        None,
    )
