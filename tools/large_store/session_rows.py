"""The rows of `sessions`, and of the system prompts they refer to."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from large_store.dice import chance

if TYPE_CHECKING:
    import random

    from large_store.prose import Prose
    from large_store.session import Row, Session

MARKS = {"reset": "_reset_from", "branch": "_branched_from", "delegate": "_delegate_from"}
"""Key in the model's configuration that ties a session to its parent, by the kind of the tie."""

MODELS = {
    "hermes-4-405b": "nous",
    "claude-sonnet-4": "anthropic",
    "gpt-5.2": "openai",
    "qwen3-32b": "custom",
}
"""A model and who serves it."""

PROJECTS = (
    "api-gateway",
    "billing",
    "data-infra",
    "firmware",
    "homepage",
    "notes",
    "photo-box",
    "etl",
)

PROMPTS = 6
PROMPT_SENTENCES = 150
TOOL_PIN = json.dumps(["terminal", "read_file", "patch", "web_search", "memory", "skill_manage"])


def digest(text: str) -> str:
    """Return the key of a text in `system_prompts`."""
    return hashlib.sha256(text.encode()).hexdigest()


def prompt_rows(prose: Prose) -> list[Row]:
    """Return the stored system prompts, ~17 KB each, and the one tool pin kept beside them."""
    prompts = [
        f"You are Hermes.\n\n## Skill Safety Rule\nAsk first.\n\n## Notes {n}\n"
        + " ".join(prose.rng.choices(prose.sentences, k=PROMPT_SENTENCES))
        for n in range(PROMPTS)
    ]
    return [{"hash": digest(text), "prompt": text} for text in [*prompts, TOOL_PIN]]


def session_row(session: Session, prompt: Row, rng: random.Random) -> Row:
    """Return a session as Hermes inserts it, before there is anything to count."""
    model = rng.choice(list(MODELS))
    config: Row = {"provider": MODELS[model], "reasoning_config": {"effort": "medium"}}
    if session.parent is not None and session.kind in MARKS:
        config[MARKS[session.kind]] = session.parent.id
    root = f"/home/you/code/{rng.choice(PROJECTS)}"
    local = session.source in {"cli", "tui", "oneshot", "subagent"}
    chat = f"{session.chat + 70_000}" if session.source in {"telegram", "discord"} else None
    return {
        "id": session.id,
        "source": session.source,
        "created_source": session.source,
        "user_id": chat,
        "session_key": chat and f"agent:main:{session.source}:dm:{chat}",
        "chat_id": chat,
        "chat_type": chat and "dm",
        "model": model,
        "model_config": json.dumps(config),
        "system_prompt_hash": prompt["hash"],
        "system_prompt": None,
        "tool_names": digest(TOOL_PIN),
        "parent_session_id": session.parent and session.parent.id,
        "started_at": session.started,
        "cwd": root if local else None,
        "git_branch": rng.choice(("main", "main", "wip", "fix/retry")) if local else None,
        "git_repo_root": root if local and chance(rng, 0.9) else None,
        "billing_provider": MODELS[model],
        "title": session.title,
        "title_source": session.title and rng.choice(("llm", "llm", "user")),
        "profile_name": "default",
        "archived": int(session.archived),
        "pinned": int(session.pinned),
        "hidden": int(session.hidden),
    }


def final_values(session: Session, rng: random.Random) -> Row:
    """Return what Hermes has added to a session's row by its end: counters, cost, times."""
    calls = max(1, session.live // 2)
    sent = session.live * rng.randint(400, 4_000)
    status = rng.choice(("estimated", "estimated", "actual", "included", "unknown"))
    cost = round(sent * 3e-6, 6)
    return {
        "id": session.id,
        "ended_at": session.last_message + 1 if session.end_reason else None,
        "end_reason": session.end_reason,
        "message_count": session.live,
        "tool_call_count": session.tool_calls,
        "rewind_count": session.rewinds,
        "input_tokens": sent,
        "output_tokens": session.live * rng.randint(20, 300),
        "cache_read_tokens": sent // 2,
        "api_call_count": calls,
        "estimated_cost_usd": cost if status == "estimated" else None,
        "actual_cost_usd": cost if status == "actual" else None,
        "cost_status": status,
        "cost_source": "none" if status == "unknown" else "official_docs_snapshot",
        "last_activity_at": session.last_message,
    }
