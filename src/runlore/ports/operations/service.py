"""The service itself: policies, tokens, capture, jobs, exports, backups, health."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

from runlore.domain import limits
from runlore.domain.access import AccessToken, Role
from runlore.domain.audit_feed import AuditEvent, AuditKind
from runlore.domain.json_form import About, JsonForm
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.record import JsonObject, JsonValue, Layer, RecordId, State
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import Plain, as_object, as_text, as_whole
from runlore.domain.session import PersonaId
from runlore.ports.operations.declaration import OPERATORS, OVERSEERS, Created, Operation, Route
from runlore.ports.operations.field_types import Cursor, PageLimit, Revision
from runlore.ports.operations.progress import Progress, ignore_progress


@JsonForm(document="Export")
@dataclass(frozen=True, kw_only=True)
class ExportAnswer:
    """Where an export lies and what it holds."""

    path: str
    count: int
    export_version: int


@JsonForm(document="Import")
@dataclass(frozen=True, kw_only=True)
class ImportAnswer:
    """How an import landed: `exact` into an empty store, `candidates` into another."""

    mode: str
    count: int
    skipped: Mapping[str, int]
    records: tuple[RecordId, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PolicyChange:
    """A policy to put, whole; what it leaves out takes its default."""

    name: PolicyName
    policy: Annotated[JsonObject, About("The inner table; what it leaves out takes its default.")]
    expected_revision: Revision = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyRollback:
    """Go back to an earlier revision (the one before, where none is named), as a new revision."""

    name: PolicyName
    to_revision: Annotated[
        int | None, About("The one before the present one, if left out.", least=0, most=limits.NUMBER_MAX)
    ] = None
    expected_revision: Revision = None
    idempotency_key: str | None = None


Expiry = Annotated[datetime | None, About("From when it opens nothing any more; no time if left out.")]


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token to make. No scopes is no limit, and without a persona what is said to it is everybody's."""

    name: Annotated[str, About("Who uses it: the actor in every history.")]
    role: Annotated[Role, About("What it may do.")]
    scopes: Annotated[frozenset[Scope] | None, About("What it is limited to; no limit if left out.")] = None
    persona_id: Annotated[
        PersonaId | None, About("Whose it is: sessions that it makes are bound to this persona.")
    ] = None
    expires_at: Expiry = None


@dataclass(frozen=True, kw_only=True)
class TokenRotation:
    """A new secret for a token; the one before it is good for a while longer, where that is asked for."""

    name: str
    expires_at: Expiry = None
    grace_s: Annotated[
        int,
        About(
            "How many seconds the secret before is still good for.",
            least=0,
            most=limits.TOKEN_GRACE_S_MAX,
        ),
    ] = 0


@JsonForm(flat=("token",))
@dataclass(frozen=True, kw_only=True)
class MadeToken:
    """A new token with its secret, which is told this once."""

    token: AccessToken
    secret: str


@JsonForm(document="Capture")
@dataclass(frozen=True, kw_only=True)
class CaptureStatus:
    """Whether anything is captured at all."""

    paused: bool
    since: datetime | None = None
    by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a check looked at: `ok`, `repaired`, `problem`."""

    check: str
    outcome: str
    detail: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What `doctor` found."""

    healthy: bool
    findings: tuple[Finding, ...]


@JsonForm(document="Backup")
@dataclass(frozen=True, kw_only=True)
class BackupAnswer:
    """Where a backup lies and what it holds."""

    path: str
    bytes: int
    counts: Mapping[str, int]


@JsonForm(rename={"kinds": "kind"})
@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """A part of the audit feed, the oldest act first."""

    since: Annotated[datetime | None, About("Only what was done at this time or later (RFC 3339).")] = None
    kinds: Annotated[frozenset[AuditKind], About("Only acts on these. Repeatable.")] = frozenset()
    limit: PageLimit = limits.LIST_LIMIT_DEFAULT
    cursor: Cursor = None


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """Acts, and where the next page begins."""

    items: tuple[AuditEvent, ...]
    next_cursor: str | None = None


_TEXT, _WHOLE, _ANY, _NULL = ({"type": kind} for kind in ("string", "integer", "object", "null"))
_NUMBERS = {"type": "object", "additionalProperties": _WHOLE}
_FLAG = {"type": "boolean"}
_TEXT_OR_NOT = {"anyOf": [_TEXT, _NULL]}


def _schema(may_lack: frozenset[str] = frozenset(), /, **fields: Mapping[str, object]) -> dict[str, object]:
    """The schema of a section with these fields, of which it `may_lack` some, and perhaps more."""
    required = [name for name in fields if name not in may_lack]
    return {"type": "object", "properties": fields, "required": required}


def _backend(always: str, **fields: Mapping[str, object]) -> Mapping[str, object]:
    """The schema of what is told of an embedding backend, and without one of one field alone."""
    told = _schema(
        backend=_TEXT_OR_NOT,
        stays_here=_FLAG,
        failures=_WHOLE,
        remark=_TEXT_OR_NOT,
        resting_until=_TEXT_OR_NOT,
        **fields,
    )
    return {**told, "required": [always]}


