"""Sessions, personas, runs and their journals: what agents report, and what can be read of it.

In a private session, or where capture is off, nothing is kept: such answers say `stored=False`.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Annotated, Final, Literal, Protocol, TypeAlias

from runlore.domain import limits
from runlore.domain.capability import CapabilityScope
from runlore.domain.json_form import About, JsonForm, Shape
from runlore.domain.lazy import dataclass
from runlore.domain.project import FolderBinding, FolderId
from runlore.domain.prompts.projection import Section
from runlore.domain.record import JsonObject, Record
from runlore.domain.run import TERMINAL, Artifact, ArtifactId, Run, RunId, RunStatus
from runlore.domain.runs.journal import DERIVED_KEYS, JournalEvent
from runlore.domain.session import Persona, PersonaId, Session, SessionId
from runlore.domain.worth.outcome import RunOutcome, SaidOutcome
from runlore.ports.operations.declaration import (
    AGENTS,
    EVERYBODY,
    OPERATORS,
    OVERSEERS,
    Created,
    Operation,
    RequestForm,
    Route,
)
from runlore.ports.operations.field_types import Cursor, PageLimit, PromptTokens, Revision


def _event_schema(kind: str, needed: Mapping[str, str], **optional: str) -> Mapping[str, object]:
    """The schema of one type of event that an agent reports."""
    fields: dict[str, dict[str, object]] = {
        name: {"type": type_} | ({"additionalProperties": True} if type_ == "object" else {})
        for name, type_ in {**needed, **optional}.items()
    }
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **fields},
        "required": ["type", *needed],
        "title": kind,
    }


_EVENT = {
    "type": "object",
    "oneOf": [
        _event_schema("assistant_message", {"text": "string"}),
        _event_schema("tool_call", {"call_id": "string", "name": "string", "arguments": "object"}),
        _event_schema(
            "tool_result",
            {"call_id": "string", "output": "string"},
            exit_code="integer",
            is_error="boolean",
            source="string",
        ),
        _event_schema("usage", {}, input_tokens="integer", output_tokens="integer", model="string"),
    ],
}


class Unset(Enum):
    """What a change leaves out, where None is a value of its own."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
UnsetType: TypeAlias = Literal[Unset.UNSET]


@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A session to create. A given id makes the call repeatable.

    `models` are those that Runlore's own agent is to work with in it, an empty name the configured one: where
    one of them cannot be asked, or the folder not be worked in, no session is made.
    """

    session_id: Annotated[SessionId | None, About("Its id, if you have one; makes the call repeatable.")] = (
        None
    )
    title: Annotated[str, About("What people call it.")] = ""
    persona_id: Annotated[PersonaId | None, About("The persona that it is bound to.")] = None
    project_ids: Annotated[tuple[str, ...], About("The projects that it is linked to.")] = ()
    agent: Annotated[str | None, About("The program that works in it.")] = None
    private: Annotated[bool, About("Store nothing of it beyond its existence.")] = False
    working_folder: Annotated[str | None, About("Where its agent works.")] = None
    models: Annotated[
        tuple[str, ...],
        About(
            "Models that Runlore's own agent is to work with in it, an empty name for the configured one; no"
            " session is made where one of them cannot be asked."
        ),
    ] = ()
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionChange:
    """What changes of a session; what is left out stays. `persona_id` None unbinds, `ended` ends its runs."""

    session_id: SessionId
    title: str | None = None
    persona_id: Annotated[PersonaId | UnsetType | None, About("Bind to another persona; null unbinds.")] = (
        UNSET
    )
    project_ids: Annotated[tuple[str, ...] | None, About("Link to these projects and no others.")] = None
    capability_scope: Annotated[JsonObject | None, Shape(CapabilityScope)] = None
    ended: Annotated[bool | None, About("True ends the session and its runs.")] = None
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """A page of a list, newest first."""

    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class SessionPage:
    """Sessions and the cursor of the next page."""

    items: tuple[Session, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class PersonaChange:
    """A persona as it shall be; what is left out takes its default."""

    persona_id: PersonaId
    name: str = ""
    capability_scope: Annotated[JsonObject, Shape(CapabilityScope)] = field(default_factory=dict)
    capture: Annotated[bool, About("False stores nothing of the sessions bound to it.")] = True
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class FolderChange:
    """What a working folder, and all below it, is bound to; what is left out is not settled."""

    folder_id: FolderId
    project: Annotated[str | None, About("The project that it belongs to, whatever its own files say.")] = (
        None
    )
    capture: Annotated[bool | None, About("False keeps nothing of what happens there.")] = None
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PersonaPage:
    """Personas and the cursor of the next page."""

    items: tuple[Persona, ...]
    next_cursor: str | None = None


@RequestForm(ignored=DERIVED_KEYS)
@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run of another agent, to open. With `context` the answer holds the sections that its prompt gets."""

    session_id: SessionId
    request: Annotated[str, About("The input, as the user gave it.", most=limits.REQUEST_CHARS_MAX)]
    run_id: Annotated[RunId | None, About("Its id, if you have one; makes the call repeatable.")] = None
    agent: Annotated[str | None, About("The program that works it.")] = None
    model: Annotated[str | None, About("The model, for the size of its context window.")] = None
    context: Annotated[bool, About("Answer with the sections that the prompt gets.")] = False
    prompt_tokens: PromptTokens = None
    metadata: Annotated[JsonObject, About("Kept with the input.")] = field(default_factory=dict)
    idempotency_key: str | None = None


