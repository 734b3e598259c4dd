"""What runs teach becomes candidates: summaries, labels, what a model adds, and with which evidence."""

from datetime import timedelta

import pytest

from runlore.domain import limits
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.projection import SECTIONS, SectionName
from runlore.domain.prompts.rendering import section
from runlore.domain.prompts.run_memory import CaptureState
from runlore.domain.record import EvidenceRef, Kind, Origin, Sensitivity, Source, State
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import JobState
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.ports import operations as ops
from runlore.ports.model import ModelFailure
from tests.fakes import ScriptedModels
from tests.flow.capturing import WEB, allow, answer, capture, captured, jobs, put, receipt, receipts, said
from tests.world import World

COMPLETED, PENDING, SKIPPED = CaptureState.COMPLETED, CaptureState.PENDING, CaptureState.SKIPPED
QUIET = PersonaId("quiet")
TALK = Scope(ScopeKind.SESSION, "talk")
LABELS = "Fact: the codename is Atlas. Preference: tabs over spaces. Now build it."
BOTH = [("fact", "the codename is Atlas"), ("preference", "tabs over spaces")]


@pytest.mark.req("CAP-1", "LRN-2")
@pytest.mark.parametrize(
    "status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED]
)
def test_every_run_that_ends_gives_one_summary_to_review(world: World, status: RunStatus) -> None:
    run = world.run("Build the release", agent="claude")
    world.say(run, "Built")
    ended = world.finish(run, status)
    assert captured(world, Kind.RUN_SUMMARY) == []

    world.clock.advance(seconds=5)
    capture(world)
    world.finish(run, status)
    capture(world)

    [summary] = captured(world, Kind.RUN_SUMMARY)
    assert ended.finished_at is not None
    memory = world.memory(run)
    assert memory is not None
    assert (summary.state, summary.scope, summary.sensitivity) == (
        State.CONSTRAINED,
        TALK,
        Sensitivity.SENSITIVE,
    )
    assert (summary.origin, summary.created_by, summary.confidence) == (Origin.DAEMON, "daemon", 100)
    assert summary.summary == memory.summary
    assert summary.expires_at == ended.finished_at + timedelta(days=30)
    assert summary.source == Source(session_id="talk", run_id=run.run_id, agent="claude")
    assert receipts(world, run) == (SKIPPED, SKIPPED, SKIPPED)
    assert jobs(world) == []


@pytest.mark.req("CAP-1", "CAP-2")
def test_nothing_is_queued_where_nothing_is_captured(world: World) -> None:
    put(world, {"capture": {"run_summary_candidates": False, "own_words": "off"}})
    run = world.finished(LABELS)

    assert jobs(world) == []
    assert receipts(world, run) == (None, SKIPPED, SKIPPED)


@pytest.mark.req("CAP-1", "RUN-8")
def test_without_run_memory_nothing_is_captured(world: World) -> None:
    allow(world, summaries=True)
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"enabled": False}))
    world.finished(LABELS)

    assert capture(world) == 0
    assert captured(world, *Kind) == [record for record in captured(world, *Kind) if record.kind is Kind.RUN]


@pytest.mark.req("CAP-2", "CAP-3", "RUN-10")
def test_labels_become_candidates_with_their_evidence(world: World) -> None:
    allow(world)
    run = world.finished(LABELS, agent="claude")
    assert receipts(world, run) == (None, PENDING, PENDING)

    capture(world)

    fact, preference = captured(world)
    assert said(world) == BOTH
    for record in (fact, preference):
        assert (record.state, record.scope, record.origin) == (State.CONSTRAINED, TALK, Origin.DAEMON)
        assert record.confidence == 98
        assert record.sensitivity is Sensitivity.NORMAL
        assert record.source == Source(session_id="talk", run_id=run.run_id, agent="claude")
        assert record.evidence_refs == (EvidenceRef(run_id=run.run_id, event_number=run.input_number),)
        assert not record.provenance.tainted
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)


