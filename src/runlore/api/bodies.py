"""The bodies of the API's calls: what each field means, and what it may hold at most.

Limits that a rule of the domain has are checked there, once, for all surfaces; here stand types and names.
"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from runlore.api import bounds
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.journal import DERIVED_KEYS
from runlore.domain.record import Kind, Sensitivity
from runlore.domain.run import TERMINAL, RunStatus
from runlore.domain.scope import WORKSPACE_ID, Scope, ScopeKind
from runlore.domain.timestamps import parse_time

_REVISION_MAX = 2**53


class Body(BaseModel):
    """A body. What it does not know is refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NoFields(Body):
    """A call without fields: no body, or an empty object."""


class ScopeBody(Body):
    """A scope."""

    kind: Annotated[ScopeKind, Field(strict=False)] = Field(description="What kind of scope.")
    id: str = Field(default=WORKSPACE_ID, description="Its id; the workspace's is always `default`.")


Word = Field(strict=False)
AnyScope = Annotated[
    ScopeBody | str,
    Field(description="`{kind, id}`, or the text `KIND:ID`.", examples=["project:acme", "workspace"]),
]
Moment = Annotated[str, Field(description="A time (RFC 3339).", examples=["2027-01-31T00:00:00Z"])]
Revision = Annotated[
    int,
    Field(
        json_schema_extra=bounds.number(0, _REVISION_MAX),
        description="Refuse (409) unless this is the present revision.",
    ),
]
Reason = Annotated[
    str,
    Field(
        json_schema_extra=bounds.text(limits.REASON_CHARS_MAX), description="Why; it is kept in the history."
    ),
]
Count = Annotated[int, Field(json_schema_extra=bounds.number(0, _REVISION_MAX))]
JsonBody = dict[str, JsonValue]


class ProfileBody(Body):
    """A stable fact about the user, a preference or a standing constraint."""

    key: str = Field(description="What it is about, such as `editor`.")
    value: str = Field(description="What holds.")
    reason: str = Field(description="Where this is known from.")
    scope: AnyScope = "workspace"
    sensitivity: Annotated[Sensitivity, Word] = Sensitivity.NORMAL
    confidence: int = Field(
        default=limits.CONFIDENCE_DEFAULT, json_schema_extra=bounds.number(0, limits.CONFIDENCE_MAX)
    )
    expires_at: Moment | None = None


class _Summarised(Body):
    """A body whose `summary` may be called `content`."""

    @model_validator(mode="before")
    @classmethod
    def _content_is_the_summary(cls, value: Any) -> Any:
        if isinstance(value, dict) and "content" in value and "summary" not in value:
            return {("summary" if name == "content" else name): part for name, part in value.items()}
        return value


class EpisodeBody(_Summarised):
    """Something that happened."""

    kind: Annotated[Kind, Word] = Field(description="`experiment`, `failure`, `promotion`, `rollback`, ...")
    summary: str = Field(description="What happened; `content` is taken for it too.")
    scope: AnyScope = "workspace"
    metadata: JsonBody = Field(default={}, description="What else there is to know.")
    sensitivity: Annotated[Sensitivity, Word] = Sensitivity.NORMAL
    expires_at: Moment | None = None


class DecisionBody(Body):
    """An act on a record."""

    reason: Reason = ""
    expected_revision: Revision | None = None


BothHold = Annotated[
    list[Annotated[str, Field(json_schema_extra=bounds.text(limits.ID_CHARS_MAX))]],
    Field(
        json_schema_extra=bounds.items(0, limits.BOTH_HOLD_MAX),
        description="Records that it seems to contradict: it stands beside them, for both hold.",
    ),
]


class ConfirmBody(DecisionBody, _Summarised):
    """Publish a candidate."""

    summary: str | None = Field(
        default=None, description="Another text for it; `content` is taken for it too."
    )
    supersedes: str | None = Field(default=None, description="The record that it replaces.")
    both_hold: BothHold = Field(default=[])
    accept_untrusted: bool = Field(
        default=False, description="I have read this text from outside and accept it."
    )


class RollbackBody(DecisionBody):
    """Take an active record back."""

    restore_sources: bool = Field(default=False, description="Bring back what it had replaced.")


