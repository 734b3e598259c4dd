"""Skills: documents that agents find, with where each one came from, how it stands, and how it fared."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import NewType, Self

from runlore.domain.json_form import Damage, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.lifecycle import Lifecycle
from runlore.domain.run import RunId
from runlore.domain.taint import TRUSTED, Provenance

SkillId = NewType("SkillId", str)
# What a learned skill was saved from: `domain/suggestion.py`.
SuggestionId = NewType("SuggestionId", str)


DAMAGE = Damage(
    thing="skill", code="skill.damaged", hint="restore the store from a backup, or delete the skill"
)


class SkillOrigin(StrEnum):
    """Who made a skill. What Runlore learned and somebody edited is hand-written from then on."""

    LEARNED = "learned"
    IMPORTED = "imported"
    WRITTEN = "written"
    PROMOTED = "promoted"


class Quality(StrEnum):
    """What a document says of itself. Only drafts are ever curated."""

    DRAFT = "draft"
    IMPORTED = "imported"
    MANUAL = "manual"
    ACCEPTED = "accepted"
    PROMOTED = "promoted"


class SkillState(StrEnum):
    """Where a skill stands. Names are unique among the active ones."""

    ACTIVE = "active"
    MERGED = "merged"
    DELETED = "deleted"


class SkillMove(StrEnum):
    """Everything that can happen to a skill."""

    REWRITE = "rewrite"
    EDIT = "edit"
    ACCEPT = "accept"
    MERGE = "merge"
    DELETE = "delete"
    RESTORE = "restore"


SKILL = Lifecycle[SkillState, SkillMove](
    "skill",
    {
        (SkillState.ACTIVE, SkillMove.REWRITE): SkillState.ACTIVE,
        (SkillState.ACTIVE, SkillMove.EDIT): SkillState.ACTIVE,
        (SkillState.ACTIVE, SkillMove.ACCEPT): SkillState.ACTIVE,
        (SkillState.ACTIVE, SkillMove.MERGE): SkillState.MERGED,
        (SkillState.ACTIVE, SkillMove.DELETE): SkillState.DELETED,
        (SkillState.MERGED, SkillMove.RESTORE): SkillState.ACTIVE,
        (SkillState.DELETED, SkillMove.RESTORE): SkillState.ACTIVE,
    },
)


@JsonForm(exact=True, closed=True, damage=DAMAGE)
@dataclass(frozen=True, kw_only=True)
class SkillDocument:
    """What a SKILL.md says. `topics` and `actions` are its trigger; `metadata` is what else stands there."""

    name: str
    description: str
    body: str
    topics: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    version: str = "1.0.0"
    author: str = ""
    quality: Quality = Quality.MANUAL
    auto_load: bool = False
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How often a skill was used, when last, and how the runs ended that used it."""

    times: int = 0
    last_used_at: datetime | None = None
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True, kw_only=True)
class LearnedFrom:
    """A suggestion whose words stand in a skill."""

    suggestion_id: SuggestionId
    pattern: str


@JsonForm(damage=DAMAGE)
@dataclass(frozen=True, kw_only=True)
class SkillWords:
    """What a skill says, and where its words come from: all of it may be words of runs.

    A row keeps it as one text beside its columns, with the document whole, so that it is erased whole.
    """

    document: SkillDocument
    text: str
    pattern: str
    also_from: tuple[LearnedFrom, ...]
    provenance: Provenance


@JsonForm(flat=("document",), damage=DAMAGE, omit_default=("doubt", "file_remark", "was_there_before"))
@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill as it is kept.

    `text` is the file as somebody wrote it; empty where the document is Runlore's own, and then the file is
    the document as it is rendered. `pattern` and `suggestion_id` are those of what it was learned from,
    `also_from` those of the drafts that were merged into it. `doubt` is what of it may no longer
    hold, and `file_remark` what is wrong with its file and what to do, for whoever is given or shown it;
    `was_there_before` says of one that is brought in that it was there already. None of these is stored.
    """

    skill_id: SkillId
    document: SkillDocument
    text: str = ""
    origin: SkillOrigin
    state: SkillState = SkillState.ACTIVE
    state_actor: str = ""
    merged_into: SkillId | None = None
    provenance: Provenance = TRUSTED
    suggestion_id: SuggestionId | None = None
    pattern: str = ""
    also_from: tuple[LearnedFrom, ...] = ()
    source_run_id: RunId | None = None
    usage: Usage = Usage()
    created_at: datetime
    updated_at: datetime
    revision: int = 1
    doubt: str = field(default="", compare=False)
    file_remark: str = field(default="", compare=False)
    was_there_before: bool = field(default=False, compare=False)

    @property
    def words(self) -> SkillWords:
        """What it says, and where its words come from."""
        return SkillWords(
            document=self.document,
            text=self.text,
            pattern=self.pattern,
            also_from=self.also_from,
            provenance=self.provenance,
        )

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def told_description(self) -> str:
        """What whoever may use it is told of it in a line."""
        told = self.document.description
        return f"{told} ({self.doubt})" if self.doubt else told

    @property
    def learned_from(self) -> tuple[LearnedFrom, ...]:
        """Every suggestion whose words stand in it, its own first."""
        if self.suggestion_id is None:
            return self.also_from
        own = LearnedFrom(suggestion_id=self.suggestion_id, pattern=self.pattern)
        return (own, *(each for each in self.also_from if each != own))

    def apply_move(self, move: SkillMove, *, at: datetime, actor: str) -> Self:
        """The skill after a move, one revision on; Conflict (`skill.move`) where the table has none."""
        state = SKILL.after(self.state, move, name=self.name)
        return replace(self, state=state, state_actor=actor, updated_at=at, revision=self.revision + 1)

    @property
    def is_draft(self) -> bool:
        """Whether curation may touch it: learned, untouched by people, and there."""
        return (
            self.state is SkillState.ACTIVE
            and self.origin is SkillOrigin.LEARNED
            and self.document.quality is Quality.DRAFT
        )

    @property
    def is_there(self) -> bool:
        """Whether it is in the library, neither deleted nor merged into another."""
        return self.state is SkillState.ACTIVE

    @property
    def is_usable(self) -> bool:
        """Whether it may reach a prompt or an agent's folder: there, and nobody has to read it first."""
        return self.is_there and not self.provenance.tainted


class UseOutcome(StrEnum):
    """How the run ended that used a skill."""

    OPEN = "open"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class SkillUse:
    """One run that used a skill, counted once however often it opened it."""

    skill_id: SkillId
    run_id: RunId
    at: datetime
    outcome: UseOutcome = UseOutcome.OPEN


class SkillEventKind(StrEnum):
    """What the log of skills tells."""

    SAVED = "saved"
    DECLINED = "declined"
    SUPPRESSED = "suppressed"
    SKIPPED = "skipped"
    RESET = "reset"
    IMPORTED = "imported"
    WRITTEN = "written"
    EDITED = "edited"
    REWRITTEN = "rewritten"
    ACCEPTED = "accepted"
    PROMOTED = "promoted"
    MERGED = "merged"
    DROPPED = "dropped"
    PRUNED = "pruned"
    DELETED = "deleted"
    RESTORED = "restored"


@dataclass(frozen=True, kw_only=True)
class SkillEvent:
    """One line of the log: what happened to a skill or to what might have become one, who did it, and why."""

    number: int = 0
    kind: SkillEventKind
    name: str
    actor: str
    at: datetime
    reason: str = ""
    skill_id: SkillId | None = None
    suggestion_id: SuggestionId | None = None
