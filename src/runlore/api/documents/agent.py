"""What runs of Runlore's own agent wait for, and what their streams tell."""

from runlore.api.shapes import OBJECT, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.approval import ApprovalKind, ApprovalState
from runlore.ports.operations import PatternOutcome, RunEventKind

_TEXT = thing({"text": TEXT})
_TOLD = tuple(kind for kind in RunEventKind if kind is not RunEventKind.BEAT)

DOCUMENTS: dict[str, Schema] = {
    "Approval": thing(
        {
            "approval_id": TEXT,
            "run_id": TEXT,
            "session_id": TEXT,
            "kind": word(ApprovalKind),
            "state": word(ApprovalState),
            "call_id": TEXT,
            "tool": TEXT,
            "arguments": OBJECT,
            "why": {**TEXT, "description": "Which rule asks."},
            "question": TEXT,
            "answer": TEXT,
            "created_at": TIME,
            "decided_at": maybe(TIME),
            "decided_by": TEXT,
            "revision": WHOLE,
        },
        "A call that a run may make only when a person says so, or a question that it asks one.",
    ),
    "ApprovalPage": page(ref("Approval"), "What runs wait for, the oldest first."),
    "RunEnded": thing(
        {
            "run": ref("Run"),
            "final_output": TEXT,
            "detected": many(
                thing(
                    {
                        "suggestion_id": TEXT,
                        "name": TEXT,
                        "heuristic": TEXT,
                        "description": TEXT,
                        "became": {**TEXT, "enum": [each.value for each in PatternOutcome]},
                        "reason": {**TEXT, "description": "Why it was declined or suppressed."},
                    }
                )
            ),
        },
        "The end of a run: how it stands, what it answered, and what became of the skills it is worth.",
    ),
    "RunEvent": thing(
        {
            "event": {**TEXT, "enum": [kind.value for kind in _TOLD] + ["error"]},
            "data": {**TEXT, "contentMediaType": "application/json"},
            "id": {**TEXT, "pattern": "^[0-9]+$", "description": "Of a `journal`: its number."},
            "retry": {"description": "How long to wait before coming back, in milliseconds."},
        },
        "One event of a run's stream; `RunEventData` tells what its data hold.",
        optional=("id", "retry"),
    ),
    "RunEventData": thing(
        {
            "journal": {**OBJECT, "description": "An event of the journal, as lists answer it."},
            "text": {**_TEXT, "description": "A piece of the model's words; the whole comes as `journal`."},
            "output": thing({"call_id": TEXT, "text": TEXT}, "A piece of what a command prints."),
            "approval": ref("Approval"),
            "remark": {**_TEXT, "description": "Something that a person should know."},
            "end": ref("RunEnded"),
            "error": ref("Problem"),
        },
        "The data of each event of a run's stream, by the event's name.",
    ),
}
