"""The runs that executed promoted skills, each once for a fingerprint, and the runs that called them."""

from collections.abc import Sequence

from runlore.domain.errors import RunloreError
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import Execution, ExecutionKind
from runlore.domain.text.storable import is_storable, make_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.session import Parameters, Row, SqlSession, SqlStatement

_COLUMNS = "run_id, skill_name, fingerprint, kind, at_ms, session_id, calling_run_id"
_INSERT = f"INSERT INTO skill_executions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_OF_RUN = (
    f"SELECT {_COLUMNS} FROM skill_executions WHERE skill_name = ? AND (run_id = ? OR calling_run_id = ?)"
    " ORDER BY at_ms, run_id, fingerprint"
)
_OF_SKILL = f"SELECT {_COLUMNS} FROM skill_executions WHERE skill_name = ?"
_DELETE = "DELETE FROM skill_executions WHERE run_id = ? OR calling_run_id = ?"


def add(session: SqlSession, execution: Execution) -> None:
    """Keep one; the same run at the same fingerprint is kept as it was first told."""
    columns.check_storable(
        execution.run_id, execution.fingerprint, execution.session_id, execution.calling_run_id
    )
    row: Parameters = (
        execution.run_id,
        execution.skill_name,
        execution.fingerprint,
        execution.kind.value,
        to_milliseconds(execution.at),
        execution.session_id,
        execution.calling_run_id,
    )
    session.run([SqlStatement(sql=_INSERT, rows=[row])])


def of_run(session: SqlSession, skill_name: str, run_id: RunId) -> tuple[Execution, ...]:
    run = make_storable(run_id)
    return tuple(map(_read, session.rows(_OF_RUN, (make_storable(skill_name), run, run))))


def check(session: SqlSession, skill_name: str) -> None:
    for row in session.stream(_OF_SKILL, (skill_name,)):
        _read(row)


def delete(session: SqlSession, run_ids: Sequence[RunId]) -> None:
    rows: list[Parameters] = [(run_id, run_id) for run_id in sorted(filter(is_storable, set(run_ids)))]
    session.run([SqlStatement(sql=_DELETE, rows=rows)])


def _read(row: Row) -> Execution:
    run_id, skill_name, fingerprint, kind, at_ms, session_id, calling_run_id = row
    try:
        return Execution(
            run_id=RunId(run_id),
            skill_name=skill_name,
            fingerprint=fingerprint,
            kind=ExecutionKind(kind),
            at=from_milliseconds(at_ms),
            session_id=None if session_id is None else SessionId(session_id),
            calling_run_id=None if calling_run_id is None else RunId(calling_run_id),
        )
    except (RunloreError, *columns.UNREADABLE) as error:
        raise columns.damage_error(f"the execution of promoted skill {skill_name} by run {run_id}") from error
