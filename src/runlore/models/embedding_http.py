"""Vectors from any server that speaks OpenAI's embeddings: `POST {base_url}/embeddings`.

Whatever the server does, the caller has vectors or one EmbeddingFailure within its time. Nothing is asked
twice, and no text of the server or of a library's error goes on: it may hold what was sent, the key included.
An answer is a stranger's text: everything about it is checked before it counts as vectors of length 1.
"""

import asyncio
import math
import threading
from array import array
from collections.abc import Sequence

import httpx2
import orjson

from runlore.domain import limits
from runlore.domain.batches import into_batches
from runlore.models.http import Redirected, UnreadableAnswer, http_client
from runlore.models.loop_thread import LoopClosed, LoopThread
from runlore.ports.embedder import EmbeddingBackend, EmbeddingFailure, Vector
from runlore.ports.model import Provider, ProviderKind


def prepare_texts(texts: Sequence[str]) -> list[str]:
    """The texts as they are embedded: their beginnings, in characters that can be written down."""
    return [
        text[: limits.EMBEDDING_TEXT_CHARS_MAX].encode("utf-8", "replace").decode("utf-8") for text in texts
    ]


_UNAUTHORISED = frozenset({401, 403})
_TOO_OFTEN = 429


class HttpEmbedder:
    """What `ports.embedder.Embedder` promises, for any number of threads at once."""

    def __init__(self, backend: EmbeddingBackend) -> None:
        self._backend = backend
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._client: httpx2.AsyncClient | None = None
        self._is_closed = False
        # As the first answer has it where nothing is set: a server that changes its model is noticed.
        self._dimensions = backend.dimensions

    @property
    def identity(self) -> str:
        backend = self._backend
        return f"http {backend.base_url} {backend.model} {backend.dimensions or 'own'}"

    def embed(self, texts: Sequence[str], *, timeout_s: float | None = None) -> tuple[Vector, ...]:
        if not texts:
            return ()
        backend = self._backend
        if backend.api_key_env and not backend.api_key:
            raise EmbeddingFailure(
                f"there is no key for {backend.base_url}: {backend.api_key_env} is not set, or holds no key",
                code="embedding.key",
                hint=f"set {backend.api_key_env} in the environment of Runlore, then start it again",
            )
        time_s = backend.timeout_s if timeout_s is None else timeout_s
        loop, client = self._open()
        try:
            return loop.run(lambda: self._within_time(client, prepare_texts(texts), time_s), timeout_s=time_s)
        except TimeoutError:
            raise self._late() from None
        except LoopClosed:
            raise _closing() from None

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            loop, client = self._loop, self._client
            self._loop = self._client = None
        if loop is not None and client is not None:
            loop.close(client.aclose)

    def _open(self) -> tuple[LoopThread, httpx2.AsyncClient]:
        with self._lock:
            if self._is_closed:
                raise _closing()
            if self._client is None:
                self._client = self._make_client()
            if self._loop is None:
                self._loop = LoopThread("runlore-embedding")
            return self._loop, self._client

    def _make_client(self) -> httpx2.AsyncClient:
        backend = self._backend
        provider = Provider(
            name="embedding",
            kind=ProviderKind.OPENAI,
            base_url=backend.base_url,
            api_key_env=backend.api_key_env,
            api_key=backend.api_key,
        )
        try:
            return http_client(provider, answer_bytes_max=limits.EMBEDDING_ANSWER_BYTES_MAX)
        except Exception as error:
            # Such as a proxy or a file of certificates in the environment that is none.
            raise EmbeddingFailure(
                f"no connection to {backend.base_url} can be set up: {type(error).__name__}",
                code="embedding.failed",
                hint="check base_url, and the proxies and SSL_CERT_FILE of the environment",
            ) from None

    async def _within_time(
        self, client: httpx2.AsyncClient, texts: Sequence[str], time_s: float
    ) -> tuple[Vector, ...]:
        try:
            async with asyncio.timeout(time_s):
                vectors: list[Vector] = []
                for batch in into_batches(texts, limits.EMBEDDING_BATCH_TEXTS):
                    vectors += await self._request(client, batch)
                return tuple(vectors)
        except EmbeddingFailure:
            raise
        except Exception as error:
            raise self._failure_of(error) from None

    async def _request(self, client: httpx2.AsyncClient, batch: Sequence[str]) -> list[Vector]:
        backend = self._backend
        question: dict[str, object] = {
            "model": backend.model,
            "input": list(batch),
            "encoding_format": "float",
        }
        if backend.dimensions:
            question["dimensions"] = backend.dimensions
        answer = await client.post(
            f"{backend.base_url}/embeddings",
            content=orjson.dumps(question),
            headers={"content-type": "application/json", "accept": "application/json"},
        )
        if not answer.is_success:
            raise self._refusal(answer.status_code)
        vectors = read_vectors(answer.content, count=len(batch), dimensions=self._dimensions)
        self._dimensions = len(vectors[0])
        return vectors

    def _refusal(self, status: int) -> EmbeddingFailure:
        backend = self._backend
        if status in _UNAUTHORISED:
            what = "the key" if backend.api_key else "a question without a key"
            return EmbeddingFailure(
                f"{backend.base_url} does not accept {what} (HTTP {status})",
                code="embedding.key",
                hint=f"check {backend.api_key_env or 'api_key_env of the embedding settings'},"
                " and that its key may use this model",
            )
        if status == _TOO_OFTEN:
            return EmbeddingFailure(
                f"{backend.base_url} is asked too often (HTTP {status})",
                code="embedding.rate-limited",
                hint="try again later",
            )
        return EmbeddingFailure(
            f"{backend.base_url} answered with an error (HTTP {status})",
            code="embedding.failed",
            hint=f"check base_url, and that the model {backend.model!r} is there and makes embeddings",
        )

    def _failure_of(self, error: Exception) -> EmbeddingFailure:
        where = self._backend.base_url
        if isinstance(error, TimeoutError):
            return self._late()
        if isinstance(error, MalformedAnswer | UnreadableAnswer):
            return EmbeddingFailure(
                f"{where} gave no usable vectors: {error}",
                code="embedding.answer",
                hint=f"check that {self._backend.model!r} is a model for embeddings, and its dimensions",
            )
        if isinstance(error, Redirected):
            return EmbeddingFailure(
                f"{where} wants to be asked at another address, which is not followed",
                code="embedding.failed",
                hint="check base_url",
            )
        if isinstance(error, httpx2.TransportError):
            return EmbeddingFailure(
                f"the connection to {where} failed: {type(error).__name__}",
                code="embedding.unreachable",
                hint="check that it runs and can be reached from here",
            )
        return EmbeddingFailure(
            f"{where} could not be asked: {type(error).__name__}",
            code="embedding.failed",
            hint="check base_url and model of the embedding settings",
        )

    def _late(self) -> EmbeddingFailure:
        return EmbeddingFailure(
            f"{self._backend.base_url} did not answer in time",
            code="embedding.timeout",
            hint="try again later, or raise timeout_seconds of the embedding settings",
        )


