"""Journal entries: what an agent reports, read once at the edge, and what Runlore writes of its own acts.

A reported event is bounded and storable, holds only the fields of its type, and has lost what must not be
kept: secrets, the keys that Runlore derives (JRN-3), and sections that Runlore rendered itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from runlore.domain import limits, session
from runlore.domain.errors import Corrupt, Invalid, RunloreError
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import redact_json
from runlore.domain.prompts.injected import strip_injected
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.records.contracts import check_text
from runlore.domain.run import Run
from runlore.domain.runs.journal import DERIVED_KEYS, REPORTED, Entry, EventType
from runlore.domain.session import Binding, plain_binding, rebind

# What a tool told stays as it was told: it is evidence, and what is remembered of a run is not taken from it.
_EVIDENCE = frozenset({"output"})

# Where a caller finds every shape with an example.
_SHOWN = "; docs/events.md shows each"
Check = Callable[[JsonValue], str | None]


def parse_entry(plain: JsonObject) -> Entry:
    kind = _type_of(plain)
    given = {name: value for name, value in plain.items() if name != "type" and not _is_derived(name)}
    _check_bounds(kind, given)
    body = _usage(given) if kind is EventType.USAGE else _fields(kind, given)
    return _clean(kind, body)


def input_entry(request: str, metadata: JsonObject) -> Entry:
    written = _without_derived(metadata)
    body: dict[str, JsonValue] = {"text": request, "metadata": written} if written else {"text": request}
    if len(request) > limits.REQUEST_CHARS_MAX:
        raise _bad(
            EventType.INPUT,
            "text",
            f"has {len(request):,} characters, more than {limits.REQUEST_CHARS_MAX:,}",
        )
    _check_bounds(EventType.INPUT, body)
    return _clean(EventType.INPUT, body)


def checkpoint_entry(text: str) -> Entry:
    """What a session's history so far comes to."""
    body: dict[str, JsonValue] = {"text": text}
    _check_bounds(EventType.CHECKPOINT, body)
    return _clean(EventType.CHECKPOINT, body)


def status_entry(run: Run) -> Entry:
    why: dict[str, JsonValue] = {"reason": run.reason, "error": run.error}
    body = {"status": run.status.value, **{name: value for name, value in why.items() if value}}
    return _clean(EventType.STATUS, body)


def binding_entry(binding: Binding) -> Entry:
    return Entry(type=EventType.BINDING, body=plain_binding(binding))


def binding_of(body: JsonObject) -> Binding:
    """The binding that a stored event tells of; an emptied one tells of none. Corrupt when it is neither."""
    try:
        binding = session.binding_of(body)
        return rebind(
            binding,
            persona_id=binding.persona_id,
            project_ids=binding.project_ids,
            capability_scope=binding.capability_scope,
        )
    except RunloreError as error:
        raise Corrupt(
            "a binding event of the journal cannot be read",
            code="journal.binding",
            hint="restore the store from a backup, or bind the session again",
        ) from error


@dataclass(frozen=True, kw_only=True)
class _Field:
    text: str
    check: Check
    required: bool = True


def _type_of(plain: JsonObject) -> EventType:
    known = ", ".join(sorted(REPORTED))
    if not isinstance(plain, Mapping):
        raise Invalid(
            "an event is not an object",
            code="event.type",
            hint=f"send an object with a type: {known}{_SHOWN}",
        )
    given = plain.get("type")
    if not isinstance(given, str) or given not in REPORTED:
        said = f"{given!r:.80} is not a type of event" if "type" in plain else "an event has no type"
        raise Invalid(said, code="event.type", hint=f"the types that an agent reports are {known}{_SHOWN}")
    return EventType(given)


def _fields(kind: EventType, given: JsonObject) -> dict[str, JsonValue]:
    known = _FIELDS[kind]
    for name in given:
        if name not in known:
            raise _bad(kind, name, "is not a field of it")
    body: dict[str, JsonValue] = {}
    for name, field in known.items():
        value = given.get(name)
        # A null in place of something optional is the same as leaving it out.
        if value is None and not field.required:
            continue
        if name not in given:
            raise _bad(kind, name, "is missing")
        if problem := field.check(value):
            raise _bad(kind, name, problem)
        body[name] = _without_derived(value) if name == "arguments" else value
    return body


def _usage(given: JsonObject) -> dict[str, JsonValue]:
    """What the model's maker reports, as it reports it: counts, and short words such as a service tier."""
    body: dict[str, JsonValue] = {}
    for name, value in given.items():
        if value is None:
            continue
        if problem := _text(value, limits.MODEL_CHARS_MAX) if name == "model" else _report(name, value):
            raise _bad(EventType.USAGE, name, problem)
        body[name] = value
    return body


_NO_COUNT = "must be a number from 0 on"


def _report(name: str, value: JsonValue) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None if value >= 0 else _NO_COUNT
    if name.endswith("tokens"):
        return _NO_COUNT
    if isinstance(value, Mapping):
        return next((problem for key, item in value.items() if (problem := _report(key, item))), None)
    if isinstance(value, str):
        return _text(value, limits.MODEL_CHARS_MAX)
    if isinstance(value, Sequence):
        return next((problem for item in value if (problem := _report("", item))), None)
    return None


