"""Documents of skills as plain values, as they are stored and told, and read back exactly as written."""

from collections.abc import Mapping
from typing import cast

from runlore.domain.errors import Corrupt
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.storable import is_storable

_TEXTS = ("name", "description", "body", "version", "author", "license", "compatibility", "allowed_tools")
_LISTS = ("topics", "actions")
_NAMES = frozenset({*_TEXTS, *_LISTS, "quality", "auto_load", "metadata"})


def document_to_plain(document: SkillDocument) -> dict[str, JsonValue]:
    """The plain form, every field of it."""
    return {
        "name": document.name,
        "description": document.description,
        "body": document.body,
        "topics": list(document.topics),
        "actions": list(document.actions),
        "version": document.version,
        "author": document.author,
        "quality": document.quality.value,
        "auto_load": document.auto_load,
        "license": document.license,
        "compatibility": document.compatibility,
        "allowed_tools": document.allowed_tools,
        "metadata": dict(document.metadata),
    }


def document_from_plain(plain: object) -> SkillDocument:
    """Read the plain form; Corrupt (`skill.damaged`) names the field that is not as it was written."""
    if not isinstance(plain, Mapping):
        raise _damaged("it is not an object")
    body = cast("JsonObject", plain)
    if unknown := set(body) - _NAMES:
        raise _damaged(f"it has a field {min(map(str, unknown))!r:.80}, which is not known")
    texts = {name: _text(body.get(name), name) for name in _TEXTS}
    return SkillDocument(
        **texts,
        topics=_texts(body, "topics"),
        actions=_texts(body, "actions"),
        quality=_quality(body),
        auto_load=_flag(body, "auto_load"),
        metadata=_metadata(body),
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not is_storable(value):
        raise _damaged(f"its {name} is not a text")
    return value


def _texts(body: JsonObject, name: str) -> tuple[str, ...]:
    value = body.get(name)
    if not isinstance(value, list | tuple):
        raise _damaged(f"its {name} are not a list")
    return tuple(_text(each, name) for each in value)


def _flag(body: JsonObject, name: str) -> bool:
    value = body.get(name)
    if not isinstance(value, bool):
        raise _damaged(f"its {name} is neither true nor false")
    return value


def _quality(body: JsonObject) -> Quality:
    try:
        return Quality(_text(body.get("quality"), "quality"))
    except ValueError:
        raise _damaged("its quality is not known") from None


def _metadata(body: JsonObject) -> dict[str, str]:
    value = body.get("metadata")
    if not isinstance(value, Mapping):
        raise _damaged("its metadata are not a map")
    return {_text(key, "metadata"): _text(each, "metadata") for key, each in value.items()}


def _damaged(problem: str) -> Corrupt:
    return Corrupt(
        f"the stored document of a skill is damaged: {problem}",
        code="skill.damaged",
        hint="restore it from a backup, or delete the skill",
    )
