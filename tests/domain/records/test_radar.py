"""Radar: findings reduced to the curated fields, drafts under their contract, and a log nobody can break."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlore.domain.errors import Invalid, Refused
from runlore.domain.record import JsonValue, Kind, Layer, Origin, Proposal, Record, RecordId, Sensitivity
from runlore.domain.records.admission import Draft, Stamp, admit
from runlore.domain.records.radar import (
    Finding,
    adoption_draft,
    adoption_episode,
    finding_draft,
    finding_from_plain,
    radar_markdown,
    require_finding,
    scan_draft,
)
from runlore.domain.scope import WORKSPACE
from runlore.domain.taint import Provenance
from tests.builders import ACME, episode, fact, procedure, published
from tests.domain.random_records import json_values, names
from tests.fakes import START

STAMP = Stamp(record_id=RecordId("rec_1"), origin=Origin.API, created_by="operator", at=START)
SCAN = RecordId("rec_scan")
PLAIN: dict[str, JsonValue] = {
    "summary": "acme/x retries with a budget",
    "repo_slug": "acme/x",
    "source_handle": "@acme",
    "source_url": "https://example.org/acme/x",
    "topic_tags": ["retries", "budget"],
    "confidence": 70,
    "evidence_refs": ["https://example.org/acme/x#readme"],
}
REQUIRED = ("summary", "repo_slug", "source_handle", "source_url")
WRONG_LISTS: list[JsonValue] = [None, "x", 1, ["x", " "], [1], {}]
findings = st.builds(
    Finding,
    summary=st.just("It retries"),
    repo_slug=st.text("abc/é中", min_size=1, max_size=200),
    source_handle=names,
    source_url=names,
)


def candidate_of(finding: Finding, *, outside: bool = False) -> Record:
    return admit(finding_draft(finding, scope=ACME, scan_id=SCAN, outside=outside), STAMP)


@pytest.mark.req("LAY-6")
def test_a_finding_keeps_the_curated_fields_and_nothing_of_the_payload() -> None:
    payload: JsonValue = {**PLAIN, "stars": 10_000, "readme": "a long text", "raw": {"x": 1}}

    record = candidate_of(finding_from_plain(payload))

    assert record.metadata == {
        "origin": "radar",
        "repo_slug": "acme/x",
        "source_handle": "@acme",
        "source_url": "https://example.org/acme/x",
        "topic_tags": ["retries", "budget"],
        "confidence": 70,
        "evidence_refs": ["https://example.org/acme/x#readme"],
        "scan_id": SCAN,
    }
    assert (record.kind, record.layer, record.scope) == (Kind.FACT, Layer.SEMANTIC, ACME)
    assert (record.confidence, record.proposal) == (70, Proposal.RADAR)


@pytest.mark.req("LAY-6", "REC-8")
def test_what_a_finding_may_leave_out_takes_its_default() -> None:
    finding = finding_from_plain({name: PLAIN[name] for name in REQUIRED})

    record = candidate_of(finding)

    assert record.confidence == record.metadata["confidence"] == 80
    assert record.metadata["topic_tags"] == []
    assert record.metadata["evidence_refs"] == ["https://example.org/acme/x"]


@pytest.mark.req("LAY-6", "REC-8")
@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("value", [None, "", " \n", 3, True, ["x"], {"x": "y"}], ids=repr)
def test_a_finding_without_a_needed_text_is_refused_and_the_field_is_named(
    name: str, value: JsonValue
) -> None:
    with pytest.raises(Invalid) as refusal:
        finding_from_plain({**PLAIN, name: value}, name="finding 7")
    assert refusal.value.code == "radar.finding"
    assert refusal.value.sentence.startswith(f"finding 7.{name} ")
    assert name in refusal.value.hint


@pytest.mark.req("LAY-6", "REC-8")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("confidence", value) for value in (None, True, "80", 79.5, -1, 101, 10**30)],
        *[("topic_tags", value) for value in WRONG_LISTS],
        *[("evidence_refs", value) for value in WRONG_LISTS],
    ],
)
def test_a_finding_with_a_wrong_optional_field_is_refused_and_the_field_is_named(
    name: str, value: JsonValue
) -> None:
    with pytest.raises(Invalid, match=rf"finding\.{name} must be"):
        finding_from_plain({**PLAIN, name: value})


@pytest.mark.req("LAY-6")
@given(json_values | st.dictionaries(st.sampled_from([*PLAIN, "other"]), json_values))
def test_any_document_is_a_finding_under_the_contract_or_refused(document: JsonValue) -> None:
    try:
        finding = finding_from_plain(document)
    except Invalid:
        return
    try:
        record = candidate_of(finding)
    except (Invalid, Refused):
        return
    assert require_finding(record) is record


@pytest.mark.req("LAY-6", "TNT-3")
@pytest.mark.parametrize("outside", [False, True])
def test_a_finding_that_no_operator_brought_is_untrusted(outside: bool) -> None:
    record = candidate_of(finding_from_plain(PLAIN), outside=outside)

    assert record.provenance == Provenance(
        untrusted=outside, needs_review=outside, sources=("https://example.org/acme/x",)
    )


@pytest.mark.req("LAY-6")
@given(st.lists(findings, max_size=12))
def test_a_scan_is_an_episode_that_counts_its_findings_and_always_fits(found: list[Finding]) -> None:
    record = admit(scan_draft(found, scope=ACME), STAMP)

    assert (record.kind, record.layer) == (Kind.SCAN, Layer.EPISODIC)
    assert f"with {len(found)} finding" in record.summary
    assert record.metadata["findings"] == len(found)
    assert record.metadata["repo_slugs"] == sorted({finding.repo_slug for finding in found})


@pytest.mark.req("LAY-6")
def test_a_scan_of_many_repositories_says_how_many_more_there_were() -> None:
    found = [replace(finding_from_plain(PLAIN), repo_slug=f"acme/{'x' * 190}{n:03}") for n in range(250)]

    draft = scan_draft(found)

    assert draft.scope == WORKSPACE
    assert draft.summary.endswith("and 244 more")
    assert len(draft.summary) <= 1_600
    slugs = admit(replace(draft, metadata={**draft.metadata}), STAMP).metadata["repo_slugs"]
    assert isinstance(slugs, list)
    assert len(slugs) == 100


@pytest.mark.req("LAY-6")
def test_one_finding_is_not_called_findings() -> None:
    assert scan_draft([finding_from_plain(PLAIN)]).summary == "Radar scan with 1 finding: acme/x"


def adopted(finding: Record, **given_fields: Any) -> Record:
    return admit(adoption_draft(finding, **{"summary": None, "workflow": None, **given_fields}), STAMP)


@pytest.mark.req("LAY-6", "LAY-4")
def test_adopting_makes_a_procedure_that_keeps_where_it_came_from() -> None:
    finding = replace(candidate_of(finding_from_plain(PLAIN)), sensitivity=Sensitivity.SENSITIVE)

    record = adopted(finding)
    named = adopted(finding, summary="Retry with a budget", workflow="retrying")

    assert (record.kind, record.summary) == (Kind.PROCEDURE, finding.summary)
    assert record.metadata["workflow"] == "radar-acme-x"
    assert record.metadata["canonical"] is False
    assert {name: record.metadata[name] for name in PLAIN if name != "summary"} == {
        name: value for name, value in PLAIN.items() if name != "summary"
    }
    assert (record.scope, record.sensitivity, record.confidence) == (ACME, Sensitivity.SENSITIVE, 70)
    assert record.source.record_ids == (finding.record_id,)
    assert (named.summary, named.metadata["workflow"]) == ("Retry with a budget", "retrying")


@pytest.mark.req("TNT-3", "LAY-6")
@pytest.mark.parametrize("untrusted", [False, True])
@pytest.mark.parametrize("needs_review", [False, True])
def test_an_adoption_inherits_the_taint_of_its_finding(untrusted: bool, needs_review: bool) -> None:
    provenance = Provenance(untrusted=untrusted, needs_review=needs_review, sources=("https://a.example",))
    finding = replace(candidate_of(finding_from_plain(PLAIN)), provenance=provenance)

    record = adopted(finding)

    assert record.provenance.tainted == provenance.tainted
    assert record.provenance.sources == provenance.sources


@pytest.mark.req("LAY-6", "LAY-2")
@pytest.mark.parametrize(
    ("kind", "told"),
    [(Kind.PROMOTION, "Adopted acme/x as"), (Kind.ROLLBACK, "Undid the adoption of acme/x as")],
)
@pytest.mark.parametrize("reason", ["", "it works"])
def test_adopting_and_undoing_leave_an_episode_each(kind: Kind, told: str, reason: str) -> None:
    finding = candidate_of(finding_from_plain(PLAIN))
    made = adopted(finding)

    record = admit(adoption_episode(finding, made, kind=kind, reason=reason), STAMP)

    assert (record.kind, record.layer) == (kind, Layer.EPISODIC)
    assert record.summary == f"{told} radar-acme-x"
    assert record.metadata.get("reason", "") == reason
    assert (record.metadata["finding_id"], record.metadata["procedure_id"]) == (
        *(finding.record_id, made.record_id),
    )


@pytest.mark.req("LAY-6")
def test_the_longest_names_still_make_an_episode() -> None:
    finding = candidate_of(replace(finding_from_plain(PLAIN), repo_slug="é" * 200))
    made = adopted(finding, workflow="w" * 200)

    record = admit(adoption_episode(finding, made, kind=Kind.ROLLBACK, reason="x" * 1_000), STAMP)

    assert record.summary == f"Undid the adoption of {'é' * 200} as {'w' * 200}"


@pytest.mark.req("LAY-6")
@pytest.mark.parametrize(
    "record",
    [fact(), procedure(metadata={"workflow": "x", "canonical": True, "origin": "radar"}), episode()],
    ids=lambda record: record.kind,
)
def test_what_is_not_a_finding_cannot_be_adopted(record: Record) -> None:
    with pytest.raises(Invalid, match=record.record_id) as refusal:
        require_finding(record)
    assert refusal.value.code == "radar.not-a-finding"


# A pipe that nothing escapes ends a cell; so does the end of the line.
_CELL_END = re.compile(r"(?<!\\)(?:\\\\)*\|")


def cells(row: str) -> list[str]:
    """The cells of a table's row, read as Markdown reads them."""
    parts, rest = [], row
    while match := _CELL_END.search(rest):
        parts.append(rest[: match.end() - 1])
        rest = rest[match.end() :]
    assert rest == ""
    return [part.strip() for part in parts[1:]]


