"""Starting an input: everything that can be refused is refused before anything is written, then the run is
opened and worked in a thread of this process.
"""

from dataclasses import dataclass, replace

from runlore.agents.profiles.profiles import load_profile
from runlore.agents.tools.context import ToolContext
from runlore.agents.tools.toolbox import toolbox
from runlore.daemon.agent.approval_gate import ApprovalGate
from runlore.daemon.agent.children import Children
from runlore.daemon.agent.run_opening import (
    OpenedRun,
    RunKind,
    call_of,
    capabilities_of,
    open_own_run,
    own_caller,
)
from runlore.daemon.agent.run_worker import Assignment, RunWorker, begun_or_ended, ended_anyway
from runlore.daemon.calls.access import own_session
from runlore.daemon.calls.idempotency import IdempotentCalls
from runlore.daemon.calls.lookups import askable
from runlore.daemon.own_runs.service import RunHandle
from runlore.daemon.parts import Parts, resolved_model
from runlore.daemon.runs.contexts import sections_again
from runlore.daemon.runs.run_access import own_run
from runlore.daemon.runs.run_opening import run_view
from runlore.domain.access import Caller
from runlore.domain.agent.agent_profile import AgentLimits, AgentProfile
from runlore.domain.agent.conversation import ToolCall, ToolSpec
from runlore.domain.run import RunId
from runlore.domain.session import Session, SessionId
from runlore.domain.skill import Skill
from runlore.flow.capture.runs import require_open_session
from runlore.ports import operations as ops
from runlore.ports.runner import ToolOutcome
from runlore.ports.stopping import Stop
from runlore.ports.workspaces import UNCONFINED, Workspace


@dataclass(frozen=True, kw_only=True)
class _Equipment:
    """What a run is worked with: who it acts for, by which profile and models, where."""

    session: Session
    profile: AgentProfile
    limits: AgentLimits
    model: str
    fallback_model: str
    workspace: Workspace | None


class RunStarter:
    """Starts inputs for one caller."""

    def __init__(self, parts: Parts, caller: Caller) -> None:
        self._parts = parts
        self._caller = caller

    def start(self, request: ops.NewInput) -> ops.RunView:
        """Open the run and begin to work it; one that was started before under this id or key is as it is."""
        before = self._before(request)
        if before is not None:
            return before
        equipment = self._prepare(request)
        workspace = equipment.workspace
        kind = RunKind(
            profile=equipment.profile,
            model=equipment.model,
            tools=self._specs(equipment),
            folder="" if workspace is None else workspace.folder,
        )
        agent = self._parts.agent
        with agent.place(equipment.session.session_id) as place, begun_or_ended(self._parts, place):
            opened = open_own_run(self._parts, self._caller, request, kind=kind, claim=place.take)
            if opened.is_new:
                agent.start(opened.run, lambda handle: self._work(opened, equipment, handle, request.learn))
        return opened.view

    def _before(self, request: ops.NewInput) -> ops.RunView | None:
        """The run that was begun before under this key, whatever has become of its session or its model."""
        acting = IdempotentCalls(store=self._parts.store, clock=self._parts.clock, caller=self._caller)
        name = acting.find_earlier(call_of(request), lambda kept: kept.name)
        if name is None:
            return None
        with self._parts.store.snapshot() as snapshot:
            run, _ = own_run(snapshot, self._caller, RunId(name))
            return replace(run_view(snapshot, run), sections=sections_again(snapshot, run.run_id))

    def _prepare(self, request: ops.NewInput) -> _Equipment:
        """Everything that the run needs; ModelFailure, and whatever is wrong with the folder, before anything
        is written."""
        session_id = SessionId(askable(request.session_id, "session"))
        with self._parts.store.snapshot() as snapshot:
            session = own_session(snapshot, self._caller, session_id)
        require_open_session(session)
        settings = self._parts.agent_settings
        profile = load_profile()
        folder = session.working_folder or self._parts.private_runs.folder_of(session_id)
        return _Equipment(
            session=session,
            profile=profile,
            limits=settings.limits(profile.limits),
            model=resolved_model(self._parts, request.model or ""),
            fallback_model=self._fallback(request),
            workspace=None if folder is None else self._parts.workspaces.open(folder),
        )

    def _fallback(self, request: ops.NewInput) -> str:
        """The model that takes over; one that the caller names is looked for at once."""
        if request.fallback_model:
            return resolved_model(self._parts, request.fallback_model)
        return self._parts.agent_settings.fallback_model

    def _specs(self, equipment: _Equipment) -> tuple[ToolSpec, ...]:
        given = ToolContext(
            operations=self._parts.operations(own_caller(self._caller, equipment.session)),
            run_id=RunId(""),
            session_id=equipment.session.session_id,
            limits=equipment.limits,
            fork=_refuse_fork,
            workspace=equipment.workspace,
            ask=_answer_nothing,
        )
        capabilities = capabilities_of(self._parts, equipment.session)
        return tuple(tool.spec for tool in toolbox(equipment.profile, capabilities, given))

    def _work(self, opened: OpenedRun, equipment: _Equipment, handle: RunHandle, learn: bool) -> None:
        with ended_anyway(self._parts, opened):
            assignment = self._make_assignment(opened, equipment, handle, learn)
        RunWorker(self._parts).work(assignment, stop=handle.stopping, live=handle.live)

    def _make_assignment(
        self, opened: OpenedRun, equipment: _Equipment, handle: RunHandle, learn: bool
    ) -> Assignment:
        parts, session = self._parts, opened.session
        agent = own_caller(self._caller, session)
        gate = ApprovalGate(
            parts=parts,
            opened=opened,
            rules=parts.agent_settings.approval,
            limits=equipment.limits,
            live=handle.live,
            asks=equipment.profile.asks,
            confined=equipment.workspace is None or equipment.workspace.confinement != UNCONFINED,
        )
        given = ToolContext(
            operations=parts.operations(agent),
            run_id=opened.run.run_id,
            session_id=session.session_id,
            limits=equipment.limits,
            fork=Children(parts=parts, caller=self._caller).fork(opened, equipment.limits),
            workspace=equipment.workspace,
            ask=gate.ask,
            on_output=handle.live.output,
        )
        return Assignment(
            opened=opened,
            tools=toolbox(equipment.profile, capabilities_of(parts, session), given),
            gate=gate,
            limits=equipment.limits,
            model=equipment.model,
            fallback_model=equipment.fallback_model,
            learn=learn,
            if_stopped=handle.stopping.ending,
        )


def _refuse_fork(_skill: Skill, _arguments: str, _call: ToolCall, _stop: Stop) -> ToolOutcome:
    return ToolOutcome(output="", is_error=True)


def _answer_nothing(_question: str, _stop: Stop) -> str:
    return ""
