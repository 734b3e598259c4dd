"""A run that has just ended is looked at for skills, as a job: once, and with what its session shows."""

from collections.abc import Sequence

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import (
    QUICK_KINDS,
    THINKING_KINDS,
    do_due_jobs,
    do_on_leaving,
    learning_skills,
)
from runlore.daemon.boot import boot, boot_daemon
from runlore.domain.detectors.match import Heuristic
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import PROMPT_KINDS, JsonObject, Kind, State
from runlore.domain.run import Run, RunStatus
from runlore.domain.runs.job import Job, JobKind, JobState
from runlore.domain.session import SessionId
from runlore.domain.suggestion import Suggestion, SuggestionState
from runlore.flow.queueing import queue
from runlore.ports import operations as ops
from tests.fakes import ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.flow.procedures import MENDED, RECOVERY, dry_run, listed, session, stored_suggestions, suggest
from tests.flow.telling import Call, call, suggested, suggestion, told
from tests.world import OPERATOR, World, decision

pytestmark = pytest.mark.req("SKL-1")

DETECT = frozenset({JobKind.DETECT})


def worked(
    world: World, request: str, *calls: Call, session_id: str = "talk", project_ids: tuple[str, ...] = ()
) -> Run:
    """A run that is reported to us as it happens, up to its end."""
    world.session(session_id, project_ids=project_ids)
    run = world.run(request, session_id=SessionId(session_id))
    report(world, run, calls)
    return world.finish(run)


def report(world: World, run: Run, calls: Sequence[Call]) -> None:
    """The calls of a run."""
    for number, each in enumerate(calls):
        world.append(
            run,
            {
                "type": "tool_call",
                "call_id": f"c{number}",
                "name": "Bash",
                "arguments": {"command": each.command},
            },
            {
                "type": "tool_result",
                "call_id": f"c{number}",
                "output": each.output,
                "exit_code": each.exit_code,
                "is_error": each.exit_code != 0,
            },
        )


def waiting(world: World, kind: JobKind = JobKind.DETECT) -> list[Job]:
    """The jobs of a kind."""
    return [job for job in world.operator.list_jobs() if job.kind is kind]


def put_skills(world: World, **fields: bool) -> None:
    """Put a skills policy."""
    policy: JsonObject = dict(fields)
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))


def test_it_is_on_by_default_and_both_can_be_turned_off(sqlite_world: World) -> None:
    policy = sqlite_world.operator.get_policy(PolicyName.SKILLS)
    assert (policy.revision, policy.policy["learn"], policy.policy["llm_learn"]) == (0, True, True)
    put_skills(sqlite_world, learn=False)
    assert sqlite_world.operator.get_policy(PolicyName.SKILLS).policy["learn"] is False
    worked(sqlite_world, "Release it", *MENDED)
    assert waiting(sqlite_world) == []


@pytest.mark.parametrize("policy", [{"learn": 1}, {"learn": None}, {"unknown": True}])
def test_a_policy_that_is_none_is_refused(sqlite_world: World, policy: JsonObject) -> None:
    with pytest.raises(Invalid, match=r"neither true nor false|is not a field"):
        sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))


def test_it_is_quick_work_and_asks_no_model() -> None:
    assert JobKind.DETECT in QUICK_KINDS
    assert JobKind.ENHANCE in THINKING_KINDS
    assert frozenset(JobKind) == QUICK_KINDS | THINKING_KINDS


@pytest.mark.req("SKL-2")
def test_the_end_of_a_run_queues_one_look_which_finds_what_the_session_shows(world: World) -> None:
    run = worked(world, "Release the service", *MENDED)
    assert [(job.subject, job.state) for job in waiting(world)] == [(run.run_id, JobState.WAITING)]
    do_due_jobs(world.parts, kinds=DETECT)
    assert waiting(world) == []
    (stored,) = listed(world)
    assert stored.suggestion.heuristic is Heuristic.ERROR_RECOVERY
    assert [evidence.run_id for evidence in stored.suggestion.evidence] == [run.run_id]
    assert stored.suggestion.evidence[0].event_numbers == tuple(range(3, 7))


def test_the_command_without_a_daemon_does_it_on_its_way_out(sqlite_world: World) -> None:
    worked(sqlite_world, "Release the service", *MENDED)
    do_on_leaving(sqlite_world.parts)
    assert len(listed(sqlite_world)) == 1


def test_one_run_after_the_other_finds_what_a_dry_run_over_the_session_finds(sqlite_world: World) -> None:
    said = [
        ("Release the service", MENDED),
        ("no, use pnpm instead", (call("pnpm test"),)),
        ("Test", RECOVERY),
    ]
    for request, calls in said:
        sqlite_world.clock.advance(seconds=60)
        worked(sqlite_world, request, *calls)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
    expected = dry_run([session("talk", *(told(request, *calls) for request, calls in said))])
    found = stored_suggestions(sqlite_world)
    assert len(expected) >= 2
    for each in expected:
        assert numbers(found[each.pattern]) == numbers(each)


