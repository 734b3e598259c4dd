"""Promoted skills: what each says, where its rollout stands, and what was seen of it on the way."""

from runlore.api.documents.records import RECORD_FIELDS
from runlore.api.shapes import FLAG, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.rollout import RolloutKind, RolloutMove, RolloutStatus, SkillContext

_RUNTIME = thing(
    {
        "context": word(SkillContext),
        "agent_profile": TEXT,
        "allowed_tools": many(TEXT),
        "blocked_tools": many(TEXT),
        "provider": TEXT,
        "model": TEXT,
        "fallback_model": TEXT,
    },
    "How it is run.",
)
_EVIDENCE = thing(
    {
        "kind": word(RolloutKind),
        "run_id": TEXT,
        "session_id": maybe(TEXT),
        "success": FLAG,
        "definition_fingerprint": TEXT,
        "at": TIME,
        "actor": TEXT,
        "note": TEXT,
    },
    "One result that was recorded; that of the present fingerprint counts.",
)
_EVENT = thing(
    {
        "event": word(RolloutMove),
        "from_status": maybe(word(RolloutStatus)),
        "to_status": word(RolloutStatus),
        "actor": TEXT,
        "at": TIME,
        "definition_fingerprint": TEXT,
        "reason": TEXT,
        "kind": maybe(word(RolloutKind)),
        "run_id": maybe(TEXT),
        "session_id": maybe(TEXT),
        "success": maybe(FLAG),
    },
    "One change of its status, or one result.",
)

DOCUMENTS: dict[str, Schema] = {
    "PromotedSkill": thing(
        {
            "skill_name": TEXT,
            "status": word(RolloutStatus),
            "definition_fingerprint": TEXT,
            "source_record_id": TEXT,
            "description": TEXT,
            "when_to_use": TEXT,
            "version": TEXT,
            "instructions": TEXT,
            "runtime": _RUNTIME,
            "evidence": many(_EVIDENCE),
            "lifecycle_events": many(_EVENT),
            "canary": thing({"sessions": many(TEXT), "share": WHOLE}, "Who sees it as a canary."),
            "provenance": RECORD_FIELDS["provenance"],
            "created_at": TIME,
            "updated_at": TIME,
            "revoked_reason": TEXT,
            "revision": WHOLE,
        },
        "A procedure on its way to being a skill.",
    ),
    "PromotedPage": page(ref("PromotedSkill"), "Promoted skills, by name."),
    "PromotedHistory": page(
        thing({"number": WHOLE, "skill": ref("PromotedSkill")}, "How it stood after a change."),
        "A promoted skill after each of its changes, oldest first.",
    ),
}
