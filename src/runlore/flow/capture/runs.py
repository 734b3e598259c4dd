"""Runs: opened with their input, moved, and what is reported of them: events, checkpoints, artifacts.

Runlore's own agent works through one input of a session at a time: two would write into one folder at once,
and neither would know what the other was told. Which runs nobody will end is told here too.

What reported usage says about our estimates is counted: the tokens of a model's text, told and estimated.

The requests that went to a provider (AGT-6) are kept as artifacts. Whatever Runlore knew may stand in one, so
what is forgotten takes along every request that was kept since it came into being (LRN-12).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from runlore.domain import limits
from runlore.domain.errors import Conflict, Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.prompts.projection import ModelFamily
from runlore.domain.prompts.token_budget import estimate, estimated_counter, family_of, reported_counter
from runlore.domain.record import JsonObject
from runlore.domain.run import OPEN, Artifact, ArtifactId, ProcessId, Run, RunId, RunMove, apply_run_move
from runlore.domain.runs.journal import Entry, EventType, JournalEvent, is_repeat, number_conflict, text_of
from runlore.domain.runs.journal_entry import status_entry
from runlore.domain.session import Session, SessionId
from runlore.domain.timestamps import from_milliseconds, to_milliseconds
from runlore.ports.store import Collections, Transaction


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The numbers that entries got."""

    first: int
    last: int
    repeated: bool = False


def open_run(tx: Transaction, session: Session, run: Run, entry: Entry) -> Run:
    """Write a run with its input as one event; a session that has ended takes none."""
    require_open_session(session)
    number = tx.journal.append(session.session_id, run.run_id, [entry], run.opened_at)
    opened = replace(run, input_number=number)
    tx.runs.insert(opened)
    tx.outcomes.put(run.run_id, run.opened_at)
    return opened


def require_open_session(session: Session) -> None:
    if session.ended_at is not None:
        raise Conflict(
            f"session {session.session_id!r} has ended",
            code="session.ended",
            hint="create another session, or open this one again with ended=false",
        )


def require_same_run(tx_run: Run, wanted: Run, *, same_input: bool) -> Run:
    """The run that is there, when it is what is asked for once more; else a conflict."""
    facts = (tx_run.session_id, tx_run.agent, tx_run.model, tx_run.created_by)
    is_same = facts == (wanted.session_id, wanted.agent, wanted.model, wanted.created_by)
    # Which process works it is another one after a restart; that one does makes it another kind of run.
    if same_input and is_same and (tx_run.executor is None) is (wanted.executor is None):
        return tx_run
    raise Conflict(
        f"run {tx_run.run_id!r} exists already, with another input or by another caller",
        code="run.exists",
        hint="use another id, or leave it out",
    )


def move_run(tx: Transaction, run: Run, move: RunMove, at: datetime) -> Run:
    after = apply_run_move(run, move, at)
    tx.runs.update(after, expected_revision=run.revision)
    tx.journal.append(run.session_id, run.run_id, [status_entry(after)], at)
    return after


def require_open_run(run: Run) -> None:
    if run.is_terminal:
        raise Conflict(
            f"run {run.run_id!r} is {run.status}: nothing can be added to it",
            code="run.ended",
            hint="open another run for what comes next",
        )


def require_external(run: Run) -> None:
    if run.executor is not None:
        raise Conflict(
            f"run {run.run_id!r} is worked by Runlore itself, which reports what happens in it",
            code="run.executed",
            hint="open a run of your own for what you do",
        )


def append_events(
    tx: Transaction, run: Run, entries: Sequence[Entry], *, first_number: int | None, at: datetime
) -> Numbers:
    """Append what was reported. With `first_number`, what is stored there already changes nothing."""
    if first_number is not None and _is_stored(tx, run, entries, first_number):
        return Numbers(first=first_number, last=first_number + len(entries) - 1, repeated=True)
    require_open_run(run)
    first = tx.journal.append(run.session_id, run.run_id, entries, at)
    tx.runs.touch(run.run_id, at)
    return Numbers(first=first, last=first + len(entries) - 1)


