"""Whatever is asked for gets an answer, or an error that says what is wrong: never a surprise."""

import base64
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from runlore.daemon.calls.requests import decode_cursor, encode_cursor
from runlore.domain.errors import Invalid
from runlore.domain.record import RecordId, State
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.world import World, decision, outcome

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
few = hypothesis_settings(
    max_examples=scaled(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.req("SUR-7")
@few
@given(text=any_text)
def test_an_id_that_names_nothing_is_not_found_whatever_its_form(world: World, text: str) -> None:
    record_id = RecordId(text)
    asked = [
        lambda: world.operator.get_record(record_id),
        lambda: world.operator.get_record(record_id, as_of=world.clock.now()),
        lambda: world.operator.history(record_id),
        lambda: world.confirm(record_id),
        lambda: world.forget(record_id),
        lambda: world.operator.radar_adopt(ops.AdoptRequest(finding_id=record_id)),
    ]

    assert {outcome(each) for each in asked} == {"record.not-found"}


@pytest.mark.req("LAY-1")
@few
@given(text=any_text.filter(bool))
def test_a_record_that_is_not_there_cannot_be_superseded(world: World, text: str) -> None:
    candidate = world.propose()

    assert outcome(lambda: world.confirm(candidate, supersedes=RecordId(text))) == "record.not-found"
    assert world.record(candidate).state is State.CONSTRAINED


@pytest.mark.req("RET-4")
@few
@given(cursor=any_text)
def test_a_cursor_that_no_list_gave_is_refused_or_a_place_in_the_list(world: World, cursor: str) -> None:
    codes = {
        outcome(
            lambda: world.operator.list_records(ops.ListRequest(cursor=_cursor_of("list_records", cursor)))
        ),
        outcome(
            lambda: world.operator.review_list(ops.ReviewRequest(cursor=_cursor_of("review_list", cursor)))
        ),
    }

    assert codes in ({"cursor.format"}, {"done"})
    for request in (ops.ListRequest(cursor=cursor), ops.ListRequest(cursor=f"{cursor}====")):
        assert outcome(partial(world.operator.list_records, request)) == "cursor.format"


def _cursor_of(operation: str, place: str) -> str:
    return base64.urlsafe_b64encode(f"{operation} {place}".encode(errors="surrogatepass")).decode()


@pytest.mark.req("SUR-3")
def test_a_cursor_belongs_to_the_list_that_gave_it(sqlite_world: World) -> None:
    world, page = sqlite_world, ops.PageRequest(limit=1)
    for number in range(2):
        world.profile(f"key {number}")
        world.operator.create_session(ops.NewSession(session_id=SessionId(f"s{number}")))
        world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId(f"p{number}")))
    records = world.operator.list_records(ops.ListRequest(limit=1))
    sessions = world.operator.list_sessions(page)
    personas = world.operator.list_personas(page)

    asked = {
        each.next_cursor: [
            outcome(partial(world.operator.list_records, ops.ListRequest(cursor=each.next_cursor))),
            outcome(partial(world.operator.list_sessions, ops.PageRequest(cursor=each.next_cursor))),
            outcome(partial(world.operator.list_personas, ops.PageRequest(cursor=each.next_cursor))),
        ]
        for each in (records, sessions, personas)
    }

    refused = "cursor.format"
    assert list(asked.values()) == [
        ["done", refused, refused],
        [refused, "done", refused],
        [refused, refused, "done"],
    ]


@pytest.mark.req("SUR-3")
def test_a_cursor_of_one_journal_is_none_of_another(sqlite_world: World) -> None:
    world = sqlite_world
    world.session("other")
    runs = [world.finished("Fix it"), world.finished("Fix it", session_id="other")]
    lists: list[dict[str, Any]] = [
        *({"run_id": run.run_id} for run in runs),
        *({"session_id": run.session_id} for run in runs),
    ]

    def page(of: dict[str, Any], **fields: Any) -> ops.JournalPage:
        return world.operator.journal(ops.JournalRequest(**of, **fields))

    cursors = [page(of, limit=1).next_cursor for of in lists]

    assert None not in cursors
    for at, cursor in enumerate(cursors):
        taken = [outcome(partial(page, of, cursor=cursor)) for of in lists]
        assert taken == ["done" if place == at else "cursor.format" for place in range(len(lists))]


@pytest.mark.req("RET-4")
@few
@given(query=any_text)
def test_any_query_is_searched_or_refused(world: World, query: str) -> None:
    if not world.stored():
        world.profile()

    assert outcome(lambda: world.search(query)) in {"done", "query.blank", "text.characters"}


@pytest.mark.req("RET-4")
def test_limits_are_kept(world: World) -> None:
    for limit in (0, -1, 51, 10**30):
        with pytest.raises(Invalid) as refusal:
            world.search("editor", limit=limit)
        assert refusal.value.code == "limit.range"
    for limit in (0, 501):
        with pytest.raises(Invalid):
            world.operator.list_records(ops.ListRequest(limit=limit))
        with pytest.raises(Invalid):
            world.operator.review_list(ops.ReviewRequest(limit=limit))
    assert outcome(lambda: world.search("x" * 4_001)) == "query.long"
    assert outcome(lambda: world.search("x" * 4_000)) == "done"


@pytest.mark.req("REC-9")
@pytest.mark.parametrize(
    ("moment", "is_there"),
    [
        (datetime.min.replace(tzinfo=UTC), False),
        (datetime(1969, 12, 31, tzinfo=UTC), False),
        (datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=13))), True),
        (datetime.max.replace(tzinfo=UTC), True),
    ],
)
def test_any_moment_can_be_asked_for(world: World, moment: datetime, is_there: bool) -> None:
    record = world.profile()

    assert world.active(as_of=moment) == [record.record_id] * is_there
    assert world.search("editor", as_of=moment) == [record.record_id] * is_there
    assert outcome(lambda: world.operator.get_record(record.record_id, as_of=moment)) == (
        "done" if is_there else "record.not-found"
    )


@pytest.mark.req("REC-10")
@pytest.mark.parametrize("act", ["confirm", "reject", "rollback", "restore", "forget"])
@pytest.mark.parametrize("expected", [0, -1, 7, 10**30])
def test_a_stale_revision_is_a_conflict_and_nothing_is_written(world: World, act: str, expected: int) -> None:
    record = world.propose()
    before = world.tables()

    code = outcome(lambda: getattr(world.operator, act)(decision(record, expected_revision=expected)))

    assert code == "record.revision"
    assert world.tables() == before


@pytest.mark.req("RET-4")
def test_a_list_is_named_for_the_cursors_that_there_are_alone() -> None:
    def name() -> str:
        raise AssertionError("nobody has asked for it")

    request, page = ops.ListRequest(), ops.PersonaPage(items=())

    assert decode_cursor(name, request) is request
    assert encode_cursor(name, page) is page
    with pytest.raises(AssertionError):
        encode_cursor(name, ops.PersonaPage(items=(), next_cursor="there"))
