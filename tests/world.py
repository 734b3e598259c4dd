"""A whole Runlore on a real database, with a clock and ids that the test holds in its hand.

The operations are the real ones, bound to an operator, an agent or a reader. What a test asks for most has a
short name; everything else is `world.operator.<operation>`.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg

from runlore.config.settings import Settings
from runlore.daemon.app import Application, Parts
from runlore.daemon.runs.run_ends import closing, remembering
from runlore.daemon.wiring import INDEX_NAME, open_parts
from runlore.domain.errors import RunloreError
from runlore.domain.prompts.run_memory import RunMemory
from runlore.domain.record import JsonObject, Kind, Record, RecordId, State
from runlore.domain.records.audit import Act, RecordEvent, replay
from runlore.domain.records.radar import Finding
from runlore.domain.run import ProcessId, Run, RunId, RunStatus
from runlore.domain.runs.journal import JournalEvent
from runlore.domain.runs.journal_entry import input_entry
from runlore.domain.session import Session, SessionId
from runlore.flow.capture.ending import RunEnding
from runlore.flow.capture.runs import open_run
from runlore.flow.capture.session_lock import run_turn
from runlore.ports import operations as ops
from runlore.ports.ids import Ids
from tests.fakes import FakeClock, SequentialIds
from tests.state_roots import lay_state_root

OPERATOR = ops.Caller(actor="operator", role=ops.Role.OPERATOR)
AGENT = ops.Caller(actor="claude", role=ops.Role.AGENT)
READER = ops.Caller(actor="dashboard", role=ops.Role.READER)
TABLES = (
    "store_meta",
    "records",
    "record_events",
    "record_sources",
    "scope_departures",
    "answers",
    "answer_names",
    "texts",
    "personas",
    "sessions",
    "runs",
    "journal",
    "artifacts",
    "receipts",
    "receipt_sources",
    "run_pointers",
    "run_pointer_scopes",
    "run_captures",
    "run_memories",
    "mined_runs",
    "suggestions",
    "suggestion_runs",
    "skills",
    "skill_suggestions",
    "skill_uses",
    "skill_events",
    "skill_numbers",
    "curations",
    "curation_skills",
    "promoted_skills",
    "promoted_history",
    "skill_executions",
    "approvals",
    "transcript_positions",
    "session_parents",
    "processes",
    "jobs",
    "policies",
    "outside_sources",
    "outside_words",
    "model_use",
    "tokens",
    "counters",
    "switches",
    "notes",
)

Rows = Callable[[str], list[tuple[object, ...]]]
Tables = dict[str, list[tuple[object, ...]]]


class World:
    """One database, and one Runlore on it that can be closed, opened again, and joined by a second one."""

    def __init__(self, settings: Settings, *, ids: Ids | None = None) -> None:
        self.settings = settings
        self.clock = FakeClock()
        self.ids: Ids = ids or SequentialIds()
        self._others: list[Parts] = []
        self._behind = ExitStack()
        self._rows: Rows | None = None
        self.parts = self._open(settings)

    @property
    def root(self) -> Path:
        """The state root."""
        return Path(self.settings.state_root)

    @property
    def index_file(self) -> Path:
        """Where the index is saved."""
        return self.root / INDEX_NAME

    @property
    def operator(self) -> Application:
        """The operations of the person who reviews."""
        return Application(self.parts, OPERATOR)

    @property
    def agent(self) -> Application:
        """The operations of a program that runs."""
        return Application(self.parts, AGENT)

    def caller(self, role: ops.Role) -> Application:
        """The operations of somebody with this role."""
        return Application(self.parts, ops.Caller(actor=f"a {role}", role=role))

    def another(self) -> Application:
        """The operator's operations on a second daemon with a state root of its own; PostgreSQL alone."""
        root = self.root.with_name(f"{self.root.name}-{len(self._others) + 2}")
        parts = self._open(Settings(state_root=str(root), database_url=self.settings.database_url))
        self._others.append(parts)
        return Application(parts, OPERATOR)

    def close(self) -> None:
        """Close everything that is open."""
        while self._others:
            self._others.pop().close()
        self._behind.close()
        self._rows = None
        self.parts.close()

    def restart(self) -> None:
        """Close, and start again."""
        self.close()
        self.parts = self._open(self.settings)

    def propose(self, key: str = "editor", value: str = "vim", **fields: Any) -> Record:
        """A profile proposal."""
        return self.operator.propose_profile(
            ops.ProfileProposal(key=key, value=value, **{"reason": "said so", **fields})
        )

    def confirm(self, record: Record | RecordId, **fields: Any) -> Record:
        """The operator's yes."""
        return self.operator.confirm(decision(record, **fields))

    def reject(self, record: Record | RecordId, **fields: Any) -> Record:
        """The operator's no."""
        return self.operator.reject(decision(record, **fields))

    def rollback(self, record: Record | RecordId, **fields: Any) -> ops.RollbackAnswer:
        """Take something active back."""
        return self.operator.rollback(decision(record, **fields))

    def restore(self, record: Record | RecordId, **fields: Any) -> Record:
        """Bring something superseded back."""
        return self.operator.restore(decision(record, **fields))

    def forget(self, record: Record | RecordId, **fields: Any) -> ops.ForgetAnswer:
        """Erase content."""
        return self.operator.forget(decision(record, **fields))

    def profile(self, key: str = "editor", value: str = "vim", **fields: Any) -> Record:
        """An active profile record."""
        return self.confirm(self.propose(key, value, **fields))

    def finding(self, summary: str, **fields: Any) -> Record:
        """A waiting radar finding of the operator's."""
        return found(self.operator, summary, **fields)

    def fact(self, summary: str, **fields: Any) -> Record:
        """An active fact."""
        return self.confirm(self.finding(summary, **fields))

    def procedure(self, summary: str, workflow: str) -> Record:
        """An active procedure."""
        request = ops.AdoptRequest(finding_id=self.finding(summary).record_id, workflow=workflow)
        return self.operator.radar_adopt(request).procedure

    def episode(self, summary: str = "The nightly run passed", **fields: Any) -> Record:
        """An episode."""
        return self.operator.add_episode(
            ops.Episode(**{"kind": Kind.EXPERIMENT, "summary": summary, **fields})
        )

    def session(self, session_id: str | None = "talk", **fields: Any) -> Session:
        """A session of the operator's; its fixed id makes it the same one every time."""
        given = None if session_id is None else SessionId(session_id)
        return self.operator.create_session(ops.NewSession(session_id=given, **fields))

    def run(self, request: str = "Build the release", **fields: Any) -> Run:
        """An open run of another agent, in the session of that short name."""
        session_id = fields.pop("session_id", None) or self._talk()
        asked = ops.NewRun(session_id=session_id, request=request, **fields)
        return self.operator.open_run(asked).run

    def append(self, run: Run | RunId, *events: JsonObject, **fields: Any) -> ops.Appended:
        """Events of a run."""
        return self.operator.append_events(ops.NewEvents(run_id=_run_id(run), events=events, **fields))

    def say(self, run: Run | RunId, *texts: str) -> ops.Appended:
        """What a run's agent says."""
        return self.append(run, *({"type": "assistant_message", "text": text} for text in texts))

    def finish(self, run: Run | RunId, status: RunStatus = RunStatus.COMPLETED, **fields: Any) -> Run:
        """The end of a run."""
        return self.operator.finish_run(ops.RunEnd(run_id=_run_id(run), status=status, **fields)).run

    def finished(self, request: str = "Build the release", reply: str = "Done", **fields: Any) -> Run:
        """A run that was worked through."""
        run = self.run(request, **fields)
        self.say(run, reply)
        return self.finish(run)

    def executed(self, executor: ProcessId, request: str = "Work it yourself") -> Run:
        """An open run that a Runlore process works itself."""
        session, now = self.operator.get_session(self._talk()), self.clock.now()
        run = Run(
            run_id=RunId(self.ids.new("run", now)),
            session_id=session.session_id,
            status=RunStatus.RUNNING,
            executor=executor,
            input_number=0,
            created_by="operator",
            opened_at=now,
            active_at=now,
        )
        with self.parts.store.transaction() as tx:
            return open_run(tx, session, run, input_entry(request, {}))

    def end_executed(self, run: Run, status: RunStatus) -> Run:
        """The end of such a run, by its process."""
        with self.parts.store.transaction() as tx:
            act = Act(actor="operator", at=self.clock.now())
            closed = closing(self.parts).close(tx, run_turn(tx, run.run_id)[0], RunEnding(status=status), act)
        remembering(self.parts).settle(run.run_id, closed.job)
        return closed.run

    def memory(self, run: Run | RunId) -> RunMemory | None:
        """What is remembered of a run; None for a memory that is missing, or there and unreadable."""
        found = self.parts.run_memories.get(_run_id(run))
        return found if isinstance(found, RunMemory) else None

    def pointers(self) -> list[RunId]:
        """The runs that the topology index leads to, by id."""
        with self.parts.store.snapshot() as snapshot:
            return [pointer.run_id for pointer in snapshot.pointers.everything()]

    def journal(self, session_id: str = "talk") -> tuple[JournalEvent, ...]:
        """All events of a session."""
        with self.parts.store.snapshot() as snapshot:
            return snapshot.journal.range(SessionId(session_id), 1, 10**9)

    def counters(self) -> dict[str, int]:
        """The totals."""
        with self.parts.store.snapshot() as snapshot:
            return snapshot.counters.values()

    def proposals(self) -> list[Record]:
        """The proposals that compaction and dedup make now."""
        request = ops.MergeRequest(create_proposals=True)
        items = (*self.operator.compact(request), *self.operator.dedup(request))
        return [item.proposal for item in items if item.proposal and item.status == "proposed"]

    def record(self, record: Record | RecordId) -> Record:
        """A record as it is now."""
        return self.operator.get_record(_id(record))

    def active(self, **filters: Any) -> list[RecordId]:
        """What a list of active records shows, newest first."""
        return self.listed(State.ACTIVE, **filters)

    def listed(self, *states: State, **filters: Any) -> list[RecordId]:
        """What a list shows, newest first."""
        asked = ops.Filters(states=frozenset(states), **filters)
        page = self.operator.list_records(ops.ListRequest(filters=asked, limit=500))
        return [record.record_id for record in page.items]

    def search(self, query: str, **fields: Any) -> list[RecordId]:
        """What a search finds, best first."""
        filters = ops.Filters(**{n: fields.pop(n) for n in ("as_of", "layers", "states") if n in fields})
        hits = self.operator.search(ops.SearchRequest(query=query, filters=filters, **fields))
        return [hit.record.record_id for hit in hits.items]

    def histories(self) -> dict[RecordId, tuple[RecordEvent, ...]]:
        """Everything that happened, by record."""
        with self.parts.store.snapshot() as snapshot:
            return {record.record_id: events for record, events in snapshot.records.everything()}

    def stored(self) -> dict[RecordId, Record]:
        """Every record as the store answers for it, by id."""
        with self.parts.store.snapshot() as snapshot:
            ids = [record.record_id for record, _ in snapshot.records.everything()]
            return snapshot.records.get_many(ids)

    def tables(self) -> Tables:
        """Every row of every table, read behind the store's back."""
        if self._rows is None:
            self._rows = self._behind.enter_context(reading(self.settings))
        return read_tables(self._rows)

    def damage(self, sql: str) -> None:
        """Change the embedded database behind the store's back, as a bad disk would."""
        file = apsw.Connection(f"{self.settings.state_root}/runlore.db")
        file.execute(sql)
        file.close()

    def files_with(self, word: str) -> list[str]:
        """The files under the state root that hold a word, whatever its case."""
        return files_with(self.root, word)

    def _talk(self) -> SessionId:
        with self.parts.store.snapshot() as snapshot:
            present = snapshot.sessions.find(SessionId("talk"))
        return present.session_id if present else self.session().session_id

    def _open(self, settings: Settings) -> Parts:
        if not settings.database_url:
            lay_state_root(settings.state_root)
        return open_parts(settings, clock=self.clock, ids=self.ids)


