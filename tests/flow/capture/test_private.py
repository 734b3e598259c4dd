"""People can say no, in four ways: of what happens then there is no word in any file or table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.domain.project import folder_id
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import PersonaId, Session, SessionId
from runlore.ports import operations as ops
from tests.world import World, outcome

pytestmark = pytest.mark.req("CAP-7")

TALK = SessionId("talk")
WORD = "xylophone"


def by_session(world: World, _folder: Path) -> Session:
    """The session is private."""
    return world.session(private=True, title=WORD, persona_id=PersonaId(WORD), project_ids=(WORD,))


def by_folder(world: World, folder: Path) -> Session:
    """The working folder says no."""
    place = folder / WORD
    place.mkdir()
    world.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(place)), capture=False))
    return world.session(title=WORD, working_folder=str(place))


def by_persona(world: World, _folder: Path) -> Session:
    """The persona says no."""
    world.operator.put_persona(ops.PersonaChange(persona_id=PersonaId("ann"), capture=False))
    return world.session(title=WORD, persona_id=PersonaId("ann"))


def by_pause(world: World, _folder: Path) -> Session:
    """Capture is paused everywhere."""
    world.operator.pause_capture()
    return world.session(title=WORD)


WAYS = [by_session, by_folder, by_persona, by_pause]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("run_id", [None, RunId("mine")])
def test_nothing_of_a_run_is_stored(
    world: World, tmp_path: Path, way: Callable[[World, Path], Session], run_id: RunId | None
) -> None:
    session = way(world, tmp_path)
    before = world.tables()
    opened = world.operator.open_run(
        ops.NewRun(
            session_id=TALK,
            run_id=run_id,
            request=f"Play the {WORD}",
            context=True,
            metadata={WORD: WORD},
            idempotency_key=f"key {WORD}",
        )
    )
    run_id = opened.run.run_id

    appended = world.append(run_id, {"type": "assistant_message", "text": f"I play the {WORD}"})
    noted = world.operator.add_scratch(ops.NewScratch(run_id=run_id, text=f"tune the {WORD}"))
    artifact = world.operator.add_artifact(ops.NewArtifact(run_id=run_id, name=WORD, text=WORD))
    marked = world.operator.add_checkpoint(ops.NewCheckpoint(session_id=TALK, text=f"So far: {WORD}"))
    world.operator.change_session(ops.SessionChange(session_id=TALK, title=f"The {WORD}"))
    running = world.operator.get_run(run_id)
    ended = world.operator.finish_run(
        ops.RunEnd(run_id=run_id, status=RunStatus.FAILED, error=f"the {WORD} broke")
    )

    assert (opened.stored, appended.stored, marked.stored, running.stored, ended.stored) == (False,) * 5
    assert (noted, artifact, appended.first_number, opened.request) == (None, None, None, "")
    assert (running.run.status, ended.run.status) == (RunStatus.RUNNING, RunStatus.FAILED)
    assert world.operator.journal(ops.JournalRequest(run_id=run_id)).items == ()
    assert world.operator.list_scratch(run_id) == ()
    assert world.operator.list_artifacts(run_id).items == ()
    assert world.operator.list_runs(ops.RunsRequest(session_id=TALK)).items == ()
    assert session.title == ""
    assert world.tables() == before
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []


@pytest.mark.parametrize("way", [by_session, by_folder])
def test_of_a_private_session_only_its_existence_is_known(
    world: World, tmp_path: Path, way: Callable[[World, Path], Session]
) -> None:
    session = way(world, tmp_path)

    assert session == Session(
        session_id=TALK,
        private=True,
        created_by="operator",
        created_at=world.clock.now(),
        active_at=world.clock.now(),
    )
    assert world.journal() == ()
    assert way.__name__ != "by_session" or way(world, tmp_path) == session


def test_a_private_session_cannot_be_bound_and_can_be_ended(world: World) -> None:
    world.session(private=True)

    changed = world.operator.change_session(
        ops.SessionChange(session_id=TALK, persona_id=PersonaId(WORD), ended=True)
    )

    assert (changed.binding.persona_id, changed.ended_at) == (None, world.clock.now())
    assert outcome(lambda: world.run(session_id=TALK)) == "session.ended"
    assert WORD not in repr(world.tables())


def test_a_run_opened_before_a_pause_ends_with_what_was_journalled_before(world: World) -> None:
    run = world.run("Known request")
    world.say(run, "Known reply")
    world.operator.pause_capture()

    said = world.append(run, {"type": "assistant_message", "text": f"About the {WORD}"})
    noted = world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text=WORD))
    ended = world.finish(run, RunStatus.FAILED, error=f"the {WORD} broke")

    memory = world.memory(run)
    assert (said.stored, noted, ended.status) == (False, None, RunStatus.FAILED)
    assert memory is not None
    assert (memory.request_preview, memory.outcome_preview) == ("Known request", "Known reply")
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []


def test_after_a_pause_capture_goes_on(world: World) -> None:
    by_pause(world, Path())
    world.operator.resume_capture()

    run = world.finished(f"Play the {WORD}")

    assert world.memory(run) is not None


def test_an_uncaptured_run_is_opened_once_and_ends_once(world: World) -> None:
    world.session(private=True)
    asked = ops.NewRun(session_id=TALK, run_id=RunId("mine"), request="Play")

    first, again = world.operator.open_run(asked), world.operator.open_run(asked)
    world.operator.finish_run(ops.RunEnd(run_id=RunId("mine"), status=RunStatus.COMPLETED))
    end = ops.RunEnd(run_id=RunId("mine"), status=RunStatus.COMPLETED)

    assert first == again
    assert world.operator.finish_run(end).run.status is RunStatus.COMPLETED
    other = ops.RunEnd(run_id=RunId("mine"), status=RunStatus.FAILED)
    assert outcome(lambda: world.operator.finish_run(other)) == "run.move"


def test_an_id_names_one_run_captured_or_not(world: World) -> None:
    stored = world.run("Stored", run_id=RunId("stored"))
    private = world.session("private", private=True).session_id
    asked = ops.NewRun(session_id=private, run_id=RunId("mine"), request="Play")
    world.operator.open_run(asked)

    assert outcome(lambda: world.run(run_id=RunId("mine"))) == "run.exists"
    assert outcome(lambda: world.run(f"A {WORD}", run_id=stored.run_id, session_id=private)) == "run.exists"
    assert world.say(stored, "Known").stored
    assert not world.say(RunId("mine"), WORD).stored
    assert WORD not in repr(world.tables())


def test_a_run_that_is_opened_again_after_a_pause_is_stored_from_then_on(world: World) -> None:
    by_pause(world, Path())
    asked = ops.NewRun(session_id=TALK, run_id=RunId("mine"), request="Play")
    paused = world.operator.open_run(asked)
    world.operator.resume_capture()

    resumed = world.operator.open_run(asked)
    said = world.say(RunId("mine"), "Known")

    assert (paused.stored, resumed.stored, said.stored) == (False, True, True)


def test_a_run_that_was_opened_before_a_pause_is_told_again_during_it(world: World) -> None:
    asked = ops.NewRun(session_id=world.session().session_id, run_id=RunId("mine"), request="Play")
    opened = world.operator.open_run(asked)
    world.operator.pause_capture()

    assert world.operator.open_run(asked) == opened


def test_calls_for_an_uncaptured_run_of_an_earlier_process_still_say_that_nothing_is_stored(
    world: World,
) -> None:
    world.session(private=True)
    run = world.operator.open_run(ops.NewRun(session_id=TALK, request="Play")).run
    world.restart()
    before = world.tables()

    assert not world.say(run, WORD).stored
    assert not world.operator.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)).stored
    assert world.tables() == before


def test_an_uncaptured_run_is_its_callers_own(world: World) -> None:
    world.session(private=True)
    run = world.operator.open_run(ops.NewRun(session_id=TALK, request="Play")).run

    assert outcome(lambda: world.agent.get_run(run.run_id)) == "run.not-found"


def test_an_uncaptured_run_is_given_its_context_without_effect(world: World) -> None:
    world.finished("Which codename?", "Atlas")
    world.operator.pause_capture()
    before = world.tables()

    view = world.operator.open_run(ops.NewRun(session_id=TALK, request="Which one?", context=True))

    assert view.sections is not None
    assert "Atlas" in view.sections[0].text
    assert world.tables() == before
