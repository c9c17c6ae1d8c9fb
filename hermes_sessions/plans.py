"""What a changing command is about to do, and what it did, as plain data to show or to print."""

from __future__ import annotations

from typing import NamedTuple


class Item(NamedTuple):
    """One line of a plan: a conversation and what is worth knowing about it.

    Attributes:
        facts: short ones, in columns before the name.
        extra: behind the name.
    """

    id: str
    name: str
    facts: tuple[str, ...] = ()
    extra: str = ""


class Sheet(NamedTuple):
    """A plan as a person reads it.

    Attributes:
        title: the first line.
        facts: a label and what it stands for, such as ``("go", "38 conversations")``.
        items: the conversations, all of them.
        remarks: lines below.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    items: tuple[Item, ...] = ()
    remarks: tuple[str, ...] = ()


class Proposal(NamedTuple):
    """What is to be done.

    Attributes:
        sheet: for a person.
        data: for a script.
        fields: all the names that ``data`` and the results have.
        question: asked before; "" if there is nothing to do.
        nothing: what to say then.
        is_harmful: Enter means no.
        answer: what must be typed instead of ``y``, "" for that.
    """

    sheet: Sheet
    data: dict[str, object]
    fields: tuple[str, ...]
    question: str
    nothing: str = "nothing to do"
    is_harmful: bool = False
    answer: str = ""


class Done(NamedTuple):
    """What was done.

    Attributes:
        lines: results, for a person.
        data: for a script, beside the plan's.
        failures: what could not be done though the rest was; each a line.
    """

    lines: tuple[str, ...]
    data: dict[str, object]
    failures: tuple[str, ...] = ()
