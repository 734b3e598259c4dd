"""The library of skills: saving, reading, matching, using, curating, undoing."""

from enum import StrEnum
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillEvent, SkillOrigin, SkillState
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationId
from runlore.domain.suggestion import StoredSuggestion
from runlore.ports.operations.declaration import (
    AGENTS,
    EVERYBODY,
    OPERATORS,
    OVERSEERS,
    Created,
    Operation,
    Route,
)
from runlore.ports.operations.field_types import Accepted, Cursor, PageLimit, Reason, Revision, SkillName


@dataclass(frozen=True, kw_only=True)
class SaveSkill:
    """Keep a suggestion, by its name or id, as a skill; under another name where one is given.

    A tainted one is refused (`skill.tainted`, its sources named) unless `accept_untrusted`: then whoever
    saves it has read it, as it was at `expected_revision` where that is given (else `suggestion.moved`).
    """

    suggestion: str
    name: SkillName | None = None
    accept_untrusted: Accepted = False
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportSkill:
    """A SKILL.md of somebody's. It is tainted until it is accepted; `source` says where it comes from."""

    text: Annotated[str, About("The file as it is.", most=limits.SKILL_FILE_BYTES_MAX)]
    source: Annotated[str, About("Where it comes from.", most=limits.ID_CHARS_MAX)]
    name: SkillName | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptSkill:
    """Clear a skill's taint after reading it. Without `force` one from outside is refused.

    `expected_revision` is what was read: Conflict (`skill.moved`) where it says something else by now. What
    stands in a file can be another text at any moment, so what was written there is not promoted without it.
    """

    name: str
    force: Annotated[bool, About("I have read it; without this one from outside is refused.")] = False
    reason: Reason = ""
    expected_revision: Revision = None
    idempotency_key: str | None = None


class Keep(StrEnum):
    """Which of the two stands where a skill's file and its stored text differ."""

    FILE = "file"
    STORED = "stored"


@dataclass(frozen=True, kw_only=True)
class SettleFile:
    """End a doubt about a skill's file: take it as it is, or write the stored text again."""

    name: str
    keep: Annotated[Keep, About("`file` takes the file as it is, `stored` writes the stored text again.")]


