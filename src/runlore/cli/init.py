"""`runlore init`: the first minute. What the sessions on this machine teach, and the steps from there.

Each step is a command that exists by itself, shown before it is taken and undone by another one. Whoever
stops leaves a whole state behind: what is done is done, and the next call goes on from there.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from runlore.cli.agent.approval_prompt import read_line
from runlore.cli.invocation import Invocation
from runlore.cli.learn import (
    LearnOptions,
    dry_run_to_plain,
    is_unfinished,
    learn_from,
    preview_sources,
)
from runlore.cli.skills.mounting import PlaceOptions, mount
from runlore.cli.skills.prompt import STOPPED, is_terminal
from runlore.cli.tables import init_tables
from runlore.cli.tables.init_tables import MachineState, SetupStep
from runlore.cli.tables.table_cells import short_path
from runlore.cli.terminal import say
from runlore.cli.typer_commands import option
from runlore.config.settings import Settings
from runlore.daemon.process.daemon_lock import has_store
from runlore.domain.errors import RunloreError
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.runs.transcript import TranscriptSource
from runlore.ports.operations import InboxKind

if TYPE_CHECKING:
    from runlore.daemon.connected_agents import AgentConnection, FileChange
    from runlore.ports.operations import Operations

# So much of the newest is read in the first minute; `runlore learn` reads the rest.
READ_BYTES_MAX = 64 * 1024**2
_YES, _NO, _STOP, _SHOW = (frozenset(words.split()) for words in ("y yes", "n no", "q quit", "? d"))


@dataclass(frozen=True, kw_only=True)
class QuietInvocation(Invocation):
    """An invocation whose answers are kept, and not printed."""

    answers: list[JsonValue] = field(default_factory=list)

    def answer(self, plain: JsonValue, show: Callable[[], None]) -> None:  # noqa: ARG002 - nobody looks on
        self.answers.append(plain)


def init(
    call: Invocation,
    yes: Annotated[
        bool, option("--yes -y", "Take every step that can be undone; what has to be read waits for you.")
    ] = False,
) -> None:
    """Set Runlore up in a minute: what your sessions teach, and which of it you want.

    Finds the sessions of your agents on this machine, shows what they teach, and asks whether to store it,
    review it, keep skills, put them where your agents look, and connect the agents. Each step is shown before
    you answer, and can be undone. Without a terminal it only says what it would do.
    """
    if yes:
        _take_all(call)
    elif is_terminal() and not call.as_json:
        _ask_through(call)
    else:
        state = replace(_look(call), is_plan=True)
        steps = [*_steps(call, state)]
        plain = _to_plain(state, [(step, "cannot" if step.problem else "would", None) for step in steps])
        call.answer(plain, lambda: init_tables.show_plan(state, steps))


def is_first_call() -> bool:
    """Whether somebody at a terminal has a Runlore that nobody has used."""
    settings = Invocation(as_json=False, home=None).settings()
    return (
        is_terminal() and settings.url is None and not has_store(settings.state_root, settings.database_url)
    )


def _ask_through(call: Invocation) -> None:
    """Look, show, and ask about one step after the other."""
    taken = TakenSteps()
    say("Looking for your agents' sessions. Nothing is stored before you say so.", "dim")
    try:
        state = _look(call)
        init_tables.show_found(state)
        for name in _NAMES:
            for step in _steps(call, state, only=name):
                # Who has just gone through the inbox was asked about each suggestion there.
                is_asked = step.name == "save" and any(each.name == "review" for each in taken.steps)
                if not is_asked and _is_wanted(step):
                    with taken.take(step):
                        step.act(call)
            state = replace(_look_at_store(call, state), teaches=None)
    except (KeyboardInterrupt, EOFError, typer.Exit) as stop:
        init_tables.show_stopped(taken.steps, taken.begun)
        raise typer.Exit(0 if isinstance(stop, EOFError) else STOPPED) from None
    except RunloreError:
        init_tables.show_stopped(taken.steps, taken.begun)
        raise
    init_tables.show_end(taken.steps, waiting=state.waiting)


@dataclass
class TakenSteps:
    """The steps that were begun, in order, and the one that has not ended."""

    steps: list[SetupStep] = field(default_factory=list)
    begun: SetupStep | None = None

    @contextmanager
    def take(self, step: SetupStep) -> Iterator[None]:
        self.steps.append(step)
        self.begun = step
        yield
        self.begun = None


def _take_all(call: Invocation) -> None:
    """Take every step that asks for no decision, and say which."""
    quiet, taken = _quiet(call), TakenSteps()
    state = _look(call)
    found, done = state, list[tuple[SetupStep, str, JsonValue]]()
    try:
        for name in _NAMES:
            for step in _steps(call, state, only=name):
                if step.is_decision or step.problem:
                    done.append((step, "cannot" if step.problem else "waits", None))
                    continue
                with taken.take(step):
                    step.act(quiet)
                done.append((step, "done", quiet.answers[-1]))
            state = replace(_look_at_store(call, state), teaches=None)
    except (KeyboardInterrupt, RunloreError):
        done += [(step, "stopped", None) for step in (taken.begun,) if step]
        call.answer(_to_plain(found, done), lambda: init_tables.show_stopped(taken.steps, taken.begun))
        raise
    call.answer(_to_plain(found, done), lambda: init_tables.show_done(found, done))


def _quiet(call: Invocation) -> QuietInvocation:
    return QuietInvocation(as_json=call.as_json, home=call.home, url=call.url, token_file=call.token_file)


def _is_wanted(step: SetupStep) -> bool:
    """Show a step and wait for the answer; whoever ends the input or says q stops."""
    init_tables.show_step(step)
    if step.problem:
        return False
    shows = "/? shows it" if step.show else ""
    while True:
        line = read_line(f"  {step.question} [Y/n/q{shows}]: ", afresh=True)
        word = "q" if line is None else line.strip().lower()
        if not word or word in _YES | _NO:
            return word not in _NO
        if word in _STOP:
            raise EOFError
        if word in _SHOW and step.show:
            step.show()
        else:
            say("  Answer y for yes, n for no, q to stop here.", "yellow")


def _look(call: Invocation) -> MachineState:
    """What is on this machine, and what it would teach where nothing of it was read before."""
    from runlore.daemon.mining.local_transcripts import local_transcripts

    found = tuple(each for each in local_transcripts().find(()) if each.agent is not None)
    state = _look_at_store(call, MachineState(sources=found))
    if found and len(state.unread) + state.later == len(found):
        state = replace(state, teaches=preview_sources(call, state.unread))
    return state


def choose_newest(sources: Sequence[TranscriptSource], room: int) -> tuple[TranscriptSource, ...]:
    """The newest that take no more than `room` bytes, one at least, in their own order."""
    chosen: set[int] = set()
    for place in sorted(range(len(sources)), key=lambda place: sources[place].modified_at, reverse=True):
        if chosen and sources[place].bytes > room:
            break
        chosen.add(place)
        room -= sources[place].bytes
    return tuple(each for place, each in enumerate(sources) if place in chosen)


def _look_at_store(call: Invocation, state: MachineState) -> MachineState:
    """What is stored and set up; nothing is made for that."""
    from runlore.daemon.connected_agents import list_connected
    from runlore.daemon.skills.mounting import MountManager

    settings = call.settings()
    mounting = MountManager(settings.state_root, source=settings.url or "")
    connected = () if settings.url else tuple(list_connected(settings.state_root))
    state = replace(
        state,
        state_root=settings.state_root,
        mounted=mounting.folders(),
        connected=connected,
        is_unfinished=is_unfinished(settings),
    )
    unread: Sequence[TranscriptSource] = state.sources
    if settings.url is not None or has_store(settings.state_root, settings.database_url):
        with call.operations(mounts_follow=False) as operations:
            state, unread = _ask_store(operations, state)
    newest = choose_newest(unread, READ_BYTES_MAX)
    return replace(state, unread=newest, later=len(unread) - len(newest))


def _ask_store(
    operations: "Operations", state: MachineState
) -> tuple[MachineState, Sequence[TranscriptSource]]:
    """What the store holds, and what it has not read."""
    from runlore.daemon.mining.local_transcripts import local_transcripts
    from runlore.daemon.mining.store_runs import unread_sources
    from runlore.daemon.skills.mounting import usable_skills

    state = replace(state, status=operations.status(), skills=tuple(usable_skills(operations)))
    return state, unread_sources(operations, local_transcripts(), state.sources)


def _steps(call: Invocation, state: MachineState, only: str = "") -> Iterator[SetupStep]:
    for name in (only,) if only else _NAMES:
        yield from _NAMES[name](call, state)


def _learn_steps(_call: Invocation, state: MachineState) -> Iterator[SetupStep]:
    if state.unread or state.is_unfinished:
        yield SetupStep(
            name="learn",
            title="Store what was read",
            question="Store it?" if state.teaches else "Read them?" if state.unread else "Go on?",
            command="runlore learn",
            undo=f"`runlore down`, then delete {short_path(state.state_root)}; your agents' files stay",
            preview=init_tables.learn_preview(state),
            act=partial(_store_quietly, sources=state.unread),
        )


def _store_quietly(call: Invocation, sources: Sequence[TranscriptSource]) -> None:
    """Store what is new in these sources; what they teach is shown by the steps that follow."""
    quiet = call if isinstance(call, QuietInvocation) else _quiet(call)
    learn_from(quiet, LearnOptions(), sources)
    if quiet is not call:
        init_tables.show_stored(quiet.answers[-1])


def _review_steps(_call: Invocation, state: MachineState) -> Iterator[SetupStep]:
    if state.waiting:
        yield SetupStep(
            name="review",
            title="Review what waits",
            question="Go through it?",
            command="runlore inbox",
            undo="u at each; later `runlore memory rollback ID --restore` and `runlore skill delete NAME`",
            preview=init_tables.review_preview(state),
            act=_review,
            is_decision=True,
        )


def _review(call: Invocation, kinds: frozenset[InboxKind] = frozenset()) -> None:
    from runlore.cli import options
    from runlore.cli.inbox import inbox

    inbox(call, options.PageOptions(), kinds)


def _save_steps(_call: Invocation, state: MachineState) -> Iterator[SetupStep]:
    if state.suggested:
        yield SetupStep(
            name="save",
            title="Keep skills",
            question="Go through them?",
            command="runlore inbox --kind skill",
            undo="u at each; later `runlore skill delete NAME`",
            preview=init_tables.save_preview(state),
            act=partial(_review, kinds=frozenset({InboxKind.SUGGESTION})),
            is_decision=True,
        )


def _mount_steps(call: Invocation, state: MachineState) -> Iterator[SetupStep]:
    if not state.mounted and (state.skills or (state.is_plan and state.suggested)):
        yield SetupStep(
            name="mount",
            title="Put your skills where your agents look",
            question="Put them there?",
            command="runlore skill mount --user",
            undo="`runlore skill unmount`",
            preview=init_tables.mount_preview(state),
            act=lambda how: mount(how, PlaceOptions(user=True)),
            show=partial(mount, call, PlaceOptions(user=True, dry_run=True)) if state.skills else None,
        )


def _connect_steps(call: Invocation, state: MachineState) -> Iterator[SetupStep]:
    from runlore.cli.connect import ConnectOptions, connect
    from runlore.daemon.connected_agents import AGENTS

    settings = call.settings()
    for connection in _connectable(settings, state):
        agent = connection.agent
        changes, problem = list["FileChange"](), ""
        try:
            changes = connection.plan()
        except RunloreError as error:
            problem = error.sentence
        yield SetupStep(
            name=f"connect {agent}",
            title=f"Connect {AGENTS[agent].title}",
            question="Connect it?",
            command=f"runlore connect {agent}",
            undo=f"`runlore disconnect {agent}`",
            preview=init_tables.connect_preview(changes),
            act=partial(connect, agent=agent, options=ConnectOptions()),
            show=partial(connect, call, agent, ConnectOptions(dry_run=True)),
            problem=problem,
        )


def _connectable(settings: Settings, state: MachineState) -> "Iterator[AgentConnection]":
    """The agents that are used here, as their sessions or settings tell, and are not connected."""
    from runlore.daemon.connected_agents import AGENTS, make_connection

    if settings.url is not None:
        return
    read = {source.agent for source in state.sources}
    connected = {each.name for each in state.connected if each.project is None and not each.trouble}
    for name, agent in AGENTS.items():
        connection = make_connection(settings.state_root, name, None, starts=True)
        folders = {os.path.dirname(edit.path) for edit in connection.edits} - {connection.setup.home}
        is_used = (agent.reader is not None and agent.reader in read) or any(map(_holds_settings, folders))
        if is_used and name not in connected:
            yield connection


def _holds_settings(folder: str) -> bool:
    """Whether an agent's folder holds more than the skills that we may have put there."""
    try:
        return not {"skills"}.issuperset(os.listdir(folder))
    except OSError:
        return False


_NAMES: dict[str, Callable[[Invocation, MachineState], Iterator[SetupStep]]] = {
    "learn": _learn_steps,
    "review": _review_steps,
    "save": _save_steps,
    "mount": _mount_steps,
    "connect": _connect_steps,
}


def _to_plain(state: MachineState, steps: Sequence[tuple[SetupStep, str, JsonValue]]) -> JsonObject:
    return {
        "files": len(state.sources),
        "files_new": len(state.unread) + state.later,
        "files_left": state.later,
        "teaches": None if state.teaches is None else dry_run_to_plain(state.teaches),
        "waiting": state.waiting,
        "suggested": state.suggested,
        "skills": list(state.skills),
        "mounted": list(state.mounted),
        "connected": [each.name for each in state.connected],
        "steps": [
            {
                "step": step.name,
                "is": is_now,
                "command": step.command,
                "undo": step.undo,
                "preview": list(step.preview),
                "problem": step.problem or None,
                "answer": answer,
            }
            for step, is_now, answer in steps
        ],
    }
