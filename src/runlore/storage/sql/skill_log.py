"""The log of skills, in SQL that both databases run. Names and reasons may be words of runs: they stand among
the texts that can be emptied, and a line whose words are gone says only what happened."""

from collections.abc import Iterator, Sequence

from runlore.domain.errors import RunloreError
from runlore.domain.skill import SkillEvent, SkillId
from runlore.storage.sql import columns, texts
from runlore.storage.sql.filters import Condition
from runlore.storage.sql.session import Row, SqlSession, SqlStatement, in_list, rows_of

TABLE = texts.TextTable("skill_events", "skill-event", "number kind actor at_ms skill_id suggestion_id")
_INSERT = (
    f"INSERT INTO skill_events ({', '.join(TABLE.columns)}, text_revision)"
    f" VALUES ({in_list(TABLE.columns)}, 1)"
)
# One row for both, so that whoever writes skills and lines waits at one place alone.
_COUNT = (
    "INSERT INTO skill_numbers (name, stamp, event) VALUES ('skills', ?, ?) ON CONFLICT (name) DO UPDATE"
    " SET stamp = skill_numbers.stamp + excluded.stamp, event = skill_numbers.event + excluded.event"
)
_NUMBERS = "SELECT stamp, event FROM skill_numbers WHERE name = 'skills'"
# The statement that says that a skill changes; whoever else writes one waits until the end.
STAMPED = (_COUNT, [(1, 0)])
_LOGGED = (_COUNT, [(0, 1)])


def numbers(session: SqlSession) -> tuple[int, int]:
    """The stamp of the skills, and the number of the latest line."""
    rows = session.rows(_NUMBERS)
    return (rows[0][0], rows[0][1]) if rows else (0, 0)


def add(session: SqlSession, event: SkillEvent) -> int:
    columns.check_storable(event.actor, event.skill_id, event.suggestion_id)
    session.run([_LOGGED])
    _, next_number = numbers(session)
    row = (next_number, *columns.values_of(event, TABLE.columns[1:]))
    text = texts.insert_statement(TABLE.owner(next_number), 1, {"name": event.name, "reason": event.reason})
    session.run([(_INSERT, [row]), text])
    return next_number


def page(
    session: SqlSession, *, limit: int, before: int | None = None, skill_id: SkillId | None = None
) -> tuple[SkillEvent, ...]:
    if limit <= 0:
        return ()
    asked = Condition().narrow("number < ?", before).narrow("skill_id = ?", skill_id)
    found = f"SELECT * FROM skill_events WHERE {asked.sql} ORDER BY number DESC LIMIT ?"
    sql = f"SELECT {TABLE.selected} FROM ({found}) s {TABLE.join} ORDER BY s.number DESC"
    return tuple(map(_read, session.rows(sql, (*asked.parameters, limit))))


def problems(session: SqlSession) -> Iterator[str]:
    latest = numbers(session)[1]
    for row in session.stream(f"{TABLE.select} ORDER BY s.number"):
        try:
            event = _read(row)
        except RunloreError as error:
            yield error.sentence
            continue
        if not 0 < event.number <= latest:
            yield f"line {event.number} of the log of skills is beyond the latest, {latest}"


def erase_statement(
    session: SqlSession, *, skill_ids: Sequence[str] = (), suggestion_ids: Sequence[str] = ()
) -> SqlStatement:
    owners = [
        *_owners(session, "skill_id", skill_ids),
        *_owners(session, "suggestion_id", suggestion_ids),
    ]
    return texts.erase_statement(session, dict.fromkeys(owners))


def _owners(session: SqlSession, column: str, ids: Sequence[str]) -> Iterator[str]:
    sql = f"SELECT number FROM skill_events WHERE {column} IN ({{ids}}) ORDER BY number"
    return (TABLE.owner(row[0]) for row in rows_of(session, sql, ids))


def _read(row: Row) -> SkillEvent:
    said = texts.read(row)
    with columns.Readable(f"line {row[0]} of the log of skills"):
        fields = columns.fields_of(SkillEvent, TABLE.columns, row)
        return SkillEvent(**fields, name=str(said.get("name", "")), reason=str(said.get("reason", "")))
