"""Makes room in a conversation that has grown too long: the oldest outputs of tools go first, then what was
written in calls, then what was said. Every call keeps its answer, and the latest long message of a person,
which is the task, stays as it is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from runlore.agents.transcripts.parsing import shorten
from runlore.domain import limits
from runlore.domain.conversation import AssistantSaid, Message, ToolAnswered, ToolCall, UserSaid
from runlore.domain.record import JsonValue

_Cut: TypeAlias = Callable[[Message], Message]


def with_room(messages: tuple[Message, ...]) -> tuple[Message, ...] | None:
    """The conversation at half of its length or less, where that can be had; None where nothing is left that
    could be shortened."""
    made, has_changed = _without_old_thoughts(messages)
    task = _task(made)
    left = sum(map(_chars, made))
    wanted = left // 2
    for cut in (_cut_output, _cut_arguments, _cut_words):
        for place, message in enumerate(made):
            if left <= wanted:
                break
            if place != task and (chars := _chars(message)) > _chars(shorter := cut(message)):
                left -= chars - _chars(shorter)
                made[place] = shorter
                has_changed = True
    return tuple(made) if has_changed else None


def _without_old_thoughts(messages: tuple[Message, ...]) -> tuple[list[Message], bool]:
    """A model needs what it thought before its latest calls; all before that is its own affair."""
    thinking = [at for at, each in enumerate(messages) if isinstance(each, AssistantSaid) and each.thoughts]
    made = list(messages)
    for place in thinking[:-1]:
        said = messages[place]
        assert isinstance(said, AssistantSaid)
        made[place] = replace(said, thoughts=None)
    return made, len(thinking) > 1


def _task(messages: list[Message]) -> int:
    """Where the latest message of a person is that could be cut; -1 where there is none."""
    long = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, UserSaid) and len(message.text) > limits.AGENT_OUTPUT_KEPT_CHARS
    ]
    return long[-1] if long else -1


def _cut_output(message: Message) -> Message:
    return replace(message, output=_short(message.output)) if isinstance(message, ToolAnswered) else message


def _cut_arguments(message: Message) -> Message:
    if not isinstance(message, AssistantSaid):
        return message
    return replace(message, calls=tuple(_cut_call(call) for call in message.calls))


def _cut_call(call: ToolCall) -> ToolCall:
    return replace(call, arguments={name: _cut_value(value) for name, value in call.arguments.items()})


def _cut_value(value: JsonValue) -> JsonValue:
    """A long text, alone or in a list; what is deeper inside is never long."""
    if isinstance(value, list | tuple):
        return [_cut_value(each) for each in value]
    return _short(value) if isinstance(value, str) else value


def _cut_words(message: Message) -> Message:
    return message if isinstance(message, ToolAnswered) else replace(message, text=_short(message.text))


def _short(text: str) -> str:
    return shorten(text, limits.AGENT_OUTPUT_KEPT_CHARS)


def _chars(message: Message) -> int:
    if isinstance(message, ToolAnswered):
        return len(message.output)
    calls = message.calls if isinstance(message, AssistantSaid) else ()
    return len(message.text) + sum(len(str(call.arguments)) for call in calls)
