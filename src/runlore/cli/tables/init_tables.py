"""What people see of `runlore init`: what was found, what it teaches, each step, the end."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from runlore.cli.tables.library_tables import DESCRIPTION_CHARS_MAX, seen_text
from runlore.cli.tables.service_tables import agent_text, number_at, whole_number
from runlore.cli.tables.table_cells import agent_title, plural, short_path
from runlore.cli.terminal import Column, say, show_table
from runlore.domain.lazy import dataclass
from runlore.domain.privacy.redaction import redact_text
from runlore.domain.record import JsonValue
from runlore.domain.statements.ranks import sessions_of
from runlore.domain.suggestion import Suggestion
from runlore.domain.text.excerpt import excerpt

if TYPE_CHECKING:
    from runlore.cli.invocation import Invocation
    from runlore.cli.tables.learn_tables import DryRun
    from runlore.daemon.connected_agents import ConnectedAgent, FileChange
    from runlore.domain.runs.transcript import TranscriptSource
    from runlore.domain.worth.repeats import Repeat
    from runlore.ports.operations import Status

_SUGGESTIONS_SHOWN = 3
_STATEMENTS_SHOWN, _REPEATS_SHOWN = 5, 3
_NAMES_SHOWN = 4
_MEGABYTE = 1024**2
_TEXT = (Column(wraps=True),)


@dataclass(frozen=True, kw_only=True)
class MachineState:
    """What lies on this machine, and what of it is set up. Of `sources` with something new the newest are
    `unread`, and so many are left for `later`; `teaches` is what those would, while nothing is stored."""

    sources: "tuple[TranscriptSource, ...]" = ()
    unread: "tuple[TranscriptSource, ...]" = ()
    later: int = 0
    teaches: "DryRun | None" = None
    state_root: str = ""
    status: "Status | None" = None
    skills: tuple[str, ...] = ()
    mounted: tuple[str, ...] = ()
    # Whether all steps are told at once, those too that follow from others.
    is_plan: bool = False
    connected: "tuple[ConnectedAgent, ...]" = ()
    # Whether storing was stopped before all that was stored had been looked through.
    is_unfinished: bool = False

    @property
    def waiting(self) -> int:
        """How much waits for a person, or would: statements, suggestions and all else."""
        found = self.teaches.findings if self.teaches else None
        would = len(found.statements) + len(found.suggestions) + len(found.procedures) if found else 0
        return would + (self.status.waiting if self.status else 0)

    @property
    def suggested(self) -> int:
        """How many suggestions wait, or would."""
        would = len(self.teaches.findings.suggestions) if self.teaches else 0
        return would + (number_at(self.status.sections, "suggestions", "waiting") if self.status else 0)


@dataclass(frozen=True, kw_only=True)
class SetupStep:
    """One thing that can be done: the command that does it, what undoes it, and what it would change. One
    that `is_decision` asks a person about each thing. `show` tells all that it would do. One with a `problem`
    cannot be taken."""

    name: str
    title: str
    question: str
    command: str
    undo: str
    preview: tuple[str, ...]
    act: "Callable[[Invocation], None]"
    show: Callable[[], None] | None = None
    is_decision: bool = False
    problem: str = ""


def show_found(state: MachineState) -> None:
    """Which sessions there are, what they teach, and what is set up already."""
    if not state.sources:
        from runlore.daemon.mining.local_transcripts import list_search_places

        say("No session of any agent was found. Transcripts are looked for in:")
        for place in list_search_places():
            say(f"  {short_path(place)}", "dim")
        say("If yours are elsewhere: `runlore learn PATH`. `make tour` shows it with some.", "dim")
    elif state.teaches:
        _show_teaches(state, state.teaches)
    else:
        say(f"Found {_files_text(state)} on this machine; {_new_text(state)}.", "bold")
    for line in _set_up(state):
        say(f"Already set up: {line}", "green")


def show_step(step: SetupStep) -> None:
    """What a step would do, and what undoes it."""
    say("")
    say(step.title, "bold")
    if step.problem:
        say(f"  This cannot be done: {step.problem}", "yellow")
        return
    for line in step.preview:
        _show_text(line, indent=2)
    say(f"  Undo: {step.undo}", "dim")


def show_plan(state: MachineState, steps: Sequence[SetupStep]) -> None:
    """The steps with their commands, for who is not asked."""
    show_found(state)
    if not steps:
        say("Everything is set up: `runlore status` shows how it is.", "green")
        return
    say("")
    say("What can be done, nothing of which is done yet:", "bold")
    show_table(
        [Column(), Column(), Column(wraps=True)],
        [
            (
                (step.command, "bold"),
                step.title,
                f"cannot be done: {step.problem}" if step.problem else f"undo: {step.undo}",
            )
            for step in steps
        ],
        indent=2,
    )
    say("At a terminal `runlore init` asks about each; --yes takes all that ask for no decision.", "dim")


def show_done(state: MachineState, done: Sequence[tuple[SetupStep, str, JsonValue]]) -> None:
    show_found(state)
    show_end([step for step, is_now, _ in done if is_now == "done"])
    for step, is_now, _ in done:
        if step.problem:
            say(f"{step.title} cannot be done: {step.problem}", "yellow")
        # What waits in the inbox has the suggestions in it.
        elif is_now == "waits" and step.name != "save":
            say(f"Waits for you: `{step.command}`", "yellow")


def show_stored(told: JsonValue) -> None:
    """What came of storing, as `learn` tells it."""
    if isinstance(told, dict):
        sessions = plural(whole_number(told["sessions"]), "session")
        say(f"  Stored {plural(whole_number(told['stored']), 'run')} of {sessions}.", "green")
        left = told["left"]
        if unfinished := whole_number(left.get("unfinished")) if isinstance(left, dict) else 0:
            say(f"  Left for later: {plural(unfinished, 'run')} that may still go on.", "dim")


def show_end(taken: Sequence[SetupStep], *, waiting: int = 0) -> None:
    say("")
    if taken:
        say("You are set up. `runlore status` shows how it is.", "green")
        if waiting:
            say(f"{_waits_text(waiting)} for you: `runlore inbox`", "yellow")
    else:
        say("Nothing was changed. `runlore init` asks again.", "dim")
    _show_undo(taken)


def show_stopped(taken: Sequence[SetupStep], begun: SetupStep | None) -> None:
    """What somebody who stops, or whom an error stops, has done; `begun` is the step that did not end."""
    say("")
    if begun:
        said = f"Stopped in the middle of “{begun.title}”; what was done until then stays."
    else:
        said = f"Stopped; {'what was done before stays' if taken else 'nothing was changed'}."
    say(f"{said} `runlore init` goes on from here.", "yellow")
    _show_undo(taken)


def _show_undo(taken: Sequence[SetupStep]) -> None:
    """The last step first: what agents' files held before stands in the folder that the first one filled."""
    if taken:
        say("What undoes it, in this order:", "dim")
    for step in reversed(taken):
        say(f"  {step.title[:1].lower()}{step.title[1:]}: {step.undo}", "dim")


