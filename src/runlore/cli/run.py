"""`runlore run`: one task for Runlore's own agent, from its beginning to its end."""

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer

from runlore.cli.agent.approval_prompt import ApprovalPrompt
from runlore.cli.agent.following import follow, keys_heard
from runlore.cli.agent.learned_skills import LEARNS_S, ask_about_learned, tell_earlier, tell_learned
from runlore.cli.agent.screen import Screen
from runlore.cli.invocation import Invocation
from runlore.cli.options import folder_of, read_text
from runlore.cli.skills.prompt import is_terminal
from runlore.cli.terminal import say
from runlore.cli.typer_commands import argument, option
from runlore.daemon import answers
from runlore.daemon.calls.working_folders import unbound_proposal
from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.run import RunId, RunStatus
from runlore.domain.session import Session, SessionId
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

AGENT = "runlore"
TITLE_CHARS_MAX = 80
_TASK_MIB_MAX = 4
STOPPED = 128 + signal.SIGINT
_CODES = {RunStatus.COMPLETED: 0, RunStatus.CANCELLED: STOPPED}


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """Where an agent works, with which model, and who answers it."""

    model: Annotated[
        str | None, option("--model NAME", "The model, as PROVIDER:NAME; else the configured one.")
    ] = None
    fallback_model: Annotated[
        str | None, option("--fallback-model NAME", "The model that takes over where it fails.")
    ] = None
    session: Annotated[
        SessionId | None, option("--session ID", "Go on in this session; else a new one is made.")
    ] = None
    folder: Annotated[
        str | None, option("--folder PATH", "The folder to work in; here if left out, none with --url.")
    ] = None
    no_folder: Annotated[bool, option("--no-folder", "Work in no folder: without files and commands.")] = (
        False
    )
    learn: Annotated[bool, option("--learn/--no-learn", "Whether to look for skills in it afterwards.")] = (
        True
    )
    yes: Annotated[bool, option("--yes", "Allow every call that the rules would ask about.")] = False

    def new_input(self, session_id: SessionId, text: str) -> ops.NewInput:
        return ops.NewInput(
            session_id=session_id,
            text=text,
            model=self.model,
            fallback_model=self.fallback_model,
            learn=self.learn,
        )


def run(
    call: Invocation,
    task: Annotated[str, argument("TASK", "What to do; - reads it from stdin.")],
    how: AgentOptions,
) -> None:
    """Have Runlore's own agent work through a task.

    It has your reviewed memory and your skills. Calls that need your word are asked about at a terminal, and
    denied elsewhere unless --yes is given. Ctrl-C stops the run, twice leaves at once.
    """
    check_places(how)
    text = words_of(task)
    if not text.strip():
        raise Invalid("the task is blank", code="run.request", hint="say what is to be done")
    asks = is_terminal() and not call.as_json
    screen = Screen(hidden=call.as_json, asks_next=asks and not how.yes)
    asking = ApprovalPrompt(screen, yes=how.yes, is_terminal=asks)
    began_at = datetime.now(UTC)
    with call.operations(learns_s=LEARNS_S if asks else 0.0) as operations:
        asked = how.new_input(opened_session(call, operations, how, title=text), text)
        ended = work_run(operations, beginning(operations, asked), screen, asking)
        call.answer(answers.write(ended), lambda: _show_end(screen, ended))
        tell_earlier(call, operations, screen, ended, since=began_at)
    if asks:
        tell_learned(call, screen, ended)
    if asks and not how.yes:
        ask_about_learned(call, ended)
    leave(ended)


def beginning(operations: ops.Operations, asked: ops.NewInput) -> Callable[[], RunId]:
    return lambda: operations.start_input(asked).run.run_id


def work_run(
    operations: ops.Operations, begin: Callable[[], RunId], screen: Screen, asking: ApprovalPrompt
) -> ops.RunEnded:
    """Begin a run and follow it to its end. Ctrl-C stops it, from its very beginning; who presses it twice
    leaves it behind."""
    return _follow_run(operations, begin, screen, asking, leaves=False)