class ForgetBody(DecisionBody):
    """Erase what a record, a run or a session says."""

    dry_run: bool = Field(default=False, description="Only tell what would be erased.")


class MergeBody(Body):
    """Which merges are possible."""

    scopes: list[AnyScope] = Field(default=[], description="Only in these scopes.")
    create_proposals: bool = Field(default=False, description="Propose them, for review.")


class FindingBody(BaseModel):
    """A radar finding. What else a payload holds is not kept."""

    model_config = ConfigDict(extra="ignore", strict=True)

    summary: str = Field(description="What was found.")
    repo_slug: str = Field(description="The repository, such as `acme/atlas`.")
    source_handle: str = Field(description="Where it was found, such as `hn`.")
    source_url: str = Field(description="The page that says so.")
    topic_tags: list[str] = Field(default=[], description="What it is about.")
    confidence: int = Field(
        default=limits.CONFIDENCE_DEFAULT, json_schema_extra=bounds.number(0, limits.CONFIDENCE_MAX)
    )
    evidence_refs: list[str] = Field(default=[], description="What supports it; its URL if left out.")


class FindingsBody(Body):
    """Findings of one scan."""

    findings: list[FindingBody] = Field(json_schema_extra=bounds.items(1, limits.RADAR_FINDINGS_MAX))
    scope: AnyScope = "workspace"


class AdoptBody(DecisionBody):
    """Make a procedure of a finding."""

    summary: str | None = Field(
        default=None, description="The procedure; the finding's own text if left out."
    )
    workflow: str | None = Field(
        default=None, description="The workflow; named after the repository if left out."
    )
    accept_untrusted: bool = Field(
        default=False, description="I have read this text from outside and accept it."
    )


class CapabilityBody(Body):
    """Which tools and skills are left to an agent; `*` stands for any text. An absent list allows all."""

    allow_tools: list[str] | None = None
    deny_tools: list[str] | None = None
    allow_skills: list[str] | None = None
    deny_skills: list[str] | None = None


class SessionBody(Body):
    """A session to create."""

    session_id: str | None = Field(
        default=None, description="Its id, if you have one; makes the call repeatable."
    )
    title: str = Field(default="", description="What people call it.")
    persona_id: str | None = Field(default=None, description="The persona that it is bound to.")
    project_ids: list[str] = Field(default=[], description="The projects that it is linked to.")
    agent: str | None = Field(default=None, description="The program that works in it.")
    private: bool = Field(default=False, description="Store nothing of it beyond its existence.")
    working_folder: str | None = Field(default=None, description="Where its agent works.")
    models: list[str] = Field(
        default=[],
        description="Models that Runlore's own agent is to work with in it, an empty name for the configured"
        " one; no session is made where one of them cannot be asked.",
    )


class SessionChangeBody(Body):
    """What changes of a session; what is left out stays."""

    title: str | None = None
    persona_id: str | None = Field(default=None, description="Bind to another persona; null unbinds.")
    project_ids: list[str] | None = Field(default=None, description="Link to these projects and no others.")
    capability_scope: CapabilityBody | None = None
    ended: bool | None = Field(default=None, description="True ends the session and its runs.")
    expected_revision: Revision | None = None


class PersonaBody(Body):
    """A persona as it shall be; what is left out takes its default."""

    name: str = ""
    capability_scope: CapabilityBody = CapabilityBody()
    capture: bool = Field(default=True, description="False stores nothing of the sessions bound to it.")
    expected_revision: Revision | None = None


class _Derived(Body):
    """A body from which what Runlore itself derives for prompts is dropped."""

    @model_validator(mode="before")
    @classmethod
    def _without_derived(cls, value: Any) -> Any:
        if isinstance(value, dict) and DERIVED_KEYS & value.keys():
            return {name: part for name, part in value.items() if name not in DERIVED_KEYS}
        return value


class RunBody(_Derived):
    """A run to open."""

    request: str = Field(
        description="The input, as the user gave it.", json_schema_extra=bounds.text(limits.REQUEST_CHARS_MAX)
    )
    run_id: str | None = Field(
        default=None, description="Its id, if you have one; makes the call repeatable."
    )
    agent: str | None = Field(default=None, description="The program that works it.")
    model: str | None = Field(default=None, description="The model, for the size of its context window.")
    context: bool = Field(default=False, description="Answer with the sections that the prompt gets.")
    prompt_tokens: Count | None = Field(default=None, description="What the prompt already costs.")
    metadata: JsonBody = Field(default={}, description="Kept with the input.")


