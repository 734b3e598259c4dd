"""Skills as they are kept, what fits a turn, what curation did, and the log of it all."""

from collections.abc import Iterable, Mapping

from runlore.daemon.answers.shapes import (
    cursor_of,
    each,
    flag,
    items_of,
    listed,
    optional,
    optional_text,
    optional_time,
    reader,
    texts,
    time_of,
    time_to_plain,
)
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text, as_whole
from runlore.domain.run import RunId
from runlore.domain.skill import (
    LearnedFrom,
    Quality,
    Skill,
    SkillDocument,
    SkillEvent,
    SkillEventKind,
    SkillId,
    SkillOrigin,
    SkillState,
    Usage,
)
from runlore.domain.skill_curation import Curation, CurationAction, CurationId, CurationKind
from runlore.domain.skill_document_plain import document_to_plain
from runlore.domain.suggestion import SuggestionId
from runlore.domain.taint import Provenance
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops


def skill_to_plain(skill: Skill) -> Plain:
    """A skill: what it says, where it comes from, how it stands and how it fared."""
    return {
        "skill_id": skill.skill_id,
        **document_to_plain(skill.document),
        "text": skill.text,
        "origin": skill.origin.value,
        "state": skill.state.value,
        "state_actor": skill.state_actor,
        "merged_into": skill.merged_into,
        "provenance": {
            "untrusted": skill.provenance.untrusted,
            "needs_review": skill.provenance.needs_review,
            "sources": list(skill.provenance.sources),
        },
        "suggestion_id": skill.suggestion_id,
        "pattern": skill.pattern,
        "also_from": [
            {"suggestion_id": other.suggestion_id, "pattern": other.pattern} for other in skill.also_from
        ],
        "source_run_id": skill.source_run_id,
        "usage": {
            "times": skill.usage.times,
            "last_used_at": time_to_plain(skill.usage.last_used_at),
            "succeeded": skill.usage.succeeded,
            "failed": skill.usage.failed,
        },
        "created_at": format_time(skill.created_at),
        "updated_at": format_time(skill.updated_at),
        "revision": skill.revision,
    }


@reader
def skill_from_plain(plain: JsonValue) -> Skill:
    """Read a skill."""
    return _read_skill(plain)


def skills_to_plain(skills: Iterable[Skill], next_cursor: str | None = None) -> Plain:
    """Several skills, or a page of them."""
    return listed(map(skill_to_plain, skills), next_cursor)


@reader
def skills_from_plain(plain: JsonValue) -> tuple[Skill, ...]:
    """Read several skills."""
    return items_of(plain, _read_skill)


@reader
def skill_page_from_plain(plain: JsonValue) -> ops.SkillPage:
    """Read a page of skills."""
    return ops.SkillPage(items=items_of(plain, _read_skill), next_cursor=cursor_of(plain))


def fitting_to_plain(found: ops.FittingSkills) -> Plain:
    """The skills that fit a turn, each with how well and why."""
    items: list[JsonValue] = [
        {
            **skill_to_plain(fitting.skill),
            "match": {
                "score": fitting.score,
                "parts": [{"reason": reason, "points": points} for reason, points in fitting.parts],
                "auto_load": fitting.auto_load,
            },
        }
        for fitting in found.items
    ]
    return {**listed(items), "semantic": found.semantic, "remark": found.remark}


@reader
def fitting_from_plain(plain: JsonValue) -> ops.FittingSkills:
    """Read the skills that fit a turn."""
    fields = as_object(plain)
    return ops.FittingSkills(
        items=items_of(plain, _read_fitting),
        semantic=flag(fields["semantic"]),
        remark=as_text(fields["remark"]),
    )


def curation_to_plain(curation: Curation) -> Plain:
    """What a curation did, with the skills as they were."""
    return {
        "curation_id": curation.curation_id,
        "at": format_time(curation.at),
        "actor": curation.actor,
        "actions": [_action_to_plain(action) for action in curation.actions],
        "before": [skill_to_plain(skill) for skill in curation.before],
        "revisions": [
            {"skill_id": skill_id, "revision": revision} for skill_id, revision in curation.revisions
        ],
        "comment": curation.comment,
        "undone_at": time_to_plain(curation.undone_at),
        "undone_by": curation.undone_by,
    }


@reader
def curation_from_plain(plain: JsonValue) -> Curation:
    """Read what a curation did."""
    return _read_curation(plain)


def curations_to_plain(curations: Iterable[Curation]) -> Plain:
    """What curations did."""
    return listed(map(curation_to_plain, curations))


@reader
def curations_from_plain(plain: JsonValue) -> tuple[Curation, ...]:
    """Read what curations did."""
    return items_of(plain, _read_curation)


def curated_to_plain(answer: ops.CurateAnswer) -> Plain:
    """What curation would do, or did."""
    curation = answer.curation
    return {
        "actions": [_action_to_plain(action) for action in answer.actions],
        "curation": None if curation is None else curation_to_plain(curation),
    }


@reader
def curated_from_plain(plain: JsonValue) -> ops.CurateAnswer:
    """Read what curation would do, or did."""
    fields = as_object(plain)
    return ops.CurateAnswer(
        actions=each(_read_action, fields["actions"]),
        curation=optional(_read_curation, fields["curation"]),
    )


def skill_log_to_plain(log: ops.SkillLog) -> Plain:
    """Lines of the log of skills."""
    return listed(map(_event_to_plain, log.items), log.next_cursor)


@reader
def skill_log_from_plain(plain: JsonValue) -> ops.SkillLog:
    """Read lines of the log of skills."""
    return ops.SkillLog(items=items_of(plain, _read_event), next_cursor=cursor_of(plain))


