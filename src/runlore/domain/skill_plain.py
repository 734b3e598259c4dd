"""Skills as plain values, as they are stored: what one says, and whole skills as curation keeps them.

What is read back is exactly what was written; anything else is Corrupt (`skill.damaged`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from runlore.domain.errors import Corrupt, RunloreError
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.skill import LearnedFrom, Skill, SkillDocument, SkillId, SkillOrigin, SkillState, Usage
from runlore.domain.skill_curation import Curation, CurationAction, CurationId, CurationKind
from runlore.domain.skill_document_plain import document_from_plain, document_to_plain
from runlore.domain.suggestion import SuggestionId
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import format_time, parse_time

_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def said_to_plain(skill: Skill) -> dict[str, JsonValue]:
    """What a skill says, and where its words come from: all of it may be words of runs."""
    return {
        "document": dict(document_to_plain(skill.document)),
        "text": skill.text,
        "pattern": skill.pattern,
        "also_from": [
            {"suggestion_id": each.suggestion_id, "pattern": each.pattern} for each in skill.also_from
        ],
        "provenance": {
            "untrusted": skill.provenance.untrusted,
            "needs_review": skill.provenance.needs_review,
            "sources": list(skill.provenance.sources),
        },
    }


def skill_to_plain(skill: Skill) -> dict[str, JsonValue]:
    """A whole skill."""
    return {
        **said_to_plain(skill),
        "skill_id": skill.skill_id,
        "origin": skill.origin.value,
        "state": skill.state.value,
        "state_actor": skill.state_actor,
        "merged_into": skill.merged_into,
        "suggestion_id": skill.suggestion_id,
        "source_run_id": skill.source_run_id,
        "usage": {
            "times": skill.usage.times,
            "last_used_at": _told(skill.usage.last_used_at),
            "succeeded": skill.usage.succeeded,
            "failed": skill.usage.failed,
        },
        "created_at": format_time(skill.created_at),
        "updated_at": format_time(skill.updated_at),
        "revision": skill.revision,
    }


def skill_from_plain(plain: object) -> Skill:
    """Read a whole skill."""
    try:
        return _skill(_object(plain))
    except (RunloreError, *_UNREADABLE) as error:
        raise damaged() from error


class Said(NamedTuple):
    """What a skill says, read from its plain form."""

    document: SkillDocument
    text: str
    pattern: str
    also_from: tuple[LearnedFrom, ...]
    provenance: Provenance


def said_from_plain(plain: JsonObject) -> Said:
    """Read what a skill says; the errors of reading are the caller's to translate."""
    provenance = _object(plain["provenance"])
    return Said(
        document=document_from_plain(plain["document"]),
        text=_text(plain["text"]),
        pattern=_text(plain["pattern"]),
        also_from=tuple(_learned_from(_object(each)) for each in _list(plain["also_from"])),
        provenance=Provenance(
            untrusted=_flag(provenance["untrusted"]),
            needs_review=_flag(provenance["needs_review"]),
            sources=tuple(map(_text, _list(provenance["sources"]))),
        ),
    )


def curation_to_plain(curation: Curation) -> dict[str, JsonValue]:
    """What a curation did, with the skills as they were."""
    return {
        "actions": [
            {
                "kind": action.kind.value,
                "gone": action.gone,
                "gone_name": action.gone_name,
                "kept": action.kept,
                "kept_name": action.kept_name,
                "reason": action.reason,
            }
            for action in curation.actions
        ],
        "before": [skill_to_plain(skill) for skill in curation.before],
        "revisions": [[skill_id, revision] for skill_id, revision in curation.revisions],
        "contents": dict(curation.contents),
        "comment": curation.comment,
    }


def curation_from_plain(plain: object, *, curation_id: CurationId, at: datetime, actor: str) -> Curation:
    """Read what a curation did."""
    try:
        body = _object(plain)
        return Curation(
            curation_id=curation_id,
            at=at,
            actor=actor,
            actions=tuple(_action(_object(each)) for each in _list(body["actions"])),
            before=tuple(_skill(_object(each)) for each in _list(body["before"])),
            revisions=tuple(_revision(each) for each in _list(body["revisions"])),
            contents={key: _text(digest) for key, digest in _object(body["contents"]).items()},
            comment=_text(body["comment"]),
        )
    except (RunloreError, *_UNREADABLE) as error:
        raise damaged() from error


def damaged() -> Corrupt:
    """The error for a skill that cannot be read."""
    return Corrupt("a stored skill is damaged", code="skill.damaged", hint="restore the store from a backup")


def _skill(body: JsonObject) -> Skill:
    said = said_from_plain(body)
    usage = _object(body["usage"])
    merged_into, suggestion_id = _optional(body["merged_into"]), _optional(body["suggestion_id"])
    source_run_id = _optional(body["source_run_id"])
    return Skill(
        skill_id=SkillId(_text(body["skill_id"])),
        document=said.document,
        text=said.text,
        origin=SkillOrigin(_text(body["origin"])),
        state=SkillState(_text(body["state"])),
        state_actor=_text(body["state_actor"]),
        merged_into=None if merged_into is None else SkillId(merged_into),
        provenance=said.provenance,
        suggestion_id=None if suggestion_id is None else SuggestionId(suggestion_id),
        pattern=said.pattern,
        also_from=said.also_from,
        source_run_id=None if source_run_id is None else RunId(source_run_id),
        usage=Usage(
            times=_number(usage["times"]),
            last_used_at=_time(usage["last_used_at"]),
            succeeded=_number(usage["succeeded"]),
            failed=_number(usage["failed"]),
        ),
        created_at=parse_time(_text(body["created_at"])),
        updated_at=parse_time(_text(body["updated_at"])),
        revision=_number(body["revision"]),
    )


def _action(body: JsonObject) -> CurationAction:
    kept = _optional(body["kept"])
    return CurationAction(
        kind=CurationKind(_text(body["kind"])),
        gone=SkillId(_text(body["gone"])),
        gone_name=_text(body["gone_name"]),
        kept=None if kept is None else SkillId(kept),
        kept_name=_text(body["kept_name"]),
        reason=_text(body["reason"]),
    )


def _revision(plain: JsonValue) -> tuple[SkillId, int]:
    skill_id, revision = _list(plain)
    return SkillId(_text(skill_id)), _number(revision)


def _learned_from(body: JsonObject) -> LearnedFrom:
    return LearnedFrom(
        suggestion_id=SuggestionId(_text(body["suggestion_id"])), pattern=_text(body["pattern"])
    )


def _told(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def _time(value: JsonValue) -> datetime | None:
    return None if value is None else parse_time(_text(value))


def _optional(value: JsonValue) -> str | None:
    return None if value is None else _text(value)


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _number(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _flag(value: JsonValue) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _object(value: object) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return cast("JsonObject", value)
