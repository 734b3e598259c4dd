"""The skills policy begins as the configuration file has it, and is then whoever's who changes it."""

from pathlib import Path

import pytest

from runlore.config.settings import read_settings
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.skills_policy import SkillsPolicy, skills_policy
from runlore.ports import operations as ops
from tests.world import World

pytestmark = pytest.mark.req("SKL-12")


def configured(folder: Path, text: str) -> World:
    """A Runlore whose file says this."""
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)
    return World(read_settings(home=str(folder), environment={}))


def policy(world: World) -> tuple[int, str, SkillsPolicy]:
    """Its revision, who put it, and what it says."""
    current = world.operator.get_policy(PolicyName.SKILLS)
    return current.revision, current.actor, skills_policy(current.policy)


def again(world: World, text: str) -> World:
    """The next start, with another file."""
    world.close()
    return configured(world.root, text)


def test_the_file_begins_the_policy_until_somebody_changes_it(tmp_path: Path) -> None:
    world = configured(tmp_path / "home", "[skills]\nlearn = false\n[skills.curation]\nstaleness_days = 7\n")
    revision, actor, said = policy(world)
    assert (revision, actor, said.learn, said.curation.staleness_days) == (1, "config.toml", False, 7)
    assert said.max_lazy_slots == SkillsPolicy().max_lazy_slots

    world.restart()
    assert policy(world)[0] == 1

    world = again(world, "[skills]\nmax_lazy_slots = 2\n[skills.auto_save]\nenabled = false\n")
    revision, _, said = policy(world)
    assert (revision, said.learn, said.max_lazy_slots, said.auto_save.enabled) == (2, True, 2, False)

    world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy={"max_lazy_slots": 9}))
    world = again(world, "[skills]\nmax_lazy_slots = 3\n")
    assert policy(world)[:2] == (3, "operator")
    assert policy(world)[2].max_lazy_slots == 9
    world.close()


def test_a_file_that_says_nothing_of_it_puts_nothing(tmp_path: Path) -> None:
    world = configured(tmp_path / "home", "[skills.embedding]\n")

    assert policy(world) == (0, "default", SkillsPolicy())
    world.close()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("max_lazy_slots = -1", "max_lazy_slots"),
        ("curation.skip_threshold = 0", "skip_threshold"),
        ("learning = true", "skills.learning"),
        ('learn = "yes"', "skills.learn"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(Invalid, match=told) as problem:
        configured(tmp_path / "home", f"[skills]\n{line}\n")
    assert problem.value.hint
