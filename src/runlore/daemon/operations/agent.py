"""Runlore's own agent: inputs started, followed and cancelled, and what their runs wait for."""

from collections.abc import Iterator

from runlore.daemon.agent.run_follower import RunFollower
from runlore.daemon.calls.access import may_use, own_session
from runlore.daemon.calls.idempotency import Call, Done, EarlierResult
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit, cursor_at, cut_page, read_cursor
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.runs.run_access import UnstoredRuns, own_run, own_run_turn, run_id_of
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.daemon.runs.run_opening import run_view
from runlore.domain import limits
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalState
from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.records.audit import Act
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import make_storable
from runlore.flow.capture.approvals import decide_approval
from runlore.flow.capture.ending import RunEnding
from runlore.flow.reactions import Closed
from runlore.ports import operations as ops
from runlore.ports.store import Collections, Transaction

# How long an answer waits for a run that was told to stop.
_STOPPED_S = 5.0
_BEAT_S_MIN = 0.05


class AgentActs(Bound):
    """Inputs that Runlore works through itself."""

    @operation
    def start_input(self, request: ops.NewInput) -> ops.RunView:
        started = self.parts.beginning(self.parts, self.caller).begin(request)
        if request.wait:
            live = self.parts.agent.hub.find(started.run.run_id)
            if live is not None:
                live.wait()
            return self._run_view(started.run.run_id)
        return started

    @operation
    def follow_run(self, request: ops.FollowRun) -> Iterator[ops.RunEvent]:
        """What happened and happens in a run. Whether the caller may see it is found out here, at once."""
        run_id = run_id_of(request.run_id)
        if isinstance(request.after, bool) or not 0 <= request.after < 2**62:
            raise Invalid(
                "after is not the number of an event",
                code="journal.first-number",
                hint="give the number of the last event that you have, or leave it out",
            )
        self._run_view(run_id)
        following = RunFollower(
            parts=self.parts,
            caller=self.caller,
            run_id=run_id,
            after=request.after,
            beat_s=None if request.beat_s is None else max(_BEAT_S_MIN, request.beat_s),
        )
        return following.events()

    @operation
    def cancel_run(self, run_id: RunId) -> ops.RunView:
        run_id = run_id_of(run_id)
        run = self._run_view(run_id).run
        if run.is_terminal:
            return self._run_view(run_id)
        if run.executor is None:
            raise Conflict(
                f"run {run_id!r} is worked by another agent, which Runlore cannot stop",
                code="run.external",
                hint="stop that agent; its run is ended with finish",
            )
        if self.parts.agent.cancel(run_id):
            live = self.parts.agent.hub.find(run_id)
            if live is not None:
                live.wait(_STOPPED_S)
        else:
            self._cancel_elsewhere(run)
        return self._run_view(run_id)

    @operation
    def list_approvals(self, request: ops.ApprovalsRequest) -> ops.ApprovalPage:
        limit = check_limit(request.limit, limits.LIST_LIMIT_MAX)
        after = read_cursor(request.cursor, ApprovalId)
        run_id = None if request.run_id is None else run_id_of(request.run_id)
        states = request.states or frozenset({ApprovalState.WAITING})
        session_id = None
        with self.parts.store.snapshot() as snapshot:
            if request.session_id is not None:
                session_id = SessionId(askable(request.session_id, "session"))
                own_session(snapshot, self.caller, session_id)
            found = snapshot.approvals.page(
                limit=limit + 1,
                after=after,
                states=states,
                run_id=run_id,
                session_id=session_id,
            )
            unstored = [
                each
                for each in self.parts.agent.waiting.all()
                if (after is None or (each.created_at, each.approval_id) > after)
                and each.state in states
                and run_id in (None, each.run_id)
                and session_id in (None, each.session_id)
            ]
            merged = sorted([*found, *unstored], key=lambda each: (each.created_at, each.approval_id))
            items, cursor = cut_page(merged, limit, lambda each: cursor_at(each.created_at, each.approval_id))
            items = tuple(each for each in items if self._may_decide(snapshot, each))
        return ops.ApprovalPage(items=items, next_cursor=cursor)

    @operation
    def get_approval(self, approval_id: ApprovalId) -> Approval:
        approval_id = ApprovalId(askable(approval_id, "approval"))
        unstored = self.parts.agent.waiting.find(approval_id)
        with self.parts.store.snapshot() as snapshot:
            approval = unstored or snapshot.approvals.get(approval_id)
            if not self._may_decide(snapshot, approval):
                raise _nothing(approval_id)
            return approval

    @operation
    def decide_approval(self, decision: ops.ApprovalDecision) -> Approval:
        approval_id = self.get_approval(decision.approval_id).approval_id
        answer = None if decision.answer is None else _answer(decision.answer)

        def say(approval: Approval, act: Act) -> Approval:
            return decide_approval(approval, approve=decision.approve, answer=answer, act=act)

        if self.parts.agent.waiting.find(approval_id) is not None:
            act = Act(actor=self.caller.actor, at=self.parts.clock.now())
            after = self.parts.agent.waiting.change(approval_id, lambda approval: say(approval, act))
            return after or self.get_approval(approval_id)

        def do(tx: Transaction, act: Act) -> Done[Approval]:
            own_run_turn(tx, self.caller, tx.approvals.get(approval_id).run_id)
            present = tx.approvals.get(approval_id)
            after = say(present, act)
            if after is not present:
                tx.approvals.update(after, expected_revision=present.revision)
            return Done(after, name=approval_id)

        def again(kept: EarlierResult) -> Approval:
            return kept.tx.approvals.get(ApprovalId(kept.name))

        call = Call(operation="decide_approval", request=decision, key=decision.idempotency_key)
        said = self.acting.perform(call, do, again)
        self.parts.agent.waiting.wake(said)
        return said

    def _run_view(self, run_id: RunId) -> ops.RunView:
        with self.parts.store.snapshot() as snapshot:
            unstored = UnstoredRuns(runs=self.parts.private_runs, caller=self.caller).find(snapshot, run_id)
            if unstored is not None:
                return ops.RunView(run=unstored, request="", stored=False)
            run, _ = own_run(snapshot, self.caller, run_id)
            return run_view(snapshot, run)

    def _cancel_elsewhere(self, run: Run) -> None:
        """End a run of another process: that one finds it ended, and does nothing more for it."""

        def do(tx: Transaction, act: Act) -> Done[Closed | None]:
            present, _ = own_run_turn(tx, self.caller, run.run_id)
            if present.is_terminal:
                return Done(None)
            ending = RunEnding(status=RunStatus.CANCELLED)
            return Done(closing(self.parts).close(tx, present, ending, act))

        call = Call(operation="cancel_run", request=run.run_id, key=None)
        closed = self.acting.perform(call, do, lambda _kept: None)
        if closed is not None and closed.job is not None:
            remembering(self.parts).settle(closed.run.run_id, closed.job)

    def _may_decide(self, collections: Collections, approval: Approval) -> bool:
        session = collections.sessions.find(approval.session_id)
        return session is not None and may_use(self.caller, session)


def _answer(answer: str) -> str:
    if len(answer) > limits.AGENT_ANSWER_CHARS_MAX:
        raise Invalid(
            f"the answer has {len(answer):,} characters, more than {limits.AGENT_ANSWER_CHARS_MAX:,}",
            code="approval.answer",
            hint="say it shorter, or name a file of the working folder",
        )
    return redact_text(make_storable(answer).strip()).text


def _nothing(approval_id: ApprovalId) -> NotFound:
    return NotFound(
        f"there is no approval {approval_id!r}",
        code="approval.not-found",
        hint="`runlore approvals list` shows what runs wait for",
    )
