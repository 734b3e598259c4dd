"""Promoted procedures: what one says, where its rollout stands, and what was seen of it on the way.

This module holds the values and the table of legal moves. What guards a move, and what each makes of a
promoted skill, is `domain.rollouts`.
"""

from datetime import datetime
from enum import StrEnum

from runlore.domain.json_form import Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance

VERIFICATION_PROFILE = "verification"


class RolloutStatus(StrEnum):
    """Where a promoted skill stands."""

    DRAFT = "draft"
    VERIFIED = "verified"
    CANARY = "canary"
    ACTIVE = "active"
    REVOKED = "revoked"


class RolloutMove(StrEnum):
    """Everything that can happen to a promoted skill."""

    PROMOTE = "promote"
    RECORD = "record"
    RESTART = "restart"
    VERIFY = "verify"
    TRY = "try"
    ACTIVATE = "activate"
    REVOKE = "revoke"
    ROLL_BACK = "roll_back"


ROLLOUT = Lifecycle[RolloutStatus, RolloutMove](
    "promoted skill",
    {
        # To promote once more: the same words change nothing, other words begin again with a draft.
        (RolloutStatus.DRAFT, RolloutMove.PROMOTE): RolloutStatus.DRAFT,
        (RolloutStatus.VERIFIED, RolloutMove.PROMOTE): RolloutStatus.DRAFT,
        (RolloutStatus.CANARY, RolloutMove.PROMOTE): RolloutStatus.DRAFT,
        (RolloutStatus.REVOKED, RolloutMove.PROMOTE): RolloutStatus.DRAFT,
        (RolloutStatus.DRAFT, RolloutMove.RECORD): RolloutStatus.DRAFT,
        (RolloutStatus.VERIFIED, RolloutMove.RECORD): RolloutStatus.VERIFIED,
        (RolloutStatus.CANARY, RolloutMove.RECORD): RolloutStatus.CANARY,
        (RolloutStatus.DRAFT, RolloutMove.RESTART): RolloutStatus.DRAFT,
        (RolloutStatus.VERIFIED, RolloutMove.RESTART): RolloutStatus.DRAFT,
        (RolloutStatus.CANARY, RolloutMove.RESTART): RolloutStatus.DRAFT,
        (RolloutStatus.DRAFT, RolloutMove.VERIFY): RolloutStatus.VERIFIED,
        (RolloutStatus.VERIFIED, RolloutMove.TRY): RolloutStatus.CANARY,
        # Other sessions for the canary.
        (RolloutStatus.CANARY, RolloutMove.TRY): RolloutStatus.CANARY,
        (RolloutStatus.CANARY, RolloutMove.ACTIVATE): RolloutStatus.ACTIVE,
        (RolloutStatus.DRAFT, RolloutMove.REVOKE): RolloutStatus.REVOKED,
        (RolloutStatus.VERIFIED, RolloutMove.REVOKE): RolloutStatus.REVOKED,
        (RolloutStatus.CANARY, RolloutMove.REVOKE): RolloutStatus.REVOKED,
        (RolloutStatus.ACTIVE, RolloutMove.REVOKE): RolloutStatus.REVOKED,
        # To the newest snapshot that was active.
        (RolloutStatus.DRAFT, RolloutMove.ROLL_BACK): RolloutStatus.ACTIVE,
        (RolloutStatus.VERIFIED, RolloutMove.ROLL_BACK): RolloutStatus.ACTIVE,
        (RolloutStatus.CANARY, RolloutMove.ROLL_BACK): RolloutStatus.ACTIVE,
        (RolloutStatus.REVOKED, RolloutMove.ROLL_BACK): RolloutStatus.ACTIVE,
    },
    prefix="promoted",
    acts={
        RolloutMove.PROMOTE: "promote",
        RolloutMove.RECORD: "record a result",
        RolloutMove.RESTART: "advance to draft",
        RolloutMove.VERIFY: "advance to verified",
        RolloutMove.TRY: "advance to canary",
        RolloutMove.ACTIVATE: "advance to active",
        RolloutMove.REVOKE: "revoke",
        RolloutMove.ROLL_BACK: "rollback if it was active before",
    },
)
ADVANCES = {
    RolloutStatus.DRAFT: RolloutMove.RESTART,
    RolloutStatus.VERIFIED: RolloutMove.VERIFY,
    RolloutStatus.CANARY: RolloutMove.TRY,
    RolloutStatus.ACTIVE: RolloutMove.ACTIVATE,
}


