"""A sentence encoder of BERT's form, in numpy: from tokens to one vector. Weights are data.

Embeddings, then layers of attention and of a feed-forward network, each added to what came in and normalised;
the average over all tokens is the vector. A text is encoded alone, so that its vector depends on it alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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
