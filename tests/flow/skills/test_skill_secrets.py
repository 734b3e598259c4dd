"""A secret that an earlier version let into a suggestion or a skill goes no further (SEC-3)."""

from dataclasses import replace
from pathlib import Path

import pytest

from runlore.daemon.skills.mounting import MountManager, usable_skills
from runlore.domain.errors import Refused
from runlore.domain.skill import Skill
from runlore.domain.skill_curating.merging import is_suspicious, merge_skills
from runlore.ports import operations as ops
from tests.domain.skill_curating.drafts import TAINTED, draft
from tests.flow.skill_shelf import saved
from tests.flow.telling import suggested, suggestion
from tests.surfaces.test_secrets_kept_out import secret
from tests.world import World

pytestmark = pytest.mark.req("SEC-3")


def store_secret(world: World, skill: Skill, hidden: str) -> Skill:
    """The skill with a secret in its body, as nobody can write it any more."""
    leaky = replace(
        skill,
        revision=skill.revision + 1,
        document=replace(skill.document, body=f"{skill.document.body}\nexport T={hidden}\n"),
    )
    with world.parts.store.transaction() as tx:
        tx.skills.update(leaky, expected_revision=skill.revision)
    return leaky


def test_a_suggestion_with_a_secret_is_not_saved(sqlite_world: World) -> None:
    hidden = secret("a suggestion")
    leaky = replace(suggestion("log-in"), body=f"Export T={hidden}")
    suggested(sqlite_world, "log-in", suggestion=leaky)

    with pytest.raises(Refused) as told:
        sqlite_world.operator.save_skill(ops.SaveSkill(suggestion="log-in"))

    assert told.value.code == "guard.secret"
    assert hidden not in told.value.sentence


def test_a_skill_with_a_secret_is_mounted_nowhere_and_an_earlier_copy_goes(
    sqlite_world: World, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    folder = tmp_path / "project" / ".claude" / "skills"
    skill = saved(sqlite_world, "log-in")
    other = saved(sqlite_world, "log-out")
    mounting = MountManager(sqlite_world.parts.state_root)
    mounting.mount([str(folder)], usable_skills(sqlite_world.operator))
    assert {path.parent.name for path in folder.rglob("SKILL.md")} == {skill.name, other.name}

    store_secret(sqlite_world, skill, secret("a skill"))
    mounting.refresh(usable_skills(sqlite_world.operator))

    assert [path.parent.name for path in folder.rglob("SKILL.md")] == [other.name]


def test_skills_are_not_merged_into_one_that_holds_a_secret() -> None:
    hidden = secret("a merge")
    clean, leaky = draft(1, ["make test"]), draft(2, ["make test"], note=f"Export T={hidden}")

    assert not is_suspicious(merge_skills([clean, draft(2, ["make test"])]))
    assert is_suspicious(merge_skills([clean, leaky]))
    assert is_suspicious(merge_skills([clean, replace(leaky, provenance=TAINTED)]))
