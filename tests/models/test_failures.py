"""Whatever a server does, the caller gets one clear line with a code, in time, and nothing else happens."""

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from runlore.config.providers import BUILT_IN
from runlore.domain import limits
from runlore.domain.errors import Unavailable
from runlore.models.configured import ConfiguredModels
from runlore.models.model_choice import ModelChoice
from runlore.ports.model import ModelFailure, TokenUsage
from tests.certificate import loopback_certificate
from tests.model_server import (
    KEY,
    KEY_VARIABLE,
    USAGE,
    Reply,
    breaks_off,
    fails,
    hangs,
    model_server,
    refuses,
    says,
    sends,
    trickles,
)
from tests.models.conftest import Scripted
from tests.models.questions import GOOD, failure, question

pytestmark = pytest.mark.req("AGT-2", "POL-7", "CAP-4")

NOTHING = TokenUsage()
SOON_S = 0.4
# Far below what the server would take, far above what a busy machine needs.
IN_TIME_S = 8.0

BY_STATUS = (
    (fails(401, code="invalid_api_key"), "model.key"),
    (fails(403, code="permission_error"), "model.key"),
    (fails(404, code="model_not_found"), "model.unknown"),
    (fails(408), "model.failed"),
    (fails(413), "model.failed"),
    (fails(429, code="rate_limit_exceeded"), "model.rate-limited"),
    (fails(429, code="insufficient_quota"), "model.rate-limited"),
    (fails(500), "model.failed"),
    (fails(502), "model.failed"),
    (fails(503), "model.failed"),
    (fails(529, code="overloaded_error"), "model.failed"),
    (fails(307, location="https://example.org/v1"), "model.failed"),
    (sends(b"<html>Bad gateway</html>", status=502, headers={"content-type": "text/html"}), "model.failed"),
)
GARBLED = (
    b"",
    b"not json",
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"choices": [], "content": []}',
    b'{"choices": [{"message": {}}], "content": [{"type": "tool_use"}]}',
    b'{"choices": "no", "content": "no", "usage": "no"}',
    b'{"error": {"message": "something"}}',
    b"data: {}\n\n",
)


@pytest.mark.parametrize(("reply", "code"), BY_STATUS, ids=[str(reply.status) for reply, _ in BY_STATUS])
def test_each_refusal_of_a_server_has_its_code_and_is_asked_for_once(
    scripted: Scripted, reply: Reply, code: str
) -> None:
    models, server = scripted(reply)

    error = failure(models)

    assert isinstance(error, Unavailable)
    assert (error.code, error.usage) == (code, NOTHING)
    assert "test:scripted" in error.sentence or "'scripted'" in error.sentence
    assert error.hint
    assert len(server.requests) == 1
    # What is wrong now need not be wrong next time.
    server.script[:] = [GOOD]
    assert models.ask(question()).output == GOOD


@pytest.mark.parametrize("told", ["7", "0", "86400", "-3", "86401", "nan", "inf", "soon"])
def test_how_long_to_wait_is_passed_on_if_it_can_be_meant(scripted: Scripted, told: str) -> None:
    models, _ = scripted(fails(429, code="rate_limit_exceeded", retry_after=told))

    wait = failure(models).retry_after_s

    expected = float(told) if told in ("7", "0", "86400") else None
    assert wait == expected
    assert wait is None or wait <= limits.MODEL_RETRY_AFTER_S_MAX


def test_a_refusal_to_answer_is_told_with_what_it_took(scripted: Scripted) -> None:
    models, _ = scripted(refuses())

    error = failure(models)

    assert error.code == "model.refused"
    assert error.usage == TokenUsage(input_tokens=USAGE[0], output_tokens=USAGE[1])
    assert "I will not" not in f"{error} {error.hint}"


@pytest.mark.parametrize("body", GARBLED)
def test_what_is_no_message_of_the_protocol_is_no_answer(scripted: Scripted, body: bytes) -> None:
    models, _ = scripted(sends(body))

    assert failure(models).code == "model.answer"


