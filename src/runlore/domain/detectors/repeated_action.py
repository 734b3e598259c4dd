"""`repeated-action` (SKL-2): six or more shell calls in the session, and the same normal form twice or more.

Only calls that count are counted, and only successful ones repeat. Both the commands of a call and the call
as a whole have a form: `gofmt -w && go test` and `go test` once each. Of the forms that the last run has
used, what does work of its own goes before handling files and before keeping one's own changes with git; then
the one that the session shows most often wins, then the longest, then the most recent.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from runlore.domain.detectors.match import Heuristic, Match, Occurrence, make_occurrence
from runlore.domain.detectors.mined import CommandKind, MinedRun, Step, StepCommand
from runlore.domain.lazy import dataclass

CALLS_MIN = 6
TIMES_MIN = 2

# What is done with git to one's own changes; the values are what matters in it.
_KEEPING = frozenset({"stage", "commit", "branch", "revert", "merge", ""})


def repeated_action(session: Sequence[MinedRun]) -> Match | None:
    """The form that is repeated most, of those that the last run used."""
    return RepeatedActions(session).match(0, len(session))


class _Use(NamedTuple):
    """A call, or one command of it, that has a form."""

    run: MinedRun
    step: Step
    command: StepCommand | None

    @property
    def occurrence(self) -> Occurrence:
        """The part of the call that has the form."""
        part = self.step
        if self.command is not None:
            part = replace(part, text=self.command.text, commands=(self.command,))
        return make_occurrence(self.run, (part,))


@dataclass(slots=True)
class _Form:
    """The uses of one form in their order, the place of each one's run, and as many as were told so far."""

    uses: list[_Use] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    told: list[Occurrence] = field(default_factory=list)

    def occurrences(self, low: int, high: int) -> tuple[Occurrence, ...]:
        self.told.extend(use.occurrence for use in self.uses[len(self.told) : high])
        return tuple(self.told[low:high])


class RepeatedActions:
    """The forms of a session. Each run is looked at once, however many rows of runs are asked for."""

    def __init__(self, runs: Sequence[MinedRun]) -> None:
        self._runs = runs
        self._forms: dict[str, _Form] = {}
        self._read = 0
        # How many calls that count lie before each run.
        self._calls = [0]
        for run in runs:
            self._calls.append(self._calls[-1] + sum(not step.is_looking for step in run.steps))

    def match(self, start: int, end: int) -> Match | None:
        """The form that is repeated most in the runs from `start` to before `end`, of those that the last of
        them used."""
        if start == end or self._calls[end] - self._calls[start] < CALLS_MIN:
            return None
        wanted = dict.fromkeys(form for form, _ in _forms_of(self._runs[end - 1]))
        if not wanted:
            return None
        self._read_to(end)
        found: list[tuple[tuple[bool, int, int, int], str, int, int]] = []
        for form in wanted:
            known = self._forms[form]
            low, high = bisect_left(known.places, start), bisect_left(known.places, end)
            if high - low >= TIMES_MIN:
                found.append((_rank(form, known.uses[high - 1], high - low), form, low, high))
        if not found:
            return None
        _, best, low, high = max(found, key=lambda each: each[0])
        occurrences = self._forms[best].occurrences(low, high)
        return Match(heuristic=Heuristic.REPEATED_ACTION, pattern=best, occurrences=occurrences)

    def _read_to(self, end: int) -> None:
        for place in range(self._read, end):
            for form, use in _forms_of(self._runs[place]):
                known = self._forms.setdefault(form, _Form())
                known.uses.append(use)
                known.places.append(place)
        self._read = max(self._read, end)


def _forms_of(run: MinedRun) -> Iterator[tuple[str, _Use]]:
    for step in (step for step in run.steps if step.has_worked):
        for form, command in _forms(step):
            yield form, _Use(run, step, command)


def _forms(step: Step) -> Iterator[tuple[str, StepCommand | None]]:
    """The form of the call as a whole, and of each of its commands, none twice."""
    counting = [command for command in step.commands if not command.is_looking]
    whole = " && ".join(command.form for command in counting)
    yield whole, None
    if len(counting) > 1:
        yield from {command.form: command for command in counting if command.form != whole}.items()


def _rank(form: str, last: _Use, times: int) -> tuple[bool, int, int, int]:
    commands = last.step.commands if last.command is None else (last.command,)
    is_work = any(
        command.kind is CommandKind.WORK and not (command.topic == "git" and command.verb in _KEEPING)
        for command in commands
        if not command.is_looking
    )
    return is_work, times, len(form), last.step.number
