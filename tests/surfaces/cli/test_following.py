"""Following a run: Ctrl-C stops what one has begun, and leaves what one only looks at; others may decide."""

import signal
import threading
from collections.abc import Callable, Iterator
from typing import cast

import pytest
import typer

from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.cli.run import looked_at, work_run
from runlore.daemon import answers
from runlore.domain.agent.approval import Approval, ApprovalId, ApprovalKind
from runlore.domain.errors import Conflict, Denied, NotFound, RunloreError
from runlore.domain.run import Run, RunId, RunStatus
from runlore.domain.session import SessionId
from runlore.ports import operations as ops
from tests.fakes import START

pytestmark = pytest.mark.req("AGT-1", "SUR-7")
RUN = RunId("r")
BEAT = ops.RunEvent(kind=ops.RunEventKind.BEAT, data={})
ASKED = Approval(
    approval_id=ApprovalId("ask"),
    run_id=RUN,
    session_id=SessionId("s"),
    kind=ApprovalKind.CALL,
    tool="shell",
    arguments={"command": "ls"},
    created_at=START,
)


def press() -> None:
    """Ctrl-C."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def end(status: RunStatus) -> ops.RunEvent:
    """The last event of a run."""
    run = Run(
        run_id=RUN,
        session_id=SessionId("s"),
        status=status,
        input_number=1,
        created_by="operator",
        opened_at=START,
        active_at=START,
    )
    ended = ops.RunEnded(view=ops.RunView(run=run, request="Go"), final_output="")
    return ops.RunEvent(kind=ops.RunEventKind.END, data=answers.write(ended))


class Scripted:
    """A run that ends when it is stopped, unless it is stubborn; whoever asks for that may be pressed."""

    def __init__(self, *events: ops.RunEvent, is_stubborn: bool = False, pressed: bool = False) -> None:
        self.cancelled: list[str] = []
        self.decided: list[ops.ApprovalDecision] = []
        self.refusal: RunloreError | None = None
        self._events = events
        self._is_stubborn = is_stubborn
        self._pressed = pressed
        self._stopped = threading.Event()

    def follow_run(self, _request: ops.FollowRun) -> Iterator[ops.RunEvent]:
        """What was told to happen, then nothing, until it is stopped."""
        if self._pressed:
            press()
        yield from self._events
        while not self._stopped.is_set():
            yield BEAT
        yield end(RunStatus.CANCELLED)

    def cancel_run(self, run_id: str) -> None:
        """It ends, or goes on."""
        self.cancelled.append(run_id)
        if self._is_stubborn:
            press()
        else:
            self._stopped.set()

    def decide_approval(self, decision: ops.ApprovalDecision) -> None:
        """Hear a decision, or refuse it."""
        self.decided.append(decision)
        if self.refusal is not None:
            raise self.refusal

    def list_approvals(self, _request: ops.ApprovalsRequest) -> ops.ApprovalPage:
        """Not for everybody."""
        raise Denied("an agent may not oversee", code="role.denied", hint="ask somebody")


Follow = Callable[[Scripted], ops.RunEnded]


def asking(screen: Screen) -> ApprovalPrompt:
    """Nobody is there."""
    return ApprovalPrompt(screen, yes=False, is_terminal=False)


def begun(run: Scripted, begin: Callable[[], RunId] = lambda: RUN) -> ops.RunEnded:
    """A run of one's own, followed to its end."""
    screen = Screen(hidden=True)
    return work_run(cast("ops.Operations", run), begin, screen, asking(screen))


def looked(run: Scripted) -> ops.RunEnded:
    """Somebody else's."""
    screen = Screen(hidden=True)
    return looked_at(cast("ops.Operations", run), RUN, screen, asking(screen))


@pytest.mark.parametrize(
    ("follow", "cancelled"), [(begun, ["r"]), (looked, [])], ids=["one's own", "somebody else's"]
)
def test_who_leaves_is_let_go_and_stops_nobody_else(follow: Follow, cancelled: list[str]) -> None:
    run, before = Scripted(is_stubborn=True, pressed=True), signal.getsignal(signal.SIGINT)

    with pytest.raises(typer.Exit) as left:
        follow(run)

    assert left.value.exit_code == 130
    assert run.cancelled == cancelled
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_a_run_begins_stops_it_once_it_has() -> None:
    run = Scripted()

    def begin() -> RunId:
        press()
        return RUN

    assert begun(run, begin).view.run.status is RunStatus.CANCELLED
    assert run.cancelled == ["r"]


@pytest.mark.req("OPS-5", "AGT-4")
@pytest.mark.parametrize(
    "refusal",
    [
        Conflict("it is decided already", code="approval.decided", hint="nothing is left to do"),
        NotFound("there is no such request", code="approval.not-found", hint="look"),
        Denied("an agent may not decide", code="role.denied", hint="ask somebody"),
    ],
    ids=lambda error: error.code,
)
def test_whoever_may_not_decide_goes_on_looking(refusal: RunloreError) -> None:
    asked = ops.RunEvent(kind=ops.RunEventKind.APPROVAL, data=answers.write(ASKED))
    status = ops.RunEvent(kind=ops.RunEventKind.JOURNAL, data={"type": "status", "body": {}}, number=1)
    run = Scripted(status, asked, asked, status, end(RunStatus.COMPLETED))
    run.refusal = refusal

    assert begun(run).view.run.status is RunStatus.COMPLETED
    assert [each.approve for each in run.decided] == [False]
