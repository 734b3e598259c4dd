"""Promoted procedures: from a published learning to a skill, step by step, each with its evidence."""

from dataclasses import dataclass
from typing import Protocol

from runlore.domain import limits
from runlore.domain.record import RecordId
from runlore.domain.rollout import PromotedSkill, RolloutKind, RolloutStatus
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.ports.operations.sessions import RunView


@dataclass(frozen=True, kw_only=True)
class PromoteLearning:
    """Make a procedure a skill in `draft`, or give a promoted one that is not active other words.

    What is None keeps what the promoted skill says, or takes the default where there is none; an empty text
    or tuple clears it. `accept_untrusted` is asked for where the learning is tainted.
    """

    record_id: RecordId
    skill_name: str
    instructions: str
    description: str | None = None
    when_to_use: str | None = None
    version: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    blocked_tools: tuple[str, ...] | None = None
    context: str | None = None
    agent_profile: str | None = None
    provider: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    accept_untrusted: bool = False
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromotedRequest:
    """A page of promoted skills by name."""

    statuses: frozenset[RolloutStatus] = frozenset()
    source_record_id: RecordId | None = None
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromotedPage:
    """Promoted skills, and where the next page begins."""

    items: tuple[PromotedSkill, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrialRequest:
    """Run a promoted skill once, in a child agent of its own.

    `session_id` is the session it is tried for: it lends its working folder, its persona and its scope.
    Without one, `working_folder` says where it works. Without a working folder the child has neither files
    nor commands. With `wait` the answer comes when the run has ended.
    """

    skill_name: str
    input: str
    session_id: SessionId | None = None
    working_folder: str | None = None
    wait: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RolloutResult:
    """Record how a run of the skill went: a success where its final output contains the marker."""

    skill_name: str
    kind: RolloutKind
    run_id: RunId
    expected_output_contains: str
    definition_fingerprint: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdvanceRequest:
    """Move a promoted skill on (or back to `draft`). `sessions` and `share` are the canary's."""

    skill_name: str
    to: RolloutStatus
    sessions: tuple[SessionId, ...] | None = None
    share: int | None = None
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RevokePromoted:
    """Take a promoted skill out of use, or, for `rollback_promoted`, put its newest active snapshot back."""

    skill_name: str
    reason: str = ""
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromotedSnapshot:
    """A promoted skill as it stood after a change, oldest first by `number`."""

    number: int
    skill: PromotedSkill


@dataclass(frozen=True, kw_only=True)
class PromotedHistoryRequest:
    """A page of how one promoted skill stood, oldest first."""

    skill_name: str
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class PromotedHistory:
    """Snapshots of a promoted skill, and where the next page begins."""

    items: tuple[PromotedSnapshot, ...]
    next_cursor: str | None = None


class RolloutOperations(Protocol):
    """What can be done with promoted procedures. All but reading is the operator's."""

    def promote_learning(self, request: PromoteLearning) -> PromotedSkill:
        """Promote a procedure that is active, with the active tier, in the workspace's scope."""
        ...

    def list_promoted(self, request: PromotedRequest) -> PromotedPage:
        """Promoted skills by name, whatever their status."""
        ...

    def get_promoted(self, skill_name: str) -> PromotedSkill:
        """One promoted skill; NotFound (`promoted.not-found`)."""
        ...

    def promoted_history(self, request: PromotedHistoryRequest) -> PromotedHistory:
        """How it stood after each change, oldest first."""
        ...

    def try_promoted(self, request: TrialRequest) -> RunView:
        """Run it once; the run that executes it (its `launch_run_id`)."""
        ...

    def record_result(self, request: RolloutResult) -> PromotedSkill:
        """Record a result; the same run once more changes nothing."""
        ...

    def advance_promoted(self, request: AdvanceRequest) -> PromotedSkill:
        """Move it on, where its evidence allows."""
        ...

    def revoke_promoted(self, request: RevokePromoted) -> PromotedSkill:
        """Take it out of use at once; once more changes nothing."""
        ...

    def rollback_promoted(self, request: RevokePromoted) -> PromotedSkill:
        """Put the newest snapshot that was active back, where its learning still stands."""
        ...
