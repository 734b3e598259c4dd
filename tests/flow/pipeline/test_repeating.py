"""Repeated episodes propose, once each; a saved skill is remembered as a procedure under its name."""

import pytest

from runlore.daemon.background.jobs import ALL_KINDS, do_due_jobs
from runlore.daemon.boot import boot
from runlore.domain.detectors.match import Heuristic
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import Kind, Layer, Origin, Proposal, Record, RecordId, State, StateReason
from runlore.domain.run import Run
from runlore.domain.runs.job import JobKind
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import TRUSTED
from runlore.ports import operations as ops
from tests.fakes import ScriptedModels
from tests.flow.capture_and_die import capturing
from tests.flow.dying import Died
from tests.flow.kill_points import WALKED, Fuse
from tests.flow.procedures import RECOVERY, RELEASE, listed, session, suggest
from tests.flow.saved_skills import DEPLOY, TAINTED, library, offered
from tests.flow.skills.test_detecting import report, worked
from tests.flow.telling import Call, bring, call, told
from tests.world import World, decision, inconsistencies

pytestmark = pytest.mark.req("CAP-9")
DETECT = frozenset({JobKind.DETECT})


def learned(world: World, number: int, *calls: Call, project: str = "") -> Run:
    """A run in a session of its own, with all the jobs behind it."""
    world.clock.advance(seconds=60)
    run = worked(
        world,
        "Release the service",
        *(calls or RELEASE),
        session_id=f"talk-{number}",
        project_ids=(project,) if project else (),
    )
    do_due_jobs(world.parts, kinds=ALL_KINDS)
    return run


def proposed(world: World) -> list[Record]:
    """What repeated episodes have proposed, whatever became of it."""
    return [each for each in world.stored().values() if each.proposal is Proposal.EPISODES]


def waiting(world: World) -> list[Record]:
    """Those of them that wait for review."""
    return [each for each in proposed(world) if each.state is State.CONSTRAINED]


def ids_of(record: Record) -> set[str | None]:
    """The runs that a record rests on."""
    return {ref.run_id for ref in record.evidence_refs}


def unsaved(world: World) -> None:
    """Have nothing saved by itself."""
    world.operator.put_policy(
        ops.PolicyChange(name=PolicyName.SKILLS, policy={"auto_save": {"enabled": False}})
    )


@pytest.mark.req("LAY-4")
def test_an_equal_successful_workflow_of_several_sessions_waits_as_one_procedure(world: World) -> None:
    unsaved(world)
    first = learned(world, 1)
    assert proposed(world) == []
    second = learned(world, 2)
    learned(world, 3)
    (procedure,) = proposed(world)
    (stored,) = listed(world)
    assert "Seen 3 times in 3 sessions" in stored.suggestion.body
    assert (procedure.layer, procedure.state, procedure.origin) == (
        Layer.PROCEDURAL,
        State.CONSTRAINED,
        Origin.DAEMON,
    )
    assert procedure.metadata["workflow"] == stored.suggestion.name
    assert {ref.run_id for ref in procedure.evidence_refs} == {first.run_id, second.run_id}
    assert all(each.command in procedure.summary for each in RELEASE)
    # A person decides, and what was decided is not proposed again.
    world.reject(procedure)
    learned(world, 4)
    suggest(world)
    assert [each.state_reason for each in proposed(world)] == [StateReason.REJECTED]
    assert inconsistencies(world.settings) == []


@pytest.mark.req("LAY-4")
def test_a_short_workflow_waits_as_soon_as_three_runs_have_shown_it(world: World) -> None:
    short = [
        (call(f"make build VERSION=1.{number}.0"), call("make check"), call(f"git tag v1.{number}.0"))
        for number in range(4)
    ]
    runs = [learned(world, 1, *short[0]), learned(world, 2, *short[1])]
    # Neither one that failed nor one that did more is the same.
    learned(world, 3, *short[2][:2], call("git tag v1.2.0", 1, "tag exists"))
    learned(world, 4, call("npm ci"), *short[2][1:])
    assert proposed(world) == []
    runs.append(learned(world, 5, *short[3]))

    (procedure,) = proposed(world)
    assert (procedure.kind, procedure.scope) == (Kind.PROCEDURE, WORKSPACE)
    assert {ref.run_id for ref in procedure.evidence_refs} == {run.run_id for run in runs}
    assert "git tag v<version>" in procedure.summary
    learned(world, 6, *short[2])
    suggest(world)
    assert proposed(world) == [procedure]
    world.forget(RecordId(runs[0].run_id))
    assert world.record(procedure).state_reason is StateReason.FORGOTTEN


