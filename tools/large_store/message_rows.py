"""The rows of `messages`, in the order in which a busy store would have received them."""

from __future__ import annotations

import heapq
import json
from typing import TYPE_CHECKING

from large_store.dice import chance
from large_store.session import SUMMARY_EVERY, Row
from large_store.wanted import COMMON, RARE, RARE_MESSAGES

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from large_store.prose import Prose
    from large_store.session import Session

HUGE_BEFORE_END = (900, 500, 100)
"""How many messages before the end of the big conversation its huge tool results come."""

MESSAGE_DEFAULTS: Row = {
    "tool_call_id": None,
    "tool_calls": None,
    "tool_name": None,
    "finish_reason": None,
    "reasoning": None,
    "_compressed_summary": 0,
    "tool_call_uids": None,
    "tool_call_uid": None,
}


def in_time_order(
    sessions: Sequence[Session], rng: random.Random
) -> Iterator[tuple[float, Session, int]]:
    """Yield (moment, session, position) of every message of the store, oldest first.

    Conversations held at the same time alternate, as they do in a store that several surfaces
    write to. Only those under way are in memory.
    """

    def moment(session: Session, position: int) -> float:
        return session.started + session.duration * (position + rng.random()) / session.messages

    under_way: list[tuple[float, int, int]] = []
    coming = 0
    while under_way or coming < len(sessions):
        while coming < len(sessions) and (
            not under_way or sessions[coming].started <= under_way[0][0]
        ):
            heapq.heappush(under_way, (moment(sessions[coming], 0), coming, 0))
            coming += 1
        when, which, position = heapq.heappop(under_way)
        session = sessions[which]
        yield when, session, position
        if position + 1 < session.messages:
            heapq.heappush(under_way, (moment(session, position + 1), which, position + 1))


def dialogue(session: Session, prose: Prose) -> Iterator[Row]:
    """Yield the messages of one session: requests, tool calls, results, answers, summaries."""
    huge_from = [session.messages - back for back in HUGE_BEFORE_END] if session.huge else []
    turn: list[Row] = []
    for position in range(session.messages):
        if _wants_summary(session, position):
            turn = []
            yield _summary(prose)
            continue
        if not turn:
            huge = bool(huge_from) and position >= huge_from[0]
            turn = _turn(session, prose, position, huge=huge)
            huge_from = huge_from[huge:]
        yield turn.pop(0)


def _wants_summary(session: Session, position: int) -> bool:
    if position == 0:
        return session.kind == "continuation"
    return position <= session.last_summary and position % SUMMARY_EVERY == 0


def _turn(session: Session, prose: Prose, position: int, *, huge: bool) -> list[Row]:
    """Return a request, some tool calls with their results, and the answer."""
    rng = prose.rng
    request = prose.request(cjk=session.cjk)
    if session.common and (position == 0 or chance(rng, 0.1)):
        request += f" It is the {COMMON} again."
    if chance(rng, 0.01):
        request = _with_picture(request)
    rows: list[Row] = [{"role": "user", "content": request}]
    room = (session.messages - position - 2) // 2
    for step in range(min(rng.choice((0, 0, 1, 1, 2, 3, 5)) + huge, room)):
        result = prose.huge_result() if huge and step == 0 else prose.tool_result()
        rows += _tool_rows(prose, result)
    answer: Row = {
        "role": "assistant",
        "content": prose.answer(cjk=session.cjk),
        "finish_reason": "stop",
        "reasoning": rng.choice(prose.sentences) if chance(rng, 0.3) else None,
    }
    rows.append(answer)
    if chance(rng, 0.005):
        session.rewinds += 1
        for row in rows:
            row["rewound"] = True
    return rows


def _with_picture(text: str) -> str:
    """Return content in Hermes' form for more than text: a NUL, a mark, and JSON."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return "\0json:" + json.dumps([{"type": "text", "text": text}, picture])


def _tool_rows(prose: Prose, result: str) -> list[Row]:
    """Return a tool call and its result."""
    call, uid = f"call_{prose.rng.getrandbits(64):016x}", f"{prose.rng.getrandbits(128):032x}"
    name, arguments = prose.tool_call()
    function = {"name": name, "arguments": arguments}
    return [
        {
            "role": "assistant",
            "content": None if chance(prose.rng, 0.6) else prose.rng.choice(prose.sentences),
            "tool_calls": json.dumps([{"id": call, "type": "function", "function": function}]),
            "tool_call_uids": json.dumps({call: uid}),
            "finish_reason": "tool_calls",
        },
        {
            "role": "tool",
            "content": result,
            "tool_call_id": call,
            "tool_name": name,
            "tool_call_uid": uid,
        },
    ]


def _summary(prose: Prose) -> Row:
    """Return the row that stands for what was compacted away."""
    said = " ".join(prose.rng.choices(prose.sentences, k=12))
    return {"role": "user", "content": f"[CONTEXT SUMMARY]: {said}", "_compressed_summary": 1}


def message_rows(sessions: Sequence[Session], prose: Prose) -> Iterator[tuple[Session, int, Row]]:
    """Yield (session, position, row) of every message in the order of ids, words planted."""
    total = sum(session.messages for session in sessions)
    rare_due = [total * (2 * n + 1) // (2 * RARE_MESSAGES) for n in range(RARE_MESSAGES)]
    dialogues: dict[str, Iterator[Row]] = {}
    moments = in_time_order(sessions, prose.rng)
    for number, (when, session, position) in enumerate(moments, start=1):
        if position == 0:
            dialogues[session.id] = dialogue(session, prose)
        uid = f"{prose.rng.getrandbits(128):032x}"
        row = _message_row(session, position, next(dialogues[session.id])) | {
            "id": number,
            "timestamp": when,
            "message_uid": uid,
            # Tells one message from another. Hermes derives it from the row; here, from the uid.
            "display_identity": bytes.fromhex(uid) * 2,
            "display_order": number,
        }
        if rare_due and number >= rare_due[0] and _can_carry_a_word(session, row):
            row["content"] += f" ({RARE})"
            rare_due.pop(0)
        session.live += row["active"]
        session.tool_calls += row["active"] and row["tool_calls"] is not None
        yield session, position, row
        if position + 1 == session.messages:
            del dialogues[session.id]


def _message_row(session: Session, position: int, said: Row) -> Row:
    """Return what is said as a row, live unless compacted away or rewound."""
    rewound = said.pop("rewound", False)
    archived = position < session.last_summary
    return (
        MESSAGE_DEFAULTS
        | said
        | {
            "session_id": session.id,
            "active": int(not archived and not rewound),
            "compacted": int(archived and not rewound),
        }
    )


def _can_carry_a_word(session: Session, row: Row) -> bool:
    plain = row["role"] != "tool" and row["content"] and not row["content"].startswith("\0")
    return bool(plain and row["active"] and session.source in {"cli", "tui"})
