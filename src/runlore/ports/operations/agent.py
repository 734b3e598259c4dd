"""Inputs that Runlore works through itself: started, followed, stopped, and what they wait for."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalState
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.operations.declaration import (
    AGENTS,
    EVERYBODY,
    OPERATORS,
    OVERSEERS,
    Created,
    Operation,
    Route,
)
from runlore.ports.operations.field_types import Cursor, PageLimit
from runlore.ports.operations.sessions import RunView


@dataclass(frozen=True, kw_only=True)
class NewInput:
    """A task for Runlore's own agent. With `wait` the answer comes when its run has ended.

    `learn` False detects nothing after it, whatever the policy says. A given run id makes it repeatable.
    """

    session_id: SessionId
    text: Annotated[str, About("What to do.", most=limits.REQUEST_CHARS_MAX)]
    model: Annotated[
        str | None,
        About("The model, as PROVIDER:NAME; the configured one if left out.", most=limits.MODEL_CHARS_MAX),
    ] = None
    fallback_model: Annotated[
        str | None, About("The model that takes over where it fails.", most=limits.MODEL_CHARS_MAX)
    ] = None
    run_id: Annotated[
        RunId | None, About("The run's id, which makes the call repeatable; made by Runlore if left out.")
    ] = None
    learn: Annotated[bool, About("Look afterwards for skills worth keeping.")] = True
    wait: Annotated[bool, About("Answer when the run has ended.")] = False
    idempotency_key: str | None = None


class RunEventKind(StrEnum):
    """What a run's stream tells. Only `journal` has a number that a stream can begin after."""

    JOURNAL = "journal"
    TEXT = "text"
    OUTPUT = "output"
    APPROVAL = "approval"
    REMARK = "remark"
    END = "end"
    BEAT = "beat"


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """One event of a stream. `number` is that of the journal's event, else 0. What `data` holds, by its kind:

    `journal`  the event as journals are answered: session_id, number, run_id, type, at, body
    `text`     {text}: a piece of the model's words as it comes; the whole follows as a journal event
    `output`   {call_id, text}: a piece of what a command prints as it comes
    `approval` the request as it is answered, when it is asked and again when it is decided
    `remark`   {text}: something that a person should know
    `end`      {run, final_output, detected}: the run as it is answered, its answer, and what it is worth
               keeping of it: [{suggestion_id, name, heuristic, description, became, reason}]
    `beat`     {}: nothing happened for `FollowRun.beat_s`, where that was asked for
    """

    kind: RunEventKind
    number: int = 0
    data: JsonObject


@dataclass(frozen=True, kw_only=True)
class FollowRun:
    """Follow a run: what stands in its journal after a number, then what happens, until it has ended.

    With `beat_s` a `beat` comes whenever nothing else did for so long, so that whoever follows can do
    something else meanwhile, such as see that nobody listens any more.
    """

    run_id: RunId
    after: Annotated[
        int,
        About(
            "Begin after this number of the journal; Last-Event-ID counts before it.",
            least=0,
            most=limits.NUMBER_MAX,
        ),
    ] = 0
    beat_s: float | None = None


@JsonForm(rename={"states": "state"})
@dataclass(frozen=True, kw_only=True)
class ApprovalsRequest:
    """What runs wait for, the oldest first; what was decided too where states are named. Without any it is
    what waits."""

    run_id: Annotated[RunId | None, About("Only of this run.")] = None
    session_id: Annotated[SessionId | None, About("Only of this session.")] = None
    states: Annotated[
        frozenset[ApprovalState], About("Only this state; waiting where none is named. Repeatable.")
    ] = frozenset({ApprovalState.WAITING})
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class ApprovalPage:
    """Requests, and where the next page begins."""

    items: tuple[Approval, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalDecision:
    """What a person says: yes or no to a call, or the answer to a question. A no may say why in `answer`: the
    agent is told."""

    approval_id: ApprovalId
    approve: Annotated[bool | None, About("Of a call: whether it may be made.")] = None
    answer: Annotated[
        str | None,
        About(
            "Of a question: the answer. Of a call that is denied: why, which the agent is told.",
            most=limits.REQUEST_CHARS_MAX,
        ),
    ] = None
    idempotency_key: str | None = None


class PatternOutcome(StrEnum):
    """What has become of a pattern by the end of a run: a skill, or why it is none."""

    SAVED = "saved"
    DECLINED = "declined"
    SUPPRESSED = "suppressed"
    # A model words it better first.
    IMPROVING = "improving"
    # For somebody to decide about.
    WAITING = "waiting"
    # It was a skill before.
    KNOWN = "known"
    # Equal runs have shown a procedure, which waits for review.
    PROPOSED = "proposed"


@dataclass(frozen=True, kw_only=True)
class DetectedPattern:
    """A pattern that a run shows. `reason` says why one was declined or suppressed. One that was
    `proposed` has the id of its record."""

    suggestion_id: str
    name: str
    heuristic: str
    description: str
    became: PatternOutcome = PatternOutcome.WAITING
    reason: str = ""


@JsonForm(rename={"view": "run"})
@dataclass(frozen=True, kw_only=True)
class RunEnded:
    """The data of the last event of a stream: how the run stands, what it answered, what was detected."""

    view: RunView
    final_output: str
    detected: tuple[DetectedPattern, ...] = ()


class AgentOperations(Protocol):
    """Runlore's own agent."""

    @Operation(
        Route(
            "POST /v1/sessions/{session_id}/inputs",
            text="Give Runlore's own agent a task; it works on it in the daemon.",
        ),
        AGENTS,
        tagged=True,
        created=Created.IF_STORED,
        location="/v1/runs/{run_id}",
        large=True,
    )
    def start_input(self, request: NewInput) -> RunView:
        """Begin a run in this process. ModelFailure `model.none`, `model.key`, Unavailable `agent.busy`, and
        Conflict `agent.session-busy` where another input of the session is worked, before anything is
        written. The same call once more answers the run that is there."""

    @Operation(
        Route(
            "GET /v1/runs/{run_id}/events",
            text="What happened and happens in a run, as server-sent events; it ends after the run's `end`.",
        ),
        EVERYBODY,
        only=frozenset({"after"}),
    )
    def follow_run(self, request: FollowRun) -> Iterator[RunEvent]:
        """What happened and happens in a run; ends after `end`. Any run can be followed by its journal."""

    @Operation("POST /v1/runs/{run_id}/cancel", AGENTS, tagged=True)
    def cancel_run(self, run_id: RunId) -> RunView:
        """Stop a run that Runlore works; one that has ended is as it is."""

    @Operation("GET /v1/approvals", OVERSEERS)
    def list_approvals(self, request: ApprovalsRequest) -> ApprovalPage:
        """What runs wait for, the oldest first."""

    @Operation("GET /v1/approvals/{approval_id}", OVERSEERS, tagged=True)
    def get_approval(self, approval_id: ApprovalId) -> Approval:
        """One of what runs wait for."""

    @Operation("POST /v1/approvals/{approval_id}", OPERATORS, tagged=True, needs_body=True)
    def decide_approval(self, decision: ApprovalDecision) -> Approval:
        """Say yes or no to a call, or answer a question; the same once more changes nothing."""
