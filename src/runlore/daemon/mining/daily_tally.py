"""What agents did, day by day: commands, failures, and commands that had been run before in the same form.

Runs are counted once, however many transcripts tell them. What only looks around is not counted, and what has
no time belongs to no day.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from sys import intern

from runlore.daemon.mining.findings import Day
from runlore.domain.detectors.mined import MinedRun, Outcome
from runlore.domain.detectors.mining import TIMELESS
from runlore.domain.run import RunId
from runlore.domain.session import SessionId


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTally:
    """What one run did: for each day and form how many commands, and how many of them failed; and when it
    ended, where that is told. It is small: there may be very many runs, and they cross from one process to
    another."""

    session_id: SessionId
    run_id: RunId
    agent: str
    commands: tuple[tuple[date, str, int, int], ...]
    ended_at: datetime | None = None


@dataclass(kw_only=True)
class DailyTally:
    """The days of many runs, in whatever order they are told."""

    _runs: set[RunId] = field(default_factory=set)
    _commands: dict[date, Counter[str]] = field(default_factory=dict)
    _failures: Counter[date] = field(default_factory=Counter)
    _first: dict[str, date] = field(default_factory=dict)
    # When the runs ended of which that is told.
    ended_at: list[datetime] = field(default_factory=list)

    def add(self, runs: Iterable[RunTally]) -> None:
        for run in runs:
            if run.run_id in self._runs:
                continue
            self._runs.add(run.run_id)
            self.ended_at += filter(None, [run.ended_at])
            for day, form, count, failures in run.commands:
                self._commands.setdefault(day, Counter())[run.agent] += count
                self._failures[day] += failures
                first = self._first.get(form)
                self._first[form] = day if first is None else min(first, day)

    def days(self) -> tuple[Day, ...]:
        """The days on which anything was done, in order. The first time of a form is no repeat."""
        firsts = Counter(self._first.values())
        return tuple(
            Day(
                day=day,
                commands=(commands := sum(self._commands[day].values())),
                failures=self._failures[day],
                repeats=commands - firsts[day],
                by_agent=dict(sorted(self._commands[day].items())),
            )
            for day in sorted(self._commands)
        )


def tally_of(mined: MinedRun, ended_at: datetime | None = None) -> RunTally:
    counts: Counter[tuple[int, str]] = Counter()
    failures: Counter[tuple[int, str]] = Counter()
    for step in mined.steps:
        if step.at != TIMELESS and (form := step.form):
            key = (step.at.toordinal(), intern(form))
            counts[key] += 1
            failures[key] += step.outcome is Outcome.FAILED
    return RunTally(
        session_id=mined.session_id,
        run_id=mined.run_id,
        agent=mined.agent,
        commands=tuple(
            (_day(day), form, count, failures[day, form]) for (day, form), count in counts.items()
        ),
        ended_at=ended_at,
    )


@lru_cache
def _day(ordinal: int) -> date:
    return date.fromordinal(ordinal)
