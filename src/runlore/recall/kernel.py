"""The inner loops of the index in C (`kernel.c`), where a compiler was at hand when Runlore was built.

Elsewhere, and where the library beside the source is of another source, numpy does the same with the same
answers, more slowly. Nothing is compiled here.
"""

import ctypes
import os
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias
from weakref import finalize

import numpy as np

from runlore.domain.search.ranking import RECENCY_MAX, RECENCY_STEPS_MS, STATE_ACTIVE, TOKEN_SCALE
from runlore.domain.text.analysis import chunks_of
from runlore.recall.building import ChunkReader, Occurrences, Said
from runlore.recall.keys import AnyArray, Numbers, Rows
from runlore.recall.segment import STATE_POINTS, Segment

# The columns of a hit: its total, row, time and revision, and where its id begins and ends.
BestRow: TypeAlias = tuple[int, int, int, int, int, int]

# So many postings for each block make a list a long one.
_A_BLOCK = 2

_SOURCE = Path(__file__).with_suffix(".c")
_HIT = struct.Struct("=6q")
_LISTS = ("term_key", "summary_key", "term_start", "term_impact_max", "posting_row", "posting_impact")
_OCCURRENCES = ("chunk", "text_start", "term", "chunk_start")
_BLOCKS = ("long_list", "block_start", "block_max")
_COLUMNS = ("category", "created_at_us", "revision", "id_start")


class _SegmentView(ctypes.Structure):
    """Where the arrays of a segment lie. Whoever holds it holds the segment."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("rows", "terms", "summaries")),
        *((name, ctypes.c_void_p) for name in (*_LISTS, *_COLUMNS, *_BLOCKS)),
    )
    blocks: tuple[AnyArray, ...]


class _Scale(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("token_scale", "recency_max", "below_max", "steps")),
        *((name, ctypes.c_void_p) for name in ("state_points", "recency_steps_ms")),
    )


class _Occurrences(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_void_p) for name in _OCCURRENCES), ("terms", ctypes.c_int64))


class _KernelReader:
    """A `ChunkReader` whose chunks lie in the kernel's memory."""

    def __init__(
        self, make: Callable[[int], int | None], read: Callable[..., int], free: Callable[[int], None]
    ) -> None:
        # What the hashes of chunks are, nobody can know beforehand.
        words = make(int.from_bytes(os.urandom(8), "little"))
        if not words:
            raise MemoryError
        self._words, self._read = words, read
        finalize(self, free, words)

    def read(self, texts: Sequence[str]) -> Said:
        """As `building.ChunkReader` says."""
        is_ascii = bytes(map(str.isascii, texts))
        encoded = [
            text.encode() if plain else "\n".join(chunks_of(text)).encode("utf-8", "surrogatepass")
            for text, plain in zip(texts, is_ascii, strict=True)
        ]
        joined = b"".join(encoded)
        said, many = np.empty(len(joined), dtype=np.uint32), np.empty(len(texts), dtype=np.uint32)
        added = (ctypes.c_int64 * 2)()
        size = self._read(
            *(self._words, joined, array("q", map(len, encoded)).tobytes(), is_ascii, len(texts)),
            *(said.ctypes.data, many.ctypes.data, added),
        )
        if size < 0:
            raise MemoryError
        new = ctypes.string_at(*added).decode("utf-8", "surrogatepass").split("\n")[:-1]
        return new, said[:size].tobytes(), many.tobytes()


