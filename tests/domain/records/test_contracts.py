"""What every record has to satisfy: each field of each layer's contract, and every bound at its edge."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    JsonValue,
    Kind,
    Layer,
    Record,
    RecordId,
    Source,
    State,
    StateReason,
)
from runlore.domain.records.audit import forget_record
from runlore.domain.records.contracts import (
    check_confidence,
    check_metadata,
    check_record,
    check_summary,
    check_text,
    contract_fields,
)
from runlore.domain.taint import Provenance
from tests.builders import act, episode, fact, preference, procedure, scratch
from tests.domain.random_records import scalars, texts

GOOD: dict[str, dict[str, JsonValue]] = {
    "working": {},
    "episodic": {},
    "profile": {"profile_key": "editor", "value": "vim", "reason": "said so"},
    "semantic": {"origin": "candidate", "topic_tags": ["editor"], "compacted_from": ["rec_1"]},
    "procedural": {"workflow": "release", "canonical": False, "compacted_from": ["rec_1"]},
    "radar": {
        "origin": "radar",
        "topic_tags": [],
        "compacted_from": ["rec_1"],
        "repo_slug": "acme/x",
        "source_handle": "acme",
        "source_url": "https://example.org/acme/x",
        "confidence": 80,
        "evidence_refs": ["https://example.org/acme/x"],
    },
}
LAYER = {name: Layer(name) for name in GOOD if name != "radar"} | {"radar": Layer.SEMANTIC}
OPTIONAL = {"compacted_from"}
SAMPLES: dict[str, JsonValue] = {
    "null": None,
    "flag": True,
    "whole": 3,
    "fraction": 1.5,
    "text": "vim",
    "blank": " \t\n",
    "empty": "",
    "list": ["vim"],
    "empty list": [],
    "list with a blank": ["vim", " "],
    "list with a number": ["vim", 3],
    "object": {"a": "b"},
}
A_TEXT = {"text"}
A_SCALAR = {"text", "whole", "fraction", "flag"}
A_NUMBER = {"whole", "fraction"}
TEXTS = {"list", "empty list"}
ACCEPTED = {
    "profile_key": A_TEXT,
    "value": A_SCALAR,
    "reason": A_TEXT,
    "origin": A_TEXT,
    "topic_tags": TEXTS,
    "compacted_from": TEXTS,
    "workflow": A_TEXT,
    "canonical": {"flag"},
    "repo_slug": A_TEXT,
    "source_handle": A_TEXT,
    "source_url": A_TEXT,
    "confidence": A_NUMBER,
    "evidence_refs": TEXTS,
}
CASES = [(contract, name) for contract, fields in GOOD.items() for name in fields]


def refusal_of(check: Callable[[], object]) -> Invalid | None:
    try:
        check()
    except Invalid as refusal:
        return refusal
    return None


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("contract", GOOD)
def test_metadata_that_keeps_its_contract_passes_and_may_say_more(contract: str) -> None:
    check_metadata(LAYER[contract], GOOD[contract])
    check_metadata(LAYER[contract], {**GOOD[contract], "note": {"anything": [1, None, True, 1.5]}})


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(("contract", "name"), CASES)
def test_a_field_that_is_missing_is_named_unless_it_may_be(contract: str, name: str) -> None:
    metadata = {key: value for key, value in GOOD[contract].items() if key != name}

    refusal = refusal_of(lambda: check_metadata(LAYER[contract], metadata))

    # Without `origin` it is no longer a radar record, and `origin` is missing all the same.
    if name in OPTIONAL:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.code == "record.metadata"
        assert name in refusal.hint
        assert refusal.sentence == f"metadata.{name} of a {LAYER[contract]} record is missing"


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(("contract", "name"), CASES)
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_field_of_the_wrong_type_or_blank_is_named(contract: str, name: str, sample: str) -> None:
    metadata = {**GOOD[contract], name: SAMPLES[sample]}

    refusal = refusal_of(lambda: check_metadata(LAYER[contract], metadata))

    if sample in ACCEPTED[name]:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.sentence.startswith(f"metadata.{name} of a {LAYER[contract]} record ")


@pytest.mark.req("REC-8")
def test_the_fields_of_a_contract_can_be_listed() -> None:
    for contract, fields in GOOD.items():
        listed = contract_fields(LAYER[contract], radar=contract == "radar")
        assert dict(listed) == {name: name not in OPTIONAL for name in fields}


@pytest.mark.req("REC-8", "LAY-6")
@pytest.mark.parametrize("confidence", [-1, 101, 100.5, float("nan")])
def test_the_confidence_of_a_finding_has_its_bounds(confidence: float) -> None:
    with pytest.raises(Invalid, match="confidence"):
        check_metadata(Layer.SEMANTIC, {**GOOD["radar"], "confidence": confidence})


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    ("contract", "name"), [("profile", "profile_key"), ("procedural", "workflow"), ("radar", "repo_slug")]
)
def test_a_name_has_at_most_two_hundred_characters(contract: str, name: str) -> None:
    check_metadata(LAYER[contract], {**GOOD[contract], name: "ä" * 200})

    with pytest.raises(Invalid, match=name):
        check_metadata(LAYER[contract], {**GOOD[contract], name: "ä" * 201})


def nested(levels: int) -> JsonObject:
    """Metadata whose innermost value is so many levels deep, the outermost object being the first."""
    value: JsonValue = "x"
    for _ in range(levels - 1):
        value = {"a": value} if levels % 2 else [value]
    return {"a": value}


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("levels", range(1, 12))
def test_metadata_is_at_most_six_levels_deep(levels: int) -> None:
    refusal = refusal_of(lambda: check_metadata(Layer.EPISODIC, nested(levels)))

    assert (refusal is not None) == (levels > limits.METADATA_DEPTH_MAX - 1)
    assert refusal is None or refusal.code == "record.metadata-depth"


@pytest.mark.req("REC-8")
def test_no_depth_is_too_deep_to_be_refused() -> None:
    refusal = refusal_of(lambda: check_metadata(Layer.EPISODIC, nested(100_000)))

    assert refusal is not None
    assert refusal.code == "record.metadata-depth"


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    "value",
    ["a" * 40_000, "中" * 14_000, [""] * 20_000, [[]] * 20_000, [{}] * 20_000, [None] * 10_000, [0] * 20_000],
    ids=lambda value: repr(value)[:12],
)
def test_metadata_that_is_too_large_is_refused_whatever_fills_it(value: JsonValue) -> None:
    refusal = refusal_of(lambda: check_metadata(Layer.EPISODIC, {"a": value}))

    assert refusal is not None
    assert refusal.code == "record.metadata-size"


@pytest.mark.req("REC-8")
@given(scalars | st.lists(scalars, max_size=2) | st.dictionaries(texts, scalars, max_size=2))
def test_the_measure_of_metadata_stays_near_the_size_that_is_stored(item: JsonValue) -> None:
    one = len(json.dumps([item], ensure_ascii=False).encode())
    many, few = 8 * limits.METADATA_BYTES_MAX // one + 1, limits.METADATA_BYTES_MAX // (8 * one)

    refusal = refusal_of(lambda: check_metadata(Layer.EPISODIC, {"a": [item] * many}))

    assert refusal is not None
    assert refusal.code == "record.metadata-size"
    check_metadata(Layer.EPISODIC, {"a": [item] * few})


@pytest.mark.req("REC-8")
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), float("-inf"), 2**63, -(2**63) - 1, 10**400, "a\0b", "\ud800"],
)
@pytest.mark.parametrize(
    "wrap", [lambda v: v, lambda v: [v], lambda v: {"x": [{"y": v}]}], ids=["bare", "listed", "deep"]
)
def test_what_json_or_a_database_cannot_hold_is_refused_wherever_it_stands(
    value: JsonValue, wrap: Callable[[JsonValue], JsonValue]
) -> None:
    refusal = refusal_of(lambda: check_metadata(Layer.EPISODIC, {"field": wrap(value)}))

    assert refusal is not None
    assert "field" in refusal.sentence
    refusal.sentence.encode()


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("key", ["a\0", "\ud800"])
def test_keys_are_texts_like_any_other(key: str) -> None:
    with pytest.raises(Invalid, match="metadata"):
        check_metadata(Layer.EPISODIC, {"outer": {key: 1}})


@pytest.mark.req("REC-8")
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 0.1, 1e308, "\U0010ffff", "\ufffe"])
def test_what_can_be_held_passes(value: JsonValue) -> None:
    check_metadata(Layer.EPISODIC, {"field": value})


@pytest.mark.req("REC-7")
@pytest.mark.parametrize("letter", ["x", "é", "中", "👩", "e\u0301"])
def test_a_summary_has_at_most_sixteen_hundred_code_points_after_trimming(letter: str) -> None:
    most = 1600 // len(letter)

    assert check_summary(f" \n{letter * most}\t ") == letter * most
    with pytest.raises(Invalid, match=r"1,60[12] characters") as refusal:
        check_summary(letter * (most + 1))
    assert refusal.value.code == "record.summary-long"


@pytest.mark.req("REC-7")
@given(
    st.text(alphabet=" \t\r\n\v\f\x1c\x85\u00a0\u2003\u2028\u3000\u200b\u200d\u2060\u2800\ufeff", max_size=5)
)
def test_a_summary_is_never_blank(blank: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_summary(blank)
    assert refusal.value.code == "record.summary-blank"


@pytest.mark.req("REC-7")
@given(st.text())
def test_a_text_passes_exactly_when_it_can_be_written_as_utf_8_without_nul(text: str) -> None:
    try:
        storable = b"\0" not in text.encode()
    except UnicodeEncodeError:
        storable = False

    refusal = refusal_of(lambda: check_text("it", text))

    assert (refusal is None) == storable


@pytest.mark.req("REC-7")
@pytest.mark.parametrize("confidence", [-1, 101, 10**30, 80.5, 80.0, True, float("nan"), "80", None])
def test_confidence_is_a_whole_number_from_0_to_100(confidence: Any) -> None:
    with pytest.raises(Invalid, match="confidence"):
        check_confidence(confidence)


@pytest.mark.req("REC-7")
def test_confidence_takes_both_of_its_ends() -> None:
    assert [check_confidence(number) for number in (0, 80, 100)] == [0, 80, 100]


@pytest.mark.req("REC-1", "REC-2")
@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("layer", list(Layer))
def test_a_kind_is_at_home_in_its_own_layer_alone(kind: Kind, layer: Layer) -> None:
    record = replace(fact(metadata=GOOD[kind.layer.value]), kind=kind, layer=layer)

    refusal = refusal_of(lambda: check_record(record))

    assert (refusal is None) == (kind.layer is layer)
    assert refusal is None or refusal.code == "record.kind"


@pytest.mark.req("REC-4")
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("reason", [None, *StateReason])
def test_a_tombstone_has_a_reason_and_nothing_else_has_one(state: State, reason: StateReason | None) -> None:
    record = fact(
        state=state, state_reason=reason, superseded_by=RecordId("rec_a"), duplicate_of=RecordId("rec_b")
    )

    refusal = refusal_of(lambda: check_record(record))

    if reason is StateReason.FORGOTTEN and state is State.TOMBSTONED:
        assert refusal is not None
        assert refusal.code == "record.forgotten"
    else:
        assert (refusal is None) == ((state is State.TOMBSTONED) == (reason is not None))


@pytest.mark.req("REC-4")
def test_replaced_and_repeated_records_name_the_other_one() -> None:
    with pytest.raises(Invalid, match="superseded_by"):
        check_record(fact(state=State.SUPERSEDED))
    with pytest.raises(Invalid, match="duplicate_of"):
        check_record(fact(state=State.TOMBSTONED, state_reason=StateReason.DUPLICATE))


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize(
    "rest",
    [
        {"summary": "a word"},
        {"metadata": {"a": 1}},
        {"evidence_refs": (EvidenceRef(note="seen"),)},
        {"automation_review": {"reason": "why"}},
        {"semantic_key": "codename = atlas"},
        {"provenance": Provenance(sources=("https://example.org",))},
    ],
    ids=lambda rest: next(iter(rest)),
)
def test_a_forgotten_record_that_still_says_something_is_refused(rest: dict[str, Any]) -> None:
    tombstone = forget_record(fact(), act()).record
    check_record(tombstone)

    with pytest.raises(Invalid) as refusal:
        check_record(replace(tombstone, **rest))
    assert refusal.value.code == "record.forgotten"


@pytest.mark.req("REC-7")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"created_by": "x" * 201}, "created_by"),
        ({"policy_actor": "x" * 201}, "policy_actor"),
        ({"semantic_key": "x" * 1_001}, "semantic_key"),
        ({"source": Source(session_id="x" * 201)}, "source.session_id"),
        ({"source": Source(run_id="a\0")}, "source.run_id"),
        ({"source": Source(agent="\ud800")}, "source.agent"),
        ({"evidence_refs": (EvidenceRef(),) * 65}, "evidence_refs"),
        ({"evidence_refs": (EvidenceRef(), EvidenceRef(run_id="x" * 201))}, "evidence_refs[1].run_id"),
        ({"evidence_refs": (EvidenceRef(artifact_id="a\0"),)}, "evidence_refs[0].artifact_id"),
        ({"evidence_refs": (EvidenceRef(note="x" * 1_001),)}, "evidence_refs[0].note"),
        ({"evidence_refs": (EvidenceRef(event_number=-1),)}, "evidence_refs[0].event_number"),
        ({"evidence_refs": (EvidenceRef(event_number=2**63),)}, "evidence_refs[0].event_number"),
        ({"provenance": Provenance(sources=("x",) * 65)}, "provenance.sources"),
        ({"provenance": Provenance(sources=("x" * 4_001,))}, "provenance.sources[0]"),
        ({"provenance": Provenance(sources=("a", "\0"))}, "provenance.sources[1]"),
        ({"automation_review": {"reason": "x" * 40_000}}, "automation_review"),
        ({"automation_review": {"score": float("nan")}}, "automation_review.score"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_everything_that_a_caller_can_fill_has_a_bound(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_record(fact(**fields))

    assert refusal.value.sentence.startswith(f"{named} ")
    assert len(refusal.value.sentence) < 200


@pytest.mark.req("REC-7", "REC-8")
@pytest.mark.parametrize(
    "record", [fact(), preference(), procedure(), episode(), scratch()], ids=lambda r: r.kind
)
def test_an_ordinary_record_of_every_layer_passes(record: Record) -> None:
    check_record(record)
    check_record(
        replace(
            record,
            evidence_refs=(EvidenceRef(run_id="run_1", event_number=0, note="x" * 1_000),) * 64,
            provenance=Provenance(sources=("x" * 4_000,) * 64),
        )
    )
