"""Run memory: one for each run that ended, built from what is durable, kept as long as the policy says."""

from dataclasses import replace

import pytest

from runlore.daemon.background.maintenance import enforce_policies, maintain
from runlore.domain.errors import Refused
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, Kind
from runlore.domain.run import TERMINAL, MemoryState, Run, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.world import World

TALK = SessionId("talk")


@pytest.mark.req("RUN-1", "RUN-2")
@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_the_memory_of_a_run_is_there_when_its_end_is_answered(world: World, status: RunStatus) -> None:
    run = world.run("Build the release")
    world.say(run, "First try", "It is built")
    world.clock.advance(seconds=9)

    ended = world.finish(run, status, error="disk full")

    memory = world.memory(run)
    assert memory is not None
    assert ended.memory is MemoryState.STORED
    assert (memory.session_id, memory.run_id, memory.status) == (TALK, run.run_id, status)
    assert memory.captured_at == ended.finished_at == world.clock.now()
    assert (memory.request_preview, memory.outcome_preview) == ("Build the release", "It is built")
    assert [str(scope) for scope in memory.scope_keys] == ["session:talk", "workspace:default"]
    assert world.pointers() == [run.run_id]
    assert world.counters()["run_memory.stored_total"] == 1


@pytest.mark.req("RUN-2")
def test_a_run_that_said_nothing_is_remembered_by_its_status(world: World) -> None:
    run = world.run()

    world.finish(run, RunStatus.CANCELLED)

    memory = world.memory(run)
    assert memory is not None
    assert memory.outcome_preview is None
    assert "was cancelled" in memory.summary


@pytest.mark.req("RUN-3", "OPS-1")
def test_redacted_fields_are_counted(world: World) -> None:
    world.finished("Write to ann@example.org", "Wrote to ann@example.org and bob@example.org")

    assert world.counters()["run_memory.redacted_fields_total"] == 2


@pytest.mark.req("RUN-3")
def test_personal_data_stays_where_the_policy_leaves_it(world: World) -> None:
    put_policy(world, {"redact_pii": False})

    memory = world.memory(world.finished("Write to ann@example.org"))

    assert memory is not None
    assert memory.request_preview == "Write to ann@example.org"


@pytest.mark.req("RUN-8")
def test_the_thirty_third_run_of_a_session_takes_the_place_of_the_first(world: World) -> None:
    runs = finished_runs(world, 33)
    other = world.finished(session_id=world.session("another").session_id)

    kept = [run.run_id for run in (*runs[1:], other)]
    assert world.pointers() == sorted(kept)
    assert world.memory(runs[0]) is None
    assert all(world.memory(run_id) is not None for run_id in kept)
    assert state_of(world, runs[0]) is MemoryState.PRUNED
    assert world.counters()["run_memory.pruned_overflow_total"] == 1
    assert world.counters()["run_memory.stored_total"] == 34


@pytest.mark.req("RUN-8")
@pytest.mark.parametrize("by", ["maintenance", "policy", "input"])
def test_exactly_thirty_days_is_kept_and_a_millisecond_more_is_not(world: World, by: str) -> None:
    old = world.finished("Old")
    world.clock.advance(milliseconds=1)
    new = world.finished("New")
    world.clock.advance(days=30, milliseconds=-1)

    prune_by(world, by)
    assert world.pointers() == [old.run_id, new.run_id]
    world.clock.advance(milliseconds=1)
    prune_by(world, by)

    assert world.pointers() == [new.run_id]
    assert (world.memory(old), world.memory(new) is None) == (None, False)
    assert state_of(world, old) is MemoryState.PRUNED
    assert world.counters()["run_memory.pruned_ttl_total"] == 1


@pytest.mark.req("RUN-8")
def test_a_shorter_retention_prunes_what_it_no_longer_keeps(world: World) -> None:
    runs = finished_runs(world, 3)
    put_policy(world, {"retention_days": 1})
    world.clock.advance(days=1, milliseconds=-1)
    enforce_policies(world.parts, source="policy")

    assert world.pointers() == [runs[-1].run_id]
    assert [run.run_id for run in runs if world.memory(run)] == [runs[-1].run_id]


@pytest.mark.req("RUN-8", "OPS-9")
def test_a_smaller_number_of_memories_is_used_and_deletes_none(world: World) -> None:
    runs = finished_runs(world, 6)
    put_policy(world, {"max_tracked_per_session": 2, "max_prompt_entries": 2})
    enforce_policies(world.parts, source="policy")
    maintain(world.parts, source="test")
    assert world.pointers() == [run.run_id for run in runs]
    given = world.operator.memory_context(ops.ContextRequest(session_id=TALK)).recovered_memory.entries
    assert [entry.run_id for entry in given] == [runs[5].run_id, runs[4].run_id]

    # Each run that ends takes the place of one, and of no more.
    latest = world.finished("Another", session_id=TALK)
    assert world.pointers() == [run.run_id for run in (*runs[1:], latest)]

    put_policy(world, {"max_tracked_per_session": 32, "max_prompt_entries": 6})
    again = world.operator.memory_context(ops.ContextRequest(session_id=TALK)).recovered_memory.entries
    assert len(again) == 6


