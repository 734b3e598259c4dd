"""Forgetting a run or a session leaves no word of it, in no table, no file and no answer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.maintenance import maintain
from runlore.daemon.boot import boot_daemon
from runlore.domain.errors import Conflict, NotFound
from runlore.domain.record import Kind, RecordId, StateReason
from runlore.domain.run import ArtifactId, MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.job import JobState
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from tests.flow.dying import Died, dies, watched
from tests.world import OPERATOR, World, outcome

pytestmark = pytest.mark.req("LRN-12")

TALK = SessionId("talk")
WORD = "xylophone"
OTHER = "trombone"


def told(world: World, word: str, session_id: SessionId = TALK) -> Run:
    """A run that leaves its word everywhere that a run can leave it."""
    run = world.run(f"Play the {word}", session_id=session_id, agent="codex", model=f"{word}-1")
    world.say(run, f"The {word} plays")
    world.operator.add_artifact(
        ops.NewArtifact(
            run_id=run.run_id,
            name=word,
            text=f"score of the {word}",
            artifact_id=ArtifactId(f"art-{run.run_id}"),
        )
    )
    world.operator.add_scratch(
        ops.NewScratch(run_id=run.run_id, text=f"tune the {word}", idempotency_key=f"s{run.run_id}")
    )
    return world.finish(run, RunStatus.FAILED, error=f"the {word} broke", summarise_scratch=True)


def forget(world: World, name: str, **fields: Any) -> ops.ForgetAnswer:
    """Erase what an id names."""
    return world.operator.forget(ops.Decision(record_id=RecordId(name), **fields))


@pytest.fixture
def runs(world: World) -> tuple[Run, Run]:
    """A run with one word and one with another, and a third that was given both."""
    world.session()
    one = told(world, WORD)
    world.clock.advance(seconds=1)
    two = told(world, OTHER)
    world.operator.open_run(ops.NewRun(session_id=TALK, run_id=RunId("given"), request="Next", context=True))
    return one, two


def test_no_word_of_a_forgotten_run_is_left(world: World, runs: tuple[Run, Run]) -> None:
    run, other = runs

    answer = forget(world, run.run_id)

    assert (answer.runs, answer.sessions, answer.artifacts, answer.dry_run) == ((run.run_id,), (), 1, False)
    assert answer.forgotten_at == world.clock.now()
    assert {record.state_reason for record in answer.records} == {StateReason.FORGOTTEN}
    assert len(answer.records) == 3
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []
    assert OTHER in repr(world.tables())
    assert world.memory(other) is not None


def test_what_stays_says_that_there_was_a_run_when_and_how_it_ended(
    world: World, runs: tuple[Run, Run]
) -> None:
    run, _ = runs
    numbers = [event.number for event in world.journal() if event.run_id == run.run_id]

    forget(world, run.run_id)

    left = world.operator.get_run(run.run_id)
    events = [event for event in world.journal() if event.run_id == run.run_id]
    assert left.request == ""
    assert (left.run.status, left.run.finished_at, left.run.opened_at) == (
        run.status,
        run.finished_at,
        run.opened_at,
    )
    assert left.run.memory is MemoryState.FORGOTTEN
    assert [event.number for event in events] == numbers
    assert all(event.body == {} for event in events)


def test_a_receipt_that_named_it_names_it_as_missing(world: World, runs: tuple[Run, Run]) -> None:
    run, other = runs
    forget(world, run.run_id)

    view = world.operator.receipt(RunId("given"))

    assert view.receipt is not None
    (section,) = view.sections
    assert (section.exact, section.missing) == (False, (run.run_id,))
    assert WORD not in section.text
    assert OTHER in section.text
    assert other.run_id in {entry.source_id for entry in view.receipt.sections[0].entries}


def test_a_forgotten_run_is_never_remembered_again(world: World, runs: tuple[Run, Run]) -> None:
    run, other = runs
    forget(world, run.run_id)

    world.finish(run, RunStatus.FAILED, error=f"the {WORD} broke")
    maintain(world.parts, source="test")
    world.restart()
    boot_daemon(world.parts)
    given = world.operator.open_run(ops.NewRun(session_id=TALK, request="Once more", context=True))

    assert given.sections is not None
    assert [entry.source_id for entry in given.sections[0].entries] == [other.run_id]
    assert world.pointers() == [other.run_id]
    assert WORD not in repr(world.tables())


@pytest.mark.parametrize("moment", ["before delete", "behind delete"])
def test_a_death_during_a_forgetting_leaves_no_word_behind_the_next_start(
    world: World, runs: tuple[Run, Run], moment: str
) -> None:
    run, other = runs
    with pytest.raises(Died):
        watched(world, moment, dies).forget(ops.Decision(record_id=RecordId(run.run_id)))

    world.restart()

    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []
    assert world.memory(other) is not None


def test_a_dry_run_shows_what_would_go_and_changes_nothing(world: World, runs: tuple[Run, Run]) -> None:
    run, _ = runs
    before = world.tables()

    shown = world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)), dry_run=True)

    assert world.tables() == before
    done = forget(world, run.run_id)
    assert shown.dry_run
    assert shown.forgotten_at is None
    assert {record.record_id for record in shown.records} == {record.record_id for record in done.records}
    assert (shown.runs, shown.events, shown.artifacts) == (done.runs, done.events, done.artifacts)
    assert shown.events == 3


def test_forgetting_twice_changes_nothing_more(world: World, runs: tuple[Run, Run]) -> None:
    run, _ = runs
    first = forget(world, run.run_id, idempotency_key="k")
    before = world.tables()

    keyed = forget(world, run.run_id, idempotency_key="k")
    again = forget(world, run.run_id)

    assert {record.record_id for record in keyed.records} == {record.record_id for record in first.records}
    assert (keyed.runs, again.runs, again.records, again.events) == (first.runs, first.runs, (), 0)
    assert world.tables() == before


def test_a_stale_revision_forgets_nothing(world: World, runs: tuple[Run, Run]) -> None:
    run, _ = runs
    before = world.tables()

    with pytest.raises(Conflict) as refused:
        forget(world, run.run_id, expected_revision=run.revision - 1)

    assert refused.value.code == "record.revision"
    assert world.tables() == before
    assert world.memory(run) is not None


def test_a_memory_that_is_still_owed_is_not_written_any_more(world: World) -> None:
    run = world.run(f"Play the {WORD}")
    with pytest.raises(Died):
        watched(world, "before put", dies).finish_run(
            ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)
        )

    forget(world, run.run_id)

    with world.parts.store.snapshot() as snapshot:
        assert snapshot.jobs.list(frozenset(JobState), limit=10) == ()
    maintain(world.parts, source="test")
    assert world.memory(run) is None
    assert WORD not in repr(world.tables())


def test_a_run_that_is_open_ends_when_it_is_forgotten(world: World) -> None:
    run = world.run(f"Play the {WORD}")
    world.say(run, WORD)

    forget(world, run.run_id)

    assert world.operator.get_run(run.run_id).run.status is RunStatus.INTERRUPTED
    assert outcome(lambda: world.say(run, WORD)) == "run.ended"
    assert WORD not in repr(world.tables())
    assert world.pointers() == []


def test_no_word_of_a_forgotten_session_is_left(world: World, tmp_path: Path) -> None:
    folder = tmp_path / WORD
    folder.mkdir()
    world.session(title=f"The {WORD}", agent="codex", persona_id=PersonaId(WORD), working_folder=str(folder))
    one, two = told(world, WORD), told(world, WORD)
    still_open = world.run(f"Play the {WORD}", session_id=TALK)
    world.operator.add_checkpoint(ops.NewCheckpoint(session_id=TALK, text=f"So far: {WORD}"))
    world.operator.add_episode(
        ops.Episode(kind=Kind.EXPERIMENT, summary=WORD, scope=Scope(ScopeKind.SESSION, TALK))
    )
    kept = told(world, OTHER, world.session("another").session_id)
    world.search(WORD)

    answer = forget(world, TALK)

    session = world.operator.get_session(TALK)
    assert answer.sessions == (TALK,)
    assert set(answer.runs) == {one.run_id, two.run_id, still_open.run_id}
    assert answer.artifacts == 2
    assert (session.title, session.working_folder, session.agent) == ("", None, None)
    assert session.forgotten_at == session.ended_at == world.clock.now()
    assert WORD not in repr(world.tables())
    assert world.files_with(WORD) == []
    assert world.pointers() == [kept.run_id]
    numbers = [event.number for event in world.journal()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_forgotten_session_stays_closed(world: World) -> None:
    world.session()
    forget(world, TALK)

    again = ops.SessionChange(session_id=TALK, ended=False)
    assert outcome(lambda: world.operator.change_session(again)) == "session.forgotten"
    assert outcome(lambda: world.run(session_id=TALK)) == "session.ended"
    assert outcome(lambda: forget(world, TALK)) == "done"


def test_a_private_session_can_be_forgotten(world: World) -> None:
    world.session(private=True)

    answer = forget(world, TALK)

    assert (answer.sessions, answer.runs, answer.records) == ((TALK,), (), ())


def test_exports_that_name_it_are_told(world: World, runs: tuple[Run, Run]) -> None:
    run, _ = runs
    path = world.operator.export().path

    assert forget(world, run.run_id).exports_left == (path,)


def test_what_names_nothing_cannot_be_forgotten(world: World) -> None:
    for name in ("nothing", "a\0b", "x" * 5_000):
        with pytest.raises(NotFound) as refused:
            forget(world, name)
        assert refused.value.code == "record.not-found"


def test_an_operator_forgets_nothing_beyond_the_scopes_of_its_token(world: World) -> None:
    run = world.finished()
    caller = replace(OPERATOR, actor="limited", scopes=frozenset({Scope(ScopeKind.PROJECT, "acme")}))
    limited = Application(world.parts, caller)

    for name in (run.run_id, TALK):
        decision = ops.Decision(record_id=RecordId(name))
        with pytest.raises(NotFound):
            limited.forget(decision)
    assert world.memory(run) is not None
