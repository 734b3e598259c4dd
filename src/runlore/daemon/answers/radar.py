"""Radar: what became of findings, the registry and the log."""

from runlore.daemon.answers.records import read_record, read_records
from runlore.daemon.answers.shapes import reader
from runlore.domain.radar import Finding
from runlore.domain.record import JsonValue
from runlore.domain.representation import Plain, as_object, as_text, record_to_plain
from runlore.ports import operations as ops


def adoption_to_plain(adoption: ops.Adoption) -> Plain:
    """The finding acted on, the procedure and the episode."""
    return {
        "finding": record_to_plain(adoption.finding),
        "procedure": record_to_plain(adoption.procedure),
        "episode": record_to_plain(adoption.episode),
    }


@reader
def adoption_from_plain(plain: JsonValue) -> ops.Adoption:
    """Read what became of a finding."""
    fields = as_object(plain)
    return ops.Adoption(
        finding=read_record(fields["finding"]),
        procedure=read_record(fields["procedure"]),
        episode=read_record(fields["episode"]),
    )


def radar_log_to_plain(log: ops.RadarLog) -> Plain:
    """The registry and the log, as records and as Markdown."""
    return {
        "adoptions": [record_to_plain(record) for record in log.adoptions],
        "episodes": [record_to_plain(record) for record in log.episodes],
        "waiting": [record_to_plain(record) for record in log.waiting],
        "markdown": log.markdown,
    }


@reader
def radar_log_from_plain(plain: JsonValue) -> ops.RadarLog:
    """Read the registry and the log."""
    fields = as_object(plain)
    return ops.RadarLog(
        adoptions=read_records(fields["adoptions"]),
        episodes=read_records(fields["episodes"]),
        waiting=read_records(fields["waiting"]),
        markdown=as_text(fields["markdown"]),
    )


def finding_to_plain(finding: Finding) -> Plain:
    """A finding as it is sent; `domain.radar.finding_from_plain` reads it."""
    return {
        "summary": finding.summary,
        "repo_slug": finding.repo_slug,
        "source_handle": finding.source_handle,
        "source_url": finding.source_url,
        "topic_tags": list(finding.topic_tags),
        "confidence": finding.confidence,
        "evidence_refs": list(finding.evidence_refs),
    }
