"""Rows in every table of a store, for what has to carry or check all of them."""

from dataclasses import replace
from datetime import timedelta

from runlore.domain.access import AccessToken, Role, TokenId
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.detectors.match import Heuristic
from runlore.domain.detectors.mined import MinedRun, Outcome, OutsideRead, Step, StepCommand, UserRequest
from runlore.domain.policies.policy import PolicyName, PolicyRevision
from runlore.domain.prompts.projection import Budget, Receipt, ReceiptEntry, ReceiptSection, SectionName
from runlore.domain.prompts.run_memory import Capture, CaptureState, RunMemory, pointer_to
from runlore.domain.record import Move, PolicyDecision, PublishTier, Record, RecordId, Source
from runlore.domain.run import Artifact, ArtifactId, MemoryState, ProcessId, Run, RunId, RunStatus
from runlore.domain.runs.job import Job, JobId, JobKind
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.runs.transcript import Position
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import Persona, PersonaId, Session, SessionId
from runlore.domain.skill import (
    Quality,
    Skill,
    SkillDocument,
    SkillEvent,
    SkillEventKind,
    SkillId,
    SkillOrigin,
    SkillUse,
    SuggestionId,
    UseOutcome,
)
from runlore.domain.skills.rollout import Definition, Execution, ExecutionKind, PromotedSkill, RolloutStatus
from runlore.domain.skills.skill_curation import Curation, CurationAction, CurationId, CurationKind
from runlore.domain.suggestion import (
    Parameter,
    Score,
    ScorePart,
    StoredSuggestion,
    Suggestion,
    SuggestionEvidence,
    Trigger,
)
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.worth.outcome import SaidOutcome
from runlore.ports.store import Answer, Store, Switch, Transaction
from tests.builders import appended, changed, confirmed, episode, fact, preference, proposed
from tests.fakes import START

SESSION = SessionId("ses_1")
# More than one whole copy of the record is kept on the way.
REVISIONS = 40
ODD_TEXT = "Grüße aus 東京 'x' \\ \n \x1f \N{PILE OF POO}"


def token(number: int = 1) -> AccessToken:
    """A token."""
    return AccessToken(
        token_id=TokenId(f"tok_{number}"),
        name=f"agent {number}",
        role=Role.AGENT,
        scopes=frozenset({WORKSPACE}),
        digest=f"digest {number}",
        created_at=START,
        created_by="operator",
    )


def job(number: int = 1, kind: JobKind = JobKind.REMEMBER) -> Job:
    """A job."""
    return Job(
        job_id=JobId(f"job_{number}"), kind=kind, subject=f"run_{number}", due_at=START, created_at=START
    )


def run(number: int = 1) -> Run:
    """A run that has ended and is remembered."""
    return Run(
        run_id=RunId(f"run_{number}"),
        session_id=SESSION,
        status=RunStatus.FAILED,
        agent="claude",
        input_number=number * 2 - 1,
        created_by="operator",
        opened_at=START,
        active_at=START,
        finished_at=START + timedelta(seconds=number),
        error=ODD_TEXT,
        memory=MemoryState.STORED,
    )


def memory(number: int = 1) -> RunMemory:
    """What is remembered of it."""
    return RunMemory(
        session_id=SESSION,
        run_id=RunId(f"run_{number}"),
        captured_at=START + timedelta(seconds=number),
        status=RunStatus.FAILED,
        summary=ODD_TEXT,
        scope_keys=(WORKSPACE,),
        capture=CaptureState.PENDING,
    )


def capture(number: int = 1) -> Capture:
    """What capture made of it: the first run read from outside."""
    outside = Provenance(untrusted=True, needs_review=True, sources=(ODD_TEXT, "web_fetch"))
    return Capture(
        run_id=RunId(f"run_{number}"),
        session_id=SESSION,
        opened_at=START,
        state=CaptureState.COMPLETED,
        provenance=outside if number == 1 else TRUSTED,
    )


def mined(number: int = 1) -> MinedRun:
    """What was mined of it: one command that worked."""
    run_id = RunId(f"run_{number}")
    command = StepCommand(text=f"make {ODD_TEXT}", form="make", topic="make", values=(ODD_TEXT,))
    return MinedRun(
        session_id=SESSION,
        run_id=run_id,
        agent="claude-code",
        project="acme",
        at=START,
        request=UserRequest(run_id=run_id, number=number * 2 - 1, at=START, text=ODD_TEXT, own=ODD_TEXT),
        steps=(
            Step(
                run_id=run_id,
                number=number * 2,
                at=START,
                text=f"make {ODD_TEXT}",
                outcome=Outcome.SUCCEEDED,
                exit_code=0,
                commands=(command,),
            ),
        ),
        outside=(OutsideRead(number=number * 2, source="web_fetch"),),
    )


