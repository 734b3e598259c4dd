"""`/v1/skills`, `/v1/skill-curations`, `/v1/skill-log`: skills as they are kept, and what becomes of them."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from runlore.api import bodies, library_bodies
from runlore.api.answering import PRIVATE_HEADERS, document, entity_tag, place
from runlore.api.calls import Acting, Changing, Reading, area
from runlore.api.queries import LimitQuery
from runlore.api.telling import answers as told
from runlore.api.telling import creates, problems
from runlore.daemon import answers
from runlore.daemon.skill_texts import given_text
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill
from runlore.domain.skill_curation import CurationId
from runlore.ports import operations as ops

MARKDOWN = "text/markdown"
router = area("skills")
_NOTHING = bodies.NoFields()
_SAVE, _ACCEPT, _USE = library_bodies.SaveBody(), library_bodies.AcceptBody(), library_bodies.UseBody()
_CURATE, _RESET = library_bodies.CurateBody(), library_bodies.ResetBody()
_TAG = {"ETag": {"description": "The revision.", "schema": {"type": "string"}}}
_FILE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The SKILL.md.",
            "content": {MARKDOWN: {"schema": {"type": "string"}}},
            "headers": _TAG,
        },
        304: {"description": "It is still the revision of If-None-Match."},
        **problems(),
    }
}


@router.get("/v1/skills", **told("SkillsAnswer"))
def list_skills(call: Reading, query: Annotated[library_bodies.SkillsQuery, Query()]) -> Response:
    """Skills by name; with `query` those that fit a turn, the best first."""
    matching = query.matching()
    if matching is not None:
        return document(answers.write(call.operations.match_skills(matching)))
    page = call.operations.list_skills(query.listing())
    return document(answers.write(page))


@router.post("/v1/skills", **creates("Skill", tagged=True))
def import_skill(call: Acting, body: library_bodies.ImportBody) -> Response:
    """Bring a skill in. It is tainted until it is promoted."""
    skill = call.operations.import_skill(body.request(call.idempotency_key))
    return document(
        answers.write(skill),
        status=201,
        revision=skill.revision,
        location=place("v1", "skills", skill.name),
    )


@router.post("/v1/skills/curate", **told("Curated"))
def curate_skills(call: Acting, body: library_bodies.CurateBody = _CURATE) -> Response:
    """Tell what curation would do with drafts, or do it."""
    request = body.request(call.idempotency_key)
    return document(answers.write(call.operations.curate_skills(request)))


@router.get("/v1/skills/{name}", **told("Skill", tagged=True))
def get_skill(call: Reading, name: str) -> Response:
    """One skill, by its name or id."""
    skill = call.operations.get_skill(name)
    return call.unless_known(answers.write(skill), skill.revision)


@router.get("/v1/skills/{name}/file", **_FILE)
def get_skill_file(call: Reading, name: str) -> Response:
    """The SKILL.md of a skill, as agents read it."""
    skill = call.operations.get_skill(name)
    headers = {**PRIVATE_HEADERS, "ETag": entity_tag(skill.revision)}
    if call.if_none_match is not None and entity_tag(skill.revision) in call.if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(given_text(skill).encode(), headers=headers, media_type=MARKDOWN)


@router.delete("/v1/skills/{name}", **told("Skill", tagged=True))
def delete_skill(call: Reading, name: str) -> Response:
    """Take a skill away, with its file where that is as it was written. Restoring it undoes this."""
    return _answered(call.operations.delete_skill(name))


@router.post("/v1/skills/{name}/accept", **told("Skill", tagged=True))
def accept_skill(call: Changing, name: str, body: library_bodies.AcceptBody = _ACCEPT) -> Response:
    """Clear a skill's taint after reading it; the act is logged."""
    return _answered(call.operations.accept_skill(body.request(name, call)))


@router.post("/v1/skills/{name}/promote", deprecated=True, **told("Skill", tagged=True))
def promote_skill(call: Changing, name: str, body: library_bodies.AcceptBody = _ACCEPT) -> Response:
    """What accepting a skill was called before."""
    return _answered(call.operations.accept_skill(body.request(name, call)))


@router.post("/v1/skills/{name}/restore", **told("Skill", tagged=True))
def restore_skill(
    call: Reading,
    name: str,
    body: bodies.NoFields = _NOTHING,  # noqa: ARG001
) -> Response:
    """Bring back a skill that was deleted or merged, by its id or by the name that it had."""
    return _answered(call.operations.restore_skill(name))


@router.post("/v1/skills/{name}/settle", **told("Skill", tagged=True))
def settle_skill_file(call: Reading, name: str, body: library_bodies.SettleBody) -> Response:
    """Say which stands where `file_remark` asks: the file as it is, or the stored text."""
    return _answered(call.operations.settle_skill_file(ops.SettleFile(name=name, keep=body.keep)))


@router.post("/v1/skills/{name}/use", **told("Skill", tagged=True))
def use_skill(call: Reading, name: str, body: library_bodies.UseBody = _USE) -> Response:
    """Open a skill, and count that a run used it: once, however often it opens it."""
    return _answered(call.operations.use_skill(body.request(name)))


@router.get("/v1/sessions/{session_id}/skills", **told("SkillPage"))
def session_skills(call: Reading, session_id: str) -> Response:
    """The skills that a session may use, by name."""
    return document(answers.write(call.operations.session_skills(SessionId(session_id))))


@router.post("/v1/skill-suggestions/reset", **told("SuggestionPage"))
def reset_skips(call: Reading, body: library_bodies.ResetBody = _RESET) -> Response:
    """Let skipped suggestions wait again: all of them, or the one of a name."""
    return document(answers.write(call.operations.reset_skips(body.name)))


@router.post("/v1/skill-suggestions/{name}/save", **told("Skill", tagged=True))
def save_skill(call: Changing, name: str, body: library_bodies.SaveBody = _SAVE) -> Response:
    """Keep a suggestion, by its name or id, as a skill. The same again answers the same skill."""
    return _answered(call.operations.save_skill(body.request(name, call)))


@router.get("/v1/skill-curations", **told("CurationPage"))
def list_curations(call: Reading, query: Annotated[LimitQuery, Query()]) -> Response:
    """What curation did, the newest first."""
    return document(answers.write(call.operations.list_curations(query.limit)))


@router.post("/v1/skill-curations/undo", **told("Curation"))
def undo_latest_curation(
    call: Acting,
    body: bodies.NoFields = _NOTHING,  # noqa: ARG001
) -> Response:
    """Put back what the newest curation did that was not undone."""
    return document(answers.write(call.operations.undo_curation(None, call.idempotency_key)))


@router.post("/v1/skill-curations/{curation_id}/undo", **told("Curation"))
def undo_curation(
    call: Acting,
    curation_id: str,
    body: bodies.NoFields = _NOTHING,  # noqa: ARG001
) -> Response:
    """Put back what a curation did, byte for byte."""
    undone = call.operations.undo_curation(CurationId(curation_id), call.idempotency_key)
    return document(answers.write(undone))


@router.get("/v1/skill-log", **told("SkillLog"))
def skill_log(call: Reading, query: Annotated[library_bodies.LogQuery, Query()]) -> Response:
    """What happened to skills, the newest first."""
    return document(answers.write(call.operations.skill_log(query.request())))


def _answered(skill: Skill) -> Response:
    return document(answers.write(skill), revision=skill.revision)
