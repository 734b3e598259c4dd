"""Vectors from a server: what is asked, and whatever it does, one clear line with a code, in time."""

import io
import json
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.models.embedding import open_embedder
from runlore.models.embedding_http import MalformedAnswer, read_vectors
from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingFailure, EmbeddingProvider
from tests.model_server import (
    KEY,
    KEY_VARIABLE,
    ModelServer,
    Received,
    Reply,
    Script,
    breaks_off,
    fails,
    hangs,
    model_server,
    sends,
    trickles,
)

pytestmark = pytest.mark.req("RET-8", "SKL-10")

SOON_S = 0.4
# Far below what the server would take, far above what a busy machine needs.
IN_TIME_S = 8.0

Serving: TypeAlias = Callable[..., tuple[Embedder, ModelServer]]


def document(vectors: Sequence[Any], **more: Any) -> bytes:
    """An answer of the protocol."""
    data = [
        {"object": "embedding", "index": number, "embedding": vector} for number, vector in enumerate(vectors)
    ]
    return json.dumps({"object": "list", "data": data, "model": "m", "usage": {}, **more}).encode()


def vector_of(text: str, dimensions: int = 3) -> list[float]:
    """Some vector for a text, of any length but 0."""
    return [float(len(text) + 1), *(float(ord(text[at % len(text)])) for at in range(dimensions - 1))]


def answers(received: Received) -> Reply:
    """As a good server does."""
    dimensions = received.body.get("dimensions", 3)
    return sends(document([vector_of(text, dimensions) for text in received.body["input"]]))


