"""A store checks itself: whatever is changed behind its back is named, and a sound one has no problems."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.domain.errors import Corrupt
from runlore.domain.record import RecordId
from runlore.domain.records.audit import erase_event, forget_record
from runlore.domain.run import ArtifactId, RunId
from runlore.domain.serialization.codec import erase
from runlore.domain.skill import SkillId, SuggestionId
from runlore.ports.store import Store
from runlore.storage.sql import health, journal_rows, texts
from runlore.storage.sql.record_rows import (
    BODY,
    CHECKSUM,
    EVENT_COLUMNS,
    MOVING_COLUMNS,
    STEADY_COLUMNS,
    event_row,
    read_event,
)
from tests.builders import act, fact, proposed
from tests.fakes import START
from tests.storage.places import Place, PostgresPlace, SqlitePlace, write
from tests.storage.something_of_everything import SESSION, fill

pytestmark = pytest.mark.req("OPS-2")

LOOKED_UP = ("record_id", *MOVING_COLUMNS, "moved_at_ms", "base_revision", *STEADY_COLUMNS)
PROMOTED_NUMBERS = ("created_at_ms", "updated_at_ms", "revision")
USAGE = ("times_used", "last_used_at_ms", "succeeded", "failed")
NUMBERS = ("_ms", "revision", "number", "bytes", "is_untrusted", "standing", "score", *USAGE)
# What is changed: the table, one row of it, its columns, and how the thing is called.
ROWS = (
    ("records", "record_id = 'rec_first'", LOOKED_UP, "rec_first"),
    ("records", "record_id = 'rec_moved'", LOOKED_UP, "rec_moved"),
    ("record_events", "record_id = 'rec_first' AND revision = 32", EVENT_COLUMNS, "rec_first"),
    ("record_events", "record_id = 'rec_first' AND revision = 1", EVENT_COLUMNS, "rec_first"),
    ("record_sources", "record_id = 'rec_derived'", ("source_id", "record_id"), "rec_derived"),
    ("journal", "number = 2", journal_rows.COLUMNS, SESSION),
    ("sessions", "1 = 1", ("session_id", "next_number", "text_revision", "body"), SESSION),
    ("texts", "owner = 'run:run_1'", texts.COLUMNS, "run_1"),
    ("texts", "owner = 'artifact:art_1'", texts.COLUMNS, "art_1"),
    ("texts", "owner = 'receipt:run_1'", texts.COLUMNS, "run_1"),
    ("texts", "owner = 'capture:run_1'", texts.COLUMNS, "run_1"),
    (
        "runs",
        "run_id = 'run_1'",
        ("run_id", "status", "memory", "text_revision", "body"),
        "run_1",
    ),
    ("runs", "run_id = 'run_1'", ("session_id",), "ses_1x"),
    ("artifacts", "artifact_id = 'art_1'", ("run_id", "text_revision"), "1"),
    ("receipts", "run_id = 'run_1'", ("run_id", "text_revision"), "run_1"),
    ("run_captures", "run_id = 'run_1'", ("run_id", "state", "is_untrusted", "text_revision"), "run_1"),
    ("texts", "owner = 'mined run:run_1'", texts.COLUMNS, "run_1"),
    ("texts", "owner = 'suggestion:sug_1'", texts.COLUMNS, "sug_1"),
    ("texts", "owner = 'transcript:digest'", texts.COLUMNS, "digest"),
    ("mined_runs", "run_id = 'run_1'", ("run_id", "session_id", "number", "text_revision"), "run_1"),
    (
        "suggestions",
        "suggestion_id = 'sug_1'",
        ("suggestion_id", "name", "pattern", "heuristic", "state", "score", "text_revision"),
        "sug_1",
    ),
    ("suggestion_runs", "suggestion_id = 'sug_1'", ("run_id", "suggestion_id"), "sug_1"),
    ("texts", "owner = 'skill:skl_1'", texts.COLUMNS, "skl_1"),
    ("texts", "owner = 'skill-event:1'", texts.COLUMNS, "1"),
    ("texts", "owner = 'curation:cur_1'", texts.COLUMNS, "cur_1"),
    (
        "skills",
        "skill_id = 'skl_1'",
        ("skill_id", "name", "origin", "state", "suggestion_id", *USAGE, "text_revision"),
        "skl_1",
    ),
    ("skill_suggestions", "skill_id = 'skl_1'", ("suggestion_id", "skill_id"), "skl_1"),
    ("skill_uses", "skill_id = 'skl_1'", ("skill_id", "at_ms", "outcome"), "skl_1"),
    ("skill_events", "number = 2", ("number", "kind", "text_revision"), "2"),
    ("curations", "curation_id = 'cur_1'", ("curation_id", "text_revision"), "cur_1"),
    ("curation_skills", "curation_id = 'cur_1'", ("skill_id", "curation_id"), "cur_1"),
    ("transcript_positions", "1 = 1", ("source", "text_revision"), "digest"),
    ("texts", "owner = 'promoted:promoted-1' AND revision = 1", texts.COLUMNS, "promoted-1"),
    ("texts", "owner = 'promoted:promoted-1' AND revision = 2", texts.COLUMNS, "promoted-1"),
    ("texts", "owner = 'approval:apr_1'", texts.COLUMNS, "apr_1"),
    (
        "promoted_skills",
        "name = 'promoted-1'",
        ("name", "status", "fingerprint", "source_record_id", *PROMOTED_NUMBERS, "text_revision"),
        "promoted-1",
    ),
    (
        "promoted_history",
        "name = 'promoted-1' AND number = 2",
        ("name", "number", "status", "revision", "text_revision"),
        "promoted-1",
    ),
    ("skill_executions", "run_id = 'run_1'", ("skill_name", "kind"), "promoted-1"),
    ("approvals", "approval_id = 'apr_1'", ("approval_id", "kind", "state", "text_revision"), "apr_1"),
    ("personas", "1 = 1", ("body",), "ada"),
    ("policies", "1 = 1", ("name", "body"), "retention"),
    ("tokens", "1 = 1", ("role", "scopes"), "tok_1"),
    ("jobs", "1 = 1", ("kind", "state"), "job"),
)

# What is missing: the table, its rows, and how the thing is called that lacks them.
MISSING = (
    ("records", "record_id = 'rec_first'", "rec_first"),
    ("record_events", "record_id = 'rec_first' AND revision = 1", "rec_first"),
    ("record_events", "record_id = 'rec_first' AND revision = 20", "rec_first"),
    ("record_events", "record_id = 'rec_first' AND revision = 42", "rec_first"),
    ("record_events", "record_id = 'rec_derived'", "rec_derived has no events"),
    ("record_sources", "record_id = 'rec_derived'", "rec_derived"),
    ("journal", "number = 1", SESSION),
    ("journal", "number = 3", SESSION),
    ("journal", "number = 4", SESSION),
    ("journal", "1 = 1", SESSION),
    ("sessions", "1 = 1", SESSION),
    ("runs", "run_id = 'run_1'", "run_1"),
    ("texts", "owner = 'session:ses_1' AND body <> ''", "session ses_1"),
    ("texts", "owner = 'run:run_2'", "run run_2"),
    ("texts", "owner = 'artifact:art_2'", "artifact art_2"),
    ("texts", "owner = 'receipt:run_2'", "receipt run_2"),
    ("receipts", "run_id = 'run_2'", "run_2"),
    ("texts", "owner = 'mined run:run_2'", "mined run run_2"),
    ("texts", "owner = 'suggestion:sug_2'", "suggestion sug_2"),
    ("texts", "owner = 'transcript:digest'", "transcript digest"),
    ("suggestions", "suggestion_id = 'sug_2'", "sug_2"),
    ("suggestion_runs", "suggestion_id = 'sug_2'", "sug_2"),
    ("texts", "owner = 'skill:skl_2'", "skill skl_2"),
    ("texts", "owner = 'skill-event:2'", "skill-event 2"),
    ("texts", "owner = 'curation:cur_2'", "curation cur_2"),
    ("skills", "skill_id = 'skl_2'", "skl_2"),
    ("skill_suggestions", "skill_id = 'skl_2'", "skl_2"),
    ("skill_uses", "skill_id = 'skl_2'", "skl_2"),
    ("skill_numbers", "1 = 1", "line 1 of the log"),
    ("curations", "curation_id = 'cur_2'", "cur_2"),
    ("curation_skills", "curation_id = 'cur_2'", "cur_2"),
    ("texts", "owner = 'promoted:promoted-2' AND revision = 1", "promoted-2"),
    ("texts", "owner = 'promoted:promoted-2' AND revision = 2", "promoted-2"),
    ("texts", "owner = 'approval:apr_2'", "apr_2"),
    ("promoted_skills", "name = 'promoted-2'", "promoted-2"),
    ("promoted_history", "name = 'promoted-2' AND number = 1", "promoted-2"),
    ("promoted_history", "name = 'promoted-2' AND number = 2", "promoted-2"),
)


def behind(place: Place, statement: str) -> None:
    """Change something as a broken disk would, whatever refers to it."""
    if isinstance(place, PostgresPlace):
        statement = f"SET session_replication_role = replica; {statement}; RESET session_replication_role"
    place.sql(statement)


def literal(value: object) -> str:
    """A value as SQL writes it."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)


