"""What waits for review, and what became of an operator's acts."""

from collections.abc import Iterable

from runlore.daemon.answers.records import read_optional_record, read_record, read_records
from runlore.daemon.answers.shapes import (
    as_document,
    cursor_of,
    each,
    flag,
    items_of,
    listed,
    optional_time,
    reader,
    scope_from_plain,
    scope_to_plain,
    texts,
    time_to_plain,
)
from runlore.domain.curation import Basis, Merge
from runlore.domain.publication import Consequences, Obstacle
from runlore.domain.record import JsonValue, Kind, Record, RecordId, Sensitivity
from runlore.domain.representation import Plain, as_object, as_text, as_whole, record_to_plain
from runlore.domain.run import RunId
from runlore.domain.session import SessionId
from runlore.domain.taint import Provenance
from runlore.ports import operations as ops


def review_to_plain(page: ops.ReviewPage) -> Plain:
    """What waits: each record with what its confirmation would do."""
    return listed((review_item_to_plain(item) for item in page.items), page.next_cursor)


@reader
def review_from_plain(plain: JsonValue) -> ops.ReviewPage:
    """Read what waits."""
    return ops.ReviewPage(items=items_of(plain, _read_review_item), next_cursor=cursor_of(plain))


def review_item_to_plain(item: ops.ReviewItem) -> Plain:
    """A waiting record, what it would supersede or repeat, and what stands in its way."""
    twin = item.outcome.duplicate_of
    return {
        **record_to_plain(item.record),
        "would_supersede": [record_to_plain(record) for record in item.outcome.supersedes],
        "would_duplicate": None if twin is None else twin.record_id,
        "would_duplicate_record": None if twin is None else record_to_plain(twin),
        "obstacles": [obstacle_to_plain(obstacle) for obstacle in item.outcome.obstacles],
        "rivals": list(item.rivals),
        "attention": list(item.attention),
    }


def _read_review_item(plain: JsonValue) -> ops.ReviewItem:
    fields = as_object(plain)
    return ops.ReviewItem(
        record=read_record(plain),
        outcome=Consequences(
            supersedes=read_records(fields["would_supersede"]),
            duplicate_of=read_optional_record(fields["would_duplicate_record"]),
            obstacles=each(_read_obstacle, fields["obstacles"]),
        ),
        rivals=_record_ids(fields["rivals"]),
        attention=each(as_text, fields["attention"]),
    )


def obstacle_to_plain(obstacle: Obstacle) -> Plain:
    """Why something would be refused."""
    return {"code": obstacle.code, "detail": obstacle.sentence, "hint": obstacle.hint}


def _read_obstacle(plain: JsonValue) -> Obstacle:
    fields = as_object(plain)
    return Obstacle(
        code=as_text(fields["code"]), sentence=as_text(fields["detail"]), hint=as_text(fields["hint"])
    )


def rollback_to_plain(answer: ops.RollbackAnswer) -> Plain:
    """The tombstone, with what can come back, what did, and what cannot."""
    return {
        **record_to_plain(answer.record),
        "restorable": [record_to_plain(record) for record in answer.restorable],
        "restored": [record_to_plain(record) for record in answer.restored],
        "not_restorable": [
            {
                "record_id": record.record_id,
                **obstacle_to_plain(obstacle),
                "record": record_to_plain(record),
            }
            for record, obstacle in answer.blocked
        ],
    }


@reader
def rollback_from_plain(plain: JsonValue) -> ops.RollbackAnswer:
    """Read what became of a rollback."""
    fields = as_object(plain)
    return ops.RollbackAnswer(
        record=read_record(plain),
        restorable=read_records(fields["restorable"]),
        restored=read_records(fields["restored"]),
        blocked=each(_read_blocked, fields["not_restorable"]),
    )


def _read_blocked(plain: JsonValue) -> tuple[Record, Obstacle]:
    return read_record(as_object(plain)["record"]), _read_obstacle(plain)


def merges_to_plain(items: Iterable[ops.MergeItem]) -> Plain:
    """Possible merges, and the records that were proposed for them."""
    listed_items = tuple(items)
    proposed = [record_to_plain(i.proposal) for i in listed_items if i.proposal and i.status == "proposed"]
    return {
        **listed(_merge_to_plain(item) for item in listed_items),
        "count": len(proposed),
        "records": proposed,
    }