class Operations(Protocol):
    """What `found` needs."""

    def radar_add(self, findings: ops.Findings) -> tuple[Record, ...]:
        """Take findings in."""
        ...


def found(operations: Operations, summary: str, **fields: Any) -> Record:
    """The candidate that a finding becomes."""
    finding = Finding(
        **{
            "summary": summary,
            "repo_slug": "acme/tools",
            "source_handle": "acme",
            "source_url": "https://example.org/acme/tools",
            "topic_tags": ("tools",),
            **{name: value for name, value in fields.items() if name != "scope"},
        }
    )
    scope = {"scope": fields["scope"]} if "scope" in fields else {}
    return operations.radar_add(ops.Findings(findings=(finding,), **scope))[1]


def decision(record: Record | RecordId, **fields: Any) -> ops.Decision:
    """An act on a record."""
    return ops.Decision(record_id=_id(record), **fields)


def outcome(act: Callable[[], object]) -> str:
    """What became of an act: `done`, or the code of its refusal."""
    try:
        act()
    except RunloreError as error:
        return error.code
    return "done"


def files_with(root: Path, word: str) -> list[str]:
    """The files under a folder that hold a word, whatever its case.

    By another process: closing a file that SQLite has open would take its locks away.
    """
    told = subprocess.run(
        ["grep", "-rlaiF", "--", word, str(root)], capture_output=True, text=True, check=False
    )
    return told.stdout.splitlines()


