"""The records that leave the store: immutable, with the names that Hermes uses.

Named tuples, not dataclasses: ten thousand of them are made for one listing, and a dataclass costs
a millisecond of start-up for each class. Annotations are evaluated, not postponed, for the same
reason: each postponed one of a named tuple is compiled at start-up.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from hermes_sessions.errors import UserError


class Kind(StrEnum):
    """What a conversation is to the one it hangs off."""

    ROOT = "root"
    BRANCH = "branch"
    RESET = "reset"
    DELEGATE = "delegate"
    CHILD = "child"  # has a parent and no mark that says why; Hermes treats it as a delegate


class Node(NamedTuple):
    """One session's place in the lineage, and what decides whether it is shown.

    Attributes:
        parent_id: the session it hangs off; None if there is none, or no longer.
        parent_end_reason, end_reason: only the reasons that shape the lineage, else None.
        active_at: newest trustworthy time in the row itself, 0.0 if none. Messages may be newer.
        away: why this row is not in the default view: archived, hidden, tool, delegate; or None.
        marks: ``model_config`` if it may hold lineage marks, else None.
    """

    id: str
    parent_id: str | None
    parent_end_reason: str | None
    source: str
    end_reason: str | None
    active_at: float
    away: str | None
    pinned: object
    marks: object


class Conversation(NamedTuple):
    """What a person sees as one chat: a compression chain, root to tip.

    Attributes:
        nodes: the sessions, root first; the tip's id is the conversation's id.
        active_at: newest activity known of any segment (epoch seconds).
        away: why it is not in the default view; judged on the tip (R013), then on the kind.
    """

    kind: Kind
    nodes: tuple[Node, ...]
    active_at: float
    away: str | None

    @property
    def id(self) -> str:
        """The id of the tip."""
        return self.nodes[-1].id

    @property
    def tip(self) -> Node:
        """The newest segment."""
        return self.nodes[-1]

    @property
    def root(self) -> Node:
        """The first segment."""
        return self.nodes[0]

    @property
    def source(self) -> str:
        """The surface the conversation is on now."""
        return self.nodes[-1].source

    @property
    def session_ids(self) -> tuple[str, ...]:
        """The ids of all segments, root first."""
        return tuple(node.id for node in self.nodes)


class Session(NamedTuple):
    """One row of ``sessions``; None stands for NULL and for a column the file does not have.

    Times are epoch seconds inside the sane window, costs US dollars.
    """

    id: str
    source: str
    user_id: str | None
    session_key: str | None
    chat_id: str | None
    chat_type: str | None
    model: str | None
    parent_session_id: str | None
    started_at: float | None
    ended_at: float | None
    is_open: bool
    end_reason: str | None
    message_count: int
    tool_call_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    api_call_count: int
    estimated_cost_usd: float | None
    actual_cost_usd: float | None
    cost_status: str | None
    billing_provider: str | None
    cwd: str | None
    git_branch: str | None
    git_repo_root: str | None
    title: str | None
    profile_name: str | None
    rewind_count: int

    @property
    def workspace(self) -> str | None:
        """The git repository root if recorded, else the working directory."""
        return (self.git_repo_root or "").strip() or (self.cwd or "").strip() or None


class Filter(NamedTuple):
    """What to select; None and empty mean "whatever". All parts must hold.

    Attributes:
        active_before, active_since: bounds of the last activity (epoch seconds).
        started_before, started_since: bounds of the start, before exclusive, since inclusive.
        archived: only archived ones; everything: hidden, delegates, tool runs and all others too.
        min_tokens, max_tokens: input and output tokens together.
        min_cost, max_cost: US dollars; an unknown cost is 0.
    """

    active_before: float | None = None
    active_since: float | None = None
    started_before: float | None = None
    started_since: float | None = None
    sources: tuple[str, ...] = ()
    exclude_sources: tuple[str, ...] = ()
    workspace: str | None = None
    cwd: str | None = None
    title: str | None = None
    model: str | None = None
    branch: str | None = None
    provider: str | None = None
    user: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    end_reason: str | None = None
    min_messages: int | None = None
    max_messages: int | None = None
    min_tokens: int | None = None
    max_tokens: int | None = None
    min_cost: float | None = None
    max_cost: float | None = None
    min_tool_calls: int | None = None
    max_tool_calls: int | None = None
    pinned: bool | None = None
    archived: bool = False
    everything: bool = False

    @property
    def is_default(self) -> bool:
        """Nothing was asked for: the default view."""
        return self == Filter()

    @property
    def needs_message_counts(self) -> bool:
        """The number of messages decides, so the rows must be counted."""
        return self.min_messages is not None or self.max_messages is not None

    def shows(self, conversation: Conversation) -> bool:
        """Tell whether the view this filter asks for includes such conversations at all.

        Asking for the source of tool runs or delegates by name brings them into view (as in
        Hermes); a delegate on an ordinary source stays out.
        """
        if self.archived:
            return conversation.away == "archived"
        if self.everything or conversation.away is None:
            return True
        is_own_source = conversation.source in {"tool", "subagent"}
        return is_own_source and conversation.source in self.sources


class Cost(NamedTuple):
    """What a conversation cost (US dollars); ``status`` is Hermes' word for how it is known.

    Attributes:
        usd: the actual cost where it is known, else the estimate; None when nobody knows (R126).
        estimated: usd is an estimate, at least in part.
    """

    usd: float | None
    estimated: bool
    status: str | None


class Live(NamedTuple):
    """A running process has the conversation open.

    Attributes:
        since: epoch seconds when it took it, or None.
        holder: who, in words: ``cli (pid 4411)``.
    """

    holder: str
    since: float | None


class Summary(NamedTuple):
    """One conversation with everything a listing or a fact sheet says about it.

    Attributes:
        sessions: the rows of all segments, root first.
        last_active: newest activity of any segment, exact; None if no time can be trusted.
        messages: messages in the transcript of all segments, each once; None if unreadable,
            or if it was not asked for.
        preview: the first request, at most 60 characters and an ellipsis.
        live: the process that has it open, or None.
        damage: why its messages cannot be read, or None.
    """

    conversation: Conversation
    sessions: tuple[Session, ...]
    last_active: float | None
    messages: int | None
    preview: str
    live: Live | None
    damage: UserError | None

    @property
    def id(self) -> str:
        """The id of the conversation."""
        return self.conversation.id

    @property
    def tip(self) -> Session:
        """The row of the newest segment."""
        return self.sessions[-1]

    @property
    def root(self) -> Session:
        """The row of the first segment."""
        return self.sessions[0]

    @property
    def title(self) -> str | None:
        """The title of the newest segment that has one."""
        return next((row.title for row in reversed(self.sessions) if row.title), None)

    @property
    def name(self) -> str:
        """What to call it: the title, else the first request, else nothing."""
        return self.title or self.preview

    @property
    def workspace(self) -> str | None:
        """The workspace of the newest segment that has one (R057)."""
        return next((row.workspace for row in reversed(self.sessions) if row.workspace), None)

    @property
    def tool_calls(self) -> int:
        """Tool calls of all segments, by Hermes' counter."""
        return sum(row.tool_call_count for row in self.sessions)

    @property
    def tokens_in(self) -> int:
        """Input tokens of all segments."""
        return sum(row.input_tokens for row in self.sessions)

    @property
    def tokens_out(self) -> int:
        """Output tokens of all segments."""
        return sum(row.output_tokens for row in self.sessions)

    @property
    def cost(self) -> Cost:
        """The cost of all segments together."""
        return total_cost(self.sessions)


