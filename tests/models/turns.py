"""Turns of a conversation that the tests say."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from runlore.domain.agent.conversation import Message, ToolSpec, UserSaid
from runlore.models.configured import ConfiguredChat
from runlore.ports.chat import ChatListener, ChatReply, ChatTurn
from runlore.ports.model import ModelFailure

SHELL = ToolSpec(
    name="shell",
    description="Runs a command.",
    parameters={
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command.", "maxLength": 100}},
        "required": ["command"],
        "additionalProperties": False,
    },
)


@dataclass
class Ear:
    """Notes what is heard."""

    pieces: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def listening(self) -> ChatListener:
        """Who hears it."""
        return ChatListener(on_text=self.pieces.append, on_request=self.requests.append)


def turn(messages: Sequence[Message] = (UserSaid(text="What is here?"),), **fields: Any) -> ChatTurn:
    """A turn with one tool; the fields that matter to a test are given."""
    defaults: dict[str, Any] = {"instructions": "Be brief.", "tools": (SHELL,), "timeout_s": 30.0}
    return ChatTurn(messages=tuple(messages), **{**defaults, **fields})


def say(chat: ConfiguredChat, said: ChatTurn | None = None, ear: Ear | None = None) -> ChatReply:
    """Say a turn, with nobody to stop it."""
    return chat.say(said or turn(), (ear or Ear()).listening, threading.Event())


def failure(chat: ConfiguredChat, said: ChatTurn | None = None, ear: Ear | None = None) -> ModelFailure:
    """What a turn fails with."""
    with pytest.raises(ModelFailure) as caught:
        say(chat, said, ear)
    return caught.value
