"""Suggested skills, in SQL that both databases run.

What a suggestion says is taken from what was said in runs, its name and its pattern too: it stands among the
texts that can be emptied, and the rows that are looked for hold digests.
"""

from collections.abc import Iterable, Sequence

from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.skill import SuggestionId
from runlore.domain.suggestion import StoredSuggestion, Suggestion, SuggestionState
from runlore.domain.text.safe_text import is_storable, make_storable
from runlore.storage.sql import columns, skill_log, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.record_rows import digest
from runlore.storage.sql.session import (
    STREAM_LARGE_ROWS,
    Row,
    SqlCollection,
    SqlStatement,
    SqlValue,
    id_chunks,
    writing,
)

_DERIVED = ("name", "pattern", "heuristic", "score")
TABLE = texts.TextTable(
    "suggestions",
    "suggestion",
    "suggestion_id name pattern heuristic score"
    " state state_actor skipped_at_ms times_skipped created_at_ms updated_at_ms revision",
)
_STANDING = TABLE.columns[1 + len(_DERIVED) :]
_OF_RUNS = (
    f"{TABLE.select} WHERE s.suggestion_id IN"
    " (SELECT suggestion_id FROM suggestion_runs WHERE run_id IN ({ids})) ORDER BY s.suggestion_id"
)
_LOCKED = "SELECT revision, name, pattern FROM suggestions WHERE suggestion_id = ?"
_RUNS = "SELECT run_id FROM suggestion_runs WHERE suggestion_id = ?"
_ADD_RUN = "INSERT INTO suggestion_runs (run_id, suggestion_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_DELETE_RUNS = "DELETE FROM suggestion_runs WHERE suggestion_id = ?"
_FORGET_RUN = "DELETE FROM suggestion_runs WHERE run_id = ?"


