"""What runs used is counted per skill (SKL-11): from their own calls, as they are reported or imported, once
for each run, with how the run ended; and it is taken back when the run is forgotten."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import do_due_jobs
from runlore.daemon.boot import boot, boot_daemon
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, RecordId
from runlore.domain.run import Run, RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.runs.journal import EventType
from runlore.domain.session import SessionId
from runlore.domain.skill import Skill, SkillState, Usage
from runlore.flow.queueing import queue
from runlore.flow.skills.skill_usage import use
from runlore.flow.skills.suggestion_lock import suggestions_turn
from runlore.ports import operations as ops
from tests.examples import scaled
from tests.fakes import START, ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.flow.telling import MINUTE, THEN, bring, call, in_session, told
from tests.storage.kept_skills import documented, kept
from tests.waiting import PATIENCE_S
from tests.world import OPERATOR, World

pytestmark = pytest.mark.req("SKL-11")

DETECT = frozenset({JobKind.DETECT})
TALK = SessionId("talk")
EVER = START - timedelta(days=400)


def put_skill(world: World, name: str, created_at: datetime = EVER, number: int = 1) -> Skill:
    """A skill that was there from some moment on."""
    skill = kept(number, documented(name), created_at=created_at, updated_at=created_at)
    with world.parts.store.transaction() as tx:
        tx.skills.insert(skill)
    return skill


def usage(world: World, skill: Skill) -> Usage:
    """How a skill was used; what is counted is what the uses say."""
    with world.parts.store.snapshot() as snapshot:
        return snapshot.skills.get(skill.skill_id).usage


def is_sound(world: World) -> bool:
    """Whether everything fits together: what is counted is what the uses say."""
    world.parts.library.refresh()
    return world.operator.doctor().healthy


def skill_call(name: str, call_id: str = "c1", *, is_error: bool = False) -> tuple[JsonObject, JsonObject]:
    """A call of the tool that opens skills, and its answer."""
    return (
        {"type": "tool_call", "call_id": call_id, "name": "Skill", "arguments": {"skill": name}},
        {"type": "tool_result", "call_id": call_id, "output": "Launching skill", "is_error": is_error},
    )


def begun(world: World, *names: str, request: str = "Ship it", session_id: str = "talk") -> Run:
    """A run that is reported as it happens, and opens skills."""
    world.session(session_id)
    run = world.run(request, session_id=SessionId(session_id))
    for number, name in enumerate(names):
        world.append(run, *skill_call(name, f"c{number}"))
    return run


def used(world: World, *names: str, status: RunStatus = RunStatus.COMPLETED, session_id: str = "talk") -> Run:
    """The same up to its end, and what follows from that."""
    run = world.finish(begun(world, *names, session_id=session_id), status)
    do_due_jobs(world.parts, kinds=DETECT)
    return run


def put_policy(world: World, name: PolicyName, **fields: bool) -> None:
    """Change a policy."""
    policy: JsonObject = dict(fields)
    world.operator.put_policy(ops.PolicyChange(name=name, policy=policy))


def forget(world: World, name: str) -> None:
    """Forget a run or a session."""
    world.operator.forget(ops.Decision(record_id=RecordId(name)))


def test_a_run_that_opened_a_skill_is_counted_with_its_end(world: World) -> None:
    skill, other = put_skill(world, "ship-it"), put_skill(world, "other", number=2)
    run = used(world, "ship-it", "ship-it", "unheard-of")
    opened_at = next(event.at for event in world.journal() if event.type is EventType.TOOL_CALL)
    assert usage(world, skill) == Usage(times=1, last_used_at=opened_at, succeeded=1)
    assert usage(world, other) == Usage()
    with world.parts.store.transaction() as tx:
        queue(tx, world.parts.ids, JobKind.DETECT, [run.run_id], at=world.clock.now())
    do_due_jobs(world.parts, kinds=DETECT)
    assert usage(world, skill).times == 1
    world.clock.advance(seconds=60)
    used(world, "other", "ship-it")
    assert (usage(world, skill).times, usage(world, skill).succeeded, usage(world, other).times) == (2, 2, 1)
    assert is_sound(world)


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (RunStatus.COMPLETED, (1, 0)),
        (RunStatus.FAILED, (0, 1)),
        (RunStatus.INTERRUPTED, (0, 0)),
        (RunStatus.CANCELLED, (0, 0)),
    ],
)
def test_a_run_that_was_stopped_says_nothing_about_its_skills(
    sqlite_world: World, status: RunStatus, ends: tuple[int, int]
) -> None:
    skill, said = put_skill(sqlite_world, "ship-it"), put_skill(sqlite_world, "said", number=2)
    run = begun(sqlite_world, "ship-it")
    with sqlite_world.parts.store.transaction() as tx:
        suggestions_turn(tx)
        use(tx, said, run, sqlite_world.clock.now())
    assert usage(sqlite_world, said).times == 1
    sqlite_world.finish(run, status)
    settled = usage(sqlite_world, said)
    assert (settled.times, settled.succeeded, settled.failed) == (1, *ends)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    counted = usage(sqlite_world, skill)
    assert (counted.times, counted.succeeded, counted.failed) == (1, *ends)
    assert usage(sqlite_world, said) == settled


def test_ending_a_session_settles_what_its_runs_had_said_they_use(sqlite_world: World) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    run = begun(sqlite_world)
    with sqlite_world.parts.store.transaction() as tx:
        use(tx, skill, run, sqlite_world.clock.now())
    sqlite_world.operator.change_session(ops.SessionChange(session_id=TALK, ended=True))
    assert usage(sqlite_world, skill) == Usage(times=1, last_used_at=sqlite_world.clock.now())


def test_only_a_skill_that_is_there_and_was_by_then_is_counted(sqlite_world: World) -> None:
    later = put_skill(sqlite_world, "later", sqlite_world.clock.now() + timedelta(hours=1))
    gone = put_skill(sqlite_world, "gone", number=2)
    with sqlite_world.parts.store.transaction() as tx:
        deleted = replace(gone, state=SkillState.DELETED, revision=2)
        tx.skills.update(deleted, expected_revision=1)
    put_skill(sqlite_world, "there", number=3)
    used(sqlite_world, "later", "gone")
    assert usage(sqlite_world, later) == usage(sqlite_world, gone) == Usage()


def test_an_old_copy_of_what_was_merged_counts_for_what_it_is_merged_into(world: World) -> None:
    names = ("oldest", "middle", "newest")
    oldest, middle, newest = (put_skill(world, name, number=number) for number, name in enumerate(names))
    with world.parts.store.transaction() as tx:
        for skill, into in ((middle, oldest), (newest, middle)):
            merged = replace(skill, state=SkillState.MERGED, merged_into=into.skill_id, revision=2)
            tx.skills.update(merged, expected_revision=1)
    used(world, "newest", "middle")
    assert [usage(world, skill).times for skill in (oldest, middle, newest)] == [1, 0, 0]
    # A skill that is called so by now is meant itself.
    again = put_skill(world, "newest", number=9)
    world.clock.advance(seconds=60)
    used(world, "newest")
    assert (usage(world, again).times, usage(world, oldest).times) == (1, 1)
    with world.parts.store.transaction() as tx:
        kept = tx.skills.get(oldest.skill_id)
        tx.skills.update(replace(kept, state=SkillState.DELETED, revision=2), expected_revision=1)
    world.clock.advance(seconds=60)
    used(world, "middle")
    assert usage(world, oldest).times == 1
    assert is_sound(world)


def test_what_failed_or_was_never_answered_is_not_counted(sqlite_world: World) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    run = begun(sqlite_world)
    sqlite_world.append(run, *skill_call("ship-it", "a", is_error=True))
    sqlite_world.append(run, skill_call("ship-it", "b")[0])
    sqlite_world.finish(run)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert usage(sqlite_world, skill) == Usage()


@pytest.mark.parametrize("request_text", ["/ship-it", "$ship-it to staging"])
@pytest.mark.parametrize("learn", [True, False])
def test_a_command_alone_is_a_use(sqlite_world: World, request_text: str, learn: bool) -> None:
    put_policy(sqlite_world, PolicyName.SKILLS, learn=learn)
    skill = put_skill(sqlite_world, "ship-it")
    sqlite_world.finish(begun(sqlite_world, request=request_text))
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert usage(sqlite_world, skill).times == 1


def test_uses_are_counted_where_nothing_is_learned(sqlite_world: World) -> None:
    put_policy(sqlite_world, PolicyName.SKILLS, learn=False)
    first = used(sqlite_world, "ship-it")
    skill = put_skill(sqlite_world, "ship-it")
    run = used(sqlite_world, "ship-it")
    assert usage(sqlite_world, skill).times == 1
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert snapshot.mined_runs.find(run.run_id) is None
        assert snapshot.skills.uses_of([first.run_id]) == ()


def test_uses_are_counted_where_nothing_is_remembered_and_nothing_else_is_made_of_it(
    sqlite_world: World,
) -> None:
    put_policy(sqlite_world, PolicyName.RUN_MEMORY, enabled=False)
    skill = put_skill(sqlite_world, "ship-it")
    run = used(sqlite_world, "ship-it")
    assert (usage(sqlite_world, skill).times, usage(sqlite_world, skill).succeeded) == (1, 1)
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert snapshot.mined_runs.find(run.run_id) is None
    assert {job.kind for job in sqlite_world.operator.list_jobs()} == {JobKind.MAINTAIN}


def test_nothing_is_counted_where_people_said_no(sqlite_world: World) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    sqlite_world.session("hidden", private=True)
    hidden = sqlite_world.run("Ship it", session_id=SessionId("hidden"))
    sqlite_world.append(hidden, *skill_call("ship-it"))
    sqlite_world.finish(hidden)
    run = sqlite_world.finish(begun(sqlite_world, "ship-it"))
    sqlite_world.operator.pause_capture()
    with sqlite_world.parts.store.transaction() as tx:
        queue(tx, sqlite_world.parts.ids, JobKind.DETECT, [run.run_id], at=sqlite_world.clock.now())
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert usage(sqlite_world, skill) == Usage()


def test_a_transcript_counts_at_its_own_time_and_once(world: World) -> None:
    skill = put_skill(world, "ship-it")
    newer = put_skill(world, "newer", THEN + timedelta(hours=1), number=2)
    run = told(
        "Ship it",
        call("cat ~/.codex/skills/ship-it/SKILL.md"),
        call("cat ~/.codex/skills/newer/SKILL.md"),
        call("cat ~/.codex/skills/ship-it/SKILL.md"),
    )
    bring(world, run)
    wanted = Usage(times=1, last_used_at=THEN + MINUTE, succeeded=1)
    assert (usage(world, skill), usage(world, newer)) == (wanted, Usage())
    bring(world, run)
    bring(world, run, source="another")
    assert (usage(world, skill), usage(world, newer)) == (wanted, Usage())
    later = told(
        "/ship-it",
        call("cat .claude/skills/newer/SKILL.md"),
        at=THEN + 5 * timedelta(hours=1),
        source_session="s2",
    )
    bring(world, replace(later, status=RunStatus.FAILED))
    assert usage(world, skill) == Usage(
        times=2, last_used_at=THEN + 5 * timedelta(hours=1), succeeded=1, failed=1
    )
    assert usage(world, newer).failed == 1
    assert is_sound(world)


def test_a_transcript_cannot_use_a_skill_in_the_future_or_before_its_run(sqlite_world: World) -> None:
    now = sqlite_world.clock.now()
    skill = put_skill(sqlite_world, "ship-it", now - timedelta(hours=1))
    read = call("cat ~/.codex/skills/ship-it/SKILL.md")
    bring(sqlite_world, told("Ship it", read, at=now + timedelta(days=900)))
    assert usage(sqlite_world, skill) == Usage(times=1, last_used_at=now, succeeded=1)
    bring(sqlite_world, told("Ship it", read, at=now - timedelta(days=2), source_session="s2"))
    assert usage(sqlite_world, skill).times == 1


def test_forgetting_a_run_takes_its_uses_away(world: World) -> None:
    skill = put_skill(world, "ship-it")
    first = used(world, "ship-it")
    before = usage(world, skill)
    world.clock.advance(seconds=60)
    second = used(world, "ship-it", status=RunStatus.FAILED)
    world.clock.advance(seconds=60)
    elsewhere = used(world, "ship-it", session_id="elsewhere")
    assert usage(world, skill).times == 3
    forget(world, elsewhere.session_id)
    forget(world, second.run_id)
    assert usage(world, skill) == before
    forget(world, second.run_id)
    forget(world, first.run_id)
    assert usage(world, skill) == Usage()
    assert is_sound(world)


def test_a_transcript_that_was_forgotten_is_not_counted_again(sqlite_world: World) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    runs = in_session(
        told("Ship it", call("cat ~/.agents/skills/ship-it/SKILL.md")),
        told("Again", call("cat ~/.agents/skills/ship-it/SKILL.md")),
        at=THEN,
    )
    bring(sqlite_world, *runs)
    assert usage(sqlite_world, skill).times == 2
    forget(sqlite_world, runs[1].run_id)
    bring(sqlite_world, *runs)
    assert usage(sqlite_world, skill).times == 1


def test_a_run_that_is_forgotten_before_it_was_looked_at_counts_nothing(sqlite_world: World) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    run = sqlite_world.finish(begun(sqlite_world, "ship-it"))
    forget(sqlite_world, run.run_id)
    with sqlite_world.parts.store.transaction() as tx:
        queue(tx, sqlite_world.parts.ids, JobKind.DETECT, [run.run_id], at=sqlite_world.clock.now())
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert usage(sqlite_world, skill) == Usage()


def test_a_skill_that_cannot_be_read_keeps_nobody_waiting(sqlite_world: World) -> None:
    skill, damaged = put_skill(sqlite_world, "ship-it"), put_skill(sqlite_world, "broken", number=2)
    run = begun(sqlite_world, "broken", "ship-it")
    sqlite_world.damage(f"UPDATE skills SET origin = 'nobody' WHERE skill_id = '{damaged.skill_id}'")
    sqlite_world.finish(run)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert usage(sqlite_world, skill).times == 1
    bring(sqlite_world, told("Ship it", call("cat .claude/skills/broken/SKILL.md")))
    sqlite_world.damage("UPDATE skill_uses SET outcome = 'nobody'")
    last = sqlite_world.finish(begun(sqlite_world, "ship-it"))
    assert last.is_terminal
    sqlite_world.damage(f"UPDATE skills SET origin = 'learned' WHERE skill_id = '{damaged.skill_id}'")
    forget(sqlite_world, run.run_id)
    with sqlite_world.parts.store.snapshot() as snapshot:
        assert snapshot.skills.uses_of([run.run_id]) == ()


def test_any_order_of_runs_imports_and_forgetting_counts_what_is_left(sqlite_world: World) -> None:
    skills = [put_skill(sqlite_world, f"s{number}", number=number) for number in range(3)]
    left: dict[str, tuple[set[int], RunStatus]] = {}
    known: list[str] = []
    acts = st.lists(
        st.tuples(
            st.sampled_from(["live", "import", "forget"]),
            st.sets(st.integers(0, 3), max_size=3),
            st.sampled_from([RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.INTERRUPTED]),
            st.integers(0, 99),
        ),
        max_size=4,
    )

    @settings(
        max_examples=scaled(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(acts)
    def holds(todo: Sequence[tuple[str, set[int], RunStatus, int]]) -> None:
        for act, numbers, status, which in todo:
            names = [f"s{number}" for number in sorted(numbers)]
            if act == "live":
                run_id: str = used(sqlite_world, *names, status=status).run_id
            elif act == "import":
                reads = [call(f"cat .claude/skills/{name}/SKILL.md") for name in names]
                run = told("Ship it", *reads, source_session=f"x{which}", status=status)
                bring(sqlite_world, run, source=f"x{which}")
                run_id = run.run_id
                if run_id in known:
                    continue
            elif known:
                gone = known[which % len(known)]
                forget(sqlite_world, gone)
                left.pop(gone, None)
                continue
            else:
                continue
            known.append(run_id)
            left[run_id] = (numbers, status)
        for number, skill in enumerate(skills):
            ends = [status for numbers, status in left.values() if number in numbers]
            counted = usage(sqlite_world, skill)
            assert (counted.times, counted.succeeded, counted.failed) == (
                len(ends),
                ends.count(RunStatus.COMPLETED),
                ends.count(RunStatus.FAILED),
            )

    holds()
    assert is_sound(sqlite_world)


def lived(world: World, fuse: Fuse, session_id: str) -> None:
    """A run, its end and the job behind it, by a process that may die at one point."""
    mortal = Application(capturing(world.parts, ScriptedModels(), fuse), OPERATOR)
    run = begun(world, "ship-it", session_id=session_id)
    mortal.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    do_due_jobs(mortal.parts, kinds=DETECT)


@WALKED
def test_a_death_at_any_point_leaves_one_use(sqlite_world: World, step: int) -> None:
    skill = put_skill(sqlite_world, "ship-it")
    fuse = Fuse()
    lived(sqlite_world, fuse, "calm")
    assert usage(sqlite_world, skill).times == 1
    for number, point in enumerate(fuse.points(step)):
        with pytest.raises(Died):
            lived(sqlite_world, Fuse(point), f"dies-{point}")
        sqlite_world.clock.advance(seconds=40)
        boot(sqlite_world.parts)
        boot_daemon(sqlite_world.parts)
        with sqlite_world.parts.store.snapshot() as snapshot:
            run = snapshot.runs.of_session(SessionId(f"dies-{point}"))[0]
        sqlite_world.finish(run)
        sqlite_world.clock.advance(seconds=40)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
        counted = usage(sqlite_world, skill)
        assert (counted.times, counted.succeeded) == (number + 2, number + 2), fuse.passed[point]


def test_many_at_once_count_each_run_once(postgres_world: World) -> None:
    skills = [put_skill(postgres_world, f"s{number}", number=number) for number in range(4)]
    names = [skill.name for skill in skills]
    runs = [
        postgres_world.finish(
            begun(postgres_world, *(names if number % 2 else names[::-1]), session_id=f"t{number}")
        )
        for number in range(4)
    ]
    transcripts = [
        told(
            "Ship it",
            *(call(f"cat .claude/skills/{name}/SKILL.md") for name in (names[::-1] if number % 2 else names)),
            source_session=f"x{number}",
        )
        for number in range(4)
    ]
    failures: list[Exception] = []

    def attempt(number: int) -> None:
        try:
            do_due_jobs(postgres_world.parts, kinds=DETECT)
            bring(postgres_world, transcripts[number], source=f"x{number}")
            forget(postgres_world, runs[number].run_id)
        except Exception as error:
            # A thread tells nobody else what went wrong in it.
            failures.append(error)

    threads = [Thread(target=attempt, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failures == []
    assert [usage(postgres_world, skill).times for skill in skills] == [4] * 4
    assert is_sound(postgres_world)
