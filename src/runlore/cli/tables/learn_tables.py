"""What people see of `runlore learn`: the skills that were found, what was read for them, what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runlore.cli.tables.library_tables import DESCRIPTION_CHARS_MAX
from runlore.cli.tables.table_cells import agent_title, plural, time_text
from runlore.cli.terminal import Cell, Column, say, show_table
from runlore.daemon.mining.findings import LearnFindings, ReadingSummary, Unread
from runlore.daemon.mining.local_transcripts import list_search_places
from runlore.daemon.mining.past_decisions import PastDecision, Queue
from runlore.daemon.mining.store_runs import Stored
from runlore.domain.record import Record
from runlore.domain.statements.ranks import sessions_of
from runlore.domain.suggestion import Suggestion
from runlore.domain.text.excerpt import excerpt
from runlore.ports import operations as ops

SHOWN_MAX = 40
STATEMENTS_SHOWN_MAX = 10
_PATHS_SHOWN_MAX = 1
_COLUMNS = (
    Column(title="NAME"),
    Column(title="SEEN IN"),
    Column(title="FROM"),
    Column(title="DESCRIPTION", wraps=True),
)
_AGENT_COLUMNS = (
    Column(title="AGENT"),
    *(
        Column(title=title, right=True, labelled=True)
        for title in ("FILES", "SESSIONS", "RUNS", "LINES", "UNDERSTOOD")
    ),
    Column(title="NOT UNDERSTOOD", wraps=True, labelled=True),
)
_LEFT = {
    "unfinished": "changed within the last hour, and may still be written",
    "paused": "capture is paused",
    "folder": "capture is off for the folder",
    "private": "the session is private",
    "forgotten": "was forgotten",
    "ended": "the session has ended",
    "taken": "another run has its id",
}


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What a dry run found, what of it was decided before, and how many runs are too old for a memory."""

    findings: LearnFindings
    decided: Sequence[PastDecision] = ()
    beyond_retention: int = 0


def show_dry_run(told: DryRun, paths: Sequence[str], *, report: str | None) -> None:
    findings, decided = told.findings, told.decided
    if _show_nothing_found(findings.reading, paths):
        _show_report(report)
        return
    _show_suggestions(findings.suggestions, decided)
    if findings.procedures:
        names = ", ".join(each.name for each in findings.procedures)
        say(f"{plural(len(findings.procedures), 'procedure')} to remember would wait for review: {names}")
    _show_statements(findings.statements)
    show_reading(findings.reading)
    show_left(findings.left, findings.settles_at)
    _show_beyond(told.beyond_retention)
    _show_decided(decided)
    _show_report(report)
    if findings.suggestions or findings.procedures or findings.statements:
        say("This was a dry run: nothing was stored. What next:", "dim")
        _show_next(shlex.join(["runlore", "learn", *paths]), "stores these, for `runlore inbox`")
    else:
        say("This was a dry run: nothing was stored.", "dim")


@dataclass(frozen=True, kw_only=True)
class StoringRun:
    """What a storing run has to tell; `statements` are those of users that it found."""

    stored: Stored
    answer: ops.SuggestAnswer
    queue: Queue
    statements: Sequence[Record]


def show_learned(told: StoringRun, paths: Sequence[str], *, report: str | None) -> None:
    stored, answer, queue = told.stored, told.answer, told.queue
    waiting = queue.waiting
    if not stored.unchanged and not waiting and _show_nothing_found(stored.reading, paths):
        _show_report(report)
        return
    _show_suggestions([each.suggestion for each in waiting], queue.decided)
    show_reading(stored.reading)
    if stored.unchanged:
        say(f"{plural(stored.unchanged, 'transcript')} had nothing new.", "dim")
    were = "was" if stored.known == 1 else "were"
    known = f"; {stored.known:,} more {were} stored before" if stored.known else ""
    say(f"Stored {plural(stored.stored, 'run')} (a run is one request and all that followed){known}.")
    show_left(stored.reasons, stored.settles_at)
    _show_beyond(stored.beyond_retention)
    _show_decided(queue.decided)
    _show_found(answer)
    if told.statements:
        first = excerpt(told.statements[0].summary, DESCRIPTION_CHARS_MAX)
        say(f'Found {plural(len(told.statements), "sentence")} of your own words, the first: "{first}"')
    if answer.enhancing:
        say(f"{plural(answer.enhancing, 'suggestion')} will be improved by the model in the background.")
    _show_report(report)
    if waiting or told.statements or answer.statements:
        say("What next:", "dim")
        _show_next("runlore inbox", "asks you about all that waits")
    if waiting:
        name = waiting[0].suggestion.name
        _show_next(f"runlore skill suggestions show {name}", "shows one with its evidence")


def _show_beyond(runs: int) -> None:
    if runs:
        say(
            f"{plural(runs, 'run')} ended before the time that run memories are kept for:"
            " learned from like the others, and not recovered in a session.",
            "dim",
        )


