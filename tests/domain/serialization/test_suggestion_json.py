"""A suggestion's plain form holds all of it, and what is read back is what was written (SKL-4)."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Corrupt
from runlore.domain.run import RunId
from runlore.domain.serialization.codec import deserialize, serialize
from runlore.domain.session import SessionId
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    Suggestion,
    SuggestionEvidence,
    Trigger,
)
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import truncate
from tests.domain.suggesting.suggested import SUGGESTION

pytestmark = pytest.mark.req("SKL-4")

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
EVIDENCE = st.builds(
    SuggestionEvidence,
    session_id=TEXTS.map(SessionId),
    run_id=TEXTS.map(RunId),
    event_numbers=st.lists(st.integers(0, 10**6), max_size=5).map(tuple),
    at=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
        lambda moment: truncate(moment.replace(tzinfo=UTC))
    ),
    project=TEXTS,
)
SUGGESTIONS = st.builds(
    Suggestion,
    name=TEXTS,
    description=TEXTS,
    heuristic=st.sampled_from(Heuristic),
    pattern=TEXTS,
    commands=st.lists(TEXTS, max_size=4).map(tuple),
    trigger=st.builds(Trigger, topic=TEXTS, actions=st.lists(TEXTS, max_size=3).map(tuple)),
    body=TEXTS,
    evidence=st.lists(EVIDENCE, max_size=3).map(tuple),
    provenance=st.builds(
        Provenance,
        untrusted=st.booleans(),
        needs_review=st.booleans(),
        sources=st.lists(TEXTS, max_size=3).map(tuple),
    ),
    score=st.builds(
        Score,
        points=st.integers(0, 100),
        parts=st.lists(st.builds(ScorePart, reason=TEXTS, points=st.integers(-100, 100)), max_size=3).map(
            tuple
        ),
    ),
    parameters=st.lists(
        st.builds(Parameter, name=TEXTS, examples=st.lists(TEXTS, max_size=3).map(tuple)), max_size=3
    ).map(tuple),
    times=st.integers(1, 10**6),
    sessions=st.integers(1, 10**6),
    enhanced_by=TEXTS,
    variants=st.lists(TEXTS, max_size=3).map(tuple),
)


@given(suggestion=SUGGESTIONS)
def test_every_suggestion_comes_back_as_it_was(suggestion: Suggestion) -> None:
    plain = json.loads(json.dumps(serialize(suggestion)))

    assert deserialize(Suggestion, plain) == suggestion


def test_the_document_has_the_fields_that_other_programs_read() -> None:
    plain = serialize(SUGGESTION)

    assert plain["score"] == 66
    assert plain["score_parts"] == [{"reason": "the steps worked in a row", "points": 66}]
    assert plain["trigger"] == {"topic": "go", "actions": ["lint", "test", "run"]}
    assert plain["provenance"] == {
        "untrusted": True,
        "needs_review": True,
        "sources": ["https://example.com/page"],
    }
    assert plain["evidence"] == [
        {
            "session_id": "ses_of_somebody",
            "run_id": "run_of_somebody",
            "event_numbers": [3, 4, 5],
            "at": "2026-03-01T09:00:00.123Z",
            "project": "acme",
            "project_name": "",
        }
    ]
    assert {"name", "heuristic", "description", "commands", "body"} <= set(plain)


WRONG: list[tuple[str, Any]] = [
    ("name", None),
    ("name", "x" * 65),
    ("name", "a\0b"),
    ("heuristic", "else"),
    ("description", "x" * 1_025),
    ("commands", "make"),
    ("commands", [1]),
    ("commands", ["x"] * 21),
    ("trigger", []),
    ("trigger", {"topic": "x"}),
    ("provenance", {"untrusted": 1, "needs_review": False, "sources": []}),
    ("body", "x" * 64_001),
    ("evidence", [{}]),
    ("evidence", {}),
    ("score", 101),
    ("score", True),
    ("score", "66"),
    ("score_parts", [{"reason": "x"}]),
    ("parameters", [{"name": "x", "examples": "y"}]),
    ("times", 0),
    ("seen_in_sessions", 1.5),
    ("pattern", "\ud800"),
    ("enhanced_by", None),
    ("else", 1),
]


@pytest.mark.parametrize(
    ("field", "value"), WRONG, ids=[f"{name} {number}" for number, (name, _) in enumerate(WRONG)]
)
def test_what_is_not_as_it_was_written_is_damage_that_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(Corrupt) as caught:
        deserialize(Suggestion, {**serialize(SUGGESTION), field: value})

    assert caught.value.code == "suggestion.damaged"
    inner = {"score_parts": "points", "parameters": "examples", "provenance": "untrusted"}
    named = {field, inner.get(field, field), "actions", "session_id"}
    assert any(name in caught.value.sentence for name in named)


@pytest.mark.parametrize("at", ["2026-03-01", "2026-03-01T09:00:00Z", "yesterday", ""])
def test_a_time_is_written_in_one_way_only(at: str) -> None:
    plain: dict[str, Any] = json.loads(json.dumps(serialize(SUGGESTION)))
    plain["evidence"][0]["at"] = at

    with pytest.raises(Corrupt):
        deserialize(Suggestion, plain)


@given(
    value=st.none()
    | st.integers()
    | st.text()
    | st.lists(st.integers())
    | st.dictionaries(st.text(), st.text())
)
def test_anything_else_is_damage_and_nothing_worse(value: object) -> None:
    with pytest.raises(Corrupt):
        deserialize(Suggestion, value)


def test_a_field_that_is_missing_is_damage() -> None:
    plain = serialize(replace(SUGGESTION, enhanced_by="test:model enhancement-1"))
    for field in plain:
        with pytest.raises(Corrupt):
            deserialize(Suggestion, {name: value for name, value in plain.items() if name != field})
