"""Promoted procedures, how they stood after each change, and the runs that executed them, each once for a
fingerprint, in SQL that both databases run.

What one says stands among the texts that can be emptied. A snapshot is an earlier text of the same owner,
and the last one is how it stands.
"""

from collections.abc import Sequence

from runlore.domain.errors import Conflict, NotFound
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.skills.rollout import Execution, PromotedSkill, RolloutStatus
from runlore.domain.text.safe_text import is_storable, make_storable
from runlore.storage.sql import columns, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import Row, SqlCollection, SqlStatement, SqlValue, in_list, writing

_EXECUTION_COLUMNS = ("run_id", "skill_name", "fingerprint", "kind", "at_ms", "session_id", "calling_run_id")
_ALL = ", ".join(_EXECUTION_COLUMNS)
_INSERT_EXECUTION = (
    f"INSERT INTO skill_executions ({_ALL}) VALUES ({in_list(_EXECUTION_COLUMNS)}) ON CONFLICT DO NOTHING"
)
_EXECUTIONS_OF_RUN = (
    f"SELECT {_ALL} FROM skill_executions WHERE skill_name = ? AND (run_id = ? OR calling_run_id = ?)"
    " ORDER BY at_ms, run_id, fingerprint"
)
_EXECUTIONS_OF_SKILL = f"SELECT {_ALL} FROM skill_executions WHERE skill_name = ?"
_DELETE_EXECUTIONS = "DELETE FROM skill_executions WHERE run_id = ? OR calling_run_id = ?"
TABLE = texts.TextTable(
    "promoted_skills",
    "promoted",
    "name status fingerprint source_record_id created_at_ms updated_at_ms revision",
)
_SNAPSHOTS = (
    f"SELECT h.name, h.number, h.status, h.revision, {texts.SELECTED} FROM promoted_history h"
    f" {texts.join_clause(TABLE.kind, 'h', 'name')} WHERE h.name = ?"
)
_HISTORY = f"{_SNAPSHOTS} AND h.number > ? ORDER BY h.number"
_NEWEST = f"{_SNAPSHOTS} AND h.status = ? ORDER BY h.number DESC LIMIT 1"
_ADD_SNAPSHOT = (
    "INSERT INTO promoted_history (name, number, status, revision, text_revision) VALUES (?, ?, ?, ?, ?)"
)
_DELETE_SNAPSHOTS = "DELETE FROM promoted_history WHERE name = ?"
_NUMBERS = "SELECT number FROM promoted_history WHERE name = ? ORDER BY number"
_NEXT_NUMBER = "SELECT COALESCE(max(number), 0) + 1 FROM promoted_history WHERE name = ?"