@pytest.mark.req("CAP-2")
@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED])
def test_only_completed_runs_teach_anything(world: World, status: RunStatus) -> None:
    allow(world)
    run = world.run(LABELS)
    world.finish(run, status)

    capture(world, ScriptedModels(answer(("fact", "The port is 80"))))

    assert said(world) == []
    assert receipts(world, run)[1:] == (SKIPPED, SKIPPED)


@pytest.mark.req("CAP-2")
@pytest.mark.parametrize("most", [1, 2, 8])
def test_a_run_gives_no_more_than_the_policy_says(world: World, most: int) -> None:
    allow(world, max_candidates_per_run=most)
    world.finished("\n".join(f"Fact: port {n} is open" for n in range(12)))

    capture(world)

    assert said(world) == [("fact", f"port {n} is open") for n in range(most)]


@pytest.mark.req("CAP-3")
def test_labels_far_behind_what_a_preview_shows_are_found(world: World) -> None:
    allow(world)
    world.finished(f"{'Read all of this first. ' * 2_000}\n{LABELS}")

    capture(world)

    assert said(world) == BOTH


@pytest.mark.req("CAP-3", "LRN-8")
def test_a_secret_in_one_of_two_labels_leaves_the_other(world: World) -> None:
    allow(world)
    run = world.finished("Fact: the api_key is Zk39x0Qm71LpRt5wUy8b. Fact: the codename is Atlas.")

    capture(world)

    assert said(world) == [("fact", "the codename is Atlas")]
    assert receipts(world, run)[0] is COMPLETED
    assert world.counters()["capture.dropped_secret_total"] == 1


@pytest.mark.req("CAP-3", "CAP-4")
def test_a_model_adds_to_the_labels_within_the_cap(world: World) -> None:
    allow(world, max_candidates_per_run=3, model="test:small", timeout_s=7)
    models = ScriptedModels(
        answer(("fact", "The port is 80"), ("fact", "codename = Atlas"), ("opinion", "It is fine"))
    )
    world.finished("Fact: the codename is Atlas. Use port 80.")

    capture(world, models)

    assert said(world) == [("fact", "the codename is Atlas"), ("fact", "The port is 80")]
    [question] = models.questions
    assert (question.model, question.timeout_s) == ("test:small", 7)
    assert question.document["max_candidates"] == 2
    assert question.document["known"] == [{"kind": "fact", "content": "the codename is Atlas"}]
    dropped = {name: n for name, n in world.counters().items() if name.startswith("capture.dropped")}
    assert dropped == {"capture.dropped_duplicate_total": 1, "capture.dropped_kind_total": 1}


@pytest.mark.req("CAP-3")
def test_a_model_is_not_asked_where_the_labels_fill_the_cap(world: World) -> None:
    allow(world)
    models = ScriptedModels(answer())
    world.finished(LABELS)

    capture(world, models)

    assert models.questions == []


@pytest.mark.req("CAP-3", "RUN-10")
@pytest.mark.parametrize("code", ["model.none", "model.refused", "model.answer", "model.question"])
def test_a_model_that_has_no_answer_leaves_the_labels(world: World, code: str) -> None:
    allow(world)
    run = world.finished("Fact: the codename is Atlas")

    capture(world, ScriptedModels(ModelFailure("No.", code=code)))

    assert said(world) == [("fact", "the codename is Atlas")]
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)
    assert jobs(world) == []


