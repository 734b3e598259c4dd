"""What a run asks of a person: decided once, by whoever may, in this process or in another one."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from runlore.config.settings import Settings
from runlore.daemon.background.maintenance import enforce_policies
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind, ApprovalState
from runlore.domain.agent.approval_rules import ApprovalRules, Stance
from runlore.domain.policies.policy import PolicyName
from runlore.domain.run import RunStatus
from runlore.domain.scope import Scope, ScopeKind
from runlore.ports import operations as ops
from runlore.ports.operations import RunEventKind
from tests.flow.agent_deaths import Once, Unreadable, operator_on, operator_with
from tests.flow.agent_world import ASKING, AtWork, at_work
from tests.model_server import calls, says
from tests.waiting import PATIENCE_S
from tests.world import outcome

pytestmark = pytest.mark.req("AGT-4", "AGT-5")

TOUCH = calls("shell", {"command": "touch made.txt"})
QUESTION = calls("ask_user", {"question": "Which colour?"})


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def decide(work: AtWork, approval: Approval, **fields: object) -> Approval:
    """A person's word."""
    decision = ops.ApprovalDecision(approval_id=approval.approval_id, **fields)  # type: ignore[arg-type]
    return work.operator.decide_approval(decision)


def test_an_approved_call_is_made(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        asked = work.asked(run_id)

        assert work.status(run_id) is RunStatus.WAITING_FOR_APPROVAL
        assert (asked.kind, asked.tool, asked.arguments) == (
            ApprovalKind.CALL,
            "shell",
            {"command": "touch made.txt"},
        )
        assert asked.why == "no pattern allows `touch made.txt`"
        assert not (folder / "made.txt").exists()
        said = decide(work, asked, approve=True)

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert (said.state, said.decided_by) == (ApprovalState.APPROVED, "operator")
        assert (folder / "made.txt").exists()
        assert [word for word in work.told(run_id) if word in frozenset(RunStatus)] == [
            "waiting_for_approval",
            "running",
            "completed",
        ]


def test_a_denied_call_is_not_made_and_the_model_is_told(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, says("I did not."), rules=ASKING) as work:
        run_id = work.start()
        decide(work, work.asked(run_id), approve=False)

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert work.outputs(run_id) == ["the call was not made: a person was asked, and denied it"]
        assert not (folder / "made.txt").exists()


def test_a_question_waits_for_its_answer(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, QUESTION, says("Blue it is.")) as work:
        run_id = work.start()
        asked = work.asked(run_id)

        assert work.status(run_id) is RunStatus.WAITING_FOR_USER
        assert (asked.kind, asked.question) == (ApprovalKind.QUESTION, "Which colour?")
        decide(work, asked, answer=" blue ")

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert work.outputs(run_id) == ["blue"]


def test_what_is_asked_is_told_to_whoever_follows(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        told = []
        for event in work.operator.follow_run(ops.FollowRun(run_id=run_id)):
            if event.kind is RunEventKind.APPROVAL:
                told.append(event.data["state"])
                if event.data["state"] == "waiting":
                    approval_id = ApprovalId(str(event.data["approval_id"]))
                    work.operator.decide_approval(ops.ApprovalDecision(approval_id=approval_id, approve=True))

        assert told == ["waiting", "approved"]


def test_a_word_is_said_once(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, QUESTION, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        assert outcome(lambda: decide(work, asked, answer="yes")) == "approval.answer"
        assert outcome(lambda: decide(work, asked)) == "approval.answer"
        first = decide(work, asked, approve=True)
        assert decide(work, asked, approve=True) == first
        assert outcome(lambda: decide(work, asked, approve=False)) == "approval.decided"

        question = work.asked(run_id)
        assert outcome(lambda: decide(work, question, approve=True)) == "approval.answer"
        assert outcome(lambda: decide(work, question, answer=" ")) == "approval.answer"
        assert outcome(lambda: decide(work, question, answer="x" * 20_001)) == "approval.answer"
        answered = decide(work, question, answer="red")
        assert decide(work, question, answer="red") == answered
        assert outcome(lambda: decide(work, question, answer="green")) == "approval.decided"
        assert work.ended(run_id).run.status is RunStatus.COMPLETED


def test_one_of_two_people_decides(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        outcomes: list[str] = []
        people = [
            Thread(target=lambda yes=yes: outcomes.append(outcome(lambda: decide(work, asked, approve=yes))))
            for yes in (True, False)
        ]
        for person in people:
            person.start()
        for person in people:
            person.join()

        assert sorted(outcomes) == ["approval.decided", "done"]
        kept = work.operator.get_approval(asked.approval_id)
        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert (folder / "made.txt").exists() is (kept.state is ApprovalState.APPROVED)


@pytest.mark.req("OPS-4")
def test_another_process_decides(tmp_path: Path, postgres_database: str, folder: Path) -> None:
    settings = Settings(state_root=str(tmp_path / "home"), database_url=postgres_database)
    with at_work(settings, folder, TOUCH, says("Done."), rules=ASKING) as work:
        elsewhere = work.world.another()
        run_id = work.start()
        asked = work.asked(run_id, elsewhere)
        elsewhere.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, approve=True))

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert (folder / "made.txt").exists()


@pytest.mark.parametrize("script", [TOUCH, QUESTION], ids=["a call", "a question"])
def test_a_request_lapses_when_nobody_decides_in_time(
    settings: Settings, folder: Path, script: object
) -> None:
    with at_work(settings, folder, script, says("I go on."), rules=ASKING) as work:  # type: ignore[arg-type]
        run_id = work.start()
        asked = work.asked(run_id)
        # Whoever sets the machine's clock gives nobody more time.
        work.world.clock.set_right(timedelta(days=-1))
        work.world.clock.advance(seconds=3_601)

        assert work.ended(run_id).run.status is RunStatus.COMPLETED, "waiting is not the agent's own time"
        assert work.operator.get_approval(asked.approval_id).state is ApprovalState.LAPSED
        assert outcome(lambda: decide(work, asked, approve=True)) in ("approval.decided", "approval.answer")
        assert not (folder / "made.txt").exists()


ENDINGS: dict[str, Callable[[AtWork, ops.RunView], object]] = {
    "cancelled": lambda work, view: work.operator.cancel_run(view.run.run_id),
    "interrupted": lambda work, _: work.world.parts.agent.close(),
}


@pytest.mark.parametrize("script", [TOUCH, QUESTION], ids=["a call", "a question"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_request_lapses_with_its_run(settings: Settings, folder: Path, ending: str, script: object) -> None:
    with at_work(settings, folder, script, says("Never."), rules=ASKING) as work:  # type: ignore[arg-type]
        run_id = work.start()
        asked = work.asked(run_id)
        ENDINGS[ending](work, work.operator.get_run(run_id))

        assert work.ended(run_id).run.status == ending
        assert work.operator.get_approval(asked.approval_id).state is ApprovalState.LAPSED
        assert work.operator.list_approvals(ops.ApprovalsRequest()).items == ()
        assert len(work.server.requests) == 1
        assert not (folder / "made.txt").exists()


@pytest.mark.req("OPS-5")
def test_only_an_operator_decides_and_only_on_what_it_reaches(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        decision = ops.ApprovalDecision(approval_id=asked.approval_id, approve=True)
        for caller in map(work.world.caller, (ops.Role.AGENT, ops.Role.READER)):
            assert outcome(partial(caller.decide_approval, decision)) == "role.denied"
        reach = frozenset({Scope(ScopeKind.SESSION, "another")})
        stranger = ops.Caller(actor="guest", role=ops.Role.OPERATOR, scopes=reach)
        elsewhere = work.world.parts.operations(stranger)
        assert outcome(lambda: elsewhere.decide_approval(decision)) == "approval.not-found"
        assert outcome(lambda: elsewhere.get_approval(asked.approval_id)) == "approval.not-found"
        assert elsewhere.list_approvals(ops.ApprovalsRequest()).items == ()
        assert outcome(lambda: work.operator.get_approval(ApprovalId("apr_nobody"))) == "approval.not-found"

        decide(work, asked, approve=True)
        assert work.ended(run_id).run.status is RunStatus.COMPLETED


@pytest.mark.req("SCO-4")
@pytest.mark.parametrize("where", ["session", "persona"])
def test_what_the_session_leaves_out_is_neither_offered_nor_asked_about(
    settings: Settings, folder: Path, where: str
) -> None:
    scope = {"deny_tools": ["shell", "write_*"]}
    with at_work(settings, folder, TOUCH, says("No shell."), rules=ASKING) as work:
        session_id = work.talk("bound")
        if where == "session":
            work.operator.change_session(ops.SessionChange(session_id=session_id, capability_scope=scope))
        else:
            work.operator.put_persona(ops.PersonaChange(persona_id="careful", capability_scope=scope))  # type: ignore[arg-type]
            work.operator.change_session(ops.SessionChange(session_id=session_id, persona_id="careful"))  # type: ignore[arg-type]
        run_id = work.ask(session_id=session_id).run.run_id

        assert {"shell", "write_file"}.isdisjoint(work.server.requests[0].tools)
        assert "read_file" in work.server.requests[0].tools
        assert "there is no tool 'shell' here" in work.outputs(run_id)[0]
        assert not (folder / "made.txt").exists()


@pytest.mark.req("SCO-4")
def test_what_is_taken_away_while_a_run_goes_on_is_refused(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, QUESTION, TOUCH, says("Refused.")) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        work.operator.change_session(
            ops.SessionChange(session_id=work.talk(), capability_scope={"deny_tools": ["shell"]})
        )
        decide(work, asked, answer="go on")

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert "its capability scope leaves it out" in work.outputs(run_id)[1]
        assert not (folder / "made.txt").exists()


def test_a_denied_command_is_not_asked_about(settings: Settings, folder: Path) -> None:
    rules = ApprovalRules(shell=Stance.ASK, deny=("touch *",))
    with at_work(settings, folder, TOUCH, says("Denied."), rules=rules) as work:
        run_id = work.ask().run.run_id

        assert work.outputs(run_id) == [
            "the call was not made: `touch made.txt` is denied by the pattern `touch *`"
        ]
        assert work.world.tables()["approvals"] == []


def test_secrets_are_not_kept_with_a_request(settings: Settings, folder: Path) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    script = (calls("shell", {"command": f"curl -H 'Authorization: Bearer {secret}' http://localhost/"}),)
    with at_work(settings, folder, *script, QUESTION, says("Done."), rules=ASKING) as work:
        run_id = work.start()
        decide(work, work.asked(run_id), approve=False)
        decide(work, work.asked(run_id), answer=f"take {secret}")
        work.ended(run_id)

        assert len(work.world.tables()["approvals"]) == 2
        assert secret not in str(work.world.tables())
        assert not work.world.files_with(secret)


def test_nobody_is_asked_about_a_command_that_a_secret_would_hide(settings: Settings, folder: Path) -> None:
    """What a person would see is `mysql -p<redacted:command-password>`, and what is run makes a file."""
    script = (calls("shell", {"command": "mysql -phunter2;touch${IFS}made.txt"}), says("I did not."))
    with at_work(settings, folder, *script, rules=ASKING) as work:
        view = work.ask()

        assert view.run.status is RunStatus.COMPLETED
        assert "a person would have to approve it, and cannot" in work.outputs(view.run.run_id)[0]
        assert work.world.tables()["approvals"] == []
        assert not (folder / "made.txt").exists()


def test_a_store_that_cannot_be_read_for_a_moment_ends_no_wait(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, QUESTION, says("Blue it is.")) as work:
        store = Unreadable(work.world.parts.store)
        elsewhere = operator_with(work.world, store)
        session_id = work.talk()
        run_id = elsewhere.start_input(ops.NewInput(session_id=session_id, text="Paint it")).run.run_id
        asked = work.asked(run_id)
        store.fails(3)
        assert store.has_failed.wait(PATIENCE_S)
        decide(work, asked, answer="blue")

        assert [event.kind for event in work.events(run_id)][-1] is RunEventKind.END
        assert work.status(run_id) is RunStatus.COMPLETED
        assert work.outputs(run_id) == ["blue"]
        elsewhere.parts.agent.close()


def test_a_run_goes_on_and_asks_again_where_its_answer_could_not_be_taken(
    settings: Settings, folder: Path
) -> None:
    with at_work(settings, folder, QUESTION, QUESTION, says("Blue it is.")) as work:
        full = Once()
        elsewhere = operator_on(work.world, full)
        request = ops.NewInput(session_id=work.talk(), text="Paint it")
        run_id = elsewhere.start_input(request).run.run_id
        asked = work.asked(run_id)
        full.is_armed = True
        decide(work, asked, answer="red")
        again = next(
            waiting[0]
            for _ in work.operator.follow_run(ops.FollowRun(run_id=run_id))
            if (waiting := work.operator.list_approvals(ops.ApprovalsRequest(run_id=run_id)).items)
            and waiting[0].approval_id != asked.approval_id
        )
        decide(work, again, answer="blue")

        assert [event.kind for event in work.events(run_id)][-1] is RunEventKind.END
        assert work.status(run_id) is RunStatus.COMPLETED
        first, second = work.outputs(run_id)
        assert "the disk is full" in first
        assert second == "blue"
        elsewhere.parts.agent.close()


@pytest.mark.req("OPS-6")
def test_what_was_asked_goes_with_the_journal_of_its_run(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, QUESTION, says("Blue it is.")) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        decide(work, asked, answer="the colour of zanzibar")
        work.ended(run_id)
        work.operator.put_policy(
            ops.PolicyChange(name=PolicyName.RETENTION, policy={"journal_days": 1, "artifact_days": 1})
        )
        work.world.clock.advance(days=1)
        enforce_policies(work.world.parts, source="test")
        assert work.operator.get_approval(asked.approval_id).answer == "the colour of zanzibar"
        work.world.clock.advance(days=1)
        enforce_policies(work.world.parts, source="test")

        assert outcome(lambda: work.operator.get_approval(asked.approval_id)) == "approval.not-found"


def test_requests_are_listed_in_pages_the_oldest_first(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, TOUCH, rules=ASKING) as work:
        made = []
        for number in range(5):
            session_id = work.talk(f"talk-{number}", private=number % 2 == 1)
            made.append(work.asked(work.start(session_id=session_id)).approval_id)
            work.world.clock.advance(seconds=1)

        listed: list[ApprovalId] = []
        cursor = None
        while True:
            page = work.operator.list_approvals(ops.ApprovalsRequest(limit=2, cursor=cursor))
            listed += [each.approval_id for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert listed == made
