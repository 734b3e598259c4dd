"""Embeddings: texts as vectors, from a configured backend. Never required: without one words decide alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Protocol, TypeAlias

from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass

Vector: TypeAlias = Sequence[float]

# The models of the local provider, and how much of their vectors can be used, the most first.
LOCAL_MODELS = {"wordllama": (256, 128, 64), "all-minilm-l6-v2": (384,)}


class EmbeddingProvider(StrEnum):
    """Where vectors are made: by a server that speaks OpenAI's embeddings, or by a model package here."""

    HTTP = "http"
    LOCAL = "local"


@dataclass(frozen=True, kw_only=True)
class EmbeddingBackend:
    """A backend as it is set. `dimensions` 0 takes the model's own; without `api_key_env` there is no key."""

    provider: EmbeddingProvider
    base_url: str = ""
    model: str = ""
    dimensions: int = 0
    api_key_env: str = ""
    api_key: str = field(default="", repr=False)
    timeout_s: float = 10.0


class EmbeddingFailure(Unavailable):
    """A backend could not be asked, was too slow, or answered nonsense."""


class Embedder(Protocol):
    """One embedding backend. Every failure is an EmbeddingFailure with a code `embedding.*`."""

    @property
    def identity(self) -> str:
        """What the vectors are of: backend, model, dimensions. Vectors of another identity are of no use."""

    def embed(self, texts: Sequence[str], *, timeout_s: float | None = None) -> tuple[Vector, ...]:
        """One vector of length 1 for each text, all of the same dimension, within the time.

        Without `timeout_s` the backend's own time counts, over all that is asked. EmbeddingFailure:
        `embedding.timeout`, `embedding.unreachable`, `embedding.key` (no or a wrong key; names the variable),
        `embedding.rate-limited`, `embedding.answer` (wrong number, wrong or changing dimension, not finite,
        zero, too long, no JSON), `embedding.missing` (the package is not installed), `embedding.failed`.
        """

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A thing with its vector. `mark` says what the vector was made of, such as a digest of the text."""

    key: str
    mark: str
    vector: Vector