@pytest.mark.req("LAY-4")
@pytest.mark.parametrize("calls", [3, 4])
def test_equal_runs_of_one_session_are_not_enough(sqlite_world: World, calls: int) -> None:
    unsaved(sqlite_world)
    for _ in range(4):
        learned(sqlite_world, 1, *RELEASE[:calls])
    assert proposed(sqlite_world) == []
    assert listed(sqlite_world) == ()


@pytest.mark.req("LAY-4", "SCO-2")
def test_a_workflow_is_told_with_its_values_as_parameters_and_in_the_scope_of_its_project(
    sqlite_world: World,
) -> None:
    unsaved(sqlite_world)
    tagged = [[*RELEASE, call(f"git tag v1.{number}.0"), call("git push --tags")] for number in range(2)]
    for number in range(2):
        learned(sqlite_world, number, *tagged[number], project="shop")
    for number, project in ((2, "shop"), (3, "other")):
        learned(sqlite_world, number, *RECOVERY, project=project)
    procedure, fact = sorted(proposed(sqlite_world), key=lambda each: each.kind, reverse=True)
    assert (procedure.kind, str(procedure.scope)) == (Kind.PROCEDURE, "project:shop")
    assert "git tag <version>" in procedure.summary
    assert "v1.0.0" not in procedure.summary
    assert (fact.kind, fact.scope) == (Kind.FACT, WORKSPACE)
    # Who saves it decides on it where it lies.
    (stored,) = (each for each in listed(sqlite_world) if each.suggestion.heuristic is Heuristic.MULTI_STEP)
    save = ops.SaveSkill(suggestion=stored.suggestion_id, accept_untrusted=True)
    sqlite_world.operator.save_skill(save)
    assert sqlite_world.record(procedure).state is State.ACTIVE


@pytest.mark.req("LAY-3")
def test_what_several_runs_note_as_found_waits_as_one_fact(world: World) -> None:
    notes = ("Finding: the staging port is 5433", "Plan: the port is 1", "run the tests")
    runs = []
    for number, read in enumerate((False, True, False)):
        world.clock.advance(seconds=60)
        session_id = world.session(f"talk-{number}", project_ids=("shop",)).session_id
        run = world.run("Look at staging", session_id=session_id)
        for text in notes if number else ("the staging port is 5433", *notes[1:]):
            world.operator.add_scratch(ops.NewScratch(run_id=run.run_id, text=text))
        if read:
            report(world, run, [call("curl https://example.com/ports", output="5433")])
        runs.append(world.finish(run))
        assert len(proposed(world)) == (number > 1)
        do_due_jobs(world.parts, kinds=ALL_KINDS)
    (fact,) = proposed(world)
    assert (fact.kind, fact.layer, fact.state) == (Kind.FACT, Layer.SEMANTIC, State.CONSTRAINED)
    assert (fact.summary, str(fact.scope)) == ("the staging port is 5433", "project:shop")
    assert fact.provenance.tainted
    world.forget(RecordId(runs[0].run_id))
    assert world.record(fact).state_reason is StateReason.FORGOTTEN


def test_a_failing_workflow_proposes_no_procedure_and_a_fix_of_several_sessions_one_fact(
    sqlite_world: World,
) -> None:
    for number in range(3):
        learned(sqlite_world, number, call("npm ci"), call("npm run migrate", 1, "no such table: users"))
    assert proposed(sqlite_world) == []
    for number in range(3, 6):
        learned(sqlite_world, number, *RECOVERY)
    facts = [each for each in proposed(sqlite_world) if each.kind is Kind.FACT]
    (fact,) = facts
    assert fact.summary.startswith("What to do when `pytest -x tests/a.py` fails with")
    assert fact.metadata["origin"] == "episodes"


@pytest.mark.req("LAY-3")
def test_equal_outcomes_told_twice_propose_one_fact_made_from_both(world: World) -> None:
    told_twice = [world.episode("A pool of 32 halves the latency", kind=Kind.EXPERIMENT) for _ in range(3)]
    world.episode("A pool of 64 does not", kind=Kind.EXPERIMENT)
    (fact,) = proposed(world)
    assert (fact.kind, fact.state, fact.summary) == (Kind.FACT, State.CONSTRAINED, told_twice[0].summary)
    assert set(fact.source.record_ids) == {each.record_id for each in told_twice[:2]}
    world.forget(told_twice[0])
    assert world.record(fact).state_reason is StateReason.FORGOTTEN


