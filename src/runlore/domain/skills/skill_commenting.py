"""What a model is told of a curation, and what is kept of what it says to it (SKL-9).

It is asked for two sentences that people read beside the list of what was done. They decide nothing, and are
not kept where they look as if they spoke to somebody else.
"""

from runlore.domain import limits
from runlore.domain.guard import first_secret
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.skills.skill_curation import CurationPlan
from runlore.domain.suspicion import suspicions
from runlore.domain.text.safe_text import is_storable

COMMENT_CHARS_MAX = 600
ACTIONS_TOLD_MAX = 40
_DESCRIPTION_CHARS_MAX = 300

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"comment": {"type": "string", "maxLength": COMMENT_CHARS_MAX}},
    "required": ["comment"],
    "additionalProperties": False,
}


def document(plan: CurationPlan) -> JsonObject:
    """What a model is given: what is done and why, and how the skills describe themselves."""
    actions: list[JsonValue] = [
        {
            "kind": action.kind.value,
            "gone": action.gone_name,
            "kept": action.kept_name,
            "reason": redact_text(action.reason, personal=True).text[: limits.REASON_CHARS_MAX],
        }
        for action in plan.actions[:ACTIONS_TOLD_MAX]
    ]
    named = {action.gone for action in plan.actions[:ACTIONS_TOLD_MAX]}
    skills: list[JsonValue] = [
        {
            "name": skill.name,
            "description": redact_text(skill.document.description, personal=True).text[
                :_DESCRIPTION_CHARS_MAX
            ],
        }
        for skill in plan.before
        if skill.skill_id in named
    ]
    return {"actions": actions, "more_actions": len(plan.actions) - len(actions), "skills": skills}


def comment_in(output: JsonObject) -> str:
    """The comment of an answer, in one line; empty where it is none that could be shown."""
    said = output.get("comment")
    if not isinstance(said, str) or len(said) > COMMENT_CHARS_MAX:
        return ""
    comment = " ".join(said.split())
    is_sound = is_storable(comment) and first_secret(comment) is None and not suspicions(comment)
    return comment if is_sound else ""
