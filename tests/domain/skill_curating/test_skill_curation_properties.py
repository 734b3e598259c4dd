"""Curation over any skills: deterministic, done once, nothing lost, nothing touched that is no draft."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain import limits
from runlore.domain.policies.skills_policy import SkillCurationPolicy
from runlore.domain.skill import Skill, SkillId, SkillState
from runlore.domain.skill_curating.planning import (
    age,
    doings_of,
    families_of,
    is_alike,
    is_curated,
    is_near,
    keywords_shared,
)
from runlore.domain.skills.skill_curation import CurationKind, CurationPlan
from runlore.domain.skills.skips import Skip, is_suppressed
from tests.domain.skill_curating.drafts import NOW, carried_out, lines_of, plan, pools, skip_lists

pytestmark = pytest.mark.req("SKL-9")

ACTIVE, MERGED, DELETED = SkillState.ACTIVE, SkillState.MERGED, SkillState.DELETED


@given(skills=pools(), skips=skip_lists, prune=st.booleans(), shuffled=st.randoms(use_true_random=False))
def test_the_order_of_the_skills_makes_no_difference_and_doing_it_again_does_nothing(
    skills: list[Skill], skips: dict[str, Skip], prune: bool, shuffled: object
) -> None:
    found = plan(skills, skips=skips, auto_prune=prune)
    other = list(skills)
    shuffled.shuffle(other)  # type: ignore[attr-defined]

    assert plan(other, skips=skips, auto_prune=prune) == found
    assert plan(carried_out(skills, found), skips=skips, auto_prune=prune) == CurationPlan()


@given(skills=pools(), skips=skip_lists, prune=st.booleans())
def test_what_is_no_draft_or_is_named_in_no_action_is_never_touched(
    skills: list[Skill], skips: dict[str, Skip], prune: bool
) -> None:
    found = plan(skills, skips=skips, auto_prune=prune)
    touched = {skill.skill_id for skill in found.before}

    assert [skill.skill_id for skill in found.after] == [skill.skill_id for skill in found.before]
    assert touched == {each for action in found.actions for each in (action.gone, action.kept) if each}
    assert all(is_curated(skill) for skill in found.before)
    assert not {skill.skill_id for skill in skills if not is_curated(skill)} & touched
    for before, after in zip(found.before, found.after, strict=True):
        assert after.revision == before.revision + 1
        assert replace(after, state=ACTIVE).is_draft
        assert (after.name, after.created_at, after.usage) == (before.name, before.created_at, before.usage)
        assert after.provenance.tainted is before.provenance.tainted


@given(skills=pools(), skips=skip_lists, prune=st.booleans())
def test_every_line_keyword_and_source_of_what_goes_into_another_is_in_it(
    skills: list[Skill], skips: dict[str, Skip], prune: bool
) -> None:
    found = plan(skills, skips=skips, auto_prune=prune)
    before = {skill.skill_id: skill for skill in skills}
    after = {skill.skill_id: skill for skill in carried_out(skills, found)}
    for action in found.actions:
        if action.kind not in (CurationKind.MERGE, CurationKind.DROP):
            continue
        gone, kept = before[action.gone], last_kept(action.gone, after)
        assert lines_of(gone.document.body) <= lines_of(kept.document.body)
        assert {*gone.document.topics} <= {*kept.document.topics}
        assert {*gone.document.actions} <= {*kept.document.actions}
        assert {*gone.provenance.sources} <= {*kept.provenance.sources}
        assert {*gone.learned_from} <= {*kept.learned_from}
        assert gone.document == after[action.gone].document
        assert age(kept) < age(gone)
        assert lines_of(before[kept.skill_id].document.body) <= lines_of(kept.document.body)


def last_kept(skill_id: SkillId, after: dict[SkillId, Skill]) -> Skill:
    """What a skill is in, in the end."""
    while (skill := after[skill_id]).merged_into is not None:
        skill_id = skill.merged_into
    assert skill.state is ACTIVE
    return skill


@given(skills=pools(), skips=skip_lists, prune=st.booleans())
def test_every_kept_skill_is_within_the_bounds_and_each_action_has_a_reason(
    skills: list[Skill], skips: dict[str, Skip], prune: bool
) -> None:
    found = plan(skills, skips=skips, auto_prune=prune)
    for skill in found.after:
        document = skill.document
        assert len(document.body) <= limits.SKILL_BODY_CHARS_MAX
        assert len(document.description) <= limits.SKILL_DESCRIPTION_CHARS_MAX
        assert skill.state in (ACTIVE, MERGED, DELETED)
        assert (skill.merged_into is not None) is (skill.state is MERGED)
    for action in found.actions:
        assert action.reason
        assert (action.kept is None) is (action.kind in (CurationKind.SKIPPED, CurationKind.PRUNE))
    assert len({action.gone for action in found.actions}) == len(found.actions)


@given(skills=pools(drafts_alone=True), skips=skip_lists)
def test_what_goes_for_its_skips_is_exactly_what_is_suppressed(
    skills: list[Skill], skips: dict[str, Skip]
) -> None:
    policy = SkillCurationPolicy(skip_threshold=2)
    found = plan(skills, skips=skips, skip_threshold=2)

    expected = {skill.skill_id for skill in skills if is_suppressed(skips.get(skill.pattern), policy, NOW)}
    assert {each.gone for each in found.actions if each.kind is CurationKind.SKIPPED} == expected


@given(skills=pools(drafts_alone=True))
def test_families_are_of_alike_and_near_drafts_and_no_two_that_fit_together_stay_apart(
    skills: list[Skill],
) -> None:
    """By brute force over all pairs: a family is held together by drafts that are alike, all of its members
    are near each other, and two families that are alike and near are two for want of room alone."""
    ordered = sorted(skills, key=age)
    families = families_of(ordered)

    assert sorted(skill.skill_id for family in families for skill in family.members) == sorted(
        skill.skill_id for skill in skills
    )
    for family in families:
        first, *others = family.members
        joined, left = [first], list(others)
        while linked := [skill for skill in left if any(are_linked(skill, each) for each in joined)]:
            joined += linked
            left = [skill for skill in left if skill not in linked]
        assert not left
        assert all(may_stand_together(one, other) for one, other in combinations(family.members, 2))
    for one, other in combinations(families, 2):
        pairs = [(mine, theirs) for mine in one.members for theirs in other.members]
        assert not any(are_linked(*pair) for pair in pairs) or not all(
            may_stand_together(*pair) for pair in pairs
        )


def are_linked(one: Skill, other: Skill) -> bool:
    """Whether two drafts have the same body, or are about the same."""
    if one.provenance.tainted is not other.provenance.tainted:
        return False
    if one.document.body == other.document.body:
        return True
    mine, theirs = doings_of(one.document.body), doings_of(other.document.body)
    return any(is_alike(doing, another) for doing in mine for another in theirs)


def may_stand_together(one: Skill, other: Skill) -> bool:
    """Whether two drafts may be in one family."""
    mine, theirs = doings_of(one.document.body), doings_of(other.document.body)
    return one.document.body == other.document.body or all(
        is_near(doing, another) for doing in mine for another in theirs
    )


@given(skills=pools(drafts_alone=True))
def test_being_about_the_same_takes_two_keywords_and_half_of_what_is_run_and_goes_both_ways(
    skills: list[Skill],
) -> None:
    doings = [doing for skill in skills for doing in doings_of(skill.document.body)]
    for one, other in combinations(doings, 2):
        assert is_alike(one, other) is is_alike(other, one)
        assert is_near(one, other) is is_near(other, one)
        if is_alike(one, other):
            assert is_near(one, other)
            assert len(one.words & other.words) >= 2
            assert len(one.runs & other.runs) * 2 >= len(one.runs | other.runs)
    for first, second in combinations(skills, 2):
        mine, theirs = doings_of(first.document.body), doings_of(second.document.body)
        words = keywords_shared(mine, theirs)
        assert words == keywords_shared(theirs, mine)
        assert not words or len(words) >= 2
