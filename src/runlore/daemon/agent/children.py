"""Child agents: one works by a promoted skill, in a session and a copy of the working folder of its own.

A child never asks a person and starts nobody. Whatever it does, it ends within its limits, its copy is
removed, and what it changed there is kept as a diff.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import orjson

from runlore.agents.profiles.profiles import load_profile
from runlore.agents.tools.context import Fork, ToolContext
from runlore.agents.tools.toolbox import toolbox
from runlore.daemon.agent.approval_gate import ApprovalGate
from runlore.daemon.agent.run_opening import (
    NewSessionRun,
    OpenedRun,
    RunKind,
    capabilities_of,
    open_own_run,
    own_caller,
)
from runlore.daemon.agent.run_worker import Assignment, RunWorker, begun_or_ended, ended_anyway
from runlore.daemon.agent.worktree_cleanup import Copy, CopyNotes, is_there
from runlore.daemon.calls.idempotency import Call
from runlore.daemon.own_runs.service import RunHandle, RunSlot
from runlore.daemon.parts import Parts, SkillTrial
from runlore.daemon.runs.run_opening import Founding
from runlore.domain import limits
from runlore.domain.access import Caller
from runlore.domain.agent.agent_profile import AgentLimits, AgentProfile
from runlore.domain.agent.child_task import ChildModels, child_input, child_models, child_profile
from runlore.domain.agent.conversation import AssistantSaid, ToolCall
from runlore.domain.errors import Conflict
from runlore.domain.record import JsonObject
from runlore.domain.records.audit import Act
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.runs.journal import ANOTHER_AGENT, TASK, EventType
from runlore.domain.session import Session, SessionId
from runlore.domain.skill import Skill
from runlore.domain.skills.rollout import ExecutionKind, PromotedSkill
from runlore.domain.taint_sources import PASTED
from runlore.domain.text.excerpt import excerpt
from runlore.flow.capture.provenance import run_provenance
from runlore.flow.capture.sessions import make_session
from runlore.flow.pipeline.forking import Errand, runnable, send
from runlore.flow.skills.rollouts import final_output
from runlore.ports import operations as ops
from runlore.ports.runner import Tool, ToolOutcome
from runlore.ports.stopping import Stop
from runlore.ports.store import Collections, Transaction
from runlore.ports.workspaces import UNCONFINED, Workspace, Worktree

DIFF = "diff.patch"
TIME_OVER = "the time of the run that called it was over"
_BEAT_S = 0.05
_WORDS_OF = {ExecutionKind.USE: ANOTHER_AGENT, ExecutionKind.TRIAL: TASK}
_DIFF = "diff.patch"
# What a child was told by its caller is nothing that it has read.
_TOLD = ("words of ", PASTED)


@dataclass(frozen=True, kw_only=True)
class ChildRequest:
    """What a child is sent for. `session` is the one that the skill is used in or tried for, and the child's
    own is made like it; without one it is made like `own`. Where there is no folder it has neither files nor
    commands. `call` carries the key of a trial, `doubt` what may no longer hold of the skill."""

    skill: PromotedSkill
    arguments: str
    kind: ExecutionKind
    call: Call
    folder: str
    session: Session | None = None
    own: Session | None = None
    call_id: str = ""
    calling_run_id: RunId | None = None
    doubt: str = ""


@dataclass(frozen=True, kw_only=True)
class LaunchedChild:
    """A child's run; `handle` where this process works it now."""

    view: ops.RunView
    handle: RunHandle | None = None