class SkillContext(StrEnum):
    """Where a skill runs: in the conversation that uses it, or in a child agent. Promoted ones fork."""

    INLINE = "inline"
    FORK = "fork"


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """How a promoted skill is run (ROL-11). Without `allowed_tools` the profile's own are allowed."""

    context: SkillContext = SkillContext.FORK
    agent_profile: str = VERIFICATION_PROFILE
    allowed_tools: tuple[str, ...] = ()
    blocked_tools: tuple[str, ...] = ()
    provider: str = ""
    model: str = ""
    fallback_model: str = ""


@JsonForm(rename={"name": "skill_name"}, lineage=("name",))
@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a promoted skill says: everything that an agent sees of it, and how it is run."""

    name: str
    description: str
    when_to_use: str = ""
    version: str = "1.0.0"
    instructions: str
    runtime: Runtime = Runtime()


class RolloutKind(StrEnum):
    """What a result is evidence of."""

    VERIFICATION = "verification"
    CANARY = "canary"


class ExecutionKind(StrEnum):
    """How a skill came to be executed: tried by an operator, or used by a session's agent."""

    TRIAL = "trial"
    USE = "use"


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One run that executed a promoted skill at a fingerprint.

    `run_id` is the run that worked by its words: a child's (`launch_run_id`), or that of an agent elsewhere
    which opened it. `session_id` is the session it was used in or tried for, `calling_run_id` the run there.
    """

    run_id: RunId
    skill_name: str
    fingerprint: str
    kind: ExecutionKind
    at: datetime
    session_id: SessionId | None = None
    calling_run_id: RunId | None = None


@JsonForm(rename={"fingerprint": "definition_fingerprint"}, lineage=("fingerprint", "actor"))
@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One result that was recorded. Only that of the current fingerprint counts; none is ever removed."""

    kind: RolloutKind
    run_id: RunId
    session_id: SessionId | None = None
    success: bool
    fingerprint: str
    at: datetime
    actor: str
    note: str = ""


@JsonForm(rename={"move": "event", "fingerprint": "definition_fingerprint"}, lineage=("fingerprint", "actor"))
@dataclass(frozen=True, kw_only=True)
class RolloutEvent:
    """One line of a promoted skill's history: a change of its status, or a result."""

    move: RolloutMove
    from_status: RolloutStatus | None
    to_status: RolloutStatus
    actor: str
    at: datetime
    fingerprint: str
    reason: str = ""
    kind: RolloutKind | None = None
    run_id: RunId | None = None
    session_id: SessionId | None = None
    success: bool | None = None


@JsonForm(lineage=("share",))
@dataclass(frozen=True, kw_only=True)
class Canary:
    """Who sees a canary: sessions by name, and a share of all others in percent, drawn by their ids."""

    sessions: tuple[SessionId, ...] = ()
    share: int = 0


@JsonForm(
    flat=("definition",),
    rename={"fingerprint": "definition_fingerprint", "events": "lifecycle_events"},
    lineage=("fingerprint", "evidence", "events", "revision"),
    first=("skill_name", "status", "definition_fingerprint", "source_record_id"),
    damage=Damage(thing="promoted skill", code="promoted.damaged", hint="restore the store from a backup"),
)
@dataclass(frozen=True, kw_only=True)
class PromotedSkill:
    """A procedure on its way to being a skill. The row is the authority; files and catalogue follow it."""

    definition: Definition
    status: RolloutStatus
    fingerprint: str
    source_record_id: RecordId
    evidence: tuple[Evidence, ...] = ()
    events: tuple[RolloutEvent, ...] = ()
    canary: Canary = Canary()
    provenance: Provenance = TRUSTED
    created_at: datetime
    updated_at: datetime
    revoked_reason: str = ""
    revision: int = 1

    @property
    def name(self) -> str:
        return self.definition.name
