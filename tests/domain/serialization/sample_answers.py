"""One value of each type that is stored or answered, always the same, and the file that holds their JSON.

`python -m tests.domain.serialization.sample_answers` writes the file again. Do that only for a change that
other programs and older rows can live with.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NewType

import orjson

from runlore.domain.access import AccessToken
from runlore.domain.agent.approval import Approval
from runlore.domain.json_form import Within
from runlore.domain.record import JsonValue, Layer, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.serialization.codec import serialize
from runlore.domain.skill import SkillWords
from runlore.domain.suggestion import Suggestion
from runlore.ports import operations as ops
from runlore.storage.run_memory_body import StoredMemory

FILE = Path(__file__).with_name("sample_answers.jsonl")
# What is stored or sent and no operation answers it.
BESIDE = (Approval, Suggestion, SkillWords, StoredMemory, ToldRun, ops.RunEnded)


def operations() -> Iterator[tuple[str, Any]]:
    """The name of every operation, and the type that it answers."""
    for name, method in inspect.getmembers(ops.Operations, inspect.isfunction):
        if not name.startswith("_"):
            told = typing.get_type_hints(method)["return"]
            # A stream is told one by one.
            yield name, typing.get_args(told)[0] if typing.get_origin(told) is Iterator else told


def types_with_json() -> list[type]:
    """Every dataclass that an answer or a stored value is made of, by its name."""
    found: dict[type, None] = {}
    waiting: list[Any] = [kind for _, kind in operations()] + list(BESIDE)
    while waiting:
        kind = waiting.pop()
        waiting += [part for part in typing.get_args(kind) if not isinstance(part, Within)]
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind not in found:
            found[kind] = None
            waiting += typing.get_type_hints(kind, localns={"JsonValue": str}, include_extras=True).values()
    return sorted(found, key=lambda kind: (kind.__name__, kind.__module__))


def sample(kind: Any, name: str = "") -> Any:
    """The value. What stands in a list has a line of its own, so a list of dataclasses is empty here."""
    if kind in _SAMPLES:
        return _SAMPLES[kind]
    if isinstance(kind, NewType):
        return sample(kind.__supertype__, name)
    if typing.get_args(kind):
        return _several(typing.get_origin(kind), typing.get_args(kind), name)
    if kind in (str, int):
        return f"{name} \u00e9" if kind is str else len(name)
    if issubclass(kind, Enum):
        return list(kind)[-1]
    hints = typing.get_type_hints(kind, localns={"JsonValue": JsonValue}, include_extras=True)
    return kind(**{field.name: sample(hints[field.name], field.name) for field in dataclasses.fields(kind)})


def lines() -> Iterable[bytes]:
    """The JSON of all of them, a line each."""
    for kind in types_with_json():
        yield orjson.dumps({"type": kind.__name__, "json": serialize(sample(kind))})


def _several(origin: Any, arguments: tuple[Any, ...], name: str) -> Any:
    if origin is Annotated:
        bound = arguments[1]
        return bound.most if arguments[0] is int and isinstance(bound, Within) else sample(arguments[0], name)
    if origin in (types.UnionType, typing.Union):
        first = next(each for each in arguments if each is not type(None))
        return None if dataclasses.is_dataclass(first) and first is not Scope else sample(first, name)
    if issubclass(origin, Mapping):
        return (
            {"key": True} if float in typing.get_args(arguments[1]) else {"key": sample(arguments[1], name)}
        )
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(sample(part, name) for part in arguments)
    one = arguments[0]
    empty = dataclasses.is_dataclass(one) and one is not Scope
    return origin(() if empty else (sample(one, name),))


_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(milliseconds=67)
_SAMPLES: dict[Any, Any] = {
    bool: True,
    datetime: _AT,
    RunStatus: RunStatus.COMPLETED,
    Scope: Scope(ScopeKind.PROJECT, "acme"),
    ops.Status: ops.Status(
        version="1",
        state_root="/root",
        store={"kind": "sqlite", "bytes": 7},
        counts={(Layer.SEMANTIC, State.ACTIVE): 2},
        waiting=1,
        sections={"jobs": {}},
    ),
}

# Its digests are never told, so none is read back.
_SAMPLES[AccessToken] = dataclasses.replace(sample(AccessToken), digest="", previous_digest="")
_SAMPLES[StoredMemory] = dataclasses.replace(sample(StoredMemory), scope_keys=("project:acme",))

if __name__ == "__main__":
    FILE.write_bytes(b"".join(line + b"\n" for line in lines()))