class SqlPromotions(SqlCollection):
    """Promoted procedures, how they stood, and the runs that executed them."""

    def find(self, name: str) -> PromotedSkill | None:
        return self._read_first(_read, f"{TABLE.select} WHERE p.name = ?", name)

    def names(self) -> frozenset[str]:
        """The names that promoted skills have, whatever their status: nothing else may take one."""
        return frozenset(row[0] for row in self._session.rows("SELECT name FROM promoted_skills"))

    def stamp(self) -> int:
        """A number that is another one after any change: revisions only grow, and no row ever goes."""
        return self._number("SELECT COALESCE(sum(revision), 0) FROM promoted_skills")

    def of_source(self, record_id: RecordId) -> tuple[PromotedSkill, ...]:
        sql = f"{TABLE.select} WHERE p.source_record_id = ? ORDER BY p.name"
        return tuple(map(_read, self._rows(sql, record_id)))

    def page(
        self,
        *,
        limit: int,
        after: str | None = None,
        statuses: frozenset[RolloutStatus] | None = None,
        source_record_id: RecordId | None = None,
    ) -> tuple[PromotedSkill, ...]:
        """By name, after one; all of them unless narrowed."""
        if limit <= 0:
            return ()
        asked = Condition().among("p.status", statuses)
        asked = asked.narrow("p.source_record_id = ?", source_record_id).narrow("p.name > ?", after)
        sql = f"{TABLE.select} WHERE {asked.sql} ORDER BY p.name LIMIT ?"
        return tuple(map(_read, self._session.rows(sql, (*asked.parameters, limit))))

    def history(
        self, name: str, *, after: int = 0, limit: int | None = None
    ) -> tuple[tuple[int, PromotedSkill], ...]:
        """Every snapshot with its number, oldest first; or so many after one."""
        if limit is None:
            return tuple(map(_read_snapshot, self._rows(_HISTORY, name, after)))
        return tuple(map(_read_snapshot, self._rows(f"{_HISTORY} LIMIT ?", name, after, limit)))

    def newest(self, name: str, status: RolloutStatus) -> tuple[int, PromotedSkill] | None:
        """The last snapshot that had a status, with its number."""
        return self._read_first(_read_snapshot, _NEWEST, name, status.value)

    def check(self, name: str) -> None:
        """Raise Corrupt when it or one of its snapshots cannot be read, when one is missing, or when the last
        is not how it stands."""
        skill, history = self.find(name), self.history(name)
        numbers = [number for number, _ in history]
        if numbers != list(range(1, len(history) + 1)) or [each for _, each in history[-1:]] != [skill]:
            raise columns.damage_error(f"promoted skill {name}")

    @writing
    def put(self, skill: PromotedSkill, *, expected_revision: int | None) -> None:
        """Write it, and its snapshot; None where it is new. Conflict where another revision stands there."""
        _check(skill)
        self._session.make_room(freeing=False)
        if expected_revision is None:
            if self._execute(TABLE.insert, (*_values(skill), 0)) != 1:
                raise _exists(skill.name)
        else:
            self._lock_at(skill.name, expected_revision)
        number = self._number(_NEXT_NUMBER, skill.name)
        revision = self._next_text(skill.name)
        self._run(
            texts.insert_statement(TABLE.owner(skill.name), revision, serialize(skill)),
            _update_statement(skill, revision),
            _snapshots([(number, skill, revision)]),
        )

    @writing
    def rewrite(self, skill: PromotedSkill, history: Sequence[tuple[int, PromotedSkill]]) -> None:
        """Put a forgotten one's row and snapshots in place of what stands there, and empty what it said.

        Conflict (`promoted.moved`) unless the snapshots are those that are there, and end with how it stands.
        """
        _check(skill)
        self._session.make_room(freeing=True)
        self._lock_at(skill.name, skill.revision)
        numbers = self._session.rows(_NUMBERS, (skill.name,))
        if numbers != [(number,) for number, _ in history] or history[-1][1] != skill:
            raise _revision_conflict(skill.name, "its snapshots are others by now")
        owner, first = TABLE.owner(skill.name), self._next_text(skill.name)
        placed = [(number, each, first + place) for place, (number, each) in enumerate(history)]
        self._run(
            texts.erase_statement(self._session, [owner]),
            *(texts.insert_statement(owner, place, serialize(each)) for _, each, place in placed),
            _update_statement(skill, placed[-1][2]),
            (_DELETE_SNAPSHOTS, [(skill.name,)]),
            _snapshots(placed),
        )

    @writing
    def add_execution(self, execution: Execution) -> None:
        """Keep that a run executed a skill; the same once more changes nothing."""
        self._session.make_room(freeing=False)
        if not self._session.rows(TABLE.lock, (make_storable(execution.skill_name),)):
            raise not_found(execution.skill_name)
        columns.check_storable(
            execution.run_id, execution.fingerprint, execution.session_id, execution.calling_run_id
        )
        row = columns.values_of(execution, _EXECUTION_COLUMNS)
        self._execute(_INSERT_EXECUTION, row)

    def executions(self, skill_name: str, run_id: RunId) -> tuple[Execution, ...]:
        """Those of a skill whose run, or calling run, is this one, oldest first."""
        run = make_storable(run_id)
        rows = self._session.rows(_EXECUTIONS_OF_RUN, (make_storable(skill_name), run, run))
        return tuple(map(_read_execution, rows))

    def check_executions(self, skill_name: str) -> None:
        """Raise Corrupt when one of a skill's executions cannot be read."""
        for row in self._session.stream(_EXECUTIONS_OF_SKILL, (skill_name,)):
            _read_execution(row)

    @writing
    def delete_executions(self, run_ids: Sequence[RunId]) -> None:
        self._session.make_room(freeing=True)
        rows = [(run_id, run_id) for run_id in sorted(filter(is_storable, set(run_ids)))]
        self._execute(_DELETE_EXECUTIONS, *rows)

    def _lock_at(self, name: str, expected: int) -> None:
        """Keep others from its row until the end; Conflict where another revision than this stands there."""
        locked = self._lock(TABLE.lock, name)
        if locked is None:
            raise not_found(name)
        if locked[0] != expected:
            raise _revision_conflict(name, f"revision {expected} was expected, {locked[0]} was found")

    def _next_text(self, name: str) -> int:
        return self._number(f"SELECT {texts.NEXT_REVISION}", TABLE.owner(name))


def not_found(name: str) -> NotFound:
    return NotFound(
        f"there is no promoted skill {name!r:.80}",
        code="promoted.not-found",
        hint="`runlore skill rollout status` shows the names",
    )


def _exists(name: str) -> Conflict:
    return Conflict(
        f"there is a promoted skill called {name!r:.80} already",
        code="promoted.exists",
        hint="read it again, or choose another name",
    )


def _revision_conflict(name: str, problem: str) -> Conflict:
    return Conflict(
        f"promoted skill {name} has moved: {problem}",
        code="promoted.moved",
        hint="read it again and decide anew",
    )


def _check(skill: PromotedSkill) -> None:
    columns.check_storable(skill.name, skill.fingerprint, skill.source_record_id)


def _values(skill: PromotedSkill) -> tuple[SqlValue, ...]:
    return columns.values_of(skill, TABLE.columns)


def _update_statement(skill: PromotedSkill, text_revision: int) -> SqlStatement:
    name, *values = _values(skill)
    return (TABLE.update, [(*values, text_revision, name)])


def _snapshots(found: Sequence[tuple[int, PromotedSkill, int]]) -> SqlStatement:
    rows = [
        (skill.name, number, skill.status.value, skill.revision, revision)
        for number, skill, revision in found
    ]
    return (_ADD_SNAPSHOT, rows)


def _read(row: Row) -> PromotedSkill:
    plain = texts.read(row)
    with columns.Readable(f"promoted skill {row[0]}"):
        skill = deserialize(PromotedSkill, plain)
        if _values(skill) != row[: len(TABLE.columns)]:
            raise ValueError("the row and its text do not agree")
    return skill


def _read_snapshot(row: Row) -> tuple[int, PromotedSkill]:
    name, number, status, revision = row[:4]
    plain = texts.read(row)
    with columns.Readable(f"snapshot {number} of promoted skill {name}"):
        skill = deserialize(PromotedSkill, plain)
        if (skill.name, skill.status.value, skill.revision) != (name, status, revision):
            raise ValueError("the row and its text do not agree")
    return number, skill


def _read_execution(row: Row) -> Execution:
    with columns.Readable(f"the execution of promoted skill {row[1]} by run {row[0]}"):
        return Execution(**columns.fields_of(Execution, _EXECUTION_COLUMNS, row))
