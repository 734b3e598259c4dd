"""Runlore's own agent and promoted procedures, over HTTP beside the same from inside."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from runlore.domain.agent.approval import ApprovalId, ApprovalState
from runlore.domain.record import Kind, RecordId
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import PromotedSkill, RolloutKind, RolloutStatus
from runlore.ports import operations as ops
from tests.surfaces.agent_runs import MARKER
from tests.surfaces.client_both import Both


def agent(both: Both, folder: Path) -> None:
    """Inputs that are worked, one that asks, one that is cancelled."""
    session = both.do("create_session", ops.NewSession(working_folder=str(folder), agent="runlore"))
    told = both.do(
        "start_input",
        ops.NewInput(session_id=session.session_id, text="Go ✓", run_id=RunId("in/1"), wait=True),
    )
    assert (told.run.run_id, told.run.status, told.request) == ("in/1", RunStatus.COMPLETED, "Go ✓")
    assert replace(both.read("get_run", told.run.run_id), outcome=None) == told
    stop = ops.HookEvent(agent="codex", event="Stop", payload={"session_id": "s1"})
    assert both.do("report_hook", stop) == ops.HookAnswer()
    for after in (0, told.run.input_number, 10_000):
        request = ops.FollowRun(run_id=told.run.run_id, after=after)
        heard = list(both.do("follow_run", request))
        assert heard == list(both.inside.follow_run(request))
        assert heard[-1].kind is ops.RunEventKind.END
    once = ops.NewInput(
        session_id=session.session_id,
        text="!touch made",
        model="test:scripted",
        fallback_model="test:other",
        learn=False,
        idempotency_key="in/é",
    )
    run_id = both.do("start_input", once).run.run_id
    assert both.do("start_input", once).run.run_id == run_id
    approve(both, run_id, session.session_id)
    assert (folder / "made").exists()
    hanging = both.do("start_input", ops.NewInput(session_id=session.session_id, text="hang")).run.run_id
    cancelled = both.do("cancel_run", hanging)
    assert cancelled.run.status is RunStatus.CANCELLED
    assert both.read("cancel_run", hanging) == cancelled


def approve(both: Both, run_id: RunId, session_id: SessionId) -> None:
    """A call that is asked about, followed over HTTP, and allowed meanwhile."""
    for event in both.do("follow_run", ops.FollowRun(run_id=run_id, beat_s=0.2)):
        if event.kind is ops.RunEventKind.APPROVAL and event.data["state"] == "waiting":
            asked = both.read(
                "list_approvals", ops.ApprovalsRequest(run_id=run_id, session_id=session_id, limit=1)
            )
            approval = both.read("get_approval", asked.items[0].approval_id)
            yes = ops.ApprovalDecision(
                approval_id=approval.approval_id, approve=True, idempotency_key="yes/é"
            )
            decided = both.do("decide_approval", yes)
            assert both.read("decide_approval", yes) == decided
            both.fail(
                "decide_approval", ops.ApprovalDecision(approval_id=approval.approval_id, approve=False)
            )
    assert both.read("list_approvals", ops.ApprovalsRequest(states=frozenset(ApprovalState))).items
    assert both.read("list_approvals", ops.ApprovalsRequest(run_id=run_id)).items == ()
    assert both.read("list_approvals", ops.ApprovalsRequest(run_id=run_id, states=frozenset())).items == ()


def rollouts(both: Both, folder: Path) -> None:
    """A procedure from its draft to its being active, revoked and put back."""
    draft = promoted(both)
    verified(both, draft, folder)
    proven = tried_out(both, draft, folder)
    active = ops.AdvanceRequest(
        skill_name=draft.name, to=RolloutStatus.ACTIVE, expected_revision=proven.revision, idempotency_key="a"
    )
    assert both.do("advance_promoted", active).status is RolloutStatus.ACTIVE
    gone = both.do("revoke_promoted", ops.RevokePromoted(skill_name=draft.name, reason="it broke ✓"))
    assert both.read("revoke_promoted", ops.RevokePromoted(skill_name=draft.name)) == gone
    back = both.do("rollback_promoted", ops.RevokePromoted(skill_name=draft.name, reason="better"))
    asked = ops.PromotedHistoryRequest(skill_name=draft.name)
    history = both.read("promoted_history", asked).items
    assert (history[0].skill, history[-1].skill) == (draft, back)
    first = both.read("promoted_history", replace(asked, limit=len(history) - 1))
    rest = both.read("promoted_history", replace(asked, cursor=first.next_cursor))
    assert (first.items, rest.items, rest.next_cursor) == (history[:-1], history[-1:], None)
    both.do("revoke_promoted", ops.RevokePromoted(skill_name=draft.name))


def promoted(both: Both) -> PromotedSkill:
    """A draft, with everything that one can say."""
    made = both.do("create_candidate", ops.NewCandidate(kind=Kind.PROCEDURE, content="Tag it, then push ✓"))
    learning = both.do("publish", ops.Publication(record_id=made.record_id))
    promotion = ops.PromoteLearning(
        record_id=learning.record_id,
        skill_name="tag-and-push",
        instructions="Tag it ✓",
        description="Tags it.",
        when_to_use="On Mondays",
        version="1.2.0",
        allowed_tools=("shell", "read_file"),
        blocked_tools=("scratch",),
        context="fork",
        agent_profile="verification",
        provider="test",
        model="scripted",
        fallback_model="test:other",
        idempotency_key="p/é",
    )
    draft = both.do("promote_learning", promotion)
    assert both.read("promote_learning", promotion) == draft
    assert both.read("get_promoted", draft.name) == draft
    asked = ops.PromotedRequest(
        statuses=frozenset(RolloutStatus), source_record_id=learning.record_id, limit=1
    )
    assert both.read("list_promoted", asked).items == (draft,)
    assert isinstance(draft, PromotedSkill)
    return draft


def verified(both: Both, draft: PromotedSkill, folder: Path) -> None:
    """One that has been tried, and its result recorded."""
    trial = ops.TrialRequest(
        skill_name=draft.name, input="Go", working_folder=str(folder), wait=True, idempotency_key="t/é"
    )
    run_id = both.do("try_promoted", trial).run.run_id
    assert both.inside.get_run(run_id).run.status is RunStatus.COMPLETED
    result = ops.RolloutResult(
        skill_name=draft.name,
        kind=RolloutKind.VERIFICATION,
        run_id=run_id,
        expected_output_contains=MARKER,
        definition_fingerprint=draft.fingerprint,
    )
    recorded = both.do("record_result", result)
    assert both.read("record_result", result) == recorded
    both.do("advance_promoted", ops.AdvanceRequest(skill_name=draft.name, to=RolloutStatus.VERIFIED))


def tried_out(both: Both, draft: PromotedSkill, folder: Path) -> PromotedSkill:
    """One that went well as a canary."""
    session = both.do("create_session", ops.NewSession(working_folder=str(folder)))
    canary = ops.AdvanceRequest(
        skill_name=draft.name, to=RolloutStatus.CANARY, sessions=(session.session_id,), share=5
    )
    shown = both.do("advance_promoted", canary)
    assert (shown.canary.sessions, shown.canary.share) == ((session.session_id,), 5)
    tried = both.do(
        "try_promoted", ops.TrialRequest(skill_name=draft.name, input="Go", session_id=session.session_id)
    )
    assert list(both.do("follow_run", ops.FollowRun(run_id=tried.run.run_id)))[-1].data["final_output"]
    good = ops.RolloutResult(
        skill_name=draft.name,
        kind=RolloutKind.CANARY,
        run_id=tried.run.run_id,
        expected_output_contains=MARKER,
    )
    proven = both.do("record_result", good)
    assert isinstance(proven, PromotedSkill)
    return proven


def agent_mistakes() -> tuple[tuple[str, Any], ...]:
    """Calls about the agent and promoted skills that are refused."""
    strange = ("none", "", "\0", "\udcff", "x" * 5_000, "a/b c%2F..")
    result = ops.RolloutResult(
        skill_name="none",
        kind=RolloutKind.CANARY,
        run_id=RunId("none"),
        expected_output_contains="done",
    )
    return (
        *(("get_approval", ApprovalId(name)) for name in strange),
        *(("cancel_run", RunId(name)) for name in strange),
        *(("get_promoted", name) for name in strange),
        *(("promoted_history", ops.PromotedHistoryRequest(skill_name=name)) for name in strange),
        ("promoted_history", ops.PromotedHistoryRequest(skill_name="none", limit=0)),
        ("promoted_history", ops.PromotedHistoryRequest(skill_name="none", cursor="what?")),
        ("start_input", ops.NewInput(session_id=SessionId("none"), text="Go")),
        ("decide_approval", ops.ApprovalDecision(approval_id=ApprovalId("none"), approve=True)),
        ("list_approvals", ops.ApprovalsRequest(limit=0)),
        ("list_approvals", ops.ApprovalsRequest(cursor="what?")),
        ("list_approvals", ops.ApprovalsRequest(session_id=SessionId("none"))),
        ("list_promoted", ops.PromotedRequest(limit=0)),
        ("list_promoted", ops.PromotedRequest(cursor="x" * 100)),
        (
            "promote_learning",
            ops.PromoteLearning(record_id=RecordId("none"), skill_name="x", instructions="Do it"),
        ),
        ("try_promoted", ops.TrialRequest(skill_name="none", input="Go")),
        ("try_promoted", ops.TrialRequest(skill_name="none", input="Go", session_id=SessionId("none"))),
        ("record_result", result),
        ("advance_promoted", ops.AdvanceRequest(skill_name="none", to=RolloutStatus.ACTIVE)),
        ("revoke_promoted", ops.RevokePromoted(skill_name="none")),
        ("rollback_promoted", ops.RevokePromoted(skill_name="none", idempotency_key=" ")),
    )