@dataclass(frozen=True, kw_only=True)
class Children:
    """Sends child agents for one caller."""

    parts: Parts
    caller: Caller

    def fork(self, calling: OpenedRun, bounds: AgentLimits) -> Fork:
        """What works by promoted skills for a run: a child does, and its result is the call's answer."""

        def run_child(skill: Skill, arguments: str, call: ToolCall, stop: Stop) -> ToolOutcome:
            promoted = self.runnable(skill.name, ExecutionKind.USE, calling.session)
            launched = self.launch(
                ChildRequest(
                    skill=promoted,
                    arguments=arguments,
                    kind=ExecutionKind.USE,
                    call=Call(operation="use_skill", request=None, key=None),
                    folder=folder_of(self.parts, calling.session),
                    session=calling.session,
                    call_id=call.call_id,
                    calling_run_id=calling.run.run_id,
                    doubt=skill.doubt,
                )
            )
            self._wait(launched, calling.run.run_id, stop)
            return outcome_of(self.parts, launched.view, chars_max=bounds.output_chars_max)

        return run_child

    def runnable(self, name: str, kind: ExecutionKind, session: Session | None) -> PromotedSkill:
        """A skill as it is now, where it may be run for a session; see `flow.pipeline.forking`."""
        session_id = None if session is None else session.session_id
        with self.parts.store.snapshot() as snapshot:
            return runnable(snapshot, name, kind, session_id=session_id, now=self.parts.clock.now())

    def begin_trial(self, trial: SkillTrial) -> RunId:
        sent = ChildRequest(
            skill=self.runnable(trial.name, ExecutionKind.TRIAL, trial.session),
            arguments=trial.arguments,
            kind=ExecutionKind.TRIAL,
            call=trial.call,
            folder=trial.folder,
            session=trial.session,
            own=trial.own,
        )
        return self.launch(sent).view.run.run_id

    def launch(self, sent: ChildRequest) -> LaunchedChild:
        """Begin a child's run, in a thread of its own; ModelFailure, and whatever is wrong with the skill or
        the folder, before anything is written. The run that is there already for the same key."""
        child = self._child(sent)
        run_id = RunId(self.parts.ids.new("run", self.parts.clock.now()))
        if sent.kind is ExecutionKind.TRIAL:
            self.parts.agent.require_room()
        with ExitStack() as held:
            tree = self._copy(held, sent, run_id)
            if tree is not None and (remark := tree.remark):
                child = replace(child, text=f"{child.text}\n\n{remark} Say so where it matters.")
            with self._room(sent, run_id) as place, begun_or_ended(self.parts, place):
                workspace = None if tree is None else tree.workspace
                opened = self._open_run(sent, child, run_id, workspace=workspace, place=place)
                launched = self._begin(opened, child, tree, held)
        return launched

    @contextmanager
    def _room(self, sent: ChildRequest, run_id: RunId) -> Iterator[RunSlot]:
        """Room for the child's run. One that a run has called takes that one's place: its caller does nothing
        but wait."""
        session_id = _session_id(run_id)
        if sent.kind is not ExecutionKind.TRIAL:
            yield RunSlot(session_id)
            return
        with self.parts.agent.place(session_id) as place:
            yield place

    def _begin(
        self, opened: OpenedRun, child: "_Child", tree: Worktree | None, held: ExitStack
    ) -> LaunchedChild:
        """Work a run that was opened just now, and let go of its copy when it has ended."""
        run_id = opened.run.run_id
        if not opened.is_new:
            return LaunchedChild(view=opened.view, handle=self.parts.agent.find(run_id))
        kept = held.pop_all()

        def work(handle: RunHandle) -> None:
            with kept:
                self._work(opened, child, tree, handle)

        return LaunchedChild(view=opened.view, handle=self.parts.agent.start(opened.run, work))

    def _child(self, sent: ChildRequest) -> "_Child":
        definition = sent.skill.definition
        settings = self.parts.agent_settings
        profile = child_profile(load_profile(definition.runtime.agent_profile), definition)
        models = child_models(definition.runtime)
        return _Child(
            profile=profile,
            models=ChildModels(
                model=self.parts.chat.resolve(models.model or settings.model),
                fallback_model=models.fallback_model or settings.fallback_model,
            ),
            limits=settings.limits(profile.limits),
            text=child_input(definition, sent.arguments, doubt=sent.doubt),
        )

    def _copy(self, held: ExitStack, sent: ChildRequest, run_id: RunId) -> Worktree | None:
        """A copy of the folder, noted and removed by whoever closes `held`; None where there is none. Ids of
        calls are not all different, so that a second one gets the run's own."""
        if not sent.folder:
            return None
        try:
            return self._create_worktree(held, sent, run_id, sent.call_id or run_id)
        except Conflict:
            return self._create_worktree(held, sent, run_id, run_id)

    def _create_worktree(self, held: ExitStack, sent: ChildRequest, run_id: RunId, call_id: str) -> Worktree:
        copy, workspaces = Copy(folder=sent.folder, call_id=call_id), self.parts.workspaces
        tree: Worktree | None = None

        def is_left() -> bool:
            # What stood there before, and was not made here, is not ours to sweep.
            return tree is not None and is_there(workspaces, copy)

        with ExitStack() as trying:
            trying.enter_context(CopyNotes(self.parts.state_root).keep_note(copy, run_id, is_left=is_left))
            tree = trying.enter_context(workspaces.worktree(sent.folder, sent.skill.name, call_id))
            held.enter_context(trying.pop_all())
        return tree

    def _open_run(
        self,
        sent: ChildRequest,
        child: "_Child",
        run_id: RunId,
        *,
        workspace: Workspace | None,
        place: RunSlot,
    ) -> OpenedRun:
        founding = self._founding(sent, run_id)
        tools = self._tools(child, founding.session, run_id, workspace=workspace)
        kind = RunKind(
            profile=child.profile,
            model=child.models.model,
            tools=tuple(tool.spec for tool in tools),
            words_of=_WORDS_OF[sent.kind],
            folder="" if workspace is None else workspace.folder,
        )
        session_id = founding.session.session_id
        return open_own_run(
            self.parts,
            self.caller,
            ops.NewInput(session_id=session_id, text=child.text, run_id=run_id, learn=False),
            kind=kind,
            claim=place.take,
            begun=NewSessionRun(founding=founding, call=sent.call),
        )

    def _founding(self, sent: ChildRequest, run_id: RunId) -> Founding:
        """The session that the child works in, made with the word that its run executes the skill: its
        parent's child, or one of its own."""
        session_id = _session_id(run_id)
        parent_id = None if sent.session is None else sent.session.session_id

        def write(tx: Transaction, act: Act, is_stored: bool) -> None:
            errand = Errand(
                skill=sent.skill,
                kind=sent.kind,
                run_id=run_id,
                session_id=session_id,
                for_session=parent_id,
                calling_run_id=sent.calling_run_id,
            )
            send(tx, errand, act, is_stored=is_stored)
            if sent.own is not None and tx.sessions.find(session_id) is None:
                title = sent.own.title if is_stored else ""
                own = replace(sent.own, session_id=session_id, title=title)
                make_session(tx, replace(own, created_at=act.at, active_at=act.at))

        like = sent.own
        if parent_id is not None:
            with self.parts.store.snapshot() as snapshot:
                like = snapshot.sessions.get(parent_id)
        assert like is not None, "a child works for a session, or in one of its own"
        # Nothing was said in it yet.
        session = replace(like, session_id=session_id, checkpoint_number=None, created_by=self.caller.actor)
        return Founding(session=session, asked_in=parent_id, write=write)

    def _tools(
        self,
        child: "_Child",
        session: Session,
        run_id: RunId,
        *,
        workspace: Workspace | None,
        handle: RunHandle | None = None,
    ) -> tuple[Tool, ...]:
        given = ToolContext(
            operations=self.parts.operations(own_caller(self.caller, session)),
            run_id=run_id,
            session_id=session.session_id,
            limits=child.limits,
            fork=_no_fork,
            workspace=workspace,
            on_output=None if handle is None else handle.live.output,
        )
        return toolbox(child.profile, capabilities_of(self.parts, session), given)

    def _work(self, opened: OpenedRun, child: "_Child", tree: Worktree | None, handle: RunHandle) -> None:
        workspace = None if tree is None else tree.workspace
        gate = ApprovalGate(
            parts=self.parts,
            opened=opened,
            rules=self.parts.agent_settings.approval,
            limits=child.limits,
            live=handle.live,
            asks=child.profile.asks,
            confined=workspace is None or workspace.confinement != UNCONFINED,
        )
        with ended_anyway(self.parts, opened):
            tools = self._tools(child, opened.session, opened.run.run_id, workspace=workspace, handle=handle)
        assignment = Assignment(
            opened=opened,
            tools=tools,
            gate=gate,
            limits=child.limits,
            model=child.models.model,
            fallback_model=child.models.fallback_model,
            learn=False,
            if_stopped=handle.stopping.ending,
            leaves=lambda: _left_in(tree),
        )
        RunWorker(self.parts).work(assignment, stop=handle.stopping, live=handle.live)

    def _wait(self, launched: LaunchedChild, calling: RunId, stop: Stop) -> None:
        child = launched.handle
        while child is not None and not child.live.wait(_BEAT_S):
            if not stop.is_set() or child.stopping.is_set():
                continue
            caller = self.parts.agent.find(calling)
            ending = None if caller is None or not caller.stopping.is_set() else caller.stopping.ending()
            if ending is not None and ending.status is RunStatus.CANCELLED:
                child.stopping.cancel()
            else:
                child.stopping.interrupt(TIME_OVER if ending is None else ending.reason)


