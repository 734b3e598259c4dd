"""One query as a vector, for one answer: what it is near to, and a word on why meaning had no part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runlore.domain.text.analysis import tokenize
from runlore.ports.embedder import EmbeddingFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from runlore.domain.record import RecordId
    from runlore.domain.search.ranking import Similarities
    from runlore.flow.prompt_context.vector_search import VectorQuery
    from runlore.ports.embedder import Vector
    from runlore.recall.dense import DenseVectors

PAST = "a past moment is searched by words alone"
BUILDING = "the index is still being built: what it does not know yet was not found"
WORDLESS = "the query has no word to look for: signs, and words that stand everywhere, find nothing"
_NONE_YET = "nothing that could be found has a vector yet"


class QueryVector:
    """A query, with its vector where it has one: a `vector_search.VectorQuery`."""

    def __init__(
        self,
        vectors: DenseVectors | None = None,
        vector: Vector | None = None,
        *,
        model: str = "",
        remark: str = "",
        unfit: Callable[[EmbeddingFailure], None] | None = None,
    ) -> None:
        self._vectors = vectors
        self._vector = vector
        self._model = model
        self._remark = remark
        self._unfit = unfit
        self._took_part = False

    @property
    def vectors(self) -> VectorQuery | None:
        """This query where it has a vector; without one nothing is any different from words alone."""
        return None if self._vectors is None or self._vector is None else self

    @property
    def semantic(self) -> bool:
        return self._took_part

    @property
    def model(self) -> str:
        """Whose vectors had a part; empty where none had, or where the asking one is not told."""
        return self._model if self._took_part else ""

    @property
    def remark(self) -> str:
        """Why meaning had none; empty where it had one, or where no backend is set."""
        return "" if self._took_part else self._remark

    def similar(
        self, *, allowed: Collection[RecordId], also: Collection[RecordId], limit: int
    ) -> Similarities | None:
        """The nearest of those allowed, and the allowed ones of `also`."""
        if self._vectors is None or self._vector is None:
            return None
        try:
            found = self._vectors.search(self._vector, limit=limit, allowed=allowed, also=also)
        except EmbeddingFailure as failure:
            self._remark = failure.sentence
            if self._unfit is not None:
                self._unfit(failure)
            return None
        if not found.of:
            self._remark = self._remark or _NONE_YET
            return None
        self._took_part = True
        return found


def remark_on(query: str, asked: QueryVector, *, found_any: bool, is_building: bool) -> str:
    """Why an answer is what it is: a query of stop words or signs alone finds nothing by its words, and an
    index that `is_building`, as its answer found out or before, does not know all."""
    if not (found_any or tokenize(query)):
        return WORDLESS
    return BUILDING if is_building else asked.remark
