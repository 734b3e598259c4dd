"""What becomes of suggestions behind a run, as jobs: those that pass the gate are saved (SKL-7), and where
one was, the drafts are curated once for the session (SKL-9).

Where a model has to improve what is saved, saving waits until it has, or has given up. Each is written in one
transaction with the end of its job: whoever dies leaves the old or the new, and two leave one result.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from runlore.domain.lazy import dataclass
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.job import Job, JobKind, JobState, backoff_until
from runlore.domain.skill import Skill
from runlore.domain.skills.skill_commenting import SCHEMA, comment_in, document
from runlore.domain.skills.skill_curation import CurationPlan
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.flow.capture.sessions import is_captured
from runlore.flow.model_budget import BudgetedModels
from runlore.flow.pipeline.repeating import remember_saved, run_turn_with_workspace
from runlore.flow.policies import current_learning, current_skills
from runlore.flow.queueing import queue
from runlore.flow.skills.curating import apply, look
from runlore.flow.skills.detecting import may_learn
from runlore.flow.skills.saving import Saving, auto_save
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports.clock import Clock
from runlore.ports.ids import Ids
from runlore.ports.model import ModelFailure, ModelPurpose, Question
from runlore.ports.store import Collections, Store, Transaction

IMPROVING = "what it would save is still being improved"
CURATED = "skills were saved in the session"
TIMEOUT_S = 30.0


def waits_for_model(collections: Collections, *, has_model: bool) -> bool:
    policy = current_skills(collections)
    return has_model and policy.llm_learn and policy.auto_save.enabled and policy.auto_save.require_llm


@dataclass(frozen=True, kw_only=True)
class SavingByItself:
    """Who saves what a run shows, without being asked."""

    ids: Ids
    clock: Clock
    has_model: bool

    def save_all(self, tx: Transaction, run: Run, shown: Sequence[StoredSuggestion]) -> tuple[Skill, ...]:
        """Save what passes of all that a run shows, and have the drafts curated where anything was; nothing
        of a run that was brought in. The caller has the turn."""
        if run.imported:
            return ()
        at = self.clock.now()
        saving = Saving(ids=self.ids, act=Act(actor=DAEMON, at=at))
        saved = auto_save(tx, shown, saving, run_id=run.run_id, has_model=self.has_model)
        of_skill = {each.suggestion_id: each for each in shown}
        for skill in saved:
            stored = of_skill.get(skill.suggestion_id) if skill.suggestion_id else None
            remember_saved(tx, skill, stored, saving, is_reviewed=False)
        if saved and current_skills(tx).curation.auto_curate:
            queue(tx, self.ids, JobKind.CURATE, [run.session_id], at=at)
        return saved


@dataclass(frozen=True, kw_only=True)
class KeepingSkills:
    """Who saves and curates. With `may_ask` false no model is asked, and what needs one waits for who may.
    `look_again` takes in what people have written into files while a model was asked."""

    store: Store
    asking: BudgetedModels
    ids: Ids
    may_ask: bool = True
    look_again: Callable[[], object] = lambda: None

    def save(self, job: Job) -> None:
        """Do one job: save what passes of what a run showed, where nothing of it is being improved."""
        now = self.asking.clock.now()
        with self.store.transaction() as tx:
            run = run_turn_with_workspace(tx, RunId(job.subject))
            suggestions_turn(tx)
            tx.jobs.check(job)
            shown = () if run is None else _list_savable(tx, run, job.created_at)
            waited_for = _improved_at(tx, shown)
            if waited_for is not None:
                tx.jobs.postpone(job, until=max(waited_for, backoff_until(now, job)), reason=IMPROVING)
                return
            if run is not None and shown:
                SavingByItself(
                    ids=self.ids,
                    clock=self.asking.clock,
                    has_model=self.asking.models.is_configured,
                ).save_all(tx, run, shown)
            tx.jobs.finish(job)

    def curate(self, job: Job) -> None:
        """Do one job: curate the drafts. A model may comment on it; it decides nothing."""
        with self.store.snapshot() as snapshot:
            plan = self._plan(snapshot)
            is_commented = current_skills(snapshot).llm_curate and self.asking.models.is_configured
        if plan.actions and is_commented and not self.may_ask:
            self.asking.leave_job(job)
            return
        comment = ""
        if plan.actions and is_commented:
            comment = self._comment(plan, job)
            self.look_again()
        with self.store.transaction() as tx:
            suggestions_turn(tx)
            tx.jobs.check(job)
            now = self._plan(tx)
            saving = Saving(ids=self.ids, act=self._act())
            apply(tx, now, saving, comment=comment if now.actions == plan.actions else "")
            tx.jobs.finish(job)

    def _plan(self, collections: Collections) -> CurationPlan:
        """What is to be done; nothing where people said no since the job was queued."""
        is_wanted = current_skills(collections).curation.auto_curate
        return look(collections, self._act(), by_itself=True) if is_wanted else CurationPlan()

    def _act(self) -> Act:
        # Drafts go for their age, too.
        return Act(actor=DAEMON, at=self.asking.clock.earliest_now(), reason=CURATED)

    def _comment(self, plan: CurationPlan, job: Job) -> str:
        """What a model says about it; nothing where none answers, or where that cannot be shown."""
        self.asking.hold_job(job, TIMEOUT_S)
        with self.store.snapshot() as snapshot:
            budget = current_learning(snapshot).model_budget
        question = Question(
            purpose=ModelPurpose.CURATION, document=document(plan), schema=SCHEMA, timeout_s=TIMEOUT_S
        )
        try:
            return comment_in(self.asking.ask(question, budget).output)
        except ModelFailure:
            return ""


def _list_savable(tx: Transaction, run: Run, found_by: datetime) -> tuple[StoredSuggestion, ...]:
    """What a look at a run found, where people still let anything be learned from it: what was suggested
    since then by a look at everything is not saved by itself."""
    if run.memory is MemoryState.FORGOTTEN or not may_learn(tx, run):
        return ()
    if not is_captured(tx, tx.sessions.get(run.session_id)):
        return ()
    return tuple(each for each in tx.suggestions.of_runs([run.run_id]) if each.created_at <= found_by)


def _improved_at(tx: Transaction, shown: Sequence[StoredSuggestion]) -> datetime | None:
    """When a model may have improved what waits; None where none is about to."""
    jobs = [
        tx.jobs.find(JobKind.ENHANCE, each.suggestion_id)
        for each in shown
        if each.state is SuggestionState.WAITING and not each.suggestion.enhanced_by
    ]
    return max(
        (job.due_at for job in jobs if job is not None and job.state is not JobState.DEAD), default=None
    )
