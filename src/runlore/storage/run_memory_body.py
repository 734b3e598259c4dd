"""How a run memory is written down, in a file or in a row: canonical JSON and a checksum of it.

`FORMAT` goes up when the stored form changes; a number that is not known is damage, since memories are
derived and only ever read by the version that wrote them or a later one.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, cast

import orjson

from runlore.domain import limits
from runlore.domain.errors import Corrupt, Invalid
from runlore.domain.json_form import Damage, JsonForm, Within
from runlore.domain.lazy import dataclass
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import CaptureState, RunMemory
from runlore.domain.record import JsonValue
from runlore.domain.run import TERMINAL, ArtifactId, MemoryState, RunId, RunStatus
from runlore.domain.scope import Scope
from runlore.domain.serialization.codec import Plain, deserialize, serialize
from runlore.domain.session import SessionId
from runlore.ports.run_memories import MemoryTerms, Unreadable
from runlore.ports.store import Collections, Jobs, Policies


def is_unchanged(policies: Policies, jobs: Jobs, owed: MemoryTerms) -> bool:
    current = policies.current(PolicyName.RUN_MEMORY)
    revision = 0 if current is None else current.revision
    return revision == owed.policy_revision and (owed.job is None or jobs.is_held(owed.job))


def is_stored(collections: Collections, run_id: RunId) -> bool:
    """Whether the memory of a run counts as kept: one that was pruned or forgotten meanwhile does not."""
    run = collections.runs.find(run_id)
    return run is not None and run.memory is MemoryState.STORED


def may_be_kept(collections: Collections, run_id: RunId, owed: MemoryTerms | None) -> bool:
    """Whether a run waits for this memory. One that is not known yet waits only for what a restore brings."""
    run = collections.runs.find(run_id)
    if owed is None:
        return run is None or run.memory is MemoryState.PENDING
    if run is None or run.memory is not MemoryState.PENDING:
        return False
    return is_unchanged(collections.policies, collections.jobs, owed)


CHECKSUM_BYTES = 16
FORMAT = 1
SCOPES_MAX = limits.SESSION_PROJECTS_MAX + 3
MARKERS_MAX = 3
_DAMAGE = Damage(
    thing="run memory",
    code="run-memory.damaged",
    hint="nothing needs to be done: it is skipped, and pruned at the next input or by runlore doctor",
)
_ID = Within(1, limits.ID_CHARS_MAX)
_PREVIEW = Within(1, limits.PREVIEW_CHARS_MAX)


@lru_cache(maxsize=1_024)
def _scope(text: str) -> Scope:
    """The memories of a session mostly name the same scopes."""
    return Scope.parse(text)


def _check_terminal(status: RunStatus, name: str) -> RunStatus:
    if status not in TERMINAL:
        raise ValueError(f"{name} is that of a run that has not ended")
    return status


def _scope_key(text: str, name: str) -> str:
    try:
        _scope(text)
    except Invalid as error:
        raise ValueError(f"{name}: {error}") from error
    return text


@JsonForm(omit_default=("request_preview", "outcome_preview"), exact=True, closed=True, damage=_DAMAGE)
@dataclass(frozen=True, kw_only=True)
class StoredMemory:
    """A run memory as it is stored: with its format, within bounds, and a scope as one short text, for there
    are many memories."""

    format: Annotated[int, Within(FORMAT, FORMAT)] = FORMAT
    session_id: Annotated[SessionId, _ID]
    run_id: Annotated[RunId, _ID]
    captured_at: datetime
    status: Annotated[RunStatus, _check_terminal]
    summary: Annotated[str, Within(1, limits.RUN_SUMMARY_CHARS_MAX)]
    request_preview: Annotated[str, _PREVIEW] | None = None
    outcome_preview: Annotated[str, _PREVIEW] | None = None
    artifact_ids: Annotated[tuple[Annotated[ArtifactId, _ID], ...], Within(0, limits.RUN_ARTIFACTS_MAX)]
    failure_markers: Annotated[tuple[Annotated[str, _PREVIEW], ...], Within(0, MARKERS_MAX)]
    scope_keys: Annotated[tuple[Annotated[str, _scope_key], ...], Within(0, SCOPES_MAX)]
    capture: CaptureState


def serialize_memory(memory: RunMemory) -> Plain:
    return serialize(StoredMemory(**{**vars(memory), "scope_keys": tuple(map(str, memory.scope_keys))}))


def deserialize_memory(plain: object) -> RunMemory:
    fields = dict(vars(deserialize(StoredMemory, plain)))
    del fields["format"]
    return RunMemory(**{**fields, "scope_keys": tuple(map(_scope, fields["scope_keys"]))})


def damage_error(problem: str) -> Corrupt:
    return Corrupt(f"a run memory is damaged: {problem}", code=_DAMAGE.code, hint=_DAMAGE.hint)


def body_of(memory: RunMemory) -> bytes:
    """The memory as canonical JSON; Invalid when it could not be read again."""
    plain = serialize_memory(memory)
    try:
        deserialize_memory(plain)
    except Corrupt as error:
        raise Invalid(
            f"the memory of run {memory.run_id!r:.80} cannot be kept: {error.sentence}",
            code="run-memory.unstorable",
            hint="report it with this text: the journal is not touched, and the memory can be built again",
        ) from error
    return _canonical(plain)


def checksum_of(body: bytes) -> str:
    return blake2b(body, digest_size=CHECKSUM_BYTES).hexdigest()


def memory_of(body: bytes, *, checksum: str, run_id: RunId) -> RunMemory:
    """The memory that a body holds; Corrupt when it is damaged, or that of another run."""
    if checksum_of(body) != checksum:
        raise damage_error("its checksum does not fit")
    return _read(_parse_json(body), run_id)


def document_of(memory: RunMemory) -> bytes:
    body = body_of(memory)
    return b'{"checksum":"%s","memory":%s}\n' % (checksum_of(body).encode(), body)


def memory_in(document: bytes, *, run_id: RunId | None) -> RunMemory:
    """The memory that a document holds. Without a run id it may be that of any run."""
    parsed = _parse_json(document)
    if not isinstance(parsed, Mapping) or set(parsed) != {"checksum", "memory"}:
        raise damage_error("it is not a checksum with a memory")
    if checksum_of(_canonical(parsed["memory"])) != parsed["checksum"]:
        raise damage_error("its checksum does not fit")
    return _read(parsed["memory"], run_id)


def unreadable(run_id: RunId | None, where: str, error: Corrupt) -> Unreadable:
    return Unreadable(run_id=run_id, where=where, problem=error.sentence)


def _read(plain: object, run_id: RunId | None) -> RunMemory:
    memory = deserialize_memory(plain)
    if run_id is not None and memory.run_id != run_id:
        raise damage_error("it is that of another run")
    return memory


def _canonical(plain: object) -> bytes:
    return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)


def _parse_json(data: bytes) -> JsonValue:
    try:
        return cast("JsonValue", orjson.loads(data))
    except orjson.JSONDecodeError:
        raise damage_error("it is not JSON") from None
