"""Runs: opened with their input, given their context with effect, and ended once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from runlore.domain.errors import Conflict, Invalid, NotFound
from runlore.domain.prompts.injected import REMOVED
from runlore.domain.prompts.projection import SectionName
from runlore.domain.record import Kind, Sensitivity
from runlore.domain.run import MOVE_TO, TERMINAL, ArtifactId, ProcessId, RunId, RunMove, RunStatus
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.flow.capture.runs import move_run
from runlore.ports import operations as ops
from tests.world import World, outcome

TALK = SessionId("talk")
SECRET = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"


@pytest.mark.req("JRN-1")
def test_a_run_is_opened_with_its_input_as_one_event(world: World) -> None:
    world.session(agent="claude-code")

    view = world.operator.open_run(
        ops.NewRun(session_id=TALK, request="Build it", model="gpt-5", metadata={"editor": "vim"})
    )

    event = world.journal()[-1]
    assert (view.run.status, view.run.agent, view.run.model) == (RunStatus.RUNNING, "claude-code", "gpt-5")
    assert (event.number, event.run_id, event.type) == (2, view.run.run_id, EventType.INPUT)
    assert event.body == {"text": "Build it", "metadata": {"editor": "vim"}}
    assert world.operator.get_run(view.run.run_id) == view


@pytest.mark.req("JRN-1")
def test_the_same_run_asked_for_twice_is_opened_once(world: World) -> None:
    world.session()
    wanted = ops.NewRun(session_id=TALK, run_id=RunId("r1"), request="Build it", context=True)

    first = world.operator.open_run(wanted)
    before = world.tables()
    world.clock.advance(seconds=1)

    assert world.operator.open_run(wanted) == first
    assert world.tables() == before


@pytest.mark.req("JRN-1")
@pytest.mark.parametrize("other", [{"request": "Break it"}, {"agent": "codex"}, {"model": "gpt-5"}])
def test_another_run_under_a_taken_id_is_a_conflict(world: World, other: dict[str, str]) -> None:
    world.run("Build it", run_id=RunId("r1"))

    with pytest.raises(Conflict) as refused:
        world.run(**{"request": "Build it", "run_id": RunId("r1"), **other})

    assert refused.value.code == "run.exists"
    assert len(world.journal()) == 2


@pytest.mark.req("JRN-1")
def test_a_runs_id_is_not_taken_in_another_session(world: World) -> None:
    world.run("Build it", run_id=RunId("r1"))
    other = world.session("another").session_id

    assert outcome(lambda: world.run("Build it", run_id=RunId("r1"), session_id=other)) == "run.exists"


@pytest.mark.req("JRN-1")
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"request": " \n"}, "run.request"),
        ({"run_id": ""}, "scope.id"),
        ({"run_id": "private_x"}, "run.id"),
        ({"model": "x" * 201}, "text.short"),
        ({"prompt_tokens": -1}, "run.prompt-tokens"),
        ({"request": "a\0b"}, "text.characters"),
    ],
)
def test_a_run_that_cannot_be_kept_is_refused_whole(world: World, fields: dict[str, Any], code: str) -> None:
    world.session()
    before = world.tables()

    with pytest.raises(Invalid) as refused:
        world.operator.open_run(ops.NewRun(**{"session_id": TALK, "request": "Build it", **fields}))

    assert refused.value.code == code
    assert world.tables() == before


@pytest.mark.req("JRN-3", "CAP-6")
def test_what_runlore_derives_cannot_be_brought_in_and_is_not_journalled(world: World) -> None:
    world.finished("Which codename?", "Atlas")
    given = world.operator.open_run(ops.NewRun(session_id=TALK, request="And now?", context=True))
    assert given.sections is not None
    assert "Atlas" in given.sections[0].text
    prompt = f"{given.sections[0].text}\nAnd what else?"

    echoing = world.operator.open_run(
        ops.NewRun(
            session_id=TALK,
            request=prompt,
            metadata={"recovered_memory": {"entries": ["Atlas"]}, "learned_context": 1, "kept": True},
        )
    ).run

    (event,) = [event for event in world.journal() if event.run_id == echoing.run_id]
    assert event.body == {"text": f"{REMOVED}\nAnd what else?", "metadata": {"kept": True}}


@pytest.mark.req("JRN-4", "RUN-5")
def test_the_context_is_given_with_effect(world: World) -> None:
    runs = [world.finished(f"Task {number}", f"Result {number}") for number in range(5)]
    world.clock.advance(seconds=1)

    view = world.operator.open_run(ops.NewRun(session_id=TALK, request="What is next?", context=True))

    assert view.sections is not None
    (section,) = view.sections
    with world.parts.store.snapshot() as snapshot:
        receipt = snapshot.runs.get_receipt(view.run.run_id)
    assert section.name is SectionName.RECOVERED_MEMORY
    assert [entry.source_id for entry in section.entries] == [run.run_id for run in runs[:1:-1]]
    assert receipt is not None
    assert receipt.at == view.run.opened_at
    assert [entry.source_id for entry in receipt.sections[0].entries] == [run.run_id for run in runs[:1:-1]]
    assert world.counters()["run_memory.injected_total"] == 3
    assert world.counters()["run_memory.prompt_limit_omitted_total"] == 2


@pytest.mark.req("JRN-4")
def test_a_repeated_open_tells_the_sections_of_the_first_time(world: World) -> None:
    world.finished("First", "One")
    wanted = ops.NewRun(session_id=TALK, request="What is next?", context=True, idempotency_key="k")
    first = world.operator.open_run(wanted)
    world.finished("Second", "Two", session_id=TALK)
    before = world.counters()

    again = world.operator.open_run(wanted)

    assert again.sections == first.sections
    assert again.run == first.run
    assert world.counters() == before


@pytest.mark.req("JRN-4")
def test_without_context_nothing_is_given_and_no_receipt_is_kept(world: World) -> None:
    world.finished()

    view = world.operator.open_run(ops.NewRun(session_id=TALK, request="Next"))

    with world.parts.store.snapshot() as snapshot:
        assert snapshot.runs.get_receipt(view.run.run_id) is None
    assert view.sections is None
    assert "run_memory.injected_total" not in world.counters()


@pytest.mark.req("RUN-6")
def test_an_input_prunes_what_is_missing_and_goes_on(world: World) -> None:
    kept, lost = world.finished("Kept", "One"), world.finished("Lost", "Two")
    world.parts.run_memories.delete(lost.run_id)
    world.operator.open_run(ops.NewRun(session_id=TALK, request="Without a look"))
    assert lost.run_id in world.pointers()

    view = world.operator.open_run(ops.NewRun(session_id=TALK, request="Next", context=True))

    assert view.sections is not None
    assert [entry.source_id for entry in view.sections[0].entries] == [kept.run_id]
    assert world.pointers() == [kept.run_id]
    assert world.counters()["run_memory.skipped_unreadable_total"] == 1
    assert world.operator.get_run(lost.run_id).run.memory == "pruned"


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_run_ends_once_and_telling_it_again_changes_nothing(world: World, status: RunStatus) -> None:
    run = world.run()
    world.say(run, "Done")
    ended = world.finish(run, status, error="It broke" if status is RunStatus.FAILED else "")
    before = world.tables()
    world.clock.advance(seconds=3)

    assert world.finish(run, status) == ended
    assert world.tables() == before
    others = sorted(TERMINAL - {status})
    assert {outcome(partial(world.finish, run, other)) for other in others} == {"run.move"}
    assert world.tables() == before


@pytest.mark.req("JRN-2")
def test_only_an_end_ends_a_run(world: World) -> None:
    run = world.run()

    assert outcome(lambda: world.finish(run, RunStatus.WAITING_FOR_USER)) == "run.status"


@pytest.mark.req("LAY-2")
@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_an_ended_run_leaves_one_episode(world: World, status: RunStatus) -> None:
    run = world.run(f"Deploy with {SECRET}", agent="codex")
    world.say(run, "It is out")

    world.finish(run, status, error=f"refused: {SECRET}")

    (episode,) = world.stored().values()
    assert episode.kind is (Kind.FAILURE if status is RunStatus.FAILED else Kind.RUN)
    assert str(episode.scope) == "session:talk"
    assert episode.sensitivity is Sensitivity.SENSITIVE
    assert (episode.source.session_id, episode.source.run_id) == (TALK, run.run_id)
    assert (episode.source.agent, episode.metadata["status"]) == ("codex", status)
    assert episode.expires_at is not None
    assert (episode.expires_at - world.clock.now()).days == 30
    assert "It is out" in episode.summary
    assert SECRET not in repr(episode)
    assert world.files_with(SECRET) == []


@pytest.mark.req("RUN-1")
def test_the_memory_names_the_artifacts_of_the_run(world: World) -> None:
    run = world.run()
    for name in ("log", "diff"):
        world.operator.add_artifact(
            ops.NewArtifact(run_id=run.run_id, name=name, text=name, artifact_id=ArtifactId(name))
        )

    ended = world.finish(run, artifact_ids=(ArtifactId("diff"),))

    memory = world.memory(run)
    assert set(ended.artifact_ids) == {"log", "diff"}
    assert memory is not None
    assert set(memory.artifact_ids) == {"log", "diff"}


@pytest.mark.req("RUN-1")
def test_an_end_that_names_an_artifact_of_another_run_is_refused(world: World) -> None:
    other, run = world.run("Other"), world.run()
    kept = world.operator.add_artifact(ops.NewArtifact(run_id=other.run_id, name="log", text="x"))
    assert kept is not None
    before = world.tables()

    assert outcome(lambda: world.finish(run, artifact_ids=(kept.artifact_id,))) == "run.artifact"
    assert world.tables() == before


@pytest.mark.req("JRN-1")
def test_artifacts_are_kept_once_without_secrets(world: World) -> None:
    run = world.run()
    wanted = ops.NewArtifact(
        run_id=run.run_id, name="env", text=f"TOKEN={SECRET}\nuser=ann", artifact_id=ArtifactId("a1")
    )

    first = world.operator.add_artifact(wanted)
    world.clock.advance(seconds=1)

    assert world.operator.add_artifact(wanted) == first
    assert first is not None
    assert "user=ann" in first.text
    assert SECRET not in repr(world.tables())
    changed = ops.NewArtifact(run_id=run.run_id, name="env", text="other", artifact_id=ArtifactId("a1"))
    assert outcome(lambda: world.operator.add_artifact(changed)) == "artifact.exists"
    assert world.operator.list_artifacts(run.run_id).items == (first,)


@pytest.mark.req("JRN-1")
@pytest.mark.parametrize("act", ["artifact", "scratch", "events"])
def test_nothing_is_added_to_a_run_that_has_ended(world: World, act: str) -> None:
    run = world.finished()
    acts: dict[str, Callable[[], object]] = {
        "artifact": lambda: world.operator.add_artifact(
            ops.NewArtifact(run_id=run.run_id, name="late", text="x")
        ),
        "scratch": lambda: world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text="late")),
        "events": lambda: world.say(run, "late"),
    }

    with pytest.raises(Conflict) as refused:
        acts[act]()

    assert refused.value.code == "run.ended"
    assert "completed" in refused.value.sentence


@pytest.mark.req("JRN-2")
def test_a_run_that_runlore_works_is_moved_and_not_finished_from_outside(world: World) -> None:
    run = world.executed(ProcessId("proc_1"))

    with world.parts.store.transaction() as tx:
        waiting = move_run(tx, run, RunMove.ASK_APPROVAL, world.clock.now())

    assert waiting.status is RunStatus.WAITING_FOR_APPROVAL
    assert world.journal()[-1].body == {"status": "waiting_for_approval"}
    assert outcome(lambda: world.finish(run)) == "run.executed"


@pytest.mark.req("JRN-2")
def test_a_run_that_runlore_works_ends_with_its_memory_and_episode(world: World) -> None:
    run = world.executed(ProcessId("proc_1"))

    ended = world.end_executed(run, RunStatus.CANCELLED)

    assert ended.status is RunStatus.CANCELLED
    assert MOVE_TO[ended.status] is RunMove.CANCEL
    assert world.pointers() == [run.run_id]
    assert [record.source.run_id for record in world.stored().values()] == [run.run_id]


@pytest.mark.req("JRN-1")
def test_ids_that_name_nothing_are_not_found_whatever_their_form(world: World) -> None:
    for run_id in map(RunId, ("nothing", "a\0b", "\ud800", "x" * 5_000, "")):
        attempts = (
            partial(world.operator.get_run, run_id),
            partial(world.say, run_id, "x"),
            partial(world.finish, run_id),
        )
        for attempt in attempts:
            with pytest.raises(NotFound) as refused:
                attempt()
            assert refused.value.code == "run.not-found"
