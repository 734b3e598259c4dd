"""The runs, and the texts that they left behind, as the port asks for them.

Error and reason are content, and stand among the `texts`.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import TypeAlias, cast

from runlore.domain import limits
from runlore.domain.errors import Conflict, Corrupt, NotFound
from runlore.domain.record import JsonObject
from runlore.domain.run import Artifact, ArtifactId, MemoryState, Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.excerpts import SqlExcerpts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.receipts import SqlReceipts
from runlore.storage.sql.record_rows import to_json
from runlore.storage.sql.session import Parameters, Row, SqlCollection, SqlValue, id_chunks, in_list, writing
from runlore.storage.sql.sessions import not_found as no_session

ARTIFACTS = texts.TextTable("artifacts", "artifact", "artifact_id run_id session_id at_ms")
_INSERT_ARTIFACT = (
    "INSERT INTO artifacts (artifact_id, run_id, session_id, at_ms, bytes, text_revision)"
    f" SELECT ?, r.run_id, ?, ?, ?, {texts.NEXT_REVISION} FROM runs r WHERE r.run_id = ?"
    " ON CONFLICT DO NOTHING RETURNING text_revision"
)
_owner = "run:{}".format


class SqlArtifacts(SqlCollection):
    """The part of `SqlRuns` about artifacts."""

    @writing
    def put_artifact(self, artifact: Artifact) -> bool:
        """Keep an artifact; False when the very same is there, whenever it was made; Conflict for another."""
        columns.check_storable(
            artifact.artifact_id, artifact.run_id, artifact.session_id, artifact.name, artifact.text
        )
        self._session.make_room(freeing=False)
        owner = ARTIFACTS.owner(artifact.artifact_id)
        size = len(artifact.text.encode())
        at_ms = to_milliseconds(artifact.created_at)
        row = (artifact.artifact_id, artifact.session_id, at_ms, size, owner, artifact.run_id)
        made = self._session.rows(_INSERT_ARTIFACT, row)
        if made:
            text = {"name": artifact.name, "text": artifact.text}
            self._run(texts.insert_statement(owner, made[0][0], text))
            return True
        stored = self._find_artifact(artifact.artifact_id)
        if stored is None:
            raise not_found(artifact.run_id)
        if _content(stored) != _content(artifact):
            raise Conflict(
                f"artifact {artifact.artifact_id} exists already, and says something else",
                code="artifact.exists",
                hint="leave the id out, or choose another one",
            )
        return False

    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        found = self._find_artifact(artifact_id)
        if found is None:
            hint = "`runlore session run artifacts RUN` lists a run's; old ones are removed by retention"
            raise columns.not_found(repr(artifact_id), code="artifact.not-found", hint=hint)
        return found

    def _find_artifact(self, artifact_id: ArtifactId) -> Artifact | None:
        return self._read_first(_read_artifact, f"{ARTIFACTS.select} WHERE a.artifact_id = ?", artifact_id)

    def artifact_names(self, run_id: RunId) -> tuple[ArtifactId, ...]:
        sql = "SELECT artifact_id FROM artifacts WHERE run_id = ? ORDER BY at_ms, artifact_id"
        return tuple(ArtifactId(row[0]) for row in self._rows(sql, run_id))

    def artifact_sizes(self) -> Iterator[tuple[ArtifactId, datetime, int]]:
        """The artifacts of runs that have ended, with their time and bytes, oldest first; for retention."""
        sql = (
            "SELECT a.artifact_id, a.at_ms, a.bytes FROM artifacts a JOIN runs r ON r.run_id = a.run_id"
            " WHERE r.finished_at_ms IS NOT NULL ORDER BY a.at_ms, a.artifact_id"
        )
        for artifact_id, at_ms, size in self._session.stream(sql):
            yield ArtifactId(artifact_id), from_milliseconds(at_ms), size

    def own_with_artifacts(self, since: datetime) -> tuple[RunId, ...]:
        """The runs that a process of Runlore has worked, with an artifact from a moment on, by id."""
        sql = (
            "SELECT DISTINCT a.run_id FROM artifacts a JOIN runs r ON r.run_id = a.run_id"
            " WHERE a.at_ms >= ? AND r.executor IS NOT NULL ORDER BY a.run_id"
        )
        return tuple(RunId(row[0]) for row in self._session.rows(sql, (to_milliseconds(since),)))

    def artifact_bytes(self) -> int:
        return self._number("SELECT COALESCE(sum(bytes), 0) FROM artifacts")

    @writing
    def delete_artifacts(self, artifact_ids: Sequence[ArtifactId]) -> int:
        deleted = 0
        for chunk in id_chunks(artifact_ids):
            self._session.make_room(freeing=True)
            emptied = texts.erase_statement(self._session, map(ARTIFACTS.owner, chunk))
            rows = [(artifact_id,) for artifact_id in chunk]
            deleted += self._run((ARTIFACTS.delete, rows), emptied)[0]
        return deleted


def _content(artifact: Artifact) -> tuple[str, ...]:
    return (artifact.run_id, artifact.session_id, artifact.name, artifact.text)


def _read_artifact(row: Row) -> Artifact:
    artifact_id, run_id, session_id, at_ms, *_ = row
    text = texts.read(row)
    with columns.Readable(f"artifact {artifact_id}"):
        return Artifact(
            artifact_id=ArtifactId(artifact_id),
            run_id=RunId(run_id),
            session_id=SessionId(session_id),
            name=str(text["name"]),
            text=str(text["text"]),
            created_at=from_milliseconds(at_ms),
        )


Place: TypeAlias = tuple[datetime, RunId]
_ALL = Condition()
_GIVEN = "run_id IN (SELECT run_id FROM receipt_sources WHERE source_id = ? AND arm IN ('given', 'always'))"

_STANDING = (
    *("run_id", "session_id", "status", "executor", "memory", "input_number", "opened_at_ms"),
    *("active_at_ms", "finished_at_ms", "revision"),
)
_COLUMNS = (*_STANDING, "text_revision", "body")
_JOINED = texts.join_clause("run", "r", "run_id")
_SELECTED = f"{', '.join(f'r.{column}' for column in _COLUMNS)}, {texts.SELECTED}"
_FOUND = f"SELECT {_SELECTED} FROM runs r {_JOINED}"
_NEWEST_FIRST = "opened_at_ms DESC, run_id DESC"
_INSERT = (
    f"INSERT INTO runs ({', '.join(_COLUMNS)}, session_created_by, change)"
    f" SELECT {in_list(_COLUMNS)}, s.created_by, {{change}} FROM sessions s WHERE s.session_id = ?"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = (
    "UPDATE runs SET status = ?, executor = ?, memory = ?,"
    " active_at_ms = CASE WHEN active_at_ms > ? THEN active_at_ms ELSE ? END,"
    " finished_at_ms = ?, revision = ?, text_revision = ?, body = ?, change = {change} WHERE run_id = ?"
)
_REVISION = "SELECT revision FROM runs WHERE run_id = ?"
_TOUCH = "UPDATE runs SET active_at_ms = ? WHERE run_id = ? AND finished_at_ms IS NULL AND active_at_ms < ?"
_GONE = frozenset({MemoryState.PRUNED, MemoryState.FORGOTTEN})
_SET_MEMORY = "UPDATE runs SET memory = ?, change = {change} WHERE run_id = ? AND memory IN ({states})"


class SqlRuns(SqlArtifacts, SqlExcerpts, SqlReceipts):
    """Runs, their artifacts and their receipts."""

    def get(self, run_id: RunId) -> Run:
        found = self.find(run_id)
        if found is None:
            raise not_found(run_id)
        return found

    def find(self, run_id: RunId) -> Run | None:
        return next(iter(self._where("r.run_id = ?", run_id)), None)

    def get_many(self, run_ids: Sequence[RunId]) -> dict[RunId, Run]:
        rows = self._rows_of(f"{_FOUND} WHERE r.run_id IN ({{ids}})", run_ids)
        found = {run.run_id: run for run in map(_read, rows)}
        return {run_id: found[run_id] for run_id in run_ids if run_id in found}

    def page(
        self,
        *,
        limit: int,
        before: Place | None = None,
        session_id: SessionId | None = None,
        given: str | None = None,
        statuses: frozenset[RunStatus] | None = None,
        sessions_created_by: str | None = None,
    ) -> tuple[Run, ...]:
        """The newest first (`opened_at`, then id, descending)."""
        names = (session_id, sessions_created_by, given)
        if limit <= 0 or not all(name is None or is_storable(name) for name in names):
            return ()
        asked = _ALL.narrow("session_id = ?", session_id)
        if sessions_created_by is not None:
            # The session's index is the better one where both are given.
            column = "session_created_by" if session_id is None else "session_created_by || ''"
            asked = asked.also(f"{column} = ?", sessions_created_by)
        asked = asked.narrow(_GIVEN, given)
        if before is not None:
            asked = asked.also("(opened_at_ms, run_id) < (?, ?)", to_milliseconds(before[0]), before[1])
        terms = _status_terms(statuses, apart=not any(names))
        walks = [asked if term is None else asked.also(term) for term in terms]
        return self._newest(walks, limit) if walks else ()

    def of_session(self, session_id: SessionId) -> tuple[Run, ...]:
        return self._where("r.session_id = ? ORDER BY r.opened_at_ms, r.run_id", session_id)

    def finished_before(self, session_id: SessionId, moment: datetime, *, limit: int) -> tuple[Run, ...]:
        """A session's runs that had ended at a moment, the latest ended first."""
        condition = "r.session_id = ? AND r.finished_at_ms IS NOT NULL AND r.finished_at_ms <= ?"
        order = "ORDER BY r.finished_at_ms DESC, r.run_id DESC LIMIT ?"
        return self._where(f"{condition} {order}", session_id, to_milliseconds(moment), max(limit, 0))

    def idle_external(self, since: datetime, *, limit: int) -> tuple[Run, ...]:
        """Open runs without an executor whose `active_at` is earlier than a moment. Here, in `abandoned` and
        in `owing_memory` a run that cannot be read is left out, so that it keeps no other one waiting."""
        condition = "r.finished_at_ms IS NULL AND r.executor IS NULL AND r.active_at_ms < ?"
        order = "ORDER BY r.active_at_ms, r.run_id LIMIT ?"
        return self._readable(f"{condition} {order}", to_milliseconds(since), max(limit, 0))

    def list_abandoned(self, now: datetime, *, limit: int) -> tuple[Run, ...]:
        """Open runs whose executor's lease has lapsed, is unknown, or is longer than any is given."""
        leased = "p.lease_until_ms > ? AND p.lease_until_ms <= ?"
        alive = f"SELECT 1 FROM processes p WHERE p.process_id = r.executor AND {leased}"
        condition = f"r.finished_at_ms IS NULL AND r.executor IS NOT NULL AND NOT EXISTS ({alive})"
        order = "ORDER BY r.active_at_ms, r.run_id LIMIT ?"
        now_ms = to_milliseconds(now)
        longest_ms = now_ms + 1_000 * limits.PROCESS_LEASE_S_MAX
        return self._readable(f"{condition} {order}", now_ms, longest_ms, max(limit, 0))

    def owing_memory(self, *, limit: int, after: RunId | None = None) -> tuple[Run, ...]:
        """Terminal runs whose memory is `pending`, by id."""
        condition = "r.memory = 'pending' AND r.finished_at_ms IS NOT NULL AND r.run_id > ?"
        return self._readable(f"{condition} ORDER BY r.run_id LIMIT ?", after or "", max(limit, 0))

    def terminal(self, *, after: RunId | None = None, limit: int) -> tuple[Run, ...]:
        condition = "r.finished_at_ms IS NOT NULL AND r.run_id > ? ORDER BY r.run_id LIMIT ?"
        return self._where(condition, after or "", max(limit, 0))

    def changed_since(self, cursor: int) -> Iterator[Run]:
        """Terminal runs that changed in or after a change number (all from 0), streamed; for the index."""
        condition = "r.change >= ? AND r.finished_at_ms IS NOT NULL ORDER BY r.change, r.run_id"
        return map(_read, self._session.stream(f"{_FOUND} WHERE {condition}", (cursor,)))

    def count_changed(self, cursor: int, *, most: int) -> int:
        """How many of those there are, counted up to `most`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM runs WHERE change >= ? LIMIT ?) c"
        return self._number(sql, cursor, most)

    def count(self) -> dict[RunStatus, int]:
        rows = self._session.rows("SELECT status, count(*) FROM runs GROUP BY status")
        return {RunStatus(status): number for status, number in rows}

    @writing
    def insert(self, run: Run) -> None:
        self._session.make_room(freeing=False)
        text = _text_of(run)
        row = (*_values(run, 1 if text else None), run.session_id)
        sql = _with_change(_INSERT, self._session.dialect.change)
        if self._execute(sql, row) != 1:
            if self._session.rows(_REVISION, (run.run_id,)):
                raise Conflict(
                    f"run {run.run_id} exists already",
                    code="run.exists",
                    hint="use it as it is, or choose another id",
                )
            raise no_session(run.session_id)
        if text:
            self._run(texts.insert_statement(_owner(run.run_id), 1, text))

    @writing
    def update(self, run: Run, *, expected_revision: int) -> None:
        self._session.make_room(freeing=run.memory in _GONE)
        locked = self._lock(_REVISION, run.run_id)
        if locked is None:
            raise not_found(run.run_id)
        columns.check_revision(run.run_id, locked[0], expected=expected_revision, code="run.moved")
        revision, statements = texts.replace_statements(self._session, _owner(run.run_id), _text_of(run))
        _, _, status, executor, memory, _, _, active_at_ms, *ended = _values(run, revision)
        row = (status, executor, memory, active_at_ms, active_at_ms, *ended, run.run_id)
        sql = _with_change(_UPDATE, self._session.dialect.change)
        self._run((sql, [row]), *statements)

    @writing
    def touch(self, run_id: RunId, at: datetime) -> None:
        """Note activity of an open run, without a new revision."""
        self._session.make_room(freeing=False)
        at_ms = to_milliseconds(at)
        self._execute(_TOUCH, (at_ms, run_id, at_ms))

    @writing
    def set_memory(self, run_id: RunId, state: MemoryState, *, expected: frozenset[MemoryState]) -> bool:
        """Say what has become of a run's memory; False, and nothing changed, when it was none of those."""
        if not expected:
            return False
        self._session.make_room(freeing=state in _GONE)
        states = sorted(member.value for member in expected)
        sql = _SET_MEMORY.format(change=self._session.dialect.change, states=in_list(states))
        row = (state.value, run_id, *states)
        return self._execute(sql, row) == 1

    def _where(self, condition: str, *parameters: SqlValue) -> tuple[Run, ...]:
        return tuple(map(_read, self._rows(f"{_FOUND} WHERE {condition}", *parameters)))

    def _readable(self, condition: str, *parameters: SqlValue) -> tuple[Run, ...]:
        """For sweeps, which must not end at one row that cannot be read: the doctor tells of that."""
        found: list[Run] = []
        for row in self._session.rows(f"{_FOUND} WHERE {condition}", parameters):
            with suppress(Corrupt):
                found.append(_read(row))
        return tuple(found)

    def _newest(self, walks: Sequence[Condition], limit: int) -> tuple[Run, ...]:
        """What walks through indexes find, each ended early, merged."""
        parts = " UNION ALL ".join(
            f"SELECT * FROM (SELECT * FROM runs WHERE {walk.sql} ORDER BY {_NEWEST_FIRST} LIMIT ?) w{number}"
            for number, walk in enumerate(walks)
        )
        parameters: Parameters = [value for walk in walks for value in (*walk.parameters, limit)]
        order = "ORDER BY r.opened_at_ms DESC, r.run_id DESC LIMIT ?"
        sql = f"SELECT {_SELECTED} FROM ({parts}) r {_JOINED} {order}"
        return tuple(map(_read, self._session.rows(sql, (*parameters, limit))))


