"""Would the suite have caught it? Each fault of `mutants.toml` is planted in a copy: its ring goes red."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT

RINGS = {
    "power cuts": ("tests/proof/test_power_cuts.py",),
    "crash points": ("tests/proof/test_crash_points.py",),
    "simulation": ("tests/proof/test_simulation.py",),
    "access": ("tests/proof/test_access.py",),
    "load": ("tests/proof/test_load.py",),
    "fuzz": ("tests/proof/test_fuzz.py",),
    "roles": ("tests/daemon/calls/test_roles.py",),
    "keys": ("tests/daemon/calls/test_idempotency.py",),
    "disks": ("tests/storage/sqlite",),
    "erasure": ("tests/storage/test_erasure.py", "tests/storage/test_run_erasure.py"),
    "files": ("tests/storage/test_atomic_write.py",),
    "jobs": ("tests/storage/sql/test_jobs.py", "tests/storage/sql/test_jobs_in_any_order.py"),
    "writers at once": ("tests/storage/test_concurrency.py",),
}
MUTANTS = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))["mutant"]
# Two for each commit, of rings that take a second; in the long ring all.
OFTEN = ("an agent reads without a session", "what a caller has read is not compared")
SEEN_RED_MIN = 0.95
TESTS_FAILED = 1


@pytest.mark.req("PRF-4")
def test_every_mutant_is_a_change_of_the_code_as_it_is() -> None:
    assert len(MUTANTS) >= 25
    for mutant in MUTANTS:
        source = (ROOT / "src/runlore" / mutant["file"]).read_text(encoding="utf-8")
        assert source.count(mutant["old"]) == 1, mutant["why"]
        assert mutant["old"] != mutant["new"], mutant["why"]
        assert mutant["ring"] in RINGS, mutant["why"]


@pytest.mark.req("PRF-4")
@pytest.mark.parametrize("is_sample", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_a_planted_fault_is_caught(is_sample: bool, tmp_path: Path) -> None:
    walked = [each for each in MUTANTS if each["why"].startswith(OFTEN) or not is_sample]
    survived = [each["why"] for each in walked if not _is_caught(each, tmp_path / "src")]

    assert len(survived) <= (1 - SEEN_RED_MIN) * len(walked), survived


def _is_caught(mutant: dict[str, str], copy: Path) -> bool:
    """Whether the ring is red on a copy with the fault in it."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "runlore", copy / "runlore")
    file = copy / "runlore" / mutant["file"]
    file.write_text(file.read_text(encoding="utf-8").replace(mutant["old"], mutant["new"]), encoding="utf-8")
    options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *RINGS[mutant["ring"]]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    # What cannot be collected is no fault that a test has seen.
    return run.returncode == TESTS_FAILED
