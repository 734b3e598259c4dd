"""Vectors by key, searched exactly: one product of a matrix, and nothing approximated.

Components are rounded to whole 2,048ths. Products of two of them are then whole multiples of 2^-22, and no
sum of them on the way to a cosine is 2 or more, so that single precision holds each without rounding: the
answer is the same whatever the order in which a processor adds. It moves a cosine by about a ten-thousandth.

On disk they are one file that is either whole and understood, or as good as absent:

    magic, length and digest of the header, header (JSON), vectors

The header has the identity, the owner's stamp, keys, marks, dimensions and the digest of the vectors.
"""

import json
import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.search.ranking import COSINE, Similarities
from runlore.ports.embedder import Embedded, EmbeddingFailure, Vector
from runlore.recall.keys import Mask, Points, Positions

GRID = 2_048
Grid: TypeAlias = NDArray[np.int16]

_MAGIC = b"runlore vectors 1\n"
_LENGTH_BYTES = 8
_DIGEST_BYTES = 32
_ROWS_MIN = 256
# Of what is held, the share of rows that are made ready for more.
_SPARE_SHARE = 4
# Where fewer than this share is allowed, their rows are gathered; else all are multiplied.
_GATHERED_SHARE = 8
_LENGTH_OFF_MAX = 0.01
# So many of the selections that were searched last are remembered with their rows.
_SELECTIONS_KEPT = 8


@dataclass(frozen=True, kw_only=True)
class StoredVectors:
    """What a file holds; row, key and mark of a thing stand at the same place."""

    identity: str
    keys: list[str]
    marks: list[str]
    grid: Grid
    stamp: str = ""


def write_vectors(path: str, stored: StoredVectors) -> None:
    content = np.ascontiguousarray(stored.grid, dtype="<i2").reshape(-1).view(np.uint8).data
    header = json.dumps(
        {
            "identity": stored.identity,
            "stamp": stored.stamp,
            "keys": stored.keys,
            "marks": stored.marks,
            "dimensions": int(stored.grid.shape[1]),
            "digest": _digest(content).hex(),
        }
    ).encode()

    def write(file: BinaryIO) -> None:
        file.write(_MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + _digest(header) + header)
        file.write(content)

    try:
        atomic_write(path, write)
    except OSError as error:
        raise Unavailable(
            f"the index of vectors was not saved to {path}: {error}",
            code="index.save",
            hint="nothing is lost: the texts are embedded again at the next start",
        ) from error


