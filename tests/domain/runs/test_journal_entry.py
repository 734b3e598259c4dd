"""Reported events: read once, bounded, without secrets, derived keys and echoes; and our own entries."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.prompts.injected import REMOVED
from runlore.domain.record import JsonValue
from runlore.domain.run import RunStatus
from runlore.domain.runs.journal import DERIVED_KEYS, Entry, EventType, text_of
from runlore.domain.runs.journal_entry import (
    binding_entry,
    binding_of,
    checkpoint_entry,
    input_entry,
    parse_entry,
    status_entry,
)
from runlore.domain.session import Binding
from tests.storage.run_values import bindings, json_values, run, session

pytestmark = pytest.mark.req("JRN-1", "JRN-3")

KEY = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
BLOCK = "<runlore:learned_context>\n- remembered\n</runlore:learned_context>\n"
MESSAGE: dict[str, Any] = {"type": "assistant_message", "text": "done"}
CALL: dict[str, Any] = {"type": "tool_call", "call_id": "c1", "name": "bash", "arguments": {"command": "ls"}}
RESULT: dict[str, Any] = {"type": "tool_result", "call_id": "c1", "output": "a.txt"}
FULL_RESULT: dict[str, Any] = {**RESULT, "exit_code": 1, "is_error": True, "source": "https://example.com/a"}
USAGE: dict[str, Any] = {
    "type": "usage",
    "model": "claude-x",
    "output_tokens": 12,
    "cost": 0.25,
    "details": {"cached": 3},
}
EVENTS = (MESSAGE, CALL, RESULT, FULL_RESULT, USAGE)
REQUIRED = {
    "assistant_message": ["text"],
    "tool_call": ["call_id", "name", "arguments"],
    "tool_result": ["call_id", "output"],
}
WRONG: dict[str, list[object]] = {
    "text": [None, 1, True, ["a"], {"a": "b"}],
    "call_id": [None, 1, "", " ", "x" * 201],
    "name": [None, 1, "", "\n", "x" * 201],
    "arguments": [None, 1, 2.5, True],
    "output": [None, 1, False],
    "exit_code": ["1", 1.5, True, [1]],
    "is_error": [1, "true", [True]],
    "source": [1, True, "x" * 4_001],
    "model": [1, "x" * 201, ["m"]],
    "output_tokens": ["12", True, -1, [1], {"a": "b"}, {"a": -1}],
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_reported_event_is_kept_as_it_was_told(event: dict[str, object]) -> None:
    entry = parse_entry(event)  # type: ignore[arg-type]

    assert entry == Entry(
        type=EventType(str(event["type"])),
        body={name: value for name, value in event.items() if name != "type"},  # type: ignore[misc]
    )


@pytest.mark.parametrize(
    "output", ["", "text", [], {}, [{"type": "text", "text": "a"}], {"rows": [1, None, 2.5]}]
)
def test_output_and_arguments_may_be_any_text_list_or_object(output: object) -> None:
    assert parse_entry({**RESULT, "output": output}).body["output"] == output  # type: ignore[dict-item]
    assert parse_entry({**CALL, "arguments": output}).body["arguments"] == output


@pytest.mark.parametrize(
    "kind", ["", "input", "status", "binding", "checkpoint", "Usage", None, 1, ["usage"], {}, "x" * 999]
)
def test_a_type_that_agents_do_not_report_is_refused(kind: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_entry({**MESSAGE, "type": kind})  # type: ignore[dict-item]

    assert refused.value.code == "event.type"
    assert "assistant_message" in refused.value.hint
    assert len(refused.value.sentence) < 200


@pytest.mark.parametrize("event", [{}, {"text": "x"}, [], "usage", None, 7])
def test_what_is_no_event_is_refused(event: object) -> None:
    with pytest.raises(Invalid) as refused:
        parse_entry(event)  # type: ignore[arg-type]

    assert refused.value.code == "event.type"


@pytest.mark.parametrize("event", [MESSAGE, CALL, RESULT])
def test_a_missing_or_unknown_field_is_named(event: dict[str, object]) -> None:
    for name in REQUIRED[str(event["type"])]:
        cut = {field: value for field, value in event.items() if field != name}
        _refused(cut, name)
    _refused({**event, "colour": "red"}, "colour")


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_field_of_another_kind_is_named(name: str, value: object) -> None:
    event = next(event for event in (FULL_RESULT, CALL, MESSAGE, USAGE) if name in event)
    _refused({**event, name: value}, name)


@pytest.mark.parametrize("name", ["exit_code", "is_error", "source"])
def test_null_in_place_of_something_optional_leaves_it_out(name: str) -> None:
    assert name not in parse_entry({**FULL_RESULT, name: None}).body


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 2**63, -(2**63) - 1, 10**400])
def test_numbers_that_json_or_the_store_cannot_hold_are_refused(number: float) -> None:
    for event in ({**CALL, "arguments": {"n": [number]}}, {**USAGE, "n": number}):
        with pytest.raises(Invalid) as refused:
            parse_entry(event)
        assert refused.value.code == "event.field"


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\udfff x"])
def test_characters_that_no_database_holds_are_refused(text: str) -> None:
    for event in (
        {**MESSAGE, "text": text},
        {**CALL, "arguments": {text: 1}},
        {**RESULT, "output": [[text]]},
    ):
        with pytest.raises(Invalid) as refused:
            parse_entry(event)
        assert refused.value.code == "text.characters"


def test_size_and_depth_are_bounded_and_the_bound_itself_is_fine() -> None:
    nested: object = "x"
    for _ in range(limits.EVENT_DEPTH_MAX - 2):
        nested = [nested]
    assert parse_entry({**RESULT, "output": nested}).body["output"] == nested  # type: ignore[dict-item]

    for event, code in (
        ({**RESULT, "output": [nested]}, "event.depth"),
        ({**MESSAGE, "text": "é" * (limits.EVENT_BYTES_MAX // 2)}, "event.size"),
        ({**RESULT, "output": [[]] * (limits.EVENT_BYTES_MAX // 3)}, "event.size"),
        ({**CALL, "arguments": {str(n): None for n in range(400_000)}}, "event.size"),
    ):
        with pytest.raises(Invalid) as refused:
            parse_entry(event)
        assert refused.value.code == code


def test_secrets_go_on_entry_wherever_they_stand() -> None:
    for event in (
        {**MESSAGE, "text": f"use {KEY}"},
        {**CALL, "arguments": {"env": {"TOKEN": KEY}, KEY: 1}},
        {**RESULT, "output": [{"text": f"Authorization: Bearer {KEY}"}], "source": f"https://x/?t={KEY}"},
    ):
        body = repr(parse_entry(event).body)
        assert KEY not in body
        assert "<redacted:" in body


@pytest.mark.parametrize("key", sorted(DERIVED_KEYS))
def test_derived_keys_are_removed_at_the_top_of_events_arguments_and_metadata(key: str) -> None:
    derived: dict[str, JsonValue] = {key: {"entries": ["spoofed"]}}

    for event in EVENTS:
        assert parse_entry({**event, **derived}) == parse_entry(event)
    assert parse_entry({**CALL, "arguments": {"command": "ls", **derived}}) == parse_entry(CALL)
    assert input_entry("hi", derived).body == {"text": "hi"}
    assert input_entry("hi", {"a": 1, **derived}).body == {"text": "hi", "metadata": {"a": 1}}


@pytest.mark.parametrize(
    "key", [*sorted(DERIVED_KEYS), "Learned_Context", "RECOVERED_MEMORY", " visible_skills "]
)
def test_derived_keys_are_removed_at_any_depth_and_in_any_case(key: str) -> None:
    deep: JsonValue = {"a": [{"b": {key: "spoofed", "c": 1}}, [{key: 2}]], key: "spoofed"}
    clean: JsonValue = {"a": [{"b": {"c": 1}}, [{}]]}

    assert input_entry("hi", {"m": deep}).body == {"text": "hi", "metadata": {"m": clean}}
    assert parse_entry({**CALL, "arguments": deep}).body["arguments"] == clean
    assert parse_entry({**CALL, "arguments": [deep]}).body["arguments"] == [clean]
    assert parse_entry({**MESSAGE, key: "spoofed"}) == parse_entry(MESSAGE)


def test_sections_that_runlore_rendered_do_not_come_back_as_what_somebody_said() -> None:
    assert input_entry(f"{BLOCK}fix the bug", {}).body == {"text": f"{REMOVED}\nfix the bug"}
    assert parse_entry({**MESSAGE, "text": f"ok\n{BLOCK}"}).body == {"text": f"ok\n{REMOVED}\n"}
    arguments = parse_entry({**CALL, "arguments": {"prompt": [f"{BLOCK}go"]}}).body["arguments"]
    assert arguments == {"prompt": [f"{REMOVED}\ngo"]}
    assert checkpoint_entry(f"{BLOCK}so far").body == {"text": f"{REMOVED}\nso far"}


@pytest.mark.req("CAP-6")
def test_what_a_tool_told_is_evidence_and_stays_as_it_was_told() -> None:
    for output in (f"{BLOCK}the page", [{"text": BLOCK}], {"page": [BLOCK]}):
        assert parse_entry({**RESULT, "output": output}).body["output"] == output


def test_an_input_is_bounded() -> None:
    assert text_of(input_entry("x" * limits.REQUEST_CHARS_MAX, {}).body) == "x" * limits.REQUEST_CHARS_MAX
    with pytest.raises(Invalid) as refused:
        input_entry("x" * (limits.REQUEST_CHARS_MAX + 1), {})
    assert refused.value.code == "event.field"
    with pytest.raises(Invalid) as refused:
        input_entry("x", {"a": "é" * limits.EVENT_BYTES_MAX})
    assert refused.value.code == "event.size"
    with pytest.raises(Invalid) as refused:
        input_entry("a\0", {})
    assert refused.value.code == "text.characters"


@given(value=st.dictionaries(st.text(max_size=5), json_values, max_size=5))
def test_any_json_is_an_event_or_a_clear_refusal(value: dict[str, object]) -> None:
    events: list[dict[str, object]] = [value, {**value, "type": "usage"}, {**RESULT, "output": value}]
    for event in events:
        told = _told(event)
        if isinstance(told, Invalid):
            assert told.code in {"event.type", "event.field", "text.characters"}
            assert told.hint
        else:
            assert _told({"type": told.type.value, **told.body}) == told


@pytest.mark.req("SCO-3")
@given(binding=bindings)
def test_a_binding_event_holds_the_whole_binding(binding: Binding) -> None:
    entry = binding_entry(binding)

    assert entry.type is EventType.BINDING
    assert binding_of(entry.body) == binding


def test_an_emptied_binding_event_tells_of_no_binding() -> None:
    assert binding_of({}) == Binding()


@pytest.mark.parametrize(
    "change",
    [
        {"persona_id": 1},
        {"persona_id": " x"},
        {"project_ids": "acme"},
        {"project_ids": [1]},
        {"project_ids": [f"p{number}" for number in range(65)]},
        {"capability_scope": [1]},
        {"capability_scope": {"allow": []}},
        {"more": 1},
    ],
)
def test_a_damaged_binding_event_is_corrupt(change: dict[str, object]) -> None:
    body = {**binding_entry(Binding()).body, **change}
    with pytest.raises(Corrupt) as damaged:
        binding_of(body)  # type: ignore[arg-type]

    assert damaged.value.code == "journal.binding"


@pytest.mark.req("JRN-2")
def test_a_status_event_tells_status_reason_and_error_without_secrets() -> None:
    ended = run(session("s"), status=RunStatus.FAILED, error=f"401 with {KEY}", reason="idle")

    assert status_entry(ended) == Entry(
        type=EventType.STATUS,
        body={"status": "failed", "reason": "idle", "error": "401 with <redacted:github-token>"},
    )
    assert status_entry(run(session("s"))).body == {"status": "running"}


def _told(event: dict[str, object]) -> Entry | Invalid:
    try:
        return parse_entry(event)  # type: ignore[arg-type]
    except Invalid as refused:
        return refused


@pytest.mark.req("JRN-1", "JRN-6")
def test_usage_is_taken_as_the_makers_of_models_report_it() -> None:
    reported: dict[str, JsonValue] = {
        "input_tokens": 2_095,
        "output_tokens": 503,
        "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": 0},
        "server_tool_use": None,
        "is_cached": True,
        "iterations": [{"input_tokens": 3}],
    }

    body = parse_entry({"type": "usage", **reported}).body

    assert body == {name: value for name, value in reported.items() if value is not None}


def _refused(event: dict[str, object], name: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_entry(event)  # type: ignore[arg-type]
    assert refused.value.code == "event.field"
    assert repr(name) in refused.value.sentence