def suggestion(number: int = 1) -> StoredSuggestion:
    """A skill that its runs suggest."""
    seen = SuggestionEvidence(
        session_id=SESSION, run_id=RunId(f"run_{number}"), event_numbers=(number * 2,), at=START
    )
    found = Suggestion(
        name=f"procedure-{number}",
        description=ODD_TEXT,
        heuristic=Heuristic.MULTI_STEP,
        pattern=f"make {number}",
        commands=(f"make {ODD_TEXT}",),
        trigger=Trigger(topic="make", actions=("build",)),
        body=ODD_TEXT * 3,
        evidence=(seen,),
        provenance=Provenance(untrusted=True, needs_review=True, sources=("web_fetch",)),
        score=Score(points=70, parts=(ScorePart(reason="it worked", points=70),)),
        parameters=(Parameter(name="target", examples=(ODD_TEXT,)),),
    )
    return StoredSuggestion(
        suggestion_id=SuggestionId(f"sug_{number}"), suggestion=found, created_at=START, updated_at=START
    )


def fill(store: Store, *, runs: int = 2) -> None:
    """Something in every table but `run_memories`, which is whoever's who keeps them."""
    with store.transaction() as tx:
        _fill_records(tx)
        _fill_runs(tx, runs)
        _fill_service(tx)


def _fill_records(tx: Transaction) -> None:
    first = proposed(fact(ODD_TEXT, record_id=RecordId("rec_first")))
    record: Record = confirmed(first.record).record
    tx.write([first, confirmed(first.record)])
    for number in range(REVISIONS):
        change = changed(record, Move.AMEND, confidence=number + 1)
        tx.write([change])
        record = change.record
    source = Source(record_ids=(record.record_id,), run_id="run_1", session_id=SESSION)
    derived = fact("Two", record_id=RecordId("rec_derived"), source=source)
    tx.write([proposed(derived), proposed(preference(), actor="ada"), appended(episode())])
    _fill_publications(tx)


def _fill_publications(tx: Transaction) -> None:
    """A learning that was published into another scope."""
    of_session = Scope(ScopeKind.SESSION, SESSION)
    waiting = proposed(fact("Three", record_id=RecordId("rec_moved"), scope=of_session))
    tx.write([waiting])
    published = changed(
        waiting.record,
        Move.CONFIRM,
        scope=WORKSPACE,
        publish_tier=PublishTier.PROVISIONAL,
        policy_decision=PolicyDecision.AUTOMATIC,
        policy_actor="daemon",
        automation_review={"rule": ODD_TEXT},
        published_at=START,
        expires_at=START + timedelta(days=2),
        revalidate_at=START + timedelta(days=1),
    )
    tx.write([published])


def _fill_runs(tx: Transaction, runs: int) -> None:
    persona = Persona(persona_id=PersonaId("ada"), name=ODD_TEXT, updated_at=START)
    tx.sessions.put_persona(persona, expected_revision=0)
    session = Session(
        session_id=SESSION, title=ODD_TEXT, created_by="operator", created_at=START, active_at=START
    )
    tx.sessions.insert(session)
    tx.sessions.update(replace(session, title="renamed", revision=2), expected_revision=1)
    for number in range(1, runs + 1):
        tx.runs.insert(run(number))
        entries = [
            Entry(type=EventType.INPUT, body={"text": ODD_TEXT}),
            Entry(type=EventType.ASSISTANT_MESSAGE, body={"text": f"reply {number}"}),
        ]
        tx.journal.append(SESSION, run(number).run_id, entries, START)
        tx.pointers.put([pointer_to(memory(number))])
        tx.runs.put_receipt(_receipt(number))
        tx.outcomes.put(run(number).run_id, START, SaidOutcome.GOOD)
        tx.captures.put(capture(number))
        tx.outside_words.record(run(number).run_id, START, {"https://example.org": [number, -number]})
        tx.mined_runs.put(mined(number))
        tx.suggestions.insert(suggestion(number))
        _fill_skills(tx, number)
        _fill_rollouts(tx, number)
        tx.runs.put_artifact(
            Artifact(
                artifact_id=ArtifactId(f"art_{number}"),
                run_id=run(number).run_id,
                session_id=SESSION,
                name="diff",
                text=ODD_TEXT * 10,
                created_at=START,
            )
        )


def skill(number: int = 1) -> Skill:
    """A skill that was learned from a suggestion."""
    document = SkillDocument(
        name=f"made-{number}",
        description=ODD_TEXT,
        body=ODD_TEXT,
        topics=(ODD_TEXT,),
        quality=Quality.DRAFT,
        metadata={"key": ODD_TEXT},
    )
    return Skill(
        skill_id=SkillId(f"skl_{number}"),
        document=document,
        origin=SkillOrigin.LEARNED,
        suggestion_id=SuggestionId(f"sug_{number}"),
        pattern=ODD_TEXT,
        created_at=START,
        updated_at=START,
    )


