"""Skills, what fits a turn, what curation did, and the log of skills."""

from runlore.api.documents.records import RECORD_FIELDS
from runlore.api.shapes import FLAG, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.skill import Quality, SkillEventKind, SkillOrigin, SkillState
from runlore.domain.skill_curation import CurationKind

_SKILL: dict[str, Schema] = {
    "skill_id": TEXT,
    "name": TEXT,
    "description": TEXT,
    "body": TEXT,
    "topics": many(TEXT),
    "actions": many(TEXT),
    "version": TEXT,
    "author": TEXT,
    "quality": word(Quality),
    "auto_load": FLAG,
    "license": TEXT,
    "compatibility": TEXT,
    "allowed_tools": TEXT,
    "metadata": {"type": "object", "additionalProperties": TEXT, "description": "What else it says."},
    "text": {**TEXT, "description": "The file as somebody wrote it; empty where Runlore writes it."},
    "origin": word(SkillOrigin),
    "state": word(SkillState),
    "state_actor": TEXT,
    "merged_into": maybe(TEXT),
    "provenance": RECORD_FIELDS["provenance"],
    "suggestion_id": maybe(TEXT),
    "pattern": TEXT,
    "also_from": many(thing({"suggestion_id": TEXT, "pattern": TEXT})),
    "source_run_id": maybe(TEXT),
    "usage": thing(
        {"times": WHOLE, "last_used_at": maybe(TIME), "succeeded": WHOLE, "failed": WHOLE},
        "How many runs used it, when the last one did, and how those runs ended.",
    ),
    "created_at": TIME,
    "updated_at": TIME,
    "revision": WHOLE,
    "file_remark": {**TEXT, "description": "What is wrong with its file, where something is."},
}
_OPTIONAL = ("file_remark",)
_MATCH = thing(
    {
        "score": WHOLE,
        "parts": many(thing({"reason": TEXT, "points": WHOLE})),
        "auto_load": {**FLAG, "description": "It is always there, whatever is asked."},
    },
    "How well it fits, and why.",
)
_ACTION = thing(
    {
        "kind": word(CurationKind),
        "gone": TEXT,
        "gone_name": TEXT,
        "kept": maybe(TEXT),
        "kept_name": TEXT,
        "reason": TEXT,
    },
    "One draft that goes, the skill that takes its place where there is one, and why.",
)

DOCUMENTS: dict[str, Schema] = {
    "Skill": thing(
        _SKILL,
        "A skill: what it says, where it comes from, how it stands and how it fared.",
        optional=_OPTIONAL,
    ),
    "SkillPage": page(ref("Skill"), "Skills, by name."),
    "FittingSkills": page(
        thing({**_SKILL, "match": _MATCH}, "A skill that fits, with how well and why.", optional=_OPTIONAL),
        "The skills that fit a turn, the best first. `remark` says why vectors took no part.",
        semantic=FLAG,
        remark=TEXT,
    ),
    "SkillsAnswer": {
        "anyOf": [ref("SkillPage"), ref("FittingSkills")],
        "description": "A page of skills; with `query` those that fit.",
    },
    "Curation": thing(
        {
            "curation_id": TEXT,
            "at": TIME,
            "actor": TEXT,
            "actions": many(_ACTION),
            "before": many(ref("Skill")),
            "revisions": many(thing({"skill_id": TEXT, "revision": WHOLE})),
            "comment": TEXT,
            "undone_at": maybe(TIME),
            "undone_by": TEXT,
        },
        "What one curation did: the skills as they were, and the revisions that it left them at.",
    ),
    "CurationPage": page(ref("Curation"), "What curation did, the newest first."),
    "Curated": thing(
        {"actions": many(_ACTION), "curation": maybe(ref("Curation"))},
        "What curation would do, or did: then `curation` can be undone.",
    ),
    "SkillLog": page(
        thing(
            {
                "number": WHOLE,
                "kind": word(SkillEventKind),
                "name": TEXT,
                "actor": TEXT,
                "at": TIME,
                "reason": TEXT,
                "skill_id": maybe(TEXT),
                "suggestion_id": maybe(TEXT),
            },
            "What happened to a skill or to what might have become one, who did it, and why.",
        ),
        "The log of skills, the newest first.",
    ),
}
