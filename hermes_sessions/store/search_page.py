"""A page of search results with everything that is shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_sessions.errors import StoreDamaged
from hermes_sessions.query import terms
from hermes_sessions.snippets import Snippet, make_snippet
from hermes_sessions.store.catalog import with_exact_activity
from hermes_sessions.store.hits import read_matching
from hermes_sessions.store.messages import around, load_transcript
from hermes_sessions.store.summaries import summarise

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_sessions.models import Conversation, Message, Summary
    from hermes_sessions.query import Query
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.hits import Hit
    from hermes_sessions.store.ranking import Found
    from hermes_sessions.store.search import Result, Wanted


class Shown(NamedTuple):
    """A hit with its text and its neighbours.

    Attributes:
        before, after: messages of the transcript around it, if asked for.
    """

    hit: Hit
    snippet: Snippet
    before: tuple[Message, ...]
    after: tuple[Message, ...]


class Block(NamedTuple):
    """A conversation of the page.

    Attributes:
        shown: the newest hits, oldest first.
        hits: how many there are.
    """

    summary: Summary
    by_title: bool
    by_id: bool
    shown: tuple[Shown, ...]
    hits: int


class Detail(NamedTuple):
    """How much is shown of each conversation.

    Attributes:
        context: messages around each hit.
        width: cells of a snippet.
    """

    context: int
    width: int


def load_blocks(
    store: Store, home: Path | None, wanted: Wanted, result: Result, detail: Detail
) -> list[Block]:
    """Load what is shown of a result, in its order."""
    conversations = with_exact_activity(store, [one.conversation for one in result.found])
    found = summarise(store, home, conversations, wanted.ranking.now, sized=False)
    summaries = {summary.id: summary for summary in found}
    hits = [hit for one in result.found for hit in one.hits]
    snippets = _snippets(store, result.query, wanted.roles, hits, detail)
    return [
        Block(
            summaries[one.conversation.id],
            one.by_title,
            one.by_id,
            _with_context(store, one, snippets, detail),
            one.hit_count,
        )
        for one in result.found
        if one.conversation.id in summaries
    ]


def _snippets(
    store: Store, query: Query, roles: tuple[str, ...] | None, hits: list[Hit], detail: Detail
) -> dict[int, Snippet]:
    found = terms(query)
    ids = [hit.message_id for hit in hits]
    return {
        hit.message_id: make_snippet(found, text, detail.width)
        for hit, text in read_matching(store, ids, roles)
    }


def _with_context(
    store: Store,
    one: Found,
    snippets: dict[int, Snippet],
    detail: Detail,
) -> tuple[Shown, ...]:
    shown = [hit for hit in one.hits if hit.message_id in snippets]
    if not detail.context:
        return tuple(Shown(hit, snippets[hit.message_id], (), ()) for hit in shown)
    transcript = _transcript(store, one.conversation)
    blocks = []
    for hit in shown:
        near = around(transcript, hit.message_id, detail.context)
        at = [message.id for message in near].index(hit.message_id) if near else 0
        before, after = tuple(near[:at]), tuple(near[at + 1 :])
        blocks.append(Shown(hit, snippets[hit.message_id], before, after))
    return tuple(blocks)


def _transcript(store: Store, conversation: Conversation) -> list[Message]:
    try:
        return load_transcript(store, conversation.session_ids)
    except StoreDamaged:  # a hit without its neighbours is better than none
        return []
