"""Embeddings: texts as vectors, from a configured backend. Never required: without one words decide alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runlore.domain.search.ranking import Similarities


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


class DenseIndex(Protocol):
    """Vectors by key. Many threads may search beside one that changes it."""

    @property
    def identity(self) -> str:
        """Whose vectors these are: `Embedder.identity`. Vectors of another have no place here."""

    def marks(self) -> Mapping[str, str]:
        """What is held, each with its mark: what is missing here or has another mark is to be embedded."""

    def put(self, things: Iterable[Embedded]) -> None:
        """Hold these, each in place of what had its key; all or none of them.

        EmbeddingFailure `embedding.answer`: a vector of another dimension, not finite, or not of length 1.
        """

    def erase(self, keys: Iterable[str]) -> None:
        """Remove every version of these vectors, in memory and from what is saved afterwards."""

    def search(
        self,
        vector: Vector,
        *,
        limit: int,
        allowed: Collection[str] | None = None,
        also: Collection[str] = (),
    ) -> Similarities:
        """The `limit` nearest of those allowed (None: all), equals by key, and the allowed ones of `also`.

        Similarities and background are exact, the same on every machine for the same vectors.
        """

    def save(self, path: str, stamp: str = "") -> None:
        """Write all of it aside and put it in place at once, with the owner's stamp for what it covers.

        Unavailable `index.save` where that fails.
        """

    def __len__(self) -> int: ...
