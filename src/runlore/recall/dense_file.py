"""The vectors on disk: one file that is either whole and understood, or as good as absent.

    magic, length and digest of the header, header (JSON), vectors

The header has the identity, the owner's stamp, keys, marks, dimensions and the digest of the vectors, which
are whole 2,048ths.
"""

import json
import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runlore.domain.errors import Unavailable
from runlore.recall.aside import put_in_place

GRID = 2_048
Grid: TypeAlias = NDArray[np.int16]

_MAGIC = b"runlore vectors 1\n"
_LENGTH_BYTES = 8
_DIGEST_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class StoredVectors:
    """What a file holds; row, key and mark of a thing stand at the same place."""

    identity: str
    keys: list[str]
    marks: list[str]
    grid: Grid
    stamp: str = ""


def save(path: str, stored: StoredVectors) -> None:
    """Put a file in place at once."""
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
        put_in_place(path, write)
    except OSError as error:
        raise Unavailable(
            f"the index of vectors was not saved to {path}: {error}",
            code="index.save",
            hint="nothing is lost: the texts are embedded again at the next start",
        ) from error


def load(path: str, identity: str) -> StoredVectors | None:
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