@pytest.mark.req("CAP-3", "RUN-10", "POL-10")
@pytest.mark.parametrize(
    "code",
    [
        "model.timeout",
        "model.unreachable",
        "model.rate-limited",
        "model.failed",
        "model.key",
        "model.unknown",
    ],
)
def test_labels_do_not_wait_for_a_model_that_may_answer_later(world: World, code: str) -> None:
    allow(world)
    run = world.finished("Fact: the codename is Atlas")
    models = ScriptedModels(ModelFailure("Not now.", code=code), answer(("fact", "The port is 80")))

    capture(world, models)
    assert said(world) == [("fact", "the codename is Atlas")]
    assert receipts(world, run) == (PENDING, PENDING, PENDING)
    [job] = jobs(world)
    assert (job.state, job.error) == (JobState.WAITING, "Not now.")
    world.reject(captured(world)[0])
    world.clock.advance(seconds=2)
    capture(world, models)

    assert said(world) == [("fact", "the codename is Atlas"), ("fact", "The port is 80")]
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)
    assert jobs(world) == []


@pytest.mark.req("CAP-3", "POL-10")
def test_a_model_that_never_answers_ends_among_the_dead_with_the_labels_kept(world: World) -> None:
    allow(world)
    run = world.finished("Fact: the codename is Atlas")
    models = ScriptedModels(ModelFailure("Not now.", code="model.unreachable"))

    for _ in range(limits.JOB_ATTEMPTS_MAX + 3):
        capture(world, models)
        world.clock.advance(seconds=limits.JOB_BACKOFF_S_MAX)

    assert len(models.questions) == limits.JOB_ATTEMPTS_MAX
    assert [job.state for job in jobs(world)] == [JobState.DEAD]
    assert said(world) == [("fact", "the codename is Atlas")]
    assert receipts(world, run) == (PENDING, PENDING, PENDING)


@pytest.mark.req("POL-12", "CAP-3")
def test_a_spent_budget_lets_the_rest_wait_for_the_next_day(world: World) -> None:
    put(
        world,
        {
            "mode": "manual_only",
            "capture": {"run_summary_candidates": False, "semantic_candidates": {"enabled": True}},
            "model_budget": {"calls_per_day": 1},
        },
    )
    models = ScriptedModels(answer(("fact", "The port is 80")), answer(("fact", "The host is blue")))
    world.finished("First")
    run = world.finished("Fact: the codename is Atlas")

    capture(world, models)
    assert len(models.questions) == 1
    assert receipts(world, run) == (PENDING, PENDING, PENDING)
    [job] = jobs(world)
    assert (job.attempts, job.state) == (0, JobState.WAITING)
    assert job.due_at == world.clock.now() + timedelta(days=1)
    assert "budget" in job.error
    world.clock.advance(days=1)
    capture(world, models)

    assert sorted(said(world)) == [
        ("fact", "The host is blue"),
        ("fact", "The port is 80"),
        ("fact", "the codename is Atlas"),
    ]


@pytest.mark.req("CAP-3")
def test_whoever_may_ask_no_model_does_the_rest_and_leaves_it_to_others(world: World) -> None:
    allow(world)
    run = world.finished("Fact: the codename is Atlas")
    models = ScriptedModels(answer(("fact", "The port is 80")))

    capture(world, models, may_ask=False)
    assert (models.questions, said(world)) == ([], [("fact", "the codename is Atlas")])
    assert receipts(world, run) == (PENDING, PENDING, PENDING)
    world.clock.advance(seconds=1)
    capture(world, models)

    assert ("fact", "The port is 80") in said(world)
    assert receipts(world, run) == (COMPLETED, COMPLETED, COMPLETED)


@pytest.mark.req("CAP-2", "TNT-1")
def test_provenance_follows_the_evidence(world: World) -> None:
    allow(world, max_candidates_per_run=8)
    run = world.run("Fact: the codename is Atlas. We deploy on Fridays. Read the page about ports.")
    world.append(run, WEB, {"type": "tool_result", "call_id": "1", "output": "The port is 80"})
    world.say(run, "The port is 80")
    first = world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name="a", text="x"))
    second = world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name="b", text="y"))
    world.finish(run)

    capture(world, ScriptedModels(answer(("fact", "We deploy on Fridays"), ("fact", "The port is 80"))))

    label, own, read = captured(world)
    request = (EvidenceRef(run_id=run.run_id, event_number=run.input_number),)
    assert (label.evidence_refs, own.evidence_refs) == (request, request)
    assert not label.provenance.tainted
    assert not own.provenance.tainted
    assert read.provenance.tainted
    assert any("example.org" in source for source in read.provenance.sources)
    assert read.evidence_refs == tuple(
        EvidenceRef(run_id=run.run_id, artifact_id=made.artifact_id) for made in (first, second) if made
    )
    noted = receipt(world, run)
    assert noted is not None
    assert noted.provenance.tainted


