"""Models behind a server on this machine, over each of the protocols."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from runlore.models.configured import ConfiguredModels
from tests.model_server import PROTOCOLS, ModelServer, Script, model_server

Scripted: TypeAlias = Callable[..., tuple[ConfiguredModels, ModelServer]]


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
