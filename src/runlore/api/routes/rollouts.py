"""`/v1/learning-skills`: procedures on their way to being skills, each step with its evidence."""

from typing import Annotated

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runlore.api import rollout_bodies
from runlore.api.answering import document
from runlore.api.calls import Acting, Changing, Reading, area
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.api.waiting import begun, ended
from runlore.daemon import answers
from runlore.domain.rollout import PromotedSkill

router = area("rollouts")
_END = rollout_bodies.EndBody()


@router.post("/v1/learnings/{record_id}/promote-skill", **told("PromotedSkill", tagged=True))
def promote_learning(call: Changing, record_id: str, body: rollout_bodies.PromoteLearningBody) -> Response:
    """Make a published procedure a skill in `draft`, or give one that is not active other words."""
    return _answered(call.operations.promote_learning(body.request(record_id, call)))


@router.get("/v1/learning-skills", **told("PromotedPage"))
def list_promoted(call: Reading, query: Annotated[rollout_bodies.PromotedQuery, Query()]) -> Response:
    """Promoted skills by name, whatever their status."""
    return document(answers.write(call.operations.list_promoted(query.request())))


@router.get("/v1/learning-skills/{name}", **told("PromotedSkill", tagged=True))
def get_promoted(call: Reading, name: str) -> Response:
    """One promoted skill, with its evidence and all that happened to it."""
    skill = call.operations.get_promoted(name)
    return call.unless_known(answers.write(skill), skill.revision)


@router.get("/v1/learning-skills/{name}/history", **told("PromotedHistory"))
def promoted_history(
    call: Reading, name: str, query: Annotated[rollout_bodies.PromotedHistoryQuery, Query()]
) -> Response:
    """How a promoted skill stood after each change, oldest first."""
    found = call.operations.promoted_history(query.request(name))
    return document(answers.write(found))


@router.post("/v1/learning-skills/{name}/trial", **creates("Run", tagged=True))
async def try_promoted(call: Acting, request: Request, name: str, body: rollout_bodies.TrialBody) -> Response:
    """Run a promoted skill once, in a child agent of its own; the run that executes it."""
    asked = body.request(name, call.idempotency_key)
    view = await run_in_threadpool(call.operations.try_promoted, asked)
    return begun(await ended(call, request, view) if body.wait else view)


@router.post("/v1/learning-skills/{name}/rollout-result", **told("PromotedSkill", tagged=True))
def record_result(call: Acting, name: str, body: rollout_bodies.ResultBody) -> Response:
    """Record how a run of the skill went; the same run once more changes nothing."""
    return _answered(call.operations.record_result(body.request(name, call.idempotency_key)))


@router.post("/v1/learning-skills/{name}/advance", **told("PromotedSkill", tagged=True))
def advance_promoted(call: Changing, name: str, body: rollout_bodies.AdvanceBody) -> Response:
    """Move the rollout on, where its evidence allows, or back to `draft`."""
    return _answered(call.operations.advance_promoted(body.request(name, call)))


@router.post("/v1/learning-skills/{name}/revoke", **told("PromotedSkill", tagged=True))
def revoke_promoted(call: Acting, name: str, body: rollout_bodies.EndBody = _END) -> Response:
    """Take a promoted skill out of use, at once."""
    return _answered(call.operations.revoke_promoted(body.request(name, call.idempotency_key)))


@router.post("/v1/learning-skills/{name}/rollback", **told("PromotedSkill", tagged=True))
def rollback_promoted(call: Acting, name: str, body: rollout_bodies.EndBody = _END) -> Response:
    """Put the newest snapshot back that was active, where its learning still stands."""
    return _answered(call.operations.rollback_promoted(body.request(name, call.idempotency_key)))


def _answered(skill: PromotedSkill) -> Response:
    return document(answers.write(skill), revision=skill.revision)
