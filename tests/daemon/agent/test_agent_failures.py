"""What goes wrong with an input: refused before anything is written, or told by how its run ended."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runlore.config.providers import ModelSettings
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.domain.agent.approval import ApprovalState
from runlore.domain.errors import RunloreError
from runlore.domain.run import RunId, RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.flow.agent_world import ANYTHING, AtWork, Held, at_work, waiting_run
from tests.model_server import (
    KEY,
    KEY_VARIABLE,
    PROTOCOLS,
    Received,
    Reply,
    Script,
    calls,
    fails,
    hangs,
    model_server,
    says,
)
from tests.world import AGENT, OPERATOR, Tables, World, outcome

pytestmark = pytest.mark.req("AGT-1", "AGT-5")


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def stored(world: World) -> Tables:
    """All that is stored but for which processes there are."""
    tables = world.tables()
    del tables["processes"]
    return tables


def refusal(act: Callable[[], object]) -> RunloreError:
    """The error that an act is refused with."""
    with pytest.raises(RunloreError) as refused:
        act()
    return refused.value


@pytest.mark.req("AGT-3")
def test_without_a_provider_nothing_is_begun_and_one_line_says_what_to_set(world: World) -> None:
    session_id = world.session().session_id
    before = stored(world)
    error = refusal(lambda: world.operator.start_input(ops.NewInput(session_id=session_id, text="Hello")))

    assert error.code == "model.none"
    assert "\n" not in error.sentence
    assert error.hint
    assert stored(world) == before


@pytest.mark.req("AGT-3", "SUR-6")
def test_a_model_that_was_set_since_the_start_needs_a_new_start_and_no_setting(sqlite_world: World) -> None:
    world = sqlite_world
    session_id = world.session().session_id

    def hint(model: str | None = None) -> str:
        asked = ops.NewInput(session_id=session_id, text="Hello", model=model)
        return refusal(lambda: world.operator.start_input(asked)).hint

    before = [hint(), hint("near:small")]
    (Path(world.parts.state_root) / "config.toml").write_text(
        """
[models]
default = "near:small"
[models.providers.near]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""
    )

    assert ["start it again" in told for told in before] == [False, False]
    assert [
        "start it again" in told and "RUNLORE_MODEL" not in told for told in (hint(), hint("near:small"))
    ] == [True, True]
    assert "start it again" not in hint("far:large"), "nobody has set that one"


@pytest.mark.req("AGT-3")
def test_no_session_is_made_for_an_input_that_could_not_be_worked(settings: Settings, folder: Path) -> None:
    folder.mkdir()
    world = World(settings)
    before = stored(world)
    request = ops.NewSession(working_folder=str(folder), models=("",))
    assert outcome(lambda: world.operator.create_session(request)) == "model.none"
    assert stored(world) == before
    world.close()

    with at_work(settings, folder, says("Hello.")) as work:
        before = stored(work.world)
        wrong = {
            "model.unknown": replace(request, models=("", "nobody:knows")),
            "workspace.folder": replace(request, working_folder=str(folder / "gone")),
        }
        for code, asked in wrong.items():
            assert outcome(partial(work.operator.create_session, asked)) == code
        assert stored(work.world) == before
        assert work.operator.create_session(request).working_folder == str(folder.resolve())


@pytest.mark.req("AGT-2")
def test_without_its_key_nothing_is_begun_and_the_variable_is_named(settings: Settings) -> None:
    with model_server(says("Hello.")) as server:
        models = ModelSettings(default="test:scripted", providers=(server.provider(api_key=""),))
        world = World(replace(settings, models=models))
        session_id = world.session().session_id
        before = stored(world)
        error = refusal(lambda: world.operator.start_input(ops.NewInput(session_id=session_id, text="Hi")))

        assert error.code == "model.key"
        assert KEY_VARIABLE in f"{error.sentence} {error.hint}"
        assert stored(world) == before
        assert server.requests == []
        world.close()


@pytest.mark.req("AGT-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_wrong_key_fails_the_run_and_names_its_variable(
    settings: Settings, folder: Path, protocol: str
) -> None:
    with at_work(settings, folder, fails(401, message=f"bad key {KEY}"), protocol=protocol) as work:
        run = work.ask().run

        assert run.status is RunStatus.FAILED
        assert KEY_VARIABLE in run.error
        assert "[model.key]" in run.error
        assert KEY not in run.error
        assert work.told(run.run_id) == ["input", "failed"]
        assert "request-first.json" in {each.name for each in work.operator.list_artifacts(run.run_id).items}


@pytest.mark.req("AGT-2")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unknown_model_fails_the_run_or_is_refused(
    settings: Settings, folder: Path, protocol: str
) -> None:
    with at_work(settings, folder, fails(404, code="model_not_found"), protocol=protocol) as work:
        nobody = ops.NewInput(session_id=work.talk(), text="Hello", model="nobody:gpt")
        assert outcome(lambda: work.operator.start_input(nobody)) == "model.unknown"
        fallback = ops.NewInput(session_id=work.talk(), text="Hello", fallback_model="nobody:gpt")
        assert outcome(lambda: work.operator.start_input(fallback)) == "model.unknown"
        assert work.operator.list_runs(ops.RunsRequest()).items == ()
        run = work.ask(model="test:missing").run

        assert (run.status, run.model) == (RunStatus.FAILED, "test:missing")
        assert "[model.unknown]" in run.error


