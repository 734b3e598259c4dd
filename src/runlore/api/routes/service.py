"""Running Runlore: policies, tokens, capture, jobs, exports, backups, health."""

import os
import tempfile
from typing import Annotated

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from runlore.api import bodies, errors, queries
from runlore.api import learning_bodies as learning
from runlore.api.answering import document
from runlore.api.calls import Changing, Reading, area
from runlore.api.telling import answers as told
from runlore.api.telling import creates
from runlore.daemon import answers
from runlore.domain.errors import Denied, NotFound
from runlore.domain.job import JobId
from runlore.domain.policy import PolicyName
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

router = area("service")
_NOTHING, _PRESENT = bodies.NoFields(), bodies.PolicyRollbackBody()
_BACKUP, _DOCTOR = bodies.BackupBody(), bodies.DoctorBody()
_BACKFILL, _WORK = learning.BackfillBody(), learning.WorkBody()
_DELETION = learning.RunMemoryDeletionBody()
_EXPORT_MEDIA = ("application/json", "application/x-ndjson", "application/octet-stream")
_FILE = {"content": {media: {"schema": {"type": "string", "format": "binary"}} for media in _EXPORT_MEDIA}}


@router.get("/v1/policies/{name}", **told("Policy", tagged=True))
def get_policy(call: Reading, name: str) -> Response:
    """The policy in force."""
    policy = call.operations.get_policy(_policy_name(name))
    return call.unless_known(answers.write(policy), policy.revision)


