"""Following a run: what stands in its journal, then what happens, until it has ended.

A run of this process tells by itself when there is something; any other is looked at from time to time.
"""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import field

from runlore.daemon.own_runs.live_events import Live, LiveEvents, is_growth
from runlore.daemon.parts import Parts
from runlore.daemon.runs.run_access import UnstoredRuns, own_run
from runlore.daemon.runs.run_opening import run_view
from runlore.domain import limits
from runlore.domain.access import Caller, Role
from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Corrupt, NotFound
from runlore.domain.lazy import dataclass
from runlore.domain.record import Kind, Proposal, State
from runlore.domain.run import MemoryState, Run, RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.serialization.codec import serialize
from runlore.domain.skill import SkillEventKind, SuggestionId
from runlore.domain.suggestion import StoredSuggestion, SuggestionState
from runlore.flow.skills.rollouts import final_output
from runlore.ports import operations as ops
from runlore.ports.store import Collections

# How often a run of another process is looked at, and how long one wait for ours takes.
_LOOK_S = 0.5
_WAIT_S = 5.0
_PAGE = 100
_DECIDED = {
    SkillEventKind.SAVED: ops.PatternOutcome.SAVED,
    SkillEventKind.DECLINED: ops.PatternOutcome.DECLINED,
    SkillEventKind.SUPPRESSED: ops.PatternOutcome.SUPPRESSED,
}


@dataclass
class RunFollower:
    """One follower of one run, which the caller may see."""

    parts: Parts
    caller: Caller
    run_id: RunId
    after: int = 0
    beat_s: float | None = None
    _told_at: float = field(default_factory=time.monotonic)

    def events(self) -> Iterator[ops.RunEvent]:
        live: Live | None = None
        place = 0
        while True:
            if live is None and (live := self._live()) is not None:
                place, grown = live.now()
                if not self._is_stored():
                    # Nothing of it stands anywhere else.
                    place = 0
                yield from self._journal(upto=grown)
            # Before the journal is read: what is written before the end is read behind this.
            ended = live.is_over if live is not None else self._has_ended()
            if ended:
                yield from self._rest(live, place)
                yield self._end()
                return
            if live is None:
                yield from self._journal()
            heard = self._wait(live, place)
            place = heard.place
            yield from self._relay(heard)
            if self.beat_s is not None and time.monotonic() - self._told_at >= self.beat_s:
                self._told_at = time.monotonic()
                yield ops.RunEvent(kind=ops.RunEventKind.BEAT, data={})

    def _live(self) -> Live | None:
        """The run as it goes on here. Of a forgotten one nothing is told, not what no journal had either."""
        live = self.parts.agent.hub.find(self.run_id)
        if live is None or not self._is_stored():
            return live
        with self.parts.store.snapshot() as snapshot:
            run = snapshot.runs.find(self.run_id)
        return None if run is not None and run.memory is MemoryState.FORGOTTEN else live

    def _rest(self, live: Live | None, place: int) -> Iterator[ops.RunEvent]:
        """What is left when the run has ended: the words in their order, then all that the journal has."""
        if live is not None:
            yield from self._relay(live.since(place, 0))
        yield from self._journal()

    def _relay(self, heard: LiveEvents) -> Iterator[ops.RunEvent]:
        """What has happened. The journal is read as far as it had grown then, so that the words of a message
        come before the message."""
        for event in heard.events:
            if is_growth(event):
                yield from self._journal(upto=event.number)
            elif event.kind is not ops.RunEventKind.JOURNAL:
                yield self._telling(event)
            elif event.number > self.after or not event.number:
                self.after = max(self.after, event.number)
                yield self._telling(event)

    def _journal(self, upto: int | None = None) -> Iterator[ops.RunEvent]:
        """What the journal has behind the latest event that was told, up to a number."""
        while upto is None or self.after < upto:
            with self.parts.store.snapshot() as snapshot:
                if snapshot.runs.find(self.run_id) is None:
                    return
                found = snapshot.journal.page(run_id=self.run_id, after=self.after, limit=_PAGE)
            events = [event for event in found if upto is None or event.number <= upto]
            for event in events:
                self.after = event.number
                plain = serialize(event)
                yield self._telling(
                    ops.RunEvent(kind=ops.RunEventKind.JOURNAL, data=plain, number=event.number)
                )
            if not found or len(events) < len(found):
                return

    def _wait(self, live: Live | None, place: int) -> LiveEvents:
        wait_s = _LOOK_S if live is None else _WAIT_S
        if self.beat_s is not None:
            wait_s = min(wait_s, max(0.0, self.beat_s - (time.monotonic() - self._told_at)))
        if live is not None:
            return live.since(place, wait_s)
        self.parts.agent.idle(wait_s)
        return LiveEvents(place=place)

    def _telling(self, event: ops.RunEvent) -> ops.RunEvent:
        self._told_at = time.monotonic()
        return event

    def _is_stored(self) -> bool:
        return not self.parts.private_runs.is_private(self.run_id)

    def _has_ended(self) -> bool:
        with self.parts.store.snapshot() as snapshot:
            run = self._unstored_runs().find(snapshot, self.run_id)
            if run is not None:
                # Nothing is known of one that another process works.
                return run.is_terminal or self.parts.private_runs.find(self.run_id) is None
            return snapshot.runs.get(self.run_id).is_terminal

    def _end(self) -> ops.RunEvent:
        with self.parts.store.snapshot() as snapshot:
            unstored = self._unstored_runs().find(snapshot, self.run_id)
            if unstored is not None:
                view = ops.RunView(run=unstored, request="", stored=False)
                live = self.parts.agent.hub.find(self.run_id)
                ended = ops.RunEnded(view=view, final_output="" if live is None else live.answer)
            else:
                run, _ = own_run(snapshot, self.caller, self.run_id)
                ended = ops.RunEnded(
                    view=run_view(snapshot, run),
                    final_output=_find_answer(snapshot, run),
                    detected=_detected_patterns(snapshot, run) if self._sees_suggestions() else (),
                )
        return ops.RunEvent(kind=ops.RunEventKind.END, data=serialize(ended))

    def _sees_suggestions(self) -> bool:
        """They may be a stranger's words, which reach no agent before somebody has read them, and concern
        everything, which a token with a limit does not."""
        return self.caller.role is not Role.AGENT and self.caller.scopes is None

    def _unstored_runs(self) -> UnstoredRuns:
        return UnstoredRuns(runs=self.parts.private_runs, caller=self.caller)


