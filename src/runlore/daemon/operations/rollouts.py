"""Promoted procedures: from a published learning to a skill, step by step (ROL-1 to ROL-10).

Each act is one transaction over the record, its snapshot and the row of the catalogue; the file follows
afterwards. All but reading is the operator's. Trials are `trying`.
"""

import logging
from collections.abc import Callable

from runlore.daemon.calls.idempotency import Call, Done
from runlore.daemon.calls.lookups import askable, lock_record
from runlore.daemon.calls.requests import check_limit, cut_page, number_of
from runlore.daemon.operations.bound import Bound, operation, reasoned_call
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import RecordId
from runlore.domain.records.audit import Act
from runlore.domain.rollouts import Result
from runlore.domain.run import RunId
from runlore.domain.scope import WORKSPACE
from runlore.domain.skills.rollout import Definition, PromotedSkill, RolloutStatus, Runtime, SkillContext
from runlore.flow.skills import rollouts
from runlore.flow.skills.catalogue import row_of
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from runlore.ports.store import Transaction

_log = logging.getLogger(__name__)


class RolloutActs(Bound):
    """What can be done with promoted procedures."""

    @operation
    def promote_learning(self, request: ops.PromoteLearning) -> PromotedSkill:
        name = request.skill_name
        # A name that somebody has given a file of theirs is theirs before.
        self.parts.library.refresh()

        def do(tx: Transaction, act: Act) -> PromotedSkill:
            source = lock_record(tx, request.record_id)
            suggestions_turn(tx)
            known = tx.promotions.find(name)
            rollouts.expect_revision(known, name, request.expected_revision)
            return rollouts.promote(
                tx,
                _definition(request, known),
                source,
                act,
                accept_untrusted=request.accept_untrusted,
            )

        call = Call(operation="promote_learning", request=request, key=request.idempotency_key)
        return self._act_on_promoted(call, do)

    @operation
    def list_promoted(self, request: ops.PromotedRequest) -> ops.PromotedPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        source = None if request.source_record_id is None else _source(request.source_record_id)
        with self.parts.store.snapshot() as snapshot:
            found = snapshot.promotions.page(
                limit=limit + 1,
                after=request.cursor,
                statuses=request.statuses or None,
                source_record_id=source,
            )
        items, cursor = cut_page(found, limit, lambda skill: skill.name)
        return ops.PromotedPage(items=items, next_cursor=cursor)

    @operation
    def get_promoted(self, skill_name: str) -> PromotedSkill:
        with self.parts.store.snapshot() as snapshot:
            return rollouts.get_promoted(snapshot, askable(skill_name, "promoted"))

    @operation
    def promoted_history(self, request: ops.PromotedHistoryRequest) -> ops.PromotedHistory:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        after = number_of(request.cursor)
        with self.parts.store.snapshot() as snapshot:
            name = rollouts.get_promoted(snapshot, askable(request.skill_name, "promoted")).name
            found = snapshot.promotions.history(name, after=after, limit=limit + 1)
        snapshots, cursor = cut_page(found, limit, lambda each: str(each[0]))
        items = tuple(ops.PromotedSnapshot(number=number, skill=skill) for number, skill in snapshots)
        return ops.PromotedHistory(items=items, next_cursor=cursor)

    @operation
    def record_result(self, request: ops.RolloutResult) -> PromotedSkill:
        result = Result(
            kind=request.kind,
            run_id=RunId(askable(request.run_id, "run")),
            marker=request.expected_output_contains,
            fingerprint=request.definition_fingerprint,
        )

        def do(tx: Transaction, act: Act) -> PromotedSkill:
            return rollouts.record(tx, self._ours(tx, request.skill_name), result, act)

        call = Call(operation="record_result", request=request, key=request.idempotency_key)
        return self._act_on_promoted(call, do)

    @operation
    def advance_promoted(self, request: ops.AdvanceRequest) -> PromotedSkill:
        if request.to is RolloutStatus.ACTIVE:
            self._check_place(request.skill_name)

        def do(tx: Transaction, act: Act) -> PromotedSkill:
            skill = self._ours(tx, request.skill_name)
            rollouts.expect_revision(skill, skill.name, request.expected_revision)
            return rollouts.advance(
                tx, skill, request.to, act, sessions=request.sessions, share=request.share
            )

        call = Call(operation="advance_promoted", request=request, key=request.idempotency_key)
        return self._act_on_promoted(call, do)

    @operation
    def revoke_promoted(self, request: ops.RevokePromoted) -> ops.RevokedSkill:
        def do(tx: Transaction, act: Act) -> PromotedSkill:
            return rollouts.revoke(tx, self._ours(tx, request.skill_name), act)

        skill = self._write_promoted(reasoned_call("revoke_promoted", request), do)
        return ops.RevokedSkill(skill=skill, copies_left=self.mounts.copies_left(skill.name))

    @operation
    def rollback_promoted(self, request: ops.RevokePromoted) -> PromotedSkill:
        self._check_place(request.skill_name)

        def do(tx: Transaction, act: Act) -> PromotedSkill:
            return rollouts.roll_back(tx, self._ours(tx, request.skill_name), act)

        return self._act_on_promoted(reasoned_call("rollback_promoted", request), do)

    def _ours(self, tx: Transaction, skill_name: str) -> PromotedSkill:
        """A promoted skill, read once the scope that all their learnings are of, and the skills, are ours."""
        tx.lock({WORKSPACE})
        suggestions_turn(tx)
        return rollouts.get_promoted(tx, askable(skill_name, "promoted"))

    def _check_place(self, skill_name: str) -> None:
        """Whether a skill can be mounted: nothing else stands where its file will. Asked before anything is
        written, and a person's new file is theirs before."""
        name = askable(skill_name, "promoted")
        self.parts.library.refresh()
        with self.parts.store.snapshot() as snapshot:
            rollouts.get_promoted(snapshot, name)
        self.parts.library.check_place(name)

    def _act_on_promoted(self, call: Call, do: Callable[[Transaction, Act], PromotedSkill]) -> PromotedSkill:
        """An act on one, which its mounted copies follow."""
        skill = self._write_promoted(call, do)
        self.mounts.follow()
        return skill

    def _write_promoted(self, call: Call, do: Callable[[Transaction, Act], PromotedSkill]) -> PromotedSkill:
        """The record in one transaction, then its file."""

        def attempt(tx: Transaction, act: Act) -> Done[PromotedSkill]:
            skill = do(tx, act)
            return Done(skill, name=skill.name)

        skill = self.acting.perform(call, attempt, lambda kept: rollouts.get_promoted(kept.tx, kept.name))
        with self.parts.store.snapshot() as snapshot:
            row = row_of(snapshot, skill.name)
        if row is not None:
            for remark in self.parts.library.project([row]):
                _log.warning("the file of a promoted skill is behind its record: %s", remark)
        return skill


