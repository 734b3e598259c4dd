"""The record: one unit of memory, in one layer, of one kind, in one state.

This module says what a record is and which moves are legal. `audit` makes the moves and their events.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NewType, TypeAlias, Union

from runlore.domain import limits
from runlore.domain.errors import Conflict
from runlore.domain.json_form import About, Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.scope import Scope
from runlore.domain.taint import TRUSTED, Provenance

RecordId = NewType("RecordId", str)
OWN_WORDS = "own_words"
"""The name under which the metadata of what a user said holds what is noted of it; callers cannot give it."""
WORTH = "worth"
"""The name under which the metadata of a learning holds what the outcomes of runs say of it; neither this."""
CHANGED = "changed"
"""The name under which it holds what has changed of what it says of a repository; nor this."""
JsonValue: TypeAlias = Union[bool, int, float, str, Sequence["JsonValue"], Mapping[str, "JsonValue"], None]  # noqa: UP007
JsonObject: TypeAlias = Mapping[str, JsonValue]


class Layer(StrEnum):
    """The five layers."""

    WORKING = "working"
    EPISODIC = "episodic"
    PROFILE = "profile"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Kind(StrEnum):
    """What a record says. Each kind lives in exactly one layer."""

    RUN_SUMMARY = "run_summary"
    FACT = "fact"
    DECISION = "decision"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    RUN = "run"
    SCAN = "scan"
    EXPERIMENT = "experiment"
    PROMOTION = "promotion"
    ROLLBACK = "rollback"
    FAILURE = "failure"
    SCRATCH = "scratch"

    @property
    def layer(self) -> Layer:
        return _LAYER_OF[self]


_LAYER_OF = {
    Kind.RUN_SUMMARY: Layer.EPISODIC,
    Kind.FACT: Layer.SEMANTIC,
    Kind.DECISION: Layer.SEMANTIC,
    Kind.PREFERENCE: Layer.PROFILE,
    Kind.PROCEDURE: Layer.PROCEDURAL,
    Kind.RUN: Layer.EPISODIC,
    Kind.SCAN: Layer.EPISODIC,
    Kind.EXPERIMENT: Layer.EPISODIC,
    Kind.PROMOTION: Layer.EPISODIC,
    Kind.ROLLBACK: Layer.EPISODIC,
    Kind.FAILURE: Layer.EPISODIC,
    Kind.SCRATCH: Layer.WORKING,
}

LEARNING_KINDS = frozenset({Kind.RUN_SUMMARY, Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROCEDURE})
# What a person's search covers unless it is narrowed: all but what Runlore itself writes of every run.
PERSON_KINDS = frozenset(Kind) - {Kind.RUN_SUMMARY, Kind.RUN, Kind.SCRATCH}
PROMPT_KINDS = frozenset({Kind.FACT, Kind.DECISION, Kind.PREFERENCE})
# What may be in every prompt of its scope, whatever the input says.
STANDING_KINDS = frozenset({Kind.DECISION, Kind.PREFERENCE})
# What waits for a decision. Summaries of runs are material for a review, and nobody decides on them.
REVIEWED_KINDS = frozenset(Kind) - {Kind.RUN_SUMMARY}


class State(StrEnum):
    """Where a record stands. In no other state than `constrained` does anything wait for review."""

    CONSTRAINED = "constrained"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    TOMBSTONED = "tombstoned"


class StateReason(StrEnum):
    """Why a record is tombstoned."""

    REJECTED = "rejected"
    REVOKED = "revoked"
    ROLLED_BACK = "rolled_back"
    CLEARED = "cleared"
    EXPIRED = "expired"
    DUPLICATE = "duplicate"
    FORGOTTEN = "forgotten"


class Sensitivity(StrEnum):
    """Sensitive records never reach a prompt or a session's search."""

    NORMAL = "normal"
    SENSITIVE = "sensitive"


class Origin(StrEnum):
    """Who made it: a caller of a surface, or Runlore's own capture."""

    API = "api"
    DAEMON = "daemon"


