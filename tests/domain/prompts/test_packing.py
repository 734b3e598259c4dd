"""The budget's arithmetic: what fits, what is left out, and that it all adds up."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.prompts.projection import SECTIONS, Budget, ModelFamily, SectionName
from runlore.domain.prompts.token_budget import open_budget, pack_newest, pack_what_fits, room_for, spend

pytestmark = pytest.mark.req("RUN-7", "PRJ-2")

COSTS = st.lists(st.integers(1, 60), max_size=8)
FRAME = st.integers(0, 40)
ROOM = st.integers(0, 300)
FAMILY = ModelFamily(name="tiny", prefixes=("tiny",), window_tokens=1_000, output_tokens=100)


@given(costs=COSTS, frame=FRAME, room=ROOM)
def test_what_is_packed_costs_its_frame_and_its_parts_and_never_more_than_the_room(
    costs: list[int], frame: int, room: int
) -> None:
    for pack in (pack_what_fits, pack_newest):
        packed = pack(costs, frame, room)
        assert packed.used <= room
        if packed.taken:
            assert packed.used == frame + sum(costs[place] for place in packed.taken)
            assert list(packed.taken) == sorted(set(packed.taken))
        else:
            assert packed.used == 0
            assert not costs or frame + min(costs) > room or pack is pack_newest


@given(costs=COSTS, frame=FRAME, room=ROOM)
def test_learnings_are_the_first_choice_of_all_that_fit(costs: list[int], frame: int, room: int) -> None:
    """Of all sets that fit, the one that holds the best entry, then the second best, and so on."""
    places = range(len(costs))
    fitting = [
        chosen
        for size in range(len(costs) + 1)
        for chosen in combinations(places, size)
        if frame + sum(costs[place] for place in chosen) <= room
    ]
    first_choice = max(fitting, key=lambda chosen: [place in chosen for place in places], default=())

    assert pack_what_fits(costs, frame, room).taken == first_choice


@given(costs=COSTS, frame=FRAME, room=ROOM)
def test_runs_are_the_longest_row_of_the_newest_that_fits(costs: list[int], frame: int, room: int) -> None:
    fitting = [size for size in range(1, len(costs) + 1) if frame + sum(costs[:size]) <= room]

    assert pack_newest(costs, frame, room).taken == tuple(range(max(fitting, default=0)))


@given(costs=COSTS, frame=FRAME, room=ROOM, more=st.integers(0, 100))
def test_a_larger_budget_never_shows_fewer_of_the_newest_runs(
    costs: list[int], frame: int, room: int, more: int
) -> None:
    small, large = pack_newest(costs, frame, room), pack_newest(costs, frame, room + more)

    assert large.taken[: len(small.taken)] == small.taken


def test_a_learning_that_is_too_large_is_passed_over_and_no_wall() -> None:
    assert pack_what_fits([10, 500, 10], 5, 30).taken == (0, 2)
    assert pack_newest([10, 500, 10], 5, 30).taken == (0,)


@pytest.mark.parametrize("pack", [pack_what_fits, pack_newest])
def test_a_budget_of_zero_leaves_the_section_out(pack: object) -> None:
    assert callable(pack)
    for room in (0, 1, 14):
        assert pack([10, 10], 5, room).taken == ()
    assert pack([10, 10], 5, 15).taken == (0,)
    assert pack([10, 10], 5, 25).taken == (0, 1)


@given(
    window=st.integers(1, 2_000),
    output=st.integers(0, 2_000),
    prompt=st.integers(0, 2_000),
    text=st.integers(0, 2_000),
    policies=st.lists(st.tuples(st.integers(0, 500), COSTS), min_size=2, max_size=2),
)
def test_the_budget_adds_up(
    window: int, output: int, prompt: int, text: int, policies: list[tuple[int, list[int]]]
) -> None:
    family = ModelFamily(name="any", prefixes=("any",), window_tokens=window, output_tokens=output)
    budget = open_budget(family, prompt_tokens=prompt, input_tokens=text, factor_percent=100)
    assert budget.reserved_tokens == min(output, window // 2)
    assert budget.room_tokens == max(0, window - budget.reserved_tokens - prompt - text)

    for name, (policy, costs) in zip(SECTIONS, policies, strict=True):
        packed = pack_what_fits(costs, 5, room_for(budget, policy))
        budget = spend(budget, name, policy_tokens=policy, used=packed.used)

    _adds_up(budget)
    used = sum(section.used_tokens for section in budget.sections)
    assert prompt + text + used + budget.reserved_tokens <= window or used == 0


def test_the_first_section_takes_what_the_second_is_left_without() -> None:
    budget = open_budget(FAMILY, prompt_tokens=400, input_tokens=100, factor_percent=100)
    assert budget.room_tokens == 400

    budget = spend(budget, SectionName.LEARNED_CONTEXT, policy_tokens=350, used=300)

    assert room_for(budget, 1_200) == 100
    budget = spend(budget, SectionName.RECOVERED_MEMORY, policy_tokens=1_200, used=90)
    assert [section.room_tokens for section in budget.sections] == [350, 100]
    assert room_for(budget, 1_200) == 10


def test_without_a_known_family_the_policies_alone_bound_the_sections() -> None:
    budget = open_budget(None, prompt_tokens=10**6, input_tokens=10**6, factor_percent=100)
    budget = spend(budget, SectionName.LEARNED_CONTEXT, policy_tokens=1_500, used=1_500)

    assert budget.window_tokens is None
    assert budget.room_tokens is None
    assert budget.model_family is None
    assert room_for(budget, 1_200) == 1_200


def test_a_prompt_that_fills_the_window_leaves_no_room() -> None:
    budget = open_budget(FAMILY, prompt_tokens=5_000, input_tokens=0, factor_percent=100)

    assert budget.room_tokens == 0
    assert room_for(budget, 1_200) == 0


def _adds_up(budget: Budget) -> None:
    left = budget.room_tokens
    assert left is not None
    for section in budget.sections:
        assert section.room_tokens == max(0, min(section.policy_tokens, left))
        assert 0 <= section.used_tokens <= section.room_tokens
        left -= section.used_tokens
    assert left >= 0
