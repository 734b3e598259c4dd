"""What our own checksums and replays find wrong with the stored data, told in sentences without content.

Everything is read once, one history at a time. A part that cannot be read at all is told, and the others are
looked at nevertheless. Sizes of journals are derived, and counted again elsewhere: see `journal`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias

import orjson

from runlore.domain.agent.approval import ApprovalId
from runlore.domain.errors import RunloreError
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Record
from runlore.domain.records.audit import RecordEvent, replay
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobState
from runlore.domain.serialization.codec import Plain
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skill import SkillId, SuggestionId
from runlore.domain.skills.skill_curation import CurationId
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import (
    approvals,
    captures,
    curations,
    mined_runs,
    promotions,
    receipts,
    runs,
    skill_log,
    skill_uses,
    skills,
    suggestions,
    texts,
    transcript_positions,
)
from runlore.storage.sql.captures import SqlCaptures
from runlore.storage.sql.dump import dangling, references
from runlore.storage.sql.jobs import SqlJobs
from runlore.storage.sql.journal_rows import COLUMNS, EMPTY, read
from runlore.storage.sql.policies import SqlPolicies
from runlore.storage.sql.record_rows import (
    BODY,
    EVENT_COLUMNS,
    MOVING_COLUMNS,
    STEADY_COLUMNS,
    base_of,
    is_base,
    moving_values,
    read_event,
    steady_values,
)
from runlore.storage.sql.runs import SqlRuns
from runlore.storage.sql.session import STREAM_LARGE_ROWS, Row, SqlSession, SqlValue
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
    ("promoted_history", promotions.TABLE.kind, "name"),
    *(
        (table.name, table.kind, table.key)
        for table in (
            *(approvals.TABLE, runs.ARTIFACTS, captures.TABLE, curations.TABLE, mined_runs.TABLE),
            *(promotions.TABLE, receipts.TABLE, skill_log.TABLE, skills.TABLE, suggestions.TABLE),
            transcript_positions.TABLE,
        )
    ),
)
_SESSION_WIDTH = 2
_NUMBER, _BYTES, _BODY = (COLUMNS.index(name) for name in ("number", "bytes", "body"))
# LEFT, so that a session whose events are all gone is seen.
_ALL_EVENTS = (
    f"SELECT s.session_id, s.next_number, {', '.join(f'e.{name}' for name in COLUMNS)}"
    " FROM sessions s LEFT JOIN journal e ON e.session_id = s.session_id ORDER BY s.session_id, e.number"
)
_LOOKED_UP = ("record_id", *MOVING_COLUMNS, "moved_at_ms", "base_revision", *STEADY_COLUMNS)
_WIDTH = len(_LOOKED_UP)
_SELECTED = ", ".join([*(f"r.{name}" for name in _LOOKED_UP), *(f"e.{name}" for name in EVENT_COLUMNS)])
# LEFT, so that a record without any event is seen.
_ALL_RECORDS = (
    f"SELECT {_SELECTED} FROM records r LEFT JOIN record_events e ON e.record_id = r.record_id"
    " ORDER BY r.record_id, e.revision"
)
_SOURCES = "SELECT record_id, source_id FROM record_sources ORDER BY record_id, source_id"


def problems(session: SqlSession, *more: Check) -> tuple[str, ...]:
    """What is wrong, each once; `more` is what the engine itself can check, and comes first."""
    found = dict.fromkeys(islice(_all(session, (*more, *_CHECKS)), PROBLEMS_MAX + 1))
    lines = tuple(found)
    if len(lines) <= PROBLEMS_MAX:
        return lines
    return (
        *lines[:PROBLEMS_MAX],
        f"there are more than {PROBLEMS_MAX} problems; the others are not listed",
    )


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
    promoted, asked = promotions.SqlPromotions(session), approvals.SqlApprovals(session)
    yield from _each(session, "promoted_skills", "name", promoted.check)
    yield from _each(session, "skill_executions", "skill_name", promoted.check_executions)
    yield from _each(session, "approvals", "approval_id", lambda name: asked.get(ApprovalId(name)))


def _each(session: SqlSession, table: str, key: str, read: Callable[[str], object]) -> Iterator[str]:
    for row in session.stream(f"SELECT DISTINCT {key} FROM {table} ORDER BY {key}"):
        try:
            read(row[0])
        except RunloreError as error:
            yield error.sentence
        except ValueError:
            yield f"{table} has {row[0]!r:.80} in {key}, which this version of Runlore does not know"


def journal_problems(session: SqlSession) -> Iterator[str]:
    for _, rows in groupby(session.stream(_ALL_EVENTS, at_once=STREAM_LARGE_ROWS), key=itemgetter(0)):
        yield from _of_session(rows)


def _of_session(rows: Iterable[Row]) -> Iterator[str]:
    expected = 1
    for row in rows:
        session_id, next_number = row[:_SESSION_WIDTH]
        event = row[_SESSION_WIDTH:]
        if event[0] is None:
            continue
        yield from _of_event(event)
        if event[_NUMBER] != expected:
            yield f"the journal of session {session_id} has {event[_NUMBER]} where {expected} should be"
        expected = event[_NUMBER] + 1
    if next_number != expected:
        yield f"the journal of session {session_id} ends before {expected}, and not before {next_number}"


def _of_event(event: Row) -> Iterator[str]:
    try:
        read(event)
    except RunloreError as error:
        yield error.sentence
        return
    body = event[_BODY]
    if event[_BYTES] != (0 if body == EMPTY else len(body.encode())):
        yield f"event {event[_NUMBER]} of session {event[0]} tells a wrong length"


def record_problems(session: SqlSession) -> Iterator[str]:
    sources = _Sources(session.stream(_SOURCES))
    for record_id, rows in groupby(session.stream(_ALL_RECORDS), key=itemgetter(0)):
        yield from _of_record(list(rows), sources.of(record_id))


class _Sources:
    def __init__(self, rows: Iterable[Row]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next: tuple[str, set[str]] | None = None
        self._advance()

    def of(self, record_id: str) -> set[str]:
        while self._next is not None and self._next[0] < record_id:
            self._advance()
        return self._next[1] if self._next is not None and self._next[0] == record_id else set()

    def _advance(self) -> None:
        found = next(self._groups, None)
        self._next = None if found is None else (found[0], {row[1] for row in found[1]})


def _of_record(rows: Sequence[Row], sources: set[str]) -> Iterator[str]:
    looked_up = rows[0][:_WIDTH]
    events: list[RecordEvent] = []
    damaged = [_event(row[_WIDTH:], events) for row in rows if row[_WIDTH] is not None]
    yield from filter(None, damaged)
    if any(damaged):
        return
    if not events:
        yield f"record {looked_up[0]} has no events"
        return
    try:
        record = replay(events)
    except RunloreError as error:
        yield error.sentence
        return
    yield from _differences(looked_up, record, events)
    if sources != record.made_from:
        yield f"record {record.record_id}: what it was made from does not agree with its events"
    yield from _bases(rows, events)


def _event(row: Row, events: list[RecordEvent]) -> str:
    try:
        events.append(read_event(row))
    except RunloreError as error:
        return error.sentence
    return ""


def _differences(looked_up: Row, record: Record, events: Sequence[RecordEvent]) -> Iterator[str]:
    times = (max(to_milliseconds(event.at) for event in events), base_of(record.revision))
    expected: tuple[SqlValue, ...] = (
        record.record_id,
        *moving_values(record),
        *times,
        *steady_values(record),
    )
    names = [
        name for name, found, right in zip(_LOOKED_UP, looked_up, expected, strict=True) if found != right
    ]
    if names:
        yield f"record {looked_up[0]}: {', '.join(names)} in its row do not agree with its events"


def _bases(rows: Sequence[Row], events: Sequence[RecordEvent]) -> Iterator[str]:
    plain: Plain = {}
    for row, event in zip(rows, events, strict=True):
        plain.update(event.changes)
        body = row[_WIDTH + BODY]
        if (body is not None) != is_base(event.revision) or (body and orjson.loads(body) != plain):
            yield (
                f"record {event.record_id}: the copy kept at revision {event.revision} is not what its"
                " events lead to"
            )


_CHECKS: tuple[Check, ...] = (
    _references,
    record_problems,
    journal_problems,
    _texts,
    _rows,
    _skills,
    _rollouts,
)
