"""The bodies and query parameters of the calls about skills: runs of other agents, and suggestions."""

from typing import Annotated

from pydantic import Field

from runlore.api import bounds
from runlore.api.bodies import Body, Count, JsonBody, Moment, Word, moment_of
from runlore.api.queries import PageQuery
from runlore.domain import limits
from runlore.domain.detectors.match import Heuristic
from runlore.domain.journal import REPORTED, Entry, EventType
from runlore.domain.run import TERMINAL, RunStatus
from runlore.domain.suggestion import SuggestionState
from runlore.domain.transcript import Position, ToldEvent, ToldRun, TranscriptAgent
from runlore.ports import operations as ops

_TOLD_TYPES = ", ".join(sorted(REPORTED))


class PositionBody(Body):
    """How far a source has been read."""

    offset: Count = 0
    line: Count = 0
    fingerprint: str = Field(
        default="",
        description="Of the beginning of what was read.",
        json_schema_extra=bounds.text(limits.ID_CHARS_MAX),
    )
    carried: dict[str, str | int] = Field(
        default={},
        description="What the reader has to know to go on from there.",
        json_schema_extra=bounds.names(limits.POSITION_CARRIED_MAX),
    )

    def position(self) -> Position:
        """The body as the operations take it."""
        return Position(
            offset=self.offset, line=self.line, fingerprint=self.fingerprint, carried=self.carried
        )


class ToldEventBody(Body):
    """One event of a transcript, in the shape of a journal's."""

    type: Annotated[EventType, Word] = Field(description=f"`input` for the first; then {_TOLD_TYPES}.")
    body: JsonBody = Field(description="What it says.")
    at: Moment | None = None

    def event(self) -> ToldEvent:
        """The body as the operations take it."""
        return ToldEvent(entry=Entry(type=self.type, body=self.body), at=moment_of(self.at))


class ToldRunBody(Body):
    """One input of a user to another agent, and all that followed it."""

    agent: Annotated[TranscriptAgent, Word] = Field(description="The agent that wrote the transcript.")
    source_session: str = Field(
        description="The session as that agent calls it.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    ordinal: Count = Field(description="The place of the run in its session.")
    first_number: Count = Field(description="The number that its input has in the session's journal.")
    events: list[ToldEventBody] = Field(
        description="The input, then what happened, in that order.",
        json_schema_extra=bounds.items(1, limits.TOLD_RUN_EVENTS_MAX),
    )
    status: Annotated[RunStatus, Word] = Field(
        default=RunStatus.COMPLETED, description=f"How it ended: {', '.join(sorted(TERMINAL))}."
    )
    folder: str = Field(
        default="",
        description="Where the agent worked.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    branch: str = Field(
        default="",
        description="The branch that it worked on.",
        json_schema_extra=bounds.text(limits.TITLE_CHARS_MAX),
    )
    model: str = Field(
        default="",
        description="The model that it used.",
        json_schema_extra=bounds.text(limits.MODEL_CHARS_MAX),
    )
    agent_version: str = Field(
        default="",
        description="The version of the agent.",
        json_schema_extra=bounds.text(limits.ID_CHARS_MAX),
    )
    title: str = Field(
        default="",
        description="What the session is called.",
        json_schema_extra=bounds.text(limits.TITLE_CHARS_MAX),
    )
    after: PositionBody = Field(default=PositionBody(), description="The position behind the run.")
    is_whole: bool = Field(default=True, description="False where the transcript may still be written.")
    project: str = Field(
        default="",
        description="The folder's project, as it is known where it lies.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    project_name: str = Field(
        default="",
        description="What people call that project.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    project_folder: str = Field(
        default="",
        description="The folder without links, where it is known.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )
    parent_session: str = Field(
        default="",
        description="The session whose agent began this one, where a subagent did the work.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )

    def run(self) -> ToldRun:
        """The body as the operations take it."""
        return ToldRun(
            agent=self.agent,
            source_session=self.source_session,
            ordinal=self.ordinal,
            first_number=self.first_number,
            events=tuple(event.event() for event in self.events),
            status=self.status,
            folder=self.folder,
            branch=self.branch,
            model=self.model,
            agent_version=self.agent_version,
            title=self.title,
            after=self.after.position(),
            is_whole=self.is_whole,
            project=self.project,
            project_name=self.project_name,
            project_folder=self.project_folder,
            parent_session=self.parent_session,
        )


class RunsBody(Body):
    """Runs of one source, in their order."""

    source: str = Field(
        description="A digest of where they come from.", json_schema_extra=bounds.text(limits.ID_CHARS_MAX)
    )
    runs: list[ToldRunBody] = Field(description="In the order of the transcript.")
    position: PositionBody | None = Field(
        default=None, description="How far the source has been read with the last of them."
    )

    def request(self, idempotency_key: str | None) -> ops.RunsToImport:
        """The body as the operations take it."""
        return ops.RunsToImport(
            source=self.source,
            runs=tuple(run.run() for run in self.runs),
            position=None if self.position is None else self.position.position(),
            idempotency_key=idempotency_key,
        )


class SourcesBody(Body):
    """Sources, by the digests that their runs were imported with."""

    sources: list[str] = Field(description="The digests.")


class DetectBody(Body):
    """Look for skills in all that was mined."""

    enhance: bool = Field(default=False, description="Have a model improve what waits.")


class SuggestionsQuery(PageQuery):
    """A page of suggestions."""

    state: list[SuggestionState] = Field(
        default=[], description="Only this state; what waits where none is named. Repeatable."
    )
    heuristic: list[Heuristic] = Field(default=[], description="Only of this detector. Repeatable.")

    def request(self) -> ops.SuggestionsRequest:
        """The parameters as the operations take them."""
        return ops.SuggestionsRequest(
            states=frozenset(self.state),
            heuristics=frozenset(self.heuristic),
            limit=self.limit,
            cursor=self.cursor,
        )
