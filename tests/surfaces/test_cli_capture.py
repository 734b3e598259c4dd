"""Capture switched off everywhere and on again, from the command line."""

import pytest

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
