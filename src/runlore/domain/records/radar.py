"""Radar: findings about other projects, reduced to the curated fields; raw payloads are not kept.

The adoption registry and the promotion log as Markdown, for a repository that wants to track them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, cast

from runlore.domain import limits
from runlore.domain.claims.subject import slug
from runlore.domain.errors import Invalid
from runlore.domain.json_form import About
from runlore.domain.lazy import dataclass
from runlore.domain.record import JsonObject, JsonValue, Kind, Proposal, Record, RecordId, Source
from runlore.domain.records.admission import Draft
from runlore.domain.scope import WORKSPACE, Scope
from runlore.domain.taint import TRUSTED, Provenance, inherit
from runlore.domain.text.safe_text import escape
from runlore.domain.timestamps import format_time

ORIGIN = "radar"
# So many slugs of the greatest length still fit into a summary.
_SLUGS_SHOWN_MAX = 6
_SLUGS_KEPT_MAX = 100
_FIELDS = ("repo_slug", "source_handle", "source_url", "topic_tags", "confidence", "evidence_refs")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding under the contract of radar-made semantic records."""

    summary: Annotated[str, About("What was found.")]
    repo_slug: Annotated[str, About("The repository, such as `acme/atlas`.")]
    source_handle: Annotated[str, About("Where it was found, such as `hn`.")]
    source_url: Annotated[str, About("The page that says so.")]
    topic_tags: Annotated[tuple[str, ...], About("What it is about.")] = ()
    confidence: Annotated[int, About(least=0, most=limits.CONFIDENCE_MAX)] = limits.CONFIDENCE_DEFAULT
    evidence_refs: Annotated[tuple[str, ...], About("What supports it; its URL if left out.")] = ()


def finding_from_plain(plain: JsonValue, *, name: str = "finding") -> Finding:
    """Read a finding from JSON; fields beyond the curated ones are dropped, missing ones are named."""
    if not isinstance(plain, Mapping):
        raise _wrong(name, "is not an object")
    fields: JsonObject = plain
    for required in ("summary", "repo_slug", "source_handle", "source_url"):
        value = fields.get(required)
        if not isinstance(value, str) or not value.strip():
            raise _wrong(f"{name}.{required}", "must be a text that is not blank")
    confidence = fields.get("confidence", limits.CONFIDENCE_DEFAULT)
    if isinstance(confidence, bool) or not isinstance(confidence, int) or not 0 <= confidence <= 100:
        raise _wrong(f"{name}.confidence", "must be a whole number from 0 to 100")
    return Finding(
        summary=cast("str", fields["summary"]),
        repo_slug=cast("str", fields["repo_slug"]).strip(),
        source_handle=cast("str", fields["source_handle"]).strip(),
        source_url=cast("str", fields["source_url"]).strip(),
        topic_tags=_texts(fields, "topic_tags", name),
        confidence=confidence,
        evidence_refs=_texts(fields, "evidence_refs", name),
    )


def finding_draft(finding: Finding, *, scope: Scope, scan_id: RecordId, outside: bool) -> Draft:
    """The semantic candidate of a finding; one that no operator brought is untrusted."""
    return Draft(
        kind=Kind.FACT,
        summary=finding.summary,
        scope=scope,
        metadata={
            "origin": ORIGIN,
            "repo_slug": finding.repo_slug,
            "source_handle": finding.source_handle,
            "source_url": finding.source_url,
            "topic_tags": list(finding.topic_tags),
            "confidence": finding.confidence,
            "evidence_refs": list(finding.evidence_refs or (finding.source_url,)),
            "scan_id": scan_id,
        },
        confidence=finding.confidence,
        provenance=_provenance(finding, outside=outside),
        proposal=Proposal.RADAR,
    )