@JsonForm(
    document="Run",
    flat=("run",),
    omit_default=("sections",),
    first=("run_id", "session_id", "status", "request"),
)
@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run with the text of its input, and the sections where they were asked for.

    In lists `request` is the beginning of the text, at most `limits.LISTED_CHARS_MAX` characters. `outcome`
    stands where one run was asked for by its id.
    """

    run: Run
    request: str
    stored: bool = True
    sections: tuple[Section, ...] | None = None
    outcome: RunOutcome | None = None


@JsonForm(rename={"statuses": "status"})
@dataclass(frozen=True, kw_only=True)
class RunsRequest:
    """A page of runs, newest first: of one session, or of all."""

    session_id: Annotated[SessionId | None, About("Only runs of this session.")] = None
    given: Annotated[
        str | None, About("Only runs whose prompt was given this record, run or skill, by its id.")
    ] = None
    statuses: Annotated[frozenset[RunStatus], About("Only this status. Repeatable.")] = frozenset()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """Runs and the cursor of the next page."""

    items: tuple[RunView, ...]
    next_cursor: str | None = None


@RequestForm(ignored=DERIVED_KEYS)
@dataclass(frozen=True, kw_only=True)
class NewEvents:
    """Events to append, as the agent reports them. `first_number` makes the call repeatable."""

    run_id: RunId
    events: Annotated[
        tuple[Annotated[JsonObject, Shape(_EVENT)], ...],
        About("In the order in which they happened.", least=1, most=limits.EVENTS_PER_CALL_MAX),
    ]
    first_number: Annotated[
        int | None,
        About("The number of the first; makes the call repeatable.", least=0, most=limits.NUMBER_MAX),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Appended:
    """The numbers that the events got; none where nothing was stored."""

    first_number: int | None
    last_number: int | None
    stored: bool = True


@dataclass(frozen=True, kw_only=True)
class NewCheckpoint:
    """A checkpoint of a long session: what its history so far comes to, in the agent's words."""

    session_id: SessionId
    text: Annotated[str, About("The text.")]
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewScratch:
    """A note for the run itself: a plan, a step, a finding."""

    run_id: RunId
    text: Annotated[str, About("The text.")]
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewArtifact:
    """A text that the run leaves behind."""

    run_id: RunId
    name: Annotated[str, About("What it is, such as `report.md`.")]
    text: Annotated[str, About("The text.")]
    artifact_id: Annotated[
        ArtifactId | None, About("Its id, if you have one; makes the call repeatable.")
    ] = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class ArtifactPage:
    """Artifacts and the cursor of the next page."""

    items: tuple[Artifact, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """How an external run ended. With `summarise_scratch` its notes become one episode before they go."""

    run_id: RunId
    status: Annotated[RunStatus, About(f"How it ended: {', '.join(sorted(TERMINAL))}.")]
    error: Annotated[str, About("What went wrong.", most=limits.ERROR_CHARS_MAX)] = ""
    artifact_ids: Annotated[tuple[ArtifactId, ...], About("The artifacts that are its result.")] = ()
    summarise_scratch: Annotated[bool, About("Keep its notes as one episode.")] = False
    outcome: Annotated[SaidOutcome | None, About("How it went, if somebody can say: good or bad.")] = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class JournalRequest:
    """A page of a journal, oldest first: of a run, or of a whole session, or of it since its checkpoint."""

    run_id: RunId | None = None
    session_id: SessionId | None = None
    since_checkpoint: Annotated[bool, About("Begin at the latest checkpoint.")] = False
    limit: PageLimit = limits.JOURNAL_PAGE_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class JournalPage:
    """Events and the cursor of the next page."""

    items: tuple[JournalEvent, ...]
    next_cursor: str | None = None


class SessionOperations(Protocol):
    """Sessions, personas, and the runs that agents report."""

    @Operation(
        "POST /v1/sessions",
        AGENTS,
        tagged=True,
        created=Created.ALWAYS,
        needs_body=True,
        location="/v1/sessions/{session_id}",
    )
    def create_session(self, request: NewSession) -> Session:
        """Make a session; the one that is there for the same id and the same request."""

    @Operation("PATCH /v1/sessions/{session_id}", AGENTS, tagged=True, needs_body=True)
    def change_session(self, change: SessionChange) -> Session:
        """Bind, link, name, restrict or end a session. What is left out stays; `persona_id: null` unbinds."""

    @Operation("GET /v1/sessions/{session_id}", EVERYBODY, tagged=True, moves_on=True)
    def get_session(self, session_id: SessionId) -> Session:
        """One session."""

    @Operation("GET /v1/sessions", EVERYBODY)
    def list_sessions(self, request: PageRequest) -> SessionPage:
        """Sessions, the newest first."""

    @Operation("PUT /v1/folders/{folder_id}", OPERATORS, unlimited=True, tagged=True, needs_body=True)
    def put_folder(self, change: FolderChange) -> FolderBinding:
        """Bind a working folder to a project, and say whether what happens there is kept."""

    @Operation("GET /v1/folders/{folder_id}", OVERSEERS, unlimited=True, tagged=True)
    def get_folder(self, folder_id: FolderId) -> FolderBinding:
        """What a working folder is bound to."""

    @Operation("PUT /v1/personas/{persona_id}", OPERATORS, unlimited=True, tagged=True, needs_body=True)
    def put_persona(self, change: PersonaChange) -> Persona:
        """Make or change a persona; what is left out takes its default."""

    @Operation("GET /v1/personas/{persona_id}", OVERSEERS, tagged=True)
    def get_persona(self, persona_id: PersonaId) -> Persona:
        """One persona."""

    @Operation("GET /v1/personas", OVERSEERS)
    def list_personas(self, request: PageRequest) -> PersonaPage:
        """Personas, the latest changed first."""

    @Operation(
        "POST /v1/sessions/{session_id}/runs",
        AGENTS,
        tagged=True,
        created=Created.IF_STORED,
        location="/v1/runs/{run_id}",
        area="runs",
        large=True,
    )
    def open_run(self, request: NewRun) -> RunView:
        """Open a run that another agent works, and give it its context where asked."""

    @Operation("GET /v1/runs/{run_id}", EVERYBODY, tagged=True, moves_on=True, area="runs")
    def get_run(self, run_id: RunId) -> RunView:
        """One run."""

    @Operation(
        "GET /v1/runs",
        EVERYBODY,
        area="runs",
        also=(
            Route(
                "GET /v1/sessions/{session_id}/runs",
                name="list_session_runs",
                text="A session's runs, the newest first.",
            ),
        ),
    )
    def list_runs(self, request: RunsRequest) -> RunPage:
        """Runs, the newest first."""

    @Operation("POST /v1/runs/{run_id}/events", AGENTS, created=Created.IF_STORED, area="runs", large=True)
    def append_events(self, request: NewEvents) -> Appended:
        """Append to a run's journal, durable when answered. `first_number` makes the call repeatable."""

    @Operation("POST /v1/sessions/{session_id}/checkpoints", AGENTS, created=Created.IF_STORED)
    def add_checkpoint(self, request: NewCheckpoint) -> Appended:
        """Write a checkpoint; history before it stays readable."""

    @Operation("POST /v1/runs/{run_id}/scratch", AGENTS, created=Created.IF_STORED, area="runs")
    def add_scratch(self, request: NewScratch) -> Record | None:
        """A note for the run itself. It is seen inside the run alone, and goes with it."""

    @Operation("GET /v1/runs/{run_id}/scratch", EVERYBODY, area="runs")
    def list_scratch(self, run_id: RunId) -> tuple[Record, ...]:
        """A run's notes, oldest first."""

    @Operation(
        "POST /v1/runs/{run_id}/artifacts",
        AGENTS,
        created=Created.IF_STORED,
        location="/v1/artifacts/{artifact_id}",
        area="runs",
        large=True,
    )
    def add_artifact(self, request: NewArtifact) -> Artifact | None:
        """Keep a text of the run."""

    @Operation("GET /v1/artifacts/{artifact_id}", EVERYBODY, area="runs")
    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        """One artifact."""

    @Operation("GET /v1/runs/{run_id}/artifacts", EVERYBODY, area="runs")
    def list_artifacts(self, run_id: RunId) -> ArtifactPage:
        """A run's artifacts, oldest first."""

    @Operation("POST /v1/runs/{run_id}/finish", AGENTS, tagged=True, area="runs")
    def finish_run(self, request: RunEnd) -> RunView:
        """End an external run. Its memory is there when this is answered."""

    @Operation(
        Route("GET /v1/sessions/{session_id}/journal", name="session_journal", without=frozenset({"run_id"})),
        EVERYBODY,
        also=(
            Route(
                "GET /v1/runs/{run_id}/journal",
                name="run_journal",
                area="runs",
                text="What happened in a run, event by event.",
                without=frozenset({"session_id", "since_checkpoint"}),
            ),
        ),
    )
    def journal(self, request: JournalRequest) -> JournalPage:
        """What happened in a session, event by event."""
