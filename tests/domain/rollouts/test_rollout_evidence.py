"""Results as evidence: only of a run that executed this skill as it is, once, and as it really went."""

from dataclasses import replace
from typing import Any

import pytest

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid, Refused, RunloreError
from runlore.domain.rollouts import (
    Ran,
    Result,
    advance_promoted,
    counting,
    execution_for,
    record_result,
    redefine_promoted,
    revoke_promoted,
)
from runlore.domain.run import TERMINAL, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
)
from tests.domain.rollouts.rollouts import (
    ACTIVE,
    CANARY,
    DRAFT,
    IN_CANARY,
    MARKER,
    REVOKED,
    VERIFIED,
    at_status,
    by,
    draft,
    executed,
    learning,
    ran,
    record,
    result,
    words,
)

pytestmark = pytest.mark.req("ROL-3", "ROL-6")

TRIAL, USE = ExecutionKind.TRIAL, ExecutionKind.USE
VERIFICATION, CANARY_RESULT = RolloutKind.VERIFICATION, RolloutKind.CANARY


def after(skill: PromotedSkill, asked: Result, executions: list[Execution], run: Ran) -> PromotedSkill:
    """What recording comes to, as the flow goes about it."""
    chosen = execution_for(skill, asked, executions)
    return record_result(skill, asked, execution=chosen, ran=run, act=by(95))


def refusal(skill: PromotedSkill, asked: Result, executions: list[Execution], run: Ran) -> RunloreError:
    """What recording is refused with."""
    with pytest.raises(RunloreError) as refused:
        after(skill, asked, executions, run)
    assert refused.value.hint
    return refused.value


def test_a_trial_that_says_the_marker_verifies_the_skill() -> None:
    skill = draft()
    new = after(skill, result(20, marker=f"  {MARKER} "), [executed(skill, 20)], ran(20))

    [evidence] = new.evidence
    assert (evidence.kind, evidence.run_id, evidence.success) == (VERIFICATION, RunId("run_20"), True)
    assert (evidence.fingerprint, evidence.at, evidence.actor) == (skill.fingerprint, by(95).at, "ada")
    assert skill.fingerprint in evidence.note
    event = new.events[-1]
    assert (event.move, event.kind, event.run_id) == (RolloutMove.RECORD, VERIFICATION, evidence.run_id)
    assert (event.success, event.reason) == (True, evidence.note)
    assert (new.status, new.revision, counting(new)) == (DRAFT, 2, (evidence,))
    assert MARKER not in str(new)


@pytest.mark.parametrize("status", [DRAFT, VERIFIED, IN_CANARY])
def test_a_verification_is_taken_on_the_way_to_active(status: RolloutStatus) -> None:
    before = at_status(status).skill
    new = record(before, 60, VERIFICATION)
    assert (new.status, len(new.evidence)) == (status, len(before.evidence) + 1)


@pytest.mark.parametrize(
    ("run", "words_of_it"),
    [
        (ran(20, output="released: no"), "marker"),
        (ran(20, output=""), "marker"),
        (ran(20, RunStatus.FAILED), "failed"),
        (ran(20, RunStatus.INTERRUPTED), "interrupted"),
        (ran(20, RunStatus.CANCELLED), "cancelled"),
    ],
)
def test_a_failed_verification_is_refused_and_a_failed_canary_is_kept(run: Ran, words_of_it: str) -> None:
    skill = at_status(IN_CANARY).skill
    run = replace(run, run_id=RunId("run_60"), opened_at=by(60).at)

    error = refusal(skill, result(60), [executed(skill, 60)], run)
    assert (error.code, words_of_it in error.sentence) == ("promoted.verification", True)

    new = after(skill, result(60, CANARY_RESULT), [executed(skill, 60, USE)], run)
    assert (new.evidence[-1].success, words_of_it in new.evidence[-1].note) == (False, True)
    assert new.events[-1].success is False
    with pytest.raises(Refused) as refused:
        advance_promoted(new, ACTIVE, act=by(96))
    assert refused.value.code == "promoted.failed"


@pytest.mark.parametrize("status", sorted(set(RunStatus) - TERMINAL))
@pytest.mark.parametrize("kind", RolloutKind)
def test_a_run_that_goes_on_is_no_result_yet(status: RunStatus, kind: RolloutKind) -> None:
    skill = at_status(IN_CANARY).skill
    how = TRIAL if kind is VERIFICATION else USE
    error = refusal(skill, result(60, kind), [executed(skill, 60, how)], ran(60, status))
    assert (type(error), error.code) == (Conflict, "promoted.running")