def _clean(kind: EventType, body: JsonObject) -> Entry:
    stripped = {name: value if name in _EVIDENCE else _echoes_stripped(value) for name, value in body.items()}
    clean, _ = redact_json(stripped)
    return Entry(type=kind, body=cast("JsonObject", clean))


def _echoes_stripped(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return strip_injected(value)
    if isinstance(value, Mapping):
        return {key: _echoes_stripped(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_echoes_stripped(item) for item in value]
    return value


def _without_derived(value: JsonValue, depth: int = 1) -> JsonValue:
    """The value without the keys that Runlore derives, at any depth; too deep a one is refused later."""
    if isinstance(value, str) or depth > limits.EVENT_DEPTH_MAX:
        return value
    if isinstance(value, Mapping):
        return {key: _without_derived(item, depth + 1) for key, item in value.items() if not _is_derived(key)}
    if isinstance(value, Sequence):
        return [_without_derived(item, depth + 1) for item in value]
    return value


def _is_derived(key: str) -> bool:
    return key.strip().lower() in DERIVED_KEYS


def _check_bounds(kind: EventType, body: JsonObject) -> None:
    size = _measure(kind, body, 1)
    if size > limits.EVENT_BYTES_MAX:
        raise Invalid(
            f"the {kind} event holds about {size:,} bytes, more than {limits.EVENT_BYTES_MAX:,}",
            code="event.size",
            hint="keep the large part as an artifact, and report its beginning",
        )


def _measure(kind: EventType, value: JsonValue, depth: int) -> int:
    if depth > limits.EVENT_DEPTH_MAX:
        raise Invalid(
            f"the {kind} event is nested more than {limits.EVENT_DEPTH_MAX} levels deep",
            code="event.depth",
            hint="flatten it, or send the inner part as a text",
        )
    if isinstance(value, str):
        return 2 + len(check_text(f"the {kind} event", value).encode())
    if isinstance(value, Mapping):
        return 2 + sum(
            4 + len(check_text(f"a key of the {kind} event", key).encode()) + _measure(kind, item, depth + 1)
            for key, item in value.items()
        )
    if isinstance(value, Sequence):
        return 2 + sum(1 + _measure(kind, item, depth + 1) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad(kind, "a number", "is not finite, which JSON has no word for")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _bad(kind, "a number", "does not fit into 64 bits")
    return 8


def _text(value: JsonValue, chars_max: int | None = None) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    if chars_max is not None and len(value) > chars_max:
        return f"has {len(value):,} characters, more than {chars_max:,}"
    return None


def _name(value: JsonValue) -> str | None:
    if isinstance(value, str) and not value.strip():
        return "must not be blank"
    return _text(value, limits.ID_CHARS_MAX)


def _source(value: JsonValue) -> str | None:
    return _text(value, limits.PATH_CHARS_MAX)


def _structure(value: JsonValue) -> str | None:
    return None if isinstance(value, str | Mapping | Sequence) else "must be a text, an object or a list"


def _whole(value: JsonValue) -> str | None:
    return None if isinstance(value, int) and not isinstance(value, bool) else "must be a whole number"


def _flag(value: JsonValue) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _bad(kind: EventType, name: str, problem: str) -> Invalid:
    listed = ", ".join(
        field if rule.required else f"{field} (optional)" for field, rule in _FIELDS.get(kind, {}).items()
    )
    return Invalid(
        f"{name!r:.80} of the {kind} event {problem}",
        code="event.field",
        hint=f"its fields are: {listed or 'model, and counts such as input_tokens'}{_SHOWN}",
    )


_FIELDS: Mapping[EventType, Mapping[str, _Field]] = {
    EventType.ASSISTANT_MESSAGE: {"text": _Field(text="what the agent said", check=_text)},
    EventType.TOOL_CALL: {
        "call_id": _Field(text="the call's id, which its result names too", check=_name),
        "name": _Field(text="the tool", check=_name),
        "arguments": _Field(text="what it was called with: an object, a list or a text", check=_structure),
    },
    EventType.TOOL_RESULT: {
        "call_id": _Field(text="the id of the call that it answers", check=_name),
        "output": _Field(text="what came back: a text, an object or a list", check=_structure),
        "exit_code": _Field(text="the exit code of a command", check=_whole, required=False),
        "is_error": _Field(text="true where the call failed", check=_flag, required=False),
        "source": _Field(
            text="the address or path that was read; what comes from outside marks what is learned",
            check=_source,
            required=False,
        ),
    },
}


def reported_fields() -> tuple[tuple[EventType, str, bool, str], ...]:
    """Each field of the events that agents report: its event, its name, whether it is needed, what it is."""
    return tuple(
        (kind, name, field.required, field.text)
        for kind, fields in _FIELDS.items()
        for name, field in fields.items()
    )