def other(column: str, value: object) -> object:
    """Another value, which stands nowhere else."""
    if column.endswith(NUMBERS):
        return 1_000 + (value if isinstance(value, int) else 0)
    return f"{value or ''}x"


def test_a_sound_store_has_no_problems(store: Store) -> None:
    assert store.problems() == ()
    fill(store)
    assert store.problems() == ()


@pytest.mark.req("LRN-12")
def test_what_was_forgotten_or_emptied_is_no_problem(store: Store) -> None:
    fill(store)
    with store.transaction() as tx:
        for record_id in (RecordId("rec_first"), RecordId("rec_derived")):
            record = tx.records.get(record_id)
            tx.erase(record_id, [erase_event(event) for event in tx.records.events(record_id)])
            tx.write([forget_record(record, act())])
        tx.journal.erase_run(RunId("run_1"))
        tx.journal.erase_session(SESSION)
        tx.runs.delete_artifacts([ArtifactId("art_1")])
        tx.runs.delete_receipts([RunId("run_1")])
        tx.captures.delete([RunId("run_1"), RunId("run_2")])
        tx.mined_runs.delete([RunId("run_1")])
        tx.suggestions.delete([SuggestionId("sug_1")])
        tx.skills.delete([SkillId("skl_1")])
        tx.suggestions.forget_runs([RunId("run_1")])
        promoted = tx.promotions.find("promoted-1")
        assert promoted is not None
        history = [(number, erase(each)) for number, each in tx.promotions.history("promoted-1")]
        tx.promotions.rewrite(erase(promoted), history)
        tx.promotions.delete_executions([RunId("run_1")])
        tx.approvals.delete([RunId("run_1")])
        tx.transcript_positions.delete_of_sessions([SESSION])
        session = tx.sessions.get(SESSION)
        gone = replace(session, title="", forgotten_at=START, revision=session.revision + 1)
        tx.sessions.update(gone, expected_revision=session.revision)
    assert store.problems() == ()


