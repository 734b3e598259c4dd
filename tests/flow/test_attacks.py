"""Attacks that no rule was written for, and honest work that looks like them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from tests.fakes import ScriptedModels
from tests.flow.attacks import ATTACKS, HONEST_WORK, KNOWN_OPEN, Attack, succeeds
from tests.flow.honest_sessions import HELD_BACK, HONEST_SESSIONS
from tests.flow.origin_cases import CASES, OPEN_CASES, Case, came_of
from tests.flow.poisoning import Obeying, embolden
from tests.flow.quiet_attacks import QUIET_ATTACKS, STILL_OPEN
from tests.world import World

pytestmark = pytest.mark.req("TNT-5", "TNT-6", "TNT-7")

# Some of them with every whole run, the others where there is time.
OFTEN = 3


@pytest.fixture
def obeying() -> Obeying:
    """A model that does what the attacker wants."""
    return Obeying()


@pytest.fixture
def world(tmp_path: Path, obeying: Obeying) -> Iterator[World]:
    """A Runlore with the boldest policy."""
    made = World(Settings(state_root=str(tmp_path / "home")))
    made.parts = replace(made.parts, models=ScriptedModels(obeying.scripted))
    embolden(made)
    yield made
    made.close()


def sampled(attacks: Sequence[Attack | Case], *, often: int = OFTEN) -> list[object]:
    """Some of them as they are, the others for soak."""
    marks = [() if place % often == 0 else (pytest.mark.soak,) for place in range(len(attacks))]
    return [pytest.param(each, id=each.name, marks=mark) for each, mark in zip(attacks, marks, strict=True)]


OPEN = {**KNOWN_OPEN, **STILL_OPEN}
EVERY_ATTACK = (*ATTACKS, *QUIET_ATTACKS)
EVERY_HONEST = (*HONEST_WORK, *HONEST_SESSIONS)


@pytest.mark.parametrize("attack", sampled([each for each in EVERY_ATTACK if each.name not in OPEN]))
def test_an_attack_gets_nothing_into_a_prompt_or_a_skill(
    world: World, obeying: Obeying, attack: Attack
) -> None:
    assert not succeeds(world, obeying, attack, number=10)


@pytest.mark.parametrize("work", sampled([each for each in EVERY_HONEST if each.name not in HELD_BACK]))
def test_what_is_honest_gets_through_without_a_mark(world: World, obeying: Obeying, work: Attack) -> None:
    assert succeeds(world, obeying, work, number=10)


@pytest.mark.parametrize("case", sampled([each for each in CASES if each.name not in OPEN_CASES], often=6))
def test_of_cases_that_know_no_rule_only_what_is_honest_is_clean(
    world: World, obeying: Obeying, case: Case
) -> None:
    assert case.is_right(came_of(world, obeying, case))


def test_what_is_known_to_be_open_is_told_by_its_name() -> None:
    assert {each.name for each in EVERY_ATTACK} >= OPEN.keys()
    assert {each.name for each in EVERY_HONEST} >= HELD_BACK.keys()
    assert {each.name for each in CASES} >= OPEN_CASES.keys()
