"""Skills over HTTP: runs of another agent brought in, what they suggest, and wrong calls refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.api.app import all_endpoints
from runlore.client.remote import RemoteOperations
from runlore.client.transport import Transport, unix_connect
from runlore.daemon import answers
from runlore.domain import limits
from runlore.domain.access import Role
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.runs.transcript import Position, ToldEvent, ToldRun, TranscriptAgent
from runlore.ports import operations as ops
from tests.domain.random_records import json_objects, moments, texts
from tests.examples import scaled
from tests.surfaces.api_client import Api, Json, path_of
from tests.surfaces.skill_runs import SOURCE, import_body, told_run

pytestmark = pytest.mark.req("SUR-3", "INT-1")

RUNS, POSITIONS = "/v1/transcripts/runs", "/v1/transcripts/positions"
SUGGESTIONS, DETECT = "/v1/skill-suggestions", "/v1/skill-suggestions/detect"
_numbers = st.integers(0, 2**53)
_positions = st.builds(
    Position,
    offset=_numbers,
    line=_numbers,
    fingerprint=texts,
    carried=st.dictionaries(texts, texts | _numbers, max_size=2),
)
_events = st.builds(
    ToldEvent,
    entry=st.builds(Entry, type=st.sampled_from(EventType), body=json_objects),
    at=st.none() | moments,
)
told_runs = st.builds(
    ToldRun,
    agent=st.sampled_from(TranscriptAgent),
    source_session=texts,
    ordinal=_numbers,
    first_number=_numbers,
    events=st.lists(_events, max_size=3).map(tuple),
    status=st.sampled_from(RunStatus),
    folder=texts,
    branch=texts,
    model=texts,
    agent_version=texts,
    title=texts,
    after=_positions,
    is_whole=st.booleans(),
)


def sent(call: Callable[[ops.Operations], object]) -> tuple[str, str, Any, str]:
    """The method, the path, the body and the key that the client sends for a call."""
    taken: list[Any] = []

    class Held(Transport):
        def call(self, method: str, path: str, **more: Any) -> NoReturn:
            taken.append((method, path, orjson.loads(more["body"]), more["headers"]["Idempotency-Key"]))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        call(RemoteOperations(Held(unix_connect("nowhere"), where="nowhere", host="localhost", token="t")))
    return taken[0]  # type: ignore[no-any-return]


@pytest.mark.req("SUR-1")
@settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
@given(runs=st.lists(told_runs, max_size=2), source=texts, position=st.none() | _positions)
def test_any_runs_arrive_as_they_were_sent(
    runs: list[ToldRun], source: str, position: Position | None
) -> None:
    request = ops.RunsToImport(source=source, runs=tuple(runs), position=position, idempotency_key="k")

    method, path, body, key = sent(lambda remote: remote.import_runs(request))

    assert (method, path, key) == ("POST", RUNS, "k")
    [route] = [each for each in all_endpoints() if each.path == RUNS]
    assert route.reader.arguments(body, {}, key=key, revision=None) == {"request": request}


@pytest.mark.req("SUR-1", "SKL-5")
@pytest.mark.parametrize("enhance", [True, False])
def test_whether_a_model_is_to_improve_what_waits_is_sent(enhance: bool) -> None:
    request = ops.SuggestRequest(enhance=enhance, idempotency_key="k")

    told = sent(lambda remote: remote.suggest(request))

    assert told == ("POST", DETECT, {"enhance": True} if enhance else {}, "k")


def test_runs_are_brought_in_once_and_suggest_a_skill(api: Api) -> None:
    body = import_body(told_run(1), told_run(2))
    first, again = api.post(RUNS, body), api.post(RUNS, body)
    found = api.post(DETECT)
    waiting = api.get(SUGGESTIONS)

    assert (first["stored"], again["stored"], again["known"]) == (2, 0, 2)
    assert sorted(each["name"] for each in found["new"]) == sorted(each["name"] for each in waiting["items"])
    assert api.post(DETECT)["new"] == []
    [position] = api.post(POSITIONS, {"sources": [SOURCE, "another"]})["items"]
    assert position == {"source": SOURCE, **answers.write(told_run(2).after)}
    points = [each["score"] for each in waiting["items"]]
    assert points == sorted(points, reverse=True)
    for each in waiting["items"]:
        assert each["score"] == min(100, sum(part["points"] for part in each["score_parts"]))
        for seen in each["evidence"]:
            run = api.get(path_of("v1", "runs", seen["run_id"]))
            assert (run["session_id"], run["imported"]) == (seen["session_id"], True)


@pytest.mark.req("SKL-4")
def test_what_was_skipped_leaves_the_queue_and_comes_back_when_it_is_reset(api: Api) -> None:
    api.post(RUNS, import_body(told_run(1), told_run(2)))
    [first, *others] = [each["suggestion_id"] for each in api.post(DETECT)["new"]]
    skipping, reset = (path_of("v1", "skill-suggestions", first, move) for move in ("skip", "reset"))

    skipped = api.call("POST", skipping)
    waiting = [each["suggestion_id"] for each in api.get(SUGGESTIONS)["items"]]
    tag = {"If-None-Match": skipped.headers["etag"]}

    assert (skipped.json["state"], skipped.json["state_actor"]) == ("skipped", "operator")
    assert sorted(waiting) == sorted(others)
    assert [each["suggestion_id"] for each in api.get(SUGGESTIONS, state="skipped")["items"]] == [first]
    assert api.call("GET", path_of("v1", "skill-suggestions", first), headers=tag).status == 304
    assert api.post(skipping) == skipped.json, "a repeated call changes nothing"
    assert api.post(reset)["state"] == "waiting"
    assert api.call("GET", path_of("v1", "skill-suggestions", first), headers=tag).status == 200
    assert api.post(reset)["revision"] == skipped.json["revision"] + 1


def without(body: Json, *names: str) -> Json:
    """A body without some of its fields."""
    return {name: value for name, value in body.items() if name not in names}


GOOD = import_body(told_run(1))
RUN = GOOD["runs"][0]
EVENT = RUN["events"][0]


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        (RUNS, without(GOOD, "source"), (422, "request.field")),
        (RUNS, without(GOOD, "runs"), (422, "request.field")),
        (RUNS, {**GOOD, "source": ""}, (422, "transcript.source")),
        (RUNS, {**GOOD, "source": "a\0b"}, (422, "text.characters")),
        (RUNS, {**GOOD, "source": "x" * (limits.ID_CHARS_MAX + 1)}, (422, "transcript.source")),
        (RUNS, {**GOOD, "more": 1}, (422, "request.field")),
        (RUNS, {**GOOD, "runs": [{**RUN, "agent": "cursor"}]}, (422, "request.field")),
        (RUNS, {**GOOD, "runs": [{**RUN, "ordinal": "1"}]}, (422, "request.field")),
        (RUNS, {**GOOD, "runs": [{**RUN, "status": "done"}]}, (422, "request.field")),
        (RUNS, {**GOOD, "runs": [{**RUN, "events": []}]}, (422, "transcript.run")),
        (RUNS, {**GOOD, "runs": [{**RUN, "events": [EVENT, EVENT]}]}, (422, "transcript.run")),
        (RUNS, {**GOOD, "runs": [{**RUN, "events": [without(EVENT, "body")]}]}, (422, "request.field")),
        (RUNS, {**GOOD, "runs": [{**RUN, "events": [{**EVENT, "at": "noon"}]}]}, (422, "time.format")),
        (RUNS, {**GOOD, "runs": [{**RUN, "events": [{**EVENT, "type": "dance"}]}]}, (422, "request.field")),
        (RUNS, {**GOOD, "position": {"offset": "far"}}, (422, "request.field")),
        (RUNS, {**GOOD, "position": {"carried": {"a": [1]}}}, (422, "request.field")),
        (RUNS, [], (422, "request.field")),
        (POSITIONS, {}, (422, "request.field")),
        (POSITIONS, {"sources": SOURCE}, (422, "request.field")),
        (POSITIONS, {"sources": ["x"] * 10_001}, (422, "transcript.sources")),
        (DETECT, {"enhance": "yes"}, (422, "request.field")),
        (DETECT, {"learn": True}, (422, "request.field")),
        (f"{SUGGESTIONS}/none/skip", None, (404, "suggestion.not-found")),
        (f"{SUGGESTIONS}/%00/skip", None, (404, "suggestion.not-found")),
        (f"{SUGGESTIONS}/none/reset", {"reason": "x"}, (422, "request.field")),
    ],
)
def test_a_wrong_call_is_told_and_changes_nothing(
    shared_api: Api, path: str, body: Any, problem: tuple[int, str]
) -> None:
    before = shared_api.tables()

    answer = shared_api.call("POST", path, body)

    assert answer.problem == problem
    assert shared_api.tables() == before


LONGEST = {
    "source_session": limits.PATH_CHARS_MAX,
    "folder": limits.PATH_CHARS_MAX,
    "branch": limits.TITLE_CHARS_MAX,
    "model": limits.MODEL_CHARS_MAX,
    "agent_version": limits.ID_CHARS_MAX,
    "title": limits.TITLE_CHARS_MAX,
    "project": limits.PATH_CHARS_MAX,
    "project_name": limits.PATH_CHARS_MAX,
    "project_folder": limits.PATH_CHARS_MAX,
    "parent_session": limits.PATH_CHARS_MAX,
}
WIDEST: list[tuple[str, Json, Json]] = [
    ("fingerprint", {"fingerprint": "x" * 200}, {"fingerprint": "x" * 201}),
    (
        "carried",
        {"carried": {f"k{number}": 1 for number in range(limits.POSITION_CARRIED_MAX)}},
        {"carried": {f"k{number}": 1 for number in range(limits.POSITION_CARRIED_MAX + 1)}},
    ),
    ("carried", {"carried": {"k" * 8_000: 1}}, {"carried": {"k" * 8_001: 1}}),
    ("carried", {"carried": {"k": "x" * 32_000}}, {"carried": {"k": "x" * 32_001}}),
    ("carried", {"carried": {"k": 2**53}}, {"carried": {"k": 2**53 + 1}}),
]


@pytest.mark.parametrize("field", LONGEST)
def test_what_is_told_of_a_run_is_bounded_and_the_field_is_named(shared_api: Api, field: str) -> None:
    long, longer = ("/" * LONGEST[field], "/" * (LONGEST[field] + 1))
    kept = {**GOOD, "runs": [{**RUN, field: long, "is_whole": False}]}

    answer = shared_api.call("POST", RUNS, {**GOOD, "runs": [{**RUN, field: longer}]})

    assert answer.problem == (422, "transcript.field")
    assert field in answer.json["detail"]
    assert "//" not in answer.json["detail"]
    assert shared_api.call("POST", RUNS, kept).status == 200


@pytest.mark.parametrize(("field", "kept", "refused"), WIDEST)
def test_a_position_is_bounded_and_the_field_is_named(
    shared_api: Api, field: str, kept: Json, refused: Json
) -> None:
    for where in ({"position": refused}, {"runs": [{**RUN, "after": refused}]}):
        answer = shared_api.call("POST", RUNS, {**GOOD, **where})
        assert answer.problem == (422, "transcript.field")
        assert f"{next(iter(where)).replace('runs', 'after')}.{field}" in answer.json["detail"]
    unfinished = [{**RUN, "after": kept, "is_whole": False}]
    assert shared_api.call("POST", RUNS, {**GOOD, "runs": unfinished}).status == 200


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"state": "tired"}, (422, "request.field")),
        ({"heuristic": "luck"}, (422, "request.field")),
        ({"limit": 0}, (422, "limit.range")),
        ({"cursor": "what?"}, (422, "cursor.format")),
        ({"cursor": "LTE6c3Vn"}, (422, "cursor.format")),
        ({"name": "x"}, (422, "request.field")),
    ],
)
def test_a_list_that_cannot_be_asked_for_is_refused(
    shared_api: Api, query: Json, problem: tuple[int, str]
) -> None:
    assert shared_api.call("GET", SUGGESTIONS, query=query).problem == problem


@pytest.mark.parametrize("name", ["none", "../../../x", "\x00", "ä/ö", "x" * 10_000])
def test_a_name_that_names_nothing_is_not_found(shared_api: Api, name: str) -> None:
    answer = shared_api.call("GET", path_of("v1", "skill-suggestions", name))

    assert answer.problem == (404, "suggestion.not-found")


def test_runs_that_fill_a_body_are_taken_and_larger_ones_refused(api: Api) -> None:
    told = "x" * 30_000
    many = [Entry(type=EventType.ASSISTANT_MESSAGE, body={"text": told})] * 520
    whole = told_run(1, ())
    large = replace(whole, events=(*whole.events, *(ToldEvent(entry=entry) for entry in many)))
    larger = replace(large, events=(*large.events, *large.events[1:60]))

    assert api.post(RUNS, import_body(large))["events"] > 500
    assert api.call("POST", RUNS, import_body(larger)).problem == (413, "request.too-large")


@pytest.mark.req("OPS-5", "SCO-2")
def test_a_token_that_is_limited_to_a_scope_reads_no_suggestion(api: Api) -> None:
    limited = api.token("limited", Role.OPERATOR, "project:atlas")

    assert api.call("GET", SUGGESTIONS, token=limited).problem == (403, "scope.denied")