@JsonForm(rename={"states": "state", "origins": "origin"})
@dataclass(frozen=True, kw_only=True)
class SkillsRequest:
    """A page of skills by name: the active ones unless states are named."""

    states: frozenset[SkillState] = frozenset()
    origins: frozenset[SkillOrigin] = frozenset()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class SkillPage:
    """Skills, and where the next page begins."""

    items: tuple[Skill, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class MatchRequest:
    """Which skills fit a turn. `session_id` narrows to what that session may use (SCO-4)."""

    query: str
    session_id: SessionId | None = None
    limit: int | None = None


@JsonForm(pairs={"parts": ("reason", "points")})
@dataclass(frozen=True, kw_only=True)
class SkillFit:
    """How well a skill fits, and why; an `auto_load` one is always there."""

    score: int
    parts: tuple[tuple[str, int], ...] = ()
    auto_load: bool = False


@JsonForm(flat=("skill",))
@dataclass(frozen=True, kw_only=True)
class FittingSkill:
    """A skill that fits, and how well."""

    skill: Skill
    match: SkillFit


@JsonForm(unpaged=True)
@dataclass(frozen=True, kw_only=True)
class FittingSkills:
    """The answer to a match. `semantic` tells whether vectors took part; `remark` why they did not, or why
    nothing could be found."""

    items: tuple[FittingSkill, ...]
    semantic: bool = False
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class UseSkill:
    """A run opens a skill: it is counted once for the run, whose end tells the outcome. Without a run,
    `session_id` says whose skills may be opened."""

    name: str
    run_id: Annotated[RunId | None, About("The run that uses it; it is counted once.")] = None
    session_id: Annotated[
        SessionId | None, About("The session that it is opened in, where no run is named.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class CurateRequest:
    """Look what curation would do, or do it."""

    apply: Annotated[bool, About("Do it.")] = False
    idempotency_key: str | None = None


@JsonForm(document="Curated")
@dataclass(frozen=True, kw_only=True)
class CurateAnswer:
    """What would be done, or was: then `curation` can be undone."""

    actions: tuple[CurationAction, ...]
    curation: Curation | None = None


@dataclass(frozen=True, kw_only=True)
class MachineMounts:
    """Where a machine has mounted copies of the skills. Revoking one names them."""

    machine: Annotated[str, About("What the machine is called.", most=limits.ID_CHARS_MAX)]
    folders: Annotated[
        tuple[str, ...], About("The folders; none where it has none any more.", most=limits.MOUNT_FOLDERS_MAX)
    ] = ()


@dataclass(frozen=True, kw_only=True)
class SkillLogRequest:
    """The log of skills, the newest first."""

    name: Annotated[str | None, About("Only of this skill or suggestion.")] = None
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class SkillLog:
    """Lines of the log, and where the next page begins."""

    items: tuple[SkillEvent, ...]
    next_cursor: str | None = None


class LibraryOperations(Protocol):
    """What can be done with skills."""

    @Operation(
        Route("POST /v1/skill-suggestions/{name}/save", fields={"name": "suggestion"}),
        OPERATORS,
        unlimited=True,
        tagged=True,
    )
    def save_skill(self, request: SaveSkill) -> Skill:
        """Keep a suggestion, by its name or id, as a skill. The same again answers the same skill."""

    @Operation(
        "POST /v1/skills",
        OPERATORS,
        unlimited=True,
        tagged=True,
        created=Created.IF_NEW,
        location="/v1/skills/{name}",
    )
    def import_skill(self, request: ImportSkill) -> Skill:
        """Bring a skill in, tainted until it is accepted. The same again answers the one that is there."""

    @Operation("GET /v1/skills", OVERSEERS, unlimited=True)
    def list_skills(self, request: SkillsRequest) -> SkillPage:
        """Skills by name; with `query` those that fit a turn, the best first."""

    @Operation("GET /v1/skills/{name}", OVERSEERS, unlimited=True, tagged=True)
    def get_skill(self, name: str) -> Skill:
        """One skill, by its name or id."""

    @Operation(
        "POST /v1/skills/{name}/accept",
        OPERATORS,
        unlimited=True,
        tagged=True,
        also=(
            Route(
                "POST /v1/skills/{name}/promote",
                name="promote_skill",
                text="What accepting a skill was called before.",
                deprecated=True,
            ),
        ),
    )
    def accept_skill(self, request: AcceptSkill) -> Skill:
        """Clear a skill's taint after reading it; the act is logged."""

    @Operation("DELETE /v1/skills/{name}", OPERATORS, unlimited=True, tagged=True)
    def delete_skill(self, name: str) -> Skill:
        """Take a skill away, with its file where that is as it was written. Restoring it undoes this."""

    @Operation("POST /v1/skills/{name}/restore", OPERATORS, unlimited=True, tagged=True)
    def restore_skill(self, name: str) -> Skill:
        """Bring back a skill that was deleted or merged, by its id or by the name that it had."""

    @Operation("POST /v1/skills/{name}/settle", OPERATORS, unlimited=True, tagged=True)
    def settle_skill_file(self, request: SettleFile) -> Skill:
        """Say which stands where `file_remark` asks: the file as it is, or the stored text."""

    @Operation("GET /v1/skills", EVERYBODY)
    def match_skills(self, request: MatchRequest) -> FittingSkills:
        """The skills that fit a turn: those that are always there, then the best of the others."""

    @Operation("GET /v1/sessions/{session_id}/skills", EVERYBODY)
    def session_skills(self, session_id: SessionId) -> tuple[Skill, ...]:
        """The skills that a session may use, by name."""

    @Operation("POST /v1/skills/{name}/use", AGENTS, tagged=True)
    def use_skill(self, request: UseSkill) -> Skill:
        """Open a skill, and count that a run used it: once, however often it opens it."""

    @Operation("POST /v1/skills/curate", OPERATORS, unlimited=True, long=True)
    def curate_skills(self, request: CurateRequest) -> CurateAnswer:
        """Tell what curation would do with drafts, or do it."""

    @Operation(
        "POST /v1/skill-curations/{curation_id}/undo",
        OPERATORS,
        unlimited=True,
        also=(
            Route(
                "POST /v1/skill-curations/undo",
                name="undo_latest_curation",
                text="Put back what the newest curation did that was not undone.",
                without=frozenset({"curation_id"}),
            ),
        ),
    )
    def undo_curation(self, curation_id: CurationId | None, idempotency_key: str | None = None) -> Curation:
        """Put back what a curation did, byte for byte."""

    @Operation("GET /v1/skill-curations", OVERSEERS, unlimited=True)
    def list_curations(self, limit: PageLimit = limits.LIST_LIMIT_DEFAULT) -> tuple[Curation, ...]:
        """What curation did, the newest first."""

    @Operation("POST /v1/skill-suggestions/reset", OPERATORS, unlimited=True)
    def reset_skips(
        self, name: Annotated[str | None, About("Only this one, by its name or id.")] = None
    ) -> tuple[StoredSuggestion, ...]:
        """Let skipped suggestions wait again: all of them, or the one of a name."""

    @Operation("PUT /v1/skill-mounts/{machine}", OVERSEERS, unlimited=True)
    def note_mounts(self, request: MachineMounts) -> MachineMounts:
        """Note where a machine has mounted copies, so that whoever revokes a skill is told of them."""

    @Operation("GET /v1/skill-log", OVERSEERS, unlimited=True)
    def skill_log(self, request: SkillLogRequest) -> SkillLog:
        """What happened to skills, the newest first."""
