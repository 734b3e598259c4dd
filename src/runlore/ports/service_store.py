"""The store's collections for the service itself: jobs, policies, tokens, counters, switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from runlore.domain.access import AccessToken, TokenId
    from runlore.domain.policies.policy import PolicyName, PolicyRevision
    from runlore.domain.runs.job import Job, JobId, JobKind, JobState


class Jobs(Protocol):
    """The lease-based job table that all background work uses. Finished jobs are deleted."""

    def put(self, job: Job, *, revives: bool = True) -> bool:
        """Queue a job, or with a holder and fence 1 queue it as claimed already; False, and nothing changed,
        when one of this kind and subject waits or is leased. A dead one makes room for it: whatever keeps
        being asked for is tried again, from its first attempt. Unless it `revives`, a dead one stays."""

    def claim(
        self,
        kinds: frozenset[JobKind],
        *,
        holder: str,
        now: datetime,
        lease_until: datetime,
        passing_over: str | None = None,
    ) -> Job | None:
        """Take one job that waits and is due, or whose lease has lapsed: the one due longest. Its fence and
        its attempts go up by one. Two claimers never get the same one. Those whose `error` is `passing_over`
        are left for others. One whose lease has lapsed at its last attempt is put among the dead instead."""

    def heartbeat(self, job: Job, *, lease_until: datetime) -> None:
        """Hold on to a job; Conflict (`job.lost`) when its fence is no longer ours."""

    def check(self, job: Job) -> None:
        """Keep the job ours to the end of this transaction; Conflict (`job.lost`) when its fence is not."""

    def is_due(self, kinds: frozenset[JobKind], now: datetime, *, passing_over: str | None = None) -> bool:
        """Whether there is one of these kinds that `claim` would take now, or put among the dead."""

    def hasten(self, kinds: frozenset[JobKind], now: datetime) -> int:
        """Let those of these kinds that wait for anything be due now, and forget what they waited for: how
        many."""

    def is_held(self, job: Job) -> bool: ...

    def finish(self, job: Job) -> None:
        """Delete a job that is done; Conflict (`job.lost`) when its fence is no longer ours."""

    def fail(self, job: Job, *, error: str, retry_at: datetime | None) -> None:
        """Let a job wait until a moment, or with None among the dead; Conflict (`job.lost`) as above."""

    def postpone(self, job: Job, *, until: datetime, reason: str) -> None:
        """Let a job wait until a moment for what is not its fault, such as a spent budget: the attempt does
        not count, and `error` tells the reason; Conflict (`job.lost`) as above."""

    def retry(self, job_id: JobId, *, now: datetime) -> Job:
        """Let a dead job wait again, its attempts at 0; NotFound (`job.not-found`), Conflict (`job.move`)."""

    def find(self, kind: JobKind, subject: str) -> Job | None: ...

    def cancel(self, kind: JobKind, subject: str) -> None:
        """Delete a job whoever holds it, for what it was about is gone."""

    def list(self, states: frozenset[JobState], *, limit: int) -> tuple[Job, ...]:
        """Jobs in these states, the one due longest first."""

    def count(self) -> Mapping[tuple[JobKind, JobState], int]: ...


class Policies(Protocol):
    """The revisions of every policy."""

    def current(self, name: PolicyName) -> PolicyRevision | None:
        """The latest revision; None when nobody has changed the defaults."""

    def history(self, name: PolicyName) -> tuple[PolicyRevision, ...]:
        """All revisions, the newest first."""

    def put(self, revision: PolicyRevision) -> None:
        """Write the next revision; Conflict (`policy.moved`) when that number is taken."""


@dataclass(frozen=True, kw_only=True)
class DayUse:
    """What one purpose has asked of models on one day (UTC, `2026-01-31`)."""

    purpose: str
    day: str
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0


class ModelUse(Protocol):
    """How much models were used, by purpose and day: what budgets are kept by, and what `status` shows."""

    def begin(self, purpose: str, day: str, *, calls_max: int, tokens_max: int) -> bool:
        """Count one call; False, and nothing counted, where the day's calls or tokens are spent already."""

    def end(self, use: DayUse) -> None:
        """Add what a call took (its tokens, its cost, whether it failed) to its day; `calls` is not added."""

    def since(self, day: str) -> tuple[DayUse, ...]:
        """All purposes from a day on, the latest day first."""


class Tokens(Protocol):
    """What is kept of tokens."""

    def by_digest(self, digest: str) -> AccessToken | None:
        """The token whose secret has this digest, revoked or not."""

    def find(self, name: str) -> AccessToken | None:
        """The token with this name or id."""

    def everything(self) -> tuple[AccessToken, ...]:
        """All tokens, the newest first."""

    def insert(self, token: AccessToken) -> None:
        """Write a new token; Conflict (`token.exists`) when the name is taken, by a revoked one too."""

    def revoke(self, token_id: TokenId, at: datetime) -> None:
        """Note the revocation; the first one's time stays."""


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Something that is on or off, since when and by whom."""

    name: str
    on: bool
    at: datetime
    actor: str


class Counters(Protocol):
    """Totals that survive restarts, and switches."""

    def values(self, prefix: str = "") -> dict[str, int]:
        """All counters whose names begin so."""

    def add(self, amounts: Mapping[str, int]) -> None:
        """Add to counters, made where they are missing. Call it last in a transaction: rows are contended."""

    def switch(self, name: str) -> Switch | None:
        """A switch; None when nobody has touched it."""

    def set_switch(self, switch: Switch) -> None: ...

    def note(self, name: str) -> str | None: ...

    def set_note(self, name: str, text: str) -> None: ...

    def newest_at(self) -> datetime | None:
        """The latest moment that a record or a run is stamped with; None where there are none."""

    def prune_answers(self, before: datetime) -> int:
        """Delete kept answers of idempotency keys from before a moment: how many there were."""

    def forget_answers(self, ids: Sequence[str]) -> int:
        """Delete kept answers that name any of these records, runs or sessions: how many there were."""
