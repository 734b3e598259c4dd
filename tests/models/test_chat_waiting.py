"""How long is waited for a model, what may be asked again, and what is told to be too long for it."""

import time
from dataclasses import replace
from typing import Any

import pytest

from tests.model_server import Reply, breaks_off, fails, hangs, says
from tests.models.conftest import Talking
from tests.models.turns import Ear, failure, say, turn

pytestmark = pytest.mark.req("AGT-2")

# OpenAI itself and servers that are compatible with it are read by the same code.
BOTH = ("compatible", "anthropic")
PASSING = (
    (fails(429, code="rate_limit_exceeded"), True),
    (fails(402, code="billing_error", retry_after="1"), False),
    (fails(500), True),
    (fails(502), True),
    (fails(503, code="overloaded"), True),
    (fails(529, code="overloaded_error"), True),
    (fails(409, retry_after="1"), True),
    (fails(400), False),
    (fails(401, code="invalid_api_key"), False),
    (fails(404, code="model_not_found"), False),
    (breaks_off(), True),
    (replace(says("Hello there."), stream_bytes_max=300), True),
    (replace(says("Hello there."), stream_bytes_max=0, stream_error="overloaded_error"), True),
)
TOO_LONG = (
    (400, "exceed_context_size_error", "the request exceeds the available context size, try increasing it"),
    (400, "invalid_request_error", "This model's maximum context length is 8192 tokens"),
    (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192"),
    (400, "some_error", "Trying to keep the first 9000 tokens when the context overflows"),
    (400, "some_error", "The input token count (1100000) exceeds the maximum number of tokens allowed"),
    (422, "some_error", "Prompt is too long for the model's context window"),
    (413, "request_too_large", "Request exceeds the maximum size"),
    (413, "rate_limit_exceeded", "Request too large for model"),
)


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize(("reply", "passes"), PASSING, ids=range(len(PASSING)))
def test_what_may_be_over_in_a_moment_says_so(talking: Talking, reply: Reply, passes: bool) -> None:
    chat, server = talking(reply)

    assert failure(chat).passes is passes
    assert len(server.requests) == 1


@pytest.mark.parametrize("protocol", ["openai", "compatible"])
def test_credit_that_is_used_up_is_no_matter_of_a_moment(talking: Talking) -> None:
    chat, _ = talking(fails(429, code="insufficient_quota", retry_after="1"))

    error = failure(chat)

    assert (error.code, error.passes, error.retry_after_s) == ("model.rate-limited", False, None)
    assert "top the account up" in error.hint


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize(("status", "code", "message"), TOO_LONG, ids=range(len(TOO_LONG)))
def test_however_a_server_says_that_it_is_too_long_it_is_understood(
    talking: Talking, status: int, code: str, message: str
) -> None:
    chat, _ = talking(fails(status, code=code, message=message))

    error = failure(chat)

    assert (error.code, error.passes) == ("model.question", False)
    assert message not in f"{error.sentence} {error.hint}"


@pytest.mark.parametrize("protocol", BOTH)
@pytest.mark.parametrize(
    "body", [b"[]", b'{"error": 5}', b'{"error": {"message": ' + b"[" * 3_000 + b"]" * 3_000 + b"}}", b"null"]
)
def test_an_error_in_a_form_that_nobody_knows_is_about_the_form(talking: Talking, body: bytes) -> None:
    chat, _ = talking(Reply(status=400, body=body))

    assert failure(chat).code in ("model.failed", "model.answer")


def test_an_answer_may_take_longer_than_a_silence(talking: Talking) -> None:
    chat, _ = talking(says("one two three four five", piece_chars=4, beat_s=0.1))

    began = time.monotonic()
    said = say(chat, turn(silence_s=0.7, timeout_s=30.0))

    assert said.text == "one two three four five"
    assert time.monotonic() - began > 0.7


@pytest.mark.parametrize("reply", [hangs(), says("one two", stream_bytes_max=400, stream_end="hangs")])
def test_a_silence_is_ended_however_much_time_there_is(talking: Talking, reply: Any) -> None:
    chat, _ = talking(reply, says("Yes."))

    error = failure(chat, turn(silence_s=0.4, timeout_s=60.0), Ear())

    assert (error.code, error.passes) == ("model.timeout", True)
    assert "turn_seconds_max" in error.hint
    assert say(chat).text == "Yes."
