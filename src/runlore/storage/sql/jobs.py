"""The job table: claims that nobody shares, and writes that only the latest claimer's fence lets through."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from runlore.domain import limits
from runlore.domain.errors import NotFound
from runlore.domain.runs.job import JOB, Job, JobId, JobKind, JobMove, JobState, lease_lost, never_ended
from runlore.domain.text.safe_text import make_storable
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.session import Parameters, Row, SqlCollection, SqlValue, in_list, writing

_COLUMNS = (
    *("job_id", "kind", "subject", "state", "attempts", "due_at_ms", "lease_until_ms", "holder"),
    *("fence", "error", "created_at_ms"),
)
_ALL = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO jobs ({_ALL}) VALUES ({in_list(_COLUMNS)}) ON CONFLICT (kind, subject) DO "
_PUT_NEW = _INSERT + "NOTHING"
# A dead job gives its place to the new one, id and all: nobody's earlier claim fits that.
_PUT = (
    _INSERT
    + "UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS if column not in ("kind", "subject"))
    + " WHERE jobs.state = 'dead'"
)
# The first term is that of the index whose order this is.
_CLAIMABLE = (
    "SELECT job_id FROM jobs WHERE state <> 'dead' AND kind IN ({kinds})"
    " AND ((state = 'waiting' AND (due_at_ms <= ? OR due_at_ms > ?))"
    " OR (state = 'leased' AND (lease_until_ms <= ? OR lease_until_ms > ?))){unless}"
    " ORDER BY due_at_ms, job_id LIMIT ?"
)
# Looked for once, however the planner would rather have it: else more than these could be taken.
_CLAIM = (
    "WITH due AS MATERIALIZED ({claimable})"
    " UPDATE jobs SET state = ?, attempts = attempts + 1, fence = fence + 1, holder = ?, lease_until_ms = ?"
    f" WHERE job_id IN (SELECT job_id FROM due) RETURNING {_ALL}"
)
_NEW_AND_DUE = "state = 'waiting' AND attempts = 0 AND due_at_ms <= ?"
_HASTEN = (
    "UPDATE jobs SET due_at_ms = CASE WHEN due_at_ms > ? THEN ? ELSE due_at_ms END, error = ''"
    " WHERE state = 'waiting' AND (due_at_ms > ? OR error <> '') AND kind IN ({kinds})"
)
_HELD = "job_id = ? AND fence = ? AND state = 'leased'"
_HEARTBEAT = f"UPDATE jobs SET state = ?, lease_until_ms = ? WHERE {_HELD}"
_CHECK = f"SELECT 1 FROM jobs WHERE {_HELD}"
_FENCES = "SELECT job_id, fence FROM jobs WHERE state = 'leased' AND job_id IN ({ids})"
_FINISH = f"DELETE FROM jobs WHERE {_HELD}"
_FAIL = (
    "UPDATE jobs SET state = ?, error = ?, due_at_ms = COALESCE(?, due_at_ms), lease_until_ms = NULL,"
    f" holder = NULL WHERE {_HELD}"
)
# The attempt that the claim counted is taken back, here and below.
_BURY = (
    "UPDATE jobs SET state = ?, error = ?, lease_until_ms = NULL, holder = NULL, attempts = attempts - 1"
    f" WHERE {_HELD}"
)
_POSTPONE = (
    "UPDATE jobs SET state = ?, error = ?, due_at_ms = ?, lease_until_ms = NULL, holder = NULL,"
    f" attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE {_HELD}"
)
_RETRY = "UPDATE jobs SET state = ?, attempts = 0, due_at_ms = ? WHERE job_id = ?"
_FIND = f"SELECT {_ALL} FROM jobs WHERE kind = ? AND subject = ?"
_CANCEL = "DELETE FROM jobs WHERE kind = ? AND subject = ?"


class SqlJobs(SqlCollection):
    """The lease-based job table that all background work uses. Finished jobs are deleted."""

    @writing
    def put(self, *jobs: Job, revives: bool = True) -> int:
        """Queue jobs, or one with a holder and fence 1 as claimed already: how many were. One is not, and
        nothing changed, where one of its kind and subject waits or is leased. A dead one makes room for it:
        whatever keeps being asked for is tried again, from its first attempt. Unless it `revives`, a dead one
        stays."""
        for job in jobs:
            held = job.state is JobState.LEASED
            assert held == (job.holder is not None), "whoever holds a job has leased it"
            columns.check_storable(job.job_id, job.subject, job.holder)
        self._session.make_room(freeing=False)
        return self._execute(_PUT if revives else _PUT_NEW, *map(_values, jobs))

    @writing
    def claim(
        self,
        kinds: frozenset[JobKind],
        *,
        holder: str,
        now: datetime,
        lease_until: datetime,
        passing_over: str | None = None,
    ) -> Job | None:
        """Take the job due longest, of those that wait or whose lease has lapsed: fence and attempts go up by
        one, and two claimers never get the same one. One that a clock that was ahead has put off for
        longer than any job waits, or is leased, does not wait for that. Those whose `error` is `passing_over`
        are left for others.

        Only whoever dies at it, or cannot write any more, lets the lease of a last attempt lapse: such a job
        is put among the dead.
        """
        if not kinds:
            return None
        claimable = _claimable(kinds, now, passing_over)
        while found := self._claim(claimable, holder, lease_until):
            [job] = found
            if job.attempts <= limits.JOB_ATTEMPTS_MAX:
                return job
            dead = JOB.after(job.state, JobMove.GIVE_UP, name=job.job_id)
            self._as_holder([job], _BURY, dead.value, never_ended(job)[: limits.ERROR_CHARS_MAX])
        return None

    @writing
    def claim_more(
        self, job: Job, *, limit: int, now: datetime, passing_over: str | None = None
    ) -> tuple[Job, ...]:
        """Take up to so many beside a job that was claimed now: of its kind, for as long, due longest first.
        What anybody has tried before is left for others."""
        assert job.holder is not None, "nobody holds it"
        assert job.lease_until is not None, "nobody holds it"
        if limit <= 0:
            return ()
        claimable = _claimable(frozenset({job.kind}), now, passing_over, is_new=True, limit=limit)
        return self._claim(claimable, job.holder, job.lease_until)

    def _claim(
        self, claimable: tuple[str, tuple[SqlValue, ...]], holder: str, lease_until: datetime
    ) -> tuple[Job, ...]:
        leased = JOB.after(JobState.WAITING, JobMove.CLAIM, name=holder)
        assert leased is JOB.after(JobState.LEASED, JobMove.RECLAIM, name=holder)
        due, asked = claimable
        sql = _CLAIM.format(claimable=due + self._session.dialect.skip_locked)
        rows = self._session.rows(sql, (*asked, leased.value, holder, to_milliseconds(lease_until)))
        return tuple(sorted(map(_read, rows), key=lambda job: (job.due_at, job.job_id)))

    def is_due(self, kinds: frozenset[JobKind], now: datetime, *, passing_over: str | None = None) -> bool:
        """Whether there is one of these kinds that `claim` would take now, or put among the dead."""
        return bool(kinds) and bool(self._session.rows(*_claimable(kinds, now, passing_over)))

    def count_due(self, kinds: frozenset[JobKind], now: datetime) -> int:
        """How many of these kinds nobody has begun yet, and could."""
        wanted = sorted(kind.value for kind in kinds)
        sql = f"SELECT count(*) FROM jobs WHERE kind IN ({in_list(wanted)}) AND {_NEW_AND_DUE}"
        return self._number(sql, *wanted, to_milliseconds(now))

    @writing
    def hasten(self, kinds: frozenset[JobKind], now: datetime) -> int:
        """Let those of these kinds that wait for anything be due now, and forget what they waited for: how
        many."""
        wanted = sorted(kind.value for kind in kinds)
        if not wanted:
            return 0
        now_ms = to_milliseconds(now)
        return self._execute(_HASTEN.format(kinds=in_list(wanted)), (now_ms, now_ms, now_ms, *wanted))

    @writing
    def heartbeat(self, job: Job, *, lease_until: datetime) -> None:
        """Hold on to a job; Conflict (`job.lost`) when its fence is no longer ours."""
        state = JOB.after(JobState.LEASED, JobMove.HEARTBEAT, name=job.job_id)
        self._as_holder([job], _HEARTBEAT, state.value, to_milliseconds(lease_until))

    @writing
    def check(self, job: Job) -> None:
        """Keep the job ours to the end of this transaction; Conflict (`job.lost`) when its fence is not."""
        if not self._session.rows(_CHECK + self._session.dialect.for_update, (job.job_id, job.fence)):
            raise lease_lost(job)

    @writing
    def hold(self, jobs: Sequence[Job]) -> list[Job]:
        """Keep several as `check` does: those that are ours. Nobody is waited for, who could wait for us too:
        what another puts again at this moment is left out."""
        ids = [job.job_id for job in jobs]
        sql = _FENCES.format(ids=in_list(ids)) + self._session.dialect.skip_locked
        fences: dict[str, int] = dict(self._session.rows(sql, ids)) if ids else {}
        return [job for job in jobs if fences.get(job.job_id) == job.fence]

    def is_held(self, job: Job) -> bool:
        return bool(self._session.rows(_CHECK, (job.job_id, job.fence)))

    @writing
    def finish(self, *jobs: Job) -> None:
        """Delete jobs that are done; Conflict (`job.lost`) when the fence of one is no longer ours."""
        self._as_holder(jobs, _FINISH)

    @writing
    def fail(self, job: Job, *, error: str, retry_at: datetime | None) -> None:
        """Let a job wait until a moment, or with None among the dead; Conflict (`job.lost`) as above."""
        move = JobMove.GIVE_UP if retry_at is None else JobMove.FAIL
        state = JOB.after(JobState.LEASED, move, name=job.job_id)
        message = make_storable(error)[: limits.ERROR_CHARS_MAX]
        self._as_holder([job], _FAIL, state.value, message, columns.milliseconds(retry_at))

    @writing
    def postpone(self, job: Job, *, until: datetime, reason: str) -> None:
        """Let a job wait until a moment for what is not its fault, such as a spent budget: the attempt does
        not count, and `error` tells the reason; Conflict (`job.lost`) as above."""
        state = JOB.after(JobState.LEASED, JobMove.POSTPONE, name=job.job_id)
        message = make_storable(reason)[: limits.ERROR_CHARS_MAX]
        self._as_holder([job], _POSTPONE, state.value, message, to_milliseconds(until))

    @writing
    def retry(self, job_id: JobId, *, now: datetime) -> Job:
        """Let a dead job wait again, its attempts at 0; NotFound (`job.not-found`), Conflict (`job.move`)."""
        locked = f"SELECT {_ALL} FROM jobs WHERE job_id = ?"
        rows = self._session.rows(locked + self._session.dialect.for_update, (make_storable(job_id),))
        if not rows:
            raise NotFound(
                f"there is no job {job_id!r}",
                code="job.not-found",
                hint="the list of jobs shows the ids; a finished job is no longer there",
            )
        job = _read(rows[0])
        if job.state is not JobState.DEAD:
            return job
        state = JOB.after(job.state, JobMove.RETRY, name=job_id)
        self._execute(_RETRY, (state.value, to_milliseconds(now), job_id))
        return _read(self._session.rows(f"SELECT {_ALL} FROM jobs WHERE job_id = ?", (job_id,))[0])

    def find(self, kind: JobKind, subject: str) -> Job | None:
        rows = self._session.rows(_FIND, (kind.value, make_storable(subject)))
        return _read(rows[0]) if rows else None

    @writing
    def cancel(self, kind: JobKind, subject: str) -> None:
        """Delete a job whoever holds it, for what it was about is gone."""
        self._execute(_CANCEL, (kind.value, subject))

    def list(self, states: frozenset[JobState], *, limit: int) -> tuple[Job, ...]:
        """Jobs in these states, the one due longest first."""
        wanted = sorted(state.value for state in states)
        if not wanted or limit <= 0:
            return ()
        condition = f"state IN ({in_list(wanted)})"
        sql = f"SELECT {_ALL} FROM jobs WHERE {condition} ORDER BY due_at_ms, job_id LIMIT ?"
        return tuple(_read(row) for row in self._session.rows(sql, (*wanted, limit)))

    def count(self) -> dict[tuple[JobKind, JobState], int]:
        rows = self._session.rows("SELECT kind, state, count(*) FROM jobs GROUP BY kind, state")
        return {(JobKind(kind), JobState(state)): number for kind, state, number in rows}

    def _as_holder(self, jobs: Sequence[Job], sql: str, *values: SqlValue) -> None:
        """What only the holder may write; nothing is written when another has taken over one of them."""
        if self._execute(sql, *((*values, job.job_id, job.fence) for job in jobs)) != len(jobs):
            raise lease_lost(jobs[0])


def _claimable(
    kinds: frozenset[JobKind],
    now: datetime,
    passing_over: str | None,
    *,
    is_new: bool = False,
    limit: int = 1,
) -> tuple[str, tuple[SqlValue, ...]]:
    wanted, now_ms = sorted(kind.value for kind in kinds), to_milliseconds(now)
    unless, passed = ("", ()) if passing_over is None else (" AND error <> ?", (passing_over,))
    unless += " AND attempts = 0" if is_new else ""
    due = (now_ms, now_ms + 1_000 * limits.JOB_DUE_S_MAX)
    lapsed = (now_ms, now_ms + 1_000 * limits.JOB_LEASE_S_MAX)
    return _CLAIMABLE.format(kinds=in_list(wanted), unless=unless), (*wanted, *due, *lapsed, *passed, limit)


def _values(job: Job) -> Parameters:
    return columns.values_of(replace(job, error=make_storable(job.error)), _COLUMNS)


def _read(row: Row) -> Job:
    with columns.Readable(f"job {row[0]}"):
        return Job(**columns.fields_of(Job, _COLUMNS, row))
