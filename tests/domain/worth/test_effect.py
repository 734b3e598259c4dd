"""The worth of a record: the interval holds at every look, and a word is said only where it is earned."""

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.run import RunId, RunStatus
from runlore.domain.worth.effect import HELD_MIN, TrialRun, Worth, estimate_effect, penalty_of
from runlore.domain.worth.holdback import draw, is_held_back
from runlore.domain.worth.outcome import POINTS_MAX, SIGNS, RunFacts, SaidOutcome, score_outcome


def world(seed: int, *, effect: int, runs: int, percent: int) -> Iterator[TrialRun]:
    """Runs of people of different skill who all get better with time, with a record of a known effect."""
    rng = random.Random(seed)
    skills = [rng.randint(40, 80) for _ in range(4)]
    for number in range(runs):
        person = rng.randrange(4)
        held = is_held_back(f"record {seed}", RunId(f"run {number}"), percent)
        points = skills[person] + 10 * number // runs + (0 if held else effect) + rng.randint(-15, 15)
        yield TrialRun(
            held_back=held, percent=percent, points=max(0, min(100, points)), group=f"person {person}"
        )


@pytest.mark.req("VAL-4")
@pytest.mark.parametrize(
    ("effect", "word"), [(15, Worth.HELPS), (-15, Worth.HARMS), (0, Worth.NO_DIFFERENCE)]
)
def test_a_known_effect_is_found_and_none_is_made_up(effect: int, word: Worth) -> None:
    for seed in range(6):
        found = estimate_effect(world(seed, effect=effect, runs=2_000, percent=20))
        assert found.worth is word
        # Points end at 0 and 100, which takes a little off an effect of 15.
        assert found.low <= effect * 0.9 <= found.high or effect == 0
        assert found.low <= found.difference <= found.high


@pytest.mark.req("VAL-4")
def test_looking_after_every_run_never_says_a_word_that_is_not_true() -> None:
    """A test of one look would be wrong in many of these worlds, since the best of 60 looks counts."""
    for seed in range(12):
        runs = list(world(seed, effect=0, runs=600, percent=20))
        words = {estimate_effect(runs[:count]).worth for count in range(10, 601, 10)}
        assert words <= {Worth.TOO_FEW, Worth.NO_DIFFERENCE}


@pytest.mark.req("VAL-4")
@pytest.mark.parametrize("effect", [20, -20])
def test_an_effect_that_turns_into_its_opposite_is_told_by_its_mean_so_far(effect: int) -> None:
    """An interval in which early runs count for more would say of most of these worlds what was true once."""
    for seed in range(4):
        before = list(world(seed, effect=effect, runs=1_200, percent=20))
        after = list(world(seed + 100, effect=-effect, runs=2_800, percent=20))
        runs = [*before, *after]
        for count in range(200, len(runs) + 1, 200):
            found = estimate_effect(runs[:count])
            mean = effect * (min(count, 1_200) - max(0, count - 1_200)) / count
            assert found.low - 2 <= mean <= found.high + 2, "points end at 0 and 100"
        assert found.worth is (Worth.HARMS if effect > 0 else Worth.HELPS)


@pytest.mark.req("VAL-4")
def test_few_runs_give_no_word_and_runs_that_say_nothing_change_nothing() -> None:
    bad = [TrialRun(held_back=True, percent=20, points=0)] * (HELD_MIN - 1)
    good = [TrialRun(held_back=False, percent=20, points=100)] * 40
    assert estimate_effect([*bad, *good]).worth is Worth.TOO_FEW
    before = estimate_effect([*good, *bad])
    silent = TrialRun(held_back=False, percent=0, points=0)
    unsettled = TrialRun(held_back=True, percent=20, points=None)
    assert estimate_effect([*good, *[silent] * 50, *bad]) == before
    assert estimate_effect([*good, unsettled, *bad]) == estimate_effect(good), "those behind it wait for it"
    nothing = estimate_effect([])
    assert (nothing.worth, nothing.low, nothing.high) == (Worth.TOO_FEW, -100, 100)