@pytest.mark.req("AGT-2")
def test_the_fallback_takes_over_and_the_run_completes(settings: Settings, folder: Path) -> None:
    def by_model(received: Received) -> Reply:
        return says("I help.") if received.body["model"] == "spare" else fails(500, retry_after="0")

    with at_work(settings, folder, by_model, fallback_model="test:spare") as work:
        run_id = work.start()
        remarks = [event.data["text"] for event in work.events(run_id) if event.kind.value == "remark"]

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert any("test:spare goes on in its place" in str(remark) for remark in remarks)


OUTSIDE = {
    "a parent": calls("read_file", {"path": "../secret.txt"}),
    "an absolute path": calls("read_file", {"path": "/etc/passwd"}),
    "a link": calls("read_file", {"path": "link.txt"}),
    "a write through a link": calls("write_file", {"path": "linked/new.txt", "content": "x"}),
    "a command": calls("shell", {"command": "cat ../secret.txt"}),
    "a command that writes": calls("shell", {"command": "echo x > ../new.txt"}),
}


@pytest.mark.req("AGT-4")
@pytest.mark.parametrize("way", OUTSIDE)
def test_a_tool_reaches_nothing_outside_the_workspace(settings: Settings, folder: Path, way: str) -> None:
    with at_work(settings, folder, OUTSIDE[way], says("I could not.")) as work:
        secret = folder.parent / "secret.txt"
        secret.write_text("the vault is open")
        (folder / "link.txt").symlink_to(secret)
        (folder / "linked").symlink_to(folder.parent)
        run = work.ask().run

        assert run.status is RunStatus.COMPLETED
        assert work.journal(run.run_id)[3].body["is_error"] is True
        assert "the vault is open" not in str(work.journal(run.run_id))
        assert not (folder.parent / "new.txt").exists()


