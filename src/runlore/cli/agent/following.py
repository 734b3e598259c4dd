"""Following a run on the command line until it has ended, with Ctrl-C: once cancels it, twice leaves. Whoever
only looks on leaves at once, and cancels nothing.

Its events are waited for in a thread, so that a person's keys are heard whatever the run does.
"""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.screen import Screen
from runlore.daemon import answers
from runlore.domain.agent.approval import Approval, ApprovalState
from runlore.domain.errors import Conflict, Denied, NotFound
from runlore.domain.run import RunId
from runlore.domain.runs.journal import EventType
from runlore.ports import operations as ops

_POLL_S = 0.1
_EVENTS_MAX = 1_000
_WAITING = {ApprovalState.WAITING: True}


class Keys:
    """What was pressed: Ctrl-C once is noted, a second time it ends the command; at once where `leaves`."""

    def __init__(self, *, leaves: bool = False) -> None:
        self.stops = False
        self._asks = False
        self._leaves = leaves

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While somebody types, Ctrl-C ends the question, and counts as the first time."""
        self._asks = True
        try:
            yield
        except KeyboardInterrupt:
            if self.stops or self._leaves:
                raise
            self.stops = True
        finally:
            self._asks = False

    def on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self.stops or self._asks or self._leaves:
            raise KeyboardInterrupt
        self.stops = True


@contextmanager
def keys_heard(*, leaves: bool = False) -> Iterator[Keys]:
    """Hear Ctrl-C ourselves; outside the main thread nobody can."""
    keys = Keys(leaves=leaves)
    if threading.current_thread() is not threading.main_thread():
        yield keys
        return
    before = signal.signal(signal.SIGINT, keys.on_interrupt)
    try:
        yield keys
    finally:
        signal.signal(signal.SIGINT, before)


def follow(
    operations: ops.Operations, run_id: RunId, screen: Screen, asking: ApprovalPrompt, *, keys: Keys
) -> ops.RunEnded:
    asked: set[str] = set()
    is_cancelled = False

    def answer(approvals: tuple[Approval, ...]) -> None:
        for approval in approvals:
            if approval.approval_id not in asked and _WAITING.get(approval.state) and not keys.stops:
                asked.add(approval.approval_id)
                with keys.asking():
                    _decide(operations, approval, screen, asking)

    for event in _events(operations, run_id):
        if keys.stops and not is_cancelled:
            is_cancelled = True
            screen.note("Stopping the run. Ctrl-C again leaves at once.", "yellow")
            operations.cancel_run(run_id)
        screen.show_event(event)
        if event.kind is ops.RunEventKind.APPROVAL:
            answer((answers.read(Approval, event.data),))
        elif event.data.get("type") == EventType.STATUS.value:
            # Whoever comes back to a stream missed what was asked meanwhile.
            answer(_waiting(operations, run_id))
        elif event.kind is ops.RunEventKind.END:
            return answers.read(ops.RunEnded, event.data)
    raise AssertionError("a stream ends with the end of its run, or raises")


def _waiting(operations: ops.Operations, run_id: RunId) -> tuple[Approval, ...]:
    # Who may work a run, but not oversee it, is told by its stream alone.
    with suppress(Denied):
        return operations.list_approvals(ops.ApprovalsRequest(run_id=run_id)).items
    return ()


def _decide(operations: ops.Operations, approval: Approval, screen: Screen, asking: ApprovalPrompt) -> None:
    decision = asking.decide(approval)
    if decision is None:
        return
    try:
        operations.decide_approval(decision)
    except (Conflict, NotFound) as error:
        # Somebody else has said something meanwhile, or the run has ended.
        screen.note(error.sentence, "yellow")
    except Denied as error:
        screen.note(f"This is not yours to decide: {error.sentence}.", "yellow")
        asking.note_waiting(approval)


def _events(operations: ops.Operations, run_id: RunId) -> Iterator[ops.RunEvent]:
    """What happens, with a beat now and then; what goes wrong in the thread is raised here."""
    heard: queue.Queue[ops.RunEvent | BaseException] = queue.Queue(_EVENTS_MAX)
    is_left = threading.Event()

    def listen() -> None:
        try:
            for event in operations.follow_run(ops.FollowRun(run_id=run_id, beat_s=_POLL_S)):
                _put(heard, event, is_left)
                if is_left.is_set():
                    return
        except BaseException as error:  # Whatever it is, it is told to whoever waits, in the other thread.
            _put(heard, error, is_left)

    threading.Thread(target=listen, name="runlore-follow", daemon=True).start()
    beat = ops.RunEvent(kind=ops.RunEventKind.BEAT, data={})
    try:
        while True:
            event: ops.RunEvent | BaseException = beat
            with suppress(queue.Empty):
                event = heard.get(timeout=_POLL_S)
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        is_left.set()


def _put(
    heard: "queue.Queue[ops.RunEvent | BaseException]",
    event: ops.RunEvent | BaseException,
    is_left: threading.Event,
) -> None:
    """Wait until there is room, unless nobody takes anything any more."""
    while not is_left.is_set():
        with suppress(queue.Full):
            heard.put(event, timeout=_POLL_S)
            return