def read_vectors(path: str, identity: str) -> StoredVectors | None:
    """What a file holds; None when it is absent, damaged or of another identity."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file)
            if header is None or header["identity"] != identity:
                return None
            keys, marks, dimensions = header["keys"], header["marks"], header["dimensions"]
            grid = np.empty((len(keys), dimensions), dtype="<i2")
            content = grid.reshape(-1).view(np.uint8).data
            read = file.readinto(content)
            is_whole = read == len(content) and not file.read(1)
    except OSError:
        return None
    if not is_whole or _digest(content).hex() != header["digest"]:
        return None
    stamp = str(header.get("stamp", ""))
    return StoredVectors(identity=identity, stamp=stamp, keys=keys, marks=marks, grid=grid)


def _read_header(file: BinaryIO) -> dict[str, Any] | None:
    prefix = file.read(len(_MAGIC) + _LENGTH_BYTES + _DIGEST_BYTES)
    magic, rest = prefix[: len(_MAGIC)], prefix[len(_MAGIC) :]
    length, digest = int.from_bytes(rest[:_LENGTH_BYTES], "little"), rest[_LENGTH_BYTES:]
    if magic != _MAGIC or length > os.fstat(file.fileno()).st_size:
        return None
    content = file.read(length)
    return json.loads(content) if _digest(content) == digest else None


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


@dataclass(frozen=True, kw_only=True)
class _View:
    """What a search sees: the first `size` rows, of which the live ones count. Rows are never changed."""

    rows: NDArray[np.float32]
    live: Mask
    size: int


@dataclass(frozen=True, kw_only=True)
class _Selection:
    """The rows of keys that cannot change, as long as the rows of a view do not."""

    keys: frozenset[str]
    view: _View
    rows: Positions


@dataclass
class _Names:
    keys: list[str]
    marks: dict[str, str]
    row_of: dict[str, int]


class DenseVectors:
    """Vectors by key, in one matrix of numpy. Many threads may search beside one that changes it."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._changing = threading.Lock()
        self._names: _Names
        self._view: _View
        self._selections: tuple[_Selection, ...] = ()
        self._hold(np.empty((0, 0), np.float32), [], {})

    @property
    def identity(self) -> str:
        """Whose vectors these are: `Embedder.identity`. Vectors of another have no place here."""
        return self._identity

    def marks(self) -> Mapping[str, str]:
        """What is held, each with its mark: what is missing here or has another mark is to be embedded."""
        with self._changing:
            return dict(self._names.marks)

    def put(self, things: Iterable[Embedded]) -> None:
        """Hold these, each in place of what had its key; all or none of them. EmbeddingFailure
        `embedding.answer`: a vector of another dimension, not finite, or not of length 1."""
        newest = {thing.key: thing for thing in things}
        if not newest:
            return
        grid = _round_to_grid([thing.vector for thing in newest.values()])
        with self._changing:
            dimensions = self._view.rows.shape[1]
            if len(self._names.marks) and grid.shape[1] != dimensions:
                raise _unfit(f"has {grid.shape[1]} dimensions where the others have {dimensions}")
            if not len(self._names.marks):
                self._hold(np.empty((0, grid.shape[1]), np.float32), [], {})
            self._append(list(newest), [thing.mark for thing in newest.values()], grid)
            if len(self._names.marks) * 2 < self._view.size:
                self._compact()

    def erase(self, keys: Iterable[str]) -> None:
        """Remove every version of these vectors, in memory and from what is saved afterwards."""
        with self._changing:
            for key in set(keys) & self._names.marks.keys():
                del self._names.marks[key]
                del self._names.row_of[key]
            self._compact()

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
        query = _round_to_grid([vector])[0]
        with self._changing:
            view, keys, row_of = self._view, self._names.keys, self._names.row_of
            rows = self._select(allowed)
            wanted = _rows(row_of, also)
        if not view.size or (rows is not None and not rows.size):
            return Similarities(of={})
        if query.shape[0] != view.rows.shape[1]:
            raise _unfit(f"has {query.shape[0]} dimensions where the others have {view.rows.shape[1]}")
        if rows is None:
            rows = np.flatnonzero(view.live)
        scores = _scores(view, rows, query)
        chosen = _best(scores, rows, keys, limit)
        if wanted is not None and wanted.size:
            at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
            chosen = np.union1d(chosen, at[rows[at] == wanted])
        named = zip(rows[chosen].tolist(), scores[chosen].tolist(), strict=True)
        return Similarities(of={keys[row]: score for row, score in named}, background=_background(scores))

    def save(self, path: str, stamp: str = "") -> None:
        """Write all of it aside and put it in place at once, with the owner's stamp for what it covers;
        Unavailable `index.save` where that fails."""
        with self._changing:
            self._compact()
            view, keys = self._view, list(self._names.keys)
            marks = [self._names.marks[key] for key in keys]
        grid = np.empty((view.size, view.rows.shape[1]), np.int16)
        np.multiply(view.rows[: view.size], np.float32(GRID), out=grid, casting="unsafe")
        write_vectors(path, self._to_stored(stamp, keys, marks, grid))

    def __len__(self) -> int:
        return len(self._names.marks)

    def _to_stored(self, stamp: str, keys: list[str], marks: list[str], grid: Grid) -> StoredVectors:
        return StoredVectors(identity=self._identity, stamp=stamp, keys=keys, marks=marks, grid=grid)

    def _select(self, allowed: Collection[str] | None) -> Positions | None:
        """The rows of those allowed. One set is mostly allowed for many queries: the same object is known."""
        if not isinstance(allowed, frozenset) or len(allowed) < _ROWS_MIN:
            return _rows(self._names.row_of, allowed)
        known = [each for each in self._selections if each.view is self._view]
        rows = next((each.rows for each in known if each.keys is allowed), None)
        if rows is None:
            rows = _rows_of(self._names.row_of, allowed)
            known = [*known, _Selection(keys=allowed, view=self._view, rows=rows)]
        self._selections = tuple(known[-_SELECTIONS_KEPT:])
        return rows

    def _append(self, keys: Sequence[str], marks: Sequence[str], grid: NDArray[np.float32]) -> None:
        """Add rows behind those that searches see, and then let them be seen, without what they replace."""
        view, names = self._view, self._names
        size = view.size + len(keys)
        rows, live = view.rows, np.zeros(max(size, len(view.live)), np.bool_)
        if size > len(rows):
            rows = np.empty((max(size + size // _SPARE_SHARE, _ROWS_MIN), grid.shape[1]), np.float32)
            rows[: view.size] = view.rows[: view.size]
        rows[view.size : size] = grid
        live[: len(view.live)] = view.live
        live[[names.row_of[key] for key in keys if key in names.row_of]] = False
        live[view.size : size] = True
        names.keys.extend(keys)
        names.marks.update(zip(keys, marks, strict=True))
        names.row_of.update(zip(keys, range(view.size, size), strict=True))
        self._view = _View(rows=rows, live=live, size=size)

    def _compact(self) -> None:
        """Rows and names of their own for what is held, so that nothing is left of anything else."""
        old, names = self._view, self._names
        if len(names.marks) == old.size:
            return
        keys = sorted(names.row_of, key=names.row_of.__getitem__)
        self._hold(old.rows[[names.row_of[key] for key in keys]], keys, names.marks)

    def _hold(self, rows: NDArray[np.float32], keys: list[str], marks: dict[str, str]) -> None:
        self._selections = ()
        self._names = _Names(keys=keys, marks=marks, row_of=dict(zip(keys, range(len(keys)), strict=True)))
        self._view = _View(rows=rows, live=np.ones(len(keys), np.bool_), size=len(keys))


def load_vectors(path: str, identity: str) -> DenseVectors | None:
    """The vectors of a file. None where it is absent, damaged or of another identity: embed anew."""
    loaded = load_stamped(path, identity)
    return None if loaded is None else loaded[0]


def load_stamped(path: str, identity: str) -> tuple[DenseVectors, str] | None:
    """The same with the stamp that they were saved under."""
    stored = read_vectors(path, identity)
    if stored is None:
        return None
    found = DenseVectors(identity)
    rows = stored.grid.astype(np.float32)
    rows /= np.float32(GRID)
    found._hold(rows, stored.keys, dict(zip(stored.keys, stored.marks, strict=True)))
    return found, stored.stamp


def _round_to_grid(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    if len({len(vector) for vector in vectors}) != 1 or not len(vectors[0]):
        raise _unfit("has another dimension than the others")
    exact = np.asarray(vectors, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    # Also false for what is not a number.
    if not bool(np.all(np.abs(lengths - 1) <= _LENGTH_OFF_MAX)):
        raise _unfit("has not the length 1")
    return (np.rint(exact * GRID) / GRID).astype(np.float32)


def _rows(row_of: Mapping[str, int], keys: Collection[str] | None) -> Positions | None:
    return None if keys is None else _rows_of(row_of, keys)


def _rows_of(row_of: Mapping[str, int], keys: Collection[str]) -> Positions:
    return np.unique(np.array([row_of[key] for key in keys if key in row_of], dtype=np.int64))


def _scores(view: _View, rows: Positions, query: NDArray[np.float32]) -> Points:
    """The cosines of these rows, in whole ten-thousandths."""
    if len(rows) * _GATHERED_SHARE < view.size:
        cosines = view.rows[rows] @ query
    else:
        cosines = view.rows[: view.size] @ query
        cosines = cosines if len(rows) == view.size else cosines[rows]
    scores: Points = np.rint(cosines * np.float32(COSINE)).astype(np.int32)
    return scores


def _best(scores: Points, rows: Positions, keys: Sequence[str], limit: int) -> Positions:
    """Where the `limit` greatest scores are, equals by key."""
    if limit <= 0:
        return np.empty(0, np.int64)
    at = np.arange(len(scores))
    if len(scores) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        at = np.flatnonzero(scores >= least)
    ordered = sorted(at.tolist(), key=lambda each: (-int(scores[each]), keys[int(rows[each])]))
    return np.array(ordered[:limit], dtype=np.int64)


def _background(scores: Points) -> int:
    """The average of all but the greatest."""
    others = len(scores) - 1
    return (int(scores.sum(dtype=np.int64)) - int(scores.max())) // others if others else 0


def _unfit(problem: str) -> EmbeddingFailure:
    return EmbeddingFailure(
        f"a vector {problem}",
        code="embedding.answer",
        hint="check that one model answers, and always the same; then build the index of vectors anew",
    )
