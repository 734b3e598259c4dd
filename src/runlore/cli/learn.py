"""`runlore learn`: reads the transcripts that people already have, and ends with skills worth keeping."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from runlore.cli.failures import report
from runlore.cli.invocation import Invocation
from runlore.cli.terminal import progress_bar, say
from runlore.cli.times import past_time
from runlore.cli.typer_commands import argument, option
from runlore.config.settings import Settings
from runlore.daemon import answers
from runlore.daemon.clock import SystemClock
from runlore.daemon.process.daemon_lock import has_store
from runlore.domain.errors import Invalid, RunloreError
from runlore.domain.policies.policy import PolicyName, RunMemoryPolicy, run_memory_policy
from runlore.domain.record import JsonValue
from runlore.domain.runs.transcript import TranscriptSource
from runlore.domain.session import PersonaId
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops

if TYPE_CHECKING:
    from runlore.cli.session_reading import SessionsRead
    from runlore.cli.tables.learn_tables import DryRun
    from runlore.daemon.mining.dry_run import ReadAll
    from runlore.daemon.mining.findings import LearnFindings, ReadingSummary
    from runlore.daemon.mining.past_decisions import PastDecision, Queue
    from runlore.daemon.mining.people import FindSources
    from runlore.daemon.mining.store_runs import ReadSources, Stored
    from runlore.domain.record import Record


# Stands in the state root while sessions are stored and looked through.
_UNFINISHED = "learn-unfinished"


@dataclass(frozen=True, kw_only=True)
class LearnOptions:
    """What is read, and what becomes of it."""

    paths: Annotated[
        tuple[str, ...],
        argument(
            "PATH...",
            "Files and folders to read, or addresses such as s3://bucket/folder; without any, where the known"
            " agents keep theirs.",
        ),
    ] = ()
    since: Annotated[
        datetime | None,
        option("--since WHEN", "Only what was changed since then, such as 7d, 24h or 2026-11-15.", past_time),
    ] = None
    dry_run: Annotated[bool, option("--dry-run", "Show what would be found, and store nothing.")] = False
    report: Annotated[str | None, option("--report FILE", "Write what was found as an HTML page, too.")] = (
        None
    )
    on: Annotated[
        str | None,
        option(
            "--on ADDRESS",
            "Have the machines of a Ray cluster read, such as ray://head:10001: each what lies at PATH on it,"
            " and any of them what lies at an address.",
        ),
    ] = None
    people: Annotated[
        str | None,
        option(
            "--people FILE",
            "Whose sessions are read, in place of PATH: a TOML file with a list of paths for each persona.",
        ),
    ] = None
    enhance: Annotated[
        bool,
        option(
            "--enhance",
            "Have the configured model read what was said, and improve what was found. What it would"
            " cost is shown before, what it took after.",
        ),
    ] = False
    show_requests: Annotated[
        str | None,
        option(
            "--show-requests DIR",
            "Write what --enhance would ask into files in this folder, and ask nobody.",
        ),
    ] = None


def learn(call: Invocation, options: LearnOptions) -> None:
    """Find skills worth keeping in the sessions of your agents.

    Reads transcripts of Claude Code, Codex, Gemini CLI, opencode, aider and SWE-agent, and chats in JSON
    Lines, on from where it was left the last time. Nothing is saved as a skill: what is found waits for you
    in `runlore skill save`. With --dry-run nothing at all is stored.
    """
    from runlore.cli.report.files import check_place
    from runlore.daemon.mining.people import find_of_people

    if options.dry_run and (options.enhance or options.show_requests is not None):
        raise Invalid(
            "a dry run asks no model and stores nothing, so there is nothing to ask about",
            code="usage",
            hint="leave out --dry-run; --show-requests stores what was read and asks no model",
        )
    if options.report is not None:
        check_place(options.report)
    if options.people is not None and options.paths:
        raise Invalid(
            "the file of --people says what is read, and so does PATH",
            code="usage",
            hint="give one of the two",
        )
    with _open_readers(options.on) as readers:
        if options.people is None:
            sources = list(readers.find(options.paths, since=options.since))
        else:
            sources = find_of_people(options.people, readers.find, since=options.since)
        if options.dry_run:
            _show_dry(call, options, sources, readers)
        else:
            learn_from(call, options, sources, readers)


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Who finds and reads transcripts: this process, or the machines of a cluster."""

    find: "FindSources"
    read_all: "ReadAll | None" = None
    read_on: "ReadSources | None" = None


@contextmanager
def _open_readers(address: str | None) -> Iterator[Readers]:
    if address is None:
        from runlore.daemon.mining.local_transcripts import AllTranscripts

        yield Readers(find=AllTranscripts().find)
        return
    from runlore.daemon.mining.cluster import open_cluster

    with open_cluster(address) as cluster:
        yield Readers(find=cluster.find, read_all=cluster.read_all, read_on=cluster.read_on)


