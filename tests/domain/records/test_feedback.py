"""Verdicts of runs on a learning: each run counts once, whatever it says in whatever order."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlore.domain.limits import REASON_CHARS_MAX
from runlore.domain.record import Feedback, Move
from runlore.domain.records.audit import Act, apply_record_move, create_record
from runlore.domain.records.feedback import (
    NOTE_CHARS_MAX,
    FeedbackVerdict,
    count_verdict,
    reason_of,
    run_named,
    verdict_of,
    without_note,
)
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from tests.builders import confirmed, fact, proposed
from tests.fakes import START

# Ids that would be taken for each other if they were not told apart from what stands around them.
NAMES = ["x", 'x"', "x (completed)", 'x" (completed): wrong in run "y', "wrong in run", "y", "日本"]
verdicts = st.sampled_from(FeedbackVerdict)


def run(name: str, status: RunStatus = RunStatus.COMPLETED) -> Run:
    return Run(
        run_id=RunId(name),
        session_id=SessionId("s"),
        status=status,
        input_number=1,
        created_by="agent",
        opened_at=START,
        active_at=START,
    )


@pytest.mark.req("LRN-13", "SCO-2")
@given(st.sampled_from(NAMES) | st.text(min_size=1), verdicts, st.text(), st.sampled_from(RunStatus))
def test_whose_verdict_an_event_tells_is_known_whatever_the_run_is_called(
    name: str, verdict: FeedbackVerdict, note: str, status: RunStatus
) -> None:
    record = confirmed(proposed(fact()).record).record
    act = Act(actor="agent", at=START, reason=reason_of(verdict, run(name, status), note))
    event = apply_record_move(
        record, Move.AMEND, act, after=count_verdict(record, None, verdict, START)
    ).event

    assert run_named(event) == name
    assert without_note(event, RunId(name)).reason == reason_of(verdict, run(name, status), "")
    assert run_named(replace(event, move=Move.CONFIRM)) is None
    assert run_named(replace(event, reason=f"x{event.reason}")) is None


@pytest.mark.req("LRN-13", "REC-6")
@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), verdicts, st.sampled_from(["", *NAMES]), st.sampled_from(RunStatus))
    ),
    st.none() | st.integers(-5, 20),
)
def test_the_counts_are_the_last_word_of_each_run(
    said: list[tuple[str, FeedbackVerdict, str, RunStatus]], due: int | None
) -> None:
    first = proposed(fact(revalidate_at=None if due is None else START + timedelta(seconds=due)))
    record, events = first.record, [first.event]
    for change in [confirmed(record)]:
        record, events = change.record, [*events, change.event]
    latest: dict[str, FeedbackVerdict] = {}
    wrong_at = None
    for number, (name, verdict, note, status) in enumerate(said):
        now = START + timedelta(seconds=number)
        earlier = verdict_of(events, RunId(name))
        assert earlier is latest.get(name)
        if earlier is verdict:
            continue
        latest[name] = verdict
        wrong_at = now if verdict is FeedbackVerdict.WRONG and wrong_at is None else wrong_at
        reason = reason_of(verdict, run(name, status), note)
        change = apply_record_move(
            record,
            Move.AMEND,
            Act(actor="a", at=now, reason=reason),
            after=count_verdict(record, earlier, verdict, now),
        )
        record, events = change.record, [*events, change.event]

    counts = Counter(latest.values())
    assert record.feedback == Feedback(
        wrong=counts[FeedbackVerdict.WRONG], helped=counts[FeedbackVerdict.HELPED]
    )
    dues = [at for at in (first.record.revalidate_at, wrong_at) if at is not None]
    assert record.revalidate_at == min(dues, default=None)


@pytest.mark.req("LRN-13")
def test_a_reason_that_reads_like_a_verdict_is_none() -> None:
    record = proposed(fact()).record
    said = reason_of(FeedbackVerdict.WRONG, run("x"), "")
    amended = apply_record_move(record, Move.AMEND, Act(actor="a", at=START, reason=said), after=record)
    proposal = create_record(fact(), Move.PROPOSE, Act(actor="a", at=START, reason=said))

    assert verdict_of([proposal.event, amended.event], RunId("x")) is None


@pytest.mark.req("LRN-13")
@given(st.text(max_size=2_000), st.sampled_from([*NAMES, '"' * 200]))
def test_a_verdict_with_its_note_is_a_reason_of_bounded_length(note: str, name: str) -> None:
    reason = reason_of(FeedbackVerdict.HELPED, run(name), note)

    assert len(reason) <= REASON_CHARS_MAX
    assert len(note) > NOTE_CHARS_MAX or reason.endswith(note)