@pytest.mark.req("VAL-4")
@given(
    percent=st.integers(1, 50),
    points=st.tuples(st.integers(0, 100), st.integers(0, 100)),
    expected=st.floats(0, 1),
    mean=st.floats(-1, 1),
    part=st.floats(0, 0.5),
)
def test_no_lot_and_no_outcome_lets_the_stake_against_the_truth_grow_in_the_mean(
    percent: int, points: tuple[int, int], expected: float, mean: float, part: float
) -> None:
    """This is what the interval rests on: what is staked on the effect being higher, or lower, than it is,
    multiplies by 1 at most in the mean with each run, so that it is ever 40 times as much in one of 40 worlds
    at most (Ville). Nothing is asked of the run: with it and without it, it may end in any way."""
    share, reach = percent / 100, 100 / percent + 1
    given_to, without = ((each / 100 - expected) for each in points)
    lots = [(1 - share, given_to / (1 - share)), (share, -without / share)]
    effect = (points[0] - points[1]) / 100
    assert sum(chance * value for chance, value in lots) == pytest.approx(effect)
    assert all(abs(value - mean) <= reach for _, value in lots)
    step = part / reach
    for sign in (1, -1):
        growth = sum(
            chance * math.exp(sign * step * (value - effect) - penalty_of(step, reach) * (value - mean) ** 2)
            for chance, value in lots
        )
        assert growth <= 1 + 1e-12


@pytest.mark.req("VAL-4")
def test_runs_that_last_longer_without_it_make_no_word() -> None:
    """Whoever gets better with time seems helped where runs count in the order in which they end."""
    false_words = 0
    for seed in range(4):
        runs = list(world(seed, effect=0, runs=3_000, percent=10))
        ends = [number + 2_000 * run.held_back for number, run in enumerate(runs)]
        by_end = [run for _, run in sorted(zip(ends, runs, strict=True), key=lambda each: each[0])]
        for now in range(500, 5_000, 500):
            known = [
                run if end <= now else replace(run, points=None)
                for end, run in zip(ends[:now], runs[:now], strict=True)
            ]
            assert estimate_effect(known).worth in (Worth.TOO_FEW, Worth.NO_DIFFERENCE)
            ended = sum(end <= now for end in ends)
            false_words += estimate_effect(by_end[:ended]).worth is Worth.HELPS
    assert false_words, "so that this is the reason for the order"


@pytest.mark.req("VAL-2")
def test_anybody_can_compute_who_goes_without_and_the_share_is_what_the_policy_says() -> None:
    assert draw("mem_1", RunId("run_1")) == 5_792
    names = [(f"record {number % 7}", RunId(f"run {number}")) for number in range(4_000)]
    held = {percent: {each for each in names if is_held_back(*each, percent)} for percent in (0, 10, 30, 50)}
    assert not held[0]
    assert held[10] < held[30] < held[50]
    for percent, found in held.items():
        assert abs(len(found) / len(names) - percent / 100) < 0.03
    assert not any(is_held_back(*each, 50, exempt=(each[0],)) for each in names)


FACTS = st.builds(
    RunFacts,
    status=st.sampled_from(RunStatus),
    calls=st.integers(0, 300),
    failed_calls=st.integers(0, 300),
    tokens=st.integers(0, 10**7),
    refusals=st.integers(0, 9),
    corrected=st.booleans(),
    asked_again=st.booleans(),
    helped=st.integers(0, 9),
    wrong=st.integers(0, 9),
)


@pytest.mark.req("VAL-3")
@given(FACTS)
def test_every_sign_of_trouble_costs_points_and_a_word_of_somebody_decides_alone(facts: RunFacts) -> None:
    points = score_outcome(facts)
    assert 0 <= points <= POINTS_MAX
    for worse in (
        replace(facts, corrected=True),
        replace(facts, asked_again=True),
        replace(facts, refusals=facts.refusals + 1),
        replace(facts, wrong=facts.wrong + 1),
        replace(facts, status=RunStatus.FAILED),
    ):
        assert score_outcome(worse) <= points
    assert score_outcome(replace(facts, helped=facts.helped + 1)) >= points
    assert score_outcome(replace(facts, said=SaidOutcome.GOOD)) == POINTS_MAX
    assert score_outcome(replace(facts, said=SaidOutcome.BAD)) == 0


@pytest.mark.req("VAL-3")
def test_what_counts_is_what_the_page_and_the_table_say() -> None:
    page = (Path(__file__).parents[3] / "docs" / "worth.md").read_text()
    for sign in SIGNS:
        assert f"| {sign.name} | {sign.rule} | {sign.why} |" in page
    fine = RunFacts(status=RunStatus.COMPLETED, calls=4)
    assert score_outcome(fine) == 100
    hard = RunFacts(
        status=RunStatus.FAILED, calls=20, failed_calls=10, refusals=1, corrected=False, asked_again=False
    )
    assert score_outcome(hard) == 100 - 60 - 15 - 10 - 4
