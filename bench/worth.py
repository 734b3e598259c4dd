"""Whether the word that `runlore value` says is right: simulated worlds in which the effect of a record is
known.

People of different skill who get better with time, runs of any difficulty, and a record that helps, harms
or does nothing. "Wrong" is any word that is not true, at any of forty looks; "missed" is a world in which the
interval did not hold the truth at one of them. Both may happen in 5 of 100 worlds at most.
"""

import random
import time
from collections.abc import Iterator

from bench.measure import print_table
from runlore.domain.run import RunId
from runlore.domain.worth.effect import TrialRun, Worth, estimate_effect
from runlore.domain.worth.holdback import is_held_back

TITLE = "what a memory is worth: how often the word is right, in worlds where that is known"

PERCENTS = (5, 10, 20)
EFFECTS = (0, 5, 15, -15)
SIZES = ((200, 100), (1_000, 60), (5_000, 30), (20_000, 12))
LOOKS = 40
PEOPLE = 6


def main() -> None:
    rows = []
    for percent in PERCENTS:
        for runs, worlds in SIZES:
            for effect in EFFECTS:
                rows.append(
                    (f"{percent} %", f"{runs:,}", f"{effect:+}", *judge(percent, runs, effect, worlds))
                )
    print_table(("held back", "runs", "effect", "right", "wrong", "withheld", "interval", "missed"), rows)
    began = time.process_time()
    estimate_effect(simulate(1, percent=10, runs=1_000_000, effect=5))
    print(
        f"A million runs are judged in {time.process_time() - began:.1f} s of CPU, the simulation included."
    )


def judge(percent: int, runs: int, effect: int, worlds: int) -> tuple[str, ...]:
    truth = Worth.HELPS if effect > 0 else Worth.HARMS if effect < 0 else None
    right = wrong = missed = 0
    width = 0.0
    for seed in range(worlds):
        known = list(simulate(seed, percent=percent, runs=runs, effect=effect))
        looks = [estimate_effect(known[: runs * look // LOOKS]) for look in range(1, LOOKS + 1)]
        said = {each.worth for each in looks} & {Worth.HELPS, Worth.HARMS}
        wrong += bool(said - {truth})
        right += looks[-1].worth is truth if truth else not said
        missed += any(not each.low <= effect <= each.high for each in looks)
        width += looks[-1].high - looks[-1].low
    withheld = worlds - right - wrong
    return (
        *(f"{100 * count / worlds:.0f} %" for count in (right, wrong, withheld)),
        f"{width / worlds:.1f}",
        f"{100 * missed / worlds:.0f} %",
    )


def simulate(seed: int, *, percent: int, runs: int, effect: int) -> Iterator[TrialRun]:
    rng = random.Random(seed)
    skills = [rng.randint(35, 60) for _ in range(PEOPLE)]
    for number in range(runs):
        person = rng.randrange(PEOPLE)
        held = is_held_back(f"record {seed}", RunId(f"run {number}"), percent)
        points = skills[person] + 10 * number // runs + (0 if held else effect) + rng.randint(-15, 15)
        yield TrialRun(held_back=held, percent=percent, points=points, group=str(person))