def _is_stored(tx: Transaction, run: Run, entries: Sequence[Entry], first_number: int) -> bool:
    next_number = tx.sessions.get(run.session_id).next_number
    if first_number == next_number:
        return False
    is_within = first_number >= 1 and first_number + len(entries) <= next_number
    if is_within and _is_repeated(tx, run, entries, first_number):
        return True
    raise number_conflict(run.session_id, first_number=first_number, next_number=next_number)


def _is_repeated(tx: Transaction, run: Run, entries: Sequence[Entry], first_number: int) -> bool:
    """Whether these very events stand there. By pages: what is stored may be far larger than what is sent."""
    compared = 0
    while compared < len(entries):
        stored = tx.journal.page(
            session_id=run.session_id, after=first_number - 1 + compared, limit=len(entries) - compared
        )
        if not is_repeat(stored, run.run_id, entries[compared : compared + len(stored)]):
            return False
        compared += len(stored)
    return True


def add_checkpoint(tx: Transaction, session: Session, entry: Entry, at: datetime) -> int:
    require_open_session(session)
    number = tx.journal.append(session.session_id, None, [entry], at)
    after = replace(
        session,
        checkpoint_number=number,
        active_at=max(session.active_at, at),
        revision=session.revision + 1,
    )
    tx.sessions.update(after, expected_revision=session.revision)
    return number


def add_artifact(tx: Transaction, run: Run, artifact: Artifact) -> Artifact:
    """Keep a text of an open run; the very same once more changes nothing."""
    present = tx.runs.artifact_names(run.run_id)
    if artifact.artifact_id in present:
        stored = tx.runs.get_artifact(artifact.artifact_id)
        # The time is the first one's: the same text at another moment is the same artifact.
        tx.runs.put_artifact(replace(artifact, created_at=stored.created_at))
        return stored
    require_open_run(run)
    if len(present) >= limits.RUN_ARTIFACTS_MAX:
        raise Invalid(
            f"run {run.run_id!r} has {len(present)} artifacts, and no run has more",
            code="artifact.many",
            hint="put what belongs together into one artifact",
        )
    tx.runs.put_artifact(artifact)
    tx.runs.touch(run.run_id, artifact.created_at)
    return artifact


# A process that has been dead for so long has no run left, and need not be listed any more.
_LISTED = timedelta(days=1)
_LONGEST = timedelta(seconds=limits.PROCESS_LEASE_S_MAX)


def is_abandoned(collections: Collections, run: Run, now: datetime) -> bool:
    """Whether the process that works a run is known no longer, or holds no lease: it has lapsed, or a clock
    that was ahead has made it longer than any is."""
    if run.executor is None:
        return False
    lease_until = collections.processes.leases().get(run.executor)
    return lease_until is None or not now < lease_until <= now + _LONGEST


def idle_since(hours: int, now: datetime) -> datetime:
    return now - timedelta(hours=hours)


def is_idle(run: Run, since: datetime) -> bool:
    return run.executor is None and run.active_at < since


def list_lapsed_processes(collections: Collections, now: datetime) -> tuple[ProcessId, ...]:
    leases = collections.processes.leases()
    return tuple(process for process, until in leases.items() if not now - _LISTED <= until <= now + _LONGEST)


def require_unworked(collections: Collections, session_id: SessionId, now: datetime) -> None:
    """Refuse an input of a session in which a living process works another one, this one or any other; the
    caller has the session's turn. What other agents report there stands in nobody's way."""
    for run in _open_runs(collections, session_id):
        if run.executor is not None and not is_abandoned(collections, run, now):
            raise session_busy(session_id, run.run_id)


def session_busy(session_id: SessionId, run_id: RunId | None) -> Conflict:
    named = "another input" if run_id is None else f"run {run_id!r}"
    return Conflict(
        f"{named} is being worked in session {session_id!r}",
        code="agent.session-busy",
        hint=f"wait until it has ended, or stop it: runlore session run cancel {run_id or 'RUN'}",
    )


def _open_runs(collections: Collections, session_id: SessionId) -> Iterator[Run]:
    before = None
    while page := collections.runs.page(
        limit=limits.LIST_LIMIT_MAX, session_id=session_id, statuses=OPEN, before=before
    ):
        yield from page
        before = (page[-1].opened_at, page[-1].run_id)


# How far back the text of a usage event is looked for. What lies further back teaches nothing.
_LOOKED_BACK = 32
_FAR_OFF = 8


