"""What prompts are given, what a session is eligible for, and what it can find."""

from runlore.api.documents.records import SCOPE
from runlore.api.documents.sessions import CAPABILITIES
from runlore.api.shapes import FLAG, TEXT, TIME, WHOLE, Schema, many, maybe, ref, texts, thing, word
from runlore.domain.projection import Omitted, SectionName
from runlore.domain.record import Kind
from runlore.domain.run import RunStatus
from runlore.domain.run_memory import CaptureState
from runlore.domain.visibility import Hidden

_OMISSIONS = many(
    thing({"section": word(SectionName), "source_id": TEXT, "reason": word(Omitted), "tokens": WHOLE})
)
_RECEIPT_ENTRY = thing(
    {
        "source_id": TEXT,
        "revision": maybe(WHOLE),
        "score": maybe(WHOLE),
        "tokens": WHOLE,
        "text": maybe(TEXT),
    },
    "A record's text is read again at its revision; a run's is kept.",
)
DOCUMENTS: dict[str, Schema] = {
    "RunMemory": thing(
        {
            "run_id": TEXT,
            "session_id": TEXT,
            "status": word(RunStatus),
            "captured_at": TIME,
            "summary": TEXT,
            "request_preview": maybe(TEXT),
            "outcome_preview": maybe(TEXT),
            "artifact_ids": many(TEXT),
            "failure_markers": many(TEXT),
            "scope_keys": many(SCOPE),
            "capture": word(CaptureState),
        },
        "What is remembered of a run.",
    ),
    "MemoryContext": thing(
        {
            "session_id": TEXT,
            "capability_scope": CAPABILITIES,
            "learning_scopes": many(SCOPE),
            "learned_context": thing(
                {
                    "entries": many(
                        thing(
                            {
                                "record_id": TEXT,
                                "revision": WHOLE,
                                "kind": word(Kind),
                                "scope": SCOPE,
                                "content": TEXT,
                                "score": maybe(WHOLE),
                                "meaning": WHOLE,
                            },
                            optional=("meaning",),
                        )
                    ),
                    "truncated": FLAG,
                    "omitted": WHOLE,
                }
            ),
            "recovered_memory": thing(
                {"entries": many(ref("RunMemory")), "truncated": FLAG, "omitted": WHOLE}
            ),
            "visible_skills": many(TEXT),
            "skill_descriptions": texts("What each visible skill is for, by its name."),
            "hidden": many(thing({"record_id": TEXT, "reason": word(Hidden)})),
            "hidden_omitted": WHOLE,
            "semantic": FLAG,
            "remark": maybe(TEXT),
        },
        "What a session is eligible for before packing, and why the rest is hidden.",
    ),
    "SessionSearch": thing(
        {
            "session_id": TEXT,
            "query": maybe(TEXT),
            "results": many(
                thing(
                    {
                        "kind": TEXT,
                        "source_id": TEXT,
                        "title": TEXT,
                        "excerpt": TEXT,
                        "score": WHOLE,
                        "timestamp": TIME,
                        "scope": maybe(SCOPE),
                        "prompt_eligible": FLAG,
                        "matched_fields": many(TEXT),
                    }
                )
            ),
            "truncated": FLAG,
            "remark": maybe(TEXT),
            "unsearched": many(TEXT),
        },
        "Learnings and recovered runs that a session sees, on one scale.",
    ),
    "Budget": thing(
        {
            "model_family": maybe(TEXT),
            "window_tokens": maybe(WHOLE),
            "reserved_tokens": WHOLE,
            "prompt_tokens": WHOLE,
            "input_tokens": WHOLE,
            "factor_percent": WHOLE,
            "room_tokens": maybe(WHOLE),
            "sections": many(
                thing(
                    {
                        "section": word(SectionName),
                        "policy_tokens": WHOLE,
                        "room_tokens": WHOLE,
                        "used_tokens": WHOLE,
                    }
                )
            ),
        },
        "The arithmetic of a prompt.",
    ),
    "Preview": thing(
        {
            "sections": many(ref("Section")),
            "budget": ref("Budget"),
            "omissions": _OMISSIONS,
            "semantic": FLAG,
            "remark": maybe(TEXT),
        },
        "What an input would be given, and how that comes about.",
    ),
    "Receipt": thing(
        {
            "run": ref("Run"),
            "receipt": maybe(
                thing(
                    {
                        "run_id": TEXT,
                        "at": TIME,
                        "renderer": WHOLE,
                        "sections": many(
                            thing(
                                {
                                    "name": word(SectionName),
                                    "tokens": WHOLE,
                                    "truncated": FLAG,
                                    "digest": TEXT,
                                    "entries": many(_RECEIPT_ENTRY),
                                }
                            )
                        ),
                        "omissions": _OMISSIONS,
                        "budget": ref("Budget"),
                    }
                )
            ),
            "sections": many(
                thing({"name": word(SectionName), "text": TEXT, "exact": FLAG, "missing": many(TEXT)})
            ),
        },
        "What a run was given, what was left out and why, and its sections told again.",
    ),
}
