"""``repair-prompts``: find stored system prompts that lack a part, and clear them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hermes_sessions.cli.changes import Consent, carry_out, writing
from hermes_sessions.cli.opened import note_move, opened
from hermes_sessions.cli.options import DryRun, Json, Timeout, Yes
from hermes_sessions.cli.refresh_prompts import in_memory, prompt_item
from hermes_sessions.errors import Refused
from hermes_sessions.gateway import gateway_pid
from hermes_sessions.plans import Done, Proposal, Sheet
from hermes_sessions.references import resolve
from hermes_sessions.store.edits import check_readable
from hermes_sessions.store.prompts import clear, degraded_prompts, stored_prompts
from hermes_sessions.store.writing import DEFAULT_TIMEOUT
from hermes_sessions.text import one_line, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_sessions.context import Env
    from hermes_sessions.references import Place
    from hermes_sessions.store.connect import Store
    from hermes_sessions.store.prompts import Prompt

FIELDS = (
    "command",
    "dry_run",
    "findings",
    "unverifiable",
    "apply",
    "cleared",
    "gateway_pid",
)

_ASKED_FOR = "it was asked for"


class Found(NamedTuple):
    """What was found.

    Attributes:
        findings: what ``--apply`` clears.
        unverifiable: what may be degraded, and is left alone.
        session_id: the one that was asked for, or None.
    """

    findings: tuple[Prompt, ...]
    unverifiable: tuple[Prompt, ...]
    session_id: str | None


def command(
    ctx: typer.Context,
    ref: Annotated[
        str | None, typer.Argument(metavar="[REF]", help="Clear this one, whatever it is like.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Clear what was found.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> int:
    """Find and clear degraded system prompts.

    A stored prompt is degraded if its session may manage skills and the part on skill safety is
    missing. Where the pinned tools do not tell, it may be missing for good: such prompts are
    counted as unverifiable and left alone. Without --apply nothing is changed. Hermes builds a
    prompt that was cleared anew on the next turn, which costs one miss of the provider's cache.

    \b
    Examples:
      hermes-sessions repair-prompts
      hermes-sessions repair-prompts --apply --yes
    """
    return run(ctx.obj, ref, Consent(dry_run or not apply, yes, json, timeout), apply=apply)


def run(env: Env, ref: str | None, consent: Consent, *, apply: bool) -> int:
    """Look, show what was found, ask, and clear it."""
    with opened(env) as place:
        check_readable(place.store)
        session_id = None if ref is None else _session(place, ref)
        found = _look(place.store, session_id)
    gateway = gateway_pid(place.home.path) if place.home.path else None
    number = plural(len(found.findings), "stored prompt")
    is_worth_showing = found.findings or (found.unverifiable and not apply)
    proposal = Proposal(
        _sheet(found, apply=apply),
        {
            "command": "repair-prompts",
            "dry_run": consent.dry_run,
            "findings": [_data(prompt) for prompt in found.findings],
            "unverifiable": [_data(prompt) for prompt in found.unverifiable],
            "apply": apply,
            "cleared": [],
            "gateway_pid": gateway,
        },
        FIELDS,
        f"Clear {number}?" if is_worth_showing else "",
        _nothing(found),
        is_harmful=True,
    )

    def do() -> Done:
        ids = [prompt.session_id for prompt in found.findings]
        with writing(env, place.home, consent.timeout) as writer, writer.transaction():
            if _look(writer.store, session_id).findings != found.findings:
                raise Refused(
                    "stored prompts changed since they were looked at",
                    hint="nothing was changed; run the command again",
                )
            clear(writer, ids)
        if gateway is not None:
            env.note(in_memory(gateway))
        rebuilt = "it is built anew" if len(ids) == 1 else "each is built anew"
        line = f"cleared {number}: {rebuilt} on the next turn, which costs a cache miss"
        return Done((line,), {"cleared": ids})

    return carry_out(env, consent, proposal, do)


def _session(place: Place, ref: str) -> str:
    """Return the session that is meant: the very one if it was named by its id."""
    found = resolve(place, ref, changes=True)
    if found.session_id.startswith(ref):
        return found.session_id
    note_move(place.env, found)
    return found.conversation.id


def _look(store: Store, session_id: str | None) -> Found:
    if session_id is not None:
        stored = stored_prompts(store, [session_id])
        asked = tuple(p._replace(reason=_ASKED_FOR, is_finding=True) for p in stored)
        return Found(asked, (), session_id)
    degraded = degraded_prompts(store)
    return Found(
        tuple(prompt for prompt in degraded if prompt.is_finding),
        tuple(prompt for prompt in degraded if not prompt.is_finding),
        None,
    )


def _sheet(found: Found, *, apply: bool) -> Sheet:
    shown = found.findings if apply else (*found.findings, *found.unverifiable)
    facts = [
        (label, f"{plural(len(some), 'stored prompt')}: {reason}")
        for label, prompts in (("clear", found.findings), ("unsure", found.unverifiable))
        for reason, some in _by_reason(prompts)
    ]
    remarks = []
    if found.findings and not apply:
        remarks.append("--apply clears them; each session then pays one cache miss.")
    if found.unverifiable:
        remarks.append("What is unsure stays as it is; its id as REF clears it all the same.")
    return Sheet(
        "Degraded system prompts" if found.session_id is None else "Stored system prompt",
        tuple(facts),
        tuple(prompt_item(p, "clear" if p.is_finding else "unsure") for p in shown),
        tuple(remarks),
    )


def _by_reason(prompts: Sequence[Prompt]) -> list[tuple[str, list[Prompt]]]:
    reasons = dict.fromkeys(prompt.reason for prompt in prompts)
    return [(reason, [p for p in prompts if p.reason == reason]) for reason in reasons]


def _data(prompt: Prompt) -> dict[str, object]:
    return {
        "id": prompt.session_id,
        "prompt_chars": prompt.characters,
        "reason": prompt.reason,
    }


def _nothing(found: Found) -> str:
    if found.session_id is not None:
        return f"nothing to do: {one_line(found.session_id)} has no stored prompt"
    unsure = len(found.unverifiable)
    more = f"; {plural(unsure, 'stored prompt')} cannot be judged" if unsure else ""
    return f"nothing to do: no degraded system prompt{more}"
