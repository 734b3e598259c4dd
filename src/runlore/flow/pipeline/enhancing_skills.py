"""Enhancing suggestions, as jobs: a model says better what one says, and its words are kept where they pass.

The suggestion is read in a snapshot, the model asked outside any transaction, and what came of it written
with the end of the job. Where the suggestion says something else by then, or something was forgotten, it is
done again; where it was decided on, or is gone, nothing is.
"""

from dataclasses import replace

from runlore.domain.errors import NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.policies.learning_policy import ModelBudget
from runlore.domain.runs.job import Job, JobKind
from runlore.domain.skill import SuggestionId
from runlore.domain.suggesting.enhancing import SCHEMA, Enhanced, apply_enhancement, document
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionState
from runlore.flow.model_budget import BudgetedModels
from runlore.flow.pipeline.capturing import FINAL
from runlore.flow.policies import current_learning, current_skills
from runlore.flow.skills.names import is_free
from runlore.flow.skills.suggestion_lock import forgettings, suggestions_turn
from runlore.ports.model import ModelFailure, ModelPurpose, Question
from runlore.ports.store import Collections, Store, Transaction

TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A suggestion that a model may improve, the names that others have, and what may be spent on it."""

    stored: StoredSuggestion
    taken: frozenset[str]
    budget: ModelBudget
    forgettings: int


@dataclass(frozen=True, kw_only=True)
class EnhancingSkills:
    """What enhances suggestions. With `may_ask` false no model is asked, and the job waits for who may."""

    store: Store
    asking: BudgetedModels
    may_ask: bool = True

    def enhance(self, job: Job) -> None:
        """Do one job; Conflict (`job.lost`) where another has taken it over, and then nothing is written."""
        while not self._attempt(job):
            pass

    def _attempt(self, job: Job) -> bool:
        with self.store.snapshot() as snapshot:
            sight = _look(snapshot, SuggestionId(job.subject))
        if sight is None or not self.asking.models.is_configured:
            with self.store.transaction() as tx:
                self._finish(tx, job)
            return True
        if not self.may_ask:
            self.asking.leave_job(job)
            return True
        came = self._ask_model(sight, job)
        with self.store.transaction() as tx:
            suggestions_turn(tx)
            tx.jobs.check(job)
            if forgettings(tx) != sight.forgettings:
                return False
            if came is not None and not self._keep_words(tx, sight, came):
                return False
            self._finish(tx, job)
        return True

    def _finish(self, tx: Transaction, job: Job) -> None:
        """End the job. Whoever waits for what came of it looks again."""
        tx.jobs.finish(job)
        tx.jobs.hasten(frozenset({JobKind.SAVE}), self.asking.clock.now())

    def _ask_model(self, sight: _Sight, job: Job) -> Enhanced | None:
        """What a model made of it; None where it has no answer, and never will."""
        self.asking.hold_job(job, TIMEOUT_S)
        try:
            return enhance(self.asking, sight.stored.suggestion, sight.budget, taken=sight.taken)
        except ModelFailure as failure:
            if failure.code in FINAL:
                return None
            raise

    def _keep_words(self, tx: Transaction, sight: _Sight, came: Enhanced) -> bool:
        """Write the words; False where the suggestion says something else by now."""
        if came.dropped is not None:
            tx.counters.add({f"skills.enhancement_dropped_{came.dropped.value}_total": 1})
            return True
        present = _waiting(tx, sight.stored.suggestion_id)
        if present is None:
            return True
        if _words(present.suggestion) != _words(sight.stored.suggestion):
            return False
        better = came.suggestion
        has_name = is_free(tx, better.name, besides=present.suggestion_id)
        after = replace(
            present.suggestion,
            name=better.name if has_name else present.suggestion.name,
            description=better.description,
            trigger=better.trigger,
            body=better.body,
            enhanced_by=better.enhanced_by,
        )
        changed = replace(
            present, suggestion=after, updated_at=self.asking.clock.now(), revision=present.revision + 1
        )
        tx.suggestions.update(changed, expected_revision=present.revision)
        return True


def enhance(
    asking: BudgetedModels, suggestion: Suggestion, budget: ModelBudget, *, taken: frozenset[str]
) -> Enhanced:
    """The suggestion in better words, or as it was with the reason (SKL-5); ModelFailure where none answered.
    `taken` are the names that others have."""
    question = Question(
        purpose=ModelPurpose.ENHANCEMENT, document=document(suggestion), schema=SCHEMA, timeout_s=TIMEOUT_S
    )
    reply = asking.ask(question, budget)
    return apply_enhancement(
        suggestion, reply.output, taken=taken, enhanced_by=f"{reply.model} {reply.prompt}"
    )


def _look(collections: Collections, suggestion_id: SuggestionId) -> _Sight | None:
    stored = _waiting(collections, suggestion_id)
    # People may have said no since the job was queued.
    if stored is None or not current_skills(collections).llm_learn:
        return None
    return _Sight(
        stored=stored,
        taken=(collections.suggestions.names() - {stored.suggestion.name})
        | collections.skills.names()
        | collections.promotions.names(),
        budget=current_learning(collections).model_budget,
        forgettings=forgettings(collections),
    )


def _waiting(collections: Collections, suggestion_id: SuggestionId) -> StoredSuggestion | None:
    """The suggestion, where it waits and no model has improved it."""
    try:
        stored = collections.suggestions.get(suggestion_id)
    except NotFound:
        return None
    is_open = stored.state is SuggestionState.WAITING and not stored.suggestion.enhanced_by
    return stored if is_open else None


def _words(suggestion: Suggestion) -> tuple[object, ...]:
    return suggestion.description, suggestion.commands, suggestion.body