@router.put("/v1/policies/{name}", **told("Policy", tagged=True))
def put_policy(call: Changing, name: str, body: bodies.PolicyBody) -> Response:
    """Put a policy, whole."""
    change = ops.PolicyChange(
        name=_policy_name(name),
        policy=body.policy,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    policy = call.operations.put_policy(change)
    return document(answers.write(policy), revision=policy.revision)


@router.get("/v1/policies/{name}/history", **told("PolicyHistory"))
def policy_history(call: Reading, name: str) -> Response:
    """All revisions, the newest first."""
    return document(answers.write(call.operations.policy_history(_policy_name(name))))


@router.post("/v1/policies/{name}/rollback", **told("Policy", tagged=True))
def rollback_policy(call: Changing, name: str, body: bodies.PolicyRollbackBody = _PRESENT) -> Response:
    """Put an earlier revision again."""
    request = ops.PolicyRollback(
        name=_policy_name(name),
        to_revision=body.to_revision,
        expected_revision=call.expected(body.expected_revision),
        idempotency_key=call.idempotency_key,
    )
    policy = call.operations.rollback_policy(request)
    return document(answers.write(policy), revision=policy.revision)


@router.post("/v1/policies/{name}/test", **told("PolicyTrial"))
def test_policy(call: Reading, name: str, body: learning.TrialBody) -> Response:
    """What a policy would do to what waits and was decided lately, beside what the present one does."""
    trial = ops.PolicyTrial(name=_policy_name(name), policy=body.policy, limit=body.limit)
    return document(answers.write(call.operations.test_policy(trial)))


@router.get("/v1/tokens", **told("TokenList"))
def list_tokens(call: Reading) -> Response:
    """All tokens, revoked ones included, the newest first."""
    return document(answers.write(call.operations.list_tokens()))


@router.post("/v1/tokens", **creates("MadeToken"))
def create_token(call: Reading, body: bodies.TokenBody) -> Response:
    """Make a token; its secret is told once."""
    scopes = None if body.scopes is None else frozenset(bodies.scope_of(scope) for scope in body.scopes)
    made = call.operations.create_token(ops.NewToken(name=body.name, role=body.role, scopes=scopes))
    call.service.tokens.changed()
    return document(answers.write(made), status=201)


@router.post("/v1/tokens/{name}/revoke", **told("Token"))
def revoke_token(call: Reading, name: str, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Make a token useless, at once and for good; by its name or id."""
    try:
        token = call.operations.revoke_token(name)
    finally:
        call.service.tokens.changed()
    return document(answers.write(token))


@router.get("/v1/capture", **told("Capture"))
def capture_status(call: Reading) -> Response:
    """Whether anything is captured."""
    return document(answers.write(call.operations.capture_status()))


@router.post("/v1/capture/pause", **told("Capture"))
def pause_capture(call: Reading, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Store nothing of any run from now on."""
    return document(answers.write(call.operations.pause_capture()))


@router.post("/v1/capture/resume", **told("Capture"))
def resume_capture(call: Reading, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Capture again."""
    return document(answers.write(call.operations.resume_capture()))


@router.post("/v1/capture/backfill", **told("Backfill"))
def backfill_capture(call: Reading, body: learning.BackfillBody = _BACKFILL) -> Response:
    """Queue the capture of runs that were skipped while it was off."""
    request = ops.BackfillRequest(
        session_id=None if body.session_id is None else SessionId(body.session_id),
        since=bodies.moment_of(body.since),
        limit=body.limit,
        dry_run=body.dry_run,
    )
    return document(answers.write(call.operations.backfill_capture(request)))


@router.post("/v1/capture/delete-memories", **told("DeletedRunMemories"))
def delete_run_memories(call: Changing, body: learning.RunMemoryDeletionBody = _DELETION) -> Response:
    """Delete what is remembered of runs, for good; journals and records stay."""
    request = ops.RunMemoryDeletion(
        session_id=None if body.session_id is None else SessionId(body.session_id),
        confirm=body.confirm,
        dry_run=body.dry_run,
        reason=body.reason,
        idempotency_key=call.idempotency_key,
    )
    return document(answers.write(call.operations.delete_run_memories(request)))


@router.get("/v1/jobs", **told("JobList"))
def list_jobs(call: Reading, query: Annotated[queries.JobsQuery, Query()]) -> Response:
    """Background work that waits, runs or has failed for good."""
    return document(answers.write(call.operations.list_jobs(frozenset(query.state))))


@router.post("/v1/jobs/work", **told("Work"))
def work_jobs(call: Reading, body: learning.WorkBody = _WORK) -> Response:
    """Do what waits now, models asked where needed."""
    return document(answers.write(call.operations.work_jobs(limit=body.limit)))


@router.post("/v1/jobs/{job_id}/retry", **told("Job"))
def retry_job(call: Reading, job_id: str, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Try a dead job again."""
    return document(answers.write(call.operations.retry_job(JobId(job_id))))


@router.post("/v1/memory/export", **creates("Export"))
def export(call: Reading, body: bodies.NoFields = _NOTHING) -> Response:  # noqa: ARG001
    """Write everything to a new file under the state root."""
    return document(answers.write(call.operations.export()), status=201)


@router.post(
    "/v1/memory/import", openapi_extra={"requestBody": {**_FILE, "required": True}}, **told("Import")
)
async def import_records(call: Reading, request: Request) -> Response:
    """Read an export back: the body is its file. Equal into an empty store, as candidates into another."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in _EXPORT_MEDIA:
        raise errors.unsupported_media(media)
    handle, path = tempfile.mkstemp(prefix="import-", dir=call.service.incoming)
    try:
        with os.fdopen(handle, "wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        answer = await run_in_threadpool(call.operations.import_records, path)
    finally:
        os.unlink(path)
    return document(answers.write(answer))


@router.post("/v1/backup", **creates("Backup"))
def backup(call: Reading, body: bodies.BackupBody = _BACKUP) -> Response:
    """Write a consistent copy of everything, while it is in use."""
    if body.path is not None and not call.over_unix:
        raise Denied(
            "where a backup lies on the daemon's machine cannot be chosen from afar",
            code="backup.path",
            hint="leave path out: the answer says where the backup lies",
        )
    return document(answers.write(call.operations.backup(body.path)), status=201)


@router.post("/v1/doctor", **told("Diagnosis"))
def doctor(call: Reading, body: bodies.DoctorBody = _DOCTOR) -> Response:
    """Check everything, and repair what is derived where asked."""
    return document(answers.write(call.operations.doctor(repair=body.repair)), has_hints=True)


@router.get("/v1/status", **told("Status"))
def status(call: Reading) -> Response:
    """What this Runlore is, holds and does."""
    return document(answers.write(call.operations.status()))


def _policy_name(name: str) -> PolicyName:
    try:
        return PolicyName(name)
    except ValueError:
        raise NotFound(
            f"there is no policy {name[:80]!r}",
            code="policy.not-found",
            hint=f"there are {', '.join(PolicyName)}",
        ) from None
