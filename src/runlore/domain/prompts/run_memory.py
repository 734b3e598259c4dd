"""Run memory: the compact episodic read model of one terminal run.

It is built from durable state alone and is not a record. `build_run_memory` is the one builder: redaction
comes before truncation, and the same run always gives the same memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from runlore.domain import limits
from runlore.domain.guard.finding import MARKER
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import Redaction, redact_beginning
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.run import ArtifactId, Run, RunId, RunStatus
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.excerpt import excerpt
from runlore.domain.timestamps import truncate


class CaptureState(StrEnum):
    """Whether the run's semantic capture is still owed."""

    PENDING = "pending"
    COMPLETED = "completed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class RunMemory:
    """What is remembered of a run, within bounds and without secrets."""

    run_id: RunId
    session_id: SessionId
    status: RunStatus
    captured_at: datetime
    summary: str
    request_preview: str | None = None
    outcome_preview: str | None = None
    artifact_ids: tuple[ArtifactId, ...] = ()
    failure_markers: tuple[str, ...] = ()
    scope_keys: tuple[Scope, ...] = ()
    capture: CaptureState = CaptureState.SKIPPED

    def with_capture(self, capture: CaptureState) -> "RunMemory":
        return replace(self, capture=capture)


@dataclass(frozen=True, kw_only=True)
class Capture:
    """What capture has made of a run. It is the receipt that counts; the memory's own is a copy of it.

    `provenance` is that of the run itself: what its own calls read from outside.
    """

    run_id: RunId
    session_id: SessionId
    opened_at: datetime
    state: CaptureState
    provenance: Provenance = TRUSTED


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """A memory, and how many of its fields something was redacted from."""

    memory: RunMemory
    redacted_fields: int


@dataclass(frozen=True, kw_only=True)
class RunText:
    """What the journal says of a run. `said_by` tells whose words the request is where not the user's."""

    request: str = ""
    outcome: str = ""
    said_by: str = ""

    @property
    def own_request(self) -> str:
        """The request where it is the user's, else nothing: others state and decide nothing here."""
        return "" if self.said_by else self.request


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """Where a run memory is found: by its session, and by every scope that saw it."""

    run_id: RunId
    session_id: SessionId
    captured_at: datetime
    scope_keys: tuple[Scope, ...]
    capture: CaptureState


def pointer_to(memory: RunMemory) -> Pointer:
    return Pointer(
        run_id=memory.run_id,
        session_id=memory.session_id,
        captured_at=memory.captured_at,
        scope_keys=memory.scope_keys,
        capture=memory.capture,
    )


def build_run_memory(
    run: Run,
    text: RunText,
    scopes: Sequence[Scope],
    *,
    redact_pii: bool,
    capture: CaptureState = CaptureState.SKIPPED,
) -> Remembered:
    assert run.finished_at is not None, "only a terminal run is remembered"
    parts = (text.request, text.outcome, run.error, run.reason)
    request, outcome, error, reason = (
        redact_beginning(strip_injected(part).strip(), personal=redact_pii) for part in parts
    )
    memory = RunMemory(
        session_id=run.session_id,
        run_id=run.run_id,
        captured_at=truncate(run.finished_at),
        status=run.status,
        summary=_summary(run.status, request.text, outcome.text, error.text or reason.text),
        request_preview=_preview(request),
        outcome_preview=_preview(outcome),
        artifact_ids=tuple(dict.fromkeys(run.artifact_ids))[: limits.RUN_ARTIFACTS_MAX],
        failure_markers=_markers(run.status, error.text, reason.text),
        scope_keys=tuple(scopes),
        capture=capture,
    )
    redacted_fields = sum(map(_lost_something, (request, outcome, error, reason)))
    return Remembered(memory=memory, redacted_fields=redacted_fields)


def _lost_something(part: Redaction) -> bool:
    """Whether something was redacted now, or when it was journalled."""
    return part.count > 0 or MARKER in part.text


def _preview(part: Redaction) -> str | None:
    return excerpt(part.text, limits.PREVIEW_CHARS_MAX) or None


def _markers(status: RunStatus, error: str, reason: str) -> tuple[str, ...]:
    if status is RunStatus.COMPLETED:
        return ()
    markers = [f"{name}: {text}" for name, text in (("error", error), ("reason", reason)) if text]
    return tuple(excerpt(marker, limits.PREVIEW_CHARS_MAX) for marker in (status.value, *markers))


def _summary(status: RunStatus, request: str, outcome: str, trouble: str) -> str:
    """Request and result, each bounded first so that neither takes the other's room; else a status note."""
    lines = []
    if request:
        lines.append(f"Request: {excerpt(request, limits.PREVIEW_CHARS_MAX)}")
    if outcome:
        lines.append(f"Result: {excerpt(outcome, limits.PREVIEW_CHARS_MAX)}")
    if status is not RunStatus.COMPLETED:
        note = f"The run {_ENDED[status]}"
        lines.append(f"{note}: {excerpt(trouble, limits.PREVIEW_CHARS_MAX)}" if trouble else f"{note}.")
    elif not outcome:
        lines.append("The run completed without a reply.")
    return excerpt("\n".join(lines), limits.RUN_SUMMARY_CHARS_MAX)


_ENDED = {
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "was interrupted",
    RunStatus.CANCELLED: "was cancelled",
}
