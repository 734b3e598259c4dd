"""Capture switched off everywhere and on again, from the command line."""

import pytest

from runlore.config.settings import Settings
from runlore.daemon.wiring import open_parts
from runlore.domain import limits
from runlore.domain.prompts.run_memory import CaptureState, Pointer
from runlore.domain.run import MemoryState, Run, RunId, RunStatus
from runlore.domain.runs.job import Job, JobId, JobKind
from runlore.domain.runs.journal import Entry, EventType
from runlore.domain.session import Session, SessionId
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import report

pytestmark = pytest.mark.req("CAP-7", "SUR-7")


def test_capture_is_on_until_somebody_pauses_it(runlore: Runlore) -> None:
    assert runlore.text("capture", "status") == "Capture is on.\n"
    assert runlore.json("capture", "status") == {"paused": False, "since": None, "by": None}


def test_while_capture_is_paused_nothing_of_a_run_is_stored(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")
    paused = runlore.text("capture", "pause")
    assert paused.startswith("Capture is paused since ")
    assert paused.endswith(", by operator: nothing of any run is stored.\n")
    before = runlore.contents()

    view = report(runlore, "run-1", "about swordfish", status=None)

    assert not view.stored
    assert runlore.contents()["tables"]["runs"] == before["tables"]["runs"]
    assert "swordfish" not in str(runlore.contents())


def test_after_a_resume_runs_are_stored_again(runlore: Runlore) -> None:
    runlore.json("session", "create", "--id", "talk")
    runlore.json("capture", "pause")
    assert runlore.json("capture", "resume")["paused"] is False

    report(runlore, "run-1", "about swordfish")

    assert [run["run_id"] for run in runlore.items("session", "runs")] == ["run-1"]
    assert runlore.text("capture", "status").startswith("Capture is on since ")


def test_pausing_twice_keeps_the_first_time(runlore: Runlore) -> None:
    first = runlore.json("capture", "pause")

    assert runlore.json("capture", "pause") == first


def test_belated_capture_and_the_work_that_waits_go_on_to_their_end(embedded: Runlore) -> None:
    many, talk = limits.LIST_LIMIT_MAX + 20, SessionId("talk")
    embedded.json("policy", "set", "learning", "--set", 'capture={"semantic_candidates":{"enabled":true}}')
    parts = open_parts(Settings(state_root=str(embedded.home)))
    now = parts.clock.now()
    ids = [RunId(f"run_{number:04}") for number in range(many)]
    with parts.store.transaction() as tx:
        tx.sessions.insert(Session(session_id=talk, created_by="operator", created_at=now, active_at=now))
        entry = Entry(type=EventType.INPUT, body={"text": "Do it"})
        for run_id in ids:
            tx.runs.insert(
                Run(
                    run_id=run_id,
                    session_id=talk,
                    status=RunStatus.COMPLETED,
                    input_number=tx.journal.append(talk, run_id, [entry], now),
                    created_by="operator",
                    opened_at=now,
                    active_at=now,
                    finished_at=now,
                    memory=MemoryState.STORED,
                )
            )
        skipped = CaptureState.SKIPPED
        tx.pointers.put(
            Pointer(run_id=run_id, session_id=talk, captured_at=now, capture=skipped, scope_keys=())
            for run_id in ids
        )
        for number in range(limits.LIST_LIMIT_DEFAULT + 15):
            gone = f"gone_{number}"
            job = Job(job_id=JobId(gone), kind=JobKind.REVIEW, subject=gone, due_at=now, created_at=now)
            assert tx.jobs.put(job)
    parts.close()

    worked = embedded.json("jobs", "work")
    queued = embedded.json("capture", "backfill")

    assert worked["done"] >= limits.LIST_LIMIT_DEFAULT + 15
    assert (len(queued["runs"]), queued["more"]) == (many, False)