@pytest.mark.parametrize("body", [b"x", b" ", b'{"a": '])
def test_an_endless_answer_is_not_read_to_its_end(scripted: Scripted, body: bytes) -> None:
    endless = body * (2 * limits.MODEL_ANSWER_BYTES_MAX // len(body))
    models, _ = scripted(sends(endless))

    error = failure(models)

    assert error.code == "model.answer"
    assert str(limits.MODEL_ANSWER_BYTES_MAX) in error.sentence


def test_an_answer_of_the_greatest_length_is_read(scripted: Scripted) -> None:
    models, _ = scripted(lambda _: says("x" * (limits.MODEL_ANSWER_BYTES_MAX - 2_000)))

    assert "not JSON" in failure(models).sentence


def test_a_packed_answer_is_not_unpacked(scripted: Scripted) -> None:
    models, _ = scripted(sends(b"\x1f\x8b", headers={"content-encoding": "gzip"}))

    assert failure(models).code == "model.answer"


@pytest.mark.parametrize("after_bytes", [0, 5, 40, 150])
def test_a_connection_that_breaks_off_is_told_and_not_tried_again(
    scripted: Scripted, after_bytes: int
) -> None:
    models, server = scripted(breaks_off(after_bytes=after_bytes, output=GOOD))

    error = failure(models)

    assert (error.code, error.usage) == ("model.unreachable", NOTHING)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [hangs(), hangs(after_bytes=30), hangs(after_bytes=200, output=GOOD), trickles(GOOD)],
    ids=["before the headers", "in the headers", "in the body", "a byte at a time"],
)
def test_a_server_that_takes_its_time_is_not_waited_for(scripted: Scripted, reply: Reply) -> None:
    models, server = scripted(GOOD, reply)
    models.ask(question())

    error, took_s = timed(lambda: failure(models, timeout_s=SOON_S))

    assert (error.code, error.usage) == ("model.timeout", NOTHING)
    assert SOON_S <= took_s < IN_TIME_S
    assert len(server.requests) == 2


def test_the_second_try_in_words_has_only_what_time_is_left(scripted: Scripted) -> None:
    models, server = scripted(GOOD, fails(400), trickles(GOOD))
    models.ask(question())

    error, took_s = timed(lambda: failure(models, timeout_s=SOON_S))

    assert error.code == "model.timeout"
    assert took_s < IN_TIME_S
    assert len(server.requests) == 3


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_nobody_takes_is_not_waited_for(protocol: str, scheme: str) -> None:
    with deaf() as port, model_server(GOOD) as server:
        url = f"{scheme}://127.0.0.1:{port}"
        models = server.models(protocol, base_url=url)

        error, took_s = timed(lambda: failure(models, timeout_s=SOON_S))
        models.close()

    assert error.code == "model.timeout"
    assert took_s < IN_TIME_S


def test_an_address_where_nothing_listens_is_told(protocol: str) -> None:
    with model_server(GOOD) as gone:
        models = gone.models(protocol)
    error = failure(models)
    models.close()

    assert error.code == "model.unreachable"
    assert str(gone.port) in error.hint


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(protocol: str) -> None:
    with model_server(GOOD, certificate=loopback_certificate()) as server:
        models = server.models(protocol, base_url=f"https://127.0.0.1:{server.port}")
        error = failure(models)
        models.close()

    assert error.code == "model.unreachable"
    assert server.requests == []