def unescaped(cell: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell)


def log_of(text: str) -> str:
    adoption = published(
        procedure(
            text, metadata={"repo_slug": text, "workflow": text, "source_url": text, "canonical": False}
        )
    )
    promotion = episode(text, metadata={"repo_slug": text, "workflow": text, "reason": text})
    return radar_markdown([adoption], [replace(promotion, kind=Kind.PROMOTION)])


@pytest.mark.req("LAY-6")
@given(st.text() | st.text(alphabet="|\\`<>[]*_\n\r\t&$~#!-x", max_size=12))
@example("| a |\n|---|\n| b |")
@example("\\|\\\\|")
@example("<script>alert(1)</script>")
@example("[click](https://evil.example) ![x](y) `code` **bold** _it_ ~~no~~ $x$ &lt;")
@example("a\u2028b\x85c\x0bd\x0ce\rf\x1b[31m\u202eg\U000e0041")
def test_no_text_leaves_its_cell_or_becomes_markup(text: str) -> None:
    log_text = log_of(text)
    lines = log_text.split("\n")

    assert log_text.splitlines() == lines[:-1]
    assert [line for line in lines if line and not line.startswith("|")] == [
        "# Adoption registry",
        "# Promotion log",
    ]
    registry, log = (
        line for line in lines if line.startswith("| ") and " 2026-01-01" in line.replace("|", " ")
    )
    assert len(cells(registry)) == 6
    assert len(cells(log)) == 5
    for cell in (*cells(registry)[:4], *cells(log)[2:]):
        assert not set(re.sub(r"\\[!-/:-@\[-`{-~]", "", cell)) & set("|`<>[]*_&~$\\")
        assert all(part.isprintable() or not part.isascii() for part in cell)


