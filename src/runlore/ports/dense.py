"""The index of vectors: derived, exact, and made anew by its owner whenever in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from runlore.domain.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runlore.domain.search.fusion import Similarities
    from runlore.ports.embedder import Vector


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
