"""Which skills a run opened (SKL-11).

A call that failed, was refused or was never answered opened nothing. Names are told as they stand in the
events: whether a skill is called so, and was there at the time, is for the store to say.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from runlore.domain.detectors.mined import Outcome
from runlore.domain.detectors.mining import TIMELESS, ToldNumbered
from runlore.domain.detectors.outcome import failing_line, judged, output_text
from runlore.domain.journal import EventType
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject
from runlore.domain.skill_openings import Budget, opened_by_call, opened_by_request
from runlore.domain.taint_sources.reading import NumberedEvent
from runlore.domain.transcript import ToldRun, TranscriptAgent

# Agents that know no skills: what is typed with a stroke there is a command of their own.
WITHOUT_SKILLS = frozenset({TranscriptAgent.AIDER.value})
# So many skills are told of one run.
NAMES_MAX = 100
# How much of an answer is looked at where no code and no flag says whether the call went well.
_REPORTED_CHARS_MAX = 400
# Members of an enumeration are slow to reach, and these are asked for with every event.
_INPUT, _CALL, _RESULT = EventType.INPUT, EventType.TOOL_CALL, EventType.TOOL_RESULT
_LOOKED_AT = frozenset({_INPUT, _CALL, _RESULT})


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedSkill:
    """A skill that a run opened: under which name, with which event of its session, and when."""

    name: str
    number: int
    at: datetime


def opened(events: Iterable[NumberedEvent], *, agent: str = "") -> tuple[OpenedSkill, ...]:
    """The skills that a run's events opened, each once: the first time that it went well, in order."""
    found: dict[str, OpenedSkill] = {}
    for each in () if agent in WITHOUT_SKILLS else _openings(events):
        if each.results is not None and not _went_well(each.results):
            continue
        for name in each.names:
            if len(found) < NAMES_MAX:
                found.setdefault(name, OpenedSkill(name=name, number=each.event.number, at=each.event.at))
    return tuple(found.values())


def opened_told(told: ToldRun) -> tuple[OpenedSkill, ...]:
    """The same for a run of a transcript, at the times that it tells."""
    at = next((event.at for event in told.events if event.at is not None), TIMELESS)
    events: list[ToldNumbered] = []
    for number, event in enumerate(told.events, start=told.first_number):
        at = event.at or at
        if event.entry.type in _LOOKED_AT:
            events.append(ToldNumbered(number, at, event.entry.type, event.entry.body))
    return opened(events, agent=told.agent.value)


@dataclass(kw_only=True, slots=True)
class _Opening:
    """An event that opens skills; a call has results, which say whether it did."""

    event: NumberedEvent
    names: tuple[str, ...]
    results: list[JsonObject] | None = None


def _openings(events: Iterable[NumberedEvent]) -> list[_Opening]:
    openings: list[_Opening] = []
    by_id: dict[str, _Opening] = {}
    budget = Budget()
    for event in events:
        kind = event.type
        if kind is _INPUT:
            if name := opened_by_request(event.body):
                openings.append(_Opening(event=event, names=(name,)))
            continue
        call_id = event.body.get("call_id")
        if not isinstance(call_id, str):
            continue
        if kind is _CALL:
            # Some agents count their calls anew: what comes from here on answers this one.
            by_id.pop(call_id, None)
            if names := opened_by_call(event.body, budget):
                openings.append(_Opening(event=event, names=names, results=[]))
                by_id[call_id] = openings[-1]
        elif kind is _RESULT and (asked := by_id.get(call_id)) is not None and asked.results is not None:
            asked.results.append(event.body)
    return openings


def _went_well(results: Sequence[JsonObject]) -> bool:
    """Whether a call was made. What it showed is a text about anything, so that only how it was answered
    counts, and the first line where nothing else says so."""
    judgement = judged(results, is_asking=True)
    if judgement.outcome is not Outcome.SUCCEEDED:
        return False
    last = results[-1]
    if judgement.exit_code is not None or last.get("is_error") is False:
        return True
    beginning = output_text(last.get("output"))[:_REPORTED_CHARS_MAX]
    return not failing_line(beginning.partition("\n")[0])
