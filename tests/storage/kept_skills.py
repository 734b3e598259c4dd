"""Skills, their log and curations for the store's tests: plain ones, and any there could be."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

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
    SuggestionId,
)
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationId, CurationKind
from runlore.domain.taint import TRUSTED, Provenance
from tests.fakes import START
from tests.storage.run_values import at, moments, texts


def documented(name: str = "procedure-build", **fields: Any) -> SkillDocument:
    """A draft's document."""
    found = SkillDocument(
        name=name,
        description="Builds the project.",
        body="## Overview\n\nBuilds it.\n",
        topics=("npm",),
        actions=("build",),
        author="runlore",
        quality=Quality.DRAFT,
    )
    return replace(found, **fields)


def kept(number: int = 1, document: SkillDocument | None = None, **fields: Any) -> Skill:
    """A learned draft."""
    found = Skill(
        skill_id=SkillId(f"skl_{number:02}"),
        document=document or documented(f"procedure-{number}"),
        origin=SkillOrigin.LEARNED,
        suggestion_id=SuggestionId(f"sug_{number:02}"),
        pattern=f"pattern {number}",
        created_at=START,
        updated_at=START,
    )
    return replace(found, **fields)


def changed(before: Skill, **fields: Any) -> Skill:
    """The same at its next revision."""
    return replace(before, **{"revision": before.revision + 1, "updated_at": at(before.revision), **fields})


def told(number: int = 1, **fields: Any) -> SkillEvent:
    """A line of the log."""
    found = SkillEvent(
        kind=SkillEventKind.SAVED,
        name=f"procedure-{number}",
        actor="runlore",
        at=at(number),
        reason="it promises much",
        skill_id=SkillId(f"skl_{number:02}"),
        suggestion_id=SuggestionId(f"sug_{number:02}"),
    )
    return replace(found, **fields)


def curated(number: int = 1, *before: Skill, **fields: Any) -> Curation:
    """A curation that merged the second of two skills into the first."""
    one, other = before or (kept(1), kept(2))
    action = CurationAction(
        kind=CurationKind.MERGE,
        gone=other.skill_id,
        gone_name=other.name,
        kept=one.skill_id,
        kept_name=one.name,
        reason=f"it shares npm, build with {one.name}",
    )
    found = Curation(
        curation_id=CurationId(f"cur_{number:02}"),
        at=at(number),
        actor="runlore",
        actions=(action,),
        before=(one, other),
        revisions=((one.skill_id, one.revision + 1), (other.skill_id, other.revision + 1)),
    )
    return replace(found, **fields)


_suggestion_ids = st.integers(0, 3).map(lambda number: SuggestionId(f"sug_{number:02}"))
_words = st.lists(texts, max_size=2).map(tuple)
documents = st.builds(
    SkillDocument,
    # Few names, so that they clash.
    name=st.sampled_from(("build", "test", "deploy-2")),
    description=texts,
    body=texts,
    topics=_words,
    actions=_words,
    version=texts,
    author=texts,
    quality=st.sampled_from(Quality),
    auto_load=st.booleans(),
    license=texts,
    compatibility=texts,
    allowed_tools=texts,
    metadata=st.dictionaries(texts, texts, max_size=2),
)
provenances = st.just(TRUSTED) | st.builds(
    Provenance, untrusted=st.booleans(), needs_review=st.booleans(), sources=_words
)
skills = st.builds(
    Skill,
    skill_id=st.integers(0, 3).map(lambda number: SkillId(f"skl_{number:02}")),
    document=documents,
    text=texts,
    origin=st.sampled_from(SkillOrigin),
    state=st.sampled_from((SkillState.ACTIVE, *SkillState)),
    state_actor=texts,
    merged_into=st.none() | st.just(SkillId("skl_00")),
    provenance=provenances,
    suggestion_id=st.none() | _suggestion_ids,
    pattern=texts,
    also_from=st.lists(st.builds(LearnedFrom, suggestion_id=_suggestion_ids, pattern=texts), max_size=2).map(
        tuple
    ),
    source_run_id=st.none() | st.just(RunId("run_1")),
    created_at=moments,
    updated_at=moments,
    revision=st.integers(1, 3),
)
