"""What a question costs: as many steps of the database as its answer is long, however much is stored."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from runlore.domain.prompts.run_memory import Capture, CaptureState, Pointer
from runlore.domain.record import Kind, Layer, Move, PolicyDecision, PublishTier, Source, State
from runlore.domain.run import (
    ArtifactId,
    MemoryState,
    ProcessId,
    RunId,
    RunStatus,
)
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.scope import WORKSPACE, Scope, ScopeKind
from runlore.domain.session import PersonaId, SessionId
from runlore.domain.taint import TRUSTED, Provenance
from runlore.ports.store import RecordFilter, Store
from runlore.storage.open import open_store
from runlore.storage.sql.transaction import SqlTransaction
from runlore.storage.sqlite.errors import WriteHealth
from runlore.storage.sqlite.session import SqliteSession, connect
from tests.builders import appended, changed, episode, fact, proposed, scratch
from tests.storage.run_values import artifact, at, keep, run, said, session

Question = Callable[[SqlTransaction], object]

SMALL, LARGE = 150, 1_500
STEPS_AT_ONCE = 10
BIG, RARE = session("big", created_by="big"), session("rare", created_by="rare")
MINE = RunId("big_000070")
PLACE = (at(60), RunId("big_000060"))
SCOPES = frozenset({WORKSPACE, Scope(ScopeKind.PROJECT, "nothing"), Scope(ScopeKind.SESSION, "rare")})
CAPTURED = Capture(
    run_id=MINE,
    session_id=BIG.session_id,
    opened_at=at(70),
    state=CaptureState.COMPLETED,
    provenance=Provenance(untrusted=True, needs_review=True, sources=("web_fetch",)),
)
PUBLISHED = RecordFilter(
    published=True,
    layers=frozenset({Layer.SEMANTIC}),
    kinds=frozenset({Kind.FACT}),
    states=frozenset({State.ACTIVE}),
    tiers=frozenset({PublishTier.ACTIVE}),
    decisions=frozenset({PolicyDecision.AUTOMATIC}),
    actor="daemon",
    now=at(9),
)
REPLY = Entry(type=EventType.ASSISTANT_MESSAGE, body={"text": "hello"})

QUESTIONS: dict[str, Question] = {
    "session": lambda tx: tx.sessions.find(BIG.session_id),
    "sessions": lambda tx: tx.sessions.page(limit=5),
    "later sessions": lambda tx: tx.sessions.page(limit=5, before=(at(60), SessionId("x"))),
    "sessions of a few": lambda tx: tx.sessions.page(limit=5, scopes=SCOPES, created_by="rare"),
    "past binding": lambda tx: tx.sessions.binding_at(BIG.session_id, at(9_999)),
    "personas": lambda tx: tx.sessions.personas(limit=5, before=(at(60), PersonaId("x"))),
    "run": lambda tx: tx.runs.get(MINE),
    "runs": lambda tx: tx.runs.page(limit=5, before=PLACE),
    "runs by status": lambda tx: tx.runs.page(
        limit=5, statuses=frozenset({RunStatus.FAILED, RunStatus.QUEUED})
    ),
    "runs of a session": lambda tx: tx.runs.page(limit=5, before=PLACE, session_id=BIG.session_id),
    "runs of a caller": lambda tx: tx.runs.page(limit=5, sessions_created_by="rare"),
    "runs of a caller's session": lambda tx: tx.runs.page(
        limit=5, sessions_created_by="rare", session_id=RARE.session_id
    ),
    "all of a session": lambda tx: tx.runs.of_session(RARE.session_id),
    "ended runs": lambda tx: tx.runs.finished_before(BIG.session_id, at(60), limit=5),
    "idle runs": lambda tx: tx.runs.idle_external(at(9_999), limit=5),
    "abandoned runs": lambda tx: tx.runs.list_abandoned(at(9_999), limit=5),
    "owed memories": lambda tx: tx.runs.owing_memory(limit=5, after=RunId("a")),
    "terminal runs": lambda tx: tx.runs.terminal(limit=5, after=RunId("b")),
    "changed runs": lambda tx: list(tx.runs.changed_since(3)),
    "memory": lambda tx: tx.runs.set_memory(MINE, MemoryState.STORED, expected=frozenset(MemoryState)),
    "touch": lambda tx: tx.runs.touch(MINE, at(99_999)),
    "update": lambda tx: tx.runs.update(replace(tx.runs.get(MINE), revision=2), expected_revision=1),
    "artifacts": lambda tx: tx.runs.artifact_excerpts(MINE, chars_max=10**6),
    "artifact names": lambda tx: tx.runs.artifact_names(MINE),
    "less artifacts": lambda tx: tx.runs.delete_artifacts([ArtifactId("art_000070")]),
    "receipt": lambda tx: tx.runs.get_receipt(MINE),
    "receipts": lambda tx: tx.runs.receipts_naming("nobody"),
    "less receipts": lambda tx: tx.runs.delete_receipts([MINE]),
    "append": lambda tx: tx.journal.append(BIG.session_id, MINE, [REPLY] * 3, at(1)),
    "range": lambda tx: tx.journal.range(BIG.session_id, 100, 105),
    "events": lambda tx: tx.journal.page(session_id=BIG.session_id, after=100, limit=5),
    "events of a run": lambda tx: tx.journal.page(run_id=MINE, limit=5),
    "events of a session's run": lambda tx: tx.journal.page(session_id=BIG.session_id, run_id=MINE, limit=5),
    "inputs": lambda tx: tx.journal.inputs([MINE, RunId("nobody")]),
    "latest text": lambda tx: tx.journal.latest_text(MINE),
    "erase a run": lambda tx: tx.journal.erase_run(MINE),
    "erase a session": lambda tx: tx.journal.erase_session(RARE.session_id),
    "pointers of a session": lambda tx: tx.pointers.of_session(BIG.session_id, limit=5),
    "runs of a session's pointers": lambda tx: tx.pointers.runs_of_session(BIG.session_id, limit=5),
    "pointers of scopes": lambda tx: tx.pointers.of_scopes(SCOPES, limit=5, before=PLACE),
    "pointers by id": lambda tx: tx.pointers.get_many([MINE]),
    "expired": lambda tx: tx.pointers.list_expired(at(60), limit=5),
    "pending": lambda tx: tx.pointers.pending(limit=5),
    "another receipt": lambda tx: tx.pointers.set_capture({MINE: CaptureState.COMPLETED}),
    "less pointers": lambda tx: tx.pointers.delete([MINE]),
    "records of a run": lambda tx: tx.records.of_run(MINE),
    "records of a session": lambda tx: tx.records.of_session(RARE.session_id),
    "captures of a session": lambda tx: tx.captures.untrusted_before(BIG.session_id, at(9_999)),
    "capture": lambda tx: tx.captures.get(MINE),
    "another capture": lambda tx: tx.captures.put(CAPTURED),
    "less captures": lambda tx: tx.captures.delete([MINE]),
    "skipped": lambda tx: tx.pointers.list_skipped(limit=5),
    "skipped of a session": lambda tx: tx.pointers.list_skipped(
        limit=5, session_id=BIG.session_id, since=at(60)
    ),
    "published": lambda tx: tx.records.page(PUBLISHED, limit=5),
    "published of any layer": lambda tx: tx.records.page(replace(PUBLISHED, layers=None), limit=5),
    "published of scopes": lambda tx: tx.records.page(replace(PUBLISHED, scopes=SCOPES), limit=5),
    "published lines": lambda tx: tx.records.lines(replace(PUBLISHED, rule="A"), limit=5),
    "revalidation": lambda tx: tx.records.revalidation_due(at(9_999), limit=5),
    "stamps": lambda tx: tx.records.stamps([*SCOPES, RARE.scope]),
    "position": lambda tx: tx.records.position(),
    "a subject that waits": lambda tx: tx.records.waiting_subject(WORKSPACE, Kind.FACT, "nobody", limit=5),
    "a subject that has ended": lambda tx: tx.records.ended_subject(WORKSPACE, Kind.FACT, "nobody", limit=5),
    "subjects that are active": lambda tx: tx.records.matching_subjects(
        [(WORKSPACE, Kind.FACT, f"nobody {number}") for number in range(40)]
    ),
    "a subject that is active": lambda tx: tx.records.matching_subject(WORKSPACE, Kind.FACT, "nobody"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A database with little in it, and one with ten times as much."""
    folder = tmp_path_factory.mktemp("lookups")
    found = []
    for size in (SMALL, LARGE):
        root = folder / str(size)
        store = open_store(database_url=None, state_root=str(root))
        _fill(store, size)
        store.close()
        found.append(root / "runlore.db")
    return found[0], found[1]