@dataclass(frozen=True, kw_only=True)
class _Child:
    profile: AgentProfile
    models: ChildModels
    limits: AgentLimits
    text: str


def _left_in(tree: Worktree | None) -> Mapping[str, str]:
    if tree is None:
        return {}
    diff = tree.diff(chars_max=limits.CHILD_DIFF_CHARS_MAX)
    return {DIFF: diff} if diff.strip() else {}


def _session_id(run_id: RunId) -> SessionId:
    """The session of a child's run: the same whenever it is asked for, so that nothing is begun twice."""
    return SessionId(f"ses_{run_id.removeprefix('run_')}")


def folder_of(parts: Parts, session: Session) -> str:
    """Where a session's agent works; nothing where it works nowhere."""
    return session.working_folder or parts.private_runs.folder_of(session.session_id) or ""


def _no_fork(_skill: Skill, _arguments: str, _call: ToolCall, _stop: Stop) -> ToolOutcome:
    return ToolOutcome(output="a child agent starts nobody", is_error=True)


def outcome_of(parts: Parts, view: ops.RunView, *, chars_max: int) -> ToolOutcome:
    """The answer of the call that started a child. Where the child read something from outside, what it says
    counts as read there too (TNT-3)."""
    run_id = view.run.run_id
    with parts.store.snapshot() as snapshot:
        run = snapshot.runs.find(run_id) or parts.private_runs.find(run_id) or view.run
        output = final_output(snapshot, run_id) if view.stored else _unkept(parts, run)
        result: JsonObject = {"launch_run_id": run_id, "snapshot": snapshot_of(snapshot, run)}
        source = _source(snapshot, run)
    return ToolOutcome(
        output=_serialize_result(result, output, chars_max),
        is_error=run.status is not RunStatus.COMPLETED,
        source=source,
    )


