"""Suggested skills, what became of imported runs, and how far transcripts were read."""

from runlore.api.documents.records import RECORD_FIELDS
from runlore.api.shapes import FLAG, TEXT, TIME, WHOLE, Schema, many, maybe, numbers, page, ref, thing, word
from runlore.domain.detectors.match import Heuristic
from runlore.domain.suggestion import SuggestionState

_EVIDENCE = thing(
    {
        "session_id": TEXT,
        "run_id": TEXT,
        "event_numbers": many(WHOLE),
        "at": TIME,
        "project": TEXT,
        "project_name": TEXT,
    },
    "One time that it was seen: the events of a session that show it.",
)
_CARRIED: Schema = {
    "type": "object",
    "additionalProperties": {"anyOf": [TEXT, WHOLE]},
    "description": "What the reader has to know to go on from there.",
}

DOCUMENTS: dict[str, Schema] = {
    "Suggestion": thing(
        {
            "suggestion_id": TEXT,
            "name": TEXT,
            "heuristic": word(Heuristic),
            "description": TEXT,
            "commands": many(TEXT),
            "trigger": thing({"topic": TEXT, "actions": many(TEXT)}),
            "provenance": RECORD_FIELDS["provenance"],
            "body": TEXT,
            "evidence": many(_EVIDENCE),
            "score": WHOLE,
            "score_parts": many(thing({"reason": TEXT, "points": WHOLE})),
            "parameters": many(thing({"name": TEXT, "examples": many(TEXT)})),
            "times": WHOLE,
            "seen_in_sessions": WHOLE,
            "pattern": TEXT,
            "enhanced_by": TEXT,
            "variants": many(TEXT),
            "state": word(SuggestionState),
            "state_actor": TEXT,
            "skipped_at": maybe(TIME),
            "times_skipped": WHOLE,
            "created_at": TIME,
            "updated_at": TIME,
            "revision": WHOLE,
        },
        "A skill that would be worth keeping: its text, the evidence for it, and the reasons of its score.",
    ),
    "SuggestionPage": page(ref("Suggestion"), "Suggested skills, the best first."),
    "Detected": thing(
        {
            "runs": WHOLE,
            "sessions": WHOLE,
            "new": many(ref("Suggestion")),
            "seen_again": WHOLE,
            "candidates": WHOLE,
            "statements": WHOLE,
            "first_statement": TEXT,
            "suppressed": WHOLE,
            "enhancing": WHOLE,
            "paused": FLAG,
        },
        "What the detectors found: new suggestions, and how many were seen again, became candidates for want"
        " of a command, were suppressed, and are being improved by a model.",
    ),
    "ImportedRuns": thing(
        {
            "stored": WHOLE,
            "known": WHOLE,
            "left": WHOLE,
            "sessions": WHOLE,
            "events": WHOLE,
            "reasons": numbers("How many runs were left alone, by reason."),
            "beyond_retention": WHOLE,
        },
        "What became of runs: stored now, there before, or left alone. Those beyond the retention are stored,"
        " and no run memory of them is kept.",
    ),
    "TranscriptPositions": page(
        thing({"source": TEXT, "offset": WHOLE, "line": WHOLE, "fingerprint": TEXT, "carried": _CARRIED}),
        "How far transcripts have been read.",
    ),
}
