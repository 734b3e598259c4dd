"""Whether the word that `runlore value` says is right: simulated worlds in which the effect of a record is
known.

People of different skill who get better with time, runs of any difficulty, and a record that helps, harms
or does nothing. "Wrong" is any word that is not true, at any of forty looks; "missed" is a world in which the
interval did not hold the truth at one of them. Both may happen in 5 of 100 worlds at most.

Runs scatter in most of these worlds by 15 points. In others they end well or badly, and nothing between: that
takes longest to tell.

Worlds drift, too: everybody's runs become harder at once, other people take over, or the record itself
loses its effect or turns harmful. Then the truth at a look is the mean effect of the runs until then. Where
runs last longer without the record, a look knows less of them.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from bench.measure import print_table
from runlore.domain.run import RunId
from runlore.domain.worth.effect import TrialRun, Worth, estimate_effect
from runlore.domain.worth.holdback import is_held_back
from runlore.domain.worth.outcome import POINTS_MAX

TITLE = "what a memory is worth: how often the word is right, in worlds where that is known"

PERCENTS = (5, 10, 20)
EFFECTS = (0, 5, 15, -15)
SIZES = ((200, 100), (1_000, 60), (5_000, 30), (20_000, 12))
ALL_OR_NOTHING_SIZES = ((1_000, 30), (5_000, 12))
DRIFT_RUNS, DRIFT_WORLDS = 5_000, 40
LOOKS = 40
PEOPLE = 6


def _steady(_part: float) -> float:
    return 1.0


# By how much the effect counts at each part of the way, what all runs lose from the middle on, and how many
# runs later one ends that went without it.
DRIFTS: Mapping[str, tuple[Callable[[float], float], int, int]] = {
    "none": (_steady, 0, 0),
    "all runs become harder": (_steady, 30, 0),
    "the effect fades": (lambda part: 1 - part, 0, 0),
    "it turns into its opposite": (lambda part: 1.0 if part < 0.3 else -1.0, 0, 0),
    "runs last longer without it": (_steady, 0, 500),
}


def main() -> None:
    columns = ("right", "wrong", "withheld", "interval", "missed")
    rows = []
    for percent in PERCENTS:
        for runs, worlds in SIZES:
            for effect in EFFECTS:
                rows.append(
                    (f"{percent} %", f"{runs:,}", f"{effect:+}", *judge(percent, runs, effect, worlds))
                )
    print_table(("held back", "runs", "effect", *columns), rows)
    print("\nworlds in which a run ends well or badly, and nothing between\n")
    scattered = [
        (
            *(f"{percent} %", f"{runs:,}", f"{effect:+}"),
            *judge(percent, runs, effect, worlds, is_all_or_nothing=True),
        )
        for percent in PERCENTS
        for runs, worlds in ALL_OR_NOTHING_SIZES
        for effect in EFFECTS
    ]
    print_table(("held back", "runs", "effect", *columns), scattered)
    print(f"\nworlds that drift, {DRIFT_RUNS:,} runs\n")
    drifting = [
        (f"{percent} %", drift, f"{effect:+}", *judge(percent, DRIFT_RUNS, effect, DRIFT_WORLDS, drift=drift))
        for percent in PERCENTS
        for drift in DRIFTS
        for effect in EFFECTS
    ]
    print_table(("held back", "drift", "effect", *columns), drifting)
    began = time.process_time()
    judged = estimate_effect(simulate(1, percent=10, runs=1_000_000, effect=5))
    seconds = time.process_time() - began
    print(
        f"\nA million runs, effect +5: between {judged.low:+.1f} and {judged.high:+.1f};"
        f" judged in {seconds:.1f} s of CPU, the simulation included."
    )


def judge(
    percent: int,
    runs: int,
    effect: int,
    worlds: int,
    *,
    drift: str = "none",
    is_all_or_nothing: bool = False,
) -> tuple[str, ...]:
    right = wrong = missed = 0
    width = 0.0
    strength, _, lag = DRIFTS[drift]
    sums = list(accumulate(effect * strength(number / runs) for number in range(runs)))
    for seed in range(worlds):
        known = list(
            simulate(
                seed,
                percent=percent,
                runs=runs,
                effect=effect,
                drift=drift,
                is_all_or_nothing=is_all_or_nothing,
            )
        )
        ends = [runs * look // LOOKS for look in range(1, LOOKS + 1)]
        looks = [estimate_effect(known_at(known[:end], lag)) for end in ends]
        counted = [max(1, look.given + look.held_back) for look in looks]
        truths = [sums[number - 1] / number for number in counted]
        is_false = any(
            each.worth is not _word(truth)
            for each, truth in zip(looks, truths, strict=True)
            if each.worth in (Worth.HELPS, Worth.HARMS)
        )
        last = looks[-1].worth if looks[-1].worth in (Worth.HELPS, Worth.HARMS) else None
        wrong += is_false
        right += not is_false and last is _word(truths[-1])
        missed += any(not each.low <= truth <= each.high for each, truth in zip(looks, truths, strict=True))
        width += looks[-1].high - looks[-1].low
    withheld = worlds - right - wrong
    return (
        *(f"{100 * count / worlds:.0f} %" for count in (right, wrong, withheld)),
        f"{width / worlds:.1f}",
        f"{100 * missed / worlds:.0f} %",
    )


def known_at(opened: Sequence[TrialRun], lag: int) -> Iterator[TrialRun]:
    """The runs that are open by then, those that go on without points."""
    for number, run in enumerate(opened):
        is_going_on = run.held_back and number + lag > len(opened)
        yield replace(run, points=None) if is_going_on else run


def _word(truth: float) -> Worth | None:
    return Worth.HELPS if truth > 0 else Worth.HARMS if truth < 0 else None


def simulate(
    seed: int,
    *,
    percent: int,
    runs: int,
    effect: int,
    drift: str = "none",
    is_all_or_nothing: bool = False,
) -> Iterator[TrialRun]:
    rng = random.Random(seed)
    skills = [rng.randint(35, 60) for _ in range(PEOPLE)]
    strength, harder, _ = DRIFTS[drift]
    for number in range(runs):
        person = rng.randrange(PEOPLE)
        held = is_held_back(f"record {seed}", RunId(f"run {number}"), percent)
        base = skills[person] + 10 * number // runs - harder * (2 * number > runs) + rng.randint(-15, 15)
        given = 0.0 if held else effect * strength(number / runs)
        # Points are whole: what an effect has behind the comma decides by lot.
        points = base + int(given // 1) + (rng.random() < given % 1)
        if is_all_or_nothing:
            points = POINTS_MAX * (rng.randrange(POINTS_MAX) < points)
        yield TrialRun(held_back=held, percent=percent, points=max(0, points), group=str(person))