@pytest.mark.parametrize("marker", ["", "  ", "ok", " ok ", "x" * (limits.MARKER_CHARS_MAX + 1)], ids=len)
def test_a_marker_that_proves_nothing_is_refused(marker: str) -> None:
    skill = draft()
    error = refusal(skill, result(20, marker=marker), [executed(skill, 20)], ran(20, output=marker))
    assert (type(error), error.code) == (Invalid, "promoted.marker")


@pytest.mark.parametrize("marker", ["yes", " yes ", "y" * limits.MARKER_CHARS_MAX], ids=len)
def test_a_marker_within_its_bounds_is_looked_for_trimmed(marker: str) -> None:
    skill = draft()
    output = f"({marker.strip()})"
    new = after(skill, result(20, marker=marker), [executed(skill, 20)], ran(20, output=output))
    assert new.evidence[-1].success


def test_a_marker_that_looks_like_a_secret_is_refused_and_never_repeated() -> None:
    skill = draft()
    marker = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8"
    error = refusal(skill, result(20, marker=marker), [executed(skill, 20)], ran(20, output=marker))
    assert (error.code, marker in error.sentence + error.hint) == ("guard.secret", False)


def test_a_stale_fingerprint_is_refused_and_the_current_one_is_a_guard() -> None:
    old = draft()
    new = redefine_promoted(old, words("Other."), source=learning(), act=by(10))
    error = refusal(new, result(20, fingerprint=old.fingerprint), [executed(new, 20)], ran(20))
    assert (type(error), error.code) == (Conflict, "promoted.fingerprint")
    assert new.fingerprint in error.sentence
    told = result(20, fingerprint=new.fingerprint)
    assert after(new, told, [executed(new, 20)], ran(20)).evidence


def others(skill: PromotedSkill) -> dict[str, Execution]:
    """Executions that are none of this skill as it is by the run that is named."""
    return {
        "another run": executed(skill, 21),
        "another skill": executed(skill, 20, skill_name="deploy"),
        "other words": executed(skill, 20, fingerprint="f" * 64),
        "called by another run": executed(skill, 21, calling_run_id=RunId("run_22")),
    }


@pytest.mark.parametrize("which", sorted(others(draft())))
def test_a_run_that_did_not_execute_this_skill_as_it_is_proves_nothing(which: str) -> None:
    skill = draft()
    for executions in ([], [others(skill)[which]]):
        error = refusal(skill, result(20), executions, ran(20))
        assert (type(error), error.code) == (Refused, "promoted.not-executed")


def test_the_marker_in_another_run_proves_nothing() -> None:
    skill = draft()
    chosen = execution_for(skill, result(20), [executed(skill, 20)])
    with pytest.raises(Refused) as refused:
        record_result(skill, result(20), execution=chosen, ran=ran(21), act=by(95))
    assert refused.value.code == "promoted.not-executed"
    with pytest.raises(Refused) as refused:
        record_result(skill, result(20), execution=executed(skill, 21), ran=ran(21), act=by(95))
    assert refused.value.code == "promoted.not-executed"


def test_a_run_from_before_the_skill_said_this_is_refused() -> None:
    skill = redefine_promoted(draft(), words("Other."), source=learning(), act=by(30))
    for minute, code in ((29, "promoted.before"), (30, None), (31, None)):
        run = ran(20, opened_at=by(minute).at)
        if code is None:
            assert after(skill, result(20), [executed(skill, 20)], run).evidence
        else:
            error = refusal(skill, result(20), [executed(skill, 20)], run)
            assert (type(error), error.code) == (Refused, code)


def test_a_use_verifies_nothing_and_a_trial_elsewhere_is_no_canary() -> None:
    skill = at_status(IN_CANARY).skill
    error = refusal(skill, result(60), [executed(skill, 60, USE)], ran(60))
    assert (type(error), error.code) == (Refused, "promoted.trial")
    outside = SessionId("ses_elsewhere")
    for execution in (
        executed(skill, 60),
        executed(skill, 60, session_id=outside),
        executed(skill, 60, USE, session_id=outside),
        executed(skill, 60, USE, session_id=None),
    ):
        error = refusal(skill, result(60, CANARY_RESULT), [execution], ran(60))
        assert (type(error), error.code) == (Refused, "promoted.session")
    named = executed(skill, 60, session_id=CANARY)
    assert after(skill, result(60, CANARY_RESULT), [named], ran(60)).evidence[-1].session_id == CANARY
    shared = advance_promoted(skill, IN_CANARY, act=by(90), share=100)
    drawn = executed(skill, 60, USE, session_id=outside)
    assert after(shared, result(60, CANARY_RESULT), [drawn], ran(60)).evidence[-1].success


