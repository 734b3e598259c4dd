"""What subagents did is forgotten with the session that began them, in whichever order it came."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations

import pytest

from runlore.domain import limits
from runlore.domain.errors import Refused
from runlore.domain.record import RecordId
from runlore.domain.records.audit import Act
from runlore.domain.run import MemoryState
from runlore.domain.runs.transcript import ToldRun
from runlore.domain.scope import Scope, ScopeKind
from runlore.flow.families import descendants, family
from runlore.flow.reactions import forget_whole_session
from runlore.ports import operations as ops
from tests.flow.telling import THEN, bring, call, in_session, is_stored, position_of, run_of, told
from tests.flow.waiting import until_somebody_waits_for_a_lock
from tests.waiting import PATIENCE_S
from tests.world import World, decision

pytestmark = [pytest.mark.req("LRN-12"), pytest.mark.req("CAP-7"), pytest.mark.req("INT-1")]

ORDERS = tuple(permutations(range(3)))
NAMES = ["".join(map(str, order)) for order in ORDERS]


def session(name: str, parent: str = "", word: str = "zebra") -> ToldRun:
    [run] = in_session(told(f"Do {name} {word}", call(f"make {word}"), "Yes"), source_session=name, at=THEN)
    return replace(run, parent_session=parent)


PARENT, CHILD, GRANDCHILD = session("p"), session("c", "p"), session("g", "c")
FAMILY = (PARENT, CHILD, GRANDCHILD)
OTHER = session("o", word="giraffe")
NIECE = session("n", "o", word="giraffe")


def each_by_itself(world: World, *runs: ToldRun) -> list[ops.ImportedRuns]:
    return [bring(world, run, source=f"source of {run.source_session}") for run in runs]


def forget(world: World, run: ToldRun, *, dry_run: bool = False) -> ops.ForgetAnswer:
    return world.operator.forget(decision(RecordId(run.session_id)), dry_run=dry_run)


def is_gone(world: World, run: ToldRun) -> bool:
    with world.parts.store.snapshot() as snapshot:
        kept = snapshot.sessions.find(run.session_id)
        if kept is None:
            return not snapshot.runs.find(run.run_id)
        is_empty = all(not event.body for event in world.journal(run.session_id))
        return kept.forgotten_at is not None and is_empty


def test_a_session_takes_its_subagents_and_theirs_along_and_nobody_else(world: World) -> None:
    each_by_itself(world, *FAMILY, OTHER, NIECE)
    shown = forget(world, PARENT, dry_run=True)
    assert shown.sessions[0] == PARENT.session_id
    assert set(shown.sessions) == {run.session_id for run in FAMILY}
    assert set(shown.runs) == {run.run_id for run in FAMILY}
    assert not any(is_gone(world, run) for run in FAMILY)
    answer = forget(world, PARENT)
    assert replace(answer, dry_run=True, forgotten_at=None, records=()) == replace(shown, records=())
    assert {record.record_id for record in answer.records} == {record.record_id for record in shown.records}
    assert all(is_gone(world, run) for run in FAMILY)
    assert all(run_of(world, run).memory is MemoryState.FORGOTTEN for run in FAMILY)
    assert all(position_of(world, f"source of {run.source_session}") is None for run in FAMILY)
    with world.parts.store.snapshot() as snapshot:
        assert all(snapshot.mined_runs.find(run.run_id) is None for run in FAMILY)
    assert "zebra" not in str(world.tables())
    for run in (OTHER, NIECE):
        assert not is_gone(world, run)
        assert position_of(world, f"source of {run.source_session}") is not None
    assert str(world.tables()).count("giraffe") > 2
    assert world.parts.store.problems() == ()


@pytest.mark.parametrize("order", ORDERS, ids=NAMES)
def test_it_does_not_matter_who_came_in_first(sqlite_world: World, order: tuple[int, ...]) -> None:
    each_by_itself(sqlite_world, *(FAMILY[place] for place in order))
    assert len(forget(sqlite_world, PARENT).sessions) == 3
    assert all(is_gone(sqlite_world, run) for run in FAMILY)


@pytest.mark.parametrize("order", ORDERS, ids=NAMES)
@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.sampled(every=2)
def test_what_was_begun_by_a_forgotten_session_does_not_come_in_later(
    sqlite_world: World, order: tuple[int, ...], before: int
) -> None:
    runs = [FAMILY[place] for place in order]
    first = [run for run in runs[:before] if run is not PARENT]
    each_by_itself(sqlite_world, PARENT, *first)
    forget(sqlite_world, PARENT)
    later = [run for run in runs if run is not PARENT]
    each_by_itself(sqlite_world, *later)
    assert all(is_gone(sqlite_world, run) for run in FAMILY)
    assert "zebra" not in str(sqlite_world.tables())
    before_again = sqlite_world.tables()
    assert all(dict(answer.reasons) == {"forgotten": 1} for answer in each_by_itself(sqlite_world, *later))
    assert sqlite_world.tables() == before_again
    assert bring(sqlite_world, NIECE, source="another").stored == 1


def test_what_a_subagent_of_a_forgotten_session_tells_is_counted_as_forgotten(world: World) -> None:
    bring(world, PARENT)
    forget(world, PARENT)
    answer = bring(world, CHILD, source="side")
    assert (answer.stored, answer.sessions, dict(answer.reasons)) == (0, 0, {"forgotten": 1})
    assert not is_stored(world, CHILD)
    assert position_of(world, "side") is None


def test_a_subagents_session_is_forgotten_alone_by_its_own_id(sqlite_world: World) -> None:
    each_by_itself(sqlite_world, *FAMILY)
    assert forget(sqlite_world, CHILD).sessions == (CHILD.session_id, GRANDCHILD.session_id)
    assert not is_gone(sqlite_world, PARENT)
    # What went before is not told again, and keeps nobody.
    assert forget(sqlite_world, PARENT).sessions == (PARENT.session_id,)


def test_forgetting_a_run_leaves_the_subagents_sessions(sqlite_world: World) -> None:
    each_by_itself(sqlite_world, *FAMILY)
    sqlite_world.operator.forget(decision(RecordId(PARENT.run_id)))
    sqlite_world.operator.forget(decision(RecordId(CHILD.run_id)))
    # That they were forgotten is told again with every reading.
    each_by_itself(sqlite_world, *FAMILY)
    assert not is_gone(sqlite_world, GRANDCHILD)
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert snapshot.sessions.get(CHILD.session_id).forgotten_at is None


def test_sessions_that_began_each_other_are_forgotten_once(sqlite_world: World) -> None:
    circle = (session("p", "g"), *FAMILY[1:])
    each_by_itself(sqlite_world, *circle)
    answer = forget(sqlite_world, CHILD)
    assert len(answer.sessions) == len(set(answer.sessions)) == 3
    assert all(is_gone(sqlite_world, run) for run in circle)
    assert dict(bring(sqlite_world, session("x", "p")).reasons) == {"forgotten": 1}


def test_a_circle_that_nobody_forgot_keeps_nothing_out(sqlite_world: World) -> None:
    circle = (session("p", "g"), *FAMILY[1:])
    assert [answer.stored for answer in each_by_itself(sqlite_world, *circle)] == [1, 1, 1]


def test_the_same_forgetting_twice_answers_the_same(sqlite_world: World) -> None:
    each_by_itself(sqlite_world, *FAMILY)
    once = replace(decision(RecordId(PARENT.session_id)), idempotency_key="k1")
    first, second = sqlite_world.operator.forget(once), sqlite_world.operator.forget(once)
    assert (first.sessions, set(first.runs)) == (second.sessions, set(second.runs))


def test_a_session_of_somebody_else_is_not_taken_along_by_a_word(sqlite_world: World) -> None:
    bring(sqlite_world, OTHER)
    [_, second] = in_session(told("One"), told("Two"), source_session="o", at=THEN)
    another = sqlite_world.caller(ops.Role.OPERATOR)
    claimed = replace(second, parent_session="p")
    assert another.import_runs(ops.RunsToImport(source="x", runs=(PARENT, claimed))).stored == 2
    assert forget(sqlite_world, PARENT).sessions == (PARENT.session_id,)
    assert not is_gone(sqlite_world, OTHER)


def test_more_than_go_at_once_are_refused_and_forgotten_bit_by_bit(sqlite_world: World) -> None:
    children = [session(f"c{number}", "p") for number in range(3)]
    each_by_itself(sqlite_world, PARENT, *children)
    with sqlite_world.parts.store.snapshot() as snapshot:
        parent = snapshot.sessions.get(PARENT.session_id)
        assert len(family(snapshot, parent, members_max=4)) == 4
        with pytest.raises(Refused, match="3 sessions"):
            family(snapshot, parent, members_max=3)
    forget(sqlite_world, children[0])
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert len(family(snapshot, parent, members_max=3)) == 3


def test_a_line_of_any_length_is_walked_so_far_and_no_further(sqlite_world: World) -> None:
    deep = [session(f"d{number}", f"d{number - 1}") for number in range(limits.SESSION_GENERATIONS_MAX + 3)]
    with sqlite_world.parts.store.transaction() as tx:
        for run in deep:
            assert run.parent_id is not None
            tx.sessions.put_parent(run.session_id, run.parent_id)
        assert len(descendants(tx, deep[0].session_id)) == limits.SESSION_GENERATIONS_MAX


def test_nobody_waits_in_a_circle_and_no_subagent_is_left_when_all_happens_at_once(
    postgres_world: World,
) -> None:
    children = [session(f"c{number}", "p") for number in range(6)]
    grandchildren = [session(f"g{number}", f"c{number}") for number in range(6)]
    each_by_itself(postgres_world, PARENT, *children[:3])
    together = threading.Barrier(3)

    def import_all(runs: list[ToldRun]) -> None:
        together.wait(PATIENCE_S)
        each_by_itself(postgres_world, *runs)

    def forget_all() -> None:
        together.wait(PATIENCE_S)
        forget(postgres_world, PARENT)

    with ThreadPoolExecutor(3) as pool:
        done = [
            pool.submit(import_all, [*children, *grandchildren]),
            pool.submit(import_all, [*reversed(children), *grandchildren]),
            pool.submit(forget_all),
        ]
        for each in done:
            each.result(PATIENCE_S)
    assert all(is_gone(postgres_world, run) for run in (PARENT, *children, *grandchildren))
    assert "zebra" not in str(postgres_world.tables())
    assert postgres_world.parts.store.problems() == ()


def test_whoever_works_in_a_subagents_session_that_has_just_come_in_is_waited_for(
    postgres_world: World,
) -> None:
    each_by_itself(postgres_world, PARENT, session("c"))
    store = postgres_world.parts.store
    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as works:
            works.lock({Scope(ScopeKind.SESSION, CHILD.session_id)})
            with store.transaction() as comes:
                comes.lock({Scope(ScopeKind.SESSION, PARENT.session_id)})
                forgetting = pool.submit(forget, postgres_world, PARENT)
                until_somebody_waits_for_a_lock(postgres_world)
                comes.sessions.put_parent(CHILD.session_id, PARENT.session_id)
            until_somebody_waits_for_a_lock(postgres_world)
            assert not forgetting.done(), "the child's turn is somebody else's"
        answer = forgetting.result(PATIENCE_S)
    assert answer.sessions == (PARENT.session_id, CHILD.session_id)
    assert is_gone(postgres_world, CHILD)


def test_a_subagents_session_waits_for_what_is_done_to_the_one_that_began_it(postgres_world: World) -> None:
    bring(postgres_world, PARENT)
    with ThreadPoolExecutor(1) as pool:
        with postgres_world.parts.store.transaction() as works:
            works.lock({Scope(ScopeKind.SESSION, PARENT.session_id)})
            coming = pool.submit(bring, postgres_world, CHILD, source="side")
            until_somebody_waits_for_a_lock(postgres_world)
            session_now = works.sessions.get(PARENT.session_id)
            forget_whole_session(works, session_now, Act(actor="ada", at=postgres_world.clock.now()))
        assert dict(coming.result(PATIENCE_S).reasons) == {"forgotten": 1}
