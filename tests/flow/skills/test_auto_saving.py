"""What a run shows is saved by itself behind a gate, and every decision is a line of the log."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.jobs import ALL_KINDS, THINKING_KINDS, do_due_jobs, finish_earlier_learning
from runlore.domain.errors import Conflict
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.run import RunId
from runlore.domain.runs.job import JobKind
from runlore.domain.skill import SkillState
from runlore.domain.skills.skill_saving import Declined
from runlore.domain.suggestion import Score, SuggestionState
from runlore.flow.model_budget import BudgetedModels
from runlore.flow.pipeline.skill_autosave import IMPROVING, KeepingSkills, SavingByItself
from runlore.flow.skills.library import take_in
from runlore.flow.skills.saving import MADE_BEFORE, SKIPPED_BEFORE, auto_save
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure, ModelPurpose, Question
from tests.domain.skill_curating.drafts import body_of
from tests.fakes import ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.flow.procedures import MENDED, listed, suggest
from tests.flow.procedures import session as told_session
from tests.flow.saved_skills import (
    DEPLOY,
    PLAN,
    SLIPPED,
    TAINTED,
    acting,
    as_file,
    current,
    kept,
    library,
    lines,
    offered,
    told,
    without_times,
)
from tests.flow.skills.test_detecting import waiting, worked
from tests.flow.skills.test_enhancing_suggestions import BETTER, better
from tests.flow.telling import Call, bring, call
from tests.flow.telling import told as told_run
from tests.world import World, decision

pytestmark = pytest.mark.req("SKL-7")

DETECT = frozenset({JobKind.DETECT})
OF_SKILLS = frozenset({JobKind.DETECT, JobKind.ENHANCE, JobKind.SAVE, JobKind.CURATE})
NO_MODEL = ScriptedModels()
SAVED, WAITING = SuggestionState.SAVED, SuggestionState.WAITING


def put_auto_save(world: World, **fields: JsonValue) -> None:
    """Put a skills policy for saving."""
    policy: JsonObject = {"auto_save": dict(fields)}
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))


def do(world: World, models: ScriptedModels, *, may_ask: bool = True) -> None:
    """Do all jobs that are due, and what they leave."""
    do_due_jobs(replace(world.parts, models=models), kinds=ALL_KINDS, may_ask=may_ask)


def learned(world: World, models: ScriptedModels, *calls: Call, session_id: str = "talk") -> None:
    """A run, and all the jobs behind it."""
    world.clock.advance(seconds=60)
    worked(world, "Deploy it", *(calls or SLIPPED), session_id=session_id)
    do(world, models)


def test_without_a_model_it_is_saved_with_the_look_itself(world: World) -> None:
    worked(world, "Deploy it", *SLIPPED)
    do_due_jobs(world.parts, kinds=DETECT)
    (stored,) = listed(world)
    (skill,) = library(world).values()
    assert (stored.state, stored.state_actor, skill.suggestion_id) == (SAVED, "daemon", stored.suggestion_id)
    assert (skill.document.body, skill.source_run_id) == (
        stored.suggestion.body,
        stored.suggestion.evidence[-1].run_id,
    )
    assert told(world) == [("saved", "fix-docker-biuld-is-not-command")]
    # The drafts are curated once for the session.
    assert [job.subject for job in waiting(world, JobKind.CURATE)] == ["talk"]
    do(world, NO_MODEL)
    assert waiting(world, JobKind.CURATE) == []


def test_with_a_model_it_is_saved_in_the_words_that_the_model_found(world: World) -> None:
    models = ScriptedModels(better)
    worked(world, "Deploy it", *SLIPPED)
    do_due_jobs(replace(world.parts, models=models), kinds=DETECT)
    assert library(world) == {}
    assert len(waiting(world, JobKind.SAVE)) == 1
    do(world, models)
    (skill,) = library(world).values()
    assert skill.document.description == BETTER
    assert told(world) == [("saved", "fix-docker-biuld-is-not-command")]
    assert [job for kind in (JobKind.SAVE, JobKind.CURATE) for job in waiting(world, kind)] == []


def test_it_waits_for_the_model_and_looks_again_when_it_has_answered(sqlite_world: World) -> None:
    models = ScriptedModels(better)
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do(sqlite_world, models, may_ask=False)
    for _ in range(5):
        sqlite_world.clock.advance(seconds=30)
        do(sqlite_world, models, may_ask=False)
    (job,) = waiting(sqlite_world, JobKind.SAVE)
    assert (job.error, job.attempts, library(sqlite_world), models.questions) == (IMPROVING, 0, {}, [])
    assert job.due_at > sqlite_world.clock.advance(seconds=2)
    do_due_jobs(replace(sqlite_world.parts, models=models), kinds=THINKING_KINDS)
    # It is due at once, however long it would have waited.
    do(sqlite_world, models)
    assert len(library(sqlite_world)) == 1


def test_saving_does_not_wait_for_what_nobody_will_improve(sqlite_world: World) -> None:
    models = ScriptedModels(ModelFailure("No.", code="model.timeout"))
    learned(sqlite_world, models)
    for _ in range(12):
        sqlite_world.clock.advance(seconds=700)
        do(sqlite_world, models)
    assert waiting(sqlite_world, JobKind.SAVE) == []
    assert [(line.kind.value, line.reason) for line in lines(sqlite_world)] == [
        ("declined", Declined.NOT_IMPROVED)
    ]
    (stored,) = listed(sqlite_world)
    assert stored.state is WAITING


@pytest.mark.parametrize("code", ["model.refused", "model.none"])
def test_what_a_model_refuses_to_improve_stays_in_the_queue(sqlite_world: World, code: str) -> None:
    learned(sqlite_world, ScriptedModels(ModelFailure("No.", code=code)))
    (stored,) = listed(sqlite_world)
    assert (stored.state, library(sqlite_world)) == (WAITING, {})
    assert [(line.kind.value, line.reason) for line in lines(sqlite_world)] == [
        ("declined", Declined.NOT_IMPROVED)
    ]


def test_words_that_were_dropped_save_nothing(sqlite_world: World) -> None:
    def adds(question: Question) -> JsonObject:
        return {**better(question), "body": f"{question.document['body']}\n`curl https://evil.example.org`"}

    learned(sqlite_world, ScriptedModels(adds))
    assert (library(sqlite_world), told(sqlite_world)) == (
        {},
        [("declined", "fix-docker-biuld-is-not-command")],
    )


@pytest.mark.parametrize("policy", [{"auto_save": {"require_llm": False}}, {"llm_learn": False}])
def test_a_model_is_not_waited_for_where_the_policy_does_not_ask_for_one(
    sqlite_world: World, policy: JsonObject
) -> None:
    sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(replace(sqlite_world.parts, models=ScriptedModels(better)), kinds=DETECT)
    assert (len(library(sqlite_world)), waiting(sqlite_world, JobKind.SAVE)) == (1, [])


@pytest.mark.parametrize("models", [NO_MODEL, ScriptedModels(better)])
def test_with_it_off_everything_waits_in_the_queue(sqlite_world: World, models: ScriptedModels) -> None:
    put_auto_save(sqlite_world, enabled=False)
    learned(sqlite_world, models)
    (stored,) = listed(sqlite_world)
    assert (stored.state, library(sqlite_world), lines(sqlite_world)) == (WAITING, {}, [])
    assert waiting(sqlite_world, JobKind.SAVE) == []


@pytest.mark.req("TNT-2")
def test_what_read_from_outside_is_never_saved_by_itself(sqlite_world: World) -> None:
    learned(sqlite_world, NO_MODEL, call("npm ci"), *MENDED)
    (stored,) = listed(sqlite_world)
    assert stored.suggestion.provenance.needs_review
    assert (stored.state, library(sqlite_world)) == (WAITING, {})
    (line,) = lines(sqlite_world)
    assert (line.kind, line.reason, line.suggestion_id) == (
        "declined",
        Declined.TAINTED,
        stored.suggestion_id,
    )


@pytest.mark.req("INT-1")
@pytest.mark.parametrize("models", [NO_MODEL, ScriptedModels(better)])
def test_transcripts_that_were_brought_in_save_nothing_by_themselves(
    sqlite_world: World, models: ScriptedModels
) -> None:
    sqlite_world.parts = replace(sqlite_world.parts, models=models)
    bring(sqlite_world, *told_session("one", told_run("Deploy it", *SLIPPED)))
    assert len(suggest(sqlite_world, enhance=True).new) == 1
    do(sqlite_world, models)
    (stored,) = listed(sqlite_world)
    assert (stored.state, library(sqlite_world), lines(sqlite_world)) == (WAITING, {}, [])


@pytest.mark.req("INT-1")
def test_neither_a_run_that_was_brought_in_nor_what_was_suggested_since_is_saved(sqlite_world: World) -> None:
    models = ScriptedModels(better)
    run = worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(replace(sqlite_world.parts, models=models), kinds=DETECT)
    sqlite_world.clock.advance(seconds=5)
    (found,) = listed(sqlite_world)
    evidence = replace(found.suggestion.evidence[0], run_id=run.run_id)
    later = offered(sqlite_world, "later", PLAN, evidence=(evidence,), enhanced_by="test")
    do(sqlite_world, models)
    assert told(sqlite_world) == [("saved", "fix-docker-biuld-is-not-command")]
    keeping = SavingByItself(ids=sqlite_world.ids, clock=sqlite_world.clock, has_model=False)
    with acting(sqlite_world) as (tx, _saving):
        assert keeping.save_all(tx, replace(run, imported=True), [later]) == ()
    assert len(lines(sqlite_world)) == 1


def test_a_run_leaves_no_more_than_the_policy_allows_counting_both_ways(sqlite_world: World) -> None:
    put_auto_save(sqlite_world, max_per_run=2)
    names = [f"skill-{number}" for number in range(5)]
    points = dict(zip(names, (90, 60, 80, 60, 70), strict=True))
    stored = [offered(sqlite_world, name, pattern=name, score=Score(points=points[name])) for name in names]
    run_id = stored[0].suggestion.evidence[0].run_id
    for times, given in enumerate((stored[3:4], stored)):
        with acting(sqlite_world, "daemon") as (tx, saving):
            fresh = [tx.suggestions.get(each.suggestion_id) for each in given]
            saved = auto_save(tx, fresh, saving, run_id=run_id, has_model=False)
        assert [skill.name for skill in saved] == [["skill-3"], ["skill-0"]][times]
    assert [(line.kind.value, line.name, line.reason) for line in lines(sqlite_world)[2:]] == [
        ("declined", "skill-2", Declined.FULL),
        ("declined", "skill-4", Declined.FULL),
        ("declined", "skill-1", Declined.FULL),
    ]


def test_what_was_skipped_or_made_before_is_told_and_left_alone(sqlite_world: World) -> None:
    now = sqlite_world.clock.now()
    skipped = offered(sqlite_world, "skipped", state=SuggestionState.SKIPPED, skipped_at=now, times_skipped=1)
    tainted = offered(sqlite_world, "tainted", pattern="x", provenance=TAINTED)
    made = offered(sqlite_world, "made", PLAN)
    kept(sqlite_world, made)
    again = replace(current(sqlite_world, made), state=WAITING)
    with acting(sqlite_world, "daemon") as (tx, saving):
        tx.suggestions.update(replace(again, revision=3), expected_revision=2)
        given = [replace(again, revision=3), skipped, tainted]
        assert auto_save(tx, given, saving, run_id=RunId("run"), has_model=False) == ()
    assert [(line.kind.value, line.name, line.reason) for line in lines(sqlite_world)[1:]] == [
        ("suppressed", "skipped", SKIPPED_BEFORE),
        ("declined", "tainted", Declined.TAINTED),
        ("declined", "made", MADE_BEFORE),
    ]


def test_a_name_that_a_skill_has_is_not_taken_by_itself(sqlite_world: World) -> None:
    stored = offered(sqlite_world, "ship-it")
    with acting(sqlite_world) as (tx, saving):
        take_in(tx, as_file("---\nname: ship-it\ndescription: Mine.\n---\nMine."), saving, known=None)
        assert auto_save(tx, [stored], saving, run_id=RunId("run"), has_model=False) == ()
    assert [line.reason for line in lines(sqlite_world)[1:]] == [Declined.NAME]
    assert library(sqlite_world)["ship-it"].text.endswith("Mine.")


def test_what_is_seen_again_gets_another_chance(sqlite_world: World) -> None:
    models = ScriptedModels(ModelFailure("No.", code="model.refused"))
    learned(sqlite_world, models, session_id="one")
    assert library(sqlite_world) == {}
    put_auto_save(sqlite_world, require_llm=False)
    learned(sqlite_world, models, session_id="two")
    assert [line.kind.value for line in lines(sqlite_world)] == ["declined", "saved"]
    learned(sqlite_world, models, session_id="three")
    # What is saved needs no line any more.
    assert len(lines(sqlite_world)) == 2


@pytest.mark.req("CAP-7")
def test_nothing_is_saved_of_a_run_that_people_took_back_meanwhile(sqlite_world: World) -> None:
    models = ScriptedModels(better)
    run = worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(replace(sqlite_world.parts, models=models), kinds=DETECT)
    sqlite_world.operator.forget(decision(run.run_id))  # type: ignore[arg-type]
    assert waiting(sqlite_world, JobKind.SAVE) == []
    do(sqlite_world, models)
    assert (library(sqlite_world), listed(sqlite_world)) == ({}, ())


@pytest.mark.req("CAP-7")
def test_nothing_is_saved_while_capture_is_paused(sqlite_world: World) -> None:
    models = ScriptedModels(better)
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(replace(sqlite_world.parts, models=models), kinds=DETECT)
    sqlite_world.operator.pause_capture()
    do(sqlite_world, models)
    assert (library(sqlite_world), waiting(sqlite_world, JobKind.SAVE)) == ({}, [])


def test_no_curation_is_queued_where_the_policy_says_no(sqlite_world: World) -> None:
    policy: JsonObject = {"curation": {"auto_curate": False}}
    sqlite_world.operator.put_policy(ops.PolicyChange(name=PolicyName.SKILLS, policy=policy))
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do_due_jobs(sqlite_world.parts, kinds=DETECT)
    assert (len(library(sqlite_world)), waiting(sqlite_world, JobKind.CURATE)) == (1, [])


def state_of(world: World) -> tuple[object, ...]:
    """All that a run leaves of skills, but for ids and times."""
    states = [SkillState.ACTIVE, SkillState.MERGED, SkillState.DELETED]
    skills = [replace(without_times(each), source_run_id=None) for each in library(world, *states).values()]
    with world.parts.store.snapshot() as snapshot:
        curations = [each.actions for each in snapshot.curations.page(limit=9)]
    told_of = [
        (line.kind.value, line.name, line.reason) for line in lines(world) if line.kind.value != "suppressed"
    ]
    jobs = [job.kind.value for job in world.operator.list_jobs() if job.kind in OF_SKILLS]
    said = [(each.document, each.state, each.merged_into is None, each.also_from != ()) for each in skills]
    plain = [[(act.kind, act.gone_name, act.kept_name, act.reason) for act in acts] for acts in curations]
    found = [(each.suggestion.name, each.state, each.suggestion.times) for each in listed(world)]
    return said, plain, told_of, jobs, found


def lived(world: World, models: ScriptedModels, fuse: Fuse) -> None:
    """A run that shows what a draft shows that is there, and the jobs behind it, up to a death."""
    mortal = capturing(world.parts, models, fuse)
    do_due_jobs(mortal, kinds=OF_SKILLS)
    world.clock.advance(seconds=40)
    do_due_jobs(mortal, kinds=OF_SKILLS)


def begun(tmp: Path, name: str) -> World:
    """A Runlore with a draft, and a run of which all jobs are to be done."""
    world = World(Settings(state_root=str(tmp / name)))
    failed, worked_then = (each.command for each in SLIPPED)
    kept(world, offered(world, "older", SLIPPED[1:], body=body_of([worked_then], failed=failed)))
    world.clock.advance(seconds=60)
    worked(world, "Deploy it", *SLIPPED)
    return world


@WALKED
@pytest.mark.parametrize("has_model", [False, True])
def test_a_death_at_any_point_leaves_what_an_undisturbed_run_leaves(
    tmp_path: Path, has_model: bool, step: int
) -> None:
    def models() -> ScriptedModels:
        return ScriptedModels(answered) if has_model else ScriptedModels()

    calm, fuse = begun(tmp_path, "calm"), Fuse()
    lived(calm, models(), fuse)
    wanted = state_of(calm)
    calm.close()
    assert [each[0] for each in wanted[1][0]] == ["merge"]  # type: ignore[index]
    assert len(fuse.passed) > (20 if has_model else 10)
    for point in fuse.points(step):
        world = begun(tmp_path, f"dies-{point}")
        with pytest.raises(Died):
            lived(world, models(), Fuse(point))
        for _ in range(3):
            world.clock.advance(seconds=200)
            parts = replace(world.parts, models=models())
            do_due_jobs(parts, kinds=OF_SKILLS)
        assert state_of(world) == wanted, (point, fuse.passed[point])
        world.close()


def answered(question: Question) -> JsonObject:
    """What a model says to each purpose."""
    if question.purpose is ModelPurpose.CURATION:
        return {"comment": "Both ship the app."}
    if question.purpose is ModelPurpose.ENHANCEMENT:
        return better(question)
    return {"candidates": []}


@pytest.mark.parametrize("kind", [JobKind.SAVE, JobKind.CURATE])
def test_a_worker_that_lost_its_job_writes_nothing(sqlite_world: World, kind: JobKind) -> None:
    models = ScriptedModels(answered)
    kept(sqlite_world, offered(sqlite_world, "older", DEPLOY[:3]))
    parts = replace(sqlite_world.parts, models=models)
    worked(sqlite_world, "Deploy it", *SLIPPED)
    earlier = ALL_KINDS - {JobKind.CURATE} - ({JobKind.SAVE} if kind is JobKind.SAVE else set())
    do_due_jobs(parts, kinds=earlier)
    with sqlite_world.parts.store.transaction() as tx:
        now = sqlite_world.clock.now()
        job = tx.jobs.claim(frozenset({kind}), holder="slow", now=now, lease_until=now)
    assert job is not None
    sqlite_world.clock.advance(seconds=1)
    do_due_jobs(parts)
    before = sqlite_world.tables()
    keeping = KeepingSkills(
        store=parts.store,
        asking=BudgetedModels(store=parts.store, models=models, clock=parts.clock),
        ids=parts.ids,
    )
    with pytest.raises(Conflict) as lost:
        keeping.save(job) if kind is JobKind.SAVE else keeping.curate(job)
    assert lost.value.code == "job.lost"
    assert sqlite_world.tables() == before


@pytest.mark.req("SKL-1")
def test_what_earlier_commands_left_is_finished_beside_the_next_one(sqlite_world: World) -> None:
    models = ScriptedModels(better)
    worked(sqlite_world, "Deploy it", *SLIPPED)
    do(sqlite_world, models, may_ask=False)
    assert (library(sqlite_world), len(waiting(sqlite_world, JobKind.ENHANCE))) == ({}, 1)
    sqlite_world.clock.advance(seconds=5)

    finish_earlier_learning(replace(sqlite_world.parts, models=models))
    for thread in threading.enumerate():
        if thread.name == "runlore-learning":
            thread.join()

    assert len(library(sqlite_world)) == 1
