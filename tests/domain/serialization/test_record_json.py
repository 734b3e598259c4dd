"""A record as JSON: read back as it was written, and never believed when it is damaged."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Corrupt
from runlore.domain.record import (
    EvidenceRef,
    Feedback,
    JsonObject,
    JsonValue,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    Source,
)
from runlore.domain.scope import WORKSPACE
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.taint import Provenance
from tests.builders import fact, published
from tests.domain.random_records import json_objects, json_values, records
from tests.fakes import START

# The fields of REC-7, each with those of VALUES that can stand in it; a word of a list or a time is none.
TEXT, WHOLE, FLAG, LIST, OBJECT, NULL = "text", "whole", "flag", "list", "object", "null"
NONE: tuple[str, ...] = ()
FIELDS: dict[str, tuple[str, ...]] = {
    "record_id": (TEXT,),
    "layer": NONE,
    "kind": NONE,
    "state": NONE,
    "state_reason": (NULL,),
    "scope": NONE,
    "summary": (TEXT,),
    "metadata": (OBJECT,),
    "confidence": (WHOLE,),
    "sensitivity": NONE,
    "origin": NONE,
    "created_by": (TEXT,),
    "source": (OBJECT,),
    "evidence_refs": NONE,
    "provenance": NONE,
    "publish_tier": (NULL,),
    "verification_status": NONE,
    "policy_decision": (NULL,),
    "policy_actor": (TEXT, NULL),
    "automation_review": (OBJECT, NULL),
    "semantic_key": (TEXT,),
    "proposal": (NULL,),
    "supersedes": (TEXT, NULL),
    "superseded_by": (TEXT, NULL),
    "duplicate_of": (TEXT, NULL),
    "both_hold": NONE,
    "feedback": NONE,
    "standing": (FLAG,),
    "created_at": NONE,
    "published_at": (NULL,),
    "expires_at": (NULL,),
    "revalidate_at": (NULL,),
    "revision": (WHOLE,),
}
INNER: dict[tuple[str, str], tuple[str, ...]] = {
    ("scope", "kind"): NONE,
    ("scope", "id"): (TEXT,),
    ("source", "session_id"): (TEXT, NULL),
    ("source", "run_id"): (TEXT, NULL),
    ("source", "agent"): (TEXT, NULL),
    ("source", "record_ids"): NONE,
    ("source", "imported_from"): (TEXT, NULL),
    ("evidence_refs", "run_id"): (TEXT, NULL),
    ("evidence_refs", "artifact_id"): (TEXT, NULL),
    ("evidence_refs", "event_number"): (WHOLE, NULL),
    ("evidence_refs", "note"): (TEXT, NULL),
    ("provenance", "untrusted"): (FLAG,),
    ("provenance", "needs_review"): (FLAG,),
    ("provenance", "sources"): NONE,
    ("feedback", "wrong"): (WHOLE,),
    ("feedback", "helped"): (WHOLE,),
}
VALUES: dict[str, JsonValue] = {
    NULL: None,
    FLAG: True,
    WHOLE: 3,
    "fraction": 1.5,
    TEXT: "sphinx",
    LIST: [7],
    OBJECT: {"note": "x"},
}


def example() -> Record:
    return published(
        fact(
            source=Source(run_id="run_1", record_ids=(RecordId("rec_a"),)),
            evidence_refs=(EvidenceRef(run_id="run_1", event_number=4, note="seen"),),
            provenance=Provenance(sources=("https://example.org",)),
        )
    )


def through_json(plain: JsonObject) -> dict[str, JsonValue]:
    copy: dict[str, JsonValue] = json.loads(json.dumps(plain))
    return copy


def is_plain(value: JsonValue) -> bool:
    """Whether it is made of nothing but the built-in types that JSON has."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.req("REC-7")
@given(records())
def test_any_record_is_read_as_it_was_written(record: Record) -> None:
    plain = serialize(record)

    assert is_plain(plain)
    assert deserialize(Record, through_json(plain)) == record


@pytest.mark.req("REC-7")
def test_a_record_shows_every_field_in_the_order_of_the_specification() -> None:
    assert list(serialize(fact())) == list(FIELDS)


@pytest.mark.req("REC-7")
def test_what_nobody_has_said_takes_its_default() -> None:
    plain = serialize(fact())

    assert (plain["confidence"], plain["sensitivity"]) == (80, "normal")
    assert plain["provenance"] == {"untrusted": False, "needs_review": False, "sources": []}
    assert plain["feedback"] == {"wrong": 0, "helped": 0}
    assert plain["verification_status"] == "unverified"
    assert plain["created_at"] == "2026-01-01T00:00:00.000Z"
    assert plain["proposal"] is plain["publish_tier"] is plain["expires_at"] is None


@pytest.mark.req("REC-7")
@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("of_type", VALUES)
def test_a_field_of_the_wrong_type_is_damage(name: str, of_type: str) -> None:
    plain = through_json(serialize(example())) | {name: VALUES[of_type]}

    if of_type in FIELDS[name]:
        assert serialize(deserialize(Record, plain))[name] == VALUES[of_type] or name == "source"
        return
    with pytest.raises(Corrupt):
        deserialize(Record, plain)


