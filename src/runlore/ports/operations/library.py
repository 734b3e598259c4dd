"""The library of skills: saving, reading, matching, using, curating, undoing."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from runlore.domain import limits
from runlore.domain.json_form import JsonForm
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillEvent, SkillOrigin, SkillState
from runlore.domain.skill_curation import Curation, CurationAction, CurationId
from runlore.domain.suggestion import StoredSuggestion


@dataclass(frozen=True, kw_only=True)
class SaveSkill:
    """Keep a suggestion, by its name or id, as a skill; under another name where one is given.

    A tainted one is refused (`skill.tainted`, its sources named) unless `accept_untrusted`: then whoever
    saves it has read it, as it was at `expected_revision` where that is given (else `suggestion.moved`).
    """

    suggestion: str
    name: str | None = None
    accept_untrusted: bool = False
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImportSkill:
    """A SKILL.md of somebody's. It is tainted until it is promoted; `source` says where it comes from."""

    text: str
    source: str
    name: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptSkill:
    """Clear a skill's taint after reading it. Without `force` one from outside is refused.

    `expected_revision` is what was read: Conflict (`skill.moved`) where it says something else by now. What
    stands in a file can be another text at any moment, so what was written there is not promoted without it.
    """

    name: str
    force: bool = False
    reason: str = ""
    expected_revision: int | None = None
    idempotency_key: str | None = None


class Keep(StrEnum):
    """Which of the two stands where a skill's file and its stored text differ."""

    FILE = "file"
    STORED = "stored"


@dataclass(frozen=True, kw_only=True)
class SettleFile:
    """End a doubt about a skill's file: take it as it is, or write the stored text again."""

    name: str
    keep: Keep


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
    run_id: RunId | None = None
    session_id: SessionId | None = None


@dataclass(frozen=True, kw_only=True)
class CurateRequest:
    """Look what curation would do, or do it."""

    apply: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class CurateAnswer:
    """What would be done, or was: then `curation` can be undone."""

    actions: tuple[CurationAction, ...]
    curation: Curation | None = None


@dataclass(frozen=True, kw_only=True)
class SkillLogRequest:
    """The log of skills, the newest first."""

    name: str | None = None
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class SkillLog:
    """Lines of the log, and where the next page begins."""

    items: tuple[SkillEvent, ...]
    next_cursor: str | None = None


class LibraryOperations(Protocol):
    """What can be done with skills."""

    def save_skill(self, request: SaveSkill) -> Skill:
        """Keep a suggestion as a skill, with its file."""
        ...

    def import_skill(self, request: ImportSkill) -> Skill:
        """Bring a skill in, tainted until it is promoted."""
        ...

    def list_skills(self, request: SkillsRequest) -> SkillPage:
        """Skills by name."""
        ...

    def get_skill(self, name: str) -> Skill:
        """One skill by its name or id; NotFound (`skill.not-found`)."""
        ...

    def accept_skill(self, request: AcceptSkill) -> Skill:
        """Clear its taint after reading it; the act is logged."""
        ...

    def delete_skill(self, name: str) -> Skill:
        """Take a skill away, with its file where that is as it was written. `restore_skill` undoes it."""
        ...

    def restore_skill(self, name: str) -> Skill:
        """Bring back a skill that was deleted or merged, by its id or by the name it had."""
        ...

    def settle_skill_file(self, request: SettleFile) -> Skill:
        """Say which stands where a file may be damaged, or was written while the skill changed."""
        ...

    def match_skills(self, request: MatchRequest) -> FittingSkills:
        """The skills that fit a turn: those that are always there, then the best of the others."""
        ...

    def session_skills(self, session_id: SessionId) -> tuple[Skill, ...]:
        """The skills that a session may use, by name."""
        ...

    def use_skill(self, request: UseSkill) -> Skill:
        """Open a skill, and count that a run used it. Refused (`skill.tainted`) until it is promoted."""
        ...

    def curate_skills(self, request: CurateRequest) -> CurateAnswer:
        """Merge, drop, delete and prune drafts by the rules of the policy, or only tell."""
        ...

    def undo_curation(self, curation_id: CurationId | None, idempotency_key: str | None = None) -> Curation:
        """Put back what a curation did, the newest one unless named; Conflict where it cannot be."""
        ...

    def list_curations(self, limit: int = limits.LIST_LIMIT_DEFAULT) -> tuple[Curation, ...]:
        """What curation did, the newest first."""
        ...

    def reset_skips(self, name: str | None = None) -> tuple[StoredSuggestion, ...]:
        """Let skipped suggestions wait again: all of them, or the one of a name."""
        ...

    def skill_log(self, request: SkillLogRequest) -> SkillLog:
        """What happened to skills, the newest first."""
        ...