def _source(record_id: RecordId) -> RecordId:
    return RecordId(askable(record_id, "record"))


def _definition(request: ops.PromoteLearning, known: PromotedSkill | None) -> Definition:
    """What is asked for; where it says nothing, what stands there, or the default."""
    base = Definition(name=request.skill_name, description="", instructions="")
    kept = base if known is None else known.definition
    runtime = kept.runtime
    return Definition(
        name=request.skill_name,
        description=_or(request.description, kept.description),
        instructions=request.instructions,
        when_to_use=_or(request.when_to_use, kept.when_to_use),
        version=_or(request.version, kept.version),
        runtime=Runtime(
            context=runtime.context if request.context is None else _context(request.context),
            agent_profile=_or(request.agent_profile, runtime.agent_profile),
            allowed_tools=runtime.allowed_tools if request.allowed_tools is None else request.allowed_tools,
            blocked_tools=runtime.blocked_tools if request.blocked_tools is None else request.blocked_tools,
            provider=_or(request.provider, runtime.provider),
            model=_or(request.model, runtime.model),
            fallback_model=_or(request.fallback_model, runtime.fallback_model),
        ),
    )


def _or(new: str | None, kept: str) -> str:
    return kept if new is None else new


def _context(text: str) -> SkillContext:
    if not text.strip():
        return SkillContext.FORK
    try:
        return SkillContext(text.strip())
    except ValueError as error:
        raise Invalid(
            "there is no such context",
            code="promoted.context",
            hint=f"say {SkillContext.FORK}, or leave it out",
        ) from error
