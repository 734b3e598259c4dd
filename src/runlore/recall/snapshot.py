"""The index on disk: one file that is either whole and understood, or as good as absent.

    magic, length and digest of the header, header (JSON), arrays

The header names every array with its digest, the stamp of the index's owner, and what the numbers mean here
(analyser, formula, categories). A file that differs in any byte or any meaning is not loaded: its owner
rebuilds. The arrays are read into memory, not mapped, so that what was checked is what is used.
"""

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import BinaryIO, TypeAlias

import numpy as np

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Unavailable
from runlore.domain.lazy import dataclass
from runlore.domain.search import ranking
from runlore.domain.text import analysis
from runlore.recall.keys import AnyArray
from runlore.recall.segment import CATEGORIES, STORED_FIELDS, Segment
from runlore.recall.visibility import LiveSegment

# An array in the header: its dtype, its shape, its digest.
_Entry: TypeAlias = tuple[str, list[int], str]

_MAGIC = b"runlore ranking index 2\n"
_LENGTH_BYTES = 8
_DIGEST_BYTES = 32
_PROBE = "The Quick_brown foxes' node.js v1.2.3 C++ ＦＵＬＬ Straße 用户喜欢 日本語の検索 ภาษาไทย 한국어"


@dataclass(frozen=True, kw_only=True)
class _Header:
    stamp: str
    parts: list[dict[str, _Entry]]


def save(path: str, parts: Sequence[LiveSegment], stamp: str) -> None:
    """Replace the file at once. Whatever fails, the file in place stays as it was."""
    try:
        atomic_write(path, lambda file: _write(file, parts, stamp))
    except OSError as error:
        raise Unavailable(
            f"the ranking index was not saved to {path}: {error}",
            code="index.save",
            hint="nothing is lost: it is rebuilt from the records at the next start",
        ) from error


def load(path: str) -> tuple[list[LiveSegment], str] | None:
    """The parts and the stamp of a file; None when it is absent, damaged or means something else."""
    try:
        with open(path, "rb") as file:
            header = _read_header(file)
            if header is None:
                return None
            parts = [_read_part(file, entries) for entries in header.parts]
            whole = not file.read(1)
    except OSError:
        return None
    found = [part for part in parts if part is not None]
    return (found, header.stamp) if whole and len(found) == len(parts) else None


def _meaning() -> list[object]:
    """What the stored numbers were made with. The probe notices a change whose version was forgotten."""
    impacts = [ranking.impact(count, length=length) for count in (1, 2, 5) for length in (1, 32, 99, 999)]
    return [
        analysis.ANALYSER_VERSION,
        analysis.tokenize(_PROBE),
        [*impacts, ranking.IMPACT_METADATA],
        ["/".join(category) for category in CATEGORIES],
    ]


def _write(file: BinaryIO, parts: Sequence[LiveSegment], stamp: str) -> None:
    arrays = [_arrays_of(part) for part in parts]
    entries = [{name: _entry(array) for name, array in each.items()} for each in arrays]
    header = json.dumps({"meaning": _meaning(), "stamp": stamp, "parts": entries}).encode()
    file.write(_MAGIC + len(header).to_bytes(_LENGTH_BYTES, "little") + _digest(header) + header)
    for each in arrays:
        for array in each.values():
            file.write(array.reshape(-1).view(np.uint8).data)


def _arrays_of(part: LiveSegment) -> dict[str, AnyArray]:
    """The arrays of a part as they are written: without gaps, the low byte first."""
    arrays = {name: getattr(part.segment, name) for name in STORED_FIELDS} | {"live": part.live}
    return {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }


def _entry(array: AnyArray) -> _Entry:
    return array.dtype.str, list(array.shape), _digest(array.reshape(-1).view(np.uint8).data).hex()


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _read_header(file: BinaryIO) -> _Header | None:
    prefix = file.read(len(_MAGIC) + _LENGTH_BYTES + _DIGEST_BYTES)
    magic, rest = prefix[: len(_MAGIC)], prefix[len(_MAGIC) :]
    length, digest = int.from_bytes(rest[:_LENGTH_BYTES], "little"), rest[_LENGTH_BYTES:]
    if magic != _MAGIC or length > os.fstat(file.fileno()).st_size:
        return None
    content = file.read(length)
    if _digest(content) != digest:
        return None
    header = json.loads(content)
    if header["meaning"] != _meaning():
        return None
    return _Header(stamp=header["stamp"], parts=header["parts"])


def _read_part(file: BinaryIO, entries: dict[str, _Entry]) -> LiveSegment | None:
    arrays = {name: _read_array(file, entry) for name, entry in entries.items()}
    found = {name: array for name, array in arrays.items() if array is not None}
    if len(found) != len(arrays):
        return None
    live = found.pop("live")
    return LiveSegment(segment=Segment(**found), live=live, live_size=int(np.count_nonzero(live)))


def _read_array(file: BinaryIO, entry: _Entry) -> AnyArray | None:
    dtype, shape, digest = entry
    array: AnyArray = np.empty(shape, dtype=dtype)
    content = array.reshape(-1).view(np.uint8).data
    if file.readinto(content) != len(content) or _digest(content).hex() != digest:  # type: ignore[attr-defined]
        return None
    return array
