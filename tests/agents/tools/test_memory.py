"""Tools of memory: what a model may find, what it may propose, and what it notes for itself."""

import pytest

from runlore.agents.tools.toolbox import TOOLS
from runlore.domain.errors import RunloreError
from runlore.domain.record import EvidenceRef, JsonObject, Kind, PublishTier, Source, State
from runlore.domain.run import RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.taint_sources.calls import outside_of_call
from runlore.domain.taint_sources.kinds import WorkPlace
from runlore.domain.taint_sources.reading import read_outside
from runlore.ports import operations as ops
from tests.agents.tools.tooling import given, running, tool, use
from tests.world import World

pytestmark = pytest.mark.req("AGT-1")


def published(world: World, content: str, kind: Kind = Kind.FACT) -> str:
    """A learning that prompts may be given."""
    candidate = world.operator.create_candidate(ops.NewCandidate(kind=kind, content=content))
    return world.operator.publish(ops.Publication(record_id=candidate.record_id)).record_id


def test_a_search_finds_what_was_learned_with_its_id_and_words(world: World) -> None:
    record_id = published(world, "Releases are cut from the branch stable")
    published(world, "Tea is served at four")

    outcome = use(tool("memory_search", given(world)), {"query": "releases branch"})

    assert f"[learning {record_id}, " in outcome.output
    assert "Releases are cut from the branch stable" in outcome.output
    assert "Tea" not in outcome.output
    assert (outcome.is_error, outcome.source) == (False, "")


def test_a_search_that_finds_nothing_says_so(world: World) -> None:
    assert (
        use(tool("memory_search", given(world)), {"query": "zebra"}).output == "nothing is remembered of that"
    )


@pytest.mark.req("TNT-2")
def test_what_waits_for_review_is_counted_and_never_told(world: World) -> None:
    candidate = world.operator.create_candidate(
        ops.NewCandidate(kind=Kind.FACT, content="Releases are cut on Fridays")
    )
    world.operator.publish(
        ops.Publication(record_id=candidate.record_id, publish_tier=PublishTier.PROVISIONAL)
    )
    world.operator.create_candidate(ops.NewCandidate(kind=Kind.FACT, content="Releases are cut by hand"))

    output = use(tool("memory_search", given(world)), {"query": "releases"}).output

    assert "Friday" not in output
    assert "by hand" not in output
    assert "may not be told" in output


@pytest.mark.req("TNT-1")
@pytest.mark.parametrize("other", [False, True])
def test_words_of_another_sessions_run_count_as_read_from_outside(world: World, other: bool) -> None:
    run = running(world, "task", "Measure the zeppelin")
    world.agent.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    now = running(world, "elsewhere" if other else "task", "And now?")

    outcome = use(tool("memory_search", given(world, now)), {"query": "zeppelin"})

    assert f"[recovered_run {run.run_id}, " in outcome.output
    assert bool(outcome.source) is other
    # The source makes what is learned of this run untrusted, as the journal tells it.
    call: JsonObject = {
        "type": "tool_call",
        "call_id": "c1",
        "name": "memory_search",
        "arguments": {"query": "zeppelin"},
    }
    result = {"type": "tool_result", "call_id": "c1", "output": outcome.output}
    told: JsonObject = result if not outcome.source else {**result, "source": outcome.source}
    world.agent.append_events(ops.NewEvents(run_id=now.run_id, events=(call, told)))
    events = [event for event in world.journal(now.session_id) if event.run_id == now.run_id]
    assert read_outside(events, WorkPlace(is_ours=True)).tainted is other


def test_a_proposal_waits_for_review_with_its_run_as_source_and_evidence(world: World) -> None:
    run = running(world)
    proposing = tool("propose_learning", given(world, run))
    said = {"kind": "preference", "content": "The person wants short answers"}

    outcome = use(proposing, said)
    again = use(proposing, said)
    other = use(proposing, {**said, "content": "The person likes tea", "scope": "session"}, call_id="c2")

    (second, first) = world.operator.list_candidates(ops.CandidateRequest()).items
    assert outcome.output == f"proposed as {first.record_id}; it waits for review" == again.output
    assert (first.kind, first.summary, first.state) == (Kind.PREFERENCE, said["content"], State.CONSTRAINED)
    assert (first.scope, second.scope) == (WORKSPACE, Scope(ScopeKind.SESSION, run.session_id))
    assert first.source == Source(session_id=run.session_id, run_id=run.run_id)
    assert first.evidence_refs == (EvidenceRef(run_id=run.run_id),)
    assert second.record_id in other.output


def test_a_secret_is_refused_in_a_sentence_that_does_not_repeat_it(world: World) -> None:
    secret = "ghp_" + "R7kQz2LmX9vTb4NcY8wHs1JdG5fPa3EuK6oi"

    with pytest.raises(RunloreError) as caught:
        use(tool("propose_learning", given(world)), {"kind": "fact", "content": f"The token is {secret}"})

    assert secret not in caught.value.sentence + caught.value.hint


@pytest.mark.req("LAY-5")
def test_a_note_is_kept_for_the_run_alone_and_once(world: World) -> None:
    run = running(world)
    noting = tool("scratch", given(world, run))

    assert use(noting, {"note": "First look, then leap"}).output == "noted"
    use(noting, {"note": "First look, then leap"})

    assert [record.summary for record in world.agent.list_scratch(run.run_id)] == ["First look, then leap"]


@pytest.mark.req("TNT-1")
def test_no_tool_of_runlores_own_counts_as_unknown() -> None:
    # A reader that names no file shows nobody knows what.
    given = {name: {"path": "README.md"} if name.endswith("_file") else {} for name in TOOLS}
    found = {name: outside_of_call(name, given[name], place=WorkPlace(is_ours=True)) for name in TOOLS}
    assert found == dict.fromkeys(TOOLS, ())
