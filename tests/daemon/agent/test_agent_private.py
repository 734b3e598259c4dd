"""Inputs of which nothing is stored: they are worked as any other, and leave nothing behind."""

from pathlib import Path

import pytest

from runlore.config.settings import Settings
from runlore.domain.agent.approval import ApprovalId
from runlore.domain.agent.conversation import AssistantSaid, UserSaid
from runlore.domain.project import folder_id
from runlore.domain.run import RunStatus
from runlore.ports import operations as ops
from runlore.ports.operations import RunEventKind
from tests.flow.agent_world import ASKING, AtWork, Held, at_work
from tests.model_server import calls, says
from tests.world import Tables, outcome

pytestmark = pytest.mark.req("AGT-5", "JRN-1")

WORD = "zanzibar"
SCRIPT = (
    says(f"I think of {WORD}.") + calls("shell", {"command": f"echo {WORD} > made.txt"}),
    calls("ask_user", {"question": f"Is it {WORD}?"}),
    calls("scratch", {"note": WORD}),
    calls("propose_learning", {"kind": "fact", "content": f"It is {WORD}"}),
    says(f"It was {WORD}."),
)


@pytest.fixture
def folder(disk_path: Path) -> Path:
    """A working folder, on a disk."""
    return disk_path / "work"


def stored(work: AtWork) -> Tables:
    """All that is stored but for which processes there are."""
    tables = work.world.tables()
    del tables["processes"]
    return tables


def decided(work: AtWork, run_id: str) -> list[str]:
    """Follow a run and say yes to everything; the kinds of what it told."""
    told = []
    for event in work.operator.follow_run(ops.FollowRun(run_id=run_id)):  # type: ignore[arg-type]
        told.append(event.kind.value)
        if event.kind is RunEventKind.APPROVAL and event.data["state"] == "waiting":
            is_question = event.data["kind"] == "question"
            work.operator.decide_approval(
                ops.ApprovalDecision(
                    approval_id=event.data["approval_id"],  # type: ignore[arg-type]
                    approve=None if is_question else True,
                    answer=f"yes, {WORD}" if is_question else None,
                )
            )
    return told


def test_a_private_session_is_worked_and_nothing_of_it_is_stored(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, *SCRIPT, rules=ASKING) as work:
        session_id = work.talk("secretly", private=True)
        before = stored(work)
        run_id = work.start(f"Tell me about {WORD}", session_id=session_id)
        told = decided(work, run_id)

        run = work.operator.get_run(run_id)
        assert (run.run.status, run.stored) == (RunStatus.COMPLETED, False)
        assert told.count("approval") == 4
        assert told.count("journal") == 15
        assert (folder / "made.txt").read_text().strip() == WORD
        assert stored(work) == before
        assert work.world.files_with(WORD) == []
        outputs = [said.output for said in work.server.requests[-1].conversation if hasattr(said, "output")]
        assert outputs[1:3] == [f"yes, {WORD}", "nothing of this session is stored"]
        assert f"nothing of '{run_id}' is stored" in outputs[3]


def test_a_private_session_goes_on_while_its_process_lives(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Hello."), says("Again.")) as work:
        session_id = work.talk("secretly", private=True)
        for text in ("One?", "Two?"):
            work.ask(text, session_id=session_id)

        assert work.server.requests[1].conversation == (
            UserSaid(text="One?"),
            AssistantSaid(text="Hello."),
            UserSaid(text="Two?"),
        )


def test_the_last_event_of_a_private_run_has_its_answer(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, says("Hello.")) as work:
        run_id = work.ask(session_id=work.talk("secretly", private=True)).run.run_id
        end = work.events(run_id)[-1]

        assert (end.kind, end.data["final_output"], end.data["detected"]) == (RunEventKind.END, "Hello.", [])


def test_a_private_run_is_cancelled(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, *SCRIPT, rules=ASKING) as work:
        run_id = work.start(session_id=work.talk("secretly", private=True))
        asked = work.asked(run_id)
        assert work.operator.get_run(run_id).run.status is RunStatus.WAITING_FOR_APPROVAL
        assert (
            outcome(lambda: work.operator.finish_run(ops.RunEnd(run_id=run_id, status=RunStatus.COMPLETED)))
            == "run.executed"
        )

        assert work.operator.cancel_run(run_id).run.status is RunStatus.CANCELLED
        assert outcome(lambda: work.operator.get_approval(asked.approval_id)) == "approval.not-found"
        assert not (folder / "made.txt").exists()


def test_where_capture_is_paused_nothing_more_of_a_run_is_stored(settings: Settings, folder: Path) -> None:
    with at_work(settings, folder, calls("ask_user", {"question": "Go on?"}), says(f"It is {WORD}.")) as work:
        run_id = work.start()
        asked = work.asked(run_id)
        work.operator.pause_capture()
        work.operator.decide_approval(ops.ApprovalDecision(approval_id=asked.approval_id, answer="yes"))

        assert work.ended(run_id).run.status is RunStatus.COMPLETED
        assert work.world.files_with(WORD) == []
        assert WORD not in str(work.world.tables())


def test_where_capture_is_paused_what_a_run_asks_is_told_and_not_stored(
    settings: Settings, folder: Path
) -> None:
    held = Held(
        lambda _: says(f"I think of {WORD}.") + calls("shell", {"command": f"echo {WORD} > made.txt"})
    )
    with at_work(settings, folder, held, says(f"It is {WORD}."), rules=ASKING) as work:
        run_id = work.start()
        held.wait()
        work.operator.pause_capture()
        following = work.operator.follow_run(ops.FollowRun(run_id=run_id))
        # What is not stored is told to whoever listens already.
        told = [next(following)]
        held.let_go.set()
        for event in following:
            told.append(event)
            if event.kind is RunEventKind.APPROVAL and event.data["state"] == "waiting":
                approval_id = ApprovalId(str(event.data["approval_id"]))
                assert (
                    work.operator.get_approval(approval_id).arguments["command"] == f"echo {WORD} > made.txt"
                )
                work.operator.decide_approval(ops.ApprovalDecision(approval_id=approval_id, approve=True))

        assert work.status(run_id) is RunStatus.COMPLETED
        assert (folder / "made.txt").exists()
        messages = [event for event in told if event.data.get("type") == "assistant_message"]
        assert [event.data["body"] for event in messages] == [
            {"text": f"I think of {WORD}."},
            {"text": f"It is {WORD}."},
        ]
        assert work.world.tables()["approvals"] == []
        assert WORD not in str(work.world.tables())


@pytest.mark.req("LRN-8")
def test_the_answer_of_a_private_run_is_told_without_secrets(settings: Settings, folder: Path) -> None:
    secret = "Zk39x0Qm71LpRt5wUy8bAA"
    with at_work(settings, folder, says(f"It is API_KEY={secret} then.")) as work:
        events = work.events(work.start(session_id=work.talk("secretly", private=True)))

        assert events[-1].data["final_output"] == "It is API_KEY=<redacted:assignment> then."
        assert secret not in str(events)


def test_a_folder_that_says_no_is_worked_in_privately(settings: Settings, folder: Path) -> None:
    script = (calls("shell", {"command": f"echo {WORD} > made.txt"}), says("Done."))
    with at_work(settings, folder, *script) as work:
        work.operator.put_folder(ops.FolderChange(folder_id=folder_id(str(folder)), capture=False))
        view = work.ask(f"Think of {WORD}", session_id=work.talk())

        assert (view.run.status, view.stored) == (RunStatus.COMPLETED, False)
        assert (folder / "made.txt").exists()
        assert work.world.files_with(WORD) == []
