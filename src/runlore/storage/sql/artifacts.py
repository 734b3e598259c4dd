"""Texts that runs left behind, as rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.run import Artifact, ArtifactId, RunId
from runlore.domain.session import SessionId
from runlore.domain.text.storable import is_storable
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.session import (
    IN_LIST_MAX,
    Row,
    SqlCollection,
    SqlSession,
    SqlStatement,
    chunks,
    writing,
)

_FOUND = (
    f"SELECT a.artifact_id, a.run_id, a.session_id, a.at_ms, {texts.SELECTED} FROM artifacts a"
    f" {texts.join_clause('artifact', 'a', 'artifact_id')}"
)
_INSERT = (
    "INSERT INTO artifacts (artifact_id, run_id, session_id, at_ms, bytes, text_revision)"
    f" SELECT ?, r.run_id, ?, ?, ?, {texts.NEXT_REVISION} FROM runs r WHERE r.run_id = ?"
    " ON CONFLICT DO NOTHING RETURNING text_revision"
)
_DELETE = "DELETE FROM artifacts WHERE artifact_id = ?"


class SqlArtifacts(SqlCollection):
    """The part of `SqlRuns` about artifacts."""

    @writing
    def put_artifact(self, artifact: Artifact) -> bool:
        """Keep an artifact; False when the very same is there, whenever it was made; Conflict for another."""
        columns.check_storable(
            artifact.artifact_id, artifact.run_id, artifact.session_id, artifact.name, artifact.text
        )
        self._session.make_room(freeing=False)
        owner = _owner(artifact.artifact_id)
        size = len(artifact.text.encode())
        at_ms = to_milliseconds(artifact.created_at)
        row = (artifact.artifact_id, artifact.session_id, at_ms, size, owner, artifact.run_id)
        made = self._session.rows(_INSERT, row)
        if made:
            text = {"name": artifact.name, "text": artifact.text}
            self._session.run([texts.insert_statement(owner, made[0][0], text)])
            return True
        stored = _find(self._session, artifact.artifact_id)
        if stored is None:
            raise NotFound(
                f"there is no run {artifact.run_id!r}",
                code="run.not-found",
                hint="`runlore session runs` shows the ids",
            )
        if _content(stored) != _content(artifact):
            raise Conflict(
                f"artifact {artifact.artifact_id} exists already, and says something else",
                code="artifact.exists",
                hint="leave the id out, or choose another one",
            )
        return False

    def get_artifact(self, artifact_id: ArtifactId) -> Artifact:
        found = _find(self._session, artifact_id)
        if found is None:
            raise NotFound(
                f"there is no artifact {artifact_id!r}",
                code="artifact.not-found",
                hint="`runlore session run artifacts RUN` lists a run's; old ones are removed by retention",
            )
        return found

    def artifact_names(self, run_id: RunId) -> tuple[ArtifactId, ...]:
        if not is_storable(run_id):
            return ()
        sql = "SELECT artifact_id FROM artifacts WHERE run_id = ? ORDER BY at_ms, artifact_id"
        return tuple(ArtifactId(row[0]) for row in self._session.rows(sql, (run_id,)))

    def artifact_sizes(self) -> Iterator[tuple[ArtifactId, datetime, int]]:
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
        return int(self._session.rows("SELECT COALESCE(sum(bytes), 0) FROM artifacts")[0][0])

    @writing
    def delete_artifacts(self, artifact_ids: Sequence[ArtifactId]) -> int:
        deleted = 0
        for chunk in chunks(filter(is_storable, dict.fromkeys(artifact_ids)), IN_LIST_MAX):
            self._session.make_room(freeing=True)
            emptied = texts.erase_statement(self._session, [_owner(artifact_id) for artifact_id in chunk])
            rows = [(artifact_id,) for artifact_id in chunk]
            deleted += self._session.run([SqlStatement(sql=_DELETE, rows=rows), emptied])[0]
        return deleted


def _find(session: SqlSession, artifact_id: ArtifactId) -> Artifact | None:
    if not is_storable(artifact_id):
        return None
    rows = session.rows(f"{_FOUND} WHERE a.artifact_id = ?", (artifact_id,))
    return _read(rows[0]) if rows else None


def _content(artifact: Artifact) -> tuple[str, ...]:
    return (artifact.run_id, artifact.session_id, artifact.name, artifact.text)


def _owner(artifact_id: ArtifactId) -> str:
    return f"artifact:{artifact_id}"


def _read(row: Row) -> Artifact:
    artifact_id, run_id, session_id, at_ms, *_ = row
    text = texts.read(row)
    try:
        return Artifact(
            artifact_id=ArtifactId(artifact_id),
            run_id=RunId(run_id),
            session_id=SessionId(session_id),
            name=str(text["name"]),
            text=str(text["text"]),
            created_at=from_milliseconds(at_ms),
        )
    except columns.UNREADABLE as error:
        raise columns.damage_error(f"artifact {artifact_id}") from error