def _closing() -> EmbeddingFailure:
    return EmbeddingFailure("Runlore is being closed", code="embedding.failed", hint="ask again once it runs")


class MalformedAnswer(Exception):
    """An answer that is none; what is wrong with it, in our words."""


def read_vectors(body: bytes, *, count: int, dimensions: int) -> list[Vector]:
    """The vectors for `count` texts, in their order; `dimensions` 0 takes any, the same for all."""
    data = _data(body)
    if len(data) != count:
        raise MalformedAnswer(f"it has {len(data)} vectors for {count} texts")
    vectors: dict[int, Vector] = {}
    for position, entry in enumerate(data):
        if not isinstance(entry, dict):
            raise MalformedAnswer("it is not in the form of the protocol")
        vector = _unit(entry.get("embedding"))
        dimensions = dimensions or len(vector)
        if len(vector) != dimensions:
            raise MalformedAnswer(f"a vector has {len(vector)} dimensions in place of {dimensions}")
        vectors[_place(entry.get("index"), position)] = vector
    if vectors.keys() != set(range(count)):
        raise MalformedAnswer("it does not say which vector belongs to which text")
    return [vectors[position] for position in range(count)]


def _data(body: bytes) -> list[object]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise MalformedAnswer("it is not JSON") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        raise MalformedAnswer("it is not in the form of the protocol")
    return data


def _place(item: object, position: int) -> int:
    if item is None:
        return position
    return item if isinstance(item, int) and not isinstance(item, bool) else -1


def _unit(values: object) -> Vector:
    if not isinstance(values, list) or not 0 < len(values) <= limits.EMBEDDING_DIMENSIONS_MAX:
        raise MalformedAnswer(f"a vector is not a list of 1 to {limits.EMBEDDING_DIMENSIONS_MAX} numbers")
    if not all(type(value) in (float, int) for value in values):
        raise MalformedAnswer("a vector holds something else than numbers")
    # The greatest first becomes 1, so that neither squares nor sums leave what a number can hold.
    greatest = max(map(abs, values))
    if not 0 < greatest < math.inf:
        raise MalformedAnswer("a vector is zero, or holds what is not finite")
    scaled = [value / greatest for value in values]
    length = math.sqrt(math.fsum(value * value for value in scaled))
    return array("d", (value / length for value in scaled))