@pytest.mark.req("RUN-8", "OPS-9")
def test_switched_off_nothing_is_remembered_or_given_and_what_is_stored_stays(world: World) -> None:
    earlier = world.finished("Earlier")
    put_policy(world, {"enabled": False})

    run = world.finished("Later", session_id=TALK)
    enforce_policies(world.parts, source="policy")
    maintain(world.parts, source="test")
    given = world.operator.memory_context(ops.ContextRequest(session_id=TALK))
    found = world.operator.session_search(ops.SessionSearchRequest(session_id=TALK, query="Earlier"))
    world.run("Opening one prunes nothing either", session_id=TALK, context=True)

    assert (run.status, run.memory) == (RunStatus.COMPLETED, MemoryState.NONE)
    assert (given.recovered_memory.entries, found.results) == ((), ())
    assert (world.pointers(), world.memory(run)) == ([earlier.run_id], None)
    assert [record.source.run_id for record in world.stored().values()] == [earlier.run_id, run.run_id]

    put_policy(world, {"enabled": True})
    again = world.operator.memory_context(ops.ContextRequest(session_id=TALK)).recovered_memory.entries
    assert [entry.run_id for entry in again] == [earlier.run_id]


@pytest.mark.req("OPS-9")
def test_deleting_run_memories_is_confirmed_previewed_audited_and_done_once(world: World) -> None:
    other = world.session("other").session_id
    runs = [*finished_runs(world, 2), world.finished("Elsewhere", session_id=other)]
    everything = ops.RunMemoryDeletion(confirm=True, idempotency_key="once", reason="a leaver's request")
    with pytest.raises(Refused) as unconfirmed:
        world.operator.delete_run_memories(replace(everything, confirm=False))
    shown = world.operator.delete_run_memories(replace(everything, dry_run=True, confirm=False))
    assert (unconfirmed.value.code, len(world.pointers())) == ("run-memory.unconfirmed", 3)
    assert shown == ops.DeletedRunMemories(memories=3, sessions=2, dry_run=True)

    one = world.operator.delete_run_memories(ops.RunMemoryDeletion(session_id=other, confirm=True))
    rest = world.operator.delete_run_memories(everything)
    later = world.finished("After it", session_id=TALK)

    assert [(done.memories, done.sessions) for done in (one, rest)] == [(1, 1), (2, 1)]
    assert world.operator.delete_run_memories(everything) == rest
    assert (world.pointers(), [world.memory(run) for run in runs]) == ([later.run_id], [None] * 3)
    told = [record for record in world.stored().values() if record.kind is Kind.ROLLBACK]
    assert [record.summary for record in told] == [
        "Run memories deleted: 1, from sessions: 1",
        "Run memories deleted: 2, from sessions: 1",
    ]
    (event,) = world.operator.history(told[1].record_id)
    assert (event.actor, event.reason) == ("operator", "a leaver's request")
    maintain(world.parts, source="test")
    assert world.pointers() == [later.run_id]


@pytest.mark.req("RUN-8")
def test_what_was_pruned_is_not_brought_back(world: World) -> None:
    run = world.finished()
    world.clock.advance(days=31)
    maintain(world.parts, source="test")

    world.finish(run)
    maintain(world.parts, source="test")
    world.restart()

    assert world.memory(run) is None
    assert world.pointers() == []


@pytest.mark.req("RUN-11", "RUN-10")
def test_the_layer_promotes_nothing_and_owes_no_capture(world: World) -> None:
    memory = world.memory(world.finished("Fact: the codename is Atlas"))

    assert memory is not None
    assert memory.capture == "skipped"
    assert world.operator.review_list(ops.ReviewRequest()).items == ()


def finished_runs(world: World, number: int) -> list[Run]:
    """Runs that ended one after the other."""
    runs = []
    for each in range(number):
        runs.append(world.finished(f"Task {each}"))
        world.clock.advance(milliseconds=1)
    return runs


def prune_by(world: World, by: str) -> None:
    """One of the ways in which what is too old goes."""
    if by == "input":
        world.run("Another input", session_id=TALK)
    elif by == "policy":
        enforce_policies(world.parts, source="policy")
    else:
        maintain(world.parts, source="test")


def state_of(world: World, run: Run) -> MemoryState:
    """What has become of a run's memory."""
    return world.operator.get_run(run.run_id).run.memory


def put_policy(world: World, policy: JsonObject) -> None:
    """Put a run-memory policy."""
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy=policy))
