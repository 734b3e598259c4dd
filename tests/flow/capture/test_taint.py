"""Taint: what a run read from outside marks its conversation, and everything that is learned from it."""

from collections.abc import Callable
from typing import Any

import pytest

from runlore.domain import limits
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import JsonObject, Kind, RecordId
from runlore.domain.run import Run
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.flow.capture.provenance import conversation_provenance, run_provenance
from runlore.flow.capture.semantic import find_uncaptured
from runlore.ports import operations as ops
from runlore.ports.store import Collections
from tests.fakes import ScriptedModels
from tests.flow.capturing import allow, answer, capture, captured, put, receipt
from tests.world import World

pytestmark = pytest.mark.req("TNT-1", "TNT-3")

PAGE = "https://example.org/page"
MADE_UP = "The codename is Atlas"


def calls(world: World, run: Run, name: str, **arguments: Any) -> None:
    """A call of a run's agent, with its result."""
    call_id = f"call-{len(world.journal(run.session_id))}"
    world.append(
        run,
        {"type": "tool_call", "call_id": call_id, "name": name, "arguments": arguments},
        {"type": "tool_result", "call_id": call_id, "output": "read"},
    )


def reads_web(world: World, **fields: Any) -> Run:
    """A finished run that read a page."""
    run = world.run("Look it up", **fields)
    calls(world, run, "WebFetch", url=PAGE)
    return world.finish(run)


def stays_home(world: World, **fields: Any) -> Run:
    """A finished run that read its workspace alone."""
    run = world.run("Look around", **fields)
    calls(world, run, "Read", file_path="src/app.py")
    return world.finish(run)


def told(world: World, find: Callable[[Collections, Run], Provenance], run: Run) -> Provenance:
    """What is known of a run now."""
    with world.parts.store.snapshot() as snapshot:
        return find(snapshot, snapshot.runs.get(run.run_id))


def test_a_run_tells_what_its_own_calls_read(world: World) -> None:
    there, home = reads_web(world), stays_home(world)

    assert told(world, run_provenance, there) == Provenance(
        untrusted=True, needs_review=True, sources=(PAGE,)
    )
    assert told(world, run_provenance, home) == TRUSTED


@pytest.mark.parametrize("apart_s", [0, 60])
def test_what_an_earlier_run_read_is_still_in_the_conversation(world: World, apart_s: int) -> None:
    reads_web(world)
    world.clock.advance(seconds=apart_s)
    later = stays_home(world)

    assert told(world, conversation_provenance, later).sources == (PAGE,)
    assert told(world, run_provenance, later) == TRUSTED


def test_what_a_later_run_read_was_not_in_the_conversation_yet(world: World) -> None:
    earlier = stays_home(world)
    world.clock.advance(seconds=1)
    reads_web(world)

    assert told(world, conversation_provenance, earlier) == TRUSTED


def test_a_run_that_ran_beside_it_counts(world: World) -> None:
    beside = world.run("Work on")
    world.clock.advance(seconds=1)
    reads_web(world)
    world.clock.advance(seconds=1)
    calls(world, beside, "Read", file_path="src/app.py")
    beside = world.finish(beside)

    assert told(world, conversation_provenance, beside).sources == (PAGE,)


def test_an_open_run_has_all_of_its_session_so_far_in_it(world: World) -> None:
    opened = world.run("Still at it")
    world.clock.advance(seconds=1)
    reads_web(world)

    assert told(world, conversation_provenance, opened).sources == (PAGE,)


def test_another_session_is_another_conversation(world: World) -> None:
    world.session("elsewhere")
    reads_web(world, session_id=SessionId("elsewhere"))
    here = stays_home(world)

    assert told(world, conversation_provenance, here) == TRUSTED


def test_what_capture_noted_stands_in_for_a_journal_that_is_gone(world: World) -> None:
    allow(world)
    first = reads_web(world)
    later = stays_home(world)
    capture(world)
    with world.parts.store.transaction() as tx:
        tx.journal.erase_run(first.run_id)
        tx.pointers.delete([first.run_id])

    noted = receipt(world, first)
    assert noted is not None
    assert noted.provenance.sources == (PAGE,)
    assert told(world, conversation_provenance, later).sources == (PAGE,)


def test_a_journal_that_was_emptied_before_anybody_looked_is_not_trusted(world: World) -> None:
    first, later = stays_home(world), stays_home(world)
    with world.parts.store.transaction() as tx:
        tx.journal.erase_run(first.run_id)

    assert told(world, conversation_provenance, later).tainted


def test_a_request_that_was_emptied_before_anybody_looked_is_not_trusted(world: World) -> None:
    first = world.finish(world.run("Sum it up:\n```\nThe port is 80\n```"))
    later = stays_home(world)
    world.operator.forget(ops.Decision(record_id=RecordId(first.run_id)))

    assert told(world, conversation_provenance, later).tainted