@pytest.mark.parametrize(
    ("variable", "value"), [("HTTPS_PROXY", "nonsense://x"), ("SSL_CERT_FILE", "/nowhere/at/all.pem")]
)
def test_an_environment_that_lets_nothing_through_is_told(
    protocol: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with model_server(GOOD) as server:
        models = server.models(protocol, base_url="https://models.example.org/v1")
        error = failure(models)
        models.close()

    assert error.code == "model.failed"
    assert "SSL_CERT_FILE" in error.hint


@pytest.mark.parametrize(
    "model", ["nobody:x", "test", "test:", ":x", "", "TEST:x", "http://evil.example/v1:x"]
)
def test_a_model_that_is_not_set_up_is_never_asked(scripted: Scripted, model: str) -> None:
    _, server = scripted(GOOD)
    models = ConfiguredModels(ModelChoice(providers=(server.provider(),)))

    with pytest.raises(ModelFailure) as caught:
        models.resolve(model)

    assert caught.value.code == ("model.none" if model == "" else "model.unknown")
    assert failure(models, model=model).code == caught.value.code
    assert server.requests == []


@pytest.mark.req("AGT-3")
def test_without_a_model_one_line_says_what_to_set() -> None:
    models = ConfiguredModels(ModelChoice(providers=BUILT_IN))

    assert not models.is_configured
    assert models.describe()["default"] is None
    error = failure(models)
    assert (str(error), error.code) == ("no model is set", "model.none")
    assert "RUNLORE_MODEL" in error.hint
    assert "[models]" in error.hint


@pytest.mark.req("AGT-3")
@pytest.mark.parametrize("provider", BUILT_IN, ids=lambda provider: provider.name)
def test_without_a_key_the_variable_is_named_and_nothing_is_sent(provider: Any) -> None:
    models = ConfiguredModels(ModelChoice(default=f"{provider.name}:x", providers=BUILT_IN))

    for error in (failure(models), failure(models, model=f"{provider.name}:y")):
        assert error.code == "model.key"
        assert provider.api_key_env in error.sentence
        assert provider.api_key_env in error.hint


def test_a_wrong_key_is_told_by_its_variable(scripted: Scripted) -> None:
    models, _ = scripted(fails(401, message=f"Incorrect API key provided: {KEY}"))

    error = failure(models)

    assert KEY_VARIABLE in error.hint
    assert KEY not in f"{error}{error.hint}{error!r}{error.args}"


def test_a_question_that_is_too_long_is_not_sent(scripted: Scripted) -> None:
    models, server = scripted(GOOD)

    error = failure(models, document={"content": "x" * limits.MODEL_QUESTION_BYTES_MAX})

    assert error.code == "model.question"
    assert server.requests == []


def test_a_caller_inside_an_event_loop_is_served_too(scripted: Scripted) -> None:
    models, _ = scripted(GOOD)

    async def ask() -> Any:
        return models.ask(question()).output

    assert asyncio.run(ask()) == GOOD


def test_closing_ends_what_is_asked_and_nothing_is_asked_afterwards(scripted: Scripted) -> None:
    models, server = scripted(GOOD, hangs())
    models.ask(question())
    ended: list[ModelFailure] = []
    waiting = threading.Thread(target=lambda: ended.append(failure(models)))
    waiting.start()
    while len(server.requests) < 2:
        waiting.join(0.01)

    models.close()
    models.close()

    waiting.join(IN_TIME_S)
    assert [error.code for error in ended] == ["model.failed"]
    assert failure(models).code == "model.failed"
    assert len(server.requests) == 2
    # Whatever was left open would be told of here, as an error.
    gc.collect()


def test_a_provider_without_a_key_is_asked_without_one(scripted: Scripted) -> None:
    models, server = scripted(GOOD, api_key_env="", api_key="")

    assert models.ask(question()).output == GOOD
    assert {"authorization", "x-api-key"}.isdisjoint(server.requests[0].headers)
    assert replace(server.provider(), api_key="") != server.provider()


def timed(act: Callable[[], ModelFailure]) -> tuple[ModelFailure, float]:
    """What an act fails with, and after how long."""
    begun = time.monotonic()
    return act(), time.monotonic() - begun


@contextmanager
def deaf() -> Iterator[int]:
    """The port of a listener that takes no connection, its queue being full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        queued = [socket.socket() for _ in range(4)]
        for each in queued:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        try:
            yield listener.getsockname()[1]
        finally:
            for each in queued:
                each.close()
