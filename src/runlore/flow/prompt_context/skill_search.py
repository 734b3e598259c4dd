"""The skills that a session can find, in the form in which records are ranked.

There are few of them and their texts are short: each is scored by itself, and no index is needed.
"""

from collections.abc import Iterable, Sequence

from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Record, RecordId, State
from runlore.domain.scope import WORKSPACE
from runlore.domain.search.ranking import Collection, Impacts, Query, Score, impacts_of, score_of
from runlore.domain.skill import Skill
from runlore.domain.timestamps import to_milliseconds


@dataclass(frozen=True, kw_only=True)
class RankedSkill:
    """A skill as it is ranked, its words read once."""

    skill: Skill
    record: Record
    impacts: Impacts

    @property
    def name(self) -> str:
        return self.skill.name


@dataclass(frozen=True, kw_only=True)
class SkillSearchHit:
    """A skill and its score; 0 where nothing was asked."""

    skill: Skill
    score: int


def to_ranked(skill: Skill) -> RankedSkill:
    """A skill in the form of a record: its name and description, and as metadata its trigger words."""
    document = skill.document
    record = Record(
        record_id=RecordId(skill.skill_id),
        layer=Kind.PROCEDURE.layer,
        kind=Kind.PROCEDURE,
        state=State.ACTIVE,
        scope=WORKSPACE,
        summary=f"{document.name}: {document.description}",
        metadata={"topics": list(document.topics), "actions": list(document.actions)},
        created_by="",
        created_at=skill.updated_at,
        revision=skill.revision,
    )
    return RankedSkill(skill=skill, record=record, impacts=impacts_of(record))


def skill_collection(query: Query, skills: Sequence[RankedSkill]) -> Collection:
    return Collection(
        size=len(skills),
        newest_at_ms=max((to_milliseconds(each.record.created_at) for each in skills), default=0),
        document_frequency={
            term: sum(term in each.impacts.summary or term in each.impacts.metadata for each in skills)
            for term in query.terms
        },
    )


def best_skills(
    query: Query, skills: Iterable[RankedSkill], *, relative_to: Collection, limit: int
) -> tuple[SkillSearchHit, ...]:
    scored = ((each, _score(each, query, relative_to)) for each in skills)
    found = [
        SkillSearchHit(skill=each.skill, score=score.total) for each, score in scored if score is not None
    ]
    found.sort(key=lambda each: (-each.score, each.skill.name))
    return tuple(found[:limit])


def latest_skills(skills: Iterable[RankedSkill], *, limit: int) -> tuple[SkillSearchHit, ...]:
    latest = sorted(skills, key=lambda each: (each.record.created_at, each.name), reverse=True)
    return tuple(SkillSearchHit(skill=each.skill, score=0) for each in latest[:limit])


def _score(each: RankedSkill, query: Query, collection: Collection) -> Score | None:
    return score_of(each.record, query, collection, impacts=each.impacts)
