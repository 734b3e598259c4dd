"""Runlore's own agent: inputs given to it, followed, stopped, and what they wait for."""

from collections.abc import Iterator

from runlore.client.remote.calls import Asked, Remote, Sent, given, path_of, repeated
from runlore.client.remote.following import followed, until_ended
from runlore.daemon import answers
from runlore.domain.approval import Approval, ApprovalId
from runlore.domain.run import RunId
from runlore.ports import operations as ops


class RemoteAgent(Remote):
    """Inputs that Runlore works through itself, on the other side."""

    def start_input(self, request: ops.NewInput) -> ops.RunView:
        """Begin a run there. With `wait` its stream is followed until it has ended."""
        body: Sent = given(
            {
                "text": request.text,
                "model": request.model,
                "fallback_model": request.fallback_model,
                "run_id": request.run_id,
                "learn": request.learn,
            }
        )
        path = path_of("sessions", request.session_id, "inputs")
        view = answers.read(ops.RunView, self.act(path, body, key=request.idempotency_key))
        return until_ended(self, view) if request.wait else view

    def follow_run(self, request: ops.FollowRun) -> Iterator[ops.RunEvent]:
        """What happened and happens in a run; a stream that breaks off is taken up again."""
        return followed(self.transport, request)

    def cancel_run(self, run_id: RunId) -> ops.RunView:
        """Stop a run that Runlore works; one that has ended is as it is."""
        return answers.read(ops.RunView, self.ask(path_of("runs", run_id, "cancel"), repeatable=True))

    def list_approvals(self, request: ops.ApprovalsRequest) -> ops.ApprovalPage:
        """What runs wait for, the oldest first."""
        asked: list[tuple[str, Asked]] = [
            ("run_id", request.run_id),
            ("session_id", request.session_id),
            *repeated("state", request.states),
            ("limit", request.limit),
            ("cursor", request.cursor),
        ]
        return answers.read(ops.ApprovalPage, self.read(path_of("approvals"), asked))

    def get_approval(self, approval_id: ApprovalId) -> Approval:
        """One request."""
        return answers.read(Approval, self.read(path_of("approvals", approval_id)))

    def decide_approval(self, decision: ops.ApprovalDecision) -> Approval:
        """Say yes or no, or answer."""
        body: Sent = given({"approve": decision.approve, "answer": decision.answer})
        path = path_of("approvals", decision.approval_id)
        return answers.read(Approval, self.act(path, body, key=decision.idempotency_key))
