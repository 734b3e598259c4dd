"""What leaves this machine in a conversation is told as it went, and the key stays a secret."""

import io
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from runlore.domain.agent.conversation import AssistantSaid, Message, UserSaid
from tests.model_server import KEY, Script, breaks_off, calls, fails, model_server, says, sends
from tests.models.conftest import Talking
from tests.models.test_what_leaves import MEANT, STRANGE
from tests.models.turns import SHELL, Ear, failure, say, turn

pytestmark = pytest.mark.req("AGT-2", "AGT-6")

SECRET = "what only the model may know"
STREAM = {"content-type": "text/event-stream"}
ERROR = f'event: error\ndata: {{"error": {{"code": "{KEY}", "message": "{KEY}"}}}}\n\n'
LOADED = """
import sys
from runlore.models.configured import ConfiguredChat

ConfiguredChat().close()
print(*(name for name in ("pydantic_ai", "openai", "anthropic", "httpx2") if name in sys.modules))
"""
TROUBLES: tuple[Script, ...] = (
    says("Yes."),
    fails(401, code=KEY, message=f"wrong key {KEY}"),
    fails(400, message=f"no such thing: {KEY}"),
    fails(500, message=KEY),
    sends(f'{{"x": "{KEY}"}}'.encode()),
    sends(f"data: {KEY}\n\n".encode(), headers=STREAM),
    sends(ERROR.encode(), headers=STREAM),
    replace(says("Yes."), stream_bytes_max=300, stream_error=KEY),
    breaks_off(),
)


def test_only_the_headers_that_are_meant_are_sent(
    talking: Talking, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in STRANGE.items():
        monkeypatch.setenv(name, value)
    chat, server = talking(says("Yes."))

    say(chat)

    (received,) = server.requests
    assert set(received.headers) <= MEANT
    assert "elsewhere" not in f"{received.headers}{received.body}"
    expected = {"x-api-key": KEY} if protocol == "anthropic" else {"authorization": f"Bearer {KEY}"}
    assert {name: text for name, text in received.headers.items() if KEY in text} == expected


@pytest.mark.parametrize("trouble", TROUBLES, ids=range(len(TROUBLES)))
def test_a_key_is_in_no_request_that_is_told_and_in_no_error_and_no_log(
    talking: Talking, trouble: Script, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    chat, server = talking(trouble)
    ear = Ear()

    try:
        told = repr(say(chat, turn([UserSaid(text=SECRET)]), ear))
    except Exception as error:
        # Every failure is of interest here, whatever it is.
        told = "".join((repr(error), str(error), str(vars(error)), _chain(error)))

    assert [json.loads(body) for body in ear.requests] == [received.body for received in server.requests]
    assert len(ear.requests) == 1
    assert SECRET in ear.requests[0]
    assert not [text for text in (told, repr(chat), logged.getvalue(), *ear.requests) if KEY in text]
    assert SECRET not in f"{logged.getvalue()}{told}"


def test_a_request_is_told_before_the_answer_is_there(talking: Talking) -> None:
    chat, _ = talking(replace(says("Yes."), stream_bytes_max=0, stream_end="hangs"))
    ear = Ear()

    failure(chat, turn(timeout_s=0.3), ear)

    assert len(ear.requests) == 1


def test_a_redirect_is_followed_nowhere(talking: Talking) -> None:
    with model_server(says("Yes.")) as other:
        for status in (301, 302, 303, 307, 308):
            here = fails(status, location=f"http://127.0.0.1:{other.port}/v1/messages")
            chat, _ = talking(here)
            assert failure(chat).code == "model.failed"

    assert other.requests == []


def test_openai_is_told_to_keep_nothing_and_nobody_else_is_told_of_it(
    talking: Talking, protocol: str
) -> None:
    chat, server = talking(says("Yes."))

    say(chat)

    assert server.requests[0].body.get("store") == (False if protocol == "openai" else None)


def test_what_was_sent_before_is_marked_for_whom_it_costs_less_so(talking: Talking, protocol: str) -> None:
    chat, server = talking(says("Yes."))
    said: list[Message] = [UserSaid(text="go"), AssistantSaid(text="Yes?"), UserSaid(text="on")]

    say(chat, turn(said, tools=(SHELL, replace(SHELL, name="other"))))

    body = server.requests[0].body
    marks = json.dumps(body).count("cache_control")
    assert marks == (3 if protocol == "anthropic" else 0)
    if protocol == "anthropic":
        ends = body["system"][-1], body["tools"][-1], body["messages"][-1]["content"][-1]
        assert [each["cache_control"]["type"] for each in ends] == ["ephemeral"] * 3


def test_a_provider_without_a_key_is_asked_without_one(talking: Talking) -> None:
    chat, server = talking(calls("shell", {}), api_key_env="", api_key="")

    assert say(chat).calls
    assert {"authorization", "x-api-key"}.isdisjoint(server.requests[0].headers)


@pytest.mark.req("AGT-3")
def test_the_client_libraries_are_loaded_with_the_first_turn_and_not_before() -> None:
    told = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == ""


def _chain(error: BaseException | None) -> str:
    """What a traceback would print."""
    shown = []
    while error is not None:
        shown.append(f"{error!r} {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " ".join(shown)
