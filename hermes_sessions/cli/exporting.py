"""Write exports: where to, row by row or document by document, and what is said about it."""

from __future__ import annotations

import gc
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from hermes_sessions.cli.metered import Meter, Metered
from hermes_sessions.context import short_path
from hermes_sessions.errors import ExitCode, Refused, UsageProblem, UserError
from hermes_sessions.export.documents import Document
from hermes_sessions.export.files import made_directory, new_file, safe_name, slug
from hermes_sessions.export.jsonl import SessionWriter
from hermes_sessions.json_lines import to_line
from hermes_sessions.render.progress import Progress
from hermes_sessions.store.messages import load_transcript
from hermes_sessions.store.stored_rows import StoredRows, count_stored
from hermes_sessions.store.summaries import summarise
from hermes_sessions.text import plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hermes_sessions.cli.export import Request
    from hermes_sessions.context import Env
    from hermes_sessions.export.redacting import Redactor
    from hermes_sessions.home import Home
    from hermes_sessions.models import Conversation
    from hermes_sessions.references import Place
    from hermes_sessions.store.connect import Store

_EXPORTS = "session-exports"


class Target(NamedTuple):
    """Where an export goes.

    Attributes:
        path: a file, or for one file each a directory; None for stdout.
        is_directory: each conversation gets a file in it.
        shown: for people.
    """

    path: Path | None
    is_directory: bool
    shown: str


def target_of(env: Env, home: Home, request: Request, ids: Sequence[str], number: int) -> Target:
    """Work out where an export goes.

    Raises:
        UsageProblem: that place does not fit the format.
    """
    output, form = request.output, request.format.value
    one_each = form in {"md", "qmd"} and not (output == "-" and number == 1)
    if one_each:
        if output == "-":
            raise UsageProblem(f"several {form} files do not fit into stdout", hint="-o DIRECTORY")
        if output is None and home.path is None:
            raise UsageProblem("--db has no place for exports", hint="-o DIRECTORY")
        directory = Path(output).expanduser() if output else Path(str(home.path)) / _EXPORTS
        return Target(directory, is_directory=True, shown=short_path(directory, env.environ))
    if output in {None, "-"}:
        if form == "html" and env.is_terminal:
            raise UsageProblem("a page is nothing to read on a terminal", hint="-o FILE.html")
        return Target(None, is_directory=False, shown="the standard output")
    path = Path(str(output)).expanduser()
    if path.is_dir() or str(output).endswith("/"):
        path /= _file_name(form, ids, number)
    return Target(path, is_directory=False, shown=short_path(path, env.environ))


def _file_name(form: str, ids: Sequence[str], number: int) -> str:
    if form == "trace":
        return f"{safe_name(ids[0])}.trace.jsonl" if number == 1 else "hermes_sessions.trace.jsonl"
    return (
        f"hermes_session_{safe_name(ids[0])}.{form}" if len(ids) == 1 else f"hermes_sessions.{form}"
    )


