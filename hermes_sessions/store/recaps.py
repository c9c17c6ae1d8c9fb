"""Read just the end of a conversation that its recap needs (R042)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.recap import Limits, Recap, build_recap
from hermes_sessions.store.messages import load_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.models import Message
    from hermes_sessions.store.connect import Store


class Tail(NamedTuple):
    """The end of a conversation: its recap and the messages it was made from."""

    recap: Recap
    messages: tuple[Message, ...]

    @property
    def shown(self) -> int:
        """How many messages of the transcript the recap covers."""
        first = self.recap.first_message_id
        if first is None:
            return 0
        return len(self.messages) - next(
            index for index, message in enumerate(self.messages) if message.id == first
        )


def load_recap(store: Store, session_ids: Sequence[str], limits: Limits) -> Tail:
    """Read ever more of the end until it makes the recap that the limits ask for."""
    messages: list[Message] = []
    for messages in load_tail(store, session_ids):
        recap = build_recap(messages, limits, whole=False)
        if recap.is_complete:
            return Tail(recap, tuple(messages))
    return Tail(build_recap(messages, limits, whole=True), tuple(messages))
