"""Automatic reviews per second: one daemon and three daemon processes on one PostgreSQL.

Daemons run idle while candidates are captured in manual mode; then a policy is put that publishes them, and
the clock runs from that call to the last review: queued, claimed, verified against their runs, published,
each with its event. Beside it stands how many statements a capture and a review take, which is the same on
every machine. The yardstick is a bare loop of as many transactions, two that write one row and two that
read one for each candidate, on the same server. Wall time, since waiting for the server is the point.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from bench.measure import print_table
from runlore.config.settings import Settings
from runlore.daemon.app import Application
from runlore.daemon.background.jobs import TOGETHER, TOGETHER_MAX, do_some_jobs
from runlore.daemon.parts import Parts
from runlore.daemon.wiring import open_parts
from runlore.domain.access import LOCAL_OPERATOR
from runlore.domain.policies.policy import PolicyName
from runlore.domain.record import EvidenceRef, JsonObject, Kind, Origin, PublishTier, Source, State
from runlore.domain.records.admission import Draft
from runlore.domain.records.audit import DAEMON, Act
from runlore.domain.run import RunStatus
from runlore.domain.runs.job import JobKind
from runlore.domain.scope import Scope, ScopeKind
from runlore.domain.session import SessionId
from runlore.flow.record.intake import Intake, propose
from runlore.ports import operations as ops
from runlore.ports.store import RecordFilter
from tests.postgres_server import PostgresServer
from tests.stories.daemons import Daemon
from tests.system_programs import ProgramMissing

TITLE = "candidates reviewed per second, by one and by three daemons on one PostgreSQL"

RUNS = 40
FACTS_PER_RUN = 15
CANDIDATES = RUNS * FACTS_PER_RUN
DAEMONS = (1, 3)
POLL_S = 0.02
WAIT_S = 600.0
_RULE: JsonObject = {"name": "facts", "kind": "fact", "require_evidence": True, "action": "publish_active"}


def main() -> None:
    """Measure, where a server can be started."""
    try:
        with PostgresServer(durable=True) as server:
            rates = {count: _rate(server, count) for count in DAEMONS}
            bare = _bare(server)
            statements = _statements(server)
    except ProgramMissing as missing:
        print(f"nothing was measured: {missing}")
        return
    print(f"{CANDIDATES} candidates of {RUNS} runs, all published in the active tier")
    print_table(
        ("who", "per second", "of one daemon", "of the bare loop"),
        [
            ("bare loop of as many transactions", f"{bare:,.0f}", f"{bare / rates[1]:.2f}", "1.00"),
            *(
                (
                    f"{count} daemon{'s' * (count > 1)}",
                    f"{rate:,.0f}",
                    f"{rate / rates[1]:.2f}",
                    f"{rate / bare:.2f}",
                )
                for count, rate in rates.items()
            ),
        ],
    )

    print("statements that the server runs for runs that end together, each in a session of its own")
    print_table(("what", "each"), [(what, f"{each:.1f}") for what, each in statements.items()])


def _statements(server: PostgresServer) -> dict[str, float]:
    """How many each capture and each review takes where as many as possible are due: the same every time."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="runlore-bench-") as folder, server.database() as url:
        server.note_statements(url)
        parts = open_parts(Settings(state_root=folder, database_url=url))
        try:
            operator = Application(parts, LOCAL_OPERATOR)
            for number in range(TOGETHER[JobKind.CAPTURE]):
                session = operator.create_session(ops.NewSession(session_id=SessionId(f"session-{number}")))
                request = "Look at the header. Always use pnpm here."
                run = operator.open_run(ops.NewRun(session_id=session.session_id, request=request)).run
                operator.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED))
            for kind in TOGETHER:
                with server.statements() as asked:
                    done = do_some_jobs(parts, kinds=frozenset({kind}), at_once=TOGETHER_MAX)
                found[f"a {kind}"] = len(asked) / done
        finally:
            parts.close()
    return found