@pytest.mark.parametrize("is_captured", [True, False])
def test_forgetting_a_run_does_not_wash_its_conversation(world: World, is_captured: bool) -> None:
    allow(world)
    first = reads_web(world)
    later = stays_home(world)
    if is_captured:
        capture(world)
    world.operator.forget(ops.Decision(record_id=RecordId(first.run_id)))

    assert told(world, conversation_provenance, later).tainted


def test_a_receipt_that_waits_for_a_model_tells_what_was_read(world: World) -> None:
    allow(world)
    first = reads_web(world)
    with world.parts.store.transaction() as tx:
        tx.captures.put(
            Capture(
                run_id=first.run_id,
                session_id=first.session_id,
                opened_at=first.opened_at,
                state=CaptureState.PENDING,
                provenance=told(world, run_provenance, first),
            )
        )
    later = stays_home(world)

    assert told(world, conversation_provenance, later).sources == (PAGE,)
    assert told(world, conversation_provenance, first).sources == (PAGE,)


def test_long_journals_are_read_page_by_page_to_their_end(world: World) -> None:
    run = world.run("Work long")
    read: JsonObject = {"type": "tool_call", "name": "Read", "arguments": {"file_path": "a.py"}}
    many = 2 * limits.JOURNAL_PAGE_DEFAULT + 1
    world.append(run, *({**read, "call_id": f"c{number}"} for number in range(many)))
    calls(world, run, "WebFetch", url=PAGE)
    run = world.finish(run)

    assert told(world, run_provenance, run).sources == (PAGE,)


def test_a_memory_of_another_run_that_was_given_brings_its_conversation(world: World) -> None:
    reads_web(world)
    world.clock.advance(seconds=1)
    world.operator.open_run(ops.NewRun(session_id=SessionId("talk"), request="Go on", context=True))
    with world.parts.store.snapshot() as snapshot:
        given = snapshot.runs.page(limit=1)[0]
        assert snapshot.runs.get_receipt(given.run_id) is not None
        assert run_provenance(snapshot, given).sources == (PAGE,)


@pytest.mark.req("RUN-10")
def test_what_runs_read_that_capture_never_comes_to_is_noted_with_a_later_one(world: World) -> None:
    put(world, {"mode": "manual_only", "capture": {"run_summary_candidates": False}})
    there, home, gone = reads_web(world), stays_home(world), stays_home(world)
    world.operator.forget(ops.Decision(record_id=RecordId(gone.run_id)))
    going = world.run("Still at it")
    world.clock.advance(seconds=1)
    allow(world)
    asked_for = stays_home(world)
    later = stays_home(world)
    capture(world)

    assert [_noted(world, run) for run in (there, home)] == [
        (CaptureState.SKIPPED, (PAGE,)),
        (CaptureState.SKIPPED, ()),
    ]
    assert [receipt(world, run) for run in (gone, going)] == [None, None]
    assert {_noted(world, run)[0] for run in (asked_for, later)} == {CaptureState.COMPLETED}
    with world.parts.store.transaction() as tx:
        tx.journal.erase_run(there.run_id)
        tx.journal.erase_run(home.run_id)
    assert told(world, run_provenance, later) == TRUSTED
    assert PAGE in told(world, conversation_provenance, later).sources
    # They can still be asked for.
    world.operator.backfill_capture(ops.BackfillRequest())
    capture(world)
    assert {_noted(world, run)[0] for run in (there, home)} == {CaptureState.COMPLETED}


@pytest.mark.req("CAP-1", "RUN-10")
def test_runs_whose_capture_waits_are_left_to_it(world: World) -> None:
    put(world, {"mode": "manual_only"})
    first = reads_web(world)
    allow(world, summaries=True)
    second = stays_home(world)
    with world.parts.store.snapshot() as snapshot:
        assert find_uncaptured(snapshot, snapshot.runs.get(second.run_id)) == ()

    capture(world)

    assert {record.source.run_id for record in captured(world, Kind.RUN_SUMMARY)} == {
        first.run_id,
        second.run_id,
    }


def _noted(world: World, run: Run) -> tuple[CaptureState, tuple[str, ...]]:
    noted = receipt(world, run)
    assert noted is not None
    return noted.state, noted.provenance.sources


@pytest.mark.req("CAP-2")
def test_what_is_learned_inherits_it_and_the_users_own_label_stays_trusted(world: World) -> None:
    allow(world)
    reads_web(world)
    world.clock.advance(seconds=1)
    run = world.run("Fact: the port is 8080\nNow look at the code")
    world.say(run, MADE_UP)
    world.finish(run)
    capture(world, ScriptedModels(answer(("fact", MADE_UP))))

    by_text = {record.summary: record.provenance for record in captured(world)}
    label = next(provenance for text, provenance in by_text.items() if "8080" in text)
    assert label == TRUSTED
    assert by_text[MADE_UP].sources == (PAGE,)
    assert by_text[MADE_UP].tainted