class PreviewBody(_Derived):
    """An input that is not sent."""

    text: str = Field(description="The input.", json_schema_extra=bounds.text(limits.REQUEST_CHARS_MAX))
    model: str | None = Field(default=None, description="The model, for the size of its context window.")
    prompt_tokens: Count | None = Field(default=None, description="What the prompt already costs.")


def _one_of(kind: str, needed: dict[str, str], **optional: str) -> dict[str, Any]:
    types = {"text": "string", "flag": "boolean", "number": "integer", "object": "object"}
    fields = {name: {"type": types[type_]} for name, type_ in {**needed, **optional}.items()}
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **fields},
        "required": ["type", *needed],
        "title": kind,
    }


_EVENT_SCHEMA = {
    "type": "object",
    "oneOf": [
        _one_of("assistant_message", {"text": "text"}),
        _one_of("tool_call", {"call_id": "text", "name": "text", "arguments": "object"}),
        _one_of(
            "tool_result",
            {"call_id": "text", "output": "text"},
            exit_code="number",
            is_error="flag",
            source="text",
        ),
        _one_of("usage", {}, input_tokens="number", output_tokens="number", model="text"),
    ],
}


class EventsBody(_Derived):
    """Events of a run, as the agent reports them."""

    events: list[Annotated[JsonBody, Field(json_schema_extra=_EVENT_SCHEMA)]] = Field(
        description="In the order in which they happened.",
        json_schema_extra=bounds.items(1, limits.EVENTS_PER_CALL_MAX),
    )
    first_number: Count | None = Field(
        default=None, description="The number of the first; makes the call repeatable."
    )


class TextBody(Body):
    """A text."""

    text: str = Field(description="The text.")


class ArtifactBody(TextBody):
    """A text that a run leaves behind."""

    name: str = Field(description="What it is, such as `report.md`.")
    artifact_id: str | None = Field(
        default=None, description="Its id, if you have one; makes the call repeatable."
    )


class FinishBody(Body):
    """How a run ended."""

    status: Annotated[RunStatus, Word] = Field(description=f"How it ended: {', '.join(sorted(TERMINAL))}.")
    error: str = Field(
        default="", description="What went wrong.", json_schema_extra=bounds.text(limits.ERROR_CHARS_MAX)
    )
    artifact_ids: list[str] = Field(default=[], description="The artifacts that are its result.")
    summarise_scratch: bool = Field(default=False, description="Keep its notes as one episode.")


class PolicyBody(Body):
    """A policy, whole."""

    policy: JsonBody = Field(description="The inner table; what it leaves out takes its default.")
    expected_revision: Revision | None = None


class PolicyRollbackBody(Body):
    """Back to an earlier revision, as a new one."""

    to_revision: Count | None = Field(
        default=None, description="The one before the present one, if left out."
    )
    expected_revision: Revision | None = None


class TokenBody(Body):
    """A token to make."""

    name: str = Field(description="Who uses it: the actor in every history.")
    role: Annotated[Role, Word] = Field(description="What it may do.")
    scopes: list[AnyScope] | None = Field(
        default=None, description="What it is limited to; no limit if left out."
    )


class BackupBody(Body):
    """A backup to write."""

    path: str | None = Field(
        default=None,
        description="Where to, on the daemon's machine. Taken over the unix socket alone.",
        json_schema_extra=bounds.text(limits.PATH_CHARS_MAX),
    )


class DoctorBody(Body):
    """A check of everything."""

    repair: bool = Field(default=False, description="Repair what is derived.")


def scope_of(value: ScopeBody | str) -> Scope:
    """The scope that a body names."""
    return Scope.parse(value) if isinstance(value, str) else Scope(value.kind, value.id)


def moment_of(text: str | None) -> datetime | None:
    """The time that a body names."""
    return None if text is None else parse_time(text)


def capabilities_of(body: CapabilityBody) -> JsonBody:
    """The lists that a body names."""
    return body.model_dump(exclude_none=True)
