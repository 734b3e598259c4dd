"""Promoted skills used by Runlore's own agent: a child works by one, and its result is the call's answer."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runlore.config.settings import Settings
from runlore.domain import limits
from runlore.domain.run import RunId, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.skills.rollout import ExecutionKind, RolloutKind, RolloutStatus
from runlore.flow.capture.provenance import run_provenance
from runlore.ports import operations as ops
from tests.flow.child_scene import MARKER, SKILL, WORKS, Scene, answers, repository, scene
from tests.model_server import PROTOCOLS, Received, calls, fails, hangs, says
from tests.waiting import PATIENCE_S
from tests.world import outcome

pytestmark = pytest.mark.req("ROL-3", "ROL-8", "ROL-12", "AGT-1")


@pytest.fixture
def project(disk_path: Path) -> Path:
    return repository(disk_path / "project")


@pytest.fixture
def on_stage(settings: Settings, project: Path) -> Iterator[Scene]:
    with scene(settings, project) as made:
        made.promoted()
        made.shown("talk")
        yield made


@pytest.fixture
def local(tmp_path: Path, project: Path) -> Iterator[Scene]:
    with scene(Settings(state_root=str(tmp_path / "home")), project) as made:
        made.promoted()
        made.shown("talk")
        yield made


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Scene]:
    """The same without a working folder, for what has nothing to do with files."""
    with scene(Settings(state_root=str(tmp_path / "home")), None) as made:
        made.promoted()
        made.shown("talk")
        yield made


def _told(made: Scene) -> str:
    """What the caller's model was told last."""
    return answers(made.cast.heard["caller"][-1])[-1].output


class TestUse:
    def test_a_child_does_the_work_and_its_result_comes_back(self, on_stage: Scene) -> None:
        on_stage.cast.child = [
            says("I begin.") + calls("shell", {"command": "./check > report.txt"}),
            says(f"{MARKER}: all is well."),
        ]

        run = on_stage.used()

        assert run.status is RunStatus.COMPLETED
        result = on_stage.result()
        assert list(result) == ["launch_run_id", "snapshot", "final_output"]
        child = on_stage.world.operator.get_run(RunId(result["launch_run_id"])).run
        kept = {
            each.name: each.artifact_id for each in on_stage.world.operator.list_artifacts(child.run_id).items
        }
        assert result["snapshot"] == {
            "status": "completed",
            "turns": 2,
            "tool_calls": 1,
            "diff_artifact_id": kept["diff.patch"],
        }
        assert result["final_output"] == f"{MARKER}: all is well."
        assert child.status is RunStatus.COMPLETED
        assert on_stage.is_clean()

    @pytest.mark.req("AGT-4")
    def test_in_a_session_without_a_working_folder_it_has_neither_files_nor_commands(
        self, local: Scene
    ) -> None:
        operator = local.world.operator
        session_id = local.world.session("nowhere").session_id
        canary = ops.AdvanceRequest(skill_name=SKILL, to=RolloutStatus.CANARY, sessions=(session_id,))
        operator.advance_promoted(canary)

        operator.start_input(ops.NewInput(session_id=session_id, text="Check the logs.", wait=True))

        assert local.result()["snapshot"]["status"] == "completed"
        assert set(local.cast.heard["child"][-1].tools) == {"memory_search", "scratch"}
        assert local.is_clean()

    def test_its_execution_is_bound_to_both_runs_and_is_canary_evidence_once(self, nowhere: Scene) -> None:
        run = nowhere.used()

        (execution,) = nowhere.executions(run.run_id)
        assert execution.kind is ExecutionKind.USE
        assert (execution.session_id, execution.calling_run_id) == ("talk", run.run_id)
        assert execution.run_id == nowhere.result()["launch_run_id"]
        assert nowhere.executions(execution.run_id) == (execution,)
        with nowhere.world.parts.store.snapshot() as snapshot:
            child = snapshot.runs.get(execution.run_id)
            assert snapshot.sessions.parent_of(child.session_id) == "talk"
        told = [nowhere.recorded(RolloutKind.CANARY, run_id) for run_id in (run.run_id, execution.run_id)]
        assert [each.kind for each in told[-1].evidence] == ["verification", "canary"]
        assert told[-1].evidence[-1].run_id == execution.run_id

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_it_goes_all_the_way_to_active_over_every_protocol(self, protocol: str, tmp_path: Path) -> None:
        settings = Settings(state_root=str(tmp_path / "home"))
        with scene(settings, None, protocol=protocol) as made:
            made.promoted()
            assert made.active().status is RolloutStatus.ACTIVE

            assert made.used("another").status is RunStatus.COMPLETED

            assert made.result()["final_output"] == f"{MARKER}: all is well."

    def test_a_session_that_the_canary_leaves_out_cannot_use_it(self, nowhere: Scene) -> None:
        heard = len(nowhere.cast.heard["child"])

        nowhere.used("another")

        assert answers(nowhere.cast.heard["caller"][-1])[-1].output.strip()
        assert len(nowhere.cast.heard["child"]) == heard

    def test_arguments_that_are_too_long_are_told_to_the_model_and_nothing_is_started(
        self, nowhere: Scene
    ) -> None:
        heard = len(nowhere.cast.heard["child"])
        nowhere.cast.caller[0] = calls("use_skill", {"name": SKILL, "arguments": "x" * 5_000})

        run = nowhere.used()

        assert "5,000 characters" in _told(nowhere)
        assert len(nowhere.cast.heard["child"]) == heard
        assert nowhere.executions(run.run_id) == ()

    def test_a_child_that_fails_is_told_as_a_call_that_failed(self, nowhere: Scene) -> None:
        nowhere.cast.child = [fails(500, code="broken", retry_after="0")]

        nowhere.used()

        result = nowhere.result()
        assert result["snapshot"]["status"] == "failed"
        assert result["snapshot"]["error"]
        assert result["final_output"] == ""
        (told,) = [each for each in nowhere.world.journal("talk") if each.type is EventType.TOOL_RESULT]
        assert told.body["is_error"] is True

    def test_a_child_is_told_what_of_the_folder_is_not_in_its_copy(self, local: Scene) -> None:
        (local.project / "new.txt").write_text("not committed")

        local.used()

        asked = str(local.cast.heard["child"][-1].conversation[0])
        assert "of the last commit" in asked
        assert "is not in it (1 in all)" in asked

    def test_two_calls_with_the_same_id_are_two_children(self, local: Scene) -> None:
        use = calls("use_skill", {"name": SKILL}, "call_1")
        local.cast.caller = [use, use, says("Done.")]

        run = local.used()

        assert len(local.executions(run.run_id)) == 2
        assert local.is_clean()

    def test_a_long_answer_is_cut_and_stays_readable(self, nowhere: Scene) -> None:
        nowhere.cast.child = [says(f"{MARKER} " + '\u0001"\\ x' * 20_000, piece_chars=10_000)]

        nowhere.used()

        assert nowhere.result()["final_output"].startswith(MARKER)
        assert nowhere.result()["final_output"].endswith("…")


