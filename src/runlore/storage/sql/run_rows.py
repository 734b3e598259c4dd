"""Runs as rows, and back. Error and reason are kept apart: see `texts`."""

from collections.abc import Sequence
from typing import cast

from runlore.domain.record import JsonObject
from runlore.domain.run import ArtifactId, MemoryState, ProcessId, Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import Row, SqlValue

COLUMNS = (
    "run_id",
    "session_id",
    "status",
    "executor",
    "memory",
    "input_number",
    "opened_at_ms",
    "active_at_ms",
    "finished_at_ms",
    "revision",
    "text_revision",
    "body",
)
JOINED = texts.join_clause("run", "r", "run_id")
SELECTED = f"{', '.join(f'r.{column}' for column in COLUMNS)}, {texts.SELECTED}"


def owner(run_id: RunId) -> str:
    """Whose text a run's is."""
    return f"run:{run_id}"


def text_of(run: Run) -> JsonObject:
    """What the run says, apart from what it is looked for by."""
    text = {"error": run.error, "reason": run.reason}
    return {name: value for name, value in text.items() if value}


def body_of(run: Run) -> str:
    """The rest of a run, without any content."""
    return to_json(
        {
            "agent": run.agent,
            "model": run.model,
            "imported": run.imported,
            "created_by": run.created_by,
            "artifact_ids": list(run.artifact_ids),
        }
    )


def values(run: Run, text_revision: int | None) -> tuple[SqlValue, ...]:
    """The values of `COLUMNS`."""
    columns.check_storable(run.run_id, run.session_id, run.executor)
    return (
        run.run_id,
        run.session_id,
        run.status.value,
        run.executor,
        run.memory.value,
        run.input_number,
        to_milliseconds(run.opened_at),
        to_milliseconds(run.active_at),
        columns.milliseconds(run.finished_at),
        run.revision,
        text_revision,
        body_of(run),
    )


def read(row: Row) -> Run:
    """The run of a row of `SELECTED`."""
    run_id, session_id, status, executor, memory, number, *times, revision, _, body = row[: len(COLUMNS)]
    opened_at_ms, active_at_ms, finished_at_ms = times
    text = texts.read(row)
    try:
        plain = columns.from_json(body)
        return Run(
            run_id=RunId(run_id),
            session_id=SessionId(session_id),
            status=RunStatus(status),
            agent=columns.optional_text(plain["agent"]),
            model=columns.optional_text(plain["model"]),
            executor=None if executor is None else ProcessId(executor),
            imported=bool(plain["imported"]),
            input_number=number,
            created_by=str(plain["created_by"]),
            opened_at=from_milliseconds(opened_at_ms),
            active_at=from_milliseconds(active_at_ms),
            finished_at=columns.moment(finished_at_ms),
            error=str(text.get("error", "")),
            reason=str(text.get("reason", "")),
            artifact_ids=tuple(map(ArtifactId, cast("Sequence[str]", plain["artifact_ids"]))),
            memory=MemoryState(memory),
            revision=revision,
        )
    except columns.UNREADABLE as error:
        raise columns.damage_error(f"run {run_id}") from error