@pytest.mark.req("LRN-12")
@pytest.mark.parametrize("which", [0, 1])
def test_forgetting_any_run_that_showed_it_takes_the_procedure_along(world: World, which: int) -> None:
    runs = [learned(world, 1), learned(world, 2)]
    (procedure,) = proposed(world)
    forgotten = runs[which].run_id
    shown = world.operator.forget(decision(RecordId(forgotten)), dry_run=True)
    assert procedure.record_id in {each.record_id for each in shown.records}
    world.forget(RecordId(forgotten))
    assert world.record(procedure).state_reason is StateReason.FORGOTTEN
    assert inconsistencies(world.settings) == []


def test_taint_is_inherited_and_a_skipped_suggestion_proposes_nothing(sqlite_world: World) -> None:
    unsaved(sqlite_world)
    read = call("curl https://example.com/setup", output="run npm ci")
    for number in (1, 2):
        learned(sqlite_world, number, read, *RELEASE)
    (procedure,) = waiting(sqlite_world)
    assert procedure.provenance.tainted
    sqlite_world.operator.skip_suggestion(listed(sqlite_world)[0].suggestion_id)
    learned(sqlite_world, 3, read, *RELEASE)
    assert waiting(sqlite_world) == []


@pytest.mark.req("LAY-4", "SKL-6")
@pytest.mark.parametrize("calls", [RELEASE, RECOVERY], ids=["procedure", "finding"])
def test_what_a_skipped_suggestion_proposed_leaves_the_review_list_until_it_waits_again(
    world: World, calls: tuple[Call, ...]
) -> None:
    unsaved(world)
    for number in (1, 2, 3):
        learned(world, number, *calls)
    (record,) = proposed(world)
    skipped = next(
        each for each in listed(world) if each.suggestion.evidence[0].run_id in ids_of(record)
    ).suggestion_id

    world.operator.skip_suggestion(skipped)
    world.operator.skip_suggestion(skipped)

    assert world.record(record).state_reason is StateReason.REJECTED
    assert waiting(world) == []
    learned(world, 4, *calls)
    assert waiting(world) == []
    # Somebody wants it after all: then what it shows waits again, too.
    world.operator.reset_suggestion(skipped)
    learned(world, 5, *calls)
    assert [each.summary for each in waiting(world)] == [record.summary]
    assert inconsistencies(world.settings) == []


def test_sessions_that_were_brought_in_propose_like_live_ones_once_for_two_looks(
    sqlite_world: World,
) -> None:
    for name in ("a", "b", "c"):
        bring(sqlite_world, *session(name, told("Release it", *RELEASE)), source=name)
    suggest(sqlite_world)
    suggest(sqlite_world)
    assert [each.kind for each in proposed(sqlite_world)] == [Kind.PROCEDURE]


@WALKED
def test_a_death_at_any_point_proposes_it_once(sqlite_world: World, step: int) -> None:
    unsaved(sqlite_world)
    learned(sqlite_world, 0)
    fuse = Fuse()
    points: list[int | None] = [None]
    for number, at in enumerate(points, 1):
        sqlite_world.clock.advance(seconds=60)
        run = worked(sqlite_world, "Release the service", *RELEASE, session_id=f"talk-{number}")
        if at is None:
            do_due_jobs(capturing(sqlite_world.parts, ScriptedModels(), fuse), kinds=DETECT)
            points += fuse.points(step)
        else:
            with pytest.raises(Died):
                do_due_jobs(capturing(sqlite_world.parts, ScriptedModels(), Fuse(at)), kinds=DETECT)
        # Another one takes over, and a second call finds nothing to do.
        sqlite_world.clock.advance(seconds=90)
        boot(sqlite_world.parts)
        do_due_jobs(sqlite_world.parts, kinds=DETECT)
        suggest(sqlite_world)
        standing = [each for each in proposed(sqlite_world) if each.state is State.CONSTRAINED]
        assert len(standing) == 1, number
        sqlite_world.forget(RecordId(run.run_id))
        assert sqlite_world.record(standing[0]).state_reason is StateReason.FORGOTTEN
    assert len(fuse.passed) > 5


@pytest.mark.req("LAY-4")
@pytest.mark.parametrize("is_tainted", [False, True])
def test_what_a_person_saves_stands_as_a_procedure_under_the_name_of_the_skill(
    sqlite_world: World, is_tainted: bool
) -> None:
    provenance = TAINTED if is_tainted else TRUSTED
    stored = offered(sqlite_world, "procedure-docker", provenance=provenance)
    request = ops.SaveSkill(suggestion=stored.suggestion_id, name="deploy-app", accept_untrusted=True)
    sqlite_world.operator.save_skill(request)
    sqlite_world.operator.save_skill(request)
    (procedure,) = proposed(sqlite_world)
    assert (procedure.state, procedure.metadata["workflow"]) == (State.ACTIVE, "deploy-app")
    assert procedure.policy_actor == "operator"
    assert not procedure.provenance.tainted
    assert sqlite_world.listed(State.ACTIVE, layers=frozenset({Layer.PROCEDURAL})) == [procedure.record_id]


