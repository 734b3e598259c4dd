"""The end of a run: its terminal status, its event, and the memory that is owed from then on.

An episode is appended to the records when a run ends. It holds what the run memory shows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from runlore.domain import limits
from runlore.domain.errors import Conflict, Corrupt, Invalid
from runlore.domain.guard import find_secrets
from runlore.domain.guard.finding import REDACTION_MARKER
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.prompts.run_memory import RunMemory, RunText, build_run_memory
from runlore.domain.record import JsonValue, Kind, Record, Sensitivity, Source
from runlore.domain.records.contracts import check_text
from runlore.domain.run import MOVE_TO, TERMINAL, ArtifactId, MemoryState, Run, RunStatus, apply_run_move
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.runs.journal import text_of, words_of
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.text.excerpt import excerpt
from runlore.ports.ids import Ids
from runlore.ports.store import Collections, Transaction

if TYPE_CHECKING:
    from runlore.domain.records import admission
else:
    admission = LazyModule("runlore.domain.records.admission")

SESSION_ENDED = "the session ended"
PROCESS_DIED = "the process that worked it ended"


@dataclass(frozen=True, kw_only=True)
class RunEnding:
    """How a run ends. `reason` is Runlore's own, `error` the agent's."""

    status: RunStatus
    error: str = ""
    reason: str = ""
    artifact_ids: tuple[ArtifactId, ...] = ()
    summarise_scratch: bool = False


def interruption(reason: str) -> RunEnding:
    return RunEnding(status=RunStatus.INTERRUPTED, reason=reason)


def check_ending(ending: RunEnding) -> RunEnding:
    """An ending as it can be kept: a terminal status, the error without secrets and bounded."""
    if ending.status not in TERMINAL:
        raise Invalid(
            f"{ending.status} is not an end",
            code="run.status",
            hint=f"a run ends as one of: {', '.join(sorted(TERMINAL))}",
        )
    clean = redact_text(strip_injected(check_text("the error", ending.error)).strip()).text
    return replace(ending, error=excerpt(clean, limits.ERROR_CHARS_MAX))


def is_ended_so(run: Run, ending: RunEnding) -> bool:
    """Whether an external run has this end already; a conflict where it has another, or is executed by us."""
    if run.executor is not None:
        raise Conflict(
            f"run {run.run_id!r} is worked by Runlore itself, and ends by its own work",
            code="run.executed",
            hint="cancel it instead",
        )
    return run.status is ending.status


def end_run(tx: Transaction, run: Run, ending: RunEnding, *, at: datetime, remember: bool) -> Run:
    """Write the terminal status and its event. With `remember` the run's memory is owed from here on."""
    kept = tx.runs.artifact_names(run.run_id)
    for artifact_id in ending.artifact_ids:
        if artifact_id not in kept:
            raise Invalid(
                f"run {run.run_id!r} has no artifact {artifact_id!r:.80}",
                code="run.artifact",
                hint="add the artifact before the run ends, or leave it out",
            )
    after = apply_run_move(run, MOVE_TO[ending.status], at, reason=ending.reason, error=ending.error)
    after = replace(
        after,
        artifact_ids=tuple(dict.fromkeys((*run.artifact_ids, *kept))),
        memory=MemoryState.PENDING if remember else MemoryState.NONE,
    )
    tx.runs.update(after, expected_revision=run.revision)
    tx.journal.append(run.session_id, run.run_id, [status_entry(after)], at)
    return after


def owe_memory(tx: Transaction, run: Run, *, ids: Ids, holder: str, at: datetime) -> Job:
    """The job of writing a run's memory, ours already; whoever comes after us takes it over when we die."""
    job = Job(
        job_id=JobId(ids.new("job", at)),
        kind=JobKind.REMEMBER,
        subject=run.run_id,
        state=JobState.LEASED,
        attempts=1,
        due_at=at,
        lease_until=at + timedelta(seconds=limits.JOB_LEASE_S),
        holder=holder,
        fence=1,
        created_at=at,
    )
    tx.jobs.put(job)
    return job


def run_text(collections: Collections, run: Run) -> RunText:
    """What the journal says of a run: its request, and the latest text of its agent.

    What is damaged says nothing: a run ends and is remembered without it rather than never.
    """
    request, outcome, said_by = "", "", ""
    with suppress(Corrupt):
        for event in collections.journal.range(run.session_id, run.input_number, run.input_number):
            request, said_by = text_of(event.body), words_of(event.body)
    with suppress(Corrupt):
        outcome = collections.journal.latest_text(run.run_id)
    return RunText(request=request, outcome=outcome, said_by=said_by)


def run_episode(run: Run, text: RunText, policy: RunMemoryPolicy) -> admission.Draft:
    """A run's episode: session scope, sensitive, gone with the run memories of its time."""
    memory = build_run_memory(run, text, (), redact_pii=policy.redact_pii).memory
    draft = admission.Draft(
        kind=Kind.FAILURE if run.status is RunStatus.FAILED else Kind.RUN,
        summary=unless_secret(memory.summary) or f"The run ended as {run.status}.",
        metadata=_metadata(memory),
        source=_source(run),
    )
    return _belonging(run, policy, draft)


def scratch_episode(run: Run, scratch: tuple[Record, ...], policy: RunMemoryPolicy) -> admission.Draft:
    notes = "\n".join(f"- {record.summary}" for record in scratch)
    summary = excerpt(f"Notes of the run:\n{notes}", limits.SUMMARY_CHARS_MAX)
    draft = admission.Draft(
        kind=Kind.RUN,
        summary=unless_secret(summary) or f"The run left {len(scratch)} notes.",
        metadata={"notes": len(scratch), "status": run.status.value},
        source=_source(run, scratch),
    )
    return _belonging(run, policy, draft)


def _belonging(run: Run, policy: RunMemoryPolicy, draft: admission.Draft) -> admission.Draft:
    assert run.finished_at is not None, "an episode is written of a run that ended"
    return replace(
        draft,
        scope=Scope(ScopeKind.SESSION, run.session_id),
        sensitivity=Sensitivity.SENSITIVE,
        expires_at=run.finished_at + timedelta(days=policy.retention_days),
    )


def _source(run: Run, made_from: tuple[Record, ...] = ()) -> Source:
    return Source(
        session_id=run.session_id,
        run_id=run.run_id,
        agent=run.agent,
        record_ids=tuple(record.record_id for record in made_from),
    )


def _metadata(memory: RunMemory) -> dict[str, JsonValue]:
    metadata: dict[str, JsonValue] = {
        "status": memory.status.value,
        "request_preview": unless_secret(memory.request_preview or ""),
        "outcome_preview": unless_secret(memory.outcome_preview or ""),
        "failure_markers": [marker for marker in map(unless_secret, memory.failure_markers) if marker],
    }
    return {name: value for name, value in metadata.items() if value}


def unless_secret(text: str) -> str:
    """The text where nothing in it looks like a secret, cut as it is; else nothing: a cut can make one."""
    return "" if any(found.rule != REDACTION_MARKER for found in find_secrets(text)) else text