@pytest.mark.req("AGT-4")
def test_a_folder_that_is_gone_or_ours_is_refused_before_anything_is_written(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        for number, place in enumerate((folder / "gone", work.world.root)):
            session_id = work.talk(f"talk-{number}", working_folder=str(place))
            before = stored(work.world)
            request = ops.NewInput(session_id=session_id, text="Hello")
            assert outcome(partial(work.operator.start_input, request)) == "workspace.folder"
            assert stored(work.world) == before
        assert work.server.requests == []


@pytest.mark.req("AGT-4", "OPS-5")
def test_an_agent_starts_inputs_in_its_own_sessions_alone_and_names_no_folder(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        agent = work.world.agent
        theirs = work.talk()
        named = ops.NewSession(working_folder=str(folder))
        assert outcome(lambda: agent.create_session(named)) == "session.folder"
        own = agent.create_session(ops.NewSession(title="own")).session_id
        view = agent.start_input(ops.NewInput(session_id=own, text="Hello", wait=True))

        assert view.run.status is RunStatus.COMPLETED
        assert "shell" not in work.server.requests[0].tools
        refused = ops.NewInput(session_id=theirs, text="Hello")
        assert outcome(lambda: agent.start_input(refused)) == "session.not-found"
        run_id = work.ask("Something of the operator's").run.run_id
        assert outcome(lambda: agent.follow_run(ops.FollowRun(run_id=run_id))) == "run.not-found"
        assert outcome(lambda: agent.cancel_run(run_id)) == "run.not-found"


@pytest.mark.req("SCO-2")
def test_the_tools_see_no_more_than_whoever_started_the_run(settings: Settings, folder: Path) -> None:
    search = calls("memory_search", {"query": "codename"})
    with at_work(settings, folder, search, says("Done.")) as work:
        work.world.fact("The codename is Atlas", scope=Scope(ScopeKind.PROJECT, "atlas"))
        session_id = work.world.session("bound", project_ids=("atlas",)).session_id
        for scopes, is_seen in ((None, True), (frozenset({Scope(ScopeKind.SESSION, "bound")}), False)):
            work.server.script[:] = [search, says("Done.")]
            limited = Application(work.world.parts, replace(AGENT if scopes else OPERATOR, scopes=scopes))
            request = ops.NewInput(session_id=session_id, text="What is the codename?", wait=True)
            run_id = limited.start_input(request).run.run_id
            assert ("Atlas" in work.outputs(run_id)[0]) is is_seen
            assert ("Atlas" in work.artifact(run_id, "request-first.json")) is is_seen


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "a blank text": ({"text": " \n"}, "run.request"),
    "a long text": ({"text": "x" * 1_000_001}, "event.field"),
    "an id of ours": ({"run_id": "private_1"}, "run.id"),
    "no session": ({"session_id": "nobody"}, "session.not-found"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_input_is_refused_and_nothing_is_written(settings: Settings, folder: Path, what: str) -> None:
    fields, code = REFUSED[what]
    with at_work(settings, folder, says("Hello.")) as work:
        given = {"session_id": work.talk(), "text": "Hello", **fields}
        before = stored(work.world)
        assert outcome(lambda: work.operator.start_input(ops.NewInput(**given))) == code  # type: ignore[arg-type]
        assert stored(work.world) == before
        assert work.server.requests == []


def test_an_ended_session_takes_no_input(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        session_id = work.talk()
        work.operator.change_session(ops.SessionChange(session_id=session_id, ended=True))
        request = ops.NewInput(session_id=session_id, text="Hello")
        assert outcome(lambda: work.operator.start_input(request)) == "session.ended"


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("private", [False, True])
def test_a_run_ends_with_its_session(settings: Settings, folder: Path, private: bool) -> None:
    with at_work(settings, folder, hangs()) as work:
        run_id = work.start(session_id=work.talk("over", private=private))
        other = work.start(session_id=work.talk("not over"))
        work.operator.change_session(ops.SessionChange(session_id=SessionId("over"), ended=True))

        run = work.ended(run_id).run
        assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "the session ended")
        assert work.status(other) is RunStatus.RUNNING


@pytest.mark.req("JRN-2")
def test_a_run_that_another_process_works_ends_with_its_session_too(world: World) -> None:
    session_id = world.session().session_id
    asked = waiting_run(world, session_id)
    world.operator.change_session(ops.SessionChange(session_id=session_id, ended=True))

    run = world.operator.get_run(asked.run_id).run
    assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "the session ended")
    assert world.operator.get_approval(asked.approval_id).state is ApprovalState.LAPSED


def test_no_more_runs_are_worked_at_once_than_there_is_room_for(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Done."))
    with at_work(settings, folder, held) as work:
        requests = [ops.NewInput(session_id=work.talk(f"talk-{number}"), text="Go") for number in range(8)]
        requests[0] = replace(requests[0], idempotency_key="k")
        requests[1] = replace(requests[1], run_id=RunId("r"))
        runs = [work.operator.start_input(request).run for request in requests]
        one_more = ops.NewInput(session_id=work.talk(), text="One too many")
        before = stored(work.world)
        for_one = ops.NewSession(working_folder=str(folder), models=("",))
        assert outcome(lambda: work.operator.start_input(one_more)) == "agent.busy"
        assert outcome(lambda: work.operator.create_session(for_one)) == "agent.busy"
        again = [work.operator.start_input(request).run for request in requests[:2]]
        assert [run.run_id for run in again] == [run.run_id for run in runs[:2]], "nothing is begun for them"
        assert stored(work.world) == before
        held.let_go.set()
        ends = {work.ended(run.run_id).run.status for run in runs}

        assert ends == {RunStatus.COMPLETED}
        assert work.ask("Now there is room").run.status is RunStatus.COMPLETED


@pytest.mark.req("JRN-2")
def test_what_others_would_report_of_our_run_is_refused(settings: Settings, folder: Path) -> None:
    held = Held(lambda _: says("Done."))
    with at_work(settings, folder, held) as work:
        run_id = work.start()
        held.wait()
        operator = work.operator
        acts: tuple[Callable[[], object], ...] = (
            lambda: work.world.say(run_id, "MARKER"),
            lambda: operator.add_artifact(ops.NewArtifact(run_id=run_id, name="final_output", text="MARKER")),
            lambda: operator.finish_run(ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)),
        )
        assert [outcome(act) for act in acts] == ["run.executed"] * 3
        held.let_go.set()

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert "MARKER" not in str(work.world.tables())


LIMITS: dict[str, tuple[dict[str, Any], Script, str]] = {
    "turns": ({"turns_max": 3}, calls("list_skills"), "3 turns did not lead to an answer"),
    "the same call": ({}, calls("list_skills"), "[model.repeats]"),
    "silence": ({}, says(""), "[model.answer]"),
}


@pytest.mark.parametrize("what", LIMITS)
def test_a_run_that_comes_to_nothing_fails_with_what_it_was(
    settings: Settings, folder: Path, what: str
) -> None:
    agent, script, told = LIMITS[what]
    with at_work(settings, folder, script, rules=ANYTHING, **agent) as work:
        run = work.ask().run

        assert run.status is RunStatus.FAILED
        assert told in run.error
        memory = work.world.memory(run.run_id)
        assert memory is not None
        assert memory.failure_markers


def test_a_run_whose_time_is_over_is_interrupted(settings: Settings, folder: Path) -> None:
    works: list[AtWork] = []

    def late(_: Received) -> Reply:
        works[0].world.clock.advance(seconds=61)
        return calls("list_skills")

    with at_work(settings, folder, late, seconds_max=60.0) as work:
        works.append(work)
        run = work.ask().run

        assert (run.status, run.reason) == (RunStatus.INTERRUPTED, "its time was over: 60 seconds")
