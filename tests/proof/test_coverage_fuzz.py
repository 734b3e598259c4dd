"""A fuzzer that follows the branches of our code gives each parser what reaches them, in the long ring."""

import os
import subprocess
import sys

import pytest

from tests.local_model import PACKAGES
from tests.proof.test_fuzz import PARSERS

pytestmark = pytest.mark.soak


@pytest.mark.req("PRF-2", "SUR-1", "LRN-8", "SKL-1", "POL-5")
@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_does_so_for_whatever_reaches_its_branches(name: str) -> None:
    if not (PACKAGES / "atheris").is_dir():
        pytest.skip("NO SOAK PACKAGES: atheris could not be installed")
    command = [sys.executable, "-m", "tests.proof.coverage_fuzz", name, "200000"]
    paths = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))

    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr[-4_000:]
    assert "Done 200000 runs" in run.stderr
