"""The service itself: policies, tokens, capture, jobs, exports, backups, health."""

import os

from runlore.client.answer import Upload
from runlore.client.remote.calls import LONG_S, Remote, Sent, path_of, repeated
from runlore.daemon import answers
from runlore.daemon.import_files import opened_import
from runlore.domain.access import AccessToken
from runlore.domain.errors import Refused
from runlore.domain.job import Job, JobId, JobState
from runlore.domain.policy import PolicyName, PolicyRevision
from runlore.ports import operations as ops


class RemoteService(Remote):
    """Running Runlore."""

    def get_policy(self, name: PolicyName) -> PolicyRevision:
        """The policy in force."""
        return answers.read(PolicyRevision, self.read(path_of("policies", name.value)))

    def put_policy(self, change: ops.PolicyChange) -> PolicyRevision:
        """Put a policy, whole."""
        body: Sent = {"policy": change.policy, "expected_revision": change.expected_revision}
        path = path_of("policies", change.name.value)
        return answers.read(PolicyRevision, self.act(path, body, key=change.idempotency_key, method="PUT"))

    def policy_history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        """All revisions, the newest first."""
        return answers.read_list(PolicyRevision, self.read(path_of("policies", name.value, "history")))

    def rollback_policy(self, request: ops.PolicyRollback) -> PolicyRevision:
        """Put an earlier revision again."""
        body: Sent = {"to_revision": request.to_revision, "expected_revision": request.expected_revision}
        path = path_of("policies", request.name.value, "rollback")
        return answers.read(PolicyRevision, self.act(path, body, key=request.idempotency_key))

    def create_token(self, request: ops.NewToken) -> ops.MadeToken:
        """Make a token; its secret is told once."""
        scopes = request.scopes
        body: Sent = {
            "name": request.name,
            "role": request.role.value,
            "scopes": None if scopes is None else sorted(str(scope) for scope in scopes),
        }
        # A second attempt could not tell the secret of the first.
        return answers.read(ops.MadeToken, self.ask(path_of("tokens"), body, repeatable=False))

    def list_tokens(self) -> tuple[AccessToken, ...]:
        """All tokens, revoked ones included, the newest first."""
        return answers.read_list(AccessToken, self.read(path_of("tokens")))

    def revoke_token(self, name: str) -> AccessToken:
        """Make a token useless, at once and for good; by its name or id."""
        return answers.read(AccessToken, self.ask(path_of("tokens", name, "revoke"), repeatable=False))

    def capture_status(self) -> ops.CaptureStatus:
        """Whether anything is captured at all."""
        return answers.read(ops.CaptureStatus, self.read(path_of("capture")))

    def pause_capture(self) -> ops.CaptureStatus:
        """Store nothing of any run from now on."""
        return answers.read(ops.CaptureStatus, self.ask(path_of("capture", "pause"), repeatable=True))

    def resume_capture(self) -> ops.CaptureStatus:
        """Capture again."""
        return answers.read(ops.CaptureStatus, self.ask(path_of("capture", "resume"), repeatable=True))

    def list_jobs(self, states: frozenset[JobState] = frozenset()) -> tuple[Job, ...]:
        """Background work that waits, runs or has failed for good."""
        return answers.read_list(Job, self.read(path_of("jobs"), repeated("state", states)))

    def retry_job(self, job_id: JobId) -> Job:
        """Try a dead job again."""
        return answers.read(Job, self.ask(path_of("jobs", job_id, "retry"), repeatable=False))

    def export(self, *, progress: ops.Progress = ops.unwatched) -> ops.ExportAnswer:
        """Write everything to a new file under the server's state root."""
        made = self.ask(path_of("memory", "export"), repeatable=False, timeout_s=LONG_S)
        answer = answers.read(ops.ExportAnswer, made)
        progress(answer.count, answer.count)
        return answer

    def import_records(self, path: str, *, progress: ops.Progress = ops.unwatched) -> ops.ImportAnswer:
        """Read an export of this machine back: equal into an empty store, as candidates into another."""
        with opened_import(path) as file:
            landed = self.upload(path_of("memory", "import"), Upload(file, progress))
        return answers.read(ops.ImportAnswer, landed)

    def backup(self, path: str | None = None, *, progress: ops.Progress = ops.unwatched) -> ops.BackupAnswer:
        """Write a consistent copy of everything on the server, while it is in use."""
        # A daemon on this machine works in another folder than its caller.
        body: Sent = {"path": None if path is None else os.path.abspath(path)}
        made = self.ask(path_of("backup"), body, repeatable=False, timeout_s=LONG_S)
        answer = answers.read(ops.BackupAnswer, made)
        progress(answer.bytes, answer.bytes)
        return answer

    def restore_backup(self, path: str, *, progress: ops.Progress = ops.unwatched) -> ops.BackupAnswer:
        """Not offered: a backup is read into an empty store, and that of a running daemon never is."""
        del path, progress
        raise Refused(
            "a backup is not restored through a running daemon, whose store is in use",
            code="backup.daemon",
            hint="end the daemon with `runlore down`, then restore into an empty state root with --home",
        )

    def doctor(self, *, repair: bool = False) -> ops.Diagnosis:
        """Check everything, and repair what is derived where asked."""
        told = self.ask(path_of("doctor"), {"repair": repair}, repeatable=True, timeout_s=LONG_S)
        return answers.read(ops.Diagnosis, told)

    def status(self) -> ops.Status:
        """What this Runlore is and holds."""
        return answers.read(ops.Status, self.read(path_of("status")))
