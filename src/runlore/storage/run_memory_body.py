"""How a run memory is written down, in a file or in a row: canonical JSON and a checksum of it."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import cast

import orjson

from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.record import JsonValue
from runlore.domain.run import RunId
from runlore.domain.run_memory import RunMemory
from runlore.domain.run_memory_plain import damaged, memory_from_plain, memory_to_plain
from runlore.ports.run_memories import Unreadable

CHECKSUM_BYTES = 16


def body_of(memory: RunMemory) -> bytes:
    """The memory as canonical JSON; Invalid when it could not be read again."""
    plain = memory_to_plain(memory)
    try:
        memory_from_plain(plain)
    except Corrupt as error:
        raise Invalid(
            f"the memory of run {memory.run_id!r:.80} cannot be kept: {error.sentence}",
            code="run-memory.unstorable",
            hint="report it with this text: the journal is not touched, and the memory can be built again",
        ) from error
    return _canonical(plain)


def checksum_of(body: bytes) -> str:
    """What tells that a body is still as it was written."""
    return blake2b(body, digest_size=CHECKSUM_BYTES).hexdigest()


def memory_of(body: bytes, *, checksum: str, run_id: RunId) -> RunMemory:
    """The memory that a body holds; Corrupt when it is damaged, or that of another run."""
    if checksum_of(body) != checksum:
        raise damaged("its checksum does not fit")
    return _read(_parsed(body), run_id)


def document_of(memory: RunMemory) -> bytes:
    """The memory with its checksum in one JSON document, for a file."""
    body = body_of(memory)
    return b'{"checksum":"%s","memory":%s}\n' % (checksum_of(body).encode(), body)


def memory_in(document: bytes, *, run_id: RunId | None) -> RunMemory:
    """The memory that a document holds. Without a run id it may be that of any run."""
    parsed = _parsed(document)
    if not isinstance(parsed, Mapping) or set(parsed) != {"checksum", "memory"}:
        raise damaged("it is not a checksum with a memory")
    if checksum_of(_canonical(parsed["memory"])) != parsed["checksum"]:
        raise damaged("its checksum does not fit")
    return _read(parsed["memory"], run_id)


def unreadable(run_id: RunId | None, where: str, error: Corrupt) -> Unreadable:
    """What a damaged memory is to those who read."""
    return Unreadable(run_id=run_id, where=where, problem=error.sentence)


def _read(plain: object, run_id: RunId | None) -> RunMemory:
    memory = memory_from_plain(plain)
    if run_id is not None and memory.run_id != run_id:
        raise damaged("it is that of another run")
    return memory


def _canonical(plain: object) -> bytes:
    return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)


def _parsed(data: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError:
        raise damaged("it is not JSON") from None
