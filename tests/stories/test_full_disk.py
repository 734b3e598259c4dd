"""A disk that fills up or fails: refused in time, nothing acknowledged is lost, reading goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.req("OPS-4", "LRN-12", "PRF-2")
def test_a_disk_that_fills_up_stops_new_writes_and_nothing_else(tmp_path: Path) -> None:
    alone = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    command = ["unshare", *alone, sys.executable, "-m", "tests.stories.full_disk", str(tmp_path)]

    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    assert run.returncode == 0, run.stderr
    story: dict[str, Any] = json.loads(run.stdout)
    kept = story["refused in time"].pop("kept")
    assert kept > 100
    assert story == {
        "refused in time": {
            "propose": "store.disk-full",
            "episode": "store.disk-full",
            "confirm": "store.disk-full",
            "reads": "refused",
            "readiness": "store.disk-full",
        },
        "full": {
            "propose": "store.disk-full",
            "export": "export.write",
            "partial exports": 0,
            "reads": "refused",
            "forget": "done",
            "rollback": "done",
            "told with a reserve": "reserve",
            "traces": [],
        },
        "used up": {"told": "reads", "reads": "refused"},
        "a daemon": {
            "without a byte": ["store.disk-full", True],
            "with little": "store.disk-full]",
            "a write": ["store.disk-full", True],
            "ended": True,
        },
        "started while full": {"propose": "store.disk-full", "reads": "refused"},
        "room again": {"propose": "done", "readiness": ""},
        "started with room": {"propose": "done", "export": "done", "reads": "ready", "inconsistencies": []},
        "failed": {"radar": "store.io", "afterwards": "store.io", "reads": "stopped"},
        "started after that": {"propose": "done", "reads": "ready", "findings": 0, "inconsistencies": []},
    }
