"""The agent over the real client, against a server on this machine that speaks each provider's protocol."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from runlore.agents.loop import AgentLoop
from runlore.agents.tools.toolbox import toolbox
from runlore.daemon.clock import SystemClock
from runlore.domain.agent.conversation import AssistantSaid, ToolAnswered, UserSaid
from runlore.domain.capability import Capabilities
from runlore.ports import operations as ops
from runlore.ports.chat import Chat
from runlore.ports.runner import AgentEnd, AgentTask, EndKind, Tool, ToolOutcome
from tests.agents.acting import LIMITS, Gate, Named, Notebook
from tests.agents.tools.tooling import EVERYTHING, given, running
from tests.model_server import (
    KEY,
    PROTOCOLS,
    ModelServer,
    Reply,
    Script,
    calls,
    fails,
    hangs,
    model_server,
    says,
)
from tests.world import World

pytestmark = pytest.mark.req("AGT-1", "AGT-2")


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """OpenAI's, that of servers which are compatible with it, and Anthropic's."""
    return str(request.param)


class Talk:
    """One server, and agents that talk with it."""

    def __init__(self, protocol: str, stack: ExitStack) -> None:
        self.protocol = protocol
        self.notes = Notebook()
        self.stop = Event()
        self._stack = stack

    def begin(self, *script: Script) -> tuple[Chat, ModelServer]:
        """Serve a script."""
        server = self._stack.enter_context(model_server(*script))
        chat = server.chat(self.protocol)
        self._stack.callback(chat.close)
        return chat, server

    def run(self, chat: Chat, tools: tuple[Tool, ...] = (), **fields: Any) -> AgentEnd:
        """Work through a task."""
        task = AgentTask(
            **{
                "instructions": "Be brief.",
                "messages": (UserSaid(text="Do it"),),
                "limits": LIMITS,
                **fields,
            }
        )
        loop = AgentLoop(chat, SystemClock(), first_wait_s=0.01)
        return loop.run(task, tools, gate=Gate(), listener=self.notes, stop=self.stop)


@pytest.fixture
def talk(protocol: str) -> Iterator[Talk]:
    """Ends with the test."""
    with ExitStack() as stack:
        yield Talk(protocol, stack)


def test_a_task_is_worked_through_with_real_tools(talk: Talk, world: World) -> None:
    run = running(world)
    note = {"note": "Looked already"}
    chat, server = talk.begin(
        says("I look first.") + calls("scratch", note) + calls("memory_search", {"query": "release"}),
        calls("propose_learning", {"kind": "fact", "content": "Releases are cut on Mondays"}),
        says("It is proposed."),
    )
    tools = toolbox(EVERYTHING, Capabilities(), given(world, run))

    end = talk.run(chat, tools)

    assert (end.kind, end.text, end.model) == (EndKind.ANSWERED, "It is proposed.", "test:scripted")
    assert [record.summary for record in world.agent.list_scratch(run.run_id)] == ["Looked already"]
    (candidate,) = world.operator.list_candidates(ops.CandidateRequest()).items
    assert candidate.summary == "Releases are cut on Mondays"
    # The last request holds all that was said and answered, and the tools with their schemas.
    last = server.requests[-1]
    assert last.instructions == "Be brief."
    assert set(last.tools) == {each.spec.name for each in tools}
    spoken = [message for message in last.conversation if isinstance(message, AssistantSaid)]
    assert [call.name for message in spoken for call in message.calls] == [
        "scratch", "memory_search", "propose_learning"
    ]  # fmt: skip
    outputs = [message.output for message in last.conversation if isinstance(message, ToolAnswered)]
    assert outputs == [answer.output for answer in talk.notes.all("answered")]
    assert len(talk.notes.all("requested")) == 3
    assert "".join(talk.notes.all("text")) == "I look first.It is proposed."


def test_arguments_that_are_no_json_are_told_to_the_model_and_mended(talk: Talk) -> None:
    tool = Named()
    chat, server = talk.begin(calls("repeat", '{"text": '), calls("repeat", {"text": "hi"}), says("Done."))

    assert talk.run(chat, (tool,)).kind is EndKind.ANSWERED
    assert [call.arguments for call in tool.made] == [{"text": "hi"}]
    assert "not JSON" in talk.notes.all("answered")[0].output
    assert len(server.requests) == 3


def test_the_fallback_takes_over_where_the_first_model_is_unknown(talk: Talk) -> None:
    def answer(received: Any) -> Reply:
        return says("Done.") if received.body["model"] == "other" else fails(404, code="model_not_found")

    chat, server = talk.begin(answer)

    end = talk.run(chat, fallback_model="test:other")

    assert (end.kind, end.model) == (EndKind.ANSWERED, "test:other")
    assert [request.body["model"] for request in server.requests] == ["scripted", "other"]


def test_a_wrong_key_says_which_variable_and_never_the_key(talk: Talk) -> None:
    chat, _ = talk.begin(fails(401, code="invalid_api_key"))

    end = talk.run(chat)

    assert end.failure is not None
    assert (end.kind, end.failure.code) == (EndKind.FAILED, "model.key")
    assert "TEST_MODEL_KEY" in end.failure.hint
    assert KEY not in str(talk.notes.heard)


def test_a_server_that_is_busy_for_a_moment_is_asked_again(talk: Talk) -> None:
    chat, server = talk.begin(fails(429, code="rate_limit_exceeded", retry_after="0"), says("Done."))

    assert talk.run(chat).kind is EndKind.ANSWERED
    assert len(server.requests) == 2


def test_a_conversation_that_is_too_long_is_shortened_and_said_again(talk: Talk) -> None:
    too_long = fails(
        400,
        code="invalid_request_error" if talk.protocol == "anthropic" else "context_length_exceeded",
        message="prompt is too long: 210000 tokens > 200000 maximum",
    )
    tool = Named(does=lambda _call, _stop: ToolOutcome(output="word " * 700))
    chat, server = talk.begin(calls("repeat", {"text": "a"}), too_long, says("Done."))

    end = talk.run(chat, (tool,))

    assert end.kind is EndKind.ANSWERED, end.failure
    first, second = (
        next(message.output for message in request.conversation if isinstance(message, ToolAnswered))
        for request in server.requests[1:]
    )
    assert len(second) < len(first) / 3


@pytest.mark.parametrize(
    "broken",
    [
        says("I will say it.", sent_bytes_max=0),
        says("I will say it.", stream_bytes_max=300),
        says("I will say it.", stream_bytes_max=300, stream_end="ended"),
    ],
    ids=["before it begins", "in its midst", "without its end"],
)
def test_a_first_answer_that_breaks_off_is_asked_for_again(talk: Talk, broken: Reply) -> None:
    chat, server = talk.begin(broken, says("Done."))

    end = talk.run(chat)

    assert (end.kind, end.text, len(server.requests)) == (EndKind.ANSWERED, "Done.", 2)


def test_a_model_at_whose_address_nothing_answers_is_asked_once(talk: Talk) -> None:
    with model_server(says("Done.")) as gone:
        chat = gone.chat(talk.protocol)

    with closing(chat):
        end = talk.run(chat)

    assert (end.kind, talk.notes.all("remarked")) == (EndKind.FAILED, [])
    assert end.failure is not None
    assert "nothing answers there" in end.failure.sentence


def test_a_stop_ends_a_turn_that_hangs(talk: Talk) -> None:
    chat, _ = talk.begin(hangs())

    class Stopping(Notebook):
        def on_request(self, body: str, model: str) -> None:
            talk.stop.set()

    talk.notes = Stopping()

    assert talk.run(chat).kind is EndKind.STOPPED


def test_a_turn_that_hangs_ends_with_the_runs_time(talk: Talk) -> None:
    chat, _ = talk.begin(hangs())

    assert talk.run(chat, limits=replace(LIMITS, seconds_max=0.3)).kind is EndKind.OUT_OF_TIME


def test_calls_of_one_turn_are_made_one_after_the_other_each_under_its_id(talk: Talk) -> None:
    tool = Named()
    both = calls("repeat", {"text": "a"}) + calls("repeat", {"text": "b"})
    chat, _ = talk.begin(both, says("Done."))

    talk.run(chat, (tool,))

    assert [call.arguments["text"] for call in tool.made] == ["a", "b"]
    assert len({call.call_id for call in tool.made}) == 2
