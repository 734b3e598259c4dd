"""Sessions, personas, runs and their journals: what agents report, and what can be read of it.

In a private session, or where capture is off, nothing is kept: such answers say `stored=False`.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias

from runlore.domain import limits
from runlore.domain.journal import JournalEvent
from runlore.domain.json_form import JsonForm
from runlore.domain.projection import Section
from runlore.domain.record import JsonObject, Record
from runlore.domain.run import Artifact, ArtifactId, Run, RunId, RunStatus
from runlore.domain.session import Persona, PersonaId, Session, SessionId


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

    session_id: SessionId | None = None
    title: str = ""
    persona_id: PersonaId | None = None
    project_ids: tuple[str, ...] = ()
    agent: str | None = None
    private: bool = False
    working_folder: str | None = None
    models: tuple[str, ...] = ()
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionChange:
    """What changes of a session; what is left out stays. `persona_id` None unbinds, `ended` ends its runs."""

    session_id: SessionId
    title: str | None = None
    persona_id: PersonaId | UnsetType | None = UNSET
    project_ids: tuple[str, ...] | None = None
    capability_scope: JsonObject | None = None
    ended: bool | None = None
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """A page of a list, newest first."""

    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


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
    capability_scope: JsonObject = field(default_factory=dict)
    capture: bool = True
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PersonaPage:
    """Personas and the cursor of the next page."""

    items: tuple[Persona, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewRun:
    """A run of another agent, to open. With `context` the answer holds the sections that its prompt gets."""

    session_id: SessionId
    request: str
    run_id: RunId | None = None
    agent: str | None = None
    model: str | None = None
    context: bool = False
    prompt_tokens: int | None = None
    metadata: JsonObject = field(default_factory=dict)
    idempotency_key: str | None = None


@JsonForm(flat=("run",), omit_default=("sections",), first=("run_id", "session_id", "status", "request"))
@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run with the text of its input, and the sections where they were asked for.

    In lists `request` is the beginning of the text, at most `limits.LISTED_CHARS_MAX` characters.
    """

    run: Run
    request: str
    stored: bool = True
    sections: tuple[Section, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class RunsRequest:
    """A page of runs, newest first: of one session, or of all."""

    session_id: SessionId | None = None
    statuses: frozenset[RunStatus] = frozenset()
    limit: int = limits.LIST_LIMIT_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """Runs and the cursor of the next page."""

    items: tuple[RunView, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewEvents:
    """Events to append, as the agent reports them. `first_number` makes the call repeatable."""

    run_id: RunId
    events: tuple[JsonObject, ...]
    first_number: int | None = None


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
    text: str
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewScratch:
    """A note for the run itself: a plan, a step, a finding."""

    run_id: RunId
    text: str
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewArtifact:
    """A text that the run leaves behind."""

    run_id: RunId
    name: str
    text: str
    artifact_id: ArtifactId | None = None
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
    status: RunStatus
    error: str = ""
    artifact_ids: tuple[ArtifactId, ...] = ()
    summarise_scratch: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class JournalRequest:
    """A page of a journal, oldest first: of a run, or of a whole session, or of it since its checkpoint."""

    run_id: RunId | None = None
    session_id: SessionId | None = None
    since_checkpoint: bool = False
    limit: int = limits.JOURNAL_PAGE_DEFAULT
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class JournalPage:
    """Events and the cursor of the next page."""

    items: tuple[JournalEvent, ...]
    next_cursor: str | None = None


class SessionOperations(Protocol):
    """Sessions, personas, and the runs that agents report."""

    def create_session(self, request: NewSession) -> Session:
        """Make a session; the one that is there for the same id and the same request."""
        ...

    def change_session(self, change: SessionChange) -> Session:
        """Bind, link, name, restrict or end a session."""
        ...

    def get_session(self, session_id: SessionId) -> Session:
        """One session."""
        ...

    def list_sessions(self, request: PageRequest) -> SessionPage:
        """Sessions, the newest first."""
        ...

    def put_persona(self, change: PersonaChange) -> Persona:
        """Make or change a persona."""
        ...

    def get_persona(self, persona_id: PersonaId) -> Persona:
        """One persona."""
        ...

    def list_personas(self, request: PageRequest) -> PersonaPage:
        """Personas, the latest changed first."""
        ...

    def open_run(self, request: NewRun) -> RunView:
        """Open a run that another agent works, and give it its context where asked."""
        ...

    def get_run(self, run_id: RunId) -> RunView:
        """One run."""
        ...

    def list_runs(self, request: RunsRequest) -> RunPage:
        """Runs, the newest first, each with the beginning of its request."""
        ...

    def append_events(self, request: NewEvents) -> Appended:
        """Append to a run's journal, durable when answered."""
        ...

    def add_checkpoint(self, request: NewCheckpoint) -> Appended:
        """Write a checkpoint; history before it stays readable."""
        ...

    def add_scratch(self, request: NewScratch) -> Record | None:
        """A working record of the run; None where nothing is stored."""
        ...

    def list_scratch(self, run_id: RunId) -> tuple[Record, ...]:
        """A run's working records, oldest first."""
        ...

    def add_artifact(self, request: NewArtifact) -> Artifact | None:
        """Keep a text of the run; None where nothing is stored."""
        ...

    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        """One artifact."""
        ...

    def list_artifacts(self, run_id: RunId) -> ArtifactPage:
        """A run's artifacts, oldest first, each with the beginning of its text."""
        ...

    def finish_run(self, request: RunEnd) -> RunView:
        """End an external run. Its memory is there when this is answered."""
        ...

    def journal(self, request: JournalRequest) -> JournalPage:
        """What happened, event by event."""
        ...
