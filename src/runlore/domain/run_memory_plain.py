"""Run memories as plain values, as they are stored. What is read back is checked like a stranger's text.

`FORMAT` goes up when the stored form changes; a number that is not known is damage, since memories are
derived and only ever read by the version that wrote them or a later one.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeVar, cast

from runlore.domain import limits
from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import TERMINAL, ArtifactId, RunId, RunStatus
from runlore.domain.run_memory import CaptureState, RunMemory
from runlore.domain.scope import Scope
from runlore.domain.session import SessionId
from runlore.domain.storable import is_storable
from runlore.domain.timestamps import format_time, parse_time

FORMAT = 1
SCOPES_MAX = limits.SESSION_PROJECTS_MAX + 3
MARKERS_MAX = 3
ValueT = TypeVar("ValueT")


def memory_to_plain(memory: RunMemory) -> dict[str, JsonValue]:
    """The plain form; optional fields that are empty are left out."""
    previews = {"request_preview": memory.request_preview, "outcome_preview": memory.outcome_preview}
    return {
        "format": FORMAT,
        "session_id": memory.session_id,
        "run_id": memory.run_id,
        "captured_at": format_time(memory.captured_at),
        "status": memory.status.value,
        "summary": memory.summary,
        **{name: text for name, text in previews.items() if text is not None},
        "artifact_ids": list(memory.artifact_ids),
        "failure_markers": list(memory.failure_markers),
        "scope_keys": [str(scope) for scope in memory.scope_keys],
        "capture": memory.capture.value,
    }


def memory_from_plain(plain: object) -> RunMemory:
    """Read the plain form; Corrupt (`run-memory.damaged`) names the field that is not as it was written."""
    if not isinstance(plain, Mapping):
        raise damaged("it is not an object")
    body = cast("JsonObject", plain)
    if unknown := set(body) - _NAMES:
        raise damaged(f"it has a field {min(unknown)!r:.80}, which is not known")
    if body.get("format") != FORMAT or isinstance(body.get("format"), bool):
        raise damaged(f"its format is not {FORMAT}")
    return RunMemory(
        session_id=SessionId(_text(body, "session_id", limits.ID_CHARS_MAX)),
        run_id=RunId(_text(body, "run_id", limits.ID_CHARS_MAX)),
        captured_at=_read(body, "captured_at", _moment),
        status=_read(body, "status", _terminal),
        summary=_text(body, "summary", limits.RUN_SUMMARY_CHARS_MAX),
        request_preview=_preview(body, "request_preview"),
        outcome_preview=_preview(body, "outcome_preview"),
        artifact_ids=tuple(
            ArtifactId(text)
            for text in _texts(body, "artifact_ids", limits.RUN_ARTIFACTS_MAX, limits.ID_CHARS_MAX)
        ),
        failure_markers=_texts(body, "failure_markers", MARKERS_MAX, limits.PREVIEW_CHARS_MAX),
        scope_keys=_scopes(body),
        capture=_read(body, "capture", CaptureState),
    )


def damaged(problem: str) -> Corrupt:
    """The error for a memory that cannot be read."""
    return Corrupt(
        f"a run memory is damaged: {problem}",
        code="run-memory.damaged",
        hint="nothing needs to be done: it is skipped, and pruned at the next input or by runlore doctor",
    )


def _moment(text: str) -> datetime:
    moment = parse_time(text)
    if format_time(moment) != text:
        raise ValueError(text)
    return moment


def _terminal(text: str) -> RunStatus:
    status = RunStatus(text)
    if status not in TERMINAL:
        raise ValueError(text)
    return status


def _scopes(body: JsonObject) -> tuple[Scope, ...]:
    texts = _texts(body, "scope_keys", SCOPES_MAX, limits.ID_CHARS_MAX + len("workspace:"))
    try:
        return tuple(map(_scope, texts))
    except RunloreError:
        raise damaged("its scope_keys hold something that is no scope") from None


@lru_cache(maxsize=1_024)
def _scope(text: str) -> Scope:
    """The memories of a session mostly name the same scopes."""
    return Scope.parse(text)


def _read(body: JsonObject, name: str, make: Callable[[str], ValueT]) -> ValueT:
    try:
        return make(_text(body, name, limits.ID_CHARS_MAX))
    except (ValueError, RunloreError):
        raise damaged(f"its {name} is not a value that it can have") from None


def _preview(body: JsonObject, name: str) -> str | None:
    return _text(body, name, limits.PREVIEW_CHARS_MAX) if name in body else None


def _text(body: JsonObject, name: str, chars_max: int) -> str:
    return _checked(body.get(name), name, chars_max)


def _texts(body: JsonObject, name: str, most: int, chars_max: int) -> tuple[str, ...]:
    values = body.get(name)
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) > most:
        raise damaged(f"its {name} is not a list of at most {most}")
    return tuple(_checked(value, name, chars_max) for value in values)


def _checked(value: JsonValue, name: str, chars_max: int) -> str:
    if not isinstance(value, str) or not value or len(value) > chars_max or not is_storable(value):
        raise damaged(f"its {name} is not a text of 1 to {chars_max} characters")
    return value


_NAMES = frozenset(
    {
        "format",
        "session_id",
        "run_id",
        "captured_at",
        "status",
        "summary",
        "request_preview",
        "outcome_preview",
        "artifact_ids",
        "failure_markers",
        "scope_keys",
        "capture",
    }
)
