"""What is forgotten goes from the requests that Runlore's own runs have kept, too: it was told to a model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.domain.record import RecordId
from runlore.domain.run import RunId, RunStatus
from runlore.flow.capture.runs import FIRST, LAST
from runlore.ports import operations as ops
from tests.flow.agent_world import AtWork, Held, at_work
from tests.flow.child_scene import Scene, repository, scene
from tests.flow.learning_acts import learning
from tests.model_server import Reply, says
from tests.waiting import PATIENCE_S
from tests.world import decision

pytestmark = pytest.mark.req("LRN-12", "AGT-6")
WORD = "zanzibar"
REQUESTS = {FIRST, LAST}


@pytest.fixture
def local(tmp_path: Path) -> Settings:
    """What no database can change is asked of the embedded one."""
    return Settings(state_root=str(tmp_path / "home"))


def kept(work: AtWork | Scene, run_id: RunId) -> set[str]:
    """The requests that a run has kept."""
    names = {each.name for each in work.world.operator.list_artifacts(run_id).items}
    return names & REQUESTS


def holds(work: AtWork | Scene) -> bool:
    """Whether the word is anywhere: in a table, or in a file of the state root."""
    tables = work.world.tables().values()
    is_told = any(WORD in str(value).casefold() for rows in tables for row in rows for value in row)
    return is_told or bool(work.world.files_with(WORD))


def told_learning(work: AtWork) -> tuple[RecordId, RunId]:
    """A learning, and a run that was given it."""
    record = learning(work.world, f"The codename is {WORD}")
    return record.record_id, work.ask("What is the codename?").run.run_id


def told_memory(work: AtWork) -> tuple[RecordId, RunId]:
    """A run, and one of another session that was given its memory."""
    first = work.ask(f"Remember the word {WORD}").run
    later = work.ask("Which word was it?", session_id=work.talk("later"))
    return RecordId(first.run_id), later.run.run_id


def told_before(work: AtWork) -> tuple[RecordId, RunId]:
    """A run, and the next one of its session, which was told what was said before."""
    first = work.ask(f"Remember the word {WORD}").run
    return RecordId(first.run_id), work.ask("Which word was it?").run.run_id


def told_session(work: AtWork) -> tuple[RecordId, RunId]:
    """A session, and a run of another one that was given its memory."""
    _, later = told_memory(work)
    return RecordId("talk"), later


TOLD: dict[str, Callable[[AtWork], tuple[RecordId, RunId]]] = {
    "a learning": told_learning,
    "a run of another session": told_memory,
    "a run of the same session": told_before,
    "a session": told_session,
}


@pytest.mark.parametrize("what", sorted(TOLD))
def test_what_is_forgotten_goes_from_the_requests_in_which_it_was_told(
    local: Settings, disk_path: Path, what: str
) -> None:
    with at_work(local, disk_path / "work", says("Well.")) as work:
        before = work.ask("Hello", session_id=work.talk("before")).run.run_id
        work.world.clock.advance(seconds=60)
        forgotten, run_id = TOLD[what](work)
        assert kept(work, run_id) == REQUESTS
        assert holds(work)

        shown = work.operator.forget(decision(forgotten), dry_run=True)
        assert kept(work, run_id) == REQUESTS
        erased = work.operator.forget(decision(forgotten))

        assert (shown.requests, erased.requests) == (2, 2), "those of its own runs are artifacts of theirs"
        assert shown.artifacts == erased.artifacts
        again = work.operator.forget(decision(forgotten), dry_run=True)
        assert (again.requests, again.artifacts) == (0, 0)
        assert kept(work, run_id) == set()
        assert not holds(work)
        assert kept(work, before) == REQUESTS, "what was sent before it was known has nothing of it"
        work.world.clock.advance(seconds=60)
        assert kept(work, work.ask("Hello again", session_id=work.talk("after")).run.run_id) == REQUESTS


def test_a_run_that_goes_on_while_something_is_forgotten_keeps_none_of_its_requests(
    local: Settings, disk_path: Path
) -> None:
    def answered(_: object) -> Reply:
        return says("Well.")

    held = Held(answered)
    with at_work(local, disk_path / "work", held) as work:
        record = learning(work.world, f"The codename is {WORD}")
        run_id = work.start("What is the codename?")
        assert held.asked.wait(PATIENCE_S)
        work.world.clock.advance(seconds=60)

        work.operator.forget(decision(record))
        held.let_go.set()

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert kept(work, run_id) == set()
        assert not holds(work)


@pytest.mark.req("ROL-10")
def test_the_words_of_a_promoted_skill_go_from_the_requests_of_its_children(
    settings: Settings, disk_path: Path
) -> None:
    with scene(settings, repository(disk_path / "project")) as made:
        skill = made.promoted(instructions=f"Do it the {WORD} way. Say LOGS-OK.", description=f"{WORD} it.")
        run_id = made.trial().run.run_id
        assert kept(made, run_id) == REQUESTS

        made.world.operator.forget(decision(skill.source_record_id))

        assert kept(made, run_id) == set()
        assert "final_output" in made.artifacts(run_id)
        assert made.world.operator.get_promoted(skill.name).definition.instructions == ""
        if settings.database_url is None:
            # The child was asked for it by its description: those are words of its run.
            assert made.world.operator.forget(decision(RecordId(run_id))).runs == (run_id,)
            assert not holds(made)


def test_another_agents_artifacts_stay_as_they_were(local: Settings, disk_path: Path) -> None:
    with at_work(local, disk_path / "work", says("Well.")) as work:
        record = learning(work.world, f"The codename is {WORD}")
        run = work.world.run()
        work.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name=FIRST, text="its own"))

        shown = work.operator.forget(decision(record), dry_run=True)
        erased = work.operator.forget(decision(record))

        assert (shown.requests, erased.requests) == (0, 0)
        assert kept(work, run.run_id) == {FIRST}