def check_changed_columns(place: Place, *, every: int) -> None:
    """Change one column of one row after the other, and see it found."""
    store = place.open()
    fill(store)
    changes = [(table, where, column, name) for table, where, columns, name in ROWS for column in columns]
    for table, where, column, name in changes[::every]:
        [(value,)] = place.sql(f"SELECT {column} FROM {table} WHERE {where}")
        changed = literal(other(column, value))
        behind(place, f"UPDATE {table} SET {column} = {changed} WHERE {where}")

        found = store.problems()

        assert any(name in sentence for sentence in found), (table, where, column, found)
        assert not any("東京" in sentence for sentence in found), (table, where, column)
        behind(place, f"UPDATE {table} SET {column} = {literal(value)} WHERE {column} = {changed}")
    assert store.problems() == ()


def test_any_changed_column_is_found_and_its_owner_is_named(sqlite_place: SqlitePlace) -> None:
    check_changed_columns(sqlite_place, every=1)


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.soak)])
def test_a_changed_column_is_found_on_a_server_too(postgres_place: PostgresPlace, every: int) -> None:
    check_changed_columns(postgres_place, every=every)


def test_a_missing_row_is_found(place: Place) -> None:
    store = place.open()
    fill(store)
    for table, where, name in MISSING:
        rows = place.sql(f"SELECT * FROM {table} WHERE {where}")
        behind(place, f"DELETE FROM {table} WHERE {where}")

        found = store.problems()

        assert any(name in sentence for sentence in found), (table, where, found)
        for row in rows:
            behind(place, f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))})")
    assert store.problems() == ()