class TestTaint:
    pytestmark = pytest.mark.req("TNT-1", "TNT-3")

    def test_what_a_child_read_outside_taints_whoever_is_told_of_it(self, local: Scene) -> None:
        local.cast.child = [
            calls("shell", {"command": "curl -s http://docs.invalid/page"}),
            says(f"{MARKER}: the page says so."),
        ]

        run = local.used()

        source = f"runlore://runs/{local.result()['launch_run_id']}"
        with local.world.parts.store.snapshot() as snapshot:
            assert source in run_provenance(snapshot, run).sources

    def test_a_child_that_read_nothing_outside_taints_nobody(self, nowhere: Scene) -> None:
        run = nowhere.used()

        with nowhere.world.parts.store.snapshot() as snapshot:
            assert not run_provenance(snapshot, run).tainted
            child = snapshot.runs.get(RunId(nowhere.result()["launch_run_id"]))
            assert run_provenance(snapshot, child).untrusted, "it was told what to do by an agent"


class TestEnds:
    def _begun(self, made: Scene) -> tuple[RunId, RunId]:
        """A run whose child hangs; the ids of both."""
        begun = threading.Event()

        def line(_: Received) -> Any:
            begun.set()
            return hangs()

        made.cast.child = [line]
        request = ops.NewInput(session_id=made.session(), text="Check the logs.")
        run_id = made.world.operator.start_input(request).run.run_id
        assert begun.wait(PATIENCE_S)
        (execution,) = made.executions(run_id)
        return run_id, execution.run_id

    def _ended(self, made: Scene, *run_ids: RunId) -> list[RunStatus]:
        for run_id in run_ids:
            live = made.world.parts.agent.hub.find(run_id)
            assert live is None or live.wait(PATIENCE_S)
        return [made.world.operator.get_run(run_id).run.status for run_id in run_ids]

    def test_a_child_is_cancelled_with_its_caller(self, local: Scene) -> None:
        caller, child = self._begun(local)

        local.world.operator.cancel_run(caller)

        assert self._ended(local, caller, child) == [RunStatus.CANCELLED, RunStatus.CANCELLED]
        assert local.is_clean()

    def test_a_child_takes_its_callers_place_and_no_other(self, nowhere: Scene) -> None:
        self._begun(nowhere)
        agent = nowhere.world.parts.agent
        with ExitStack() as taken:
            for number in range(limits.AGENT_RUNS_AT_ONCE_MAX - 1):
                agent.require_room()
                name = f"busy-{number}"
                taken.enter_context(agent.place(SessionId(name))).take(RunId(name))

            assert outcome(agent.require_room) == "agent.busy"

    def test_a_child_that_is_cancelled_leaves_its_caller_to_go_on(self, nowhere: Scene) -> None:
        caller, child = self._begun(nowhere)

        nowhere.world.operator.cancel_run(child)

        assert self._ended(nowhere, caller, child) == [RunStatus.COMPLETED, RunStatus.CANCELLED]
        assert nowhere.result()["snapshot"]["status"] == "cancelled"

    def test_a_child_that_hangs_is_interrupted_at_its_limit_and_its_caller_goes_on(
        self, local: Scene
    ) -> None:
        caller, child = self._begun(local)

        local.world.clock.advance(seconds=901)

        assert self._ended(local, caller, child) == [RunStatus.COMPLETED, RunStatus.INTERRUPTED]
        assert "900 seconds" in local.result()["snapshot"]["reason"]
        assert local.is_clean()

    def test_a_child_whose_callers_time_is_over_is_interrupted_with_it(self, tmp_path: Path) -> None:
        settings = Settings(state_root=str(tmp_path / "home"))
        with scene(settings, None, agent=replace(WORKS, seconds_max=60)) as made:
            made.promoted()
            made.shown("talk")
            # The caller has begun a while before its child.
            made.cast.caller.insert(0, self._later(made))
            caller, child = self._begun(made)

            made.world.clock.advance(seconds=31)

            assert self._ended(made, caller, child) == [RunStatus.INTERRUPTED, RunStatus.INTERRUPTED]
            run = made.world.operator.get_run(child).run
            assert run.reason == "the time of the run that called it was over"

    def _later(self, made: Scene) -> Any:
        def line(_: Received) -> Any:
            made.world.clock.advance(seconds=30)
            return calls("list_skills")

        return line

    def test_both_are_interrupted_with_their_process(self, local: Scene) -> None:
        caller, child = self._begun(local)

        local.world.restart()

        assert self._ended(local, caller, child) == [RunStatus.INTERRUPTED, RunStatus.INTERRUPTED]
        assert local.is_clean()