def unit(vector: Sequence[float]) -> list[float]:
    """The same at length 1."""
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Makes an embedder over a server that says what it is told to; both end with the test."""
    with ExitStack() as stack:

        def make(*script: Script, **changes: Any) -> tuple[Embedder, ModelServer]:
            server = stack.enter_context(model_server(*script))
            embedder = open_embedder(backend(server, **changes))
            stack.callback(embedder.close)
            return embedder, server

        yield make


def backend(server: ModelServer, **changes: Any) -> EmbeddingBackend:
    """The settings that lead to a server."""
    plain = EmbeddingBackend(
        provider=EmbeddingProvider.HTTP,
        base_url=server.base_url(),
        model="all-minilm",
        api_key_env=KEY_VARIABLE,
        api_key=KEY,
    )
    return replace(plain, **changes)


def failure(embedder: Embedder, texts: Sequence[str] = ("text",), **more: Any) -> EmbeddingFailure:
    """How it fails."""
    with pytest.raises(EmbeddingFailure) as raised:
        embedder.embed(texts, **more)
    return raised.value


def test_each_text_has_its_vector_at_length_one_in_the_order_of_the_texts(serving: Serving) -> None:
    embedder, server = serving(answers)

    found = embedder.embed(["one", "two", "three"])

    assert [list(vector) for vector in found] == [
        pytest.approx(unit(vector_of(text))) for text in ("one", "two", "three")
    ]
    (received,) = server.requests
    assert received.path == "/v1/embeddings"
    assert received.body == {
        "model": "all-minilm",
        "input": ["one", "two", "three"],
        "encoding_format": "float",
    }
    assert embedder.embed([]) == ()
    assert len(server.requests) == 1


def test_only_what_is_meant_leaves(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "elsewhere")
    embedder, server = serving(answers)

    embedder.embed(["text"])

    (received,) = server.requests
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["user-agent"].startswith("runlore/")
    assert set(received.headers) <= {
        *("host", "connection", "accept", "accept-encoding"),
        *("content-type", "content-length", "user-agent", "authorization"),
    }


def test_the_libraries_that_log_requests_are_kept_quiet(serving: Serving) -> None:
    names = ("httpx2", "httpcore2")
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    embedder, _ = serving(answers)

    embedder.embed(["text"])

    assert [logging.getLogger(name).level for name in names] == [logging.WARNING] * 2


def test_without_a_variable_no_key_is_sent(serving: Serving) -> None:
    embedder, server = serving(answers, api_key_env="", api_key="")

    embedder.embed(["text"])

    assert "authorization" not in server.requests[0].headers


def test_many_texts_go_in_batches_and_long_ones_by_their_beginning(serving: Serving) -> None:
    embedder, server = serving(answers)
    texts = [f"text {number}" for number in range(2 * limits.EMBEDDING_BATCH_TEXTS + 5)]

    found = embedder.embed([*texts, "x" * 100_000, "half \ud800 a pair"])

    assert [len(received.body["input"]) for received in server.requests] == [64, 64, 7]
    assert list(found[70]) == pytest.approx(unit(vector_of("text 70")))
    assert server.requests[-1].body["input"][-2:] == ["x" * limits.EMBEDDING_TEXT_CHARS_MAX, "half ? a pair"]


def test_dimensions_are_asked_for_and_expected(serving: Serving) -> None:
    embedder, server = serving(answers, dimensions=5)

    assert len(embedder.embed(["text"])[0]) == 5
    assert server.requests[0].body["dimensions"] == 5
    other, _ = serving(sends(document([[1.0, 2.0]])), dimensions=5)
    assert failure(other).code == "embedding.answer"
    assert "2 dimensions in place of 5" in str(failure(other))


def test_vectors_may_come_in_any_order_that_says_which_is_which(serving: Serving) -> None:
    data = [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [4.0, 0.0]}]
    embedder, _ = serving(sends(json.dumps({"data": data}).encode()))

    assert [list(vector) for vector in embedder.embed(["a", "b"])] == [[1.0, 0.0], [0.0, 1.0]]


def test_the_identity_says_whose_vectors_these_are() -> None:
    one = EmbeddingBackend(provider=EmbeddingProvider.HTTP, base_url="http://a/v1", model="m", api_key=KEY)
    others = [replace(one, base_url="http://b/v1"), replace(one, model="n"), replace(one, dimensions=7)]

    names = [open_embedder(each).identity for each in (one, *others)]

    assert len(set(names)) == 4
    assert open_embedder(replace(one, timeout_s=1.0, api_key="")).identity == names[0]
    assert KEY not in "".join(names)


BY_STATUS = (
    (fails(401, code="invalid_api_key"), "embedding.key"),
    (fails(403), "embedding.key"),
    (fails(404, code="model_not_found"), "embedding.failed"),
    (fails(400), "embedding.failed"),
    (fails(413), "embedding.failed"),
    (fails(429), "embedding.rate-limited"),
    (fails(500), "embedding.failed"),
    (fails(503), "embedding.failed"),
    (fails(307, location="https://example.org/v1/embeddings"), "embedding.failed"),
    (sends(b"<html>Bad gateway</html>", status=502), "embedding.failed"),
)


@pytest.mark.parametrize(("reply", "code"), BY_STATUS, ids=[str(reply.status) for reply, _ in BY_STATUS])
def test_each_refusal_has_its_code_and_is_asked_for_once(serving: Serving, reply: Reply, code: str) -> None:
    embedder, server = serving(reply)

    refused = failure(embedder)

    assert refused.code == code
    assert refused.hint
    assert len(server.requests) == 1


def test_a_wrong_key_and_a_missing_one_name_the_variable(serving: Serving) -> None:
    wrong, _ = serving(fails(401))
    missing, asked = serving(answers, api_key="")

    assert KEY_VARIABLE in failure(wrong).hint
    assert failure(missing).code == "embedding.key"
    assert KEY_VARIABLE in str(failure(missing))
    assert asked.requests == []


def test_a_redirect_is_followed_nowhere(serving: Serving) -> None:
    with model_server(answers) as other:
        for status in (301, 302, 303, 307, 308):
            embedder, _ = serving(fails(status, location=f"{other.base_url()}/embeddings"))
            assert failure(embedder).code == "embedding.failed"

    assert other.requests == []


NONSENSE = {
    "empty": b"",
    "not JSON": b"not json",
    "cut off": document([[1.0, 2.0]])[:-9],
    "not UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "null": b"null",
    "no data": b"{}",
    "data is a text": b'{"data": "x"}',
    "an error as 200": b'{"error": {"message": "no"}}',
    "no vector": document([]),
    "too many": document([[1.0], [1.0]]),
    "no object": b'{"data": [[1.0, 2.0]]}',
    "no embedding": b'{"data": [{"index": 0}]}',
    "base64": b'{"data": [{"index": 0, "embedding": "AACAPwAAAEA="}]}',
    "empty vector": document([[]]),
    "zero": document([[0.0, -0.0, 0]]),
    "texts": document([["1.0", "2.0"]]),
    "truths": document([[True, False]]),
    "holes": document([[1.0, None]]),
    "deep": document([[[1.0]]]),
    "NaN": b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}',
    "Infinity": b'{"data": [{"index": 0, "embedding": [Infinity, 1.0]}]}',
    "beyond all numbers": b'{"data": [{"index": 0, "embedding": [1e999, 1.0]}]}',
    "too many dimensions": document([[1.0] * (limits.EMBEDDING_DIMENSIONS_MAX + 1)]),
    "another index": b'{"data": [{"index": 7, "embedding": [1.0]}]}',
    "index is a truth": b'{"data": [{"index": false, "embedding": [1.0]}]}',
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_is_no_vector(serving: Serving, body: bytes) -> None:
    embedder, _ = serving(sends(body))

    assert failure(embedder).code == "embedding.answer"


def test_vectors_of_several_dimensions_are_refused_within_an_answer_and_between_them(
    serving: Serving,
) -> None:
    mixed, _ = serving(sends(document([[1.0, 2.0], [1.0]])))
    changing, _ = serving(
        sends(document([[1.0, 2.0]])), sends(document([[1.0, 2.0, 3.0]])), sends(document([[2.0, 1.0]]))
    )

    assert failure(mixed, ["a", "b"]).code == "embedding.answer"
    assert len(changing.embed(["a"])[0]) == 2
    assert failure(changing).code == "embedding.answer"
    assert len(changing.embed(["a"])[0]) == 2


def test_two_vectors_for_one_text_are_none_for_the_other(serving: Serving) -> None:
    data = [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]
    embedder, _ = serving(sends(json.dumps({"data": data}).encode()))

    assert failure(embedder, ["a", "b"]).code == "embedding.answer"


def test_numbers_at_the_end_of_what_there_is_have_length_one_too(serving: Serving) -> None:
    for vector in ([1e308, 1e308], [1e-308, -1e-308], [5e-324, 0.0], [10**300, 1], [3, 4]):
        embedder, _ = serving(sends(document([vector])))
        (found,) = embedder.embed(["text"])
        assert math.sqrt(sum(value * value for value in found)) == pytest.approx(1)


def test_a_huge_and_a_packed_answer_are_not_read(serving: Serving) -> None:
    huge, _ = serving(sends(b'{"data": [' + b" " * (limits.EMBEDDING_ANSWER_BYTES_MAX + 1) + b"]}"))
    packed, _ = serving(sends(b"\x1f\x8b", headers={"content-encoding": "gzip"}))

    assert failure(huge, timeout_s=30.0).code == "embedding.answer"
    assert "bytes" in str(failure(huge, timeout_s=30.0))
    assert failure(packed).code == "embedding.answer"


@pytest.mark.parametrize(
    "script",
    [hangs(), hangs(after_bytes=40), trickles()],
    ids=["silent", "stops", "one byte after the other"],
)
def test_a_slow_server_is_left_in_time(serving: Serving, script: Script) -> None:
    embedder, _ = serving(script)
    start = time.monotonic()

    assert failure(embedder, timeout_s=SOON_S).code == "embedding.timeout"
    assert SOON_S <= time.monotonic() - start < IN_TIME_S


def test_the_time_is_for_all_batches_together_and_the_backends_own_where_none_is_said(
    serving: Serving,
) -> None:
    many = ["text"] * (limits.EMBEDDING_BATCH_TEXTS + 1)
    embedder, server = serving(answers, trickles(), timeout_s=SOON_S)
    start = time.monotonic()

    assert failure(embedder, many).code == "embedding.timeout"
    assert time.monotonic() - start < IN_TIME_S
    assert len(server.requests) == 2


def test_a_server_that_is_down_or_hangs_up_is_unreachable(serving: Serving) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        down, _ = serving(answers, base_url=address)
        assert failure(down).code == "embedding.unreachable"
    for script in (breaks_off(), breaks_off(after_bytes=30)):
        broken, _ = serving(script)
        assert failure(broken).code == "embedding.unreachable"


def test_after_a_failure_the_next_call_can_succeed(serving: Serving) -> None:
    embedder, _ = serving(breaks_off(), hangs(), sends(b"x"), fails(500), answers)

    codes = [failure(embedder, timeout_s=SOON_S).code for _ in range(4)]

    assert codes == ["embedding.unreachable", "embedding.timeout", "embedding.answer", "embedding.failed"]
    assert len(embedder.embed(["text"])) == 1


def test_a_key_and_a_text_are_in_no_error_and_no_log(serving: Serving) -> None:
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    told = []
    try:
        for script in (fails(401, message=KEY), sends(KEY.encode()), breaks_off(), fails(500, code=KEY)):
            embedder, server = serving(script)
            raised = failure(embedder, ["text that nobody may see"])
            told += [str(raised), raised.hint, repr(raised.__cause__), repr(backend(server))]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)

    shown = [*told, logged.getvalue()]
    assert not [line for line in shown if KEY in line or "nobody may see" in line]


def test_many_threads_ask_at_once(serving: Serving) -> None:
    embedder, _ = serving(answers)
    found: dict[str, list[float]] = {}

    def ask(text: str) -> None:
        found[text] = list(embedder.embed([text])[0])

    threads = [threading.Thread(target=ask, args=(f"text {number}",)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {
        f"text {number}": pytest.approx(unit(vector_of(f"text {number}"))) for number in range(24)
    }


def test_closing_ends_whoever_waits_and_nothing_is_asked_afterwards(serving: Serving) -> None:
    embedder, server = serving(hangs())
    told: list[str] = []
    waiting = threading.Thread(target=lambda: told.append(failure(embedder, timeout_s=IN_TIME_S).code))
    waiting.start()
    while not server.requests:
        assert waiting.is_alive()

    embedder.close()
    waiting.join(IN_TIME_S)
    embedder.close()

    assert told == ["embedding.failed"]
    assert failure(embedder).code == "embedding.failed"
    assert len(server.requests) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["data", "index", "embedding", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(answer=JSON, count=st.integers(1, 3), dimensions=st.sampled_from([0, 2]))
def test_any_answer_is_vectors_of_length_one_or_nonsense(answer: Any, count: int, dimensions: int) -> None:
    bodies = [json.dumps(answer).encode(), json.dumps({"data": answer}).encode()]
    bodies.append(json.dumps({"data": [{"embedding": answer}] * count}).encode())
    for body in bodies:
        try:
            found = read_vectors(body, count=count, dimensions=dimensions)
        except MalformedAnswer:
            continue
        assert len(found) == count
        assert len({len(vector) for vector in found}) == 1
        for vector in found:
            assert math.sqrt(sum(value * value for value in vector)) == pytest.approx(1)
