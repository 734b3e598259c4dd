"""What counts as support for a record: which texts of which runs, and whose word (POL-9)."""

from dataclasses import replace
from typing import Any

import pytest

from runlore.domain import limits
from runlore.domain.claims.support import Support
from runlore.domain.policies.learning_policy import LearningPolicy, Witness
from runlore.domain.policies.policy import PolicyName
from runlore.domain.prompts.run_memory import Capture, CaptureState
from runlore.domain.record import EvidenceRef, JsonObject, Kind, Record, RecordId, Source
from runlore.domain.run import Run, RunStatus
from runlore.domain.taint import TRUSTED, Provenance
from runlore.flow.pipeline.reviewing import evidence_sources
from runlore.flow.review.verification import support_for
from runlore.ports import operations as ops
from tests.flow.automation import CONTENT, captured, offered, put_policy
from tests.flow.capturing import WEB
from tests.world import World, decision

pytestmark = pytest.mark.req("POL-9")

SAYS_IT = f"Fact: {CONTENT}."
OUTSIDE = Provenance(untrusted=True, needs_review=True, sources=("https://example.org",))
FILLER = "We talked about the weather and the food. " * 20


@pytest.fixture(autouse=True)
def _quiet(world: World) -> None:
    """Nothing is captured by itself: each test says what was looked at."""
    put_policy(world, None, mode="manual_only")


def look(world: World, run: Run, provenance: Provenance = TRUSTED) -> None:
    """What capture notes of a run."""
    capture = Capture(
        run_id=run.run_id,
        session_id=run.session_id,
        opened_at=run.opened_at,
        state=CaptureState.COMPLETED,
        provenance=provenance,
    )
    with world.parts.store.transaction() as tx:
        tx.captures.put(capture)


def left_behind(world: World, run: Run) -> EvidenceRef:
    """Evidence that names a text which a run leaves behind."""
    artifact = world.operator.add_artifact(ops.NewArtifact(run_id=run.run_id, name="log", text=SAYS_IT))
    assert artifact is not None
    return EvidenceRef(run_id=run.run_id, artifact_id=artifact.artifact_id)


def support(world: World, record: Record, *witnesses: Witness, **fields: Any) -> Support:
    """What the evidence says of it, by these witnesses; the usual ones where none is named."""
    policy = LearningPolicy()
    if witnesses:
        policy = replace(policy, publication=replace(policy.publication, witnesses=witnesses))
    sources = evidence_sources(world.parts.run_memories, policy)
    with world.parts.store.snapshot() as snapshot:
        return support_for(snapshot, sources, record, **fields)


def test_the_request_supports_it(world: World) -> None:
    run = world.finished(SAYS_IT)

    assert support(world, captured(world, run)) is Support.SUPPORTED


@pytest.mark.req("POL-13")
def test_a_request_that_asks_for_a_change_supports_neither_what_was_nor_what_is_to_be(world: World) -> None:
    asked = world.finished("Please change the port from 8080 to 9090, and make sure the debug mode is off.")
    told = world.finished("The port is 8080, please open it.")

    assert support(world, captured(world, asked, "The port is 8080")) is Support.NONE
    assert support(world, captured(world, asked, "The debug mode is off")) is Support.NONE
    assert support(world, captured(world, told, "The port is 8080")) is Support.SUPPORTED


@pytest.mark.req("POL-13")
@pytest.mark.parametrize("is_looked_at", [True, False])
def test_an_agent_is_no_witness_of_its_own_word_unless_the_policy_says_so(
    world: World, is_looked_at: bool
) -> None:
    run = world.finished("Hello", SAYS_IT)
    record = captured(world, run)
    if is_looked_at:
        look(world, run)

    assert support(world, record) is Support.NONE
    assert support(world, record, Witness.USER, Witness.OUTCOMES) is Support.NONE
    assert support(world, record, *Witness) is Support.SUPPORTED


@pytest.mark.req("POL-13")
def test_outcomes_of_commands_are_witnesses_and_what_they_print_or_are_called_with_is_not(
    world: World,
) -> None:
    run = world.run("Hello")
    calls = [
        ("make test", SAYS_IT, 0),
        ("make lint", "", 1),
        (f"echo {CONTENT}", CONTENT, 0),
        ("cat notes.txt", SAYS_IT, 0),
        ("node --version", "v20.11.1", 0),
        ("cat VERSION.txt", "python 3.9.1", 0),
        ("make build | tail -1", "built", 0),
    ]
    for number, (command, output, code) in enumerate(calls):
        call_id = f"c{number}"
        call: JsonObject = {
            "type": "tool_call",
            "call_id": call_id,
            "name": "Bash",
            "arguments": {"command": command},
        }
        result: JsonObject = {"type": "tool_result", "call_id": call_id, "output": output, "exit_code": code}
        world.append(run, call, result)
    world.say(run, "make build works. Python is 3.9.1.")
    world.finish(run)
    run = world.operator.get_run(run.run_id).run
    expected = {
        "`make test` passes": True,
        "make test fails": False,
        "All tests pass": True,
        "The command `make lint` fails": True,
        "`make lint` exits with code 1": True,
        "make lint exits with code 0": False,
        "The version of node is 20.11.1": True,
        "node v20.11.1 is installed": True,
        "node is 18.0.0": False,
        "python 3.9.1 is installed": False,
        "`make build` works": False,
        CONTENT: False,
    }
    for statement, is_supported in expected.items():
        found = support(world, captured(world, run, statement))
        assert found is (Support.SUPPORTED if is_supported else Support.NONE), statement
        assert support(world, captured(world, run, statement), Witness.USER) is Support.NONE, statement


