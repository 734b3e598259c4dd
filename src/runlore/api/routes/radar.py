"""`/v1/memory/radar`: findings from outside, and what became of them."""

from typing import Annotated

from fastapi import Body
from starlette.responses import Response

from runlore.api import bodies
from runlore.api.answering import document
from runlore.api.calls import Acting, Changing, Reading, area
from runlore.api.routes.review import decision_of
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.radar import finding_from_plain
from runlore.domain.record import RecordId
from runlore.domain.scope import WORKSPACE
from runlore.ports import operations as ops

router = area("radar")
_NOTHING_SAID, _ADOPTED = bodies.DecisionBody(), bodies.AdoptBody()


@router.post("/v1/memory/radar", **creates("RecordPage"))
def radar_add(
    call: Acting,
    body: Annotated[
        bodies.FindingsBody | bodies.FindingBody | list[bodies.FindingBody],
        Body(description="One finding, a list of them, or findings with the scope that they are for."),
    ],
) -> Response:
    """Take findings in: the scan's episode, then a candidate each."""
    scope = WORKSPACE
    if isinstance(body, bodies.FindingsBody):
        scope, given = bodies.scope_of(body.scope), body.findings
    else:
        given = body if isinstance(body, list) else [body]
    request = ops.Findings(
        findings=tuple(
            finding_from_plain(finding.model_dump(), name=f"finding {number}")
            for number, finding in enumerate(given, start=1)
        ),
        scope=scope,
        idempotency_key=call.idempotency_key,
    )
    return document(answers.write(call.operations.radar_add(request)), status=201)


@router.post("/v1/memory/radar/{record_id}/adopt", **told("Adoption"))
def radar_adopt(call: Changing, record_id: str, body: bodies.AdoptBody = _ADOPTED) -> Response:
    """Make a procedure of a finding."""
    request = ops.AdoptRequest(
        finding_id=RecordId(record_id),
        summary=body.summary,
        workflow=body.workflow,
        reason=body.reason,
        expected_revision=call.expected(body.expected_revision),
        accept_untrusted=body.accept_untrusted,
        idempotency_key=call.idempotency_key,
    )
    return document(answers.write(call.operations.radar_adopt(request)))


@router.post("/v1/memory/radar/{record_id}/undo", **told("Adoption"))
def radar_undo(call: Changing, record_id: str, body: bodies.DecisionBody = _NOTHING_SAID) -> Response:
    """Roll back what a finding became."""
    adoption = call.operations.radar_undo(decision_of(call, record_id, body))
    return document(answers.write(adoption))


@router.get("/v1/memory/radar/log", **told("RadarLog"))
def radar_log(call: Reading) -> Response:
    """The adoption registry and the promotion log."""
    return document(answers.write(call.operations.radar_log()))
