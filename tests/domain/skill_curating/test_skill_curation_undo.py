"""Undoing a curation: everything is as it was, byte for byte, or it is a conflict and nothing is changed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.errors import Conflict
from runlore.domain.skill import Skill, SkillId, SkillOrigin, SkillState, Usage
from runlore.domain.skill_document import render_document
from runlore.domain.skills.skill_curation import (
    Curation,
    CurationId,
    CurationPlan,
    curation_of,
    undo_curation,
    without,
)
from runlore.domain.skills.skips import Skip
from tests.builders import act
from tests.domain.skill_curating.drafts import NOW, TAINTED, carried_out, draft, plan, pools, skip_lists
from tests.fakes import START

pytestmark = pytest.mark.req("SKL-9")

CHECKS = ("make fmt", "make lint", "make test")


def kept_of(found: CurationPlan) -> Curation:
    """A plan that was carried out."""
    return curation_of(found, CurationId("cur_1"), act(at=NOW, actor="curation"), comment="as it should be")


def names_of(skills: list[Skill]) -> dict[str, SkillId]:
    """The names of the active ones."""
    return {skill.name: skill.skill_id for skill in skills if skill.state is SkillState.ACTIVE}


def undo(curation: Curation, skills: list[Skill]) -> list[Skill]:
    """The skills after it was undone."""
    back = {
        skill.skill_id: skill
        for skill in undo_curation(curation, {skill.skill_id: skill for skill in skills}, names_of(skills))
    }
    return [back.get(skill.skill_id, skill) for skill in skills]


def merged() -> tuple[list[Skill], Curation, list[Skill]]:
    """Two drafts, the curation that merged them, and what they became."""
    before = [draft(1, CHECKS), draft(2, CHECKS)]
    found = plan(before)
    return before, kept_of(found), carried_out(before, found)


@given(skills=pools(), skips=skip_lists, prune=st.booleans())
def test_every_curation_can_be_undone_byte_for_byte(
    skills: list[Skill], skips: dict[str, Skip], prune: bool
) -> None:
    found = plan(skills, skips=skips, auto_prune=prune)
    if not found.actions:
        return
    after = carried_out(skills, found)
    back = undo(kept_of(found), after)

    touched = {skill.skill_id for skill in found.before}
    for was, became, now in zip(skills, after, back, strict=True):
        expected = was if was.skill_id not in touched else replace(was, revision=became.revision + 1)
        assert now == expected
        assert render_document(now.document, now.provenance) == render_document(was.document, was.provenance)


def test_what_is_kept_of_a_curation_is_what_was_done_and_how_it_was_before() -> None:
    before, curation, after = merged()

    assert (curation.at, curation.actor, curation.comment) == (NOW, "curation", "as it should be")
    assert curation.before == tuple(before)
    assert curation.revisions == tuple((skill.skill_id, skill.revision) for skill in after)
    assert [action.gone for action in curation.actions] == ["skl_002"]


def test_uses_that_were_counted_since_stay() -> None:
    _, curation, after = merged()
    used = Usage(times=3, last_used_at=NOW)
    back = undo(curation, [replace(after[0], usage=used), after[1]])

    assert back[0].usage == used


@pytest.mark.parametrize("place", [0, 1])
def test_a_skill_that_was_changed_since_is_a_conflict(place: int) -> None:
    _, curation, after = merged()
    moved = list(after)
    changed = replace(after[place].document, description="Another.")
    moved[place] = replace(after[place], document=changed, revision=after[place].revision + 1)

    with pytest.raises(Conflict, match=after[place].name) as refused:
        undo(curation, moved)
    assert refused.value.code == "curation.moved"
    assert refused.value.hint


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "# by hand\n"},
        {"state": SkillState.DELETED},
        {"merged_into": SkillId("skl_009")},
        {"provenance": TAINTED},
        {"origin": SkillOrigin.PROMOTED},
    ],
    ids=["text", "state", "merged_into", "provenance", "origin"],
)
def test_whatever_was_changed_about_a_skill_since_is_a_conflict(changes: dict[str, Any]) -> None:
    _, curation, after = merged()
    with pytest.raises(Conflict):
        undo(curation, [replace(after[0], revision=9, **changes), after[1]])


def test_a_skill_that_is_again_as_it_was_left_is_put_back() -> None:
    before, curation, after = merged()
    later = [replace(skill, revision=9, updated_at=NOW, state_actor="ada") for skill in after]

    back = undo(curation, later)

    assert back == [replace(skill, revision=10) for skill in before]


def test_a_skill_that_is_gone_is_a_conflict() -> None:
    _, curation, after = merged()

    with pytest.raises(Conflict) as refused:
        undo_curation(curation, {after[0].skill_id: after[0]}, {})
    assert refused.value.code == "curation.moved"


def test_a_name_that_another_skill_has_by_now_is_a_conflict() -> None:
    _, curation, after = merged()
    newer = replace(draft(9, CHECKS), document=replace(after[1].document, body="other"))

    with pytest.raises(Conflict, match="another skill is called draft-2") as refused:
        undo(curation, [*after, newer])
    assert refused.value.code == "curation.moved"


def test_a_name_that_passed_between_the_skills_of_the_curation_is_none() -> None:
    before, curation, after = merged()
    current = {skill.skill_id: skill for skill in after}

    assert undo_curation(curation, current, {"draft-2": before[0].skill_id})


def test_undoing_twice_is_a_conflict() -> None:
    _, curation, after = merged()
    with pytest.raises(Conflict) as refused:
        undo(replace(curation, undone_at=NOW + timedelta(days=1), undone_by="ada"), after)
    assert refused.value.code == "curation.undone"


@pytest.mark.req("LRN-12")
def test_what_is_forgotten_is_taken_out_and_the_rest_can_still_be_undone() -> None:
    pairs = [draft(1, CHECKS), draft(2, CHECKS), draft(3, ("terraform plan", "terraform apply"), days=0)]
    found = plan(pairs, skips={"pattern 3": Skip(times=1, at=NOW)})
    left = without(kept_of(found), [SkillId("skl_002")])
    after = carried_out(pairs, found)

    assert "skl_002" not in str(left)
    assert left.comment == ""
    assert [action.gone for action in left.actions] == ["skl_003"]
    back = undo(left, [skill for skill in after if skill.skill_id != "skl_002"])
    assert [skill.state for skill in back] == [SkillState.ACTIVE, SkillState.ACTIVE]


@pytest.mark.req("LRN-12")
def test_where_all_of_it_was_forgotten_nothing_can_be_undone() -> None:
    _, curation, after = merged()
    nothing = without(curation, [skill.skill_id for skill in after])

    assert (nothing.actions, nothing.before, nothing.revisions) == ((), (), ())
    with pytest.raises(Conflict) as refused:
        undo(nothing, after)
    assert refused.value.code == "curation.forgotten"
    assert nothing.at > START
