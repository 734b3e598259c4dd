"""Policies, tokens, jobs, exports, health, and the problem document."""

from runlore.api.documents.records import SCOPE
from runlore.api.shapes import (
    FLAG,
    OBJECT,
    TEXT,
    TIME,
    WHOLE,
    Schema,
    many,
    maybe,
    numbers,
    page,
    ref,
    thing,
    word,
)
from runlore.domain.access import Role
from runlore.domain.job import JobKind, JobState
from runlore.domain.policy import PolicyName

_TOKEN_FIELDS: dict[str, Schema] = {
    "token_id": TEXT,
    "name": TEXT,
    "role": word(Role),
    "scopes": maybe(many(SCOPE)),
    "created_at": TIME,
    "created_by": TEXT,
    "revoked_at": maybe(TIME),
}
DOCUMENTS: dict[str, Schema] = {
    "Policy": thing(
        {
            "name": word(PolicyName),
            "policy": OBJECT,
            "revision": WHOLE,
            "updated_at": maybe(TIME),
            "actor": TEXT,
        },
        "A policy as it is or was in force; revision 0 are the defaults.",
    ),
    "PolicyHistory": page(ref("Policy")),
    "Token": thing(_TOKEN_FIELDS, "A token without its secret."),
    "MadeToken": thing({**_TOKEN_FIELDS, "secret": TEXT}, "A new token; its secret is told this once."),
    "TokenList": page(ref("Token")),
    "Capture": thing(
        {"paused": FLAG, "since": maybe(TIME), "by": maybe(TEXT)}, "Whether anything is captured."
    ),
    "Job": thing(
        {
            "job_id": TEXT,
            "kind": word(JobKind),
            "subject": TEXT,
            "state": word(JobState),
            "attempts": WHOLE,
            "due_at": TIME,
            "lease_until": maybe(TIME),
            "holder": maybe(TEXT),
            "fence": WHOLE,
            "error": TEXT,
            "created_at": TIME,
        },
        "A piece of background work.",
    ),
    "JobList": page(ref("Job")),
    "Export": thing({"path": TEXT, "count": WHOLE, "export_version": WHOLE}, "Where an export lies."),
    "Import": thing(
        {"mode": TEXT, "count": WHOLE, "skipped": numbers(), "records": many(TEXT)}, "How an import landed."
    ),
    "Backup": thing({"path": TEXT, "bytes": WHOLE, "counts": numbers()}, "Where a backup lies."),
    "Diagnosis": thing(
        {
            "healthy": FLAG,
            "findings": many(thing({"check": TEXT, "outcome": TEXT, "detail": TEXT, "hint": TEXT})),
        },
        "What was checked, and what was found.",
    ),
    "Status": {
        **thing(
            {
                "version": TEXT,
                "state_root": TEXT,
                "store": OBJECT,
                "records": {"type": "object", "additionalProperties": numbers()},
                "waiting": WHOLE,
            },
            "What this Runlore is, holds and does.",
        ),
        "additionalProperties": True,
    },
    "Alive": thing({"status": {"const": "ok"}}, "The process answers."),
    "Readiness": thing({"ready": FLAG, "reasons": many(TEXT)}, "Whether it can do its work."),
    "Problem": thing(
        {
            "type": TEXT,
            "title": TEXT,
            "status": WHOLE,
            "code": {"type": "string", "description": "Stable, for programs."},
            "detail": {"type": "string", "description": "What and why, in a sentence."},
            "hint": {"type": "string", "description": "What to do."},
        },
        "What went wrong (RFC 9457).",
    ),
}
