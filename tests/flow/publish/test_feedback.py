"""Feedback: a run that was given a learning says, once, whether it helped; a wrong one waits in the inbox."""

from datetime import timedelta
from functools import partial

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import Refused
from runlore.domain.record import Feedback, Move, RecordId, State
from runlore.domain.records.feedback import VERDICTS_MAX
from runlore.domain.run import RunId, RunStatus
from runlore.ports import operations as ops
from tests.builders import ACME
from tests.fakes import START
from tests.flow.learning_acts import candidate, feedback, given_run, learning, supersede, verify
from tests.flow.learnings import learned
from tests.world import World, decision, outcome

ASKED = "What is the codename?"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.mark.req("LRN-13", "REC-6")
def test_a_verdict_is_kept_with_how_its_run_ended_and_counted(world: World) -> None:
    record = learning(world)
    run = given_run(world.agent, ASKED)
    world.agent.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.FAILED, error="no"))
    world.clock.advance(seconds=1)

    after = feedback(world.agent, record, run, "wrong", note=f" It was renamed,\nsee {SECRET} ")

    assert after.feedback == Feedback(wrong=1)
    assert after.revalidate_at == world.clock.now()
    assert (after.state, after.revision) == (State.ACTIVE, record.revision + 1)
    event = world.operator.history(record.record_id)[-1]
    assert (event.move, event.actor) == (Move.AMEND, "claude")
    assert event.reason.startswith(f'wrong in run "{run.run_id}" (failed): It was renamed')
    assert SECRET not in event.reason
    assert world.files_with(SECRET) == []
    assert learned(world, ASKED) == [record.record_id]


@pytest.mark.req("LRN-13")
def test_a_run_that_changes_its_mind_again_and_again_is_heard_no_more(world: World) -> None:
    record = learning(world)
    run, other = (given_run(world.agent, ASKED) for _ in range(2))
    words = ["wrong", "helped"] * (VERDICTS_MAX // 2)
    for word in words:
        counted = feedback(world.agent, record, run, word, note="x")
    before = world.tables()

    with pytest.raises(Refused) as refused:
        feedback(world.agent, record, run, "wrong")

    assert (refused.value.code, world.tables()) == ("feedback.too-many", before)
    assert feedback(world.agent, record, run, "helped") == counted
    assert len(world.operator.history(record.record_id)) == 2 + VERDICTS_MAX
    assert feedback(world.agent, record, other, "wrong").feedback == Feedback(wrong=1, helped=1)


@pytest.mark.req("LRN-13")
def test_a_run_counts_once_and_may_change_its_mind(world: World) -> None:
    record = learning(world)
    first, second = (given_run(world.agent, ASKED) for _ in range(2))

    assert feedback(world.agent, record, first, "helped").feedback == Feedback(helped=1)
    before = world.tables()
    again = feedback(world.agent, record, first, "helped", note="truly")
    assert (again.feedback, world.tables()) == (Feedback(helped=1), before)
    assert feedback(world.agent, record, second, "wrong").feedback == Feedback(wrong=1, helped=1)
    assert feedback(world.agent, record, first, "wrong").feedback == Feedback(wrong=2)
    changed = feedback(world.agent, record, second, "helped")
    assert changed.feedback == Feedback(wrong=1, helped=1)
    assert feedback(world.operator, record, second, "helped") == changed
    world.restart()
    assert world.record(record) == changed


@pytest.mark.req("LRN-13")
def test_a_wrong_learning_waits_in_the_inbox_until_an_operator_answers(world: World) -> None:
    record, other = learning(world), learning(world, "The codename list is public")
    first, second = (given_run(world.agent, ASKED) for _ in range(2))
    waiting = candidate(world.operator, "It waits")
    assert _inbox(world) == [(waiting.record_id, ())]
    world.clock.advance(seconds=1)
    feedback(world.agent, record, first, "wrong")
    world.clock.advance(seconds=1)
    feedback(world.agent, record, second, "wrong")
    feedback(world.agent, other, first, "helped")

    since = "due for revalidation since 2026-01-01T00:00:01.000Z"
    assert _inbox(world) == [
        (record.record_id, ("called wrong in 2 runs", since)),
        (waiting.record_id, ()),
    ]
    feedback(world.agent, record, second, "helped")
    assert _inbox(world)[0][1] == ("called wrong in 1 run, helped in 1 run", since)
    verify(world, record, on_my_word=True)
    assert _inbox(world) == [(waiting.record_id, ())]
    third = given_run(world.agent, ASKED)
    feedback(world.agent, record, third, "wrong")
    assert [record_id for record_id, _ in _inbox(world)] == [record.record_id, waiting.record_id]
    world.operator.revoke(decision(record))
    assert _inbox(world) == [(waiting.record_id, ())]


def _inbox(world: World) -> list[tuple[RecordId, tuple[str, ...]]]:
    page = world.operator.review_list(ops.ReviewRequest())
    return [(item.record.record_id, item.attention) for item in page.items]


@pytest.mark.req("LRN-13", "SCO-2", "OPS-5")
def test_only_a_run_that_was_given_a_learning_may_judge_it_and_learns_of_no_other(world: World) -> None:
    record = learning(world)
    hidden = learning(world, "The codename of acme is secret", candidate={"scope": ACME})
    given = given_run(world.agent, ASKED)
    empty = world.agent.open_run(ops.NewRun(session_id=given.session_id, request=ASKED)).run
    theirs = given_run(world.operator, ASKED, "theirs")
    before = world.tables()

    for run, target, code in (
        (given, hidden.record_id, "feedback.not-given"),
        (given, RecordId("rec_nothing"), "feedback.not-given"),
        (given, RecordId("\ud800"), "feedback.not-given"),
        (empty, record.record_id, "feedback.not-given"),
        (theirs, record.record_id, "run.not-found"),
    ):
        assert outcome(partial(feedback, world.agent, target, run, "wrong")) == code
    assert outcome(partial(feedback, world.agent, record, RunId("nowhere"), "wrong")) == "run.not-found"
    told = set()
    for target in (hidden.record_id, RecordId("rec_nothing")):
        with pytest.raises(Refused) as refusal:
            feedback(world.agent, target, given, "wrong")
        told.add((refusal.value.sentence, refusal.value.hint))
    assert len(told) == 1
    assert world.tables() == before


@pytest.mark.req("OPS-5", "LRN-13")
def test_a_token_with_a_limit_judges_only_what_it_reaches(world: World) -> None:
    inside = learning(world, "The codename is Atlas", candidate={"scope": ACME})
    outside = learning(world, "The codename list is public")
    session = world.session(project_ids=("acme",))
    run = world.run(ASKED, session_id=session.session_id, context=True)
    scopes = frozenset({ACME, session.scope})
    limited = Application(world.parts, ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=scopes))

    assert outcome(partial(feedback, limited, outside, run, "wrong")) == "feedback.not-given"
    assert outcome(partial(feedback, limited, inside, run, "wrong")) == "done"


