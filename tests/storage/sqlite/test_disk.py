"""Full and failing disks: refused in time, never acknowledged wrongly, and reads go on."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE_S


@pytest.mark.req("OPS-4", "LRN-12", "JRN-1", "PRF-2")
def test_a_full_disk_refuses_new_writes_and_still_forgets(tmp_path: Path) -> None:
    alone = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]

    story = _told("tests.storage.sqlite.small_disk", tmp_path, "unshare", *alone)

    refused, full = story["refused"], story["full"]
    assert refused["kept"] == refused["stored"] > 1_000
    assert refused["bulk"] == "store.disk-full"
    assert (refused["append"], refused["erase"]) == ("store.disk-full", "written")
    assert refused["ballast while refused"]
    assert (refused["revoke"], refused["propose"]) == ("written", "store.disk-full")
    assert not refused["ballast while full"]
    assert (refused["after"], refused["ballast after"], refused["writes"]) == ("written", True, "ready")
    assert refused["told while refused"] == "refused"
    assert full == {
        "code": "store.disk-full",
        "while full": "stopped",
        "propose": "store.disk-full",
        "reject with little room": "written",
        "with little room": "refused",
        "propose with little room": "store.disk-full",
        "with room": ["written", "ready"],
        "added": 3,
    }


@pytest.mark.req("OPS-4")
def test_a_disk_that_fails_under_many_writers_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    story = _told("tests.storage.sqlite.failing_disk", tmp_path / "home")

    assert story["errors"] == ["store.io"]
    assert story["acknowledged"] >= 40
    assert story["after"] == "store.io"
    assert str(story["writes"]).startswith("stopped")
    assert story["read"]
    assert story["kept"]
    assert story["reopened"] == "written"


def _told(module: str, folder: Path, *before: str) -> dict[str, Any]:
    """Run a module in a process of its own: what it changes is the process's, and gone with it."""
    command = [*before, sys.executable, "-m", module, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert run.returncode == 0, run.stderr
    story: dict[str, Any] = json.loads(run.stdout)
    return story
