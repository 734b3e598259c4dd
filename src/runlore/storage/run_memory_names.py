"""The file names of run memories, and the way back to the run ids.

Lower-case letters, digits, `_` and `-` stand for themselves, every other byte of an id as `%` and two digits.
So no name holds a dot or a slash of an id's, and two ids never meet, also where a file system ignores case.
"""

import hashlib

from runlore.domain.run import RunId

SUFFIX = ".json"
TEMPORARY = ".writing-"
DISCARDED = ".discarded"
# File systems take 255 bytes; what is longer is hashed, and the id stands inside the file alone.
STEM_BYTES_MAX = 200

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_HASHED = "~"


def name_of(run_id: RunId) -> str:
    """The file name of a run's memory."""
    # A half of a surrogate pair cannot be kept, but asking for it must not fail.
    data = run_id.encode("utf-8", "surrogatepass")
    stem = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if len(stem) > STEM_BYTES_MAX:
        return f"{_HASHED}{hashlib.sha256(data).hexdigest()}{SUFFIX}"
    return f"{stem or '%'}{SUFFIX}"


def run_id_of(name: str) -> RunId | None:
    """The id that a name stands for; None when it is not a name that `name_of` gives."""
    stem = name.removesuffix(SUFFIX)
    try:
        run_id = RunId(_decode(stem).decode())
    except ValueError:
        return None
    return run_id if run_id and name_of(run_id) == name else None


def is_hashed(name: str) -> bool:
    """Whether the name is the hash of an id that was too long for one."""
    return name.startswith(_HASHED) and name.endswith(SUFFIX)


def to_printable(name: str) -> str:
    """The name as a text that can be kept and shown, whatever bytes it was made of."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _decode(stem: str) -> bytes:
    first, *rest = stem.encode("ascii").split(b"%")
    return first + b"".join(bytes.fromhex(part[:2].decode()) + part[2:] for part in rest)
