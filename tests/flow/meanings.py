"""An embedding server on this machine that knows a few words which mean the same, and a Runlore beside it.

A text is a point in a small space: each meaning has an axis of its own, and every other word one of many, by
its digest. So what is near what can be told by hand, and nothing is near by chance.
"""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b, sha256
from typing import Any

from runlore.config.providers import EmbeddingSettings
from runlore.config.settings import Settings
from runlore.daemon import wiring
from runlore.daemon.search.embedding_backend import Backend, open_backend
from runlore.daemon.search.learning_vectors import LearningVectors
from runlore.daemon.wiring import DenseEngine
from runlore.domain.record import RecordId
from runlore.domain.text.analysis import tokenize
from runlore.models.embedding import open_embedder
from runlore.ports import operations as ops
from runlore.ports.embedder import Embedded, EmbeddingBackend, EmbeddingProvider
from tests.model_server import ModelServer, Received, Reply, sends
from tests.waiting import PATIENCE_S
from tests.world import World

_MEANINGS = (
    "deploy ship release rollout publish",
    "editor vim typing keyboard",
    "database postgres storage sql",
    "music xylophonist orchestra concert",
)
_AXES = {term: axis for axis, words in enumerate(_MEANINGS) for term in tokenize(words)}
OTHER_WEIGHT = 0.3
VECTORS_NAME = wiring.VECTORS_NAME
DIMENSIONS = 64


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Where a text lies."""
    point = [0.0] * dimensions
    # Something of every text is the same, as with real models.
    point[-1] = 0.1
    for term in tokenize(text):
        axis = _AXES.get(term)
        if axis is not None:
            point[axis] += 1.0
        else:
            digest = blake2b(term.encode(), digest_size=2).digest()
            point[len(_MEANINGS) + int.from_bytes(digest) % (dimensions - len(_MEANINGS) - 1)] += OTHER_WEIGHT
    return point


def document(vectors: Sequence[Sequence[float]]) -> bytes:
    """An answer of the protocol."""
    data = [{"index": number, "embedding": list(vector)} for number, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": data}).encode()


def knows(received: Received) -> Reply:
    """As a good server does."""
    return sends(document([vector_of(text) for text in received.body["input"]]))


def texts(server: ModelServer) -> list[str]:
    """Every text that the server was asked about, in order."""
    return [text for received in server.requests for text in received.body["input"]]


def backend_of(base_url: str, **changes: Any) -> EmbeddingBackend:
    """The settings that lead to a server."""
    plain = EmbeddingBackend(
        provider=EmbeddingProvider.HTTP, base_url=base_url, model="m", timeout_s=PATIENCE_S
    )
    return replace(plain, **changes)


def with_server(settings: Settings, server: ModelServer, **changes: Any) -> Settings:
    """The same settings with this server for learnings."""
    return replace(settings, embedding=EmbeddingSettings(shared=backend_of(server.base_url(), **changes)))


def embed(world: World) -> None:
    """Have all vectors made that can be made now."""
    while world.parts.meaning.step():
        pass


def held(world: World) -> int:
    """How many learnings have a vector."""
    told = world.parts.meaning.document()
    assert isinstance(told["learnings"], dict)
    vectors = told["learnings"]["vectors"]
    assert isinstance(vectors, int)
    return vectors


def elsewhere(world: World, server: ModelServer) -> None:
    """Let the world take its server for one beyond this machine."""
    world.parts.meaning.close()
    backend = Backend(open_embedder(backend_of(server.base_url())), world.clock, stays_here=False)
    world.parts = replace(world.parts, meaning=vectors(world, backend))


def reopened(world: World, server: ModelServer, **changes: Any) -> None:
    """Let the world go on with another backend, as a restart with other settings does; nothing else."""
    world.parts.meaning.close()
    world.parts = replace(world.parts, meaning=vectors(world, again(world, server, **changes)))


def again(world: World, server: ModelServer, **changes: Any) -> Backend | None:
    """A backend that leads to a server."""
    return open_backend(backend_of(server.base_url(), **changes), world.clock)


def switched_off(world: World) -> None:
    """Let the world go on without a backend."""
    world.parts.meaning.close()
    world.parts = replace(world.parts, meaning=vectors(world, None))


def vectors(world: World, backend: Backend | None) -> LearningVectors:
    """The vectors of a world's learnings with a backend of the test's own."""
    return LearningVectors(
        world.parts.store,
        world.clock,
        backend=backend,
        path=os.path.join(world.root, VECTORS_NAME),
        engine=DenseEngine(),
    )


def search(world: World, query: str, **fields: Any) -> ops.SearchHits:
    """What a search answers."""
    filters = ops.Filters(
        **{n: fields.pop(n) for n in ("as_of", "layers", "states", "scopes") if n in fields}
    )
    return world.operator.search(ops.SearchRequest(query=query, filters=filters, **fields))


def mark_of(text: str) -> str:
    """The digest that a vector of a text is marked with."""
    return sha256(text.encode()).hexdigest()


def embedded(record_id: RecordId, text: str) -> Embedded:
    """A thing with its vector."""
    point = vector_of(text)
    length = math.hypot(*point)
    return Embedded(key=record_id, mark=mark_of(text), vector=[value / length for value in point])
