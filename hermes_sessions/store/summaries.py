"""Everything a listing says about the conversations on its page, fetched for those only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.models import Summary
from hermes_sessions.store.live import find_live
from hermes_sessions.store.messages import count_messages, load_preview
from hermes_sessions.store.sessions import load_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hermes_sessions.errors import UserError
    from hermes_sessions.models import Conversation
    from hermes_sessions.store.connect import Store


def summarise(
    store: Store,
    home: Path | None,
    conversations: Sequence[Conversation],
    now: float,
    *,
    sized: bool = True,
) -> list[Summary]:
    """Summarise conversations whose activity is exact; one that is gone by now is left out.

    Not ``sized``, their messages are not counted: the biggest one costs more than all the rest.
    """
    sessions = load_sessions(store, (node.id for c in conversations for node in c.nodes))
    live = find_live(store, home, conversations, now)
    summaries = []
    for conversation in conversations:
        rows = tuple(sessions[i] for i in conversation.session_ids if i in sessions)
        if not rows:
            continue
        messages, preview, damage = _message_facts(store, conversation, sized=sized)
        summaries.append(
            Summary(
                conversation=conversation,
                sessions=rows,
                last_active=conversation.active_at or None,
                messages=messages,
                preview=preview,
                live=live.get(conversation.id),
                damage=damage,
            )
        )
    return summaries


def _message_facts(
    store: Store, conversation: Conversation, *, sized: bool
) -> tuple[int | None, str, UserError | None]:
    """Return the size of the transcript and its preview, or the damage that keeps them."""
    try:
        messages = count_messages(store, conversation.session_ids) if sized else None
        return messages, load_preview(store, conversation.session_ids), None
    except StoreDamaged as damage:
        return None, "", damage
