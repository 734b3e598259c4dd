"""What an agent says counts as far as its own conversation goes; for everybody else, a person looks at it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from runlore.domain.record import (
    EvidenceRef,
    JsonObject,
    Kind,
    Layer,
    PublishTier,
    Record,
    Source,
    State,
    VerificationStatus,
)
from runlore.domain.run import ArtifactId, RunId, RunStatus
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports import operations as ops
from tests.builders import ACME
from tests.flow.automation import put_policy, work
from tests.flow.learning_acts import candidate
from tests.world import World, found, outcome

pytestmark = pytest.mark.req("TNT-1", "TNT-2")

PAGE = "https://e.org/page"
FETCH: JsonObject = {"type": "tool_call", "call_id": "1", "name": "WebFetch", "arguments": {"url": PAGE}}
CLEAN, READ = (Scope(ScopeKind.SESSION, name) for name in ("clean", "read"))
CONTENT = "The deploy host is build7"


def spoken(world: World, session: Scope, request: str = "Go", *events: JsonObject) -> RunId:
    """A run of the agent's that has ended."""
    made = world.agent.create_session(ops.NewSession(session_id=SessionId(session.id)))
    world.clock.advance(seconds=1)
    run = world.agent.open_run(ops.NewRun(session_id=made.session_id, request=request)).run
    if events:
        world.agent.append_events(ops.NewEvents(run_id=run.run_id, events=events))
    world.agent.add_artifact(
        ops.NewArtifact(run_id=run.run_id, name="log", text="said", artifact_id=ArtifactId(f"a-{session.id}"))
    )
    world.agent.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
    return run.run_id


def proposes(by: Any, scope: Scope) -> Record:
    """A preference is proposed."""
    proposal = ops.ProfileProposal(key="host", value="build7", reason="said so", scope=scope)
    record: Record = by.propose_profile(proposal)
    return record


def tells(by: Any, scope: Scope) -> Record:
    """An experiment is told."""
    episode = ops.Episode(kind=Kind.EXPERIMENT, summary=CONTENT, scope=scope)
    record: Record = by.add_episode(episode)
    return record


def creates(by: Any, scope: Scope) -> Record:
    """A candidate is created."""
    return candidate(by, CONTENT, scope=scope)


WRITES = [proposes, tells, creates]


@pytest.mark.parametrize("write", WRITES)
def test_whatever_an_agent_writes_is_as_trusted_as_the_conversation(
    world: World, write: Callable[[Any, Scope], Record]
) -> None:
    spoken(world, CLEAN)
    noted = "agent claude named no run"
    assert write(world.agent, WORKSPACE).provenance == Provenance(sources=(noted,))
    spoken(world, READ, "Read it", FETCH)
    unnamed = Provenance(untrusted=True, needs_review=True, sources=(noted, PAGE))

    assert write(world.agent, CLEAN).provenance == TRUSTED
    tainted = write(world.agent, READ)
    assert tainted.provenance == Provenance(untrusted=True, needs_review=True, sources=(PAGE,))
    assert write(world.agent, WORKSPACE).provenance == unnamed
    assert write(world.agent, ACME).provenance == unnamed
    for scope in (CLEAN, READ, WORKSPACE):
        assert write(world.operator, scope).provenance == TRUSTED
    if tainted.state is State.CONSTRAINED:
        assert outcome(partial(world.confirm, tainted)) == "review.untrusted"
        assert world.confirm(tainted, accept_untrusted=True).state is State.ACTIVE


def test_what_an_agent_brings_by_radar_is_from_outside_with_its_scan(world: World) -> None:
    for by, is_outside in ((world.agent, True), (world.operator, False)):
        finding = found(by, "Tools can be cached", source_url=PAGE)
        scan = world.record(world.active(layers=frozenset({Layer.EPISODIC}))[0])
        assert finding.provenance == Provenance(
            untrusted=is_outside, needs_review=is_outside, sources=(PAGE,)
        )
        assert scan.kind is Kind.SCAN
        assert scan.provenance == (finding.provenance if is_outside else TRUSTED)


@pytest.mark.parametrize("named", ["run", "artifact"])
def test_evidence_brings_along_what_its_run_has_read(world: World, named: str) -> None:
    clean, read = spoken(world, CLEAN), spoken(world, READ, "Read it", FETCH)
    evidence = {
        "run": EvidenceRef(run_id=read),
        "artifact": EvidenceRef(artifact_id="a-read"),
    }[named]
    said = {"scope": CLEAN, "source": Source(run_id=clean), "evidence_refs": (evidence,)}

    record = candidate(world.agent, CONTENT, **said)

    assert record.provenance == Provenance(untrusted=True, needs_review=True, sources=(PAGE,))
    own = EvidenceRef(run_id=clean, artifact_id="a-clean")
    assert candidate(world.agent, CONTENT, **{**said, "evidence_refs": (own,)}).provenance == TRUSTED
    assert candidate(world.operator, CONTENT, **said).provenance == TRUSTED


@pytest.mark.req("POL-4", "POL-9")
@pytest.mark.parametrize("scope", [WORKSPACE, ACME], ids=str)
def test_an_agent_is_no_witness_of_what_it_says_to_everybody(world: World, scope: Scope) -> None:
    trusting = {"allow_api_origin_active_publication": True}
    put_policy(world, publication=trusting)
    run = spoken(world, CLEAN, f"Fact: {CONTENT}.")
    said = {"source": Source(session_id="clean", run_id=run), "evidence_refs": (EvidenceRef(run_id=run),)}

    record = candidate(world.agent, CONTENT, scope=scope, **said)
    work(world)

    after = world.record(record)
    assert after.provenance == Provenance(sources=(f"agent claude, for {scope}",))
    assert (after.publish_tier, after.verification_status) == (
        PublishTier.PROVISIONAL,
        VerificationStatus.UNVERIFIED,
    )
    world.operator.revoke(ops.Decision(record_id=record.record_id))
    operators = candidate(world.operator, CONTENT, scope=scope, **said)
    work(world)
    assert world.record(operators).publish_tier is PublishTier.ACTIVE
