"""Models behind a server on this machine, over each of the protocols."""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from runlore.models.configured import ConfiguredChat, ConfiguredModels
from tests.model_server import PROTOCOLS, ModelServer, Script, model_server

Scripted: TypeAlias = Callable[..., tuple[ConfiguredModels, ModelServer]]
Talking: TypeAlias = Callable[..., tuple[ConfiguredChat, ModelServer]]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A conversation's two ends."""

    protocol: str
    chat: ConfiguredChat
    server: ModelServer


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """OpenAI's, that of servers which are compatible with it, and Anthropic's."""
    return str(request.param)


@pytest.fixture
def scripted(protocol: str) -> Iterator[Scripted]:
    """Makes models over a server that says what it is told to; both end with the test."""
    with ExitStack() as stack:

        def make(*script: Script, **provider: Any) -> tuple[ConfiguredModels, ModelServer]:
            server = stack.enter_context(model_server(*script))
            models = server.models(protocol, **provider)
            stack.callback(models.close)
            return models, server

        yield make


@pytest.fixture
def talking(protocol: str) -> Iterator[Talking]:
    """Makes models in conversation over a server that says what it is told to; both end with the test."""
    with ExitStack() as stack:

        def make(*script: Script, **provider: Any) -> tuple[ConfiguredChat, ModelServer]:
            server = stack.enter_context(model_server(*script))
            chat = server.chat(protocol, **provider)
            stack.callback(chat.close)
            return chat, server

        yield make


@pytest.fixture(scope="module", params=PROTOCOLS)
def line(request: pytest.FixtureRequest) -> Iterator[Line]:
    """One server and one chat with it for all examples of a property; each sets the script that it needs."""
    with model_server() as server:
        chat = server.chat(request.param)
        yield Line(protocol=request.param, chat=chat, server=server)
        chat.close()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that any library logs, at every level."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)