def not_found(run_id: RunId) -> NotFound:
    return columns.not_found(repr(run_id), code="run.not-found", hint="`runlore session runs` shows the ids")


def _status_terms(statuses: frozenset[RunStatus] | None, *, apart: bool) -> list[str | None]:
    """The status filter, written out, for the members are ours: one term, or one for each walk."""
    if statuses is None:
        return [None]
    named = [f"'{status.value}'" for status in sorted(statuses)]
    if apart or not named:
        return [f"status = {name}" for name in named]
    return [f"status IN ({', '.join(named)})"]


@cache
def _with_change(sql: str, change: str) -> str:
    return sql.format(change=change)


def _text_of(run: Run) -> JsonObject:
    text = {"error": run.error, "reason": run.reason}
    return {name: value for name, value in text.items() if value}


def _body_of(run: Run) -> str:
    return to_json(
        {
            "agent": run.agent,
            "model": run.model,
            "imported": run.imported,
            "created_by": run.created_by,
            **({} if run.told_as is None else {"told_as": run.told_as}),
            "artifact_ids": list(run.artifact_ids),
        }
    )


def _values(run: Run, text_revision: int | None) -> tuple[SqlValue, ...]:
    columns.check_storable(run.run_id, run.session_id, run.executor)
    return (*columns.values_of(run, _STANDING), text_revision, _body_of(run))


def _read(row: Row) -> Run:
    text = texts.read(row)
    with columns.Readable(f"run {row[0]}"):
        plain = columns.from_json(row[len(_COLUMNS) - 1])
        return Run(
            agent=columns.optional_text(plain["agent"]),
            model=columns.optional_text(plain["model"]),
            imported=bool(plain["imported"]),
            told_as=RunId(str(plain["told_as"])) if "told_as" in plain else None,
            created_by=str(plain["created_by"]),
            error=str(text.get("error", "")),
            reason=str(text.get("reason", "")),
            artifact_ids=tuple(map(ArtifactId, cast("Sequence[str]", plain["artifact_ids"]))),
            **columns.fields_of(Run, _STANDING, row),
        )
