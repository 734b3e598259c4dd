"""The store's collections for skills: what was mined, what is suggested, how far transcripts were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalState
    from runlore.domain.detectors.match import Heuristic
    from runlore.domain.detectors.mined import MinedRun
    from runlore.domain.record import RecordId
    from runlore.domain.run import RunId
    from runlore.domain.runs.transcript import Position
    from runlore.domain.session import SessionId
    from runlore.domain.skill import Skill, SkillEvent, SkillId, SkillOrigin, SkillState, SkillUse, UseOutcome
    from runlore.domain.skills.rollout import Execution, PromotedSkill, RolloutStatus
    from runlore.domain.skills.skill_curation import Curation, CurationId
    from runlore.domain.suggestion import StoredSuggestion, SuggestionId, SuggestionState


class MinedRuns(Protocol):
    """What the detectors see of runs. Derived from journals; it goes when a run is forgotten."""

    def put(self, mined: MinedRun) -> None:
        """Keep what was mined of a run, in place of what was kept before."""

    def find(self, run_id: RunId) -> MinedRun | None: ...

    def of_session(
        self, session_id: SessionId, *, limit: int, before: int | None = None
    ) -> tuple[MinedRun, ...]:
        """The latest runs of a session, oldest first; those that began `before` an event of it."""

    def sessions(self, *, after: SessionId | None = None, limit: int) -> tuple[SessionId, ...]:
        """The sessions of which anything is mined, by id."""

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete what was mined of forgotten runs; those of which nothing is are passed over."""