@pytest.mark.req("JRN-1", "OPS-4")
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.sampled(every=3)
def test_a_question_costs_no_more_where_ten_times_as_much_is_stored(
    files: tuple[Path, Path], name: str
) -> None:
    small, large = (_steps(file, QUESTIONS[name]) for file in files)

    assert large <= small * 1.2 + 60, f"{small} steps became {large}"


def _steps(file: Path, question: Question) -> int:
    """How many steps of its virtual machine SQLite takes for a question."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += STEPS_AT_ONCE
        return False

    with _transaction(file) as (tx, connection):
        connection.set_progress_handler(count, STEPS_AT_ONCE)
        question(tx)
        connection.set_progress_handler(None)
    return counted


@contextmanager
def _transaction(file: Path) -> Iterator[tuple[SqlTransaction, apsw.Connection]]:
    connection = connect(str(file), writing=True)
    connection.create_scalar_function("current_change", lambda *_: 9, 0)
    connection.execute("BEGIN")
    try:
        yield SqlTransaction(SqliteSession(connection, WriteHealth(str(file)))), connection
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def _fill(store: Store, size: int) -> None:
    """One session with nearly everything, many with a little, and one with hardly anything."""
    ended = {"status": RunStatus.COMPLETED}
    crowd = [session(f"s{number:06}", created_at=at(number)) for number in range(size)]
    keep(store, BIG, RARE, *crowd)
    big = [
        run(
            BIG,
            f"big_{number:06}",
            input_number=number * 4 + 2,
            opened_at=at(number),
            finished_at=at(number),
            **ended,
        )
        for number in range(size)
    ]
    rare = [run(RARE, f"rare_{number}", status=RunStatus.FAILED) for number in range(3)]
    keep(store, *big, *(run(each, f"of_{each.session_id}", **ended) for each in crowd), *rare)
    keep(store, run(RARE, "going"), run(RARE, "run", executor=ProcessId("gone"), active_at=at(9)))
    with store.transaction() as tx:
        tx.journal.append(BIG.session_id, None, [Entry(type=EventType.BINDING, body={})], at(0))
        for each in (*big, *rare):
            asked = said("do it", EventType.INPUT)
            entries = [asked, REPLY, said("ls", EventType.TOOL_CALL), said("a b", EventType.TOOL_RESULT)]
            tx.journal.append(each.session_id, each.run_id, entries, at(0))
            tx.runs.put_artifact(artifact(each, f"art_{each.run_id[4:]}"))
        tx.pointers.put(
            Pointer(
                run_id=each.run_id,
                session_id=each.session_id,
                captured_at=each.opened_at,
                scope_keys=(Scope(ScopeKind.SESSION, each.session_id), WORKSPACE),
                capture=CaptureState.SKIPPED,
            )
            for each in (*big, *rare)
        )
    with store.transaction() as tx:
        made = (
            episode(source=Source(run_id=each.run_id, session_id=each.session_id)) for each in (*big, *rare)
        )
        tx.write([appended(each) for each in (*made, scratch(scope=RARE.scope))])
        for each in (*big, *rare):
            tx.captures.put(
                replace(CAPTURED, run_id=each.run_id, session_id=each.session_id, provenance=TRUSTED)
            )
        tx.captures.put(CAPTURED)
    _fill_learnings(store, size)


def _fill_learnings(store: Store, size: int) -> None:
    """As many that wait as were published."""
    with store.transaction() as tx:
        waiting = [proposed(fact(scope=WORKSPACE, created_at=at(number))) for number in range(size)]
        tx.write(waiting)
        decided = [fact(scope=WORKSPACE, created_at=at(number)) for number in range(size)]
        tx.write([proposed(each) for each in decided])
        tx.write(
            [
                changed(
                    proposed(each).record,
                    Move.CONFIRM,
                    publish_tier=PublishTier.ACTIVE,
                    policy_decision=PolicyDecision.AUTOMATIC,
                    policy_actor="Daemon",
                    automation_review={"rule": "a"},
                    published_at=each.created_at,
                    revalidate_at=at(9),
                )
                for each in decided
            ]
        )
