"""Every example of docs/python.md, run in order on one state root, beside a model on this machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import runlore
from tests.console_blocks import blocks
from tests.model_server import KEY, calls, model_server, says

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.req("INT-4")
def test_every_example_runs_and_memory_reaches_the_model(tmp_path: Path) -> None:
    learned, rule = "Billing is deployed by the platform team", "We deploy the billing service on Fridays"
    script = (says("On Fridays."), calls("remember", {"sentence": learned}), says("On Fridays, it seems."))
    program = tmp_path / "examples.py"
    program.write_text(
        "\n".join("\n".join(block.lines) for block in blocks(PAGE.read_text("utf-8"))), "utf-8"
    )
    with model_server(*script) as server:
        at = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        done = subprocess.run(
            [sys.executable, program], env={**os.environ, **at}, capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert [rule in received.instructions for received in server.requests] == [True, True, True]
    told = done.stdout.splitlines()
    assert told[0].startswith(rule)
    assert told[1] == "completed"
    assert told[2] == "['When is billing deployed?', 'When do we deploy the billing service?']"
    assert told[3].startswith("record.")
    with runlore.connect() as lore:
        waiting = lore.operations.list_candidates(runlore.CandidateRequest()).items
        runs = lore.operations.list_runs(runlore.RunsRequest()).items
    assert learned in [each.summary for each in waiting]
    assert [view.run.status.value for view in runs] == ["completed"] * 4
