"""What a filter revoked, what a policy would do, and what capture and jobs came to."""

from runlore.api.shapes import FLAG, TEXT, WHOLE, Schema, many, page, ref, thing, word
from runlore.domain.learning_policy import Action

_OUTLOOK = thing(
    {"action": word(Action), "rule": TEXT, "reason": TEXT, "judged": FLAG},
    "What one policy makes of one candidate; the judge has the last word where `judged`.",
)

DOCUMENTS: dict[str, Schema] = {
    "Revoked": page(ref("Record"), "What was, or would be, revoked.", dry_run=FLAG),
    "PolicyTrial": page(
        thing({"record": ref("Record"), "present": _OUTLOOK, "tried": _OUTLOOK, "differs": FLAG}),
        "What a policy would do, beside what the present one does: what waits first, then what was"
        " decided lately.",
        present_revision=WHOLE,
    ),
    "Backfill": thing(
        {"dry_run": FLAG, "runs": many(TEXT), "more": FLAG, "beyond_retention": WHOLE},
        "The runs that are, or would be, captured by jobs.",
    ),
    "DeletedRunMemories": thing(
        {"dry_run": FLAG, "memories": WHOLE, "sessions": WHOLE, "more": FLAG},
        "How many memories of how many sessions are, or would be, deleted for good.",
    ),
    "Work": thing(
        {"done": WHOLE, "waiting": WHOLE, "dead": WHOLE},
        "How many jobs were done now, wait for later, and have failed for good.",
    ),
}
