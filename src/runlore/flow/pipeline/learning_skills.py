"""Learning skills: from a run that has just ended, as a job, and from everything that was mined, when asked.

Both look in snapshots and write behind that, in the turn of whoever writes suggestions; where something was
forgotten meanwhile they look again. What the user told to keep, without a command that shows it, is no skill:
it becomes a learning candidate, once for a run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.domain.detectors.explicit_instruction import candidates_of
from runlore.domain.detectors.match import Heuristic, Match
from runlore.domain.detectors.session import matches_of_run
from runlore.domain.errors import Invalid, Refused, Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.project import FolderBinding, FolderId
from runlore.domain.record import EvidenceRef, JsonValue, Origin, Record, Source, StateReason
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.job import Job, JobKind
from runlore.domain.session import Binding
from runlore.domain.skill import SuggestionId
from runlore.domain.skills.repetition import scope_of_suggestion
from runlore.domain.skills.skill_uses import SkillOpening
from runlore.domain.statements.candidates import remembered_draft
from runlore.domain.suggesting.already_documented import Instructions, only_new
from runlore.domain.suggesting.own_origin import OwnOrigins, origins_of
from runlore.domain.suggesting.suggestions import suggestions_of
from runlore.domain.suggesting.support import is_repeated_work
from runlore.domain.suggestion import Suggestion, SuggestionState
from runlore.domain.taint import inherit
from runlore.domain.taint_sources.fingerprints import fingerprint_path
from runlore.flow.capture.importing import is_paused
from runlore.flow.capture.session_lock import Beat, run_turn_if_any, skip_beat
from runlore.flow.capture.sessions import find_binding, is_captured
from runlore.flow.pipeline.capturing import (
    draft_record,
    find_equal_record,
    is_turned_down,
    note_said_again,
)
from runlore.flow.pipeline.repeating import (
    propose_noted,
    propose_repeated,
    run_turn_with_workspace,
    workspace_turn,
)
from runlore.flow.pipeline.skill_autosave import SavingByItself, waits_for_model
from runlore.flow.policies import current_skills
from runlore.flow.queueing import queue
from runlore.flow.record.intake import Intake, propose
from runlore.flow.skills.detecting import DetectionView, look, look_at_uses, look_through, may_learn
from runlore.flow.skills.skill_usage import note_opened
from runlore.flow.skills.suggesting import DetectionContext, KeepResult, keep, take_back
from runlore.flow.skills.suggestion_lock import forgettings, suggestions_turn
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.operations.progress import Progress, ignore_progress
from runlore.ports.operations.skills import SuggestAnswer
from runlore.ports.store import Collections, Store, Transaction

Bindings: TypeAlias = Callable[[FolderId], FolderBinding | None]
REASON = "the user told to keep it"
# How a candidate says what it was made of, so that it is made once.
NOTED_AS = "learned_from"
WRITTEN_AT_ONCE = 50
_LOOKS_MAX = 8
_PAGE = limits.LIST_LIMIT_MAX
_PAUSED = SuggestAnswer(
    runs=0, sessions=0, new=(), seen_again=0, candidates=0, suppressed=0, enhancing=0, paused=True
)


@dataclass(frozen=True, kw_only=True)
class _Look:
    """When a look at everything began, and how often something had been forgotten by then."""

    since: datetime
    forgettings: int


@dataclass(frozen=True, kw_only=True)
class LearningSkills:
    """Who learns. With `has_model` a model improves what is found, as jobs. So many are written `at_once`."""

    store: Store
    ids: Ids
    clock: Clock
    has_model: bool = False
    at_once: int = WRITTEN_AT_ONCE
    # What agents are told that work in a folder.
    instructions: Callable[[str], tuple[Instructions, ...]] = lambda _folder: ()
    # What the task files of a folder name as committed, where an operator has bound it.
    committed: Callable[[str, Bindings], tuple[Instructions, ...]] = lambda _folder, _bound: ()

    def detect(self, job: Job, beat: Beat = skip_beat) -> None:
        """Do one job: mine a run that has ended, and keep what its session shows by now."""
        while not self._detect(RunId(job.subject), job, beat):
            beat()

    def suggest(self, *, enhance: bool = False, progress: Progress = ignore_progress) -> SuggestAnswer:
        """Look through everything that was mined, and keep what is found; nothing while capture is paused."""
        made: set[SuggestionId] = set()
        for _ in range(_LOOKS_MAX):
            answer = self._suggest(progress, made)
            if answer is not None:
                may_enhance = enhance and self.has_model and not answer.paused
                return replace(answer, enhancing=self._enhance_waiting() if may_enhance else 0)
        raise Unavailable(
            "what suggestions were to be made of kept being forgotten", code="store.busy", hint="try again"
        )

    def _detect(self, run_id: RunId, job: Job, beat: Beat) -> bool:
        with self.store.snapshot() as snapshot:
            sight = _sight(snapshot, run_id, beat)
            opened = _find_opened(snapshot, run_id, beat) if sight is None else sight.opened
        matches = () if sight is None else (*matches_of_run(sight.runs), *sight.equal)
        origins = OwnOrigins() if sight is None else origins_of([sight.runs])
        self._add_named(origins, matches)
        found = self._only_new(suggestions_of(matches, origins=origins)[: limits.SUGGESTIONS_PER_RUN_MAX])
        repeated = suggestions_of(matches, is_wanted=is_repeated_work, origins=origins)
        with self.store.transaction() as tx:
            # The session before the job: whoever forgets the run takes them in this order too.
            run = run_turn_if_any(tx, run_id) if sight is None else run_turn_with_workspace(tx, run_id)
            tx.jobs.check(job)
            if sight is not None:
                suggestions_turn(tx)
                if not _still(tx, run, sight):
                    return False
                self._keep(tx, sight, found)
                propose_repeated(tx, self.ids, repeated, self.clock.now())
                propose_noted(tx, self.ids, sight.run, self.clock.now())
                self._propose(tx, sight.run, matches)
            if run is not None and _counts(tx, run):
                note_opened(tx, [(run, opened)])
            tx.jobs.finish(job)
        return True

    def _add_named(self, origins: OwnOrigins, matches: Iterable[Match]) -> None:
        """Tell what task files name in the folders of sessions that had read from outside, where an operator
        has bound these. A file that somebody wrote with words from outside names nothing."""
        read = {each.session_id for match in matches for each in match.occurrences if each.provenance.tainted}
        with self.store.snapshot() as snapshot:
            sessions = {each: snapshot.sessions.find(each) for each in read}
            folders = {each: found.working_folder or "" for each, found in sessions.items() if found}
            bound = partial(find_binding, snapshot)
            told = {folder: self.committed(folder, bound) for folder in {*folders.values()}}
            files = {each: fingerprint_path(each.source, "") for found in told.values() for each in found}
            outside = snapshot.outside_words.find(files.values())
        for session_id, folder in folders.items():
            own = (each for each in told[folder] if files[each] not in outside)
            origins.add_named(session_id, [command for each in own for command in each.told])

    def _only_new(self, found: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
        """What the instructions of the folders in which it was seen do not tell."""
        with self.store.snapshot() as snapshot:
            folders = {
                each.session_id: "" if session is None else session.working_folder or ""
                for each in (evidence for suggestion in found for evidence in suggestion.evidence)
                for session in [snapshot.sessions.find(each.session_id)]
            }
        read = {folder: self.instructions(folder) for folder in dict.fromkeys(folders.values())}
        return only_new(
            found,
            lambda seen: [
                read[folder] for folder in dict.fromkeys(folders[each.session_id] for each in seen.evidence)
            ],
        )

    def _keep(self, tx: Transaction, sight: DetectionView, found: Sequence[Suggestion]) -> None:
        at = self.clock.now()
        tx.mined_runs.put(sight.mined)
        kept = keep(tx, found, DetectionContext(ids=self.ids, at=at))
        propose_repeated(tx, self.ids, kept.suggestions, at)
        if self.has_model and current_skills(tx).llm_learn:
            queue(tx, self.ids, JobKind.ENHANCE, [each.suggestion_id for each in kept.new], at=at)
        if waits_for_model(tx, has_model=self.has_model):
            queue(tx, self.ids, JobKind.SAVE, [sight.run.run_id], at=at)
        else:
            shown = (*kept.new, *kept.again, *kept.skipped)
            SavingByItself(ids=self.ids, clock=self.clock, has_model=self.has_model).save_all(
                tx, sight.run, shown
            )

    def _suggest(self, progress: Progress, made: set[SuggestionId]) -> SuggestAnswer | None:
        """One look at everything; None where something was forgotten meanwhile. `made` are the new ones of
        earlier looks."""
        look = self._begin()
        if look is None:
            return _PAUSED
        everything = look_through(self.store, progress)
        self._add_named(everything.origins, everything.matches)
        found = self._only_new(suggestions_of(everything.matches, origins=everything.origins))
        if not self._take_back(found, look):
            return None
        repeated = suggestions_of(everything.matches, is_wanted=is_repeated_work, origins=everything.origins)
        for some in into_batches(repeated, self.at_once):
            if not self._remember(some, look):
                return None
        kept = KeepResult()
        for some in into_batches(found, self.at_once):
            written = self._write(some, look)
            if written is None:
                return None
            kept += written
            made |= {each.suggestion_id for each in written.new}
        return SuggestAnswer(
            runs=everything.runs,
            sessions=everything.sessions,
            new=tuple(each for each in (*kept.new, *kept.again) if each.suggestion_id in made),
            seen_again=sum(each.suggestion_id not in made for each in kept.again),
            candidates=sum(map(self._propose_instruction, everything.matches)),
            suppressed=kept.suppressed,
        )

    def _begin(self) -> "_Look | None":
        """When a look at everything begins; None while capture is paused. The time is taken in the turn of
        whoever writes suggestions: what has an earlier one is stored, and so is what it was made of."""
        with self.store.transaction() as tx:
            suggestions_turn(tx)
            return None if is_paused(tx) else _Look(since=self.clock.now(), forgettings=forgettings(tx))

    def _take_back(self, found: Sequence[Suggestion], look: "_Look") -> bool:
        """Take back what is not found any more, before what is new takes its name; False where something was
        forgotten meanwhile."""
        with self.store.transaction() as tx:
            suggestions_turn(tx)
            if forgettings(tx) != look.forgettings:
                return False
            take_back(tx, frozenset(each.pattern for each in found), look.since)
        return True

    def _write(self, found: Sequence[Suggestion], look: "_Look") -> KeepResult | None:
        with self.store.transaction() as tx:
            workspace_turn(tx, *map(scope_of_suggestion, found))
            suggestions_turn(tx)
            if forgettings(tx) != look.forgettings:
                return None
            at = self.clock.now()
            kept = keep(tx, found, DetectionContext(ids=self.ids, at=at, whole_since=look.since))
            propose_repeated(tx, self.ids, kept.suggestions, at)
            return kept

    def _remember(self, repeated: Sequence[Suggestion], look: "_Look") -> bool:
        """Propose as procedures what no skill comes of; False where something was forgotten meanwhile."""
        with self.store.transaction() as tx:
            workspace_turn(tx, *map(scope_of_suggestion, repeated))
            suggestions_turn(tx)
            if forgettings(tx) != look.forgettings:
                return False
            propose_repeated(tx, self.ids, repeated, self.clock.now())
            return True

    def _propose_instruction(self, match: Match) -> int:
        """How many candidates are made of what a user told to keep, where none was made of its run before."""
        if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION or not candidates_of(match):
            return 0
        with self.store.transaction() as tx:
            run = run_turn_with_workspace(tx, match.occurrences[-1].run_id)
            is_kept = run is not None and run.memory is not MemoryState.FORGOTTEN
            if run is None or not is_kept or not is_captured(tx, tx.sessions.get(run.session_id)):
                return 0
            return self._propose(tx, run, [match])

    def _propose(self, tx: Transaction, run: Run, matches: Sequence[Match]) -> int:
        at = self.clock.now()
        intake = Intake(ids=self.ids, act=Act(actor=DAEMON, at=at, reason=REASON), origin=Origin.DAEMON)
        binding = tx.sessions.get(run.session_id).binding
        source = Source(session_id=run.session_id, run_id=run.run_id, agent=run.agent)
        drafts = [draft for match in matches for draft in instruction_drafts(source, binding, match)]
        made = 0
        for draft in () if _is_made(tx, run) else drafts:
            record = _try_record(draft, at)
            known = None if record is None else find_equal_record(tx, record, at)
            if record is None:
                continue
            if known is not None:
                note_said_again(tx, self.ids, known, record, at=at, is_wish=True)
            elif not is_turned_down(tx, record, since=run.finished_at):
                propose(tx, intake, [draft])
                made += 1
        return made

    def _enhance_waiting(self) -> int:
        """Have a model improve everything that waits and that none has improved, where people let it."""
        queued, after = 0, None
        while True:
            with self.store.transaction() as tx:
                if not current_skills(tx).llm_learn:
                    return queued
                page = tx.suggestions.page(
                    limit=_PAGE, after=after, states=frozenset({SuggestionState.WAITING})
                )
                waiting = [each.suggestion_id for each in page if not each.suggestion.enhanced_by]
                queued += queue(tx, self.ids, JobKind.ENHANCE, waiting, at=self.clock.now())
            if len(page) < _PAGE:
                return queued
            after = (page[-1].suggestion.score.points, page[-1].suggestion_id)


def _sight(collections: Collections, run_id: RunId, beat: Beat) -> DetectionView | None:
    run = collections.runs.find(run_id)
    # What is not remembered is not learned from either: of such a run only its uses are counted.
    if run is None or run.memory is MemoryState.NONE or not may_learn(collections, run):
        return None
    session = collections.sessions.get(run.session_id)
    return look(collections, run, session, beat) if is_captured(collections, session) else None


def _find_opened(collections: Collections, run_id: RunId, beat: Beat) -> tuple[SkillOpening, ...]:
    """The skills that a run opened from which nothing is learned."""
    run = collections.runs.find(run_id)
    return look_at_uses(collections, run, beat) if run is not None and _counts(collections, run) else ()


def _counts(collections: Collections, run: Run) -> bool:
    """Whether what a run used is counted: it has ended, and people let it be kept."""
    is_kept = run.is_terminal and run.memory is not MemoryState.FORGOTTEN
    return is_kept and is_captured(collections, collections.sessions.get(run.session_id))


def _still(tx: Transaction, run: Run | None, sight: DetectionView) -> bool:
    """Whether what was looked at is as it was, and may still be learned from."""
    return (
        run is not None
        and run.memory is not MemoryState.FORGOTTEN
        and forgettings(tx) == sight.forgettings
        and may_learn(tx, run)
        and is_captured(tx, tx.sessions.get(run.session_id))
    )


def instruction_drafts(source: Source, binding: Binding, match: Match) -> Iterator[Draft]:
    """The candidates of an instruction: the user's own words, and what these had read before them. What is to
    be kept as a procedure is its project's."""
    if match.heuristic is not Heuristic.EXPLICIT_INSTRUCTION or match.request is None:
        return
    evidence = EvidenceRef(run_id=RunId(source.run_id or ""), event_number=match.request.number)
    read = inherit(occurrence.provenance for occurrence in match.occurrences)
    for asked in candidates_of(match):
        draft = remembered_draft(asked, source, evidence, binding=binding, provenance=read)
        noted: dict[str, JsonValue] = {NOTED_AS: Heuristic.EXPLICIT_INSTRUCTION.value}
        yield replace(draft, metadata={**draft.metadata, **noted} if asked.is_asked else noted)


def _try_record(draft: Draft, at: datetime) -> Record | None:
    try:
        return draft_record(draft, at)
    except (Invalid, Refused):
        return None


def _is_made(tx: Transaction, run: Run) -> bool:
    """Whether a run was made a candidate of before; one that was forgotten tells no longer what it was."""
    return any(
        record.state_reason is StateReason.FORGOTTEN or NOTED_AS in record.metadata
        for record in tx.records.of_run(run.run_id)
    )
