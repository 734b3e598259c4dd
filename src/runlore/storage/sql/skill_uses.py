"""Which runs used which skills, each pair once, and the counts that stand in the skills' rows for it."""

from collections.abc import Sequence
from datetime import datetime

from runlore.domain.run import RunId
from runlore.domain.skill import SkillId, SkillUse, Usage, UseOutcome
from runlore.domain.text.safe_text import is_storable, make_storable
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns
from runlore.storage.sql.session import Row, SqlSession, SqlStatement, id_chunks, in_list, rows_of

_COLUMNS = ("run_id", "skill_id", "at_ms", "outcome")
_ALL = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO skill_uses ({_ALL}) VALUES ({in_list(_COLUMNS)}) ON CONFLICT DO NOTHING"
_OF_RUNS = f"SELECT {_ALL} FROM skill_uses WHERE run_id IN ({{ids}}) ORDER BY run_id, skill_id"
_OF_SKILL = f"SELECT {_ALL} FROM skill_uses WHERE skill_id = ?"
_LOCKED = "SELECT skill_id FROM skills WHERE skill_id IN ({ids}) ORDER BY skill_id"
_SETTLE = "UPDATE skill_uses SET outcome = ? WHERE run_id = ?"
_COUNT = (
    "UPDATE skills SET times_used = times_used + 1, succeeded = succeeded + ?, failed = failed + ?,"
    " last_used_at_ms = CASE WHEN last_used_at_ms >= ? THEN last_used_at_ms ELSE ? END WHERE skill_id = ?"
)
_RECOUNT = "UPDATE skills SET succeeded = succeeded + ?, failed = failed + ? WHERE skill_id = ?"
_USED = "SELECT skill_id FROM skill_uses WHERE run_id IN ({ids})"
_LEFT = "FROM skill_uses u WHERE u.skill_id = skills.skill_id"
# What is damaged in a use keeps nobody from forgetting another one.
_COUNT_ANEW = (
    f"UPDATE skills SET times_used = (SELECT COUNT(*) {_LEFT}),"
    f" last_used_at_ms = (SELECT MAX(u.at_ms) {_LEFT}),"
    f" succeeded = (SELECT COUNT(*) {_LEFT} AND u.outcome = 'succeeded'),"
    f" failed = (SELECT COUNT(*) {_LEFT} AND u.outcome = 'failed') WHERE skill_id = ?"
)
_FORGET = "DELETE FROM skill_uses WHERE run_id = ?"
_DELETE = "DELETE FROM skill_uses WHERE skill_id = ?"


def count(session: SqlSession, use: SkillUse) -> bool:
    at_ms = to_milliseconds(use.at)
    if session.run([(_INSERT, [columns.values_of(use, _COLUMNS)])]) != [1]:
        return False
    counted = (*_ends(use.outcome), at_ms, at_ms, use.skill_id)
    session.run([(_COUNT, [counted])])
    return True


def of_runs(session: SqlSession, run_ids: Sequence[RunId]) -> tuple[SkillUse, ...]:
    found = map(_read, rows_of(session, _OF_RUNS, run_ids))
    return tuple(sorted(found, key=lambda use: (use.run_id, use.skill_id)))


def settle(session: SqlSession, run_id: RunId, outcome: UseOutcome) -> None:
    """Note how a run ended, and count that instead of what was counted before."""
    run_id = RunId(make_storable(run_id))
    _lock_used(session, [run_id])
    succeeded, failed = _ends(outcome)
    rows = []
    for use in of_runs(session, [run_id]):
        before = _ends(use.outcome)
        rows.append((succeeded - before[0], failed - before[1], use.skill_id))
    if rows:
        session.run([(_RECOUNT, rows), (_SETTLE, [(outcome.value, run_id)])])


def forget(session: SqlSession, run_ids: Sequence[RunId]) -> None:
    """Delete what runs used, and count anew what the others used of the same skills."""
    if not (used := _lock_used(session, run_ids)):
        return
    rows = [(run_id,) for run_id in sorted(filter(is_storable, set(run_ids)))]
    counted = [(skill_id,) for skill_id in used]
    session.run([(_FORGET, rows), (_COUNT_ANEW, counted)])


def _lock_used(session: SqlSession, run_ids: Sequence[RunId]) -> list[str]:
    """The skills that runs used, their rows locked in the order of their ids: no two wait for each other."""
    used = sorted({row[0] for row in rows_of(session, _USED, run_ids)})
    for chunk in id_chunks(used):
        session.rows(_LOCKED.format(ids=in_list(chunk)) + session.dialect.for_update, chunk)
    return used


def delete_statement(skill_ids: Sequence[str]) -> SqlStatement:
    return (_DELETE, [(skill_id,) for skill_id in skill_ids])


def count_usage(session: SqlSession, skill_id: SkillId) -> Usage:
    uses = [_read(row) for row in session.stream(_OF_SKILL, (skill_id,))]
    moments: list[datetime] = [use.at for use in uses]
    return Usage(
        times=len(uses),
        last_used_at=max(moments, default=None),
        succeeded=sum(use.outcome is UseOutcome.SUCCEEDED for use in uses),
        failed=sum(use.outcome is UseOutcome.FAILED for use in uses),
    )


def _ends(outcome: UseOutcome) -> tuple[int, int]:
    return int(outcome is UseOutcome.SUCCEEDED), int(outcome is UseOutcome.FAILED)


def _read(row: Row) -> SkillUse:
    with columns.Readable(f"the use of skill {row[1]} by run {row[0]}"):
        return SkillUse(**columns.fields_of(SkillUse, _COLUMNS, row))
