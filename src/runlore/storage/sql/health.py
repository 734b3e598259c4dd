"""What our own checksums and replays find wrong with the stored data, told in sentences without content.

Everything is read once, one history at a time. A part that cannot be read at all is told, and the others are
looked at nevertheless.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

from runlore.domain.approval import ApprovalId
from runlore.domain.errors import RunloreError
from runlore.domain.job import JobState
from runlore.domain.policy import PolicyName
from runlore.domain.run import RunId
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skill import SkillId
from runlore.domain.skill_curation import CurationId
from runlore.domain.suggestion import SuggestionId
from runlore.storage.sql import (
    approvals,
    curations,
    executions,
    journal_health,
    mined_runs,
    promotions,
    record_health,
    skill_log,
    skill_uses,
    skills,
    suggestions,
    texts,
    transcript_positions,
)
from runlore.storage.sql.captures import SqlCaptures
from runlore.storage.sql.jobs import SqlJobs
from runlore.storage.sql.policies import SqlPolicies
from runlore.storage.sql.runs import SqlRuns
from runlore.storage.sql.schema import dangling, references
from runlore.storage.sql.session import STREAM_LARGE_ROWS, SqlSession
from runlore.storage.sql.sessions import SqlSessions
from runlore.storage.sql.tokens import SqlTokens

Check: TypeAlias = Callable[[SqlSession], Iterator[str]]

PROBLEMS_MAX = 100
_JOBS_MAX = 10_000
_TEXTS = f"SELECT {', '.join(texts.COLUMNS)} FROM texts ORDER BY owner, revision"
_SEEN_NOWHERE = (
    "SELECT s.suggestion_id, s.run_id FROM suggestion_runs s LEFT JOIN runs r ON r.run_id = s.run_id"
    " WHERE r.run_id IS NULL ORDER BY s.suggestion_id, s.run_id"
)
# Tables whose rows have a text, with what the text's owner is called and the column of its id.
_OWNERS = (
    ("sessions", "session", "session_id"),
    ("runs", "run", "run_id"),
    ("artifacts", "artifact", "artifact_id"),
    ("receipts", "receipt", "run_id"),
    ("run_captures", "capture", "run_id"),
    ("mined_runs", mined_runs.OWNER, "run_id"),
    ("suggestions", suggestions.OWNER, "suggestion_id"),
    ("skills", skills.OWNER, "skill_id"),
    ("skill_events", skill_log.OWNER, "number"),
    ("curations", curations.OWNER, "curation_id"),
    ("promoted_skills", promotions.OWNER, "name"),
    ("promoted_history", promotions.OWNER, "name"),
    ("approvals", approvals.OWNER, "approval_id"),
    ("transcript_positions", transcript_positions.OWNER, "source"),
)


def problems(session: SqlSession, *more: Check) -> tuple[str, ...]:
    """What is wrong, each once; `more` is what the engine itself can check, and comes first."""
    found = dict.fromkeys(islice(_all(session, (*more, *_CHECKS)), PROBLEMS_MAX + 1))
    told = tuple(found)
    if len(told) <= PROBLEMS_MAX:
        return told
    return (*told[:PROBLEMS_MAX], f"there are more than {PROBLEMS_MAX} problems; the others are not listed")


def _all(session: SqlSession, checks: tuple[Check, ...]) -> Iterator[str]:
    for check in checks:
        try:
            yield from check(session)
        except RunloreError as error:
            yield error.sentence


def _references(session: SqlSession) -> Iterator[str]:
    for reference in references(session):
        for value in dangling(session, reference):
            yield f"{reference.table} names {value} in {reference.column}, which is not in {reference.parent}"


def _texts(session: SqlSession) -> Iterator[str]:
    for row in session.stream(_TEXTS, at_once=STREAM_LARGE_ROWS):
        try:
            texts.verify(row)
        except RunloreError as error:
            yield error.sentence
    for table, kind, key in _OWNERS:
        sql = (
            f"SELECT x.{key} FROM {table} x {texts.join_clause(kind, 'x', key)}"
            f" WHERE x.text_revision IS NOT NULL AND t.owner IS NULL ORDER BY x.{key}"
        )
        for row in session.stream(sql):
            yield f"the text of {kind} {row[0]} is missing"


def _rows(session: SqlSession) -> Iterator[str]:
    """Read every row once that has no checksum of its own."""
    sessions, runs = SqlSessions(session), SqlRuns(session)
    yield from _each(session, "sessions", "session_id", lambda name: sessions.find(SessionId(name)))
    yield from _each(session, "personas", "persona_id", lambda name: sessions.find_persona(PersonaId(name)))
    yield from _each(session, "runs", "run_id", lambda name: runs.find(RunId(name)))
    yield from _each(session, "receipts", "run_id", lambda name: runs.get_receipt(RunId(name)))
    captures = SqlCaptures(session)
    yield from _each(session, "run_captures", "run_id", lambda name: captures.get(RunId(name)))
    tokens, jobs, policies = SqlTokens(session), SqlJobs(session), SqlPolicies(session)
    yield from _each(session, "tokens", "token_id", tokens.find)
    yield from _each(
        session, "jobs", "state", lambda name: jobs.list(frozenset({JobState(name)}), limit=_JOBS_MAX)
    )
    yield from _each(session, "policies", "name", lambda name: policies.history(PolicyName(name)))


def _skills(session: SqlSession) -> Iterator[str]:
    """Read every row once that skills are learned from, and the skills."""
    mined, found = mined_runs.SqlMinedRuns(session), suggestions.SqlSuggestions(session)
    positions = transcript_positions.SqlTranscriptPositions(session)
    yield from _each(session, "mined_runs", "run_id", lambda name: mined.find(RunId(name)))
    yield from _each(session, "suggestions", "suggestion_id", lambda name: found.check(SuggestionId(name)))
    yield from _each(session, "transcript_positions", "source", lambda name: positions.get_many([name]))
    kept, curated = skills.SqlSkills(session), curations.SqlCurations(session)
    yield from _each(session, "skills", "skill_id", lambda name: kept.check(SkillId(name)))
    yield from _each(session, "skill_uses", "run_id", lambda name: skill_uses.of_runs(session, [RunId(name)]))
    yield from _each(session, "curations", "curation_id", lambda name: curated.check(CurationId(name)))
    yield from skill_log.problems(session)
    for suggestion_id, run_id in session.stream(_SEEN_NOWHERE):
        yield f"suggestion {suggestion_id} was seen in run {run_id}, which is not there"


def _rollouts(session: SqlSession) -> Iterator[str]:
    """Read every promoted skill once with its snapshots and executions, and what runs wait for."""
    promoted, asked = promotions.SqlPromotions(session), approvals.SqlApprovals(session)
    yield from _each(session, "promoted_skills", "name", promoted.check)
    yield from _each(session, "skill_executions", "skill_name", lambda name: executions.check(session, name))
    yield from _each(session, "approvals", "approval_id", lambda name: asked.get(ApprovalId(name)))


def _each(session: SqlSession, table: str, key: str, read: Callable[[str], object]) -> Iterator[str]:
    for row in session.stream(f"SELECT DISTINCT {key} FROM {table} ORDER BY {key}"):
        try:
            read(row[0])
        except RunloreError as error:
            yield error.sentence
        except ValueError:
            yield f"{table} has {row[0]!r:.80} in {key}, which this version of Runlore does not know"


_CHECKS: tuple[Check, ...] = (
    _references,
    record_health.problems,
    journal_health.problems,
    _texts,
    _rows,
    _skills,
    _rollouts,
)
