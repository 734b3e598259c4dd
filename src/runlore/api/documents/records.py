"""Records, their history, what a search found, and the table of moves."""

from runlore.api.shapes import FLAG, OBJECT, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.record import (
    Kind,
    Layer,
    Move,
    Origin,
    PolicyDecision,
    Proposal,
    PublishTier,
    Sensitivity,
    State,
    StateReason,
    VerificationStatus,
)
from runlore.domain.scope import ScopeKind

SCOPE = ref("Scope")
RECORD_FIELDS: dict[str, Schema] = {
    "record_id": TEXT,
    "layer": word(Layer),
    "kind": word(Kind),
    "state": word(State),
    "state_reason": maybe(word(StateReason)),
    "scope": SCOPE,
    "summary": TEXT,
    "metadata": OBJECT,
    "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
    "sensitivity": word(Sensitivity),
    "origin": word(Origin),
    "created_by": TEXT,
    "source": thing(
        {
            "session_id": maybe(TEXT),
            "run_id": maybe(TEXT),
            "agent": maybe(TEXT),
            "record_ids": many(TEXT),
            "imported_from": maybe(TEXT),
        }
    ),
    "evidence_refs": many(
        thing(
            {
                "run_id": maybe(TEXT),
                "artifact_id": maybe(TEXT),
                "event_number": maybe(WHOLE),
                "note": maybe(TEXT),
            }
        )
    ),
    "provenance": thing({"untrusted": FLAG, "needs_review": FLAG, "sources": many(TEXT)}),
    "publish_tier": maybe(word(PublishTier)),
    "verification_status": word(VerificationStatus),
    "policy_decision": maybe(word(PolicyDecision)),
    "policy_actor": maybe(TEXT),
    "automation_review": maybe(OBJECT),
    "semantic_key": TEXT,
    "proposal": maybe(word(Proposal)),
    "supersedes": maybe(TEXT),
    "superseded_by": maybe(TEXT),
    "duplicate_of": maybe(TEXT),
    "both_hold": many(TEXT),
    "feedback": thing({"wrong": WHOLE, "helped": WHOLE}),
    "created_at": TIME,
    "published_at": maybe(TIME),
    "expires_at": maybe(TIME),
    "revalidate_at": maybe(TIME),
    "revision": WHOLE,
}
_HIT_FIELDS: dict[str, Schema] = {
    **RECORD_FIELDS,
    "score": WHOLE,
    "score_parts": thing(
        {
            "exact": WHOLE,
            "summary": WHOLE,
            "metadata": WHOLE,
            "state": WHOLE,
            "recency": WHOLE,
            "meaning": WHOLE,
        },
        optional=("meaning",),
    ),
}

DOCUMENTS: dict[str, Schema] = {
    "Scope": thing({"kind": word(ScopeKind), "id": TEXT}, "Where a record belongs."),
    "Record": thing(RECORD_FIELDS, "One unit of memory."),
    "RecordPage": page(ref("Record"), "Records."),
    "Hit": thing(_HIT_FIELDS, "A record that matches, with its score and the score's parts."),
    "SearchResults": page(
        ref("Hit"),
        "The best matches first. Where there are none, `unsearched` says what was not searched.",
        query=TEXT,
        semantic=FLAG,
        remark=maybe(TEXT),
        unsearched=many(TEXT),
    ),
    "GoalContext": thing(
        {
            "goal": TEXT,
            "profile": many(ref("Hit")),
            "procedural": many(ref("Hit")),
            "semantic": many(ref("Hit")),
            "by_meaning": FLAG,
            "remark": maybe(TEXT),
        },
        "What planning a task should know. Retrieval grants no permission.",
    ),
    "RecordEvents": page(
        thing(
            {
                "record_id": TEXT,
                "revision": WHOLE,
                "move": word(Move),
                "from_state": maybe(word(State)),
                "to_state": word(State),
                "actor": TEXT,
                "reason": TEXT,
                "at": TIME,
                "changes": OBJECT,
            }
        ),
        "Everything that happened to a record, oldest first.",
    ),
    "Moves": page(
        thing(
            {
                "move": word(Move),
                "from": maybe(word(State)),
                "to": word(State),
                "layers": many(word(Layer)),
                "state_reason": maybe(word(StateReason)),
                "guard": TEXT,
            }
        ),
        "The table of legal moves.",
    ),
}
