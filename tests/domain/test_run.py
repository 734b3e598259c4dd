"""The run's lifecycle, walked through every status and move."""

from datetime import timedelta

import pytest

from runlore.domain.errors import Conflict
from runlore.domain.run import MOVE_TO, OPEN, RUN, TERMINAL, RunMove, RunStatus, apply_run_move
from tests.fakes import START
from tests.storage.run_values import run, session

pytestmark = pytest.mark.req("JRN-2")

S, M = RunStatus, RunMove
# Said once more, by hand: a row that is added or lost has to be meant.
LEGAL = {
    (S.QUEUED, M.START): S.RUNNING,
    (S.QUEUED, M.FAIL): S.FAILED,
    (S.QUEUED, M.INTERRUPT): S.INTERRUPTED,
    (S.QUEUED, M.CANCEL): S.CANCELLED,
    (S.RUNNING, M.ASK_APPROVAL): S.WAITING_FOR_APPROVAL,
    (S.RUNNING, M.ASK_USER): S.WAITING_FOR_USER,
    (S.RUNNING, M.COMPLETE): S.COMPLETED,
    (S.RUNNING, M.FAIL): S.FAILED,
    (S.RUNNING, M.INTERRUPT): S.INTERRUPTED,
    (S.RUNNING, M.CANCEL): S.CANCELLED,
    (S.WAITING_FOR_APPROVAL, M.RESUME): S.RUNNING,
    (S.WAITING_FOR_APPROVAL, M.FAIL): S.FAILED,
    (S.WAITING_FOR_APPROVAL, M.INTERRUPT): S.INTERRUPTED,
    (S.WAITING_FOR_APPROVAL, M.CANCEL): S.CANCELLED,
    (S.WAITING_FOR_USER, M.RESUME): S.RUNNING,
    (S.WAITING_FOR_USER, M.FAIL): S.FAILED,
    (S.WAITING_FOR_USER, M.INTERRUPT): S.INTERRUPTED,
    (S.WAITING_FOR_USER, M.CANCEL): S.CANCELLED,
}


def test_the_statuses_are_those_of_the_specification() -> None:
    assert [status.value for status in RunStatus] == [
        *("queued", "running", "waiting_for_approval", "waiting_for_user"),
        *("completed", "failed", "interrupted", "cancelled"),
    ]
    assert {status.value for status in TERMINAL} == {"completed", "failed", "interrupted", "cancelled"}
    assert frozenset(RunStatus) == OPEN | TERMINAL
    assert not OPEN & TERMINAL


@pytest.mark.parametrize("status", RunStatus)
@pytest.mark.parametrize("move", RunMove)
def test_every_move_is_legal_as_said_or_a_conflict_that_names_run_status_and_move(
    status: RunStatus, move: RunMove
) -> None:
    before = run(session("s"), "run_1", status=status)
    if (status, move) in LEGAL:
        after = apply_run_move(before, move, START)
        assert after.status is LEGAL[(status, move)]
        assert after.is_terminal is (after.status in TERMINAL)
        assert (after.finished_at is not None) is after.is_terminal
        return
    with pytest.raises(Conflict) as refused:
        apply_run_move(before, move, START)
    assert refused.value.code == "run.move"
    assert all(word in refused.value.sentence for word in ("run_1", status, move))


def test_the_table_has_no_other_rows_and_nothing_leaves_a_terminal_status() -> None:
    assert dict(RUN.table) == LEGAL
    assert {status for status, _ in RUN.table} == OPEN
    assert {status: RUN.table[(S.RUNNING, move)] for status, move in MOVE_TO.items()} == {
        status: status for status in TERMINAL
    }


def test_a_move_raises_the_revision_and_keeps_what_it_does_not_say() -> None:
    before = run(session("s"), status=S.RUNNING, reason="why", error="what", revision=4)
    after = apply_run_move(before, M.ASK_USER, START + timedelta(seconds=1))

    assert (after.revision, after.reason, after.error) == (5, "why", "what")
    assert after.active_at == START + timedelta(seconds=1)
    ended = apply_run_move(after, M.RESUME, START)
    ended = apply_run_move(ended, M.FAIL, START, reason="new", error="newer")
    assert (ended.reason, ended.error, ended.revision) == ("new", "newer", 7)


def test_a_clock_that_went_back_ends_no_run_before_it_was_opened() -> None:
    before = run(session("s"), opened_at=START, active_at=START + timedelta(minutes=1))
    ended = apply_run_move(before, M.COMPLETE, START - timedelta(hours=1))

    assert ended.finished_at == START
    assert ended.active_at == START + timedelta(minutes=1)
