"""Where people said no, nothing of a transcript is stored: neither its runs nor where it was read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from runlore.daemon.app import Application
from runlore.daemon.mining.store_runs import store
from runlore.domain.record import RecordId
from runlore.domain.run import MemoryState
from runlore.domain.runs.transcript import (
    START,
    Position,
    ReadCounts,
    ToldRun,
    TranscriptAgent,
    TranscriptSource,
)
from runlore.domain.session import PersonaId
from runlore.ports import operations as ops
from tests.flow.telling import (
    SOURCE,
    THEN,
    bring,
    call,
    in_session,
    is_stored,
    position_of,
    run_of,
    told,
)
from tests.world import AGENT, OPERATOR, World, decision

pytestmark = [pytest.mark.req("CAP-7"), pytest.mark.req("INT-1")]

RUNS = in_session(told("One", call("make"), "Yes"), told("Two", "Yes"), told("Three", "Yes"), at=THEN)
FIRST, SECOND, THIRD = RUNS


def test_a_folder_that_says_no_stores_nothing(sqlite_world: World, tmp_path: Path) -> None:
    (tmp_path / ".runlore.toml").write_text("capture = false\n")
    inside = tmp_path / "deep" / "down"
    run = replace(FIRST, folder=str(inside))
    before = sqlite_world.tables()
    answer = bring(sqlite_world, run)
    assert (answer.stored, answer.left, dict(answer.reasons)) == (0, 1, {"folder": 1})
    assert sqlite_world.tables() == before


@pytest.mark.parametrize("file", ["capture = 7", "no toml at all ["])
def test_a_project_file_that_cannot_be_read_counts_as_a_no(
    sqlite_world: World, tmp_path: Path, file: str
) -> None:
    (tmp_path / ".runlore.toml").write_text(file)
    assert dict(bring(sqlite_world, replace(FIRST, folder=str(tmp_path))).reasons) == {"folder": 1}


@pytest.mark.req("SCO-5")
def test_of_a_session_that_goes_through_such_a_folder_the_rest_is_stored(
    sqlite_world: World, tmp_path: Path
) -> None:
    (tmp_path / ".runlore.toml").write_text("capture = false\n")
    hushed = replace(SECOND, folder=str(tmp_path))
    answer = bring(sqlite_world, FIRST, hushed, THIRD)
    assert (answer.stored, dict(answer.reasons)) == (2, {"folder": 1})
    assert not is_stored(sqlite_world, hushed)
    assert position_of(sqlite_world) == THIRD.after
    with sqlite_world.parts.store.snapshot() as snapshot:
        mined = snapshot.mined_runs.find(THIRD.run_id)
    # What is missing leaves no gap: numbers are those of what is stored.
    assert mined is not None
    assert mined.request is not None
    assert mined.request.number == run_of(sqlite_world, THIRD).input_number == SECOND.first_number


@pytest.mark.req("SCO-5")
def test_what_is_known_of_a_folder_where_the_transcript_lies_is_believed(
    sqlite_world: World, tmp_path: Path
) -> None:
    def known(run: ToldRun, folder: str) -> ToldRun:
        return replace(
            run, folder=folder, project="atlas", project_name="Atlas", project_folder="/srv/other/atlas"
        )

    elsewhere = known(FIRST, "/srv/other/link")
    bring(sqlite_world, elsewhere)
    session = sqlite_world.operator.get_session(elsewhere.session_id)
    assert session.binding.project_ids == ("atlas",)
    assert session.working_folder == "/srv/other/atlas"
    with sqlite_world.parts.store.snapshot() as snapshot:
        mined = snapshot.mined_runs.find(elsewhere.run_id)
    assert mined is not None
    assert (mined.project, mined.project_name) == ("atlas", "Atlas")
    (tmp_path / ".runlore.toml").write_text("capture = false\n")
    refused = known(replace(SECOND, source_session="s2"), str(tmp_path))
    assert dict(bring(sqlite_world, refused).reasons) == {"folder": 1}


def test_forgetting_any_session_of_a_transcript_forgets_how_far_it_was_read(sqlite_world: World) -> None:
    main, side = FIRST, replace(SECOND, source_session="s1/helper")
    for number, gone in enumerate((main, side)):
        runs = [replace(run, source_session=f"{number}:{run.source_session}") for run in (main, side)]
        bring(sqlite_world, *runs, source=f"source {number}")
        assert position_of(sqlite_world, f"source {number}") is not None
        sqlite_world.operator.forget(
            decision(RecordId(replace(gone, source_session=runs[number].source_session).session_id))
        )
        assert position_of(sqlite_world, f"source {number}") is None


@pytest.mark.parametrize("odd", ["relative", "", "/a\x00b"])
def test_a_folder_that_can_be_none_is_not_believed(sqlite_world: World, odd: str) -> None:
    run = replace(FIRST, folder="/srv/atlas", project="at\x00las ", project_folder=odd)
    assert bring(sqlite_world, run).stored == 1
    session = sqlite_world.operator.get_session(run.session_id)
    assert session.working_folder == "/srv/atlas"


def test_while_capture_is_paused_nothing_is_stored_and_it_is_told_again_later(sqlite_world: World) -> None:
    bring(sqlite_world, FIRST)
    sqlite_world.operator.pause_capture()
    answer = bring(sqlite_world, SECOND, THIRD)
    assert (answer.stored, dict(answer.reasons)) == (0, {"paused": 2})
    assert position_of(sqlite_world) == FIRST.after
    sqlite_world.operator.resume_capture()
    assert bring(sqlite_world, SECOND, THIRD).stored == 2


def test_a_persona_that_is_not_captured_keeps_its_sessions_later_runs_out(sqlite_world: World) -> None:
    bring(sqlite_world, FIRST)
    persona = PersonaId("quiet")
    sqlite_world.operator.put_persona(ops.PersonaChange(persona_id=persona, capture=False))
    sqlite_world.operator.change_session(ops.SessionChange(session_id=FIRST.session_id, persona_id=persona))
    assert dict(bring(sqlite_world, SECOND).reasons) == {"paused": 1}
    assert position_of(sqlite_world) == FIRST.after


def test_what_is_kept_back_for_now_keeps_the_position_whatever_else_is_stored(sqlite_world: World) -> None:
    bring(sqlite_world, FIRST)
    persona = PersonaId("quiet")
    sqlite_world.operator.put_persona(ops.PersonaChange(persona_id=persona, capture=False))
    sqlite_world.operator.change_session(ops.SessionChange(session_id=FIRST.session_id, persona_id=persona))
    other = replace(THIRD, source_session="s2")
    answer = bring(sqlite_world, SECOND, other)
    assert (answer.stored, dict(answer.reasons)) == (1, {"paused": 1})
    assert position_of(sqlite_world) == FIRST.after


def test_a_private_session_of_that_id_stays_empty(sqlite_world: World) -> None:
    sqlite_world.operator.create_session(ops.NewSession(session_id=FIRST.session_id, private=True))
    before = sqlite_world.tables()
    assert dict(bring(sqlite_world, *RUNS).reasons) == {"private": 3}
    assert sqlite_world.tables() == before


def test_a_session_that_was_ended_takes_nothing_more(sqlite_world: World) -> None:
    bring(sqlite_world, FIRST)
    sqlite_world.operator.change_session(ops.SessionChange(session_id=FIRST.session_id, ended=True))
    assert dict(bring(sqlite_world, FIRST, SECOND).reasons) == {"ended": 1}


@pytest.mark.req("LRN-12")
def test_a_forgotten_run_stays_forgotten(world: World) -> None:
    bring(world, FIRST, SECOND)
    world.operator.forget(decision(FIRST.run_id))  # type: ignore[arg-type]
    answer = bring(world, *RUNS)
    assert (answer.stored, answer.known, dict(answer.reasons)) == (1, 1, {"forgotten": 1})
    assert run_of(world, FIRST).memory is MemoryState.FORGOTTEN
    assert all(not event.body for event in world.journal(FIRST.session_id) if event.run_id == FIRST.run_id)


@pytest.mark.req("LRN-12")
def test_a_forgotten_session_stays_forgotten_and_so_does_where_it_was_read(world: World) -> None:
    bring(world, FIRST, SECOND)
    world.operator.forget(decision(FIRST.session_id))  # type: ignore[arg-type]
    assert position_of(world) is None
    before = world.tables()
    answer = bring(world, *RUNS)
    assert (answer.stored, answer.known, dict(answer.reasons)) == (0, 0, {"forgotten": 3})
    assert world.tables() == before


def _made_by(world: World, agent: str | None) -> Callable[[], object]:
    return lambda: world.agent.create_session(ops.NewSession(session_id=FIRST.session_id, agent=agent))


@pytest.mark.parametrize("agent", [None, "claude-code"])
def test_nobody_gets_to_read_a_transcript_by_taking_its_sessions_id(
    sqlite_world: World, agent: str | None
) -> None:
    _made_by(sqlite_world, agent)()
    assert dict(bring(sqlite_world, *RUNS).reasons) == {"taken": 3}
    mine = sqlite_world.agent.open_run(ops.NewRun(session_id=FIRST.session_id, request="mine"))
    assert mine.run.created_by == AGENT.actor
    assert dict(bring(sqlite_world, *RUNS).reasons) == {"taken": 3}
    assert len(sqlite_world.journal(FIRST.session_id)) == 2


def test_nobody_gets_to_keep_a_run_out_or_in_by_taking_its_id(sqlite_world: World) -> None:
    theirs = sqlite_world.agent.create_session(ops.NewSession(agent="claude-code"))
    sqlite_world.agent.open_run(ops.NewRun(session_id=theirs.session_id, request="mine", run_id=FIRST.run_id))
    answer = bring(sqlite_world, *RUNS)
    assert (answer.stored, dict(answer.reasons)) == (2, {"taken": 1})


def test_a_session_that_a_hook_has_reported_under_another_id_is_another_one(sqlite_world: World) -> None:
    live = sqlite_world.finished("One")
    assert bring(sqlite_world, *RUNS).stored == 3
    assert sqlite_world.operator.get_run(live.run_id).run.imported is False
    listed = sqlite_world.operator.list_runs(ops.RunsRequest(session_id=FIRST.session_id)).items
    assert [view.run.run_id for view in listed] == [run.run_id for run in reversed(RUNS)]


def test_another_operator_goes_on_where_the_first_has_left(sqlite_world: World) -> None:
    bring(sqlite_world, FIRST)
    other = sqlite_world.caller(ops.Role.OPERATOR)
    answer = other.import_runs(ops.RunsToImport(source=SOURCE, runs=RUNS, position=THIRD.after))
    assert (answer.stored, answer.known) == (2, 1)


def test_a_transcript_without_any_run_is_read_once(sqlite_world: World) -> None:
    read = Position(carried={"read": "12:3"})
    assert bring(sqlite_world, position=read).stored == 0
    assert position_of(sqlite_world) == read


def test_where_a_transcript_was_read_to_goes_with_its_session_also_when_it_told_nothing_since(
    sqlite_world: World,
) -> None:
    bring(sqlite_world, FIRST)
    later = replace(FIRST.after, carried={"folder": "/srv/zebra", "read": "12:3"})
    bring(sqlite_world, position=later)
    assert position_of(sqlite_world) == later
    sqlite_world.operator.forget(decision(FIRST.session_id))  # type: ignore[arg-type]
    assert position_of(sqlite_world) is None
    bring(sqlite_world, position=later)
    assert position_of(sqlite_world) is None, "it is of a reading that began before"


def test_a_session_of_long_ago_is_stored_without_memories(sqlite_world: World) -> None:
    old = in_session(*RUNS, at=THEN - timedelta(days=400))
    assert bring(sqlite_world, *old).stored == 3
    assert sqlite_world.pointers() == []
    assert sqlite_world.stored() == {}
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert len(snapshot.mined_runs.of_session(FIRST.session_id, limit=10)) == 3


class Told:
    """Transcripts of which there is one, whose runs are too many for one batch."""

    def __init__(self, runs: Sequence[ToldRun]) -> None:
        self._runs = runs

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        """The one."""
        del paths, since
        yield TranscriptSource(path="here", agent=TranscriptAgent.CLAUDE_CODE, modified_at=THEN)

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        """The runs behind a position."""
        del source, counts
        yield from (run for run in self._runs if run.after.offset > start.offset)

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        """Whether there are any."""
        return position.offset < self._runs[-1].after.offset and bool(source)


class PausedOnce(Application):
    """Operations with capture paused while the second batch arrives."""

    batches = 0

    def import_runs(self, request: ops.RunsToImport) -> ops.ImportedRuns:
        """Bring runs in."""
        self.batches += 1
        if self.batches == 2:
            self.pause_capture()
        answer = Application(self.parts, self.caller).import_runs(request)
        self.resume_capture()
        return answer


def test_what_was_kept_back_in_the_middle_of_a_transcript_is_told_again(sqlite_world: World) -> None:
    runs = in_session(*(told(f"Run {number}", *["Yes"] * 600) for number in range(3)), at=THEN)
    transcripts = Told(runs)
    sources = tuple(transcripts.find([]))
    first = store(PausedOnce(sqlite_world.parts, OPERATOR), transcripts, sources)
    assert (first.stored, dict(first.reasons)) == (2, {"paused": 1})
    again = store(sqlite_world.operator, transcripts, sources)
    assert (again.stored, again.known) == (1, 1)
    assert all(is_stored(sqlite_world, run) for run in runs)
