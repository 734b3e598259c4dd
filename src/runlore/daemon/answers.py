"""Answers as plain JSON values: what `--json` prints and what the API answers, byte for byte the same."""

from collections.abc import Iterable

from runlore.domain.audit import RecordEvent, event_to_plain
from runlore.domain.errors import RunloreError
from runlore.domain.publication import Obstacle
from runlore.domain.ranking import Score
from runlore.domain.record import JsonValue, Layer, Record, State, Transition
from runlore.domain.representation import Plain, record_to_plain
from runlore.domain.timestamps import format_time
from runlore.ports import operations as ops


def page_to_plain(page: ops.Page) -> Plain:
    """A list of records."""
    return listed((record_to_plain(record) for record in page.items), page.next_cursor)


def listed(items: Iterable[JsonValue], next_cursor: str | None = None) -> Plain:
    """The one shape of a list."""
    return {"items": list(items), "next_cursor": next_cursor}


def history_to_plain(events: Iterable[RecordEvent]) -> Plain:
    """A record's events."""
    return listed(event_to_plain(event) for event in events)


def hits_to_plain(query: str, hits: Iterable[ops.SearchHit]) -> Plain:
    """Search results: each record with its score and the score's parts."""
    items = [
        {**record_to_plain(hit.record), "score": hit.score.total, "score_parts": score_to_plain(hit.score)}
        for hit in hits
    ]
    return {"query": query, **listed(items)}


def score_to_plain(score: Score) -> Plain:
    """The parts of a score, which add up to it."""
    return {
        "exact": score.exact,
        "summary": score.summary,
        "metadata": score.metadata,
        "state": score.state,
        "recency": score.recency,
    }


def states_to_plain(rows: Iterable[Transition]) -> Plain:
    """The table of legal moves."""
    return listed(
        {
            "move": row.move.value,
            "from": None if row.start is None else row.start.value,
            "to": row.end.value,
            "layers": sorted(layer.value for layer in row.layers),
            "state_reason": row.reason,
            "guard": row.guard,
        }
        for row in rows
    )


def review_to_plain(page: ops.ReviewPage) -> Plain:
    """What waits: each record with what its confirmation would do."""
    return listed((review_item_to_plain(item) for item in page.items), page.next_cursor)


def review_item_to_plain(item: ops.ReviewItem) -> Plain:
    """A waiting record, what it would supersede or repeat, and what stands in its way."""
    twin = item.outcome.duplicate_of
    return {
        **record_to_plain(item.record),
        "would_supersede": [record_to_plain(record) for record in item.outcome.supersedes],
        "would_duplicate": None if twin is None else twin.record_id,
        "obstacles": [obstacle_to_plain(obstacle) for obstacle in item.outcome.obstacles],
        "rivals": list(item.rivals),
    }


def obstacle_to_plain(obstacle: Obstacle) -> Plain:
    """Why something would be refused."""
    return {"code": obstacle.code, "detail": obstacle.sentence, "hint": obstacle.hint}


def rollback_to_plain(answer: ops.RollbackAnswer) -> Plain:
    """The tombstone, with what can come back, what did, and what cannot."""
    return {
        **record_to_plain(answer.record),
        "restorable": [record_to_plain(record) for record in answer.restorable],
        "restored": [record_to_plain(record) for record in answer.restored],
        "not_restorable": [
            {"record_id": record.record_id, **obstacle_to_plain(obstacle)}
            for record, obstacle in answer.blocked
        ],
    }


def merges_to_plain(items: Iterable[ops.MergeItem]) -> Plain:
    """Possible merges, and the records that were proposed for them."""
    listed_items = tuple(items)
    proposed = [record_to_plain(i.proposal) for i in listed_items if i.proposal and i.status == "proposed"]
    return {
        **listed(_merge_to_plain(item) for item in listed_items),
        "count": len(proposed),
        "records": proposed,
    }


def _merge_to_plain(item: ops.MergeItem) -> Plain:
    merge = item.merge
    return {
        "scope": {"kind": merge.scope.kind.value, "id": merge.scope.id},
        "kind": merge.kind.value,
        "sources": list(merge.sources),
        "summary": merge.summary,
        "basis": merge.basis,
        "shared": list(merge.shared),
        "status": item.status,
        "proposal_id": None if item.proposal is None else item.proposal.record_id,
    }


def forget_to_plain(answer: ops.ForgetAnswer) -> Plain:
    """The receipt of a forgetting, or with `dry_run` what it would erase."""
    return {
        "dry_run": answer.dry_run,
        "records": [record_to_plain(record) for record in answer.records],
        "forgotten_at": None if answer.forgotten_at is None else format_time(answer.forgotten_at),
        "exports_left": list(answer.exports_left),
    }


def records_to_plain(records: Iterable[Record]) -> Plain:
    """Records that an operation made."""
    return listed(record_to_plain(record) for record in records)


def adoption_to_plain(adoption: ops.Adoption) -> Plain:
    """The finding acted on, the procedure and the episode."""
    return {
        "finding": record_to_plain(adoption.finding),
        "procedure": record_to_plain(adoption.procedure),
        "episode": record_to_plain(adoption.episode),
    }


def radar_log_to_plain(log: ops.RadarLog) -> Plain:
    """The registry and the log, as records and as Markdown."""
    return {
        "adoptions": [record_to_plain(record) for record in log.adoptions],
        "episodes": [record_to_plain(record) for record in log.episodes],
        "waiting": [record_to_plain(record) for record in log.waiting],
        "markdown": log.markdown,
    }


def export_to_plain(answer: ops.ExportAnswer) -> Plain:
    """Where an export lies."""
    return {"path": answer.path, "count": answer.count, "export_version": answer.export_version}


def import_to_plain(answer: ops.ImportAnswer) -> Plain:
    """How an import landed."""
    return {
        "mode": answer.mode,
        "count": answer.count,
        "skipped": dict(answer.skipped),
        "records": list(answer.records),
    }


def status_to_plain(status: ops.Status) -> Plain:
    """What this Runlore is and holds."""
    counts = {
        layer.value: {state.value: status.counts.get((layer, state), 0) for state in State} for layer in Layer
    }
    return {
        "version": status.version,
        "state_root": status.state_root,
        "store": dict(status.store),
        "records": counts,
        "waiting": status.waiting,
    }


def problem(error: RunloreError, status: int) -> Plain:
    """The problem document of an error (RFC 9457), with its stable code and hint."""
    return {
        "type": f"urn:runlore:error:{error.code}",
        "title": error.title,
        "status": status,
        "code": error.code,
        "detail": error.sentence,
        "hint": error.hint,
    }
