"""Scratch: a run's own notes, seen inside it alone and gone when it closes."""

from functools import partial

import pytest

from runlore.domain.record import Kind, Layer, Record, State, StateReason
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.world import World, outcome

pytestmark = pytest.mark.req("LAY-5")

TALK = SessionId("talk")
SECRET = "ghp_" + "a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6"


def test_notes_are_working_records_of_their_run(world: World) -> None:
    run, other = world.run("One", agent="codex"), world.run("Two")

    notes = [note(world, run.run_id, text) for text in ("plan: build, test", "step 1 done")]
    note(world, other.run_id, "somebody else's plan")

    assert world.operator.list_scratch(run.run_id) == tuple(notes)
    record = notes[0]
    assert (record.layer, record.kind, str(record.scope)) == (Layer.WORKING, Kind.SCRATCH, "session:talk")
    assert (record.source.session_id, record.source.run_id, record.source.agent) == (
        TALK,
        run.run_id,
        "codex",
    )


def test_notes_are_not_in_anybodys_lists_or_searches(world: World) -> None:
    session = world.agent.create_session(ops.NewSession())
    run = world.agent.open_run(ops.NewRun(session_id=session.session_id, request="One")).run
    noted = world.agent.add_scratch(ops.NewScratch(run_id=run.run_id, text="the zebra plan"))
    assert noted is not None

    filters = ops.Filters(session_id=session.session_id)
    assert world.agent.list_records(ops.ListRequest(filters=filters)).items == ()
    assert world.agent.search(ops.SearchRequest(query="zebra", filters=filters)).items == ()
    assert world.search("zebra") == []
    assert (
        outcome(lambda: world.agent.get_record(noted.record_id, session_id=session.session_id))
        == "record.not-found"
    )
    assert world.agent.list_scratch(run.run_id) == (noted,)


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED])
def test_notes_are_cleared_when_their_run_closes(world: World, status: RunStatus) -> None:
    run, other = world.run("One"), world.run("Two")
    cleared, kept = note(world, run.run_id, "mine"), note(world, other.run_id, "yours")

    world.finish(run, status)

    after = world.record(cleared)
    assert (after.state, after.state_reason) == (State.TOMBSTONED, StateReason.CLEARED)
    assert world.operator.list_scratch(run.run_id) == ()
    assert world.record(kept).state is State.ACTIVE


def test_notes_are_summarised_into_one_episode_where_asked(world: World) -> None:
    run = world.run()
    notes = [note(world, run.run_id, text) for text in ("found the leak", "closed the socket")]

    world.finish(run, summarise_scratch=True)

    episodes = [record for record in world.stored().values() if record.layer is Layer.EPISODIC]
    (summary,) = [episode for episode in episodes if "found the leak" in episode.summary]
    assert len(episodes) == 2
    assert summary.summary.splitlines()[1:] == ["- found the leak", "- closed the socket"]
    assert summary.source.record_ids == tuple(record.record_id for record in notes)
    assert summary.expires_at is not None


def test_a_long_row_of_notes_is_cut_to_an_episode(world: World) -> None:
    run = world.run()
    for number in range(5):
        note(world, run.run_id, f"{number} " + "note " * 200)

    world.finish(run, summarise_scratch=True)

    episodes = [record for record in world.stored().values() if "notes" in record.metadata]
    assert [(len(record.summary) <= 1_600, record.summary[-1]) for record in episodes] == [(True, "…")]


def test_a_note_holds_no_secret_and_is_bounded(world: World) -> None:
    run = world.run()

    kept = note(world, run.run_id, f"use {SECRET} to log in")

    assert "<redacted" in kept.summary
    assert SECRET not in repr(world.tables())
    refused = [
        outcome(partial(world.operator.add_scratch, ops.NewScratch(run_id=run.run_id, text=text)))
        for text in ("", "x" * 1_601)
    ]
    assert refused == ["record.summary-blank", "record.summary-long"]


@pytest.mark.parametrize("text", ["token: x\n" * 200_000, "x" * 1_601, "", f"{SECRET}\n" * 100])
def test_what_cannot_be_a_note_is_refused_before_anything_is_begun(
    world: World, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    run = world.run()
    reached: list[str] = []
    monkeypatch.setattr(world.parts.store, "transaction", lambda: reached.append("transaction"))

    refused = outcome(lambda: world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text=text)))

    assert refused in {"record.summary-long", "record.summary-blank"}
    assert reached == []


@pytest.mark.req("CAP-6")
def test_what_runlore_rendered_is_no_note(world: World) -> None:
    echoed = "<runlore:learned_context>\n- the codename is Atlas\n</runlore:learned_context>"

    assert note(world, world.run().run_id, f"see {echoed}").summary == "see [runlore section removed]"


def test_a_keyed_note_is_made_once(world: World) -> None:
    run = world.run()
    asked = ops.NewScratch(run_id=run.run_id, text="once", idempotency_key="k")

    assert world.operator.add_scratch(asked) == world.operator.add_scratch(asked)
    assert len(world.operator.list_scratch(run.run_id)) == 1


def note(world: World, run_id: RunId, text: str) -> Record:
    """A note of a run."""
    noted = world.operator.add_scratch(ops.NewScratch(run_id=run_id, text=text))
    assert noted is not None
    return noted