def usage_counters(
    tx: Transaction, run: Run, entries: Sequence[Entry], *, first: int, families: Sequence[ModelFamily]
) -> dict[str, int]:
    """What to add to the totals of each model family, for entries whose first number is `first`."""
    texts: list[str] | None = []
    is_first = True
    totals: dict[str, int] = {}
    for entry in entries:
        if entry.type is EventType.USAGE:
            named = entry.body.get("model")
            family = family_of(named if isinstance(named, str) else run.model, families)
            if family is not None and texts is not None:
                # What was appended before is read only for a report that teaches something.
                before = _texts_before(tx, run, first) if is_first else []
                if before is not None:
                    _learn(totals, entry.body, [*before, *texts], family)
            texts, is_first = [], False
        elif entry.type is EventType.ASSISTANT_MESSAGE and texts is not None:
            texts.append(text_of(entry.body))
        elif entry.type is EventType.TOOL_CALL:
            texts = None
    return totals


def _texts_before(tx: Transaction, run: Run, first: int) -> list[str] | None:
    start = max(run.input_number, first - _LOOKED_BACK)
    before = tx.journal.page(session_id=run.session_id, after=start - 1, limit=first - start)
    if not before or before[-1].number != first - 1:
        # They are too large to be read for this.
        return None
    return _texts_since_usage(event for event in reversed(before) if event.run_id == run.run_id)


def _texts_since_usage(backwards: Iterable[JournalEvent]) -> list[str] | None:
    """The agent's texts since its usage was told last; None where that cannot be told.

    Tokens of tool calls are in the report and not in the texts: such a report teaches nothing.
    """
    texts: list[str] = []
    for event in backwards:
        if event.type in (EventType.USAGE, EventType.INPUT):
            return texts
        if event.type is EventType.TOOL_CALL:
            return None
        if event.type is EventType.ASSISTANT_MESSAGE:
            texts.append(text_of(event.body))
    return None


def _learn(totals: dict[str, int], usage: JsonObject, texts: list[str], family: ModelFamily) -> None:
    reported, estimated = usage.get("output_tokens"), sum(map(estimate, texts))
    if isinstance(reported, bool) or not isinstance(reported, int):
        return
    # What is so far off counts something else, and one such report would spoil the sum for good.
    if not estimated <= reported * _FAR_OFF <= estimated * _FAR_OFF**2 or not estimated:
        return
    for name, amount in (
        (reported_counter(family.name), reported),
        (estimated_counter(family.name), estimated),
    ):
        totals[name] = totals.get(name, 0) + amount


FIRST, LAST = "request-first.json", "request-last.json"
_NAMES = frozenset({FIRST, LAST})
_NOTE = "requests.forgotten_at"
_NAME_ONLY = 1
# What a run is given is read shortly before it is opened.
_READ_BEFORE = timedelta(seconds=10)


def forget_requests(tx: Transaction, *, since: datetime, at: datetime) -> int:
    """Erase the requests that were kept since a moment, and have the runs that go on keep none: how many
    there were."""
    tx.counters.set_note(_NOTE, str(max(to_milliseconds(at), to_milliseconds(_forgotten_at(tx)))))
    return tx.runs.delete_artifacts(sorted(requests_since(tx, since)))


def requests_since(
    collections: Collections, since: datetime, *, besides: Collection[RunId] = ()
) -> tuple[ArtifactId, ...]:
    """The requests that were kept since a moment, besides those of some runs."""
    return tuple(
        artifact.artifact_id
        for run_id in collections.runs.own_with_artifacts(since)
        if run_id not in besides
        for artifact in collections.runs.artifact_excerpts(run_id, chars_max=_NAME_ONLY)
        if artifact.name in _NAMES
    )


def may_keep(collections: Collections, run: Run, artifact: Artifact) -> bool:
    """Whether a run may keep what it leaves: no request, where something was forgotten since the run was
    given what stands in it."""
    return artifact.name not in _NAMES or _forgotten_at(collections) < run.opened_at - _READ_BEFORE


def _forgotten_at(collections: Collections) -> datetime:
    note = collections.counters.note(_NOTE)
    return datetime.fromtimestamp(0, tz=UTC) if note is None else from_milliseconds(int(note))