def _fill_skills(tx: Transaction, number: int) -> None:
    tx.skills.insert(skill(number))
    tx.skills.use(
        SkillUse(
            skill_id=SkillId(f"skl_{number}"), run_id=run(number).run_id, at=START, outcome=UseOutcome.FAILED
        )
    )
    tx.skills.log(
        SkillEvent(
            kind=SkillEventKind.SAVED,
            name=f"made-{number}",
            actor="runlore",
            at=START,
            reason=ODD_TEXT,
            skill_id=SkillId(f"skl_{number}"),
            suggestion_id=SuggestionId(f"sug_{number}"),
        )
    )
    action = CurationAction(
        kind=CurationKind.PRUNE,
        gone=SkillId(f"skl_{number}"),
        gone_name=f"made-{number}",
        reason=ODD_TEXT,
    )
    tx.curations.insert(
        Curation(
            curation_id=CurationId(f"cur_{number}"),
            at=START,
            actor="runlore",
            actions=(action,),
            before=(skill(number),),
            revisions=((SkillId(f"skl_{number}"), 2),),
            comment=ODD_TEXT,
        )
    )
    tx.curations.mark_undone(CurationId(f"cur_{number}"), actor="ada", at=START)


def _fill_rollouts(tx: Transaction, number: int) -> None:
    """A promoted skill that was changed once, a run that executed it, and a request that waits."""
    first = promoted(number)
    tx.promotions.put(first, expected_revision=None)
    tx.promotions.put(replace(first, revoked_reason="no", revision=2), expected_revision=1)
    ran = Execution(
        run_id=run(number).run_id,
        skill_name=first.name,
        fingerprint=first.fingerprint,
        kind=ExecutionKind.USE,
        at=START,
        session_id=SESSION,
        calling_run_id=run(number).run_id,
    )
    tx.promotions.add_execution(ran)
    tx.approvals.insert(
        Approval(
            approval_id=ApprovalId(f"apr_{number}"),
            run_id=run(number).run_id,
            session_id=SESSION,
            kind=ApprovalKind.CALL,
            tool="shell",
            arguments={"command": ODD_TEXT},
            created_at=START,
        )
    )


def promoted(number: int = 1) -> PromotedSkill:
    """A promoted skill."""
    return PromotedSkill(
        definition=Definition(name=f"promoted-{number}", description=ODD_TEXT, instructions=ODD_TEXT),
        status=RolloutStatus.DRAFT,
        fingerprint=f"fingerprint {number}",
        source_record_id=RecordId("rec_first"),
        created_at=START,
        updated_at=START,
    )


def _receipt(number: int) -> Receipt:
    entry = ReceiptEntry(source_id="rec_first", revision=1, score=3, tokens=5)
    section = ReceiptSection(
        name=SectionName.LEARNED_CONTEXT, tokens=5, truncated=False, digest="d", entries=(entry,)
    )
    budget = Budget(
        model_family=None,
        window_tokens=None,
        reserved_tokens=0,
        prompt_tokens=0,
        input_tokens=0,
        factor_percent=100,
        room_tokens=None,
    )
    return Receipt(
        run_id=run(number).run_id, at=START, renderer=1, sections=(section,), omissions=(), budget=budget
    )


def _fill_service(tx: Transaction) -> None:
    tx.tokens.insert(token())
    tx.jobs.put(job())
    tx.policies.put(
        PolicyRevision(
            name=PolicyName.RETENTION, revision=1, policy={"artifact_days": 7}, updated_at=START, actor="x"
        )
    )
    carried: dict[str, str | int] = {"session": ODD_TEXT, "runs": 3}
    position = Position(offset=7, line=3, fingerprint="f", carried=carried)
    tx.transcript_positions.put("digest", position, START, session_ids=[SESSION])
    tx.sessions.put_parent(SESSION, SessionId("ses_parent"))
    tx.model_use.begin("judge", "2026-01-01", calls_max=1, tokens_max=1)
    tx.counters.add({"big": 2**62, "small": -(2**62)})
    tx.counters.set_switch(Switch(name="capture.paused", on=True, at=START, actor="ada"))
    tx.counters.set_note("diagnostics", ODD_TEXT)
    tx.keep_answer("key", Answer(request_digest="d", records=((RecordId("rec_x"), 1),)), START)
    tx.processes.heartbeat(ProcessId("proc_1"), lease_until=START, description="a daemon")