class SqlSuggestions(SqlCollection):
    """Suggested skills, one for each pattern."""

    def get(self, suggestion_id: SuggestionId) -> StoredSuggestion:
        found = self._one("s.suggestion_id = ?", suggestion_id)
        if found is None:
            raise not_found(suggestion_id)
        return found

    def find(self, *, name: str | None = None, pattern: str | None = None) -> StoredSuggestion | None:
        for column, text in (("name", name), ("pattern", pattern)):
            if text is not None and (found := self._one(f"s.{column} = ?", digest(make_storable(text)))):
                return found
        return None

    def page(
        self,
        *,
        limit: int,
        after: tuple[int, SuggestionId] | None = None,
        states: frozenset[SuggestionState] | None = None,
        heuristics: frozenset[Heuristic] | None = None,
    ) -> tuple[StoredSuggestion, ...]:
        """The best first (score descending, then id)."""
        if limit <= 0:
            return ()
        asked = Condition().among("state", states).among("heuristic", heuristics)
        if after is not None:
            score, suggestion_id = after
            asked = asked.also(
                "(score < ? OR (score = ? AND suggestion_id > ?))", score, score, make_storable(suggestion_id)
            )
        found = f"SELECT * FROM suggestions WHERE {asked.sql} ORDER BY score DESC, suggestion_id LIMIT ?"
        sql = f"SELECT {TABLE.selected} FROM ({found}) s {TABLE.join} ORDER BY s.score DESC, s.suggestion_id"
        return tuple(map(_read, self._session.rows(sql, (*asked.parameters, limit))))

    def names(self) -> frozenset[str]:
        rows = self._session.stream(TABLE.select, at_once=STREAM_LARGE_ROWS)
        return frozenset(_read(row).suggestion.name for row in rows)

    def of_runs(self, run_ids: Sequence[RunId]) -> tuple[StoredSuggestion, ...]:
        """The suggestions that were ever seen in any of these runs, by id: also where the evidence of that is
        no longer among the latest, for what was said there may still stand in them."""
        found = {stored.suggestion_id: stored for stored in map(_read, self._rows_of(_OF_RUNS, run_ids))}
        return tuple(found[suggestion_id] for suggestion_id in sorted(found))

    def count(self) -> dict[SuggestionState, int]:
        rows = self._session.rows("SELECT state, count(*) FROM suggestions GROUP BY state")
        return {SuggestionState(state): number for state, number in rows}

    def check(self, suggestion_id: SuggestionId) -> None:
        """Raise Corrupt when it cannot be read, or when forgetting would not find it by its evidence."""
        seen = {evidence.run_id for evidence in self.get(suggestion_id).suggestion.evidence}
        if not seen.issubset(row[0] for row in self._session.rows(_RUNS, (suggestion_id,))):
            raise columns.damage_error(f"suggestion {suggestion_id}")

    @writing
    def insert(self, stored: StoredSuggestion) -> None:
        """Write a new one; Conflict (`suggestion.exists`) when its id, its name or its pattern is taken."""
        self._check(stored)
        self._session.make_room(freeing=False)
        self._insert(stored)
        # The id may have been another one's, whose text was emptied.
        revision, statements = self._replace_text(stored)
        self._run(*statements, _update_statement(stored, revision), _runs(stored))

    @writing
    def update(self, stored: StoredSuggestion, *, expected_revision: int) -> None:
        """Write its new state; Conflict (`suggestion.moved`) when it has moved, NotFound when it is gone, and
        Conflict (`suggestion.exists`) when its new name or pattern is taken. Runs that it was seen in before
        stay known to `of_runs` until `forget_runs`."""
        self._check(stored)
        self._session.make_room(freeing=False)
        asked = (stored.suggestion_id,)
        # One that gets another name is a new row: whoever has waited for the old one looks again.
        locked = self._session.rows(_LOCKED + self._session.dialect.for_update, asked)
        revision, *digests = (locked or self._session.rows(_LOCKED, asked) or [(None,)])[0]
        if revision is None:
            raise not_found(stored.suggestion_id)
        columns.check_revision(
            stored.suggestion_id, revision, expected=expected_revision, code="suggestion.moved"
        )
        if tuple(digests) != _derived_values(stored.suggestion)[:2]:
            self._execute(TABLE.delete, asked)
            self._insert(stored)
        text_revision, statements = self._replace_text(stored)
        self._run(*statements, _update_statement(stored, text_revision), _runs(stored))

    @writing
    def delete(self, suggestion_ids: Sequence[SuggestionId]) -> None:
        self._session.make_room(freeing=True)
        for chunk in id_chunks(suggestion_ids):
            rows = [(suggestion_id,) for suggestion_id in chunk]
            # Whoever writes one of them has ended when its row is gone, and what it wrote is seen.
            self._execute(TABLE.delete, *rows)
            emptied = texts.erase_statement(self._session, map(TABLE.owner, chunk))
            unsaid = skill_log.erase_statement(self._session, suggestion_ids=chunk)
            self._run((_DELETE_RUNS, rows), emptied, unsaid)

    @writing
    def forget_runs(self, run_ids: Sequence[RunId]) -> None:
        """Note that nothing of these runs stands in any suggestion any more: what was seen in them is deleted
        or written anew by now."""
        rows = [(run_id,) for run_id in sorted(filter(is_storable, set(run_ids)))]
        self._execute(_FORGET_RUN, *rows)

    def _one(self, condition: str, value: SqlValue) -> StoredSuggestion | None:
        return self._read_first(_read, f"{TABLE.select} WHERE {condition}", value)

    def _check(self, stored: StoredSuggestion) -> None:
        runs = (evidence.run_id for evidence in stored.suggestion.evidence)
        columns.check_storable(stored.suggestion_id, stored.state_actor, stored.suggestion.pattern, *runs)

    def _insert(self, stored: StoredSuggestion) -> None:
        if self._execute(TABLE.insert, (*_values(stored), 0)) != 1:
            raise Conflict(
                f"there is a suggestion like {stored.suggestion.name!r} already",
                code="suggestion.exists",
                hint="read it again, and add to the one that is there or choose another name",
            )

    def _replace_text(self, stored: StoredSuggestion) -> tuple[int | None, list[SqlStatement]]:
        text = serialize(stored.suggestion)
        return texts.replace_statements(self._session, TABLE.owner(stored.suggestion_id), text)


def not_found(name: str) -> NotFound:
    return columns.not_found(
        f"{name!r:.80}", code="suggestion.not-found", hint="`runlore skill suggestions list` shows the names"
    )


def _update_statement(stored: StoredSuggestion, text_revision: int | None) -> SqlStatement:
    suggestion_id, *values = _values(stored)
    return (TABLE.update, [(*values, text_revision, suggestion_id)])


def _runs(stored: StoredSuggestion) -> SqlStatement:
    run_ids: Iterable[str] = sorted({evidence.run_id for evidence in stored.suggestion.evidence})
    return (_ADD_RUN, [(run_id, stored.suggestion_id) for run_id in run_ids])


def _derived_values(suggestion: Suggestion) -> tuple[SqlValue, ...]:
    found = (digest(suggestion.name), digest(suggestion.pattern))
    return (*found, suggestion.heuristic.value, suggestion.score.points)


def _values(stored: StoredSuggestion) -> tuple[SqlValue, ...]:
    derived = _derived_values(stored.suggestion)
    return (stored.suggestion_id, *derived, *columns.values_of(stored, _STANDING))


def _read(row: Row) -> StoredSuggestion:
    end = 1 + len(_DERIVED)
    text = texts.read(row)
    with columns.Readable(f"suggestion {row[0]}"):
        suggestion = deserialize(Suggestion, text)
        if row[1:end] != _derived_values(suggestion):
            raise ValueError("the row and its text do not agree")
        standing = columns.fields_of(StoredSuggestion, _STANDING, row[end:])
        return StoredSuggestion(suggestion_id=SuggestionId(row[0]), suggestion=suggestion, **standing)