def _rate(server: PostgresServer, count: int) -> float:
    """How many candidates so many daemons review in a second."""
    with tempfile.TemporaryDirectory(prefix="runlore-bench-") as folder, server.database() as url:
        homes = [Settings(state_root=str(Path(folder) / f"{n}"), database_url=url) for n in range(count + 1)]
        parts = open_parts(homes[0])
        try:
            _put(parts, {"mode": "manual_only", "capture": {"run_summary_candidates": False}})
            _fill(parts)
            with _daemons(homes[1:]):
                began = time.perf_counter()
                _put(parts, {"mode": "enabled", "publication": {"rules": [_RULE]}})
                _wait(parts)
                seconds = time.perf_counter() - began
            _check(parts)
        finally:
            parts.close()
    return CANDIDATES / seconds


@contextmanager
def _daemons(homes: list[Settings]) -> Iterator[None]:
    with ExitStack() as stack:
        for settings in homes:
            daemon = Daemon(settings)
            stack.callback(daemon.close)
            daemon.start()
        yield


def _put(parts: Parts, policy: JsonObject) -> None:
    change = ops.PolicyChange(name=PolicyName.LEARNING, policy=policy)
    Application(parts, LOCAL_OPERATOR).put_policy(change)


def _fill(parts: Parts) -> None:
    """Runs that state facts, and a waiting candidate for each of them."""
    operator = Application(parts, LOCAL_OPERATOR)
    for number in range(RUNS):
        session = operator.create_session(ops.NewSession(session_id=SessionId(f"session-{number}")))
        facts = [f"Service {number}-{k} listens on port {8_000 + k}" for k in range(FACTS_PER_RUN)]
        request = " ".join(f"Fact: {fact}." for fact in facts)
        run = operator.open_run(ops.NewRun(session_id=session.session_id, request=request)).run
        run = operator.finish_run(ops.RunEnd(run_id=run.run_id, status=RunStatus.COMPLETED)).run
        drafts = [
            Draft(
                kind=Kind.FACT,
                summary=fact,
                scope=Scope(ScopeKind.SESSION, session.session_id),
                confidence=98,
                source=Source(session_id=session.session_id, run_id=run.run_id),
                evidence_refs=(EvidenceRef(run_id=run.run_id, event_number=run.input_number),),
            )
            for fact in facts
        ]
        act = Act(actor=DAEMON, at=parts.clock.now(), reason="captured from a run")
        with parts.store.transaction() as tx:
            propose(tx, Intake(ids=parts.ids, act=act, origin=Origin.DAEMON), drafts)


def _wait(parts: Parts) -> None:
    waiting = RecordFilter(states=frozenset({State.CONSTRAINED}))
    for _ in range(int(WAIT_S / POLL_S)):
        with parts.store.snapshot() as snapshot:
            if snapshot.records.count_lines(waiting) == 0:
                return
        time.sleep(POLL_S)
    raise TimeoutError(f"not all candidates were reviewed within {WAIT_S:.0f} s")


def _check(parts: Parts) -> None:
    published = RecordFilter(states=frozenset({State.ACTIVE}), tiers=frozenset({PublishTier.ACTIVE}))
    with parts.store.snapshot() as snapshot:
        found = snapshot.records.count_lines(published)
    assert found == CANDIDATES, f"{found} of {CANDIDATES} were published"


def _bare(server: PostgresServer) -> float:
    """How many times in a second two commits and two reads can be done, one after the other."""
    with server.database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE bare (id BIGINT PRIMARY KEY, n BIGINT)")
        connection.execute("INSERT INTO bare VALUES (1, 0)")
        began = time.perf_counter()
        for _ in range(CANDIDATES):
            for _ in range(2):
                with connection.transaction():
                    connection.execute("UPDATE bare SET n = n + 1 WHERE id = 1")
                with connection.transaction():
                    connection.execute("SELECT n FROM bare WHERE id = 1").fetchone()
        return CANDIDATES / (time.perf_counter() - began)
