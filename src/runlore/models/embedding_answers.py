"""A server's answer as vectors of length 1: it is a stranger's text, so everything about it is checked."""

import math
from array import array

import orjson

from runlore.domain import limits
from runlore.ports.embedder import Vector


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


def _place(told: object, position: int) -> int:
    """Which text a vector belongs to: as the server says, else in order."""
    if told is None:
        return position
    return told if isinstance(told, int) and not isinstance(told, bool) else -1


def _unit(values: object) -> Vector:
    """A vector of numbers at length 1."""
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