def scan_draft(findings: Sequence[Finding], *, scope: Scope = WORKSPACE, outside: bool = False) -> Draft:
    slugs = sorted({finding.repo_slug for finding in findings})
    noun = "finding" if len(findings) == 1 else "findings"
    more = len(slugs) - _SLUGS_SHOWN_MAX
    shown = ", ".join(slugs[:_SLUGS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
    return Draft(
        kind=Kind.SCAN,
        summary=f"Radar scan with {len(findings)} {noun}: {shown or 'nothing new'}",
        scope=scope,
        metadata={"origin": ORIGIN, "findings": len(findings), "repo_slugs": slugs[:_SLUGS_KEPT_MAX]},
        provenance=inherit(_provenance(finding, outside=outside) for finding in findings)
        if outside
        else TRUSTED,
    )


def _provenance(finding: Finding, *, outside: bool) -> Provenance:
    return Provenance(untrusted=outside, needs_review=outside, sources=(finding.source_url,))


def adoption_draft(finding: Record, *, summary: str | None, workflow: str | None) -> Draft:
    """The procedure that adopting a finding makes; it inherits where the finding came from."""
    repo_slug = str(finding.metadata["repo_slug"])
    return Draft(
        kind=Kind.PROCEDURE,
        summary=summary or finding.summary,
        scope=finding.scope,
        metadata={
            "workflow": workflow or f"radar-{slug(repo_slug)}",
            "canonical": False,
            "origin": ORIGIN,
            **{name: finding.metadata[name] for name in _FIELDS},
        },
        confidence=finding.confidence,
        sensitivity=finding.sensitivity,
        source=Source(record_ids=(finding.record_id,)),
        provenance=Provenance(
            untrusted=finding.provenance.untrusted,
            needs_review=finding.provenance.tainted,
            sources=finding.provenance.sources,
        ),
        proposal=Proposal.RADAR,
    )


def adoption_episode(finding: Record, procedure: Record, *, kind: Kind, reason: str) -> Draft:
    verb = "Adopted" if kind is Kind.PROMOTION else "Undid the adoption of"
    repo_slug = str(finding.metadata["repo_slug"])
    return Draft(
        kind=kind,
        summary=f"{verb} {repo_slug} as {procedure.metadata['workflow']}",
        scope=finding.scope,
        metadata={
            "origin": ORIGIN,
            "repo_slug": repo_slug,
            "source_url": finding.metadata["source_url"],
            "workflow": procedure.metadata["workflow"],
            "finding_id": finding.record_id,
            "procedure_id": procedure.record_id,
            **({"reason": reason} if reason else {}),
        },
        sensitivity=finding.sensitivity,
        source=Source(record_ids=(finding.record_id,)),
    )


def require_finding(record: Record) -> Record:
    if record.kind is Kind.FACT and record.metadata.get("origin") == ORIGIN:
        return record
    raise Invalid(
        f"record {record.record_id} is not a radar finding",
        code="radar.not-a-finding",
        hint="`memory radar add` makes findings; `memory radar log` lists them",
    )


def _texts(fields: JsonObject, key: str, name: str) -> tuple[str, ...]:
    value = fields.get(key, ())
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong(f"{name}.{key}", "must be a list of texts")
    if not all(isinstance(item, str) and item.strip() for item in value):
        raise _wrong(f"{name}.{key}", "must be a list of texts that are not blank")
    return tuple(dict.fromkeys(cast("str", item).strip() for item in value))


def _wrong(name: str, problem: str) -> Invalid:
    return Invalid(
        f"{name} {problem}",
        code="radar.finding",
        hint="a finding has summary, repo_slug, source_handle, source_url,"
        " and may have topic_tags, confidence, evidence_refs",
    )


def radar_markdown(adoptions: Sequence[Record], episodes: Sequence[Record]) -> str:
    """Two tables; whatever a finding says, it stays inside its cell."""
    registry = [
        (
            record.metadata.get("repo_slug"),
            record.metadata.get("workflow"),
            record.summary,
            record.metadata.get("source_url"),
            record.confidence,
            _day(record),
        )
        for record in adoptions
    ]
    log = [
        (
            format_time(record.created_at),
            "adopted" if record.kind is Kind.PROMOTION else "undone",
            record.metadata.get("repo_slug"),
            record.metadata.get("workflow"),
            record.metadata.get("reason"),
        )
        for record in episodes
    ]
    return "\n".join(
        [
            "# Adoption registry",
            "",
            *_table(
                ("Repository", "Workflow", "What was adopted", "Source", "Confidence", "Since"), registry
            ),
            "",
            "# Promotion log",
            "",
            *_table(("When", "What", "Repository", "Workflow", "Reason"), log),
            "",
        ]
    )


def _day(record: Record) -> str:
    moment = record.published_at or record.created_at
    return format_time(moment)[:10]


def _table(header: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> list[str]:
    if not rows:
        return ["Nothing yet."]
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(_cell(value) for value in row) + " |" for row in rows),
    ]


def _cell(value: JsonValue) -> str:
    if value is None:
        return ""
    text = " ".join(escape(str(value), keep_newlines=True).split())
    return text.translate(_ESCAPES)


# What Markdown, its tables and its dialects with formulas give a meaning inside a line.
_ESCAPES = str.maketrans({special: "\\" + special for special in "\\|`<>[]*_&~$"})
