"""Promoted skills, executions and requests for the store's tests: plain ones, and any there could be."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.record import RecordId
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.skills.rollout import (
    Canary,
    Definition,
    Evidence,
    Execution,
    ExecutionKind,
    PromotedSkill,
    RolloutEvent,
    RolloutKind,
    RolloutMove,
    RolloutStatus,
    Runtime,
    SkillContext,
)
from tests.fakes import START
from tests.storage.kept_skills import provenances
from tests.storage.run_values import at, json_values, moments, texts

NAMES = ("build", "deploy-2", "release")
SOURCES = (RecordId("rec_1"), RecordId("rec_2"))
RUNS = tuple(RunId(f"run_{number}") for number in range(4))
SESSIONS = (SessionId("ses_1"), SessionId("ses_2"))


def told(name: str = "release", **fields: Any) -> Definition:
    """What a promoted skill says."""
    found = Definition(name=name, description="Releases it.", instructions="Run the tests.\nTag it.")
    return replace(found, **fields)


def kept_promoted(name: str = "release", **fields: Any) -> PromotedSkill:
    """A draft with the event that made it."""
    event = RolloutEvent(
        move=RolloutMove.PROMOTE,
        from_status=None,
        to_status=RolloutStatus.DRAFT,
        actor="ada",
        at=START,
        fingerprint="f1",
    )
    found = PromotedSkill(
        definition=told(name),
        status=RolloutStatus.DRAFT,
        fingerprint="f1",
        source_record_id=SOURCES[0],
        events=(event,),
        created_at=START,
        updated_at=START,
    )
    return replace(found, **fields)


def later(before: PromotedSkill, **fields: Any) -> PromotedSkill:
    """The same at its next revision."""
    return replace(before, **{"revision": before.revision + 1, "updated_at": at(before.revision), **fields})


def executed(number: int = 1, **fields: Any) -> Execution:
    """A trial."""
    found = Execution(
        run_id=RunId(f"run_{number}"),
        skill_name="release",
        fingerprint="f1",
        kind=ExecutionKind.TRIAL,
        at=at(number),
    )
    return replace(found, **fields)


def asked(number: int = 1, **fields: Any) -> Approval:
    """A request that waits."""
    found = Approval(
        approval_id=ApprovalId(f"apr_{number:02}"),
        run_id=RunId("run_1"),
        session_id=SESSIONS[0],
        kind=ApprovalKind.CALL,
        call_id=f"call {number}",
        tool="shell",
        arguments={"command": "make"},
        why="shell asks",
        created_at=at(number),
    )
    return replace(found, **fields)


_words = st.lists(texts, max_size=2).map(tuple)
_runs = st.sampled_from(RUNS)
_sessions = st.sampled_from(SESSIONS)
runtimes = st.builds(
    Runtime,
    context=st.sampled_from(SkillContext),
    agent_profile=texts,
    allowed_tools=_words,
    blocked_tools=_words,
    provider=texts,
    model=texts,
    fallback_model=texts,
)
definitions = st.builds(
    Definition,
    # Few names, so that they clash.
    name=st.sampled_from(NAMES),
    description=texts,
    instructions=texts,
    when_to_use=texts,
    version=texts,
    runtime=runtimes,
)
_evidence = st.builds(
    Evidence,
    kind=st.sampled_from(RolloutKind),
    run_id=_runs,
    success=st.booleans(),
    fingerprint=texts,
    at=moments,
    actor=texts,
    session_id=st.none() | _sessions,
    note=texts,
)
_events = st.builds(
    RolloutEvent,
    move=st.sampled_from(RolloutMove),
    from_status=st.none() | st.sampled_from(RolloutStatus),
    to_status=st.sampled_from(RolloutStatus),
    actor=texts,
    at=moments,
    fingerprint=texts,
    reason=texts,
    kind=st.none() | st.sampled_from(RolloutKind),
    run_id=st.none() | _runs,
    session_id=st.none() | _sessions,
    success=st.none() | st.booleans(),
)
promoted_skills = st.builds(
    PromotedSkill,
    definition=definitions,
    status=st.sampled_from(RolloutStatus),
    fingerprint=texts,
    source_record_id=st.sampled_from(SOURCES),
    provenance=provenances,
    canary=st.builds(Canary, sessions=st.lists(_sessions, max_size=2).map(tuple), share=st.integers(0, 100)),
    evidence=st.lists(_evidence, max_size=2).map(tuple),
    events=st.lists(_events, max_size=2).map(tuple),
    created_at=moments,
    updated_at=moments,
    revoked_reason=texts,
    revision=st.integers(1, 3),
)
executions = st.builds(
    Execution,
    run_id=_runs,
    skill_name=st.sampled_from(NAMES),
    fingerprint=st.sampled_from(("f1", "f2")),
    kind=st.sampled_from(ExecutionKind),
    at=moments,
    session_id=st.none() | _sessions,
    calling_run_id=st.none() | _runs,
)
approvals = st.builds(
    Approval,
    approval_id=st.integers(0, 6).map(lambda number: ApprovalId(f"apr_{number:02}")),
    run_id=_runs,
    session_id=_sessions,
    kind=st.sampled_from(ApprovalKind),
    state=st.sampled_from(ApprovalState),
    call_id=texts,
    tool=texts,
    arguments=st.dictionaries(texts, json_values, max_size=2),
    why=texts,
    question=texts,
    answer=texts,
    created_at=st.integers(0, 3).map(at),
    decided_at=st.none() | moments,
    decided_by=texts,
    revision=st.integers(1, 3),
)
