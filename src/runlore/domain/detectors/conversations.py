"""What a conversation had read from outside by the time of a step: taint follows the evidence (TNT-1)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.match import Match, Occurrence
from runlore.domain.detectors.mined import MinedRun, Step
from runlore.domain.taint import TRUSTED, Provenance


class Conversation:
    """The runs of one session and everything that they read, in the order of the events that brought it.

    A later run has an earlier one's readings before its eyes, so that they count for it as well.
    """

    def __init__(self, runs: Iterable[MinedRun]) -> None:
        reads = {(read.number, read.source) for run in runs for read in run.outside}
        # The numbers of all that was read, and of the sources that are told those at which each came first.
        self._numbers: list[int] = []
        self._sources: dict[str, int] = {}
        for number, source in sorted(reads):
            self._numbers.append(number)
            if len(self._sources) < limits.TAINT_SOURCES_MAX:
                self._sources.setdefault(source, number)

    def read_by(self, number: int) -> Provenance:
        """What everything up to an event makes of whatever is drawn from it."""
        if not self._numbers or number < self._numbers[0]:
            return TRUSTED
        sources = tuple(source for source, first in self._sources.items() if first <= number)
        return Provenance(untrusted=True, needs_review=True, sources=sources)

    def mark_match(self, match: Match) -> Match:
        """A match whose occurrences in this session say what had been read by their last step."""
        return replace(match, occurrences=tuple(map(self._mark_occurrence, match.occurrences)))

    def _mark_occurrence(self, occurrence: Occurrence) -> Occurrence:
        return replace(occurrence, provenance=self.read_by(last_event(occurrence.steps)))


def last_event(steps: Sequence[Step]) -> int:
    """The last event that steps have to do with; what the last one's own result brought is among them."""
    return max((max(step.number, step.result_number) for step in steps), default=0)