def _find_answer(collections: Collections, run: Run) -> str:
    with suppress(NotFound, Corrupt):
        return final_output(collections, run.run_id)
    return ""


def _detected_patterns(collections: Collections, run: Run) -> tuple[ops.DetectedPattern, ...]:
    """The suggestions that were seen in a run, and what has become of each."""
    found: list[ops.DetectedPattern] = []
    with suppress(Corrupt):
        decided = _latest_outcomes(collections, run)
        for stored in collections.suggestions.of_runs([run.run_id])[: limits.SUGGESTIONS_PER_RUN_MAX * 4]:
            suggestion = stored.suggestion
            became, reason = decided.get(stored.suggestion_id) or (_standing(collections, stored, run), "")
            found.append(
                ops.DetectedPattern(
                    suggestion_id=stored.suggestion_id,
                    name=suggestion.name,
                    heuristic=suggestion.heuristic.value,
                    description=suggestion.description,
                    became=became,
                    reason=reason,
                )
            )
        found += _proposed_procedures(collections, run, {each.name for each in found})
    return tuple(found)


def _proposed_procedures(
    collections: Collections, run: Run, told: Collection[str]
) -> Iterator[ops.DetectedPattern]:
    """What the equal runs before this one and it have shown, where no skill is told of that is the same."""
    for record in collections.records.of_run(run.run_id):
        name = str(record.metadata.get("workflow", ""))
        is_proposed = record.proposal is Proposal.EPISODES and record.state is State.CONSTRAINED
        if is_proposed and record.kind is Kind.PROCEDURE and name not in told:
            yield ops.DetectedPattern(
                suggestion_id=record.record_id,
                name=name,
                heuristic=Heuristic.CROSS_SESSION.value,
                description=record.summary.partition("\n")[0].removeprefix(f"{name}: "),
                became=ops.PatternOutcome.PROPOSED,
            )


def _latest_outcomes(
    collections: Collections, run: Run
) -> dict[SuggestionId, tuple[ops.PatternOutcome, str]]:
    """What the log tells since the end of a run, the latest word about each suggestion."""
    found: dict[SuggestionId, tuple[ops.PatternOutcome, str]] = {}
    for event in reversed(collections.skills.events(limit=limits.LIST_LIMIT_MAX)):
        is_since = run.finished_at is not None and event.at >= run.finished_at
        if is_since and event.suggestion_id is not None and event.kind in _DECIDED:
            found[event.suggestion_id] = _DECIDED[event.kind], event.reason
    return found


def _standing(collections: Collections, stored: StoredSuggestion, run: Run) -> ops.PatternOutcome:
    if stored.state is SuggestionState.SAVED:
        return ops.PatternOutcome.KNOWN
    if stored.state is SuggestionState.SKIPPED:
        return ops.PatternOutcome.SUPPRESSED
    is_improved = collections.jobs.find(JobKind.SAVE, run.run_id) is not None
    return ops.PatternOutcome.IMPROVING if is_improved else ops.PatternOutcome.WAITING