@pytest.mark.req("LAY-6")
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\"), min_size=1))
def test_a_reader_of_the_log_sees_the_text_as_it_was(text: str) -> None:
    registry = next(line for line in log_of(text).split("\n") if "2026-01-01 |" in line)

    assert unescaped(cells(registry)[0]) == text


@pytest.mark.req("LAY-6")
def test_the_log_reads_as_two_tables() -> None:
    finding = candidate_of(finding_from_plain(PLAIN))
    made = published(adopted(finding))
    promotion = admit(adoption_episode(finding, made, kind=Kind.PROMOTION, reason="it works"), STAMP)
    rollback = admit(adoption_episode(finding, made, kind=Kind.ROLLBACK, reason=""), STAMP)

    assert radar_markdown([made], [promotion, rollback]) == (
        "# Adoption registry\n"
        "\n"
        "| Repository | Workflow | What was adopted | Source | Confidence | Since |\n"
        "|---|---|---|---|---|---|\n"
        "| acme/x | radar-acme-x | acme/x retries with a budget"
        " | https://example.org/acme/x | 70 | 2026-01-01 |\n"
        "\n"
        "# Promotion log\n"
        "\n"
        "| When | What | Repository | Workflow | Reason |\n"
        "|---|---|---|---|---|\n"
        "| 2026-01-01T00:00:00.000Z | adopted | acme/x | radar-acme-x | it works |\n"
        "| 2026-01-01T00:00:00.000Z | undone | acme/x | radar-acme-x |  |\n"
    )


@pytest.mark.req("LAY-6")
def test_a_log_of_nothing_says_so() -> None:
    assert radar_markdown([], []).count("Nothing yet.") == 2


@pytest.mark.req("LAY-6")
def test_a_scan_that_found_nothing_is_still_a_scan() -> None:
    assert scan_draft([]) == Draft(
        kind=Kind.SCAN,
        summary="Radar scan with 0 findings: nothing new",
        metadata={"origin": "radar", "findings": 0, "repo_slugs": []},
    )