@pytest.mark.req("LRN-13", "REC-5", "LRN-11")
def test_a_learning_that_no_longer_holds_is_not_judged(world: World) -> None:
    revoked, replaced = learning(world, "The codename is Atlas"), learning(world, "The codename list is long")
    expiring = learning(world, "The codename book is red", expires_at=START + timedelta(seconds=1))
    run = given_run(world.agent, ASKED)
    world.operator.revoke(decision(revoked))
    supersede(world, replaced, "The codename list is short")
    world.clock.advance(milliseconds=999)
    assert outcome(partial(feedback, world.agent, expiring, run, "helped")) == "done"
    world.clock.advance(milliseconds=1)

    for record, code in (
        (revoked, "record.move"),
        (replaced, "record.move"),
        (expiring, "record.expired"),
    ):
        assert outcome(partial(feedback, world.agent, record, run, "wrong")) == code


@pytest.mark.req("LRN-13")
@pytest.mark.parametrize(
    ("note", "code"),
    [("n" * 1_000, "done"), ("n" * 1_001, "feedback.note"), ("a\0", "text.characters"), ("  ", "done")],
    ids=["long", "longer", "nul", "blank"],
)
def test_a_note_is_bounded(sqlite_world: World, note: str, code: str) -> None:
    record = learning(sqlite_world)
    run = given_run(sqlite_world.agent, ASKED)

    assert outcome(partial(feedback, sqlite_world.agent, record, run, "wrong", note=note)) == code


@pytest.mark.req("LRN-12", "LRN-13")
@pytest.mark.parametrize("whole_session", [True, False])
def test_forgetting_a_run_takes_its_note_along_and_leaves_its_verdict(
    world: World, whole_session: bool
) -> None:
    record = learning(world)
    run, other = (given_run(world.agent, ASKED, name) for name in ("talk", "other"))
    feedback(world.agent, record, run, "wrong", note="Marmaduke renamed it")
    feedback(world.agent, record, other, "wrong", note="Somebody renamed it")
    for each in (run, other):
        world.agent.finish_run(ops.RunEnd(run_id=each.run_id, status=RunStatus.COMPLETED))
    before = world.record(record)

    world.operator.forget(ops.Decision(record_id=RecordId("talk" if whole_session else run.run_id)))

    reasons = [event.reason for event in world.operator.history(record.record_id)][-2:]
    assert reasons == [
        f'wrong in run "{run.run_id}" (running)',
        f'wrong in run "{other.run_id}" (running): Somebody renamed it',
    ]
    assert world.files_with("Marmaduke") == []
    assert world.record(record) == before


@pytest.mark.req("OPS-4", "LRN-13")
def test_it_has_one_effect_for_one_key(world: World) -> None:
    record = learning(world)
    run = given_run(world.agent, ASKED)
    done = feedback(world.agent, record, run, "wrong", idempotency_key="k")
    feedback(world.agent, record, run, "helped")
    before = world.tables()

    assert feedback(world.agent, record, run, "wrong", idempotency_key="k") == done
    assert world.tables() == before
