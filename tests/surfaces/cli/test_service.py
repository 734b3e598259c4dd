"""Keeping a Runlore whole from the command line: status, backup, restore, doctor, jobs."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from runlore.daemon.clock import Readings, SystemClock, write_clock_note
from runlore.daemon.overview import REPEATS_NOTE
from runlore.domain.runs.job import Job, JobId, JobKind
from tests.surfaces.command_line import Runlore
from tests.surfaces.reporting import operations_of, report, said

pytestmark = pytest.mark.req("SUR-7")

METRICS = {
    *("stored_total", "injected_total", "skipped_unreadable_total", "pruned_ttl_total"),
    *("pruned_overflow_total", "pruned_orphan_total", "redacted_fields_total", "prompt_limit_omitted_total"),
}


@pytest.fixture
def used(runlore: Runlore) -> Runlore:
    """One with a record, a session and a run that ended."""
    runlore.prefer("editor", "vim")
    runlore.json("session", "create", "--id", "talk")
    report(runlore, "run-1", "Mail ada@example.org", said("Sent."))
    return runlore


@pytest.mark.req("OPS-1")
def test_the_status_tells_of_runs_policies_jobs_and_capture(used: Runlore) -> None:
    status = used.json("status")

    assert set(status["run_memory"]["metrics"]) == METRICS
    assert status["run_memory"]["metrics"]["stored_total"] == 1
    assert status["run_memory"]["metrics"]["redacted_fields_total"] == 1
    assert status["policies"]["run-memory"]["revision"] == 0
    assert status["capture"]["paused"] is False
    assert set(status) >= {"sessions", "jobs", "retention", "session_memory", "store", "records"}


@pytest.mark.req("OPS-1")
def test_the_status_is_shown_in_sections_that_fit(used: Runlore) -> None:
    used.json("policy", "set", "retention", "--set", "journal_days=90")
    shown = used.text("status", "--verbose", columns=80)

    assert "no daemon is running" in shown
    in_one_line = " ".join(shown.split())
    assert re.search(r"run memory .*\bstored 1, redacted fields 1\b", in_one_line)
    assert re.search(
        r"policies learning: the defaults; run-memory: the defaults;"
        r" retention: revision 1, \S+ \S+ UTC, by operator",
        in_one_line,
    )
    assert "capture paused no" in in_one_line
    assert in_one_line.endswith("models none is set No agent is connected: `runlore connect AGENT`.")


@pytest.mark.req("OPS-1")
def test_the_status_says_in_a_few_lines_what_needs_somebody(embedded: Runlore) -> None:
    new = embedded.text("status", columns=80).splitlines()
    embedded.propose("editor", "vim")
    dead_job(embedded)
    embedded.json("session", "create", "--id", "talk")
    report(embedded, "run-1", "Build it", said("Built."))

    seen = embedded.text("status").splitlines()

    assert ("Nothing needs you." in new, len(new) <= 9, len(seen) <= 10) == (True, True, True)
    assert seen[1:3] == ["Needs you", "  2 waiting for you: `runlore inbox`"]
    assert seen[-4:-2] == [
        "This week: nothing learned",
        "In use: 0 memories, 0 skills. Stored: 1 run in 1 session, 1 episode.",
    ], "a summary of a run is nothing that waits"


CHANGE = {
    "began_at": "2026-05-04T08:00:00Z",
    "requests_before": 12,
    "repeated_before": 3,
    "requests_after": 0,
    "repeated_after": 0,
}
CHANGED = (
    "Learning began on 2026-05-04. Said again: 3 of 12 requests (25 of 100) before, 0 of 0 requests after."
)


@pytest.mark.req("SUR-12", "VAL-1")
@pytest.mark.parametrize(
    ("counted", "told"),
    [
        (
            [("2026-04", 3, 4), ("2026-05", 0, 1), ("2026-06", 2, 20)],
            "in 2 of 20 requests in June 2026",
        ),
        (
            [("2026-05", 1, 3), ("2026-06", 0, 20)],
            "in 1 of 3 requests in May 2026",
        ),
        (
            [("2026-05", 1, 1), ("2026-06", 2, 20)],
            "in 2 of 20 requests in June 2026, in 1 of 1 request in May 2026",
        ),
        ([("2026-04", 3, 4), ("2026-05", 0, 4), ("2026-06", 0, 20)], ""),
        ([], ""),
    ],
)
def test_the_status_tells_what_was_said_again_in_words_and_only_where_something_was(
    embedded: Runlore, counted: list[tuple[str, int, int]], told: str
) -> None:
    rates = [{"month": month, "repeated": repeated, "requests": asked} for month, repeated, asked in counted]
    with (
        operations_of(embedded) as operations,
        operations.parts.store.transaction() as tx,  # type: ignore[attr-defined]
    ):
        tx.counters.set_note(REPEATS_NOTE, json.dumps({"rates": rates, "change": CHANGE}))

    short, whole = embedded.text("status"), embedded.text("status", "--all")

    line = f"You said again what you had said before {told}: `runlore repeats`.\n" if told else ""
    for shown in (short, whole):
        assert "".join(re.findall(r".*You said again.*\n", shown)) == line
        assert (CHANGED in " ".join(shown.split())) is bool(line)
        assert "2026-0" not in shown.replace("on 2026-05-04", "")
    assert "WAITING  IN USE  REPLACED  REMOVED" in whole
    assert "CONSTRAINED" not in whole


@pytest.mark.req("OPS-3")
def test_a_backup_is_restored_to_an_equal_store(used: Runlore, other: Runlore, tmp_path: Path) -> None:
    path = tmp_path / "everything.backup"
    made = used.text("backup", str(path))
    assert re.fullmatch(r"Wrote .* \([\d,]+ bytes\) to .*everything\.backup\n", made)
    if used.database_url:
        other.run("status")

    restored = other.text("restore", str(path))

    assert restored.startswith("Restored ")
    for call in (
        ("memory", "list"),
        ("session", "list"),
        ("session", "runs"),
        ("session", "journal", "talk"),
    ):
        assert other.json(*call) == used.json(*call)
    assert "Mail" in other.text("session", "context", "talk")


@pytest.mark.req("OPS-3")
def test_a_backup_without_a_path_lies_in_the_state_root_and_is_private(used: Runlore) -> None:
    made = used.json("backup")

    path = Path(made["path"])
    assert path.is_relative_to(used.home)
    assert path.stat().st_mode & 0o077 == 0
    assert made["bytes"] == path.stat().st_size


@pytest.mark.req("OPS-3")
def test_a_backup_overwrites_nothing(used: Runlore, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("precious")

    refused = used.fails("backup", str(path))

    assert refused.exit_code in (2, 6)
    assert path.read_text() == "precious"


@pytest.mark.req("OPS-3")
def test_a_backup_is_restored_into_an_empty_store_alone(used: Runlore, tmp_path: Path) -> None:
    path = str(tmp_path / "everything.backup")
    used.json("backup", path)
    before = used.contents()

    refused = used.fails("restore", path)

    assert refused.exit_code in (2, 6)
    assert used.contents()["tables"] == before["tables"]


@pytest.mark.req("OPS-3")
@pytest.mark.parametrize("content", [b"", b"zebra\n", b"\x00\xff" * 100, b"{}"])
def test_what_is_no_backup_is_refused_and_leaves_nothing(
    embedded: Runlore, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "no.backup"
    path.write_bytes(content)

    refused = embedded.fails("restore", str(path))

    assert refused.exit_code in (1, 2)
    assert refused.problem["hint"]
    assert embedded.items("session", "list") == []


@pytest.mark.req("OPS-2")
def test_a_healthy_store_passes_every_check(used: Runlore) -> None:
    diagnosis = used.json("doctor")

    assert diagnosis["healthy"] is True
    assert {finding["outcome"] for finding in diagnosis["findings"]} == {"ok"}
    number = len(diagnosis["findings"])
    whole = f"{number} checks found nothing wrong; --verbose lists them.\nEverything is whole.\n"
    assert [used.text("doctor", columns=columns) for columns in (80, 120)] == [whole, whole]
    listed = used.text("doctor", "--verbose", columns=100)
    assert len(re.findall(r"^[a-z ]+ ok ", listed, re.MULTILINE)) == number
    assert listed.endswith("Everything is whole.\n")


@pytest.mark.req("OPS-2")
def test_a_clock_that_is_ahead_of_what_was_certain_is_told_and_nothing_is_called_wrong(
    embedded: Runlore,
) -> None:
    embedded.json("session", "create", "--id", "talk")
    certain = SystemClock().now() - timedelta(days=40)
    write_clock_note(str(embedded.home), Readings(certain_at=certain))

    for command in ("doctor", "status"):
        assert "the clock is 40 days ahead" in " ".join(embedded.text(command, columns=100).split())
    assert embedded.json("doctor")["healthy"] is True


@pytest.mark.req("OPS-2")
def test_what_is_open_to_others_is_told_and_closed_again(embedded: Runlore) -> None:
    embedded.json("session", "create", "--id", "talk")
    (embedded.home / "runlore.db").chmod(0o600)
    left = embedded.home / "notes.txt"
    left.write_text("left behind")
    left.chmod(0o644)

    outcome = embedded.run("doctor")
    assert outcome.code == 1
    assert re.search(r"permissions +problem +others can reach .*notes\.txt", outcome.out)
    assert not re.search(r"^[a-z ]+ ok ", outcome.out, re.MULTILINE)
    assert "`runlore doctor --repair`" in outcome.out

    repaired = embedded.text("doctor", "--repair")
    assert re.search(r"permissions +repaired", repaired)
    assert left.stat().st_mode & 0o077 == 0
    assert embedded.json("doctor")["healthy"] is True


@pytest.mark.req("OPS-2", "RUN-9")
def test_a_damaged_run_memory_is_found_and_repaired(embedded: Runlore) -> None:
    embedded.json("session", "create", "--id", "talk")
    report(embedded, "run-1", "Why?", said("Because."))
    (memory,) = [path for path in (embedded.home / "run-memories").rglob("*") if path.is_file()]
    memory.write_bytes(b"zebra")

    outcome = embedded.run("doctor", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    assert '"problem"' in outcome.out

    assert embedded.json("doctor", "--repair")["healthy"] is True
    assert embedded.json("doctor")["healthy"] is True
    (diagnostic,) = embedded.json("status")["run_memory"]["maintenance"]["diagnostics"]
    assert diagnostic["message"] in embedded.text("status", "--verbose")
    assert "1 met by the last maintenance: `runlore status --all`" in embedded.text("status")


@pytest.mark.req("OPS-1")
def test_a_job_that_failed_for_good_is_listed_and_tried_again(runlore: Runlore) -> None:
    job_id = dead_job(runlore)

    (listed,) = runlore.items("jobs", "list", "--state", "dead")
    assert (listed["job_id"], listed["error"]) == (job_id, "the disk was full")
    assert runlore.items("jobs", "list", "--state", "waiting") == []
    assert re.search(
        rf"{job_id} +remember +dead +1 +\S+ \S+ UTC +run-9 +the disk was full", runlore.text("jobs", "list")
    )
    assert runlore.fails("doctor-none").exit_code == 2

    assert runlore.text("jobs", "retry", job_id) == f"{job_id} (remember) waits to be tried again.\n"


@pytest.mark.req("OPS-1", "POL-10")
def test_all_that_failed_for_good_is_tried_again_at_once(runlore: Runlore) -> None:
    dead = [dead_job(runlore, number) for number in range(1, 4)]
    for wrong in ((), (dead[0], "--all")):
        assert runlore.fails("jobs", "retry", *wrong).exit_code == 2

    assert sorted(job["job_id"] for job in runlore.items("jobs", "retry", "--all")) == dead

    assert runlore.items("jobs", "list", "--state", "dead") == []
    assert runlore.text("jobs", "retry", "--all") == "No job is dead.\n"


def dead_job(runlore: Runlore, number: int = 1) -> str:
    """A job among the dead."""
    now = SystemClock().now()
    job_id, subject = JobId(f"job_{number}"), f"run-{10 - number}"
    job = Job(job_id=job_id, kind=JobKind.REMEMBER, subject=subject, due_at=now, created_at=now)
    with operations_of(runlore) as operations:
        store = operations.parts.store  # type: ignore[attr-defined]
        with store.transaction() as tx:
            tx.jobs.put(job)
        with store.transaction() as tx:
            claimed = tx.jobs.claim(
                frozenset(JobKind), holder="test", now=now, lease_until=now + timedelta(minutes=1)
            )
            tx.jobs.fail(claimed, error="the disk was full", retry_at=None)
    return job_id