def _show_dry(
    call: Invocation, options: LearnOptions, sources: Sequence[TranscriptSource], readers: Readers
) -> None:
    from runlore.cli.tables import learn_tables

    told = preview_sources(call, sources, readers.read_all)
    written = _write_report(options, told.findings, is_stored=False)
    plain = {**dry_run_to_plain(told), "report": written}
    call.answer(plain, lambda: learn_tables.show_dry_run(told, options.paths, report=written))


def preview_sources(
    call: Invocation, sources: Sequence[TranscriptSource], read_all: "ReadAll | None" = None
) -> "DryRun":
    """What these sources would teach; nothing is stored."""
    from runlore.cli.tables.learn_tables import DryRun
    from runlore.daemon.mining.dry_run import look_through
    from runlore.daemon.mining.past_decisions import split_decided

    try:
        with progress_bar("Reading transcripts", hidden=call.as_json) as progress:
            findings = look_through(sources, read_all=read_all, progress=progress)
    except KeyboardInterrupt:
        stopped = RunloreError(
            "stopped; nothing was stored", code="learn.stopped", hint="the same command begins anew"
        )
        report(stopped, as_json=call.as_json)
        raise
    before, policy, findings = _compare_with_store(call, findings)
    waiting, decided = split_decided(findings.suggestions, before)
    findings = replace(findings, suggestions=waiting)
    beyond = findings.beyond_retention(policy, SystemClock().now())
    return DryRun(findings=findings, decided=decided, beyond_retention=beyond)


def dry_run_to_plain(told: "DryRun") -> dict[str, JsonValue]:
    from runlore.domain.serialization.codec import serialize

    findings = told.findings
    return {
        "dry_run": True,
        **_reading_to_plain(findings.reading),
        "decided": [each.to_plain() for each in told.decided],
        "settles_at": _time(findings.settles_at),
        "suggestions": [serialize(suggestion) for suggestion in findings.suggestions],
        "procedures": [serialize(procedure) for procedure in findings.procedures],
        "statements": [_statement_to_plain(statement) for statement in findings.statements],
        "left": dict(findings.left),
        "beyond_retention": told.beyond_retention,
    }


def learn_from(
    call: Invocation,
    options: LearnOptions,
    sources: Sequence[TranscriptSource],
    readers: Readers | None = None,
) -> None:
    """Store what these sources tell, and what they teach."""
    from runlore.cli.tables import learn_tables

    try:
        stored, answer, queue, statements, written, read = _store_and_suggest(call, options, sources, readers)
    except KeyboardInterrupt:
        stopped = RunloreError(
            "stopped; what was read until then is stored",
            code="learn.stopped",
            hint="the same command goes on from there",
        )
        report(stopped, as_json=call.as_json)
        raise
    plain: dict[str, JsonValue] = {
        "dry_run": False,
        **_reading_to_plain(stored.reading),
        "unchanged": stored.unchanged,
        "stored": stored.stored,
        "known": stored.known,
        "left": dict(stored.reasons),
        "beyond_retention": stored.beyond_retention,
        "decided": [each.to_plain() for each in queue.decided],
        "settles_at": _time(stored.settles_at),
        "suggestions": [answers.write(each) for each in queue.waiting],
        "new": [each.suggestion.name for each in answer.new],
        "seen_again": answer.seen_again,
        "candidates": answer.candidates,
        "statements": len(statements),
        "first_statement": statements[0].summary if statements else "",
        "statements_waiting": answer.statements,
        "suppressed": answer.suppressed,
        "enhancing": answer.enhancing,
        "paused": answer.paused,
        "reading": None if read is None else read.to_plain(),
        "report": written,
    }
    told = learn_tables.StoringRun(stored=stored, answer=answer, queue=queue, statements=statements)

    def show() -> None:
        learn_tables.show_learned(told, options.paths, report=written)
        if read is not None:
            read.show()

    call.answer(plain, show)


def is_unfinished(settings: Settings) -> bool:
    """Whether sessions were stored, and what they teach was not looked for to the end."""
    return settings.url is None and os.path.exists(os.path.join(settings.state_root, _UNFINISHED))


@contextmanager
def _mark_unfinished(settings: Settings) -> Iterator[None]:
    """Leave a mark where this is stopped before its end, whatever stops it."""
    mark = os.path.join(settings.state_root, _UNFINISHED)
    if settings.url is None:
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY, 0o600))
    yield
    with suppress(FileNotFoundError):
        os.unlink(mark)


