"""Everything that waits for a person is in one list, once, under one kind, and counted as it is listed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlore.daemon.app import Application
from runlore.daemon.background.jobs import ALL_KINDS, do_due_jobs
from runlore.daemon.overview import waiting_approvals
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.errors import Invalid
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import (
    OWN_WORDS,
    EvidenceRef,
    Kind,
    Origin,
    PolicyDecision,
    Proposal,
    PublishTier,
    Record,
    RecordId,
    State,
)
from runlore.domain.records.audit import DAEMON
from runlore.domain.run import RunId
from runlore.domain.runs.job import Job, JobId, JobKind, JobState
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.domain.skill import SuggestionId
from runlore.domain.taint import Provenance
from runlore.flow.review.inbox import waiting_for_review
from runlore.flow.review.waiting import Inbox
from runlore.ports import operations as ops
from runlore.ports.operations import InboxAct, InboxItem, InboxKind
from tests.builders import confirmed, fact, proposed
from tests.fakes import START
from tests.flow.capturing import allow, capture
from tests.flow.learning_acts import learning
from tests.flow.learnings import learn
from tests.flow.procedures import RECOVERY, RELEASE
from tests.flow.saved_skills import DEPLOY
from tests.flow.skills.test_detecting import worked
from tests.flow.telling import suggested
from tests.world import World

pytestmark = pytest.mark.req("SUR-9")

ELSEWHERE = Scope(ScopeKind.PROJECT, "elsewhere")
ALL = ops.InboxRequest()


def waits(world: World, *records: Record) -> None:
    """Records that wait as they are."""
    with world.parts.store.transaction() as tx:
        tx.write([proposed(record) for record in records])


def asks(world: World, number: int, **fields: Any) -> ApprovalId:
    """What a run asks."""
    session = world.session()
    approval = Approval(
        approval_id=ApprovalId(f"apr_{number}"),
        run_id=RunId("run_1"),
        session_id=SessionId(session.session_id),
        created_at=START + timedelta(seconds=number),
        **{"kind": ApprovalKind.CALL, "tool": "shell", "arguments": {"command": "make"}, **fields},
    )
    with world.parts.store.transaction() as tx:
        tx.approvals.insert(approval)
    return approval.approval_id


def given_up(world: World, subject: str) -> JobId:
    """A job that nobody tries any more."""
    job = Job(
        job_id=JobId(f"job_{subject}"),
        kind=JobKind.REVIEW,
        subject=subject,
        state=JobState.LEASED,
        attempts=5,
        due_at=START,
        lease_until=START + timedelta(seconds=9),
        holder="somebody",
        fence=1,
        created_at=START,
    )
    with world.parts.store.transaction() as tx:
        tx.jobs.put(job)
        tx.jobs.fail(job, error="it broke", retry_at=None)
    return job.job_id


def something_of_everything(world: World) -> None:
    """What can wait, twice of most, and beside it what does not."""
    escalated = {"policy_decision": PolicyDecision.ESCALATED}
    own = {"origin": Origin.DAEMON, "metadata": {**fact().metadata, OWN_WORDS: {"first": False}}}
    learn(world, fact("The port is 8080"))
    waits(
        world,
        fact("The port is 9090", record_id=RecordId("rec_clash")),
        fact("The port is 7070", record_id=RecordId("rec_escalated_clash"), **escalated),
        fact("The port is 8080", record_id=RecordId("rec_twin")),
        fact("The build takes an hour", record_id=RecordId("rec_escalated"), **escalated),
        fact("Paris is the site", record_id=RecordId("rec_folded"), **own),
        fact("Berlin is the site", record_id=RecordId("rec_there"), scope=ELSEWHERE),
        fact(
            "The wiki says so",
            record_id=RecordId("rec_outside"),
            provenance=Provenance(untrusted=True, needs_review=True, sources=("https://example.org",)),
        ),
    )
    held = fact("The door is blue", publish_tier=PublishTier.PROVISIONAL, **escalated)
    with world.parts.store.transaction() as tx:
        tx.write([proposed(held), confirmed(held)])
    learning(world, "This holds for now", revalidate_at=START + timedelta(seconds=1))
    for name in ("clean-build", "release"):
        suggested(world, name)
    asks(world, 1)
    asks(world, 2, kind=ApprovalKind.QUESTION, tool="", arguments={}, question="Which one?")
    given_up(world, "rec_a")
    given_up(world, "rec_b")
    world.clock.advance(seconds=2)


def test_the_mark_is_another_one_whenever_something_waits_that_did_not(world: World) -> None:
    """Whoever follows the inbox counts only then."""

    def mark() -> object:
        with world.parts.store.snapshot() as snapshot:
            approvals = waiting_approvals(world.parts, snapshot)
            return Inbox(snapshot, now=world.clock.now(), approvals=approvals).mark()

    seen = [mark()]
    for happens in (
        lambda: waits(world, fact("The door is green")),
        lambda: asks(world, 1),
        lambda: suggested(world, "clean-build"),
        lambda: given_up(world, "rec_a"),
    ):
        assert mark() == seen[-1]
        happens()
        assert mark() not in seen
        seen.append(mark())


def pages(by: Application, request: ops.InboxRequest) -> list[ops.InboxPage]:
    """A whole list, page by page."""
    told = [by.inbox(request)]
    while told[-1].next_cursor is not None:
        told.append(by.inbox(replace(request, cursor=told[-1].next_cursor)))
    return told


def items_of(told: Sequence[ops.InboxPage]) -> list[InboxItem]:
    """What the pages hold."""
    return [item for page in told for item in page.items]


def test_each_thing_is_listed_once_under_one_kind_whatever_the_size_of_a_page(world: World) -> None:
    something_of_everything(world)
    whole = world.operator.inbox(ALL)

    by_kind = {kind: [item for item in whole.items if item.kind is kind] for kind in InboxKind}
    assert {kind: len(found) for kind, found in by_kind.items()} == whole.counts
    assert {kind: len(found) for kind, found in by_kind.items()} == {
        InboxKind.APPROVAL: 2,
        InboxKind.CONFLICT: 2,
        InboxKind.ESCALATION: 2,
        InboxKind.REVALIDATION: 1,
        InboxKind.CANDIDATE: 4,
        InboxKind.SUGGESTION: 2,
        InboxKind.DEAD_LETTER: 2,
    }
    assert world.operator.status().waiting == len(whole.items) == sum(whole.counts.values())
    assert [item.id for item in by_kind[InboxKind.CANDIDATE]][-1] == "rec_folded", "the less sure come last"
    assert len({item.id for item in whole.items}) == len(whole.items)
    for limit in range(1, len(whole.items) + 1):
        told = pages(world.operator, replace(ALL, limit=limit))
        assert items_of(told) == list(whole.items), limit
        assert {len(page.items) for page in told[:-1]} <= {limit}
    for kind in InboxKind:
        told = pages(world.operator, replace(ALL, kinds=frozenset({kind}), limit=1))
        assert items_of(told) == by_kind[kind]
        assert all(page.counts == whole.counts for page in told)


def unsaved_sessions(world: World) -> None:
    """Three sessions with a procedure and a fix, of which nothing is saved by itself."""
    change = ops.PolicyChange(name=PolicyName.SKILLS, policy={"auto_save": {"enabled": False}})
    world.operator.put_policy(change)
    for calls in (RELEASE, RECOVERY):
        for number in range(3):
            world.clock.advance(seconds=60)
            worked(world, "Release the service", *calls, session_id=f"{calls[0].command}-{number}")
            do_due_jobs(world.parts, kinds=ALL_KINDS)


@pytest.mark.req("CAP-9", "SKL-6")
@pytest.mark.parametrize("is_saved", [True, False], ids=["saved", "skipped"])
def test_what_a_suggestion_proposed_is_no_item_beside_it_and_one_answer_decides_on_both(
    world: World, is_saved: bool
) -> None:
    unsaved_sessions(world)
    of_episodes = replace(waiting_for_review(world.clock.now()), proposals=frozenset({Proposal.EPISODES}))
    with world.parts.store.snapshot() as snapshot:
        proposals = snapshot.records.page(of_episodes, limit=9)
    assert {record.kind for record in proposals} == {Kind.PROCEDURE, Kind.FACT}

    (page,) = pages(world.operator, ALL)

    assert {kind: number for kind, number in page.counts.items() if number} == {InboxKind.SUGGESTION: 2}
    assert [item.kind for item in page.items] == [InboxKind.SUGGESTION] * 2
    assert world.operator.status().waiting == 2
    # Who sees no suggestions sees what they propose.
    limited = ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({WORKSPACE}))
    there = Application(world.parts, limited).inbox(ALL)
    assert {item.id for item in there.items} == {record.record_id for record in proposals}
    for number, item in enumerate(page.items, start=1):
        if is_saved:
            world.operator.save_skill(ops.SaveSkill(suggestion=item.id, accept_untrusted=True))
        else:
            world.operator.skip_suggestion(SuggestionId(item.id))
        assert world.operator.status().waiting == len(items_of(pages(world.operator, ALL))) == 2 - number
    ended = State.ACTIVE if is_saved else State.TOMBSTONED
    assert {world.record(record).state for record in proposals} == {ended}


@pytest.mark.req("CAP-9")
def test_what_was_saved_by_itself_leaves_its_procedure_to_a_person(sqlite_world: World) -> None:
    for number in range(3):
        sqlite_world.clock.advance(seconds=60)
        worked(sqlite_world, "Release the service", *DEPLOY, session_id=f"talk-{number}")
        do_due_jobs(sqlite_world.parts, kinds=ALL_KINDS)

    (item,) = sqlite_world.operator.inbox(ALL).items

    assert (item.kind, sqlite_world.operator.status().waiting) == (InboxKind.CANDIDATE, 1)


@pytest.mark.req("LRN-14", "LRN-13")
def test_an_item_says_why_it_waits_what_is_in_use_now_and_what_can_be_said_to_it(world: World) -> None:
    something_of_everything(world)
    found = {item.id: item for item in world.operator.inbox(ALL).items}

    clash, twin, outside = found["rec_clash"], found["rec_twin"], found["rec_outside"]
    assert [each.title for each in clash.against] == ["The port is 8080"]
    assert clash.why == "contradicts what is in use: The port is 8080"
    assert clash.acts == (InboxAct.REPLACE, InboxAct.BOTH_HOLD, InboxAct.REJECT)
    assert twin.why == "says the same as what is in use: The port is 8080"
    assert (outside.outside, clash.outside) == (("https://example.org",), ())
    assert found["apr_1"].acts == (InboxAct.APPROVE, InboxAct.DENY)
    assert (found["apr_2"].title, found["apr_2"].acts) == ("Which one?", (InboxAct.ANSWER,))
    assert found["job_rec_a"].why == "given up after 5 attempts: it broke"
    assert all(item.why and item.title and item.acts for item in found.values())
    decided = ops.Decision(
        record_id=RecordId("rec_clash"),
        both_hold=tuple(each.record_id for each in clash.against),
        expected_revision=clash.revision,
    )
    world.operator.confirm(decided)
    assert "rec_clash" not in {item.id for item in world.operator.inbox(ALL).items}


def test_what_a_run_says_is_told_apart_from_what_agents_did(sqlite_world: World) -> None:
    world = sqlite_world
    allow(world)
    world.finished("Fact: the mast is high")
    capture(world)
    shown = (EvidenceRef(run_id="run_1"), EvidenceRef(run_id="run_2"))
    by_daemon = {"origin": Origin.DAEMON, "created_by": DAEMON}
    done = fact("Run make ship", evidence_refs=shown, proposal=Proposal.EPISODES, **by_daemon)
    waits(world, done)

    whys = {item.title: item.why for item in world.operator.inbox(ALL).items}

    assert whys == {
        "Run make ship": "your agents did it in 2 runs",
        "the mast is high": "taken from 1 run",
    }


def test_a_token_for_some_scopes_sees_what_waits_there_and_nothing_that_belongs_to_all(world: World) -> None:
    something_of_everything(world)
    limited = ops.Caller(actor="ci", role=ops.Role.OPERATOR, scopes=frozenset({ELSEWHERE}))

    told = Application(world.parts, limited).inbox(ALL)

    assert [item.id for item in told.items] == ["rec_there"]
    assert sum(told.counts.values()) == 1


@pytest.mark.parametrize("waiting", [0, 1, 200, pytest.param(10_000, marks=pytest.mark.soak)])
def test_however_much_waits_every_page_is_bounded_and_all_of_it_is_told(
    sqlite_world: World, waiting: int
) -> None:
    world = sqlite_world
    waits(world, *(fact(f"The number {number} waits") for number in range(waiting)))

    told = pages(world.operator, replace(ALL, limit=7))

    assert len(items_of(told)) == waiting == told[0].counts[InboxKind.CANDIDATE]
    assert all(len(page.items) <= 7 for page in told)


def test_what_is_decided_between_two_pages_hides_nothing_else(world: World) -> None:
    something_of_everything(world)
    whole = [item.id for item in world.operator.inbox(ALL).items]
    for limit in range(1, 8):
        page = world.operator.inbox(replace(ALL, limit=limit))
        last = page.items[-1]
        if last.kind is InboxKind.CANDIDATE:
            world.operator.reject(ops.Decision(record_id=RecordId(last.id)))
        rest = items_of(pages(world.operator, replace(ALL, cursor=page.next_cursor)))
        assert [item.id for item in rest] == whole[whole.index(last.id) + 1 :]


@pytest.mark.parametrize("cursor", ["", "x", "1:2", "1:x:rec", "-1:2:rec", "1:" + "9" * 40 + ":rec"])
def test_a_cursor_of_another_list_is_refused(sqlite_world: World, cursor: str) -> None:
    with pytest.raises(Invalid, match="not one that this list gave"):
        sqlite_world.operator.inbox(replace(ALL, cursor=cursor))