def _by(words: type[StrEnum], part: Mapping[str, object]) -> Mapping[str, object]:
    """The schema of an object with the same for each word."""
    return _schema(**{word.value: part for word in words})


_STATUS = _schema(
    frozenset({"clock"}),
    # Only where it is in doubt.
    clock=_schema(doubt=_TEXT),
    version=_TEXT,
    state_root=_TEXT,
    store={"type": "object", "additionalProperties": {"anyOf": [_TEXT, _WHOLE]}},
    records=_by(Layer, _NUMBERS),
    waiting=_WHOLE,
    sessions=_schema(count=_WHOLE, runs=_NUMBERS),
    run_memory=_schema(
        policy=_ANY,
        indexed_session_count=_WHOLE,
        indexed_record_count=_WHOLE,
        indexed_scope_count=_WHOLE,
        capture_pending=_WHOLE,
        maintenance={"anyOf": [_ANY, _NULL]},
        metrics=_NUMBERS,
    ),
    session_memory=_schema(metrics=_NUMBERS),
    suggestions=_NUMBERS,
    skills=_schema(
        active=_WHOLE,
        usable=_WHOLE,
        needs_review=_WHOLE,
        by_origin=_NUMBERS,
        by_state=_NUMBERS,
        files=_schema(problems={"type": "array", "items": _TEXT}, problem_count=_WHOLE),
        embedding=_backend("configured", configured=_FLAG, embedded=_WHOLE, missing=_WHOLE, set_aside=_WHOLE),
    ),
    jobs=_by(JobKind, _NUMBERS),
    policies=_by(PolicyName, _schema(revision=_WHOLE, updated_at=_TEXT_OR_NOT, actor=_TEXT)),
    capture=_schema(paused=_FLAG),
    retention=_schema(policy=_ANY, journal_bytes=_WHOLE, artifact_bytes=_WHOLE),
    models=_schema(
        default=_TEXT_OR_NOT,
        providers={
            "type": "array",
            "items": _schema(
                name=_TEXT,
                kind=_TEXT,
                base_url=_TEXT_OR_NOT,
                api_key_env=_TEXT_OR_NOT,
                has_key=_FLAG,
            ),
        },
        day=_TEXT,
        budget=_NUMBERS,
        today={"type": "object", "additionalProperties": _NUMBERS},
    ),
    embedding=_backend("backend", learnings=_NUMBERS),
    repeats=_schema(
        rates={"type": "array", "items": _schema(month=_TEXT, requests=_WHOLE, repeated=_WHOLE)},
        change={
            "anyOf": [
                _schema(
                    began_at=_TEXT,
                    requests_before=_WHOLE,
                    repeated_before=_WHOLE,
                    requests_after=_WHOLE,
                    repeated_after=_WHOLE,
                ),
                _NULL,
            ]
        },
    ),
    agents={
        "type": "array",
        "items": _schema(
            agent=_TEXT,
            project=_TEXT_OR_NOT,
            hooks=_TEXT,
            reported_at=_TEXT_OR_NOT,
            lost_at=_TEXT_OR_NOT,
        ),
    },
)


@dataclass(frozen=True, kw_only=True)
class Status:
    """What this Runlore is, holds and does. `run_memory` and the rest are as `/v1/status` shows them."""

    version: str
    state_root: str
    store: Mapping[str, str | int]
    counts: Mapping[tuple[Layer, State], int]
    waiting: int
    sections: Mapping[str, JsonValue]

    def to_json(self) -> Plain:
        """Every layer and state has its number; each section stands beside the rest, never in its place."""
        plain: Plain = {
            "version": self.version,
            "state_root": self.state_root,
            "store": dict(self.store),
            "records": {
                layer.value: {state.value: self.counts.get((layer, state), 0) for state in State}
                for layer in Layer
            },
            "waiting": self.waiting,
        }
        return {**plain, **{name: part for name, part in self.sections.items() if name not in plain}}

    @staticmethod
    def json_schema() -> Mapping[str, object]:
        """Every section that there is; a newer Runlore may have more."""
        return {**_STATUS, "description": "What this Runlore is, holds and does."}

    @staticmethod
    def from_json(plain: object, name: str = "") -> "Status":
        """Read it back; what is not counted is zero."""
        fields = dict(as_object(plain, name))
        records = as_object(fields.pop("records"))
        counts = {
            (layer, state): as_whole(as_object(records[layer.value])[state.value])
            for layer in Layer
            for state in State
        }
        store = as_object(fields.pop("store"))
        return Status(
            version=as_text(fields.pop("version")),
            state_root=as_text(fields.pop("state_root")),
            store={name: told if isinstance(told, str) else as_whole(told) for name, told in store.items()},
            counts={key: number for key, number in counts.items() if number},
            waiting=as_whole(fields.pop("waiting")),
            sections=fields,
        )