def learn_preview(state: MachineState) -> tuple[str, ...]:
    if not state.unread:
        return ("It was stopped before its end. What is stored is looked through for skills.",)
    told = "What your agents said and did there" if state.teaches else "What is new in your sessions"
    if state.later and not state.teaches:
        told = f"What is new in the newest {len(state.unread):,} of them"
    return (
        f"{told} goes into {short_path(state.state_root)}, which only you can read."
        " Secrets that are recognized are left out, and nothing is sent anywhere.",
    )


def review_preview(state: MachineState) -> tuple[str, ...]:
    return (f"{_waits_text(state.waiting)} for you. You see each, and none is used before you say yes.",)


def _waits_text(number: int) -> str:
    return "1 thing waits" if number == 1 else f"{number:,} things wait"


def save_preview(state: MachineState) -> tuple[str, ...]:
    return (f"{plural(state.suggested, 'suggestion')}. You see each, and say whether it becomes a skill.",)


def mount_preview(state: MachineState) -> tuple[str, ...]:
    from runlore.daemon.skills.mounting import folders_of

    folders = " and ".join(short_path(each) for each in folders_of(os.path.expanduser("~"), ()))
    what = _some(state.skills) if state.skills else "The skills that you keep"
    return (f"{what}: copied to {folders}, and kept up to date. Files of your own are never touched.",)


def connect_preview(changes: "Sequence[FileChange]") -> tuple[str, ...]:
    return (
        "It gets what you confirmed with every input, and its sessions are learned from."
        " Runlore runs in the background for that.",
        *(
            f"{'makes' if change.before is None else 'changes'} {short_path(change.path)},"
            f" {plural(sum(line[:1] == '+' for line in change.diff()[2:]), 'line')}"
            f"{'' if change.before is None else ' more'}"
            for change in changes
        ),
    )


