"""The encoder in numpy gives what the formulas of its form say, written out here in plain numbers."""

import math
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest

from runlore.models.embedding_local import HEADS, encode

pytestmark = pytest.mark.req("RET-8")

Row = list[float]
Numbers = Mapping[str, list[Row]]

WIDTH, INNER, WORDS, PLACES, LAYERS = 2 * HEADS, 40, 9, 6, 2


def weights(seed: int) -> dict[str, list[Row]]:
    """A small model: matrices, and vectors as matrices of one row."""
    random = Random(seed)

    def matrix(rows: int, columns: int, about: float = 0.0) -> list[Row]:
        return [[random.gauss(about, 0.4) for _ in range(columns)] for _ in range(rows)]

    found = {
        "embeddings.word_embeddings.weight": matrix(WORDS, WIDTH),
        "embeddings.position_embeddings.weight": matrix(PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH),
    }
    normals = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        normals += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        shapes = {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        shapes |= {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        for part, (rows, columns) in {**shapes, "attention.output.dense": (WIDTH, WIDTH)}.items():
            found[f"{name}.{part}.weight"] = matrix(rows, columns)
            found[f"{name}.{part}.bias"] = matrix(1, rows)
    for name in normals:
        found[f"{name}.weight"], found[f"{name}.bias"] = matrix(1, WIDTH, 1.0), matrix(1, WIDTH)
    return found


def reference(numbers: Numbers, tokens: Sequence[int]) -> Row:
    """The same number by number."""
    type_row = numbers["embeddings.token_type_embeddings.weight"][0]
    places = numbers["embeddings.position_embeddings.weight"]
    words = [numbers["embeddings.word_embeddings.weight"][token] for token in tokens]
    rows = [plus(plus(word, place), type_row) for word, place in zip(words, places, strict=False)]
    rows = [normal(numbers, "embeddings.LayerNorm", row) for row in rows]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        mixed = attention(numbers, name, rows)
        said = [linear(numbers, f"{name}.attention.output.dense", row) for row in mixed]
        rows = [
            normal(numbers, f"{name}.attention.output.LayerNorm", plus(row, more))
            for row, more in zip(rows, said, strict=True)
        ]
        wide = [[gelu(each) for each in linear(numbers, f"{name}.intermediate.dense", row)] for row in rows]
        said = [linear(numbers, f"{name}.output.dense", row) for row in wide]
        rows = [
            normal(numbers, f"{name}.output.LayerNorm", plus(row, more))
            for row, more in zip(rows, said, strict=True)
        ]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def attention(numbers: Numbers, name: str, rows: list[Row]) -> list[Row]:
    """Head by head: each token takes of all others by the exponential of how well they agree."""
    query, key, value = (
        [linear(numbers, f"{name}.attention.self.{part}", row) for row in rows]
        for part in ("query", "key", "value")
    )
    mixed: list[Row] = [[] for _ in rows]
    size = WIDTH // HEADS
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        for at, asked in enumerate(query):
            shares = [
                math.exp(sum(a * b for a, b in zip(asked[part], each[part], strict=True)) / math.sqrt(size))
                for each in key
            ]
            mixed[at] += [
                sum(share * row[column] for share, row in zip(shares, value, strict=True)) / sum(shares)
                for column in range(WIDTH)[part]
            ]
    return mixed


def linear(numbers: Numbers, name: str, row: Row) -> Row:
    """A matrix and what is added to it."""
    products = [sum(a * b for a, b in zip(row, each, strict=True)) for each in numbers[f"{name}.weight"]]
    return plus(products, numbers[f"{name}.bias"][0])


def normal(numbers: Numbers, name: str, row: Row) -> Row:
    """The row with average 0 and variance 1, stretched and moved."""
    average = sum(row) / len(row)
    variance = sum((each - average) ** 2 for each in row) / len(row)
    scaled = [(each - average) / math.sqrt(variance + 1e-12) for each in row]
    stretched = [a * b for a, b in zip(scaled, numbers[f"{name}.weight"][0], strict=True)]
    return plus(stretched, numbers[f"{name}.bias"][0])


def gelu(value: float) -> float:
    """The exact form, with the error function."""
    return value * (1 + math.erf(value / math.sqrt(2))) / 2


def plus(one: Row, other: Row) -> Row:
    """The sum of two rows."""
    return [a + b for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("tokens", [[1], [2, 7, 2], [0, 1, 2, 3, 8, 5]], ids=len)
def test_a_text_is_encoded_as_the_formulas_say(tokens: list[int]) -> None:
    numbers = weights(len(tokens))
    arrays = {
        name: np.array(rows[0] if "bias" in name or "Norm" in name else rows, dtype=np.float32)
        for name, rows in numbers.items()
    }

    found = encode(arrays, tokens)

    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx(reference(numbers, tokens), abs=2e-5)