def _action_to_plain(action: CurationAction) -> Plain:
    return {
        "kind": action.kind.value,
        "gone": action.gone,
        "gone_name": action.gone_name,
        "kept": action.kept,
        "kept_name": action.kept_name,
        "reason": action.reason,
    }


def _event_to_plain(event: SkillEvent) -> Plain:
    return {
        "number": event.number,
        "kind": event.kind.value,
        "name": event.name,
        "actor": event.actor,
        "at": format_time(event.at),
        "reason": event.reason,
        "skill_id": event.skill_id,
        "suggestion_id": event.suggestion_id,
    }


def _read_document(fields: Mapping[str, JsonValue]) -> SkillDocument:
    return SkillDocument(
        name=as_text(fields["name"]),
        description=as_text(fields["description"]),
        body=as_text(fields["body"]),
        topics=texts(fields["topics"]),
        actions=texts(fields["actions"]),
        version=as_text(fields["version"]),
        author=as_text(fields["author"]),
        quality=Quality(as_text(fields["quality"])),
        auto_load=flag(fields["auto_load"]),
        license=as_text(fields["license"]),
        compatibility=as_text(fields["compatibility"]),
        allowed_tools=as_text(fields["allowed_tools"]),
        metadata={name: as_text(value) for name, value in as_object(fields["metadata"]).items()},
    )


def _read_skill(plain: JsonValue) -> Skill:
    fields = as_object(plain)
    provenance, usage = as_object(fields["provenance"]), as_object(fields["usage"])
    return Skill(
        skill_id=SkillId(as_text(fields["skill_id"])),
        document=_read_document(fields),
        text=as_text(fields["text"]),
        origin=SkillOrigin(as_text(fields["origin"])),
        state=SkillState(as_text(fields["state"])),
        state_actor=as_text(fields["state_actor"]),
        merged_into=optional(_skill_id, fields["merged_into"]),
        provenance=Provenance(
            untrusted=flag(provenance["untrusted"]),
            needs_review=flag(provenance["needs_review"]),
            sources=texts(provenance["sources"]),
        ),
        suggestion_id=optional(_suggestion_id, fields["suggestion_id"]),
        pattern=as_text(fields["pattern"]),
        also_from=each(_read_learned_from, fields["also_from"]),
        source_run_id=_run_id(fields["source_run_id"]),
        usage=Usage(
            times=as_whole(usage["times"]),
            last_used_at=optional_time(usage["last_used_at"]),
            succeeded=as_whole(usage["succeeded"]),
            failed=as_whole(usage["failed"]),
        ),
        created_at=time_of(fields["created_at"]),
        updated_at=time_of(fields["updated_at"]),
        revision=as_whole(fields["revision"]),
    )


def _read_fitting(plain: JsonValue) -> ops.FittingSkill:
    match = as_object(as_object(plain)["match"])
    return ops.FittingSkill(
        skill=_read_skill(plain),
        score=as_whole(match["score"]),
        parts=each(_read_part, match["parts"]),
        auto_load=flag(match["auto_load"]),
    )


def _read_part(plain: JsonValue) -> tuple[str, int]:
    fields = as_object(plain)
    return as_text(fields["reason"]), as_whole(fields["points"])


def _read_curation(plain: JsonValue) -> Curation:
    fields = as_object(plain)
    return Curation(
        curation_id=CurationId(as_text(fields["curation_id"])),
        at=time_of(fields["at"]),
        actor=as_text(fields["actor"]),
        actions=each(_read_action, fields["actions"]),
        before=each(_read_skill, fields["before"]),
        revisions=each(_read_revision, fields["revisions"]),
        comment=as_text(fields["comment"]),
        undone_at=optional_time(fields["undone_at"]),
        undone_by=as_text(fields["undone_by"]),
    )


def _read_revision(plain: JsonValue) -> tuple[SkillId, int]:
    fields = as_object(plain)
    return _skill_id(fields["skill_id"]), as_whole(fields["revision"])


def _read_action(plain: JsonValue) -> CurationAction:
    fields = as_object(plain)
    return CurationAction(
        kind=CurationKind(as_text(fields["kind"])),
        gone=_skill_id(fields["gone"]),
        gone_name=as_text(fields["gone_name"]),
        kept=optional(_skill_id, fields["kept"]),
        kept_name=as_text(fields["kept_name"]),
        reason=as_text(fields["reason"]),
    )


def _read_event(plain: JsonValue) -> SkillEvent:
    fields = as_object(plain)
    return SkillEvent(
        number=as_whole(fields["number"]),
        kind=SkillEventKind(as_text(fields["kind"])),
        name=as_text(fields["name"]),
        actor=as_text(fields["actor"]),
        at=time_of(fields["at"]),
        reason=as_text(fields["reason"]),
        skill_id=optional(_skill_id, fields["skill_id"]),
        suggestion_id=optional(_suggestion_id, fields["suggestion_id"]),
    )


def _read_learned_from(plain: JsonValue) -> LearnedFrom:
    fields: Mapping[str, JsonValue] = as_object(plain)
    return LearnedFrom(
        suggestion_id=_suggestion_id(fields["suggestion_id"]), pattern=as_text(fields["pattern"])
    )


def _skill_id(value: JsonValue) -> SkillId:
    return SkillId(as_text(value))


def _suggestion_id(value: JsonValue) -> SuggestionId:
    return SuggestionId(as_text(value))


def _run_id(value: JsonValue) -> RunId | None:
    told = optional_text(value)
    return None if told is None else RunId(told)