def looked_at(
    operations: ops.Operations, run_id: RunId, screen: Screen, asking: ApprovalPrompt
) -> ops.RunEnded:
    """Follow somebody's run to its end; Ctrl-C leaves it as it is."""
    return _follow_run(operations, lambda: run_id, screen, asking, leaves=True)


def show_end(call: Invocation, screen: Screen, ended: ops.RunEnded) -> None:
    if not call.as_json:
        call.answer(None, lambda: screen.show_end(ended))


def leave(ended: ops.RunEnded) -> None:
    code = _CODES.get(ended.view.run.status, 1)
    if code:
        raise typer.Exit(code)


def was_stopped(ended: ops.RunEnded) -> bool:
    return _CODES.get(ended.view.run.status) == STOPPED


def words_of(argument: str) -> str:
    if argument != "-":
        return require_text(argument, "what was said")
    hint = f"say it in at most {limits.REQUEST_CHARS_MAX:,} characters, and name files for the rest"
    return read_text("-", mib_max=_TASK_MIB_MAX, too_large=hint, code="content.file")


def require_text(text: str, what: str) -> str:
    """A text as it is. What was no UTF-8 may be hidden in it, as halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise no_text(what) from None
    return text


def no_text(what: str) -> Invalid:
    return Invalid(f"{what} is not a text in UTF-8", code="content.file", hint="write it again as UTF-8")


def check_places(how: AgentOptions) -> None:
    given = [
        name
        for name, is_given in (
            ("--session", how.session is not None),
            ("--folder", how.folder is not None),
            ("--no-folder", how.no_folder),
        )
        if is_given
    ]
    if len(given) > 1:
        raise Invalid(
            f"{' and '.join(given)} were given together",
            code="usage",
            hint="give one of them: a session keeps the folder that it was made with",
        )


def opened_session(
    call: Invocation, operations: ops.Operations, how: AgentOptions, *, title: str
) -> SessionId:
    if how.session is not None:
        return operations.get_session(how.session).session_id
    request = ops.NewSession(
        title=excerpt(" ".join(title.split()), TITLE_CHARS_MAX),
        agent=AGENT,
        working_folder=_folder(call, how),
        models=(how.model or "", *filter(None, [how.fallback_model])),
    )
    made = operations.create_session(request)
    tell_capture(made, request.working_folder)
    return made.session_id


def tell_capture(made: Session, folder: str | None) -> None:
    """Say on the screen that nothing of a session is kept, or what its folder says in vain (SEC-2)."""
    if made.private:
        say("Nothing of this session is kept: capture is off for its folder.", "yellow", on_stderr=True)
    elif folder is not None and (unbound := unbound_proposal(folder, made.binding.project_ids)):
        say(unbound, "yellow", on_stderr=True)


def _follow_run(
    operations: ops.Operations,
    begin: Callable[[], RunId],
    screen: Screen,
    asking: ApprovalPrompt,
    *,
    leaves: bool,
) -> ops.RunEnded:
    begun: list[RunId] = []
    try:
        with keys_heard(leaves=leaves) as keys:
            begun.append(begin())
            ended = follow(operations, begun[0], screen, asking, keys=keys)
    except KeyboardInterrupt:
        for run_id in begun:
            screen.note(f"Left. How it ends: runlore session run show {run_id}", "yellow")
        raise typer.Exit(STOPPED) from None
    return ended


def _folder(call: Invocation, how: AgentOptions) -> str | None:
    # The folders of a Runlore elsewhere are not those of this machine.
    if how.no_folder or (how.folder is None and call.settings().url is not None):
        return None
    return folder_of(how.folder or os.curdir)


def _show_end(screen: Screen, ended: ops.RunEnded) -> None:
    run = ended.view.run
    screen.show_end(ended)
    screen.note(f"What it was given: runlore why {run.run_id}")
    screen.note(f"To go on: runlore run --session {run.session_id} TASK")
