"""What waits for review, and what became of an operator's acts."""

from runlore.api.documents.records import RECORD_FIELDS, SCOPE
from runlore.api.shapes import FLAG, OBJECT, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.curation import Basis
from runlore.domain.record import Kind, Sensitivity

_OBSTACLE_FIELDS: dict[str, Schema] = {"code": TEXT, "detail": TEXT, "hint": TEXT}

DOCUMENTS: dict[str, Schema] = {
    "ReviewPage": page(
        thing(
            {
                **RECORD_FIELDS,
                "would_supersede": many(ref("Record")),
                "would_duplicate": maybe(TEXT),
                "would_duplicate_record": maybe(ref("Record")),
                "obstacles": many(thing(_OBSTACLE_FIELDS)),
                "rivals": many(TEXT),
                "attention": many(TEXT),
                "why": many(TEXT),
            }
        ),
        "What waits for review, each with what its confirmation would do; before it, learnings that are"
        " active and that somebody should look at again, each with why (`attention`). `folded` is how many"
        " wait folded under these.",
        folded=WHOLE,
    ),
    "Rollback": thing(
        {
            **RECORD_FIELDS,
            "restorable": many(ref("Record")),
            "restored": many(ref("Record")),
            "not_restorable": many(thing({"record_id": TEXT, **_OBSTACLE_FIELDS, "record": ref("Record")})),
        },
        "The tombstone, with what can come back, what did, and what cannot.",
    ),
    "Merge": thing(
        {
            "scope": SCOPE,
            "kind": word(Kind),
            "sources": many(TEXT),
            "variants": many(TEXT),
            "summary": TEXT,
            "metadata": OBJECT,
            "confidence": WHOLE,
            "provenance": RECORD_FIELDS["provenance"],
            "sensitivity": word(Sensitivity),
            "expires_at": maybe(TIME),
            "digest": TEXT,
            "basis": word(Basis),
            "shared": many(TEXT),
            "status": TEXT,
            "source_records": many(ref("Record")),
            "proposal_id": maybe(TEXT),
            "proposal": maybe(ref("Record")),
        },
        "A possible merge, where it stands, and its sources.",
    ),
    "Merges": page(ref("Merge"), "Possible merges.", count=WHOLE, records=many(ref("Record"))),
    "Forgotten": thing(
        {
            "dry_run": FLAG,
            "records": many(ref("Record")),
            "forgotten_at": maybe(TIME),
            "exports_left": many(TEXT),
            "backups_left": many(TEXT),
            "sessions": many(TEXT),
            "runs": many(TEXT),
            "events": WHOLE,
            "artifacts": WHOLE,
            "requests": WHOLE,
        },
        "What was, or would be, erased; and files that may still hold a copy.",
    ),
    "Adoption": thing(
        {"finding": ref("Record"), "procedure": ref("Record"), "episode": ref("Record")},
        "A finding, the procedure that it became, and the episode that says so.",
    ),
    "RadarLog": thing(
        {
            "adoptions": many(ref("Record")),
            "episodes": many(ref("Record")),
            "waiting": many(ref("Record")),
            "markdown": TEXT,
        },
        "The adoption registry and the promotion log.",
    ),
}