@pytest.mark.req("TNT-1")
def test_a_run_that_capture_has_not_come_to_is_read_for_what_came_in_from_outside(world: World) -> None:
    reading = world.run("Read the page")
    world.append(reading, WEB, {"type": "tool_result", "call_id": "1", "output": SAYS_IT})
    world.finish(reading)
    world.clock.advance(seconds=1)
    run = world.finished("What is it called?", SAYS_IT)

    assert support(world, captured(world, run), *Witness) is Support.NONE


@pytest.mark.req("LRN-12", "TNT-1")
@pytest.mark.parametrize(("provenance", "found"), [(TRUSTED, Support.SUPPORTED), (OUTSIDE, Support.NONE)])
def test_forgetting_an_earlier_run_leaves_what_was_known_of_it(
    world: World, provenance: Provenance, found: Support
) -> None:
    earlier = world.finished("Hello")
    look(world, earlier, provenance)
    world.clock.advance(seconds=1)
    run = world.finished("What is it called?", SAYS_IT)
    look(world, run)
    record = captured(world, run)

    world.operator.forget(decision(RecordId(earlier.run_id)))

    assert support(world, record, *Witness) is found


def test_a_failure_marker_supports_it(world: World) -> None:
    run = world.run("Deploy")
    world.finish(run, RunStatus.FAILED, error="The deploy host is unreachable")
    ended = world.operator.get_run(run.run_id).run
    look(world, ended)

    record = captured(world, ended, "The deploy host is unreachable")
    assert support(world, record, *Witness) is Support.SUPPORTED
    assert support(world, record) is Support.NONE


def test_terms_that_stand_in_different_fields_do_not(world: World) -> None:
    run = world.finished("Name the project", "The codename is Atlas")
    look(world, run)

    assert support(world, captured(world, run), *Witness) is Support.NONE


def test_a_long_request_loses_nothing_to_its_preview(world: World) -> None:
    run = world.finished(FILLER + SAYS_IT)
    memory = world.memory(run)
    assert memory is not None
    assert CONTENT not in str(memory.request_preview)

    assert support(world, captured(world, run)) is Support.SUPPORTED


def test_a_preview_that_is_cut_before_the_condition_does_not_mislead(world: World) -> None:
    content = " ".join(f"word{number}" for number in range(18))
    run = world.finished(f"{content} only if it rains and nothing else is planned on that very day")
    memory = world.memory(run)
    assert memory is not None
    assert content in str(memory.request_preview)

    assert support(world, captured(world, run, content)) is Support.NONE


