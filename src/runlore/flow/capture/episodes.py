"""The episode of a run: what is appended to the records when it ends. It holds what the run memory shows."""

from dataclasses import replace
from datetime import timedelta

from runlore.domain import limits
from runlore.domain.guard import find_secrets
from runlore.domain.guard.finding import REDACTION_MARKER
from runlore.domain.policies.policy import RunMemoryPolicy
from runlore.domain.prompts.run_memory import RunMemory, RunText, build_run_memory
from runlore.domain.record import JsonValue, Kind, Record, Sensitivity, Source
from runlore.domain.records.admission import Draft
from runlore.domain.run import Run, RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.text.excerpt import excerpt


def run_episode(run: Run, text: RunText, policy: RunMemoryPolicy) -> Draft:
    """A run's episode: session scope, sensitive, gone with the run memories of its time."""
    memory = build_run_memory(run, text, (), redact_pii=policy.redact_pii).memory
    draft = Draft(
        kind=Kind.FAILURE if run.status is RunStatus.FAILED else Kind.RUN,
        summary=unless_secret(memory.summary) or f"The run ended as {run.status}.",
        metadata=_metadata(memory),
        source=_source(run),
    )
    return _belonging(run, policy, draft)


def scratch_episode(run: Run, scratch: tuple[Record, ...], policy: RunMemoryPolicy) -> Draft:
    notes = "\n".join(f"- {record.summary}" for record in scratch)
    summary = excerpt(f"Notes of the run:\n{notes}", limits.SUMMARY_CHARS_MAX)
    draft = Draft(
        kind=Kind.RUN,
        summary=unless_secret(summary) or f"The run left {len(scratch)} notes.",
        metadata={"notes": len(scratch), "status": run.status.value},
        source=_source(run, scratch),
    )
    return _belonging(run, policy, draft)


def _belonging(run: Run, policy: RunMemoryPolicy, draft: Draft) -> Draft:
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
    told: dict[str, JsonValue] = {
        "status": memory.status.value,
        "request_preview": unless_secret(memory.request_preview or ""),
        "outcome_preview": unless_secret(memory.outcome_preview or ""),
        "failure_markers": [marker for marker in map(unless_secret, memory.failure_markers) if marker],
    }
    return {name: value for name, value in told.items() if value}


def unless_secret(text: str) -> str:
    """The text where nothing in it looks like a secret, cut as it is; else nothing: a cut can make one."""
    return "" if any(found.rule != REDACTION_MARKER for found in find_secrets(text)) else text
