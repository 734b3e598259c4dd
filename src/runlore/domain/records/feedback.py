"""Feedback: what runs say of a learning that they were given. One run counts once for each learning.

The verdicts stand in the learning's history, one event each, and its counts are the sum of them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from runlore.domain.errors import Refused
from runlore.domain.record import Feedback, Move, Record
from runlore.domain.records.audit import RecordEvent
from runlore.domain.run import Run, RunId
from runlore.domain.text.excerpt import excerpt

NOTE_CHARS_MAX = 500
VERDICTS_MAX = 8


class FeedbackVerdict(StrEnum):
    """What a run says of a learning that it was given."""

    WRONG = "wrong"
    HELPED = "helped"


def reason_of(verdict: FeedbackVerdict, run: Run, note: str) -> str:
    """The reason of a verdict's event: what was said, in which run, how that stands, and the note."""
    opening = f"{_opening(verdict, run.run_id)} ({run.status})"
    return f"{opening}: {excerpt(note, NOTE_CHARS_MAX)}" if note else opening


def verdict_of(events: Sequence[RecordEvent], run_id: RunId) -> FeedbackVerdict | None:
    """What a run has said last; None where it has said nothing."""
    return next(_verdicts(reversed(events), run_id), None)


def refuse_more(events: Sequence[RecordEvent], run_id: RunId) -> None:
    """Refuse another verdict of a run that has changed its mind often enough: each is an event for good."""
    if sum(1 for _ in _verdicts(events, run_id)) >= VERDICTS_MAX:
        raise Refused(
            f"run {run_id!r} has given its verdict on this learning {VERDICTS_MAX} times",
            code="feedback.too-many",
            hint="the last one counts; an operator can verify the learning or revoke it",
        )


def run_named(event: RecordEvent) -> RunId | None:
    """The run whose verdict an event tells; None for any other event."""
    found = _TOLD.match(event.reason) if event.move is Move.AMEND else None
    return None if found is None else RunId(json.loads(found[1]))


def count_verdict(
    record: Record, earlier: FeedbackVerdict | None, verdict: FeedbackVerdict, now: datetime
) -> Record:
    """The record with a verdict counted, in place of the run's earlier one.

    One that was called wrong is due for revalidation at once.
    """
    counts = {said: getattr(record.feedback, said) for said in FeedbackVerdict}
    if earlier is not None:
        counts[earlier] -= 1
    counts[verdict] += 1
    due = record.revalidate_at
    if verdict is FeedbackVerdict.WRONG:
        due = now if due is None else min(due, now)
    return replace(
        record,
        feedback=Feedback(wrong=counts[FeedbackVerdict.WRONG], helped=counts[FeedbackVerdict.HELPED]),
        revalidate_at=due,
    )


def without_note(event: RecordEvent, run_id: RunId) -> RecordEvent:
    """The event of a forgotten run's verdict, without what the run said beside it; any other as it is."""
    for verdict in FeedbackVerdict:
        opening = f"{_opening(verdict, run_id)} ("
        if event.move is Move.AMEND and event.reason.startswith(opening):
            end = event.reason.index(")", len(opening)) + 1
            return replace(event, reason=event.reason[:end])
    return event


def _verdicts(events: Iterable[RecordEvent], run_id: RunId) -> Iterator[FeedbackVerdict]:
    for event in events:
        # Only a verdict changes the counts, so no other reason can be taken for one.
        if event.move is Move.AMEND and "feedback" in event.changes:
            for verdict in FeedbackVerdict:
                if event.reason.startswith(f"{_opening(verdict, run_id)} ("):
                    yield verdict


_TOLD = re.compile(rf'(?:{"|".join(FeedbackVerdict)}) in run ("(?:[^"\\]|\\.)*") \(')


def _opening(verdict: FeedbackVerdict, run_id: RunId) -> str:
    # Quoted, so that no run's id reads like the beginning of another's.
    return f"{verdict} in run {json.dumps(run_id, ensure_ascii=False)}"
