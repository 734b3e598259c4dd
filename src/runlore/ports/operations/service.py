"""The service itself: policies, tokens, capture, jobs, exports, backups, health."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runlore.domain.access import AccessToken, Role
from runlore.domain.codec import Plain, as_object, as_text, as_whole
from runlore.domain.job import Job, JobId, JobState
from runlore.domain.json_form import JsonForm
from runlore.domain.policy import PolicyName, PolicyRevision
from runlore.domain.record import JsonObject, JsonValue, Layer, RecordId, State
from runlore.domain.scope import Scope
from runlore.ports.operations.progress import Progress, unwatched


@dataclass(frozen=True, kw_only=True)
class ExportAnswer:
    """Where an export lies and what it holds."""

    path: str
    count: int
    export_version: int


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
    policy: JsonObject
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyRollback:
    """Go back to an earlier revision (the one before, where none is named), as a new revision."""

    name: PolicyName
    to_revision: int | None = None
    expected_revision: int | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token to make. No scopes is no limit."""

    name: str
    role: Role
    scopes: frozenset[Scope] | None = None


@JsonForm(flat=("token",))
@dataclass(frozen=True, kw_only=True)
class MadeToken:
    """A new token with its secret, which is told this once."""

    token: AccessToken
    secret: str


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


@dataclass(frozen=True, kw_only=True)
class BackupAnswer:
    """Where a backup lies and what it holds."""

    path: str
    bytes: int
    counts: Mapping[str, int]


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

    def get_policy(self, name: PolicyName) -> PolicyRevision:
        """The policy in force."""
        ...

    def put_policy(self, change: PolicyChange) -> PolicyRevision:
        """Put a policy, whole."""
        ...

    def policy_history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        """All revisions, the newest first."""
        ...

    def rollback_policy(self, request: PolicyRollback) -> PolicyRevision:
        """Put an earlier revision again."""
        ...

    def create_token(self, request: NewToken) -> MadeToken:
        """Make a token; its secret is told once."""
        ...

    def list_tokens(self) -> tuple[AccessToken, ...]:
        """All tokens, revoked ones included, the newest first."""
        ...

    def revoke_token(self, name: str) -> AccessToken:
        """Make a token useless, at once and for good; by its name or id."""
        ...

    def pause_capture(self) -> CaptureStatus:
        """Store nothing of any run from now on."""
        ...

    def resume_capture(self) -> CaptureStatus:
        """Capture again."""
        ...

    def capture_status(self) -> CaptureStatus:
        """Whether anything is captured."""
        ...

    def list_jobs(self, states: frozenset[JobState] = frozenset()) -> tuple[Job, ...]:
        """Background work that waits, runs or has failed for good."""
        ...

    def retry_job(self, job_id: JobId) -> Job:
        """Try a dead job again."""
        ...

    def export(self, *, progress: Progress = unwatched) -> ExportAnswer:
        """Write everything to a new file under the state root."""
        ...

    def import_records(self, path: str, *, progress: Progress = unwatched) -> ImportAnswer:
        """Read an export back: equal into an empty store, as candidates into another."""
        ...

    def backup(self, path: str | None = None, *, progress: Progress = unwatched) -> BackupAnswer:
        """Write a consistent copy of everything, while it is in use."""
        ...

    def restore_backup(self, path: str, *, progress: Progress = unwatched) -> BackupAnswer:
        """Read a backup into an empty store."""
        ...

    def doctor(self, *, repair: bool = False) -> Diagnosis:
        """Check everything, and repair what is derived where asked."""
        ...

    def status(self) -> Status:
        """What this Runlore is and holds."""
        ...
