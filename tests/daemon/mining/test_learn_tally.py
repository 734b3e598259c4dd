"""Commands, failures and repeats day by day: in any order, each run once, as plain counting has it."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.cli.report.plots import BARS_MAX, Series, make_series, over_time
from runlore.daemon.mining.daily_tally import DailyTally, tally_of
from runlore.domain.detectors.mined import MinedRun, Outcome, Step, StepCommand
from runlore.domain.detectors.mining import TIMELESS
from runlore.domain.run import RunId
from runlore.domain.session import SessionId

pytestmark = pytest.mark.req("INT-1")

FIRST = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
# A form, the hour in which it was run (None: nobody knows), and whether it failed.
STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 200), st.booleans()), max_size=6
)
RUNS = st.lists(st.tuples(st.sampled_from(["claude-code", "codex"]), STEPS), max_size=8)


def mined(number: int, agent: str, steps: list[tuple[str, int | None, bool]]) -> MinedRun:
    """A run with these steps."""
    run_id = RunId(f"run_{number}")
    return MinedRun(
        session_id=SessionId("ses"),
        run_id=run_id,
        agent=agent,
        project="",
        at=FIRST,
        request=None,
        steps=tuple(
            Step(
                run_id=run_id,
                number=place,
                at=TIMELESS if hour is None else FIRST + timedelta(hours=hour),
                text=form,
                outcome=Outcome.FAILED if failed else Outcome.SUCCEEDED,
                commands=(StepCommand(text=form, form=form, topic=form),),
            )
            for place, (form, hour, failed) in enumerate(steps)
        ),
    )


@given(RUNS, st.randoms())
def test_days_are_what_plain_counting_has_in_any_order_and_told_twice(
    told: list[tuple[str, list[tuple[str, int | None, bool]]]], random: Random
) -> None:
    runs = [mined(number, agent, steps) for number, (agent, steps) in enumerate(told)]
    done = [
        ((FIRST + timedelta(hours=hour)).date(), form, failed, agent)
        for agent, steps in told
        for form, hour, failed in steps
        if hour is not None
    ]
    firsts = {form: min(day for day, other, _, _ in done if other == form) for _, form, _, _ in done}
    twice = [tally_of(run) for run in (*runs, *runs)]
    random.shuffle(twice)

    tally = DailyTally()
    for each in twice:
        tally.add([each])
    days = tally.days()

    assert [day.day for day in days] == sorted({day for day, *_ in done})
    for day in days:
        those = [each for each in done if each[0] == day.day]
        assert day.commands == len(those)
        assert day.failures == sum(failed for _, _, failed, _ in those)
        assert day.by_agent == dict(Counter(agent for *_, agent in those))
        assert day.repeats == len(those) - sum(first == day.day for first in firsts.values())


def test_looking_around_is_not_counted() -> None:
    looking = StepCommand(text="ls", form="ls", topic="ls", is_looking=True)
    run = mined(1, "codex", [("a", 1, False)])
    step = Step(
        run_id=run.run_id, number=9, at=FIRST, text="ls", outcome=Outcome.SUCCEEDED, commands=(looking,)
    )
    tally = DailyTally()

    tally.add([tally_of(replace(run, steps=(*run.steps, step)))])

    assert [day.commands for day in tally.days()] == [1]


@given(st.dictionaries(st.dates(), st.integers(1, 10**6), min_size=1, max_size=40))
def test_a_plot_has_few_bars_and_loses_nothing(counts: dict[date, int]) -> None:
    shown = over_time("Things", "that were counted", [Series(name="all", colour="c1", counts=counts)])

    assert shown.count("<rect") <= BARS_MAX
    assert f"{sum(counts.values()):,} all" in shown
    rows = shown.partition("<tbody>")[2].split("<tr>")[1:]
    told = [int(row.split("<td>")[2].partition("<")[0].replace(",", "")) for row in rows]
    assert sum(told) == sum(counts.values())


@given(
    st.dictionaries(
        st.text("abcdefgh", min_size=1, max_size=3),
        st.dictionaries(st.dates(), st.integers(1, 9), min_size=1, max_size=4),
        max_size=9,
    )
)
def test_more_agents_than_colours_are_shown_as_one(counts: dict[str, dict[date, int]]) -> None:
    series = make_series(counts)

    assert len({each.colour for each in series}) == len(series) <= 5
    assert sum(each.total for each in series) == sum(sum(days.values()) for days in counts.values())
