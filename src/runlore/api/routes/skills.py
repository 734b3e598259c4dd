"""`/v1/transcripts` and `/v1/skill-suggestions`: runs of other agents, and the skills that they suggest."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, skill_bodies
from runlore.api.answering import document
from runlore.api.calls import Acting, Reading, area
from runlore.api.telling import answers as told
from runlore.daemon import answers
from runlore.domain.suggestion import StoredSuggestion, SuggestionId
from runlore.ports import operations as ops

router = area("skills")
_NOTHING, _DETECT = bodies.NoFields(), skill_bodies.DetectBody()


@router.post("/v1/transcripts/runs", **told("ImportedRuns"))
def import_runs(call: Acting, body: skill_bodies.RunsBody) -> Response:
    """Bring runs of another agent in: sessions, journals, run memories. Repeating it changes nothing."""
    answer = call.operations.import_runs(body.request(call.idempotency_key))
    return document(answers.write(answer))


@router.post("/v1/transcripts/positions", **told("TranscriptPositions"))
def transcript_positions(call: Reading, body: skill_bodies.SourcesBody) -> Response:
    """How far these sources have been read; those that were never read are left out."""
    return document(answers.write_positions(call.operations.transcript_positions(body.sources)))


@router.post("/v1/skill-suggestions/detect", **told("Detected"))
def suggest(call: Acting, body: skill_bodies.DetectBody = _DETECT) -> Response:
    """Run the detectors over all that was mined, and keep what they find in the review queue."""
    request = ops.SuggestRequest(enhance=body.enhance, idempotency_key=call.idempotency_key)
    return document(answers.write(call.operations.suggest(request)))


@router.get("/v1/skill-suggestions", **told("SuggestionPage"))
def list_suggestions(call: Reading, query: Annotated[skill_bodies.SuggestionsQuery, Query()]) -> Response:
    """Suggested skills, the best first: those that wait unless states are named."""
    return document(answers.write(call.operations.list_suggestions(query.request())))


@router.get("/v1/skill-suggestions/{name}", **told("Suggestion", tagged=True))
def get_suggestion(call: Reading, name: str) -> Response:
    """One suggestion, by its name or id."""
    stored = call.operations.get_suggestion(name)
    return call.unless_known(answers.write(stored), stored.revision)


@router.post("/v1/skill-suggestions/{suggestion_id}/skip", **told("Suggestion", tagged=True))
def skip_suggestion(
    call: Reading,
    suggestion_id: str,
    body: bodies.NoFields = _NOTHING,  # noqa: ARG001
) -> Response:
    """Take one out of the queue for `skip_reset_days`; its pattern comes back under no other name."""
    return _moved(call.operations.skip_suggestion(SuggestionId(suggestion_id)))


@router.post("/v1/skill-suggestions/{suggestion_id}/reset", **told("Suggestion", tagged=True))
def reset_suggestion(
    call: Reading,
    suggestion_id: str,
    body: bodies.NoFields = _NOTHING,  # noqa: ARG001
) -> Response:
    """Let a skipped one wait again."""
    return _moved(call.operations.reset_suggestion(SuggestionId(suggestion_id)))


def _moved(stored: StoredSuggestion) -> Response:
    return document(answers.write(stored), revision=stored.revision)
