"""Answers as JSON: read back on the other side of a connection as they were, and never believed blindly."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.daemon import answers
from runlore.domain import errors
from runlore.domain.access import AccessToken, Role, TokenId
from runlore.domain.prompts.projection import Receipt
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import JsonValue, Record
from runlore.domain.records import audit
from runlore.domain.records.audit import RecordEvent
from runlore.domain.run import Artifact
from runlore.domain.runs.transcript import Position
from runlore.domain.session import Session, SessionId
from runlore.ports import operations as ops
from tests.domain.random_records import json_values
from tests.domain.serialization import sample_answers
from tests.domain.serialization.random_answers import of_type
from tests.domain.serialization.sample_answers import operations
from tests.examples import scaled
from tests.fakes import START

pytestmark = pytest.mark.req("SUR-2")

Write = Callable[[Any], JsonValue]
Read = Callable[[JsonValue], Any]
MERGES = tuple[ops.MergeItem, ...]
POSITIONS = dict[str, Position]

# Every type that an operation answers, and what stands in a stream or in another answer.
ANSWERS = list(dict.fromkeys([*(kind for _, kind in operations()), Receipt, RunMemory, ops.RunEnded]))
few = settings(max_examples=scaled(8))
every_answer = pytest.mark.parametrize("kind", ANSWERS, ids=str)


def functions_of(kind: Any) -> tuple[Write, Read]:
    """How an answer of this type is written, and read."""
    if kind is ops.SearchHits:
        return lambda hits: answers.write_hits("q", hits), lambda plain: answers.read(kind, plain)
    if kind == MERGES:
        return answers.write_merges, lambda plain: answers.read_list(ops.MergeItem, plain)
    if kind == POSITIONS:
        return answers.write_positions, answers.read_positions
    return answers.write, lambda plain: answers.read_answer(kind, plain)


@pytest.mark.req("SUR-1")
def test_the_json_of_every_type_is_as_it_was_byte_for_byte() -> None:
    assert len(dict(operations())) > 50
    stored = sample_answers.FILE.read_bytes().splitlines()

    assert list(sample_answers.lines()) == stored


@pytest.mark.req("SUR-1")
@every_answer
@few
@given(data=st.data())
def test_an_answer_is_read_back_as_it_was_and_a_damaged_one_never_believed(
    kind: Any, data: st.DataObject
) -> None:
    write, read = functions_of(kind)
    answer = data.draw(of_type(kind))
    sent = orjson.dumps(write(answer))
    plain = orjson.loads(sent)

    assert read(plain) == answer
    assert orjson.dumps(write(read(plain))) == sent
    damage(plain, data)
    outcome(read, plain)


@every_answer
@few
@given(plain=json_values)
def test_anything_else_than_the_answer_is_one_error(kind: Any, plain: JsonValue) -> None:
    outcome(functions_of(kind)[1], plain)


def outcome(read: Read, plain: JsonValue) -> None:
    """Reads it, or refuses it with the one error; any other error is the test's."""
    refused: errors.Unavailable | None = None
    try:
        read(plain)
    except errors.Unavailable as error:
        refused = error
    if refused is not None:
        assert (refused.code, len(refused.sentence) < 400) == ("answer.format", True)


def damage(plain: JsonValue, data: st.DataObject) -> None:
    """Takes one thing away from somewhere in a document, or puts another in its place."""
    places = list(containers(plain))
    place = data.draw(st.sampled_from(places)) if places else None
    if isinstance(place, dict) and place:
        name = data.draw(st.sampled_from(sorted(place)))
        if data.draw(st.booleans()):
            del place[name]
        else:
            place[name] = data.draw(json_values)
    elif isinstance(place, list):
        place.append(data.draw(json_values))


def containers(plain: Any) -> Iterable[Any]:
    """All objects and lists of a document."""
    if isinstance(plain, dict | list):
        yield plain
        for inner in plain.values() if isinstance(plain, dict) else plain:
            yield from containers(inner)


@given(event=of_type(audit.RecordEvent))
def test_an_event_of_a_record_keeps_its_changes(event: RecordEvent) -> None:
    sent = orjson.dumps(answers.write([event]))
    assert answers.read_list(RecordEvent, orjson.loads(sent)) == (event,)


@pytest.mark.req("OPS-5")
def test_neither_the_digest_nor_the_secret_of_a_token_is_in_its_answer() -> None:
    token = AccessToken(
        token_id=TokenId("tok_1"),
        name="claude-code",
        role=Role.AGENT,
        scopes=None,
        digest="d1g3st",
        created_at=START,
        created_by="operator",
    )
    assert "d1g3st" not in repr(answers.write([token]))
    made = answers.write(ops.MadeToken(token=token, secret="s3cret"))
    assert (made.pop("secret"), made) == ("s3cret", answers.write(token))


def test_a_private_session_says_that_nothing_is_stored() -> None:
    session = Session(
        session_id=SessionId("s"), private=True, created_by="a", created_at=START, active_at=START
    )
    assert answers.write(session)["stored"] is False
    assert answers.write(dataclasses.replace(session, private=False))["stored"] is True
    assert answers.write(None) == {"stored": False}


def test_an_empty_answer_in_place_of_a_kept_thing_is_not_taken_for_one_that_was_not_stored() -> None:
    for plain in ({}, {"stored": True}, None, {"stored": 0.5}):
        with pytest.raises(errors.Unavailable, match="something else"):
            answers.read_answer(Record | None, plain)
        with pytest.raises(errors.Unavailable, match="something else"):
            answers.read_answer(Artifact | None, plain)


def test_a_section_of_a_status_stands_beside_the_rest_and_never_in_its_place() -> None:
    status = ops.Status(
        version="1", state_root="/r", store={}, counts={}, waiting=3, sections={"jobs": {}, "waiting": 9}
    )
    plain = answers.write(status)
    assert (plain["jobs"], plain["waiting"]) == ({}, 3)


@pytest.mark.req("SUR-7")
@pytest.mark.parametrize(
    "kind",
    [
        errors.Invalid,
        errors.Refused,
        errors.Denied,
        errors.NotFound,
        errors.Conflict,
        errors.Unavailable,
        errors.Corrupt,
        errors.RunloreError,
    ],
)
def test_an_error_is_the_same_error_on_the_other_side(kind: type[errors.RunloreError]) -> None:
    error = kind("no such thing", code="thing.reason", hint="look again")
    sent = orjson.dumps(answers.problem(error, 418))
    again = answers.read_problem(orjson.loads(sent))
    assert type(again) is kind
    assert (again.sentence, again.code, again.hint) == ("no such thing", "thing.reason", "look again")


@pytest.mark.req("SUR-7")
@given(plain=json_values)
def test_what_is_no_problem_document_is_no_error_of_ours(plain: JsonValue) -> None:
    with pytest.raises(errors.Unavailable, match="something else"):
        answers.read_problem(plain)
