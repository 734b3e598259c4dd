"""Trials of promoted skills: a child agent works by one, in a session and a copy of its own."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import AgentSettings, Settings
from runlore.daemon.agent.children import Children, ChildRequest
from runlore.daemon.agent.worktree_cleanup import FOLDER
from runlore.daemon.calls.idempotency import Call
from runlore.domain import limits
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.errors import Conflict, Denied, Invalid, NotFound, Refused, RunloreError
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skills.rollout import ExecutionKind, RolloutKind, RolloutStatus
from runlore.flow.pipeline.forking import TRIED
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure
from tests.flow.agent_deaths import mortal_operator
from tests.flow.child_scene import MARKER, SKILL, WORKS, Cast, Scene, answers, repository, scene, then
from tests.flow.dying import Died
from tests.flow.kill_points import Fuse
from tests.model_server import Received, calls, fails, hangs, says
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, World, outcome

pytestmark = pytest.mark.req("ROL-3", "ROL-11", "ROL-12")

PROFILE_TOOLS = {"shell", "read_file", "write_file", "edit_file", "memory_search", "scratch"}


@pytest.fixture
def project(disk_path: Path) -> Path:
    return repository(disk_path / "project")


@pytest.fixture
def on_stage(settings: Settings, project: Path) -> Iterator[Scene]:
    with scene(settings, project) as made:
        yield made


@pytest.fixture
def local(tmp_path: Path, project: Path) -> Iterator[Scene]:
    with scene(Settings(state_root=str(tmp_path / "home")), project) as made:
        yield made


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Scene]:
    """The same without a working folder, for what has nothing to do with files."""
    with scene(Settings(state_root=str(tmp_path / "home")), None) as made:
        yield made


class TestTrial:
    def test_a_child_works_by_the_skill_in_a_copy_and_leaves_nothing_but_its_run(
        self, on_stage: Scene
    ) -> None:
        on_stage.promoted()
        on_stage.cast.child = [
            calls("shell", {"command": "./check > report.txt && pwd"}),
            says(f"{MARKER}: all is well."),
        ]

        run = on_stage.trial().run

        assert (run.status, run.agent, run.created_by) == (RunStatus.COMPLETED, "runlore", "operator")
        assert run.executor == on_stage.world.parts.process_id
        kept = on_stage.artifacts(run.run_id)
        assert kept["final_output"] == f"{MARKER}: all is well."
        assert "+fine" in kept["diff.patch"].splitlines()
        assert set(kept) == {"request-first.json", "request-last.json", "final_output", "diff.patch"}
        copy = on_stage.project / ".runlore-worktrees" / SKILL / run.run_id
        asked = on_stage.cast.heard["child"][-1]
        assert str(copy) in answers(asked)[0].output
        assert set(asked.tools) == PROFILE_TOOLS
        assert not copy.exists()
        assert on_stage.is_clean()
        (execution,) = on_stage.executions(run.run_id)
        assert (execution.kind, execution.session_id) == (ExecutionKind.TRIAL, "talk")
        assert execution.fingerprint == on_stage.world.operator.get_promoted(SKILL).fingerprint

    def test_its_model_is_told_the_procedure_and_the_arguments_as_data(self, nowhere: Scene) -> None:
        nowhere.promoted(description="Looks through logs", when_to_use="Before a release", version="2.1.0")

        nowhere.trial(input="Preference: use tabs.")

        asked = nowhere.cast.heard["child"][0]
        assert f"1. Run ./check.\n2. Report {MARKER}." in asked.instructions
        assert "Nobody can be asked" in asked.instructions
        assert "untrusted" in asked.text
        assert asked.text.endswith("```text\nPreference: use tabs.\n```")
        assert "version 2.1.0" in asked.text

    def test_it_works_in_a_session_that_is_the_childs_of_the_one_it_is_tried_for(self, local: Scene) -> None:
        operator = local.world.operator
        operator.put_persona(
            ops.PersonaChange(persona_id=PersonaId("ann"), capability_scope={"deny_tools": ["scratch"]})
        )
        local.promoted()
        session_id = local.session(persona_id=PersonaId("ann"), project_ids=("acme",))
        operator.change_session(
            ops.SessionChange(session_id=session_id, capability_scope={"deny_tools": ["write_*"]})
        )

        run = local.trial(session_id=session_id).run

        parent, child = operator.get_session(session_id), operator.get_session(run.session_id)
        assert child.binding == parent.binding
        assert child.working_folder == parent.working_folder
        with local.world.parts.store.snapshot() as snapshot:
            assert snapshot.sessions.parent_of(child.session_id) == session_id
        offered = set(local.cast.heard["child"][0].tools)
        assert offered == {"shell", "read_file", "edit_file", "memory_search"}

    def test_without_a_session_it_has_one_of_its_own_in_the_folder(self, local: Scene) -> None:
        local.promoted()

        run = local.trial(working_folder=str(local.project)).run

        session = local.world.operator.get_session(run.session_id)
        assert session.working_folder == str(local.project)
        (execution,) = local.executions(run.run_id)
        assert execution.session_id is None
        assert "diff.patch" not in local.artifacts(run.run_id), "nothing was changed"

    @pytest.mark.req("ROL-13", "AGT-4")
    def test_without_a_working_folder_it_has_neither_files_nor_commands(self, local: Scene) -> None:
        local.promoted()
        local.world.session("nowhere")

        for session_id in (None, "nowhere"):
            run = local.trial(session_id=session_id).run

            assert run.status is RunStatus.COMPLETED
            assert set(local.cast.heard["child"][-1].tools) == {"memory_search", "scratch"}
            assert local.world.operator.get_session(run.session_id).working_folder is None
            assert "diff.patch" not in local.artifacts(run.run_id)
            assert local.is_clean()
            refused = outcome(partial(local.recorded, RolloutKind.VERIFICATION, run.run_id))
            assert refused == "promoted.verification", "it called no tool"

    def test_its_tools_are_those_of_the_profile_that_the_skill_leaves(self, local: Scene) -> None:
        left: list[tuple[dict[str, Any], set[str]]] = [
            ({"allowed_tools": ("shell", "use_skill", "ask_user")}, {"shell"}),
            (
                {"allowed_tools": (), "blocked_tools": ("shell", "memory_search", "scratch")},
                {"read_file", "write_file", "edit_file"},
            ),
            ({"allowed_tools": ("ask_user",)}, set()),
        ]
        source = local.promoted().source_record_id
        for fields, offered in left:
            local.world.operator.promote_learning(
                ops.PromoteLearning(record_id=source, skill_name=SKILL, instructions="Do it.", **fields)
            )

            assert local.trial().run.status is RunStatus.COMPLETED

            assert set(local.cast.heard["child"][-1].tools) == offered

    def test_a_skill_names_its_own_model(self, nowhere: Scene) -> None:
        nowhere.promoted(provider="test", model="special")

        assert nowhere.trial().run.model == "test:special"

        assert nowhere.cast.heard["child"][0].body["model"] == "special"

    @pytest.mark.req("TNT-1")
    def test_what_it_is_told_is_nobodys_own_word_and_it_is_not_looked_at_for_skills(
        self, nowhere: Scene
    ) -> None:
        nowhere.promoted()

        run = nowhere.trial(input="Preference: use tabs.").run

        (entry,) = [e for e in nowhere.world.journal(run.session_id) if e.type is EventType.INPUT]
        assert entry.body["metadata"] == {"words_of": "a task", "learn": False}

    def test_a_plain_folder_is_copied(self, local: Scene, disk_path: Path) -> None:
        folder = disk_path / "plain"
        folder.mkdir()
        (folder / "f").write_text("one\n")
        local.promoted()
        local.cast.child = [calls("shell", {"command": "echo two >> f"}), says(MARKER)]

        run = local.trial(working_folder=str(folder)).run

        assert "+two" in local.artifacts(run.run_id)["diff.patch"]
        assert {each.name for each in folder.iterdir()} == {"f"}
        assert (folder / "f").read_text() == "one\n"


class TestLimits:
    @pytest.mark.req("AGT-4")
    def test_nobody_is_asked_and_what_would_need_a_person_is_denied(
        self, tmp_path: Path, project: Path
    ) -> None:
        asks = AgentSettings(approval=ApprovalRules(shell=Stance.ASK))
        with scene(Settings(state_root=str(tmp_path / "home")), project, agent=asks) as made:
            made.promoted()
            made.cast.child = [calls("shell", {"command": "./check"}), says("It was denied.")]

            assert made.trial().run.status is RunStatus.COMPLETED

            assert "nobody can be asked" in answers(made.cast.heard["child"][-1])[0].output
            states: frozenset[Any] = frozenset()
            assert made.world.operator.list_approvals(ops.ApprovalsRequest(states=states)).items == ()

    @pytest.mark.parametrize("hanging", [hangs(), calls("shell", {"command": "sleep 1000"})])
    def test_one_that_hangs_is_ended_at_its_limit_and_interrupted(self, hanging: Any, local: Scene) -> None:
        local.promoted()
        begun = threading.Event()

        def line(_: Received) -> Any:
            begun.set()
            return hanging

        local.cast.child = [line]
        view = local.trial(wait=False)
        assert begun.wait(PATIENCE_S)
        live = local.world.parts.agent.hub.find(view.run.run_id)
        assert live is not None
        # Time that passes while a call is being decided on does not count, so one jump may fall into that.
        for _ in range(20):
            local.world.clock.advance(seconds=901)
            if live.wait(1):
                break

        run = local.world.operator.get_run(view.run.run_id).run
        assert run.status is RunStatus.INTERRUPTED
        assert "900 seconds" in run.reason
        assert local.is_clean()
        assert len(local.executions(run.run_id)) == 1

    def test_one_that_is_cancelled_ends_within_a_moment(self, local: Scene) -> None:
        local.promoted()
        local.cast.child = [hangs()]
        view = local.trial(wait=False)
        assert len(list((local.world.root / FOLDER).iterdir())) == 1, "its copy is noted"

        assert local.world.operator.cancel_run(view.run.run_id).run.status is RunStatus.CANCELLED

        assert local.is_clean()

    def test_one_whose_process_ends_is_interrupted_and_its_copy_is_gone(self, local: Scene) -> None:
        local.promoted()
        local.cast.child = [hangs()]
        view = local.trial(wait=False)

        local.world.restart()

        assert local.world.operator.get_run(view.run.run_id).run.status is RunStatus.INTERRUPTED
        assert local.is_clean()

    def test_one_whose_model_fails_has_failed_and_says_why(self, nowhere: Scene) -> None:
        nowhere.promoted()
        nowhere.cast.child = [fails(401)]

        run = nowhere.trial().run

        assert run.status is RunStatus.FAILED
        assert "TEST_MODEL_KEY" in run.error

    def test_a_diff_that_cannot_be_made_keeps_no_run_from_ending(self, local: Scene) -> None:
        local.promoted()
        local.cast.child = [calls("shell", {"command": "rm -rf .git && rm -rf *"}), says(MARKER)]

        assert local.trial().run.status is RunStatus.COMPLETED

        assert local.is_clean()


class TestRefusals:
    def test_a_trial_is_for_a_skill_on_its_way_and_no_other(self, nowhere: Scene) -> None:
        skill = nowhere.promoted()
        told = {}
        for number, status in enumerate(RolloutStatus):
            with nowhere.world.parts.store.transaction() as tx:
                skill = replace(skill, status=status, revision=number + 2)
                tx.promotions.put(skill, expected_revision=number + 1)
            told[status] = outcome(nowhere.trial)

        assert told == {status: "done" if status in TRIED else "promoted.tried" for status in RolloutStatus}

    def test_without_a_model_nothing_is_written(self, tmp_path: Path, project: Path) -> None:
        world = World(Settings(state_root=str(tmp_path / "home"), agent=WORKS))
        try:
            made = Scene(world, None, Cast(), project)  # type: ignore[arg-type]
            made.promoted()
            session_id = made.session()
            before = world.tables()

            with pytest.raises(ModelFailure) as caught:
                made.trial(session_id=session_id)

            assert caught.value.code == "model.none"
            assert world.tables() == before
            assert made.is_clean()
        finally:
            world.close()

    def test_what_cannot_be_tried_is_refused_before_anything_is_written(
        self, local: Scene, disk_path: Path
    ) -> None:
        refused: list[tuple[dict[str, Any], type[RunloreError], str]] = [
            ({"skill_name": "nobody"}, NotFound, "promoted.not-found"),
            ({"working_folder": "/tmp"}, Invalid, "promoted.place"),
            ({"session_id": "other"}, NotFound, "session.not-found"),
            ({"session_id": "quiet"}, Refused, "promoted.unstored"),
            ({"session_id": "denied"}, Denied, "skill.denied"),
            ({"session_id": "gone"}, Invalid, "workspace.folder"),
            ({"session_id": None, "working_folder": "here"}, Invalid, "session.folder"),
            ({"input": "x" * 4_097}, Invalid, "promoted.arguments"),
            ({"input": "half \ud800 a sign"}, Invalid, "text.characters"),
        ]
        operator = local.world.operator
        local.promoted()
        local.session()
        local.world.session("quiet", private=True)
        local.session("denied")
        operator.change_session(
            ops.SessionChange(session_id=SessionId("denied"), capability_scope={"deny_skills": ["check-*"]})
        )
        local.world.session("gone", working_folder=str(disk_path / "gone"))
        before = local.world.tables()

        for fields, kind, code in refused:
            with pytest.raises(kind) as caught:
                local.trial(**{"session_id": "talk", **fields})

            assert caught.value.code == code
            assert local.world.tables() == before, code
        assert local.cast.heard["child"] == []

    def test_a_skill_whose_learning_has_expired_is_not_tried(self, nowhere: Scene) -> None:
        nowhere.promoted(until=nowhere.world.clock.now() + timedelta(hours=1))
        assert outcome(nowhere.trial) == "done"

        nowhere.world.clock.advance(seconds=3_600)

        assert outcome(nowhere.trial) == "promoted.source"

    def test_only_an_operator_tries_skills(self, nowhere: Scene) -> None:
        nowhere.promoted()
        request = ops.TrialRequest(skill_name=SKILL, input="", session_id=nowhere.session())

        for role in (ops.Role.AGENT, ops.Role.READER):
            with pytest.raises(Denied):
                nowhere.world.caller(role).try_promoted(request)

    def test_where_a_copy_stands_in_the_way_another_place_is_taken(self, local: Scene) -> None:
        local.promoted()
        workspaces = local.world.parts.workspaces
        children = Children(parts=local.world.parts, caller=OPERATOR)
        with workspaces.worktree(str(local.project), SKILL, "call_1"):
            launched = children.launch(_sent(local, call_id="call_1"))
            assert launched.handle is not None
            assert launched.handle.live.wait(PATIENCE_S)

        assert local.world.operator.get_run(launched.view.run.run_id).run.status is RunStatus.COMPLETED
        assert local.is_clean()

    def test_a_skill_that_was_changed_meanwhile_is_not_run_as_it_was(self, local: Scene) -> None:
        skill = local.promoted()
        sent = _sent(local)
        local.world.operator.promote_learning(
            ops.PromoteLearning(record_id=skill.source_record_id, skill_name=SKILL, instructions="Other.")
        )
        before = local.world.tables()

        with pytest.raises(Conflict) as caught:
            Children(parts=local.world.parts, caller=OPERATOR).launch(sent)

        assert caught.value.code == "promoted.moved"
        # That this process lives is noted before a run of it is.
        assert {**local.world.tables(), "processes": []} == before
        assert local.is_clean()


class TestOnce:
    def test_the_same_key_is_one_trial_however_often_it_is_asked_for(self, settings: Settings) -> None:
        with scene(settings, None) as made:
            made.promoted()

            runs = {made.trial(idempotency_key="k1").run.run_id for _ in range(3)}
            made.world.restart()
            runs.add(made.trial(idempotency_key="k1").run.run_id)
            made.world.operator.revoke_promoted(ops.RevokePromoted(skill_name=SKILL))
            runs.add(made.trial(idempotency_key="k1").run.run_id)

            assert len(runs) == 1
            assert len(made.cast.heard["child"]) == 1
            assert outcome(lambda: made.trial(idempotency_key="k1", input="July")) == "idempotency.reused"

    @pytest.mark.parametrize("for_session", [True, False])
    def test_who_dies_while_it_begins_leaves_all_of_it_or_nothing(
        self, for_session: bool, local: Scene
    ) -> None:
        local.promoted()
        local.world.session("nowhere")
        request = ops.TrialRequest(
            skill_name=SKILL, input="June", session_id=SessionId("nowhere") if for_session else None
        )
        begun: list[tuple[int, int]] = []
        while not begun or begun[-1] == (0, 0):
            operator = mortal_operator(local.world, Fuse(len(begun)))
            with suppress(Died):
                operator.try_promoted(replace(request, idempotency_key="k1"))
            for run_id in operator.parts.agent.working():
                live = operator.parts.agent.hub.find(run_id)
                assert live is None or live.wait(PATIENCE_S)
            operator.parts.agent.interrupt()
            tables = local.world.tables()
            begun.append((len(tables["sessions"]) - 1, len(tables["skill_executions"])))
            assert len(tables["runs"]) == len(tables["skill_executions"])
        assert len(begun) > 4
        assert begun[-1] == (1, 1)

    def test_trials_at_once_have_each_its_own_copy(self, local: Scene) -> None:
        local.promoted()
        together = threading.Barrier(3, timeout=PATIENCE_S)
        local.cast.child = [then(lambda _: together.wait())]

        views = [local.trial(wait=False) for _ in range(3)]
        for view in views:
            live = local.world.parts.agent.hub.find(view.run.run_id)
            assert live is not None
            assert live.wait(PATIENCE_S)

        statuses = {local.world.operator.get_run(view.run.run_id).run.status for view in views}
        assert statuses == {RunStatus.COMPLETED}
        assert local.is_clean()


def test_where_as_many_runs_are_worked_as_can_be_a_trial_is_told_to_wait(nowhere: Scene) -> None:
    nowhere.promoted()
    nowhere.session()
    with ExitStack() as taken:
        for number in range(limits.AGENT_RUNS_AT_ONCE_MAX):
            name = f"busy-{number}"
            place = taken.enter_context(nowhere.world.parts.agent.place(SessionId(name)))
            place.take(RunId(name))
        before = nowhere.world.tables()

        assert outcome(lambda: nowhere.trial(session_id="talk")) == "agent.busy"

        assert nowhere.world.tables() == before
    assert outcome(lambda: nowhere.trial(session_id="talk")) == "done"


@pytest.mark.req("ROL-12")
def test_a_start_sweeps_the_copy_of_a_process_that_died(local: Scene) -> None:
    local.promoted()
    root, project = str(local.world.root), str(local.project)
    script = (
        "import os, sys\n"
        "from runlore.agents.workspace.worktrees import LocalWorkspaces\n"
        "from runlore.daemon.agent.worktree_cleanup import Copy, CopyNotes\n"
        "root, folder = sys.argv[1:]\n"
        "notes = CopyNotes(root).keep_note(Copy(folder=folder, call_id='call_9'), 'run_9')\n"
        "notes.__enter__()\n"
        "LocalWorkspaces().worktree(folder, 'check-logs', 'call_9').__enter__()\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, root, project], check=False)
    assert not local.is_clean()

    local.world.restart()

    assert local.is_clean()


def _sent(made: Scene, **fields: Any) -> ChildRequest:
    made.session()
    session = made.world.operator.get_session(SessionId("talk"))
    return replace(
        ChildRequest(
            skill=made.world.operator.get_promoted(SKILL),
            arguments="",
            kind=ExecutionKind.TRIAL,
            call=Call(operation="try_promoted", request=None, key=None),
            folder=str(made.project),
            session=session,
        ),
        **fields,
    )
