"""Worth: what given memory is worth, and what people say of runs."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.requests import check_limit
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.run_access import own_run_turn
from runlore.domain import limits
from runlore.domain.errors import NotFound
from runlore.domain.record import RecordId, State
from runlore.domain.records.audit import Act
from runlore.domain.skill import SkillId
from runlore.domain.text.excerpt import excerpt
from runlore.domain.worth.effect import TrialRun, Worth, estimate_effect
from runlore.domain.worth.repeats import Repeat
from runlore.flow.pipeline.recurring import find_persona_repeats
from runlore.flow.policies import current_projection
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

_KEPT = {State.ACTIVE: ops.Holding.IN_USE, State.CONSTRAINED: ops.Holding.WAITING}
_SESSIONS_NAMED_MAX = 20
_ORDER = (Worth.HARMS, Worth.HELPS, Worth.NO_DIFFERENCE, Worth.TOO_FEW)


class WorthActs(Bound):
    """What given memory is worth."""

    @operation
    def value(self, request: ops.ValueRequest) -> ops.ValueAnswer:
        limit, now = check_limit(request.limit, limits.SEARCH_LIMIT_MAX), self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            percent = current_projection(snapshot).holdback_percent
            found = [
                _judge(source_id, list(runs))
                for source_id, runs in groupby(snapshot.outcomes.trials(now), key=lambda run: run.source_id)
            ]
            records = snapshot.records.get_many([RecordId(item.record_id) for item in found])
            titles = {
                str(name): each.summary for name, each in records.items() if self.caller.reaches(each.scope)
            }
            skills: dict[str, str] = {}
            if self.caller.scopes is None:
                others = [item.record_id for item in found if item.record_id not in titles]
                skills = {name: told for name in others if (told := _skill_name(snapshot, name))}
                titles |= {name: f"skill {told}" for name, told in skills.items()}
        items = sorted(
            (item for item in found if item.record_id in titles),
            key=lambda item: (_ORDER.index(item.word), -abs(item.difference), -item.given, item.record_id),
        )
        return ops.ValueAnswer(
            items=tuple(
                replace(
                    item,
                    title=excerpt(titles[item.record_id], limits.TITLE_CHARS_MAX),
                    skill=skills.get(item.record_id),
                )
                for item in items[:limit]
            ),
            truncated=len(items) > limit,
            holdback_percent=percent,
        )

    @operation
    def repeats(self, request: ops.RepeatsRequest) -> ops.RepeatsAnswer:
        limit = check_limit(request.limit, limits.SEARCH_LIMIT_MAX)
        if self.caller.scopes is not None:
            return ops.RepeatsAnswer(items=(), truncated=False, rates=())
        with self.parts.store.snapshot() as snapshot:
            found = find_persona_repeats(snapshot, request.persona_id)
            items = tuple(_repeat_item(snapshot, each) for each in found.items[:limit])
            began_at = snapshot.records.learning_began_at()
        return ops.RepeatsAnswer(
            items=items,
            truncated=len(found.items) > limit,
            rates=found.rates,
            change=None if began_at is None else found.rate_change(began_at),
        )

    @operation
    def say_outcome(self, request: ops.OutcomeRequest) -> ops.OutcomeAnswer:
        answer = ops.OutcomeAnswer(run_id=request.run_id, outcome=request.outcome)

        def do(tx: Transaction, _act: Act) -> Done[ops.OutcomeAnswer]:
            run, _ = own_run_turn(tx, self.caller, request.run_id)
            tx.outcomes.put(run.run_id, run.opened_at, request.outcome)
            return Done(answer, name=run.run_id)

        def again(_kept: EarlierResult) -> ops.OutcomeAnswer:
            return answer

        call = Call(operation="say_outcome", request=request, key=request.idempotency_key)
        return self.acting.perform(call, do, again)


def _repeat_item(collections: Collections, repeat: Repeat) -> ops.RepeatItem:
    """A repeat, with the record that was made of one of its wordings, one in use before one that waits."""
    made = [
        record
        for run_id in repeat.run_ids
        for record in collections.records.of_run(run_id)
        if record.summary in repeat.wordings and record.state in _KEPT
    ]
    record = min(made, key=lambda each: (each.state is not State.ACTIVE, each.record_id), default=None)
    return ops.RepeatItem(
        text=repeat.text,
        sessions=len(repeat.session_ids),
        session_ids=repeat.session_ids[:_SESSIONS_NAMED_MAX],
        first_at=repeat.first_at,
        last_at=repeat.last_at,
        kept=ops.Holding.NOT_KEPT if record is None else _KEPT[record.state],
        record_id=None if record is None else record.record_id,
    )


def _skill_name(collections: Collections, source_id: str) -> str:
    """What a skill is called that was offered to runs; empty where it is gone."""
    with suppress(NotFound):
        return collections.skills.get(SkillId(source_id)).name
    return ""


def _judge(source_id: str, runs: Sequence[TrialRun]) -> ops.ValueItem:
    effect = estimate_effect(runs)
    return ops.ValueItem(
        record_id=source_id,
        title="",
        given=sum(not run.held_back for run in runs),
        held_back=sum(run.held_back for run in runs),
        used=sum(run.used is True for run in runs),
        settled=effect.given + effect.held_back,
        difference=round(effect.difference),
        low=math.floor(effect.low),
        high=math.ceil(effect.high),
        word=effect.worth,
    )
