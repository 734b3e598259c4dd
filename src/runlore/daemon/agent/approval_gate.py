"""Whether a call may be made, and what is asked of a person: first what the session allows, then the rules,
then whoever decides.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

from runlore.agents.transcripts.parsing import shorten
from runlore.daemon.agent.run_opening import AGENT, OpenedRun, capabilities_of
from runlore.daemon.own_runs.live_events import Live
from runlore.daemon.parts import Parts
from runlore.domain import limits as bounds
from runlore.domain.agent.agent_profile import AgentLimits
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.agent.approval_decision import Ruling, verdict, why_not_shown
from runlore.domain.agent.approval_rules import ApprovalRules
from runlore.domain.agent.conversation import ToolCall
from runlore.domain.errors import Unavailable
from runlore.domain.privacy.redaction import redact_json, redact_text
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunStatus
from runlore.domain.serialization.codec import serialize
from runlore.domain.serialization.storable_json import make_json_storable
from runlore.domain.session import SessionId
from runlore.domain.text.safe_text import make_storable
from runlore.flow.capture import approvals
from runlore.flow.capture.session_lock import run_turn
from runlore.flow.capture.sessions import is_captured
from runlore.ports.runner import GateDecision, Verdict, Withheld
from runlore.ports.stopping import Stop
from runlore.ports.store import Transaction

# The argument that a shell would carry out.
_COMMAND = "command"
_ALLOWED = GateDecision(verdict=Verdict.ALLOWED)
# How long a wait may miss that it was stopped, and that another process has decided.
_STEP_S = 0.1
_STEPS_A_LOOK = 5
_UNSTORED_STATUS = {
    ApprovalKind.CALL: RunStatus.WAITING_FOR_APPROVAL,
    ApprovalKind.QUESTION: RunStatus.WAITING_FOR_USER,
}


@dataclass(frozen=True, kw_only=True)
class ApprovalGate:
    """The gate of one run. An agent that does not `asks` is denied what a person would have to decide.

    `confined` says whether its commands are kept inside the working folder."""

    parts: Parts
    opened: OpenedRun
    rules: ApprovalRules
    limits: AgentLimits
    live: Live
    asks: bool = True
    confined: bool = True

    def decide(self, call: ToolCall, stop: Stop) -> GateDecision:
        """Whether this call may be made. What the session leaves to its agent comes first (SCO-4)."""
        if not capabilities_of(self.parts, self.opened.session).allows_tool(call.name):
            return _deny(f"this session may not use {call.name}: its capability scope leaves it out")
        ruled = verdict(self.rules, call.name, call.arguments, confined=self.confined)
        if ruled.ruling is Ruling.ALLOWED:
            return _ALLOWED
        if ruled.ruling is Ruling.DENIED:
            return _deny(ruled.why)
        if not self.asks:
            return _deny(f"a person would have to approve it, and nobody can be asked here: {ruled.why}")
        return self._ask_about_call(call, ruled.why, stop)

    def decide_on_changes(self, call: ToolCall, withheld: Withheld, stop: Stop) -> GateDecision:
        """Whether what a call did to files that other programs obey may stay (SEC-1)."""
        if not self.asks:
            return _deny("a person would have to approve it, and nobody can be asked here")
        shown: JsonObject = {**call.arguments, "changes": withheld.changes}
        return self._ask_about_call(replace(call, arguments=shown), withheld.why, stop)

    def ask(self, question: str, stop: Stop) -> str:
        """A person's answer to a question (`agents.tools.context.Ask`)."""
        asked = self._request(ApprovalKind.QUESTION)
        said = self._ask_and_wait(replace(asked, question=_clean(question)), stop)
        if said.state is ApprovalState.ANSWERED:
            return said.answer
        raise Unavailable(
            "nobody has answered the question",
            code="agent.unanswered",
            hint="go on as well as you can without the answer, and say what you assumed",
        )

    def _ask_about_call(self, call: ToolCall, why: str, stop: Stop) -> GateDecision:
        command = call.arguments.get(_COMMAND)
        if hides := why_not_shown(command) if isinstance(command, str) else "":
            return _deny(f"a person would have to approve it, and cannot: {hides}")
        # What a call is given, without secrets; the middle of a very long text is left out, and told.
        small = {name: _short(make_json_storable(value)) for name, value in call.arguments.items()}
        clean, _ = redact_json(small)
        asked = replace(
            self._request(ApprovalKind.CALL),
            call_id=call.call_id,
            tool=call.name,
            arguments=cast("JsonObject", clean),
            why=_clean(why),
        )
        said = self._ask_and_wait(asked, stop)
        if said.state is ApprovalState.APPROVED:
            return _ALLOWED
        if said.state is ApprovalState.DENIED:
            return _deny(
                f"it was asked about, and denied: {said.answer}"
                if said.answer
                else "a person was asked, and denied it"
            )
        return _deny("nobody has approved it, and the run waits no longer")

    def _request(self, kind: ApprovalKind) -> Approval:
        run, now = self.opened.run, self.parts.clock.now()
        return Approval(
            approval_id=ApprovalId(self.parts.ids.new("apr", now)),
            run_id=run.run_id,
            session_id=run.session_id,
            kind=kind,
            arguments={},
            created_at=now,
        )

    def _ask_and_wait(self, approval: Approval, stop: Stop) -> Approval:
        is_stored = self._begin(approval)
        until_s = self.parts.clock.elapsed_s() + self.limits.answer_seconds_max
        present, steps = approval, 0
        while not stop.is_set() and self.parts.clock.elapsed_s() < until_s:
            if steps % _STEPS_A_LOOK == 0 or self.parts.agent.waiting.is_decided(approval.approval_id):
                # Where the store cannot be read for a moment, the person has not gone away.
                with suppress(Unavailable):
                    present = self._present(approval, is_stored=is_stored)
            if present.state is not ApprovalState.WAITING:
                break
            self.parts.agent.waiting.wait(_STEP_S)
            steps += 1
        return self._go_on(approval, is_stored=is_stored)

    def _begin(self, approval: Approval) -> bool:
        """Ask; whether that is stored. Where nothing of the session is, it is known to this process alone."""
        is_stored = False
        if self.opened.stored:
            with self.parts.store.transaction() as tx:
                run, session = run_turn(tx, approval.run_id)
                is_stored = is_captured(tx, session)
                if is_stored:
                    approvals.ask(tx, run, approval)
                    number = last_number(tx, session.session_id)
        if is_stored:
            self.live.grew(number)
        else:
            self.parts.agent.waiting.put(approval)
            self._move_unstored(_UNSTORED_STATUS[approval.kind])
        self.live.approval(serialize(approval))
        return is_stored

    def _present(self, approval: Approval, *, is_stored: bool) -> Approval:
        if not is_stored:
            return self.parts.agent.waiting.find(approval.approval_id) or approval
        with self.parts.store.snapshot() as snapshot:
            return snapshot.approvals.get(approval.approval_id)

    def _go_on(self, approval: Approval, *, is_stored: bool) -> Approval:
        """Let the run go on with what was said, or close what nobody has decided: whoever was faster has."""
        at = self.parts.clock.now()
        if not is_stored:
            said = self.parts.agent.waiting.lapse(approval.approval_id, at=at, actor=AGENT) or approval
            self._move_unstored(RunStatus.RUNNING)
        else:
            with self.parts.store.transaction() as tx:
                run, _ = run_turn(tx, approval.run_id)
                said = tx.approvals.get(approval.approval_id)
                if said.state is ApprovalState.WAITING:
                    approvals.lapse(tx, run.run_id, at=at, actor=AGENT)
                    said = tx.approvals.get(approval.approval_id)
                if not run.is_terminal:
                    approvals.go_on(tx, run, at)
                number = last_number(tx, run.session_id)
            self.live.grew(number)
        self.live.approval(serialize(said))
        return said

    def _move_unstored(self, status: RunStatus) -> None:
        run = self.parts.private_runs.find(self.opened.run.run_id)
        if run is not None and not run.is_terminal:
            self.parts.private_runs.keep(replace(run, status=status))


def last_number(tx: Transaction, session_id: SessionId) -> int:
    """The number of the latest event of a session, which is ours until the end of the transaction."""
    return tx.sessions.get(session_id).next_number - 1


def _deny(why: str) -> GateDecision:
    return GateDecision(verdict=Verdict.DENIED, why=why)


def _clean(text: str) -> str:
    return redact_text(shorten(make_storable(text), bounds.APPROVAL_TEXT_CHARS_MAX)).text


def _short(value: JsonValue) -> JsonValue:
    return shorten(value, bounds.APPROVAL_TEXT_CHARS_MAX) if isinstance(value, str) else value
