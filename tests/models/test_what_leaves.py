"""What leaves this machine is the question, at the address that was set, and the key stays a secret."""

import io
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from runlore.config.providers import ModelSettings
from runlore.config.settings import Settings
from runlore.models.structured_output import QuestionClient
from tests.model_server import KEY, PROTOCOLS, ModelServer, Script, breaks_off, fails, model_server, sends
from tests.models.conftest import Scripted
from tests.models.questions import GOOD, failure, question

pytestmark = pytest.mark.req("AGT-2")

MEANT = {
    "host",
    "connection",
    "accept",
    "accept-encoding",
    "content-type",
    "content-length",
    "user-agent",
    "authorization",
    "x-api-key",
    "anthropic-version",
    "anthropic-beta",
}
# What the providers' own libraries would read, and send or obey.
STRANGE = {
    "OPENAI_API_KEY": "another-openai-key",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "OPENAI_ORG_ID": "org-elsewhere",
    "OPENAI_PROJECT_ID": "project-elsewhere",
    "OPENAI_CUSTOM_HEADERS": "authorization: Bearer elsewhere\nx-spy: elsewhere",
    "OPENAI_LOG": "debug",
    "ANTHROPIC_API_KEY": "another-anthropic-key",
    "ANTHROPIC_AUTH_TOKEN": "token-elsewhere",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "ANTHROPIC_CUSTOM_HEADERS": "x-api-key: elsewhere\nx-spy: elsewhere",
    "ANTHROPIC_LOG": "debug",
    "ANTHROPIC_PROFILE": "elsewhere",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
}
TROUBLES: tuple[Script, ...] = (
    GOOD,
    fails(401, code=KEY, message=f"wrong key {KEY}"),
    fails(401, code=f"bad-key-{KEY}"),
    fails(400, message=f"no such thing: {KEY}"),
    fails(500, message=KEY),
    sends(f'{{"x": "{KEY}"}}'.encode()),
    sends(KEY.encode()),
    breaks_off(),
)


def test_only_the_headers_that_are_meant_are_sent(
    scripted: Scripted, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in STRANGE.items():
        monkeypatch.setenv(name, value)
    models, server = scripted(GOOD)

    assert models.ask(question()).output == GOOD

    (received,) = server.requests
    assert set(received.headers) <= MEANT
    assert received.headers["user-agent"].startswith("runlore/")
    assert "elsewhere" not in f"{received.headers}{received.body}"
    assert "another" not in str(received.headers)
    expected = {"x-api-key": KEY} if protocol == "anthropic" else {"authorization": f"Bearer {KEY}"}
    keys = {name: received.headers[name] for name in received.headers if KEY in received.headers[name]}
    assert keys == expected


def test_a_redirect_is_followed_nowhere(scripted: Scripted) -> None:
    with model_server(GOOD) as other:
        for status in (301, 302, 303, 307, 308):
            here = fails(status, location=f"http://127.0.0.1:{other.port}/v1/messages")
            models, _ = scripted(here)
            assert failure(models).code == "model.failed"

    assert other.requests == []


@pytest.mark.parametrize("trouble", TROUBLES, ids=range(len(TROUBLES)))
def test_a_key_is_in_no_error_no_log_and_no_representation(
    scripted: Scripted, trouble: Script, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_LOG", "debug")
    monkeypatch.setenv("ANTHROPIC_LOG", "debug")
    models, server = scripted(trouble)

    told = [_outcome(models) for _ in range(2)]

    shown = [*told, repr(models), str(models.describe()), repr(server.provider()), logged.getvalue()]
    shown.append(repr(Settings(state_root="/", models=ModelSettings(providers=(server.provider(),)))))
    assert not [text for text in shown if KEY in text]
    assert str(question().document["content"]) not in logged.getvalue()


def test_a_key_of_letters_alone_is_not_taken_for_a_code(scripted: Scripted) -> None:
    key = "letters_and_nothing_else"
    models, _ = scripted(fails(401, code=key), api_key=key)

    assert key not in _outcome(models)


def test_a_proxy_is_used_beyond_this_machine_and_not_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy() as (address, seen), model_server(GOOD) as server:
        monkeypatch.setenv("HTTP_PROXY", address)
        monkeypatch.setenv("http_proxy", address)
        near, far = server.models(), server.models(base_url="http://models.example.org/v1")
        assert near.ask(question()).output == GOOD
        assert failure(far).code == "model.failed"
        near.close()
        far.close()

    assert seen == ["http://models.example.org/v1/chat/completions"]


def test_the_libraries_that_log_requests_are_kept_quiet() -> None:
    names = ("openai", "anthropic", "httpx2")
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)

    QuestionClient().close()

    assert [logging.getLogger(name).level for name in names] == [logging.WARNING] * 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_told_of_models_holds_everything_but_the_key(protocol: str) -> None:
    server = ModelServer(port=1, script=[])

    told = server.models(protocol).describe()

    assert told == {
        "default": "test:scripted",
        "providers": [
            {
                "name": "test",
                "kind": "anthropic" if protocol == "anthropic" else "openai",
                "base_url": server.base_url(protocol),
                "api_key_env": "TEST_MODEL_KEY",
                "has_key": True,
            }
        ],
    }


def _outcome(models: Any) -> str:
    try:
        return repr(models.ask(question()))
    except Exception as error:
        # Every failure is of interest here, whatever it is.
        return "".join((repr(error), str(error), str(vars(error)), _chain(error)))


def _chain(error: BaseException | None) -> str:
    """What a traceback would print."""
    shown = []
    while error is not None:
        shown.append(f"{error!r} {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " ".join(shown)


class proxy:  # noqa: N801
    """A proxy that notes what it is asked for, and answers with an error."""

    def __enter__(self) -> tuple[str, list[str]]:
        seen: list[str] = []

        class Noting(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                seen.append(self.path)
                self.send_error(502)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Noting)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}", seen

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