@pytest.mark.req("TNT-1")
def test_what_an_earlier_run_read_taints_what_a_later_one_teaches(world: World) -> None:
    allow(world, max_candidates_per_run=8)
    first = world.run("Read the page")
    world.append(first, WEB, {"type": "tool_result", "call_id": "1", "output": "The port is 80"})
    world.finish(first)
    world.clock.advance(seconds=1)
    second = world.finished("Fact: the codename is Atlas. And the port?", "The port is 80")

    models = ScriptedModels(answer(), answer(("fact", "The port is 80")))
    capture(world, models)

    label, learned = captured(world)
    assert (label.provenance.tainted, learned.provenance.tainted) == (False, True)
    assert learned.evidence_refs == (EvidenceRef(run_id=second.run_id),)
    noted = receipt(world, second)
    assert noted is not None
    assert not noted.provenance.tainted


@pytest.mark.req("CAP-7")
@pytest.mark.parametrize("no", ["paused", "persona"])
def test_where_people_say_no_nothing_is_captured(world: World, no: str) -> None:
    allow(world, summaries=True)
    run = world.finished(LABELS)
    if no == "paused":
        world.operator.pause_capture()
    else:
        world.operator.put_persona(ops.PersonaChange(persona_id=QUIET, name="Quiet", capture=False))
        world.operator.change_session(ops.SessionChange(session_id=run.session_id, persona_id=QUIET))

    capture(world, ScriptedModels(answer(("fact", "The port is 80"))))

    assert captured(world, Kind.FACT, Kind.PREFERENCE, Kind.RUN_SUMMARY) == []
    assert receipts(world, run) == (SKIPPED, SKIPPED, SKIPPED)


@pytest.mark.req("CAP-6")
@pytest.mark.parametrize("name", SECTIONS)
def test_what_runlore_put_into_a_prompt_is_not_captured_from_request_or_outcome(
    world: World, name: SectionName
) -> None:
    allow(world, max_candidates_per_run=8)
    held = "Fact: the codename is Atlas"
    rendered = section(name, [f"[rec_1 · fact · session:talk]\n```text\n{held}\n```"])
    models = ScriptedModels(answer())
    world.finished(f"{rendered}\nDecision: use SQLite", f"As told:\n{rendered}")

    capture(world, models)

    assert said(world) == [("decision", "use SQLite")]
    assert "Atlas" not in repr(models.questions)


@pytest.mark.req("CAP-6")
def test_a_model_that_repeats_what_a_prompt_was_given_teaches_nothing(world: World) -> None:
    allow(world, max_candidates_per_run=8)
    world.session()
    known = world.fact("The staging port is 5433")
    given = world.operator.open_run(
        ops.NewRun(session_id=SessionId("talk"), request="What is the staging port?", context=True)
    )
    assert known.summary in repr(given.sections)
    world.say(given.run, "The staging port is 5433")
    world.finish(given.run)
    world.clock.advance(seconds=1)
    world.finished("And in words?", "Port 5433 is the staging one")
    world.clock.advance(seconds=1)
    world.finished("As I said, the staging port is 5433", "Noted")

    echo = answer(("fact", "The staging port is 5433"), ("fact", "The host is blue"))
    models = ScriptedModels(echo, answer(("fact", "Port 5433 is staging")), echo)
    capture(world, models)

    assert said(world) == [("fact", "The host is blue"), ("fact", "The staging port is 5433")]
    assert world.counters()["capture.dropped_echo_total"] == 2
