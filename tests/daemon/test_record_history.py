"""What a record was before a caller could see it is not told to that caller, in no read."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from runlore.daemon.app import Application
from runlore.domain.errors import NotFound
from runlore.domain.record import Move, Record, Source, State
from runlore.domain.records.audit import RecordEvent
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.serialization.codec import serialize
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.flow.learning_acts import candidate, feedback, given_run, publish, supersede
from tests.world import AGENT, OPERATOR, READER, World

HERS, MINE = SessionId("hers"), SessionId("mine")
WORD = "xylophone"
ROLES = [ops.Role.AGENT, ops.Role.READER, ops.Role.OPERATOR]


def codex(world: World) -> Application:
    """Another agent than the world's own."""
    return Application(world.parts, replace(AGENT, actor="codex"))


@pytest.fixture
def sessions(world: World) -> None:
    """A session of the agent, and one of another."""
    world.agent.create_session(ops.NewSession(session_id=HERS))
    codex(world).create_session(ops.NewSession(session_id=MINE))
    world.clock.advance(seconds=1)


def limited(world: World, role: ops.Role) -> tuple[Application, SessionId | None]:
    """Somebody who reads the workspace alone, with the session that an agent names."""
    if role is ops.Role.AGENT:
        return codex(world), MINE
    by = READER if role is ops.Role.READER else OPERATOR
    return Application(world.parts, replace(by, scopes=frozenset({WORKSPACE}))), None


def moved(world: World) -> Record:
    """What an agent said in its session, edited and published for everybody."""
    said = candidate(world.agent, f"The {WORD} is Ada's", scope=Scope(ScopeKind.SESSION, HERS))
    world.clock.advance(seconds=1)
    return publish(world, said, content="The instrument is shared", scope=WORKSPACE, accept_untrusted=True)


def texts(events: tuple[RecordEvent, ...]) -> str:
    """All that a history tells."""
    return repr(events)


@pytest.mark.req("SCO-2", "LRN-1")
@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("role", ROLES)
def test_the_past_of_a_record_stays_in_the_scope_that_it_came_from(world: World, role: ops.Role) -> None:
    record = moved(world)
    by, session_id = limited(world, role)

    events = by.history(record.record_id, session_id=session_id)

    assert [event.move for event in events] == [Move.CONFIRM]
    assert events[0].changes == serialize(record)
    assert WORD not in texts(events)
    assert len(world.operator.history(record.record_id)) == 2
    assert WORD in texts(world.operator.history(record.record_id))


@pytest.mark.req("SCO-2", "REC-6")
@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("role", ROLES)
def test_nor_is_it_read_as_of_a_moment_when_it_was_there(world: World, role: ops.Role) -> None:
    record = moved(world)
    by, session_id = limited(world, role)
    then = record.created_at + timedelta(milliseconds=1)
    everything = ops.Filters(session_id=session_id, as_of=then, states=frozenset(State))

    with pytest.raises(NotFound):
        by.get_record(record.record_id, as_of=then, session_id=session_id)
    with pytest.raises(NotFound):
        by.get_learning(record.record_id, as_of=then, session_id=session_id)
    assert by.list_records(ops.ListRequest(filters=everything)).items == ()
    assert by.search(ops.SearchRequest(query=WORD, filters=everything)).items == ()
    request = ops.LearningRequest(as_of=then, session_id=session_id)
    assert by.list_learnings(request).items == ()
    assert by.get_record(record.record_id, session_id=session_id) == record


@pytest.mark.req("LRN-1", "LRN-3")
@pytest.mark.usefixtures("sessions")
def test_an_agent_is_told_anothers_learning_from_its_publication_on(world: World) -> None:
    said = candidate(world.agent, f"The {WORD} is Ada's")
    record = publish(world, said, content="The instrument is shared", accept_untrusted=True)
    supersede(world, record, "The instrument is in the cellar", accept_untrusted=True)
    of_both = (codex(world), MINE), (world.agent, HERS)

    others, own = (by.history(record.record_id, session_id=session_id) for by, session_id in of_both)

    assert [event.move for event in others] == [Move.CONFIRM, Move.SUPERSEDE]
    assert others[0].changes == serialize(record)
    assert others[1] == own[2]
    assert WORD not in texts(others)
    assert own == world.operator.history(record.record_id)


def rejected(world: World, record: Record) -> None:
    """An operator says no."""
    world.reject(record)


def expired(world: World, _record: Record) -> None:
    """Its time comes."""
    world.clock.advance(days=2)
    world.restart()


def repeated(world: World, record: Record) -> None:
    """It says what somebody has published meanwhile."""
    publish(world, candidate(world.operator, record.summary))
    publish(world, record, accept_untrusted=True)


@pytest.mark.req("LRN-1", "SCO-2")
@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("end", [rejected, expired, repeated])
def test_what_was_never_published_is_shown_to_no_agent_but_its_own(
    world: World, end: Callable[[World, Record], None]
) -> None:
    due = world.clock.now() + timedelta(days=1)
    record = candidate(world.agent, f"The {WORD} is Ada's", expires_at=due)
    end(world, record)
    assert world.record(record).state is State.TOMBSTONED

    assert shown(world.agent, HERS, record) == ["candidate", "record", "history", "candidates", "records"]
    assert shown(codex(world), MINE, record) == []
    reader = Application(world.parts, READER)
    assert shown(reader, None, record) == ["candidate", "record", "history", "candidates", "records"]
    named = Source(session_id=MINE, record_ids=(record.record_id,))
    with pytest.raises(NotFound):
        candidate(codex(world), "The instrument is shared", source=named)


def shown(by: Application, session_id: SessionId | None, record: Record) -> list[str]:
    """The reads that tell of a tombstoned record."""
    ended = frozenset({State.TOMBSTONED})
    listed = ops.CandidateRequest(session_id=session_id, states=ended)
    filters = ops.Filters(session_id=session_id, states=ended)
    reads: dict[str, Callable[[], object]] = {
        "candidate": lambda: by.get_candidate(record.record_id, session_id=session_id),
        "record": lambda: by.get_record(record.record_id, session_id=session_id),
        "history": lambda: by.history(record.record_id, session_id=session_id),
        "candidates": lambda: by.list_candidates(listed).items,
        "records": lambda: by.list_records(ops.ListRequest(filters=filters)).items,
    }
    return [name for name, read in reads.items() if _found(read, record)]


def _found(read: Callable[[], object], record: Record) -> bool:
    try:
        return record.record_id in repr(read())
    except NotFound:
        return False


@pytest.mark.req("LRN-13", "SCO-2")
@pytest.mark.usefixtures("sessions")
def test_what_a_run_says_beside_its_verdict_is_for_those_whose_run_it_is(world: World) -> None:
    record = publish(world, candidate(world.operator, "The codename is Atlas"))
    run = given_run(world.agent, "What is the codename?", HERS)
    feedback(world.agent, record, run, "wrong", note=f"Ada (the one with the {WORD}) says no")
    told = f'wrong in run "{run.run_id}" (running)'

    mine = world.agent.history(record.record_id, session_id=HERS)
    others = codex(world).history(record.record_id, session_id=MINE)
    workspace, _ = limited(world, ops.Role.READER)

    assert mine[-1].reason == f"{told}: Ada (the one with the {WORD}) says no"
    assert mine[-1] == world.operator.history(record.record_id)[-1]
    assert others[-1] == replace(mine[-1], reason=told)
    assert workspace.history(record.record_id)[-1].reason == told
