"""Running Runlore: policies, capture and jobs."""

from runlore.daemon.background.jobs import queue_enforcing
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.operations.bound import Bound, operation
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.policies.policy import PolicyName, PolicyRevision, check_policy, with_remarks
from runlore.domain.record import JsonObject
from runlore.domain.records.audit import Act
from runlore.domain.runs.job import Job, JobId, JobState
from runlore.flow.policies import current_policy
from runlore.ports import operations as ops
from runlore.ports.store import Switch, Transaction

CAPTURE_PAUSED = "capture.paused"
_JOBS_LISTED_MAX = 500


class ServiceActs(Bound):
    """Policies, capture and jobs."""

    @operation
    def get_policy(self, name: PolicyName) -> PolicyRevision:
        with self.parts.store.snapshot() as snapshot:
            return with_remarks(current_policy(snapshot, name))

    @operation
    def put_policy(self, change: ops.PolicyChange) -> PolicyRevision:
        document = check_policy(change.name, change.policy)
        call = Call(operation="put_policy", request=change, key=change.idempotency_key)

        def do(tx: Transaction, act: Act) -> Done[PolicyRevision]:
            current = _require_revision(tx, change.name, change.expected_revision)
            return self._next_revision(tx, current, document, act)

        return self.acting.perform(call, do, _revision_again)

    @operation
    def policy_history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        with self.parts.store.snapshot() as snapshot:
            return snapshot.policies.history(name)

    @operation
    def rollback_policy(self, request: ops.PolicyRollback) -> PolicyRevision:
        call = Call(operation="rollback_policy", request=request, key=request.idempotency_key)

        def do(tx: Transaction, act: Act) -> Done[PolicyRevision]:
            current = _require_revision(tx, request.name, request.expected_revision)
            wanted = current.revision - 1 if request.to_revision is None else request.to_revision
            document = _document_of(tx, current, wanted)
            return self._next_revision(tx, current, document, act)

        return self.acting.perform(call, do, _revision_again)

    @operation
    def pause_capture(self) -> ops.CaptureStatus:
        return self._switch_capture(paused=True)

    @operation
    def resume_capture(self) -> ops.CaptureStatus:
        return self._switch_capture(paused=False)

    @operation
    def capture_status(self) -> ops.CaptureStatus:
        with self.parts.store.snapshot() as snapshot:
            return _capture_status(snapshot.counters.switch(CAPTURE_PAUSED))

    @operation
    def list_jobs(self, states: frozenset[JobState] = frozenset()) -> tuple[Job, ...]:
        with self.parts.store.snapshot() as snapshot:
            return snapshot.jobs.list(states or frozenset(JobState), limit=_JOBS_LISTED_MAX)

    @operation
    def retry_job(self, job_id: JobId) -> Job:
        with self.parts.store.transaction() as tx:
            return tx.jobs.retry(JobId(askable(job_id, "job")), now=self.parts.clock.now())

    def _next_revision(
        self, tx: Transaction, current: PolicyRevision, document: JsonObject, act: Act
    ) -> Done[PolicyRevision]:
        if current.revision and document == current.policy:
            return Done(with_remarks(current), name=f"{current.name}@{current.revision}")
        revision = PolicyRevision(
            name=current.name,
            revision=current.revision + 1,
            policy=document,
            updated_at=act.at,
            actor=act.actor,
        )
        tx.policies.put(revision)
        queue_enforcing(tx, revision, JobId(self.parts.ids.new("job", act.at)), act.at)
        revision_answer = with_remarks(revision, before=current.policy)
        return Done(revision_answer, name=f"{revision.name}@{revision.revision}")

    def _switch_capture(self, *, paused: bool) -> ops.CaptureStatus:
        with self.parts.store.transaction() as tx:
            switch = tx.counters.switch(CAPTURE_PAUSED)
            if switch is None or switch.on is not paused:
                switch = Switch(
                    name=CAPTURE_PAUSED, on=paused, at=self.parts.clock.now(), actor=self.caller.actor
                )
                tx.counters.set_switch(switch)
        return _capture_status(switch)


def _capture_status(switch: Switch | None) -> ops.CaptureStatus:
    if switch is None:
        return ops.CaptureStatus(paused=False)
    return ops.CaptureStatus(paused=switch.on, since=switch.at, by=switch.actor)


def _require_revision(tx: Transaction, name: PolicyName, expected_revision: int | None) -> PolicyRevision:
    current = current_policy(tx, name)
    if expected_revision is not None and expected_revision != current.revision:
        raise Conflict(
            f"the policy {name} is at revision {current.revision}, not {expected_revision}",
            code="policy.revision",
            hint="look at what has changed, then put it again with that revision",
        )
    return current


def _document_of(tx: Transaction, current: PolicyRevision, wanted: int) -> JsonObject:
    if wanted == 0:
        return check_policy(current.name, {})
    for revision in tx.policies.history(current.name):
        if revision.revision == wanted:
            return check_policy(current.name, revision.policy)
    raise NotFound(
        f"the policy {current.name} has no revision {wanted}",
        code="policy.not-found",
        hint=f"it has the revisions 0 to {current.revision}; 0 are the defaults",
    )


def _revision_again(kept: EarlierResult) -> PolicyRevision:
    policy, _, number = kept.name.rpartition("@")
    earlier = [each for each in kept.tx.policies.history(PolicyName(policy)) if each.revision <= int(number)]
    before = earlier[1].policy if len(earlier) > 1 else check_policy(PolicyName(policy), {})
    return with_remarks(earlier[0], before=before)
