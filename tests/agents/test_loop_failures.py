"""Where a model fails: waiting, the fallback, and an end that says why."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from threading import Event
from typing import Any

import pytest

from runlore.agents.model_turns import Deadline, backoff_s
from runlore.domain import limits
from runlore.domain.agent.conversation import ToolCall
from runlore.ports.chat import Cancelled, ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure, TokenUsage
from runlore.ports.runner import EndKind, ToolOutcome
from runlore.ports.stopping import Stop
from tests.agents.acting import (
    FIRST,
    LIMITS,
    SECOND,
    USED,
    Acting,
    Named,
    Notebook,
    ScriptedChat,
    call,
    failure,
    said,
)
from tests.fakes import FakeClock
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.req("AGT-2")

ELSEWHERE = (
    "model.unreachable",
    "model.timeout",
    "model.rate-limited",
    "model.failed",
    "model.unknown",
    "model.key",
    "model.libraries",
)
HERE = ("model.refused", "model.answer", "model.question")
STEP = said("", call("repeat", {"text": "a"}))


def models(acting: Acting) -> list[str]:
    """Which model was asked for, turn by turn."""
    return [acting.chat.resolve(turn.model) for turn in acting.chat.turns]


@pytest.mark.parametrize("code", ELSEWHERE)
def test_the_fallback_takes_over_for_the_rest_of_the_run(code: str) -> None:
    chat = ScriptedChat(STEP, failure(code), said("", call("repeat", {"text": "b"}, "c2")), said("Done."))
    acting = Acting(chat, (Named(),), fallback=SECOND)

    end = acting.run()

    assert (end.kind, end.text, end.model) == (EndKind.ANSWERED, "Done.", SECOND)
    assert models(acting) == [FIRST, FIRST, SECOND, SECOND]
    assert acting.notes.all("remarked") == [f"it failed with {code}: {SECOND} goes on in its place"]
    # The conversation goes on where it was: nothing is done twice.
    assert chat.turns[2].messages == chat.turns[1].messages


@pytest.mark.parametrize("code", HERE)
def test_what_another_model_would_not_mend_is_the_end(code: str) -> None:
    acting = Acting(ScriptedChat(failure(code, usage=TokenUsage(input_tokens=3))), fallback=SECOND)

    end = acting.run()

    assert end.kind is EndKind.FAILED
    assert end.failure is not None
    assert (end.failure.code, end.usage.input_tokens, models(acting)) == (code, 3, [FIRST])


@pytest.mark.parametrize("code", ELSEWHERE)
def test_without_a_fallback_a_failure_is_the_end_and_says_why(code: str) -> None:
    acting = Acting(ScriptedChat(failure(code)))

    end = acting.run()

    assert (end.kind, end.failure) == (EndKind.FAILED, end.failure)
    assert end.failure is not None
    assert (end.failure.code, len(acting.chat.turns)) == (code, 1)


def test_a_fallback_that_fails_too_is_the_end() -> None:
    acting = Acting(ScriptedChat(failure("model.failed"), failure("model.timeout")), fallback=SECOND)

    end = acting.run()

    assert end.failure is not None
    assert (end.failure.code, models(acting)) == ("model.timeout", [FIRST, SECOND])


@pytest.mark.parametrize("second", [failure("model.key"), FIRST], ids=["without a key", "the same model"])
def test_a_fallback_that_cannot_be_asked_leaves_the_first_failure(second: str | ModelFailure) -> None:
    chat = ScriptedChat(failure("model.unreachable"), names={SECOND: second})
    acting = Acting(chat, fallback=SECOND)

    end = acting.run()

    assert end.failure is not None
    assert (end.failure.code, len(chat.turns)) == ("model.unreachable", 1)


def test_a_model_that_is_not_there_at_all_leaves_the_task_to_the_fallback() -> None:
    chat = ScriptedChat(said("Done."), names={"": failure("model.none")})

    assert Acting(chat, fallback=SECOND).run().model == SECOND
    end = Acting(chat).run()
    assert end.failure is not None
    assert end.failure.code == "model.none"


def breaking(code: str, **fields: Any) -> Callable[[ChatTurn, ChatListener, Stop], ModelFailure]:
    """An answer that breaks off behind its first words."""

    def breaks(_turn: ChatTurn, listening: ChatListener, _stop: Stop) -> ModelFailure:
        listening.on_text("I will")
        return failure(code, **fields)

    return breaks


@pytest.mark.parametrize("fallback", ["", SECOND])
def test_an_answer_that_breaks_off_is_asked_for_again_and_its_beginning_does_not_count(fallback: str) -> None:
    broken = breaking("model.unreachable", passes=True)
    acting = Acting(ScriptedChat(STEP, broken, said("Done.")), (Named(),), fallback=fallback)

    end = acting.run()

    assert (end.kind, end.text, set(models(acting))) == (EndKind.ANSWERED, "Done.", {FIRST})
    assert acting.notes.all("text") == ["I will", "Done."]
    assert [each.text for each in acting.notes.all("said")] == ["", "Done."]
    assert "does not count" in acting.notes.all("remarked")[0]


def test_an_answer_that_breaks_off_for_good_is_left_to_the_fallback() -> None:
    acting = Acting(ScriptedChat(breaking("model.failed"), said("Done.")), fallback=SECOND)

    end = acting.run()

    assert (end.text, models(acting)) == ("Done.", [FIRST, SECOND])
    assert "does not count" in acting.notes.all("remarked")[0]


@pytest.mark.parametrize("code", ["model.rate-limited", "model.failed"])
@pytest.mark.parametrize("wait", [{"retry_after_s": 0.01}, {}], ids=["told to", "not told"])
def test_a_server_that_fails_for_a_moment_is_given_two_before_the_fallback(
    code: str, wait: dict[str, float]
) -> None:
    busy = failure(code, passes=True, **wait)
    acting = Acting(ScriptedChat(busy, busy, STEP, busy, busy, said("Done.")), (Named(),), fallback=SECOND)

    end = acting.run()

    assert (end.kind, set(models(acting))) == (EndKind.ANSWERED, {FIRST})
    assert len(acting.notes.all("remarked")) == 4


def test_the_third_time_it_is_left_alone() -> None:
    busy = failure("model.rate-limited", retry_after_s=0.0, passes=True)
    acting = Acting(ScriptedChat(busy, busy, busy, said("Done.")), fallback=SECOND)

    assert acting.run().kind is EndKind.ANSWERED
    assert models(acting) == [FIRST, FIRST, FIRST, SECOND]


@pytest.mark.parametrize(
    ("code", "waits"),
    [("model.failed", 5), ("model.rate-limited", 5), ("model.unreachable", 5), ("model.timeout", 1)],
)
def test_the_midst_of_a_task_is_worth_more_patience(code: str, waits: int) -> None:
    busy = failure(code, passes=True, retry_after_s=0.0, is_absent=code == "model.unreachable")
    acting = Acting(ScriptedChat(STEP, *[busy] * waits, said("Done.")), (Named(),))
    assert acting.run().text == "Done."

    acting = Acting(ScriptedChat(STEP, *[busy] * (waits + 1), said("Done.")), (Named(),))
    end = acting.run()
    assert end.failure is not None
    assert (end.failure.code, len(acting.chat.turns)) == (code, waits + 2)


@pytest.mark.parametrize(
    ("code", "is_absent", "asked"),
    [
        ("model.failed", False, 3),
        ("model.rate-limited", False, 3),
        ("model.unreachable", False, 3),
        ("model.unreachable", True, 1),
        ("model.timeout", False, 2),
    ],
)
def test_a_task_that_has_not_begun_fails_soon(code: str, is_absent: bool, asked: int) -> None:
    acting = Acting(ScriptedChat(failure(code, passes=True, retry_after_s=0.0, is_absent=is_absent)))

    assert acting.run().kind is EndKind.FAILED
    assert len(acting.chat.turns) == asked


def test_each_wait_is_three_times_the_one_before_and_none_is_longer_than_the_longest() -> None:
    assert [backoff_s(count, 2.0) for count in range(6)] == [2.0, 6.0, 18.0, 54.0, 60.0, 60.0]


def test_a_failure_that_took_nothing_does_not_hide_what_the_rest_cost() -> None:
    busy = failure("model.failed", passes=True, retry_after_s=0.0)

    assert Acting(ScriptedChat(busy, said("Done."))).run().usage == USED


@pytest.mark.parametrize(
    ("wait_s", "seconds_max"), [(limits.AGENT_WAIT_S_MAX + 1, 600.0), (30.0, 20.0), (20.0, 20.0)]
)
def test_nobody_waits_longer_than_there_is_time(wait_s: float, seconds_max: float) -> None:
    chat = ScriptedChat(failure("model.rate-limited", retry_after_s=wait_s, passes=True))
    acting = Acting(chat, limits=replace(LIMITS, seconds_max=seconds_max))

    end = acting.run()

    assert (end.kind, len(chat.turns)) == (EndKind.FAILED, 1)


def test_a_wait_ends_at_once_when_the_run_is_stopped() -> None:
    acting = Acting(ScriptedChat(failure("model.rate-limited", retry_after_s=50.0, passes=True)))
    begun = Event()

    class Waking(Notebook):
        def on_remark(self, remark: str) -> None:
            begun.set()

    acting.notes = Waking()

    def stop_it() -> None:
        begun.wait(PATIENCE_S)
        acting.stop.set()

    stopping = threading.Thread(target=stop_it)
    stopping.start()

    end = acting.run()

    stopping.join()
    assert (end.kind, len(acting.chat.turns)) == (EndKind.STOPPED, 1)


@pytest.mark.parametrize("fallback", ["", SECOND])
def test_a_model_that_is_out_of_the_runs_time_ends_it_so(fallback: str) -> None:
    acting = Acting(ScriptedChat(said("late")), fallback=fallback)

    def late(_turn: ChatTurn, _listening: ChatListener, _stop: Stop) -> ModelFailure:
        acting.clock.advance(seconds=600)
        return failure("model.timeout", passes=True)

    acting.chat = ScriptedChat(late, said("Done."))

    assert acting.run().kind is EndKind.OUT_OF_TIME


@pytest.mark.parametrize(
    ("passed", "asked", "set_by"), list(product([0, 99, 100, 150], [False, True], [-1, 0, 1]))
)
def test_a_deadline_is_over_with_its_time_or_its_stop(passed: int, asked: bool, set_by: int) -> None:
    clock, stop = FakeClock(), Event()
    deadline = Deadline(stop, clock, 100)
    clock.advance(seconds=passed)
    # Whoever sets the machine's clock neither ends a run nor lets it go on for ever.
    clock.set_right(timedelta(days=set_by))
    if asked:
        stop.set()

    expected = asked or passed >= 100
    assert deadline.is_set() is expected
    assert deadline.wait(0) is expected
    assert deadline.left_s == max(0, 100 - passed)
    assert Deadline(deadline, clock, 1_000).is_set() is expected


def test_a_deadline_wakes_those_who_wait() -> None:
    stop = Event()
    deadline = Deadline(stop, FakeClock(), 1_000)
    waking = threading.Thread(target=stop.set)
    waking.start()

    assert deadline.wait()
    waking.join()
    assert not Deadline(Event(), FakeClock(), 1_000).wait(0.06)


def test_a_tool_that_gives_up_with_its_stop_is_answered_for() -> None:
    def does(_call: ToolCall, _stop: Stop) -> ToolOutcome:
        raise Cancelled

    acting = Acting(ScriptedChat(STEP, said("Done.")), (Named(does=does),))
    acting.run()

    (answer,) = acting.answers()
    assert (answer.output, answer.is_error) == ("the call was stopped", True)


def test_whatever_a_model_says_every_run_ends() -> None:
    """A model that always wants more is ended by the first of its limits."""

    def speech(turn: ChatTurn, _listening: ChatListener, _stop: Stop) -> ChatReply:
        return said("more", call("repeat", {"text": str(len(turn.messages))}, f"c{len(turn.messages)}"))

    acting = Acting(ScriptedChat(speech), (Named(),), limits=replace(LIMITS, turns_max=50))

    assert acting.run().kind is EndKind.OUT_OF_TURNS
