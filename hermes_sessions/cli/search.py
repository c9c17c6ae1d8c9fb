"""``search``: full text over all conversations."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.opened import opened_store
from hermes_sessions.cli.options import Ids, Json, Nul, with_filters
from hermes_sessions.errors import ExitCode, StoreMissing
from hermes_sessions.models import Filter
from hermes_sessions.query import parse
from hermes_sessions.render.plain import in_words
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.fts import State
from hermes_sessions.store.hits import REASONING
from hermes_sessions.store.ranking import Ranking, SortHits
from hermes_sessions.store.search import DEFAULT_ROLES, Wanted, search
from hermes_sessions.store.search_page import Detail, load_blocks
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_sessions.context import Env
    from hermes_sessions.home import Home
    from hermes_sessions.store.fts import Index
    from hermes_sessions.store.search import Result
    from hermes_sessions.store.search_page import Block

FIELDS = (
    "id",
    "source",
    "title",
    "preview",
    "workspace",
    "last_active",
    "last_active_iso",
    "title_match",
    "id_match",
    "hit_count",
    "hits",
)

_SNIPPET, _LEAST_SNIPPET = 160, 30
_BESIDE = 32
"""Columns of a terminal that a hit needs beside its snippet."""

_ORPHANS = 3
"""Ids of sessions that are gone which are named."""

_WRONG = {
    State.MISSING: "there is no search index",
    State.STALE: "the search index is out of date",
    State.INCOMPLETE: "the search index is not complete",
    State.SILENT: "the search index does not find what is there",
    State.BROKEN: "the search index is damaged",
}


class Role(StrEnum):
    """Whose messages are searched; reasoning is what a model thought before it answered."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    REASONING = REASONING
    ALL = "all"


class Request(NamedTuple):
    """What was asked for."""

    wanted: Wanted
    detail: Detail
    json: str | None
    ids: bool
    nul: bool


@with_filters
def command(
    ctx: typer.Context,
    wanted: Filter,
    query: Annotated[list[str], typer.Argument(metavar="QUERY…", help="Words, see above.")],
    limit: Annotated[
        int,
        typer.Option("-n", "--limit", metavar="N", min=0, help="Conversations at most; 0 for all."),
    ] = 10,
    per_conversation: Annotated[
        int,
        typer.Option("--per-conversation", metavar="N", min=0, help="Hits of each; 0 for all."),
    ] = 3,
    sort: Annotated[
        SortHits, typer.Option("--sort", metavar="KEY", help="rank, newest or oldest.")
    ] = SortHits.RANK,
    role: Annotated[
        list[Role],
        typer.Option(
            "--role", metavar="ROLE", help="user, assistant, tool, reasoning or all (repeatable)."
        ),
    ] = [],  # noqa: B006 - typer copies it
    context: Annotated[
        int, typer.Option("-C", "--context", metavar="N", min=0, help="N messages around each hit.")
    ] = 0,
    literal: Annotated[
        bool, typer.Option("--literal", help="Take the query as it is, without operators.")
    ] = False,
    json: Json = None,
    ids: Ids = False,
    nul: Nul = False,
) -> int:
    """Search the text of all conversations.

    Words are ANDed; "a phrase", OR, NOT or -word, prefix* and parentheses work; any other
    punctuation is text. Case and accents do not count. Text, tool calls, titles and ids are
    searched, turns archived by compaction too. Behind -- stand words that begin with a dash.

    \b
    Examples:
      hermes-sessions search axolotl migration
      hermes-sessions search '"rate limit" OR throttl*' --newer-than 30d
      hermes-sessions search src/main.py --role all -C 1
    """
    env: Env = ctx.obj
    text = " ".join(query)
    roles = None if Role.ALL in role else tuple(map(str, role)) or DEFAULT_ROLES
    ranking = Ranking(sort, limit, env.now)
    asked = Wanted(parse(text, literal=literal), text, wanted, roles, ranking, per_conversation)
    room = max(_LEAST_SNIPPET, env.width - _BESIDE) if env.is_terminal else _SNIPPET
    detail = Detail(context, room)
    return run(env, Request(asked, detail, json, ids or nul, nul))


def run(env: Env, request: Request) -> int:
    """Search, show, and say what the index could not do."""
    home = env.select_home()
    fields = _fields(request)
    try:
        with opened_store(env, home) as store, Progress(env, "searching") as progress:

            def load(result: Result) -> list[Block]:
                return load_blocks(store, home.path, request.wanted, result, request.detail)

            def report(done: float, so_far: Callable[[], Result]) -> None:
                shows = env.is_terminal and fields is None and not request.ids
                progress.update(done, lambda: load(so_far()) if shows else ())

            result = search(store, request.wanted, report)
            blocks = load(result)
    except StoreMissing as missing:
        if fields is not None:
            env.write("[]\n")
        _say_nothing(env, home, missing.message)
        return ExitCode.OK
    _print(env, request, blocks, result, fields)
    _print_notes(env, home, request, blocks, result)
    if result.damage is not None:
        env.note("partial: some messages cannot be read; this is what was found in the others")
        raise result.damage
    return ExitCode.INTERRUPTED if result.interrupted else ExitCode.OK


def _fields(request: Request) -> tuple[str, ...] | None:
    if request.json is None:
        return None
    from hermes_sessions.render.data import pick_fields

    return pick_fields(request.json, FIELDS)


def _print(
    env: Env,
    request: Request,
    blocks: list[Block],
    result: Result,
    fields: tuple[str, ...] | None,
) -> None:
    if fields is not None:
        from hermes_sessions.render.data import to_json
        from hermes_sessions.render.results import block_object

        objects = [block_object(block) for block in blocks]
        env.write(to_json([{name: each[name] for name in fields} for each in objects]))
    elif request.ids:
        from hermes_sessions.render.plain import ids

        env.write(ids((block.summary.id for block in blocks), nul=request.nul))
    elif env.is_terminal:
        from hermes_sessions.render.hits import print_results

        print_results(env, blocks, result)
    else:
        from hermes_sessions.render.results import result_lines

        env.write(result_lines(blocks))


def _print_notes(
    env: Env, home: Home, request: Request, blocks: list[Block], result: Result
) -> None:
    if not blocks:
        hidden = in_words(result.left_out)
        _say_nothing(env, home, "nothing found" + (f"; not shown: {hidden}" if hidden else ""))
    elif result.query != request.wanted.query:
        env.note("nothing matches in whole words; these match in parts of words")
    if result.interrupted:
        env.note("interrupted: this is what was found so far")
    if result.orphans:
        where = plural(sum(result.orphans.values()), "message")
        gone = ", ".join(map(one_line, sorted(result.orphans)[:_ORPHANS]))
        env.note(f"orphan: found in {where} whose session is gone: {gone}")
    for index in result.problems[:1]:
        read = "messages were read one by one" if result.scanned else "what it misses was read"
        cure = "Cure: hermes-sessions optimize"
        env.note(f"note: {_in_words(index)}; {read}. {cure}")


def _say_nothing(env: Env, home: Home, what: str) -> None:
    from hermes_sessions.cli.nothing import explain_nothing

    explain_nothing(env, home, what)


def _in_words(index: Index) -> str:
    if index.missing:
        return f"the search index misses {plural(index.missing, 'row')}"
    return _WRONG[index.state]
