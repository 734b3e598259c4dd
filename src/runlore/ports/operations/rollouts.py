"""Promoted procedures: from a published learning to a skill, step by step, each with its evidence."""

from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    VERIFICATION_PROFILE,
    PromotedSkill,
    RolloutKind,
    RolloutStatus,
    SkillContext,
)
from runlore.ports.operations.declaration import OPERATORS, OVERSEERS, Created, Operation, Route
from runlore.ports.operations.field_types import Accepted, Cursor, PageLimit, Reason, Revision, SkillName
from runlore.ports.operations.sessions import RunView

_KEPT = "Left out, it keeps what the promoted skill says."
_NAMED = {"name": "skill_name"}
_Tools = Annotated[tuple[str, ...] | None, About(_KEPT, least=0, most=limits.PROMOTED_TOOLS_MAX)]
_Model = Annotated[str | None, About(_KEPT, most=limits.MODEL_CHARS_MAX)]


@dataclass(frozen=True, kw_only=True)
class PromoteLearning:
    """Make a procedure a skill in `draft`, or give a promoted one that is not active other words.

    What is None keeps what the promoted skill says, or takes the default where there is none; an empty text
    or tuple clears it. `accept_untrusted` is asked for where the learning is tainted.
    """

    record_id: RecordId
    skill_name: SkillName
    instructions: Annotated[
        str, About("What the child agent that runs it is told to do.", most=limits.SKILL_BODY_CHARS_MAX)
    ]
    description: Annotated[
        str | None, About(f"What it does. {_KEPT}", most=limits.SKILL_DESCRIPTION_CHARS_MAX)
    ] = None
    when_to_use: Annotated[str | None, About(f"When an agent should use it. {_KEPT}")] = None
    version: Annotated[str | None, About(f"Its version, such as 1.0.0. {_KEPT}")] = None
    allowed_tools: _Tools = None
    blocked_tools: _Tools = None
    context: Annotated[
        str | None, About(f"Where it runs; a promoted one is always run by `{SkillContext.FORK}`.")
    ] = None
    agent_profile: Annotated[
        str | None, About(f"The child agent that runs it: always `{VERIFICATION_PROFILE}`.")
    ] = None
    provider: _Model = None
    model: _Model = None
    fallback_model: _Model = None
    accept_untrusted: Accepted = False
    expected_revision: Revision = None
    idempotency_key: str | None = None


@JsonForm(rename={"statuses": "status"})
@dataclass(frozen=True, kw_only=True)
class PromotedRequest:
    """A page of promoted skills by name."""

    statuses: Annotated[frozenset[RolloutStatus], About("Only this status. Repeatable.")] = frozenset()
    source_record_id: Annotated[RecordId | None, About("Only those made of this learning.")] = None
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


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
    input: Annotated[str, About("What it is given to work on.", most=limits.REQUEST_CHARS_MAX)]
    session_id: Annotated[
        SessionId | None,
        About("The session that it is tried for: it lends its working folder, persona and scope."),
    ] = None
    working_folder: Annotated[
        str | None,
        About(
            "Without a session: the folder on the daemon's machine that it works on a copy of. With neither"
            " it has no files and no commands.",
            most=limits.PATH_CHARS_MAX,
        ),
    ] = None
    wait: Annotated[bool, About("Answer when the run has ended.")] = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RolloutResult:
    """Record how a run of the skill went: a success where its final output contains the marker."""

    skill_name: str
    kind: Annotated[RolloutKind, About("What it is evidence of.")]
    run_id: Annotated[RunId, About("The run that executed the skill, or the one that called it.")]
    expected_output_contains: Annotated[
        str, About("It succeeded where the final output contains this.", most=limits.MARKER_CHARS_MAX)
    ]
    definition_fingerprint: Annotated[
        str | None, About("Refuse (409) unless this is the present fingerprint.")
    ] = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdvanceRequest:
    """Move a promoted skill on (or back to `draft`). `sessions` and `share` are the canary's."""

    skill_name: str
    to: Annotated[RolloutStatus, About("`draft`, `verified`, `canary` or `active`.")]
    sessions: Annotated[
        tuple[SessionId, ...] | None,
        About("With `canary`: the sessions that see it.", least=0, most=limits.PROMOTED_SESSIONS_MAX),
    ] = None
    share: Annotated[
        int | None,
        About(
            "With `canary`: how many percent of all other sessions see it, drawn by their ids.",
            least=0,
            most=100,
        ),
    ] = None
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class RevokePromoted:
    """Take a promoted skill out of use, or, for `rollback_promoted`, put its newest active snapshot back."""

    skill_name: str
    reason: Reason = ""
    idempotency_key: str | None = None