@reader
def merges_from_plain(plain: JsonValue) -> tuple[ops.MergeItem, ...]:
    """Read possible merges."""
    return items_of(plain, _read_merge_item)


def _merge_to_plain(item: ops.MergeItem) -> Plain:
    merge, proposal = item.merge, item.proposal
    return {
        "scope": scope_to_plain(merge.scope),
        "kind": merge.kind.value,
        "sources": list(merge.sources),
        "variants": list(merge.variants),
        "summary": merge.summary,
        "metadata": merge.metadata,
        "confidence": merge.confidence,
        "provenance": {
            "untrusted": merge.provenance.untrusted,
            "needs_review": merge.provenance.needs_review,
            "sources": list(merge.provenance.sources),
        },
        "sensitivity": merge.sensitivity.value,
        "expires_at": time_to_plain(merge.expires_at),
        "digest": merge.digest,
        "basis": merge.basis.value,
        "shared": list(merge.shared),
        "status": item.status,
        "source_records": [record_to_plain(record) for record in item.sources],
        "proposal_id": None if proposal is None else proposal.record_id,
        "proposal": None if proposal is None else record_to_plain(proposal),
    }


def _read_merge_item(plain: JsonValue) -> ops.MergeItem:
    fields = as_object(plain)
    return ops.MergeItem(
        merge=_read_merge(plain),
        status=as_text(fields["status"]),
        sources=read_records(fields["source_records"]),
        proposal=read_optional_record(fields["proposal"]),
    )


def _read_merge(plain: JsonValue) -> Merge:
    fields = as_object(plain)
    provenance = as_object(fields["provenance"])
    return Merge(
        scope=scope_from_plain(fields["scope"]),
        kind=Kind(as_text(fields["kind"])),
        sources=_record_ids(fields["sources"]),
        variants=_record_ids(fields["variants"]),
        summary=as_text(fields["summary"]),
        metadata=as_document(fields["metadata"]),
        confidence=as_whole(fields["confidence"]),
        provenance=Provenance(
            untrusted=flag(provenance["untrusted"]),
            needs_review=flag(provenance["needs_review"]),
            sources=texts(provenance["sources"]),
        ),
        sensitivity=Sensitivity(as_text(fields["sensitivity"])),
        expires_at=optional_time(fields["expires_at"]),
        digest=as_text(fields["digest"]),
        basis=Basis(as_text(fields["basis"])),
        shared=texts(fields["shared"]),
    )


def forget_to_plain(answer: ops.ForgetAnswer) -> Plain:
    """The receipt of a forgetting, or with `dry_run` what it would erase."""
    return {
        "dry_run": answer.dry_run,
        "records": [record_to_plain(record) for record in answer.records],
        "forgotten_at": time_to_plain(answer.forgotten_at),
        "exports_left": list(answer.exports_left),
        "backups_left": list(answer.backups_left),
        "sessions": list(answer.sessions),
        "runs": list(answer.runs),
        "events": answer.events,
        "artifacts": answer.artifacts,
        "requests": answer.requests,
    }


@reader
def forget_from_plain(plain: JsonValue) -> ops.ForgetAnswer:
    """Read the receipt of a forgetting."""
    fields = as_object(plain)
    return ops.ForgetAnswer(
        records=read_records(fields["records"]),
        dry_run=flag(fields["dry_run"]),
        forgotten_at=optional_time(fields["forgotten_at"]),
        exports_left=texts(fields["exports_left"]),
        backups_left=texts(fields["backups_left"]),
        sessions=tuple(SessionId(text) for text in texts(fields["sessions"])),
        runs=tuple(RunId(text) for text in texts(fields["runs"])),
        events=as_whole(fields["events"]),
        artifacts=as_whole(fields["artifacts"]),
        requests=as_whole(fields["requests"]),
    )


def _record_ids(value: JsonValue) -> tuple[RecordId, ...]:
    return tuple(RecordId(text) for text in texts(value))