def _show_found(answer: ops.SuggestAnswer) -> None:
    if answer.paused:
        say("Capture is paused: nothing new is stored or suggested.", "yellow")
        _show_next("runlore capture resume", "lets it go on")
        return
    say(
        f"Looked through {plural(answer.sessions, 'stored session')}:"
        f" {plural(len(answer.new), 'new suggestion')}, {answer.seen_again:,} seen again."
    )


def show_reading(reading: ReadingSummary) -> None:
    say("")
    if reading.agents:
        show_table(
            _AGENT_COLUMNS,
            [
                (
                    agent_title(agent.agent),
                    *(f"{number:,}" for number in (agent.files, agent.sessions, agent.runs, agent.lines)),
                    agent.understood_text,
                    ", ".join(f"{count:,} {why}" for why, count in sorted(agent.skipped.items())),
                )
                for agent in reading.agents
            ],
        )
    _show_unread(reading.unread)


def _show_nothing_found(reading: ReadingSummary, paths: Sequence[str]) -> bool:
    """Whether nothing could be read at all; then that is said, with where it was looked for."""
    if reading.agents:
        return False
    if paths:
        say(f"No session of any agent was found in {', '.join(paths)}.")
    else:
        say("No session of any agent was found. Transcripts are looked for in:")
        for place in list_search_places():
            say(f"  {place}", "dim")
        say("Name a file or a folder where yours are: runlore learn PATH", "dim")
    _show_unread(reading.unread)
    return True


def _show_suggestions(suggestions: Sequence[Suggestion], decided: Sequence[PastDecision]) -> None:
    if not suggestions:
        often = "often enough to be worth a skill yet"
        if decided:
            say(f"Nothing but what was decided before was repeated, recovered or corrected {often}.")
        else:
            say(f"Nothing was repeated, recovered or corrected {often}.")
        return
    show_table(_COLUMNS, [_row(suggestion) for suggestion in suggestions[:SHOWN_MAX]])
    more = len(suggestions) - SHOWN_MAX
    if more > 0:
        say(f"And {more:,} more: --json tells all of them, --report FILE.html shows them.", "dim")


def _show_statements(statements: Sequence[Record]) -> None:
    if not statements:
        return
    say("")
    number = len(statements)
    say(f"{plural(number, 'sentence')} of your own words would wait for review:")
    for record in statements[:STATEMENTS_SHOWN_MAX]:
        sessions = sessions_of(record)
        often = f", in {plural(sessions, 'session')}" if sessions > 1 else ""
        text = excerpt(record.summary, DESCRIPTION_CHARS_MAX)
        say(f"  {text}  ({record.kind}{often})")
    more = len(statements) - STATEMENTS_SHOWN_MAX
    if more > 0:
        say(f"  and {more:,} more: --json tells all of them", "dim")


def _row(suggestion: Suggestion) -> tuple[Cell, ...]:
    return (
        (suggestion.name, "bold"),
        plural(suggestion.sessions, "session"),
        ("outside", "yellow") if suggestion.provenance.tainted else "",
        excerpt(suggestion.description, DESCRIPTION_CHARS_MAX),
    )


def _show_unread(unread: Sequence[Unread]) -> None:
    """What has no reader or cannot be read, each kind once with the first files of it."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for each in unread:
        kinds.setdefault((each.looks_like, each.problem), []).append(each.path)
    for (looks_like, problem), paths in sorted(kinds.items()):
        of = f" that look{'s' * (len(paths) == 1)} like {looks_like}" if looks_like else ""
        shown = ", ".join(paths[:_PATHS_SHOWN_MAX])
        more = f" and {len(paths) - _PATHS_SHOWN_MAX:,} more" if len(paths) > _PATHS_SHOWN_MAX else ""
        say(f"Not read: {plural(len(paths), 'file')}{of} ({problem}): {shown}{more}", "yellow")


def show_left(reasons: Mapping[str, int], settles_at: datetime | None) -> None:
    for reason, count in reasons.items():
        when = f"; read from {time_text(settles_at)} on" if reason == "unfinished" and settles_at else ""
        say(f"Left alone: {plural(count, 'run')} ({_LEFT.get(reason, reason)}{when}).", "dim")


def _show_decided(decided: Sequence[PastDecision]) -> None:
    for each in decided[:SHOWN_MAX]:
        found = each.suggestion
        seen = f"seen {plural(found.times, 'time')} in {plural(found.sessions, 'session')}"
        if each.saved_as:
            say(f"Left alone: {found.name}, already saved as {each.saved_as} ({seen}).", "dim")
        else:
            until = f"until {time_text(each.until)}" if each.until else "for good"
            say(
                f"Left alone: {found.name}, skipped {until} ({seen}): runlore skill reset-skips {found.name}",
                "dim",
            )
    more = len(decided) - SHOWN_MAX
    if more > 0:
        say(f"And {more:,} more that were decided before: --json tells all of them.", "dim")


def _show_report(report: str | None) -> None:
    if report is not None:
        say(f"The report is in {report}")


def _show_next(command: str, told: str) -> None:
    say(f"  {command}  {told}", "dim")
