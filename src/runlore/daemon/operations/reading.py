"""Reading sessions with a model: what it would be asked, and the next request of it."""

from collections.abc import Iterator
from itertools import islice

from runlore.daemon.calls.requests import number_of
from runlore.daemon.operations.bound import Bound, operation
from runlore.domain.errors import Refused, Unavailable
from runlore.domain.prompts.token_budget import estimate
from runlore.domain.record import JsonObject
from runlore.domain.statements.passages import MessageBatch
from runlore.flow.model_budget import BudgetedModels, budget_day, usage_on
from runlore.flow.pipeline.reading import Reading, is_reading_allowed, question_about, unread_batches
from runlore.flow.policies import current_learning
from runlore.models.prompt_files import CURRENT, chat_request, load_prompt, render_document
from runlore.models.structured_answer import price_of
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, ModelPurpose, TokenUsage
from runlore.ports.store import Collections

_TEXTS_PER_PAGE = 4
# What an answer about one batch takes, about.
_ANSWER_TOKENS = 1_200
_NOT_ALLOWED = "the policies say no: capture.own_words is off, or llm_learn of skills is"


class ReadingActs(Bound):
    """Sessions, read by a model."""

    @operation
    def plan_reading(self, request: ops.ReadingPlanRequest) -> ops.ReadingPlan:
        first = 0 if request.cursor is None else number_of(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            batches = list(unread_batches(snapshot))
            model, problem = self._model(snapshot)
            budget = current_learning(snapshot).model_budget
            now = self.parts.clock.now()
            spent = usage_on(snapshot, ModelPurpose.READING, budget_day(now))
        tokens = sum(map(_tokens, batches))
        likely = TokenUsage(input_tokens=tokens, output_tokens=len(batches) * _ANSWER_TOKENS)
        texts = islice(batches, first, first + _TEXTS_PER_PAGE) if request.texts else iter(())
        last = first + _TEXTS_PER_PAGE
        return ops.ReadingPlan(
            model=model,
            problem=problem,
            requests=len(batches),
            messages=sum(len(each.passages) for each in batches),
            sessions=len({name for each in batches for name in each.sessions}),
            input_tokens=tokens,
            cost_micro_usd=price_of(likely, model),
            calls_left=max(0, budget.calls_per_day - spent.calls),
            tokens_left=max(0, budget.tokens_per_day - spent.input_tokens - spent.output_tokens),
            texts=tuple(_texts(texts)),
            next_cursor=str(last) if request.texts and last < len(batches) else None,
        )

    @operation
    def read_sessions(self) -> ops.ReadingStep:
        parts = self.parts
        with parts.store.snapshot() as snapshot:
            if not is_reading_allowed(snapshot):
                raise Refused(
                    f"no model reads what users say: {_NOT_ALLOWED}",
                    code="reading.off",
                    hint="runlore policy show learning, and runlore policy show skills, tell what holds",
                )
        asking = BudgetedModels(store=parts.store, models=parts.models, clock=parts.clock)
        reading = Reading(store=parts.store, memories=parts.run_memories, asking=asking, ids=parts.ids)
        try:
            read = reading.read_next()
        except ModelFailure as failure:
            raise Unavailable(failure.sentence, code=failure.code, hint=failure.hint) from failure
        if read is None:
            return ops.ReadingStep(messages=0)
        return ops.ReadingStep(
            messages=read.messages,
            statements=read.statements,
            procedures=read.procedures,
            thrown=read.thrown,
            is_answered=read.is_answered,
            input_tokens=read.usage.input_tokens,
            output_tokens=read.usage.output_tokens,
            cost_micro_usd=read.usage.cost_micro_usd,
        )

    def _model(self, collections: Collections) -> tuple[str, str]:
        """The model that would be asked, and why nothing would be."""
        try:
            model = self.parts.models.resolve()
        except ModelFailure as failure:
            return "", failure.sentence
        return model, "" if is_reading_allowed(collections) else _NOT_ALLOWED


def _texts(batches: Iterator[MessageBatch]) -> Iterator[JsonObject]:
    for batch in batches:
        question = question_about(batch)
        yield chat_request(CURRENT[question.purpose], question.document, question.schema)


def _tokens(batch: MessageBatch) -> int:
    prompt = load_prompt(CURRENT[ModelPurpose.READING])
    return estimate(prompt) + estimate(render_document(batch.document))
