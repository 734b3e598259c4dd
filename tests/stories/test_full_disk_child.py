"""A disk that fills up while a child agent works: it is told, it ends, and its copy is gone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.req("ROL-12", "OPS-4", "JRN-2")
def test_a_disk_that_fills_up_under_a_child_ends_it_and_leaves_nothing_behind(disk_path: Path) -> None:
    alone = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    command = ["unshare", *alone, sys.executable, "-m", "tests.stories.full_disk_child", str(disk_path)]

    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    assert run.returncode == 0, run.stderr
    story: dict[str, Any] = json.loads(run.stdout)
    reason = story["full state root"].pop("reason")
    assert reason.startswith("it could not be journalled: the disk")
    assert story == {
        "full project": {"status": "completed", "told": True, "clean": True},
        "no room for a copy": {"code": "workspace.full", "runs": 0, "clean": True},
        "full state root": {"while full": "running", "then": "interrupted", "clean": True},
        "room again": "completed",
    }