class ServiceOperations(Protocol):
    """Running Runlore."""

    @Operation("GET /v1/policies/{name}", OVERSEERS, tagged=True)
    def get_policy(self, name: PolicyName) -> PolicyRevision:
        """The policy in force."""

    @Operation("PUT /v1/policies/{name}", OPERATORS, unlimited=True, tagged=True)
    def put_policy(self, change: PolicyChange) -> PolicyRevision:
        """Put a policy, whole."""

    @Operation("GET /v1/policies/{name}/history", OVERSEERS)
    def policy_history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        """All revisions, the newest first."""

    @Operation("POST /v1/policies/{name}/rollback", OPERATORS, unlimited=True, tagged=True)
    def rollback_policy(self, request: PolicyRollback) -> PolicyRevision:
        """Put an earlier revision again."""

    @Operation("POST /v1/tokens", OPERATORS, unlimited=True, created=Created.ALWAYS, once=True)
    def create_token(self, request: NewToken) -> MadeToken:
        """Make a token; its secret is told once."""

    @Operation("GET /v1/tokens", OPERATORS, unlimited=True)
    def list_tokens(self) -> tuple[AccessToken, ...]:
        """All tokens, revoked ones included, the newest first."""

    @Operation("POST /v1/tokens/{name}/revoke", OPERATORS, unlimited=True, once=True)
    def revoke_token(self, name: str) -> AccessToken:
        """Make a token useless, at once and for good; by its name or id."""

    @Operation("POST /v1/tokens/{name}/rotate", OPERATORS, unlimited=True, once=True)
    def rotate_token(self, request: TokenRotation) -> MadeToken:
        """Give a token a new secret, which is told once; by its name or id."""

    @Operation(
        Route(
            "GET /v1/audit",
            text="What was done, by whom: a page, or as `Accept` asks for it all of it as JSON lines"
            " (`application/x-ndjson`), or what is done from now on as server-sent events"
            " (`text/event-stream`).",
        ),
        OPERATORS,
        unlimited=True,
    )
    def list_audit(self, request: AuditRequest) -> AuditPage:
        """Who did what to which record, skill, token, policy or binding, the oldest first."""

    @Operation("POST /v1/capture/pause", OPERATORS, unlimited=True)
    def pause_capture(self) -> CaptureStatus:
        """Store nothing of any run from now on."""

    @Operation("POST /v1/capture/resume", OPERATORS, unlimited=True)
    def resume_capture(self) -> CaptureStatus:
        """Capture again."""

    @Operation("GET /v1/capture", OVERSEERS)
    def capture_status(self) -> CaptureStatus:
        """Whether anything is captured."""

    @Operation("GET /v1/jobs", OVERSEERS, unlimited=True)
    def list_jobs(
        self,
        states: Annotated[
            frozenset[JobState], About("Only this state. Repeatable.", key="state")
        ] = frozenset(),
    ) -> tuple[Job, ...]:
        """Background work that waits, runs or has failed for good."""

    @Operation("POST /v1/jobs/{job_id}/retry", OPERATORS, unlimited=True, once=True)
    def retry_job(self, job_id: JobId) -> Job:
        """Try a dead job again."""

    @Operation(
        "POST /v1/memory/export", OPERATORS, unlimited=True, created=Created.ALWAYS, long=True, once=True
    )
    def export(self, *, progress: Progress = ignore_progress) -> ExportAnswer:
        """Write everything to a new file under the state root."""

    @Operation("POST /v1/memory/import", OPERATORS, unlimited=True, uploads=True)
    def import_records(self, path: str, *, progress: Progress = ignore_progress) -> ImportAnswer:
        """Read an export back: the body is its file. Equal into an empty store, as candidates into
        another."""

    @Operation("POST /v1/backup", OPERATORS, unlimited=True, created=Created.ALWAYS, long=True, once=True)
    def backup(
        self,
        path: Annotated[
            str | None,
            About(
                "Where to, on the daemon's machine. Taken over the unix socket alone.",
                most=limits.PATH_CHARS_MAX,
            ),
        ] = None,
        *,
        progress: Progress = ignore_progress,
    ) -> BackupAnswer:
        """Write a consistent copy of everything, while it is in use."""

    @Operation("", OPERATORS, unlimited=True)
    def restore_backup(self, path: str, *, progress: Progress = ignore_progress) -> BackupAnswer:
        """Read a backup into an empty store."""

    @Operation("POST /v1/doctor", OPERATORS, unlimited=True, long=True)
    def doctor(self, *, repair: Annotated[bool, About("Repair what is derived.")] = False) -> Diagnosis:
        """Check everything, and repair what is derived where asked."""

    @Operation("GET /v1/status", OVERSEERS, unlimited=True)
    def status(self) -> Status:
        """What this Runlore is, holds and does."""