def numbers(each: Suggestion) -> tuple[tuple[int, ...], ...]:
    """Which events show a suggestion."""
    return tuple(evidence.event_numbers for evidence in each.evidence)


def test_the_same_in_another_session_is_the_same_suggestion_seen_again(sqlite_world: World) -> None:
    for number in range(3):
        sqlite_world.clock.advance(seconds=60)
        worked(sqlite_world, "Release the service", *MENDED, session_id=f"talk-{number}")
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
    (stored,) = listed(sqlite_world)
    assert (stored.suggestion.times, stored.suggestion.sessions) == (3, 3)
    assert [evidence.session_id for evidence in stored.suggestion.evidence] == ["talk-0", "talk-1", "talk-2"]


def test_each_time_is_counted_once_however_often_the_session_is_looked_at(sqlite_world: World) -> None:
    counted: list[Suggestion] = []
    for times in range(1, 9):
        sqlite_world.clock.advance(seconds=60)
        worked(sqlite_world, "Migrate it", *MENDED)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
        found = stored_suggestions(sqlite_world).values()
        assert all((each.times, len(each.evidence)) == (times, times) for each in found)
        counted.extend(found)
    assert len(counted) == 8


def test_a_look_that_comes_late_sees_what_there_was_before_its_run(sqlite_world: World) -> None:
    fails, *works = RECOVERY
    worked(sqlite_world, "Test it", *works)
    (late,) = waiting(sqlite_world)
    with sqlite_world.parts.store.transaction() as tx:
        tx.jobs.cancel(JobKind.DETECT, late.subject)
    worked(sqlite_world, "Test it again", fails)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    with sqlite_world.parts.store.transaction() as tx:
        queue(tx, sqlite_world.ids, JobKind.DETECT, [late.subject], at=sqlite_world.clock.now())
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    # What failed later was not put right by what had worked before.
    assert listed(sqlite_world) == ()
    worked(sqlite_world, "And again", *works)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert Heuristic.ERROR_RECOVERY in {stored.suggestion.heuristic for stored in listed(sqlite_world)}


@pytest.mark.parametrize("state", [SuggestionState.SKIPPED, SuggestionState.SAVED])
def test_what_was_decided_is_not_suggested_again(sqlite_world: World, state: SuggestionState) -> None:
    pattern = dry_run([session("talk", told("Release the service", *MENDED))])[0].pattern
    known = suggestion("mine", pattern=pattern)
    suggested(sqlite_world, "mine", suggestion=known, state=state)
    worked(sqlite_world, "Release the service", *MENDED, session_id="another")
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    (stored,) = listed(sqlite_world)
    assert (stored.state, stored.suggestion.body, stored.suggestion.times) == (state, known.body, 2)


def test_a_run_that_only_talks_costs_no_job(sqlite_world: World) -> None:
    sqlite_world.finished("What is a skill-less question?", "Nothing to do")
    assert [job.subject for job in waiting(sqlite_world)] != []
    sqlite_world.finished("How are you?", "Fine")
    assert len(waiting(sqlite_world)) == 1
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert listed(sqlite_world) == ()


@pytest.mark.req("SKL-2")
def test_what_the_user_told_to_keep_without_a_command_becomes_a_candidate(sqlite_world: World) -> None:
    run = sqlite_world.finished("Remember this: the staging port is always 8080", "Noted")
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    (candidate,) = [r for r in sqlite_world.stored().values() if r.state is State.CONSTRAINED]
    assert (candidate.source.run_id, "8080" in candidate.summary) == (run.run_id, True)
    assert suggest(sqlite_world).candidates == 0


@pytest.mark.req("CAP-3", "CAP-4")
@pytest.mark.parametrize("is_semantic", [True, False])
def test_each_sentence_that_is_to_be_remembered_is_a_candidate_once_and_a_secret_is_none(
    sqlite_world: World, is_semantic: bool
) -> None:
    policy = {"capture": {"semantic_candidates": {"enabled": is_semantic, "max_candidates_per_run": 8}}}
    sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.LEARNING, policy=policy))
    worked(sqlite_world, "Release it", *MENDED)
    said = "the port is 80. The key is AKIA" + "Q3EGRTZXBB2LMN4P. I deploy on Fridays. Now go on."
    run = sqlite_world.finished(f"Keep in mind: {said}", "Noted")
    for _ in range(2):
        do_due_jobs(sqlite_world.parts)

    found = [record for record in sqlite_world.stored().values() if record.source.run_id == run.run_id]
    told = sorted((record.kind, record.summary) for record in found if record.kind in PROMPT_KINDS)
    assert told == [(Kind.FACT, "the port is 80"), (Kind.PREFERENCE, "I deploy on Fridays")]


