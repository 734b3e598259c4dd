"""What the detectors see of a run: made of a transcript or of the journal, it is the same."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.detectors.mined import MinedRun, Outcome
from runlore.domain.detectors.mined_json import parse_mined, serialize_mined
from runlore.domain.detectors.mining import TIMELESS, mine_run, mine_transcript_run, number_events
from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.journal import Entry, EventType, JournalEvent
from runlore.domain.runs.journal_entry import input_entry, parse_entry
from runlore.domain.runs.transcript import ToldEvent, ToldRun, TranscriptAgent
from runlore.domain.session import SessionId
from runlore.domain.taint_sources.tools import SHELL_TOOLS
from tests.examples import scaled

pytestmark = pytest.mark.req("SKL-2", "SKL-3")

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def call(id: str, command: JsonValue, *, name: str = "Bash", key: str = "command") -> Entry:
    body: JsonObject = {"call_id": id, "name": name, "arguments": {key: command}}
    return Entry(type=EventType.TOOL_CALL, body=body)


def result(id: str, output: JsonValue = "", **fields: JsonValue) -> Entry:
    return Entry(type=EventType.TOOL_RESULT, body={"call_id": id, "output": output, **fields})


def told(*entries: Entry, request: str = "do it", first: int = 2) -> ToldRun:
    events = [Entry(type=EventType.INPUT, body={"text": request}), *entries]
    return ToldRun(
        agent=TranscriptAgent.CLAUDE_CODE,
        source_session="s",
        ordinal=0,
        first_number=first,
        events=tuple(
            ToldEvent(entry=entry, at=AT + timedelta(seconds=at)) for at, entry in enumerate(events)
        ),
    )


def mined(*entries: Entry, request: str = "do it") -> MinedRun:
    return mine_transcript_run(told(*entries, request=request), project="acme")


def stored(run: ToldRun) -> Sequence[JournalEvent]:
    """The same run as the journal keeps it."""
    events: list[JournalEvent] = []
    for each in number_events(run):
        if each.type is EventType.INPUT:
            entry = input_entry(str(each.body["text"]), {})
        else:
            entry = parse_entry({"type": each.type.value, **each.body})
        events.append(
            JournalEvent(
                session_id=run.session_id,
                number=each.number,
                run_id=run.run_id,
                type=entry.type,
                at=each.at,
                body=entry.body,
            )
        )
    return events


COMMANDS = [
    *(
        "go test ./...",
        "git status",
        "cd a && make",
        f"curl -H 'Authorization: Bearer {SECRET}' https://a.example/x",
    ),
    *(
        "pip install requests==2.31.0",
        f"export TOKEN={SECRET} && npm publish",
        "cat .env",
        "git clone https://u:p@h/x",
    ),
    *(
        "npm test 2>&1 | tail -3",
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "echo 'unclosed",
        f"diff https://a.example/{SECRET} b",
    ),
]
RESULTS = st.fixed_dictionaries(
    {"output": st.sampled_from(["", "ok", "error: no", f"error: {SECRET}", "0 errors"])},
    optional={"exit_code": st.integers(0, 2), "is_error": st.booleans()},
)


@st.composite
def runs(draw: st.DrawFn) -> ToldRun:
    entries: list[Entry] = []
    for at in range(draw(st.integers(0, 6))):
        name = draw(st.sampled_from(["Bash", "Read", "WebFetch", "shell"]))
        entries.append(call(str(at), draw(st.sampled_from(COMMANDS)), name=name))
        if draw(st.booleans()):
            entries.append(result(str(at), **draw(RESULTS)))
    return told(*entries, request=draw(st.sampled_from(["do it", f"use {SECRET}", "```\nlog\n```", ""])))


@settings(max_examples=scaled(60))
@given(runs())
def test_a_run_mined_of_its_transcript_and_of_its_journal_is_the_same(run: ToldRun) -> None:
    of_journal = mine_run(
        stored(run), session_id=run.session_id, run_id=run.run_id, agent=run.agent.value, project="acme"
    )
    assert of_journal == mine_transcript_run(run, project="acme")


@settings(max_examples=scaled(60))
@given(runs())
def test_no_secret_is_kept_and_the_plain_form_is_whole(run: ToldRun) -> None:
    found = mine_transcript_run(run, project="acme")
    plain = json.dumps(serialize_mined(found))
    assert SECRET not in plain
    assert parse_mined(json.loads(plain)) == found


def test_a_step_has_the_numbers_of_its_events() -> None:
    found = mined(
        call("a", "make"), call("b", "npm test"), result("b", exit_code=1), result("a", exit_code=0)
    )
    assert [(step.number, step.result_number, step.outcome) for step in found.steps] == [
        (3, 6, Outcome.SUCCEEDED),
        (4, 5, Outcome.FAILED),
    ]


def test_what_was_read_from_outside_has_the_number_of_its_event() -> None:
    fetch = Entry(
        type=EventType.TOOL_CALL,
        body={"call_id": "w", "name": "WebFetch", "arguments": {"url": "https://a.example/x"}},
    )
    found = mined(call("a", "make"), fetch, call("b", "curl https://b.example/y"))
    assert [(read.number, read.source) for read in found.outside] == [
        (4, "https://a.example/x"),
        (5, "https://b.example/y"),
    ]


@pytest.mark.parametrize(
    "name", sorted({name for row in SHELL_TOOLS for name in row.names} - {"write_stdin"})
)
def test_every_shell_tool_of_the_table_makes_steps(name: str) -> None:
    for key in ("command", "cmd"):
        (step,) = mined(call("a", "make test", name=name, key=key)).steps
        assert step.form == "make test"


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": ["bash", "-lc", "make test"]},
        {"command": ["make", "test"]},
        {"command": "make test", "description": "rm -rf /", "timeout": 5, "sandbox_permissions": "ask"},
        {"cmd": "make test", "workdir": "/x", "prefix_rule": ["git", "push"], "login": True},
        "make test",
    ],
)
def test_a_command_comes_in_many_shapes(arguments: JsonValue) -> None:
    body: JsonObject = {"call_id": "a", "name": "Bash", "arguments": arguments}
    (step,) = mined(Entry(type=EventType.TOOL_CALL, body=body)).steps
    assert (step.text, step.form) == ("make test", "make test")


def test_commands_inside_a_program_text_are_steps_and_what_is_typed_is_none() -> None:
    program = 'const a = await tools.exec_command({cmd: "go test ./..."}); text(a)'
    body: JsonObject = {"call_id": "a", "name": "exec", "arguments": program}
    (step,) = mined(Entry(type=EventType.TOOL_CALL, body=body)).steps
    assert step.form == "go test"
    for bare in ("const x = 1; text(x)", {"input": "const x = 1"}):
        odd: JsonObject = {"call_id": "a", "name": "exec", "arguments": bare}
        assert not mined(Entry(type=EventType.TOOL_CALL, body=odd)).steps
    assert not mined(call("a", "make", name="write_stdin", key="chars")).steps


def test_other_tools_change_nothing_about_the_steps() -> None:
    plain = [call("a", "make"), result("a", exit_code=0), call("b", "ls"), result("b", exit_code=0)]
    other = [call("x", "rm -rf /", name="Read"), result("x", "error: no", is_error=True)]
    alone, between = mined(*plain), mined(*plain[:2], *other, *plain[2:])
    assert [step.text for step in alone.steps] == [step.text for step in between.steps]
    assert [step.outcome for step in alone.steps] == [step.outcome for step in between.steps]


def test_what_only_looks_around_is_not_kept_word_for_word() -> None:
    (step,) = mined(call("a", "cat notes.txt | grep -i hunter")).steps
    assert step.is_looking
    assert step.text == "cat ; grep"
    assert [command.text for command in step.commands] == ["cat", "grep"]


@pytest.mark.parametrize(
    ("command", "output", "outcome"),
    [
        ("go test ./... | tail -3", "FAIL\tpkg\t0.1s", Outcome.FAILED),
        ("go test ./... || true", "--- FAIL: TestX", Outcome.FAILED),
        ("make; echo exit: $?", "exit: 2", Outcome.FAILED),
        ("go test ./... | tail -3", "ok pkg", Outcome.SUCCEEDED),
        ("set -o pipefail; make | tail", "error: none of ours", Outcome.SUCCEEDED),
        ("make && echo done", "error: a warning only", Outcome.SUCCEEDED),
        ("grep -rn 'error:' src", "a.c:1: error: x", Outcome.SUCCEEDED),
        ("make; grep 'error:' log", "error: old", Outcome.SUCCEEDED),
    ],
)
def test_a_success_counts_for_the_command_that_it_is_of(command: str, output: str, outcome: Outcome) -> None:
    (step,) = mined(call("a", command), result("a", output, exit_code=0)).steps
    assert step.outcome is outcome


@pytest.mark.req("SKL-16")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (
            "Edit",
            {"file_path": "/x/shop.go", "old_string": "a()\nb()\n", "new_string": "a()\nif b() != nil {\n"},
        ),
        ("apply_patch", {"input": "*** Update File: x/shop.go\n a()\n-b()\n+if b() != nil {\n"}),
    ],
)
def test_an_edit_of_a_file_that_a_failure_names_is_kept_with_what_it_changed(
    name: str, arguments: JsonObject
) -> None:
    edit = Entry(type=EventType.TOOL_CALL, body={"call_id": "e", "name": name, "arguments": arguments})
    failing = [call("a", "make lint"), result("a", "shop.go:3:1: not checked (errcheck)", exit_code=1)]
    _, step = mined(*failing, edit, result("e")).steps
    assert step.text.partition("\n")[2] == "- b()\n+ if b() != nil {"
    (alone,) = mined(edit, result("e")).steps
    assert alone.text == step.text.partition("\n")[0]


def test_a_search_that_finds_nothing_has_not_failed() -> None:
    for command in ("grep x a", "diff a b", "test -f a", "make && grep x log"):
        (step,) = mined(call("a", command), result("a", "", exit_code=1)).steps
        assert step.outcome is Outcome.UNKNOWN


def test_what_follows_a_secret_is_still_read() -> None:
    (step,) = mined(call("a", f"export TOKEN={SECRET} && npm publish --otp {SECRET}")).steps
    assert step.form == "npm publish"
    assert "<redacted:" in step.commands[-1].text
    assert "<redacted:" in step.text


def test_a_request_is_kept_short_and_with_its_own_words() -> None:
    found = mined(request="no, use make\n```\nold log\n```\n" + "x" * 20_000).request
    assert found is not None
    assert len(found.text) <= 4_000
    assert "use make" in found.own
    assert "old log" not in found.own
    assert mined(request="").request is None


def test_long_runs_and_long_commands_are_bounded() -> None:
    calls = [call(str(at), f"make t{at}") for at in range(limits.RUN_STEPS_MAX + 7)]
    found = mined(*calls)
    assert (len(found.steps), found.left_out) == (limits.RUN_STEPS_MAX, 7)
    (step,) = mined(call("a", "make " + "x" * 50_000)).steps
    assert len(step.text) <= limits.STEP_TEXT_CHARS_MAX
    assert all(len(command.text) <= limits.STEP_TEXT_CHARS_MAX for command in step.commands)


def test_events_without_a_time_have_that_of_the_one_before() -> None:
    entries = [Entry(type=EventType.INPUT, body={"text": "a"}), call("a", "make"), call("b", "make")]
    times = [None, AT, None]
    run = ToldRun(
        agent=TranscriptAgent.AIDER,
        source_session="s",
        ordinal=0,
        first_number=5,
        events=tuple(ToldEvent(entry=entry, at=at) for entry, at in zip(entries, times, strict=True)),
    )
    assert [(event.number, event.at) for event in number_events(run)] == [(5, AT), (6, AT), (7, AT)]
    timeless = ToldRun(
        agent=TranscriptAgent.AIDER,
        source_session="s",
        ordinal=0,
        first_number=5,
        events=(ToldEvent(entry=entries[0]),),
    )
    assert mine_transcript_run(timeless, project="").at == TIMELESS
    assert mine_transcript_run(timeless, project="", otherwise=AT).at == AT


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**12),
    st.text(max_size=30),
    st.lists(st.text(max_size=10), max_size=3),
    st.dictionaries(st.sampled_from(["command", "cmd", "text", "x"]), st.text(max_size=20), max_size=2),
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "call_id": st.sampled_from(["1", "2", 3, None]),
        "name": st.sampled_from(["Bash", "exec", "Read", "", None, 7]),
        "arguments": VALUES,
        "output": VALUES,
        "exit_code": VALUES,
        "is_error": VALUES,
        "text": VALUES,
        "source": VALUES,
    },
)


@settings(max_examples=scaled(80))
@given(st.lists(st.tuples(st.sampled_from(EventType), BODIES), max_size=5))
def test_any_events_are_mined(events: list[tuple[EventType, dict[str, JsonValue]]]) -> None:
    entries = [Entry(type=kind, body=body) for kind, body in events]
    found = mined(*entries)
    assert found == mined(*entries)
    assert parse_mined(serialize_mined(found)) == found


def test_a_run_without_events_is_empty() -> None:
    found = mine_run((), session_id=SessionId("ses_1"), run_id=RunId("run_1"), agent="codex", project="")
    assert (found.steps, found.request, found.at) == ((), None, TIMELESS)


PLAIN = serialize_mined(mined(call("a", "make"), result("a", "", exit_code=0), request="do\n```\nx\n```"))


ANYTHING: tuple[JsonValue, ...] = (
    None,
    True,
    "x",
    1.5,
    {},
    [[]],
    [["a"]],
    [[1, 2, 3, 4, 5, 6, 7, 8]],
    [1],
    10**30,
)
ALLOWED = {
    "request": (None,),
    "left_out": (10**30,),
    **dict.fromkeys(("session_id", "run_id", "agent", "project", "project_name"), ("x",)),
}


@pytest.mark.parametrize("name", sorted(PLAIN))
@pytest.mark.parametrize("wrong", ANYTHING, ids=repr)
def test_a_damaged_plain_form_is_told(name: str, wrong: JsonValue) -> None:
    given = {**PLAIN, name: wrong}
    if wrong in ALLOWED.get(name, ()):
        assert serialize_mined(parse_mined(given)) == given
        return
    with pytest.raises(Corrupt) as caught:
        parse_mined(given)
    assert caught.value.code == "mined-run.damaged"
    assert caught.value.hint


def test_what_is_no_object_is_damaged() -> None:
    everything: tuple[object, ...] = (None, [], "x", {})
    for wrong in everything:
        with pytest.raises(Corrupt):
            parse_mined(wrong)


@pytest.mark.req("SEC-3")
def test_the_id_of_a_call_is_kept_where_it_holds_no_secret() -> None:
    ids = [
        step.call
        for step in mined(call(f"call_{SECRET}", "ls"), call(f"toolu_{'0aB1cD2eF3' * 2}", "ls")).steps
    ]

    assert ids == ["", f"toolu_{'0aB1cD2eF3' * 2}"]
