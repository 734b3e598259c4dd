"""Sessions, personas, runs, journals and artifacts."""

from runlore.api.shapes import FLAG, OBJECT, TEXT, TIME, WHOLE, Schema, many, maybe, page, ref, thing, word
from runlore.domain.journal import EventType
from runlore.domain.projection import SectionName
from runlore.domain.run import MemoryState, RunStatus

CAPABILITIES = thing(
    {name: many(TEXT) for name in ("allow_tools", "deny_tools", "allow_skills", "deny_skills")},
    "Which tools and skills are left to an agent; an absent list allows all.",
    optional=("allow_tools", "deny_tools", "allow_skills", "deny_skills"),
)
_NOT_STORED = thing({"stored": {"const": False}}, "Nothing is stored of this session.")

DOCUMENTS: dict[str, Schema] = {
    "Session": thing(
        {
            "session_id": TEXT,
            "title": TEXT,
            "persona_id": maybe(TEXT),
            "project_ids": many(TEXT),
            "agent": maybe(TEXT),
            "private": FLAG,
            "working_folder": maybe(TEXT),
            "capability_scope": CAPABILITIES,
            "created_by": TEXT,
            "created_at": TIME,
            "active_at": TIME,
            "ended_at": maybe(TIME),
            "forgotten_at": maybe(TIME),
            "next_number": WHOLE,
            "checkpoint_number": maybe(WHOLE),
            "revision": WHOLE,
            "stored": FLAG,
        },
        "One conversation with an agent.",
    ),
    "SessionPage": page(ref("Session")),
    "Persona": thing(
        {
            "persona_id": TEXT,
            "name": TEXT,
            "capability_scope": CAPABILITIES,
            "capture": FLAG,
            "updated_at": TIME,
            "revision": WHOLE,
        },
        "Who an agent is when it speaks.",
    ),
    "PersonaPage": page(ref("Persona")),
    "Section": thing(
        {
            "name": word(SectionName),
            "text": TEXT,
            "tokens": WHOLE,
            "truncated": FLAG,
            "entries": many(
                thing(
                    {
                        "source_id": TEXT,
                        "revision": maybe(WHOLE),
                        "score": maybe(WHOLE),
                        "tokens": WHOLE,
                        "text": TEXT,
                    }
                )
            ),
        },
        "One rendered section, exactly as it goes into the prompt.",
    ),
    "Run": thing(
        {
            "run_id": TEXT,
            "session_id": TEXT,
            "status": word(RunStatus),
            "request": TEXT,
            "agent": maybe(TEXT),
            "model": maybe(TEXT),
            "executor": maybe(TEXT),
            "imported": FLAG,
            "input_number": WHOLE,
            "created_by": TEXT,
            "opened_at": TIME,
            "active_at": TIME,
            "finished_at": maybe(TIME),
            "error": TEXT,
            "reason": TEXT,
            "artifact_ids": many(TEXT),
            "memory": word(MemoryState),
            "revision": WHOLE,
            "stored": FLAG,
            "sections": many(ref("Section")),
        },
        "One input of a session, worked through to a terminal status. A list tells at most 480 characters of"
        " its request.",
        optional=("sections",),
    ),
    "RunPage": page(ref("Run")),
    "Appended": thing(
        {"first_number": maybe(WHOLE), "last_number": maybe(WHOLE), "stored": FLAG},
        "The numbers that the events got.",
    ),
    "NotStored": _NOT_STORED,
    "Artifact": thing(
        {
            "artifact_id": TEXT,
            "run_id": TEXT,
            "session_id": TEXT,
            "name": TEXT,
            "text": TEXT,
            "whole_bytes": maybe(WHOLE),
            "created_at": TIME,
        },
        "A text that a run left behind. A list tells at most 480 characters of it, and the bytes of all.",
    ),
    "ArtifactPage": page(ref("Artifact")),
    "JournalPage": page(
        thing(
            {
                "session_id": TEXT,
                "number": WHOLE,
                "run_id": maybe(TEXT),
                "type": word(EventType),
                "at": TIME,
                "body": OBJECT,
            }
        ),
        "What happened, event by event, oldest first.",
    ),
}