def test_a_gap_is_found_where_nothing_else_tells_of_it(place: Place) -> None:
    store = place.open()
    fill(store)
    with store.transaction() as tx:
        tx.journal.erase_session(SESSION)
    behind(place, "DELETE FROM journal WHERE number = 2")

    assert store.problems() == (f"the journal of session {SESSION} has 3 where 2 should be",)


def test_a_whole_copy_that_says_something_else_is_found_though_its_checksum_fits(place: Place) -> None:
    store = place.open()
    fill(store)
    columns = ", ".join(EVENT_COLUMNS)
    [row] = place.sql(f"SELECT {columns} FROM record_events WHERE record_id = 'rec_first' AND revision = 16")
    event = read_event(row)
    forged = event_row(event, str(row[EVENT_COLUMNS.index("changes")]), '{"confidence": 3}')
    checksum, body = forged[CHECKSUM], forged[BODY]
    behind(
        place,
        f"UPDATE record_events SET checksum = {literal(checksum)}, body = {literal(body)}"
        " WHERE record_id = 'rec_first' AND revision = 16",
    )

    assert any("rec_first" in sentence and "revision 16" in sentence for sentence in store.problems())


def test_very_many_problems_are_told_within_a_bound(place: Place) -> None:
    store = place.open()
    write(store, *(proposed(fact(f"number {number}")) for number in range(health.PROBLEMS_MAX + 20)))
    behind(place, "UPDATE record_events SET actor = 'somebody else'")

    found = store.problems()

    assert len(found) == health.PROBLEMS_MAX + 1
    assert "more than" in found[-1]


def flips(file: Path, text: bytes) -> Iterator[int]:
    """Every place in a file where a text stands."""
    content = file.read_bytes()
    place = content.find(text)
    while place >= 0:
        yield place
        place = content.find(text, place + 1)


@pytest.mark.parametrize("text", ["rec_derived", "reply 1", "renamed", "run_2"])
def test_a_flipped_bit_anywhere_in_the_file_is_found_or_keeps_the_store_closed(
    sqlite_place: SqlitePlace, text: str
) -> None:
    fill(sqlite_place.open())
    sqlite_place.close()
    sound = sqlite_place.file.read_bytes()
    places = list(flips(sqlite_place.file, text.encode()))
    assert places

    for place in places:
        damaged = bytearray(sound)
        damaged[place + 1] ^= 0x04
        sqlite_place.file.write_bytes(damaged)
        assert problems_or_refusal(sqlite_place), place


def problems_or_refusal(place: SqlitePlace) -> bool:
    """Whether a damaged file is noticed."""
    try:
        return place.open().problems() != ()
    except Corrupt:
        return True
    finally:
        place.close()


def test_a_damaged_page_is_told_and_the_rest_is_still_looked_at(sqlite_place: SqlitePlace) -> None:
    store = sqlite_place.open()
    fill(store)
    store.close()
    sqlite_place.sql("UPDATE texts SET body = 'x' WHERE owner = 'run:run_1'")
    [(root,)] = sqlite_place.sql("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'")
    content = bytearray(sqlite_place.file.read_bytes())
    page_bytes = int.from_bytes(content[16:18], "big")
    assert isinstance(root, int)
    content[(root - 1) * page_bytes : root * page_bytes] = bytes(page_bytes)
    sqlite_place.file.write_bytes(content)

    found = sqlite_place.open().problems()

    assert any(str(sqlite_place.file) in sentence for sentence in found)
    assert any("run run_1" in sentence for sentence in found)


@pytest.mark.req("SKL-4")
def test_a_suggestion_that_was_seen_in_no_run_is_told(place: Place) -> None:
    store = place.open()
    fill(store)
    assert store.problems() == ()
    behind(place, "INSERT INTO suggestion_runs (run_id, suggestion_id) VALUES ('run_nobody', 'sug_1')")

    [problem] = store.problems()

    assert problem == "suggestion sug_1 was seen in run run_nobody, which is not there"
