"""The agent's loop: turn by turn, told before the next thing happens, ended by an answer or by a limit."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, ToolCall, UserSaid
from runlore.domain.errors import Refused
from runlore.ports.chat import Cancelled, ChatListener, ChatReply, ChatTurn
from runlore.ports.model import TokenUsage
from runlore.ports.runner import EndKind, GateDecision, ToolOutcome, Verdict
from runlore.ports.stopping import Stop
from tests.agents.acting import (
    FIRST,
    LIMITS,
    USED,
    Acting,
    Gate,
    Named,
    Notebook,
    ScriptedChat,
    call,
    said,
    texts,
)
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-1")


def repeating(text: str, call_id: str = "c1") -> ChatReply:
    """A turn with one call of the tool that repeats."""
    return said("", call("repeat", {"text": text}, call_id))


def test_an_answer_without_calls_is_the_end() -> None:
    acting = Acting(ScriptedChat(said("It is done.")))

    end = acting.run()

    assert (end.kind, end.text, end.model, end.usage, end.failure) == (
        EndKind.ANSWERED, "It is done.", FIRST, USED, None
    )  # fmt: skip
    assert acting.notes.heard == [
        ("requested", "request 1", FIRST),
        ("text", "It is done."),
        ("said", AssistantSaid(text="It is done."), FIRST, USED),
    ]


def test_everything_is_told_in_order_and_before_the_next_thing_happens() -> None:
    order: list[str] = []
    first, second = call("repeat", {"text": "a"}, "c1"), call("repeat", {"text": "b"}, "c2")
    notes = Notebook()

    def does(made: ToolCall, _stop: Stop) -> ToolOutcome:
        order.append(f"{made.call_id} after {[entry[0] for entry in notes.heard]}")
        return ToolOutcome(output=f"did {made.call_id}", exit_code=3, source="https://example.org/a")

    acting = Acting(
        ScriptedChat(said("Looking.", first, second), said("Done.")), (Named(does=does),), notes=notes
    )

    end = acting.run()

    assert order == [
        "c1 after ['requested', 'text', 'said']",
        "c2 after ['requested', 'text', 'said', 'answered']",
    ]
    answers = [
        ToolAnswered(
            call_id=each.call_id, name="repeat", output=f"did {each.call_id}", exit_code=3,
            source="https://example.org/a",
        )
        for each in (first, second)
    ]  # fmt: skip
    assert acting.answers() == answers
    assert acting.chat.turns[1].messages == (
        UserSaid(text="Do it"),
        AssistantSaid(text="Looking.", calls=(first, second)),
        *answers,
    )
    assert end.usage == TokenUsage(input_tokens=20, output_tokens=10, cost_micro_usd=14)


def test_the_cost_is_known_only_where_that_of_each_turn_is() -> None:
    unknown = TokenUsage(input_tokens=1, output_tokens=1)
    acting = Acting(ScriptedChat(replace(repeating("a"), usage=unknown), said("Done.")), (Named(),))

    assert acting.run().usage == TokenUsage(input_tokens=11, output_tokens=6)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (call("rm"), "there is no tool 'rm' here; the tools are: other, repeat"),
        (call("repeat", problem="its arguments are not JSON"), "its arguments are not JSON"),
        (call("repeat"), "arguments.text is missing"),
        (call("repeat", {"text": 7}), "arguments.text is no string"),
        (call("repeat", {"text": "a", "more": 1}), "a field that nobody asked for"),
    ],
)
def test_a_call_that_cannot_be_made_is_answered_with_what_is_wrong(asked: ToolCall, told: str) -> None:
    tool, other = Named(), Named(name="other")
    acting = Acting(ScriptedChat(said("", asked), said("Sorry.")), (tool, other))

    assert acting.run().kind is EndKind.ANSWERED

    (answer,) = acting.answers()
    assert answer.is_error
    assert told in answer.output
    if asked.name == "repeat":
        assert '"required": ["text"]' in answer.output
    assert (tool.made, acting.gate.asked) == ([], [])


def test_a_call_that_is_denied_is_not_made_and_its_reason_is_told() -> None:
    tool = Named()
    gate = Gate(lambda _call, _stop: GateDecision(verdict=Verdict.DENIED, why="nobody answered"))
    acting = Acting(ScriptedChat(repeating("a"), said("Then not.")), (tool,), gate)

    assert acting.run().text == "Then not."

    assert texts(acting.answers()) == ["the call was not made: nobody answered"]
    assert tool.made == []


def test_a_refusal_of_a_tool_is_told_with_its_hint() -> None:
    def does(_call: ToolCall, _stop: Stop) -> ToolOutcome:
        raise Refused("the file is too large", code="workspace.kind", hint="read a part of it")

    acting = Acting(ScriptedChat(repeating("a"), said("I see.")), (Named(does=does),))
    acting.run()

    (answer,) = acting.answers()
    assert (answer.output, answer.is_error) == ("the file is too large\nread a part of it", True)


def test_a_tool_that_breaks_is_logged_and_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def does(_call: ToolCall, _stop: Stop) -> ToolOutcome:
        raise ZeroDivisionError("a detail that is nobody's business")

    acting = Acting(ScriptedChat(repeating("a"), said("Odd.")), (Named(does=does),))

    assert acting.run().kind is EndKind.ANSWERED
    assert texts(acting.answers()) == ["the tool failed; try it in another way"]
    assert "the tool repeat failed" in caplog.text


@given(size=st.integers(0, 30_000), chars_max=st.sampled_from([1_000, 4_000, 16_000]))
def test_what_a_tool_prints_is_cut_in_its_middle_and_says_so(size: int, chars_max: int) -> None:
    text = "".join(f"line {number}\n" for number in range(size // 8 + 1))[:size]
    acting = Acting(
        ScriptedChat(repeating("a"), said("Long.")),
        (Named(does=lambda _call, _stop: ToolOutcome(output=text)),),
        limits=replace(LIMITS, output_chars_max=chars_max),
    )
    acting.run()

    (output,) = texts(acting.answers())
    assert len(output) <= chars_max
    if size <= chars_max:
        assert output == (text if text.strip() else "(nothing was printed)")
    else:
        head, _, rest = output.partition("\n[... ")
        told, _, tail = rest.partition(" characters left out ...]\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert int(told.replace(",", "")) == size - len(head) - len(tail)


def test_what_no_database_holds_is_replaced_in_an_output() -> None:
    acting = Acting(
        ScriptedChat(repeating("a"), said("Odd.")),
        (Named(does=lambda _call, _stop: ToolOutcome(output="a\0b\ud800c")),),
    )
    acting.run()

    assert texts(acting.answers()) == ["a\ufffdb?c"]


def test_an_empty_answer_is_asked_for_once_more_and_told_to_nobody() -> None:
    acting = Acting(ScriptedChat(said("  \n"), said("It is done.")))

    end = acting.run()

    assert (end.kind, end.text) == (EndKind.ANSWERED, "It is done.")
    assert len(acting.notes.all("said")) == 1
    assert isinstance(acting.chat.turns[1].messages[-1], UserSaid)
    assert "empty" in acting.notes.all("remarked")[0]


def test_an_empty_answer_is_forgiven_each_time_something_is_done_between() -> None:
    acting = Acting(ScriptedChat(said(""), repeating("a"), said(""), said("Done.")), (Named(),))

    assert (acting.run().kind, len(acting.chat.turns)) == (EndKind.ANSWERED, 4)


def test_two_empty_answers_are_a_failure() -> None:
    acting = Acting(ScriptedChat(said("")))

    end = acting.run()

    assert end.kind is EndKind.FAILED
    assert end.failure is not None
    assert end.failure.code == "model.answer"
    assert len(acting.chat.turns) == 2


@given(cuts=st.integers(0, 7))
def test_an_answer_that_was_cut_goes_on_where_it_ends(cuts: int) -> None:
    pieces = [said(f"{number} ", is_cut=True) for number in range(cuts)]
    acting = Acting(ScriptedChat(*pieces, said("end.")))

    end = acting.run()

    heard = [*(piece.text for piece in pieces), "end."][: limits.AGENT_CUTS_MAX + 1]
    assert (end.kind, end.text) == (EndKind.ANSWERED, "".join(heard))
    assert [each.text for each in acting.notes.all("said")] == heard
    assert [each.continues for each in acting.notes.all("said")] == [False] + [True] * (len(heard) - 1)
    assert len(acting.notes.all("remarked")) == min(cuts, limits.AGENT_CUTS_MAX + 1)
    for turn in acting.chat.turns[1:]:
        asked = turn.messages[-1]
        assert isinstance(asked, UserSaid)
        assert "Go on exactly where it ends" in asked.text


def test_what_was_cut_before_a_call_is_no_part_of_the_answer() -> None:
    chat = ScriptedChat(said("I thi", is_cut=True), said("", is_cut=True), repeating("a"), said("Done."))

    assert Acting(chat, (Named(),)).run().text == "Done."


def test_an_empty_answer_between_the_parts_of_one_loses_none_of_them() -> None:
    chat = ScriptedChat(said("It is ", is_cut=True), said(""), said("done."))

    assert Acting(chat).run().text == "It is done."


@pytest.mark.parametrize("problem", ["its arguments are not JSON", ""])
def test_a_call_that_was_cut_says_so_and_the_whole_ones_are_made(problem: str) -> None:
    tool = Named()
    whole, cut = call("repeat", {"text": "a"}), call("repeat", call_id="c2", problem=problem)
    acting = Acting(ScriptedChat(said("", whole, cut, is_cut=True), said("Done.")), (tool,))
    acting.run()

    assert [each.call_id for each in tool.made] == ["c1"]
    assert "ask for less at once" in texts(acting.answers())[1]


def test_what_a_model_thought_goes_back_to_it_with_its_calls() -> None:
    thoughts = object()
    acting = Acting(ScriptedChat(replace(repeating("a"), thoughts=thoughts), said("Done.")), (Named(),))
    acting.run()

    (spoken,) = (each for each in acting.chat.turns[1].messages if isinstance(each, AssistantSaid))
    assert spoken.thoughts is thoughts


@given(turns=st.integers(1, 6))
def test_a_task_ends_with_its_turns_and_the_last_one_is_announced(turns: int) -> None:
    count = iter(range(100))

    def speech(_turn: ChatTurn, _listening: ChatListener, _stop: Stop) -> ChatReply:
        number = next(count)
        return said(f"step {number}", call("repeat", {"text": str(number)}, f"c{number}"))

    tool = Named()
    acting = Acting(ScriptedChat(speech), (tool,), limits=replace(LIMITS, turns_max=turns))

    end = acting.run()

    assert (end.kind, end.text) == (EndKind.OUT_OF_TURNS, f"step {turns - 1}")
    assert len(acting.chat.turns) == len(acting.answers()) == turns
    # Nobody would read what a call of the turn that was announced as the last one gives.
    assert len(tool.made) == max(1, turns - 1)
    heard = [message for message in acting.chat.turns[-1].messages if isinstance(message, UserSaid)]
    assert ("last turn" in heard[-1].text) is (turns > 1)


def test_more_calls_than_a_turn_may_ask_for_are_answered_and_not_made() -> None:
    tool = Named()
    asked = [call("repeat", {"text": str(n)}, f"c{n}") for n in range(limits.AGENT_CALLS_PER_TURN_MAX + 2)]
    acting = Acting(ScriptedChat(said("", *asked), said("Done.")), (tool,))
    acting.run()

    assert len(tool.made) == limits.AGENT_CALLS_PER_TURN_MAX
    assert [answer.call_id for answer in acting.answers()] == [each.call_id for each in asked]
    assert all("a turn may ask for" in text for text in texts(acting.answers())[-2:])


def test_the_same_call_over_and_over_is_remarked_upon_and_then_ends_the_run() -> None:
    tool = Named()
    acting = Acting(ScriptedChat(repeating("a")), (tool,))

    end = acting.run()

    assert end.kind is EndKind.FAILED
    assert end.failure is not None
    assert (end.failure.code, "8 times in a row" in end.failure.sentence) == ("model.repeats", True)
    assert len(tool.made) == 7
    remarked = ["times in a row" in text for text in texts(acting.answers())]
    assert remarked == [False] * 4 + [True] * 3 + [False]
    assert acting.answers()[-1].is_error


@given(calls=st.lists(st.sampled_from("ab"), min_size=1, max_size=16))
def test_only_calls_in_a_row_count_whatever_turn_they_are_in(calls: list[str]) -> None:
    tool = Named()
    acting = Acting(
        ScriptedChat(*(repeating(text, f"c{at}") for at, text in enumerate(calls)), said("Done.")), (tool,)
    )

    end = acting.run()

    row, longest = 1, 1
    for before, after in pairwise(calls):
        row = row + 1 if before == after else 1
        longest = max(longest, row)
    assert end.kind is (EndKind.FAILED if longest >= 8 else EndKind.ANSWERED)


def test_every_call_of_the_turn_that_ends_the_run_has_an_answer() -> None:
    again = [call("repeat", {"text": "a"}, f"c{number}") for number in range(10)]
    acting = Acting(ScriptedChat(said("", *again)), (Named(),))

    assert acting.run().kind is EndKind.FAILED
    assert [answer.call_id for answer in acting.answers()] == [each.call_id for each in again]


def test_a_stopped_run_is_stopped_however_often_the_call_is_repeated() -> None:
    stop = Event()

    def does(_call: ToolCall, _stop: Stop) -> ToolOutcome:
        stop.set()
        return ToolOutcome(output="x")

    again = [call("repeat", {"text": "a"}, f"c{number}") for number in range(10)]
    acting = Acting(ScriptedChat(said("", *again)), (Named(does=does),), stop=stop)

    assert acting.run().kind is EndKind.STOPPED


def test_a_stop_before_the_first_turn_asks_nobody() -> None:
    acting = Acting(ScriptedChat(said("No.")))
    acting.stop.set()

    assert acting.run().kind is EndKind.STOPPED
    assert acting.chat.turns == []


@pytest.mark.parametrize("where", ["model", "gate", "late gate", "tool", "said"])
def test_a_stop_is_obeyed_wherever_it_comes(where: str) -> None:
    stop = Event()

    def does(_call: ToolCall, _stop: Stop) -> ToolOutcome:
        if where == "tool":
            stop.set()
        return ToolOutcome(output="x")

    tool = Named(does=does)

    def speech(_turn: ChatTurn, _listening: ChatListener, at: Stop) -> ChatReply:
        if where == "model":
            stop.set()
            assert at.wait(PATIENCE_S)
            raise Cancelled
        return said("Go.", call("repeat", {"text": "a"}, "c1"), call("repeat", {"text": "b"}, "c2"))

    def decides(_call: ToolCall, at: Stop) -> GateDecision:
        if where == "gate":
            stop.set()
            assert at.is_set()
            return GateDecision(verdict=Verdict.DENIED, why="stopped")
        if where == "late gate":
            stop.set()
        return GateDecision(verdict=Verdict.ALLOWED)

    class Stopping(Notebook):
        def on_message(self, said: AssistantSaid, model: str, usage: TokenUsage) -> None:
            super().on_message(said, model, usage)
            if where == "said":
                stop.set()

    acting = Acting(ScriptedChat(speech), (tool,), Gate(decides), Stopping(), stop=stop)

    end = acting.run()

    assert end.kind is EndKind.STOPPED
    assert len(tool.made) == (1 if where == "tool" else 0)
    assert [answer.call_id for answer in acting.answers()] == ([] if where == "model" else ["c1", "c2"])
    assert len(acting.chat.turns) == 1


def test_a_task_ends_with_its_time_and_what_was_not_made_is_said() -> None:
    acting = Acting(
        ScriptedChat(said("", call("repeat", {"text": "a"}), call("repeat", {"text": "b"}, "c2")))
    )

    def does(_call: ToolCall, stop: Stop) -> ToolOutcome:
        assert not stop.is_set()
        acting.clock.advance(seconds=600)
        assert stop.is_set()
        return ToolOutcome(output="late")

    acting.tools = (Named(does=does),)

    assert acting.run().kind is EndKind.OUT_OF_TIME
    assert texts(acting.answers()) == ["late", "the call was not made: the run was stopped before it"]


def test_a_turn_has_the_time_that_is_left_and_is_silent_for_no_more_than_it_may() -> None:
    acting = Acting(ScriptedChat(repeating("a"), repeating("b", "c2"), said("Done.")))
    acting.tools = (
        Named(does=lambda _call, _stop: (acting.clock.advance(seconds=250), ToolOutcome(output="x"))[1]),
    )
    acting.run()

    assert [turn.timeout_s // 1 for turn in acting.chat.turns] == [600.0, 350.0, 100.0]
    assert {turn.silence_s for turn in acting.chat.turns} == {120.0}


@pytest.mark.parametrize("who", ["gate", "tool"])
def test_the_time_that_a_person_takes_is_not_the_agents(who: str) -> None:
    acting = Acting(ScriptedChat(repeating("a"), said("Done.")))

    def decides(_call: ToolCall, stop: Stop) -> GateDecision:
        assert stop is acting.stop
        acting.clock.advance(seconds=5_000 if who == "gate" else 0)
        acting.clock.set_right(timedelta(days=-1))
        return GateDecision(verdict=Verdict.ALLOWED)

    given_stops: list[Stop] = []

    def does(_call: ToolCall, stop: Stop) -> ToolOutcome:
        given_stops.append(stop)
        acting.clock.advance(seconds=5_000 if who == "tool" else 0)
        return ToolOutcome(output="yes")

    acting.gate = Gate(decides)
    acting.tools = (Named(does=does, waits=who == "tool"),)

    assert acting.run().kind is EndKind.ANSWERED
    assert acting.chat.turns[1].timeout_s // 1 == 600.0
    assert [stop is acting.stop for stop in given_stops] == [who == "tool"]


@pytest.mark.parametrize("what", ["text", "requested", "said", "answered", "remarked"])
def test_what_the_listener_raises_ends_the_run_and_goes_on(what: str) -> None:
    chat = ScriptedChat(said(""), repeating("a"), said("Done."))
    acting = Acting(chat, (Named(),), notes=Notebook(refuses=what))

    if what == "text":
        chat = acting.chat = ScriptedChat(said("Words."))

    with pytest.raises(OSError, match=f"no room for {what}"):
        acting.run()
    assert len(chat.turns) <= 2
