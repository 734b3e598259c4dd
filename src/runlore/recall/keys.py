"""Texts as 128-bit digests in sorted columns: a million of them take 16 MB and are found by bisection.

Two texts are taken to be the same when their digests are: a collision of 128-bit BLAKE2 is out of reach.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Two rows, the high and the low half of each digest.
Keys: TypeAlias = NDArray[np.uint64]
# Row numbers as they are stored, and as they are worked with.
Rows: TypeAlias = NDArray[np.uint32]
Positions: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64]
Impacts: TypeAlias = NDArray[np.uint8]
# Sums of impact times rarity: at most 512 terms x 255 x 1,024, so 32 bits are enough.
Points: TypeAlias = NDArray[np.int32]
# In how many rows each term stands.
Counts: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]


DIGEST_BYTES = 16
_CACHE_ENTRIES = 1 << 17


def digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


# Terms come again and again while an index is built; ids and summaries do not.
term_digest = lru_cache(_CACHE_ENTRIES)(digest)


def keys_of(digests: Iterable[bytes]) -> Keys:
    halves = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)
    return np.ascontiguousarray(halves.T).astype(np.uint64, copy=False)


def order_of(keys: Keys, rows: Rows | None = None) -> Positions:
    """Which column comes first, second and so on when sorted; of equal keys, that of the smaller row.

    Runs that are sorted already cost little.
    """
    order = np.argsort(keys[0], kind="stable")
    high = keys[0, order]
    if not (high[1:] == high[:-1]).any():
        return order
    return np.lexsort((keys[1], keys[0]) if rows is None else (rows, keys[1], keys[0]))


def find(sorted_keys: Keys, wanted: Keys) -> Positions:
    """Where each wanted key stands among distinct sorted ones; -1 where it does not."""
    high, low = sorted_keys
    found = np.full(wanted.shape[1], -1, dtype=np.int64)
    position = high.searchsorted(wanted[0])
    pending = np.flatnonzero(position < high.size)
    while pending.size:
        at = position[pending]
        same_high = high[at] == wanted[0, pending]
        same = same_high & (low[at] == wanted[1, pending])
        found[pending[same]] = at[same]
        # Only keys that share 64 bits with another one come here a second time.
        pending = pending[same_high & ~same]
        position[pending] += 1
        pending = pending[position[pending] < high.size]
    return found


def find_all(sorted_keys: Keys, wanted: bytes) -> Positions:
    """Every position of one key among sorted ones that may repeat."""
    high, low = keys_of([wanted])[:, 0]
    first, end = (int(sorted_keys[0].searchsorted(high, side)) for side in ("left", "right"))
    return np.flatnonzero(sorted_keys[1, first:end] == low) + first


def unite(columns: list[Keys]) -> tuple[Keys, list[Positions]]:
    """All distinct keys, sorted, and where each key of each input now stands."""
    together = np.concatenate(columns, axis=1)
    order = order_of(together)
    ordered = together[:, order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    ends = np.cumsum([column.shape[1] for column in columns])
    return np.ascontiguousarray(ordered[:, is_new]), np.split(place, ends[:-1])