def test_what_was_executed_before_the_canary_began_is_no_canary_evidence() -> None:
    walk = at_status(VERIFIED)
    shown = walk.tick()
    skill = walk.keep(advance_promoted(walk.skill, IN_CANARY, act=by(shown), sessions=(CANARY,)))
    more = advance_promoted(skill, IN_CANARY, act=by(shown + 9), share=50)
    for minute, code in ((shown - 1, "promoted.before"), (shown, None), (shown + 1, None)):
        for kind in (TRIAL, USE):
            execution = executed(skill, minute, kind, session_id=CANARY)
            asked, run = result(minute, CANARY_RESULT), ran(minute)
            if code is None:
                # Others who see it by now do not make it begin anew.
                assert after(more, asked, [execution], run).evidence[-1].success
            else:
                assert refusal(more, asked, [execution], run).code == code


def test_a_run_that_was_open_when_the_canary_began_is_evidence_of_what_it_used_since() -> None:
    walk = at_status(VERIFIED)
    shown = walk.tick()
    skill = walk.keep(advance_promoted(walk.skill, IN_CANARY, act=by(shown), sessions=(CANARY,)))
    run = ran(shown + 1, opened_at=by(shown - 1).at)
    assert after(skill, result(shown + 1, CANARY_RESULT), [executed(skill, shown + 1, USE)], run).evidence


@pytest.mark.parametrize("status", [DRAFT, VERIFIED])
def test_only_a_skill_in_canary_takes_canary_results(status: RolloutStatus) -> None:
    skill = at_status(status).skill
    error = refusal(skill, result(60, CANARY_RESULT), [executed(skill, 60, USE)], ran(60))
    assert (type(error), error.code) == (Conflict, "promoted.not-canary")


@pytest.mark.parametrize("status", [ACTIVE, REVOKED])
@pytest.mark.parametrize("kind", RolloutKind)
def test_what_is_active_or_revoked_takes_no_results(status: RolloutStatus, kind: RolloutKind) -> None:
    skill = at_status(status).skill
    error = refusal(skill, result(60, kind), [executed(skill, 60)], ran(60))
    assert isinstance(error, Conflict)
    assert status.value in error.sentence
    assert "record" in error.sentence


@pytest.mark.parametrize("kind", RolloutKind)
def test_the_same_run_twice_changes_nothing_whatever_is_said_of_it(kind: RolloutKind) -> None:
    walk = at_status(IN_CANARY)
    how = TRIAL if kind is VERIFICATION else USE
    once = record(walk.skill, 60, kind)
    execution = executed(once, 60, how, calling_run_id=RunId("run_70"))
    for new, asked, run in (
        (once, result(60, kind), ran(60)),
        (once, result(60, kind, marker="another marker"), ran(60)),
        (once, result(60, kind), ran(60, RunStatus.FAILED)),
        (once, result(70, kind), ran(60)),
        (revoke_promoted(once, by(90)), result(60, kind), ran(60)),
    ):
        assert after(new, asked, [execution], run) is new


def test_a_failed_canary_stays_failed_however_often_it_is_recorded() -> None:
    failed = record(at_status(IN_CANARY).skill, 60, CANARY_RESULT, succeeds=False)
    again = after(failed, result(60, CANARY_RESULT), [executed(failed, 60, USE)], ran(60))
    assert again is failed


def test_one_run_is_evidence_of_one_kind() -> None:
    once = record(at_status(IN_CANARY).skill, 60, VERIFICATION)
    execution = executed(once, 60, session_id=CANARY)
    error = refusal(once, result(60, CANARY_RESULT), [execution], ran(60))
    assert (type(error), error.code) == (Refused, "promoted.counted")


def test_a_calling_run_stands_for_the_run_that_it_called() -> None:
    skill = draft()
    child: dict[str, Any] = {"calling_run_id": RunId("run_9")}
    new = after(skill, result(9), [executed(skill, 20, **child)], ran(20))
    assert new.evidence[0].run_id == RunId("run_20")

    two = [executed(skill, 20, **child), executed(skill, 21, **child)]
    error = refusal(skill, result(9), two, ran(20))
    assert (type(error), error.code) == (Refused, "promoted.ambiguous")
    assert "run_20, run_21" in error.hint
    # One of them being recorded does not make it the one that is meant.
    assert refusal(new, result(9), two, ran(21)).code == "promoted.ambiguous"
    # A run that executed it itself means itself.
    own = executed(skill, 9)
    assert execution_for(skill, result(9), [*two, own]) == own
    # Of several only those are asked about that could be such evidence.
    canary = at_status(IN_CANARY).skill
    mixed = [executed(canary, 60, USE, **child), executed(canary, 61, **child)]
    assert execution_for(canary, result(9), mixed).run_id == RunId("run_61")
    assert execution_for(canary, result(9, CANARY_RESULT), mixed).run_id == RunId("run_60")
