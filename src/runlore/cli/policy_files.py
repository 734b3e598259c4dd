"""Policies as people write them: a file that holds one, and single fields named by their path."""

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import orjson

from runlore.cli import options
from runlore.cli.given_files import text_of
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, JsonValue

_FILE_MIB_MAX = 1
_STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,6})\]")
_PATH = re.compile(r"[^.\[\]]+(\[\d{1,6}\]|\.[^.\[\]]+)*")
# What stands beside the policy where `policy show --json` prints it, or where it is sent to the API.
_BESIDE = frozenset({"name", "revision", "updated_at", "actor", "expected_revision"})


def policy_document(name: PolicyName, path: str) -> JsonObject:
    """The policy of a file: its fields alone, or under its name, or as `policy show --json` prints them.

    One file can hold several policies, each under its name; anything else beside a table that is taken is
    refused, for it would have no effect.
    """
    text = text_of(path, mib_max=_FILE_MIB_MAX, too_large="it is not a policy", refused=_refused)
    document = _parsed(path, text)
    for key in _names(name):
        inner = document.get(key)
        if isinstance(inner, dict):
            others = {other for policy in PolicyName for other in _names(policy)} | {"skills"}
            _refuse_others(path, document, key, others)
            return inner
    inner = document.get("policy")
    if isinstance(inner, dict):
        _refuse_others(path, document, "policy", _BESIDE | {"policy"})
        return inner
    return document


def with_fields(document: JsonObject, assignments: Iterable[str]) -> JsonObject:
    """The policy with some fields changed, each given as `PATH=VALUE`."""
    changed = cast("dict[str, Any]", copy.deepcopy(dict(document)))
    for text in assignments:
        path, value = _assignment(text)
        _assign(changed, path, value)
    return changed


def _names(name: PolicyName) -> tuple[str, str]:
    return name.value, name.value.replace("-", "_")


def _refuse_others(path: str, document: JsonObject, key: str, allowed: Iterable[str]) -> None:
    for other in document:
        if other not in set(allowed):
            raise _refused(
                f"{path} holds {options.shortened(other)!r} beside the table {key!r}",
                f"move it into the table {key}, or take it out: it would have no effect",
            )


def _assignment(text: str) -> tuple[str, JsonValue]:
    """`PATH=VALUE`; a value that is no JSON is a text."""
    path, equals, value = text.partition("=")
    if not equals or not _PATH.fullmatch(path.strip()):
        raise _no_field(text)
    try:
        return path.strip(), cast("JsonValue", orjson.loads(value))
    except orjson.JSONDecodeError:
        return path.strip(), value.strip()


def _assign(document: dict[str, Any], path: str, value: JsonValue) -> None:
    """Put a value at a path. A list can grow by one; whether the field exists is for the policy to say."""
    steps = [int(place) if place else name for name, place in _STEP.findall(path)]
    inner: Any = document
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, str) and isinstance(inner, dict):
            inner.setdefault(step, [] if isinstance(following, int) else {})
        elif isinstance(step, int) and isinstance(inner, list) and step <= len(inner):
            inner.extend([{}] if step == len(inner) else [])
        else:
            raise _no_field(path)
        if following is None:
            inner[step] = value
        inner = inner[step]


def _no_field(text: str) -> Invalid:
    return Invalid(
        f"{options.shortened(text)!r} sets no field",
        code="policy.source",
        hint="write it as --set retention_days=60, or --set publication.rules[0].min_confidence=90",
    )


def _parsed(path: str, text: str) -> Mapping[str, JsonValue]:
    """JSON where it begins like an object, else TOML."""
    import tomllib

    try:
        if not text.lstrip().startswith("{"):
            return cast("Mapping[str, JsonValue]", tomllib.loads(text))
        return cast("Mapping[str, JsonValue]", orjson.loads(text))
    except (tomllib.TOMLDecodeError, orjson.JSONDecodeError, RecursionError) as error:
        raise _refused(
            f"{path} is neither TOML nor a JSON object: {error}",
            "`runlore policy show NAME --json` prints one that can be changed and put again",
        ) from None


def _refused(problem: str, hint: str) -> Invalid:
    return Invalid(problem, code="policy.file", hint=hint)