def test_what_is_saved_by_itself_waits_until_the_person_saves_it_too(sqlite_world: World) -> None:
    for number in (0, 1):
        learned(sqlite_world, number, *DEPLOY)
    (skill,) = library(sqlite_world).values()
    (procedure,) = proposed(sqlite_world)
    assert (procedure.state, procedure.metadata["workflow"]) == (State.CONSTRAINED, skill.name)
    learned(sqlite_world, 2, *DEPLOY)
    (stored,) = listed(sqlite_world)
    sqlite_world.operator.save_skill(ops.SaveSkill(suggestion=stored.suggestion_id))
    (after,) = proposed(sqlite_world)
    assert (after.record_id, after.state) == (procedure.record_id, State.ACTIVE)
    # What a person took back stays so.
    sqlite_world.rollback(after)
    sqlite_world.operator.save_skill(ops.SaveSkill(suggestion=stored.suggestion_id))
    assert [each.state for each in proposed(sqlite_world)] == [State.TOMBSTONED]


def asked_three_times(
    world: World, request: str, *commands: str, sessions: tuple[int, ...] = (1, 2, 3)
) -> list[Record]:
    """What is proposed when runs of these sessions were asked for something and made these calls."""
    for number in sessions:
        world.clock.advance(seconds=60)
        worked(world, request, *map(call, commands), session_id=f"talk-{number}")
        do_due_jobs(world.parts, kinds=ALL_KINDS)
    return proposed(world)


@pytest.mark.req("LAY-4", "SKL-14")
@pytest.mark.parametrize(
    "commands",
    [
        ("npm ci", "npm test"),
        ("make assets", "make site"),
        ("npm run lint", "npm run build"),
        ("go vet ./...", "go test ./..."),
        ("sh tools/stamp.sh", "sh tools/ship.sh"),
        ("make a", "make b", "make c", "make d", "make e"),
        ("sh deploy.sh",),
        ("./bin/rotate-keys",),
        ("npm run release",),
        ("just seed-demo",),
    ],
    ids=" ; ".join,
)
def test_three_equal_runs_are_remembered_once_where_they_are_no_skill_too(
    sqlite_world: World, commands: tuple[str, ...]
) -> None:
    assert asked_three_times(sqlite_world, "Bring the demo up", *commands, sessions=(1, 2)) == []
    (procedure,) = asked_three_times(sqlite_world, "Bring the demo up", *commands, sessions=(3,))
    suggest(sqlite_world)

    assert asked_three_times(sqlite_world, "Bring the demo up", *commands, sessions=(4, 5)) == [procedure]
    assert (procedure.layer, procedure.state) == (Layer.PROCEDURAL, State.CONSTRAINED)
    assert all(each in procedure.summary for each in commands)
    assert len(ids_of(procedure)) == 3


@pytest.mark.req("LAY-4")
@pytest.mark.parametrize(
    ("requests", "commands"),
    [
        (("Look around",), ("ls -la",)),
        (("Check it",), ("go test ./...",)),
        (("Where are we?",), ("git status",)),
        (("Build it",), ("npm run build",)),
        (("Build it",), ("make",)),
        (("Save it",), ("git add -A", "git commit -m x", "git push")),
        (("Is it up?",), ("curl https://status.example.org",)),
        (("Ship the shop", "Try the new key", "Warm the caches"), ("sh run.sh",)),
    ],
)
def test_what_any_project_runs_and_what_was_asked_for_otherwise_is_not_remembered(
    sqlite_world: World, requests: tuple[str, ...], commands: tuple[str, ...]
) -> None:
    for number in range(3):
        asked = requests[number % len(requests)]
        assert asked_three_times(sqlite_world, asked, *commands, sessions=(number,)) == []
    suggest(sqlite_world)

    assert proposed(sqlite_world) == []


@pytest.mark.req("LAY-4")
def test_what_was_brought_in_is_remembered_when_all_of_it_is_looked_at(sqlite_world: World) -> None:
    for name in ("a", "b", "c"):
        bring(sqlite_world, *session(name, told("Ship it, version 1.0", call("sh ship.sh"))), source=name)
    assert suggest(sqlite_world).new == ()
    suggest(sqlite_world)

    (procedure,) = proposed(sqlite_world)
    assert "sh ship.sh" in procedure.summary