class PublishTier(StrEnum):
    """Only the active tier is eligible for prompts."""

    PROVISIONAL = "provisional"
    ACTIVE = "active"


class VerificationStatus(StrEnum):
    """Whether evidence supports the content."""

    UNVERIFIED = "unverified"
    PENDING = "pending"
    VERIFIED = "verified"
    FAILED = "failed"


class PolicyDecision(StrEnum):
    """Who decided on publication."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"
    ESCALATED = "escalated"


class Proposal(StrEnum):
    """Who proposed a record that only an operator decides on."""

    PROFILE = "profile"
    COMPACTION = "compaction"
    DEDUP = "dedup"
    RADAR = "radar"
    EPISODES = "episodes"


@JsonForm(
    may_lack=("session_id", "run_id", "agent", "record_ids", "imported_from"),
    lineage=("session_id", "run_id", "agent", "imported_from"),
)
@dataclass(frozen=True, kw_only=True)
class Source:
    """What a record was made from: a run of a session, or other records."""

    session_id: Annotated[str | None, About(most=limits.ID_CHARS_MAX)] = None
    run_id: Annotated[str | None, About(most=limits.ID_CHARS_MAX)] = None
    agent: Annotated[str | None, About(most=limits.ID_CHARS_MAX)] = None
    record_ids: Annotated[tuple[RecordId, ...], About("The records that it was made of.")] = ()
    imported_from: Annotated[str | None, About("Only an import says this.")] = None


@JsonForm(may_lack=("run_id", "artifact_id", "event_number", "note"))
@dataclass(frozen=True, kw_only=True)
class EvidenceRef:
    """A pointer to what supports a record."""

    run_id: Annotated[str | None, About(most=limits.ID_CHARS_MAX)] = None
    artifact_id: Annotated[str | None, About(most=limits.ID_CHARS_MAX)] = None
    event_number: Annotated[
        int | None, About("An event of the run's journal.", least=0, most=limits.NUMBER_MAX)
    ] = None
    note: Annotated[str | None, About("Why; it is kept in the history.", most=limits.REASON_CHARS_MAX)] = None


@JsonForm(lineage=("wrong", "helped"))
@dataclass(frozen=True, kw_only=True)
class Feedback:
    """How often an injected record was called wrong, and how often it helped."""

    wrong: int = 0
    helped: int = 0


@JsonForm(
    lineage=("confidence", "created_by", "policy_actor", "revision"),
    may_lack=("both_hold", "standing"),
    damage=Damage(thing="record", code="record.damaged", hint="restore the store from a backup or an export"),
)
@dataclass(frozen=True, kw_only=True)
class Record:
    """One unit of memory. Made and changed only through `audit`, so that its events replay to it."""

    record_id: RecordId
    layer: Layer
    kind: Kind
    state: State
    state_reason: StateReason | None = None
    scope: Scope
    summary: str
    metadata: JsonObject = field(default_factory=dict)
    confidence: Annotated[int, About(least=0, most=limits.CONFIDENCE_MAX)] = limits.CONFIDENCE_DEFAULT
    sensitivity: Sensitivity = Sensitivity.NORMAL
    origin: Origin = Origin.API
    created_by: str
    source: Source = Source()
    evidence_refs: tuple[EvidenceRef, ...] = ()
    provenance: Provenance = TRUSTED
    publish_tier: PublishTier | None = None
    verification_status: VerificationStatus = VerificationStatus.UNVERIFIED
    policy_decision: PolicyDecision | None = None
    policy_actor: str | None = None
    automation_review: JsonObject | None = None
    semantic_key: str = ""
    proposal: Proposal | None = None
    supersedes: RecordId | None = None
    superseded_by: RecordId | None = None
    duplicate_of: RecordId | None = None
    both_hold: tuple[RecordId, ...] = ()
    feedback: Feedback = Feedback()
    standing: bool = False
    created_at: datetime
    published_at: datetime | None = None
    expires_at: datetime | None = None
    revalidate_at: datetime | None = None
    revision: int = 1

    @property
    def was_proposed_before(self) -> bool:
        """Of the answer to a proposal: whether it waited already. A new candidate is at its first revision,
        and that it was proposed again is noted in another."""
        return self.revision > 1

    @property
    def made_from(self) -> frozenset[str]:
        """The ids of all that it goes with when that is forgotten: records, and of what was seen in several
        runs each of these, beside `source.run_id`."""
        if self.proposal is not Proposal.EPISODES:
            return frozenset(self.source.record_ids)
        runs = (reference.run_id for reference in self.evidence_refs)
        return frozenset((*self.source.record_ids, *filter(None, runs)))

    @property
    def support_refs(self) -> tuple[EvidenceRef, ...]:
        """All that may speak for it: its evidence, and the run that it comes from."""
        run_id = self.source.run_id
        if run_id is None or any(reference.run_id == run_id for reference in self.evidence_refs):
            return self.evidence_refs
        return (*self.evidence_refs, EvidenceRef(run_id=run_id))

    def evidence_with(self, more: Iterable[EvidenceRef]) -> tuple[EvidenceRef, ...]:
        """Its evidence and more, each once, as many as a record may have."""
        own = self.support_refs
        fresh = dict.fromkeys(reference for reference in more if reference not in own)
        return (*self.evidence_refs, *fresh)[: limits.EVIDENCE_REFS_MAX]

    @property
    def doubt(self) -> str:
        """What has changed of what it says of a repository, until a person has looked; empty where nothing
        has."""
        noted = self.metadata.get(CHANGED)
        if self.revalidate_at is None or not isinstance(noted, Mapping):
            return ""
        return f"{noted.get('what')}, {noted.get('last')}"

    def is_expired(self, now: datetime) -> bool:
        """Whether `expires_at` has come: it is honoured to the millisecond, at read time."""
        return self.expires_at is not None and self.expires_at <= now


class Move(StrEnum):
    """Everything that can happen to a record."""

    PROPOSE = "propose"
    WRITE = "write"
    AMEND = "amend"
    CONFIRM = "confirm"
    REJECT = "reject"
    DUPLICATE = "duplicate"
    SUPERSEDE = "supersede"
    RESTORE = "restore"
    ROLLBACK = "rollback"
    REVOKE = "revoke"
    CLEAR = "clear"
    EXPIRE = "expire"
    FORGET = "forget"


@JsonForm(rename={"start": "from", "end": "to", "reason": "state_reason"})
@dataclass(frozen=True, kw_only=True)
class Transition:
    """One row of the table. `start` is empty for a move that makes the record."""

    move: Move
    start: State | None
    end: State
    layers: frozenset[Layer]
    reason: StateReason | None = None
    guard: str = ""


_ALL = frozenset(Layer)
_REVIEWED = frozenset({Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL})
_CANDIDATES = _REVIEWED | {Layer.EPISODIC}
_APPENDED = frozenset({Layer.EPISODIC, Layer.WORKING})

TRANSITIONS: tuple[Transition, ...] = (
    Transition(
        move=Move.PROPOSE,
        start=None,
        end=State.CONSTRAINED,
        layers=_CANDIDATES,
        guard="no secret in it, and the layer's metadata contract holds",
    ),
    Transition(
        move=Move.WRITE,
        start=None,
        end=State.ACTIVE,
        layers=_APPENDED,
        guard="an episode or scratch; nothing that a prompt gets is written without review",
    ),
    Transition(
        move=Move.AMEND,
        start=State.CONSTRAINED,
        end=State.CONSTRAINED,
        layers=_CANDIDATES,
        guard="review notes and evidence; the state stays",
    ),
    Transition(
        move=Move.AMEND,
        start=State.ACTIVE,
        end=State.ACTIVE,
        layers=_REVIEWED,
        guard="verification, feedback, evidence, tier, standing; the state stays; what happened stays",
    ),
    Transition(
        move=Move.CONFIRM,
        start=State.CONSTRAINED,
        end=State.ACTIVE,
        layers=_CANDIDATES,
        guard="an operator or policy; sources checked again; no open conflict; untrusted text accepted",
    ),
    Transition(
        move=Move.REJECT,
        start=State.CONSTRAINED,
        end=State.TOMBSTONED,
        layers=_CANDIDATES,
        reason=StateReason.REJECTED,
        guard="an operator or policy",
    ),
    Transition(
        move=Move.DUPLICATE,
        start=State.CONSTRAINED,
        end=State.TOMBSTONED,
        layers=_CANDIDATES,
        reason=StateReason.DUPLICATE,
        guard="a visible record of the same scope and kind says the same",
    ),
    Transition(
        move=Move.SUPERSEDE,
        start=State.ACTIVE,
        end=State.SUPERSEDED,
        layers=_REVIEWED,
        guard="a confirmed record of the same scope replaces it, in the same transaction",
    ),
    Transition(
        move=Move.RESTORE,
        start=State.SUPERSEDED,
        end=State.ACTIVE,
        layers=_REVIEWED,
        guard="nothing active replaces it",
    ),
    Transition(
        move=Move.ROLLBACK,
        start=State.ACTIVE,
        end=State.TOMBSTONED,
        layers=_REVIEWED,
        reason=StateReason.ROLLED_BACK,
        guard="an operator",
    ),
    Transition(
        move=Move.REVOKE,
        start=State.ACTIVE,
        end=State.TOMBSTONED,
        layers=_CANDIDATES,
        reason=StateReason.REVOKED,
        guard="an operator; of episodes only a published run summary, for what happened stays",
    ),
    Transition(
        move=Move.CLEAR,
        start=State.ACTIVE,
        end=State.TOMBSTONED,
        layers=frozenset({Layer.WORKING}),
        reason=StateReason.CLEARED,
        guard="its run has closed",
    ),
    *(
        Transition(
            move=Move.EXPIRE,
            start=start,
            end=State.TOMBSTONED,
            layers=_ALL,
            reason=StateReason.EXPIRED,
            guard="expires_at has come",
        )
        for start in (State.CONSTRAINED, State.ACTIVE)
    ),
    *(
        Transition(
            move=Move.FORGET,
            start=start,
            end=State.TOMBSTONED,
            layers=_ALL,
            reason=StateReason.FORGOTTEN,
            guard="an operator; erases the content",
        )
        for start in State
    ),
)

RECORD = Lifecycle[State, Move](
    "record",
    {(row.start, row.move): row.end for row in TRANSITIONS if row.start is not None},
    acts={
        move: move.value
        for move in (
            *(Move.CONFIRM, Move.REJECT, Move.SUPERSEDE, Move.RESTORE),
            *(Move.ROLLBACK, Move.REVOKE, Move.FORGET),
        )
    },
)
_ROWS = {(row.start, row.move): row for row in TRANSITIONS}


def transition(record: Record, move: Move) -> Transition:
    """The row that a move takes; a conflict that names the record, its state and the move otherwise."""
    RECORD.after(record.state, move, name=record.record_id)
    row = _ROWS[(record.state, move)]
    happened = record.layer is Layer.EPISODIC and record.kind is not Kind.RUN_SUMMARY
    if record.layer not in row.layers or (happened and move is Move.REVOKE):
        raise Conflict(
            f"record {record.record_id} is {record.state} in the {record.layer} layer;"
            f" {move} is not for that layer",
            code="record.layer-move",
            hint=f"{move} is for: {', '.join(sorted(row.layers))}",
        )
    return row


def opening(layer: Layer, move: Move) -> Transition:
    """The row that makes a record of a layer, by PROPOSE or WRITE."""
    row = _ROWS.get((None, move))
    if row is None or layer not in row.layers:
        raise Conflict(
            f"a record of the {layer} layer is not made by {move}",
            code="record.opening",
            hint="candidates are proposed; episodes and scratch are written",
        )
    return row


def rule_of(record: Record) -> str:
    """The name of the policy's rule that the latest automatic review went by; empty where none did."""
    rule = None if record.automation_review is None else record.automation_review.get("rule")
    return rule if isinstance(rule, str) else ""