class Suggestions(Protocol):
    """Suggested skills, one for each pattern."""

    def get(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        """One suggestion; NotFound (`suggestion.not-found`)."""

    def find(self, *, name: str | None = None, pattern: str | None = None) -> StoredSuggestion | None: ...

    def page(
        self,
        *,
        limit: int,
        after: tuple[int, SuggestionId] | None = None,
        states: frozenset[SuggestionState] | None = None,
        heuristics: frozenset[Heuristic] | None = None,
    ) -> tuple[StoredSuggestion, ...]:
        """The best first (score descending, then id)."""

    def names(self) -> frozenset[str]: ...

    def of_runs(self, run_ids: Sequence[RunId]) -> tuple[StoredSuggestion, ...]:
        """The suggestions that were ever seen in any of these runs, by id: also where the evidence of that is
        no longer among the latest, for what was said there may still stand in them."""

    def count(self) -> dict[SuggestionState, int]: ...

    def insert(self, stored: StoredSuggestion) -> None:
        """Write a new one; Conflict (`suggestion.exists`) when its id, its name or its pattern is taken."""

    def update(self, stored: StoredSuggestion, *, expected_revision: int) -> None:
        """Write its new state; Conflict (`suggestion.moved`) when it has moved, NotFound when it is gone, and
        Conflict (`suggestion.exists`) when its new name or pattern is taken. Runs that it was seen in before
        stay known to `of_runs` until `forget_runs`."""

    def forget_runs(self, run_ids: Sequence[RunId]) -> None:
        """Note that nothing of these runs stands in any suggestion any more: what was seen in them is deleted
        or written anew by now."""

    def delete(self, suggestion_ids: Sequence[SuggestionId]) -> None: ...


class TranscriptPositions(Protocol):
    """How far transcripts have been read. `source` is a digest: no path of anybody's machine is kept."""

    def get_many(self, sources: Sequence[str]) -> dict[str, Position]: ...

    def put(
        self, source: str, position: Position, at: datetime, *, session_ids: Collection[SessionId] = ()
    ) -> None:
        """Note how far one has been read, with what was stored of it; `session_ids` are sessions that it
        tells of, beside those which were noted before."""

    def delete_of_sessions(self, session_ids: Sequence[SessionId]) -> None:
        """Delete the positions in transcripts that tell of forgotten sessions, of these alone or not."""


class Skills(Protocol):
    """The skills, learned, imported, hand-written and promoted, in one namespace."""

    def get(self, skill_id: SkillId) -> Skill:
        """One skill, whatever its state; NotFound (`skill.not-found`)."""

    def find(self, name: str) -> Skill | None:
        """The active skill of a name."""

    def find_merged(self, name: str) -> Skill | None:
        """The latest skill of a name that was merged into another."""

    def active(self) -> tuple[Skill, ...]:
        """All that are active, by name."""

    def page(
        self, *, limit: int, after: SkillId | None = None, states: frozenset[SkillState] | None = None
    ) -> tuple[Skill, ...]: ...

    def names(self) -> frozenset[str]: ...

    def of_suggestions(self, suggestion_ids: Sequence[SuggestionId]) -> tuple[Skill, ...]:
        """The skills that were learned from any of these, whatever their state, by id."""

    def count(self) -> dict[tuple[SkillOrigin, SkillState], int]: ...

    def stamp(self) -> int:
        """A number that is another one after any change to any skill but its usage."""

    def insert(self, skill: Skill) -> None:
        """Write a new one; Conflict (`skill.exists`) when its id or its name is taken."""

    def update(self, skill: Skill, *, expected_revision: int) -> None:
        """Write its new state; Conflict (`skill.moved`) when it has moved, NotFound when it is gone, Conflict
        (`skill.exists`) when it is active under a name that is taken."""

    def delete(self, skill_ids: Sequence[SkillId]) -> None:
        """Delete skills whose evidence was forgotten, with their texts, their uses, their log's words, and
        what curations keep of them."""

    def use(self, use: SkillUse) -> bool:
        """Count a run that used a skill; False where it was counted before."""

    def uses_of(self, run_ids: Sequence[RunId]) -> tuple[SkillUse, ...]:
        """What these runs used, by run and skill."""

    def settle_uses(self, run_id: RunId, outcome: UseOutcome) -> None:
        """Note how a run ended, for every skill that it used."""

    def forget_uses(self, run_ids: Sequence[RunId]) -> None:
        """Take back what forgotten runs used: what is counted of a skill is what the others used."""

    def log(self, event: SkillEvent) -> SkillEvent:
        """Add a line to the log, with the next number."""

    def events(
        self, *, limit: int, before: int | None = None, skill_id: SkillId | None = None
    ) -> tuple[SkillEvent, ...]:
        """The log, the newest first."""

    def forget_log(
        self, *, skill_ids: Sequence[SkillId] = (), suggestion_ids: Sequence[SuggestionId] = ()
    ) -> None:
        """Empty the names and reasons in the log's lines about these: words of what was forgotten."""


class Curations(Protocol):
    """What curation did, kept so that each one can be undone."""

    def get(self, curation_id: CurationId) -> Curation:
        """One curation; NotFound (`curation.not-found`)."""

    def latest(self) -> Curation | None:
        """The newest that was not undone, and of which anything is left that could be."""

    def list_undone(self, *, limit: int) -> tuple[Curation, ...]:
        """The newest of those that were undone."""

    def page(self, *, limit: int, after: CurationId | None = None) -> tuple[Curation, ...]:
        """The newest first, by when they were and by id."""

    def of_skills(self, skill_ids: Sequence[SkillId]) -> tuple[Curation, ...]:
        """Those that touched any of these skills, by id."""

    def insert(self, curation: Curation) -> None:
        """Write a new one."""

    def mark_undone(self, curation_id: CurationId, *, actor: str, at: datetime) -> None:
        """Note that it was undone; Conflict (`curation.undone`) where it was before."""

    def forget(self, skill_ids: Sequence[SkillId]) -> None:
        """Take what is kept of forgotten skills out of every curation: that part cannot be undone then."""


class Promotions(Protocol):
    """Promoted procedures, how they stood, and the runs that executed them."""

    def find(self, name: str) -> PromotedSkill | None:
        """The promoted skill of a name."""

    def names(self) -> frozenset[str]:
        """The names that promoted skills have, whatever their status: nothing else may take one."""

    def stamp(self) -> int:
        """A number that is another one after any change to any of them."""

    def of_source(self, record_id: RecordId) -> tuple[PromotedSkill, ...]:
        """Those that were promoted from a learning, by name."""

    def page(
        self,
        *,
        limit: int,
        after: str | None = None,
        statuses: frozenset[RolloutStatus] | None = None,
        source_record_id: RecordId | None = None,
    ) -> tuple[PromotedSkill, ...]:
        """By name, after one; all of them unless narrowed."""

    def put(self, skill: PromotedSkill, *, expected_revision: int | None) -> None:
        """Write it, and its snapshot; None where it is new. Conflict where another revision stands there."""

    def history(
        self, name: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[tuple[int, PromotedSkill], ...]:
        """Every snapshot with its number, oldest first; or so many after one."""

    def newest(self, name: str, status: RolloutStatus) -> tuple[int, PromotedSkill] | None:
        """The last snapshot that had a status, with its number."""

    def rewrite(self, skill: PromotedSkill, history: Sequence[tuple[int, PromotedSkill]]) -> None:
        """Put a forgotten one's row and snapshots in place of what stands there."""

    def add_execution(self, execution: Execution) -> None:
        """Keep that a run executed a skill; the same once more changes nothing."""

    def executions(self, skill_name: str, run_id: RunId) -> tuple[Execution, ...]:
        """Those of a skill whose run, or calling run, is this one, oldest first."""

    def delete_executions(self, run_ids: Sequence[RunId]) -> None:
        """Delete what is kept of forgotten runs."""


class Approvals(Protocol):
    """What runs wait for a person to say."""

    def get(self, approval_id: ApprovalId) -> Approval:
        """One request; NotFound (`approval.not-found`)."""

    def insert(self, approval: Approval) -> None:
        """A new request."""

    def update(self, approval: Approval, *, expected_revision: int) -> None:
        """A decided one. Conflict where another revision stands there."""

    def page(
        self,
        *,
        limit: int,
        after: tuple[datetime, ApprovalId] | None = None,
        states: frozenset[ApprovalState] | None = None,
        run_id: RunId | None = None,
        session_id: SessionId | None = None,
    ) -> tuple[Approval, ...]:
        """The oldest first (`created_at`, then id), after a place in that order."""

    def delete(self, run_ids: Sequence[RunId]) -> None:
        """Delete those of forgotten runs."""