def snapshot_of(collections: Collections, run: Run) -> JsonObject:
    """How a child's run stands: its status, how much it did, and where its diff is kept."""
    kinds: list[EventType] = []
    after = 0
    while page := collections.journal.page(run_id=run.run_id, after=after, limit=limits.JOURNAL_PAGE_DEFAULT):
        kinds += [event.type for event in page]
        after = page[-1].number
    kept = collections.runs.artifact_excerpts(run.run_id, chars_max=1)
    return {
        "status": run.status.value,
        **({"error": run.error} if run.error else {}),
        **({"reason": run.reason} if run.reason else {}),
        "turns": kinds.count(EventType.USAGE),
        "tool_calls": kinds.count(EventType.TOOL_CALL),
        "diff_artifact_id": next((each.artifact_id for each in kept if each.name == _DIFF), None),
    }


def _serialize_result(result: JsonObject, output: str, chars_max: int) -> str:
    """The result with as much of the answer as fits: whoever reads it is given whole JSON."""
    room = chars_max
    while True:
        whole = {**result, "final_output": excerpt(output, room)}
        text = orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode()
        if len(text) <= chars_max or not room:
            return text
        room //= 2


def _unkept(parts: Parts, run: Run) -> str:
    """The last message of a child whose run is not stored."""
    said = [each.text for each in parts.agent.unkept.of(run.session_id) if isinstance(each, AssistantSaid)]
    return said[-1] if said else ""


def _source(collections: Collections, run: Run) -> str:
    sources = run_provenance(collections, run).sources
    is_outside = any(not source.startswith(_TOLD) for source in sources)
    return f"runlore://runs/{run.run_id}" if is_outside else ""
