"""`runlore chat`: a session with Runlore's own agent that is kept going, one input after the other.

Between two inputs nothing is held: the store is free while a person thinks.
"""

import select
import sys
from collections.abc import Iterator

from runlore.cli.agent.approval_prompt import ApprovalPrompt, read_line, remember
from runlore.cli.agent.learned_skills import LEARNS_S, ask_about_learned, tell_learned
from runlore.cli.agent.screen import Screen
from runlore.cli.failures import report
from runlore.cli.invocation import Invocation
from runlore.cli.run import (
    AgentOptions,
    beginning,
    check_places,
    leave,
    no_text,
    opened_session,
    require_text,
    show_end,
    was_stopped,
    work_run,
)
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.terminal import say
from runlore.daemon import answers
from runlore.domain.errors import RunloreError
from runlore.domain.session import SessionId
from runlore.ports import operations as ops

PROMPT = "you> "
# Lines that follow each other as fast as this were pasted together.
PASTED_S = 0.05
_LEAVING = frozenset({"/exit", "/quit"})


def chat(call: Invocation, how: AgentOptions) -> None:
    """Talk with Runlore's own agent.

    Each line is an input, and so are lines that are pasted together; the arrow keys bring earlier ones back.
    Ctrl-C stops a run, or drops what was typed; /exit, Ctrl-D or Ctrl-C twice ends it. Elsewhere than at a
    terminal the lines of standard input are its inputs.
    """
    check_places(how)
    asks = is_terminal() and not call.as_json
    screen = Screen(hidden=call.as_json, asks_next=asks and not how.yes)
    asking = ApprovalPrompt(screen, yes=how.yes, is_terminal=asks)
    session_id: SessionId | None = None
    told: list[ops.RunEnded] = []
    for text in _inputs(asks=asks):
        try:
            with call.operations(learns_s=0.0) as operations:
                session_id = session_id or opened_session(call, operations, how, title=text)
                begin = beginning(operations, how.new_input(session_id, text))
                told.append(work_run(operations, begin, screen, asking))
        except RunloreError as error:
            if not (asks and told):
                raise
            # What was said so far is kept: the next input may go better.
            report(error, as_json=False)
            continue
        show_end(call, screen, told[-1])
        if asks and not how.yes:
            ask_about_learned(call, told[-1])
        if not asks and was_stopped(told[-1]):
            break
    plain = {"session_id": session_id, "items": [answers.write(each) for each in told]}
    call.answer(plain, lambda: _show_end(screen, session_id))
    if asks and told:
        with call.operations(learns_s=LEARNS_S):
            pass
        for ended in told:
            tell_learned(call, screen, ended)
    if not asks:
        for ended in reversed(told):
            leave(ended)


def _inputs(*, asks: bool) -> Iterator[str]:
    is_pressed = False
    while True:
        try:
            text, is_last = _read_input() if asks else _read()
        except KeyboardInterrupt:
            # What was begun is dropped. Whoever meant a run that has just ended does not mean to leave.
            if is_pressed or not asks:
                return
            is_pressed = True
            say("Ctrl-C again leaves.", "dim")
            continue
        is_pressed = False
        if text in _LEAVING:
            return
        if text:
            yield text
        if is_last:
            return


def _read_input() -> tuple[str, bool]:
    """A line with those that were pasted behind it, and whether the input has ended."""
    lines = [read_line(PROMPT)]
    while lines[-1] is not None and select.select([sys.stdin], [], [], PASTED_S)[0]:
        lines.append(read_line(""))
    text = "\n".join(line for line in lines if line is not None).strip()
    if text:
        remember(text)
    return text, lines[-1] is None


def _read() -> tuple[str, bool]:
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError:
        raise no_text("standard input") from None
    return require_text(line, "standard input").strip(), not line


def _show_end(screen: Screen, session_id: SessionId | None) -> None:
    if session_id is not None:
        screen.note(f"To go on: runlore chat --session {session_id}")
