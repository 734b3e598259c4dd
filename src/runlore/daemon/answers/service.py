"""The service itself: policies, tokens, capture, jobs, exports, backups, health."""

from collections.abc import Iterable

from runlore.daemon.answers.shapes import (
    as_document,
    each,
    flag,
    items_of,
    listed,
    numbers,
    optional,
    optional_text,
    optional_time,
    reader,
    scope_from_plain,
    scopes_to_plain,
    texts,
    time_of,
    time_to_plain,
)
from runlore.domain.access import AccessToken, Role, TokenId
from runlore.domain.job import Job, JobId, JobKind, JobState
from runlore.domain.policy import PolicyName, PolicyRevision
from runlore.domain.record import JsonValue, Layer, RecordId, State
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.domain.scope import Scope
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops


def export_to_plain(answer: ops.ExportAnswer) -> Plain:
    """Where an export lies."""
    return {"path": answer.path, "count": answer.count, "export_version": answer.export_version}


@reader
def export_from_plain(plain: JsonValue) -> ops.ExportAnswer:
    """Read where an export lies."""
    fields = as_object(plain)
    return ops.ExportAnswer(
        path=as_text(fields["path"]),
        count=as_whole(fields["count"]),
        export_version=as_whole(fields["export_version"]),
    )


def import_to_plain(answer: ops.ImportAnswer) -> Plain:
    """How an import landed."""
    return {
        "mode": answer.mode,
        "count": answer.count,
        "skipped": dict(answer.skipped),
        "records": list(answer.records),
    }


@reader
def import_from_plain(plain: JsonValue) -> ops.ImportAnswer:
    """Read how an import landed."""
    fields = as_object(plain)
    return ops.ImportAnswer(
        mode=as_text(fields["mode"]),
        count=as_whole(fields["count"]),
        skipped=numbers(fields["skipped"]),
        records=tuple(RecordId(text) for text in texts(fields["records"])),
    )


def backup_to_plain(answer: ops.BackupAnswer) -> Plain:
    """Where a backup lies and what it holds."""
    return {"path": answer.path, "bytes": answer.bytes, "counts": dict(answer.counts)}


@reader
def backup_from_plain(plain: JsonValue) -> ops.BackupAnswer:
    """Read where a backup lies."""
    fields = as_object(plain)
    return ops.BackupAnswer(
        path=as_text(fields["path"]), bytes=as_whole(fields["bytes"]), counts=numbers(fields["counts"])
    )


def policy_to_plain(revision: PolicyRevision) -> Plain:
    """A policy as it is or was in force."""
    return {
        "name": revision.name.value,
        "policy": revision.policy,
        "revision": revision.revision,
        "updated_at": time_to_plain(revision.updated_at),
        "actor": revision.actor,
    }


@reader
def policy_from_plain(plain: JsonValue) -> PolicyRevision:
    """Read a policy."""
    fields = as_object(plain)
    return PolicyRevision(
        name=PolicyName(as_text(fields["name"])),
        revision=as_whole(fields["revision"]),
        policy=as_document(fields["policy"]),
        updated_at=optional_time(fields["updated_at"]),
        actor=as_text(fields["actor"]),
    )


def policies_to_plain(revisions: Iterable[PolicyRevision]) -> Plain:
    """All revisions of a policy."""
    return listed(policy_to_plain(revision) for revision in revisions)


@reader
def policies_from_plain(plain: JsonValue) -> tuple[PolicyRevision, ...]:
    """Read all revisions of a policy."""
    return items_of(plain, policy_from_plain)


def token_to_plain(token: AccessToken) -> Plain:
    """A token without its secret, and without the digest that the secret is checked by."""
    scopes = token.scopes
    return {
        "token_id": token.token_id,
        "name": token.name,
        "role": token.role.value,
        "scopes": None if scopes is None else scopes_to_plain(sorted(scopes)),
        "created_at": format_time(token.created_at),
        "created_by": token.created_by,
        "revoked_at": time_to_plain(token.revoked_at),
    }


@reader
def token_from_plain(plain: JsonValue) -> AccessToken:
    """Read a token; its digest stays where it is kept."""
    fields = as_object(plain)
    return AccessToken(
        token_id=TokenId(as_text(fields["token_id"])),
        name=as_text(fields["name"]),
        role=Role(as_text(fields["role"])),
        scopes=optional(_read_scopes, fields["scopes"]),
        digest="",
        created_at=time_of(fields["created_at"]),
        created_by=as_text(fields["created_by"]),
        revoked_at=optional_time(fields["revoked_at"]),
    )


def tokens_to_plain(tokens: Iterable[AccessToken]) -> Plain:
    """All tokens."""
    return listed(token_to_plain(token) for token in tokens)


@reader
def tokens_from_plain(plain: JsonValue) -> tuple[AccessToken, ...]:
    """Read all tokens."""
    return items_of(plain, token_from_plain)