class Kernel:
    """The compiled functions, with what they take from Python."""

    def __init__(self, library: Path) -> None:
        functions = ctypes.CDLL(str(library))
        number, place, segment = ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(_SegmentView)
        self._block_rows = functions.block_rows()
        self._fill_blocks = functions.fill_blocks
        self._fill_blocks.argtypes, self._fill_blocks.restype = (segment,), None
        self._make_words, self._free_words = functions.make_words, functions.free_words
        self._make_words.argtypes, self._make_words.restype = (ctypes.c_uint64,), place
        self._free_words.argtypes, self._free_words.restype = (place,), None
        self._read = functions.read_texts
        self._read.argtypes, self._read.restype = (*(place,) * 4, number, *(place,) * 3), number
        self._count, self._fill = functions.count_terms, functions.fill_postings
        for counting, places in ((self._count, 3), (self._fill, 4)):
            counting.argtypes = (ctypes.POINTER(_Occurrences), place, number, *(place,) * places)
            counting.restype = None
        self._give_back_memory = functions.give_back_memory
        self._give_back_memory.argtypes, self._give_back_memory.restype = (), None
        self._look_up = functions.look_up
        self._look_up.argtypes = (segment, *(place,) * 3, number, place, number, place)
        self._look_up.restype = ctypes.c_int32
        self._find_best = functions.find_best
        self._find_best.argtypes = (
            *(segment, place, place, number, ctypes.POINTER(_Scale)),
            *(*(number,) * 3, place),
        )
        self._find_best.restype = number
        # By the identity of the segment, for as long as it lives.
        self._views: dict[int, _SegmentView] = {}
        self._tables = (STATE_POINTS, np.array(RECENCY_STEPS_MS, dtype=np.int64))
        self._scale = _Scale(
            token_scale=TOKEN_SCALE,
            recency_max=RECENCY_MAX,
            below_max=STATE_ACTIVE + RECENCY_MAX,
            steps=len(RECENCY_STEPS_MS),
            state_points=self._tables[0].ctypes.data,
            recency_steps_ms=self._tables[1].ctypes.data,
        )

    def _view_of(self, segment: Segment) -> _SegmentView:
        view = self._views.get(id(segment))
        if view is None:
            view = self._views[id(segment)] = self._make_view(segment)
            finalize(segment, self._views.pop, id(segment), None)
        return view

    def _make_view(self, segment: Segment) -> _SegmentView:
        """What the functions take for a segment. A list is long where most blocks of rows have some of it."""
        arrays: dict[str, AnyArray] = {name: getattr(segment, name) for name in (*_LISTS, *_COLUMNS)}
        assert all(each.flags.c_contiguous for each in arrays.values()), (
            "the kernel reads arrays without gaps"
        )
        rows = arrays["category"].size
        blocks = -(-rows // self._block_rows)
        is_long = np.diff(arrays["term_start"]) > _A_BLOCK * blocks
        lists = int(np.count_nonzero(is_long))
        arrays["long_list"] = np.where(is_long, np.cumsum(is_long) - 1, -1).astype(np.int32)
        arrays["block_start"] = np.empty((lists, blocks + 1), dtype=np.uint32)
        arrays["block_max"] = np.empty((lists, blocks), dtype=np.uint8)
        view = _SegmentView(
            rows=rows,
            terms=arrays["term_key"].shape[1],
            summaries=arrays["summary_key"].shape[1],
            **{name: each.ctypes.data for name, each in arrays.items()},
        )
        view.blocks = tuple(arrays[name] for name in _BLOCKS)
        self._fill_blocks(view)
        return view

    def chunk_reader(self) -> ChunkReader:
        return _KernelReader(self._make_words, self._read, self._free_words)

    def count(self, said: Occurrences, order: Rows) -> tuple[Numbers, Rows, Rows, Rows]:
        """As `building.TermCounter` says."""
        fields: dict[str, AnyArray] = {name: getattr(said, name) for name in _OCCURRENCES}
        given = _Occurrences(**{name: each.ctypes.data for name, each in fields.items()}, terms=said.terms)
        rows = order.ctypes.data, order.size
        start, length = np.empty(said.terms + 1, dtype=np.int64), np.empty(order.size, dtype=np.uint32)
        last = np.empty(said.terms, dtype=np.uint32)
        self._count(given, *rows, start.ctypes.data, last.ctypes.data, length.ctypes.data)
        row, counts = (np.empty(int(start[-1]), dtype=np.uint32) for _ in range(2))
        last.fill(0)
        self._fill(given, *rows, *(each.ctypes.data for each in (start, last, row, counts)))
        return start, row, counts, length

    def give_back_memory(self) -> None:
        """What was freed goes back to the system, where the C library would keep it."""
        self._give_back_memory()

    def look_up(
        self, segment: Segment, seen: tuple[int, int, int, int], digests: bytes, size: int
    ) -> tuple[list[int], list[int], bool]:
        """The number and the frequency of each of the terms, and whether a summary has the last digest."""
        found = (ctypes.c_int64 * (2 * size))()
        is_said = self._look_up(self._view_of(segment), *seen, digests, size, found)
        return found[:size], found[size:], bool(is_said)

    def find_best(
        self,
        segment: Segment,
        mask: int,
        terms: Sequence[int],
        weights: Sequence[int],
        *,
        newest_at_ms: int,
        limit: int,
        floor: int,
    ) -> list[BestRow]:
        """The best rows with a total of at least `floor`."""
        size, most = len(terms), min(limit, len(segment))
        wanted = array("q", (*terms, *weights)).tobytes()
        hits = (ctypes.c_int64 * (_HIT.size // 8 * most))()
        found = self._find_best(
            self._view_of(segment), mask, wanted, size, self._scale, newest_at_ms, most, floor, hits
        )
        if found < 0:
            raise MemoryError
        return list(_HIT.iter_unpack(memoryview(hits).cast("B")[: _HIT.size * found]))


def load_kernel(source: Path = _SOURCE) -> Kernel | None:
    """The compiled functions, where there are any."""
    library = library_beside(source)
    if sys.byteorder != "little" or not library.exists():
        return None
    try:
        return Kernel(library)
    except OSError:
        # Built for another machine, or on one with another C library.
        return None


def library_beside(source: Path) -> Path:
    """Where `hatch_build.py` puts the library of this source; that of another has another name."""
    name = blake2b(source.read_bytes(), digest_size=8).hexdigest()
    # Not `.so`: what walks over modules would take it for one.
    return source.with_name(f"kernel-{name}.library")
