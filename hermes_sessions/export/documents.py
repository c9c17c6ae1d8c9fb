"""What the readable formats write: a conversation and its transcript."""

from typing import NamedTuple

from hermes_sessions.models import Message, Summary


class Document(NamedTuple):
    """One conversation to write down.

    Attributes:
        messages: the transcript, oldest first: each message once, hidden kinds left out.
    """

    summary: Summary
    messages: tuple[Message, ...]