def _store_and_suggest(
    call: Invocation,
    options: LearnOptions,
    sources: Sequence[TranscriptSource],
    readers: Readers | None,
) -> "tuple[Stored, ops.SuggestAnswer, Queue, tuple[Record, ...], str | None, SessionsRead | None]":
    """What was stored, found and is waiting, and what came of the users' own words in this very call."""
    from runlore.cli.session_reading import read_sessions, write_requests
    from runlore.daemon.agents_folder import has_agents
    from runlore.daemon.mining.dry_run import look_again
    from runlore.daemon.mining.local_transcripts import AllTranscripts
    from runlore.daemon.mining.past_decisions import Queue, decided_in
    from runlore.daemon.mining.proposing import waiting_statements, waiting_suggestions
    from runlore.daemon.mining.store_runs import imported_runs, store
    from runlore.daemon.notifications import mark_notified

    with call.operations() as operations:
        before = {each.record_id for each in waiting_statements(operations)}
        for persona_id in sorted({source.persona_id for source in sources} - {""}):
            operations.put_persona(ops.PersonaChange(persona_id=PersonaId(persona_id)))
        with _mark_unfinished(call.settings()):
            with progress_bar("Reading transcripts", hidden=call.as_json) as progress:
                read_on = None if readers is None else readers.read_on
                stored = store(operations, AllTranscripts(), sources, read=read_on, progress=progress)
            with progress_bar("Looking for skills", hidden=call.as_json) as progress:
                is_asked = options.enhance and options.show_requests is None
                answer = operations.suggest(ops.SuggestRequest(enhance=is_asked), progress)
        read = None
        if options.show_requests is not None:
            read = write_requests(operations, options.show_requests)
        elif options.enhance and not answer.paused:
            read = read_sessions(operations, is_quiet=call.as_json)
        queue = Queue(waiting=waiting_suggestions(operations), decided=decided_in(operations))
        statements = waiting_statements(operations)
        new = tuple(each for each in statements if each.record_id not in before)
        settings = call.settings()
        if settings.url is None and has_agents(settings.state_root):
            shown = [each.created_at for each in queue.waiting]
            mark_notified(settings.state_root, [*shown, *(each.created_at for each in statements)])
        if options.report is None:
            return stored, answer, queue, new, None, read
        runs = imported_runs(operations)
        change = operations.repeats(ops.RepeatsRequest(limit=1)).change
    with progress_bar("Writing the report", hidden=call.as_json) as progress:
        suggestions = [each.suggestion for each in queue.waiting]
        read_all = None if readers is None else readers.read_all
        again = look_again(sources, suggestions, runs=runs, read_all=read_all, progress=progress)
        findings = replace(
            again, statements=statements, learning_began_at=None if change is None else change.began_at
        )
    return stored, answer, queue, new, _write_report(options, findings, is_stored=True), read


def _write_report(options: LearnOptions, findings: "LearnFindings", *, is_stored: bool) -> str | None:
    from runlore.cli.report.files import write_page
    from runlore.cli.report.page import page

    if options.report is None:
        return None
    return write_page(options.report, page(findings, made_at=SystemClock().now(), is_stored=is_stored))


def _compare_with_store(
    call: Invocation, findings: "LearnFindings"
) -> "tuple[tuple[PastDecision, ...], RunMemoryPolicy, LearnFindings]":
    """All that was decided, what is kept of runs, and the findings with what would be proposed beside
    suggestions, where there is a store that can tell it. Nothing is made for that, and where it cannot be
    opened the transcripts are looked through all the same."""
    from runlore.daemon.agents_folder import read_persona
    from runlore.daemon.mining.past_decisions import decided_in
    from runlore.daemon.mining.proposing import StoredBefore, load_stored_before, with_proposals

    settings = call.settings()
    now = SystemClock().now()
    if settings.url is not None or has_store(settings.state_root, settings.database_url):
        try:
            with call.operations(mounts_follow=False) as operations:
                run_memory = run_memory_policy(operations.get_policy(PolicyName.RUN_MEMORY).policy)
                persona_id = None if settings.url is not None else read_persona(settings.state_root)
                before = load_stored_before(operations, persona_id)
                return decided_in(operations), run_memory, with_proposals(findings, before, now)
        except RunloreError as error:
            say(f"What was decided before is not known: {error.sentence}", "yellow", on_stderr=True)
    return (), RunMemoryPolicy(), with_proposals(findings, StoredBefore(), now)


def _statement_to_plain(record: "Record") -> dict[str, JsonValue]:
    from runlore.domain.statements.ranks import Rank, confidence_reasons, rank_of, sessions_of

    return {
        "text": record.summary,
        "kind": record.kind.value,
        "scope": record.scope.kind.value,
        "confidence": record.confidence,
        "why": list(confidence_reasons(record)),
        "sessions": sessions_of(record),
        "first": rank_of(record) is not Rank.FOLDED,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def _reading_to_plain(reading: "ReadingSummary") -> dict[str, JsonValue]:
    return {
        "sessions": reading.sessions,
        "runs": reading.runs,
        "files": reading.files,
        "lines": reading.lines,
        "lines_skipped": reading.lines_skipped,
        "bytes": reading.bytes,
        "agents": [
            {
                "agent": agent.agent,
                "files": agent.files,
                "sessions": agent.sessions,
                "runs": agent.runs,
                "lines": agent.lines,
                "bytes": agent.bytes,
                "lines_skipped": agent.lines_skipped,
                "skipped": dict(agent.skipped),
            }
            for agent in reading.agents
        ],
        "unsupported": [
            {"path": each.path, "problem": each.problem, "looks_like": each.looks_like}
            for each in reading.unread
        ],
    }