def test_text_beyond_what_is_searched_is_not_found(world: World) -> None:
    run = world.finished("x " * (limits.SUPPORT_CHARS_MAX // 2) + SAYS_IT)

    assert support(world, captured(world, run)) is Support.NONE


def test_a_run_whose_memory_is_gone_is_still_told_by_its_journal(world: World) -> None:
    run = world.finished(SAYS_IT)
    world.parts.run_memories.delete(run.run_id)

    assert support(world, captured(world, run)) is Support.SUPPORTED


def test_a_memory_supports_it_when_the_journal_is_gone(world: World) -> None:
    run = world.finished(SAYS_IT)
    look(world, run)
    with world.parts.store.transaction() as tx:
        tx.journal.erase_run(run.run_id)

    assert support(world, captured(world, run)) is Support.SUPPORTED


def test_a_named_message_in_the_middle_of_the_run_counts_and_others_do_not(world: World) -> None:
    run = world.run("What is it called?")
    number = world.say(run, SAYS_IT, "Done").first_number
    world.finish(run)
    run = world.operator.get_run(run.run_id).run
    look(world, run)
    named = (EvidenceRef(run_id=run.run_id, event_number=number),)

    assert support(world, captured(world, run), *Witness) is Support.NONE
    assert support(world, captured(world, run, evidence_refs=named)) is Support.NONE
    assert support(world, captured(world, run, evidence_refs=named), *Witness) is Support.SUPPORTED


def test_a_named_event_of_another_run_does_not_count_for_this_one(world: World) -> None:
    other = world.finished(SAYS_IT)
    run = world.finished("Hello")
    named = (EvidenceRef(run_id=run.run_id, event_number=other.input_number),)

    assert support(world, captured(world, run, evidence_refs=named)) is Support.NONE


def test_what_a_tool_answered_is_no_support(world: World) -> None:
    run = world.run("Look it up")
    numbers = world.append(
        run,
        {"type": "tool_call", "call_id": "1", "name": "search", "arguments": {}},
        {"type": "tool_result", "call_id": "1", "output": SAYS_IT},
    )
    world.finish(run)
    run = world.operator.get_run(run.run_id).run
    look(world, run)
    named = (EvidenceRef(run_id=run.run_id, event_number=numbers.last_number),)

    assert support(world, captured(world, run, evidence_refs=named), *Witness) is Support.NONE


@pytest.mark.parametrize("is_named", [True, False])
def test_only_artifacts_that_the_evidence_names_are_looked_at(world: World, is_named: bool) -> None:
    run = world.run("Write a report")
    kept = left_behind(world, run)
    world.finish(run)
    run = world.operator.get_run(run.run_id).run
    look(world, run)
    named = kept if is_named else EvidenceRef(run_id=run.run_id, artifact_id="art_none")

    expected = Support.SUPPORTED if is_named else Support.NONE
    assert support(world, captured(world, run, evidence_refs=(named,)), *Witness) is expected
    assert support(world, captured(world, run, evidence_refs=(named,))) is Support.NONE


@pytest.mark.req("TNT-1")
@pytest.mark.parametrize("where", ["this run", "an earlier run"])
def test_what_came_in_from_outside_is_not_its_own_witness(world: World, where: str) -> None:
    earlier = world.finished("Hello")
    world.clock.advance(seconds=1)
    run = world.run("What is it called?")
    named = (left_behind(world, run),)
    world.say(run, SAYS_IT)
    world.finish(run)
    run = world.operator.get_run(run.run_id).run
    look(world, earlier, OUTSIDE if where == "an earlier run" else TRUSTED)
    look(world, run, OUTSIDE if where == "this run" else TRUSTED)
    asked = world.finished(SAYS_IT)
    look(world, asked, OUTSIDE)

    assert support(world, captured(world, run, evidence_refs=named), *Witness) is Support.NONE
    # What the user said is the user's own, whatever else the run read.
    assert support(world, captured(world, asked)) is Support.SUPPORTED


@pytest.mark.req("TNT-1")
@pytest.mark.parametrize("pasted", [f"Sum it up: ```\n{SAYS_IT}\n```", f"> a mail\n{SAYS_IT}"])
def test_what_was_pasted_into_a_request_is_not_its_own_witness(world: World, pasted: str) -> None:
    run = world.finished(pasted)
    look(world, run, OUTSIDE)

    assert support(world, captured(world, run)) is Support.NONE


def test_one_run_that_denies_it_takes_the_support_of_another_away(world: World) -> None:
    supporting, denying = world.finished(SAYS_IT), world.finished("The project codename is not Atlas.")
    both = tuple(EvidenceRef(run_id=run.run_id) for run in (supporting, denying))

    assert support(world, captured(world, supporting)) is Support.SUPPORTED
    assert support(world, captured(world, denying)) is Support.CONTRADICTED
    assert support(world, captured(world, supporting, evidence_refs=both)) is Support.NONE


@pytest.mark.req("POL-2", "POL-4")
@pytest.mark.parametrize("vouched", [True, False])
def test_what_a_caller_names_counts_only_where_somebody_answers_for_it(world: World, vouched: bool) -> None:
    run = world.finished(SAYS_IT)
    record = offered(world, source=Source(run_id=run.run_id), evidence_refs=(EvidenceRef(run_id=run.run_id),))

    expected = Support.SUPPORTED if vouched else Support.NONE
    assert support(world, record, vouched=vouched) is expected


def test_procedures_and_summaries_are_not_verified(world: World) -> None:
    run = world.finished(SAYS_IT)

    for kind in (Kind.PROCEDURE, Kind.RUN_SUMMARY):
        assert support(world, captured(world, run, kind=kind)) is Support.NONE


def test_runs_that_are_not_there_and_no_runs_at_all_support_nothing(world: World) -> None:
    run = world.finished(SAYS_IT)
    nowhere = (EvidenceRef(run_id="run_nowhere", event_number=1, artifact_id="art_nowhere"),)

    for source in (Source(), Source(run_id="run_nowhere")):
        record = captured(world, run, source=source, evidence_refs=nowhere if source.run_id else ())
        assert support(world, record) is Support.NONE


def test_run_memories_that_are_off_leave_the_journal(world: World) -> None:
    world.operator.put_policy(ops.PolicyChange(name=PolicyName.RUN_MEMORY, policy={"enabled": False}))
    run = world.finished(SAYS_IT)

    assert world.memory(run) is None
    assert support(world, captured(world, run)) is Support.SUPPORTED
