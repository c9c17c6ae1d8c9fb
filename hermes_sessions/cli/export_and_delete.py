"""``export --delete-after-verified``: what is deleted is in files that were read back first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_sessions.cli.delete import refuse_live
from hermes_sessions.cli.deleting import Means, delete, weigh
from hermes_sessions.cli.exporting import load_document, write_files
from hermes_sessions.errors import ExitCode, Refused, UserError
from hermes_sessions.export.markdown import verify
from hermes_sessions.store.lineage import load_units
from hermes_sessions.store.saving import Saver
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from hermes_sessions.cli.export import Request
    from hermes_sessions.cli.exporting import Target
    from hermes_sessions.export.documents import Document
    from hermes_sessions.models import Conversation
    from hermes_sessions.references import Place


def export_and_delete(
    place: Place, request: Request, conversation: Conversation, target: Target
) -> int:
    """Export a conversation and each delegate, read the files back, and delete what they hold.

    The rows that are deleted are compared with those that were exported inside the transaction
    that deletes them: any difference deletes nothing (R075, R076).

    Raises:
        Refused: something changed, or is live; the files stay.
        UserError: a file is not what was written.
    """
    env, store = place.env, place.store
    (unit,) = load_units(store, [conversation])
    refuse_live(place, [unit])
    expected = Saver(store, None).save(unit, weigh(store, place.home, [unit]).labels[unit.id])
    documents = [d for c in unit.conversations if (d := load_document(store, place, c)) is not None]
    if len(documents) != len(unit.conversations):
        raise Refused(f"{one_line(unit.id)} was deleted meanwhile", hint="nothing was deleted")
    paths = write_files(env, request, documents, target)
    for path, document in zip(paths, documents, strict=True):
        if not verify(path.read_bytes(), document):
            raise UserError(f"{path} is not what was written to it", hint="nothing was deleted")
    env.note(f"exported {_amount(documents)} to {target.shown}, and read it back")
    doomed = weigh(store, place.home, [unit])
    means = Means("export --delete-after-verified", trash=True, timeout=DEFAULT_TIMEOUT)
    done = delete(env, place.home, doomed, means, by=None, expected={unit.id: expected})
    if not done.lines:
        raise Refused(
            f"{one_line(unit.id)} changed while it was exported: nothing was deleted",
            hint="the files stay; run it again with --force",
        )
    env.write("".join(f"{line}\n" for line in done.lines))
    for failure in done.failures:
        env.note(failure)
    return ExitCode.FAILED if done.failures else ExitCode.OK


def _amount(documents: list[Document]) -> str:
    messages = sum(len(document.messages) for document in documents)
    return f"{plural(len(documents), 'conversation')}, {plural(messages, 'message')}"
