"""Where a forgotten run has read is named nowhere, not in what later runs of its session left either."""

from datetime import timedelta

import pytest

from runlore.daemon.app import Application
from runlore.domain.record import JsonObject, Record, RecordId, Source
from runlore.domain.records.audit import replay
from runlore.domain.run import Run
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops
from tests.fakes import ScriptedModels
from tests.flow.capturing import allow, answer, capture, captured
from tests.flow.learning_acts import candidate, publish
from tests.world import AGENT, World, replayed

pytestmark = pytest.mark.req("LRN-12", "TNT-2")

ALONE, BOTH, LATER = (f"https://e.org/{word}" for word in ("xylophone", "trombone", "cello"))
TALK = Scope(ScopeKind.SESSION, "talk")


def reading(world: World, *pages: str) -> Run:
    """A run that reads pages, and ends."""
    world.clock.advance(seconds=1)
    run = world.run("Go on")
    world.append(run, *(fetch(number, page) for number, page in enumerate(pages)))
    return world.finish(run)


def fetch(number: int, page: str) -> JsonObject:
    """A call that reads a page."""
    return {"type": "tool_call", "call_id": str(number), "name": "WebFetch", "arguments": {"url": page}}


def forget(world: World, run: Run) -> None:
    """Erase a run."""
    world.operator.forget(ops.Decision(record_id=RecordId(run.run_id)))


@pytest.mark.parametrize("is_captured", [True, False], ids=["captured", "uncaptured"])
def test_what_a_forgotten_run_alone_has_read_is_named_no_more(world: World, is_captured: bool) -> None:
    world.session()
    agent = Application(world.parts, ops.Caller(actor="claude", role=AGENT.role, scopes=frozenset({TALK})))
    if is_captured:
        allow(world)
    first = reading(world, ALONE, BOTH)
    reading(world, BOTH, LATER)
    if is_captured:
        capture(world, ScriptedModels(answer(("fact", "The build tool is make"))))
    waiting = candidate(agent, "The codename is Atlas", scope=TALK)
    moved = candidate(agent, "The host is build7", scope=TALK, source=Source(session_id="talk"))
    published = publish(world, moved, scope=WORKSPACE, accept_untrusted=True)
    rejected = candidate(agent, "The port is 7", scope=TALK)
    world.reject(rejected)
    derived = candidate(world.operator, "Hosts are numbered", source=Source(record_ids=(moved.record_id,)))
    assert set(waiting.provenance.sources) == {ALONE, BOTH, LATER}

    forget(world, first)

    kept = tuple(source for source in waiting.provenance.sources if source != ALONE)
    tainted = Provenance(untrusted=True, needs_review=True, sources=kept)
    assert world.record(waiting).provenance == tainted
    assert world.record(rejected).provenance == tainted
    assert world.record(published).provenance == Provenance(sources=kept)
    assert set(world.record(derived).provenance.sources) <= set(kept)
    assert world.record(waiting).summary == waiting.summary
    assert_nothing_names(world, "xylophone")
    assert all(each.provenance.tainted for each in captured(world))


def test_what_is_read_by_somebody_else_is_left_as_it_is(world: World) -> None:
    world.session()
    first = reading(world, BOTH)
    reading(world, BOTH)
    other = world.session("other")
    elsewhere = candidate(world.operator, scope=other.scope, source=Source(session_id="other"))
    agent = Application(world.parts, ops.Caller(actor="claude", role=AGENT.role, scopes=frozenset({TALK})))
    record = candidate(agent, "The codename is Atlas", scope=TALK)
    before = world.histories()[record.record_id]

    forget(world, first)

    assert world.histories()[record.record_id] == before
    assert world.record(elsewhere) == elsewhere


def test_a_record_that_moved_often_names_it_in_none_of_its_revisions(world: World) -> None:
    world.session()
    first = reading(world, ALONE)
    reading(world, LATER)
    agent = Application(world.parts, ops.Caller(actor="claude", role=AGENT.role, scopes=frozenset({TALK})))
    record = publish(world, candidate(agent, "The codename is Atlas", scope=TALK), accept_untrusted=True)
    for _ in range(40):
        world.clock.advance(seconds=1)
        record = verified(world, record)

    forget(world, first)

    events = world.operator.history(record.record_id)
    assert len(events) > 17
    assert replay(events) == world.record(record)
    assert world.record(record).provenance.sources == (LATER,)
    assert_nothing_names(world, "xylophone")


def verified(world: World, record: Record) -> Record:
    """Another revision of it."""
    due = world.clock.now() + timedelta(days=1)
    request = ops.VerifyRequest(record_id=record.record_id, on_my_word=True, revalidate_at=due)
    return world.operator.verify(request)


def assert_nothing_names(world: World, word: str) -> None:
    """No row and no file holds a word, and the records are still what their events lead to."""
    assert [table for table, rows in world.tables().items() if word in repr(rows)] == []
    assert world.files_with(word) == []
    assert replayed(world.histories()) == world.stored()
