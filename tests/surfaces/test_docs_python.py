"""Every example of docs/python.md, run in order on one state root, beside a model on this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import runlore
from runlore.config.settings import Settings
from tests.console_blocks import blocks
from tests.model_server import KEY, calls, model_server, says
from tests.surfaces.api_client import serving

# Embedded, and through a daemon on either database: `connect()` follows the environment.
PLACES = ("embedded", "sqlite", "postgres")
PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(params=PLACES)
def place(
    request: pytest.FixtureRequest, clean_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if request.param == "embedded":
        yield
        return
    url = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with serving(Settings(state_root=str(clean_home / "runlore"), database_url=url)) as api:
        monkeypatch.setenv("RUNLORE_URL", f"http://127.0.0.1:{api.port}")
        monkeypatch.setenv("RUNLORE_TOKEN", api.secret)
        yield


@pytest.mark.req("INT-4")
@pytest.mark.usefixtures("place")
def test_every_example_runs_and_memory_reaches_the_model(tmp_path: Path) -> None:
    learned, rule = "Billing is deployed by the platform team", "We deploy the billing service on Fridays"
    put = "The platform team owns the billing service"
    script = (
        *(says("On Fridays."), calls("remember", {"sentence": learned}), says("On Fridays, it seems.")),
        *(calls("weekday", {}), says("It is Friday, so yes."), says("The platform team.")),
    )
    program = tmp_path / "examples.py"
    program.write_text(
        "\n".join("\n".join(block.lines) for block in blocks(PAGE.read_text("utf-8"))), "utf-8"
    )
    with model_server(*script) as server:
        at = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1"}
        # Else the Agents SDK reports to a server of its own.
        at["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
        done = subprocess.run(
            [sys.executable, program], env={**os.environ, **at}, capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert [rule in received.instructions for received in server.requests] == [True] * 6
    told = done.stdout.splitlines()
    assert told[0].startswith(rule)
    assert told[1] == "completed"
    assert told[2] == "['When is billing deployed?', 'When do we deploy the billing service?']"
    assert told[3] == "It is Friday, so yes."
    assert told[4].startswith("record.")
    history = server.requests[4].body["input"]
    assert {"role": "assistant", "content": "On Fridays, it seems."} in history
    assert history[-1]["output"] == "Friday"
    with runlore.connect() as lore:
        waiting = lore.operations.list_candidates(runlore.CandidateRequest()).items
        runs = lore.operations.list_runs(runlore.RunsRequest()).items
        asked = next(view.run for view in runs if view.request == "May I deploy billing today?")
        events = lore.operations.journal(runlore.JournalRequest(run_id=asked.run_id)).items
        journals = [lore.operations.journal(runlore.JournalRequest(run_id=each.run.run_id)) for each in runs]
    assert {learned, put} <= {each.summary for each in waiting}
    assert [view.run.status.value for view in runs] == ["completed"] * 6
    assert [event.body["output"] for event in events if event.type.value == "tool_result"] == ["Friday"]
    called = [each.body for page in journals for each in page.items if each.type.value == "tool_call"]
    assert [(each["name"], each["arguments"]) for each in called] == [
        ("weekday", {}),
        ("remember", {"sentence": learned}),
        ("shell", {"command": "date +%A"}),
    ]
    assert events[-2].body["text"] == "It is Friday, so yes."
