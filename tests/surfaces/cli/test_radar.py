"""Radar through the command line: findings in, adoption, the way back, and the log of it all."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command_line import PROGRAM, TIMEOUT_S, Json, Runlore

FINDING: Json = {
    "summary": "Atlas plans with a queue of agents",
    "repo_slug": "acme/atlas",
    "source_handle": "hn",
    "source_url": "https://example.org/1",
    "topic_tags": ["agents", "queue"],
    "confidence": 70,
    "evidence_refs": ["https://example.org/1#comment"],
}


def findings_file(folder: Path, content: object) -> str:
    """A file with findings."""
    file = folder / "findings.json"
    file.write_text(json.dumps(content))
    return str(file)


def adopt(runlore: Runlore, finding: str, *more: str) -> Json:
    """What adopting a finding answers."""
    return runlore.json("memory", "radar", "adopt", finding, *more)


@pytest.mark.req("LAY-6", "REC-8")
def test_a_finding_becomes_a_scan_and_a_candidate_with_the_curated_fields(
    runlore: Runlore, tmp_path: Path
) -> None:
    raw = {**FINDING, "raw_payload": {"stars": 12345, "readme": "UNCURATED"}}

    scan, candidate = runlore.items("memory", "radar", "add", "--file", findings_file(tmp_path, raw))

    assert (scan["layer"], scan["kind"], scan["state"]) == ("episodic", "scan", "active")
    assert (candidate["layer"], candidate["kind"], candidate["state"]) == ("semantic", "fact", "constrained")
    assert candidate["proposal"] == "radar"
    assert candidate["confidence"] == 70
    assert {name: candidate["metadata"][name] for name in FINDING if name != "summary"} == {
        name: value for name, value in FINDING.items() if name != "summary"
    }
    assert candidate["metadata"]["origin"] == "radar"
    assert "UNCURATED" not in json.dumps(runlore.contents())


@pytest.mark.req("LAY-6")
def test_findings_come_from_options_a_file_with_one_a_list_or_stdin(
    embedded: Runlore, tmp_path: Path
) -> None:
    by_options = embedded.find("Borealis ships a client", "--tag", "cli", "--tag", "client")
    assert embedded.inspect(by_options)["metadata"]["topic_tags"] == ["cli", "client"]
    assert embedded.inspect(by_options)["metadata"]["evidence_refs"] == ["https://example.org/1"]
    one = embedded.items("memory", "radar", "add", "--file", findings_file(tmp_path, FINDING))
    several = [{**FINDING, "summary": f"Finding {number}"} for number in range(3)]
    listed = embedded.items("memory", "radar", "add", "--file", findings_file(tmp_path, several))
    piped = subprocess.run(
        [PROGRAM, "memory", "radar", "add", "--file", "-", "--json"],
        input=json.dumps(several).encode(),
        env=embedded.environment,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
    )

    assert len(one) == 2
    assert [record["summary"] for record in listed[1:]] == ["Finding 0", "Finding 1", "Finding 2"]
    assert len(json.loads(piped.stdout)["items"]) == 4


@pytest.mark.req("LAY-6")
def test_adopting_a_finding_writes_a_promotion_and_a_procedure(runlore: Runlore) -> None:
    finding = runlore.find(FINDING["summary"])

    adopted = adopt(runlore, finding, "--reason", "it fits")

    assert (adopted["finding"]["record_id"], adopted["finding"]["state"]) == (finding, "active")
    procedure, episode = adopted["procedure"], adopted["episode"]
    assert (procedure["layer"], procedure["state"]) == ("procedural", "active")
    assert procedure["summary"] == FINDING["summary"]
    assert procedure["metadata"]["workflow"] == "radar-acme-atlas"
    assert procedure["source"]["record_ids"] == [finding]
    assert (episode["kind"], episode["metadata"]["reason"]) == ("promotion", "it fits")
    assert runlore.items("memory", "search", "queue agents", "--layer", "procedural")


@pytest.mark.req("LAY-6")
def test_an_adoption_can_name_its_workflow_and_its_text(runlore: Runlore) -> None:
    finding = runlore.learn(FINDING["summary"])

    procedure = adopt(runlore, finding, "--workflow", "planning", "--summary", "Plan with a queue")[
        "procedure"
    ]

    assert (procedure["metadata"]["workflow"], procedure["summary"]) == ("planning", "Plan with a queue")


@pytest.mark.req("LAY-6")
def test_a_finding_is_adopted_once_until_that_is_undone(runlore: Runlore) -> None:
    finding = runlore.find(FINDING["summary"])
    adopted = adopt(runlore, finding)
    procedure = adopted["procedure"]["record_id"]
    before = runlore.contents()
    otherwise = runlore.fails("memory", "radar", "adopt", finding, "--workflow", "another")
    assert (otherwise.exit_code, otherwise.code) == (6, "radar.adopted")
    assert procedure in otherwise.problem["detail"]
    assert adopt(runlore, finding) == adopted
    assert runlore.contents() == before

    undone = runlore.json("memory", "radar", "undo", finding, "--reason", "too slow")

    assert (undone["procedure"]["record_id"], undone["procedure"]["state"]) == (procedure, "tombstoned")
    assert (undone["episode"]["kind"], undone["episode"]["metadata"]["reason"]) == ("rollback", "too slow")
    assert runlore.state(finding) == "active"
    assert runlore.json("memory", "radar", "undo", finding) == undone
    assert adopt(runlore, finding)["procedure"]["state"] == "active"


@pytest.mark.req("LAY-6")
def test_a_person_is_told_what_became_of_a_finding(embedded: Runlore) -> None:
    finding = embedded.find(FINDING["summary"])

    adopted = embedded.text("memory", "radar", "adopt", finding)
    procedure = embedded.items("memory", "list", "--layer", "procedural")[0]["record_id"]
    undone = embedded.text("memory", "radar", "undo", finding)

    assert adopted == f"Adopted acme/atlas as radar-acme-atlas: {procedure} is active\n"
    assert undone == f"Undid the adoption of acme/atlas as radar-acme-atlas: {procedure} is tombstoned\n"


@pytest.mark.req("LAY-6")
def test_the_log_is_markdown_of_what_is_adopted_and_what_happened(runlore: Runlore) -> None:
    kept, dropped = (
        runlore.find("Atlas plans ahead"),
        runlore.find("Borealis waits", repo_slug="acme/borealis"),
    )
    for finding in (kept, dropped):
        adopt(runlore, finding)
    runlore.json("memory", "radar", "undo", dropped, "--reason", "no | use")

    log: dict[str, Any] = runlore.json("memory", "radar", "log")
    shown = runlore.text("memory", "radar", "log")

    assert shown == log["markdown"]
    assert [record["metadata"]["repo_slug"] for record in log["adoptions"]] == ["acme/atlas"]
    registry, _, history = shown.partition("# Promotion log")
    assert registry.startswith("# Adoption registry\n\n| Repository |")
    assert "acme/atlas" in registry
    assert "acme/borealis" not in registry
    assert [line.split(" | ")[1] for line in history.splitlines() if "T" in line and "Z" in line] == [
        "adopted",
        "adopted",
        "undone",
    ]
    assert "no \\| use" in history


@pytest.mark.req("LAY-6")
def test_an_empty_log_says_so(embedded: Runlore) -> None:
    assert embedded.text("memory", "radar", "log").count("Nothing yet.") == 2


@pytest.mark.req("LAY-6")
def test_text_of_a_finding_stays_inside_its_cell(embedded: Runlore) -> None:
    hostile = (
        "Atlas\n| injected | row |\n# heading <script>alert(1)</script> [x](javascript:1) \x1b[31m\u202e"
    )
    adopt(embedded, embedded.find(hostile), "--accept-untrusted")

    registry = embedded.text("memory", "radar", "log").partition("# Promotion log")[0]

    rows = [line for line in registry.splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert not any(line.startswith("# heading") for line in registry.splitlines())
    assert not {"\x1b", "\u202e"} & set(registry)
    assert "<script>" not in registry
    assert "[x](" not in registry


@pytest.mark.req("LAY-6", "REC-8")
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("summary", None, "finding 2.summary must be a text"),
        ("repo_slug", 5, "finding 2.repo_slug must be a text"),
        ("source_url", ["x"], "finding 2.source_url must be a text"),
        ("confidence", "high", "finding 2.confidence must be"),
        ("confidence", True, "finding 2.confidence must be"),
        ("topic_tags", "agents", "finding 2.topic_tags must be a list"),
        ("topic_tags", [1], "finding 2.topic_tags must be a list"),
        ("evidence_refs", {"a": 1}, "finding 2.evidence_refs must be a list"),
    ],
)
def test_one_wrong_finding_of_a_file_refuses_all(
    field: str, value: object, sentence: str, runlore: Runlore, tmp_path: Path
) -> None:
    runlore.prefer("editor", "vim")
    before = runlore.contents()
    file = findings_file(tmp_path, [FINDING, {**FINDING, field: value}])

    failure = runlore.fails("memory", "radar", "add", "--file", file)

    assert (failure.exit_code, failure.code) == (2, "radar.finding")
    assert sentence in failure.problem["detail"]
    assert runlore.contents() == before


@pytest.mark.req("LAY-6")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "radar.file"),
        ("{", "radar.file"),
        ("3", "radar.finding"),
        ("[]", "radar.findings"),
        ("[[]]", "radar.finding"),
    ],
)
def test_a_file_that_holds_no_findings_is_refused(
    text: str, code: str, embedded: Runlore, tmp_path: Path
) -> None:
    file = tmp_path / "findings.json"
    file.write_text(text)

    assert embedded.fails("memory", "radar", "add", "--file", str(file)).code == code
