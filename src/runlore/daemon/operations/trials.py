"""Trials: a policy before it is put, and a promoted skill run once in a child agent, so that it can be seen
whether it works (ROL-3)."""

from dataclasses import dataclass, replace
from functools import partial

from runlore.daemon.calls.access import keeps, own_session, require_bindable
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.calls.lookups import askable
from runlore.daemon.calls.requests import check_limit
from runlore.daemon.calls.working_folders import WorkingFolder, working_folder
from runlore.daemon.operations.bound import Bound, operation
from runlore.daemon.operations.sessions import session_of
from runlore.daemon.parts import SkillTrial
from runlore.daemon.skill_access import session_capabilities
from runlore.domain import limits
from runlore.domain.errors import Denied, Invalid, Refused
from runlore.domain.policies.policy import PolicyName
from runlore.domain.policies.policy_fields import learning_policy
from runlore.domain.records.contracts import check_text
from runlore.domain.run import RunId
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.sessions import CAPTURE_PAUSED, find_binding
from runlore.flow.policies import learning_in_force
from runlore.flow.review.automatic import PolicyComparison, try_policy
from runlore.flow.skills.rollouts import get_promoted
from runlore.ports import operations as ops
from runlore.ports.store import Collections


class TrialActs(Bound):
    """What a policy would do, and what a promoted skill does."""

    @operation
    def test_policy(self, trial: ops.PolicyTrial) -> ops.TrialAnswer:
        if trial.name is not PolicyName.LEARNING:
            raise Invalid(
                f"the policy {trial.name} decides on no candidates, so there is nothing to try",
                code="policy.trial",
                hint=f"only {PolicyName.LEARNING} can be tried; put another, and roll it back if need be",
            )
        tried = learning_policy(trial.policy)
        limit = check_limit(trial.limit, limits.LIST_LIMIT_MAX)
        now = self.parts.clock.now()
        with self.parts.store.snapshot() as snapshot:
            present, revision = learning_in_force(snapshot)
            rows = try_policy(
                snapshot.records, PolicyComparison(present=present, tried=tried, now=now), limit=limit
            )
        return ops.TrialAnswer(present_revision=revision, rows=rows)

    @operation
    def try_promoted(self, request: ops.TrialRequest) -> ops.RunView:
        arguments = check_text("the input", request.input)
        # Whether its end is waited for makes it no other call.
        same = replace(request, wait=False)
        call = Call(operation="try_promoted", request=same, key=request.idempotency_key)
        # The run that was begun before under this key, whatever has become of the skill since.
        run_id = self.acting.find_earlier(call, lambda kept: RunId(kept.name))
        if run_id is None:
            name = askable(request.skill_name, "promoted")
            place = self._place(request, name)
            trial = SkillTrial(
                name=name,
                arguments=arguments,
                call=call,
                folder=place.folder,
                session=place.session,
                own=place.own,
            )
            run_id = self.parts.beginning(self.parts, self.caller).begin_trial(trial)
        live = self.parts.agent.hub.find(run_id)
        if request.wait and live is not None:
            live.wait()
        return self.parts.operations(self.caller).get_run(run_id)

    def _trial_folder(self, path: str) -> WorkingFolder:
        with self.parts.store.snapshot() as snapshot:
            return working_folder(path, partial(find_binding, snapshot))

    def _place(self, request: ops.TrialRequest, name: str) -> "_Place":
        """Where it is tried: for a session, in a working folder, or without files and commands. Invalid
        (`promoted.place`) where both are named, Refused (`promoted.unstored`) where nothing would be kept of
        it."""
        is_named = request.session_id is not None
        if is_named and request.working_folder is not None:
            raise Invalid(
                "a trial is for a session, or in a working folder, not both",
                code="promoted.place",
                hint="name the session, whose working folder it takes, or the folder alone",
            )
        with self.parts.store.snapshot() as snapshot:
            get_promoted(snapshot, name)
            session = self._session(snapshot, request, name) if is_named else None
            switch = snapshot.counters.switch(CAPTURE_PAUSED)
        if session is not None:
            of_session = session.working_folder or self.parts.private_runs.folder_of(session.session_id)
            return _Place(folder=of_session or "", session=session)
        if switch is not None and switch.on:
            raise _unstored_refusal("capture is off")
        folder = None if request.working_folder is None else self._trial_folder(request.working_folder)
        if folder is not None and not folder.capture:
            raise _unstored_refusal("capture is off there")
        own = session_of(ops.NewSession(title=f"skill {name}"), folder, self.caller)
        require_bindable(self.caller, own)
        return _Place(folder="" if folder is None else folder.path, own=own)

    def _session(self, collections: Collections, request: ops.TrialRequest, name: str) -> Session:
        session_id = SessionId(askable(request.session_id or "", "session"))
        session = own_session(collections, self.caller, session_id)
        if not keeps(collections, session):
            raise _unstored_refusal(f"nothing of session {session_id!r} is stored")
        if not session_capabilities(collections, session.binding).allows_skill(name):
            raise Denied(
                f"session {session_id} may not use skill {name}",
                code="skill.denied",
                hint="its capability scope, or that of its persona, leaves the skill out",
            )
        return session


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a skill is tried: for a session, or in one of its own; without a folder it has neither files nor
    commands."""

    folder: str = ""
    session: Session | None = None
    own: Session | None = None


def _unstored_refusal(why: str) -> Refused:
    return Refused(
        f"a trial that is not kept proves nothing: {why}",
        code="promoted.unstored",
        hint="try it in a session, or a folder, of which something is stored",
    )
