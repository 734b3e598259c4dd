"""What runs wait for a person to say, in SQL that both databases run. What is asked and answered may be words
of the run: it stands among the texts that can be emptied."""

from collections.abc import Sequence
from datetime import datetime

from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalState
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import as_object, as_text, serialize
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import make_storable
from runlore.domain.timestamps import to_milliseconds
from runlore.storage.sql import columns, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import Row, SqlCollection, id_chunks, in_list, writing

TABLE = texts.TextTable(
    "approvals",
    "approval",
    "approval_id run_id session_id kind state created_at_ms decided_at_ms decided_by revision",
)
# What is asked and answered; the rest are columns.
_ASKED = ("call_id", "tool", "arguments", "why", "question", "answer")
_OLDEST = "ORDER BY a.created_at_ms, a.approval_id"
_OF_RUNS = "SELECT approval_id FROM approvals WHERE run_id IN ({ids}) ORDER BY approval_id"


class SqlApprovals(SqlCollection):
    """What runs wait for a person to say."""

    def get(self, approval_id: ApprovalId) -> Approval:
        sql = f"{TABLE.select} WHERE a.approval_id = ?"
        row = self._first(sql, approval_id)
        if row is None:
            raise _not_found(approval_id)
        return _read(row)

    def page(
        self,
        *,
        limit: int,
        after: tuple[datetime, ApprovalId] | None = None,
        states: frozenset[ApprovalState] | None = None,
        run_id: RunId | None = None,
        session_id: SessionId | None = None,
    ) -> tuple[Approval, ...]:
        """The oldest first (`created_at`, then id), after a place in that order."""
        if limit <= 0 or states == frozenset():
            return ()
        asked = Condition()
        if states is not None:
            # Written out, since the members are ours and a partial index needs to see them.
            wanted = ", ".join(f"'{state.value}'" for state in sorted(states))
            asked = asked.also(f"state IN ({wanted})" if len(states) > 1 else f"state = {wanted}")
        asked = asked.narrow("run_id = ?", run_id).narrow("session_id = ?", session_id)
        if after is not None:
            created_at, approval_id = after
            place = (to_milliseconds(created_at), make_storable(approval_id))
            asked = asked.also("(created_at_ms, approval_id) > (?, ?)", *place)
        found = f"SELECT * FROM approvals WHERE {asked.sql} ORDER BY created_at_ms, approval_id LIMIT ?"
        sql = f"SELECT {TABLE.selected} FROM ({found}) a {TABLE.join} {_OLDEST}"
        return tuple(map(_read, self._session.rows(sql, (*asked.parameters, limit))))

    @writing
    def insert(self, approval: Approval) -> None:
        _check(approval)
        self._session.make_room(freeing=False)
        if self._execute(TABLE.insert, (*columns.values_of(approval, TABLE.columns), 0)) != 1:
            raise Conflict(
                f"there is a request {approval.approval_id} already",
                code="approval.exists",
                hint="look whether it is the one that was meant to be written",
            )
        self._write_text(approval)

    @writing
    def update(self, approval: Approval, *, expected_revision: int) -> None:
        """A decided one. Conflict where another revision stands there."""
        _check(approval)
        self._session.make_room(freeing=False)
        locked = self._lock(TABLE.lock, approval.approval_id)
        if locked is None:
            raise _not_found(approval.approval_id)
        if locked[0] != expected_revision:
            raise Conflict(
                f"request {approval.approval_id} has moved: revision {expected_revision} was expected,"
                f" {locked[0]} was found",
                code="approval.moved",
                hint="read it again: somebody may have decided it",
            )
        self._write_text(approval)

    @writing
    def delete(self, run_ids: Sequence[RunId]) -> None:
        self._session.make_room(freeing=True)
        for chunk in id_chunks(run_ids):
            found = self._session.rows(
                _OF_RUNS.format(ids=in_list(chunk)) + self._session.dialect.for_update, chunk
            )
            emptied = texts.erase_statement(self._session, (TABLE.owner(row[0]) for row in found))
            self._run((TABLE.delete, found), emptied)

    def _write_text(self, approval: Approval) -> None:
        """Write what is asked, and the row with its place. The id may have been another one's before."""
        owner = TABLE.owner(approval.approval_id)
        plain = serialize(approval)
        asked = {name: plain[name] for name in _ASKED}
        revision, statements = texts.replace_statements(self._session, owner, asked)
        approval_id, *values = columns.values_of(approval, TABLE.columns)
        row = (*values, revision, approval_id)
        self._run(*statements, (TABLE.update, [row]))


def _not_found(approval_id: str) -> NotFound:
    return NotFound(
        f"there is no request {approval_id!r:.80}",
        code="approval.not-found",
        hint="`runlore approvals list` shows what runs wait for",
    )


def _check(approval: Approval) -> None:
    columns.check_storable(approval.approval_id, approval.run_id, approval.session_id, approval.decided_by)


def _read(row: Row) -> Approval:
    said = texts.read(row)
    with columns.Readable(f"request {row[0]}"):
        fields = columns.fields_of(Approval, TABLE.columns, row)
        fields |= {name: as_text(said[name]) for name in _ASKED if name != "arguments"}
        return Approval(**fields, arguments=as_object(said["arguments"]))