def _show_teaches(state: MachineState, teaches: "DryRun") -> None:
    from runlore.cli.tables.learn_tables import show_left

    findings = teaches.findings
    agents = [
        f"{agent.sessions:,} {agent_title(agent.agent)}"
        for agent in findings.reading.agents
        if agent.sessions
    ]
    projects = len({project for project in findings.heard.projects.values() if project})
    where = f" in {plural(projects, 'project')}" if projects else ""
    say(f"Found {' and '.join(agents) or 'no'} {_noun(findings.reading.sessions)}{where}.", "bold")
    if state.later:
        older = plural(state.later, "older transcript")
        say(f"These are the newest; {older} can be read later, by `runlore learn`.", "dim")
    show_left(findings.left, findings.settles_at)
    _show_suggestions(findings.suggestions)
    if findings.procedures:
        say("")
        say(f"Work to remember, no skill: {plural(len(findings.procedures), 'procedure')}", "bold")
    for each in findings.procedures[:_SUGGESTIONS_SHOWN]:
        _show_text(f"{each.name}: {excerpt(each.description, DESCRIPTION_CHARS_MAX)}", indent=2)
    _show_more(len(findings.procedures) - _SUGGESTIONS_SHOWN)
    statements = findings.statements
    if statements:
        say("")
        say(f"What you said that lasts: {plural(len(statements), 'sentence')}", "bold")
    for record in statements[:_STATEMENTS_SHOWN]:
        sessions = sessions_of(record)
        often = f"  ({plural(sessions, 'session')})" if sessions > 1 else ""
        _show_text(f"“{excerpt(record.summary, DESCRIPTION_CHARS_MAX)}”{often}", indent=2)
    _show_more(len(statements) - _STATEMENTS_SHOWN)
    _show_repeats(findings.repeats.items)
    if not findings.suggestions and not findings.procedures and not statements:
        say("They teach nothing yet: nothing was repeated, corrected or asked for often enough.")


def _show_repeats(found: "Sequence[Repeat]") -> None:
    """What a memory would have spared them."""
    if found:
        say("")
        say(f"What you had to say again: {plural(len(found), 'thing')}", "bold")
    for each in found[:_REPEATS_SHOWN]:
        told = redact_text(each.text).text
        since = f"{plural(len(each.session_ids), 'session')} since {each.first_at:%-d %B %Y}"
        _show_text(f"“{excerpt(told, DESCRIPTION_CHARS_MAX)}”  ({since})", indent=2)
    _show_more(len(found) - _REPEATS_SHOWN)


def _show_suggestions(found: Sequence[Suggestion]) -> None:
    if found:
        say("")
        say(f"How you work: {plural(len(found), 'procedure')} worth a skill", "bold")
    for each in found[:_SUGGESTIONS_SHOWN]:
        latest = each.evidence[-1] if each.evidence else None
        last = f", last on {latest.at:%-d %B %Y}" if latest else ""
        where = f" in {latest.known_as}" if latest and latest.known_as else ""
        say(f"  {each.name}", "cyan")
        _show_text(excerpt(each.description, DESCRIPTION_CHARS_MAX), indent=4)
        _show_text(f"seen {seen_text(each)}{last}{where}", indent=4, style="dim")
        if each.provenance.tainted:
            _show_text(
                "Some of its words are from web pages, other tools or files.", indent=4, style="yellow"
            )
    _show_more(len(found) - _SUGGESTIONS_SHOWN)


def _show_more(number: int) -> None:
    if number > 0:
        say(f"  and {number:,} more", "dim")


def _show_text(text: str, *, indent: int, style: str = "") -> None:
    show_table(_TEXT, [((text, style),)], indent=indent)


def _set_up(state: MachineState) -> Iterator[str]:
    status = state.status
    if status is not None and (sessions := number_at(status.sections, "sessions", "count")):
        yield f"{plural(sessions, 'session')} stored"
    if state.skills:
        where = f", in {' and '.join(map(short_path, state.mounted))}" if state.mounted else ""
        yield f"{plural(len(state.skills), 'skill')} in use{where}"
    for each in state.connected:
        yield agent_text(each.name, each.project, each.trouble, each.reported_at)


def _files_text(state: MachineState) -> str:
    size = sum(source.bytes for source in state.sources) / _MEGABYTE
    return f"{plural(len(state.sources), 'transcript')} ({size:,.0f} MB)"


def _new_text(state: MachineState) -> str:
    new = len(state.unread) + state.later
    return f"{new:,} with something new" if new else "nothing new in them"


def _noun(sessions: int) -> str:
    return "session" if sessions == 1 else "sessions"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return f"{', '.join(names[:_NAMES_SHOWN])}{f' and {more:,} more' if more > 0 else ''}"