@pytest.mark.req("CAP-7")
def test_in_a_session_of_which_nothing_is_stored_a_child_works_and_nothing_is_kept(
    nowhere: Scene,
) -> None:
    operator = nowhere.world.operator
    nowhere.cast.child = [says("INVISIBLE answer")]
    operator.put_persona(ops.PersonaChange(persona_id=PersonaId("shy")))
    operator.advance_promoted(ops.AdvanceRequest(skill_name=SKILL, to=RolloutStatus.CANARY, share=100))
    session_id = nowhere.session("quiet", persona_id=PersonaId("shy"))
    operator.put_persona(ops.PersonaChange(persona_id=PersonaId("shy"), capture=False))
    before = nowhere.world.tables()["skill_executions"]

    operator.start_input(ops.NewInput(session_id=session_id, text="Check the logs.", wait=True))

    assert nowhere.result()["final_output"] == "INVISIBLE answer"
    assert nowhere.result()["snapshot"]["status"] == "completed"
    assert nowhere.world.tables()["skill_executions"] == before
    assert nowhere.world.files_with("INVISIBLE") == []


@pytest.mark.req("CAP-7")
def test_in_a_private_session_a_child_works_in_a_copy_of_its_folder(local: Scene) -> None:
    local.cast.child = [calls("shell", {"command": "./check"}), says("INVISIBLE answer")]
    operator = local.world.operator
    operator.advance_promoted(ops.AdvanceRequest(skill_name=SKILL, to=RolloutStatus.CANARY, share=100))
    session_id = local.session("hidden", private=True)

    operator.start_input(ops.NewInput(session_id=session_id, text="Check the logs.", wait=True))

    assert local.result()["final_output"] == "INVISIBLE answer"
    assert local.world.files_with("INVISIBLE") == []
    assert local.world.files_with(str(local.project)) == []
    assert local.is_clean()
