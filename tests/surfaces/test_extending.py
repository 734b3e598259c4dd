"""What docs/extending.md tells to add, added to a copy of the code just as it stands there, and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
PROGRAM = """
import json, sys
from contextlib import closing
from pathlib import Path
import runlore
from runlore.client.addresses import transport_to
from runlore.client.remote import RemoteOperations
from runlore.config.settings import Settings
from runlore.domain.access import Role
from runlore.domain.runs.transcript import ReadCounts
from tests.agents.transcripts.transcript_files import found, inputs, read, write
from tests.flow.procedures import call, dry_run, session, told
from tests.surfaces.api_client import serving

home = Path(sys.argv[1])
with serving(Settings(state_root=str(home))) as api:
    body = {"key": "editor", "value": "helix", "reason": "they said so"}
    record_id = api.post("/v1/memory/profile-proposals", body, status=201)["record_id"]
    path = f"/v1/memory/records/{record_id}/repeat"
    over_http = api.call("POST", path, {"times": 3})
    with closing(transport_to(f"http://127.0.0.1:{api.port}", token=api.secret)) as transport:
        by_client = RemoteOperations(transport).repeat_record(record_id, times=2)
    document = api.get("/openapi.json")
    denied = api.call("POST", path, token=api.token("a-reader", Role.READER))
    wrong = api.call("POST", path, {"times": "3"})
    operation = {
        "http": [over_http.status, len(over_http.json["items"])],
        "client": len(by_client.items),
        "document": document["paths"]["/v1/memory/records/{record_id}/repeat"]["post"],
        "denied": denied.problem,
        "wrong": [*wrong.problem, wrong.json["detail"]],
    }

    evidence = [{"commit": "abc123def456", "note": "it says so"}, {"note": "so does this"}]
    fact = {"kind": "fact", "content": "The port is 8080", "evidence_refs": evidence}
    learned = api.post("/v1/learning-candidates", fact, status=201)
    api.post(f"/v1/learning-candidates/{learned['record_id']}/publish", {})
    at = f"/v1/memory/records/{learned['record_id']}"
    field = {
        "kept": api.get(at)["evidence_refs"],
        "schema": document["components"]["schemas"]["EvidenceRef"]["properties"]["commit"],
        "told before": "abc123def456" in json.dumps([api.get(at), api.get(f"{at}/history")]),
    }
    api.post(f"{at}/forget", {"reason": "they asked for it"})
    field["told afterwards"] = "abc123def456" in json.dumps([api.get(at), api.get(f"{at}/history")])
    fact = {"kind": "fact", "content": "The port is 8080"}
    again = api.post("/v1/learning-candidates", fact, status=201)
    api.post(f"/v1/learning-candidates/{again['record_id']}/publish", {})

    session_id = api.post("/v1/sessions", {}, status=201)["session_id"]
    policy = {}
    for most in (0, 100_000, 1):
        put = api.call("PUT", "/v1/policies/learning", {"policy": {"projection": {"max_entry_tokens": most}}})
        given = api.post(f"/v1/sessions/{session_id}/inputs/preview", {"text": "Which port?"})
        policy[most] = [put.status, put.json.get("detail", ""), "8080" in json.dumps(given)]

files = [file for file in home.rglob("*") if file.is_file()]
field["files"] = [file.name for file in files if b"abc123def456" in file.read_bytes()]

lines = [{"parley": "p-1"}, {"who": "user", "text": "Look"}, {"who": "agent", "text": "I see"}, {"who": "?"}]
file, counts = write(home / "talk.log", lines), ReadCounts()
runs = read(file, counts)
reader = {"agent": found(file).agent, "inputs": inputs(runs), "skipped": dict(counts.skipped)}

checked = [told(f"Change {name}", call("make lint types")) for name in "abc"]
suggested = [each.heuristic for each in dry_run([session(f"work-{number}", *checked) for number in range(2)])]
shown = {"operation": operation, "field": field, "policy": policy, "reader": reader, "detector": suggested}
print(json.dumps({**shown, "from": runlore.__file__}))
"""


def changes(page: str) -> list[tuple[str, str, str]]:
    """The page's changes in their order: a file, a piece of it, and what stands there afterwards."""
    made = []
    for block in page.split("```diff\n")[1:]:
        for file in ("\n" + block.partition("```")[0]).split("\n--- ")[1:]:
            path, *hunks = file.split("\n@@\n")
            for hunk in hunks:
                lines = [line for line in hunk.splitlines() if line]
                before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
                after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
                made.append((path, before, after))
    return made


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the code says, with all that the page tells to add."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for path, before, after in changes(PAGE.read_text("utf-8")):
        file = folder / path
        if not before:
            assert not file.exists(), path
            file.write_text(after, "utf-8")
            continue
        source = file.read_text("utf-8")
        assert source.count(before) == 1, f"{path} does not have once:\n{before}"
        file.write_text(source.replace(before, after), "utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder / "home")],
        env={**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    assert told.pop("from").startswith(str(folder))
    return told


@pytest.mark.req("SUR-1", "SUR-3", "OPS-5")
def test_an_operation_takes_its_declaration_and_its_implementation(shown: dict[str, Any]) -> None:
    operation = shown["operation"]

    assert operation["http"] == [200, 3]
    assert operation["client"] == 2
    assert operation["denied"] == [403, "role.denied"]
    assert operation["wrong"][:2] == [422, "request.field"]
    assert operation["wrong"][2].startswith("times ")
    document = operation["document"]
    assert document["operationId"] == "repeat_record"
    assert document["description"] == "The same record several times."
    assert document["requestBody"]["content"]["application/json"]["schema"]["properties"]["times"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "How often.",
    }


@pytest.mark.req("SUR-3")
def test_a_field_takes_its_declaration(shown: dict[str, Any]) -> None:
    assert [each["commit"] for each in shown["field"]["kept"]] == ["abc123def456", None]
    assert shown["field"]["schema"]["description"] == "The commit that shows it."


@pytest.mark.req("LRN-12")
def test_a_field_that_nobody_listed_is_forgotten_in_the_record_its_events_and_all_files(
    shown: dict[str, Any],
) -> None:
    field = shown["field"]

    assert (field["told before"], field["told afterwards"]) == (True, False)
    assert field["files"] == []


@pytest.mark.req("INT-1")
def test_a_reader_takes_a_class_and_its_row(shown: dict[str, Any]) -> None:
    assert shown["reader"] == {"agent": "parley", "inputs": ["Look"], "skipped": {"unknown kind of line": 1}}


@pytest.mark.req("PRJ-2")
def test_a_policy_field_takes_its_value_its_row_and_its_use(shown: dict[str, Any]) -> None:
    (refused, why, _), (large, _, is_given), (small, _, is_given_still) = shown["policy"].values()

    assert (refused, large, small) == (422, 200, 200)
    assert "projection.max_entry_tokens" in why
    assert (is_given, is_given_still) == (True, False)


@pytest.mark.req("SKL-2")
def test_a_detector_takes_a_function_and_its_rows(shown: dict[str, Any]) -> None:
    assert shown["detector"] == ["closing-check"]