@pytest.mark.req("REC-7")
@pytest.mark.parametrize(("outer", "name"), list(INNER))
@pytest.mark.parametrize("of_type", VALUES)
def test_a_field_inside_a_field_of_the_wrong_type_is_damage(outer: str, name: str, of_type: str) -> None:
    plain = through_json(serialize(example()))
    holder = plain[outer][0] if isinstance(plain[outer], list) else plain[outer]  # type: ignore[index]
    holder[name] = VALUES[of_type]  # type: ignore[index]

    if of_type in INNER[(outer, name)]:
        assert serialize(deserialize(Record, plain)) == plain
        return
    with pytest.raises(Corrupt):
        deserialize(Record, plain)


LATER_FIELDS = ("both_hold", "standing")


@pytest.mark.req("REC-7", "LRN-14", "PRJ-6")
def test_a_record_of_an_earlier_release_holds_beside_nothing_and_does_not_stand() -> None:
    record = example()
    plain = serialize(record)
    for name in LATER_FIELDS:
        del plain[name]

    assert deserialize(Record, plain) == record


@pytest.mark.req("REC-7")
@pytest.mark.parametrize("name", [name for name in FIELDS if name not in LATER_FIELDS])
def test_a_record_that_lacks_a_field_is_damaged(name: str) -> None:
    plain = serialize(example())
    del plain[name]

    with pytest.raises(Corrupt) as corrupt:
        deserialize(Record, plain)
    assert name in corrupt.value.sentence
    assert corrupt.value.hint


@pytest.mark.req("REC-7")
@pytest.mark.parametrize(
    "damage",
    [
        {"layer": "sematic"},
        {"kind": "rumour"},
        {"state": "zombie"},
        {"state_reason": "bored"},
        {"sensitivity": ""},
        {"created_at": "yesterday"},
        {"expires_at": "2026-13-01"},
        {"scope": {"kind": "workspace", "id": "acme"}},
        {"scope": {"kind": "session", "id": " "}},
        {"scope": {"kind": "galaxy", "id": "x"}},
        {"scope": {}},
        {"provenance": {"untrusted": False, "needs_review": False, "sources": "abc"}},
        {"source": {"record_ids": "abc"}},
        {"source": {"record_ids": [1]}},
        {"evidence_refs": ["run_1"]},
        {"evidence_refs": {"run_id": "x"}},
    ],
    ids=str,
)
def test_a_value_that_nothing_here_writes_is_damage(damage: JsonObject) -> None:
    with pytest.raises(Corrupt):
        deserialize(Record, {**serialize(example()), **damage})


@pytest.mark.req("REC-7")
@given(json_objects)
def test_any_other_object_is_damage(plain: JsonObject) -> None:
    with pytest.raises(Corrupt):
        deserialize(Record, plain)


def readable(read: Callable[[], Record]) -> bool:
    try:
        read()
    except Corrupt:
        return False
    return True


@pytest.mark.req("REC-7")
@given(records(), st.data())
def test_whatever_is_put_in_place_of_a_field_the_answer_is_a_record_or_corrupt(
    record: Record, data: st.DataObject
) -> None:
    plain = through_json(serialize(record))
    name = data.draw(st.sampled_from(list(plain)))
    plain[name] = data.draw(json_values)

    if readable(lambda: deserialize(Record, plain)):
        again = serialize(deserialize(Record, plain))
        assert deserialize(Record, through_json(again)) == deserialize(Record, plain)


@pytest.mark.req("REC-7", "LRN-8")
def test_the_error_about_a_damaged_record_does_not_show_what_it_held() -> None:
    plain = {
        **serialize(example()),
        "summary": ["the cat's name"],
        "created_by": {"a": "the cat's name"},
    }

    with pytest.raises(Corrupt) as corrupt:
        deserialize(Record, plain)
    assert "cat" not in corrupt.value.sentence


@pytest.mark.req("REC-7")
def test_sources_and_evidence_may_leave_out_what_is_unknown() -> None:
    assert deserialize(Source, {"run_id": "run_1"}) == Source(run_id="run_1")
    assert deserialize(EvidenceRef, {"note": "seen"}) == EvidenceRef(note="seen")


@pytest.mark.req("REC-7")
def test_the_words_of_enumerations_are_written_as_plain_texts() -> None:
    plain = serialize(
        fact(
            scope=WORKSPACE,
            publish_tier=PublishTier.PROVISIONAL,
            proposal=Proposal.RADAR,
            feedback=Feedback(wrong=1, helped=2),
            expires_at=START,
        )
    )

    assert json.loads(json.dumps(plain)) == plain
    assert type(plain["publish_tier"]) is type(plain["proposal"]) is str
    assert plain["scope"] == {"kind": "workspace", "id": "default"}
    assert plain["expires_at"] == "2026-01-01T00:00:00.000Z"
