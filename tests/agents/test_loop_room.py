"""A conversation that has grown too long is made shorter, and goes on: nothing loses its other half."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.agents.model_turns import with_room
from runlore.domain import limits
from runlore.domain.agent.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, UserSaid
from runlore.ports.runner import EndKind, ToolOutcome
from tests.agents.acting import FIRST, SECOND, Acting, Named, ScriptedChat, call, failure, said

pytestmark = pytest.mark.req("AGT-1", "AGT-2")

KEPT = limits.AGENT_OUTPUT_KEPT_CHARS
LONG = said("", *(call("repeat", {"text": f"{n}"}, f"c{n}") for n in range(6)))
PRINTS = Named(does=lambda _call, _stop: ToolOutcome(output="x" * 3_000))
TEXTS = st.integers(0, 5_000).map(lambda size: "word " * (size // 5))
CALLS = st.builds(
    ToolCall,
    call_id=st.just("c"),
    name=st.just("t"),
    arguments=st.fixed_dictionaries({"path": st.just("a.txt"), "edits": st.lists(TEXTS, max_size=2)}),
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserSaid, text=TEXTS),
    st.builds(
        AssistantSaid,
        text=TEXTS,
        calls=st.lists(CALLS, max_size=2).map(tuple),
        thoughts=st.sampled_from([None, "thought"]),
    ),
    st.builds(ToolAnswered, call_id=st.just("c"), name=st.just("t"), output=TEXTS),
)


def outputs(messages: tuple[Message, ...]) -> list[str]:
    """What tools gave, oldest first."""
    return [message.output for message in messages if isinstance(message, ToolAnswered)]


def texts(message: Message) -> list[str]:
    """Every text of a message that can be cut."""
    if isinstance(message, ToolAnswered):
        return [message.output]
    calls = message.calls if isinstance(message, AssistantSaid) else ()
    return [message.text, *(text for call in calls for text in list_of(call.arguments["edits"]))]


def list_of(value: Any) -> list[str]:
    """Texts of a list."""
    return [str(each) for each in value]


def size(messages: tuple[Message, ...]) -> int:
    """How long a conversation is, nearly."""
    return sum(len(text) for message in messages for text in texts(message))


def test_it_is_tried_once_more_with_old_outputs_cut() -> None:
    chat = ScriptedChat(LONG, failure("model.question"), said("Done."))
    acting = Acting(chat, (PRINTS,), fallback=SECOND)

    assert acting.run().text == "Done."

    before, after = (sum(map(len, outputs(turn.messages))) for turn in chat.turns[1:])
    assert 0 < after < before / 2
    assert outputs(chat.turns[2].messages)[-1] == outputs(chat.turns[1].messages)[-1]
    assert {turn.model for turn in chat.turns} == {""}
    assert "too long" in acting.notes.all("remarked")[0]


def test_it_is_made_shorter_until_it_fits() -> None:
    written = said("", *(call("repeat", {"text": "y" * 9_000}, f"c{n}") for n in range(4)))

    def fits(turn: Any, _listening: Any, _stop: Any) -> Any:
        return said("Done.") if len(repr(turn.messages)) < 12_000 else failure("model.question")

    acting = Acting(ScriptedChat(written, fits), (PRINTS,))

    end = acting.run(request="Do it " * 500)

    assert (end.kind, end.text, end.model) == (EndKind.ANSWERED, "Done.", FIRST)
    last = acting.chat.turns[-1].messages
    assert last[0] == UserSaid(text="Do it " * 500)
    assert [type(each) for each in last] == [type(each) for each in acting.chat.turns[1].messages]


def test_one_that_stays_too_long_is_the_end() -> None:
    acting = Acting(ScriptedChat(LONG, failure("model.question")), (PRINTS,))

    end = acting.run()

    assert end.failure is not None
    assert (end.kind, end.failure.code) == (EndKind.FAILED, "model.question")
    assert 3 <= len(acting.chat.turns) <= 6


@given(messages=st.lists(MESSAGES, max_size=12).map(tuple))
def test_room_is_made_from_old_to_new_and_the_task_stays(messages: tuple[Message, ...]) -> None:
    made = with_room(messages)

    long = [place for place, each in enumerate(messages) if any(len(text) > KEPT for text in texts(each))]
    tasks = [place for place in long if isinstance(messages[place], UserSaid)]
    if made is None:
        assert set(long) <= set(tasks[-1:])
        return
    assert [type(each) for each in made] == [type(each) for each in messages]
    assert [each.call_id for each in calls(made)] == [each.call_id for each in calls(messages)]
    changed = [place for place in range(len(made)) if texts(made[place]) != texts(messages[place])]
    assert not set(changed) & set(tasks[-1:])
    assert all(len(text) <= KEPT or text in texts(messages[at]) for at in changed for text in texts(made[at]))
    # Of the long outputs a first part is cut; anything else only behind all of them.
    flags = [place in changed for place in long if isinstance(messages[place], ToolAnswered)]
    assert flags == sorted(flags, reverse=True)
    if not all(flags):
        assert not [place for place in changed if not isinstance(messages[place], ToolAnswered)]
    if set(changed) != set(long) - set(tasks[-1:]):
        assert size(made) <= size(messages) / 2 + 500


def calls(messages: tuple[Message, ...]) -> list[ToolCall]:
    """All calls."""
    return [call for each in messages if isinstance(each, AssistantSaid) for call in each.calls]


@given(messages=st.lists(MESSAGES, max_size=12).map(tuple))
def test_room_can_be_made_a_few_times_and_then_no_more(messages: tuple[Message, ...]) -> None:
    rounds = 0
    left: tuple[Message, ...] | None = messages
    while left is not None:
        before, left = left, with_room(left)
        rounds += 1
        assert rounds < 12
        if left is not None:
            thoughts = [each for each in left if isinstance(each, AssistantSaid) and each.thoughts]
            assert len(thoughts) <= 1
            assert size(left) < size(before) or rounds == 1
