"""Power cuts on a disk of the test's own: what was acknowledged is there when the machine starts again."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S


@pytest.mark.req("PRF-3", "OPS-4", "REC-6")
@pytest.mark.loop_devices
@pytest.mark.parametrize("cuts", [2, pytest.param(150, marks=pytest.mark.soak)])
def test_a_power_cut_takes_nothing_that_was_acknowledged(cuts: int, disk_path: Path) -> None:
    command = ["unshare", "--mount", sys.executable, "-m", "tests.proof.power_cuts"]

    run = subprocess.run(
        [*command, str(disk_path), str(cuts), "20261119"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S * cuts,
    )

    assert run.returncode == 0, run.stderr
    acknowledged = json.loads(run.stdout)
    assert acknowledged["worker"] > 5 * cuts
    assert acknowledged["script"] > 2 * cuts