def made_token_to_plain(made: ops.MadeToken) -> Plain:
    """A new token with its secret, which is told this once."""
    return {**token_to_plain(made.token), "secret": made.secret}


@reader
def made_token_from_plain(plain: JsonValue) -> ops.MadeToken:
    """Read a new token."""
    return ops.MadeToken(token=token_from_plain(plain), secret=as_text(as_object(plain)["secret"]))


def capture_to_plain(status: ops.CaptureStatus) -> Plain:
    """Whether anything is captured."""
    return {"paused": status.paused, "since": time_to_plain(status.since), "by": status.by}


@reader
def capture_from_plain(plain: JsonValue) -> ops.CaptureStatus:
    """Read whether anything is captured."""
    fields = as_object(plain)
    return ops.CaptureStatus(
        paused=flag(fields["paused"]),
        since=optional_time(fields["since"]),
        by=optional_text(fields["by"]),
    )


def job_to_plain(job: Job) -> Plain:
    """A piece of background work."""
    return {
        "job_id": job.job_id,
        "kind": job.kind.value,
        "subject": job.subject,
        "state": job.state.value,
        "attempts": job.attempts,
        "due_at": format_time(job.due_at),
        "lease_until": time_to_plain(job.lease_until),
        "holder": job.holder,
        "fence": job.fence,
        "error": job.error,
        "created_at": format_time(job.created_at),
    }


@reader
def job_from_plain(plain: JsonValue) -> Job:
    """Read a piece of background work."""
    fields = as_object(plain)
    return Job(
        job_id=JobId(as_text(fields["job_id"])),
        kind=JobKind(as_text(fields["kind"])),
        subject=as_text(fields["subject"]),
        state=JobState(as_text(fields["state"])),
        attempts=as_whole(fields["attempts"]),
        due_at=time_of(fields["due_at"]),
        lease_until=optional_time(fields["lease_until"]),
        holder=optional_text(fields["holder"]),
        fence=as_whole(fields["fence"]),
        error=as_text(fields["error"]),
        created_at=time_of(fields["created_at"]),
    )


def jobs_to_plain(jobs: Iterable[Job]) -> Plain:
    """Background work."""
    return listed(job_to_plain(job) for job in jobs)


@reader
def jobs_from_plain(plain: JsonValue) -> tuple[Job, ...]:
    """Read background work."""
    return items_of(plain, job_from_plain)


def diagnosis_to_plain(diagnosis: ops.Diagnosis) -> Plain:
    """What `doctor` found."""
    return {
        "healthy": diagnosis.healthy,
        "findings": [
            {
                "check": finding.check,
                "outcome": finding.outcome,
                "detail": finding.detail,
                "hint": finding.hint,
            }
            for finding in diagnosis.findings
        ],
    }


@reader
def diagnosis_from_plain(plain: JsonValue) -> ops.Diagnosis:
    """Read what `doctor` found."""
    fields = as_object(plain)
    return ops.Diagnosis(healthy=flag(fields["healthy"]), findings=each(_read_finding, fields["findings"]))


def status_to_plain(status: ops.Status) -> Plain:
    """What this Runlore is, holds and does; each section stands beside the rest."""
    counts = {
        layer.value: {state.value: status.counts.get((layer, state), 0) for state in State} for layer in Layer
    }
    plain: Plain = {
        "version": status.version,
        "state_root": status.state_root,
        "store": dict(status.store),
        "records": counts,
        "waiting": status.waiting,
    }
    return {**plain, **{name: part for name, part in status.sections.items() if name not in plain}}


@reader
def status_from_plain(plain: JsonValue) -> ops.Status:
    """Read what a Runlore is and holds."""
    fields = dict(as_object(plain))
    counts = as_object(fields.pop("records"))
    named = {
        (layer, state): as_object(counts[layer.value])[state.value] for layer in Layer for state in State
    }
    return ops.Status(
        version=as_text(fields.pop("version")),
        state_root=as_text(fields.pop("state_root")),
        store={name: _text_or_whole(value) for name, value in as_object(fields.pop("store")).items()},
        counts={key: as_whole(number) for key, number in named.items() if number != 0},
        waiting=as_whole(fields.pop("waiting")),
        sections=fields,
    )


def _read_finding(plain: JsonValue) -> ops.Finding:
    fields = as_object(plain)
    return ops.Finding(
        check=as_text(fields["check"]),
        outcome=as_text(fields["outcome"]),
        detail=as_text(fields["detail"]),
        hint=as_text(fields["hint"]),
    )


def _read_scopes(value: JsonValue) -> frozenset[Scope]:
    return frozenset(each(scope_from_plain, value))


def _text_or_whole(value: JsonValue) -> str | int:
    return value if isinstance(value, str) else as_whole(value)
