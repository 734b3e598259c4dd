"""Promoted skills for the tests of their rollout: brought to any status by the moves themselves."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from runlore.domain.record import PublishTier, Record, RecordId
from runlore.domain.records.audit import Act
from runlore.domain.rollouts import (
    Ran,
    Result,
    advance_promoted,
    create_promoted,
    execution_for,
    record_result,
    revoke_promoted,
)
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import WORKSPACE
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Definition,
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutKind,
    RolloutStatus,
    Runtime,
)
from tests.builders import active, procedure
from tests.fakes import START

CANARY = SessionId("ses_canary")
MARKER = "released: yes"
DRAFT, VERIFIED = RolloutStatus.DRAFT, RolloutStatus.VERIFIED
IN_CANARY, ACTIVE, REVOKED = RolloutStatus.CANARY, RolloutStatus.ACTIVE, RolloutStatus.REVOKED


def by(minutes: int = 0, *, reason: str = "", actor: str = "ada") -> Act:
    """Who acts, and when."""
    return Act(actor=actor, at=START + timedelta(minutes=minutes), reason=reason)


def learning(**fields: Any) -> Record:
    """A procedure that may be promoted."""
    made = active(procedure(scope=WORKSPACE, record_id=RecordId("rec_procedure")))
    return replace(made, **{"publish_tier": PublishTier.ACTIVE, **fields})


def words(instructions: str = "Run the tests. Tag it.", **fields: Any) -> Definition:
    """What a promoted skill says."""
    runtime = {name: fields.pop(name) for name in list(fields) if name in Runtime.__dataclass_fields__}
    found = Definition(name="release", description="Releases it.", instructions=instructions)
    return replace(found, runtime=Runtime(**runtime), **fields)


def draft(**fields: Any) -> PromotedSkill:
    """A new one."""
    return create_promoted(words(**fields), learning(), act=by())


def ran(number: int, status: RunStatus = RunStatus.COMPLETED, **fields: Any) -> Ran:
    """A run that went well."""
    found = Ran(
        run_id=RunId(f"run_{number}"),
        status=status,
        opened_at=by(number).at,
        called_tools=True,
        output=f"ok: {MARKER}",
    )
    return replace(found, **fields)


def executed(
    skill: PromotedSkill, number: int, kind: ExecutionKind = ExecutionKind.TRIAL, **fields: Any
) -> Execution:
    """A run that executed the skill as it is: a trial, or a use in the canary's session."""
    found = Execution(
        run_id=RunId(f"run_{number}"),
        skill_name=skill.name,
        fingerprint=skill.fingerprint,
        kind=kind,
        at=by(number).at,
        session_id=CANARY if kind is ExecutionKind.USE else None,
    )
    return replace(found, **fields)


def result(number: int, kind: RolloutKind = RolloutKind.VERIFICATION, **fields: Any) -> Result:
    """What is to be recorded of a run."""
    return replace(Result(kind=kind, run_id=RunId(f"run_{number}"), marker=MARKER), **fields)


def record(skill: PromotedSkill, number: int, kind: RolloutKind, *, succeeds: bool = True) -> PromotedSkill:
    """The skill with a result of a new run: a trial for a verification, a use for a canary."""
    how = ExecutionKind.TRIAL if kind is RolloutKind.VERIFICATION else ExecutionKind.USE
    asked, done = result(number, kind), executed(skill, number, how)
    run = ran(number) if succeeds else ran(number, RunStatus.FAILED)
    chosen = execution_for(skill, asked, [done])
    return record_result(skill, asked, execution=chosen, ran=run, act=by(number + 1))


@dataclass
class Walk:
    """A promoted skill with its snapshots, as the store keeps them."""

    skill: PromotedSkill = field(default_factory=draft)
    minute: int = 1
    history: list[tuple[int, PromotedSkill]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history.append((1, self.skill))

    def keep(self, new: PromotedSkill) -> PromotedSkill:
        """Put it, as the store does: with a snapshot where it changed."""
        if new is not self.skill:
            self.skill = new
            self.history.append((len(self.history) + 1, new))
        return new

    def tick(self, minutes: int = 5) -> int:
        """The next minute."""
        self.minute += minutes
        return self.minute

    @property
    def now(self) -> datetime:
        """The moment."""
        return by(self.minute).at

    def to(self, status: RolloutStatus) -> "Walk":
        """The same, moved on to a status by what each step asks for."""
        if status is REVOKED:
            self.keep(revoke_promoted(self.skill, by(self.tick())))
            return self
        for step in (VERIFIED, IN_CANARY, ACTIVE)[: list(RolloutStatus).index(status)]:
            kind = RolloutKind.CANARY if step is ACTIVE else RolloutKind.VERIFICATION
            if step is not IN_CANARY:
                self.keep(record(self.skill, self.tick(), kind))
            sessions = (CANARY,) if step is IN_CANARY else None
            self.keep(advance_promoted(self.skill, step, act=by(self.tick()), sessions=sessions))
        return self


def at_status(status: RolloutStatus) -> Walk:
    """A new one that stands at a status. A revoked one was active before."""
    walk = Walk()
    return walk.to(ACTIVE).to(REVOKED) if status is REVOKED else walk.to(status)