def read_tables(rows: Rows) -> Tables:
    """Every row of every table of a database, in the order of its key."""
    return {table: rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}


def inconsistencies(settings: Settings) -> list[str]:
    """What the database itself finds wrong with its file; nothing for PostgreSQL, which has checksums."""
    if settings.database_url:
        return []
    with reading(settings) as rows:
        told = [str(row[0]) for row in rows("PRAGMA integrity_check")]
        broken = [f"a row of {row[0]} refers to nothing" for row in rows("PRAGMA foreign_key_check")]
    return [line for line in told if line != "ok"] + broken


def replayed(histories: dict[RecordId, tuple[RecordEvent, ...]]) -> dict[RecordId, Record]:
    """The records that histories lead to."""
    return {record_id: replay(events) for record_id, events in histories.items()}


def as_of(histories: dict[RecordId, tuple[RecordEvent, ...]], moment: datetime) -> list[Record]:
    """What there was at a moment: the events up to it, replayed one by one."""
    records = []
    for events in histories.values():
        happened = []
        for event in events:
            if event.at > moment:
                break
            happened.append(event)
        if happened:
            records.append(replay(happened))
    return records


@contextmanager
def reading(settings: Settings) -> Iterator[Rows]:
    """A connection behind the store's back."""
    if settings.database_url:
        with psycopg.connect(settings.database_url, autocommit=True) as server:
            yield lambda sql: server.execute(sql.encode()).fetchall()
        return
    file = apsw.Connection(f"{settings.state_root}/runlore.db", flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield lambda sql: [tuple(row) for row in file.execute(sql)]
    finally:
        file.close()


def _id(record: Record | RecordId) -> RecordId:
    return record.record_id if isinstance(record, Record) else record


def _run_id(run: Run | RunId) -> RunId:
    return run.run_id if isinstance(run, Run) else run