BILLED, INCLUDED, ESTIMATED = "billed", "included", "estimated"
"""How a price is known."""


def price(
    actual: float | None, estimate: float | None, status: str | None
) -> tuple[str | None, float]:
    """Return how the price of one session is known, None if it is not, and US dollars.

    An estimate of 0.0 with status ``unknown`` or none is a placeholder, not a price (R126); an
    actual 0 is a price.
    """
    if actual is not None and (actual or status not in {None, "unknown"}):
        return BILLED, actual
    if status == "included":
        return INCLUDED, 0.0
    if estimate:
        return ESTIMATED, estimate
    return None, 0.0


def total_cost(sessions: tuple[Session, ...]) -> Cost:
    """Add up actual costs, and estimates where there is no actual one."""
    known: list[float] = []
    estimated = False
    for row in sessions:
        kind, usd = price(row.actual_cost_usd, row.estimated_cost_usd, row.cost_status)
        if kind is not None:
            known.append(usd)
            estimated = estimated or kind == ESTIMATED
    status = next((row.cost_status for row in reversed(sessions) if row.cost_status), None)
    return Cost(sum(known) if known else None, estimated, status)


class Row(NamedTuple):
    """One line of a listing.

    Attributes:
        older_runs: earlier runs of the same cron job that are folded into this line.
        messages: messages of all of them, or None if unreadable.
        depth: how deep below another line it hangs in a tree.
    """

    summary: Summary
    older_runs: int
    messages: int | None
    depth: int


class Listing(NamedTuple):
    """What a listing shows, and what it does not.

    Attributes:
        total: conversations that match; None if they were not counted.
        hidden: how many more match but are out of view, by the reason.
        damage: what could not be read, or None.
    """

    rows: tuple[Row, ...]
    total: int | None
    hidden: Mapping[str, int]
    damage: UserError | None

    @property
    def shown(self) -> int:
        """Conversations on the page, folded ones too."""
        return sum(1 + row.older_runs for row in self.rows)


class Message(NamedTuple):
    """One row of ``messages`` as stored.

    Attributes:
        content: the cell as stored: text, NUL-prefixed JSON, a number, bytes or None.
        tool_calls: JSON text, or whatever else is in the cell.
        archived: shown, but no longer in the model's context (archived by compaction).
        timestamp: epoch seconds inside the sane window, or None.
    """

    id: int
    session_id: str
    role: str
    content: object
    tool_calls: object
    tool_call_id: str | None
    tool_name: str | None
    timestamp: float | None
    archived: bool
    active: bool
    display_kind: str | None
    reasoning: str | None
