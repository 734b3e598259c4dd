"""What a session read from outside in runs that the detectors do not look at: too many, or left out.

A later run has it before its eyes all the same, so it is told with the first run that is looked at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runlore.domain import limits
from runlore.domain.detectors.mined import MinedRun, OutsideRead

LEFT_OUT = "a run that was left out"
"""What a run has read of which nothing may be known."""


def first_reads(reads: Iterable[OutsideRead]) -> tuple[OutsideRead, ...]:
    """Each source where it came first, in that order, and no more of them than are told of one conversation.
    What follows the first of them is tainted whether it is named or not."""
    first: dict[str, int] = {}
    for read in reads:
        first[read.source] = min(read.number, first.get(read.source, read.number))
    ordered = sorted((number, source) for source, number in first.items())
    return tuple(
        OutsideRead(number=number, source=source) for number, source in ordered[: limits.TAINT_SOURCES_MAX]
    )


def with_earlier(runs: Sequence[MinedRun], earlier: Sequence[OutsideRead]) -> tuple[MinedRun, ...]:
    """The runs of a session, the first of them with what was read in those before it."""
    if not runs or not earlier:
        return tuple(runs)
    return (replace(runs[0], outside=(*earlier, *runs[0].outside)), *runs[1:])