@contextmanager
def opened_target(env: Env, target: Target, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file for an export, or the standard output."""
    if target.path is not None:
        with new_file(target.path, force=force) as file:
            yield file
        return
    buffer = getattr(env.stdout, "buffer", None)
    if buffer is not None:
        env.stdout.flush()
        yield buffer
        buffer.flush()
    else:
        yield _TextStream(env)  # type: ignore[misc]


class _TextStream:
    """A stream of text that takes bytes."""

    def __init__(self, env: Env) -> None:
        self._env = env

    def write(self, data: bytes) -> int:
        self._env.write(data.decode("utf-8"))
        return len(data)


# --- Rows --------------------------------------------------------------------------------------


def export_rows(place: Place, request: Request, ids: Sequence[str], target: Target) -> int:
    """Write sessions as JSON Lines, one after the other."""
    env, store = place.env, place.store
    redactor = _redactor(request)
    stored = StoredRows(store)
    sessions = messages = 0
    with opened_target(env, target, force=request.force) as opened, _progress(env, target) as bar:
        meter = Meter(bar, "sessions", _weights(store, bar, [(each,) for each in ids]))
        file = Metered(opened, meter)
        writer = SessionWriter(file, stored.columns, redactor.record if redactor else None)
        for session_id in ids:
            row = stored.session(session_id)
            if row is not None:  # else it was deleted meanwhile
                batches = stored.messages(session_id)
                if request.only is not None:
                    messages += _write_prompts(file, stored.columns, batches, redactor)
                else:
                    messages += writer.write(row, batches)
                sessions += 1
            meter.finish_one()
    what = "prompt" if request.only is not None else "message"
    _say(env, target, plural(sessions, "session"), plural(messages, what), redactor)
    return ExitCode.OK


def _progress(env: Env, target: Target) -> Progress:
    """Show progress, but not in between the results."""
    if target.path is None and env.is_terminal:
        env = env._replace(quiet=True)
    return Progress(env, "exporting")


def _weights(store: Store, bar: Progress, groups: Sequence[Sequence[str]]) -> list[int]:
    """Return how much work groups of sessions are: as much as they have messages."""
    counts: dict[str, int] = {}
    if bar.is_watched:
        counts = count_stored(store, [each for group in groups for each in group])
    return [1 + sum(counts.get(each, 0) for each in group) for group in groups]


def _write_prompts(
    file: Metered,
    columns: Sequence[str],
    batches: Iterable[list[tuple[object, ...]]],
    redactor: Redactor | None,
) -> int:
    from hermes_sessions.export.records import MessageShape, prompt_record

    shape, number = MessageShape(columns), 0
    for batch in batches:
        for cells in batch:
            record = shape.record(cells)
            is_shown = record.get("active", True) or record.get("compacted")
            if record["role"] != "user" or not is_shown or record.get("display_kind") == "hidden":
                continue
            number += 1
            prompt: Any = prompt_record(record, number)
            file.write(to_line(redactor.record(prompt) if redactor else prompt) + b"\n")
    return number


# --- Documents ---------------------------------------------------------------------------------


def export_documents(
    place: Place, request: Request, conversations: Sequence[Conversation], target: Target
) -> int:
    """Write transcripts."""
    gc.enable()  # the writers leave cycles behind, some for each tool call
    env = place.env
    redactor = _redactor(request)
    if not conversations:
        env.note("nothing matches; nothing was written")
        return ExitCode.OK
    if request.delete:
        from hermes_sessions.cli.export_and_delete import export_and_delete

        return export_and_delete(place, request, conversations[0], target)
    counted = _Counted(load_documents(place, conversations, redactor))
    groups = [conversation.session_ids for conversation in conversations]
    if target.is_directory:
        with _progress(env, target) as bar:
            meter = Meter(bar, "conversations", _weights(place.store, bar, groups))
            write_files(env, request, counted, target, meter)
    else:
        opened = opened_target(env, target, force=request.force)
        with opened as file, _progress(env, target) as bar:
            meter = Meter(bar, "conversations", _weights(place.store, bar, groups))
            metered = Metered(file, meter)
            for piece in _pieces(env, request, _finishing(counted, meter)):
                metered.write(piece)
    _say(
        env,
        target,
        plural(counted.documents, "conversation"),
        plural(counted.messages, "message"),
        redactor,
    )
    return ExitCode.OK


class _Counted:
    """Counts documents as they pass by."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = documents
        self.documents = 0
        self.messages = 0

    def __iter__(self) -> Iterator[Document]:
        for document in self._documents:
            self.documents += 1
            self.messages += len(document.messages)
            yield document


def _finishing(documents: Iterable[Document], meter: Meter) -> Iterator[Document]:
    """Pass documents on; one that is asked for the next is done."""
    for document in documents:
        yield document
        meter.finish_one()


def load_documents(
    place: Place, conversations: Sequence[Conversation], redactor: Redactor | None
) -> Iterator[Document]:
    """Load transcripts one after the other, without what Hermes hides."""
    for conversation in conversations:
        document = load_document(place.store, place, conversation)
        if document is not None:
            yield redactor.document(document) if redactor else document


def load_document(store: Store, place: Place, conversation: Conversation) -> Document | None:
    """Load the transcript of a conversation; None if it is gone."""
    summaries = summarise(store, place.home.path, [conversation], place.env.now, sized=False)
    if not summaries:
        return None
    messages = load_transcript(store, conversation.session_ids)
    shown = tuple(m for m in messages if m.display_kind != "hidden")
    return Document(summaries[0], shown)


def _pieces(env: Env, request: Request, documents: Iterable[Document]) -> Iterator[bytes]:
    """Yield what goes into the one file of an export."""
    form = request.format.value
    if form == "html":
        from hermes_sessions.export.html import html_page

        for text in html_page(documents, title="Hermes conversations", exported_at=env.now):
            yield text.encode("utf-8", "replace")
    elif form == "trace":
        from hermes_sessions.export.trace import trace_lines

        for document in documents:
            yield from trace_lines(document)
    else:
        from hermes_sessions.export.markdown import markdown

        for document in documents:
            yield markdown(document, form, env.now)


def write_files(
    env: Env,
    request: Request,
    documents: Iterable[Document],
    target: Target,
    meter: Meter | None = None,
) -> list[Path]:
    """Write a file for each document, all of them or none, and note them in the manifest.

    Raises:
        Refused: one is there already.
        UserError: the directory cannot be written.
    """
    from hermes_sessions.export.manifest import add_entries, entry
    from hermes_sessions.export.markdown import markdown

    form = request.format.value
    directory = target.path or Path()
    entries, names = [], []
    with _staging(directory) as staging:
        for document in documents:
            path = directory / _document_name(document, form)
            if path.exists() and not request.force:
                raise Refused(
                    f"{path} is there already", hint="--force replaces it; nothing was written"
                )
            data = markdown(document, form, env.now)
            with new_file(staging / path.name, force=False, shown=path) as file:
                file.write(data)
            names.append(path.name)
            entries.append(entry(path, data, document, form, env.now))
            if meter is not None:
                meter.pass_by(len(data))
                meter.finish_one()
        for name in names:
            (staging / name).replace(directory / name)
        add_entries(directory, entries)
    return [directory / name for name in names]


@contextmanager
def _staging(directory: Path) -> Iterator[Path]:
    """Make a place in a directory for files that are not complete, and the directory if need be.

    Raises:
        UserError: the directory cannot be written.
    """
    try:
        with (
            made_directory(directory),
            tempfile.TemporaryDirectory(
                prefix=".export-", dir=directory, ignore_cleanup_errors=True
            ) as staging,
        ):
            yield Path(staging)
    except OSError as error:
        raise UserError(f"cannot write into {directory}: {error.strerror or error}") from error


def _document_name(document: Document, form: str) -> str:
    return f"{safe_name(document.summary.id)}-{slug(document.summary.title)}.{form}"


def _redactor(request: Request) -> Redactor | None:
    if not request.is_redacted:
        return None
    from hermes_sessions.export.redacting import Redactor

    return Redactor()


def _say(env: Env, target: Target, sessions: str, messages: str, redactor: Redactor | None) -> None:
    amount = f"exported {sessions}, {messages}"
    if target.path is not None and not target.is_directory:
        amount += f", {size(target.path.stat().st_size)}"
    env.note(f"{amount}, to {target.shown}")
    if redactor is not None:
        env.note(redactor.in_words())