@JsonForm(flat=("skill",))
@dataclass(frozen=True, kw_only=True)
class RevokedSkill:
    """A skill that is out of use, and where copies of it may still be: on this machine what somebody changed
    or what could not be reached, and the folders of other machines, each with its machine."""

    skill: PromotedSkill
    copies_left: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PromotedSnapshot:
    """A promoted skill as it stood after a change, oldest first by `number`."""

    number: int
    skill: PromotedSkill


@dataclass(frozen=True, kw_only=True)
class PromotedHistoryRequest:
    """A page of how one promoted skill stood, oldest first."""

    skill_name: str
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class PromotedHistory:
    """Snapshots of a promoted skill, and where the next page begins."""

    items: tuple[PromotedSnapshot, ...]
    next_cursor: str | None = None


class RolloutOperations(Protocol):
    """What can be done with promoted procedures. All but reading is the operator's."""

    @Operation("POST /v1/learnings/{record_id}/promote-skill", OPERATORS, unlimited=True, tagged=True)
    def promote_learning(self, request: PromoteLearning) -> PromotedSkill:
        """Make a published procedure a skill in `draft`, or give one that is not active other words."""

    @Operation("GET /v1/learning-skills", OVERSEERS, unlimited=True)
    def list_promoted(self, request: PromotedRequest) -> PromotedPage:
        """Promoted skills by name, whatever their status."""

    @Operation(Route("GET /v1/learning-skills/{name}", fields=_NAMED), OVERSEERS, unlimited=True, tagged=True)
    def get_promoted(self, skill_name: str) -> PromotedSkill:
        """One promoted skill, with its evidence and all that happened to it."""

    @Operation(Route("GET /v1/learning-skills/{name}/history", fields=_NAMED), OVERSEERS, unlimited=True)
    def promoted_history(self, request: PromotedHistoryRequest) -> PromotedHistory:
        """How a promoted skill stood after each change, oldest first."""

    @Operation(
        Route("POST /v1/learning-skills/{name}/trial", fields=_NAMED),
        OPERATORS,
        unlimited=True,
        tagged=True,
        created=Created.IF_STORED,
        location="/v1/runs/{run_id}",
    )
    def try_promoted(self, request: TrialRequest) -> RunView:
        """Run a promoted skill once, in a child agent of its own; the run that executes it."""

    @Operation(
        Route("POST /v1/learning-skills/{name}/rollout-result", fields=_NAMED),
        OPERATORS,
        unlimited=True,
        tagged=True,
    )
    def record_result(self, request: RolloutResult) -> PromotedSkill:
        """Record how a run of the skill went; the same run once more changes nothing."""

    @Operation(
        Route("POST /v1/learning-skills/{name}/advance", fields=_NAMED),
        OPERATORS,
        unlimited=True,
        tagged=True,
    )
    def advance_promoted(self, request: AdvanceRequest) -> PromotedSkill:
        """Move the rollout on, where its evidence allows, or back to `draft`."""

    @Operation(
        Route("POST /v1/learning-skills/{name}/revoke", fields=_NAMED), OPERATORS, unlimited=True, tagged=True
    )
    def revoke_promoted(self, request: RevokePromoted) -> RevokedSkill:
        """Take a promoted skill out of use, and its mounted copies away: those of this machine are gone with
        the answer, which names the others."""

    @Operation(
        Route("POST /v1/learning-skills/{name}/rollback", fields=_NAMED),
        OPERATORS,
        unlimited=True,
        tagged=True,
    )
    def rollback_promoted(self, request: RevokePromoted) -> PromotedSkill:
        """Put the newest snapshot back that was active, where its learning still stands."""
