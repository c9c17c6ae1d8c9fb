"""Secrets out of text and records, before they leave the store for a place that others read.

A secret gives a mark such as ``[redacted: github token]``: the kind, and nothing of the secret, so
the same secret gives the same mark everywhere. Secrets are known by their own form (keys of
vendors, JWTs, private keys), by the name they are assigned to (``DB_PASSWORD=…``), or by their
place (``user:…@host``, ``Authorization: Bearer …``). Hashes, ids, pictures and ordinary text stay.

It fails closed: whatever goes wrong inside is a ``RedactionFailed``, never text as it was.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Final, NamedTuple, ParamSpec, TypeVar, cast

from hermes_sessions.errors import UserError
from hermes_sessions.redaction.scan import Kinds
from hermes_sessions.redaction.structure import Redactor

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping

__all__ = [
    "Kinds",
    "Redacted",
    "RedactionFailed",
    "redact_json_text",
    "redact_record",
    "redact_text",
    "redact_value",
]

P = ParamSpec("P")
T = TypeVar("T")

SECRETS: Final = Kinds()
"""Secrets only: no e-mail addresses, no telephone numbers."""

IDENTITIES: Final = frozenset(
    {
        "id",
        "session_id",
        "parent_session_id",
        "tool_call_id",
        "tool_call_uid",
        "tool_call_uids",
        "message_uid",
        "absorbed_message_uids",
        "platform_message_id",
        "system_prompt_hash",
        "display_identity",
        "lineage_session_ids",
    }
)
"""Fields of a record that others refer to: they pass as they are, else nothing fits together."""

ROWS: Final = frozenset({"messages", "segments"})
"""Fields of a record that hold records."""


class Redacted(NamedTuple):
    """Redacted text, and how many secrets of each kind were replaced in it."""

    text: str
    counts: Counter[str]


class RedactionFailed(UserError):  # noqa: N818 - reads as the fact it states
    """Something went wrong inside redaction, so nothing may leave."""


def _closed(function: Callable[P, T]) -> Callable[P, T]:
    """Turn every failure into ``RedactionFailed``, without the text that was at hand."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, the text must not leave
            raise RedactionFailed(
                "Redaction failed, so nothing was written",
                hint="Please report it. Without redaction, secrets go out as they are.",
                details=(f"{type(error).__name__} in redaction",),
            ) from None

    return guarded


@_closed
def redact_text(text: str, kinds: Kinds = SECRETS) -> Redacted:
    """Redact a string as it is stored or shown: a message, a title, a path, a file name.

    JSON, also behind the prefix of structured content, is redacted as JSON.

    Args:
        text: any text.
        kinds: what to redact besides secrets.

    Raises:
        RedactionFailed: something went wrong.
    """
    redactor = Redactor(kinds)
    return Redacted(redactor.string(text), redactor.counts)


@_closed
def redact_json_text(text: str, kinds: Kinds = SECRETS) -> Redacted:
    """Redact the text of JSON, with its keys as context, and the JSON in its strings likewise.

    What was valid JSON stays valid, with the same keys in the same order and the same layout. Text
    that is not JSON is redacted as text.

    Raises:
        RedactionFailed: something went wrong.
    """
    redactor = Redactor(kinds)
    return Redacted(redactor.json_text(text), redactor.counts)


@_closed
def redact_value(value: T, kinds: Kinds = SECRETS) -> tuple[T, Counter[str]]:
    """Redact every string in a value made of dicts, lists and scalars, with its keys as context.

    Returns:
        A copy with the same keys in the same order, and the counts by kind. A scalar under a key
        such as ``password`` becomes a string.

    Raises:
        RedactionFailed: something went wrong, or the value holds what JSON cannot.
    """
    redactor = Redactor(kinds)
    return cast("T", redactor.value(value)), redactor.counts


@_closed
def redact_record(
    record: Mapping[str, object], kinds: Kinds = SECRETS
) -> tuple[dict[str, object], Counter[str]]:
    """Redact a row of ``sessions`` or ``messages`` as exported, with the rows inside of it.

    Every string passes: title, directory, prompt, the JSON in ``model_config`` or ``tool_calls``,
    structured content behind its prefix. Ids (``IDENTITIES``) and times stay.

    Returns:
        A copy with the same fields in the same order, and the counts by kind.

    Raises:
        RedactionFailed: something went wrong.
    """
    redactor = Redactor(kinds)
    return redactor.record(record, IDENTITIES, ROWS), redactor.counts