@pytest.mark.req("CAP-7")
def test_nothing_is_learned_where_people_said_no(sqlite_world: World) -> None:
    quiet = sqlite_world.session("quiet", private=True)
    run = sqlite_world.run("Release it", session_id=quiet.session_id)
    report(sqlite_world, run, MENDED)
    sqlite_world.finish(run)
    assert waiting(sqlite_world) == []
    worked(sqlite_world, "Release it", *MENDED)
    assert len(waiting(sqlite_world)) == 1
    sqlite_world.operator.pause_capture()
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert (listed(sqlite_world), waiting(sqlite_world)) == ((), [])


def test_a_run_that_is_forgotten_before_its_job_is_not_learned_from(sqlite_world: World) -> None:
    run = worked(sqlite_world, "Release the service", *MENDED)
    sqlite_world.operator.forget(decision(run.run_id))  # type: ignore[arg-type]
    assert waiting(sqlite_world) == []
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert listed(sqlite_world) == ()


def test_long_outputs_are_read_from_both_ends(sqlite_world: World) -> None:
    long = call("npm test", 1, "x" * 100_000 + "\nError: it broke")
    worked(sqlite_world, "Test", long, call("npm ci"), call("npm test"))
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    with sqlite_world.parts.store.snapshot() as snapshot:
        (mined,) = snapshot.mined_runs.of_session(SessionId("talk"), limit=9)
    assert "it broke" in mined.steps[0].error


def state_of(world: World, session_id: str) -> JsonObject:
    """All that learning leaves of a session, but for ids and times."""
    with world.parts.store.snapshot() as snapshot:
        mined = snapshot.mined_runs.of_session(SessionId(session_id), limit=9)
        runs = [run.run_id for run in snapshot.runs.of_session(SessionId(session_id))]
    found = [
        [evidence.event_numbers for evidence in each.evidence if evidence.session_id == session_id]
        for each in stored_suggestions(world).values()
    ]
    records = [record for record in world.stored().values() if record.source.run_id in runs]
    # What several sessions show is proposed once for all of them.
    candidates = [
        record.summary for record in records if record.state is State.CONSTRAINED and record.proposal is None
    ]
    jobs = [job.kind.value for job in world.operator.list_jobs() if job.subject in runs]
    return {
        "mined": [repr([step.number for step in each.steps]) for each in mined],
        "found": repr(sorted(filter(None, found))),
        "candidates": repr(sorted(candidates)),
        "jobs": repr(sorted(jobs)),
    }


def lived(world: World, fuse: Fuse, session_id: str) -> None:
    """Two runs of a session and the jobs behind them, by a process that may die at one point."""
    mortal = Application(capturing(world.parts, ScriptedModels(), fuse), OPERATOR)
    for request, calls in (("Release the service", MENDED), ("Save this as a skill called ship-it", ())):
        run = world.run(request, session_id=SessionId(session_id))
        report(world, run, calls)
        mortal.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
        do_due_jobs(mortal.parts, kinds=DETECT)


@WALKED
def test_a_death_at_any_point_leaves_what_an_undisturbed_look_leaves(sqlite_world: World, step: int) -> None:
    fuse = Fuse()
    sqlite_world.session("calm")
    lived(sqlite_world, fuse, "calm")
    wanted = state_of(sqlite_world, "calm")
    assert "(3, 4, 5, 6)" in str(wanted["found"])
    assert len(fuse.passed) > 20
    for point in fuse.points(step):
        name = f"dies-{point}"
        sqlite_world.session(name)
        with pytest.raises(Died):
            lived(sqlite_world, Fuse(point), name)
        sqlite_world.clock.advance(seconds=40)
        boot(sqlite_world.parts)
        boot_daemon(sqlite_world.parts)
        finish_what_was_begun(sqlite_world, name)
        sqlite_world.clock.advance(seconds=40)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
        assert state_of(sqlite_world, name) == wanted, (point, fuse.passed[point])


def finish_what_was_begun(world: World, session_id: str) -> None:
    """What whoever reported the runs does after a death: ends what is open, and goes on."""
    with world.parts.store.snapshot() as snapshot:
        runs = snapshot.runs.of_session(SessionId(session_id))
    for run in runs:
        world.finish(run)
        do_due_jobs(world.parts, kinds=DETECT)
    if len(runs) == 1:
        run = world.run("Save this as a skill called ship-it", session_id=SessionId(session_id))
        world.finish(run)


def test_a_worker_that_lost_its_job_writes_nothing(sqlite_world: World) -> None:
    worked(sqlite_world, "Release the service", *MENDED)
    with sqlite_world.parts.store.transaction() as tx:
        now = sqlite_world.clock.now()
        job = tx.jobs.claim(DETECT, holder="slow", now=now, lease_until=now)
    assert job is not None
    sqlite_world.clock.advance(seconds=1)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    before = sqlite_world.tables()
    with pytest.raises(Conflict) as lost:
        learning_skills(sqlite_world.parts).detect(job)
    assert lost.value.code == "job.lost"
    assert sqlite_world.tables() == before
